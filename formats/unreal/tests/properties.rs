//! Properties and the edits of packages, over an object of every type.
#![allow(clippy::unwrap_used)]

#[allow(dead_code, reason = "the sample is shared with the fuzz targets")]
#[path = "../../../fuzz/src/memory.rs"]
mod memory;
#[allow(dead_code, reason = "the sample is shared with the fuzz targets")]
#[path = "../../../fuzz/src/target.rs"]
mod target;
#[allow(dead_code, reason = "the sample is shared with the fuzz targets")]
#[path = "../../../fuzz/src/unreal.rs"]
mod targets;

use serde_json::{Value as Json, json};
use targets::{context, sample, sink, types};
use unreal::PackagePath;
use unreal::package::{Dependency, Form, Limits, Name, ObjectIndex, Package};
use unreal::property::{Block, Context, Editor, Object, Str, Value, edit_export, view_block, write_header};
use wire::ErrorKind;

fn read(bytes: &[u8], context: &Context<'_>) -> Result<Object, wire::ReadError> {
    Object::read(bytes, context.mappings.class("Sink").unwrap(), 0, context)
}

fn show(block: &Block, context: &Context<'_>) -> Json {
    serde_json::to_value(view_block(block, context)).unwrap()
}

#[test]
fn every_type_is_read_and_written() {
    let bytes = sink().write();
    let object = read(&bytes, &context()).unwrap();
    assert_eq!(object, sink());
    assert_eq!(object.write(), bytes);
    assert_eq!(object.tail, [0, 0, 0, 0, 5]);
    assert!(types().iter().enumerate().all(|(slot, _)| object.block.get(slot as u32).is_some()));
}

#[test]
fn values_are_shown_by_name() {
    let shown = show(&sink().block, &context());
    for (name, value) in [
        ("Bool", json!(1)),
        ("Name", json!("Key_2")),
        ("Interface", json!(0)),
        ("Soft", json!("/Game/Box/SM_Box.SM_Box:x")),
        ("Lazy", json!("07070707070707070707070707070707")),
        ("Text", json!({"flags": 2, "history": -1, "values": ["plain"]})),
        ("Delegate", json!([1, "Key"])),
        ("Field", json!([["Key"], -1])),
        ("Names", json!(["Red"])),
        ("Vector", json!([1.0, 0.0, 1.0])),
        ("Quality", json!([1, 2, [[0, 9]]])),
        ("Instanced", json!({"struct": -2, "bytes": "010203"})),
        ("Fixed[0]", json!(0)),
        ("Fixed[139]", json!(139)),
    ] {
        assert_eq!(shown[name], value, "{name}");
    }
    let pair = &shown["Map"][0];
    assert_eq!(pair[0], "Red_0");
    assert_eq!(pair[1]["Inner"], json!([{"bOn": 0, "#header": "0303", "#slots": [3]}]));
    assert_eq!((&pair[1]["Number"], &pair[1]["#slots"]), (&json!(0), &json!([0, 2, 3])));
}

/// What is shown can be set: an object is made again from what is shown of it.
#[test]
fn what_is_shown_makes_the_same() {
    let context = context();
    let shown = show(&sink().block, &context);
    let mut names = context.names.to_vec();
    let mut editor =
        Editor { mappings: context.mappings, form: Form::Ue55, objects: Some((3, 3)), names: &mut names };
    let mut block = Block::new(context.mappings.class("Sink").unwrap());
    for (name, value) in shown.as_object().unwrap() {
        let done = editor.set_json(&mut block, name, value);
        // Arguments of texts and structs of any type are carried along, not made.
        if ["Items", "Instanced"].contains(&name.as_str()) {
            assert!(done.unwrap_err().to_string().contains("makes no"), "{name}");
            let slot = context.mappings.class("Sink").unwrap().find(name).unwrap();
            editor.set(&mut block, name, sink().block.get(slot).unwrap()).unwrap();
        } else {
            done.unwrap();
        }
    }
    assert_eq!(block, sink().block);
    assert_eq!(names, context.names);
}

#[test]
fn values_are_set_by_path() {
    let context = context();
    let mut names = context.names.to_vec();
    let mut editor =
        Editor { mappings: context.mappings, form: Form::Ue55, objects: Some((3, 3)), names: &mut names };
    let mut block = Block::new(context.mappings.class("Sink").unwrap());
    for (path, value) in [
        ("fixed[199]", json!(7)),
        ("Nested.Number", json!(2.5)),
        ("Nested.Inner[+].Title", json!("Demo Map")),
        ("Nested.Inner[0].bOn", json!(true)),
        ("Nested.Inner[0].bOn", json!(false)),
        ("Colour", json!("green")),
        ("Name", json!("New_Name_12")),
        ("Soft", json!("/Game/A/B.B")),
        ("Vector", json!([0, 0, 0])),
        ("Object", json!(0)),
        ("Guid", json!("0".repeat(32))),
        ("Lazy", json!("0".repeat(32))),
        ("List", json!([])),
        ("Bool", json!(false)),
    ] {
        editor.set_json(&mut block, path, &value).unwrap();
    }
    editor.set(&mut block, "Double", &Value::F64(0.0)).unwrap();
    assert_eq!(block.find(context.mappings, "COLOUR"), Some(&Value::U8(3)));
    // The engine masks numbers, objects and plain structs, never arrays; of a bool the type does not tell.
    let zeroes = ["Vector", "Object", "Double", "Guid"].map(|name| (name, true));
    for (name, zero) in zeroes.into_iter().chain(["List", "Bool", "Lazy"].map(|name| (name, false))) {
        assert_eq!(block.find(context.mappings, name) == Some(&Value::Zero), zero, "{name}");
    }
    let context = Context { names: &names, ..context };
    let object = Object { lead: vec![0; 4], block, properties_end: 0, tail: Vec::new() };
    let bytes = object.write();
    let again = Object::read(&bytes, context.mappings.class("Sink").unwrap(), 4, &context).unwrap();
    assert_eq!((&again.block, again.properties_end), (&object.block, bytes.len()));
    let shown = show(&again.block, &context);
    assert_eq!(shown["Name"], "New_Name_12");
    assert_eq!(shown["Soft"], "/Game/A/B.B");
    assert_eq!(shown["Nested"]["Inner"][0]["Title"]["values"], json!(["Demo Map"]));
    let names: Vec<&str> = names.iter().skip(5).map(Name::text).collect();
    assert_eq!(names, ["New_Name", "/Game/A/B", "B"]);
}

#[test]
fn what_cannot_be_set_is_refused() {
    let context = context();
    let mut names = context.names.to_vec();
    let mut editor =
        Editor { mappings: context.mappings, form: Form::Ue55, objects: Some((3, 3)), names: &mut names };
    let mut block = sink().block;
    for (path, value, expected) in [
        ("Nothing", json!(1), "`Nothing`: `Sink` has no property `Nothing`"),
        ("Fixed", json!(1), "`Fixed`: `Fixed` has 200 elements: say which"),
        ("Fixed[200]", json!(1), "`Fixed[200]`: element 200 of 200 of `Fixed`"),
        ("List[2]", json!("a"), "`List[2]`: item 2 of 2"),
        ("List[x]", json!("a"), "`List[x]`: an index is no number"),
        ("List[0", json!("a"), "`List[0`: a bracket is open"),
        ("Nested..Number", json!("a"), "`Nested..Number`: a name is missing"),
        ("Int.X", json!(1), "`Int.X`: nothing further is set in a value of type Int"),
        ("Byte", json!(256), "256 makes no Byte"),
        ("Vector", json!([1, 2]), "[1,2] makes no Struct(Vector)"),
        ("Colour", json!("Blue"), "\"Blue\" makes no Enum(Byte, EColour)"),
        ("Object", json!(4), "malformed: value.object at offset 0: export 4 of 3"),
        (
            "Name",
            json!("Ü"),
            "`Ü` cannot be a name: names that are made are ASCII and at most 1023 characters long",
        ),
    ] {
        assert_eq!(editor.set_json(&mut block, path, &value).unwrap_err().to_string(), expected);
    }
    let text = Value::Str(Str::new("text"));
    assert!(editor.set(&mut block, "Int", &text).is_err());
    assert!(editor.set(&mut block, "Bool", &Value::U8(1)).unwrap_err().to_string().contains("makes no Bool"));
    assert_eq!(block, sink().block);
}

#[test]
fn small_exports_cannot_cost_much() {
    let context = Context { limits: unreal::property::Limits { values: 100 }, ..context() };
    let error = read(&sink().write(), &context).unwrap_err();
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Limit, "more than 100 in one object"));

    // Items in items, one level for every six bytes.
    let mut nested = write_header(4, &[]);
    for _ in 0..100 {
        nested = [write_header(4, &[(2, false)]), vec![1, 0, 0, 0], nested].concat();
    }
    let mut r = wire::Reader::new(&nested, "value");
    let error = Block::read(&mut r, context.mappings.class("Item").unwrap(), &context).unwrap_err();
    assert!(error.message.starts_with("values nest deeper than 32"), "{error}");
}

#[test]
fn headers_that_nobody_writes_are_refused() {
    let refusal = |header: &[u16]| {
        let bytes: Vec<u8> = header.iter().flat_map(|word| word.to_le_bytes()).chain([0; 64]).collect();
        let mut r = wire::Reader::new(&bytes, "value");
        Block::read(&mut r, context().mappings.class("Item").unwrap(), &context()).unwrap_err()
    };
    // Slot 4 of 4; a skip of 3 in two pieces; nothing there, said in another way; an endless list.
    assert!(refusal(&[0x0b00]).message.starts_with("states a value in slot 4 of 4"));
    for header in [&[0x0001, 0x0302][..], &[0x0102], &[0x0180]] {
        assert!(refusal(header).message.starts_with("is not what the engine writes"), "{header:?}");
    }
    assert_eq!(refusal(&[0; 2_000]).kind, ErrorKind::Limit);
}

fn path(text: &str) -> PackagePath {
    PackagePath::parse(text).unwrap()
}

#[test]
fn a_package_is_made_from_nothing() {
    for form in [Form::Ue55, Form::Ue56] {
        let package = sample(form);
        package.check().unwrap();
        assert_eq!(Package::read(&package.write(), &Limits::default()).unwrap(), package);
        assert!(package.imported_packages().is_sorted());
        // A package leaves its own slot empty before what comes from it.
        assert_eq!(package.imports.len(), 5);
        assert_eq!((package.imports[1], package.imports[3]), (ObjectIndex::Null, ObjectIndex::Null));
        assert_eq!(package.dependencies[0].create_before_serialize, [-3, -5, 2]);
    }
}

#[test]
fn imports_are_added_once_and_stay_sorted() {
    let mut package = sample(Form::Ue55);
    let of = |package: &Package, object: i32| match package.imports[(-object - 1) as usize] {
        ObjectIndex::Package { package: from, hash } => {
            (package.imported[from as usize].text(), package.imported_hashes[hash as usize])
        }
        other => panic!("{other:?}"),
    };
    let before: Vec<_> = [-3, -5].map(|object| of(&package, object)).to_vec();
    for name in ["M_C", "M_D", "M_E", "M_F"] {
        let from = path(&format!("/Game/Other/{name}"));
        let object = package.import_object(&from, "Shared").unwrap();
        assert_eq!(of(&package, object), (from.to_string(), iostore::hash_utf16_lower("Shared")));
        assert_eq!(package.import_object(&from, "SHARED"), Ok(object));
        let other = package.import_object(&from, "Other").unwrap();
        assert_eq!(other, object - 1, "the package has its slot already");
        assert!(package.imported_packages().is_sorted());
        assert_eq!([-3, -5].map(|object| of(&package, object)).to_vec(), before);
    }
    // Objects of one name in several packages have an entry each.
    assert_eq!(package.imported_hashes.len(), 10);
    let script = package.import_script("/Script/Engine.StaticMesh");
    assert_eq!(script, -1);
    package.depend(0, Dependency::CreateBeforeSerialize, -3).unwrap();
    assert_eq!(package.dependencies[0].create_before_serialize, [-3, -5, 2]);
    assert_eq!(package.depend(2, Dependency::CreateBeforeCreate, -3), None);
    package.check().unwrap();
}

#[test]
fn payloads_move_with_the_bytes_before_them() {
    let mut package = sample(Form::Ue55);
    // The index of the payload stands at 4..8, the payload from 8 on.
    package.splice_export(0, 0..4, &[1; 9]).unwrap();
    assert_eq!((package.bulk[0].offset, package.exports[1].offset), (13, 16));
    assert_eq!(package.export_data(1), Some(&[1, 2, 3, 4, 5][..]));
    package.splice_export(0, 16..16, &[5]).unwrap();
    assert_eq!(package.bulk[0].offset, 13);
    package.splice_export(1, 0..5, &[]).unwrap();
    package.check().unwrap();
    let error = |package: &mut Package, range| package.splice_export(0, range, &[]).unwrap_err().to_string();
    assert_eq!(
        error(&mut package, 12..14),
        "the payload of bulk entry 0 lies in the bytes that are replaced"
    );
    assert_eq!(error(&mut package, 17..18), "export 0 has no bytes 17..18");
    package.set_export_data(1, &[0; 20]).unwrap();
    assert_eq!(
        error(&mut package, 0..1),
        "bulk entry 0 may be export 0's or another's: its index stands before both places"
    );
}

#[test]
fn an_export_of_a_package_is_edited() {
    let mut package = sample(Form::Ue55);
    let mappings = context().mappings;
    // An item, then the index of the payload and the payload.
    let item = [&write_header(4, &[(0, false)])[..], &[0, 0, 0x80, 0x3f], &[0; 4], &[7; 3]].concat();
    package.set_export_data(0, &item).unwrap();
    package.bulk[0].offset = 10;
    let before = package.clone();
    let edit = |package: &mut Package, edits: &[(&str, Json)]| {
        edit_export(package, mappings, 0, "item", 0, edits.iter().map(|(path, value)| (*path, value)))
    };
    edit(&mut package, &[("Number", json!(2.0))]).unwrap();
    assert_eq!((package.bulk[0].offset, package.names.len()), (10, before.names.len()));
    edit(&mut package, &[("Title", json!("Demo")), ("bOn", json!(true)), ("Number", json!(1))]).unwrap();
    let grown = package.exports[0].size - before.exports[0].size;
    assert_eq!(package.bulk[0].offset as u64, 10 + grown);
    assert_eq!(package.exports[1].offset, before.exports[1].offset + grown);
    package.check().unwrap();
    let edited = package.clone();
    let error = edit(&mut package, &[("Number", json!(3)), ("Nothing", json!(1))]).unwrap_err();
    assert_eq!(error.to_string(), "`Nothing`: `Item` has no property `Nothing`");
    assert_eq!(package, edited);
    assert_eq!(
        edit_export(&mut package, mappings, 2, "Item", 0, []).unwrap_err().to_string(),
        "there is no export 2"
    );
}
