//! Reads a package from the bytes of its chunk.
//!
//! It goes through the sections in their one order; each must begin where the summary says and where the
//! section before it ended, and the header must end with the last. What the tables say of each other is
//! left to `check`.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use wire::{ErrorKind, ReadError, Reader};

use super::check::{Fault, Table};
use super::layout::*;
use super::model::*;

/// What a reader of packages allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest package, in bytes.
    pub package_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { package_bytes: 1 << 30 }
    }
}

impl Package {
    /// Reads a package: the content of a chunk of type 1.
    pub fn read(bytes: &[u8], limits: &Limits) -> Result<Self, ReadError> {
        let mut whole = Reader::new(bytes, "package");
        if whole.remaining() > limits.package_bytes {
            let (found, allowed) = (whole.remaining(), limits.package_bytes);
            return Err(whole.limit("size", format!("{found} bytes, allowed are {allowed}")));
        }
        let versioned = whole.u32("has versioning info")?;
        if versioned != 0 {
            return Err(Reader::new(bytes, "package").unsupported(
                "has versioning info",
                format!("found {versioned}: versioned packages are not read, only those with 0"),
            ));
        }
        let header_bytes = u64::from(whole.u32("header size")?);
        let mut file = Reader::new(bytes, "package");
        let mut header = file.section(header_bytes, "header")?;
        header.bytes(whole.position(), "summary")?;
        let (package, starts) = read_header(&mut header, file.rest())?;
        header.finish()?;
        package.check().map_err(|fault| starts.locate(fault))?;
        Ok(package)
    }
}

/// The offsets that the summary states, in the order of the sections.
struct Sections {
    imported_hashes: i32,
    imports: i32,
    exports: i32,
    cell_imports: i32,
    cell_exports: i32,
    bundle: i32,
    dependency_headers: i32,
    dependencies: i32,
    imported_packages: i32,
}

fn read_header(r: &mut Reader<'_>, data: &[u8]) -> Result<(Package, Starts), ReadError> {
    let name = name_ref(r, "package name")?;
    let flags = r.u32("package flags")?;
    let cooked_header_size = r.u32("cooked header size")?;
    let mut sections = Sections {
        imported_hashes: r.i32("imported public export hashes offset")?,
        imports: r.i32("import map offset")?,
        exports: r.i32("export map offset")?,
        cell_imports: 0,
        cell_exports: 0,
        bundle: r.i32("export bundle offset")?,
        dependency_headers: r.i32("dependency headers offset")?,
        dependencies: r.i32("dependencies offset")?,
        imported_packages: r.i32("imported package names offset")?,
    };
    let form = form(r)?;
    if form == Form::Ue56 {
        sections.cell_imports = r.i32("cell import map offset")?;
        sections.cell_exports = r.i32("cell export map offset")?;
    }
    let names_start = r.offset();
    let names = name_batch(r, "names")?;
    let bulk = bulk_map(r)?;

    let mut part =
        open(r, sections.imported_hashes, sections.imports, WORD_BYTES, "imported public export hashes")?;
    let imported_hashes = items(&mut part, WORD_BYTES, |r, _| r.u64("hash"))?;
    let mut part = open(r, sections.imports, sections.exports, WORD_BYTES, "import map")?;
    let imports = items(&mut part, WORD_BYTES, |r, i| object(r, &format!("[{i}]")))?;
    let mut part = open(r, sections.exports, sections.bundle, EXPORT_BYTES, "export map")?;
    if form == Form::Ue56 {
        refuse_cells(&part, &sections)?;
    }
    let exports = items(&mut part, EXPORT_BYTES, export)?;
    let mut part =
        open(r, sections.bundle, sections.dependency_headers, BUNDLE_ENTRY_BYTES, "export bundle")?;
    let bundle = items(&mut part, BUNDLE_ENTRY_BYTES, bundle_entry)?;
    let mut headers = open(
        r,
        sections.dependency_headers,
        sections.dependencies,
        DEPENDENCY_HEADER_BYTES,
        "dependency headers",
    )?;
    let mut entries =
        open(r, sections.dependencies, sections.imported_packages, DEPENDENCY_BYTES, "dependencies")?;
    let mut first: i32 = 0;
    let dependencies =
        items(&mut headers, DEPENDENCY_HEADER_BYTES, |r, _| dependency_bundle(r, &mut entries, &mut first))?;
    entries.finish()?;
    begins_at(r, sections.imported_packages, "imported package names")?;
    let imported = imported_packages(r)?;

    let starts = Starts {
        names: names_start,
        imports: sections.imports.unsigned_abs().into(),
        exports: sections.exports.unsigned_abs().into(),
        bundle: sections.bundle.unsigned_abs().into(),
        dependencies: sections.dependency_headers.unsigned_abs().into(),
    };
    let package = Package {
        form,
        name,
        flags,
        cooked_header_size,
        names,
        bulk,
        imported_hashes,
        imports,
        exports,
        bundle,
        dependencies,
        imported,
        data: data.to_vec(),
    };
    Ok((package, starts))
}

/// Which summary this is. No field says it: it is told by the hash algorithm of the name batch, which stands
/// 8 bytes after the batch begins.
fn form(r: &Reader<'_>) -> Result<Form, ReadError> {
    let algorithm_at = |skip: u64| {
        let mut r = r.clone();
        r.bytes(skip, "summary")?;
        r.u64("name hash algorithm")
    };
    let later = LATER_SUMMARY_BYTES.saturating_sub(SUMMARY_BYTES);
    match (algorithm_at(8)?, algorithm_at(later.saturating_add(8))) {
        (NAME_HASH_ALGORITHM, _) => Ok(Form::Ue55),
        (_, Ok(NAME_HASH_ALGORITHM)) => Ok(Form::Ue56),
        (found, _) => Err(r.unsupported(
            "summary",
            format!(
                "no names follow it after {SUMMARY_BYTES} bytes, as up to Unreal Engine 5.5, nor after \
                 {LATER_SUMMARY_BYTES}, as from 5.6 on: found the name hash algorithm {found:#x}, known is \
                 {NAME_HASH_ALGORITHM:#x}"
            ),
        )),
    }
}

/// Cells would lie between the export map and the bundle; none are read.
fn refuse_cells(exports: &Reader<'_>, sections: &Sections) -> Result<(), ReadError> {
    for (field, at) in
        [("cell import map", sections.cell_imports), ("cell export map", sections.cell_exports)]
    {
        if at != sections.bundle {
            let bundle = sections.bundle;
            return Err(exports.unsupported(
                field,
                format!("begins at {at}, allowed is {bundle}: cells of Verse code are not read"),
            ));
        }
    }
    Ok(())
}

/// Checks that the section `name` begins where the one before it ended.
fn begins_at(r: &Reader<'_>, offset: i32, name: &str) -> Result<(), ReadError> {
    if i64::from(offset) == i64::try_from(r.offset()).unwrap_or(i64::MAX) {
        return Ok(());
    }
    let expected = r.offset();
    Err(r.malformed(name, format!("begins at {offset}, but the section before it ends at {expected}")))
}

/// The section `name` from `start` to `end`, which must hold whole entries.
fn open<'a>(
    r: &mut Reader<'a>,
    start: i32,
    end: i32,
    entry_bytes: u64,
    name: &'static str,
) -> Result<Reader<'a>, ReadError> {
    begins_at(r, start, name)?;
    let length = i64::from(end).saturating_sub(i64::from(start));
    match u64::try_from(length) {
        Ok(length) if length.is_multiple_of(entry_bytes) => r.section(length, name),
        Ok(length) => {
            Err(r.malformed(name, format!("{length} bytes are not whole entries of {entry_bytes}")))
        }
        Err(_) => Err(r.malformed(name, format!("ends at {end}, before it begins"))),
    }
}

/// All entries of the section `r`.
fn items<'a, T>(
    r: &mut Reader<'a>,
    entry_bytes: u64,
    mut read: impl FnMut(&mut Reader<'a>, usize) -> Result<T, ReadError>,
) -> Result<Vec<T>, ReadError> {
    let n = r.remaining().checked_div(entry_bytes).unwrap_or(0);
    let n = r.count(n, entry_bytes, "entries")?;
    let mut items = Vec::with_capacity(n);
    for i in 0..n {
        items.push(read(r, i)?);
    }
    Ok(items)
}

fn name_ref(r: &mut Reader<'_>, field: &str) -> Result<NameRef, ReadError> {
    Ok(NameRef { index: r.u32(field)?, number: r.u32(field)? })
}

pub(crate) fn name_batch(r: &mut Reader<'_>, section: &'static str) -> Result<Vec<Name>, ReadError> {
    let n = r.u32("name count")?;
    if n == 0 {
        return Ok(Vec::new());
    }
    let bytes = r.u32("name bytes")?;
    let algorithm = r.u64("name hash algorithm")?;
    if algorithm != NAME_HASH_ALGORITHM {
        return Err(r.unsupported(
            "name hash algorithm",
            format!("found {algorithm:#x}, known is {NAME_HASH_ALGORITHM:#x}"),
        ));
    }
    let n = r.count(u64::from(n), NAME_BYTES, "name count")?;
    let mut hashes = r.clone();
    r.bytes((n as u64).saturating_mul(WORD_BYTES), "name hashes")?;
    let mut headers = r.clone();
    r.bytes((n as u64).saturating_mul(2), "name lengths")?;
    let mut strings = r.section(u64::from(bytes), section)?;
    let mut names = Vec::with_capacity(n);
    for i in 0..n {
        let hash = hashes.u64("name hash")?;
        let header = headers.u16_be("name length")?;
        names.push(Name::stored(name_text(&mut strings, header, i)?, hash));
    }
    strings.finish()?;
    Ok(names)
}

fn name_text(r: &mut Reader<'_>, header: u16, index: usize) -> Result<String, ReadError> {
    let units = header & !NAME_IS_WIDE;
    let field = format!("[{index}]");
    if usize::from(units) > MAX_NAME_UNITS {
        return Err(r.limit(&field, format!("{units} units long, allowed are {MAX_NAME_UNITS}")));
    }
    if header & NAME_IS_WIDE == 0 {
        let bytes = r.bytes(u64::from(units), &field)?;
        return match std::str::from_utf8(bytes) {
            Ok(text) if text.is_ascii() => Ok(text.to_owned()),
            _ => Err(r.malformed(&field, "a single-byte name is not ASCII")),
        };
    }
    let mut text = Vec::with_capacity(usize::from(units));
    for _ in 0..units {
        text.push(r.u16(&field)?);
    }
    match String::from_utf16(&text) {
        // An ASCII name in this form would not be written back as it was.
        Ok(text) if !text.is_ascii() => Ok(text),
        Ok(_) => Err(r.unsupported(&field, "an ASCII name is stored as UTF-16")),
        Err(_) => Err(r.malformed(&field, "not valid UTF-16")),
    }
}

fn bulk_map(r: &mut Reader<'_>) -> Result<Vec<BulkEntry>, ReadError> {
    let padding = r.u64("bulk map padding")?;
    let needed = r.offset().wrapping_neg() & 7;
    if padding != needed {
        return Err(r.malformed(
            "bulk map padding",
            format!("{padding} bytes, but {needed} align what follows to 8"),
        ));
    }
    zeros(r, padding, "bulk map padding")?;
    let bytes = r.u64("bulk map bytes")?;
    if !bytes.is_multiple_of(BULK_ENTRY_BYTES) {
        return Err(r.malformed(
            "bulk map bytes",
            format!("{bytes} bytes are not whole entries of {BULK_ENTRY_BYTES}"),
        ));
    }
    let mut part = r.section(bytes, "bulk map")?;
    items(&mut part, BULK_ENTRY_BYTES, |r, _| {
        let entry = BulkEntry {
            offset: r.i64("offset")?,
            duplicate_offset: r.i64("duplicate offset")?,
            size: r.i64("size")?,
            flags: r.u32("flags")?,
            cooked_index: r.u8("cooked index")?,
        };
        zeros(r, 3, "padding")?;
        Ok(entry)
    })
}

fn zeros(r: &mut Reader<'_>, n: u64, field: &str) -> Result<(), ReadError> {
    let at = r.clone();
    if r.bytes(n, field)?.iter().any(|byte| *byte != 0) {
        return Err(at.unsupported(field, "bytes that are reserved are not zero"));
    }
    Ok(())
}

fn object(r: &mut Reader<'_>, field: &str) -> Result<ObjectIndex, ReadError> {
    let at = r.clone();
    let raw = r.u64(field)?;
    ObjectIndex::from_raw(raw)
        .ok_or_else(|| at.malformed(field, format!("{raw:#018x} is not an object index")))
}

fn export(r: &mut Reader<'_>, index: usize) -> Result<Export, ReadError> {
    let export = Export {
        offset: r.u64("serial offset")?,
        size: r.u64("serial size")?,
        name: name_ref(r, "name")?,
        outer: object(r, &format!("[{index}].outer"))?,
        class: object(r, &format!("[{index}].class"))?,
        super_object: object(r, &format!("[{index}].super"))?,
        template: object(r, &format!("[{index}].template"))?,
        public_hash: r.u64("public export hash")?,
        flags: r.u32("object flags")?,
        filter: r.u8("filter")?,
    };
    zeros(r, 3, &format!("[{index}].padding"))?;
    Ok(export)
}

fn bundle_entry(r: &mut Reader<'_>, index: usize) -> Result<BundleEntry, ReadError> {
    let export = r.u32("export")?;
    let at = r.clone();
    let command = match r.u32("command")? {
        0 => BundleCommand::Create,
        1 => BundleCommand::Serialize,
        other => {
            return Err(at.malformed(
                &format!("[{index}].command"),
                format!("found {other}, allowed are 0 (create) and 1 (serialize)"),
            ));
        }
    };
    Ok(BundleEntry { export, command })
}

/// One header, and its entries, which must follow those of the header before it.
fn dependency_bundle(
    r: &mut Reader<'_>,
    entries: &mut Reader<'_>,
    expected: &mut i32,
) -> Result<Dependencies, ReadError> {
    let at = r.clone();
    let first = r.i32("first entry")?;
    let mut bundle = Dependencies::default();
    let mut total: u64 = 0;
    for list in [
        &mut bundle.create_before_create,
        &mut bundle.serialize_before_create,
        &mut bundle.create_before_serialize,
        &mut bundle.serialize_before_serialize,
    ] {
        let n = r.u32("count")?;
        let n = entries.count(u64::from(n), DEPENDENCY_BYTES, "count")?;
        list.reserve_exact(n);
        for _ in 0..n {
            list.push(entries.i32("entry")?);
        }
        total = total.saturating_add(n as u64);
    }
    bundle.states_no_first = first == -1 && total == 0;
    if first != *expected && !bundle.states_no_first {
        return Err(
            at.malformed("first entry", format!("found {first}, but the entries before it are {expected}"))
        );
    }
    *expected = i32::try_from(total)
        .ok()
        .and_then(|total| expected.checked_add(total))
        .ok_or_else(|| at.limit("count", "more than 31 bits of entries"))?;
    Ok(bundle)
}

fn imported_packages(r: &mut Reader<'_>) -> Result<Vec<ImportedPackage>, ReadError> {
    name_batch(r, "imported package names")?
        .into_iter()
        .map(|base| Ok(ImportedPackage { base, number: r.u32("imported package number")? }))
        .collect()
}

/// Where the tables began, to say where a fault is.
struct Starts {
    names: u64,
    imports: u64,
    exports: u64,
    bundle: u64,
    dependencies: u64,
}

impl Starts {
    fn locate(&self, fault: Fault) -> ReadError {
        let (start, entry_bytes) = match fault.table {
            Table::Summary => (WORD_BYTES, 0),
            // Names have no fixed length: their hashes are meant, after the count, size and algorithm.
            Table::Names => (self.names.saturating_add(16), WORD_BYTES),
            Table::Imports => (self.imports, WORD_BYTES),
            Table::Exports => (self.exports, EXPORT_BYTES),
            Table::Bundle => (self.bundle, BUNDLE_ENTRY_BYTES),
            Table::Dependencies => (self.dependencies, DEPENDENCY_HEADER_BYTES),
        };
        let offset = start.saturating_add((fault.index as u64).saturating_mul(entry_bytes));
        ReadError::new(ErrorKind::Malformed, offset, fault.field, fault.message)
    }
}
