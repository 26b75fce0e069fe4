//! Whether the game would find in a container what is there: stricter than reading it.
//!
//! A reader takes what it can get; the game finds a chunk through the perfect hash or not at all, and
//! says nothing. [`toc_structure`] asks what can be asked without the `.ucas`, [`container`] reads
//! everything back. Work grows with the sizes of the files, whatever their tables claim.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use std::fmt;
use std::io;

use wire::{ErrorKind, ReadError};

use crate::chunk::{ChunkError, ChunkReader, Decompressor, ReadAt};
use crate::container_header::ContainerHeader;
use crate::perfect_hash::{self, Slot};
use crate::toc::{Block, COMPRESSED, INDEXED, Limits, Toc};
use crate::toc_read::{
    CHUNK_COUNT_AT, FLAGS_AT, Header, OVERFLOW_COUNT_AT, PARTITION_COUNT_AT, fault, id_at, reader,
};
use crate::{ChunkId, ChunkType};

/// The most chunks that a container in an archive may have, and that is written.
pub(crate) const MAX_CHUNKS: u32 = 1_000_000;

/// What a scan of archives wants to know of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// All chunks, in the order of the table of contents.
    pub chunk_ids: Vec<ChunkId>,
    /// The container's flags.
    pub flags: u8,
    /// Whether blocks are encrypted. Of such a container nothing more was checked.
    pub encrypted: bool,
}

/// Why a container is not good.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The table of contents or the container header is wrong.
    #[error(transparent)]
    Structure(#[from] ReadError),
    /// A chunk is wrong.
    #[error(transparent)]
    Chunk(#[from] ChunkError),
}

/// Checks a `.utoc` that goes with a `.ucas` of `ucas_len` bytes. A container without chunks passes: it
/// is useless and harmless.
pub fn toc_structure(utoc: &[u8], ucas_len: u64) -> Result<Summary, ReadError> {
    let mut r = reader(utoc, &Limits::default())?;
    let header = Header::read(&mut r)?;
    if header.chunks > MAX_CHUNKS {
        let message = format!("{}, at most {MAX_CHUNKS} are allowed", header.chunks);
        return Err(fault(ErrorKind::Limit, CHUNK_COUNT_AT, "header.chunk count", message));
    }
    let flags = header.flags;
    if header.is_encrypted() {
        return Ok(Summary { chunk_ids: header.ids(&mut r)?, flags, encrypted: true });
    }
    if header.partitions != 1 {
        let message = format!("{}, only 1 is allowed", header.partitions);
        return Err(wrong(PARTITION_COUNT_AT, "header.partition count", message));
    }
    if flags & !(COMPRESSED | INDEXED) != 0 {
        let message = format!("{flags:#04x}, only 0x01 and 0x08 are allowed");
        return Err(fault(ErrorKind::Unsupported, FLAGS_AT, "header.flags", message));
    }
    if header.overflow != 0 {
        let message = format!("{}, only 0 is allowed: the game may not read the list", header.overflow);
        return Err(wrong(OVERFLOW_COUNT_AT, "header.overflow count", message));
    }
    let toc = header.sections(r)?;
    if flags & COMPRESSED == 0 && !toc.methods().is_empty() {
        let message = "there are methods, and flag 0x01 is not set";
        return Err(wrong(FLAGS_AT, "header.flags", message));
    }
    hash_finds_all(&toc)?;
    for (index, block) in toc.blocks().iter().enumerate() {
        if padded_end(block).is_none_or(|end| end > ucas_len) {
            let message = format!(
                "{} bytes at {}, rounded up to 16, are not in the {ucas_len} bytes of the `.ucas`",
                block.compressed_size, block.offset
            );
            return Err(wrong(block_at(&toc, index), format_args!("blocks[{index}]"), message));
        }
    }
    Ok(Summary { chunk_ids: toc.chunks().iter().map(|chunk| chunk.id).collect(), flags, encrypted: false })
}

/// Checks a whole container: its structure, that every chunk is found and has the bytes that its hash
/// states, and that its header can be used.
pub fn container(
    utoc: &[u8],
    ucas: &dyn ReadAt,
    decompressor: Option<&dyn Decompressor>,
) -> Result<Toc, CheckError> {
    let limits = Limits::default();
    let summary = toc_structure(utoc, ucas.len())?;
    // Also refuses what a scan lets pass: encrypted or empty containers.
    let toc = Toc::read(utoc, &limits)?;
    nothing_is_shared(&toc, ucas.len())?;
    let partitions = [ucas];
    let mut chunks = ChunkReader::new(&toc, &partitions);
    if let Some(decompressor) = decompressor {
        chunks = chunks.with_decompressor(decompressor);
    }
    for (index, id) in summary.chunk_ids.iter().enumerate() {
        if id.kind() == ChunkType::ContainerHeader {
            // Stored, so that it is no longer than the file: it alone is held as a whole.
            header_place(&toc, index, *id)?;
            header_content(&toc, index, &chunks.read(index, limits.chunk_bytes)?)?;
        } else {
            chunks.copy(index, &mut io::sink())?;
        }
    }
    Ok(toc)
}

fn wrong(offset: u64, field: impl fmt::Display, message: impl Into<String>) -> ReadError {
    fault(ErrorKind::Malformed, offset, field, message)
}

/// Where the entry of block `index` is, behind ids, places and seeds.
fn block_at(toc: &Toc, index: usize) -> u64 {
    let size = |count: usize, bytes: u64| (count as u64).saturating_mul(bytes);
    id_at(toc.chunks().len())
        .saturating_add(size(toc.chunks().len(), 10))
        .saturating_add(size(toc.seeds().len(), 4))
        .saturating_add(size(index, 12))
}

fn hash_finds_all(toc: &Toc) -> Result<(), ReadError> {
    for (index, chunk) in toc.chunks().iter().enumerate() {
        let slot = perfect_hash::slot(toc.seeds(), toc.chunks().len(), chunk.id);
        if slot != Slot::At(index) {
            let message = format!("the game does not find chunk {} (perfect hash)", chunk.id);
            return Err(wrong(id_at(index), format_args!("chunk ids[{index}]"), message));
        }
    }
    Ok(())
}

/// The byte after a block as the engine reads it, in multiples of 16.
fn padded_end(block: &Block) -> Option<u64> {
    u64::from(block.compressed_size).checked_next_multiple_of(16)?.checked_add(block.offset)
}

/// Refuses blocks that several chunks own and bytes that several blocks own: nobody writes them, and
/// with them a small file could ask for any amount of work.
fn nothing_is_shared(toc: &Toc, ucas_len: u64) -> Result<(), ReadError> {
    let mut owned = vec![false; toc.blocks().len()];
    for index in 0..toc.chunks().len() {
        let (first, blocks) = toc.blocks_of(index).unwrap_or_default();
        for (number, owned) in owned.iter_mut().enumerate().skip(first).take(blocks.len()) {
            if std::mem::replace(owned, true) {
                let message = format!("chunk {index} owns block {number}, as another one does");
                return Err(wrong(id_at(toc.chunks().len()), format_args!("chunks[{index}]"), message));
            }
        }
    }
    let bytes =
        toc.blocks().iter().fold(0_u64, |sum, block| sum.saturating_add(block.compressed_size.into()));
    if bytes > ucas_len {
        let message = format!("{bytes} bytes in a `.ucas` of {ucas_len}");
        return Err(wrong(block_at(toc, 0), "blocks", message));
    }
    Ok(())
}

fn header_place(toc: &Toc, index: usize, id: ChunkId) -> Result<(), ReadError> {
    let wrong = |message: String| Err(wrong(id_at(index), format_args!("chunk ids[{index}]"), message));
    if id != toc.container().header_chunk() {
        return wrong(format!("container header {id} in container {}", toc.container()));
    }
    // At mount the engine reads the header in one piece from its first block's place.
    let (_, blocks) = toc.blocks_of(index).unwrap_or_default();
    let in_one_piece =
        blocks.iter().zip(blocks.iter().skip(1)).all(|(block, next)| padded_end(block) == Some(next.offset));
    if blocks.iter().any(|block| block.method != 0) || !in_one_piece {
        return wrong("the container header is not stored in one piece".to_owned());
    }
    Ok(())
}

fn header_content(toc: &Toc, index: usize, bytes: &[u8]) -> Result<(), ReadError> {
    let header = ContainerHeader::read(bytes)?;
    if header.container != toc.container() {
        let message = format!("the header of {} in container {}", header.container, toc.container());
        return Err(wrong(id_at(index), format_args!("chunk ids[{index}]"), message));
    }
    Ok(())
}
