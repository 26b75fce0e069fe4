//! Makes values from data, in the form in which they are shown: what a recipe says of a property.

use serde_json::Value as Json;

use super::edit::{EditError, Editor};
use super::layout::{Part, history, native};
use super::model::*;
use crate::package::NameError;
use crate::usmap::PropertyType;

impl Editor<'_> {
    /// The value of type `kind` that `json` describes, in the form in which values are shown.
    pub fn value(&mut self, kind: &PropertyType, json: &Json) -> Result<Value, EditError> {
        let refuse = || EditError::Data { expected: kind.to_string(), found: json.to_string() };
        let list = || json.as_array().ok_or_else(refuse);
        Ok(match kind {
            PropertyType::Bool => Value::Bool(truth(json).ok_or_else(refuse)?),
            PropertyType::Byte => Value::U8(whole(json).ok_or_else(refuse)?),
            PropertyType::Int8 => Value::I8(whole(json).ok_or_else(refuse)?),
            PropertyType::UInt16 => Value::U16(whole(json).ok_or_else(refuse)?),
            PropertyType::Int16 => Value::I16(whole(json).ok_or_else(refuse)?),
            PropertyType::UInt32 => Value::U32(whole(json).ok_or_else(refuse)?),
            PropertyType::Int => Value::I32(whole(json).ok_or_else(refuse)?),
            PropertyType::UInt64 => Value::U64(json.as_u64().ok_or_else(refuse)?),
            PropertyType::Int64 => Value::I64(json.as_i64().ok_or_else(refuse)?),
            PropertyType::Float => Value::F32(json.as_f64().ok_or_else(refuse)? as f32),
            PropertyType::Double => Value::F64(json.as_f64().ok_or_else(refuse)?),
            PropertyType::Enum(inner, of) => match json.as_str() {
                // An entry by name, with or without the enum's.
                Some(name) => {
                    let (_, entry) = name.rsplit_once("::").unwrap_or(("", name));
                    let known = self.mappings.enumeration(of).ok_or_else(refuse)?;
                    let value = known.entries.iter().find(|(known, _)| {
                        known.rsplit("::").next().is_some_and(|known| known.eq_ignore_ascii_case(entry))
                    });
                    let (_, value) = value.ok_or_else(refuse)?;
                    self.value(inner, &Json::from(*value))?
                }
                None => self.value(inner, json)?,
            },
            PropertyType::Array(inner) => Value::List(self.values(inner, list()?)?),
            PropertyType::Set(inner) => Value::Set(self.values(inner, list()?)?),
            PropertyType::Map(key, value) => {
                let pair = |pair: &Json| {
                    let [first, second] = pair.as_array().ok_or_else(refuse)?.as_slice() else {
                        return Err(refuse());
                    };
                    Ok((self.value(key, first)?, self.value(value, second)?))
                };
                Value::Map(list()?.iter().map(pair).collect::<Result<_, _>>()?)
            }
            PropertyType::Optional(_) if json.is_null() => Value::Optional(None),
            PropertyType::Optional(inner) => Value::Optional(Some(Box::new(self.value(inner, json)?))),
            PropertyType::Utf8Str | PropertyType::AnsiStr => {
                Value::Bytes(json.as_str().ok_or_else(refuse)?.as_bytes().to_vec())
            }
            PropertyType::Struct(name) => match native(name) {
                Some([single]) => self.part(*single, json)?.ok_or_else(refuse)?,
                Some(parts) => self.group(parts, json)?.ok_or_else(refuse)?,
                None => {
                    let class = self.mappings.class(name)?;
                    let mut block = Block::new(class);
                    let fields = json.as_object().ok_or_else(refuse)?;
                    for (field, json) in fields.iter().filter(|(field, _)| !field.starts_with('#')) {
                        self.set_json(&mut block, field, json)?;
                    }
                    Value::Block(block)
                }
            },
            other => self.part(single_part(other), json)?.ok_or_else(refuse)?,
        })
    }

    fn values(&mut self, kind: &PropertyType, items: &[Json]) -> Result<Vec<Value>, EditError> {
        items.iter().map(|item| self.value(kind, item)).collect()
    }

    fn group(&mut self, parts: &[Part], json: &Json) -> Result<Option<Value>, EditError> {
        let Some(items) = json.as_array().filter(|items| items.len() == parts.len()) else {
            return Ok(None);
        };
        let mut values = Vec::with_capacity(parts.len());
        for (part, item) in parts.iter().zip(items) {
            let Some(value) = self.part(*part, item)? else { return Ok(None) };
            values.push(value);
        }
        Ok(Some(Value::Group(values)))
    }

    fn part(&mut self, part: Part, json: &Json) -> Result<Option<Value>, EditError> {
        Ok(match part {
            Part::U8 => whole(json).map(Value::U8),
            Part::I8 => whole(json).map(Value::I8),
            Part::I32 => whole(json).map(Value::I32),
            Part::I64 => json.as_i64().map(Value::I64),
            Part::F32 => json.as_f64().map(|number| Value::F32(number as f32)),
            Part::F64 => json.as_f64().map(Value::F64),
            Part::Bool32 | Part::NoOptions => truth(json).map(Value::Bool32),
            Part::Guid => json.as_str().and_then(guid).map(Value::Guid),
            Part::Object => whole(json).map(Value::Object),
            Part::Str => json.as_str().map(|text| Value::Str(Str::new(text))),
            Part::Name => match json.as_str() {
                Some(text) => Some(Value::Name(self.name(text)?)),
                None => None,
            },
            Part::Soft => match json.as_str() {
                Some(path) => Some(self.soft(path)?),
                None => None,
            },
            Part::Text => match json.as_str() {
                Some(text) => Some(Value::Text(Box::new(Text::invariant(text)))),
                None => self.text(json)?,
            },
            Part::Optional(_) if json.is_null() => Some(Value::Optional(None)),
            Part::Optional(inner) => {
                self.part(*inner, json)?.map(|value| Value::Optional(Some(Box::new(value))))
            }
            Part::List(parts) => {
                let Some(items) = json.as_array() else { return Ok(None) };
                let mut values = Vec::with_capacity(items.len());
                for item in items {
                    let value = match parts {
                        [single] => self.part(*single, item)?,
                        parts => self.group(parts, item)?,
                    };
                    let Some(value) = value else { return Ok(None) };
                    values.push(value);
                }
                Some(Value::List(values))
            }
            Part::Delegate => self.group(&[Part::Object, Part::Name], json)?,
            Part::FieldPath => self.group(&[Part::List(&[Part::Name]), Part::Object], json)?,
            // These are carried along, not made.
            Part::Argument | Part::Block | Part::Instanced => None,
        })
    }

    fn text(&mut self, json: &Json) -> Result<Option<Value>, EditError> {
        let number = json["history"].as_i64().and_then(|number| i8::try_from(number).ok());
        let (Some(flags), Some(number)) = (whole(&json["flags"]), number) else { return Ok(None) };
        let Some(parts) = history(number) else { return Ok(None) };
        let Some(Value::Group(parts)) = self.group(parts, &json["values"])? else { return Ok(None) };
        Ok(Some(Value::Text(Box::new(Text { flags, history: number, parts }))))
    }

    fn soft(&mut self, path: &str) -> Result<Value, NameError> {
        let (path, below) = path.split_once(':').unwrap_or((path, ""));
        let (package, asset) = path.split_once('.').unwrap_or((path, ""));
        let mut name = |text: &str| self.name(if text.is_empty() { "None" } else { text });
        Ok(Value::Soft(Box::new((name(package)?, name(asset)?, Str::below(below, self.form)))))
    }
}

/// The part that a value of a simple type consists of.
fn single_part(kind: &PropertyType) -> Part {
    match kind {
        PropertyType::Name => Part::Name,
        PropertyType::LazyObject => Part::Guid,
        PropertyType::SoftObject | PropertyType::AssetObject => Part::Soft,
        PropertyType::Str => Part::Str,
        PropertyType::Text => Part::Text,
        PropertyType::Delegate => Part::Delegate,
        PropertyType::MulticastDelegate => Part::List(&[Part::Object, Part::Name]),
        PropertyType::FieldPath => Part::FieldPath,
        _ => Part::Object,
    }
}

fn whole<T: TryFrom<i64>>(json: &Json) -> Option<T> {
    T::try_from(json.as_i64()?).ok()
}

fn truth(json: &Json) -> Option<bool> {
    json.as_bool().or_else(|| match json.as_i64() {
        Some(0) => Some(false),
        Some(1) => Some(true),
        _ => None,
    })
}

fn guid(text: &str) -> Option<[u8; 16]> {
    let mut bytes = [0; 16];
    if text.len() != 32 || !text.is_ascii() {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(bytes)
}
