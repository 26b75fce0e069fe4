//! Field paths, such as `items[3].named.title`, and what they lead to in a tag.
//!
//! Names match exactly, and the first field of a name wins; a name holds neither `.` nor `[`. A struct is
//! stepped into by its name, a block or an array by an index as well, except at the end of a path.

use crate::edit::EditError;
use crate::layout::*;
use crate::model::*;
use crate::sections::Section;
use crate::value::{Field, Struct, Value};

/// One step of a path.
struct Step<'p> {
    name: &'p str,
    index: Option<u32>,
}

/// What a path leads to: a field, and the sections around its own.
#[derive(Clone, Debug)]
pub(crate) struct Spot<'a> {
    pub def: FieldDef<'a>,
    pub at: u64,
    pub section: Option<Section>,
    /// The headers of the sections around the field's own, outermost first.
    pub parents: Vec<u64>,
    /// The empty wrapper that leaves out the field's section.
    pub hollow: Option<Hollow>,
}

/// A wrapper that leaves out the children of a struct, as they are all default.
#[derive(Clone, Debug)]
pub(crate) struct Hollow {
    /// The struct.
    pub index: u32,
    /// Where its content would begin.
    pub at: u64,
    /// As of a [`Spot`], with its own header.
    pub parents: Vec<u64>,
}

/// An error about `path`.
pub(crate) fn refused(path: &str, problem: impl Into<String>) -> EditError {
    EditError::Path { path: path.to_owned(), problem: problem.into() }
}

fn steps(path: &str) -> Result<Vec<Step<'_>>, EditError> {
    path.split('.')
        .map(|part| {
            let (name, index) = match part.split_once('[') {
                None => (part, None),
                Some((name, index)) => {
                    let digits = index.strip_suffix(']').unwrap_or_default();
                    let number = digits.parse().ok().filter(|_| digits.bytes().all(|b| b.is_ascii_digit()));
                    let wrong = || refused(path, format!("`[{index}` is not an index; `[0]` is the first"));
                    (name, Some(number.ok_or_else(wrong)?))
                }
            };
            if name.is_empty() {
                return Err(refused(path, "a name is empty; unnamed fields cannot be reached"));
            }
            Ok(Step { name, index })
        })
        .collect()
}

impl<'a> Tag<'a> {
    /// The field that `path` leads to.
    pub fn field(&self, path: &str) -> Result<Field<'_, 'a>, EditError> {
        Ok(self.follow(path)?.0)
    }

    /// The field that `path` leads to, and what an edit of it must know.
    pub(crate) fn locate(&self, path: &str) -> Result<Spot<'a>, EditError> {
        let (field, parents, hollow) = self.follow(path)?;
        Ok(Spot { def: field.def.clone(), at: field.at, section: field.section, parents, hollow })
    }

    fn follow(&self, path: &str) -> Result<(Field<'_, 'a>, Vec<u64>, Option<Hollow>), EditError> {
        let steps = steps(path)?;
        let (block, def) = self.root_block()?;
        let root = Section::read(&self.rope, block.wrappers, block.end, "root")?;
        let block_header = block.at.saturating_sub(SECTION_BYTES);
        let mut parents = vec![HEADER_BYTES, self.data_at, block_header, root.header()];
        let root_block = self.layout.block_def(self.layout.root_block, 0, "root")?;
        let mut hollow = hollow_of(def, root_block.element, root, &parents);
        let mut scope = Struct::element(self, def, block.element(0), Some(root))?;
        for (n, Step { name, index }) in steps.iter().enumerate() {
            let field = scope
                .field(name)?
                .ok_or_else(|| refused(path, format!("`{}` has no field `{name}`", scope.name())))?;
            if n + 1 == steps.len() && index.is_none() {
                return Ok((field, parents, hollow));
            }
            scope = match (field.def.kind, index) {
                (Kind::Struct, None) => {
                    let def = self.element_def(field.def.aux, name)?;
                    if let Some(wrapper) = field.section {
                        parents.push(wrapper.header());
                        hollow = hollow_of(def, field.def.aux, wrapper, &parents);
                    }
                    Struct::element(self, def, field.at, field.section)?
                }
                (Kind::Array, Some(index)) => {
                    let Value::Array(mut elements) = field.value()? else {
                        return Err(refused(path, format!("`{name}` is no array")));
                    };
                    let count = elements.n_left();
                    elements.nth(*index as usize).ok_or_else(|| out_of_range(path, name, *index, count))??
                }
                (Kind::Block, Some(index)) => {
                    let Some((span, def)) = field.span()? else {
                        return Err(out_of_range(path, name, *index, 0));
                    };
                    if *index >= span.count {
                        return Err(out_of_range(path, name, *index, span.count));
                    }
                    parents.extend(field.section.map(Section::header));
                    hollow = None;
                    let mut wrapper = None;
                    if span.is_wrapped() {
                        let at = self.wrapper_at(span.wrappers, span.end, *index)?;
                        let section = Section::read(&self.rope, at, span.end, name)?;
                        parents.push(section.header());
                        let element = self.layout.block_def(field.def.aux, 0, name)?.element;
                        hollow = hollow_of(def, element, section, &parents);
                        wrapper = Some(section);
                    }
                    Struct::element(self, def, span.element(*index), wrapper)?
                }
                (Kind::Block | Kind::Array, None) => {
                    return Err(refused(
                        path,
                        format!("`{name}` has elements: an index must follow, as in `{name}[0]`"),
                    ));
                }
                (_, Some(_)) => {
                    return Err(refused(
                        path,
                        format!("`{name}` is of type `{}`, which has no elements", field.def.type_name),
                    ));
                }
                _ => {
                    return Err(refused(
                        path,
                        format!("`{name}` is of type `{}`, which has no fields", field.def.type_name),
                    ));
                }
            };
        }
        Err(refused(path, "leads to an element; a field of it must follow"))
    }

    /// Where the wrapper of the element `index` begins, in a block's wrappers from `at` to `end`.
    pub(crate) fn wrapper_at(&self, mut at: u64, end: u64, index: u32) -> Result<u64, EditError> {
        for _ in 0..index {
            at = Section::read(&self.rope, at, end, "wrapper")?.end();
        }
        Ok(at)
    }
}

fn out_of_range(path: &str, name: &str, index: u32, count: u32) -> EditError {
    let counted = if count == 1 { "1 element".to_owned() } else { format!("{count} elements") };
    refused(path, format!("`{name}` has {counted}, so none with the index {index}"))
}

fn hollow_of(def: &StructDef<'_>, index: u32, wrapper: Section, parents: &[u64]) -> Option<Hollow> {
    let is_hollow = wrapper.size == 0 && def.sections > 0;
    is_hollow.then(|| Hollow { index, at: wrapper.at, parents: parents.to_vec() })
}
