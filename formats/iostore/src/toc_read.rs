//! Reading of tables of contents.
//!
//! It refuses what contradicts the format or itself, before anything is allocated for it. Sections lie
//! one after the other without padding, so that a wrong count shows as a wrong end. It does not ask
//! whether the perfect hash finds the chunks: a reader has no need of it ([`crate::check`] asks).
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use std::collections::BTreeSet;
use std::fmt;
use std::ops::RangeInclusive;

use wire::{ErrorKind, ReadError, Reader};

use crate::directory::DirectoryIndex;
use crate::toc::{Block, COMPRESSED, Chunk, ENCRYPTED, INDEXED, Limits, ON_DEMAND, SIGNED, Toc};
use crate::{ChunkHash, ChunkId, ContainerId};

pub(crate) const MAGIC: &[u8; 16] = b"-==--==--==--==-";
pub(crate) const VERSION: u8 = 8;
pub(crate) const HEADER_SIZE: u32 = 144;
pub(crate) const BLOCK_ENTRY_SIZE: u32 = 12;
pub(crate) const METHOD_NAME_SIZE: u32 = 32;
/// Where the header has what is judged after all of it was read.
pub(crate) const CHUNK_COUNT_AT: u64 = 24;
pub(crate) const PARTITION_COUNT_AT: u64 = 52;
pub(crate) const FLAGS_AT: u64 = 80;
pub(crate) const OVERFLOW_COUNT_AT: u64 = 96;
const NOT_ZERO: &str = "bytes that are reserved are not zero";
/// A compressed block may be somewhat longer than what it decodes to.
const COMPRESSION_SLACK: u32 = 4096;

impl Toc {
    /// Reads a `.utoc`.
    pub fn read(bytes: &[u8], limits: &Limits) -> Result<Self, ReadError> {
        let mut r = reader(bytes, limits)?;
        let header = Header::read(&mut r)?;
        if header.chunks == 0 {
            let message = "0, at least 1 is needed";
            return Err(fault(ErrorKind::Malformed, CHUNK_COUNT_AT, "header.chunk count", message));
        }
        header.sections(r)
    }
}

/// A reader of the whole file, which is no longer than allowed.
pub(crate) fn reader<'a>(bytes: &'a [u8], limits: &Limits) -> Result<Reader<'a>, ReadError> {
    let r = Reader::new(bytes, "toc");
    if r.remaining() > limits.toc_bytes {
        let message = format!("{} bytes, at most {} are allowed", bytes.len(), limits.toc_bytes);
        return Err(r.limit("length", message));
    }
    Ok(r)
}

/// The fixed part at the start.
pub(crate) struct Header {
    pub(crate) chunks: u32,
    pub(crate) flags: u8,
    pub(crate) partitions: u32,
    pub(crate) overflow: u32,
    blocks: u32,
    methods: u32,
    block_size: u32,
    directory_size: u32,
    container: ContainerId,
    key: [u8; 16],
    seeds: u32,
    partition_size: u64,
}

impl Header {
    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ReadError> {
        let start = r.clone();
        if &r.array::<16>("header.magic")? != MAGIC {
            return Err(start.malformed("header.magic", "not a table of contents"));
        }
        let start = r.clone();
        let version = r.u8("header.version")?;
        if version != VERSION {
            let message = format!("TOC version {version}, only {VERSION} is read");
            return Err(start.unsupported("header.version", message));
        }
        zeros::<3>(r, "header.reserved")?;
        exactly(r, "header.header size", HEADER_SIZE)?;
        let chunks = r.u32("header.chunk count")?;
        let blocks = r.u32("header.block count")?;
        exactly(r, "header.block entry size", BLOCK_ENTRY_SIZE)?;
        let methods = within(r, "header.method count", 0..=8)?;
        exactly(r, "header.method name length", METHOD_NAME_SIZE)?;
        let start = r.clone();
        let block_size = within(r, "header.block size", 4 << 10..=8 << 20)?;
        if !block_size.is_power_of_two() {
            let message = format!("{block_size} is no power of two");
            return Err(start.malformed("header.block size", message));
        }
        let directory_size = r.u32("header.directory index size")?;
        let partitions = within(r, "header.partition count", 1..=64)?;
        let container = ContainerId(r.u64("header.container id")?);
        let key = r.array::<16>("header.encryption key GUID")?;
        let flags = r.u8("header.flags")?;
        zeros::<3>(r, "header.reserved")?;
        let seeds = r.u32("header.seed count")?;
        let start = r.clone();
        let partition_size = r.u64("header.partition size")?;
        if partition_size == 0 {
            return Err(start.malformed("header.partition size", "0, at least 1 is needed"));
        }
        let overflow = r.u32("header.overflow count")?;
        zeros::<44>(r, "header.reserved")?;
        Ok(Self {
            chunks,
            flags,
            partitions,
            overflow,
            blocks,
            methods,
            block_size,
            directory_size,
            container,
            key,
            seeds,
            partition_size,
        })
    }

    /// Whether blocks are encrypted, by flag or by key.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.flags & ENCRYPTED != 0 || self.key != [0; 16]
    }

    /// The ids of all chunks, which come next.
    pub(crate) fn ids(&self, r: &mut Reader<'_>) -> Result<Vec<ChunkId>, ReadError> {
        Ok(entries(r, self.chunks, "chunk ids")?.iter().map(|id| ChunkId::from_bytes(*id)).collect())
    }

    /// Reads everything after the header, to the end.
    pub(crate) fn sections(self, mut r: Reader<'_>) -> Result<Toc, ReadError> {
        let flags =
            |message: &str| Err(fault(ErrorKind::Unsupported, FLAGS_AT, "header.flags", message.to_owned()));
        if self.is_encrypted() {
            return flags("encrypted containers are not read");
        }
        if self.flags & SIGNED != 0 {
            return flags("signed containers are not read");
        }
        if self.flags & !(COMPRESSED | INDEXED | ON_DEMAND) != 0 {
            return flags(&format!("{:#04x} has flags that are not known", self.flags));
        }
        // All sections that are counted by chunks: ids, places and metas.
        let count = r.count(self.chunks.into(), 12 + 10 + 24, "chunks")?;
        let ids: &[[u8; 12]] = entries(&mut r, self.chunks, "chunk ids")?;
        let places: &[[u8; 10]] = entries(&mut r, self.chunks, "chunk places")?;
        let seeds = entries(&mut r, self.seeds, "seeds")?.iter().map(|seed| i32::from_le_bytes(*seed));
        let seeds = seeds.collect();
        let (overflow, overflowed) = self.overflow(&mut r)?;
        let (blocks, partial_before) = self.blocks(&mut r)?;
        let methods = self.methods(&mut r)?;
        let directory = match self.directory_size {
            0 => None,
            size => {
                let section = r.section(size.into(), "directory index")?;
                Some(DirectoryIndex::read(section, count)?)
            }
        };
        let metas_at = r.offset();
        let metas: &[[u8; 24]] = entries(&mut r, self.chunks, "chunk metas")?;
        let mut chunks = Vec::with_capacity(count);
        for ((id, place), meta) in ids.iter().zip(places).zip(metas) {
            let [a, b, c, d, e, f, g, h, i, j] = *place;
            let ([hash @ .., flags, x, y, z], number) = (*meta, |bytes| u64::from_be_bytes(bytes));
            if [x, y, z] != [0; 3] {
                let at = metas_at.saturating_add((chunks.len() as u64).saturating_mul(24)).saturating_add(21);
                return Err(fault(ErrorKind::Unsupported, at, "chunk meta reserved", NOT_ZERO));
            }
            chunks.push(Chunk {
                id: ChunkId::from_bytes(*id),
                offset: number([0, 0, 0, a, b, c, d, e]),
                length: number([0, 0, 0, f, g, h, i, j]),
                hash: ChunkHash::from_bytes(hash),
                flags,
            });
        }
        ranges(&chunks, &blocks, &partial_before, self.block_size)?;
        let by_id = by_id(&chunks).map_err(|(a, b, id)| {
            let message = format!("duplicate chunk id {id}, the same as {a}");
            fault(ErrorKind::Malformed, id_at(b), format_args!("chunk ids[{b}]"), message)
        })?;
        r.finish()?;
        Ok(Toc {
            container: self.container,
            flags: self.flags,
            block_size: self.block_size,
            partition_count: self.partitions,
            partition_size: self.partition_size,
            chunks,
            seeds,
            overflow,
            blocks,
            methods,
            directory,
            by_id,
            overflowed,
        })
    }

    fn overflow(&self, r: &mut Reader<'_>) -> Result<(Vec<u32>, BTreeSet<u32>), ReadError> {
        let mut list = Vec::with_capacity(r.count(self.overflow.into(), 4, "overflow")?);
        let mut set = BTreeSet::new();
        for index in 0..self.overflow {
            let start = r.clone();
            let chunk = r.u32("overflow")?;
            if chunk >= self.chunks {
                let message = format!("chunk {chunk} of {}: out of range", self.chunks);
                return Err(start.malformed(&format!("overflow[{index}]"), message));
            }
            if !set.insert(chunk) {
                return Err(start.malformed(&format!("overflow[{index}]"), format!("chunk {chunk} again")));
            }
            list.push(chunk);
        }
        Ok((list, set))
    }

    /// All blocks, and how many before each are not full.
    fn blocks(&self, r: &mut Reader<'_>) -> Result<(Vec<Block>, Vec<u32>), ReadError> {
        let start = r.offset();
        let entries: &[[u8; 12]] = entries(r, self.blocks, "blocks")?;
        let block = |&[a, b, c, d, e, f, g, h, i, j, k, method]: &[u8; 12]| Block {
            offset: u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]),
            compressed_size: u32::from_le_bytes([f, g, h, 0]),
            uncompressed_size: u32::from_le_bytes([i, j, k, 0]),
            method,
        };
        let blocks: Vec<Block> = entries.iter().map(block).collect();
        let (mut partial, mut good) = (0_u32, true);
        let before = |block: &Block| {
            good &= self.is_plainly_good(*block);
            let before = partial;
            partial = partial.wrapping_add((block.uncompressed_size != self.block_size).into());
            before
        };
        let partial_before = blocks.iter().map(before).collect();
        // Few tables get here: those with partitions, and wrong ones.
        for (index, block) in blocks.iter().enumerate().filter(|_| !good) {
            self.check_block(*block).map_err(|(field, message)| {
                let at = start.saturating_add((index as u64).saturating_mul(BLOCK_ENTRY_SIZE.into()));
                fault(ErrorKind::Malformed, at, format_args!("blocks[{index}].{field}"), message)
            })?;
        }
        Ok((blocks, partial_before))
    }

    /// Whether a block passes [`Self::check_block`] and lies in the first partition: without a branch and
    /// without a division, since a table may have millions of blocks.
    fn is_plainly_good(&self, block: Block) -> bool {
        let (compressed, uncompressed) = (block.compressed_size, block.uncompressed_size);
        // Sizes have 24 bits and offsets 40: nothing overflows, and 0 wraps to more than any limit.
        (uncompressed.wrapping_sub(1) < self.block_size)
            & (compressed.wrapping_sub(1) < self.block_size.saturating_add(COMPRESSION_SLACK))
            & (u32::from(block.method) <= self.methods)
            & ((block.method != 0) | (compressed == uncompressed))
            & (block.offset.saturating_add(compressed.into()) <= self.partition_size)
    }

    fn check_block(&self, block: Block) -> Result<(), (&'static str, String)> {
        let (compressed, uncompressed) = (block.compressed_size, block.uncompressed_size);
        if !(1..=self.block_size).contains(&uncompressed) {
            let message = format!("{uncompressed}, 1 to {} are allowed", self.block_size);
            return Err(("uncompressed size", message));
        }
        let most = self.block_size.saturating_add(COMPRESSION_SLACK);
        if !(1..=most).contains(&compressed) {
            return Err(("compressed size", format!("{compressed}, 1 to {most} are allowed")));
        }
        if u32::from(block.method) > self.methods {
            return Err(("method", format!("{} of {} methods", block.method, self.methods)));
        }
        if block.method == 0 && compressed != uncompressed {
            let message = format!("{compressed} for {uncompressed} bytes that are stored as they are");
            return Err(("compressed size", message));
        }
        let partition = block.offset.checked_div(self.partition_size);
        if partition.is_none_or(|partition| partition >= self.partitions.into()) {
            let message = format!("{} is outside the {} partitions", block.offset, self.partitions);
            return Err(("offset", message));
        }
        let end = block
            .offset
            .checked_rem(self.partition_size)
            .and_then(|place| place.checked_add(compressed.into()));
        if end.is_none_or(|end| end > self.partition_size) {
            let message = format!("{} leads across the end of a partition", block.offset);
            return Err(("offset", message));
        }
        Ok(())
    }

    fn methods(&self, r: &mut Reader<'_>) -> Result<Vec<String>, ReadError> {
        let mut methods = Vec::new();
        for index in 0..self.methods {
            let field = format!("methods[{index}]");
            let start = r.clone();
            let bytes = r.bytes(METHOD_NAME_SIZE.into(), &field)?;
            let name = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
            let padding = bytes.get(name.len()..).unwrap_or_default();
            if name.is_empty()
                || !name.iter().all(u8::is_ascii_graphic)
                || padding.iter().any(|byte| *byte != 0)
            {
                return Err(start.malformed(&field, "not an ASCII name padded with zeros"));
            }
            methods.push(String::from_utf8_lossy(name).into_owned());
        }
        Ok(methods)
    }
}

/// Checks that every chunk's blocks exist and add up to its length, in time that grows with the number
/// of chunks and blocks alone, however many blocks chunks have in common.
fn ranges(
    chunks: &[Chunk],
    blocks: &[Block],
    partial_before: &[u32],
    block_size: u32,
) -> Result<(), ReadError> {
    // A power of two.
    let (size, shift) = (u64::from(block_size), block_size.trailing_zeros());
    for (index, chunk) in chunks.iter().enumerate() {
        let wrong = |field: &str, message: String| {
            let at = id_at(chunks.len()).saturating_add((index as u64).saturating_mul(10));
            Err(fault(ErrorKind::Malformed, at, format_args!("chunks[{index}].{field}"), message))
        };
        if chunk.offset.trailing_zeros() < shift {
            return wrong("offset", format!("{} is no multiple of {size}", chunk.offset));
        }
        // A chunk without bytes owns no block.
        let Some(more) = chunk.length.checked_sub(1).and_then(|last| last.checked_shr(shift)) else {
            continue;
        };
        let first = chunk.offset.checked_shr(shift).unwrap_or(u64::MAX);
        let last = first.saturating_add(more);
        let place = |block: u64| usize::try_from(block).unwrap_or(usize::MAX);
        let (Some(first_partial), Some(last_partial), Some(last_block)) =
            (partial_before.get(place(first)), partial_before.get(place(last)), blocks.get(place(last)))
        else {
            let message = format!("blocks {first} to {last} of {}: out of range", blocks.len());
            return wrong("offset", message);
        };
        let rest = chunk.length.checked_sub(more.saturating_mul(size));
        if first_partial != last_partial || rest != Some(last_block.uncompressed_size.into()) {
            let message = format!("{} bytes, its blocks have others", chunk.length);
            return wrong("length", message);
        }
    }
    Ok(())
}

/// The indices of `chunks` by id, or the two first indices that share an id.
pub(crate) fn by_id(chunks: &[Chunk]) -> Result<Vec<u32>, (usize, usize, ChunkId)> {
    // The id as a number with the index below it: 96 and 32 bits.
    let key = |(index, chunk): (u32, &Chunk)| {
        let [a, b, c, d, e, f, g, h, i, j, k, l] = *chunk.id.as_bytes();
        let [m, n, o, p] = index.to_be_bytes();
        u128::from_be_bytes([a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p])
    };
    let mut keys: Vec<u128> = (0..).zip(chunks).map(key).collect();
    keys.sort_unstable();
    let index = |key: u128| key as u32;
    for (a, b) in keys.iter().zip(keys.iter().skip(1)) {
        if (a ^ b) >> 32 == 0 {
            let (a, b) = (place(index(*a)), place(index(*b)));
            return Err((a, b, chunks.get(a).map_or(ChunkId::from_bytes([0; 12]), |chunk| chunk.id)));
        }
    }
    Ok(keys.into_iter().map(index).collect())
}

/// A table of `count` entries of `N` bytes, all there.
fn entries<'a, const N: usize>(
    r: &mut Reader<'a>,
    count: u32,
    field: &str,
) -> Result<&'a [[u8; N]], ReadError> {
    r.count(count.into(), N as u64, field)?;
    let (entries, _) = r.bytes(u64::from(count).saturating_mul(N as u64), field)?.as_chunks();
    Ok(entries)
}

/// An index of the format as a place in memory.
pub(crate) fn place(index: u32) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}

/// An error about something that was read before.
pub(crate) fn fault(
    kind: ErrorKind,
    offset: u64,
    field: impl fmt::Display,
    message: impl Into<String>,
) -> ReadError {
    ReadError::new(kind, offset, format!("toc.{field}"), message)
}

/// Where the id of chunk `index` is.
pub(crate) fn id_at(index: usize) -> u64 {
    u64::from(HEADER_SIZE).saturating_add((index as u64).saturating_mul(12))
}

fn zeros<const N: usize>(r: &mut Reader<'_>, field: &str) -> Result<(), ReadError> {
    let start = r.clone();
    if r.array::<N>(field)?.iter().any(|byte| *byte != 0) {
        return Err(start.unsupported(field, NOT_ZERO));
    }
    Ok(())
}

fn exactly(r: &mut Reader<'_>, field: &str, expected: u32) -> Result<(), ReadError> {
    let start = r.clone();
    let found = r.u32(field)?;
    if found != expected {
        return Err(start.unsupported(field, format!("{found}, only {expected} is read")));
    }
    Ok(())
}

fn within(r: &mut Reader<'_>, field: &str, allowed: RangeInclusive<u32>) -> Result<u32, ReadError> {
    let start = r.clone();
    let found = r.u32(field)?;
    if !allowed.contains(&found) {
        let message = format!("{found}, {} to {} are allowed", allowed.start(), allowed.end());
        return Err(start.limit(field, message));
    }
    Ok(found)
}
