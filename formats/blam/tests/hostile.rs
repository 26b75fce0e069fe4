//! Tags built here, then damaged: nothing panics, nothing costs more than it is long, and what is accepted
//! is written as it was.
#![allow(clippy::unwrap_used)]

mod fixture;

#[path = "../../../fuzz/src/memory.rs"]
mod memory;

use std::collections::BTreeMap;

use blam::{Edit, Literal, Tag, Work};
use fixture::*;
use wire::ErrorKind;

#[global_allocator]
static COUNTING: memory::Counting = memory::Counting;

/// Reads `bytes` within bounds.
fn read<'a>(bytes: &'a [u8], what: &str) -> Result<Tag<'a>, wire::ReadError> {
    let mut work = Work::default();
    let tag = memory::within(bytes, 64 << 10, 32, || Tag::read_measured(bytes, &mut work));
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
    // One of them, so that all are met in a series of damaged files.
    let edit = &edits[bytes.iter().map(|byte| usize::from(*byte)).sum::<usize>() % edits.len()];
    // A damaged layout may have other fields; what is edited walks.
    if tag.edit(std::slice::from_ref(edit), &BTreeMap::new()).is_ok() {
        Tag::read(&tag.write()).unwrap_or_else(|error| panic!("{what}: {edit:?}: {error}"));
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

/// The error of a tag whose root has one field.
fn refused(layout: &mut Layout, field: (&str, &str, u32), packed: Bytes, children: Bytes) -> wire::ReadError {
    let bytes = one_field(layout, field, packed, children).bytes;
    read(&bytes, field.1).unwrap_err()
}

fn one_field(layout: &mut Layout, field: (&str, &str, u32), packed: Bytes, children: Bytes) -> Bytes {
    let root = layout.structure("root", &[field]);
    let root = layout.block(0, root);
    layout.tag(b"test", root, packed, children)
}

#[test]
fn blocks_may_hold_themselves_but_not_without_end() {
    let nested = |depth: u32| {
        let mut layout = Layout::new();
        let node = layout.structure("node", &[("next", "block", 0)]);
        let root = layout.block(0, node);
        let mut children = block(0, 0, Bytes::new(), Bytes::new());
        for n in 1..depth {
            children = block(1, 0, Bytes::new().u32(u32::from(n > 1)).zeros(8), wrapper(children));
        }
        layout.tag(b"deep", root, Bytes::new().u32(1).zeros(8), children).bytes
    };
    exercise(&nested(64), "64 deep").unwrap();
    for depth in [65, 1_000] {
        let error = read(&nested(depth), "too deep").unwrap_err();
        assert_eq!(error.kind, ErrorKind::Limit, "{error}");
        assert!(error.field.starts_with("root.next[0].next[0]"), "{error}");
    }
}

#[test]
fn structs_and_arrays_end() {
    for array in [false, true] {
        let nested = |depth: u32| {
            let mut layout = Layout::new();
            let mut inner = layout.structure("leaf", &[("n", "byte integer", 0)]);
            for _ in 0..depth {
                inner = match array {
                    true => {
                        let array = layout.array(1, inner);
                        layout.structure("node", &[("in", "array", array)])
                    }
                    false => layout.structure("node", &[("in", "struct", inner)]),
                };
            }
            let children = if array { Bytes::new() } else { wrapper(Bytes::new()) };
            let kind = if array { ("in", "array", layout.array(1, inner)) } else { ("in", "struct", inner) };
            one_field(&mut layout, kind, Bytes::new().raw(&[1]), children).bytes
        };
        exercise(&nested(120), "120 structs").unwrap();
        let error = read(&nested(200), "200 structs").unwrap_err();
        assert_eq!(error.kind, ErrorKind::Limit, "{error}");
    }
    let mut layout = Layout::new();
    let (a, b) = (0, 1);
    layout.structure("a", &[("b", "struct", b)]);
    layout.structure("b", &[("a", "struct", a)]);
    let error = refused(&mut layout, ("a", "struct", a), Bytes::new(), wrapper(Bytes::new()));
    assert!(error.message.contains("holds itself"), "{error}");
}

/// Structs that share a run of fields, each of which is looked at for each of them.
#[test]
fn fields_are_counted_once_for_every_struct() {
    let mut layout = Layout::new();
    let many: Vec<(&str, &str, u32)> = vec![("", "byte integer", 0); 2_000];
    let big = layout.structure("big", &many);
    let copies: Vec<u32> = (0..40).map(|_| layout.copy(big)).collect();
    let fields: Vec<(&str, &str, u32)> = copies.iter().map(|copy| ("", "struct", *copy)).collect();
    let root = layout.structure("root", &fields);
    let root = layout.block(0, root);
    let children = (0..40).fold(Bytes::new(), |bytes, _| bytes.then(wrapper(Bytes::new())));
    let bytes = layout.tag(b"many", root, Bytes::new().zeros(80_000), children).bytes;
    let error = memory::within(&bytes, 6 << 20, 32, || Tag::read(&bytes)).unwrap_err();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ErrorKind::Limit, "the structs have more than 65536 fields")
    );
}

/// Wrappers that may belong to a field or to none, in such numbers that trying all would not end.
#[test]
fn telling_phantoms_is_bounded() {
    let mut layout = Layout::new();
    let inner = layout.structure("in", &[("id", "string id", 0)]);
    let fields: Vec<(&str, &str, u32)> = vec![("in", "struct", inner); 1_500];
    let root = layout.structure("root", &fields);
    let root = layout.block(0, root);
    let wrappers = |n: usize| (0..n).fold(Bytes::new(), |bytes, _| bytes.raw(b"tsgt").zeros(8));
    let some = layout.tag(b"many", root, Bytes::new().zeros(6_000), wrappers(2_500)).bytes;
    exercise(&some, "1,000 phantoms").unwrap();
    let many = layout.tag(b"many", root, Bytes::new().zeros(6_000), wrappers(5_000)).bytes;
    assert_eq!(read(&many, "3,500 phantoms").unwrap_err().kind, ErrorKind::Limit);
}

#[test]
fn elements_are_there_before_they_are_counted() {
    let empty = Bytes::new;
    for (what, size, count, flags, kind) in [
        ("wrapped", 4, u32::MAX, 0, Some(ErrorKind::Truncated)),
        ("bare", 4, u32::MAX, 1, Some(ErrorKind::Truncated)),
        ("no bytes, wrapped", 0, u32::MAX, 0, Some(ErrorKind::Truncated)),
        ("no bytes, bare", 0, u32::MAX, 1, Some(ErrorKind::Truncated)),
        ("no bytes, below the maximum", 0, 9, 1, None),
    ] {
        let mut layout = Layout::new();
        let fields: &[(&str, &str, u32)] = if size == 0 { &[] } else { &[("n", "long integer", 0)] };
        let element = layout.structure("element", fields);
        let all = layout.block(9, element);
        let bytes = one_field(
            &mut layout,
            ("all", "block", all),
            Bytes::new().zeros(12),
            block(count, flags, empty(), empty()),
        );
        assert_eq!(read(&bytes.bytes, what).err().map(|error| error.kind), kind, "{what}");
    }
    let mut layout = Layout::new();
    let element = layout.structure("nothing", &[]);
    let array = layout.array(1 << 31, element);
    let error = refused(&mut layout, ("a", "array", array), empty(), empty());
    assert_eq!(error.kind, ErrorKind::Unsupported);
}

/// A type that is not known makes its struct unreadable, but no other.
#[test]
fn unknown_types_matter_where_there_are_values() {
    for count in [0, 1] {
        let mut layout = Layout::new();
        layout.add_type("vertex buffer", 4);
        let element = layout.structure("element", &[("v", "vertex buffer", 0)]);
        let all = layout.block(0, element);
        let elements = block(count, 1, Bytes::new(), Bytes::new());
        let bytes = one_field(&mut layout, ("all", "block", all), Bytes::new().u32(count).zeros(8), elements);
        match read(&bytes.bytes, "unknown") {
            Ok(_) => assert_eq!(count, 0),
            Err(error) => assert!(count == 1 && error.message.contains("`vertex buffer`"), "{error}"),
        }
    }
}

#[test]
fn what_is_not_as_it_has_to_be_is_named() {
    let sink = sink();
    for (label, skip, patch, field, message) in [
        ("magic", 0, &b"BLAM"[..], "tag.magic", "found `MALB`, not `BLAM`"),
        ("stream", 4, &[1], "tag.stream", "version 1, read is 0"),
        ("blay", 4, &[1], "stream.layout", "version 1, read is 2"),
        ("bdat", 4, &[2], "stream.data", "version 2, read is 1"),
        ("layout version", 0, &[5], "layout.layout version", "5, read is 4"),
        ("tgly", 4, &[5], "layout.tables", "version 5, read is 4"),
        ("counts", 4, &[9], "tables.[1]", "`sz+x` has 12 bytes, but 9 entries of 4"),
        ("gras", 0, b"arsg", "tables.table", "found `gsra`, not `gras`"),
        ("root block", 0, &[9], "root block", "refers to 9, but `blv2` has 4 entries"),
        ("type0", 4, &[9], "", ""),
        ("type5", 4, &[9], "layout.type.size", "`char integer` has 9 bytes, known are 1"),
        ("root", 4, &[1], "root", "a block of version 1, read is 0"),
        ("tgsi label", 4, &[1], "root.label", "a section of version 1, read is 0"),
        ("tgsi label", 0, b"adgt", "root.label", "found `tgda`, not `tgsi`"),
        ("tgrf ref", 8, &[3], "root.ref", "3 bytes are no reference"),
        ("tgst named", 4, &[9], "root.named", "the wrapper states 9 for its size of 34"),
        ("tgbl items", 12, &[3], "root.items[0]", "`....` states 1734503525 bytes, 127 left"),
        ("tgst item 1", 8, &[0xff], "root.items[1]", "`tgst` states 255 bytes, 32 left"),
        ("tgbl points", 12, &[1], "root.points", "14 bytes follow the last element"),
        ("resource", 1, b"q", "root.resource", "found `tgqc`, a resource of no known kind"),
        ("resource", 1, &[0], "root.resource", "no resource, but 44 bytes of it"),
        ("ti][", 0, b"tsgt", "root.interop", "found `tgst`, not `ti][`"),
    ] {
        let mut bytes = sink.bytes.clone();
        let at = sink.at(label) + skip;
        bytes[at..at + patch.len()].copy_from_slice(patch);
        let found = read(&bytes, label).err().map(|error| (error.field, error.message)).unwrap_or_default();
        assert_eq!(found, (field.to_owned(), message.to_owned()), "{label}");
    }
}
