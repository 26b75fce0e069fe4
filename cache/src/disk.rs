//! [`DiskStore`]: blobs and results as plain files. Any number of threads and processes share one.
//!
//! Below the root lies a folder a version of the layout, so that another version never misreads it:
//!
//! ```text
//! v1/blobs/ab/<64 hex>-<length>    results/ab/<64 hex>    index/    workspaces/<id>/<name>
//!    roots/  pins/  leases/        tmp/<process>/         what an open store is writing
//! ```
//!
//! Invariants: a file is written in `tmp/`, then renamed into place, never changed there; its bytes are
//! checked whenever they are read. So a process that is killed leaves nothing half-written, and what a
//! power cut tears is found out and made again. Waiting for the disk is therefore no matter of
//! correctness: blobs are synced from a size up where making them again would cost more.
//!
//! This is the one file with `unsafe`: it maps blobs. A file that someone else truncates while it is
//! mapped ends the process (SIGBUS on Linux), which is accepted for files that only `bake` writes;
//! files outside the store are never mapped.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::aside::{Access, Aside, Faults, patiently, unique_name};
use crate::locked::Locked;
use crate::{
    ActionDigest, ActionResult, Blob, BlobWriter, Blobs, Digest, FileStat, Hasher, Results, StoreError,
};

/// A store in a folder.
pub struct DiskStore {
    root: PathBuf,
    tmp: PathBuf,
    faults: Faults,
    /// Mapped blobs that this process has checked, with the stat that they had then.
    checked: Mutex<HashMap<Digest, FileStat>>,
    _running: Locked,
}

/// From here on a blob is mapped instead of read into memory.
const MAPPED: u64 = 64 << 10;
/// From here on a file is synced, and a clone by the file system is tried.
const LARGE: u64 = 1 << 20;
/// No result is larger: its manifest has some 100 bytes an input.
const LARGEST_RESULT: u64 = 1 << 30;

impl DiskStore {
    /// Opens the store in `root`, making what is missing.
    pub fn open(root: impl AsRef<Path>) -> Result<Self, StoreError> {
        let unusable = |error: io::Error| StoreError::Unusable {
            path: root.as_ref().to_path_buf(),
            reason: format!("cannot write to it: {error}"),
        };
        let name = unique_name();
        let open = || {
            let root = std::path::absolute(root.as_ref())?.join("v1");
            for folder in ["blobs", "results", "tmp", "roots", "pins", "leases", "workspaces"] {
                fs::create_dir_all(root.join(folder))?;
            }
            let running = Locked::create(root.join("tmp").join(format!("{name}.lock")))?;
            let tmp = root.join("tmp").join(&name);
            fs::create_dir(&tmp)?;
            Ok(Self { root, tmp, faults: Faults::none(), checked: Mutex::default(), _running: running })
        };
        open().map_err(unusable)
    }

    /// The folder of the layout that this version reads and writes.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn blob_path(&self, digest: &Digest) -> PathBuf {
        self.sharded("blobs", &digest.to_string())
    }

    pub(crate) fn result_path(&self, action: &ActionDigest) -> PathBuf {
        self.sharded("results", &action.to_string())
    }

    fn sharded(&self, kind: &str, name: &str) -> PathBuf {
        let shard = name.get(..2).unwrap_or_default();
        let mut path = self.root.join(kind);
        path.extend([shard, name]);
        path
    }

    /// Makes the `nth` step of writing from now fail as on a full disk (creating a file, writing a part,
    /// syncing, renaming): for tests. `0` stands for never.
    #[doc(hidden)]
    pub fn fail_at(&self, nth: u64) {
        self.faults.fail_at(nth);
    }

    /// Whether the failure that [`DiskStore::fail_at`] asked for is still to come.
    #[doc(hidden)]
    pub fn failure_pending(&self) -> bool {
        self.faults.pending()
    }

    /// A new file in `tmp/`.
    fn aside(&self, access: Access) -> Result<Aside<'_>, StoreError> {
        Aside::create(self.tmp.join(unique_name()), access, &self.faults)
    }

    /// Writes a small file of the store, whole or not at all.
    pub(crate) fn write(&self, path: &Path, bytes: &[u8], sync: bool) -> Result<(), StoreError> {
        let mut aside = self.aside(Access::User)?;
        aside.write(bytes)?;
        if sync {
            aside.sync()?;
        }
        aside.rename(path)
    }

    /// Takes a damaged file out of the way, unless it has been replaced since `stat` was taken.
    pub(crate) fn discard(&self, path: &Path, stat: &FileStat) -> Result<(), StoreError> {
        let gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        let replaced = match fs::symlink_metadata(path) {
            Ok(found) => FileStat::of(&found) != *stat,
            Err(error) => gone(&error),
        };
        if replaced {
            return Ok(());
        }
        // Moved first: Windows moves a file that is in use, but does not remove it.
        let aside = self.tmp.join(unique_name());
        match fs::rename(path, &aside) {
            Err(error) if !gone(&error) => Err(StoreError::io("remove", path)(error)),
            _ => {
                // A folder is left to the end of this process.
                let _ = fs::remove_file(&aside);
                Ok(())
            }
        }
    }

    fn is_checked(&self, digest: &Digest, stat: &FileStat) -> bool {
        let checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        checked.get(digest) == Some(stat)
    }

    fn set_checked(&self, digest: &Digest, stat: FileStat, now: i64) {
        // A file that was just written could change again without changing its stat.
        if stat.is_settled(now) {
            let mut checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
            checked.insert(*digest, stat);
        }
    }

    /// Copies `file` to `aside`, by a clone of its extents where the file system can, and gives the
    /// digest of what arrived.
    fn copy(mut file: &File, aside: &mut Aside<'_>, len: u64) -> Result<Digest, StoreError> {
        let mut hasher = Hasher::new();
        let mut buffer = vec![0; usize::try_from(len).unwrap_or(usize::MAX).clamp(1, 1 << 20)];
        let cloned =
            len >= LARGE && aside.file().is_some_and(|to| reflink_copy::reflink_file(file, to).is_ok());
        loop {
            let read = match (cloned, aside.file()) {
                (true, Some(mut clone)) => clone.read(&mut buffer),
                _ => file.read(&mut buffer),
            };
            let read = match read {
                Ok(0) => return Ok(hasher.finish()),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(StoreError::io("copy", aside.path())(error)),
            };
            let bytes = &buffer[..read];
            hasher.update(bytes);
            if !cloned {
                aside.write(bytes)?;
            }
        }
    }
}

impl Drop for DiskStore {
    fn drop(&mut self) {
        // What cannot be removed now is left to garbage collection.
        let _ = fs::remove_dir_all(&self.tmp);
    }
}

/// Opens `path` with its stat; `None` if it is not there.
pub(crate) fn open(path: &Path) -> Result<Option<(File, FileStat)>, StoreError> {
    let opened = patiently(|| File::open(path)).and_then(|file| {
        let stat = FileStat::of(&file.metadata()?);
        Ok((file, stat))
    });
    match opened {
        Ok(opened) => Ok(Some(opened)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::io("read", path)(error)),
    }
}

/// Reads all of a file that had `stat`; one that has grown since is cut there.
pub(crate) fn read(file: File, stat: &FileStat, path: &Path) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::with_capacity(usize::try_from(stat.len).unwrap_or_default());
    file.take(stat.len).read_to_end(&mut bytes).map_err(StoreError::io("read", path))?;
    Ok(bytes)
}

/// What lies in `folder`, by name; nothing if it is not there.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let listed = fs::read_dir(folder).and_then(|entries| {
        let paths = entries.map(|entry| entry.map(|entry| entry.path()));
        paths.collect::<io::Result<Vec<_>>>()
    });
    match listed {
        Ok(mut paths) => {
            paths.sort();
            Ok(paths)
        }
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(Vec::new())
        }
        Err(error) => Err(StoreError::io("read", folder)(error)),
    }
}

impl Blobs for DiskStore {
    fn has(&self, digest: &Digest) -> Result<bool, StoreError> {
        let path = self.blob_path(digest);
        match fs::metadata(&path) {
            // A folder would stand in the way of the blob that is made again.
            Ok(found) if !found.is_file() => self.discard(&path, &FileStat::of(&found)).map(|()| false),
            Ok(found) => Ok(found.len() == digest.len()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(StoreError::io("read", path)(error)),
        }
    }

    fn read(&self, digest: &Digest) -> Result<Option<Blob>, StoreError> {
        let path = self.blob_path(digest);
        let now = FileStat::now();
        let Some((file, stat)) = open(&path)? else {
            return Ok(None);
        };
        if stat.len != digest.len() {
            self.discard(&path, &stat)?;
            return Ok(None);
        }
        let blob = if stat.len < MAPPED {
            Blob::from(read(file, &stat, &path)?)
        } else {
            // SAFETY: files in `blobs/` are only ever made by a rename and removed, never written to
            // or cut by this program, and they are read-only; see the head of this file for others.
            let map = unsafe { memmap2::Mmap::map(&file) };
            Blob::from(map.map_err(StoreError::io("map", &path))?)
        };
        if stat.len >= MAPPED && self.is_checked(digest, &stat) {
            return Ok(Some(blob));
        }
        if Digest::of(&blob) != *digest {
            // Windows does not move what is mapped.
            drop(blob);
            self.discard(&path, &stat)?;
            return Ok(None);
        }
        if stat.len >= MAPPED {
            self.set_checked(digest, stat, now);
        }
        Ok(Some(blob))
    }

    fn writer(&self) -> Result<Box<dyn BlobWriter + '_>, StoreError> {
        Ok(Box::new(DiskWriter { store: self, aside: self.aside(Access::ReadOnly)?, hasher: Hasher::new() }))
    }

    fn place(&self, digest: &Digest, path: &Path) -> Result<bool, StoreError> {
        let stored = self.blob_path(digest);
        let Some((file, stat)) = open(&stored)? else {
            return Ok(false);
        };
        if stat.len == digest.len() {
            let name = format!(".bake-{}", unique_name());
            let mut aside = Aside::create(path.with_file_name(name), Access::User, &self.faults)?;
            if Self::copy(&file, &mut aside, stat.len)? == *digest {
                if stat.len >= LARGE {
                    aside.sync()?;
                }
                aside.rename(path)?;
                return Ok(true);
            }
        }
        drop(file);
        self.discard(&stored, &stat)?;
        Ok(false)
    }
}

impl Results for DiskStore {
    fn result(&self, action: &ActionDigest) -> Result<Option<ActionResult>, StoreError> {
        let path = self.result_path(action);
        let Some((file, stat)) = open(&path)? else {
            return Ok(None);
        };
        let result =
            if stat.len <= LARGEST_RESULT { ActionResult::decode(&read(file, &stat, &path)?) } else { None };
        // A whole file under another's name is as damaged as a torn one.
        let result = result.filter(|result| result.action() == *action);
        if result.is_none() {
            self.discard(&path, &stat)?;
        }
        Ok(result)
    }

    fn put_result(&self, result: &ActionResult) -> Result<(), StoreError> {
        self.write(&self.result_path(&result.action()), &result.encode(), false)
    }
}

struct DiskWriter<'a> {
    store: &'a DiskStore,
    aside: Aside<'a>,
    hasher: Hasher,
}

impl Write for DiskWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.append(bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl BlobWriter for DiskWriter<'_> {
    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.hasher.update(bytes);
        self.aside.write(bytes)
    }

    fn commit(mut self: Box<Self>) -> Result<Digest, StoreError> {
        let digest = self.hasher.finish();
        if digest.len() >= LARGE {
            self.aside.sync()?;
        }
        // Renamed over one that is there already: that one may be damaged, and garbage collection
        // sees by its time that the blob is in use.
        match self.aside.rename(&self.store.blob_path(&digest)) {
            // Windows does not replace what is mapped; what is mapped has been checked.
            Err(_) if cfg!(windows) && self.store.has(&digest)? => Ok(digest),
            renamed => renamed.map(|()| digest),
        }
    }
}
