//! The table of contents (`.utoc`): what a container holds and where.
//!
//! A [`Toc`] is what a file says, checked as far as it can be without the `.ucas`; it opens no files
//! and decodes nothing. Invariant: ids are distinct, every chunk's blocks exist and add up to its
//! length, and every block lies in a partition. Reading is in `toc_read`, writing in `toc_write`.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use std::collections::BTreeSet;

use crate::directory::DirectoryIndex;
use crate::perfect_hash::{self, Slot};
use crate::toc_read::place;
use crate::{ChunkHash, ChunkId, ContainerId};

/// Blocks of chunks may be compressed.
pub(crate) const COMPRESSED: u8 = 1;
/// Blocks are encrypted.
pub(crate) const ENCRYPTED: u8 = 2;
/// Blocks are signed.
pub(crate) const SIGNED: u8 = 4;
/// There is a directory index.
pub(crate) const INDEXED: u8 = 8;
/// Blocks are fetched over a network.
pub(crate) const ON_DEMAND: u8 = 16;

/// What a reader of containers accepts.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The longest `.utoc`, in bytes.
    pub toc_bytes: u64,
    /// The longest chunk that is read into memory, in bytes.
    pub chunk_bytes: u64,
}

impl Default for Limits {
    /// 256 MiB (the largest that the game ships is 26 MB) and 1 GiB.
    fn default() -> Self {
        Self { toc_bytes: 256 << 20, chunk_bytes: 1 << 30 }
    }
}

/// A chunk as its container describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Which chunk it is.
    pub id: ChunkId,
    /// Where it starts in the logical space of all uncompressed blocks: says which blocks are its own,
    /// not where they are.
    pub offset: u64,
    /// Its uncompressed length.
    pub length: u64,
    /// The hash of its uncompressed bytes.
    pub hash: ChunkHash,
    /// 1 when a block of it is compressed, 2 when it is to be mapped.
    pub flags: u8,
}

/// A block: a stretch of the `.ucas` that is decoded at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Where it starts, counted through all partitions.
    pub offset: u64,
    /// Its bytes there.
    pub compressed_size: u32,
    /// Its bytes when decoded.
    pub uncompressed_size: u32,
    /// 0 when stored, else the number of a method, counted from 1.
    pub method: u8,
}

/// A table of contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toc {
    pub(crate) container: ContainerId,
    pub(crate) flags: u8,
    pub(crate) block_size: u32,
    pub(crate) partition_count: u32,
    pub(crate) partition_size: u64,
    pub(crate) chunks: Vec<Chunk>,
    pub(crate) seeds: Vec<i32>,
    pub(crate) overflow: Vec<u32>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) methods: Vec<String>,
    pub(crate) directory: Option<DirectoryIndex>,
    /// The indices of all chunks in the order of their ids.
    pub(crate) by_id: Vec<u32>,
    /// The overflow list as a set.
    pub(crate) overflowed: BTreeSet<u32>,
}

impl Toc {
    /// The container's id.
    pub fn container(&self) -> ContainerId {
        self.container
    }

    /// The container's flags: 1 compressed, 8 with a directory index, 16 on demand.
    pub fn flags(&self) -> u8 {
        self.flags
    }

    /// What all blocks but the last of a chunk decode to, in bytes.
    pub fn block_size(&self) -> u32 {
        self.block_size
    }

    /// How many files hold the blocks.
    pub fn partition_count(&self) -> u32 {
        self.partition_count
    }

    /// How many bytes of blocks a file holds.
    pub fn partition_size(&self) -> u64 {
        self.partition_size
    }

    /// All chunks; an index into them is what other methods call `index`.
    pub fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    /// All blocks.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The names of the compression methods, the first of which is number 1.
    pub fn methods(&self) -> &[String] {
        &self.methods
    }

    /// The seeds of the perfect hash.
    pub fn seeds(&self) -> &[i32] {
        &self.seeds
    }

    /// The chunks that the perfect hash could not place.
    pub fn overflow(&self) -> &[u32] {
        &self.overflow
    }

    /// The index of the chunk `id`.
    pub fn find(&self, id: ChunkId) -> Option<usize> {
        self.by_id
            .binary_search_by(|index| {
                let other = self.chunks.get(place(*index)).map(|chunk| chunk.id);
                other.cmp(&Some(id))
            })
            .ok()
            .and_then(|at| self.by_id.get(at).copied().map(place))
    }

    /// The index of the chunk `id` as the engine finds it. Only a check needs this: [`Toc::find`] finds
    /// whatever is there.
    pub fn resolve(&self, id: ChunkId) -> Option<usize> {
        match perfect_hash::slot(&self.seeds, self.chunks.len(), id) {
            Slot::Absent => None,
            Slot::At(slot) => (self.chunks.get(slot)?.id == id).then_some(slot),
            Slot::Overflow => self
                .find(id)
                .filter(|index| u32::try_from(*index).is_ok_and(|index| self.overflowed.contains(&index))),
            Slot::Anywhere => self.find(id),
        }
    }

    /// The mount point of the directory index, as stored.
    pub fn mount_point(&self) -> Option<&str> {
        self.directory.as_ref().map(DirectoryIndex::mount)
    }

    /// The name of a chunk below the mount point, such as `Meteorite/Content/Textures/T_Test.uasset`.
    pub fn path_below_mount(&self, index: usize) -> Option<String> {
        self.directory.as_ref()?.path(u32::try_from(index).ok()?)
    }

    /// The name of a chunk joined with the mount point, which is taken without its leading `../`: every
    /// component may be part of a path on any system.
    pub fn path(&self, index: usize) -> Option<String> {
        self.directory.as_ref()?.full_path(u32::try_from(index).ok()?)
    }

    /// The number of a chunk's first block, and its blocks.
    pub fn blocks_of(&self, index: usize) -> Option<(usize, &[Block])> {
        let chunk = self.chunks.get(index)?;
        let block_size = u64::from(self.block_size);
        let count = usize::try_from(chunk.length.div_ceil(block_size)).ok()?;
        if count == 0 {
            return Some((0, &[]));
        }
        let first = usize::try_from(chunk.offset.checked_div(block_size)?).ok()?;
        let blocks = self.blocks.get(first..first.checked_add(count)?)?;
        Some((first, blocks))
    }
}
