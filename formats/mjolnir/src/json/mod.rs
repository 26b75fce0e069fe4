//! Strict JSON: a cursor over a parsed text that collects all faults with their pointers.
//!
//! It knows no document. Its invariant: what it gives is within the bounds that it was asked for, and a value
//! that it does not give has left a fault.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod parse;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

pub(crate) use parse::{Value, parse};

const MOST_FAULTS: usize = 1000;

/// One fault of a document: where it is, what was found, what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", place(.at))]
pub struct Fault {
    /// The JSON pointer of the field at fault; empty for the whole document.
    pub at: String,
    /// What was found and what is allowed.
    pub message: String,
    /// Whether it is nothing wrong, but something that only a newer version could understand.
    pub unsupported: bool,
}

/// What a message starts with; the whole document needs no place.
fn place(at: &str) -> String {
    if at.is_empty() { String::new() } else { format!("`{at}`: ") }
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

    /// Of a document that is wrong everywhere nobody reads to the end, so not all of it is kept.
    fn push(&mut self, at: &str, message: String, unsupported: bool) {
        if self.0.len() < MOST_FAULTS {
            self.0.push(Fault { at: at.to_owned(), message, unsupported });
        }
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
        let found = self.as_integer().filter(|value| range.contains(value));
        if found.is_some() {
            return found;
        }
        if range.start() == range.end() {
            return self.wrong(faults, &format!("the integer {}", range.start()));
        }
        self.wrong(faults, &format!("an integer from {} to {}", range.start(), range.end()))
    }

    /// The value, if it is an integer token.
    pub(crate) fn as_integer(&self) -> Option<i128> {
        match self.value {
            Some(Value::Number(number)) => number.integer,
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
        Value::Number(number) => Some(number.real),
        _ => None,
    }
}

/// A range of lengths in words.
fn bounds(lengths: &RangeInclusive<usize>) -> String {
    match (*lengths.start(), *lengths.end()) {
        (0, usize::MAX) => "any number of".to_owned(),
        (start, usize::MAX) => format!("at least {start}"),
        (start, end) => format!("{start} to {end}"),
    }
}

/// What a value is, short enough for a message.
fn described(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => match number.integer {
            Some(value) => value.to_string(),
            None => format!("{:?}", number.real),
        },
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

/// Reads a document of at most `longest` bytes whole: what `read` makes of it, or all its faults.
pub(crate) fn read_document<T>(
    bytes: &[u8],
    longest: usize,
    read: impl FnOnce(&Cursor<'_>, &mut Faults) -> Option<T>,
) -> Result<T, Vec<Fault>> {
    let mut faults = Faults::default();
    let read = match parse(bytes, longest) {
        Ok(value) => read(&Cursor::root(&value), &mut faults),
        Err(message) => {
            faults.add("", message);
            None
        }
    };
    read.filter(|_| faults.0.is_empty()).ok_or(faults.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_escape_names() {
        let value = parse(b"{\"a\":{\"~/\":1}}", 100).unwrap();
        let mut faults = Faults::default();
        Cursor::root(&value).field("a").only(&["x"], &mut faults);
        let at: Vec<_> = faults.0.iter().map(|fault| fault.at.as_str()).collect();
        assert_eq!(at, ["/a/~0~1"]);
    }
}
