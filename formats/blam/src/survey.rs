//! What lies across a whole tag: its references, its string ids, and what it holds but should not.
//!
//! Each is one walk from the root in the order of the bytes.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use std::collections::BTreeSet;
use std::fmt;
use std::ops::ControlFlow;

use wire::ReadError;

use crate::layout::*;
use crate::model::*;
use crate::value::*;

/// Something that the game accepts, but that its own tools would not have written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Where, in bytes from the start of the file.
    pub offset: u64,
    /// The field, such as `root.items[3].named`.
    pub field: String,
    /// What was found, and what was expected.
    pub message: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at offset {}: {}", self.field, self.offset, self.message)
    }
}

/// The way to a field: names, and indices of elements.
type Way<'a> = Vec<(&'a str, Option<u32>)>;

fn shown(way: &Way<'_>) -> String {
    let parts: Vec<String> = way
        .iter()
        .map(|(name, index)| index.map_or((*name).to_owned(), |index| format!("{name}[{index}]")))
        .collect();
    parts.join(".")
}

/// What looks at a field, and says whether to go on.
type See<'s, 't, 'a> = dyn FnMut(&Way<'a>, &Field<'t, 'a>) -> Result<ControlFlow<()>, ReadError> + 's;

struct Walk<'s, 't, 'a> {
    way: Way<'a>,
    /// Whether structs whose fields have no sections are of interest.
    all: bool,
    see: &'s mut See<'s, 't, 'a>,
}

impl<'t, 'a> Walk<'_, 't, 'a> {
    fn scope(&mut self, scope: &Struct<'t, 'a>) -> Result<ControlFlow<()>, ReadError> {
        for field in scope.fields() {
            let field = field?;
            self.way.push((field.name(), None));
            let flow = self.field(&field)?;
            self.way.pop();
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn field(&mut self, field: &Field<'t, 'a>) -> Result<ControlFlow<()>, ReadError> {
        if (self.see)(&self.way, field)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        match field.def.kind {
            Kind::Struct => match field.value()? {
                Value::Struct(Some(scope)) if self.all || scope.def.sections > 0 => self.scope(&scope),
                _ => Ok(ControlFlow::Continue(())),
            },
            Kind::Array => match field.value()? {
                Value::Array(elements) => self.elements(elements),
                _ => Ok(ControlFlow::Continue(())),
            },
            Kind::Block => match field.value()? {
                Value::Block(Some(block)) => self.elements(block.elements()),
                _ => Ok(ControlFlow::Continue(())),
            },
            _ => Ok(ControlFlow::Continue(())),
        }
    }

    fn elements(&mut self, elements: Elements<'t, 'a>) -> Result<ControlFlow<()>, ReadError> {
        if !self.all && !elements.has_sections() {
            return Ok(ControlFlow::Continue(()));
        }
        for (index, element) in (0_u32..).zip(elements) {
            if let Some((_, place)) = self.way.last_mut() {
                *place = Some(index);
            }
            if self.scope(&element?)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

impl<'a> Tag<'a> {
    fn survey<'s, 't>(&'t self, all: bool, see: &'s mut See<'s, 't, 'a>) -> Result<(), ReadError> {
        let root = self.root()?;
        Walk { way: vec![("root", None)], all, see }.scope(&root).map(|_| ())
    }

    /// The references of the tag, each once, in the order of their first occurrence.
    pub fn references(&self) -> Result<Vec<Reference>, ReadError> {
        let mut seen = BTreeSet::new();
        let mut references = Vec::new();
        self.survey(false, &mut |_, field| {
            if field.def.kind == Kind::Reference
                && let Value::Reference(Some(reference)) = field.value()?
                && seen.insert(reference.clone())
            {
                references.push(reference);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(references)
    }

    /// The texts of the tag's string ids. The game refuses tags with texts that it does not know.
    pub fn string_ids(&self) -> Result<BTreeSet<String>, ReadError> {
        let mut texts = BTreeSet::new();
        self.survey(false, &mut |_, field| {
            if field.def.kind == Kind::StringId
                && let Value::StringId(text) = field.value()?
                && !text.is_empty()
            {
                texts.insert(text);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(texts)
    }

    /// What is odd, `most` findings at most: counts and lengths in place that are not those of the section,
    /// enums without an option for their value, blocks above their maximum, options that do not follow on.
    pub fn warnings(&self, most: usize) -> Result<Vec<Warning>, ReadError> {
        let mut warnings = self.layout.untiled();
        warnings.truncate(most);
        self.survey(true, &mut |way, field| {
            if warnings.len() >= most {
                return Ok(ControlFlow::Break(()));
            }
            if let Some(message) = field.oddity()? {
                warnings.push(Warning { offset: field.offset(), field: shown(way), message });
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(warnings)
    }
}

impl Layout<'_> {
    /// Enums whose options do not begin where those of the one before end.
    fn untiled(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let mut next = 0_u32;
        for index in 0..u32::try_from(self.count(ENUMS)).unwrap_or(u32::MAX) {
            let Ok((count, first)) = self.enum_def(index, 0, "enum") else {
                continue;
            };
            if first != next {
                let offset = self.record(ENUMS, index, 0, "enum").map_or(0, |r| r.offset());
                let message = format!("its options begin at {first}, those before end at {next}");
                warnings.push(Warning { offset, field: format!("layout.enum[{index}]"), message });
            }
            next = first.saturating_add(count);
        }
        warnings
    }
}

impl Field<'_, '_> {
    fn oddity(&self) -> Result<Option<String>, ReadError> {
        let stated = |what: &str, found: u32, wanted: u32| {
            (found != wanted).then(|| format!("states {found} {what} in place, its section has {wanted}"))
        };
        Ok(match self.def.kind {
            Kind::Block => match self.span()? {
                Some((span, _)) => match stated("elements", self.word(0)?, span.count) {
                    Some(message) => Some(message),
                    None => {
                        let maximum = self.maximum()?;
                        let is_above = maximum != 0 && span.count > maximum;
                        is_above.then(|| format!("{} elements, its maximum is {maximum}", span.count))
                    }
                },
                None => None,
            },
            Kind::Data => match self.section {
                Some(section) => stated("bytes", self.word(0)?, section.size),
                None => None,
            },
            Kind::Reference => match (self.section, self.value()?) {
                (Some(_), Value::Reference(Some(reference))) => {
                    let length = u32::try_from(reference.path.len()).unwrap_or(u32::MAX);
                    let group = FourCc(self.word(0)?);
                    let other =
                        || format!("states the group `{group}` in place, its section `{}`", reference.group);
                    stated("characters", self.word(8)?, length)
                        .or_else(|| (group != reference.group).then(other))
                }
                (Some(_), _) => stated("characters", self.word(8)?, 0),
                _ => None,
            },
            Kind::Enum(_) => match self.value()? {
                Value::Enum { raw, option: None } => Some(format!("{raw}, for which there is no option")),
                _ => None,
            },
            _ => None,
        })
    }
}
