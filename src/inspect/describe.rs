//! Containers and packages as JSON, with the key names of the conformance expectations.

use std::collections::BTreeMap;

use iostore::{ChunkHash, ChunkReader, ChunkType, ContainerHeader, Limits, PackageId, Toc};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use unreal::package::{BundleCommand, Dependencies, Form, ImportedPackage, Name, ObjectIndex, Package};

use crate::bytes::hex as digits;

/// The bytes that end a package.
const TAG: [u8; 4] = [0xc1, 0x83, 0x2a, 0x9e];

/// Where a table of contents states the size of its directory index.
const DIRECTORY_INDEX_SIZE_AT: usize = 48;

/// Where a package states where its sections begin.
const SECTIONS: [(&str, usize); 7] = [
    ("imported_public_export_hashes", 24),
    ("import_map", 28),
    ("export_map", 32),
    ("export_bundle_entries", 36),
    ("dependency_bundle_headers", 40),
    ("dependency_bundle_entries", 44),
    ("imported_package_names", 48),
];

/// Where its names begin: after the summary.
fn names_at(package: &Package) -> usize {
    match package.form {
        Form::Ue55 => 52,
        Form::Ue56 => 60,
    }
}

/// A number of a header that was read and found sound before.
fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

/// The padding between names and bulk map, which follows the names: sizes, hashes, headers and texts.
fn bulk_map_pad(package: &Package, bytes: &[u8]) -> Option<u32> {
    let names = names_at(package);
    let texts = usize::try_from(u32_at(bytes, names + 4)?).ok()?;
    u32_at(bytes, texts.checked_add(names + 16 + 10 * package.names.len())?)
}

fn hex(number: u64) -> String {
    format!("{number:#018x}")
}

/// A container; chunks that cannot be read have no `sha256`.
pub(super) fn container(toc: &Toc, utoc: &[u8], ucas_size: Option<usize>, reader: &ChunkReader<'_>) -> Value {
    let limit = Limits::default().chunk_bytes;
    let mut header = Value::Null;
    let mut chunks = Vec::new();
    for (index, chunk) in toc.chunks().iter().enumerate() {
        let (first_block, blocks) = toc.blocks_of(index).unwrap_or_default();
        let bytes = reader.read(index, limit).ok();
        if let Some(bytes) = bytes.as_ref().filter(|_| chunk.id.kind() == ChunkType::ContainerHeader) {
            header = container_header(bytes);
        }
        chunks.push(json!({
            "toc_index": index,
            "chunk_id": chunk.id.to_string(),
            "id": hex(chunk.id.id()),
            "chunk_index": chunk.id.index(),
            "type": u8::from(chunk.id.kind()),
            "type_name": chunk.id.kind().to_string(),
            "offset": chunk.offset,
            "length": chunk.length,
            "first_block": first_block,
            "block_count": blocks.len(),
            "path": toc.path_below_mount(index),
            "meta_hash": chunk.hash.to_string(),
            "meta_flags": chunk.flags,
            "hash_matches_blake3": bytes.as_ref().map(|bytes| ChunkHash::of(bytes) == chunk.hash),
            "perfect_hash_slot": toc.resolve(chunk.id),
            "sha256": bytes.as_ref().map(|bytes| digits(&Sha256::digest(bytes))),
        }));
    }
    let blocks = toc.blocks().iter().map(|block| {
        json!({
            "offset": block.offset,
            "compressed_size": block.compressed_size,
            "uncompressed_size": block.uncompressed_size,
            "method": block.method,
        })
    });
    let mut by_method: BTreeMap<&str, u64> = BTreeMap::new();
    for block in toc.blocks() {
        let method = usize::from(block.method).checked_sub(1).map(|at| toc.methods().get(at));
        let name = method.map_or("stored", |name| name.map_or("unknown", String::as_str));
        *by_method.entry(name).or_default() += 1;
    }
    json!({
        "toc_version": 8,
        "header_size": 144,
        "entry_count": toc.chunks().len(),
        "block_count": toc.blocks().len(),
        "compression_block_size": toc.block_size(),
        "directory_index_size": u32_at(utoc, DIRECTORY_INDEX_SIZE_AT),
        "partition_count": toc.partition_count(),
        "container_id": hex(toc.container().0),
        "encryption_guid": "0".repeat(32),
        "container_flags": format!("{:#04x}", toc.flags()),
        "perfect_hash_seed_count": toc.seeds().len(),
        "partition_size": hex(toc.partition_size()),
        "chunks_without_perfect_hash": toc.overflow().len(),
        "toc_size": utoc.len(),
        "trailing": 0,
        "ucas_size": ucas_size,
        "perfect_hash_seeds": toc.seeds(),
        "overflow": toc.overflow(),
        "compression_methods": toc.methods(),
        "mount_point": toc.mount_point(),
        "chunks": chunks,
        "blocks_by_method": by_method,
        "compression_blocks": blocks.collect::<Vec<_>>(),
        "container_header": header,
    })
}

fn container_header(bytes: &[u8]) -> Value {
    let Ok(header) = ContainerHeader::read(bytes) else { return Value::Null };
    let ids = |ids: &[PackageId]| ids.iter().map(|id| hex(id.0)).collect::<Vec<_>>();
    let packages = header.packages.iter().map(|package| {
        json!({
            "package_id": hex(package.id.0),
            "imported_packages": ids(&package.imports),
            "shader_map_hashes": package.shader_maps.iter().map(|hash| digits(hash)).collect::<Vec<_>>(),
        })
    });
    json!({
        "version": bytes.get(4),
        "container_id": hex(header.container.0),
        "packages": packages.collect::<Vec<_>>(),
        "optional_segment_package_ids": ids(&header.optional_packages),
        "optional_segment_store_entries_bytes": header.optional_entries.len(),
        // Readers accept containers without these only.
        "redirect_names": [],
        "localized_packages": [],
        "package_redirects": [],
        "has_soft_package_references": header.soft_references.is_some(),
    })
}

/// A package.
pub(super) fn package(package: &Package, bytes: &[u8]) -> Value {
    let import = |index: &ObjectIndex| match index {
        ObjectIndex::Package { package, hash } => json!({
            "raw": hex(index.raw()),
            "kind": "package",
            "imported_package_index": package,
            "public_export_hash_index": hash,
        }),
        ObjectIndex::Script(_) => json!({"raw": hex(index.raw()), "kind": "script"}),
        ObjectIndex::Null => json!({"raw": hex(index.raw()), "kind": "null"}),
        ObjectIndex::Export(_) => json!({"raw": hex(index.raw()), "kind": "export"}),
    };
    let export = |export: &unreal::package::Export| {
        json!({
            "name": package.name_text(export.name),
            "serial_offset": export.offset,
            "serial_size": export.size,
            "outer": hex(export.outer.raw()),
            "class_": hex(export.class.raw()),
            "super": hex(export.super_object.raw()),
            "template": hex(export.template.raw()),
            "public_export_hash": hex(export.public_hash),
            "object_flags": format!("{:#010x}", export.flags),
            "filter_flags": export.filter,
        })
    };
    let bulk = package.bulk.iter().map(|entry| {
        json!({
            "serial_offset": entry.offset,
            "duplicate_serial_offset": entry.duplicate_offset,
            "serial_size": entry.size,
            "flags": format!("{:#010x}", entry.flags),
            "cooked_index": entry.cooked_index,
        })
    });
    let bundle = package.bundle.iter();
    let bundle =
        bundle.map(|entry| json!([entry.export, u32::from(entry.command == BundleCommand::Serialize)]));
    let entries = package.dependencies.iter().flat_map(Dependencies::lists).flatten();
    let header_size = bytes.len().saturating_sub(package.data.len());
    let start = |at: u64, export: &unreal::package::Export| (export.offset == at).then_some(at + export.size);
    let tile = package.exports.iter().try_fold(0, start);
    let sections = SECTIONS.iter().map(|(name, at)| ((*name).to_owned(), u32_at(bytes, *at).into()));
    json!({
        "has_versioning_info": 0,
        "package_flags": format!("{:#010x}", package.flags),
        "header_size": header_size,
        "cooked_header_size": package.cooked_header_size,
        "name": package.name_text(package.name),
        "package_id": package.id().to_string(),
        "names": package.names.iter().map(Name::text).collect::<Vec<_>>(),
        "name_hashes": package.names.iter().map(|name| hex(name.hash())).collect::<Vec<_>>(),
        "bulk_map_pad": bulk_map_pad(package, bytes),
        "bulk_data_map": bulk.collect::<Vec<_>>(),
        "imported_public_export_hashes": package.imported_hashes.iter().map(|hash| hex(*hash)).collect::<Vec<_>>(),
        "import_map": package.imports.iter().map(import).collect::<Vec<_>>(),
        "export_map": package.exports.iter().map(export).collect::<Vec<_>>(),
        "export_bundle_entries": bundle.collect::<Vec<_>>(),
        "dependency_bundle_headers": dependency_headers(package),
        "dependency_bundle_entries": entries.collect::<Vec<_>>(),
        "imported_package_names": package.imported.iter().map(ImportedPackage::text).collect::<Vec<_>>(),
        "imported_package_ids": package.imported_packages().iter().map(PackageId::to_string).collect::<Vec<_>>(),
        "package_size": bytes.len(),
        "ends_with_package_file_tag": bytes.ends_with(&TAG),
        "section_offsets": Value::Object(sections.collect()),
        "exports_tile_chunk": tile.is_some_and(|end| end + TAG.len() as u64 == package.data.len() as u64),
    })
}

fn dependency_headers(package: &Package) -> Vec<Value> {
    let mut first = 0;
    let header = |bundle: &Dependencies| {
        let counts = bundle.lists().map(Vec::len);
        let stated = if bundle.states_no_first { json!(-1) } else { json!(first) };
        first += counts.iter().sum::<usize>();
        let mut header = vec![stated];
        header.extend(counts.iter().map(|count| json!(count)));
        Value::Array(header)
    };
    package.dependencies.iter().map(header).collect()
}
