//! Walks all values of a tag and finds each where it has to be, or says where it is not.
//!
//! The walk looks at sections alone, so its cost grows with their number; values in place are read by
//! [`warnings`], which names what a tag may hold but should not. Edits walk again before they are written.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use wire::{ErrorKind, ReadError};

use crate::layout::*;
use crate::model::*;
use crate::read::Work;
use crate::sections::{Section, Sections};

/// A block's content, once it is known to hold together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockSpan {
    pub count: u32,
    pub flags: u32,
    pub element_bytes: u32,
    /// Where the content begins; flags follow the count, elements the flags.
    pub at: u64,
    /// Where the wrappers of the elements begin.
    pub wrappers: u64,
    pub end: u64,
}

impl BlockSpan {
    /// The content of a block of `def` elements.
    pub(crate) fn read(
        tag: &Tag<'_>,
        section: Section,
        maximum: u32,
        def: &StructDef<'_>,
        field: &str,
    ) -> Result<Self, ReadError> {
        let (at, end) = (section.at, section.end());
        let error = |kind, at, message| Err(ReadError::new(kind, at, field, message));
        if section.version != 0 {
            let message = format!("a block of version {}, read is 0", section.version);
            return error(ErrorKind::Unsupported, section.header(), message);
        }
        let words = tag.rope.u32(at).zip(tag.rope.u32(at.saturating_add(4)));
        let (Some((count, flags)), true) = (words, u64::from(section.size) >= BLOCK_BYTES) else {
            let message = format!("a block needs {BLOCK_BYTES} bytes, {} left", section.size);
            return error(ErrorKind::Truncated, at, message);
        };
        if let Some(name) = def.unknown.filter(|_| count > 0) {
            let message = format!("`{}` has a field of the unknown type `{name}`", def.name);
            return error(ErrorKind::Unsupported, at, message);
        }
        let elements = at.saturating_add(BLOCK_BYTES);
        let left = end.saturating_sub(elements);
        let packed = u64::from(count).saturating_mul(def.size.into());
        let wrapped = if flags & UNWRAPPED == 0 { SECTION_BYTES } else { 0 };
        let need = packed.saturating_add(u64::from(count).saturating_mul(wrapped));
        // Elements without bytes of any kind are counted by nothing but the count.
        let hollow = u64::from(maximum).min(MAX_HOLLOW).max(left);
        if need > left || (def.size == 0 && wrapped == 0 && u64::from(count) > hollow) {
            let message =
                format!("{count} elements of {} bytes do not fit in the {left} bytes left", def.size);
            return error(ErrorKind::Truncated, at, message);
        }
        let wrappers = elements.saturating_add(packed);
        if wrapped == 0 && wrappers != end {
            let message = format!("{} bytes follow the last element", end.saturating_sub(wrappers));
            return error(ErrorKind::Malformed, wrappers, message);
        }
        Ok(Self { count, flags, element_bytes: def.size, at, wrappers, end })
    }

    pub(crate) fn is_wrapped(&self) -> bool {
        self.flags & UNWRAPPED == 0
    }

    /// Where the element `index` begins.
    pub(crate) fn element(&self, index: u32) -> u64 {
        let before = u64::from(index).saturating_mul(self.element_bytes.into());
        self.at.saturating_add(BLOCK_BYTES).saturating_add(before)
    }
}

/// The error one level further out.
fn within(mut error: ReadError, outer: &str) -> ReadError {
    let dot = if error.field.is_empty() || error.field.starts_with('[') { "" } else { "." };
    error.field = format!("{outer}{dot}{}", error.field);
    error
}

fn too_deep(at: u64) -> ReadError {
    let message = format!("more than {MAX_DEPTH} structs, arrays and blocks in each other");
    ReadError::new(ErrorKind::Limit, at, "", message)
}

/// Walks all values.
pub(crate) fn walk(tag: &Tag<'_>, work: &mut Work) -> Result<(), ReadError> {
    let (block, root) = tag.root_block()?;
    let mut walk = Walk { tag, work };
    let wrapper = Section::read(&tag.rope, block.wrappers, block.end, "root")?.wrapper("root")?;
    walk.wrapper(root, wrapper, 1).map_err(|error| within(error, "root"))?;
    if wrapper.end() != block.end {
        let message = format!("{} bytes follow the root", block.end.saturating_sub(wrapper.end()));
        return Err(ReadError::new(ErrorKind::Malformed, wrapper.end(), "root", message));
    }
    Ok(())
}

impl<'a> Tag<'a> {
    /// The block that the root is the one element of.
    pub(crate) fn root_block(&self) -> Result<(BlockSpan, &StructDef<'a>), ReadError> {
        let root = self.layout.block_def(self.layout.root_block, 0, "root block")?;
        let def = self.element_def(root.element, "root")?;
        let data = Section::read(&self.rope, self.data_at, self.rope.len(), "data")?;
        let section = Section::read(&self.rope, data.at, data.end(), "root")?;
        if section.magic != BLOCK {
            let message = format!("found `{}`, not `tgbl`", FourCc(section.magic));
            return Err(section.malformed("root", message));
        }
        if section.end() != data.end() {
            let message = format!("{} bytes follow the root block", data.end().saturating_sub(section.end()));
            return Err(ReadError::new(ErrorKind::Malformed, section.end(), "root", message));
        }
        let block = BlockSpan::read(self, section, 1, def, "root")?;
        if block.count != 1 || !block.is_wrapped() {
            let message =
                format!("{} elements with flags {:#x}, not one that is wrapped", block.count, block.flags);
            return Err(ReadError::new(ErrorKind::Malformed, block.at, "root", message));
        }
        Ok((block, def))
    }

    /// The struct `index`.
    pub(crate) fn element_def(&self, index: u32, field: &str) -> Result<&StructDef<'a>, ReadError> {
        self.layout.struct_def(index).ok_or_else(|| {
            let message = format!("struct {index} is not part of the layout");
            ReadError::new(ErrorKind::Malformed, self.data_at, field, message)
        })
    }
}

struct Walk<'t, 'a, 'w> {
    tag: &'t Tag<'a>,
    work: &'w mut Work,
}

impl Walk<'_, '_, '_> {
    /// The content of one wrapper.
    fn wrapper(&mut self, def: &StructDef<'_>, wrapper: Section, depth: u32) -> Result<(), ReadError> {
        if depth > MAX_DEPTH {
            return Err(too_deep(wrapper.header()));
        }
        let mut sections = Sections::open(self.tag, def, wrapper, self.work)?;
        if !sections.is_absent() {
            self.fields(def, &mut sections, depth)?;
            sections.finish()?;
        }
        Ok(())
    }

    fn fields(&mut self, def: &StructDef<'_>, sections: &mut Sections, depth: u32) -> Result<(), ReadError> {
        for index in &def.writing {
            if let Some(field) = usize::try_from(*index).ok().and_then(|index| def.fields.get(index)) {
                self.field(field, sections, depth).map_err(|error| within(error, field.name))?;
            }
        }
        Ok(())
    }

    fn field(&mut self, field: &FieldDef<'_>, sections: &mut Sections, depth: u32) -> Result<(), ReadError> {
        self.work.steps = self.work.steps.saturating_add(1);
        if field.kind == Kind::Array {
            let (count, element) = self.tag.layout.array_def(field.aux, 0, "")?;
            let def = self.tag.element_def(element, "")?;
            if depth >= MAX_DEPTH {
                return Err(too_deep(self.tag.data_at));
            }
            for index in 0..count {
                self.fields(def, sections, depth.saturating_add(1))
                    .map_err(|error| within(error, &format!("[{index}]")))?;
            }
            return Ok(());
        }
        let Some(section) = sections.next(&self.tag.rope, field.kind, "")? else {
            return Ok(());
        };
        let plain = |section: Section| match section.version {
            0 => Ok(()),
            other => {
                let message = format!("a section of version {other}, read is 0");
                Err(ReadError::new(ErrorKind::Unsupported, section.header(), "", message))
            }
        };
        match field.kind {
            Kind::Block => self.block(field, section, depth),
            Kind::Struct => {
                let def = self.tag.element_def(field.aux, "")?;
                self.wrapper(def, section.wrapper("")?, depth.saturating_add(1))
            }
            Kind::Reference => {
                plain(section)?;
                match section.size {
                    1..4 => Err(section.malformed("", format!("{} bytes are no reference", section.size))),
                    _ => Ok(()),
                }
            }
            Kind::Resource => self.resource(section),
            Kind::Interop if section.size != INTEROP_BYTES => {
                let message = format!("{} bytes, not {INTEROP_BYTES}", section.size);
                Err(section.malformed("", message))
            }
            Kind::Interop => Ok(()),
            _ => plain(section),
        }
    }

    fn block(&mut self, field: &FieldDef<'_>, section: Section, depth: u32) -> Result<(), ReadError> {
        let BlockDef { maximum, element, .. } = self.tag.layout.block_def(field.aux, 0, "")?;
        let def = self.tag.element_def(element, "")?;
        let block = BlockSpan::read(self.tag, section, maximum, def, "")?;
        if !block.is_wrapped() {
            return Ok(());
        }
        let mut at = block.wrappers;
        for index in 0..block.count {
            self.work.steps = self.work.steps.saturating_add(1);
            at = Section::read(&self.tag.rope, at, block.end, "")
                .and_then(|section| section.wrapper(""))
                .and_then(|section| {
                    self.wrapper(def, section, depth.saturating_add(1))?;
                    Ok(section.end())
                })
                .map_err(|error| within(error, &format!("[{index}]")))?;
        }
        if at != block.end {
            let message = format!("{} bytes follow the last wrapper", block.end.saturating_sub(at));
            return Err(ReadError::new(ErrorKind::Malformed, at, "", message));
        }
        Ok(())
    }

    /// A resource is kept as it is; of an exploded one the outer shape is known.
    fn resource(&mut self, section: Section) -> Result<(), ReadError> {
        let [_, _, kind, _] = section.magic.to_be_bytes();
        match kind {
            0 if section.size == 0 => Ok(()),
            0 => Err(section.malformed("", format!("no resource, but {} bytes of it", section.size))),
            b'x' => Ok(()),
            b'r' => {
                let data = Section::read(&self.tag.rope, section.at, section.end(), "")?;
                if data.magic != RESOURCE_DATA {
                    return Err(data.malformed("", format!("found `{}`, not `tgdt`", FourCc(data.magic))));
                }
                let values = Section::read(&self.tag.rope, data.end(), section.end(), "")?.wrapper("")?;
                if values.end() == section.end() {
                    return Ok(());
                }
                Err(values.malformed("", "bytes follow the wrapper of a resource".to_owned()))
            }
            _ => {
                let message = format!("found `{}`, a resource of no known kind", FourCc(section.magic));
                Err(section.malformed("", message))
            }
        }
    }
}
