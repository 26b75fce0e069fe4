//! Reads objects and blocks by mappings.
//!
//! Every value takes a step of a budget, and every nesting one of a depth, so that a small export cannot cost
//! much: a zero value takes no byte.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use std::sync::Arc;

use wire::{ReadError, Reader};

use super::header::read_header;
use super::layout::*;
use super::model::*;
use crate::package::{Form, NameRef};
use crate::usmap::{Class, PropertyType};

impl Object {
    /// Reads the export `bytes`, of which `lead` bytes precede the properties of its `class`.
    pub fn read(
        bytes: &[u8],
        class: Class<'_>,
        lead: usize,
        context: &Context<'_>,
    ) -> Result<Self, ReadError> {
        let mut r = Reader::new(bytes, "value");
        let lead = r.bytes(lead as u64, "lead")?.to_vec();
        let block = Block::read(&mut r, class, context)?;
        let properties_end = bytes.len().saturating_sub(r.rest().len());
        Ok(Self { lead, block, properties_end, tail: r.rest().to_vec() })
    }
}

impl Block {
    /// Reads the properties of a `class` from where `r` stands.
    pub fn read(r: &mut Reader<'_>, class: Class<'_>, context: &Context<'_>) -> Result<Self, ReadError> {
        Walk { context, values: context.limits.values, depth: MAX_DEPTH }.block(r, class)
    }
}

impl Value {
    /// Reads a value of type `kind` from where `r` stands.
    pub fn read(r: &mut Reader<'_>, kind: &PropertyType, context: &Context<'_>) -> Result<Self, ReadError> {
        Walk { context, values: context.limits.values, depth: MAX_DEPTH }.value(r, kind)
    }
}

struct Walk<'a> {
    context: &'a Context<'a>,
    values: u64,
    depth: usize,
}

impl Walk<'_> {
    fn step(&mut self, r: &Reader<'_>) -> Result<(), ReadError> {
        match self.values.checked_sub(1) {
            Some(values) => {
                self.values = values;
                Ok(())
            }
            None => {
                let allowed = self.context.limits.values;
                Err(r.limit("values", format!("more than {allowed} in one object")))
            }
        }
    }

    /// Runs `read` one level deeper.
    fn deeper<T>(
        &mut self,
        r: &mut Reader<'_>,
        read: impl FnOnce(&mut Self, &mut Reader<'_>) -> Result<T, ReadError>,
    ) -> Result<T, ReadError> {
        let Some(depth) = self.depth.checked_sub(1) else {
            return Err(r.limit("depth", format!("values nest deeper than {MAX_DEPTH}")));
        };
        let outer = std::mem::replace(&mut self.depth, depth);
        let read = read(self, r);
        self.depth = outer;
        read
    }

    fn block(&mut self, r: &mut Reader<'_>, class: Class<'_>) -> Result<Block, ReadError> {
        self.deeper(r, |walk, r| {
            let present = read_header(r, class.slots()).map_err(|error| error.within(class.name()))?;
            let mut entries = Vec::new();
            for (at, zero) in present {
                walk.step(r)?;
                let Some(slot) = class.slot(at) else {
                    let message = format!("a value stands in slot {at}, where the mappings have no property");
                    return Err(r.malformed("header", message).within(class.name()));
                };
                let value = if zero {
                    Value::Zero
                } else {
                    let value = walk.value(r, &slot.property.kind);
                    value.map_err(|error| error.within(slot.name()).within(class.name()))?
                };
                entries.push(Entry { slot: at, value });
            }
            Ok(Block { class: Arc::from(class.name()), slots: class.slots(), entries })
        })
    }

    /// A count, and so many items of at least `item_bytes`.
    fn items<T>(
        &mut self,
        r: &mut Reader<'_>,
        item_bytes: u64,
        mut read: impl FnMut(&mut Self, &mut Reader<'_>) -> Result<T, ReadError>,
    ) -> Result<Vec<T>, ReadError> {
        let n = r.u32("count")?;
        let n = r.count(n.into(), item_bytes, "count")?;
        self.deeper(r, |walk, r| {
            let mut items = Vec::new();
            for i in 0..n {
                walk.step(r)?;
                items.push(read(walk, r).map_err(|error| error.within(format!("[{i}]")))?);
            }
            Ok(items)
        })
    }

    fn value(&mut self, r: &mut Reader<'_>, kind: &PropertyType) -> Result<Value, ReadError> {
        Ok(match kind {
            PropertyType::Bool => {
                let at = r.clone();
                match r.u8("bool")? {
                    0 => Value::Bool(false),
                    1 => Value::Bool(true),
                    other => return Err(at.malformed("bool", format!("found {other}, allowed are 0 and 1"))),
                }
            }
            PropertyType::Byte => Value::U8(r.u8("byte")?),
            PropertyType::Int8 => Value::I8(r.i8("int8")?),
            PropertyType::UInt16 => Value::U16(r.u16("uint16")?),
            PropertyType::Int16 => Value::I16(r.i16("int16")?),
            PropertyType::UInt32 => Value::U32(r.u32("uint32")?),
            PropertyType::Int => Value::I32(r.i32("int")?),
            PropertyType::UInt64 => Value::U64(r.u64("uint64")?),
            PropertyType::Int64 => Value::I64(r.i64("int64")?),
            PropertyType::Float => Value::F32(r.f32("float")?),
            PropertyType::Double => Value::F64(r.f64("double")?),
            PropertyType::Enum(inner, _) => self.value(r, inner)?,
            PropertyType::Name => Value::Name(self.name(r)?),
            PropertyType::Object | PropertyType::WeakObject | PropertyType::Interface => self.object(r)?,
            PropertyType::LazyObject => Value::Guid(r.array("lazy object")?),
            PropertyType::SoftObject | PropertyType::AssetObject => self.part(r, Part::Soft, None)?,
            PropertyType::Str => Value::Str(string(r)?),
            PropertyType::Utf8Str | PropertyType::AnsiStr => {
                let n = r.u32("string length")?;
                Value::Bytes(r.bytes(n.into(), "string")?.to_vec())
            }
            PropertyType::Text => self.part(r, Part::Text, None)?,
            PropertyType::Delegate => self.part(r, Part::Delegate, None)?,
            PropertyType::MulticastDelegate => self.part(r, Part::List(&[Part::Object, Part::Name]), None)?,
            PropertyType::FieldPath => self.part(r, Part::FieldPath, None)?,
            PropertyType::Optional(inner) => {
                let value =
                    if bool32(r)? { Some(self.deeper(r, |walk, r| walk.value(r, inner))?) } else { None };
                Value::Optional(value.map(Box::new))
            }
            PropertyType::Array(inner) => Value::List(self.items(r, 1, |walk, r| walk.value(r, inner))?),
            PropertyType::Set(inner) => {
                nothing_removed(r)?;
                Value::Set(self.items(r, 1, |walk, r| walk.value(r, inner))?)
            }
            PropertyType::Map(key, value) => {
                nothing_removed(r)?;
                Value::Map(self.items(r, 2, |walk, r| Ok((walk.value(r, key)?, walk.value(r, value)?)))?)
            }
            PropertyType::Struct(name) => match native(name) {
                Some([single]) => self.part(r, *single, Some(name))?,
                Some(parts) => self.group(r, parts, Some(name))?,
                None => self.part(r, Part::Block, Some(name))?,
            },
        })
    }

    fn group(&mut self, r: &mut Reader<'_>, parts: &[Part], of: Option<&str>) -> Result<Value, ReadError> {
        let mut values = Vec::with_capacity(parts.len());
        for part in parts {
            self.step(r)?;
            values.push(self.part(r, *part, of)?);
        }
        Ok(Value::Group(values))
    }

    /// A part of the struct `of`.
    fn part(&mut self, r: &mut Reader<'_>, part: Part, of: Option<&str>) -> Result<Value, ReadError> {
        Ok(match part {
            Part::U8 => Value::U8(r.u8("u8")?),
            Part::I8 => Value::I8(r.i8("i8")?),
            Part::I32 => Value::I32(r.i32("i32")?),
            Part::I64 => Value::I64(r.i64("i64")?),
            Part::F32 => Value::F32(r.f32("f32")?),
            Part::F64 => Value::F64(r.f64("f64")?),
            Part::Bool32 => Value::Bool32(bool32(r)?),
            Part::Guid => Value::Guid(r.array("guid")?),
            Part::Name => Value::Name(self.name(r)?),
            Part::Object => self.object(r)?,
            Part::Str => Value::Str(string(r)?),
            Part::Text => self.deeper(r, Self::text)?,
            Part::Argument => self.argument(r)?,
            Part::NoOptions => {
                if bool32(r)? {
                    return Err(r.unsupported("text", "options of a number's format are not read"));
                }
                Value::Bool32(false)
            }
            Part::Optional(inner) => {
                let value = if bool32(r)? { Some(self.part(r, *inner, of)?) } else { None };
                Value::Optional(value.map(Box::new))
            }
            Part::List([single]) => Value::List(self.items(r, 1, |walk, r| walk.part(r, *single, of))?),
            Part::List(parts) => Value::List(self.items(r, 1, |walk, r| walk.group(r, parts, of))?),
            Part::Block => {
                let class = self.context.mappings.class(of.unwrap_or_default());
                let class = class.map_err(|error| r.unsupported("struct", error.to_string()))?;
                Value::Block(self.block(r, class)?)
            }
            Part::Soft => {
                let (package, asset) = (self.name(r)?, self.name(r)?);
                let below = match self.context.form {
                    Form::Ue55 => string(r)?,
                    Form::Ue56 => utf8(r)?,
                };
                Value::Soft(Box::new((package, asset, below)))
            }
            Part::Delegate => self.group(r, &[Part::Object, Part::Name], None)?,
            Part::FieldPath => self.group(r, &[Part::List(&[Part::Name]), Part::Object], None)?,
            Part::Instanced => {
                let Value::Object(kind) = self.object(r)? else { return Ok(Value::Zero) };
                let n = r.u32("struct size")?;
                Value::Instanced(kind, r.bytes(n.into(), "struct")?.to_vec())
            }
        })
    }

    fn text(&mut self, r: &mut Reader<'_>) -> Result<Value, ReadError> {
        let flags = r.u32("text flags")?;
        let at = r.clone();
        let number = r.i8("text history")?;
        let Some(parts) = history(number) else {
            let message = format!("found {number}, read are -1 to 11");
            return Err(at.unsupported("text history", message));
        };
        let Value::Group(parts) = self.group(r, parts, None)? else { return Ok(Value::Zero) };
        Ok(Value::Text(Box::new(Text { flags, history: number, parts })))
    }

    fn argument(&mut self, r: &mut Reader<'_>) -> Result<Value, ReadError> {
        let at = r.clone();
        let kind = r.u8("argument type")?;
        let value = match kind {
            0 => Value::I64(r.i64("argument")?),
            1 => Value::U64(r.u64("argument")?),
            2 => Value::F32(r.f32("argument")?),
            3 => Value::F64(r.f64("argument")?),
            4 => self.part(r, Part::Text, None)?,
            5 => Value::U8(r.u8("argument")?),
            other => return Err(at.unsupported("argument type", format!("found {other}, read are 0 to 5"))),
        };
        Ok(Value::Group(vec![Value::U8(kind), value]))
    }

    fn name(&mut self, r: &mut Reader<'_>) -> Result<NameRef, ReadError> {
        let at = r.clone();
        let name = NameRef { index: r.u32("name")?, number: r.u32("name number")? };
        let names = self.context.names.len();
        if name.index as usize >= names {
            return Err(at.malformed("name", format!("name {} of {names}", name.index)));
        }
        Ok(name)
    }

    fn object(&mut self, r: &mut Reader<'_>) -> Result<Value, ReadError> {
        let at = r.clone();
        let object = r.i32("object")?;
        if let Some((imports, exports)) = self.context.objects {
            let (what, count) = if object < 0 { ("import", imports) } else { ("export", exports) };
            if object.unsigned_abs() as usize > count {
                return Err(at.malformed("object", format!("{what} {object} of {count}")));
            }
        }
        Ok(Value::Object(object))
    }
}

fn bool32(r: &mut Reader<'_>) -> Result<bool, ReadError> {
    let at = r.clone();
    match r.u32("bool32")? {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(at.malformed("bool32", format!("found {other}, allowed are 0 and 1"))),
    }
}

/// Sets and maps list first what was removed from the class's: a cook writes no such thing.
fn nothing_removed(r: &mut Reader<'_>) -> Result<(), ReadError> {
    let at = r.clone();
    match r.u32("removed")? {
        0 => Ok(()),
        n => Err(at.unsupported("removed", format!("{n} items are taken away, allowed are 0"))),
    }
}

/// A string of later engines: UTF-8, without an end mark.
fn utf8(r: &mut Reader<'_>) -> Result<Str, ReadError> {
    let n = r.u32("string length")?;
    let at = r.clone();
    match std::str::from_utf8(r.bytes(n.into(), "string")?) {
        Ok(text) => Ok(Str::below(text, Form::Ue56)),
        Err(_) => Err(at.malformed("string", "not valid UTF-8")),
    }
}

fn string(r: &mut Reader<'_>) -> Result<Str, ReadError> {
    let at = r.clone();
    let n = r.i32("string length")?;
    let units = u64::from(n.unsigned_abs());
    let malformed = |message: &str| Err(at.malformed("string", message));
    match n {
        0 => Ok(Str::new("")),
        1.. => match r.bytes(units, "string")? {
            [text @ .., 0] => match std::str::from_utf8(text) {
                Ok(text) if text.is_ascii() => Ok(Str::stored(text.to_owned(), StrForm::Narrow)),
                _ => malformed("a single-byte string is not ASCII"),
            },
            _ => malformed("does not end in a NUL"),
        },
        _ => {
            let bytes = r.bytes(units.saturating_mul(2), "string")?;
            let mut text = Vec::with_capacity(bytes.len().wrapping_shr(1));
            for unit in bytes.as_chunks::<2>().0 {
                text.push(u16::from_le_bytes(*unit));
            }
            if text.pop() != Some(0) {
                return malformed("does not end in a NUL");
            }
            match String::from_utf16(&text) {
                Ok(text) => Ok(Str::stored(text, StrForm::Wide)),
                Err(_) => malformed("not valid UTF-16"),
            }
        }
    }
}
