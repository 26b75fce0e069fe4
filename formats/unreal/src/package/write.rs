//! Writes a package: sizes, offsets, counts and paddings follow from the model.

use wire::Writer;

use super::layout::*;
use super::model::*;

impl Package {
    /// The bytes of the package. For a package that was read they are the bytes that were read; one that
    /// was edited should have passed [`check`](Self::check).
    pub fn write(&self) -> Vec<u8> {
        let mut bytes = self.write_header();
        bytes.extend_from_slice(&self.data);
        bytes
    }

    /// All that comes before the export data.
    pub(super) fn write_header(&self) -> Vec<u8> {
        let mut w = Writer::new();
        let summary_bytes = match self.form {
            Form::Ue55 => SUMMARY_BYTES,
            Form::Ue56 => LATER_SUMMARY_BYTES,
        };
        w.zeros(summary_bytes as usize);
        name_batch(&mut w, self.names.iter());
        bulk_map(&mut w, &self.bulk);
        let imported_hashes = offset(&w);
        for hash in &self.imported_hashes {
            w.u64(*hash);
        }
        let imports = offset(&w);
        for import in &self.imports {
            w.u64(import.raw());
        }
        let exports = offset(&w);
        for entry in &self.exports {
            export(&mut w, entry);
        }
        let bundle = offset(&w);
        for entry in &self.bundle {
            w.u32(entry.export).u32(match entry.command {
                BundleCommand::Create => 0,
                BundleCommand::Serialize => 1,
            });
        }
        let dependency_headers = offset(&w);
        dependency_bundles(&mut w, &self.dependencies);
        let dependencies = offset(&w);
        for entry in self.dependencies.iter().flat_map(|d| d.lists()).flatten() {
            w.i32(*entry);
        }
        let imported_packages = offset(&w);
        name_batch(&mut w, self.imported.iter().map(|package| &package.base));
        for package in &self.imported {
            w.u32(package.number);
        }

        let mut summary = Writer::with_capacity(summary_bytes as usize);
        summary
            .u32(0)
            .u32(offset(&w))
            .u32(self.name.index)
            .u32(self.name.number)
            .u32(self.flags)
            .u32(self.cooked_header_size)
            .u32(imported_hashes)
            .u32(imports)
            .u32(exports)
            .u32(bundle)
            .u32(dependency_headers)
            .u32(dependencies)
            .u32(imported_packages);
        if self.form == Form::Ue56 {
            // Both maps of cells are empty and lie before the bundle.
            summary.u32(bundle).u32(bundle);
        }
        w.patch(0, summary.as_bytes());
        w.into_bytes()
    }
}

fn offset(w: &Writer) -> u32 {
    word(w.len())
}

fn word(n: usize) -> u32 {
    u32::try_from(n).expect("because a package's header is below 4 GiB")
}

fn name_batch<'a>(w: &mut Writer, names: impl ExactSizeIterator<Item = &'a Name> + Clone) {
    w.u32(word(names.len()));
    if names.len() == 0 {
        return;
    }
    let mut strings = Writer::new();
    let mut headers = Writer::new();
    for name in names.clone() {
        let text = name.text();
        // Both kinds have at most `MAX_NAME_UNITS` units, which fit beside the mark.
        if text.is_ascii() {
            headers.u16_be(text.len() as u16);
            strings.bytes(text.as_bytes());
        } else {
            headers.u16_be(text.encode_utf16().count() as u16 | NAME_IS_WIDE);
            for unit in text.encode_utf16() {
                strings.u16(unit);
            }
        }
    }
    w.u32(word(strings.len())).u64(NAME_HASH_ALGORITHM);
    for name in names {
        w.u64(name.hash());
    }
    w.bytes(headers.as_bytes()).bytes(strings.as_bytes());
}

fn bulk_map(w: &mut Writer, entries: &[BulkEntry]) {
    let position = w.len() + 8;
    let padding = position.next_multiple_of(8) - position;
    w.u64(padding as u64).zeros(padding);
    w.u64(entries.len() as u64 * BULK_ENTRY_BYTES);
    for entry in entries {
        w.i64(entry.offset)
            .i64(entry.duplicate_offset)
            .i64(entry.size)
            .u32(entry.flags)
            .u8(entry.cooked_index)
            .zeros(3);
    }
}

fn export(w: &mut Writer, export: &Export) {
    w.u64(export.offset)
        .u64(export.size)
        .u32(export.name.index)
        .u32(export.name.number)
        .u64(export.outer.raw())
        .u64(export.class.raw())
        .u64(export.super_object.raw())
        .u64(export.template.raw())
        .u64(export.public_hash)
        .u32(export.flags)
        .u8(export.filter)
        .zeros(3);
}

fn dependency_bundles(w: &mut Writer, bundles: &[Dependencies]) {
    let mut first = 0;
    for bundle in bundles {
        w.u32(if bundle.states_no_first { u32::MAX } else { word(first) });
        for list in bundle.lists() {
            w.u32(word(list.len()));
            first += list.len();
        }
    }
}
