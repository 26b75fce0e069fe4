//! Where bytes live: digests, blobs, trees, results of actions, and the index beside them.
//!
//! The store is the truth: blobs and immutable result files. The index and the snapshots can be deleted
//! at any time. This crate knows no graph, no rule, no recipe and no format. Nothing that is read back
//! is believed: a blob whose bytes do not have its digest is moved out of the way and counts as absent.
//! Start with [`Digest`], the traits [`Blobs`] and [`Results`], then [`DiskStore`].

mod blob;
mod digest;
mod error;
mod path;
mod results;
mod stat;
mod tree;

pub use blob::{Blob, BlobWriter, Blobs};
pub use digest::{Digest, DigestError, Hasher};
pub use error::StoreError;
pub use path::{PathError, WorkspacePath};
pub use results::{ActionDigest, ActionResult, Note, Output, Results, Severity};
pub use stat::FileStat;
pub use tree::{Tree, TreeError};

/// A store of blobs and of results: what the engine is handed.
pub trait Store: Blobs + Results {}

impl<T: Blobs + Results + ?Sized> Store for T {}
