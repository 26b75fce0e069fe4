//! The canonical writer: packages and loose chunks in, one `.ucas` stream and one `.utoc` out.
//!
//! Same inputs, same bytes, in whatever order they are given; no time, path, thread count or map order
//! enters. It knows nothing of the inside of a package: the caller says what a package's header states,
//! and what can be checked of that here is. Blocks are stored: the archive around the container
//! compresses. What is written should be read back with [`crate::check::container`].

use std::collections::BTreeSet;
use std::fmt;
use std::io;

use crate::check::MAX_CHUNKS;
use crate::container_header::{ContainerHeader, PackageEntry, Redirects, ShaderMapHash};
use crate::directory::{DirectoryIndex, MAX_DEPTH, MAX_PATH};
use crate::mount::PROJECT;
use crate::perfect_hash;
use crate::text::component_fault;
use crate::toc::{Block, Chunk, INDEXED, Toc};
use crate::toc_read::by_id;
use crate::{ChunkHash, ChunkId, ChunkType, ContainerId, PackageId};

const BLOCK_SIZE: u32 = 65_536;
/// Offsets and lengths have 40 bits.
const MAX_OFFSET: u64 = (1 << 40) - 1;
/// What blocks are padded to in the `.ucas`.
const ALIGNMENT: u64 = 16;

/// The bytes of a chunk.
#[derive(Clone, Copy)]
pub enum Payload<'a> {
    /// They are at hand.
    Slice(&'a [u8]),
    /// They are read when it is their turn, so that a container may be larger than memory.
    Source(&'a dyn Source),
}

/// Gives the bytes of one chunk when they are asked for.
pub trait Source: Sync {
    /// How many there are.
    fn len(&self) -> u64;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Hands all of them to `sink`, at once.
    fn read(&self, sink: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()>;
}

impl Payload<'_> {
    fn len(&self) -> u64 {
        match self {
            Self::Slice(bytes) => bytes.len() as u64,
            Self::Source(source) => source.len(),
        }
    }

    fn read(&self, sink: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        match self {
            Self::Slice(bytes) => sink(bytes),
            Self::Source(source) => source.read(sink),
        }
    }
}

impl<'a, T: AsRef<[u8]> + ?Sized> From<&'a T> for Payload<'a> {
    fn from(bytes: &'a T) -> Self {
        Self::Slice(bytes.as_ref())
    }
}

impl fmt::Debug for Payload<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.len())
    }
}

/// A package and its bulk data. It is registered in the container header and named as a file.
#[derive(Clone, Debug)]
pub struct Package<'a> {
    /// What the package is to be found as.
    pub id: PackageId,
    /// The full name that the package's own header states, such as `/Game/Meshes/SM_Cube`.
    pub name: &'a str,
    /// Whether it is a world, which makes it a `.umap`.
    pub is_world: bool,
    /// The zen package.
    pub zen: Payload<'a>,
    /// Bulk data (`.ubulk`), also the payload of a Blam tag.
    pub bulk: Option<Payload<'a>>,
    /// Optional bulk data (`.uptnl`).
    pub optional_bulk: Option<Payload<'a>>,
    /// Memory-mapped bulk data (`.m.ubulk`).
    pub mapped_bulk: Option<Payload<'a>>,
    /// The imported packages of the package's own header, in its order.
    pub imports: Vec<PackageId>,
    /// The shader maps of its materials.
    pub shader_maps: Vec<ShaderMapHash>,
}

impl<'a> Package<'a> {
    /// A package under the name that its header states, without bulk data, imports or shaders.
    pub fn new(name: &'a str, zen: impl Into<Payload<'a>>) -> Self {
        Self {
            id: PackageId::of_name(name),
            name,
            is_world: false,
            zen: zen.into(),
            bulk: None,
            optional_bulk: None,
            mapped_bulk: None,
            imports: Vec::new(),
            shader_maps: Vec::new(),
        }
    }

    /// The package's chunks: kind, extension and bytes.
    fn parts(&self) -> impl Iterator<Item = (ChunkType, &'static str, Payload<'a>)> {
        let zen = if self.is_world { "umap" } else { "uasset" };
        [
            (ChunkType::ExportBundleData, zen, Some(self.zen)),
            (ChunkType::BulkData, "ubulk", self.bulk),
            (ChunkType::OptionalBulkData, "uptnl", self.optional_bulk),
            (ChunkType::MemoryMappedBulkData, "m.ubulk", self.mapped_bulk),
        ]
        .into_iter()
        .filter_map(|(kind, extension, bytes)| Some((kind, extension, bytes?)))
    }

    /// The path below the mount point, without extension.
    fn path(&self) -> Result<String, WriteError> {
        let under = |root| self.name.strip_prefix(root);
        match (under("/Game/"), under("/Engine/")) {
            (Some(rest), _) => Ok(format!("{PROJECT}/Content/{rest}")),
            (_, Some(rest)) => Ok(format!("Engine/Content/{rest}")),
            _ => Err(WriteError::Name {
                name: self.name.to_owned(),
                fault: "it is neither below `/Game/` nor below `/Engine/`",
            }),
        }
    }
}

/// Why a container was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// There is nothing to write.
    #[error("a container without chunks")]
    Empty,
    /// A name of a container, package or file that cannot be used.
    #[error("the name `{}` cannot be used: {fault}", name.escape_debug())]
    Name {
        /// The name.
        name: String,
        /// Why.
        fault: &'static str,
    },
    /// The package would not be found under its own name.
    #[error("package `{name}` has the id {derived}, and is to be written as {stated}")]
    PackageId {
        /// The name in the package's header.
        name: String,
        /// The id of that name.
        derived: PackageId,
        /// The id it was given.
        stated: PackageId,
    },
    /// Two chunks with one id.
    #[error("chunk {0} is there twice")]
    Duplicate(ChunkId),
    /// A chunk without bytes, which owns no block.
    #[error("chunk {0} is empty; leave it out")]
    EmptyChunk(ChunkId),
    /// An id that no container has.
    #[error("the id {id} cannot be used: {fault}")]
    ChunkId {
        /// The id.
        id: ChunkId,
        /// Why.
        fault: &'static str,
    },
    /// A number that does not fit in its field.
    #[error("{what} is {found}, at most {allowed} is allowed")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// What it is.
        found: u64,
        /// What is allowed.
        allowed: u64,
    },
    /// No perfect hash was found.
    #[error("cannot place chunks: no perfect hash of {0} chunks")]
    Unplaceable(usize),
    /// The `.ucas` could not be written.
    #[error("the `.ucas` cannot be written")]
    Io(#[from] io::Error),
}

enum Bytes<'a> {
    Own(Vec<u8>),
    Given(Payload<'a>),
}

impl Bytes<'_> {
    fn payload(&self) -> Payload<'_> {
        match self {
            Self::Own(bytes) => Payload::Slice(bytes),
            Self::Given(payload) => *payload,
        }
    }
}

/// A chunk on its way into the container.
struct Part<'a> {
    id: ChunkId,
    bytes: Bytes<'a>,
    path: Option<String>,
}

/// A container in the making.
#[derive(Clone, Debug)]
pub struct Builder<'a> {
    name: &'a str,
    packages: Vec<Package<'a>>,
    chunks: Vec<(ChunkId, Option<&'a str>, &'a [u8])>,
}

impl<'a> Builder<'a> {
    /// A container whose files will be called `name` and an extension; the id follows from it.
    pub fn new(name: &'a str) -> Self {
        Self { name, packages: Vec::new(), chunks: Vec::new() }
    }

    /// Adds a package.
    #[must_use]
    pub fn package(mut self, package: Package<'a>) -> Self {
        self.packages.push(package);
        self
    }

    /// Adds a chunk that is neither registered nor named: an override of a shipped one.
    #[must_use]
    pub fn chunk(mut self, id: ChunkId, bytes: &'a [u8]) -> Self {
        self.chunks.push((id, None, bytes));
        self
    }

    /// Adds a chunk that is named as a file, by its path below `../../../`: a shader library.
    #[must_use]
    pub fn named_chunk(mut self, id: ChunkId, path: &'a str, bytes: &'a [u8]) -> Self {
        self.chunks.push((id, Some(path), bytes));
        self
    }

    /// Writes the `.ucas` to `ucas` and gives the `.utoc`. Everything is checked before the first byte.
    pub fn write(self, ucas: &mut dyn io::Write) -> Result<Vec<u8>, WriteError> {
        check_name(self.name, 1)?;
        let container = ContainerId::of_name(self.name);
        let parts = self.parts(container)?;
        let order = slot_order(&parts)?;
        let (chunks, blocks) = write_blocks(&parts, ucas)?;

        let chunks: Vec<Chunk> = order.order.iter().map(|index| chunks[*index].clone()).collect();
        let paths = (0..).zip(&order.order).filter_map(|(slot, index)| {
            let path = parts[*index].path.as_deref()?;
            Some((slot, path))
        });
        let toc = Toc {
            container,
            flags: INDEXED,
            block_size: BLOCK_SIZE,
            partition_count: 1,
            partition_size: u64::MAX,
            directory: Some(DirectoryIndex::build(paths)),
            by_id: by_id(&chunks).map_err(|(_, _, id)| WriteError::Duplicate(id))?,
            chunks,
            seeds: order.seeds,
            overflow: Vec::new(),
            overflowed: BTreeSet::new(),
            blocks,
            methods: Vec::new(),
        };
        Ok(toc.write())
    }

    /// All chunks in write order: header, packages by id, others by id.
    fn parts(mut self, container: ContainerId) -> Result<Vec<Part<'a>>, WriteError> {
        self.packages.sort_by_key(|package| package.id);
        self.chunks.sort_by_key(|(id, ..)| *id);
        let mut parts = Vec::new();
        if !self.packages.is_empty() {
            parts.push(Part {
                id: container.header_chunk(),
                bytes: Bytes::Own(header(container, &self.packages).write()),
                path: None,
            });
        }
        for package in &self.packages {
            let derived = PackageId::of_name(package.name);
            if derived != package.id {
                return Err(WriteError::PackageId {
                    name: package.name.to_owned(),
                    derived,
                    stated: package.id,
                });
            }
            let path = package.path()?;
            parts.extend(package.parts().map(|(kind, extension, bytes)| Part {
                id: package.id.chunk(kind),
                bytes: Bytes::Given(bytes),
                path: Some(format!("{path}.{extension}")),
            }));
        }
        for (id, path, bytes) in self.chunks {
            check_loose(id)?;
            parts.push(Part { id, bytes: Bytes::Given(bytes.into()), path: path.map(str::to_owned) });
        }
        check_parts(&parts)?;
        Ok(parts)
    }
}

fn header(container: ContainerId, packages: &[Package<'_>]) -> ContainerHeader {
    ContainerHeader {
        container,
        packages: packages
            .iter()
            .map(|package| PackageEntry {
                id: package.id,
                imports: package.imports.clone(),
                shader_maps: package.shader_maps.clone(),
            })
            .collect(),
        optional_packages: Vec::new(),
        optional_entries: Vec::new(),
        redirects: Redirects::default(),
        soft_references: None,
    }
}

fn check_loose(id: ChunkId) -> Result<(), WriteError> {
    let fault = match id.kind() {
        ChunkType::Invalid => "it is of no type",
        ChunkType::ContainerHeader => "the container header is made here",
        // The start of a SHA-1: any bytes.
        ChunkType::ShaderCode => return Ok(()),
        _ if id.reserved() != 0 => "byte 10 is not 0",
        _ => return Ok(()),
    };
    Err(WriteError::ChunkId { id, fault })
}

fn check_parts(parts: &[Part<'_>]) -> Result<(), WriteError> {
    let at_most = |what, found: u64, allowed: u64| match found <= allowed {
        true => Ok(()),
        false => Err(WriteError::TooLarge { what, found, allowed }),
    };
    if parts.is_empty() {
        return Err(WriteError::Empty);
    }
    at_most("the number of chunks", parts.len() as u64, MAX_CHUNKS.into())?;
    let mut seen = BTreeSet::new();
    let mut paths = BTreeSet::new();
    // Logical space and `.ucas` grow by whole blocks at most.
    let mut total = 0_u64;
    for part in parts {
        if !seen.insert(part.id) {
            return Err(WriteError::Duplicate(part.id));
        }
        let length = part.bytes.payload().len();
        if length == 0 {
            return Err(WriteError::EmptyChunk(part.id));
        }
        // The header states lengths in 32 bits.
        let allowed = match part.id.kind() {
            ChunkType::ContainerHeader => u32::MAX.into(),
            _ => MAX_OFFSET,
        };
        at_most("the length of a chunk", length, allowed)?;
        total = total.saturating_add(length.next_multiple_of(BLOCK_SIZE.into()));
        if let Some(path) = &part.path {
            check_name(path, MAX_DEPTH)?;
            if !paths.insert(path.to_ascii_lowercase()) {
                return Err(WriteError::Name {
                    name: path.clone(),
                    fault: "another file has it, if only in other letters",
                });
            }
        }
    }
    at_most("the length of all chunks", total, MAX_OFFSET)
}

/// Checks a path of at most `depth` components.
fn check_name(name: &str, depth: usize) -> Result<(), WriteError> {
    let fault = if !name.is_ascii() {
        Some("it has letters that are not ASCII")
    } else if name.len() >= MAX_PATH {
        Some("it is longer than 1,023 bytes")
    } else if name.split('/').count() > depth {
        Some("it has too many components")
    } else {
        name.split('/').find_map(component_fault)
    };
    match fault {
        Some(fault) => Err(WriteError::Name { name: name.to_owned(), fault }),
        None => Ok(()),
    }
}

fn slot_order(parts: &[Part<'_>]) -> Result<perfect_hash::Table, WriteError> {
    let ids: Vec<ChunkId> = parts.iter().map(|part| part.id).collect();
    perfect_hash::generate(&ids).ok_or(WriteError::Unplaceable(ids.len()))
}

/// Writes all blocks, and says where they are.
fn write_blocks(
    parts: &[Part<'_>],
    ucas: &mut dyn io::Write,
) -> Result<(Vec<Chunk>, Vec<Block>), WriteError> {
    let mut chunks = Vec::with_capacity(parts.len());
    let mut blocks: Vec<Block> = Vec::new();
    let mut place = 0_u64;
    for part in parts {
        let payload = part.bytes.payload();
        let (offset, length) = (blocks.len() as u64 * u64::from(BLOCK_SIZE), payload.len());
        let mut hash = None;
        payload.read(&mut |bytes| {
            if bytes.len() as u64 != length || hash.is_some() {
                return Err(io::Error::other(format!("chunk {} is not as long as it was", part.id)));
            }
            hash = Some(ChunkHash::of(bytes));
            ucas.write_all(bytes)
        })?;
        // A source that gave nothing at all.
        let hash = hash.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
        chunks.push(Chunk { id: part.id, offset, length, hash, flags: 0 });
        // Full blocks need no padding, so a chunk is one stretch with padding at its end.
        let mut rest = length;
        while rest > 0 {
            let size = rest.min(BLOCK_SIZE.into());
            let stored = size as u32;
            let block =
                Block { offset: place, compressed_size: stored, uncompressed_size: stored, method: 0 };
            blocks.push(block);
            place += size.next_multiple_of(ALIGNMENT);
            rest -= size;
        }
        let padding = length.next_multiple_of(ALIGNMENT) - length;
        ucas.write_all(&[0; ALIGNMENT as usize][..padding as usize])?;
    }
    ucas.flush()?;
    Ok((chunks, blocks))
}
