//! [`Locked`]: a file that its maker keeps locked, so that others can tell whether the maker still runs.
//! The system lets go of the lock when a process dies, however it dies.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

pub(crate) struct Locked {
    file: Option<File>,
    path: PathBuf,
}

impl Locked {
    /// Makes `path`, which no one else may be making, and locks it.
    pub(crate) fn create(path: PathBuf) -> io::Result<Self> {
        loop {
            let file = File::options().write(true).create(true).truncate(false).open(&path)?;
            match file.lock() {
                Ok(()) => {}
                // A file system without locks: nobody can tell that the maker is gone, and nobody
                // will clean up behind it.
                Err(error) if error.kind() == io::ErrorKind::Unsupported => {}
                Err(error) => return Err(error),
            }
            // Between the making and the locking it looks abandoned, and may have been removed.
            if path.try_exists()? {
                let file = Some(file);
                return Ok(Self { file, path });
            }
        }
    }

    /// Whether the maker of `path` is certainly gone (also when the file is).
    pub(crate) fn is_abandoned(path: &Path) -> bool {
        match File::options().write(true).open(path) {
            Ok(file) => match file.try_lock() {
                Ok(()) => true,
                Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
            },
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        }
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // Removed while still locked, so that no one sees it as abandoned; what cannot be removed now
        // is left to garbage collection.
        let _ = std::fs::remove_file(&self.path);
        self.file = None;
    }
}
