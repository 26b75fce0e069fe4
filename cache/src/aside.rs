//! [`Aside`]: a file written beside its place and renamed into it. Every byte that this crate writes to
//! disk, save for the index and the locks, goes through here, which is why the tests' failing disk
//! ([`Faults`]) hooks in here and nowhere else.
//!
//! Invariant: at its place the file is whole or not there; one that is dropped before
//! [`Aside::rename`] leaves nothing behind.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::StoreError;

/// Who may write to the finished file.
#[derive(Clone, Copy)]
pub(crate) enum Access {
    /// Nobody, where the system can say so when the file is made: blobs are never changed in place.
    /// (Windows is spared its read-only attribute, which would be in the way of removing the file.)
    ReadOnly,
    /// The user, as the umask says.
    User,
}

pub(crate) struct Aside<'a> {
    file: Option<File>,
    path: PathBuf,
    faults: &'a Faults,
}

impl<'a> Aside<'a> {
    /// Makes the new file `path`, and its folder if that is missing.
    pub(crate) fn create(path: PathBuf, access: Access, faults: &'a Faults) -> Result<Self, StoreError> {
        let mut options = OpenOptions::new();
        // Readable too: a clone made by the file system is read back to be checked.
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        if let Access::ReadOnly = access {
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o444);
        }
        #[cfg(not(unix))]
        let _ = access;
        let file = faults.step().and_then(|()| with_parent(&path, || options.open(&path)));
        match file {
            Ok(file) => Ok(Self { file: Some(file), path, faults }),
            Err(source) => Err(StoreError::io("create", path)(source)),
        }
    }

    /// Appends `bytes`.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        let written = match self.faults.step() {
            Ok(()) => file.write_all(bytes),
            Err(error) => {
                // A disk that fills up takes a part before it fails.
                let half = bytes.get(..bytes.len() / 2).unwrap_or_default();
                file.write_all(half).and(Err(error))
            }
        };
        written.map_err(StoreError::io("write", &self.path))
    }

    /// The file itself, for what only a handle can do.
    pub(crate) fn file(&self) -> Option<&File> {
        self.file.as_ref()
    }

    /// Where it lies until it is renamed: for messages.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until the disk has the bytes.
    pub(crate) fn sync(&mut self) -> Result<(), StoreError> {
        let synced = self.faults.step().and_then(|()| match &self.file {
            Some(file) => file.sync_all(),
            None => Ok(()),
        });
        synced.map_err(StoreError::io("write", &self.path))
    }

    /// Moves the file to `place`, over what is there, and makes its folder if that is missing.
    pub(crate) fn rename(mut self, place: &Path) -> Result<(), StoreError> {
        // Windows does not rename what is open.
        self.file = None;
        let renamed = self
            .faults
            .step()
            .and_then(|()| with_parent(place, || patiently(|| fs::rename(&self.path, place))));
        renamed.map_err(StoreError::io("write", place))?;
        self.path.clear();
        Ok(())
    }
}

impl Drop for Aside<'_> {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            self.file = None;
            // What cannot be removed now is left to garbage collection.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Tries `make`; if a folder is missing, makes the one of `path` and tries again.
fn with_parent<T>(path: &Path, make: impl Fn() -> io::Result<T>) -> io::Result<T> {
    match (make(), path.parent()) {
        (Err(error), Some(parent)) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(parent)?;
            make()
        }
        (made, _) => made,
    }
}

/// Tries `what`; on Windows again for a moment, since there another thread that opens or replaces the same
/// file (or a virus scanner) makes it fail with "access denied".
pub(crate) fn patiently<T>(what: impl Fn() -> io::Result<T>) -> io::Result<T> {
    let mut wait = Duration::from_millis(1);
    loop {
        match what() {
            Err(error)
                if cfg!(windows)
                    && error.kind() == io::ErrorKind::PermissionDenied
                    && wait < Duration::from_millis(100) =>
            {
                std::thread::sleep(wait);
                wait *= 2;
            }
            done => return done,
        }
    }
}

/// A name that no other process and no other call gives.
pub(crate) fn unique_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    // The standard library seeds it from the system's random source.
    let random = RandomState::new().build_hasher().finish();
    format!("{}-{number}-{random:016x}", std::process::id())
}

/// A disk that fails once, at a chosen step. Tests count it down; elsewhere it never fires.
pub(crate) struct Faults(AtomicU64);

impl Faults {
    pub(crate) const fn none() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Lets the `nth` step from now fail, counted from 1.
    pub(crate) fn fail_at(&self, nth: u64) {
        self.0.store(nth, Ordering::Relaxed);
    }

    /// Whether the failure is still to come.
    pub(crate) fn pending(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }

    fn step(&self) -> io::Result<()> {
        let left = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        match left {
            Ok(1) => Err(io::ErrorKind::StorageFull.into()),
            _ => Ok(()),
        }
    }
}
