//! Halves of comparisons that run as processes of their own: the store's ways with a file, and the plain
//! copying and hashing beside them.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use crate::Outcome;

/// Hashes a file as the engine does.
pub(crate) fn hash(file: &Path) -> Outcome<()> {
    println!("{}", cache::hash_file(file)?.0);
    Ok(())
}

/// Takes a file into a store, as a build does with a source that it has not seen.
pub(crate) fn capture(file: &Path, store: &Path) -> Outcome<()> {
    println!("{}", cache::capture_file(file, &cache::DiskStore::open(store)?)?.0);
    Ok(())
}

/// Copies all files below `from`, a file or a folder, into the one file `to`, hashing what goes by; syncs once
/// and renames into place, as the store does with a blob.
pub(crate) fn copy(from: &Path, to: &Path) -> Outcome<()> {
    let mut files = Vec::new();
    collect(from, &mut files)?;
    files.sort();
    let aside = to.with_extension("aside");
    let mut out = File::create(&aside)?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 1 << 20];
    for path in files {
        let mut file = File::open(path)?;
        loop {
            let read = file.read(&mut buffer)?;
            let Some(bytes) = buffer.get(..read).filter(|bytes| !bytes.is_empty()) else { break };
            match read < 128 << 10 {
                true => hasher.update(bytes),
                false => hasher.update_rayon(bytes),
            };
            out.write_all(bytes)?;
        }
    }
    out.sync_all()?;
    fs::rename(aside, to)?;
    println!("{}", hasher.finalize());
    Ok(())
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Outcome<()> {
    if path.is_file() {
        files.push(path.to_owned());
        return Ok(());
    }
    fs::read_dir(path)?.try_for_each(|entry| collect(&entry?.path(), files))
}
