//! Where bytes live: digests, blobs, trees, results of actions, and the index beside them.
//!
//! The store is the truth: blobs and immutable result files. The index and the snapshots can be deleted
//! at any time. This crate knows no graph, no rule, no recipe and no format. Nothing that is read back
//! is believed: a blob whose bytes do not have its digest is moved out of the way and counts as absent.
//! Start with [`Digest`], the traits [`Blobs`] and [`Results`], then [`DiskStore`].

mod aside;
mod blob;
mod capture;
mod digest;
mod disk;
mod error;
mod gc;
mod index;
mod keep;
mod locked;
mod memory;
mod path;
mod results;
mod sealed;
mod snapshot;
mod stat;
mod tree;

pub use blob::{Blob, BlobWriter, Blobs};
pub use capture::{CaptureError, capture_file, hash_file};
pub use digest::{Digest, DigestError, Hasher};
pub use disk::DiskStore;
pub use error::StoreError;
pub use gc::{CheckReport, GcOptions, GcReport, Keeper, Usage};
pub use index::{Index, PastAction};
pub use keep::{Keep, Kept, Lease};
pub use memory::MemoryStore;
pub use path::{PathError, WorkspacePath};
pub use results::{ActionDigest, ActionResult, Note, Output, Results, Severity};
pub use stat::{FileStat, Looker};
pub use tree::{Tree, TreeError};

/// A store of blobs and of results: what the engine is handed.
pub trait Store: Blobs + Results {}

impl<T: Blobs + Results + ?Sized> Store for T {}
