//! Reads the header and the layout of a tag; [`crate::check`] then walks its values.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use wire::{ErrorKind, ReadError, Reader};

use crate::check;
use crate::layout::*;
use crate::model::*;
use crate::rope::Rope;

/// What reading a tag has cost, to hold it by: both grow with the length of the file at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Sections, fields and strings looked at.
    pub steps: u64,
    /// States looked at to tell phantom wrappers from others.
    pub states: u64,
}

impl<'a> Tag<'a> {
    /// Whether `bytes` begin as a tag does.
    pub fn is_one(bytes: &[u8]) -> bool {
        bytes.get(0x3c..0x40) == Some(&BLAM.to_le_bytes())
    }

    /// Reads the tag in `bytes`: header, layout and all values, each of which is where it has to be.
    pub fn read(bytes: &'a [u8]) -> Result<Self, ReadError> {
        Self::read_measured(bytes, &mut Work::default())
    }

    /// As [`read`](Self::read), counting what it does.
    pub fn read_measured(bytes: &'a [u8], work: &mut Work) -> Result<Self, ReadError> {
        let mut r = Reader::new(bytes, "tag");
        if u32::try_from(bytes.len()).is_err() {
            return Err(r.limit("length", format!("{} bytes, a tag has below 4 GiB", bytes.len())));
        }
        r.bytes(0x30, "header")?;
        let header = Header {
            group: FourCc(r.u32("group")?),
            group_version: r.u32("group version")?,
            checksum: r.u32("checksum")?,
        };
        expect(&mut r, "magic", BLAM)?;
        let mut stream = section(&mut r, TAG_STREAM, 0, "stream")?;
        r.finish()?;
        let blay = section(&mut stream, BLAY, BLAY_VERSION, "layout")?;
        let data_at = stream.offset();
        section(&mut stream, BDAT, BDAT_VERSION, "data")?;
        stream.finish()?;
        let layout = layout(blay, work)?;
        let tag = Self { header, layout, rope: Rope::new(bytes), data_at };
        check::walk(&tag, work)?;
        Ok(tag)
    }
}

fn expect(r: &mut Reader<'_>, field: &str, wanted: u32) -> Result<(), ReadError> {
    let at = r.clone();
    match r.u32(field)? {
        found if found == wanted => Ok(()),
        found => Err(at.malformed(field, format!("found `{}`, not `{}`", FourCc(found), FourCc(wanted)))),
    }
}

/// A section of this magic and version.
fn section<'a>(
    r: &mut Reader<'a>,
    magic: u32,
    version: u32,
    name: &'static str,
) -> Result<Reader<'a>, ReadError> {
    expect(r, name, magic)?;
    let at = r.clone();
    let found = r.u32("version")?;
    if found != version {
        return Err(at.unsupported(name, format!("version {found}, read is {version}")));
    }
    let size = r.u32("size")?;
    r.section(size.into(), name)
}

fn layout<'a>(mut r: Reader<'a>, work: &mut Work) -> Result<Layout<'a>, ReadError> {
    r.u32("root data size")?;
    r.bytes(16, "layout id")?;
    let at = r.clone();
    let version = r.u32("layout version")?;
    if version != LAYOUT_VERSION {
        return Err(at.unsupported("layout version", format!("{version}, read is {LAYOUT_VERSION}")));
    }
    let at_root = r.offset();
    let root_block = r.u32("root block")?;
    let mut counts = [0_u32; 12];
    for count in &mut counts {
        *count = r.u32("table count")?;
    }
    let mut tgly = section(&mut r, TGLY, LAYOUT_VERSION, "tables")?;
    r.finish()?;
    let mut tables = std::array::from_fn(|_| tgly.clone());
    for ((table, (name, width, place)), count) in tables.iter_mut().zip(TABLES).zip(0_u32..) {
        let at = tgly.clone();
        *table = section(&mut tgly, magic(name), 0, "table")?;
        let stated = counts.get(place).copied().unwrap_or_default();
        if u64::from(stated).checked_mul(width) != Some(table.remaining()) {
            let name = String::from_utf8_lossy(name);
            return Err(at.malformed(
                &format!("[{count}]"),
                format!("`{name}` has {} bytes, but {stated} entries of {width}", table.remaining()),
            ));
        }
    }
    tgly.finish()?;

    let mut layout =
        Layout { root_block, tables, types: Vec::new(), structs: Vec::new(), places: Vec::new() };
    layout.read_types()?;
    let n = usize::try_from(layout.count(STRUCTS)).unwrap_or_default();
    layout.places = vec![0; n];
    let root = layout.block_def(root_block, at_root, "root block")?;
    let mut resolver = Resolver { layout, work, pending: vec![(root.element, at_root)], fields: 0 };
    while let Some((index, at)) = resolver.pending.pop() {
        if resolver.layout.struct_def(index).is_none() {
            resolver.define(index, at, 0)?;
        }
    }
    Ok(resolver.layout)
}

impl<'a> Layout<'a> {
    fn read_types(&mut self) -> Result<(), ReadError> {
        let n = self.count(TYPES);
        if n > MAX_TYPES {
            return Err(ReadError::new(
                ErrorKind::Limit,
                self.tables.get(TYPES).map_or(0, Reader::offset),
                "layout.types",
                format!("{n} types, allowed are {MAX_TYPES}"),
            ));
        }
        self.types.reserve_exact(usize::try_from(n).unwrap_or_default());
        for index in 0..u32::try_from(n).unwrap_or(u32::MAX) {
            let mut r = self.record(TYPES, index, 0, "type")?;
            let name = self.string(r.u32("name")?, &r, "type.name")?;
            let at = r.clone();
            let (size, kind) = kind_of(name);
            let stated = r.u32("size")?;
            // Structs, arrays and pads have the size of what they hold, whatever the type says.
            let is_composite = matches!(kind, Kind::Struct | Kind::Array | Kind::Pad | Kind::Unknown);
            if stated != size && !is_composite {
                return Err(
                    at.unsupported("type.size", format!("`{name}` has {stated} bytes, known are {size}"))
                );
            }
            self.types.push(TypeDef { name, kind, size, flag: r.u32("flag")? });
        }
        Ok(())
    }

    /// The sizes of all structs, in order; `None` for those that do not hold together. Each struct is looked
    /// at by itself, so one that nothing uses may be broken.
    pub(crate) fn sizes(&self) -> Vec<Option<u32>> {
        let mut layout = self.clone();
        let n = layout.places.len();
        layout.structs.clear();
        layout.places = vec![0; n];
        let mut work = Work::default();
        let mut resolver = Resolver { layout, work: &mut work, pending: Vec::new(), fields: 0 };
        (0..u32::try_from(n).unwrap_or(u32::MAX))
            .map(|index| {
                let def = match resolver.layout.struct_def(index) {
                    Some(_) => Ok(()),
                    None => resolver.define(index, 0, 0),
                };
                resolver.pending.clear();
                def.ok()?;
                let def = resolver.layout.struct_def(index)?;
                def.unknown.is_none().then_some(def.size)
            })
            .collect()
    }
}

/// Marks a struct whose fields are being looked at: to meet it again is a cycle.
const OPEN: u32 = u32::MAX;

struct Resolver<'a, 'w> {
    layout: Layout<'a>,
    work: &'w mut Work,
    /// The elements of blocks met, which may hold themselves, and where.
    pending: Vec<(u32, u64)>,
    fields: usize,
}

impl<'a> Resolver<'a, '_> {
    fn place(&mut self, index: u32) -> Option<&mut u32> {
        self.layout.places.get_mut(usize::try_from(index).ok()?)
    }

    /// Looks up the fields of the struct `index`, and of the structs in it.
    fn define(&mut self, index: u32, at: u64, depth: u32) -> Result<(), ReadError> {
        let mut r = self.layout.record(STRUCTS, index, at, "struct")?;
        if self.layout.struct_def(index).is_some() {
            return Ok(());
        }
        if self.place(index).is_some_and(|place| *place == OPEN) {
            return Err(r.malformed("struct", format!("struct {index} holds itself")));
        }
        if depth >= MAX_STRUCT_DEPTH {
            return Err(r.limit("struct", format!("more than {MAX_STRUCT_DEPTH} structs in each other")));
        }
        if let Some(place) = self.place(index) {
            *place = OPEN;
        }
        let guid = r.array("guid")?;
        let name = self.layout.string(r.u32("name")?, &r, "struct.name")?;
        let at = r.clone();
        let first = r.u32("first field")?;
        let mut def = StructDef {
            name,
            guid,
            fields: Vec::new(),
            writing: Vec::new(),
            size: 0,
            sections: 0,
            is_matchable: true,
            unknown: None,
        };
        let mut next = first;
        loop {
            if u64::from(next) >= self.layout.count(FIELDS) {
                let message =
                    format!("the fields from {first} on do not end in a terminator within the table");
                return Err(at.malformed("struct.first field", message));
            }
            let field = self.field(next, depth, &mut def)?;
            if field.kind == Kind::Terminator {
                break;
            }
            if field.sections > 0 {
                def.writing.push(u32::try_from(def.fields.len()).unwrap_or(u32::MAX));
            }
            def.fields.push(field);
            next = next.saturating_add(1);
        }
        self.layout.structs.push(def);
        let place = u32::try_from(self.layout.structs.len()).unwrap_or(OPEN);
        if let Some(entry) = self.place(index) {
            *entry = place;
        }
        Ok(())
    }

    fn field(
        &mut self,
        index: u32,
        depth: u32,
        owner: &mut StructDef<'a>,
    ) -> Result<FieldDef<'a>, ReadError> {
        let mut r = self.layout.record(FIELDS, index, 0, "field")?;
        self.work.steps = self.work.steps.saturating_add(1);
        self.fields = self.fields.saturating_add(1);
        if self.fields > MAX_FIELDS {
            return Err(r.limit("field", format!("the structs have more than {MAX_FIELDS} fields")));
        }
        let name = self.layout.string(r.u32("name")?, &r, "field.name")?;
        let at = r.clone();
        let type_index = r.u32("type")?;
        let at_aux = r.offset();
        let aux = r.u32("aux")?;
        let found = usize::try_from(type_index).ok().and_then(|index| self.layout.types.get(index));
        let Some(kind) = found.copied() else {
            let n = self.layout.types.len();
            return Err(
                at.malformed("field.type", format!("refers to {type_index}, but there are {n} types"))
            );
        };
        let (size, sections) = self
            .extent(&kind, aux, at_aux, depth, owner)
            .map_err(|error| if name.is_empty() { error } else { error.within(name) })?;
        let overflow =
            |what: &str| at.limit("field.type", format!("the struct has more than 32 bits of {what}"));
        let offset = owner.size;
        owner.size = offset.checked_add(size).ok_or_else(|| overflow("bytes"))?;
        owner.sections = owner.sections.checked_add(sections).ok_or_else(|| overflow("sections"))?;
        if sections > 0 && matches!(kind.kind, Kind::Array | Kind::Resource) {
            owner.is_matchable = false;
        }
        if kind.kind == Kind::Unknown {
            owner.unknown.get_or_insert(kind.name);
        }
        Ok(FieldDef { name, type_name: kind.name, kind: kind.kind, aux, offset, size, sections })
    }

    /// How many bytes in place and how many sections a field has, once what it refers to is there.
    fn extent(
        &mut self,
        found: &TypeDef<'a>,
        aux: u32,
        at: u64,
        depth: u32,
        owner: &mut StructDef<'a>,
    ) -> Result<(u32, u32), ReadError> {
        let deeper = depth.saturating_add(1);
        let size = found.size;
        Ok(match found.kind {
            Kind::Pad => (aux, 0),
            Kind::Struct => {
                self.define(aux, at, deeper)?;
                let (size, _, unknown) = self.measure(aux);
                owner.unknown = owner.unknown.or(unknown);
                (size, 1)
            }
            Kind::Array => {
                let (count, element) = self.layout.array_def(aux, at, "array")?;
                self.define(element, at, deeper)?;
                let (size, sections, unknown) = self.measure(element);
                owner.unknown = owner.unknown.or(unknown);
                if size == 0 && count > 1 && unknown.is_none() {
                    let message = format!("{count} elements without a byte");
                    return Err(ReadError::new(ErrorKind::Unsupported, at, "array", message));
                }
                let total = size.checked_mul(count).zip(sections.checked_mul(count));
                total.ok_or_else(|| {
                    let message = format!("{count} elements of {size} bytes are more than 32 bits of bytes");
                    ReadError::new(ErrorKind::Limit, at, "array", message)
                })?
            }
            Kind::Block => {
                let block = self.layout.block_def(aux, at, "block")?;
                self.layout.record(STRUCTS, block.element, at, "block.struct")?;
                self.pending.push((block.element, at));
                (size, 1)
            }
            Kind::BlockIndex(_) => {
                self.layout.block_def(aux, at, "block")?;
                (size, 0)
            }
            Kind::Enum(_) | Kind::Flags(_) => {
                self.layout.enum_def(aux, at, "options")?;
                (size, 0)
            }
            Kind::StringId | Kind::Reference | Kind::Data | Kind::Resource => (size, 1),
            Kind::Interop => (size, u32::from(found.flag != 0)),
            _ => (size, 0),
        })
    }

    fn measure(&self, index: u32) -> (u32, u32, Option<&'a str>) {
        self.layout.struct_def(index).map_or((0, 0, None), |def| (def.size, def.sections, def.unknown))
    }
}
