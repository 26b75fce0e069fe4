//! The trait [`Blobs`], and [`Blob`], the bytes of one.

use std::io::{Read, Write};
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use crate::{Digest, StoreError};

/// The bytes of a blob: in memory, or mapped from a file of the store. Cheap to clone.
#[derive(Clone)]
pub struct Blob(Bytes);

#[derive(Clone)]
enum Bytes {
    Memory(Arc<[u8]>),
    Mapped(Arc<memmap2::Mmap>),
}

impl Deref for Blob {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Bytes::Memory(bytes) => bytes,
            Bytes::Mapped(map) => map,
        }
    }
}

impl From<Vec<u8>> for Blob {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Bytes::Memory(bytes.into()))
    }
}

impl From<memmap2::Mmap> for Blob {
    fn from(map: memmap2::Mmap) -> Self {
        Self(Bytes::Mapped(Arc::new(map)))
    }
}

/// A place for blobs. Implementations are tested by one contract suite.
pub trait Blobs: Send + Sync {
    /// Whether the blob is there, going by its presence and length alone.
    fn has(&self, digest: &Digest) -> Result<bool, StoreError>;

    /// The blob, its bytes checked against `digest`; `None` when it is absent, or when it was damaged
    /// (it is then removed, so that whoever makes it can write it again).
    fn read(&self, digest: &Digest) -> Result<Option<Blob>, StoreError>;

    /// A writer for a blob whose digest is not known yet. A writer that is dropped leaves nothing.
    fn writer(&self) -> Result<Box<dyn BlobWriter + '_>, StoreError>;

    /// Copies the blob to `path` (a clone of its extents where the disk can), whole or not at all,
    /// replacing what is there; `false` when it is absent or damaged. Never a link into the store.
    fn place(&self, digest: &Digest, path: &Path) -> Result<bool, StoreError>;

    /// Stores `bytes`.
    fn put(&self, bytes: &[u8]) -> Result<Digest, StoreError> {
        let mut writer = self.writer()?;
        writer.append(bytes)?;
        writer.commit()
    }

    /// Stores all that `source` gives, without holding it in memory. Reading errors of `source` are
    /// passed through as `Ok(Err)`.
    fn put_from(&self, source: &mut dyn Read) -> Result<std::io::Result<Digest>, StoreError> {
        let mut writer = self.writer()?;
        let mut buffer = vec![0; 1 << 20];
        loop {
            match source.read(&mut buffer) {
                Ok(0) => return writer.commit().map(Ok),
                Ok(n) => writer.append(&buffer[..n])?,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Ok(Err(error)),
            }
        }
    }
}

/// Writes one blob. The store, not the caller, names it.
pub trait BlobWriter: Write + Send {
    /// Appends `bytes`, with the store's own error (the `Write` side has only `io::Error`).
    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError>;

    /// Makes the blob appear in the store, whole and synced, and gives its name.
    fn commit(self: Box<Self>) -> Result<Digest, StoreError>;
}
