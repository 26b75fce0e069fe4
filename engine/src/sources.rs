//! Digests of files of the workspace, and their capture into the store before a step reads them.
//!
//! Within one build a file has one digest: the one that it had when it was first looked at. A file that is
//! seen to change later is noted, and such a build leaves no snapshot behind.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use cache::{Digest, FileStat, Store, WorkspacePath};

use crate::RuleError;
use crate::history::History;

/// What is known of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceRecord {
    /// Its stat when it was read.
    pub stat: FileStat,
    /// Its digest then.
    pub digest: Digest,
    /// Whether the stat proves the digest (git's racy rule).
    pub settled: bool,
}

/// Digests of files, each found once a build.
pub(crate) struct Sources<'a> {
    workspace: &'a Path,
    store: &'a dyn Store,
    history: &'a dyn History,
    known: Mutex<HashMap<PathBuf, SourceRecord>>,
    edited: AtomicBool,
}

/// A source was edited after its digest was taken.
pub(crate) struct Edited;

impl<'a> Sources<'a> {
    pub(crate) fn new(workspace: &'a Path, store: &'a dyn Store, history: &'a dyn History) -> Self {
        Self { workspace, store, history, known: Mutex::default(), edited: AtomicBool::new(false) }
    }

    /// Takes over what an earlier build knew and a stat has just confirmed.
    pub(crate) fn confirm(&self, path: &WorkspacePath, record: SourceRecord) {
        self.lock().insert(path.under(self.workspace), record);
    }

    /// The digest of a file of the workspace.
    pub(crate) fn digest(&self, path: &WorkspacePath) -> Result<Digest, RuleError> {
        let name = path.as_str();
        self.look_up(&path.under(self.workspace), name, |full| self.capture(full, name))
    }

    /// The digest of a tool, which is run from where it lies and so is not captured.
    pub(crate) fn tool(&self, path: &Path, name: &str) -> Result<Digest, RuleError> {
        self.look_up(path, name, |full| {
            let (digest, stat) = cache::hash_file(full).map_err(|error| unreadable(name, &error))?;
            Ok(self.record(full, digest, stat))
        })
    }

    fn look_up(
        &self,
        path: &Path,
        name: &str,
        read: impl FnOnce(&Path) -> Result<SourceRecord, RuleError>,
    ) -> Result<Digest, RuleError> {
        if let Some(known) = self.lock().get(path) {
            return Ok(known.digest);
        }
        let metadata = std::fs::metadata(path).map_err(|error| unreadable(name, &error))?;
        if !metadata.is_file() {
            return Err(RuleError::new(format!("`{name}` is no file")));
        }
        let stat = FileStat::of(&metadata);
        let record = match self.history.file(path, &stat) {
            Some(digest) => SourceRecord { stat, digest, settled: true },
            None => read(path)?,
        };
        Ok(self.lock().entry(path.to_owned()).or_insert(record).digest)
    }

    /// Makes sure that the store holds the bytes that were taken for the file's.
    pub(crate) fn ensure(
        &self,
        path: &WorkspacePath,
        digest: Digest,
    ) -> Result<Result<(), Edited>, RuleError> {
        if self.store.has(&digest)? {
            return Ok(Ok(()));
        }
        let full = path.under(self.workspace);
        let record = self.capture(&full, path.as_str())?;
        if record.digest == digest {
            return Ok(Ok(()));
        }
        self.edited.store(true, Ordering::Relaxed);
        self.lock().insert(full, record);
        Ok(Err(Edited))
    }

    /// All files of the workspace that were looked at; `None` when one of them changed meanwhile.
    pub(crate) fn records(
        &self,
        paths: impl Iterator<Item = WorkspacePath>,
    ) -> Option<BTreeMap<WorkspacePath, SourceRecord>> {
        if self.edited.load(Ordering::Relaxed) {
            return None;
        }
        let known = self.lock();
        let record =
            |path: WorkspacePath| known.get(&path.under(self.workspace)).map(|record| (path, *record));
        Some(paths.filter_map(record).collect())
    }

    fn capture(&self, path: &Path, name: &str) -> Result<SourceRecord, RuleError> {
        let (digest, stat) = cache::capture_file(path, self.store).map_err(|error| match error {
            cache::CaptureError::Source(error) => unreadable(name, &error),
            cache::CaptureError::Changing { .. } => {
                RuleError::new(format!("`{name}` keeps changing while it is read"))
                    .hint("wait until whatever writes it is done, then build again")
            }
            cache::CaptureError::Store(error) => RuleError::Store(error),
        })?;
        Ok(self.record(path, digest, stat))
    }

    fn record(&self, path: &Path, digest: Digest, stat: FileStat) -> SourceRecord {
        let settled = stat.is_settled(FileStat::now());
        if settled {
            self.history.remember_file(path, &stat, &digest);
        }
        SourceRecord { stat, digest, settled }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<PathBuf, SourceRecord>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unreadable(name: &str, error: &std::io::Error) -> RuleError {
    RuleError::new(format!("cannot read `{name}`: {error}"))
}
