//! Tags built here, then damaged: nothing panics, nothing costs more than it is long, and what is accepted
//! is written as it was.
#![allow(clippy::unwrap_used)]

mod fixture;

use std::alloc::{GlobalAlloc, Layout as MemoryLayout, System};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use blam::{Edit, Literal, Tag, Work};
use fixture::*;

/// Counts what this thread's tests hold at most.
struct Counting;

thread_local! {
    static HELD: AtomicUsize = const { AtomicUsize::new(0) };
    static PEAK: AtomicUsize = const { AtomicUsize::new(0) };
}

fn held(change: isize) {
    let _ = HELD.try_with(|held| {
        let now = held.load(Ordering::Relaxed).wrapping_add_signed(change);
        held.store(now, Ordering::Relaxed);
        let _ = PEAK.try_with(|peak| {
            if (now as isize) > peak.load(Ordering::Relaxed) as isize {
                peak.store(now, Ordering::Relaxed);
            }
        });
    });
}

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: MemoryLayout) -> *mut u8 {
        held(layout.size() as isize);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: MemoryLayout) {
        held(-(layout.size() as isize));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What `run` gives, and how many bytes it held at most.
fn peak<T>(run: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.with(|held| held.load(Ordering::Relaxed));
    PEAK.with(|peak| peak.store(before, Ordering::Relaxed));
    let result = run();
    let after = PEAK.with(|peak| peak.load(Ordering::Relaxed));
    (result, after - before)
}

/// Reads `bytes` within bounds.
fn read<'a>(bytes: &'a [u8], what: &str) -> Result<Tag<'a>, wire::ReadError> {
    let mut work = Work::default();
    let (tag, held) = peak(|| Tag::read_measured(bytes, &mut work));
    assert!(held <= 64 * bytes.len() + (64 << 10), "{what}: {held} bytes held");
    assert!(work.steps <= 4 * bytes.len() as u64 + 256, "{what}: {work:?}");
    tag.inspect_err(|error| {
        assert!(error.offset <= bytes.len() as u64 && !error.field.is_empty(), "{what}: {error}");
    })
}

/// Reads `bytes` within bounds; what is accepted is used as widely as can be.
fn exercise(bytes: &[u8], what: &str) -> Result<(), wire::ReadError> {
    let mut tag = read(bytes, what)?;
    assert!(tag.chunks().flatten().eq(bytes), "{what}: not written as it was");
    serde_json::to_writer(std::io::sink(), &tag).unwrap_or_else(|error| panic!("{what}: {error}"));
    tag.warnings(10).unwrap();
    tag.references().unwrap();
    tag.string_ids().unwrap();
    let edits = [
        Edit::Set { path: "label".into(), value: Literal::Text("a longer label".into()) },
        Edit::Set { path: "default.target".into(), value: Literal::Text("coll:x".into()) },
        Edit::Append { block: "items".into(), copy: Some(0), set: BTreeMap::new() },
        Edit::AddDefault { block: "points".into() },
    ];
    for edit in edits {
        let mut edited = tag.clone();
        // A damaged layout may have other fields; what is edited walks.
        if edited.edit(std::slice::from_ref(&edit), &BTreeMap::new()).is_ok() {
            Tag::read(&edited.write()).unwrap_or_else(|error| panic!("{what}: {edit:?}: {error}"));
            tag = edited;
        }
    }
    Ok(())
}

#[test]
fn the_fixture_is_sound() {
    let bytes = sink().bytes;
    exercise(&bytes, "as it is").unwrap();
    let tag = Tag::read(&bytes).unwrap();
    assert_eq!(tag.warnings(10), Ok(vec![]));
    let texts: Vec<String> = tag.string_ids().unwrap().into_iter().collect();
    assert_eq!(texts, ["alpha", "deep", "left", "one", "right", "title"]);
    let references: Vec<String> = tag.references().unwrap().into_iter().map(|found| found.path).collect();
    assert_eq!(references, [r"a\a", "m"]);
}

#[test]
fn every_prefix_is_refused() {
    let bytes = sink().bytes;
    for length in 0..bytes.len() {
        exercise(&bytes[..length], &format!("{length} bytes")).unwrap_err();
    }
}

/// Reads `bytes` with each of its bytes changed in each of these ways; how many were accepted.
fn changed(mut bytes: Vec<u8>, changes: impl Iterator<Item = u8> + Clone) -> usize {
    let mut accepted = 0;
    for at in 0..bytes.len() {
        let old = bytes[at];
        for change in changes.clone() {
            bytes[at] = old ^ change;
            let what = format!("byte {at} ^ {change}");
            let result =
                if change == 255 { exercise(&bytes, &what) } else { read(&bytes, &what).map(|_| ()) };
            accepted += usize::from(result.is_ok());
        }
        bytes[at] = old;
    }
    accepted
}

#[test]
fn every_changed_byte_is_refused_or_read_as_it_is() {
    // Names, values in place and texts may be anything.
    assert!(changed(sink().bytes, [1, 128, 255].into_iter()) > 1_000);
    assert!(changed(small().bytes, 1..=255) > 10_000);
}
