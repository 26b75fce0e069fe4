//! [`History`]: what is remembered between builds. It makes builds faster and explanations better; with
//! none of it they are slower and shorter, never wrong.

use std::path::Path;

use cache::{ActionDigest, Digest, FileStat};

/// A memory that may forget everything at any time.
pub trait History: Send + Sync {
    /// The digest that the file had when it had exactly this stat.
    fn file(&self, path: &Path, stat: &FileStat) -> Option<Digest>;
    /// Remembers a file. Only settled stats are handed in (see [`FileStat::is_settled`]).
    fn remember_file(&self, path: &Path, stat: &FileStat, digest: &Digest);
    /// The last action of a label in this workspace.
    fn last_action(&self, label: &str) -> Option<ActionDigest>;
    /// How long the last run of a label took, in milliseconds.
    fn duration_ms(&self, label: &str) -> Option<u64>;
    /// Remembers an action of a label; `ran_ms` when it ran.
    fn remember_action(&self, label: &str, action: &ActionDigest, ran_ms: Option<u64>);
}

/// Remembers nothing.
pub struct NoHistory;

impl History for NoHistory {
    fn file(&self, _path: &Path, _stat: &FileStat) -> Option<Digest> {
        None
    }
    fn remember_file(&self, _path: &Path, _stat: &FileStat, _digest: &Digest) {}
    fn last_action(&self, _label: &str) -> Option<ActionDigest> {
        None
    }
    fn duration_ms(&self, _label: &str) -> Option<u64> {
        None
    }
    fn remember_action(&self, _label: &str, _action: &ActionDigest, _ran_ms: Option<u64>) {}
}
