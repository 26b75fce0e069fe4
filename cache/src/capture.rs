//! Reading files outside the store: hashing them, capturing them into it.
//!
//! Such files may change at any time, so they are never mapped, and count only if their stat is the same
//! before and after. Reading and hashing overlap; memory stays at a few buffers, whatever the file.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use blake3::hazmat::{
    ChainingValue, HasherExt, Mode, left_subtree_len, merge_subtrees_non_root, merge_subtrees_root,
};

use crate::{Blobs, Digest, FileStat, StoreError};

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
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let before = FileStat::of(&metadata);
        let digest = match hash_at(&file, before.len) {
            // It has become shorter.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => continue,
            digest => digest?,
        };
        // By its path: a file that was replaced by another has changed as well.
        if FileStat::of(&fs::metadata(path)?) == before {
            return Ok((digest, before));
        }
    }
    let path = path.to_owned();
    Err(io::Error::other(CaptureError::Changing { path }))
}

/// How much a thread reads and hashes at once: it stays in the processor's cache in between.
const PIECE: u64 = 512 << 10;
/// Within so much the threads share the work; beyond it, the file is read from front to back.
const WINDOW: u64 = 32 << 20;

thread_local! {
    // While it is borrowed nothing is handed to other threads (a piece is too small for that), so no
    // other piece can start on this one.
    static BYTES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

fn hash_at(file: &File, len: u64) -> io::Result<Digest> {
    if len <= PIECE {
        return with_piece(file, 0, len, Digest::of);
    }
    let (left, right) = halves(file, 0, len)?;
    let hash = merge_subtrees_root(&left, &right, Mode::Hash);
    Ok(Digest::from_parts(*hash.as_bytes(), len))
}

/// The two parts that BLAKE3 splits `len` bytes at `offset` into.
fn halves(file: &File, offset: u64, len: u64) -> io::Result<(ChainingValue, ChainingValue)> {
    let half = left_subtree_len(len);
    let left = || subtree(file, offset, half);
    let right = || subtree(file, offset + half, len - half);
    let (left, right) = match len > WINDOW {
        true => (left(), right()),
        false => rayon::join(left, right),
    };
    Ok((left?, right?))
}

fn subtree(file: &File, offset: u64, len: u64) -> io::Result<ChainingValue> {
    if len <= PIECE {
        return with_piece(file, offset, len, |bytes| {
            let mut hasher = blake3::Hasher::new();
            hasher.set_input_offset(offset).update(bytes);
            hasher.finalize_non_root()
        });
    }
    let (left, right) = halves(file, offset, len)?;
    Ok(merge_subtrees_non_root(&left, &right, Mode::Hash))
}

fn with_piece<T>(file: &File, mut offset: u64, len: u64, hash: impl FnOnce(&[u8]) -> T) -> io::Result<T> {
    BYTES.with_borrow_mut(|bytes| {
        let bytes = aligned(bytes, usize::try_from(len).unwrap_or(usize::MAX));
        let mut rest = &mut *bytes;
        while !rest.is_empty() {
            match read_at(file, rest, offset) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => {
                    rest = &mut rest[read..];
                    offset += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(hash(bytes))
    })
}

/// `len` bytes of `buffer` that start a page: the kernel copies several times faster to there on some
/// processors.
fn aligned(buffer: &mut Vec<u8>, len: usize) -> &mut [u8] {
    const PAGE: usize = 4_096;
    if buffer.len() < len + PAGE {
        buffer.resize(len + PAGE, 0);
    }
    let start = buffer.as_ptr().align_offset(PAGE).min(PAGE);
    &mut buffer[start..start + len]
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, bytes, offset)
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
        let (full, filled) = mpsc::sync_channel::<io::Result<(Vec<u8>, usize)>>(BUFFERS);
        let (empty, emptied) = mpsc::channel::<Vec<u8>>();
        for _ in 0..BUFFERS {
            // Cannot fail: the receiver lives until the thread below is spawned.
            let _ = empty.send(Vec::new());
        }
        scope.spawn(move || {
            // Ends with the file, or when the other side has had enough.
            for mut buffer in emptied {
                let read = file.read(aligned(&mut buffer, BUFFER));
                let done = match &read {
                    Ok(read) => *read == 0,
                    Err(error) => error.kind() != io::ErrorKind::Interrupted,
                };
                let read = match read {
                    Err(_) if !done => Ok((buffer, 0)),
                    read => read.map(|read| (buffer, read)),
                };
                if full.send(read).is_err() || done {
                    break;
                }
            }
        });
        let mut total = 0;
        for piece in filled {
            let (mut buffer, read) = piece?;
            total += read as u64;
            if let Err(error) = sink(aligned(&mut buffer, read)) {
                return Ok(Err(error));
            }
            let _ = empty.send(buffer);
        }
        Ok(Ok(total))
    })
}
