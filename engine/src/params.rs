//! [`Params`]: the parameters of an action in one canonical form, and what can be wrong with them.
//!
//! The engine hashes the whole of them; no rule chooses what enters an identity, so none can forget.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::{Number, Value};

/// Parameters: a table with sorted keys. Numbers have one form: a float that is a whole number below
/// 2^53 is that whole number. Floats are finite.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Params(BTreeMap<String, Value>);

impl Params {
    /// Brings a table into the canonical form.
    pub fn new(table: impl IntoIterator<Item = (String, Value)>) -> Self {
        Self(table.into_iter().map(|(key, value)| (key, canonical(value))).collect())
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// All keys with their values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.0.iter()
    }

    /// The parameters as one JSON value.
    pub fn to_value(&self) -> Value {
        Value::Object(self.0.clone().into_iter().collect())
    }

    /// Reads them as the type that a rule declares.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, ParamError> {
        serde_path_to_error::deserialize(self.to_value()).map_err(|error| {
            let path = error.path().iter().filter_map(Segment::from_serde).collect();
            ParamError::new(path, error.inner().to_string())
        })
    }

    /// The canonical text: JSON without spaces, keys sorted by bytes.
    pub fn canonical_text(&self) -> String {
        self.to_value().to_string()
    }

    /// Reads what [`Params::canonical_text`] wrote.
    pub fn from_canonical_text(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text).map(Self)
    }
}

fn canonical(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::Number(one_form(number)),
        Value::Array(items) => items.into_iter().map(canonical).collect(),
        Value::Object(table) => table.into_iter().map(|(key, value)| (key, canonical(value))).collect(),
        other => other,
    }
}

fn one_form(number: Number) -> Number {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < EXACT => {
            Number::from(float as i64)
        }
        _ => number,
    }
}

/// One step into nested parameters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Segment {
    /// A key of a table.
    Key(String),
    /// A place in a list, from 0.
    Index(usize),
}

impl Segment {
    fn from_serde(segment: &serde_path_to_error::Segment) -> Option<Self> {
        use serde_path_to_error::Segment as S;
        match segment {
            S::Seq { index } => Some(Self::Index(*index)),
            S::Map { key } => Some(Self::Key(key.clone())),
            S::Enum { .. } | S::Unknown => None,
        }
    }
}

/// A path as people write it: `mips.filter`, `blocks[3].id`.
pub fn display_path(path: &[Segment]) -> String {
    let mut text = String::new();
    for segment in path {
        match segment {
            Segment::Key(key) if text.is_empty() => text += key,
            Segment::Key(key) => text += &format!(".{key}"),
            Segment::Index(index) => text += &format!("[{index}]"),
        }
    }
    text
}

/// Something wrong with parameters: where, what, and what is allowed. Recipes turn the path into a line
/// and a caret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamError {
    /// The place; the table itself when empty.
    pub path: Vec<Segment>,
    /// What was found, without a final period.
    pub message: String,
    /// What is allowed, for the caret's label.
    pub expected: Option<String>,
    /// How to mend it.
    pub hint: Option<String>,
    /// Whether the key is at fault rather than its value.
    pub at_key: bool,
    /// The hub's or packer's code, where there is one.
    pub code: Option<&'static str>,
}

impl ParamError {
    /// An error at `path`.
    pub fn new(path: Vec<Segment>, message: impl Into<String>) -> Self {
        Self { path, message: message.into(), expected: None, hint: None, at_key: false, code: None }
    }

    /// An error in the parameter `key`.
    pub fn at(key: &str, message: impl Into<String>) -> Self {
        Self::new(vec![Segment::Key(key.to_owned())], message)
    }
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "`{}`: ", display_path(&self.path))?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ParamError {}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn params(value: Value) -> Params {
        let Value::Object(table) = value else { panic!("a table") };
        Params::new(table)
    }

    #[test]
    fn equal_parameters_have_one_text() {
        let one = params(json!({"b": 2.0, "a": {"y": [1e3, 0.5], "x": null}}));
        let two = params(json!({"a": {"x": null, "y": [1000, 5e-1]}, "b": 2}));
        assert_eq!(one.canonical_text(), r#"{"a":{"x":null,"y":[1000,0.5]},"b":2}"#);
        assert_eq!(one, two);
        assert_eq!(Params::from_canonical_text(&one.canonical_text()).unwrap(), one);
        assert_eq!(params(json!({"z": -0.0})).canonical_text(), r#"{"z":0}"#);
    }

    #[test]
    fn a_wrong_type_is_named_by_its_path() {
        #[derive(Debug, serde::Deserialize)]
        struct Wanted {
            #[allow(dead_code, reason = "only its type matters")]
            list: Vec<u8>,
        }
        let error = params(json!({"list": [1, 300]})).read::<Wanted>().unwrap_err();
        assert_eq!(display_path(&error.path), "list[1]");
    }
}
