//! Changes values by path.
//!
//! A path names properties from the outside in: `ExtendedBounds.BoxExtent`, `StaticMaterials[0].MaterialSlotName`;
//! `[+]` adds to an array. Structs on the way are made where they are absent, nothing else is. Whatever is
//! put somewhere has been read back as what belongs there.

use serde_json::Value as Json;
use wire::{ReadError, Reader, Writer};

use super::layout::native;
use super::model::*;
use crate::package::{Form, Name, NameError, NameRef, Package, SpliceError, intern};
use crate::usmap::{Mappings, NoSchema, PropertyType};

/// Why a value was not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The path leads nowhere.
    #[error("`{path}`: {problem}")]
    Path {
        /// The path, or how far it was followed.
        path: String,
        /// Why it does not go on.
        problem: String,
    },
    /// The data does not make such a value.
    #[error("{found} makes no {expected}")]
    Data {
        /// The type, or what else was needed.
        expected: String,
        /// The data.
        found: String,
    },
    /// The package has no such export.
    #[error("there is no export {0}")]
    NoExport(usize),
    /// The export cannot be given other bytes.
    #[error(transparent)]
    Splice(#[from] SpliceError),
    /// The class or a struct is unknown.
    #[error(transparent)]
    NoSchema(#[from] NoSchema),
    /// A name cannot be stored.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The value is not of the property's type, or the export could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

enum Step<'a> {
    Name(&'a str),
    At(usize),
    Append,
}

fn steps(path: &str) -> Result<Vec<Step<'_>>, EditError> {
    let problem = |problem: &str| EditError::Path { path: path.to_owned(), problem: problem.to_owned() };
    let mut steps = Vec::new();
    for segment in path.split('.') {
        let mut pieces = segment.split('[');
        let name = pieces.next().unwrap_or_default();
        if name.is_empty() {
            return Err(problem("a name is missing"));
        }
        steps.push(Step::Name(name));
        for piece in pieces {
            steps.push(match piece.strip_suffix(']') {
                Some("+") => Step::Append,
                Some(index) => Step::At(index.parse().map_err(|_| problem("an index is no number"))?),
                None => return Err(problem("a bracket is open")),
            });
        }
    }
    Ok(steps)
}

type Fault<'a> = &'a dyn Fn(String) -> EditError;

/// Sets the properties of export `export` of `package`, of which `lead` bytes precede those of its `class`:
/// each of `edits` is a path and what stands there, in the form in which values are shown. What lies behind
/// them moves. After an error the package is as it was.
pub fn edit_export<'a>(
    package: &mut Package,
    mappings: &Mappings,
    export: usize,
    class: &str,
    lead: usize,
    edits: impl IntoIterator<Item = (&'a str, &'a Json)>,
) -> Result<(), EditError> {
    let names = package.names.len();
    let edit = || {
        let bytes = package.export_data(export).ok_or(EditError::NoExport(export))?;
        let class = mappings.class(class)?;
        let mut object = Object::read(bytes, class, lead, &Context::of(package, mappings))?;
        let mut editor = Editor::of(package, mappings);
        for (path, json) in edits {
            editor.set_json(&mut object.block, path, json)?;
        }
        package.splice_export(export, 0..object.properties_end, &object.properties())?;
        Ok(())
    };
    let done = edit();
    if done.is_err() {
        package.names.truncate(names);
    }
    done
}

/// Changes values of a package's exports, and adds the names that they need.
#[derive(Debug)]
pub struct Editor<'a> {
    /// The classes and structs.
    pub mappings: &'a Mappings,
    /// The form of the package.
    pub form: Form,
    /// How many imports and exports it has; `None` when that is not known.
    pub objects: Option<(usize, usize)>,
    /// Its names; new ones are put at the end.
    pub names: &'a mut Vec<Name>,
}

/// What is put somewhere.
#[derive(Clone, Copy)]
enum New<'a> {
    Value(&'a Value),
    Json(&'a Json),
}

impl<'a> Editor<'a> {
    /// For the exports of `package`.
    pub fn of(package: &'a mut Package, mappings: &'a Mappings) -> Self {
        let objects = Some((package.imports.len(), package.exports.len()));
        Self { mappings, form: package.form, objects, names: &mut package.names }
    }

    /// What values are read by, with the names as they are now.
    pub fn context(&self) -> Context<'_> {
        let Self { mappings, form, objects, .. } = *self;
        Context { mappings, form, names: self.names, objects, limits: Limits::default() }
    }

    /// The reference for the name `text`, which is added where it is missing.
    pub fn name(&mut self, text: &str) -> Result<NameRef, NameError> {
        intern(self.names, text)
    }

    /// Puts `value` to where `path` leads in `block`.
    pub fn set(&mut self, block: &mut Block, path: &str, value: &Value) -> Result<(), EditError> {
        self.edit(block, path, New::Value(value))
    }

    /// Puts what `json` describes, in the form in which values are shown, to where `path` leads in `block`.
    pub fn set_json(&mut self, block: &mut Block, path: &str, json: &Json) -> Result<(), EditError> {
        self.edit(block, path, New::Json(json))
    }

    fn edit(&mut self, block: &mut Block, path: &str, new: New<'_>) -> Result<(), EditError> {
        let fault = |problem: String| EditError::Path { path: path.to_owned(), problem };
        self.in_block(block, &steps(path)?, new, &fault)
    }

    fn in_block(
        &mut self,
        block: &mut Block,
        steps: &[Step<'_>],
        new: New<'_>,
        fault: Fault<'_>,
    ) -> Result<(), EditError> {
        let [Step::Name(name), rest @ ..] = steps else {
            return Err(fault(format!("`{}` has properties, no items", block.class)));
        };
        let class = self.mappings.class(&block.class)?;
        let unknown = || fault(format!("`{}` has no property `{name}`", block.class));
        let mut at = class.find(name).ok_or_else(unknown)?;
        let property = class.slot(at).ok_or_else(unknown)?.property;
        let mut rest = rest;
        if property.dimension > 1 {
            let [Step::At(element), after @ ..] = rest else {
                return Err(fault(format!("`{name}` has {} elements: say which", property.dimension)));
            };
            if *element >= usize::from(property.dimension) {
                return Err(fault(format!("element {element} of {} of `{name}`", property.dimension)));
            }
            at += *element as u32;
            rest = after;
        }
        let was_zero = block.get(at) == Some(&Value::Zero);
        let mut value = match block.get(at) {
            Some(Value::Zero) | None => self.absent(&property.kind, fault, rest)?,
            Some(value) => value.clone(),
        };
        self.in_value(&mut value, &property.kind, rest, new, fault)?;
        if is_masked(&property.kind, &value, was_zero, &self.context()) {
            value = Value::Zero;
        }
        block.put(at, value);
        Ok(())
    }

    /// What stands for a value that is not there, to go on into it.
    fn absent(&self, kind: &PropertyType, fault: Fault<'_>, rest: &[Step<'_>]) -> Result<Value, EditError> {
        match kind {
            _ if rest.is_empty() => Ok(Value::Zero),
            PropertyType::Array(_) => Ok(Value::List(Vec::new())),
            PropertyType::Struct(name) if native(name).is_none() => {
                Ok(Value::Block(Block::new(self.mappings.class(name)?)))
            }
            other => Err(fault(format!("there is no {other} yet: set the whole of it"))),
        }
    }

    fn in_value(
        &mut self,
        value: &mut Value,
        kind: &PropertyType,
        steps: &[Step<'_>],
        new: New<'_>,
        fault: Fault<'_>,
    ) -> Result<(), EditError> {
        match (steps, kind, value) {
            ([], _, value) => {
                let new = match new {
                    New::Value(value) => value.clone(),
                    New::Json(json) => self.value(kind, json)?,
                };
                *value = checked(new, kind, &self.context())?;
                Ok(())
            }
            ([Step::Name(_), ..], PropertyType::Struct(_), Value::Block(block)) => {
                self.in_block(block, steps, new, fault)
            }
            ([Step::At(at), rest @ ..], PropertyType::Array(inner), Value::List(values)) => {
                let n = values.len();
                let item = values.get_mut(*at).ok_or_else(|| fault(format!("item {at} of {n}")))?;
                self.in_value(item, inner, rest, new, fault)
            }
            ([Step::Append, rest @ ..], PropertyType::Array(inner), Value::List(values)) => {
                let mut item = self.absent(inner, fault, rest)?;
                self.in_value(&mut item, inner, rest, new, fault)?;
                values.push(item);
                Ok(())
            }
            (_, kind, _) => Err(fault(format!("nothing further is set in a value of type {kind}"))),
        }
    }
}

/// `value`, once it has been read back as a `kind`.
fn checked(value: Value, kind: &PropertyType, context: &Context<'_>) -> Result<Value, EditError> {
    let mut w = Writer::new();
    value.write(&mut w);
    let mut r = Reader::new(w.as_bytes(), "value");
    let read = Value::read(&mut r, kind, context)?;
    if r.remaining() > 0 || read != value {
        return Err(EditError::Data { expected: kind.to_string(), found: format!("{value:?}") });
    }
    Ok(value)
}

/// Whether the engine writes `value` as a zero without bytes. Of a bool the type does not tell: one that is a
/// bit among others has bytes, one that is a byte of its own has none, and bytes are always understood.
fn is_masked(kind: &PropertyType, value: &Value, was_zero: bool, context: &Context<'_>) -> bool {
    let is_zero = |part: &Value| matches!(part, Value::F64(part) if part.to_bits() == 0);
    match (kind, value) {
        // Of structs, those alone were seen masked.
        (PropertyType::Struct(_), Value::Guid(value)) => *value == [0; 16],
        (PropertyType::Struct(name), Value::Group(parts)) => {
            let plain = ["Vector", "Rotator", "Vector2D"];
            plain.iter().any(|plain| plain.eq_ignore_ascii_case(name)) && parts.iter().all(is_zero)
        }
        (PropertyType::Struct(_), _) => false,
        (_, Value::Zero) => true,
        (_, Value::Bool(value)) => !value && was_zero,
        (_, Value::F32(value)) => value.to_bits() == 0,
        (_, Value::F64(value)) => value.to_bits() == 0,
        (_, Value::Name(name)) => name.number == 0 && context.text(*name) == "None",
        (_, Value::U8(0) | Value::I8(0) | Value::U16(0) | Value::I16(0) | Value::U32(0)) => true,
        (_, Value::I32(0) | Value::U64(0) | Value::I64(0) | Value::Object(0)) => true,
        _ => false,
    }
}
