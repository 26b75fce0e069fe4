//! Files outside the store: hashed, or captured into it, as streams. They are never mapped: whoever owns
//! them may cut them short at any time.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::{Blobs, Digest, FileStat, Hasher, StoreError};

/// Why a file was not captured.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file cannot be read.
    #[error(transparent)]
    Source(io::Error),
    /// It was written to each time that it was read.
    #[error("`{}` keeps changing while it is read", path.display())]
    Changing {
        /// The file.
        path: PathBuf,
    },
    /// The store cannot take it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

const TRIES: usize = 5;

/// The digest of a file, with the stat that it had while it was read.
pub fn hash_file(path: &Path) -> io::Result<(Digest, FileStat)> {
    let mut file = File::open(path)?;
    let stat = FileStat::of(&file.metadata()?);
    let mut hasher = Hasher::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok((hasher.finish(), stat)),
            Ok(n) => hasher.update(&buffer[..n]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Copies a file into the store and gives its digest and stat; a file that changes meanwhile is read again.
pub fn capture_file<S: Blobs + ?Sized>(path: &Path, store: &S) -> Result<(Digest, FileStat), CaptureError> {
    for _ in 0..TRIES {
        let mut file = File::open(path).map_err(CaptureError::Source)?;
        let before = FileStat::of(&file.metadata().map_err(CaptureError::Source)?);
        let digest = store.put_from(&mut file)?.map_err(CaptureError::Source)?;
        let after = FileStat::of(&std::fs::metadata(path).map_err(CaptureError::Source)?);
        if before == after && digest.len() == after.len {
            return Ok((digest, after));
        }
    }
    Err(CaptureError::Changing { path: path.to_owned() })
}
