//! Proofs of the stand-in: its packages read back, its containers check, and the synthetic donors are
//! those that are defined byte for byte.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use iostore::{ChunkType, PackageId, Toc, check, is_shipped_container};
use serde_json::Value;
use test_support::{assert_bytes_eq, conformance};
use unreal::package::{Limits, Package};

use super::*;

#[test]
fn synthetic_donors_are_as_defined() {
    let Some(folder) = conformance("ue55-expect") else {
        return;
    };
    let expected = fs::read(folder.join("synthetic.json")).unwrap();
    let expected: Value = serde_json::from_slice(&expected).unwrap();
    let packages: BTreeMap<String, StandInPackage> =
        super::packages().into_iter().map(|package| (package.path.clone(), package)).collect();
    for (leaf, expected) in expected["packages"].as_object().unwrap() {
        let found = &packages[&path(leaf)];
        let check = |what: &str, found: &[u8], expected: &Value| {
            if let Some(hex) = expected["hex"].as_str() {
                let bytes: Vec<u8> = hex
                    .as_bytes()
                    .chunks(2)
                    .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
                    .collect();
                assert_bytes_eq(what, found, &bytes);
            }
            assert_eq!(found.len() as u64, expected["size"].as_u64().unwrap(), "{what}");
            let hash = blake3::hash(found).to_hex().to_string();
            assert_eq!(hash, expected["blake3"].as_str().unwrap(), "{what}");
        };
        check(leaf, &found.zen, &expected["package"]);
        if let Some(bulk) = expected.get("ubulk") {
            check(leaf, &found.bulk, bulk);
        }
        if let Some(mesh) = expected.get("mesh_export") {
            let package = Package::read(&found.zen, &Limits::default()).unwrap();
            let export = package.export_data(1).unwrap();
            check(leaf, export, mesh);
            let lod = &expected["lod_array"];
            let start = lod["export_offset"].as_u64().unwrap() as usize;
            let size = lod["size"].as_u64().unwrap() as usize;
            check(leaf, &export[start..start + size], lod);
        }
    }
}

#[test]
fn packages_read_back() {
    let packages = super::packages();
    assert!(packages.len() >= 14);
    let ids: BTreeSet<PackageId> = packages.iter().map(|made| PackageId::of_name(&made.path)).collect();
    assert_eq!(ids.len(), packages.len());
    for made in &packages {
        let package = Package::read(&made.zen, &Limits::default()).unwrap();
        assert_bytes_eq(&made.path, &package.write(), &made.zen);
        assert_eq!(package.path().unwrap().as_str(), made.path);
        assert_eq!(package.imported_packages(), made.imports, "{}", made.path);
        assert!(made.imports.is_sorted() && made.imports.iter().all(|id| ids.contains(id)));
        assert!(!package.is_world());
        // Separate payloads tile the bulk chunk.
        let separate = package.bulk.iter().filter(|entry| entry.flags == package::SEPARATE);
        let end = separate.fold(0, |end, entry| {
            assert_eq!(entry.offset, end, "{}", made.path);
            end + entry.size
        });
        assert_eq!(end as usize, made.bulk.len(), "{}", made.path);
        for export in 0..package.exports.len() {
            let hash = iostore::hash_utf16_lower(&package.export_path(export).unwrap());
            let public = package.exports[export].public_hash;
            assert!(public == 0 || public == hash, "{}", made.path);
        }
    }
    assert!(packages.iter().filter(|made| !made.bulk.is_empty()).count() >= 4);
    assert!(packages.iter().filter(|made| !made.imports.is_empty()).count() >= 6);
}

/// For every triangle, seen from outside, the order of its corners is the engine's.
#[test]
fn triangles_face_outwards() {
    for made in super::packages() {
        let package = Package::read(&made.zen, &Limits::default()).unwrap();
        if package.exports.len() != 2 {
            continue;
        }
        let export = package.export_data(1).unwrap();
        let word = |at: usize| u32::from_le_bytes(export[at..at + 4].try_into().unwrap());
        let float = |at: usize| f32::from_bits(word(at));
        // From the start of the LOD array: the head of the section, then positions, tangents, indices.
        let lod = 114;
        let triangles = word(lod + 18) as usize;
        let vertices = word(lod + 26) as usize + 1;
        let positions = lod + 84;
        let tangents = positions + vertices * 12 + 26;
        let indices = tangents + vertices * 8 + 8 + vertices * 8 + 10 + 12;
        assert_eq!(word(indices - 4) as usize, triangles * 6, "{}", made.path);
        for triangle in 0..triangles {
            let corner = |k: usize| {
                let at = indices + triangle * 6 + k * 2;
                usize::from(u16::from_le_bytes([export[at], export[at + 1]]))
            };
            let point = |k: usize| [0, 4, 8].map(|axis| float(positions + corner(k) * 12 + axis));
            let [a, b, c] = [0, 1, 2].map(point);
            let (u, v) = ([0, 1, 2].map(|i| b[i] - a[i]), [0, 1, 2].map(|i| c[i] - a[i]));
            let cross = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
            let normal = tangents + corner(0) * 8 + 4;
            let dot: f32 = (0..3).map(|i| cross[i] * f32::from(export[normal + i] as i8)).sum();
            assert!(dot < 0.0, "{}: triangle {triangle}", made.path);
            // It lies outwards of the middle, or through it but for the rounding of the normal.
            let outside: f32 = (0..3).map(|i| a[i] * f32::from(export[normal + i] as i8)).sum();
            assert!(outside > -100.0, "{}: triangle {triangle}", made.path);
        }
    }
}

#[test]
fn containers_are_sound_and_hold_the_packages() {
    let files: BTreeMap<String, Vec<u8>> = generate().unwrap().into_iter().collect();
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "global.ucas",
            "global.utoc",
            "pakchunk0-Windows.pak",
            "pakchunk0-Windows.ucas",
            "pakchunk0-Windows.utoc",
        ]
    );
    assert!(is_shipped_container(CONTAINER));
    let open = |stem: &str| -> Toc {
        let ucas: &[u8] = &files[&format!("{stem}.ucas")];
        check::container(&files[&format!("{stem}.utoc")], &ucas, None).unwrap()
    };
    let toc = open(CONTAINER);
    for made in super::packages() {
        let id = PackageId::of_name(&made.path);
        for (kind, bytes, extension) in
            [(ChunkType::ExportBundleData, &made.zen, "uasset"), (ChunkType::BulkData, &made.bulk, "ubulk")]
        {
            let Some(index) = toc.resolve(id.chunk(kind)) else {
                assert!(bytes.is_empty(), "{}", made.path);
                continue;
            };
            assert_eq!(toc.chunks()[index].hash, iostore::ChunkHash::of(bytes));
            let path = unreal::PackagePath::parse(&made.path).unwrap();
            assert_eq!(toc.path_below_mount(index), path.file_path_as(extension));
        }
    }
    let global = open(GLOBAL);
    let objects = ChunkId::new(0, 0, ChunkType::ScriptObjects);
    assert!(global.resolve(objects).is_some());
    assert_eq!(generate().unwrap(), generate().unwrap());
}

#[test]
fn script_objects_state_the_hashes_of_their_paths() {
    let bytes = script_objects();
    let rows = 1 + 2 * CLASSES.len();
    let table = &bytes[bytes.len() - rows * 32..];
    let word = |at: usize| u64::from_le_bytes(table[at..at + 8].try_into().unwrap());
    let known = |path: &str| unreal::package::ObjectIndex::script(path).raw();
    assert_eq!((word(8), word(16)), (known("/Script/Engine"), u64::MAX));
    for (row, class) in CLASSES.iter().enumerate() {
        let class_path = format!("/Script/Engine.{class}");
        let at = 32 * (1 + 2 * row);
        assert_eq!(word(at + 8), known(&class_path));
        assert_eq!(word(at + 16), known("/Script/Engine"));
        assert_eq!(word(at + 40), known(&format!("/Script/Engine.Default__{class}")));
        assert_eq!(word(at + 56), known(&class_path));
    }
}
