//! Strict JSON: one reading of every text, and a cursor that collects all faults with their pointers.
//!
//! `serde_json` parses; on top of it keys may not repeat and integers stay apart from reals. It already
//! refuses byte-order marks, broken UTF-8, lone surrogates, numbers beyond f64 and nesting beyond 127.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// A parsed text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    /// A number without fraction or exponent.
    Integer(i128),
    Real(f64),
    Text(String),
    Array(Vec<Value>),
    Object(BTreeMap<String, Value>),
}

/// Parses `bytes`, of which there may be at most `most`.
pub(crate) fn parse(bytes: &[u8], most: usize) -> Result<Value, String> {
    if bytes.len() > most {
        return Err(format!("{} bytes of JSON; at most {most} are allowed", bytes.len()));
    }
    serde_json::from_slice(bytes).map_err(|error| format!("not valid JSON: {error}"))
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Integer(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Integer(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Real(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut object = BTreeMap::new();
        while let Some((key, value)) = map.next_entry::<String, Value>()? {
            if object.contains_key(&key) {
                return Err(A::Error::custom(format!("key `{key}` occurs twice")));
            }
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

/// One fault of a document: where it is, what was found, what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{at}`: {message}")]
pub struct Fault {
    /// The JSON pointer of the field at fault; empty for the whole document.
    pub at: String,
    /// What was found and what is allowed.
    pub message: String,
    /// Whether it is nothing wrong, but something that only a newer version could understand.
    pub unsupported: bool,
}

/// All faults of a document, in the order in which they were found.
#[derive(Debug, Default)]
pub(crate) struct Faults(pub(crate) Vec<Fault>);

impl Faults {
    pub(crate) fn add(&mut self, at: &str, message: impl Into<String>) {
        self.push(at, message.into(), false);
    }

    pub(crate) fn unsupported(&mut self, at: &str, message: impl Into<String>) {
        self.push(at, message.into(), true);
    }

    fn push(&mut self, at: &str, message: String, unsupported: bool) {
        self.0.push(Fault { at: at.to_owned(), message, unsupported });
    }
}

/// A place in a document: its pointer, and the value there unless it is missing. The typed readers add a
/// fault and give `None` for what is missing or wrong.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'v> {
    value: Option<&'v Value>,
    pub(crate) at: String,
}

impl<'v> Cursor<'v> {
    /// The whole of `value`.
    pub(crate) fn root(value: &'v Value) -> Self {
        Self { value: Some(value), at: String::new() }
    }

    /// The field `name`, there or not.
    pub(crate) fn field(&self, name: &str) -> Self {
        let value = match self.value {
            Some(Value::Object(object)) => object.get(name),
            _ => None,
        };
        Self { value, at: format!("{}/{}", self.at, escaped(name)) }
    }

    /// The field, if the object has it, be it null.
    pub(crate) fn optional(&self, name: &str) -> Option<Self> {
        Some(self.field(name)).filter(|field| field.value.is_some())
    }

    /// The field, if the object has it and it is not null.
    pub(crate) fn nullable(&self, name: &str) -> Option<Self> {
        self.optional(name).filter(|field| !matches!(field.value, Some(Value::Null)))
    }

    pub(crate) fn object(&self, faults: &mut Faults) -> Option<&'v BTreeMap<String, Value>> {
        match self.value {
            Some(Value::Object(object)) => Some(object),
            _ => self.wrong(faults, "an object"),
        }
    }

    /// Refuses fields of an object that are not among `known`.
    pub(crate) fn only(&self, known: &[&str], faults: &mut Faults) {
        if let Some(Value::Object(object)) = self.value {
            for name in object.keys().filter(|name| !known.contains(&name.as_str())) {
                let message = format!("unknown field; only `{}` are allowed", known.join("`, `"));
                faults.add(&self.field(name).at, message);
            }
        }
    }

    /// The items of an array of a length in `lengths`.
    pub(crate) fn items(&self, lengths: RangeInclusive<usize>, faults: &mut Faults) -> Option<Vec<Self>> {
        let Some(Value::Array(items)) = self.value else {
            return self.wrong(faults, "an array");
        };
        if !lengths.contains(&items.len()) {
            let allowed = format!("an array of {} items", bounds(&lengths));
            return self.wrong(faults, &allowed);
        }
        let item = |(index, value)| Self { value: Some(value), at: format!("{}/{index}", self.at) };
        Some(items.iter().enumerate().map(item).collect())
    }

    /// A string of a length in `lengths`, in UTF-16 units.
    pub(crate) fn text(&self, lengths: RangeInclusive<usize>, faults: &mut Faults) -> Option<&'v str> {
        match self.value {
            Some(Value::Text(text)) if lengths.contains(&text.encode_utf16().count()) => Some(text),
            _ => {
                let allowed = format!("a string of {} characters", bounds(&lengths));
                self.wrong(faults, &allowed)
            }
        }
    }

    /// A string that `accepts`; `allowed` describes it.
    pub(crate) fn matching(
        &self,
        accepts: impl Fn(&str) -> bool,
        allowed: &str,
        faults: &mut Faults,
    ) -> Option<&'v str> {
        match self.value {
            Some(Value::Text(text)) if accepts(text) => Some(text),
            _ => self.wrong(faults, allowed),
        }
    }

    /// The value, if it is a string.
    pub(crate) fn as_text(&self) -> Option<&'v str> {
        match self.value {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn bool(&self, faults: &mut Faults) -> Option<bool> {
        match self.value {
            Some(Value::Bool(value)) => Some(*value),
            _ => self.wrong(faults, "true or false"),
        }
    }

    /// An integer token in `range`.
    pub(crate) fn integer(&self, range: RangeInclusive<i128>, faults: &mut Faults) -> Option<i128> {
        match self.value {
            Some(Value::Integer(value)) if range.contains(value) => Some(*value),
            _ if range.start() == range.end() => {
                self.wrong(faults, &format!("the integer {}", range.start()))
            }
            _ => {
                let allowed = format!("an integer from {} to {}", range.start(), range.end());
                self.wrong(faults, &allowed)
            }
        }
    }

    /// The value, if it is an integer token.
    pub(crate) fn as_integer(&self) -> Option<i128> {
        match self.value {
            Some(Value::Integer(value)) => Some(*value),
            _ => None,
        }
    }

    /// A number that `accepts`.
    pub(crate) fn number(
        &self,
        accepts: impl Fn(f64) -> bool,
        allowed: &str,
        faults: &mut Faults,
    ) -> Option<f64> {
        match self.as_number().filter(|value| accepts(*value)) {
            None => self.wrong(faults, allowed),
            found => found,
        }
    }

    /// Three numbers that each `accepts`; a fault is the whole array's.
    pub(crate) fn vector(
        &self,
        accepts: impl Fn(f64) -> bool,
        allowed: &str,
        faults: &mut Faults,
    ) -> Option<[f64; 3]> {
        let vector = match self.value {
            Some(Value::Array(items)) => items
                .iter()
                .map(|value| number_of(value).filter(|value| accepts(*value)))
                .collect::<Option<Vec<f64>>>()
                .and_then(|numbers| <[f64; 3]>::try_from(numbers).ok()),
            _ => None,
        };
        match vector {
            None => self.wrong(faults, &format!("three numbers, each {allowed}")),
            found => found,
        }
    }

    fn as_number(&self) -> Option<f64> {
        self.value.and_then(number_of)
    }

    fn wrong<T>(&self, faults: &mut Faults, allowed: &str) -> Option<T> {
        let found = match self.value {
            None => "missing".to_owned(),
            Some(value) => format!("{} found", described(value)),
        };
        faults.add(&self.at, format!("{found}; it must be {allowed}"));
        None
    }
}

fn number_of(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(value) => Some(*value as f64),
        Value::Real(value) => Some(*value),
        _ => None,
    }
}

/// A range of lengths in words.
fn bounds(lengths: &RangeInclusive<usize>) -> String {
    match (*lengths.start(), *lengths.end()) {
        (0, usize::MAX) => "any number of".to_owned(),
        (start, end) => format!("{start} to {end}"),
    }
}

/// What a value is, short enough for a message.
fn described(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Integer(value) => value.to_string(),
        Value::Real(value) => format!("{value:?}"),
        Value::Text(text) if text.chars().count() <= 64 => format!("{text:?}"),
        Value::Text(text) => format!("a string of {} characters", text.encode_utf16().count()),
        Value::Array(items) => format!("an array of {} items", items.len()),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// A field name as a JSON pointer holds it.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_reading_or_none() {
        for wrong in [
            &b"\xef\xbb\xbf{}"[..],
            b"{\"a\":1,\"a\":1}",
            b"[{\"a\":{\"b\":1,\"\\u0062\":2}}]",
            b"\"\\ud800\"",
            b"\"\\udc00\"",
            b"\"\xff\"",
            b"1e999",
            b"{} {}",
            b"[1,]",
            b"NaN",
            b"01",
            b"",
        ] {
            let found = parse(wrong, 100);
            assert!(found.is_err(), "{} gives {found:?}", wrong.escape_ascii());
        }
        let nested = |depth| [b"[".repeat(depth), b"]".repeat(depth)].concat();
        assert!(parse(&nested(127), 1000).is_ok());
        assert!(parse(&nested(128), 1000).is_err());
        assert!(parse(b"[]", 2).is_ok());
        assert!(parse(b"[] ", 2).is_err());
    }

    #[test]
    fn integers_are_tokens_without_fraction() {
        let value = parse(b"[1, 1.0, 1e0, -7, 18446744073709551615]", 100).unwrap();
        assert_eq!(
            value,
            Value::Array(vec![
                Value::Integer(1),
                Value::Real(1.0),
                Value::Real(1.0),
                Value::Integer(-7),
                Value::Integer(u64::MAX.into()),
            ])
        );
    }

    #[test]
    fn pointers_escape_names() {
        let value = parse(b"{\"a\":{\"~/\":1}}", 100).unwrap();
        let mut faults = Faults::default();
        Cursor::root(&value).field("a").only(&["x"], &mut faults);
        let at: Vec<_> = faults.0.iter().map(|fault| fault.at.as_str()).collect();
        assert_eq!(at, ["/a/~0~1"]);
    }
}
