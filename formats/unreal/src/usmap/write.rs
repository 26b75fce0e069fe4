//! Writes mappings in their canonical form: version 4, not packed, names in the order of their first use.

use std::collections::BTreeMap;
use std::sync::Arc;

use wire::Writer;

use super::layout::*;
use super::model::{Mappings, PropertyType};

/// A file of `mappings`.
pub fn write(mappings: &Mappings) -> Vec<u8> {
    let mut names = Names::default();
    let mut lists = Writer::new();
    lists.u32(count(mappings.enums().len()));
    for item in mappings.enums() {
        lists.u32(names.index(&item.name)).u16(short(item.entries.len()));
        for (name, value) in &item.entries {
            lists.i64(*value).u32(names.index(name));
        }
    }
    lists.u32(count(mappings.structs().len()));
    for item in mappings.structs() {
        lists.u32(names.index(&item.name));
        lists.u32(item.parent.as_ref().map_or(NO_PARENT, |parent| names.index(parent)));
        lists.u16(item.slots).u16(short(item.properties.len()));
        for property in &item.properties {
            lists.u16(property.slot).u8(property.dimension).u32(names.index(&property.name));
            write_type(&mut lists, &mut names, &property.kind);
        }
    }

    let mut body = Writer::new();
    body.u32(count(names.order.len()));
    for name in &names.order {
        body.u16(short(name.len())).bytes(name.as_bytes());
    }
    body.bytes(lists.as_bytes());
    let mut w = Writer::new();
    w.u16(MAGIC).u8(LAST_VERSION).i32(0).u8(0);
    w.u32(count(body.len())).u32(count(body.len())).bytes(body.as_bytes());
    w.into_bytes()
}

#[derive(Default)]
struct Names {
    order: Vec<Arc<str>>,
    index: BTreeMap<Arc<str>, u32>,
}

impl Names {
    fn index(&mut self, name: &Arc<str>) -> u32 {
        if let Some(index) = self.index.get(name) {
            return *index;
        }
        let index = count(self.order.len());
        self.order.push(name.clone());
        self.index.insert(name.clone(), index);
        index
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).expect("because mappings are far below 4 GiB")
}

fn short(n: usize) -> u16 {
    u16::try_from(n).expect("because mappings that were made have been checked for it")
}

fn write_type(w: &mut Writer, names: &mut Names, kind: &PropertyType) {
    w.u8(tag(kind));
    for inner in kind.inner() {
        write_type(w, names, inner);
    }
    if let PropertyType::Struct(name) | PropertyType::Enum(_, name) = kind {
        w.u32(names.index(name));
    }
}

fn tag(kind: &PropertyType) -> u8 {
    match kind {
        PropertyType::Byte => 0,
        PropertyType::Bool => 1,
        PropertyType::Int => 2,
        PropertyType::Float => 3,
        PropertyType::Object => 4,
        PropertyType::Name => 5,
        PropertyType::Delegate => 6,
        PropertyType::Double => 7,
        PropertyType::Array(_) => 8,
        PropertyType::Struct(_) => 9,
        PropertyType::Str => 10,
        PropertyType::Text => 11,
        PropertyType::Interface => 12,
        PropertyType::MulticastDelegate => 13,
        PropertyType::WeakObject => 14,
        PropertyType::LazyObject => 15,
        PropertyType::AssetObject => 16,
        PropertyType::SoftObject => 17,
        PropertyType::UInt64 => 18,
        PropertyType::UInt32 => 19,
        PropertyType::UInt16 => 20,
        PropertyType::Int64 => 21,
        PropertyType::Int16 => 22,
        PropertyType::Int8 => 23,
        PropertyType::Map(..) => 24,
        PropertyType::Set(_) => 25,
        PropertyType::Enum(..) => 26,
        PropertyType::FieldPath => 27,
        PropertyType::Optional(_) => 28,
        PropertyType::Utf8Str => 29,
        PropertyType::AnsiStr => 30,
    }
}
