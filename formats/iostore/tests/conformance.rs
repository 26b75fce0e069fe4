//! Containers that engines and other tools wrote, compared with what is known of them.
//!
//! Cases are found by the form of their files, so that another folder of the same forms runs as well.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use iostore::{
    Builder, ChunkId, ChunkReader, ChunkType, ContainerHeader, ContainerId, Limits, MountOrder, Oodle,
    Package, PackageId, ReadAt, Toc, check, precedence, why_it_wins,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use test_support::{assert_bytes_eq, conformance};

/// All files below the two topics, sorted.
fn files() -> Vec<PathBuf> {
    let mut folders: Vec<_> = ["ue55", "ue58"].into_iter().filter_map(conformance).collect();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}

fn json_of(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hex(number: u64) -> String {
    format!("{number:#018x}")
}

struct Pair {
    name: String,
    folder: PathBuf,
    utoc: Vec<u8>,
    ucas: Vec<u8>,
    expected: Value,
}

/// All containers with expectations.
fn pairs() -> Vec<Pair> {
    files()
        .iter()
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?.strip_suffix(".expected.json")?;
            let utoc = fs::read(path.with_file_name(format!("{name}.utoc"))).ok()?;
            let ucas = fs::read(path.with_file_name(format!("{name}.ucas"))).unwrap();
            Some(Pair {
                name: name.to_owned(),
                folder: path.parent().unwrap().to_owned(),
                utoc,
                ucas,
                expected: json_of(path),
            })
        })
        .collect()
}

#[test]
fn containers_are_read_as_expected() {
    for Pair { name, utoc, ucas, expected, .. } in pairs() {
        let toc = Toc::read(&utoc, &Limits::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_bytes_eq(&name, &toc.write(), &utoc);

        let found = json!({
            "toc_version": 8,
            "header_size": 144,
            "entry_count": toc.chunks().len(),
            "block_count": toc.blocks().len(),
            "compression_block_size": toc.block_size(),
            "partition_count": toc.partition_count(),
            "container_id": hex(toc.container().0),
            "encryption_guid": "0".repeat(32),
            "container_flags": format!("{:#04x}", toc.flags()),
            "perfect_hash_seed_count": toc.seeds().len(),
            "partition_size": hex(toc.partition_size()),
            "chunks_without_perfect_hash": toc.overflow().len(),
            "toc_size": utoc.len(),
            "trailing": 0,
            "ucas_size": ucas.len(),
            "perfect_hash_seeds": toc.seeds(),
            "compression_methods": toc.methods(),
            "mount_point": toc.mount_point(),
        });
        for (field, value) in found.as_object().unwrap() {
            assert_eq!(value, &expected[field], "{name}: {field}");
        }
        if let Some(blocks) = expected["compression_blocks"].as_array() {
            let found: Vec<_> = toc
                .blocks()
                .iter()
                .map(|block| {
                    json!({
                        "offset": block.offset,
                        "compressed_size": block.compressed_size,
                        "uncompressed_size": block.uncompressed_size,
                        "method": block.method,
                    })
                })
                .collect();
            assert_eq!(&found, blocks, "{name}");
        }
        if let Some(by_method) = expected["blocks_by_method"].as_object() {
            for (method, count) in by_method {
                let number = toc.methods().iter().position(|name| name == method).map_or(0, |at| at + 1);
                let found = toc.blocks().iter().filter(|block| usize::from(block.method) == number);
                assert_eq!(json!(found.count()), *count, "{name}: {method}");
            }
        }
        let chunks = expected["chunks"].as_array().unwrap();
        assert_eq!(toc.chunks().len(), chunks.len(), "{name}");
        for (index, expected) in chunks.iter().enumerate() {
            check_chunk(&name, &toc, &ucas, index, expected);
        }
        check_header(&name, &toc, &ucas, &expected["container_header"]);
    }
}

fn check_chunk(name: &str, toc: &Toc, ucas: &[u8], index: usize, expected: &Value) {
    let chunk = &toc.chunks()[index];
    let (first_block, blocks) = toc.blocks_of(index).unwrap();
    let found = json!({
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
        "perfect_hash_slot": toc.resolve(chunk.id),
    });
    for (field, value) in found.as_object().unwrap() {
        assert_eq!(value, &expected[field], "{name}: chunk {index}: {field}");
    }
    assert_eq!(toc.find(chunk.id), Some(index), "{name}");
    assert_eq!(ChunkId::parse(expected["chunk_id"].as_str().unwrap()), Some(chunk.id));

    let partitions: [&dyn ReadAt; 1] = [&ucas];
    let reader = ChunkReader::new(toc, &partitions).with_decompressor(&Oodle);
    let bytes = reader.read(index, chunk.length).unwrap_or_else(|error| panic!("{name}: {index}: {error}"));
    assert_eq!(sha256(&bytes), expected["sha256"], "{name}: chunk {index}");
    assert!(reader.read(index, chunk.length - 1).is_err(), "{name}: the limit is kept");
}

fn check_header(name: &str, toc: &Toc, ucas: &[u8], expected: &Value) {
    let index = toc.chunks().iter().position(|chunk| chunk.id.kind() == ChunkType::ContainerHeader);
    let Some(index) = index else {
        assert!(expected.is_null(), "{name}: there is no container header");
        return;
    };
    let partitions: [&dyn ReadAt; 1] = [&ucas];
    let bytes = ChunkReader::new(toc, &partitions).read(index, 1 << 20).unwrap();
    let header = ContainerHeader::read(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(header.container, toc.container(), "{name}");
    let packages: Vec<_> = header
        .packages
        .iter()
        .map(|package| {
            let hashes = package.shader_maps.iter();
            json!({
                "package_id": hex(package.id.0),
                "imported_packages": package.imports.iter().map(|id| hex(id.0)).collect::<Vec<_>>(),
                "shader_map_hashes": hashes
                    .map(|hash| hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
                    .collect::<Vec<_>>(),
            })
        })
        .collect();
    assert_eq!(json!(packages), expected["packages"], "{name}");
    let optional: Vec<_> = header.optional_packages.iter().map(|id| hex(id.0)).collect();
    assert_eq!(json!(optional), expected["optional_segment_package_ids"], "{name}");
    assert_eq!(json!(header.optional_entries.len()), expected["optional_segment_store_entries_bytes"]);
    assert_eq!(json!(header.soft_references.is_some()), expected["has_soft_package_references"], "{name}");
    if expected["version"] == 4 {
        let used = expected["header_bytes_used"].as_u64().unwrap() as usize;
        assert_bytes_eq(name, &header.write(), &bytes[..used]);
    }
}

/// The check passes exactly what the game is sure to find.
#[test]
fn containers_are_checked() {
    for Pair { name, utoc, ucas, .. } in pairs() {
        let toc = Toc::read(&utoc, &Limits::default()).unwrap();
        let sure = !toc.seeds().is_empty() && toc.overflow().is_empty();
        match check::container(&utoc, &ucas, Some(&Oodle)) {
            Ok(found) => assert!(sure && found == toc, "{name}"),
            Err(error) => assert!(!sure, "{name}: {error}"),
        }
        if sure {
            let summary = check::toc_structure(&utoc, ucas.len() as u64).unwrap();
            assert!(toc.chunks().iter().map(|chunk| chunk.id).eq(summary.chunk_ids), "{name}");
            // A file that ends in its last block.
            let short = toc.blocks().iter().map(|block| block.offset).max().unwrap();
            assert!(check::toc_structure(&utoc, short).is_err(), "{name}");
        }
    }
}

/// The same payload packed in another way gives the same bytes: containers of one folder that hold the same
/// chunks, unless one patches another. That chunks have the bytes of their hashes is seen above.
#[test]
fn twins_hold_the_same_bytes() {
    let mut seen = BTreeMap::new();
    for Pair { name, folder, utoc, .. } in pairs() {
        let toc = Toc::read(&utoc, &Limits::default()).unwrap();
        let chunks = toc.chunks().iter().filter(|chunk| chunk.id.kind() != ChunkType::ContainerHeader);
        let chunks: BTreeMap<_, _> = chunks.map(|chunk| (chunk.id, (chunk.hash, chunk.length))).collect();
        let ids: Vec<_> = chunks.keys().copied().collect();
        let patches = folder.join("precedence.json").exists();
        if let Some((twin, other)) = seen.insert((folder, ids), (name.clone(), chunks.clone())) {
            assert!(patches || other == chunks, "{name} and {twin}");
        }
    }
}

#[test]
fn directory_names_give_the_package_ids() {
    for Pair { name, utoc, .. } in pairs() {
        let toc = Toc::read(&utoc, &Limits::default()).unwrap();
        for (index, chunk) in toc.chunks().iter().enumerate() {
            let Some(path) = toc.path(index).filter(|_| chunk.id.kind() == ChunkType::ExportBundleData)
            else {
                continue;
            };
            let (_, below) = path.split_once("/Content/").unwrap();
            let (stem, _) = below.rsplit_once('.').unwrap();
            let id = PackageId::of_name(&format!("/Game/{stem}"));
            assert_eq!(id.chunk(ChunkType::ExportBundleData), chunk.id, "{name}: {path}");
        }
    }
}

struct Input {
    id: ChunkId,
    path: Option<String>,
    bytes: Vec<u8>,
    imports: Vec<PackageId>,
}

fn inputs(folder: &Path, container: &Value) -> Vec<Input> {
    let inputs = container["inputs"].as_array().unwrap().iter();
    inputs
        .map(|input| {
            let file = folder.join(input["file"].as_str().unwrap());
            let mut bytes = fs::read(&file).unwrap();
            if let Some(first) = input["first_bytes"].as_u64() {
                bytes.truncate(first as usize);
            }
            let id = ChunkId::parse(input["chunk_id"].as_str().unwrap()).unwrap();
            let imports = match id.kind() {
                ChunkType::ExportBundleData => {
                    let zen = json_of(&file.with_extension("expected.json"));
                    let ids = zen["zen"]["imported_package_ids"].as_array().unwrap().clone();
                    ids.iter()
                        .map(|id| id.as_str().unwrap().strip_prefix("0x").unwrap().to_owned())
                        .map(|id| PackageId(u64::from_str_radix(&id, 16).unwrap()))
                        .collect()
                }
                _ => Vec::new(),
            };
            Input { id, path: input["path"].as_str().map(str::to_owned), bytes, imports }
        })
        .collect()
}

/// Packages from their named chunks, and the rest as they are.
fn build(name: &str, inputs: &[&Input]) -> (Vec<u8>, Vec<u8>) {
    let names: Vec<Option<String>> = inputs
        .iter()
        .map(|input| {
            let path = input.path.as_ref()?;
            let (root, rest) = path.split_once("/Content/")?;
            let stem = rest.split('.').next()?;
            let root = if root == "Engine" { "Engine" } else { "Game" };
            Some(format!("/{root}/{stem}"))
        })
        .collect();
    let mut builder = Builder::new(name);
    for (input, package) in inputs.iter().zip(&names) {
        let Some(package) = package else {
            builder = builder.chunk(input.id, &input.bytes);
            continue;
        };
        if input.id.kind() != ChunkType::ExportBundleData {
            continue;
        }
        let part = |kind| {
            let id = PackageId(input.id.id()).chunk(kind);
            inputs.iter().find(|other| other.id == id).map(|other| (&other.bytes).into())
        };
        builder = builder.package(Package {
            id: PackageId(input.id.id()),
            is_world: input.path.as_ref().is_some_and(|path| path.ends_with(".umap")),
            bulk: part(ChunkType::BulkData),
            optional_bulk: part(ChunkType::OptionalBulkData),
            mapped_bulk: part(ChunkType::MemoryMappedBulkData),
            imports: input.imports.clone(),
            ..Package::new(package, &input.bytes)
        });
    }
    let mut ucas = Vec::new();
    let utoc = builder.write(&mut ucas).unwrap_or_else(|error| panic!("{name}: {error}"));
    (utoc, ucas)
}

#[test]
fn the_writer_gives_the_canonical_bytes() {
    for list in files().iter().filter(|path| path.ends_with("canonical.json")) {
        let folder = list.parent().unwrap();
        for container in json_of(list)["containers"].as_array().unwrap() {
            let name = container["name"].as_str().unwrap();
            let inputs = inputs(folder, container);
            let mut order: Vec<&Input> = inputs.iter().collect();
            for _ in 0..inputs.len() {
                let (utoc, ucas) = build(name, &order);
                for (extension, found) in
                    [("utoc", &utoc), ("ucas", &ucas), ("pak", &iostore::pak_stub(name))]
                {
                    let expected = fs::read(folder.join(format!("{name}.{extension}"))).unwrap();
                    assert_bytes_eq(&format!("{name}.{extension}"), found, &expected);
                }
                let toc = check::container(&utoc, &ucas, None).unwrap();
                assert_eq!(toc.container(), ContainerId::of_name(name));
                order.rotate_left(1);
            }
            order.reverse();
            assert_bytes_eq(name, &build(name, &order).1, &build(name, &inputs.iter().collect::<Vec<_>>()).1);
        }
    }
}

/// At which stage a hostile container was refused.
fn stage_of_refusal(utoc: &[u8], ucas: &[u8]) -> Option<&'static str> {
    let Ok(toc) = Toc::read(utoc, &Limits::default()) else {
        return Some("open");
    };
    let partitions: [&dyn ReadAt; 1] = [&ucas];
    for (index, chunk) in toc.chunks().iter().enumerate() {
        let Ok(bytes) = ChunkReader::new(&toc, &partitions).read(index, 1 << 20) else {
            return Some("read");
        };
        let is_header = chunk.id.kind() == ChunkType::ContainerHeader;
        if is_header && ContainerHeader::read(&bytes).is_err() {
            return Some("header is parsed");
        }
    }
    check::container(utoc, &ucas, None).is_err().then_some("verify fails")
}

#[test]
fn hostile_containers_are_refused() {
    for list in files().iter().filter(|path| path.ends_with("hostile/expected.json")) {
        for case in json_of(list).as_array().unwrap() {
            let file = case["file"].as_str().unwrap();
            if !file.ends_with(".utoc") {
                continue;
            }
            let expect = case["expect"].as_str().unwrap();
            let utoc = fs::read(list.with_file_name(file)).unwrap();
            let ucas = fs::read(list.with_file_name(file).with_extension("ucas")).unwrap();
            let stage = stage_of_refusal(&utoc, &ucas).unwrap_or_else(|| panic!("{file}: accepted"));
            assert!(expect.contains(stage), "{file}: refused at {stage}, expected: {expect}");
            assert!(check::container(&utoc, &ucas, None).is_err(), "{file}");
        }
    }
}

#[test]
fn a_patch_wins_over_its_base() {
    for path in files().iter().filter(|path| path.ends_with("precedence.json")) {
        let case = json_of(path);
        let mut stems = ["base", "patch"].map(|key| case[key].as_str().unwrap().to_owned());
        for _ in 0..2 {
            stems.reverse();
            for package in case["packages"].as_array().unwrap() {
                let id = ChunkId::parse(package["chunk_id"].as_str().unwrap()).unwrap();
                let holds = |stem: &&String| {
                    let utoc = fs::read(path.with_file_name(format!("{stem}.utoc"))).unwrap();
                    Toc::read(&utoc, &Limits::default()).unwrap().find(id).is_some()
                };
                let winner = stems.iter().filter(holds).max_by(|a, b| precedence(a, b));
                let winner = winner.unwrap();
                assert_eq!(winner, package["winner"].as_str().unwrap(), "{}", package["name"]);
                // What is explained is what was decided.
                for loser in stems.iter().filter(holds).filter(|stem| *stem != winner) {
                    assert!(MountOrder::of(winner).number() > MountOrder::of(loser).number());
                    let order = MountOrder::of(winner);
                    let why = format!("`{winner}` has the mount order {order}, `{loser}` has ");
                    assert!(why_it_wins(winner, loser).starts_with(&why));
                }
            }
        }
    }
}
