//! The perfect hash that the engine finds chunks with: hash, lookup and generation.
//!
//! It knows ids and slots and nothing of what a slot holds. [`generate`] never needs an overflow list,
//! because it is not known whether the game reads one. Traps: the hash multiplies before it xors, so
//! it is not FNV-1a; and modulo an even number of chunks it keeps little of the seed, which is why
//! small tables often have to grow.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use crate::ChunkId;

/// The hash of `id` with `seed`.
pub(crate) fn hash(seed: i32, id: ChunkId) -> u64 {
    let start = match seed {
        0 => 0xcbf2_9ce4_8422_2325,
        seed => i64::from(seed).cast_unsigned(),
    };
    id.as_bytes().iter().fold(start, |hash, byte| hash.wrapping_mul(0x0000_0100_0000_01b3) ^ u64::from(*byte))
}

/// The remainder as a place in a slice of `count` items; `None` where there are none.
fn place(hash: u64, count: usize) -> Option<usize> {
    usize::try_from(hash.checked_rem(count as u64)?).ok()
}

/// What the seeds say about the place of an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// There is no such chunk.
    Absent,
    /// It is at this slot or nowhere.
    At(usize),
    /// It is in the overflow list or nowhere.
    Overflow,
    /// There are no seeds, and every chunk counts.
    Anywhere,
}

/// Where, of `count` chunks, the one called `id` must be.
pub(crate) fn slot(seeds: &[i32], count: usize, id: ChunkId) -> Slot {
    if count == 0 {
        return Slot::Absent;
    }
    let Some(bucket) = place(hash(0, id), seeds.len()) else {
        return Slot::Anywhere;
    };
    match seeds.get(bucket).copied() {
        None | Some(0) => Slot::Absent,
        // The complement is -seed - 1, and cannot overflow.
        Some(seed) if seed < 0 => match usize::try_from(!seed) {
            Ok(slot) if slot < count => Slot::At(slot),
            _ => Slot::Overflow,
        },
        Some(seed) => place(hash(seed, id), count).map_or(Slot::Absent, Slot::At),
    }
}

/// A table in which every id has a slot of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) seeds: Vec<i32>,
    /// For every slot, which of the ids is there.
    pub(crate) order: Vec<usize>,
}

/// The canonical table of `ids`, or `None` where they cannot be told apart.
pub(crate) fn generate(ids: &[ChunkId]) -> Option<Table> {
    let primes = primes(1000);
    let least = ids.len().div_ceil(2).max(1);
    let most = ids.len().saturating_mul(4).saturating_add(64);
    (least..=most).find_map(|seed_count| place_all(ids, seed_count, &primes))
}

/// The engine's procedure with a fixed number of seeds: full buckets first, the largest first, each with
/// the smallest prime that brings all its members to free slots; then the lone ones.
fn place_all(ids: &[ChunkId], seed_count: usize, primes: &[i32]) -> Option<Table> {
    let mut buckets = vec![Vec::new(); seed_count];
    for (index, id) in ids.iter().enumerate() {
        buckets.get_mut(place(hash(0, *id), seed_count)?)?.push((index, *id));
    }
    let mut by_size: Vec<_> = buckets.iter().enumerate().collect();
    by_size.sort_by_key(|(bucket, members)| (std::cmp::Reverse(members.len()), *bucket));

    let mut seeds = vec![0; seed_count];
    let mut slots = vec![None; ids.len()];
    let mut free = 0_usize;
    for (bucket, members) in by_size {
        let seed = match members.as_slice() {
            [] => break,
            [(index, _)] => {
                while slots.get(free)?.is_some() {
                    free = free.checked_add(1)?;
                }
                *slots.get_mut(free)? = Some(*index);
                !i32::try_from(free).ok()?
            }
            members => place_bucket(members, &mut slots, primes)?,
        };
        *seeds.get_mut(bucket)? = seed;
    }
    let order = slots.into_iter().collect::<Option<_>>()?;
    Some(Table { seeds, order })
}

fn place_bucket(members: &[(usize, ChunkId)], slots: &mut [Option<usize>], primes: &[i32]) -> Option<i32> {
    let mut taken = Vec::with_capacity(members.len());
    for seed in primes {
        taken.clear();
        for (index, id) in members {
            let slot = place(hash(*seed, *id), slots.len())?;
            if slots.get(slot)?.is_some() || taken.iter().any(|(other, _)| *other == slot) {
                break;
            }
            taken.push((slot, *index));
        }
        if taken.len() == members.len() {
            for (slot, index) in taken {
                *slots.get_mut(slot)? = Some(index);
            }
            return Some(*seed);
        }
    }
    None
}

/// The `count` smallest primes.
fn primes(count: usize) -> Vec<i32> {
    let mut primes: Vec<i32> = Vec::with_capacity(count);
    let mut number = 2_i32;
    while primes.len() < count {
        let is_prime = primes
            .iter()
            .take_while(|prime| prime.saturating_mul(**prime) <= number)
            .all(|prime| number.checked_rem(*prime) != Some(0));
        if is_prime {
            primes.push(number);
        }
        number = number.saturating_add(1);
    }
    primes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ChunkType, ContainerId, PackageId};

    fn bulk(id: u64) -> ChunkId {
        ChunkId::new(id, 0, ChunkType::BulkData)
    }

    #[test]
    fn the_hash_has_the_known_values() {
        let id = ChunkId::parse("8981b842387b6e5100000002").unwrap();
        for (seed, expected) in [
            (0, 0x8201_3567_ed3c_6dc3),
            (1, 0xe6e7_3bad_a248_d887),
            (2, 0x13f5_1d9e_9740_8150),
            (3, 0x2078_dc0a_c21e_47e1),
            (7919, 0x234a_857a_e8f4_4fa5),
        ] {
            assert_eq!(hash(seed, id), expected, "seed {seed}");
        }
    }

    #[test]
    fn seeds_are_the_thousand_smallest_primes() {
        let primes = primes(1000);
        assert_eq!(primes[..6], [2, 3, 5, 7, 11, 13]);
        assert_eq!((primes.len(), primes[999]), (1000, 7919));
    }

    #[test]
    fn one_chunk_has_the_first_slot() {
        let table = generate(&[bulk(7)]).unwrap();
        assert_eq!((table.seeds, table.order), (vec![-1], vec![0]));
    }

    #[test]
    fn tables_are_the_known_ones() {
        let package = |name| PackageId::of_name(name).chunk(ChunkType::ExportBundleData);
        let header = |name| ContainerId::of_name(name).header_chunk();
        let (texture, mesh) = (package("/Game/Textures/T_Test"), package("/Game/Meshes/SM_Cube"));
        let bulk = ChunkId::new(mesh.id(), 0, ChunkType::BulkData);
        let one = generate(&[header("pakchunk990-one_P"), texture]).unwrap();
        assert_eq!((one.seeds, one.order), (vec![2], vec![1, 0]));
        let shape = generate(&[header("pakchunk990-shape_P"), texture, mesh, bulk]).unwrap();
        assert_eq!(shape.seeds, [2, -2, -3]);
    }

    #[test]
    fn a_table_that_would_overflow_grows() {
        let ids =
            [0x8da5_079f_be94_7049, 0x98d9_2e76_d077_0f80, 0xe4f5_53b7_d393_5d5c, 0x78be_a50c_1f97_0461]
                .map(bulk);
        assert_eq!(place_all(&ids, 2, &primes(1000)), None);
        let table = generate(&ids).unwrap();
        assert!(table.seeds.len() > 2);
        // The engine's own table of these ids sends every one of them to its overflow list.
        for id in ids {
            assert_eq!(slot(&[-5, -7], 4, id), Slot::Overflow);
        }
    }

    #[test]
    fn equal_ids_have_no_table() {
        assert_eq!(generate(&[bulk(1), bulk(1)]), None);
    }

    #[test]
    fn every_id_of_any_set_is_found_at_its_slot() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for count in (1..130).chain([1000, 4000]) {
            let ids: Vec<_> = (0..count).map(|_| bulk(random())).collect();
            let table = generate(&ids).unwrap();
            for (place, index) in table.order.iter().enumerate() {
                assert_eq!(slot(&table.seeds, ids.len(), ids[*index]), Slot::At(place), "{count} ids");
            }
        }
    }

    #[test]
    fn the_extremes_of_seeds_are_harmless() {
        let id = bulk(1);
        assert_eq!(slot(&[], 0, id), Slot::Absent);
        assert_eq!(slot(&[], 1, id), Slot::Anywhere);
        assert_eq!(slot(&[0], 1, id), Slot::Absent);
        assert_eq!(slot(&[-1], 1, id), Slot::At(0));
        assert_eq!(slot(&[-2], 1, id), Slot::Overflow);
        assert_eq!(slot(&[i32::MIN], 1, id), Slot::Overflow);
        assert_eq!(slot(&[i32::MAX], 1, id), Slot::At(0));
    }
}
