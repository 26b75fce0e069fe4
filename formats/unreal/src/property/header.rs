//! The header of a block: which slots are there, and which of them are zero.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use wire::{ReadError, Reader, Writer};

use super::layout::*;

/// Reads the header of a block of a class of `slots` slots: the slots that are there, ascending, and whether
/// each is zero. Only what the engine would write is accepted.
pub fn read_header(r: &mut Reader<'_>, slots: u32) -> Result<Vec<(u32, bool)>, ReadError> {
    let start = r.clone();
    let mut present: Vec<(u32, bool)> = Vec::new();
    let mut masked: Vec<usize> = Vec::new();
    let mut slot: u32 = 0;
    for fragments in 0.. {
        if fragments == MAX_FRAGMENTS {
            return Err(r.limit("header", format!("more than {MAX_FRAGMENTS} fragments")));
        }
        let at = r.clone();
        let fragment = r.u16("header")?;
        slot = slot.saturating_add(u32::from(fragment & SKIP_MASK));
        let end = slot.saturating_add(u32::from(fragment >> VALUES_SHIFT));
        if end > slots {
            return Err(at.malformed(
                "header",
                format!("states a value in slot {} of {slots}", end.saturating_sub(1)),
            ));
        }
        for slot in slot..end {
            if fragment & HAS_ZEROES != 0 {
                masked.push(present.len());
            }
            present.push((slot, false));
        }
        slot = end;
        if fragment & IS_LAST != 0 {
            break;
        }
    }
    let mask = r.bytes(mask_bytes(masked.len()) as u64, "zero mask")?;
    for (bit, at) in masked.iter().enumerate() {
        let byte = mask.get(bit.wrapping_shr(3)).copied().unwrap_or_default();
        if let Some(entry) = present.get_mut(*at) {
            entry.1 = byte.wrapping_shr(bit as u32 & 7) & 1 == 1;
        }
    }
    let expected = write_header(slots, &present);
    if !start.rest().starts_with(&expected) {
        let message = format!(
            "is not what the engine writes for these {} of {slots} slots: a struct before it was misread, or \
             the mappings are of another build",
            present.len()
        );
        return Err(start.malformed("header", message));
    }
    Ok(present)
}

/// The header of a block in which the slots `present` are there, ascending, of a class of `slots` slots.
pub fn write_header(slots: u32, present: &[(u32, bool)]) -> Vec<u8> {
    let mut fragments = Fragments::default();
    let mut next: u32 = 0;
    for (slot, zero) in present {
        fragments.skip(slot.saturating_sub(next));
        fragments.value(*zero);
        next = slot.saturating_add(1);
    }
    if present.is_empty() {
        fragments.skip(slots.min(FRAGMENT_MOST.into()));
    }
    fragments.write()
}

fn mask_bytes(bits: usize) -> usize {
    match bits {
        0 => 0,
        1..=8 => 1,
        9..=16 => 2,
        more => more.div_ceil(32).saturating_mul(4),
    }
}

/// Fragments as they are made: skips and values, whether one of the values is zero.
#[derive(Default)]
struct Fragments {
    done: Vec<(u16, u16, bool)>,
    skip: u16,
    values: u16,
    has_zeroes: bool,
    /// The flags of the open fragment.
    open: Vec<bool>,
    /// Those of the closed ones that have a zero.
    mask: Vec<bool>,
}

impl Fragments {
    fn close(&mut self) {
        self.done.push((self.skip, self.values, self.has_zeroes));
        if self.has_zeroes {
            self.mask.append(&mut self.open);
        }
        self.open.clear();
        (self.skip, self.values, self.has_zeroes) = (0, 0, false);
    }

    fn value(&mut self, zero: bool) {
        if self.values == FRAGMENT_MOST {
            self.close();
        }
        self.values = self.values.saturating_add(1);
        self.has_zeroes |= zero;
        self.open.push(zero);
    }

    fn skip(&mut self, slots: u32) {
        if slots > 0 && self.values > 0 {
            self.close();
        }
        let mut left = slots;
        while left > 0 {
            if self.skip == FRAGMENT_MOST {
                self.close();
            }
            let room = u32::from(FRAGMENT_MOST.saturating_sub(self.skip));
            let taken = left.min(room);
            self.skip = self.skip.saturating_add(taken as u16);
            left = left.saturating_sub(taken);
        }
    }

    fn write(mut self) -> Vec<u8> {
        self.close();
        let mut w = Writer::new();
        let last = self.done.len().saturating_sub(1);
        for (at, (skip, values, has_zeroes)) in self.done.iter().enumerate() {
            let mut fragment = skip | values.wrapping_shl(VALUES_SHIFT);
            if *has_zeroes {
                fragment |= HAS_ZEROES;
            }
            if at == last {
                fragment |= IS_LAST;
            }
            w.u16(fragment);
        }
        let mut mask = vec![0u8; mask_bytes(self.mask.len())];
        for (bit, zero) in self.mask.iter().enumerate() {
            if let Some(byte) = mask.get_mut(bit.wrapping_shr(3)).filter(|_| *zero) {
                *byte |= 1u8.wrapping_shl(bit as u32 & 7);
            }
        }
        w.bytes(&mask);
        w.into_bytes()
    }
}
