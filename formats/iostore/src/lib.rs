//! IoStore containers (`.utoc` + `.ucas`) of Unreal Engine 5: reading, checking and canonical writing.
//!
//! A container holds chunks under 12-byte ids. [`Toc`] says which, and where; [`ChunkReader`] gets the
//! bytes of one of them; [`Builder`] writes a container, and [`check`] asks whether the game would find
//! what is in it. Bytes come in as slices or through [`ReadAt`]: nothing here opens a file.
//! It does not know what is inside a package (that is the crate `unreal`) or which chunks a mod needs.
//! Facts come from the published engine source and from containers that engines and other tools wrote;
//! what is not known about this game is refused in writing and tolerated in reading.
#![forbid(unsafe_code)]

mod build;
pub mod check;
mod chunk;
mod container_header;
mod directory;
mod hash;
mod id;
mod mount;
mod names;
mod oodle;
mod perfect_hash;
mod shader_library;
mod stub;
mod text;
mod toc;
mod toc_read;
mod toc_write;

pub use build::{Builder, Package, Payload, Source, WriteError};
pub use chunk::{ChunkError, ChunkReader, DecompressError, Decompressor, ReadAt, read_chunk};
pub use container_header::{ContainerHeader, PackageEntry, Redirects, ShaderMapHash, SoftReferences};
pub use hash::{city_hash64, hash_utf16_lower, name_hash};
pub use id::{ChunkHash, ChunkId, ChunkType, ContainerId, PackageId};
pub use mount::{MountOrder, is_shipped_container, mount_order, precedence, why_it_wins};
pub use oodle::Oodle;
pub use shader_library::{ShaderEntry, ShaderGroup, ShaderLibrary, pak_chunk_number, shader_library_chunk};
pub use stub::pak_stub;
pub use text::component_fault;
pub use toc::{Block, Chunk, Limits, Toc};
