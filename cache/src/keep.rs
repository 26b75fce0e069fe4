//! What garbage collection must leave: pins, roots, and the leases of running builds.
//!
//! Pins and roots are files that name actions; the file's own name is the hash of theirs, which may hold
//! any character. A lease is a locked file, and beside it the list of what the build uses (apart,
//! because a lock on Windows also keeps others from reading).

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::aside::unique_name;
use crate::disk::{files, open, read};
use crate::locked::Locked;
use crate::sealed::{seal, unseal};
use crate::{ActionDigest, Digest, DiskStore, FileStat, StoreError};

/// Why results are kept beyond their last use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Keep {
    /// The last builds of a target.
    Root,
    /// The user said so.
    Pin,
}

/// A pin or a root: a name, and the actions whose results it keeps.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kept {
    /// Its name, any text.
    pub name: String,
    /// What it keeps, with all outputs.
    pub actions: BTreeSet<ActionDigest>,
}

impl DiskStore {
    /// Keeps the results of `actions` (stored already or not) under `name`, instead of what that name
    /// kept before.
    pub fn keep(&self, keep: Keep, name: &str, actions: &[ActionDigest]) -> Result<(), StoreError> {
        let mut text = format!("{MAGIC}{}\n{name}\n", name.len());
        for action in actions {
            text += &format!("{action}\n");
        }
        // Synced: losing it in a power cut would show only at the next garbage collection.
        self.write(&self.keep_path(keep, name), &seal(text.into_bytes()), true)
    }

    /// Keeps `name` no longer; `false` if it was not kept.
    pub fn release(&self, keep: Keep, name: &str) -> Result<bool, StoreError> {
        let path = self.keep_path(keep, name);
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(StoreError::io("remove", path)(error)),
        }
    }

    /// All pins or all roots, by name. Damaged ones are removed and not among them.
    pub fn kept(&self, keep: Keep) -> Result<Vec<Kept>, StoreError> {
        let mut all = Vec::new();
        for file in files(&self.root().join(keep.folder()))? {
            let Some((opened, stat)) = open(&file)? else {
                continue;
            };
            match decode(&read(opened, &stat, &file)?) {
                Some(kept) => all.push(kept),
                None => self.discard(&file, &stat)?,
            }
        }
        all.sort();
        Ok(all)
    }

    /// Registers a running build. What it says that it uses, and all that is written from now on, is
    /// left alone by garbage collection until the lease is dropped or its process dies.
    pub fn lease(&self) -> Result<Lease, StoreError> {
        let path = self.root().join("leases").join(unique_name());
        let lock = path.with_extension(LOCK);
        let lock = Locked::create(lock.clone()).map_err(StoreError::io("create", lock))?;
        let log = File::create_new(&path).map_err(StoreError::io("create", &path))?;
        Ok(Lease { log: Mutex::new(Some(log)), path, _lock: lock })
    }

    fn keep_path(&self, keep: Keep, name: &str) -> PathBuf {
        let name = Digest::of(name.as_bytes()).hex();
        self.root().join(keep.folder()).join(name)
    }

    /// The leases of builds that run, with the time at which the oldest began. Those of dead ones are
    /// removed.
    pub(crate) fn leases(&self) -> Result<(Vec<Kept>, Option<i64>), StoreError> {
        let mut live = Vec::new();
        let mut oldest = None;
        for lock in files(&self.root().join("leases"))? {
            if lock.extension() != Some(LOCK.as_ref()) {
                continue;
            }
            let log = lock.with_extension("");
            if Locked::is_abandoned(&lock) {
                // The log first: without its lock nobody would find it again.
                let _ = fs::remove_file(&log);
                let _ = fs::remove_file(&lock);
                continue;
            }
            let Ok(found) = fs::metadata(&lock) else {
                continue;
            };
            let began = FileStat::of(&found).modified;
            oldest = Some(oldest.map_or(began, |oldest: i64| oldest.min(began)));
            let bytes = match open(&log)? {
                Some((file, stat)) => read(file, &stat, &log)?,
                None => Vec::new(),
            };
            let (actions, _) = bytes.as_chunks::<32>();
            live.push(Kept {
                name: name_of(&log),
                actions: actions.iter().map(|bytes| ActionDigest::from_bytes(*bytes)).collect(),
            });
        }
        Ok((live, oldest))
    }
}

const LOCK: &str = "lock";

fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

impl Keep {
    pub(crate) const fn folder(self) -> &'static str {
        match self {
            Self::Root => "roots",
            Self::Pin => "pins",
        }
    }
}

const MAGIC: &str = "bake keep 1\n";

pub(crate) fn decode(bytes: &[u8]) -> Option<Kept> {
    let text = std::str::from_utf8(unseal(bytes)?).ok()?;
    let (len, rest) = text.strip_prefix(MAGIC)?.split_once('\n')?;
    let (name, rest) = rest.split_at_checked(len.parse().ok()?)?;
    let actions = rest.strip_prefix('\n')?.lines();
    Some(Kept {
        name: name.to_owned(),
        actions: actions.map(|line| line.parse().ok()).collect::<Option<_>>()?,
    })
}

/// A running build, as garbage collection sees it.
pub struct Lease {
    log: Mutex<Option<File>>,
    path: PathBuf,
    // Let go last, so that the log is never without its lock.
    _lock: Locked,
}

impl Lease {
    /// Says that the build uses the results of `actions`. Said before the result is looked up, nothing
    /// is taken away in between.
    pub fn uses(&self, actions: &[ActionDigest]) -> Result<(), StoreError> {
        let bytes: Vec<u8> = actions.iter().flat_map(|action| *action.as_bytes()).collect();
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *log {
            Some(log) => log.write_all(&bytes).map_err(StoreError::io("write", &self.path)),
            None => Ok(()),
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Closed first, for Windows.
        *self.log.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let _ = fs::remove_file(&self.path);
    }
}
