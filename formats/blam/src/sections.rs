//! The sections that the fields of a struct write, in the order of the fields.
//!
//! The shipped writer sometimes emits an empty wrapper that belongs to no field (a phantom), and stores a
//! struct whose children are all default as an empty wrapper. [`Sections::open`] tells which is which,
//! from the headers of the sections alone, so that no content is walked twice.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use std::sync::Arc;

use wire::{ErrorKind, ReadError};

use crate::layout::*;
use crate::model::*;
use crate::read::Work;
use crate::rope::Rope;

/// A section and where its content lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    pub magic: u32,
    pub version: u32,
    /// Start of the content.
    pub at: u64,
    pub size: u32,
}

impl Section {
    /// The section whose header is at `at`, which must end by `end`.
    pub(crate) fn read(rope: &Rope<'_>, at: u64, end: u64, field: &str) -> Result<Self, ReadError> {
        let header = at.checked_add(SECTION_BYTES).filter(|content| *content <= end);
        let words = header.and_then(|_| rope.array::<12>(at));
        let (Some(content), Some([a, b, c, d, e, f, g, h, i, j, k, l])) = (header, words) else {
            let left = end.saturating_sub(at);
            let message = format!("a section needs {SECTION_BYTES} bytes, {left} left");
            return Err(ReadError::new(ErrorKind::Truncated, at, field, message));
        };
        let section = Self {
            magic: u32::from_le_bytes([a, b, c, d]),
            version: u32::from_le_bytes([e, f, g, h]),
            at: content,
            size: u32::from_le_bytes([i, j, k, l]),
        };
        if section.end() > end {
            let left = end.saturating_sub(content);
            let message = format!("`{}` states {} bytes, {left} left", FourCc(section.magic), section.size);
            return Err(ReadError::new(ErrorKind::Truncated, at, field, message));
        }
        Ok(section)
    }

    pub(crate) fn end(self) -> u64 {
        self.at.saturating_add(self.size.into())
    }

    /// Where the header begins.
    pub(crate) fn header(self) -> u64 {
        self.at.saturating_sub(SECTION_BYTES)
    }

    /// An error about this section.
    pub(crate) fn malformed(self, field: &str, message: String) -> ReadError {
        ReadError::new(ErrorKind::Malformed, self.header(), field, message)
    }

    /// Checks that it is a wrapper whose version is its size, as all are.
    pub(crate) fn wrapper(self, field: &str) -> Result<Self, ReadError> {
        if self.magic != STRUCT {
            return Err(self.malformed(field, format!("found `{}`, not `tgst`", FourCc(self.magic))));
        }
        if self.version != self.size {
            let message = format!("the wrapper states {} for its size of {}", self.version, self.size);
            return Err(self.malformed(field, message));
        }
        Ok(self)
    }

    fn is_empty_wrapper(self) -> bool {
        self.magic == STRUCT && self.size == 0
    }
}

/// Whether a section of this magic can be that of the field.
fn suits(kind: Kind, magic: u32) -> bool {
    match kind {
        Kind::Block => magic == BLOCK,
        Kind::Struct => magic == STRUCT,
        Kind::StringId => magic == STRING_ID,
        Kind::Reference => magic == REFERENCE,
        Kind::Data => magic == DATA,
        Kind::Interop => magic == INTEROP,
        Kind::Resource => magic & RESOURCE_MASK == RESOURCE,
        _ => false,
    }
}

/// What the sections of the kind are called, for messages.
fn wanted(kind: Kind) -> &'static str {
    match kind {
        Kind::Block => "tgbl",
        Kind::Struct => "tgst",
        Kind::StringId => "tgsi",
        Kind::Reference => "tgrf",
        Kind::Data => "tgda",
        Kind::Interop => "ti][",
        _ => "tg?c",
    }
}

#[derive(Clone, Debug)]
enum Order {
    /// There are none: the wrapper is empty, or there is no wrapper.
    Absent,
    /// They follow each other.
    Strict,
    /// Those of these headers, in order; the others are phantoms.
    Matched(Arc<[u64]>, usize),
}

/// A cursor over the sections of a struct.
#[derive(Clone, Debug)]
pub(crate) struct Sections {
    at: u64,
    end: u64,
    order: Order,
}

impl Sections {
    /// For a struct whose fields have no sections.
    pub(crate) const ABSENT: Self = Self { at: 0, end: 0, order: Order::Absent };

    /// Those in the `wrapper` of a struct.
    pub(crate) fn open(
        tag: &Tag<'_>,
        def: &StructDef<'_>,
        wrapper: Section,
        work: &mut Work,
    ) -> Result<Self, ReadError> {
        let (at, end) = (wrapper.at, wrapper.end());
        let strict = Self { at, end, order: Order::Strict };
        if wrapper.size == 0 {
            return Ok(Self { at, end, order: Order::Absent });
        }
        let mut n: u64 = 0;
        let mut next = at;
        while next < end {
            let Ok(section) = Section::read(&tag.rope, next, end, "") else {
                // The walk in order meets it as well, and can say which field it is.
                return Ok(strict);
            };
            n = n.saturating_add(1);
            work.steps = work.steps.saturating_add(1);
            next = section.end();
        }
        if n <= u64::from(def.sections) || !def.is_matchable {
            return Ok(strict);
        }
        Ok(match matching(tag, def, wrapper, n, work)? {
            Some(headers) => Self { at, end, order: Order::Matched(headers.into(), 0) },
            None => strict,
        })
    }

    pub(crate) fn is_absent(&self) -> bool {
        matches!(self.order, Order::Absent)
    }

    /// The section of the next field that writes, which is of this kind.
    pub(crate) fn next(
        &mut self,
        rope: &Rope<'_>,
        kind: Kind,
        field: &str,
    ) -> Result<Option<Section>, ReadError> {
        let at = match &mut self.order {
            Order::Absent => return Ok(None),
            Order::Strict => self.at,
            Order::Matched(headers, index) => {
                let Some(at) = headers.get(*index).copied() else {
                    return Ok(None);
                };
                *index = index.saturating_add(1);
                at
            }
        };
        let section = Section::read(rope, at, self.end, field)?;
        if !suits(kind, section.magic) {
            let message = format!("found `{}`, not `{}`", FourCc(section.magic), wanted(kind));
            return Err(section.malformed(field, message));
        }
        self.at = section.end();
        Ok(Some(section))
    }

    /// Passes over the next `n` sections of an array.
    pub(crate) fn skip(&mut self, rope: &Rope<'_>, n: u32, field: &str) -> Result<(), ReadError> {
        if let Order::Strict = self.order {
            for _ in 0..n {
                self.at = Section::read(rope, self.at, self.end, field)?.end();
            }
        }
        Ok(())
    }

    /// Ends a walk: everything has been read.
    pub(crate) fn finish(&self) -> Result<(), ReadError> {
        let left = self.end.saturating_sub(self.at);
        if left > 0 && matches!(self.order, Order::Strict) {
            let message = format!("{left} bytes follow the last field");
            return Err(ReadError::new(ErrorKind::Malformed, self.at, "end", message));
        }
        Ok(())
    }
}

/// The headers of the sections that belong to fields, when there are more sections than fields; `None`
/// when the others cannot all be phantoms. Between the sections that must belong to a field there is a
/// choice; a struct that writes takes the last wrapper that it can, one that writes nothing the first.
fn matching(
    tag: &Tag<'_>,
    def: &StructDef<'_>,
    wrapper: Section,
    n: u64,
    work: &mut Work,
) -> Result<Option<Vec<u64>>, ReadError> {
    let Some(spare) = n.checked_sub(def.writing.len() as u64) else {
        return Ok(None);
    };
    let width = spare.saturating_add(1);
    let states = (def.writing.len() as u64).saturating_add(1).saturating_mul(width);
    work.states = work.states.saturating_add(states);
    if work.states > MAX_STATES {
        let message = format!("more than {MAX_STATES} ways to tell which wrappers belong to no field");
        return Err(ReadError::new(ErrorKind::Limit, wrapper.at, "wrapper", message));
    }
    let mut sections = Vec::new();
    let mut next = wrapper.at;
    while next < wrapper.end() {
        let section = Section::read(&tag.rope, next, wrapper.end(), "wrapper")?;
        sections.push(section);
        next = section.end();
    }
    // Field, and whether it is a struct that writes, or one that does not.
    let fields: Vec<(Kind, Option<bool>)> = def
        .writing
        .iter()
        .filter_map(|index| def.fields.get(usize::try_from(*index).ok()?))
        .map(|field| {
            let writes = tag.layout.struct_def(field.aux).is_some_and(|inner| inner.sections > 0);
            (field.kind, (field.kind == Kind::Struct).then_some(writes))
        })
        .collect();
    let spare = sections.len().saturating_sub(fields.len());
    let can_match = |field: usize, section: usize| match (fields.get(field), sections.get(section)) {
        (Some((kind, writes)), Some(section)) => {
            suits(*kind, section.magic) && (*writes != Some(false) || section.size == 0)
        }
        _ => false,
    };
    let can_skip = |section: usize| sections.get(section).is_some_and(|s| s.is_empty_wrapper());

    // good[field][skipped]: the fields from `field` on can be matched when `skipped` sections before were
    // phantoms. From the last field to the first.
    let width = spare.saturating_add(1);
    let mut good = vec![false; usize::try_from(states).unwrap_or_default()];
    let place = |field: usize, skipped: usize| field.saturating_mul(width).saturating_add(skipped);
    for field in (0..=fields.len()).rev() {
        for skipped in (0..=spare).rev() {
            let section = field.saturating_add(skipped);
            let at = |field, skipped| good.get(place(field, skipped)).copied().unwrap_or(false);
            let by_match = can_match(field, section) && at(field.saturating_add(1), skipped);
            let by_skip = skipped < spare && can_skip(section) && at(field, skipped.saturating_add(1));
            let is_end = field == fields.len() && skipped == spare;
            if let Some(entry) = good.get_mut(place(field, skipped)) {
                *entry = is_end || by_match || by_skip;
            }
        }
    }
    let at = |field, skipped| good.get(place(field, skipped)).copied().unwrap_or(false);
    if !at(0, 0) {
        return Ok(None);
    }
    let mut headers = Vec::with_capacity(fields.len());
    let (mut field, mut skipped) = (0_usize, 0_usize);
    while let Some((_, writes)) = fields.get(field) {
        let section = field.saturating_add(skipped);
        let by_match = can_match(field, section) && at(field.saturating_add(1), skipped);
        let by_skip = skipped < spare && can_skip(section) && at(field, skipped.saturating_add(1));
        if by_match && (*writes == Some(false) || !by_skip) {
            headers.extend(sections.get(section).map(|section| section.header()));
            field = field.saturating_add(1);
        } else if by_skip {
            skipped = skipped.saturating_add(1);
        } else {
            return Ok(None);
        }
    }
    Ok(Some(headers))
}
