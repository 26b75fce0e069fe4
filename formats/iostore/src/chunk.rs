//! Reading chunks: from a table of contents and the `.ucas` files to the bytes of one chunk.
//!
//! It reads the blocks of the chunk that is asked for and no other bytes, holds a mebibyte of them at a time,
//! and gives nothing out as good before the chunk's hash agrees. It opens no files: a [`ReadAt`] is
//! whatever the caller has. Stored and Zlib blocks are decoded here, others by a [`Decompressor`] that
//! the caller brings.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use std::io;

use crate::toc::{Block, Chunk, Limits, Toc};
use crate::{ChunkHash, ChunkId};

/// The most that is read at once, unless a single block is longer.
const AT_ONCE: u32 = 1 << 20;

/// Bytes that can be read from any place.
pub trait ReadAt: Sync {
    /// Fills `buffer` with the bytes from `offset` on, or fails.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;

    /// How many bytes there are.
    fn len(&self) -> u64;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl ReadAt for [u8] {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let bytes = usize::try_from(offset)
            .ok()
            .and_then(|offset| self.get(offset..)?.get(..buffer.len()))
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(bytes);
        Ok(())
    }

    fn len(&self) -> u64 {
        <[u8]>::len(self) as u64
    }
}

impl ReadAt for Vec<u8> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.as_slice().read_at(offset, buffer)
    }

    fn len(&self) -> u64 {
        ReadAt::len(self.as_slice())
    }
}

impl<T: ReadAt + ?Sized> ReadAt for &T {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        (**self).read_at(offset, buffer)
    }

    fn len(&self) -> u64 {
        (**self).len()
    }
}

/// Decodes the blocks of methods that are not built in.
pub trait Decompressor: Sync {
    /// Fills `output`, which has the size that the block states, from `input`. `method` is as the
    /// container writes it; names are compared without case.
    fn decompress(&self, method: &str, input: &[u8], output: &mut [u8]) -> Result<(), DecompressError>;
}

/// Why a block was not decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecompressError {
    /// The method is not known.
    #[error("unsupported compression")]
    Unsupported,
    /// The block is not what the method writes, or not of the stated size.
    #[error("{0}")]
    Corrupt(String),
}

/// Why a chunk could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ChunkError {
    /// There is no such chunk.
    #[error("not found: chunk {index} of {count}")]
    NotFound {
        /// The index asked for.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// The chunk is longer than the caller allows.
    #[error("limit exceeded: chunk {id} has {length} bytes, at most {limit} are allowed")]
    Limit {
        /// The chunk.
        id: ChunkId,
        /// Its length.
        length: u64,
        /// What is allowed.
        limit: u64,
    },
    /// A file of the container is not there.
    #[error("missing partition: block {block} is in partition {partition}, {present} are there")]
    MissingPartition {
        /// The block.
        block: usize,
        /// Where it is.
        partition: usize,
        /// How many files there are.
        present: usize,
    },
    /// A file of the container ends too early.
    #[error(
        "truncated: block {block} needs bytes {start} to {end} of partition {partition}, which has {length}"
    )]
    Truncated {
        /// The block.
        block: usize,
        /// Its partition.
        partition: usize,
        /// Its first byte.
        start: u64,
        /// The byte after its last.
        end: u64,
        /// What the partition has.
        length: u64,
    },
    /// A block is compressed by a method that nobody here knows.
    #[error("unsupported compression `{method}` of block {block}")]
    Unsupported {
        /// The block.
        block: usize,
        /// The method.
        method: String,
    },
    /// A block cannot be decoded.
    #[error("malformed: block {block}: {message}")]
    Corrupt {
        /// The block.
        block: usize,
        /// What is wrong.
        message: String,
    },
    /// The bytes are not those that the container states.
    #[error("malformed: the bytes of chunk {id} hash to {found}, {stated} is stated")]
    Hash {
        /// The chunk.
        id: ChunkId,
        /// The hash of what was read.
        found: ChunkHash,
        /// The hash in the table of contents.
        stated: ChunkHash,
    },
    /// The file could not be read.
    #[error("block {block} cannot be read")]
    Read {
        /// The block.
        block: usize,
        /// Why.
        source: io::Error,
    },
    /// The bytes could not be passed on.
    #[error("the chunk cannot be written")]
    Write(#[source] io::Error),
}

/// Reads the chunks of a container.
#[derive(Clone, Copy)]
pub struct ChunkReader<'a> {
    toc: &'a Toc,
    partitions: &'a [&'a dyn ReadAt],
    decompressor: Option<&'a dyn Decompressor>,
}

impl<'a> ChunkReader<'a> {
    /// A reader of `toc`'s chunks from the `.ucas` files, partition 0 first.
    pub fn new(toc: &'a Toc, partitions: &'a [&'a dyn ReadAt]) -> Self {
        Self { toc, partitions, decompressor: None }
    }

    /// The same reader with more compression methods.
    #[must_use]
    pub fn with_decompressor(self, decompressor: &'a dyn Decompressor) -> Self {
        Self { decompressor: Some(decompressor), ..self }
    }

    /// The bytes of chunk `index`, of which there may be at most `limit`.
    pub fn read(&self, index: usize, limit: u64) -> Result<Vec<u8>, ChunkError> {
        let chunk = self.chunk(index)?;
        if chunk.length > limit {
            return Err(ChunkError::Limit { id: chunk.id, length: chunk.length, limit });
        }
        // Grows as blocks arrive: the stated length is only a claim.
        let mut bytes = Vec::new();
        self.copy(index, &mut bytes)?;
        Ok(bytes)
    }

    /// Writes the bytes of chunk `index` to `output` block by block. The hash is known at the end: after
    /// an error, what was written is worthless.
    pub fn copy(&self, index: usize, output: &mut dyn io::Write) -> Result<(), ChunkError> {
        let chunk = self.chunk(index)?;
        let (first, blocks) = self.toc.blocks_of(index).unwrap_or_default();
        let mut hasher = blake3::Hasher::new();
        let (mut raw, mut decoded) = (Vec::new(), Vec::new());
        let (mut number, mut rest) = (first, blocks);
        while let Some((block, others)) = rest.split_first() {
            let (mut block, mut more) = (*block, 0_usize);
            let (run, followers) = self.run(block, others);
            // A block that is not there is told by its own number.
            if followers > 0 && self.place(number, run).is_ok() {
                (block, more) = (run, followers);
            }
            self.load(number, block, &mut raw)?;
            rest = others.get(more..).unwrap_or_default();
            let bytes = match usize::from(block.method).checked_sub(1) {
                None => &raw,
                Some(method) => {
                    decoded.resize(size(block.uncompressed_size), 0);
                    self.decode(number, method, &raw, &mut decoded)?;
                    &decoded
                }
            };
            number = number.saturating_add(more).saturating_add(1);
            ChunkHash::absorb(&mut hasher, bytes);
            output.write_all(bytes).map_err(ChunkError::Write)?;
        }
        let found = ChunkHash::finish(&hasher);
        if found != chunk.hash {
            return Err(ChunkError::Hash { id: chunk.id, found, stated: chunk.hash });
        }
        Ok(())
    }

    fn chunk(&self, index: usize) -> Result<&'a Chunk, ChunkError> {
        let chunks = self.toc.chunks();
        chunks.get(index).ok_or(ChunkError::NotFound { index, count: chunks.len() })
    }

    /// `block` with those of `others` that are stored like it and lie end to end behind it in the same file,
    /// as one block that is read at once, and how many of them there are.
    fn run(&self, block: Block, others: &[Block]) -> (Block, usize) {
        let partition = |offset: u64| offset.checked_div(self.toc.partition_size());
        let (mut run, mut followers) = (block, 0_usize);
        for next in others {
            let end = run.offset.saturating_add(run.compressed_size.into());
            let together = run.compressed_size.saturating_add(next.compressed_size);
            if (run.method, next.method, next.offset) != (0, 0, end)
                || together > AT_ONCE
                || partition(run.offset) != partition(next.offset)
            {
                break;
            }
            run.compressed_size = together;
            followers = followers.saturating_add(1);
        }
        (run, followers)
    }

    /// The file that a block is in, and where.
    fn place(&self, number: usize, block: Block) -> Result<(&'a dyn ReadAt, u64), ChunkError> {
        let missing = |partition| ChunkError::MissingPartition {
            block: number,
            partition,
            present: self.partitions.len(),
        };
        // A container is read when it is all there, not when the one block happens to be.
        if self.partitions.len() < size(self.toc.partition_count()) {
            return Err(missing(self.partitions.len()));
        }
        let partition_size = self.toc.partition_size();
        let partition = block.offset.checked_div(partition_size).unwrap_or(u64::MAX);
        let partition = usize::try_from(partition).unwrap_or(usize::MAX);
        let file = self.partitions.get(partition).ok_or_else(|| missing(partition))?;
        let start = block.offset.checked_rem(partition_size).unwrap_or(u64::MAX);
        let end = start.saturating_add(block.compressed_size.into());
        if end > file.len() {
            return Err(ChunkError::Truncated { block: number, partition, start, end, length: file.len() });
        }
        Ok((*file, start))
    }

    /// Reads a block as it is stored into `raw`.
    fn load(&self, number: usize, block: Block, raw: &mut Vec<u8>) -> Result<(), ChunkError> {
        let (file, start) = self.place(number, block)?;
        raw.resize(size(block.compressed_size), 0);
        file.read_at(start, raw).map_err(|source| ChunkError::Read { block: number, source })
    }

    fn decode(&self, block: usize, method: usize, input: &[u8], output: &mut [u8]) -> Result<(), ChunkError> {
        let method = self.toc.methods().get(method).map_or("", String::as_str);
        let result = if method.eq_ignore_ascii_case("Zlib") {
            inflate(input, output)
        } else if let Some(decompressor) = self.decompressor {
            decompressor.decompress(method, input, output)
        } else {
            Err(DecompressError::Unsupported)
        };
        result.map_err(|error| match error {
            DecompressError::Unsupported => ChunkError::Unsupported { block, method: method.to_owned() },
            DecompressError::Corrupt(message) => ChunkError::Corrupt { block, message },
        })
    }
}

/// The bytes of chunk `index`, of which there may be at most `limits.chunk_bytes`.
pub fn read_chunk(
    toc: &Toc,
    index: usize,
    partitions: &[&dyn ReadAt],
    limits: &Limits,
) -> Result<Vec<u8>, ChunkError> {
    ChunkReader::new(toc, partitions).read(index, limits.chunk_bytes)
}

/// Decodes a zlib stream that must give exactly `output.len()` bytes.
fn inflate(input: &[u8], output: &mut [u8]) -> Result<(), DecompressError> {
    let stated = output.len();
    let pieces = std::iter::once(input);
    match miniz_oxide::inflate::decompress_slice_iter_to_slice(output, pieces, true, false) {
        Ok(decoded) if decoded == stated => Ok(()),
        Ok(decoded) => Err(format!("{decoded} bytes, {stated} are stated")),
        Err(miniz_oxide::inflate::TINFLStatus::HasMoreOutput) => {
            Err(format!("more than the {stated} bytes that are stated"))
        }
        Err(status) => Err(format!("not a zlib stream ({status:?})")),
    }
    .map_err(DecompressError::Corrupt)
}

/// A 32-bit size as a length in memory.
fn size(bytes: u32) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
