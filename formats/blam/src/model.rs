//! What a tag is once read: its header, its layout, and where its values lie.
//!
//! Values stay bytes until they are asked for ([`crate::Struct`]); a tag of hundreds of megabytes costs
//! its layout and no more. It knows no group: every name, offset and size is from the tag at hand.

use std::fmt;

use wire::{ErrorKind, ReadError, Reader};

use crate::layout::*;
use crate::rope::Rope;

/// A four-character code, such as `coll`: the group of a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FourCc(pub u32);

/// Why a text is not a four-character code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a group: four printable ASCII characters are")]
pub struct FourCcError(String);

impl FourCc {
    /// The code that `text` spells.
    pub fn parse(text: &str) -> Result<Self, FourCcError> {
        let printable = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        match <[u8; 4]>::try_from(text.as_bytes()) {
            Ok(bytes) if printable => Ok(Self(u32::from_be_bytes(bytes))),
            _ => Err(FourCcError(text.to_owned())),
        }
    }

    /// Whether it names no group: all ones, or zero.
    pub fn is_none(self) -> bool {
        self.0 == NO_GROUP || self.0 == 0
    }
}

impl fmt::Display for FourCc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0.to_be_bytes() {
            let shown = if (b' '..=b'~').contains(&byte) { char::from(byte) } else { '.' };
            write!(f, "{shown}")?;
        }
        Ok(())
    }
}

/// The words of a tag's header that differ between tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The group.
    pub group: FourCc,
    /// The version of the group.
    pub group_version: u32,
    /// Of an unknown stream of bytes; the game does not look at it.
    pub checksum: u32,
}

/// A type of field, as a layout lists it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TypeDef<'a> {
    pub name: &'a str,
    pub kind: Kind,
    pub size: u32,
    /// Whether fields of the type have a section, as far as the layout says.
    pub flag: u32,
}

/// A field of a struct.
#[derive(Clone, Debug)]
pub(crate) struct FieldDef<'a> {
    pub name: &'a str,
    pub type_name: &'a str,
    pub kind: Kind,
    /// Index of an enum, struct, array, block or resource, or the width of padding.
    pub aux: u32,
    /// From the start of the struct.
    pub offset: u32,
    pub size: u32,
    /// How many sections it writes: an array as many as all its elements.
    pub sections: u32,
}

/// A struct that is reached from the root.
#[derive(Clone, Debug)]
pub(crate) struct StructDef<'a> {
    pub name: &'a str,
    pub guid: [u8; 16],
    pub fields: Vec<FieldDef<'a>>,
    /// The fields that write sections, by index.
    pub writing: Vec<u32>,
    pub size: u32,
    pub sections: u32,
    /// Whether phantom wrappers can be told: no array and no resource among the fields that write.
    pub is_matchable: bool,
    /// A type whose size is not known, so neither is that of the struct.
    pub unknown: Option<&'a str>,
}

/// A block, as a layout lists it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockDef {
    pub maximum: u32,
    pub element: u32,
}

/// How a tag describes itself (`blay`).
#[derive(Clone, Debug)]
pub struct Layout<'a> {
    pub(crate) root_block: u32,
    pub(crate) tables: [Reader<'a>; 12],
    pub(crate) types: Vec<TypeDef<'a>>,
    pub(crate) structs: Vec<StructDef<'a>>,
    /// By index of the struct: one more than its place in `structs`, 0 when it is not reached.
    pub(crate) places: Vec<u32>,
}

/// A tag. Edits ([`crate::Edit`]) change its values, never its header or layout.
#[derive(Clone, Debug)]
pub struct Tag<'a> {
    pub(crate) header: Header,
    pub(crate) layout: Layout<'a>,
    pub(crate) rope: Rope<'a>,
    /// Where `bdat` begins.
    pub(crate) data_at: u64,
}

impl<'a> Layout<'a> {
    /// How many records the table has.
    pub(crate) fn count(&self, table: usize) -> u64 {
        let width = TABLES.get(table).map_or(1, |(_, width, _)| *width);
        self.tables.get(table).map_or(0, |r| r.remaining().checked_div(width).unwrap_or(0))
    }

    /// The record `index` of the table, or why there is none; `field` at `at` says who asks.
    pub(crate) fn record(
        &self,
        table: usize,
        index: u32,
        at: u64,
        field: &str,
    ) -> Result<Reader<'a>, ReadError> {
        let (magic, width, _) = TABLES.get(table).copied().unwrap_or((b"????", 1, 0));
        let n = self.count(table);
        let Some(r) = self.tables.get(table).filter(|_| u64::from(index) < n) else {
            let table = String::from_utf8_lossy(magic);
            let message = format!("refers to {index}, but `{table}` has {n} entries");
            return Err(ReadError::new(ErrorKind::Malformed, at, field, message));
        };
        let mut r = r.clone();
        r.bytes(u64::from(index).saturating_mul(width), field)?;
        r.section(width, "layout")
    }

    /// The struct `index`, which must be reached from the root.
    pub(crate) fn struct_def(&self, index: u32) -> Option<&StructDef<'a>> {
        let place = self.places.get(usize::try_from(index).ok()?)?.checked_sub(1)?;
        self.structs.get(usize::try_from(place).ok()?)
    }

    /// The block `index`.
    pub(crate) fn block_def(&self, index: u32, at: u64, field: &str) -> Result<BlockDef, ReadError> {
        let mut r = self.record(BLOCKS, index, at, field)?;
        self.string(r.u32("name")?, &r, "name")?;
        Ok(BlockDef { maximum: r.u32("maximum")?, element: r.u32("struct")? })
    }

    /// Count and struct of the array `index`.
    pub(crate) fn array_def(&self, index: u32, at: u64, field: &str) -> Result<(u32, u32), ReadError> {
        let mut r = self.record(ARRAYS, index, at, field)?;
        self.string(r.u32("name")?, &r, "name")?;
        Ok((r.u32("count")?, r.u32("struct")?))
    }

    /// How many options the enum `index` has, and the first of them.
    pub(crate) fn enum_def(&self, index: u32, at: u64, field: &str) -> Result<(u32, u32), ReadError> {
        let mut r = self.record(ENUMS, index, at, field)?;
        self.string(r.u32("name")?, &r, "name")?;
        let (count, first) = (r.u32("option count")?, r.u32("first option")?);
        let n = self.count(OPTIONS);
        match first.checked_add(count) {
            Some(end) if u64::from(end) <= n => Ok((count, first)),
            _ => Err(r.malformed(
                "options",
                format!("{count} options from {first} on are wanted, but there are {n}"),
            )),
        }
    }

    /// The name of option `option` of the enum `index`.
    pub(crate) fn option(&self, index: u32, option: u64) -> Option<&'a str> {
        let (count, first) = self.enum_def(index, 0, "enum").ok()?;
        let option = u32::try_from(option).ok().filter(|option| *option < count)?;
        let mut r = self.record(OPTIONS, first.checked_add(option)?, 0, "option").ok()?;
        let offset = r.u32("option").ok()?;
        self.string(offset, &r, "option").ok()
    }

    /// The names of all options of the enum `index`.
    pub(crate) fn options(&self, index: u32) -> impl Iterator<Item = &'a str> + '_ {
        let count = self.enum_def(index, 0, "enum").map_or(0, |(count, _)| count);
        (0..u64::from(count)).map(move |option| self.option(index, option).unwrap_or_default())
    }

    /// The string at `offset`, up to its NUL; `at` and `field` say who asks.
    pub(crate) fn string(&self, offset: u32, at: &Reader<'a>, field: &str) -> Result<&'a str, ReadError> {
        let strings = self.tables.get(STRINGS).map(Reader::rest).unwrap_or_default();
        let rest = usize::try_from(offset).ok().and_then(|offset| strings.get(offset..)).unwrap_or_default();
        let window = rest.get(..rest.len().min(MAX_NAME_BYTES)).unwrap_or_default();
        let text = window.iter().position(|byte| *byte == 0).and_then(|end| window.get(..end));
        match text.map(std::str::from_utf8) {
            Some(Ok(text)) => Ok(text),
            Some(Err(_)) => Err(at.malformed(field, format!("the string at {offset} is not UTF-8"))),
            None => Err(at.malformed(
                field,
                format!(
                    "no string of at most {MAX_NAME_BYTES} bytes begins at {offset} of {}",
                    strings.len()
                ),
            )),
        }
    }
}

impl<'a> Tag<'a> {
    /// The header.
    pub fn header(&self) -> Header {
        self.header
    }

    /// The layout.
    pub fn layout(&self) -> &Layout<'a> {
        &self.layout
    }

    /// The length of the file in bytes.
    pub fn len(&self) -> u64 {
        self.rope.len()
    }

    /// Never: a tag has a header at least.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
