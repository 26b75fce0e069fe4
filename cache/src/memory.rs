//! [`MemoryStore`]: a store that is gone when it is dropped, for tests and for `reproduce`.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::aside::{Access, Aside, Faults, unique_name};
use crate::{ActionDigest, ActionResult, Blob, BlobWriter, Blobs, Digest, Results, StoreError};

/// Blobs and results in memory. Bytes in it cannot change, so reading checks nothing again.
#[derive(Default)]
pub struct MemoryStore {
    blobs: Mutex<HashMap<Digest, Blob>>,
    results: Mutex<HashMap<ActionDigest, ActionResult>>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// All blobs that it holds, in order.
    pub fn digests(&self) -> Vec<Digest> {
        let mut digests: Vec<Digest> = lock(&self.blobs).keys().copied().collect();
        digests.sort_unstable();
        digests
    }

    /// Forgets a blob: for tests of what happens then.
    pub fn remove(&self, digest: &Digest) {
        lock(&self.blobs).remove(digest);
    }
}

/// The maps are whole between any two calls, so a panic elsewhere does not spoil them.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Blobs for MemoryStore {
    fn has(&self, digest: &Digest) -> Result<bool, StoreError> {
        Ok(lock(&self.blobs).contains_key(digest))
    }

    fn read(&self, digest: &Digest) -> Result<Option<Blob>, StoreError> {
        Ok(lock(&self.blobs).get(digest).cloned())
    }

    fn writer(&self) -> Result<Box<dyn BlobWriter + '_>, StoreError> {
        let bytes = Vec::new();
        Ok(Box::new(MemoryWriter { store: self, bytes }))
    }

    fn place(&self, digest: &Digest, path: &Path) -> Result<bool, StoreError> {
        let Some(blob) = self.read(digest)? else {
            return Ok(false);
        };
        static FAULTS: Faults = Faults::none();
        let name = format!(".bake-{}", unique_name());
        let mut aside = Aside::create(path.with_file_name(name), Access::User, &FAULTS)?;
        aside.write(&blob)?;
        aside.rename(path)?;
        Ok(true)
    }
}

impl Results for MemoryStore {
    fn result(&self, action: &ActionDigest) -> Result<Option<ActionResult>, StoreError> {
        Ok(lock(&self.results).get(action).cloned())
    }

    fn put_result(&self, result: &ActionResult) -> Result<(), StoreError> {
        lock(&self.results).insert(result.action(), result.clone());
        Ok(())
    }
}

struct MemoryWriter<'a> {
    store: &'a MemoryStore,
    bytes: Vec<u8>,
}

impl Write for MemoryWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl BlobWriter for MemoryWriter<'_> {
    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<Digest, StoreError> {
        let digest = Digest::of(&self.bytes);
        lock(&self.store.blobs).insert(digest, self.bytes.into());
        Ok(digest)
    }
}
