//! Tags as fuzz targets: any bytes as a tag, and edits of a tag that is sound.
//!
//! Each target comes with inputs to start from, made here, and holds its reader to a bound of memory for every
//! byte that it is given. The first byte of an input chooses what is done with the rest.

use std::collections::BTreeMap;

use blam::{Edit, Tag, Work};

use crate::memory::within;
use crate::target::Target;

#[path = "../../formats/blam/tests/fixture/mod.rs"]
mod fixture;

/// All targets.
pub const TARGETS: [Target; 2] = [
    Target { name: "tag", run: tag, seeds: tag_seeds },
    Target { name: "tag_edits", run: tag_edits, seeds: tag_edits_seeds },
];

const KIB: usize = 1 << 10;
/// The fields of all structs, which may share one run in the file.
const FIELDS: usize = 8 * KIB * KIB;

/// Any bytes as a tag: what is accepted is written as it was, can be looked at whole, and walks after an edit.
pub fn tag(data: &[u8]) {
    let Some((choice, bytes)) = data.split_first() else { return };
    let mut work = Work::default();
    let read = within(bytes, FIELDS, 48, || Tag::read_measured(bytes, &mut work));
    assert!(work.steps <= 4 * bytes.len() as u64 + (1 << 17), "{work:?}");
    let Ok(mut tag) = read else { return };
    assert!(tag.chunks().flatten().eq(bytes));
    serde_json::to_writer(std::io::sink(), &tag).expect("what was walked can be shown");
    tag.warnings(10).expect("what was walked can be surveyed");
    tag.references().expect("what was walked can be surveyed");
    let texts = tag.string_ids().expect("what was walked can be surveyed");
    let edits = [
        r#"{"op": "set", "path": "label", "value": "longer than it was"}"#,
        r#"{"op": "set", "path": "ref", "value": "coll:x"}"#,
        r#"{"op": "set", "path": "one.id", "value": "x"}"#,
        r#"{"op": "set", "path": "default.title", "value": "x"}"#,
        r#"{"op": "append", "block": "items", "copy": 0}"#,
        r#"{"op": "remove", "block": "all", "elements": [0]}"#,
        r#"{"op": "add_default", "block": "all"}"#,
        r#"{"op": "resize", "block": "points", "count": 3}"#,
    ];
    let edit = edits[usize::from(*choice) % edits.len()];
    let edit: Edit = serde_json::from_str(edit).expect("an edit");
    if tag.edit(&[edit], &BTreeMap::new()).is_ok() {
        let written = tag.write();
        let again = Tag::read(&written).expect("what was edited walks");
        assert!(again.string_ids().expect("it walks").len() + 2 >= texts.len());
    }
}

fn with_choice(choice: u8, bytes: &[u8]) -> Vec<u8> {
    [&[choice], bytes].concat()
}

fn tag_seeds() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("sink-set", with_choice(0, &fixture::sink().bytes)),
        ("sink-append", with_choice(4, &fixture::sink().bytes)),
        ("small-remove", with_choice(5, &fixture::small().bytes)),
    ]
}

/// Any text as a list of edits: a sound tag stays sound, or is refused with a reason.
pub fn tag_edits(data: &[u8]) {
    let Ok(edits) = serde_json::from_slice::<Vec<Edit>>(data) else { return };
    let bytes = fixture::sink().bytes;
    let mut tag = Tag::read(&bytes).expect("it is sound");
    let other = fixture::small().bytes;
    let donors = BTreeMap::from([
        ("self".to_owned(), tag.clone()),
        ("small".to_owned(), Tag::read(&other).expect("it is sound")),
    ]);
    for edit in edits.iter().take(16) {
        // Many default elements are large because they were asked for.
        if tag.len() > 1 << 22 || matches!(edit, Edit::Resize { count, .. } if *count > 10_000) {
            return;
        }
        match tag.edit(std::slice::from_ref(edit), &donors) {
            Ok(()) => {}
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    if tag.check().is_ok() {
        let written = tag.write();
        assert_eq!(written.len() as u64, tag.len());
        Tag::read(&written).expect("what walks is read");
    }
}

fn tag_edits_seeds() -> Vec<(&'static str, Vec<u8>)> {
    let all = br##"[
 {"op":"set","path":"items[0].items[0].name","value":"x"},
 {"op":"set","path":"rgb color","value":"#a0b0c0"},
 {"op":"set","path":"byte flags","value":"red | blue"},
 {"op":"set_data","path":"blob","hex":"00ff"},
 {"op":"order","block":"items","elements":[1,0,0]},
 {"op":"append","block":"points","copy":1,"set":{"at":[1,2.5,-3]}},
 {"op":"remove","block":"hollow","elements":[0]},
 {"op":"resize","block":"none","count":2},
 {"op":"replace","block":"items","from":"self","from_block":"items[0].items"}
]"##;
    vec![
        ("all", all.to_vec()),
        ("default", br#"[{"op":"set","path":"default.target","value":"coll:x"}]"#.to_vec()),
    ]
}
