//! [`Index`]: what saves time and nothing else. The only file that says sled.
//!
//! It remembers the digests of files by their stat, the last actions of each step, and when a result was
//! last used. One process at a time has it; another goes on without. Deleting it at any time makes
//! builds slower, never wrong; a corrupt one is deleted here.

use std::fs::{self, File};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::{ActionDigest, Digest, DiskStore, FileStat};

/// The open index of a store.
pub struct Index {
    files: sled::Tree,
    steps: sled::Tree,
    actions: sled::Tree,
    db: sled::Db,
    // Let go after the database is closed.
    _lock: File,
}

/// An action that a step once was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PastAction {
    /// The action.
    pub action: ActionDigest,
    /// When it was needed last, nanoseconds since 1970.
    pub time: i64,
}

/// How many actions of a step are remembered.
const PAST: usize = 8;
const PAST_BYTES: usize = 40;

impl Index {
    /// Opens the index of `store`, empty if it was missing or corrupt; `None` if another process has
    /// it, or if it cannot be.
    pub fn open(store: &DiskStore) -> Option<Self> {
        let folder = store.root().join("index");
        // A lock of our own tells "taken" from "corrupt", which the database's error does not.
        let mut options = File::options();
        options.write(true).create(true).truncate(false);
        let lock = options.open(store.root().join("index.lock")).ok()?;
        lock.try_lock().ok()?;
        let (db, [files, steps, actions]) = open(&folder).or_else(|| {
            fs::remove_dir_all(&folder).ok()?;
            open(&folder)
        })?;
        Some(Self { files, steps, actions, db, _lock: lock })
    }

    /// The digest that the file at `path` had when its stat was `stat`.
    pub fn file(&self, path: &Path, stat: &FileStat) -> Option<Digest> {
        let value = self.files.get(path_key(path)).ok()??;
        let (found, hash) = value.split_first_chunk::<32>()?;
        (*found == stat_bytes(stat)).then_some(())?;
        Some(Digest::from_parts(hash.try_into().ok()?, stat.len))
    }

    /// Remembers the digest of the file at `path`. The caller sees to it that the stat is settled.
    pub fn set_file(&self, path: &Path, stat: &FileStat, digest: &Digest) {
        let mut value = stat_bytes(stat).to_vec();
        value.extend_from_slice(digest.hash());
        // Here and below: what cannot be remembered is found out again.
        let _ = self.files.insert(path_key(path), value);
    }

    /// The last actions of a step of a workspace, the latest first.
    pub fn past(&self, workspace: &str, label: &str) -> Vec<PastAction> {
        let value = self.steps.get(step_key(workspace, label)).ok().flatten();
        let value = value.unwrap_or_default();
        let (entries, _) = value.as_chunks::<PAST_BYTES>();
        let past = entries.iter().filter_map(|entry| {
            let (action, time) = entry.split_first_chunk()?;
            Some(PastAction {
                action: ActionDigest::from_bytes(*action),
                time: i64::from_le_bytes(time.try_into().ok()?),
            })
        });
        past.collect()
    }

    /// Remembers that a step was `action` at `time`.
    pub fn set_past(&self, workspace: &str, label: &str, action: &ActionDigest, time: i64) {
        let action = *action;
        let earlier = self.past(workspace, label).into_iter();
        let earlier = earlier.filter(|past| past.action != action);
        let mut value = Vec::with_capacity(PAST * PAST_BYTES);
        for past in std::iter::once(PastAction { action, time }).chain(earlier).take(PAST) {
            value.extend_from_slice(past.action.as_bytes());
            value.extend_from_slice(&past.time.to_le_bytes());
        }
        let _ = self.steps.insert(step_key(workspace, label), value);
    }

    /// When the result of `action` was used last, nanoseconds since 1970.
    pub fn last_use(&self, action: &ActionDigest) -> Option<i64> {
        let (time, _) = self.action(action)?;
        Some(time)
    }

    /// How long `action` ran when it last did, in milliseconds.
    pub fn duration(&self, action: &ActionDigest) -> Option<u64> {
        let (_, duration) = self.action(action)?;
        Some(duration)
    }

    /// Remembers that the result of `action` was used at `time`, and how long it took to make.
    pub fn set_used(&self, action: &ActionDigest, time: i64, duration_ms: u64) {
        let value = [time.to_le_bytes(), duration_ms.to_le_bytes()].concat();
        let _ = self.actions.insert(action.as_bytes(), value);
    }

    fn action(&self, action: &ActionDigest) -> Option<(i64, u64)> {
        let value = self.actions.get(action.as_bytes()).ok()??;
        let (time, duration) = value.split_first_chunk()?;
        let duration = duration.try_into().ok()?;
        Some((i64::from_le_bytes(*time), u64::from_le_bytes(duration)))
    }

    /// Writes everything to disk; dropping the index does it too.
    pub fn flush(&self) {
        let _ = self.db.flush();
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        self.flush();
    }
}

fn open(folder: &Path) -> Option<(sled::Db, [sled::Tree; 3])> {
    let config = sled::Config::new()
        .path(folder)
        .mode(sled::Mode::HighThroughput)
        .cache_capacity(64 << 20)
        .flush_every_ms(None);
    // Some damage makes it panic instead of failing.
    let opened = catch_unwind(AssertUnwindSafe(|| {
        let db = config.open().ok()?;
        let tree = |name: &str| db.open_tree(name).ok();
        let trees = [tree("files 1")?, tree("steps 1")?, tree("actions 1")?];
        Some((db, trees))
    }));
    opened.ok().flatten()
}

fn path_key(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

fn step_key(workspace: &str, label: &str) -> Vec<u8> {
    format!("{workspace}\0{label}").into_bytes()
}

fn stat_bytes(stat: &FileStat) -> [u8; 32] {
    let mut bytes = [0; 32];
    let fields = [
        stat.len.to_le_bytes(),
        stat.modified.to_le_bytes(),
        stat.changed.to_le_bytes(),
        stat.inode.to_le_bytes(),
    ];
    bytes.copy_from_slice(fields.as_flattened());
    bytes
}
