//! Edits of tags built here: what each type of field takes and refuses, how blocks grow and shrink, what
//! wrappers that are default or belong to no field become, and what an edit of a large tag costs.
#![allow(clippy::unwrap_used)]

mod fixture;
#[path = "../../../fuzz/src/memory.rs"]
mod memory;

use std::collections::BTreeMap;

use blam::{Edit, EditError, Tag};
use fixture::*;
use serde_json::{Value, json};

#[global_allocator]
static COUNTING: memory::Counting = memory::Counting;

/// The value of the field at `path` in the tag's tree.
fn value(tag: &Tag<'_>, path: &str) -> Value {
    let mut at = serde_json::to_value(tag).unwrap()["root"].take();
    for part in path.split('.') {
        let (name, index) = part.split_once('[').map_or((part, None), |(name, index)| (name, Some(index)));
        let fields = at.as_array().unwrap();
        at = fields.iter().find(|field| field["name"] == name).unwrap()["value"].clone();
        if let Some(index) = index {
            let index: usize = index.trim_end_matches(']').parse().unwrap();
            at = if at.is_array() { at[index].take() } else { at["elements"][index].take() };
        }
    }
    at
}

/// The tag after the edit, which the file read anew must show as well.
fn edited(bytes: &[u8], edit: impl FnOnce(&mut Tag<'_>) -> Result<(), EditError>) -> Vec<u8> {
    let mut tag = Tag::read(bytes).unwrap();
    edit(&mut tag).unwrap();
    tag.check().unwrap();
    let written = tag.write();
    assert_eq!(written.len() as u64, tag.len());
    let again = Tag::read(&written).unwrap();
    assert_eq!(serde_json::to_value(&again).unwrap(), serde_json::to_value(&tag).unwrap());
    assert_eq!(again.warnings(10), Ok(vec![]));
    written
}

#[test]
fn every_type_takes_its_values() {
    let sink = sink();
    for (path, text, expected) in [
        ("char integer", "-128", json!(-128)),
        ("byte integer", "255", json!(255)),
        ("word integer", "65535", json!(65535)),
        ("dword integer", "4294967295", json!(4_294_967_295_u32)),
        ("int64 integer", "-9223372036854775808", json!(i64::MIN)),
        ("char enum", "BLUE", json!({"raw": 2, "option": "blue"})),
        ("short enum", "1", json!({"raw": 1, "option": "green"})),
        ("byte flags", "red | blue | bit 7", json!({"raw": 133, "set": ["red", "blue", "bit 7"]})),
        ("word flags", "0x8002", json!({"raw": 32770, "set": ["green", "bit 15"]})),
        ("long flags", "none", json!({"raw": 0, "set": []})),
        ("long block flags", "0xff", json!({"raw": 255})),
        ("short block index", "none", json!(-1)),
        ("long block index", "#7", json!(7)),
        ("custom short block index", "-2", json!(-2)),
        ("real", "-0", json!(-0.0)),
        ("angle", "1.5e-3", json!(f64::from(1.5e-3_f32))),
        ("real point 3d", "(1, -2.5, 1e10)", json!([1.0, -2.5, 1e10])),
        ("real quaternion", "0 0 0 1", json!([0.0, 0.0, 0.0, 1.0])),
        ("short integer bounds", "(-32768, 32767)", json!([-32768, 32767])),
        ("rectangle 2d", "1 2 3 4", json!([1, 2, 3, 4])),
        ("rgb color", "#A0b0c0", json!("#a0b0c0")),
        ("argb color", "#80402010", json!("#80402010")),
        ("argb color", "#402010", json!("#00402010")),
        ("tag", "jpt!", json!("jpt!")),
        ("tag", "none", json!(null)),
        ("string", "0123456789012345678901234567890", json!("0123456789012345678901234567890")),
        ("long string", "", json!("")),
        ("label", "\"quoted\"", json!("quoted")),
        ("label", "", json!("")),
        ("ref", r"phmo:x\y z", json!({"group": "phmo", "path": r"x\y z"})),
        ("no ref", r"coll:x", json!({"group": "coll", "path": "x"})),
        ("ref", "none", json!(null)),
        ("named.target", "none", json!(null)),
        ("plain.n", "5", json!(5)),
        ("words[2].n", "9", json!(9)),
        ("slots[1].label", "longer than before", json!("longer than before")),
        ("items[0].items[0].name", "deeper", json!("deeper")),
        ("points[1].item", "0", json!(0)),
        ("hollow[2].x", "9", json!(9)),
    ] {
        let written = edited(&sink.bytes, |tag| tag.set(path, text));
        assert_eq!(value(&Tag::read(&written).unwrap(), path), expected, "{path} = {text}");
    }
    // What is left over of a text, and the alpha of a colour, stay.
    let written = edited(&sink.bytes, |tag| tag.set("long string", "hi"));
    let at = sink.at("long string");
    assert_eq!(written[at..at + 11], *b"hi\0lo\0stale");
}

#[test]
fn what_does_not_fit_is_refused_and_says_what_does() {
    let sink = sink();
    for (path, text, message) in [
        ("char integer", "128", "`char integer` cannot be `128`: a whole number from -128 to 127 is allowed"),
        ("word integer", "-1", "a whole number from 0 to 65535 is allowed"),
        ("long integer", "1.5", "a whole number from -2147483648 to 2147483647 is allowed"),
        ("short enum", "purple", "allowed are `red`, `green`, `blue`, or a number"),
        ("char enum", "256", "allowed are"),
        ("byte flags", "red|hot", "`hot` is no flag; allowed are `red`, `green`, `blue`, joined by `|`"),
        ("byte flags", "0x100", "hexadecimal digits of at most 1 bytes"),
        ("byte flags", "bit 8", "`bit 8` is no flag"),
        ("short block index", "40000", "from -32768 to 32767"),
        ("real", "nan", "`nan` is not a number that single precision can hold"),
        ("real", "1e50", "`1e50` is not a number"),
        ("real point 3d", "1 2", "3 numbers are wanted, as in `(1, 2)`; there are 2"),
        ("rectangle 2d", "(1, 2, 3, x)", "a whole number from -32768 to 32767"),
        ("rgb color", "red", "a colour is `#rrggbb` or `#aarrggbb`"),
        ("tag", "cool!", "`cool!` is not a group"),
        ("string", "01234567890123456789012345678901", "32 bytes long, at most 31 fit"),
        ("long string", "a\0b", "a text has no NUL"),
        ("ref", r"x\y", "a reference is a group and a path"),
        ("ref", "collx:y", "`collx` is not a group"),
        ("ref", "coll:", "a path has at least one character"),
        ("blob", "00", "data is set from bytes, not from text"),
        ("plain", "1", "a field of type `struct` has no value of its own"),
        ("items", "1", "a field of type `block` has no value of its own"),
        ("resource", "1", "a field of type `pageable resource` has no value of its own"),
        ("nothing", "1", "`nothing`: `root` has no field `nothing`"),
        ("Label", "1", "`root` has no field `Label`"),
        ("custom", "1", "`root` has no field `custom`"),
        ("", "1", "a name is empty"),
        ("plain..n", "1", "a name is empty"),
        ("items[2].value", "1", "`items[2].value`: `items` has 2 elements, so none with the index 2"),
        ("none[0].item", "1", "`none` has 0 elements"),
        ("words[3].n", "1", "`words` has 3 elements"),
        ("items[x].value", "1", "`[x]` is not an index; `[0]` is the first"),
        ("items[+1].value", "1", "`[+1]` is not an index"),
        ("items.value", "1", "`items` has elements: an index must follow, as in `items[0]`"),
        ("items[0]", "1", "leads to an element; a field of it must follow"),
        ("plain[0].n", "1", "`plain` is of type `struct`, which has no elements"),
        ("label.n", "1", "`label` is of type `string id`, which has no fields"),
    ] {
        let mut tag = Tag::read(&sink.bytes).unwrap();
        let error = tag.set(path, text).unwrap_err().to_string();
        assert!(error.contains(message), "{path} = {text}: {error}");
        assert!(tag.chunks().flatten().eq(&sink.bytes), "{path} = {text}: changed something");
    }
}

#[test]
fn blocks_are_ordered_grown_and_shrunk() {
    let bytes = sink().bytes;
    let values = |written: &[u8], block: &str, field: &str| -> Vec<Value> {
        let tag = Tag::read(written).unwrap();
        let count = tag.count(block).unwrap();
        (0..count).map(|index| value(&tag, &format!("{block}[{index}].{field}"))).collect()
    };
    let written = edited(&bytes, |tag| tag.order("items", &[1, 0, 0]));
    assert_eq!(values(&written, "items", "value"), [200, 100, 100]);
    assert_eq!(values(&written, "items", "name"), ["", "one", "one"]);
    let written = edited(&bytes, |tag| tag.remove("hollow", &[1, 1]));
    assert_eq!(values(&written, "hollow", "x"), [1, 3]);
    let written = edited(&bytes, |tag| tag.remove("items", &[0, 1]));
    assert_eq!(values(&written, "items", "value"), [0; 0]);
    let written = edited(&bytes, |tag| tag.resize("points", 4));
    assert_eq!(values(&written, "points", "item"), [0, -1, -1, -1]);
    let written = edited(&written, |tag| tag.resize("points", 1));
    assert_eq!(values(&written, "points", "item"), [0]);
    let written = edited(&bytes, |tag| tag.add_default("items[0].items", 2));
    assert_eq!(values(&written, "items[0].items", "name"), ["deep", "", ""]);
    // As it was is as it was.
    assert_eq!(edited(&bytes, |tag| tag.order("items", &[0, 1])), bytes);

    for (refused, message) in [
        (Tag::order as fn(&mut Tag<'static>, &str, &[u32]) -> _, "has 3 elements, so none with the index 3"),
        (Tag::remove, "has 3 elements, so none with the index 3"),
    ] {
        let mut tag = Tag::read(bytes.clone().leak()).unwrap();
        assert!(refused(&mut tag, "hollow", &[0, 3]).unwrap_err().to_string().contains(message));
    }
    let mut tag = Tag::read(&bytes).unwrap();
    for (result, message) in [
        (tag.resize("hollow", 5), "`hollow`: 5 elements are wanted, allowed are 4"),
        (tag.order("hollow", &[0; 5]), "`hollow`: 5 elements are wanted, allowed are 4"),
        (tag.add_default("points", u32::MAX), "elements are wanted, allowed are 4294967295"),
        (tag.add_default("points", u32::MAX - 9), "the tag would be larger than 4 GiB"),
        (tag.add_default("label", 1), "`label`: is of type `string id`, not `block`"),
        (tag.set_data("label", b"x"), "`label`: is of type `string id`, not `data`"),
    ] {
        let error = result.unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    assert!(tag.chunks().flatten().eq(&bytes));
}

#[test]
fn elements_are_taken_from_another_tag_of_the_same_layout() {
    let (sink, small) = (sink().bytes, small().bytes);
    let changed = edited(&small, |tag| {
        tag.order("all", &[0, 0, 1])?;
        tag.set("all[1].id", "grafted")
    });
    let donors = || {
        BTreeMap::from([
            ("other".to_owned(), Tag::read(&changed).unwrap()),
            ("sink".to_owned(), Tag::read(&sink).unwrap()),
        ])
    };
    let edits = |text: &str| serde_json::from_str::<Vec<Edit>>(text).unwrap();
    let graft = edits(r#"[{"op": "replace", "block": "all", "from": "other"}]"#);
    assert_eq!(edited(&small, |tag| tag.edit(&graft, &donors())), edited(&changed, |tag| tag.set("n", "5")));
    for (edit, message) in [
        (
            r#"[{"op": "replace", "block": "all", "from": "sink", "from_block": "items"}]"#,
            "`all`: its elements are laid out otherwise than those of `items`",
        ),
        (
            r#"[{"op": "replace", "block": "all", "from": "x"}]"#,
            "no tag `x` to take from; there are `other`, `sink`",
        ),
        (r#"[{"op": "replace", "block": "all", "from": "other", "from_block": "n"}]"#, "`n`: is no block"),
    ] {
        let error = Tag::read(&small).unwrap().edit(&edits(edit), &donors()).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn edits_are_data() {
    let text = r#"[
        {"op": "set", "path": "real", "value": 1.5},
        {"op": "set", "path": "real point 3d", "value": [1, 2.5, -3]},
        {"op": "set", "path": "byte integer", "value": 7},
        {"op": "set_data", "path": "blob", "hex": "0aFF"},
        {"op": "append", "block": "items", "copy": 0, "set": {"name": "two", "value": 300}},
        {"op": "append", "block": "points", "set": {"at": [1, 1, 1]}},
        {"op": "remove", "block": "hollow", "elements": [0]},
        {"op": "resize", "block": "none", "count": 1},
        {"op": "add_default", "block": "none"},
        {"op": "order", "block": "items", "elements": [2, 0]}
    ]"#;
    let edits: Vec<Edit> = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_value(&edits).unwrap(), serde_json::from_str::<Value>(text).unwrap());
    let written = edited(&sink().bytes, |tag| tag.edit(&edits, &BTreeMap::new()));
    let tag = Tag::read(&written).unwrap();
    for (path, expected) in [
        ("real", json!(1.5)),
        ("real point 3d", json!([1.0, 2.5, -3.0])),
        ("blob", json!("0aff")),
        ("items[0].name", json!("two")),
        ("items[0].value", json!(300)),
        ("items[0].items[0].name", json!("deep")),
        ("items[1].name", json!("one")),
        ("points[2].at", json!([1.0, 1.0, 1.0])),
        ("points[2].item", json!(-1)),
        ("none[1].item", json!(-1)),
    ] {
        assert_eq!(value(&tag, path), expected, "{path}");
    }
    for wrong in [r#"{"op": "sett", "path": "a"}"#, r#"{"op": "resize", "block": "a", "count": 1, "x": 2}"#] {
        assert!(serde_json::from_str::<Edit>(wrong).is_err());
    }
    let odd = [Edit::SetData { path: "blob".into(), hex: "abc".into() }];
    let error = Tag::read(&sink().bytes).unwrap().edit(&odd, &BTreeMap::new()).unwrap_err();
    assert_eq!(error.to_string(), "`blob` cannot be `abc`: bytes are an even number of hexadecimal digits");
}

/// What an empty wrapper leaves out is made before it is edited, and no sooner.
#[test]
fn default_wrappers_are_filled_when_they_must() {
    let bytes = sink().bytes;
    let tag = Tag::read(&bytes).unwrap();
    assert_eq!(value(&tag, "default.title"), "");
    assert_eq!(value(&tag, "default.target"), Value::Null);
    let written = edited(&bytes, |tag| tag.set("default.target", "coll:x"));
    let tag = Tag::read(&written).unwrap();
    assert_eq!(value(&tag, "default.target"), json!({"group": "coll", "path": "x"}));
    // Two empty sections, and the reference.
    assert_eq!(written.len(), bytes.len() + 12 + 12 + 5);

    let mut layout = Layout::new();
    let inner = layout.structure("in", &[("id", "string id", 0), ("n", "byte integer", 0)]);
    let outer =
        layout.structure("out", &[("in", "struct", inner), ("all", "block", 0), ("res", "string id", 0)]);
    let all = layout.block(0, inner);
    assert_eq!(all, 0);
    let root = layout.structure("root", &[("out", "struct", outer), ("bare", "block", 0)]);
    let root = layout.block(0, root);
    let packed = Bytes::new().zeros(5 + 12 + 4).u32(1).zeros(8);
    let bare = block(1, 1, Bytes::new().zeros(5), Bytes::new());
    let bytes = layout.tag(b"dflt", root, packed, wrapper(Bytes::new()).then(bare)).bytes;
    let written = edited(&bytes, |tag| tag.set("out.in.n", "7"));
    assert_eq!(written.len(), bytes.len(), "a value in place needs no section");
    let written = edited(&bytes, |tag| tag.set("out.in.id", "x"));
    assert_eq!(value(&Tag::read(&written).unwrap(), "out.in.id"), "x");
    let written = edited(&bytes, |tag| tag.add_default("out.all", 2));
    assert_eq!(Tag::read(&written).unwrap().count("out.all"), Ok(2));
    let error = Tag::read(&bytes).unwrap().set("bare[0].id", "x").unwrap_err();
    assert_eq!(error.to_string(), "`bare[0].id`: lies in a block that stores no sections for its elements");
}

/// Wrappers that belong to no field: before a struct that writes they are passed over, before one that does
/// not they are its own when there is a choice, and they stay where they are.
#[test]
fn phantom_wrappers_are_told_and_kept() {
    let mut layout = Layout::new();
    let writes = layout.structure("writes", &[("id", "string id", 0)]);
    let mute = layout.structure("mute", &[("n", "byte integer", 0)]);
    let fields =
        [("a", "struct", writes), ("m", "struct", mute), ("id", "string id", 0), ("b", "struct", writes)];
    let root = layout.structure("root", &fields);
    let root = layout.block(0, root);
    let phantom = || wrapper(Bytes::new());
    let real = |name: &str| wrapper(text(b"tgsi", name));
    let tag = |children: Bytes| layout.tag(b"phan", root, Bytes::new().zeros(4 + 1 + 4 + 4), children).bytes;
    for (what, children, expected) in [
        ("none", real("a").then(phantom()).then(text(b"tgsi", "x")).then(real("b")), Some(["a", "b"])),
        (
            "before",
            phantom().then(real("a")).then(phantom()).then(text(b"tgsi", "x")).then(real("b")),
            Some(["a", "b"]),
        ),
        (
            "several",
            phantom()
                .then(phantom())
                .then(real("a"))
                .then(phantom())
                .then(phantom())
                .then(text(b"tgsi", "x"))
                .then(phantom())
                .then(real("b"))
                .then(phantom()),
            Some(["a", "b"]),
        ),
        (
            "all empty",
            phantom().then(phantom()).then(phantom()).then(text(b"tgsi", "x")).then(real("b")),
            Some(["", "b"]),
        ),
        (
            "no phantom but content",
            real("a").then(phantom()).then(real("c")).then(text(b"tgsi", "x")).then(real("b")),
            None,
        ),
        ("one for none", real("a").then(text(b"tgsi", "x")).then(real("b")), None),
        (
            "a text too many",
            real("a").then(phantom()).then(text(b"tgsi", "x")).then(text(b"tgsi", "y")).then(real("b")),
            None,
        ),
    ] {
        let bytes = tag(children);
        let Some([a, b]) = expected else {
            assert!(Tag::read(&bytes).is_err(), "{what}");
            continue;
        };
        let read = Tag::read(&bytes).unwrap_or_else(|error| panic!("{what}: {error}"));
        let shown = |path: &str| value(&read, path);
        assert_eq!(shown("a.id"), a, "{what}");
        assert_eq!((shown("id"), shown("b.id")), (json!("x"), json!(b)), "{what}");
        assert!(read.chunks().flatten().eq(&bytes), "{what}");
        let written = edited(&bytes, |tag| tag.set("b.id", "other"));
        assert_eq!(written.len(), bytes.len() + 4, "{what}");
        assert_eq!(value(&Tag::read(&written).unwrap(), "b.id"), "other", "{what}");
    }
}

#[test]
fn what_is_odd_is_warned_of() {
    let sink = sink();
    for (label, skip, patch, expected) in [
        ("items", 0, &[9][..], "root.items at offset {}: states 9 elements in place, its section has 2"),
        ("blob", 0, &[9], "root.blob at offset {}: states 9 bytes in place, its section has 3"),
        ("ref", 8, &[9], "root.ref at offset {}: states 9 characters in place, its section has 3"),
        ("ref", 0, b"x", "root.ref at offset {}: states the group `colx` in place, its section `coll`"),
        ("char enum", 0, &[9], "root.char enum at offset {}: 9, for which there is no option"),
        ("block3", 4, &[2], "root.hollow at offset {}: 3 elements, its maximum is 2"),
        ("enum0", 8, &[0], ""),
    ] {
        let bytes = sink.patched(label, &[&sink.bytes[sink.at(label)..][..skip], patch].concat());
        let at = if label == "block3" { sink.at("hollow") } else { sink.at(label) };
        let found: Vec<String> =
            Tag::read(&bytes).unwrap().warnings(9).unwrap().iter().map(ToString::to_string).collect();
        let expected = expected.replace("{}", &at.to_string());
        assert_eq!(found, [expected].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>());
    }
    let mut layout = Layout::new();
    for _ in 0..2 {
        layout.enumeration(&["a", "b"]);
    }
    let root = layout.structure("root", &[("n", "byte integer", 0)]);
    let root = layout.block(0, root);
    let tag = layout.tag(b"enum", root, Bytes::new().zeros(1), Bytes::new());
    let bytes = tag.patched("enum1", &[&tag.bytes[tag.at("enum1")..][..8], &[1]].concat());
    let found = Tag::read(&bytes).unwrap().warnings(9).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].message, "its options begin at 1, those before end at 2");
    assert_eq!(Tag::read(&bytes).unwrap().warnings(0), Ok(vec![]));
}

/// A large tag: an edit holds what it puts in and no more, and what it leaves is not copied.
#[test]
fn edits_of_large_tags_hold_what_they_put_in() {
    let mut layout = Layout::new();
    let vertex = layout.structure("vertex", &[("at", "real point 3d", 0), ("n", "long integer", 0)]);
    let surface = layout.structure("surface", &[("name", "string id", 0), ("n", "long integer", 0)]);
    let vertices = layout.block(0, vertex);
    let surfaces = layout.block(0, surface);
    let fields =
        [("vertices", "block", vertices), ("surfaces", "block", surfaces), ("label", "string id", 0)];
    let root = layout.structure("root", &fields);
    let root = layout.block(0, root);
    let (n, m) = (1_000_000, 20_000);
    let packed = Bytes::new().u32(n).zeros(8).u32(m).zeros(8).zeros(4);
    let each = wrapper(text(b"tgsi", "some name")).bytes;
    let children = block(n, 1, Bytes::new().zeros(16 * n as usize), Bytes::new())
        .then(block(m, 0, Bytes::new().zeros(8 * m as usize), Bytes::new().raw(&each.repeat(m as usize))))
        .then(text(b"tgsi", ""));
    let bytes = layout.tag(b"larg", root, packed, children).bytes;
    assert!(bytes.len() > 16_000_000);

    let mut tag = memory::within(&[], 64 << 10, 0, || Tag::read(&bytes).unwrap());
    memory::within(&[], 256 << 10, 0, || {
        for index in [0, 9_999, 19_999] {
            tag.set(&format!("surfaces[{index}].name"), "a longer name than before").unwrap();
            tag.set(&format!("vertices[{index}].at"), "1 2 3").unwrap();
        }
        tag.order("surfaces", &[19_999, 5, 0]).unwrap();
        tag.remove("vertices", &[500_000]).unwrap();
        tag.add_default("vertices", 3).unwrap();
        tag.set("label", "done").unwrap();
        tag.check().unwrap();
    });
    assert!(tag.chunks().count() < 64);
    let longest = tag.chunks().max_by_key(|chunk| chunk.len()).unwrap();
    assert!(bytes.as_ptr_range().contains(&longest.as_ptr()), "what stays is what was read");
    let mut written = Vec::new();
    tag.write_to(&mut written).unwrap();
    let tag = Tag::read(&written).unwrap();
    assert_eq!(tag.count("vertices"), Ok(n + 2));
    assert_eq!(
        tag.string_ids().unwrap().into_iter().collect::<Vec<_>>(),
        ["a longer name than before", "done", "some name"]
    );
}
