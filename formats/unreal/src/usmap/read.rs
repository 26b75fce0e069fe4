//! Reads a file of mappings, in all versions and compressions.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use std::sync::Arc;

use wire::{ErrorKind, ReadError, Reader};

use super::check::property_problem;
use super::decompress;
use super::layout::*;
use super::model::{Enum, Mappings, Property, PropertyType, Struct};

/// What a reader of mappings allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest body once unpacked, in bytes.
    pub bytes: u64,
    /// How many times the packed size the body may have.
    pub ratio: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 64 << 20, ratio: 64 }
    }
}

/// How the body of a file is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the methods")]
pub enum Compression {
    None,
    Oodle,
    Brotli,
    Zstd,
}

/// A file of mappings, and what it says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The version of the format, 0 to 4.
    pub version: u8,
    /// Whether it states the versions of the packages that it is for.
    pub has_versioning: bool,
    /// How it is packed.
    pub compression: Compression,
    /// Bytes of the body as it is in the file.
    pub compressed_bytes: u32,
    /// Bytes of the body once unpacked.
    pub bytes: u32,
    /// Entries of the table of names.
    pub names: u32,
    /// Bytes of extensions after the structs.
    pub extension_bytes: u64,
    /// What it maps.
    pub mappings: Mappings,
}

impl File {
    /// Whether `bytes` begin as such a file does.
    pub fn is_one(bytes: &[u8]) -> bool {
        bytes.starts_with(&MAGIC.to_le_bytes())
    }

    /// Reads a file.
    pub fn read(bytes: &[u8], limits: &Limits) -> Result<Self, ReadError> {
        let mut r = Reader::new(bytes, "usmap");
        let at = r.clone();
        let magic = r.u16("magic")?;
        if magic != MAGIC {
            return Err(at.malformed("magic", format!("found {magic:#06x}, expected {MAGIC:#06x}")));
        }
        let at = r.clone();
        let version = r.u8("version")?;
        if version > LAST_VERSION {
            return Err(at.unsupported("version", format!("found {version}, read are 0 to {LAST_VERSION}")));
        }
        let has_versioning = version >= VERSION_PACKAGE_VERSIONS && r.i32("has versioning")? != 0;
        if has_versioning {
            r.bytes(FILE_VERSION_BYTES, "file version")?;
            let n = r.u32("custom versions")?;
            let n = r.count(n.into(), CUSTOM_VERSION_BYTES, "custom versions")? as u64;
            r.bytes(n.saturating_mul(CUSTOM_VERSION_BYTES), "custom versions")?;
            r.u32("net changelist")?;
        }
        let at = r.clone();
        let compression = match r.u8("compression")? {
            0 => Compression::None,
            1 => Compression::Oodle,
            2 => Compression::Brotli,
            3 => Compression::Zstd,
            other => {
                return Err(at.unsupported(
                    "compression",
                    format!("found {other}, known are 0 (none), 1 (Oodle), 2 (brotli) and 3 (zstd)"),
                ));
            }
        };
        let compressed_bytes = r.u32("compressed size")?;
        let body_bytes = r.u32("decompressed size")?;
        let packed = r.section(compressed_bytes.into(), "body")?;
        r.finish()?;
        check_size(&packed, body_bytes.into(), limits)?;
        let unpacked;
        let mut body = match compression {
            Compression::None if compressed_bytes == body_bytes => packed,
            Compression::None => {
                let message = format!("{compressed_bytes} bytes are not packed, but stated as {body_bytes}");
                return Err(packed.malformed("decompressed size", message));
            }
            Compression::Oodle => {
                unpacked = decompress::oodle(&packed, body_bytes.into())?;
                Reader::new(&unpacked, "unpacked body")
            }
            Compression::Brotli => {
                unpacked = decompress::brotli(&packed, body_bytes.into())?;
                Reader::new(&unpacked, "unpacked body")
            }
            Compression::Zstd => {
                unpacked = decompress::zstd(&packed, body_bytes.into())?;
                Reader::new(&unpacked, "unpacked body")
            }
        };
        let start = body.clone();
        let names = names(&mut body, version)?;
        let enums = enums(&mut body, &names, version)?;
        let structs = structs(&mut body, &names)?;
        let mappings =
            Mappings::new(enums, structs).map_err(|error| start.malformed("structs", error.to_string()))?;
        Ok(Self {
            version,
            has_versioning,
            compression,
            compressed_bytes,
            bytes: body_bytes,
            names: u32::try_from(names.len()).unwrap_or(u32::MAX),
            extension_bytes: body.remaining(),
            mappings,
        })
    }
}

/// The size that a body says it has may not be out of proportion: it is what a small file could cost.
fn check_size(packed: &Reader<'_>, bytes: u64, limits: &Limits) -> Result<(), ReadError> {
    let allowed = limits.bytes.min(packed.remaining().saturating_mul(limits.ratio));
    if bytes > allowed {
        let message = format!("{bytes} bytes, allowed are {allowed} for {} packed ones", packed.remaining());
        return Err(packed.limit("decompressed size", message));
    }
    Ok(())
}

fn names(r: &mut Reader<'_>, version: u8) -> Result<Vec<Arc<str>>, ReadError> {
    let n = r.u32("names")?;
    let long = version >= VERSION_LONG_NAMES;
    let n = r.count(n.into(), if long { 2 } else { 1 }, "names")?;
    let mut names = Vec::with_capacity(n);
    let empty: Arc<str> = Arc::from("");
    for i in 0..n {
        let length = if long { r.u16("name length")?.into() } else { u64::from(r.u8("name length")?) };
        let at = r.clone();
        let text = std::str::from_utf8(r.bytes(length, "name")?)
            .map_err(|_| at.malformed(&format!("names[{i}]"), "not valid UTF-8"))?;
        names.push(if text.is_empty() { empty.clone() } else { Arc::from(text) });
    }
    Ok(names)
}

fn name(r: &mut Reader<'_>, names: &[Arc<str>], field: &str) -> Result<Arc<str>, ReadError> {
    let at = r.clone();
    let index = r.u32(field)?;
    named(&at, names, index, field)
}

fn named(at: &Reader<'_>, names: &[Arc<str>], index: u32, field: &str) -> Result<Arc<str>, ReadError> {
    names
        .get(index as usize)
        .cloned()
        .ok_or_else(|| at.malformed(field, format!("name {index} of {}", names.len())))
}

fn enums(r: &mut Reader<'_>, names: &[Arc<str>], version: u8) -> Result<Vec<Enum>, ReadError> {
    let large = version >= VERSION_LARGE_ENUMS;
    let valued = version >= VERSION_ENUM_VALUES;
    let n = r.u32("enums")?;
    let n = r.count(n.into(), if large { 6 } else { 5 }, "enums")?;
    let mut enums = Vec::with_capacity(n);
    for _ in 0..n {
        let own = name(r, names, "enum name")?;
        let n = if large { r.u16("enum entries")? } else { r.u8("enum entries")?.into() };
        let n = r.count(n.into(), if valued { 12 } else { 4 }, "enum entries")?;
        let mut entries = Vec::with_capacity(n);
        for ordinal in 0..n {
            let value = if valued { r.i64("enum value")? } else { i64::try_from(ordinal).unwrap_or(0) };
            entries.push((name(r, names, "enum entry")?, value));
        }
        enums.push(Enum { name: own, entries });
    }
    Ok(enums)
}

fn structs(r: &mut Reader<'_>, names: &[Arc<str>]) -> Result<Vec<Struct>, ReadError> {
    let n = r.u32("structs")?;
    let n = r.count(n.into(), STRUCT_BYTES, "structs")?;
    let mut structs = Vec::with_capacity(n);
    for _ in 0..n {
        structs.push(one_struct(r, names)?);
    }
    Ok(structs)
}

fn one_struct(r: &mut Reader<'_>, names: &[Arc<str>]) -> Result<Struct, ReadError> {
    let own = name(r, names, "struct name")?;
    let at = r.clone();
    let parent = match r.u32("parent")? {
        NO_PARENT => None,
        index => Some(named(&at, names, index, "parent")?),
    };
    let slots = r.u16("slots")?;
    let n = r.u16("properties")?;
    let n = r.count(n.into(), PROPERTY_BYTES, "properties")?;
    let mut properties = Vec::with_capacity(n);
    let mut free = 0;
    for _ in 0..n {
        let at = r.clone();
        let property = Property {
            slot: r.u16("slot")?,
            dimension: r.u8("dimension")?,
            name: name(r, names, "property name")?,
            kind: property_type(r, names, MAX_TYPE_DEPTH)?,
        };
        if let Some(problem) = property_problem(&property, free, slots) {
            return Err(at.malformed("slot", format!("struct `{own}`: {problem}")));
        }
        free = u32::from(property.slot).saturating_add(property.dimension.into());
        properties.push(property);
    }
    Ok(Struct { name: own, parent, slots, properties })
}

fn property_type(r: &mut Reader<'_>, names: &[Arc<str>], depth: usize) -> Result<PropertyType, ReadError> {
    let at = r.clone();
    let Some(depth) = depth.checked_sub(1) else {
        return Err(r.limit("type", format!("nests deeper than {MAX_TYPE_DEPTH}")));
    };
    let inner = |r: &mut Reader<'_>| property_type(r, names, depth).map(Box::new);
    Ok(match r.u8("type")? {
        0 => PropertyType::Byte,
        1 => PropertyType::Bool,
        2 => PropertyType::Int,
        3 => PropertyType::Float,
        4 => PropertyType::Object,
        5 => PropertyType::Name,
        6 => PropertyType::Delegate,
        7 => PropertyType::Double,
        8 => PropertyType::Array(inner(r)?),
        9 => PropertyType::Struct(name(r, names, "struct")?),
        10 => PropertyType::Str,
        11 => PropertyType::Text,
        12 => PropertyType::Interface,
        13 => PropertyType::MulticastDelegate,
        14 => PropertyType::WeakObject,
        15 => PropertyType::LazyObject,
        16 => PropertyType::AssetObject,
        17 => PropertyType::SoftObject,
        18 => PropertyType::UInt64,
        19 => PropertyType::UInt32,
        20 => PropertyType::UInt16,
        21 => PropertyType::Int64,
        22 => PropertyType::Int16,
        23 => PropertyType::Int8,
        24 => PropertyType::Map(inner(r)?, inner(r)?),
        25 => PropertyType::Set(inner(r)?),
        26 => PropertyType::Enum(inner(r)?, name(r, names, "enum")?),
        27 => PropertyType::FieldPath,
        28 => PropertyType::Optional(inner(r)?),
        29 => PropertyType::Utf8Str,
        30 => PropertyType::AnsiStr,
        other => {
            let (section, message) = ("type", format!("found {other}, known are 0 to 30"));
            return Err(at.error(ErrorKind::Unsupported, section, message));
        }
    })
}
