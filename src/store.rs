//! What a build sees of the store: [`Leased`], which tells garbage collection what is in use, and
//! [`Memory`], the index behind the engine's [`History`], opened only when it is first asked.

use std::path::Path;
use std::sync::OnceLock;

use cache::{
    ActionDigest, ActionResult, Blob, BlobWriter, Blobs, Digest, DiskStore, FileStat, Index, Lease, Results,
    StoreError,
};
use engine::History;

/// A store whose lookups are written into a lease first, so that nothing is collected in between.
pub(crate) struct Leased<'a> {
    store: &'a DiskStore,
    lease: Lease,
}

impl<'a> Leased<'a> {
    pub(crate) fn new(store: &'a DiskStore) -> Result<Self, StoreError> {
        Ok(Self { store, lease: store.lease()? })
    }
}

impl Blobs for Leased<'_> {
    fn has(&self, digest: &Digest) -> Result<bool, StoreError> {
        self.store.has(digest)
    }
    fn read(&self, digest: &Digest) -> Result<Option<Blob>, StoreError> {
        self.store.read(digest)
    }
    fn writer(&self) -> Result<Box<dyn BlobWriter + '_>, StoreError> {
        self.store.writer()
    }
    fn place(&self, digest: &Digest, path: &Path) -> Result<bool, StoreError> {
        self.store.place(digest, path)
    }
    fn put(&self, bytes: &[u8]) -> Result<Digest, StoreError> {
        self.store.put(bytes)
    }
    fn put_from(&self, source: &mut dyn std::io::Read) -> Result<std::io::Result<Digest>, StoreError> {
        self.store.put_from(source)
    }
}

impl Results for Leased<'_> {
    fn result(&self, action: &ActionDigest) -> Result<Option<ActionResult>, StoreError> {
        self.lease.uses(std::slice::from_ref(action))?;
        self.store.result(action)
    }
    fn put_result(&self, result: &ActionResult) -> Result<(), StoreError> {
        self.store.put_result(result)
    }
}

/// The index, for one workspace.
pub(crate) struct Memory<'a> {
    store: &'a DiskStore,
    workspace: String,
    index: OnceLock<Option<Index>>,
}

impl<'a> Memory<'a> {
    pub(crate) fn new(store: &'a DiskStore, workspace: String) -> Self {
        Self { store, workspace, index: OnceLock::new() }
    }

    /// The index; `None` when another process has it.
    pub(crate) fn index(&self) -> Option<&Index> {
        self.index.get_or_init(|| Index::open(self.store)).as_ref()
    }
}

impl History for Memory<'_> {
    fn file(&self, path: &Path, stat: &FileStat) -> Option<Digest> {
        self.index()?.file(path, stat)
    }
    fn remember_file(&self, path: &Path, stat: &FileStat, digest: &Digest) {
        if let Some(index) = self.index() {
            index.set_file(path, stat, digest);
        }
    }
    fn last_action(&self, label: &str) -> Option<ActionDigest> {
        Some(self.index()?.past(&self.workspace, label).first()?.action)
    }
    fn duration_ms(&self, label: &str) -> Option<u64> {
        self.index()?.duration(&self.last_action(label)?)
    }
    fn remember_action(&self, label: &str, action: &ActionDigest, ran_ms: Option<u64>) {
        let Some(index) = self.index() else { return };
        let now = FileStat::now();
        index.set_past(&self.workspace, label, action, now);
        let duration = ran_ms.or_else(|| index.duration(action)).unwrap_or_default();
        index.set_used(action, now, duration);
    }
}
