//! [`FileStat`]: what the system says of a file without reading it, and when that can be trusted.

use std::fs::Metadata;
use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::WorkspacePath;

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

/// Looks at many files below one folder. It is quickest when neighbours come one after the other: their
/// folder is then walked to once.
pub struct Looker<'a> {
    root: &'a Path,
    #[cfg(unix)]
    folder: Option<(String, std::os::fd::OwnedFd)>,
}

impl<'a> Looker<'a> {
    /// Looks below `root`.
    pub fn new(root: &'a Path) -> Self {
        Self {
            root,
            #[cfg(unix)]
            folder: None,
        }
    }

    /// The stat of the file at `path`, which must be a file.
    #[cfg(unix)]
    pub fn look(&mut self, path: &WorkspacePath) -> io::Result<FileStat> {
        use rustix::fs::{AtFlags, FileType, Mode, OFlags, open, statat};
        let (parent, name) = path.as_str().rsplit_once('/').unwrap_or(("", path.as_str()));
        let folder = match self.folder.take() {
            Some((known, folder)) if known == parent => folder,
            _ => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
                open(self.root.join(parent), flags, Mode::empty())?
            }
        };
        let stat = statat(&folder, name, AtFlags::empty());
        self.folder = Some((parent.to_owned(), folder));
        let stat = stat?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let ns = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        Ok(FileStat {
            len: u64::try_from(stat.st_size).unwrap_or_default(),
            modified: ns(stat.st_mtime, i64::try_from(stat.st_mtime_nsec).unwrap_or_default()),
            changed: ns(stat.st_ctime, i64::try_from(stat.st_ctime_nsec).unwrap_or_default()),
            inode: stat.st_ino,
        })
    }

    /// The stat of the file at `path`, which must be a file.
    #[cfg(not(unix))]
    pub fn look(&mut self, path: &WorkspacePath) -> io::Result<FileStat> {
        let metadata = std::fs::metadata(path.under(self.root))?;
        if !metadata.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok(FileStat::of(&metadata))
    }
}

fn nanoseconds(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |ns| -ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_looker_sees_what_metadata_says() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("a")).unwrap();
        let mut looker = Looker::new(folder.path());
        for path in ["a/one", "a/two", "three", "a/four"] {
            let full = folder.path().join(path);
            std::fs::write(&full, path).unwrap();
            let stat = looker.look(&WorkspacePath::parse(path).unwrap()).unwrap();
            assert_eq!(stat, FileStat::of(&std::fs::metadata(full).unwrap()), "{path}");
        }
        assert!(looker.look(&WorkspacePath::parse("a").unwrap()).is_err());
        assert!(looker.look(&WorkspacePath::parse("a/gone").unwrap()).is_err());
        assert!(looker.look(&WorkspacePath::parse("gone/x").unwrap()).is_err());
    }
}
