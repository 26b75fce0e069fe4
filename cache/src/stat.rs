//! [`FileStat`]: what the system says of a file without reading it, and when that can be trusted.

use std::fs::Metadata;
use std::time::{SystemTime, UNIX_EPOCH};

/// Length and times of a file. It may save reading a file again; it never enters an identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStat {
    /// Length in bytes; 0 for folders.
    pub len: u64,
    /// Time of last modification, nanoseconds since 1970.
    pub modified: i64,
    /// Time of last change of the inode (Unix) or of creation (Windows), nanoseconds since 1970: it
    /// gives away files whose modification time was set back.
    pub changed: i64,
    /// The inode; 0 where there is none.
    pub inode: u64,
}

/// Two changes within this span can leave one modification time (FAT keeps two seconds).
const RACY_NS: i64 = 2_000_000_000;

impl FileStat {
    /// The stat of `metadata`.
    pub fn of(metadata: &Metadata) -> Self {
        let ns = |time: std::io::Result<SystemTime>| time.map_or(0, nanoseconds);
        #[cfg(unix)]
        let (changed, inode) = {
            use std::os::unix::fs::MetadataExt;
            let changed = metadata.ctime().saturating_mul(1_000_000_000);
            (changed.saturating_add(metadata.ctime_nsec()), metadata.ino())
        };
        #[cfg(not(unix))]
        let (changed, inode) = (ns(metadata.created()), 0);
        Self {
            len: if metadata.is_dir() { 0 } else { metadata.len() },
            modified: ns(metadata.modified()),
            changed,
            inode,
        }
    }

    /// Git's racy rule: a stat taken at `now` (nanoseconds since 1970) says nothing lasting about a file
    /// that was modified at almost that moment, since the next change could leave the same stat.
    pub fn is_settled(&self, now: i64) -> bool {
        self.modified.max(self.changed) < now.saturating_sub(RACY_NS)
    }

    /// This moment, in nanoseconds since 1970, as [`FileStat::is_settled`] wants it.
    pub fn now() -> i64 {
        nanoseconds(SystemTime::now())
    }
}

fn nanoseconds(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |ns| -ns),
    }
}
