//! Proofs of the mappings format that need no data: made mappings, all versions, and damage.

use std::sync::Arc;

use wire::{ErrorKind, Writer};

use super::*;

fn property(slot: u16, dimension: u8, name: &str, kind: PropertyType) -> Property {
    Property { slot, dimension, name: Arc::from(name), kind }
}

fn structure(name: &str, parent: Option<&str>, slots: u16, properties: Vec<Property>) -> Struct {
    Struct { name: Arc::from(name), parent: parent.map(Arc::from), slots, properties }
}

fn all_types() -> Vec<PropertyType> {
    use PropertyType::*;
    let boxed = |kind: &PropertyType| Box::new(kind.clone());
    let mut kinds = vec![
        Byte,
        Bool,
        Int,
        Float,
        Object,
        Name,
        Delegate,
        Double,
        Str,
        Text,
        Interface,
        MulticastDelegate,
        WeakObject,
        LazyObject,
        AssetObject,
        SoftObject,
        UInt64,
        UInt32,
        UInt16,
        Int64,
        Int16,
        Int8,
        FieldPath,
        Utf8Str,
        AnsiStr,
    ];
    kinds.push(Struct(Arc::from("Child")));
    kinds.push(Enum(boxed(&Byte), Arc::from("EColour")));
    kinds.push(Array(boxed(&Int)));
    kinds.push(Set(boxed(&Name)));
    kinds.push(Optional(boxed(&Array(boxed(&Double)))));
    kinds.push(Map(boxed(&Name), boxed(&Struct(Arc::from("Child")))));
    kinds
}

fn small() -> Mappings {
    let types = all_types();
    let sink = types.iter().enumerate().map(|(at, kind)| property(at as u16, 1, kind.name(), kind.clone()));
    let structs = vec![
        structure("Sink", None, types.len() as u16, sink.collect()),
        structure("Parent", None, 2, vec![property(1, 1, "Shared", PropertyType::Bool)]),
        structure(
            "Child",
            Some("parent"),
            4,
            vec![property(0, 3, "Weights", PropertyType::Float), property(3, 1, "Shared", PropertyType::Int)],
        ),
        structure("CHILD", None, 0, Vec::new()),
        structure("Orphan", Some("Child_of_nobody"), 1, Vec::new()),
    ];
    let entries = vec![(Arc::from("Red"), -1), (Arc::from("Green"), i64::MAX)];
    Mappings::new(vec![Enum { name: Arc::from("EColour"), entries }], structs).unwrap()
}

fn read(bytes: &[u8]) -> Result<File, wire::ReadError> {
    File::read(bytes, &Limits::default())
}

#[test]
fn what_is_written_is_read() {
    let bytes = write(&small());
    let file = read(&bytes).unwrap();
    assert_eq!(file.mappings, small());
    assert_eq!(write(&file.mappings), bytes);
    assert_eq!((file.version, file.compression, file.extension_bytes), (4, Compression::None, 0));
    assert!(File::is_one(&bytes) && !file.has_versioning);
}

#[test]
fn slots_are_found_by_name_and_names_by_slot() {
    let mappings = small();
    let child = mappings.class("cHILD").unwrap();
    assert_eq!((child.name(), child.slots(), child.own_slots()), ("Child", 6, 4));
    assert_eq!(child.parent().unwrap().name(), "Parent");
    assert!(child.is_a("parent") && !child.is_a("Sink"));
    let names: Vec<_> = child.all().map(|(at, slot)| (at, slot.name())).collect();
    let expected = [(0, "Weights[0]"), (1, "Weights[1]"), (2, "Weights[2]"), (3, "Shared"), (5, "Shared")];
    assert_eq!(names, expected.map(|(at, name)| (at, name.to_owned())));
    for (name, slot) in [
        ("weights", Some(0)),
        ("Weights[2]", Some(2)),
        ("Weights[3]", None),
        ("Weights[x]", None),
        ("SHARED", Some(3)),
        ("Shared[0]", Some(3)),
        ("None", None),
    ] {
        assert_eq!(child.find(name), slot, "{name}");
    }
    assert_eq!(child.slot(4), None);
    assert_eq!(child.slot(6), None);
    assert_eq!(mappings.duplicates().map(|item| &*item.name).collect::<Vec<_>>(), ["CHILD"]);
    assert_eq!(mappings.enumeration("ecolour").unwrap().entries[0].1, -1);
    assert_eq!(mappings.class("Nothing").unwrap_err().to_string(), "`Nothing` is not in the mappings");
    assert_eq!(
        mappings.class("orphan").unwrap_err().to_string(),
        "`orphan` inherits from `Child_of_nobody`, which is not in the mappings"
    );
    let map = PropertyType::Map(Box::new(PropertyType::Name), Box::new(PropertyType::Struct("A".into())));
    assert_eq!(map.to_string(), "Map(Name, Struct(A))");
}

#[test]
fn what_makes_no_mappings_is_refused() {
    let refusal = |structs| Mappings::new(Vec::new(), structs).unwrap_err().to_string();
    let one = |slot, dimension, kind| vec![property(slot, dimension, "p", kind)];
    let mut deep = PropertyType::Int;
    for _ in 0..16 {
        deep = PropertyType::Array(Box::new(deep));
    }
    for (structs, expected) in [
        (
            vec![structure("A", Some("B"), 0, vec![]), structure("B", Some("a"), 0, vec![])],
            "struct `A` has more than 64 ancestors, or is one of its own",
        ),
        (
            vec![structure("A", None, 1, one(1, 1, PropertyType::Int))],
            "struct `A`: property `p` ends at slot 2 of 1",
        ),
        (
            vec![structure("A", None, 1, one(0, 0, PropertyType::Int))],
            "struct `A`: property `p` takes no slot",
        ),
        (
            vec![structure("A", None, 1, [one(0, 1, PropertyType::Int), one(0, 1, deep.clone())].concat())],
            "struct `A`: property `p` begins at slot 0, but those below 1 are taken",
        ),
        (vec![structure("A", None, 1, one(0, 1, deep))], "struct `A`: types of `p` nest too deep"),
        (
            vec![structure(&"n".repeat(65_536), None, 0, vec![])],
            "bytes of the name of a struct: 65536, allowed are 65535",
        ),
    ] {
        assert_eq!(refusal(structs), expected);
    }
}

/// A file of another version, with an enum of two entries and a struct.
fn of_version(version: u8, compression: u8, pack: impl Fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    let mut body = Writer::new();
    body.u32(3);
    for name in ["EColour", "Red", "Thing"] {
        if version >= 2 {
            body.u16(name.len() as u16)
        } else {
            body.u8(name.len() as u8)
        };
        body.bytes(name.as_bytes());
    }
    body.u32(1).u32(0);
    if version >= 3 {
        body.u16(2)
    } else {
        body.u8(2)
    };
    for value in [7, 8] {
        if version >= 4 {
            body.i64(value);
        }
        body.u32(1);
    }
    body.u32(1).u32(2).u32(u32::MAX).u16(1).u16(1).u16(0).u8(1).u32(1).u8(2);
    body.bytes(b"CEXT, whatever it is");
    let packed = pack(body.as_bytes());
    let mut w = Writer::new();
    w.u16(0x30c4).u8(version);
    if version >= 1 {
        w.i32(1).zeros(8).u32(2).zeros(40).u32(3);
    }
    w.u8(compression).u32(packed.len() as u32).u32(body.len() as u32).bytes(&packed);
    w.into_bytes()
}

#[test]
fn all_versions_are_read() {
    for version in 0..=4 {
        let file = read(&of_version(version, 0, <[u8]>::to_vec)).unwrap();
        assert_eq!((file.version, file.has_versioning), (version, version > 0));
        let values: Vec<i64> = file.mappings.enums()[0].entries.iter().map(|(_, value)| *value).collect();
        assert_eq!(values, if version < 4 { [0, 1] } else { [7, 8] });
        assert_eq!(file.mappings.class("thing").unwrap().slot(0).unwrap().name(), "Red");
        assert_eq!((file.names, file.extension_bytes), (3, 20));
    }
    let error = read(&of_version(5, 0, <[u8]>::to_vec)).unwrap_err();
    assert_eq!(error.to_string(), "unsupported: usmap.version at offset 2: found 5, read are 0 to 4");
}

/// A brotli stream of uncompressed blocks: the form needs no encoder.
fn brotli(bytes: &[u8]) -> Vec<u8> {
    // Window bits 16 (`0`), then not last (`0`), four nibbles (`00`), length - 1 in 16 bits, uncompressed
    // (`1`); then the bytes from the next whole byte on, and an empty last block (`11`).
    let header = (bytes.len() as u32 - 1) << 4 | 1 << 20;
    [&header.to_le_bytes()[..3], bytes, &[3]].concat()
}

/// A zstd frame of one raw block.
fn zstd(bytes: &[u8]) -> Vec<u8> {
    let frame = [0x28, 0xb5, 0x2f, 0xfd, 0x60, 0, 0];
    let size = (bytes.len() as u16 - 256).to_le_bytes();
    let block = (bytes.len() as u32) << 3 | 1;
    [&frame[..5], &size, &block.to_le_bytes()[..3], bytes].concat()
}

/// An Oodle stream of bytes that could not be shrunk.
fn oodle(bytes: &[u8]) -> Vec<u8> {
    [&[0xcc, 0x06], bytes].concat()
}

#[test]
fn packed_files_are_read() {
    let plain = write(&small());
    let pack = |method: u8, packed: Vec<u8>| {
        let mut bytes = plain[..7].to_vec();
        bytes.push(method);
        bytes.extend((packed.len() as u32).to_le_bytes());
        bytes.extend((plain.len() as u32 - 16).to_le_bytes());
        bytes.extend(packed);
        bytes
    };
    for (method, compression, packed) in
        [(2, Compression::Brotli, brotli(&plain[16..])), (3, Compression::Zstd, zstd(&plain[16..]))]
    {
        let bytes = pack(method, packed.clone());
        let file = read(&bytes).unwrap();
        assert_eq!((file.compression, file.mappings), (compression, small()));
        for length in 0..bytes.len() {
            assert!(read(&bytes[..length]).is_err(), "{length}");
        }
        for (size, expected) in [(1, "unpacks to more than"), (9_000, "unpacks to")] {
            let mut other = bytes.clone();
            other[12..16].copy_from_slice(&u32::to_le_bytes(size));
            let error = read(&other).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Malformed);
            assert!(error.message.contains(expected), "{error}");
        }
    }
    let bytes = pack(1, oodle(&plain[16..]));
    let file = read(&bytes).unwrap();
    assert_eq!((file.compression, file.mappings), (Compression::Oodle, small()));
    for length in 0..bytes.len() {
        assert!(read(&bytes[..length]).is_err(), "{length}");
    }
    assert_eq!(read(&pack(1, plain[16..].to_vec())).unwrap_err().kind, ErrorKind::Malformed);
    let error = read(&pack(4, plain[16..].to_vec())).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unsupported);
    let mut bomb = pack(3, zstd(&plain[16..]));
    bomb[12..16].copy_from_slice(&u32::to_le_bytes(1 << 26));
    assert_eq!(read(&bomb).unwrap_err().kind, ErrorKind::Limit);
}

#[test]
fn damage_is_refused_or_read() {
    let bytes = write(&small());
    for length in 0..bytes.len() {
        assert!(read(&bytes[..length]).is_err(), "{length}");
    }
    let mut refused = 0;
    for at in 0..bytes.len() {
        for value in [0, 1, 2, 0x7f, 0x80, 0xff, bytes[at] ^ 1, bytes[at] ^ 0x40] {
            let mut damaged = bytes.clone();
            damaged[at] = value;
            match read(&damaged) {
                Ok(file) => {
                    let again = write(&file.mappings);
                    assert_eq!(read(&again).unwrap().mappings, file.mappings);
                }
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > 2 * bytes.len(), "{refused}");
}
