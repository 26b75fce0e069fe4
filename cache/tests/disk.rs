//! What only a store on disk has: damage, failing writes, other processes, garbage, an index.
#![allow(clippy::unwrap_used, reason = "helpers of tests are not seen as tests")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use cache::{
    ActionDigest, ActionResult, Blobs, CaptureError, Digest, DiskStore, FileStat, GcOptions, Index, Keep,
    Keeper, Output, Results, StoreError, Tree, WorkspacePath, capture_file, hash_file,
};
use tempfile::TempDir;

const NOTHING: [PathBuf; 0] = [];

fn open(folder: &TempDir) -> DiskStore {
    DiskStore::open(folder.path()).unwrap()
}

/// All files of the store's folders `kinds`, in order.
fn stored(folder: &TempDir, kinds: &[&str]) -> Vec<PathBuf> {
    fn walk(folder: &Path, all: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => walk(&path, all),
                false => all.push(path),
            }
        }
    }
    let mut all = Vec::new();
    for kind in kinds {
        walk(&folder.path().join("v1").join(kind), &mut all);
    }
    all.sort();
    all
}

/// Changes a stored file behind the store's back.
fn overwrite(path: &Path, bytes: &[u8]) {
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

/// Makes everything look as if it were an hour old.
fn age(folder: &TempDir) {
    for path in stored(folder, &["blobs", "results"]) {
        let bytes = fs::read(&path).unwrap();
        overwrite(&path, &bytes);
        let file = File::options().write(true).open(&path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(3_600)).unwrap();
    }
}

/// Stores an action with a file and a tree of `files`; all of its bytes depend on `name`.
fn build(store: &DiskStore, name: &str, files: &[&str]) -> Result<ActionDigest, StoreError> {
    let mut tree = Tree::new();
    for file in files {
        let digest = store.put(file.as_bytes())?;
        tree.insert(WorkspacePath::parse(*file).unwrap(), digest).unwrap();
    }
    let outputs = BTreeMap::from([
        ("file".to_owned(), Output::File(store.put(&vec![b'x'; 100_000 + name.len()])?)),
        ("tree".to_owned(), Output::Tree(store.put(&tree.encode())?)),
    ]);
    let result = ActionResult {
        manifest: name.as_bytes().to_vec(),
        outputs,
        notes: Vec::new(),
        duration_ms: 1,
        private: false,
    };
    store.put_result(&result)?;
    Ok(result.action())
}

fn gc(store: &DiskStore, size: Option<u64>, dry_run: bool) -> cache::GcReport {
    store.gc(GcOptions { size, dry_run }, &|_| None).unwrap()
}

#[test]
fn damage_is_noticed_removed_and_healed() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder);
    for len in [0, 1, 1_000, 70_000, 1_500_000] {
        let bytes = vec![b'b'; len];
        let digest = store.put(&bytes).unwrap();
        let path = folder.path().join(format!("v1/blobs/{}/{digest}", &digest.hex()[..2]));
        let mut longer = bytes.clone();
        longer.push(0);
        let mut damages = vec![longer];
        if len > 0 {
            damages.push(bytes[1..].to_vec());
            let mut flipped = bytes.clone();
            flipped[len / 2] ^= 1;
            damages.push(flipped);
        }
        for damage in damages {
            let target = folder.path().join("placed");
            fs::write(&target, "before").unwrap();
            assert!(*store.read(&digest).unwrap().unwrap() == *bytes);
            overwrite(&path, &damage);
            assert_eq!(store.has(&digest).unwrap(), damage.len() == len);
            assert!(!store.place(&digest, &target).unwrap());
            assert_eq!(fs::read(&target).unwrap(), b"before");
            assert!(!path.exists());
            fs::write(&path, &damage).unwrap();
            assert!(store.read(&digest).unwrap().is_none(), "{len}");
            assert!(!path.exists());
            // Writing heals, also where the damage was not noticed yet.
            fs::write(&path, &damage).unwrap();
            store.put(&bytes).unwrap();
            assert!(*store.read(&digest).unwrap().unwrap() == *bytes);
        }
    }
    assert_eq!(stored(&folder, &["tmp"]).len(), 1, "the lock of this process alone");
}

#[test]
fn a_result_under_another_name_or_with_a_flipped_bit_is_absent() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder);
    let one = build(&store, "one", &[]).unwrap();
    let two = build(&store, "two", &[]).unwrap();
    let path = |action: &ActionDigest| {
        let text = action.to_string();
        folder.path().join("v1/results").join(&text[..2]).join(text)
    };
    fs::copy(path(&one), path(&two)).unwrap();
    assert!(store.result(&one).unwrap().is_some());
    assert_eq!(store.result(&two).unwrap(), None);
    assert!(!path(&two).exists());
    let mut bytes = fs::read(path(&one)).unwrap();
    bytes[40] ^= 1;
    overwrite(&path(&one), &bytes);
    assert_eq!(store.result(&one).unwrap(), None);
    assert!(!path(&one).exists());
}

#[test]
fn the_check_notices_a_flipped_bit_in_every_file() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder);
    let fill = || {
        let action = build(&store, "one", &["a", "b/c"]).unwrap();
        store.keep(Keep::Pin, "mine: é/..", &[action]).unwrap();
        store.keep(Keep::Root, "maps/one", &[action]).unwrap();
        store.put_snapshot("w", "last", b"snapshot").unwrap();
    };
    fill();
    let whole = store.check().unwrap();
    assert_eq!((whole.checked.results, whole.checked.blobs), (1, 4));
    assert_eq!((whole.damaged, whole.incomplete), (vec![], 0));
    let kinds = ["blobs", "results", "pins", "roots", "workspaces"];
    let files = stored(&folder, &kinds);
    assert_eq!(files.len(), 8);
    for path in &files {
        let mut bytes = fs::read(path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x10;
        overwrite(path, &bytes);
        let name = path.strip_prefix(folder.path().join("v1")).unwrap();
        let report = store.check().unwrap();
        assert_eq!(report.damaged, [name]);
        assert_eq!(report.incomplete, u64::from(name.starts_with("blobs")));
        assert_eq!(store.check().unwrap().damaged, NOTHING, "removed");
        fill();
        assert_eq!(stored(&folder, &kinds), files);
    }
}

#[test]
fn whichever_write_fails_the_store_stays_whole() {
    let mut failures = 0;
    for nth in 1.. {
        let folder = TempDir::new().unwrap();
        let store = open(&folder);
        let placed = folder.path().join("out/placed");
        let big = vec![7; 2 << 20];
        let work = || -> Result<ActionDigest, StoreError> {
            let digest = store.put(&big)?;
            store.place(&digest, &placed)?;
            let action = build(&store, "one", &["a", "b"])?;
            store.keep(Keep::Root, "root", &[action])?;
            store.put_snapshot("w", "last", b"snapshot")?;
            Ok(action)
        };
        store.fail_at(nth);
        let first = work();
        assert_eq!(first.is_ok(), store.failure_pending(), "{nth}");
        if first.is_ok() {
            break;
        }
        failures += 1;
        let message = first.unwrap_err().to_string();
        assert!(message.contains(&*folder.path().to_string_lossy()), "{message}");
        let files = stored(&folder, &["tmp"]);
        assert_eq!(files.len(), 1, "{nth}: {files:?}");
        let left = fs::read_dir(folder.path().join("out")).map_or(0, Iterator::count);
        assert_eq!(left, usize::from(placed.exists()), "{nth}");
        if placed.exists() {
            assert!(fs::read(&placed).unwrap() == big);
        }
        let report = store.check().unwrap();
        assert_eq!((report.damaged, report.incomplete), (vec![], 0), "{nth}");
        let action = work().unwrap();
        assert!(store.result(&action).unwrap().is_some());
        assert!(fs::read(&placed).unwrap() == big);
        assert_eq!(store.snapshot("w", "last").unwrap().unwrap(), b"snapshot");
    }
    assert!(failures > 30, "{failures}");
}

#[test]
fn several_handles_share_one_store() {
    let folder = TempDir::new().unwrap();
    let (one, two) = (open(&folder), open(&folder));
    std::thread::scope(|scope| {
        for store in [&one, &two, &one, &two] {
            scope.spawn(move || {
                for round in 0..30 {
                    let name = format!("{round}");
                    let action = build(store, &name, &["a", &name]).unwrap();
                    let result = store.result(&action).unwrap().unwrap();
                    for output in result.outputs.values() {
                        assert!(store.read(&output.digest()).unwrap().is_some());
                    }
                }
            });
        }
    });
    assert_eq!(stored(&folder, &["results"]).len(), 30);
    assert_eq!(one.check().unwrap().damaged, NOTHING);
    drop((one, two));
    assert_eq!(stored(&folder, &["tmp"]), NOTHING);
}

#[test]
fn a_store_that_cannot_be_is_one_clear_error() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let error = DiskStore::open(&file).err().unwrap();
    assert!(matches!(error, StoreError::Unusable { .. }));
    let start = format!("the store at `{}` cannot be used: cannot write to it: ", file.display());
    assert!(error.to_string().starts_with(&start), "{error}");
}

#[test]
fn folders_that_vanish_are_made_again() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder);
    fs::remove_dir_all(folder.path().join("v1/blobs")).unwrap();
    fs::remove_dir_all(folder.path().join("v1/results")).unwrap();
    let action = build(&store, "one", &["a"]).unwrap();
    assert!(store.result(&action).unwrap().is_some());
}

#[test]
fn a_snapshot_is_whole_or_absent() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder);
    assert_eq!(store.snapshot("w", "last").unwrap(), None);
    store.put_snapshot("w", "last", b"first").unwrap();
    store.put_snapshot("w", "last", b"").unwrap();
    assert_eq!(store.snapshot("w", "last").unwrap().unwrap(), b"");
    let path = folder.path().join("v1/workspaces/w/last");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[1..]).unwrap();
    assert_eq!(store.snapshot("w", "last").unwrap(), None);
    for bad in ["../w", "a/b", "", "nul"] {
        assert!(store.put_snapshot(bad, "last", b"").is_err(), "{bad}");
        assert!(store.put_snapshot("w", bad, b"").is_err(), "{bad}");
    }
}

#[test]
fn what_is_kept_stays_and_the_rest_goes() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder);
    let pinned = build(&store, "pinned", &["a", "shared"]).unwrap();
    let rooted = build(&store, "root", &["b"]).unwrap();
    let leased = build(&store, "leased!", &["c"]).unwrap();
    let unused = build(&store, "unused!!!", &["d", "shared"]).unwrap();
    let orphan = store.put(b"orphan").unwrap();
    age(&folder);
    store.keep(Keep::Pin, "p", &[pinned]).unwrap();
    store.keep(Keep::Root, "r", &[rooted]).unwrap();
    let lease = store.lease().unwrap();
    lease.uses(&[leased]).unwrap();
    let young = build(&store, "young", &["e"]).unwrap();

    let before = stored(&folder, &["blobs", "results"]);
    let dry = gc(&store, None, true);
    assert_eq!(stored(&folder, &["blobs", "results"]), before);
    let report = gc(&store, None, false);
    assert_eq!(report, dry, "a dry run says what happens");
    assert_eq!((report.removed.results, report.removed.blobs), (1, 4));
    assert!(!store.has(&orphan).unwrap());
    assert_eq!(store.result(&unused).unwrap(), None);
    assert!(!store.has(&Digest::of(b"d")).unwrap());
    assert!(store.has(&Digest::of(b"shared")).unwrap());
    for action in [pinned, rooted, leased, young] {
        assert!(store.result(&action).unwrap().is_some());
    }
    let names: Vec<_> = report.keepers.iter().map(|(keeper, ..)| *keeper).collect();
    assert_eq!(names, [Keeper::Pin, Keeper::Root, Keeper::Lease]);
    assert_eq!((report.keepers[0].2.results, report.keepers[0].2.blobs), (1, 4));
    assert_eq!(store.check().unwrap().incomplete, 0);

    drop(lease);
    age(&folder);
    assert!(store.release(Keep::Pin, "p").unwrap());
    assert!(!store.release(Keep::Pin, "p").unwrap());
    assert_eq!(gc(&store, None, false).removed.results, 3);
    assert_eq!(store.kept(Keep::Root).unwrap()[0].name, "r");
    assert!(store.result(&rooted).unwrap().is_some());
    assert_eq!(stored(&folder, &["leases"]), NOTHING);
}

#[test]
fn a_size_takes_the_longest_unused_and_never_what_is_kept() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder);
    let actions: Vec<_> = (1..=4).map(|n| build(&store, &"n".repeat(n), &[]).unwrap()).collect();
    age(&folder);
    store.keep(Keep::Root, "r", &actions[..1]).unwrap();
    let all = gc(&store, Some(u64::MAX), false);
    assert_eq!(all.removed, cache::Usage::default());
    // The second was used last.
    let last_use = |action: &ActionDigest| (*action == actions[1]).then(FileStat::now);
    let options = GcOptions { size: Some(250_000), dry_run: false };
    let report = store.gc(options, &last_use).unwrap();
    assert_eq!(report.removed.results, 2);
    assert!(report.kept.bytes <= 250_000);
    assert!(store.result(&actions[1]).unwrap().is_some());
    let report = gc(&store, Some(0), false);
    assert_eq!(report.kept.results, 1);
    assert!(report.kept.bytes > 100_000, "said, not obeyed");
    assert!(store.result(&actions[0]).unwrap().is_some());
}

#[test]
fn what_dead_processes_left_is_swept() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder);
    let v1 = folder.path().join("v1");
    let dead = v1.join("tmp/1-2-3");
    fs::create_dir(&dead).unwrap();
    fs::write(dead.join("half"), "half").unwrap();
    fs::write(v1.join("tmp/1-2-3.lock"), "").unwrap();
    fs::write(v1.join("leases/4-5-6.lock"), "").unwrap();
    fs::write(v1.join("leases/4-5-6"), [0; 32]).unwrap();
    let other = open(&folder);
    let mut writer = other.writer().unwrap();
    writer.append(b"written while garbage is collected").unwrap();
    let report = gc(&store, None, false);
    assert_eq!((report.stale, report.keepers), (1, vec![]));
    assert!(!dead.exists());
    assert_eq!(stored(&folder, &["leases"]), NOTHING);
    let digest = writer.commit().unwrap();
    assert!(store.read(&digest).unwrap().is_some());
}

#[test]
fn files_outside_are_hashed_and_captured_as_they_are() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder);
    let path = folder.path().join("source");
    for len in [0, 1, (2 << 20) - 1, 2 << 20, 9_000_001] {
        let bytes: Vec<u8> = (0..len).map(|n: usize| (n % 253) as u8).collect();
        fs::write(&path, &bytes).unwrap();
        let stat = FileStat::of(&fs::metadata(&path).unwrap());
        assert_eq!(hash_file(&path).unwrap(), (Digest::of(&bytes), stat));
        assert_eq!(capture_file(&path, &store).unwrap(), (Digest::of(&bytes), stat));
        assert!(*store.read(&Digest::of(&bytes)).unwrap().unwrap() == *bytes);
    }
    let missing = folder.path().join("missing");
    assert_eq!(hash_file(&missing).unwrap_err().kind(), std::io::ErrorKind::NotFound);
    assert!(matches!(capture_file(&missing, &store), Err(CaptureError::Source(_))));
    assert!(hash_file(folder.path()).is_err());
    assert!(matches!(capture_file(folder.path(), &store), Err(CaptureError::Source(_))));
    store.fail_at(3);
    assert!(matches!(capture_file(&path, &store), Err(CaptureError::Store(_))));
}

#[test]
fn a_file_that_keeps_changing_is_given_up() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let folder = TempDir::new().unwrap();
    let store = open(&folder);
    let path = folder.path().join("source");
    fs::write(&path, vec![1; 32 << 20]).unwrap();
    let done = AtomicBool::new(false);
    let captured = std::thread::scope(|scope| {
        scope.spawn(|| {
            use std::io::Write;
            let mut file = File::options().append(true).open(&path).unwrap();
            while !done.load(Ordering::Relaxed) {
                file.write_all(b"more").unwrap();
            }
        });
        let captured = capture_file(&path, &store);
        done.store(true, Ordering::Relaxed);
        captured
    });
    assert!(matches!(captured, Err(CaptureError::Changing { .. })), "{captured:?}");
    assert_eq!(stored(&folder, &["blobs"]), NOTHING);
}

#[test]
fn the_index_remembers_and_can_be_lost() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder);
    let path = folder.path().join("source");
    fs::write(&path, "source").unwrap();
    let (digest, stat) = hash_file(&path).unwrap();
    let action = |n: usize| ActionDigest::of(&[n as u8]);
    let index = Index::open(&store).unwrap();
    assert!(Index::open(&store).is_none(), "one at a time");
    assert_eq!(index.file(&path, &stat), None);
    index.set_file(&path, &stat, &digest);
    for n in 0..12 {
        index.set_past("w", "maps/a:b", &action(n % 10), n as i64);
    }
    index.set_used(&action(1), 77, 1_234);
    drop(index);

    let index = Index::open(&store).unwrap();
    assert_eq!(index.file(&path, &stat), Some(digest));
    let touched = FileStat { modified: stat.modified + 1, ..stat };
    assert_eq!(index.file(&path, &touched), None);
    let past: Vec<_> = index.past("w", "maps/a:b").iter().map(|past| past.time).collect();
    assert_eq!(past, [11, 10, 9, 8, 7, 6, 5, 4]);
    assert_eq!(index.past("w", "maps/a:b")[0].action, action(1));
    assert_eq!(index.past("v", "maps/a:b"), []);
    assert_eq!((index.last_use(&action(1)), index.duration(&action(1))), (Some(77), Some(1_234)));
    drop(index);

    // Whatever is wrong with its files, it opens again and forgets at worst.
    let mut damaged = 0;
    for damage in [&b""[..], b"not a database", &[0xff; 100_000]] {
        for file in stored(&folder, &["index"]) {
            // A database that was made anew has other files.
            if file.exists() {
                overwrite(&file, damage);
                damaged += 1;
            }
            let index = Index::open(&store).unwrap();
            index.set_file(&path, &stat, &digest);
            assert_eq!(index.file(&path, &stat), Some(digest));
        }
    }
    assert!(damaged >= 6, "{damaged}");
    fs::remove_dir_all(folder.path().join("v1/index")).unwrap();
    assert_eq!(Index::open(&store).unwrap().file(&path, &stat), None);
}

#[test]
fn a_folder_in_the_place_of_a_blob_gives_way() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder);
    let digest = store.put(b"what is needed").unwrap();
    let [path] = <[PathBuf; 1]>::try_from(stored(&folder, &["blobs"])).unwrap();
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(!store.has(&digest).unwrap());
    assert_eq!(store.put(b"what is needed").unwrap(), digest);
    assert_eq!(store.read(&digest).unwrap().unwrap().to_vec(), b"what is needed");
}
