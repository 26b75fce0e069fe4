//! Builds zen packages from the description of the format.
//!
//! It shares no constant with the reader of packages on purpose: the stand-in would otherwise agree with
//! any mistake made there. It knows only what the stand-in needs: ASCII names, one package's worth of data.

use iostore::{PackageId, hash_utf16_lower, name_hash};
use wire::Writer;

/// The bytes that stand wherever a package of the stand-in needs a GUID.
pub(super) const GUID: [u8; 16] = *b"\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f";
/// A payload in the separate bulk chunk.
pub(super) const SEPARATE: u32 = 0x0001_0501;
/// A payload in the export, after the index of its entry.
pub(super) const INLINE: u32 = 0x48;
/// The object index of nothing.
pub(super) const NOTHING: u64 = u64::MAX;

/// One export: its bytes and its row of the export map.
pub(super) struct Object {
    pub name: u32,
    pub number: u32,
    pub outer: u64,
    pub class: u64,
    pub template: u64,
    pub public_hash: u64,
    pub flags: u32,
    pub bytes: Vec<u8>,
    /// Created before this is created.
    pub create_before_create: Vec<i32>,
    /// Created before this is serialized.
    pub create_before_serialize: Vec<i32>,
}

/// A package before it is written. Its last name is its path.
pub(super) struct Draft {
    pub names: Vec<String>,
    pub bulk: Vec<(i64, i64, u32)>,
    pub imported_hashes: Vec<u64>,
    pub imports: Vec<u64>,
    pub objects: Vec<Object>,
    /// The order in which objects are created, and in which they are serialized.
    pub order: Vec<u32>,
    pub imported: Vec<String>,
}

/// The import of a script object of the module `Engine`; of the module itself when `name` is empty.
pub(super) fn engine(name: &str) -> u64 {
    let path = match name {
        "" => "/Script/Engine".to_owned(),
        name => format!("/Script/Engine/{name}"),
    };
    hash_utf16_lower(&path) << 2 >> 2 | 1 << 62
}

/// The import of the object with the hash `hash` of the imported package `package`.
pub(super) fn imported(package: u64, hash: u64) -> u64 {
    2 << 62 | package << 32 | hash
}

/// The paths `paths` in the order in which a package lists what it imports.
pub(super) fn by_id(mut paths: Vec<String>) -> Vec<String> {
    paths.sort_by_key(|path| PackageId::of_name(path));
    paths
}

/// Adds a name batch.
pub(super) fn name_batch(w: &mut Writer, names: &[String]) {
    w.u32(names.len() as u32);
    if names.is_empty() {
        return;
    }
    w.u32(names.iter().map(|name| name.len() as u32).sum());
    w.u64(0xC164_0000);
    for name in names {
        w.u64(name_hash(name));
    }
    for name in names {
        w.u16_be(name.len() as u16);
    }
    for name in names {
        w.bytes(name.as_bytes());
    }
}

/// Adds a string with its length and a closing NUL.
pub(super) fn string(w: &mut Writer, text: &str) {
    w.u32(text.len() as u32 + 1).bytes(text.as_bytes()).u8(0);
}

impl Draft {
    /// The bytes of the package.
    pub(super) fn write(&self) -> Vec<u8> {
        let mut w = Writer::new();
        w.zeros(52);
        name_batch(&mut w, &self.names);
        let padding = (8 - w.len() % 8) % 8;
        w.u64(padding as u64).zeros(padding);
        w.u64(self.bulk.len() as u64 * 32);
        for (offset, size, flags) in &self.bulk {
            w.i64(*offset).i64(-1).i64(*size).u32(*flags).u32(0);
        }
        let mut sections = vec![w.len()];
        for hash in &self.imported_hashes {
            w.u64(*hash);
        }
        sections.push(w.len());
        for import in &self.imports {
            w.u64(*import);
        }
        sections.push(w.len());
        let mut offset = 0;
        for object in &self.objects {
            w.u64(offset).u64(object.bytes.len() as u64);
            w.u32(object.name).u32(object.number);
            w.u64(object.outer).u64(object.class).u64(NOTHING);
            w.u64(object.template).u64(object.public_hash);
            w.u32(object.flags).u32(0);
            offset += object.bytes.len() as u64;
        }
        sections.push(w.len());
        for command in [0, 1] {
            for object in &self.order {
                w.u32(*object).u32(command);
            }
        }
        sections.push(w.len());
        let mut first = 0;
        for object in &self.objects {
            let create = object.create_before_create.len() as u32;
            let serialize = object.create_before_serialize.len() as u32;
            w.u32(first).u32(create).u32(0).u32(serialize).u32(0);
            first += create + serialize;
        }
        sections.push(w.len());
        for object in &self.objects {
            for entry in [&object.create_before_create, &object.create_before_serialize] {
                entry.iter().for_each(|entry| {
                    w.i32(*entry);
                });
            }
        }
        sections.push(w.len());
        name_batch(&mut w, &self.imported);
        w.zeros(self.imported.len() * 4);

        let header = w.len() as u32;
        let mut summary = Writer::new();
        summary.u32(0).u32(header);
        summary.u32(self.names.len() as u32 - 1).u32(0);
        summary.u32(0x8000_2200).u32(header);
        for section in sections {
            summary.u32(section as u32);
        }
        w.patch(0, summary.as_bytes());
        for object in &self.objects {
            w.bytes(&object.bytes);
        }
        w.bytes(&[0xc1, 0x83, 0x2a, 0x9e]);
        w.into_bytes()
    }
}
