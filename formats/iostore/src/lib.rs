//! IoStore containers (`.utoc` + `.ucas`) of Unreal Engine 5: reading, checking and canonical writing.
#![forbid(unsafe_code)]

mod hash;
mod id;

pub use hash::{city_hash64, hash_utf16_lower, name_hash};
pub use id::{ChunkHash, ChunkId, ChunkType, ContainerId, PackageId};
