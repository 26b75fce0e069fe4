//! Packages, mappings and properties against the conformance data. Cases are found by the form of their
//! files: mappings, lists of packages, lists of exports with their properties, header vectors.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use iostore::{ChunkId, ChunkReader, ChunkType, Oodle, ReadAt, Toc};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use test_support::{assert_bytes_eq, conformance};
use unreal::ScriptObjects;
use unreal::package::{ImportedPackage, Limits, Name, ObjectIndex, Package};
use unreal::property::{Context, Object, read_header, view_object, write_header};
use unreal::usmap::{self, Compression, Mappings, PropertyType};
use wire::{ErrorKind, Reader};

/// All folders of data that may hold cases: topics of engines and of mappings, and their sub-folders.
fn folders() -> Vec<PathBuf> {
    let Some(root) = conformance("") else { return Vec::new() };
    let mut folders = Vec::new();
    for topic in sorted(&root).into_iter().filter(|path| path.is_dir()) {
        let name = topic.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with("ue") || name == "usmap" {
            let below: Vec<PathBuf> = sorted(&topic).into_iter().filter(|path| path.is_dir()).collect();
            folders.push(topic);
            folders.extend(below.into_iter().filter(|path| !path.ends_with("hostile")));
        }
    }
    folders
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    sorted(folder).into_iter().filter(|path| path.extension().is_some_and(|e| e == extension)).collect()
}

/// All JSON files of a folder.
fn lists(folder: &Path) -> Vec<(PathBuf, Value)> {
    let parse = |path: PathBuf| {
        let value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        (path, value)
    };
    files(folder, "json").into_iter().map(parse).collect()
}

/// The entries of a JSON file that have `key`.
fn entries<'a>(list: &'a Value, key: &'a str) -> impl Iterator<Item = &'a Value> {
    let entries = list.as_array().map_or(std::slice::from_ref(list), Vec::as_slice);
    entries.iter().filter(move |entry| entry.get(key).is_some())
}

/// The chunks of all containers of a folder, by id; of several with one id all.
fn chunks(folder: &Path, kind: ChunkType) -> BTreeMap<String, Vec<Vec<u8>>> {
    let mut found: BTreeMap<String, Vec<Vec<u8>>> = BTreeMap::new();
    for utoc in files(folder, "utoc") {
        let toc = Toc::read(&fs::read(&utoc).unwrap(), &iostore::Limits::default()).unwrap();
        let ucas = fs::read(utoc.with_extension("ucas")).unwrap();
        let partitions: [&dyn ReadAt; 1] = [&ucas];
        let reader = ChunkReader::new(&toc, &partitions).with_decompressor(&Oodle);
        for (index, chunk) in toc.chunks().iter().enumerate().filter(|(_, chunk)| chunk.id.kind() == kind) {
            let bytes = reader.read(index, 1 << 30).unwrap();
            let all = found.entry(chunk.id.to_string()).or_default();
            if !all.contains(&bytes) {
                all.push(bytes);
            }
        }
    }
    found
}

fn mappings(folder: &Path) -> Option<Mappings> {
    let file = files(folder, "usmap").into_iter().next()?;
    Some(usmap::File::read(&fs::read(file).unwrap(), &Default::default()).unwrap().mappings)
}

fn script_objects(folder: &Path) -> ScriptObjects {
    let chunks = chunks(folder, ChunkType::ScriptObjects);
    chunks.values().flatten().next().map(|bytes| ScriptObjects::read(bytes).unwrap()).unwrap_or_default()
}

/// Numbers are equal when they mean the same: a zero may be whole or not.
fn same(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => found == expected,
    }
}

#[test]
fn mappings_are_read_in_full_and_written_in_one_form() {
    for folder in folders() {
        for path in files(&folder, "usmap") {
            let bytes = fs::read(&path).unwrap();
            let file = usmap::File::read(&bytes, &Default::default()).unwrap();
            let written = usmap::write(&file.mappings);
            let again = usmap::File::read(&written, &Default::default()).unwrap();
            assert!(again.mappings == file.mappings, "{}", path.display());
            assert_bytes_eq(&path.display().to_string(), &usmap::write(&again.mappings), &written);
            assert!(file.mappings.structs().iter().all(|item| file.mappings.class(&item.name).is_ok()));
        }
        for (path, list) in lists(&folder) {
            for expected in entries(&list, "format_version") {
                mappings_case(&folder.join(expected["file"].as_str().unwrap()), expected, &path);
            }
        }
    }
}

fn count<'a>(kind: &'a PropertyType, types: &mut BTreeMap<&'a str, u64>) {
    *types.entry(kind.name()).or_default() += 1;
    kind.inner().for_each(|inner| count(inner, types));
}

fn mappings_case(file: &Path, expected: &Value, at: &Path) {
    let bytes = fs::read(file).unwrap();
    let found = usmap::File::read(&bytes, &Default::default()).unwrap();
    let mappings = &found.mappings;
    let mut types = BTreeMap::new();
    for property in mappings.structs().iter().flat_map(|item| &item.properties) {
        count(&property.kind, &mut types);
    }
    let shown = json!({
        "size": bytes.len(),
        "format_version": found.version,
        "has_versioning": found.has_versioning,
        "compression": match found.compression {
            Compression::None => 0,
            Compression::Oodle => 1,
            Compression::Brotli => 2,
            Compression::Zstd => 3,
        },
        "compressed_size": found.compressed_bytes,
        "decompressed_size": found.bytes,
        "names": found.names,
        "enums": mappings.enums().len(),
        "structs": mappings.structs().len(),
        "duplicate_struct_names": mappings.duplicates().count(),
        "bytes_after_structs": found.extension_bytes,
        "property_types": types,
    });
    for (key, value) in expected.as_object().unwrap() {
        match key.as_str() {
            "file" | "sha256" | "payload_sha256" | "note" => {}
            "classes" => {
                for class in value.as_array().unwrap() {
                    let found = mappings.class(class["name"].as_str().unwrap()).unwrap();
                    let slots: Vec<Value> = found
                        .all()
                        .map(|(at, slot)| json!([at, slot.name(), slot.property.kind.to_string()]))
                        .collect();
                    let shown = json!({
                        "name": found.name(),
                        "super": found.parent().map(|parent| parent.name()),
                        "own_slots": found.own_slots(),
                        "total_slots": found.slots(),
                        "slots": slots,
                    });
                    assert_eq!(shown, *class, "{}", at.display());
                }
            }
            "enums_checked" => {
                for item in value.as_array().unwrap() {
                    let found = mappings.enumeration(item["name"].as_str().unwrap()).unwrap();
                    let entries: Vec<_> =
                        found.entries.iter().map(|(name, value)| (&**name, *value)).collect();
                    assert_eq!(json!(entries), item["entries"], "{}", at.display());
                }
            }
            key => assert_eq!(shown[key], *value, "{}: {key}", at.display()),
        }
    }
}

#[test]
fn every_cooked_package_is_written_back() {
    for folder in folders() {
        for bytes in chunks(&folder, ChunkType::ExportBundleData).values().flatten() {
            match Package::read(bytes, &Limits::default()) {
                Ok(package) => assert_bytes_eq(&package.name_text(package.name), &package.write(), bytes),
                Err(error) => {
                    assert_eq!(error.kind, ErrorKind::Unsupported, "{error}");
                    assert!(error.message.contains("versioned"), "{error}");
                }
            }
        }
    }
}

#[test]
fn listed_packages_are_as_listed() {
    for folder in folders() {
        let mut found = None;
        for (path, list) in lists(&folder) {
            for entry in entries(&list, "section_offsets").filter(|entry| entry.get("package_id").is_some()) {
                let (chunks, scripts) = found.get_or_insert_with(|| {
                    (chunks(&folder, ChunkType::ExportBundleData), script_objects(&folder))
                });
                let id = u64::from_str_radix(&entry["package_id"].as_str().unwrap()[2..], 16).unwrap();
                let id = ChunkId::new(id, 0, ChunkType::ExportBundleData).to_string();
                let size = entry["size"].as_u64().unwrap();
                let bytes = chunks[&id].iter().find(|bytes| bytes.len() == size).unwrap();
                package_case(bytes, entry, scripts, &path);
            }
        }
    }
}

fn package_case(bytes: &[u8], expected: &Value, scripts: &ScriptObjects, at: &Path) {
    let at = format!("{}: {}", at.display(), expected["path"]);
    let package = Package::read(bytes, &Limits::default());
    if expected["versioned"] != 0 {
        let error = package.unwrap_err();
        assert_eq!((error.kind, error.offset), (ErrorKind::Unsupported, 0), "{at}: {error}");
        return;
    }
    let package = package.unwrap();
    let names: Vec<&str> = package.names.iter().map(Name::text).collect();
    let digest = Sha256::digest(names.join("\n"));
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let exports = package.exports.iter().map(|export| {
        // A class that is no script object is shown as it is stored.
        let class = scripts.path(export.class);
        let class = class.unwrap_or_else(|| format!("{:#018x}", export.class.raw()));
        json!([package.name_text(export.name), class, export.size])
    });
    let bulk =
        package.bulk.iter().map(|entry| json!([entry.offset, entry.size, format!("{:#010x}", entry.flags)]));
    let shown = json!({
        "path": expected["path"],
        "name": package.name_text(package.name),
        "package_id": format!("{:#018x}", package.id().0),
        "flags": format!("{:#010x}", package.flags),
        "versioned": 0,
        "size": bytes.len(),
        "header_size": bytes.len() - package.data.len(),
        "cooked_header_size": package.cooked_header_size,
        "section_offsets": (0..7).map(|i| word(24 + 4 * i)).collect::<Vec<_>>(),
        "names": names.len(),
        "names_sha256": digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>(),
        "imports": package.imports.len(),
        "imported_packages": package.imported.iter().map(ImportedPackage::text).collect::<Vec<_>>(),
        "bulk_map": bulk.collect::<Vec<_>>(),
        "exports": exports.collect::<Vec<_>>(),
    });
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(shown[key], *value, "{at}: {key}");
    }
    assert!(package.imported_packages().is_sorted(), "{at}");
}

#[test]
fn script_objects_are_hashes_of_their_paths() {
    for folder in folders() {
        let scripts = script_objects(&folder);
        for object in scripts.iter() {
            assert_eq!(ObjectIndex::script(&scripts.path(object).unwrap()), object);
        }
    }
}

#[test]
fn listed_properties_are_as_listed() {
    for folder in folders() {
        let Some(mappings) = mappings(&folder) else { continue };
        let mut found = None;
        for (path, list) in lists(&folder) {
            for entry in entries(&list, "property_header") {
                let chunks = found.get_or_insert_with(|| chunks(&folder, ChunkType::ExportBundleData));
                let chunk = &chunks[entry["chunk_id"].as_str().unwrap()][0];
                property_case(chunk, entry, &mappings, &path);
            }
        }
    }
}

fn property_case(chunk: &[u8], expected: &Value, mappings: &Mappings, at: &Path) {
    let at = format!("{}: {}", at.display(), expected["name"]);
    let package = Package::read(chunk, &Limits::default()).unwrap();
    let start = expected["export_offset"].as_u64().unwrap() - (chunk.len() - package.data.len()) as u64;
    let index = package.exports.iter().position(|export| export.offset == start).unwrap();
    let class = mappings.class(expected["class"].as_str().unwrap_or("StaticMesh")).unwrap();
    let context = Context::of(&package, mappings);
    let bytes = package.export_data(index).unwrap();
    let object = Object::read(bytes, class, 0, &context).unwrap();
    assert_bytes_eq(&at, &object.write(), bytes);
    let shown = serde_json::to_value(view_object(&object, &context)).unwrap();
    for key in ["property_header", "slots", "properties", "properties_end"] {
        assert!(same(&shown[key], &expected[key]), "{at}: {key}: {} {}", shown[key], expected[key]);
    }
}

/// Every export whose class the mappings have is walked; what is accepted is written back, and ends where a
/// word says that no GUID follows. Structs that write themselves in forms that are not known are refused.
#[test]
fn every_walk_writes_back_what_it_read() {
    for folder in folders() {
        let Some(mappings) = mappings(&folder) else { continue };
        let scripts = script_objects(&folder);
        let (mut walked, mut refused) = (0, 0);
        for bytes in chunks(&folder, ChunkType::ExportBundleData).values().flatten() {
            let Ok(package) = Package::read(bytes, &Limits::default()) else { continue };
            let context = Context::of(&package, &mappings);
            for (index, export) in package.exports.iter().enumerate() {
                let class = scripts.name(export.class).map(|name| mappings.class(&name));
                let Some(Ok(class)) = class else { continue };
                let bytes = package.export_data(index).unwrap();
                let Ok(object) = Object::read(bytes, class, 0, &context) else {
                    refused += 1;
                    continue;
                };
                let at = format!("{} {index}", package.name_text(package.name));
                assert_bytes_eq(&at, &object.write(), bytes);
                assert!(serde_json::to_value(view_object(&object, &context)).is_ok());
                let is_default = export.flags & 0x10 != 0;
                assert!(is_default || object.tail.starts_with(&[0; 4]), "{at}: {:?}", object.tail.get(..8));
                walked += 1;
            }
        }
        assert!(walked >= 4 * refused, "{}: {walked} walked, {refused} refused", folder.display());
    }
}

#[test]
fn headers_are_written_as_the_engine_does() {
    for folder in folders() {
        for (path, file) in lists(&folder) {
            let headers = file.get("unversioned_headers").and_then(Value::as_array);
            for case in headers.into_iter().flatten() {
                let slots = case["total_slots"].as_u64().unwrap() as u32;
                let present: Vec<(u32, bool)> = case["present"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|item| (item["slot"].as_u64().unwrap() as u32, item["zero"] == true))
                    .collect();
                let header = write_header(slots, &present);
                let hex: String = header.iter().map(|byte| format!("{byte:02x}")).collect();
                assert_eq!(json!(hex), case["header_hex"], "{}: {}", path.display(), case["name"]);
                let mut r = Reader::new(&header, "header");
                assert_eq!(read_header(&mut r, slots).unwrap(), present);
            }
        }
    }
}

/// The walks of stock packages of the game's engine, by the game's own mappings: the slots that are used are
/// the same there.
#[test]
fn walks_of_stock_packages_are_as_listed() {
    let Some(mappings) = conformance("usmap").and_then(|folder| mappings(&folder)) else { return };
    let (Some(packages), Some(expected)) = (conformance("ue55"), conformance("ue55-expect")) else { return };
    for (path, expected) in lists(&expected) {
        let slots = ["slots", "property_slots"].into_iter().find_map(|key| expected.get(key));
        let Some(slots) = slots.filter(|slots| slots.is_array()) else { continue };
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        let bytes = fs::read(packages.join(format!("{stem}.uzenasset"))).unwrap();
        let package = Package::read(&bytes, &Limits::default()).unwrap();
        let context = Context::of(&package, &mappings);
        let export =
            package.exports.iter().position(|export| package.name_text(export.name) == stem).unwrap();
        let is = |class: &&str| {
            ObjectIndex::script(&format!("/Script/Engine.{class}")) == package.exports[export].class
        };
        let class = mappings.class(["StaticMesh", "Texture2D"].into_iter().find(is).unwrap()).unwrap();
        let bytes = package.export_data(export).unwrap();
        let object = Object::read(bytes, class, 0, &context).unwrap();
        assert_bytes_eq(&stem, &object.write(), bytes);
        let shown = serde_json::to_value(view_object(&object, &context)).unwrap();
        assert_eq!(shown["slots"], *slots, "{stem}");

        let walk = fs::read(path.with_file_name(format!("{stem}.walk.json"))).unwrap();
        let walk: Vec<Value> = serde_json::from_slice(&walk).unwrap();
        let end = object.properties_end as u64;
        let after = walk.iter().find(|field| field["at"] == end).unwrap();
        assert!(after["name"].as_str().unwrap().contains("guid"), "{after}");
        // Fields of the walk are called `slot N Name …`.
        for field in walk.iter().filter(|field| field["at"].as_u64() < Some(end)) {
            let mut words = field["name"].as_str().unwrap().split(' ');
            if words.next() == Some("slot") {
                let slot: u32 = words.next().unwrap().parse().unwrap();
                let name = words.next().unwrap();
                assert_eq!(class.find(name), Some(slot), "{stem}: {name}");
                let value = &shown["properties"][name];
                match (field["type"].as_str().unwrap(), value) {
                    ("u32", Value::Array(items)) => assert_eq!(field["value"], items.len()),
                    ("bytes", Value::String(hex)) => {
                        assert_eq!(hex.len() as u64, 2 * field["len"].as_u64().unwrap());
                    }
                    _ => assert!(same(value, &field["value"]), "{stem}: {name}: {value}"),
                }
            }
        }
    }
}
