//! Values by name, for whoever serialises them: JSON, or the text of a difference.
//!
//! The keys are those of the format's published expectations: names of properties, `#header` and `#slots`
//! for nested blocks. Names are texts, bools 0 and 1, objects their indices, GUIDs hex, structs that write
//! themselves the list of their parts, maps lists of pairs.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::model::*;
use crate::usmap::PropertyType;

/// A value with what names it.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    shown: Shown<'a>,
    context: &'a Context<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Shown<'a> {
    Object(&'a Object),
    /// A block, and whether its header is shown.
    Block(&'a Block, bool),
    /// A value, and its type where that is known.
    Value(&'a Value, Option<&'a PropertyType>),
    Pair(&'a (Value, Value)),
}

/// An object: `class`, `property_header`, `slots`, `properties`, `properties_end`.
pub fn view_object<'a>(object: &'a Object, context: &'a Context<'a>) -> View<'a> {
    View { shown: Shown::Object(object), context }
}

/// The properties of a block.
pub fn view_block<'a>(block: &'a Block, context: &'a Context<'a>) -> View<'a> {
    View { shown: Shown::Block(block, false), context }
}

impl<'a> View<'a> {
    fn value(&self, value: &'a Value) -> View<'a> {
        View { shown: Shown::Value(value, None), context: self.context }
    }

    fn list<S: Serializer>(&self, s: S, values: &'a [Value]) -> Result<S::Ok, S::Error> {
        s.collect_seq(values.iter().map(|value| self.value(value)))
    }

    fn zero<S: Serializer>(s: S, kind: Option<&PropertyType>) -> Result<S::Ok, S::Error> {
        match kind {
            Some(PropertyType::Name) => s.serialize_str("None"),
            Some(PropertyType::Str) => s.serialize_str(""),
            Some(PropertyType::Array(_) | PropertyType::Set(_) | PropertyType::Map(..)) => {
                s.serialize_seq(Some(0))?.end()
            }
            _ => s.serialize_u8(0),
        }
    }

    fn block<S: Serializer>(&self, s: S, block: &'a Block, with_header: bool) -> Result<S::Ok, S::Error> {
        let class = self.context.mappings.class(&block.class).ok();
        let mut map = s.serialize_map(None)?;
        for entry in &block.entries {
            let slot = class.and_then(|class| class.slot(entry.slot));
            let name = slot.map_or_else(|| format!("#{}", entry.slot), |slot| slot.name());
            let kind = slot.map(|slot| &slot.property.kind);
            let view = View { shown: Shown::Value(&entry.value, kind), context: self.context };
            map.serialize_entry(&name, &view)?;
        }
        if with_header {
            map.serialize_entry("#header", &hex(&block.header()))?;
            map.serialize_entry("#slots", &slots(block))?;
        }
        map.end()
    }

    fn show<S: Serializer>(
        &self,
        s: S,
        value: &'a Value,
        kind: Option<&'a PropertyType>,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Value::Zero => Self::zero(s, kind),
            Value::Bool(value) | Value::Bool32(value) => s.serialize_u8((*value).into()),
            Value::U8(value) => s.serialize_u8(*value),
            Value::I8(value) => s.serialize_i8(*value),
            Value::U16(value) => s.serialize_u16(*value),
            Value::I16(value) => s.serialize_i16(*value),
            Value::U32(value) => s.serialize_u32(*value),
            Value::I32(value) | Value::Object(value) => s.serialize_i32(*value),
            Value::U64(value) => s.serialize_u64(*value),
            Value::I64(value) => s.serialize_i64(*value),
            Value::F32(value) => s.serialize_f64((*value).into()),
            Value::F64(value) => s.serialize_f64(*value),
            Value::Guid(value) => s.serialize_str(&hex(value)),
            Value::Name(name) => s.serialize_str(&self.context.text(*name)),
            Value::Str(value) => s.serialize_str(value.text()),
            Value::Bytes(value) => s.serialize_str(&String::from_utf8_lossy(value)),
            Value::Text(text) => {
                let mut map = s.serialize_map(Some(3))?;
                map.serialize_entry("flags", &text.flags)?;
                map.serialize_entry("history", &text.history)?;
                let parts: Vec<View<'_>> = text.parts.iter().map(|part| self.value(part)).collect();
                map.serialize_entry("values", &parts)?;
                map.end()
            }
            Value::Soft(path) => s.serialize_str(&self.soft(path)),
            Value::Optional(None) => s.serialize_none(),
            Value::Optional(Some(value)) => s.serialize_some(&self.value(value)),
            Value::List(values) | Value::Set(values) | Value::Group(values) => self.list(s, values),
            Value::Map(pairs) => {
                let view = |pair| View { shown: Shown::Pair(pair), context: self.context };
                s.collect_seq(pairs.iter().map(view))
            }
            Value::Block(block) => self.block(s, block, true),
            Value::Instanced(kind, bytes) => {
                let mut map = s.serialize_map(Some(2))?;
                map.serialize_entry("struct", kind)?;
                map.serialize_entry("bytes", &hex(bytes))?;
                map.end()
            }
        }
    }

    /// `/Package/Path.Asset:what in it`; empty for no path.
    fn soft(
        &self,
        (package, asset, below): &(crate::package::NameRef, crate::package::NameRef, Str),
    ) -> String {
        let (package, asset) = (self.context.text(*package), self.context.text(*asset));
        let mut text = if package == "None" { String::new() } else { package };
        if asset != "None" {
            text = format!("{text}.{asset}");
        }
        if below.text().is_empty() { text } else { format!("{text}:{}", below.text()) }
    }
}

impl Serialize for View<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self.shown {
            Shown::Value(value, kind) => self.show(s, value, kind),
            Shown::Pair((key, value)) => {
                let mut pair = s.serialize_seq(Some(2))?;
                pair.serialize_element(&self.value(key))?;
                pair.serialize_element(&self.value(value))?;
                pair.end()
            }
            Shown::Block(block, with_header) => self.block(s, block, with_header),
            Shown::Object(object) => {
                let mut map = s.serialize_map(Some(5))?;
                map.serialize_entry("class", &*object.block.class)?;
                map.serialize_entry("property_header", &hex(&object.block.header()))?;
                map.serialize_entry("slots", &slots(&object.block))?;
                map.serialize_entry("properties", &view_block(&object.block, self.context))?;
                map.serialize_entry("properties_end", &object.properties_end)?;
                map.end()
            }
        }
    }
}

fn slots(block: &Block) -> Vec<u32> {
    block.entries.iter().map(|entry| entry.slot).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
