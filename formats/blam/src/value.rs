//! Values, decoded when they are asked for: from the root through structs, arrays and blocks.
//!
//! A tag that was read has been walked, so asking finds everything where it has to be; errors are
//! answered all the same. What a default wrapper leaves out is `None`, not a made-up value.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use std::borrow::Cow;

use wire::{ErrorKind, ReadError};

use crate::check::BlockSpan;
use crate::layout::*;
use crate::model::*;
use crate::read::Work;
use crate::sections::{Section, Sections};

/// A struct of a tag: the root, or one that a field holds.
#[derive(Clone, Debug)]
pub struct Struct<'t, 'a> {
    tag: &'t Tag<'a>,
    pub(crate) def: &'t StructDef<'a>,
    pub(crate) at: u64,
    sections: Sections,
}

/// A field of a struct, with its value.
#[derive(Clone, Debug)]
pub struct Field<'t, 'a> {
    tag: &'t Tag<'a>,
    pub(crate) def: &'t FieldDef<'a>,
    /// Where its bytes in place are.
    pub(crate) at: u64,
    pub(crate) section: Option<Section>,
    /// For an array: the sections of its elements.
    inner: Sections,
}

/// A reference to another tag.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    /// The group.
    pub group: FourCc,
    /// The path, with backslashes and without an extension.
    pub path: String,
}

/// The value of a field.
#[derive(Clone, Debug)]
pub enum Value<'t, 'a> {
    /// A whole number or an index.
    Integer(i64),
    /// One of several options.
    Enum {
        /// As stored.
        raw: u32,
        /// Its name, when there is such an option.
        option: Option<&'a str>,
    },
    /// Bits with names.
    Flags {
        /// As stored.
        raw: u32,
        /// The names of the bits that are set; `bit N` where there is none.
        set: Vec<Cow<'a, str>>,
    },
    /// Bits that stand for elements of a block.
    BlockFlags(u32),
    /// A number.
    Real(f32),
    /// A vector, plane, colour or pair of bounds.
    Reals(Vec<f32>),
    /// A rectangle or pair of bounds.
    Shorts(Vec<i16>),
    /// A colour, `#rrggbb` or `#aarrggbb`.
    Color(String),
    /// A group, or none.
    Tag(Option<FourCc>),
    /// Text in place.
    Text(String),
    /// The text of a string id; empty for none.
    StringId(String),
    /// A reference, or none.
    Reference(Option<Reference>),
    /// Bytes; `None` when a default wrapper leaves them out.
    Data(Option<Cow<'t, [u8]>>),
    /// A struct; `None` when a default wrapper leaves it out.
    Struct(Option<Struct<'t, 'a>>),
    /// The elements of an array.
    Array(Elements<'t, 'a>),
    /// A block; `None` when a default wrapper leaves it out.
    Block(Option<Block<'t, 'a>>),
    /// A resource; `None` when a default wrapper leaves it out.
    Resource(Option<Resource<'t>>),
    /// Bytes of which no meaning is known.
    Raw(Cow<'t, [u8]>),
}

/// A resource, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource<'t> {
    /// `None` for none, `r` for one in parts, `x` for opaque bytes.
    pub kind: Option<char>,
    /// The version of its section.
    pub version: u32,
    /// The bytes.
    pub body: Cow<'t, [u8]>,
}

/// A block: its flags and elements.
#[derive(Clone, Debug)]
pub struct Block<'t, 'a> {
    /// As stored; bit 0 says that no wrappers follow.
    pub flags: u32,
    elements: Elements<'t, 'a>,
}

impl<'t, 'a> Block<'t, 'a> {
    /// The elements.
    pub fn elements(&self) -> Elements<'t, 'a> {
        self.elements.clone()
    }
}

/// The elements of a block or an array, in order.
#[derive(Clone, Debug)]
pub struct Elements<'t, 'a> {
    tag: &'t Tag<'a>,
    def: &'t StructDef<'a>,
    at: u64,
    left: u32,
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    /// A wrapper each, from here up to there.
    Wrappers(u64, u64),
    /// The sections of an array's owner.
    Inline(Sections),
    None,
}

impl<'t, 'a> Iterator for Elements<'t, 'a> {
    type Item = Result<Struct<'t, 'a>, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let at = self.at;
        self.at = at.saturating_add(self.def.size.into());
        let sections = self.sections();
        if sections.is_err() {
            self.left = 0;
        }
        Some(sections.map(|sections| Struct { tag: self.tag, def: self.def, at, sections }))
    }
}

impl Elements<'_, '_> {
    /// How many are left.
    pub fn n_left(&self) -> u32 {
        self.left
    }

    /// Whether the fields of the elements can have sections.
    pub(crate) fn has_sections(&self) -> bool {
        self.def.sections > 0
    }

    fn sections(&mut self) -> Result<Sections, ReadError> {
        match &mut self.source {
            Source::None => Ok(Sections::ABSENT),
            Source::Wrappers(at, end) => {
                let wrapper = Section::read(&self.tag.rope, *at, *end, self.def.name)?;
                *at = wrapper.end();
                Sections::open(self.tag, self.def, wrapper, &mut Work::default())
            }
            Source::Inline(sections) => {
                let own = sections.clone();
                sections.skip(&self.tag.rope, self.def.sections, self.def.name)?;
                Ok(own)
            }
        }
    }
}

impl<'a> Tag<'a> {
    /// The root struct, which holds all values.
    pub fn root(&self) -> Result<Struct<'_, 'a>, ReadError> {
        let (block, def) = self.root_block()?;
        let wrapper = Section::read(&self.rope, block.wrappers, block.end, "root")?;
        let sections = Sections::open(self, def, wrapper, &mut Work::default())?;
        Ok(Struct { tag: self, def, at: block.element(0), sections })
    }
}

impl<'t, 'a> Struct<'t, 'a> {
    /// The element at `at` of `block`, whose wrapper is `wrapper`.
    pub(crate) fn element(
        tag: &'t Tag<'a>,
        def: &'t StructDef<'a>,
        at: u64,
        wrapper: Option<Section>,
    ) -> Result<Self, ReadError> {
        let sections = match wrapper {
            Some(wrapper) => Sections::open(tag, def, wrapper, &mut Work::default())?,
            None => Sections::ABSENT,
        };
        Ok(Self { tag, def, at, sections })
    }

    /// The name of the struct in the layout.
    pub fn name(&self) -> &'a str {
        self.def.name
    }

    /// The fields, in order, without those that hold no value.
    pub fn fields(&self) -> impl Iterator<Item = Result<Field<'t, 'a>, ReadError>> + use<'t, 'a> {
        let (tag, def, start) = (self.tag, self.def, self.at);
        let mut sections = self.sections.clone();
        def.fields.iter().filter(|field| field.kind.is_shown()).map(move |field| {
            let at = start.saturating_add(field.offset.into());
            let inner = sections.clone();
            let section = match field.sections {
                0 => None,
                n if field.kind == Kind::Array => {
                    sections.skip(&tag.rope, n, field.name)?;
                    None
                }
                _ => sections.next(&tag.rope, field.kind, field.name)?,
            };
            Ok(Field { tag, def: field, at, section, inner })
        })
    }

    /// The first field called `name`.
    pub fn field(&self, name: &str) -> Result<Option<Field<'t, 'a>>, ReadError> {
        for field in self.fields() {
            let field = field?;
            if field.def.name == name && !name.is_empty() {
                return Ok(Some(field));
            }
        }
        Ok(None)
    }
}

impl<'t, 'a> Field<'t, 'a> {
    /// The name; may be empty, and need not be unique.
    pub fn name(&self) -> &'a str {
        self.def.name
    }

    /// The name of the type in the layout.
    pub fn type_name(&self) -> &'a str {
        self.def.type_name
    }

    /// Where the field's bytes in place begin in the file.
    pub fn offset(&self) -> u64 {
        self.at
    }

    fn gone(&self) -> ReadError {
        ReadError::new(ErrorKind::Truncated, self.at, self.def.name, "the bytes of the field are not there")
    }

    fn array<const N: usize>(&self, at: u64) -> Result<[u8; N], ReadError> {
        self.tag.rope.array(self.at.saturating_add(at)).ok_or_else(|| self.gone())
    }

    /// The word at `at` in place.
    pub(crate) fn word(&self, at: u64) -> Result<u32, ReadError> {
        self.array(at).map(u32::from_le_bytes)
    }

    /// How many elements a block may have; 0 for any number.
    pub(crate) fn maximum(&self) -> Result<u32, ReadError> {
        Ok(self.tag.layout.block_def(self.def.aux, self.at, self.def.name)?.maximum)
    }

    /// The content of the section, without the NUL that may close a text.
    fn content(&self) -> Result<Cow<'t, [u8]>, ReadError> {
        match self.section {
            Some(section) => self.tag.rope.bytes(section.at, section.size.into()).ok_or_else(|| self.gone()),
            None => Ok(Cow::Borrowed(&[])),
        }
    }

    /// A whole number of `bytes` bytes.
    fn integer(&self, bytes: u8, is_signed: bool) -> Result<i64, ReadError> {
        Ok(match (bytes, is_signed) {
            (1, true) => i8::from_le_bytes(self.array(0)?).into(),
            (1, false) => u8::from_le_bytes(self.array(0)?).into(),
            (2, true) => i16::from_le_bytes(self.array(0)?).into(),
            (2, false) => u16::from_le_bytes(self.array(0)?).into(),
            (4, true) => i32::from_le_bytes(self.array(0)?).into(),
            (4, false) => u32::from_le_bytes(self.array(0)?).into(),
            _ => i64::from_le_bytes(self.array(0)?),
        })
    }

    fn bits(&self, bytes: u8) -> Result<u32, ReadError> {
        Ok(u32::try_from(self.integer(bytes, false)?).unwrap_or_default())
    }

    /// The value.
    pub fn value(&self) -> Result<Value<'t, 'a>, ReadError> {
        let layout = &self.tag.layout;
        Ok(match self.def.kind {
            Kind::Signed(n) | Kind::BlockIndex(n) | Kind::CustomBlockIndex(n) => {
                Value::Integer(self.integer(n, true)?)
            }
            Kind::Unsigned(n) => Value::Integer(self.integer(n, false)?),
            Kind::Enum(n) => {
                let raw = self.bits(n)?;
                Value::Enum { raw, option: layout.option(self.def.aux, raw.into()) }
            }
            Kind::Flags(n) => {
                let raw = self.bits(n)?;
                let name = |bit: u32| match layout.option(self.def.aux, bit.into()) {
                    Some(name) if !name.is_empty() => Cow::Borrowed(name),
                    _ => Cow::Owned(format!("bit {bit}")),
                };
                let set = (0..u32::BITS).filter(|bit| raw.wrapping_shr(*bit) & 1 == 1).map(name).collect();
                Value::Flags { raw, set }
            }
            Kind::BlockFlags => Value::BlockFlags(self.bits(4)?),
            Kind::Real => Value::Real(f32::from_le_bytes(self.array(0)?)),
            Kind::Reals(n) => Value::Reals(
                (0..u64::from(n))
                    .map(|i| self.array(i.saturating_mul(4)).map(f32::from_le_bytes))
                    .collect::<Result<_, _>>()?,
            ),
            Kind::Shorts(n) => Value::Shorts(
                (0..u64::from(n))
                    .map(|i| self.array(i.saturating_mul(2)).map(i16::from_le_bytes))
                    .collect::<Result<_, _>>()?,
            ),
            Kind::Rgb => Value::Color(format!("#{:06x}", self.bits(4)? & 0x00ff_ffff)),
            Kind::Argb => Value::Color(format!("#{:08x}", self.bits(4)?)),
            Kind::Tag => {
                let group = FourCc(self.bits(4)?);
                Value::Tag((!group.is_none()).then_some(group))
            }
            Kind::Text => {
                let bytes = self.tag.rope.bytes(self.at, self.def.size.into()).ok_or_else(|| self.gone())?;
                Value::Text(text(&bytes))
            }
            Kind::StringId => Value::StringId(text(&self.content()?)),
            Kind::Reference => Value::Reference(self.reference()?),
            Kind::Data => Value::Data(match self.section {
                Some(_) => Some(self.content()?),
                None => None,
            }),
            Kind::Struct => Value::Struct(match self.section {
                Some(wrapper) => {
                    let def = self.tag.element_def(self.def.aux, self.def.name)?;
                    Some(Struct::element(self.tag, def, self.at, Some(wrapper))?)
                }
                None => None,
            }),
            Kind::Array => Value::Array(self.elements()?),
            Kind::Block => Value::Block(
                self.span()?
                    .map(|(span, def)| Block { flags: span.flags, elements: self.span_elements(span, def) }),
            ),
            Kind::Resource => Value::Resource(match self.section {
                Some(section) => {
                    let [_, _, kind, _] = section.magic.to_be_bytes();
                    let kind = (kind != 0).then(|| char::from(kind));
                    Some(Resource { kind, version: section.version, body: self.content()? })
                }
                None => None,
            }),
            Kind::Interop | Kind::Pad | Kind::Custom | Kind::Terminator | Kind::Unknown => {
                Value::Raw(self.tag.rope.bytes(self.at, self.def.size.into()).ok_or_else(|| self.gone())?)
            }
        })
    }

    /// The elements of an array.
    fn elements(&self) -> Result<Elements<'t, 'a>, ReadError> {
        let (count, element) = self.tag.layout.array_def(self.def.aux, self.at, self.def.name)?;
        let def = self.tag.element_def(element, self.def.name)?;
        let source = Source::Inline(self.inner.clone());
        Ok(Elements { tag: self.tag, def, at: self.at, left: count, source })
    }

    /// Where the elements of a block lie, and what they are.
    pub(crate) fn span(&self) -> Result<Option<(BlockSpan, &'t StructDef<'a>)>, ReadError> {
        let Some(section) = self.section else {
            return Ok(None);
        };
        let block = self.tag.layout.block_def(self.def.aux, self.at, self.def.name)?;
        let def = self.tag.element_def(block.element, self.def.name)?;
        Ok(Some((BlockSpan::read(self.tag, section, block.maximum, def, self.def.name)?, def)))
    }

    fn span_elements(&self, span: BlockSpan, def: &'t StructDef<'a>) -> Elements<'t, 'a> {
        let source = match span.is_wrapped() {
            true => Source::Wrappers(span.wrappers, span.end),
            false => Source::None,
        };
        Elements { tag: self.tag, def, at: span.element(0), left: span.count, source }
    }

    fn reference(&self) -> Result<Option<Reference>, ReadError> {
        let content = self.content()?;
        Ok(content
            .split_first_chunk::<4>()
            .map(|(group, path)| Reference { group: FourCc(u32::from_le_bytes(*group)), path: text(path) }))
    }
}

/// The text up to the first NUL.
fn text(bytes: &[u8]) -> String {
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}
