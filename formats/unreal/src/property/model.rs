//! What properties are once read. Values know their own form, so that writing asks nobody.

use std::sync::Arc;

use crate::package::{Form, Name, NameRef, Package, join_number};
use crate::usmap::{Class, Mappings};

/// What a reader of properties allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many values an object may have, those inside of others included.
    pub values: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { values: 1 << 20 }
    }
}

/// What values are read by: the mappings, and what the package has that they refer to.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The classes and structs.
    pub mappings: &'a Mappings,
    /// The form of the package: later engines store some paths otherwise.
    pub form: Form,
    /// The names of the package.
    pub names: &'a [Name],
    /// How many imports and exports it has; `None` when that is not known.
    pub objects: Option<(usize, usize)>,
    /// What is allowed.
    pub limits: Limits,
}

impl<'a> Context<'a> {
    /// For the exports of `package`.
    pub fn of(package: &'a Package, mappings: &'a Mappings) -> Self {
        Self {
            mappings,
            form: package.form,
            names: &package.names,
            objects: Some((package.imports.len(), package.exports.len())),
            limits: Limits::default(),
        }
    }

    /// The text of `name`; empty when it is out of range.
    pub fn text(&self, name: NameRef) -> String {
        join_number(self.names.get(name.index as usize).map_or("", Name::text), name.number)
    }
}

/// The properties of an object or struct that are not as in its class.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// The class or struct.
    pub class: Arc<str>,
    /// How many slots that has.
    pub slots: u32,
    /// What is there, ascending by slot.
    pub entries: Vec<Entry>,
}

/// A value and the slot that it stands in.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The slot.
    pub slot: u32,
    /// The value; [`Value::Zero`] takes no bytes.
    pub value: Value,
}

/// A value of a property, or a part of one.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "numbers are what they are called")]
pub enum Value {
    /// Present, all zero, and without bytes of its own: false, 0, none, empty.
    Zero,
    Bool(bool),
    /// A bool of four bytes.
    Bool32(bool),
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    U64(u64),
    I64(i64),
    F32(f32),
    F64(f64),
    Guid([u8; 16]),
    Name(NameRef),
    /// `k` for export `k - 1`, `-k` for import `k - 1`, 0 for none.
    Object(i32),
    Str(Str),
    /// A string of single bytes, without an end mark.
    Bytes(Vec<u8>),
    Text(Box<Text>),
    /// Package, asset, and what in it.
    Soft(Box<(NameRef, NameRef, Str)>),
    Optional(Option<Box<Value>>),
    /// An array.
    List(Vec<Value>),
    Set(Vec<Value>),
    Map(Vec<(Value, Value)>),
    /// The parts of a struct that writes itself, of a delegate, of a path to a field.
    Group(Vec<Value>),
    /// A struct by its schema.
    Block(Block),
    /// A struct whose type stands before it: the type as an object, and the bytes.
    Instanced(i32, Vec<u8>),
}

/// A string (`FString`), in the form in which it was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Str {
    text: String,
    form: StrForm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StrForm {
    /// Length 0 alone.
    Empty,
    /// Bytes and an end mark.
    Narrow,
    /// UTF-16 and an end mark.
    Wide,
    /// UTF-8 without an end mark.
    Utf8,
}

impl Str {
    /// `text` as the engine stores it.
    pub fn new(text: &str) -> Self {
        let form = match text {
            "" => StrForm::Empty,
            text if text.is_ascii() => StrForm::Narrow,
            _ => StrForm::Wide,
        };
        Self { text: text.to_owned(), form }
    }

    /// `text` as what a path of a package of this `form` leads to below its asset.
    pub(super) fn below(text: &str, form: Form) -> Self {
        match form {
            Form::Ue56 if !text.is_empty() => Self { text: text.to_owned(), form: StrForm::Utf8 },
            _ => Self::new(text),
        }
    }

    pub(super) fn stored(text: String, form: StrForm) -> Self {
        Self { text, form }
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn form(&self) -> StrForm {
        self.form
    }
}

/// A text that may be translated (`FText`).
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    /// Its flags.
    pub flags: u32,
    /// Where it comes from: -1 nowhere, 0 a source text, 11 a string table, and so on.
    pub history: i8,
    /// What that says.
    pub parts: Vec<Value>,
}

impl Text {
    /// A text that is never translated.
    pub fn invariant(text: &str) -> Self {
        let text = Value::Str(Str::new(text));
        Self { flags: 2, history: -1, parts: vec![Value::Optional(Some(Box::new(text)))] }
    }
}

impl Block {
    /// The block of a `class` of which nothing differs.
    pub fn new(class: Class<'_>) -> Self {
        Self { class: Arc::from(class.name()), slots: class.slots(), entries: Vec::new() }
    }

    /// The value in `slot`.
    pub fn get(&self, slot: u32) -> Option<&Value> {
        let at = self.entries.binary_search_by_key(&slot, |entry| entry.slot).ok()?;
        self.entries.get(at).map(|entry| &entry.value)
    }

    /// Puts `value` into `slot`, whether there was one or not.
    pub fn put(&mut self, slot: u32, value: Value) {
        match self.entries.binary_search_by_key(&slot, |entry| entry.slot) {
            Ok(at) => self.entries[at].value = value,
            Err(at) => self.entries.insert(at, Entry { slot, value }),
        }
    }

    /// The value of the property `name`, without case, as `mappings` number it.
    pub fn find(&self, mappings: &Mappings, name: &str) -> Option<&Value> {
        self.get(mappings.class(&self.class).ok()?.find(name)?)
    }
}

/// An export: its properties, and what its class wrote after them.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// Bytes before the properties: four zeros in the game's tags, else none.
    pub lead: Vec<u8>,
    /// The properties.
    pub block: Block,
    /// Bytes up to here are lead and properties.
    pub properties_end: usize,
    /// What follows: for most objects a word that says whether a GUID does, then what the class wrote.
    pub tail: Vec<u8>,
}
