//! The tree of a tag's fields by name, for whatever serde writes to: a value at a time, never all at once.
//!
//! Padding and marks for editors are left out, and so are phantom wrappers. The key names are those that
//! readers of `bake inspect --json` rely on.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::ser::{Error as _, SerializeSeq, SerializeStruct};
use serde::{Serialize, Serializer};

use crate::layout::*;
use crate::model::*;
use crate::value::*;

impl Serialize for Tag<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("tag", 3)?;
        out.serialize_field("header", &self.header)?;
        out.serialize_field("layout", &self.layout)?;
        out.serialize_field("root", &self.root().map_err(S::Error::custom)?)?;
        out.end()
    }
}

impl Serialize for Header {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("header", 3)?;
        out.serialize_field("group", &self.group)?;
        out.serialize_field("group_version", &self.group_version)?;
        out.serialize_field("checksum", &self.checksum)?;
        out.end()
    }
}

impl Serialize for FourCc {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[derive(Serialize)]
struct StructRow<'a> {
    name: &'a str,
    first_field: u32,
    size: Option<u32>,
}

impl Serialize for Layout<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let tables: BTreeMap<Cow<'_, str>, u64> = TABLES
            .iter()
            .enumerate()
            .map(|(table, (magic, ..))| (String::from_utf8_lossy(*magic), self.count(table)))
            .collect();
        let row = |(index, size)| {
            let mut r = self.record(STRUCTS, index, 0, "struct")?;
            r.bytes(16, "guid")?;
            let name = self.string(r.u32("name")?, &r, "name")?;
            Ok::<_, wire::ReadError>(StructRow { name, first_field: r.u32("first field")?, size })
        };
        let structs: Vec<StructRow<'_>> = (0..)
            .zip(self.sizes())
            .map(|entry| row(entry).unwrap_or(StructRow { name: "", first_field: 0, size: None }))
            .collect();
        let mut out = serializer.serialize_struct("layout", 4)?;
        out.serialize_field("version", &LAYOUT_VERSION)?;
        out.serialize_field("root_block", &self.root_block)?;
        out.serialize_field("tables", &tables)?;
        out.serialize_field("structs", &structs)?;
        out.end()
    }
}

impl Serialize for Struct<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_seq(None)?;
        for field in self.fields() {
            out.serialize_element(&field.map_err(S::Error::custom)?)?;
        }
        out.end()
    }
}

impl Serialize for Field<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("field", 3)?;
        out.serialize_field("name", self.name())?;
        out.serialize_field("type", self.type_name())?;
        out.serialize_field("value", &self.value().map_err(S::Error::custom)?)?;
        out.end()
    }
}

#[derive(Serialize)]
struct EnumView<'a> {
    raw: u32,
    option: Option<&'a str>,
}

#[derive(Serialize)]
struct FlagsView<'v> {
    raw: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    set: Option<&'v [Cow<'v, str>]>,
}

#[derive(Serialize)]
struct ReferenceView<'v> {
    group: FourCc,
    path: &'v str,
}

#[derive(Serialize)]
struct ResourceView {
    kind: String,
    version: u32,
    body: String,
}

impl Serialize for Value<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Integer(value) => value.serialize(serializer),
            Self::Enum { raw, option } => EnumView { raw: *raw, option: *option }.serialize(serializer),
            Self::Flags { raw, set } => FlagsView { raw: *raw, set: Some(set) }.serialize(serializer),
            Self::BlockFlags(raw) => FlagsView { raw: *raw, set: None }.serialize(serializer),
            // Widened, so that the text is that of the exact value.
            Self::Real(value) => f64::from(*value).serialize(serializer),
            Self::Reals(values) => serializer.collect_seq(values.iter().map(|value| f64::from(*value))),
            Self::Shorts(values) => values.serialize(serializer),
            Self::Color(text) | Self::Text(text) | Self::StringId(text) => text.serialize(serializer),
            Self::Tag(group) => group.serialize(serializer),
            Self::Reference(reference) => reference
                .as_ref()
                .map(|reference| ReferenceView { group: reference.group, path: &reference.path })
                .serialize(serializer),
            Self::Data(bytes) => bytes.as_deref().map(hex).serialize(serializer),
            Self::Struct(value) => value.serialize(serializer),
            Self::Array(elements) => elements.serialize(serializer),
            Self::Block(block) => block.serialize(serializer),
            Self::Resource(resource) => resource
                .as_ref()
                .map(|resource| ResourceView {
                    kind: resource.kind.map_or("null".to_owned(), String::from),
                    version: resource.version,
                    body: hex(&resource.body),
                })
                .serialize(serializer),
            Self::Raw(bytes) => hex(bytes).serialize(serializer),
        }
    }
}

impl Serialize for Block<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("block", 2)?;
        out.serialize_field("flags", &self.flags)?;
        out.serialize_field("elements", &self.elements())?;
        out.end()
    }
}

impl Serialize for Elements<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_seq(None)?;
        for element in self.clone() {
            out.serialize_element(&element.map_err(S::Error::custom)?)?;
        }
        out.end()
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len().saturating_mul(2)), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
