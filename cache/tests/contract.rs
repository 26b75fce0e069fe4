//! What every store does, whatever it is made of: one set of tests, run against each of them.
#![allow(clippy::unwrap_used, reason = "helpers of tests are not seen as tests")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;

use cache::{ActionResult, Digest, DiskStore, MemoryStore, Note, Output, Severity, Store};
use tempfile::TempDir;

/// Sizes about every limit at which a store may change its ways.
const SIZES: [usize; 9] =
    [0, 1, 4_096, (64 << 10) - 1, 64 << 10, (64 << 10) + 1, (1 << 20) - 1, 1 << 20, 3_000_001];

fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|n| (n / 7 + n % 251) as u8).collect()
}

fn result(name: &str) -> ActionResult {
    ActionResult {
        manifest: name.as_bytes().to_vec(),
        outputs: BTreeMap::from([("out".to_owned(), Output::File(Digest::of(b"out")))]),
        notes: vec![Note { severity: Severity::Warning, message: name.to_owned() }],
        duration_ms: 7,
        private: true,
    }
}

fn what_was_put_is_read_back(store: &dyn Store) {
    for len in SIZES {
        let bytes = bytes(len);
        let digest = Digest::of(&bytes);
        assert!(!store.has(&digest).unwrap(), "{len}");
        assert!(store.read(&digest).unwrap().is_none(), "{len}");
        assert_eq!(store.put(&bytes).unwrap(), digest);
        assert!(store.has(&digest).unwrap(), "{len}");
        for _ in 0..2 {
            assert!(*store.read(&digest).unwrap().unwrap() == *bytes, "{len}");
        }
        assert_eq!(store.put(&bytes).unwrap(), digest, "a second time");
        assert!(*store.read(&digest).unwrap().unwrap() == *bytes, "{len}");
    }
}

fn one_hash_with_another_length_is_absent(store: &dyn Store) {
    let digest = store.put(b"some bytes").unwrap();
    let other = Digest::from_parts(*digest.hash(), digest.len() + 1);
    assert!(!store.has(&other).unwrap());
    assert!(store.read(&other).unwrap().is_none());
    assert!(store.has(&digest).unwrap());
}

fn pieces_make_one_blob(store: &dyn Store) {
    let bytes = bytes(2_500_000);
    let mut writer = store.writer().unwrap();
    for (index, piece) in bytes.chunks(300_007).enumerate() {
        match index % 2 {
            0 => writer.append(piece).unwrap(),
            _ => writer.write_all(piece).unwrap(),
        }
    }
    assert!(!store.has(&Digest::of(&bytes)).unwrap(), "not yet");
    assert_eq!(writer.commit().unwrap(), Digest::of(&bytes));
    let mut source = &bytes[..];
    let digest = store.put_from(&mut source).unwrap().unwrap();
    assert!(*store.read(&digest).unwrap().unwrap() == *bytes);
}

fn a_dropped_writer_leaves_nothing(store: &dyn Store) {
    let mut writer = store.writer().unwrap();
    writer.append(b"dropped").unwrap();
    drop(writer);
    assert!(!store.has(&Digest::of(b"dropped")).unwrap());
}

fn a_source_that_fails_is_passed_through(store: &dyn Store) {
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("broken"))
        }
    }
    let error = store.put_from(&mut Broken).unwrap().unwrap_err();
    assert_eq!(error.to_string(), "broken");
    assert!(!store.has(&Digest::of(b"")).unwrap());
}

fn a_placed_file_is_the_users_own(store: &dyn Store) {
    let folder = TempDir::new().unwrap();
    for len in SIZES {
        let bytes = bytes(len);
        let digest = store.put(&bytes).unwrap();
        let path = folder.path().join("missing/folders").join("file");
        // Over nothing, then over the file of the turn before.
        assert!(store.place(&digest, &path).unwrap());
        assert!(fs::read(&path).unwrap() == bytes, "{len}");
        let mode = fs::metadata(&path).unwrap().permissions();
        assert!(!mode.readonly());
        #[cfg(unix)]
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o111, 0, "executable");
        fs::write(&path, b"changed by the user").unwrap();
        assert!(*store.read(&digest).unwrap().unwrap() == *bytes, "{len}");
    }
    let absent = Digest::of(b"never put");
    let path = folder.path().join("missing/folders/file");
    assert!(!store.place(&absent, &path).unwrap());
    assert_eq!(fs::read(&path).unwrap(), b"changed by the user");
    let names = fs::read_dir(path.parent().unwrap()).unwrap().count();
    assert_eq!(names, 1, "nothing is left beside it");
}

fn a_place_that_cannot_be_written_is_named(store: &dyn Store) {
    let folder = TempDir::new().unwrap();
    let digest = store.put(b"some bytes").unwrap();
    let path = folder.path().join("taken");
    fs::create_dir_all(path.join("in the way")).unwrap();
    let error = store.place(&digest, &path).unwrap_err();
    assert!(error.to_string().contains("taken"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    assert!(path.join("in the way").is_dir());
}

fn results_are_kept_by_action(store: &dyn Store) {
    let (one, two) = (result("one"), result("two"));
    assert_eq!(store.result(&one.action()).unwrap(), None);
    store.put_result(&one).unwrap();
    store.put_result(&two).unwrap();
    assert_eq!(store.result(&one.action()).unwrap(), Some(one.clone()));
    let again = ActionResult { duration_ms: 8, ..one };
    store.put_result(&again).unwrap();
    assert_eq!(store.result(&again.action()).unwrap(), Some(again));
    assert_eq!(store.result(&two.action()).unwrap(), Some(two));
}

fn many_threads_share_it(store: &dyn Store) {
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                for round in 0..40 {
                    // Two threads each write the same blobs and results, and read what the others do.
                    let bytes = bytes(round * 3_001 + thread % 2);
                    let digest = store.put(&bytes).unwrap();
                    assert!(*store.read(&digest).unwrap().unwrap() == *bytes);
                    let result = result(&format!("{round} {}", thread % 2));
                    store.put_result(&result).unwrap();
                    assert_eq!(store.result(&result.action()).unwrap(), Some(result));
                }
            });
        }
    });
}

/// Runs the set against a store; `$keep` holds what must outlive it.
macro_rules! contract {
    ($store:ident, $make:expr, [$($test:ident)*]) => {
        mod $store {
            use super::*;
            $(#[test]
            fn $test() {
                let (_keep, store) = $make;
                super::$test(&store);
            })*
        }
    };
    ($($store:ident: $make:expr;)*) => {
        $(contract!($store, $make, [
            what_was_put_is_read_back
            one_hash_with_another_length_is_absent
            pieces_make_one_blob
            a_dropped_writer_leaves_nothing
            a_source_that_fails_is_passed_through
            a_placed_file_is_the_users_own
            a_place_that_cannot_be_written_is_named
            results_are_kept_by_action
            many_threads_share_it
        ]);)*
    };
}

fn disk() -> (TempDir, DiskStore) {
    let folder = TempDir::new().unwrap();
    let store = DiskStore::open(folder.path().join("a/new/folder")).unwrap();
    (folder, store)
}

contract! {
    memory_store: ((), MemoryStore::new());
    disk_store: disk();
}
