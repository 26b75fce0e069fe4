//! Hashing a large file, warm and cold, beside `b3sum`; taking it into the store, beside copying and hashing.

use std::fs::{self, File};
use std::path::Path;

use crate::measure::{Table, alternate, command, this, time};
use crate::{Outcome, bytes};

/// At least 0.95 of the yardstick's speed.
const TARGET: Option<f64> = Some(1.0 / 0.95);

pub(crate) fn measure(folder: &Path, size: u64, table: &mut Table) -> Outcome<()> {
    let path = folder.join("file");
    let mut contents = vec![0; usize::try_from(size)?];
    bytes::fill(1, &mut contents);
    fs::write(&path, &contents)?;
    drop(contents);
    let file = File::open(&path)?;
    file.sync_all()?;
    let text = path.to_string_lossy();
    let ours = || this(&["hash", &text]);
    let name = |what: &str| format!("{what} {} MiB", size >> 20);

    let b3sum = Path::new("b3sum");
    match command(b3sum, &["--version"]).output() {
        Ok(_) => {
            let theirs = || command(b3sum, &[&text]);
            let pair = alternate(11, || time(&mut ours()?), || time(&mut theirs()))?;
            table.times(&name("hash, warm,"), pair, "b3sum", TARGET);
            let (mut before, cold) = (evict(&file), name("hash, cold,"));
            match before.take() {
                Some(()) => {
                    let pair = alternate(
                        7,
                        || evict(&file).map_or(Err("not evicted".into()), |()| time(&mut ours()?)),
                        || evict(&file).map_or(Err("not evicted".into()), |()| time(&mut theirs())),
                    )?;
                    table.times(&cold, pair, "b3sum", TARGET);
                }
                None => table.skipped(&cold, "this system does not let go of a file it has read"),
            }
        }
        Err(_) => table.skipped(&name("hash"), "there is no b3sum to compare with"),
    }

    let (store, copy) = (folder.join("store"), folder.join("copy"));
    let (store_text, copy_text) = (store.to_string_lossy(), copy.to_string_lossy());
    let pair = alternate(
        5,
        || {
            let took = time(&mut this(&["capture", &text, &store_text])?)?;
            fs::remove_dir_all(&store)?;
            Ok(took)
        },
        || {
            let took = time(&mut this(&["copy", &text, &copy_text])?)?;
            fs::remove_file(&copy)?;
            Ok(took)
        },
    )?;
    table.times(&name("capture"), pair, "copy+hash+sync", None);
    Ok(())
}

/// Makes the system forget the bytes of a file; `None` where it cannot be asked to.
#[cfg(target_os = "linux")]
fn evict(file: &File) -> Option<()> {
    rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed).ok()
}

#[cfg(not(target_os = "linux"))]
fn evict(_: &File) -> Option<()> {
    None
}
