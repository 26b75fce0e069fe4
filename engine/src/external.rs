//! Externals: named places outside the workspace, read at offsets and never mapped.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use cache::{Blob, Digest, FileStat, Store, Tree};

/// A file of an external, read at offsets.
pub trait ReadAt: Send + Sync {
    /// Fills `buffer` from `offset`; fewer bytes than that are an error.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
    /// Its length in bytes.
    fn len(&self) -> u64;
    /// Whether it has no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What an import sees of an external: names and bytes, no paths.
pub trait External: Send + Sync {
    /// Its name without `@`.
    fn name(&self) -> &str;
    /// The files directly in it, with lengths, in byte order of their names.
    fn files(&self) -> io::Result<Vec<(String, u64)>>;
    /// Opens one of them.
    fn open(&self, file: &str) -> io::Result<Box<dyn ReadAt>>;
    /// Where a file lies, for messages.
    fn describe(&self, file: &str) -> String;
    /// A stamp that moves when any file in it is touched: names, lengths and times, no bytes.
    fn stamp(&self) -> io::Result<[u8; 32]>;
}

/// An external that is a folder, or a single file, of this machine.
#[derive(Debug)]
pub struct FolderExternal {
    name: String,
    path: PathBuf,
}

impl FolderExternal {
    /// The external `name` at `path`.
    pub fn new(name: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        Self { name: name.into(), path: path.into() }
    }

    fn folder(&self) -> io::Result<(&Path, Option<String>)> {
        if std::fs::metadata(&self.path)?.is_dir() {
            return Ok((&self.path, None));
        }
        let name = self.path.file_name().map(|name| name.to_string_lossy().into_owned());
        Ok((self.path.parent().unwrap_or(Path::new("")), name))
    }
}

impl External for FolderExternal {
    fn name(&self) -> &str {
        &self.name
    }

    fn files(&self) -> io::Result<Vec<(String, u64)>> {
        let (folder, only) = self.folder()?;
        let mut files = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            // A name that is not Unicode names nothing that an import can ask for.
            let Ok(name) = entry.file_name().into_string() else { continue };
            let metadata = std::fs::metadata(entry.path())?;
            if metadata.is_file() && only.as_ref().is_none_or(|only| *only == name) {
                files.push((name, metadata.len()));
            }
        }
        files.sort();
        Ok(files)
    }

    fn open(&self, file: &str) -> io::Result<Box<dyn ReadAt>> {
        let (folder, _) = self.folder()?;
        let file = File::open(folder.join(file))?;
        let len = file.metadata()?.len();
        Ok(Box::new(OpenFile { file, len }))
    }

    fn describe(&self, file: &str) -> String {
        match self.folder() {
            Ok((folder, None)) => folder.join(file).display().to_string(),
            _ => self.path.display().to_string(),
        }
    }

    fn stamp(&self) -> io::Result<[u8; 32]> {
        let (folder, _) = self.folder()?;
        let mut hasher = blake3::Hasher::new();
        for (name, _) in self.files()? {
            let stat = FileStat::of(&std::fs::metadata(folder.join(&name))?);
            hasher.update(format!("{name}\0{stat:?}\n").as_bytes());
        }
        Ok(*hasher.finalize().as_bytes())
    }
}

struct OpenFile {
    file: File,
    len: u64,
}

impl ReadAt for OpenFile {
    #[cfg(unix)]
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.file, buffer, offset)
    }

    #[cfg(windows)]
    fn read_at(&self, mut offset: u64, mut buffer: &mut [u8]) -> io::Result<()> {
        use std::os::windows::fs::FileExt;
        while !buffer.is_empty() {
            match self.file.seek_read(buffer, offset) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => {
                    buffer = &mut buffer[read..];
                    offset += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn len(&self) -> u64 {
        self.len
    }
}

/// An external that is a tree in the store: how imports see a stand-in.
pub struct TreeExternal<'a> {
    name: String,
    files: BTreeMap<String, Digest>,
    store: &'a dyn Store,
}

impl<'a> TreeExternal<'a> {
    /// The external `name` with the files directly in `tree`.
    pub fn new(name: impl Into<String>, tree: &Tree, store: &'a dyn Store) -> Self {
        let files = tree.iter().map(|(path, digest)| (path.to_string(), *digest));
        let files = files.filter(|(path, _)| !path.contains('/')).collect();
        Self { name: name.into(), files, store }
    }
}

/// A blob of a stand-in was gone: carried inside an `io::Error`, so that the engine can make it again.
#[derive(Debug, thiserror::Error)]
#[error("blob {} is not in the store", .0.short())]
pub(crate) struct LostBlob(pub(crate) Digest);

impl External for TreeExternal<'_> {
    fn name(&self) -> &str {
        &self.name
    }

    fn files(&self) -> io::Result<Vec<(String, u64)>> {
        Ok(self.files.iter().map(|(name, digest)| (name.clone(), digest.len())).collect())
    }

    fn open(&self, file: &str) -> io::Result<Box<dyn ReadAt>> {
        let digest = self.files.get(file).ok_or(io::ErrorKind::NotFound)?;
        match self.store.read(digest).map_err(io::Error::other)? {
            Some(blob) => Ok(Box::new(OpenBlob(blob))),
            None => Err(io::Error::other(LostBlob(*digest))),
        }
    }

    fn describe(&self, file: &str) -> String {
        format!("{file} of the stand-in @{}", self.name)
    }

    fn stamp(&self) -> io::Result<[u8; 32]> {
        let mut hasher = blake3::Hasher::new();
        for (name, digest) in &self.files {
            hasher.update(format!("{name}\0{digest}\n").as_bytes());
        }
        Ok(*hasher.finalize().as_bytes())
    }
}

struct OpenBlob(Blob);

impl ReadAt for OpenBlob {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let start = usize::try_from(offset).ok();
        let end = start.and_then(|start| start.checked_add(buffer.len()));
        let range = start.zip(end).and_then(|(start, end)| self.0.get(start..end));
        buffer.copy_from_slice(range.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn len(&self) -> u64 {
        self.0.len() as u64
    }
}
