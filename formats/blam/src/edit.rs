//! Edits of a tag: as data that a recipe holds, and as methods of [`Tag`].
//!
//! Each replaces the spans that it must and states the sizes around them anew; what it does not name stays
//! byte for byte. Header and layout are never touched. An edit that is refused has changed nothing by
//! itself, but of a list the ones before it are done: whoever applies a list drops the tag on an error.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wire::{ReadError, Writer};

use crate::check::BlockSpan;
use crate::defaults::{self, NO_REFERENCE};
use crate::layout::*;
use crate::model::*;
use crate::path::{Hollow, Spot, refused};
use crate::rope::Piece;
use crate::sections::Section;
use crate::text;

/// An edit, as data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum Edit {
    /// Gives a field a value.
    Set {
        /// The field.
        path: String,
        /// The value, as text or as a number.
        value: Literal,
    },
    /// Gives a field of type `data` other bytes.
    SetData {
        /// The field.
        path: String,
        /// The bytes, in hexadecimal digits.
        hex: String,
    },
    /// Lets a block have these of its elements, in this order; one may be named more than once.
    Order {
        /// The block.
        block: String,
        /// Indices of elements as they are now.
        elements: Vec<u32>,
    },
    /// Lets a block have so many elements: the last are dropped, or default ones added.
    Resize {
        /// The block.
        block: String,
        /// How many.
        count: u32,
    },
    /// Adds a default element.
    AddDefault {
        /// The block.
        block: String,
    },
    /// Adds an element: a default one, or a copy of one that is there.
    Append {
        /// The block.
        block: String,
        /// The element to copy.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        copy: Option<u32>,
        /// Fields of the new element, by their path below it, and their values; set in order of the path.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        set: BTreeMap<String, Literal>,
    },
    /// Removes elements.
    Remove {
        /// The block.
        block: String,
        /// Indices of elements.
        elements: Vec<u32>,
    },
    /// Replaces the elements of a block by those of a block of another tag, of the same layout.
    Replace {
        /// The block.
        block: String,
        /// The other tag, by the name that the caller knows it by.
        from: String,
        /// The block in it; the same path when it is left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from_block: Option<String>,
    },
}

/// A value as data holds it; all are read as the text that they would be written as.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Literal {
    /// A whole number.
    Integer(i64),
    /// A number.
    Real(f64),
    /// Text.
    Text(String),
    /// Several numbers.
    List(Vec<Literal>),
}

impl std::fmt::Display for Literal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Integer(value) => write!(f, "{value}"),
            Self::Real(value) => write!(f, "{value}"),
            Self::Text(text) => f.write_str(text),
            Self::List(values) => {
                let texts: Vec<String> = values.iter().map(ToString::to_string).collect();
                write!(f, "({})", texts.join(", "))
            }
        }
    }
}

/// Why a tag was not edited.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// A path leads nowhere, or to something that cannot be edited so.
    #[error("`{path}`: {problem}")]
    Path {
        /// The path.
        path: String,
        /// What is wrong, and what is allowed.
        problem: String,
    },
    /// A value does not fit its field.
    #[error("`{path}` cannot be `{}`: {problem}", value.escape_debug())]
    Value {
        /// The path.
        path: String,
        /// The value.
        value: String,
        /// What is wrong, and what is allowed.
        problem: String,
    },
    /// The tag does not walk.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl<'a> Tag<'a> {
    /// Applies `edits` in order and walks the tag anew. `donors` are the tags that edits may take from.
    pub fn edit(&mut self, edits: &[Edit], donors: &BTreeMap<String, Tag<'_>>) -> Result<(), EditError> {
        edits.iter().try_for_each(|edit| self.apply(edit, donors))?;
        Ok(self.check()?)
    }

    fn apply(&mut self, edit: &Edit, donors: &BTreeMap<String, Tag<'_>>) -> Result<(), EditError> {
        match edit {
            Edit::Set { path, value } => self.set(path, &value.to_string()),
            Edit::SetData { path, hex } => {
                let bytes = unhex(hex).ok_or_else(|| EditError::Value {
                    path: path.clone(),
                    value: hex.clone(),
                    problem: "bytes are an even number of hexadecimal digits".to_owned(),
                })?;
                self.set_data(path, &bytes)
            }
            Edit::Order { block, elements } => self.order(block, elements),
            Edit::Resize { block, count } => self.resize(block, *count),
            Edit::AddDefault { block } => self.add_default(block, 1),
            Edit::Append { block, copy, set } => {
                let count = self.count(block)?;
                match copy {
                    Some(index) => self.take(block, &[(0, count), (*index, 1)])?,
                    None => self.add_default(block, 1)?,
                }
                set.iter().try_for_each(|(path, value)| {
                    self.set(&format!("{block}[{count}].{path}"), &value.to_string())
                })
            }
            Edit::Remove { block, elements } => self.remove(block, elements),
            Edit::Replace { block, from, from_block } => {
                let donor = donors.get(from).ok_or_else(|| {
                    let names: Vec<String> = donors.keys().map(|name| format!("`{name}`")).collect();
                    refused(block, format!("no tag `{from}` to take from; there are {}", names.join(", ")))
                })?;
                self.replace(block, donor, from_block.as_deref().unwrap_or(block))
            }
        }
    }

    /// Gives the field at `path` the value that `value` spells.
    pub fn set(&mut self, path: &str, value: &str) -> Result<(), EditError> {
        let mut spot = self.locate(path)?;
        let refuse = |problem| EditError::Value { path: path.to_owned(), value: value.to_owned(), problem };
        match spot.def.kind {
            Kind::StringId => {
                let text = text::string_id(value).map_err(refuse)?.as_bytes().to_vec();
                let section = self.section(path, &mut spot)?;
                self.fill(&spot, section, vec![text.into()])
            }
            Kind::Reference => {
                let (content, inline) = match text::reference(value).map_err(refuse)? {
                    None => (Vec::new(), NO_REFERENCE.to_vec()),
                    Some(reference) => {
                        let group = reference.group.0.to_le_bytes();
                        let path = reference.path.as_bytes();
                        let mut inline = Writer::new();
                        inline.bytes(&group).u32(0).u32(path.len() as u32).u32(u32::MAX);
                        ([&group, path].concat(), inline.into_bytes())
                    }
                };
                let section = self.section(path, &mut spot)?;
                self.fill(&spot, section, vec![content.into()])?;
                self.overwrite(spot.at, inline);
                Ok(())
            }
            _ => {
                let size = spot.def.size.into();
                let current = self.rope.bytes(spot.at, size).unwrap_or_default();
                let bytes = text::in_place(&self.layout, &spot.def, value, &current).map_err(refuse)?;
                self.overwrite(spot.at, bytes);
                Ok(())
            }
        }
    }

    /// Gives the field at `path`, of type `data`, the content `bytes`.
    pub fn set_data(&mut self, path: &str, bytes: &[u8]) -> Result<(), EditError> {
        let mut spot = self.locate(path)?;
        if spot.def.kind != Kind::Data {
            return Err(refused(path, format!("is of type `{}`, not `data`", spot.def.type_name)));
        }
        let section = self.section(path, &mut spot)?;
        self.fill(&spot, section, vec![bytes.to_vec().into()])?;
        self.overwrite(spot.at, (bytes.len() as u32).to_le_bytes().to_vec());
        Ok(())
    }

    /// How many elements the block has.
    pub fn count(&self, block: &str) -> Result<u32, EditError> {
        let spot = self.locate(block)?;
        match (spot.def.kind, spot.section) {
            (Kind::Block, Some(section)) => Ok(self.span(&spot, section)?.0.count),
            (Kind::Block, None) => Ok(0),
            _ => Err(refused(block, format!("is of type `{}`, not `block`", spot.def.type_name))),
        }
    }

    /// Lets the block have these of its elements, in this order.
    pub fn order(&mut self, block: &str, elements: &[u32]) -> Result<(), EditError> {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for index in elements {
            match runs.last_mut() {
                Some((first, n)) if first.checked_add(*n) == Some(*index) => *n += 1,
                _ => runs.push((*index, 1)),
            }
        }
        self.take(block, &runs)
    }

    /// Lets the block have `count` elements.
    pub fn resize(&mut self, block: &str, count: u32) -> Result<(), EditError> {
        let now = self.count(block)?;
        match count.checked_sub(now) {
            Some(more) => self.add_default(block, more),
            None => self.take(block, &[(0, count)]),
        }
    }

    /// Removes these elements of the block.
    pub fn remove(&mut self, block: &str, elements: &[u32]) -> Result<(), EditError> {
        let count = self.count(block)?;
        let mut gone = elements.to_vec();
        gone.sort_unstable();
        gone.dedup();
        if let Some(index) = gone.last().filter(|index| **index >= count) {
            return Err(refused(block, format!("has {count} elements, so none with the index {index}")));
        }
        let mut runs = Vec::new();
        let mut next = 0;
        for index in gone {
            runs.push((next, index - next));
            next = index + 1;
        }
        runs.push((next, count - next));
        self.take(block, &runs)
    }

    /// Lets the block have runs of its elements, each a first index and a length.
    pub(crate) fn take(&mut self, path: &str, runs: &[(u32, u32)]) -> Result<(), EditError> {
        let (spot, section, span) = self.block(path)?;
        let mut total: u64 = 0;
        for (first, n) in runs {
            if u64::from(*first) + u64::from(*n) > span.count.into() {
                let index = (*first).max(span.count);
                return Err(refused(
                    path,
                    format!("has {} elements, so none with the index {index}", span.count),
                ));
            }
            total += u64::from(*n);
        }
        let count = self.room(path, &spot, span.count, total)?;
        let mut content = vec![block_words(count, span.flags)];
        for (first, n) in runs.iter().filter(|(_, n)| *n > 0) {
            content.extend(self.rope.slice(span.element(*first), span.element(first + n)));
        }
        if span.is_wrapped() {
            // One pass over the wrappers finds where every run begins and ends.
            let mut ends: BTreeMap<u32, u64> =
                runs.iter().flat_map(|(first, n)| [*first, first + n]).map(|index| (index, 0)).collect();
            let (mut at, mut index) = (span.wrappers, 0);
            for (wanted, place) in &mut ends {
                at = self.wrapper_at(at, span.end, wanted - index)?;
                (*place, index) = (at, *wanted);
            }
            for (first, n) in runs.iter().filter(|(_, n)| *n > 0) {
                content.extend(self.rope.slice(ends[first], ends[&(first + n)]));
            }
        }
        self.fill(&spot, section, content)?;
        self.overwrite(spot.at, count.to_le_bytes().to_vec());
        Ok(())
    }

    /// Adds `n` default elements to the block.
    pub fn add_default(&mut self, path: &str, n: u32) -> Result<(), EditError> {
        let (spot, section, span) = self.block(path)?;
        let count = self.room(path, &spot, span.count, u64::from(span.count) + u64::from(n))?;
        let element = self.layout.block_def(spot.def.aux, spot.at, path)?.element;
        let default = defaults::element(&self.layout, element).map_err(|problem| refused(path, problem))?;
        let mut wrapper = Writer::new();
        if span.is_wrapped() {
            defaults::wrapper(&mut wrapper, &default.children);
        }
        self.fits(path, (default.packed.len() + wrapper.len()) as u64 * u64::from(n))?;
        let n = n as usize;
        let mut content = vec![block_words(count, span.flags)];
        content.extend(self.rope.slice(span.element(0), span.wrappers));
        content.push(default.packed.repeat(n).into());
        content.extend(self.rope.slice(span.wrappers, span.end));
        content.push(wrapper.as_bytes().repeat(n).into());
        self.fill(&spot, section, content)?;
        self.overwrite(spot.at, count.to_le_bytes().to_vec());
        Ok(())
    }

    /// Gives the block the elements of `donor_block` in `donor`, whose elements must be of the same layout.
    pub fn replace(&mut self, path: &str, donor: &Tag<'_>, donor_block: &str) -> Result<(), EditError> {
        let (spot, section, span) = self.block(path)?;
        let theirs = donor.locate(donor_block)?;
        let (Kind::Block, Some(their_section)) = (theirs.def.kind, theirs.section) else {
            return Err(refused(donor_block, "is no block with elements to take"));
        };
        let own = self.layout.block_def(spot.def.aux, spot.at, path)?.element;
        let other = donor.layout.block_def(theirs.def.aux, theirs.at, donor_block)?.element;
        if !crate::same::structs(&self.layout, own, &donor.layout, other) {
            let problem = format!("its elements are laid out otherwise than those of `{donor_block}`");
            return Err(refused(path, problem));
        }
        let their_span = donor.span(&theirs, their_section)?.0;
        let count = self.room(path, &spot, span.count, their_span.count.into())?;
        let content = donor.rope.bytes(their_section.at, their_section.size.into()).unwrap_or_default();
        self.fill(&spot, section, vec![content.into_owned().into()])?;
        self.overwrite(spot.at, count.to_le_bytes().to_vec());
        Ok(())
    }

    /// Gives the block `count` elements of these packed bytes, with default wrappers where it has any.
    pub(crate) fn put(&mut self, path: &str, packed: &[u8]) -> Result<(), EditError> {
        let (spot, section, span) = self.block(path)?;
        let size = (span.element_bytes as usize).max(1);
        if !packed.len().is_multiple_of(size) {
            return Err(refused(path, format!("{} bytes are not whole elements of {size}", packed.len())));
        }
        let count = self.room(path, &spot, span.count, (packed.len() / size) as u64)?;
        let element = self.layout.block_def(spot.def.aux, spot.at, path)?.element;
        let default = defaults::element(&self.layout, element).map_err(|problem| refused(path, problem))?;
        let mut wrapper = Writer::new();
        if span.is_wrapped() {
            defaults::wrapper(&mut wrapper, &default.children);
        }
        self.fits(path, packed.len() as u64 + wrapper.len() as u64 * u64::from(count))?;
        let wrappers = wrapper.as_bytes().repeat(count as usize);
        let content = vec![block_words(count, span.flags), packed.to_vec().into(), wrappers.into()];
        self.fill(&spot, section, content)?;
        self.overwrite(spot.at, count.to_le_bytes().to_vec());
        Ok(())
    }

    /// The flags of a block.
    pub(crate) fn block_flags(&mut self, path: &str) -> Result<u32, EditError> {
        Ok(self.block(path)?.2.flags)
    }

    /// Gives a block other flags; only one without elements takes any.
    pub(crate) fn set_block_flags(&mut self, path: &str, flags: u32) -> Result<(), EditError> {
        let (spot, section, span) = self.block(path)?;
        if span.count > 0 {
            return Err(refused(path, "has elements, which are stored by its flags"));
        }
        self.fill(&spot, section, vec![block_words(0, flags)])
    }

    /// The block at `path`, whose section is there.
    fn block(&mut self, path: &str) -> Result<(Spot<'a>, Section, BlockSpan), EditError> {
        let mut spot = self.locate(path)?;
        if spot.def.kind != Kind::Block {
            return Err(refused(path, format!("is of type `{}`, not `block`", spot.def.type_name)));
        }
        let section = self.section(path, &mut spot)?;
        let span = self.span(&spot, section)?.0;
        Ok((spot, section, span))
    }

    fn span(&self, spot: &Spot<'a>, section: Section) -> Result<(BlockSpan, &StructDef<'a>), EditError> {
        let block = self.layout.block_def(spot.def.aux, spot.at, spot.def.name)?;
        let def = self.element_def(block.element, spot.def.name)?;
        Ok((BlockSpan::read(self, section, block.maximum, def, spot.def.name)?, def))
    }

    /// Whether the block may have `total` elements instead of `now`: growing ends at its maximum.
    fn room(&self, path: &str, spot: &Spot<'a>, now: u32, total: u64) -> Result<u32, EditError> {
        let maximum = self.layout.block_def(spot.def.aux, spot.at, path)?.maximum;
        let limit = if maximum == 0 { u32::MAX } else { maximum };
        match u32::try_from(total) {
            Ok(count) if count <= now || count <= limit => Ok(count),
            _ => Err(refused(path, format!("{total} elements are wanted, allowed are {limit}"))),
        }
    }

    /// Whether so many more bytes leave the file below 4 GiB.
    fn fits(&self, path: &str, more: u64) -> Result<(), EditError> {
        match self.rope.len().checked_add(more) {
            Some(length) if u32::try_from(length).is_ok() => Ok(()),
            _ => Err(refused(path, "the tag would be larger than 4 GiB")),
        }
    }

    /// The section of the field, made first when a default wrapper leaves it out.
    fn section(&mut self, path: &str, spot: &mut Spot<'a>) -> Result<Section, EditError> {
        if let (None, Some(Hollow { index, at, parents })) = (spot.section, &spot.hollow) {
            let default =
                defaults::element(&self.layout, *index).map_err(|problem| refused(path, problem))?;
            self.splice(parents, *at, 0, vec![default.children.into()], path)?;
            *spot = self.locate(path)?;
        }
        spot.section.ok_or_else(|| refused(path, "lies in a block that stores no sections for its elements"))
    }

    /// Replaces the content of a field's section.
    fn fill(&mut self, spot: &Spot<'a>, section: Section, content: Vec<Piece<'a>>) -> Result<(), EditError> {
        let mut parents = spot.parents.clone();
        parents.push(section.header());
        self.splice(&parents, section.at, section.size.into(), content, spot.def.name)
    }

    /// Replaces bytes by as many others.
    fn overwrite(&mut self, at: u64, bytes: Vec<u8>) {
        self.rope.splice(at, bytes.len() as u64, vec![bytes.into()]);
    }

    /// Replaces the `length` bytes at `at` and states the sizes of the sections around them, whose headers
    /// are at `parents`, anew; a wrapper states its size twice.
    fn splice(
        &mut self,
        parents: &[u64],
        at: u64,
        length: u64,
        content: Vec<Piece<'a>>,
        path: &str,
    ) -> Result<(), EditError> {
        let added: u64 = content.iter().map(|piece| piece.bytes().len() as u64).sum();
        self.fits(path, added)?;
        if added != length {
            for header in parents {
                let section = Section::read(&self.rope, *header, self.rope.len(), path)?;
                // Below 4 GiB, as the file is.
                let size = (u64::from(section.size) + added - length) as u32;
                let version = if section.magic == STRUCT { size } else { section.version };
                let mut words = Writer::new();
                words.u32(version).u32(size);
                self.overwrite(header + 4, words.into_bytes());
            }
        }
        self.rope.splice(at, length, content);
        Ok(())
    }
}

fn block_words(count: u32, flags: u32) -> Piece<'static> {
    let mut words = Writer::new();
    words.u32(count).u32(flags);
    words.into_bytes().into()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let pairs = text.as_bytes().chunks(2).map(|pair| match pair {
        [high, low] => Some((digit(high)? * 16 + digit(low)?) as u8),
        _ => None,
    });
    pairs.collect()
}
