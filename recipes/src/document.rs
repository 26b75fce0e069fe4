//! [`Document`]: a TOML text as plain values, with a table that says where each of them stands.
//!
//! It knows no recipe. All mistakes of syntax are reported; a document that has some is not `readable`, and
//! nothing else is said of it: what is missing in it may just stand behind a mistake.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use engine::params::Segment;
use serde_json::{Map, Number, Value};
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use crate::diagnostic::{Diagnostic, Place, SourceFile};

/// A place inside nested tables and lists.
pub(crate) type Path = Vec<Segment>;

/// The segment of a key.
pub(crate) fn key(name: &str) -> Segment {
    Segment::Key(name.to_owned())
}

/// A path of keys.
pub(crate) fn keys(names: &[&str]) -> Path {
    names.iter().copied().map(key).collect()
}

/// A TOML text that was read.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) file: Arc<SourceFile>,
    pub(crate) value: Value,
    /// Whether all of it could be read. Otherwise nothing is to be concluded from what is missing.
    pub(crate) readable: bool,
    spans: BTreeMap<Path, Spans>,
}

#[derive(Debug)]
struct Spans {
    key: Option<Range<usize>>,
    value: Range<usize>,
}

impl Document {
    /// Reads a text. What is wrong with it is said; the rest is kept.
    pub(crate) fn parse(path: impl Into<String>, text: impl Into<String>) -> (Self, Vec<Diagnostic>) {
        let file = Arc::new(SourceFile { path: path.into(), text: text.into() });
        let (table, errors) = DeTable::parse_recoverable(&file.text);
        let mut builder = Builder { file: &file, spans: BTreeMap::new(), diagnostics: Vec::new() };
        let value = builder.table(table.get_ref(), &mut Vec::new());
        let Builder { spans, mut diagnostics, .. } = builder;
        if !errors.is_empty() {
            diagnostics = syntax(&file, errors);
        }
        let readable = diagnostics.is_empty();
        (Self { value, spans, readable, file: Arc::clone(&file) }, diagnostics)
    }

    /// The value at a path.
    pub(crate) fn get(&self, path: &[Segment]) -> Option<&Value> {
        path.iter().try_fold(&self.value, |value, segment| match segment {
            Segment::Key(key) => value.get(key),
            Segment::Index(index) => value.get(index),
        })
    }

    /// Whether something stands at a path.
    pub(crate) fn has(&self, path: &[Segment]) -> bool {
        self.spans.contains_key(path)
    }

    /// Where the key of a path stands; where it would stand, for what is not there.
    pub(crate) fn key_place(&self, path: &[Segment]) -> Place {
        self.place(path, |spans| spans.key.clone().unwrap_or_else(|| spans.value.clone()))
    }

    /// Where the value of a path stands; its key, where the value takes several lines.
    pub(crate) fn value_place(&self, path: &[Segment]) -> Place {
        self.place(path, |spans| {
            let lines = self.file.text.get(spans.value.clone()).is_some_and(|text| text.contains('\n'));
            spans.key.clone().filter(|_| lines).unwrap_or_else(|| spans.value.clone())
        })
    }

    fn place(&self, path: &[Segment], pick: impl Fn(&Spans) -> Range<usize>) -> Place {
        let mut prefixes = (0..=path.len()).rev().filter_map(|length| self.spans.get(path.get(..length)?));
        let mut span = prefixes.next().map_or(0..0, pick);
        // Carets under one line say enough.
        if let Some(line) = self.file.text.get(span.clone()).and_then(|text| text.find('\n')) {
            span.end = span.start + line;
        }
        Place { file: Arc::clone(&self.file), span }
    }
}

/// Mistakes of syntax, in order; of those of one line, the first: the others follow from it.
fn syntax(file: &Arc<SourceFile>, errors: Vec<toml::de::Error>) -> Vec<Diagnostic> {
    let end = file.text.len();
    let mut found = BTreeMap::new();
    for error in errors {
        let place = Place { file: Arc::clone(file), span: error.span().unwrap_or(end..end) };
        let (line, column) = place.line_and_column();
        let diagnostic = Diagnostic::error(format!("not TOML: {}", error.message())).at(place);
        found.entry((line, column)).or_insert(diagnostic);
    }
    let mut last = 0;
    found.retain(|(line, _), _| std::mem::replace(&mut last, *line) != *line);
    found.into_values().collect()
}

struct Builder<'a> {
    file: &'a Arc<SourceFile>,
    spans: BTreeMap<Path, Spans>,
    diagnostics: Vec<Diagnostic>,
}

impl Builder<'_> {
    fn table(&mut self, table: &DeTable<'_>, path: &mut Path) -> Value {
        let mut values = Map::new();
        for (name, value) in table {
            path.push(key(name.get_ref()));
            let converted = self.value(Some(name.span()), value, path);
            values.insert(name.get_ref().to_string(), converted);
            path.pop();
        }
        Value::Object(values)
    }

    fn value(&mut self, key: Option<Range<usize>>, value: &Spanned<DeValue<'_>>, path: &mut Path) -> Value {
        self.spans.insert(path.clone(), Spans { key, value: value.span() });
        match value.get_ref() {
            DeValue::String(text) => Value::String(text.to_string()),
            DeValue::Boolean(flag) => Value::Bool(*flag),
            DeValue::Integer(number) => self.number(integer(number), value, "it does not fit in 64 bits"),
            DeValue::Float(number) => {
                let number = number.as_str().parse().ok().and_then(Number::from_f64);
                self.number(number, value, "numbers here are finite")
            }
            DeValue::Datetime(time) => Value::String(time.to_string()),
            DeValue::Array(items) => {
                let mut values = Vec::new();
                for (index, item) in items.iter().enumerate() {
                    path.push(Segment::Index(index));
                    values.push(self.value(None, item, path));
                    path.pop();
                }
                Value::Array(values)
            }
            DeValue::Table(table) => self.table(table, path),
        }
    }

    fn number(&mut self, number: Option<Number>, value: &Spanned<DeValue<'_>>, allowed: &str) -> Value {
        let Some(number) = number else {
            let place = Place { file: Arc::clone(self.file), span: value.span() };
            self.diagnostics.push(Diagnostic::error("a number out of range").at(place).label(allowed));
            return Value::Null;
        };
        Value::Number(number)
    }
}

fn integer(number: &DeInteger<'_>) -> Option<Number> {
    i64::from_str_radix(number.as_str(), number.radix()).ok().map(Number::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::render;
    use serde_json::json;

    const TEXT: &str = "schema = 1\n[release]\nversion = \"1.0.0\"\n\n[[step]]\nname = \"a\"\n\
                        params.mips.filter = \"box\"\n[[step]]\nname = \"b\"\nlist = [\n 1,\n 2.5,\n]\n";

    fn shown(place: Place) -> String {
        let (line, column) = place.line_and_column();
        format!("{line}:{column} {}", &place.file.text[place.span])
    }

    #[test]
    fn each_value_knows_its_place() {
        let (document, errors) = Document::parse("x.toml", TEXT);
        assert_eq!(errors, []);
        assert_eq!(
            document.value,
            json!({"schema": 1, "release": {"version": "1.0.0"}, "step": [
                {"name": "a", "params": {"mips": {"filter": "box"}}}, {"name": "b", "list": [1, 2.5]}]})
        );
        let step = |index, rest: &[&str]| [vec![key("step"), Segment::Index(index)], keys(rest)].concat();
        assert_eq!(shown(document.value_place(&step(0, &["params", "mips", "filter"]))), "7:22 \"box\"");
        assert_eq!(shown(document.key_place(&step(0, &["params", "mips", "filter"]))), "7:13 filter");
        assert_eq!(shown(document.value_place(&step(1, &["list"]))), "10:1 list");
        assert_eq!(shown(document.key_place(&step(1, &["rule"]))), "8:1 [[step]]");
        assert_eq!(shown(document.key_place(&keys(&["release", "name"]))), "2:2 release");
        assert_eq!(shown(document.key_place(&keys(&["nothing"]))), "1:1 ");
    }

    #[test]
    fn texts_of_windows_editors_are_read() {
        let (document, errors) =
            Document::parse("x.toml", "\u{feff}schema = 1\r\n[release]\r\nname = \"x\"\r\n");
        assert_eq!(errors, []);
        assert_eq!(document.value, json!({"schema": 1, "release": {"name": "x"}}));
        assert_eq!(shown(document.value_place(&keys(&["release", "name"]))), "3:8 \"x\"");
    }

    #[test]
    fn all_syntax_mistakes_are_reported() {
        let (document, errors) = Document::parse("x.toml", "a = \nb = 2\nc = [1\nd = inf\n");
        assert!(!document.readable);
        insta::assert_snapshot!(render(&errors, false), @r#"
        error: not TOML: string values must be quoted, expected literal string
         --> x.toml:1:5
          |
        1 | a = 
          |     ^
        error: not TOML: missing comma between array elements, expected `,`
         --> x.toml:4:1
          |
        4 | d = inf
          | ^
        "#);
        let (_, errors) = Document::parse("x.toml", "a = inf\nb = 99999999999999999999\nc = 0x1F\n");
        insta::assert_snapshot!(render(&errors, false), @r#"
        error: a number out of range
         --> x.toml:1:5
          |
        1 | a = inf
          |     ^^^ numbers here are finite
        error: a number out of range
         --> x.toml:2:5
          |
        2 | b = 99999999999999999999
          |     ^^^^^^^^^^^^^^^^^^^^ it does not fit in 64 bits
        "#);
    }
}
