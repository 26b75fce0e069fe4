//! Reading files outside the store: hashing them, capturing them into it.
//!
//! Such files may change at any time, so they are never mapped, and count only if their stat is the same
//! before and after. Reading and hashing overlap; memory stays at a few buffers, whatever the file.

use std::convert::Infallible;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use crate::{Blobs, Digest, FileStat, Hasher, StoreError};

/// How often a file that changes while it is read is read anew.
const TRIES: usize = 5;
const BUFFER: usize = 2 << 20;
const BUFFERS: usize = 3;

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

/// The digest of the file at `path`, and the stat that it had.
pub fn hash_file(path: &Path) -> io::Result<(Digest, FileStat)> {
    for _ in 0..TRIES {
        let mut hasher = Hasher::new();
        let mut sink = |bytes: &[u8]| {
            hasher.update(bytes);
            Ok::<(), Infallible>(())
        };
        let Ok(stat) = read_steadily(path, &mut sink)?;
        if let Some(stat) = stat {
            return Ok((hasher.finish(), stat));
        }
    }
    let path = path.to_owned();
    Err(io::Error::other(CaptureError::Changing { path }))
}

/// Copies the file at `path` into `store`, and gives its digest and the stat that it had.
pub fn capture_file<S: Blobs + ?Sized>(path: &Path, store: &S) -> Result<(Digest, FileStat), CaptureError> {
    for _ in 0..TRIES {
        let mut writer = store.writer()?;
        let read = read_steadily(path, &mut |bytes| writer.append(bytes));
        if let Some(stat) = read.map_err(CaptureError::Source)?? {
            return Ok((writer.commit()?, stat));
        }
    }
    let path = path.to_owned();
    Err(CaptureError::Changing { path })
}

/// Hands all bytes of the file to `sink`; `None` if the file changed meanwhile.
fn read_steadily<E>(
    path: &Path,
    sink: &mut dyn FnMut(&[u8]) -> Result<(), E>,
) -> io::Result<Result<Option<FileStat>, E>> {
    let file = File::open(path)?;
    let before = FileStat::of(&file.metadata()?);
    let len = match pump(file, before.len, sink)? {
        Ok(len) => len,
        Err(error) => return Ok(Err(error)),
    };
    // By its path: a file that was replaced by another has changed as well.
    let after = FileStat::of(&fs::metadata(path)?);
    Ok(Ok((before == after && len == after.len).then_some(after)))
}

/// Hands all that `file` gives to `sink`, while the next piece is being read, and counts it.
fn pump<E>(
    mut file: File,
    len: u64,
    sink: &mut dyn FnMut(&[u8]) -> Result<(), E>,
) -> io::Result<Result<u64, E>> {
    if len < BUFFER as u64 {
        let mut bytes = Vec::with_capacity(usize::try_from(len).unwrap_or_default());
        file.read_to_end(&mut bytes)?;
        return Ok(sink(&bytes).map(|()| bytes.len() as u64));
    }
    std::thread::scope(|scope| {
        let (full, filled) = mpsc::sync_channel::<io::Result<Vec<u8>>>(BUFFERS);
        let (empty, emptied) = mpsc::channel::<Vec<u8>>();
        for _ in 0..BUFFERS {
            // Cannot fail: the receiver lives until the thread below is spawned.
            let _ = empty.send(Vec::with_capacity(BUFFER));
        }
        scope.spawn(move || {
            // Ends when either side hangs up: the other has had enough, or an error.
            for mut buffer in emptied {
                buffer.clear();
                let read = (&mut file).take(BUFFER as u64).read_to_end(&mut buffer);
                let done = matches!(read, Ok(0) | Err(_));
                if full.send(read.map(|_| buffer)).is_err() || done {
                    break;
                }
            }
        });
        let mut total = 0;
        for buffer in filled {
            let buffer = buffer?;
            total += buffer.len() as u64;
            if let Err(error) = sink(&buffer) {
                return Ok(Err(error));
            }
            let _ = empty.send(buffer);
        }
        Ok(Ok(total))
    })
}
