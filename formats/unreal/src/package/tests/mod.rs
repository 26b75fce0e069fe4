//! Proofs of the package format: against cooked packages, against hostile ones, and by renaming.

use std::fs;
use std::path::Path;

use iostore::{PackageId, hash_utf16_lower};
use serde_json::{Value, json};
use test_support::{assert_bytes_eq, conformance};
use wire::ErrorKind;

use super::*;
use crate::PackagePath;

fn path(text: &str) -> PackagePath {
    PackagePath::parse(text).unwrap()
}

fn read(bytes: &[u8]) -> Package {
    Package::read(bytes, &Limits::default()).unwrap()
}

fn packages(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|file| file.extension().is_some_and(|e| e == "uzenasset"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no packages in {}", folder.display());
    files
}

/// Imports a material package and has two exports: a mesh, and a body that lives in it.
fn small() -> Package {
    let names = ["Body", "SM_Box", "/Game/Box/SM_Box"];
    let script = |name: &str| ObjectIndex::script(&format!("/Script/Engine.{name}"));
    let export = |name, number, class: &str| Export {
        offset: 0,
        size: 5,
        name: NameRef { index: name, number },
        outer: ObjectIndex::Null,
        class: script(class),
        super_object: ObjectIndex::Null,
        template: script(&format!("Default__{class}")),
        public_hash: 0,
        flags: 8,
        filter: 0,
    };
    let mut package = Package {
        form: Form::Ue55,
        name: NameRef { index: 2, number: 0 },
        flags: 0x8000_2200,
        cooked_header_size: 700,
        names: names.map(|name| Name::new(name).unwrap()).to_vec(),
        bulk: vec![BulkEntry {
            offset: 0,
            duplicate_offset: -1,
            size: 12,
            flags: 0x0001_0501,
            cooked_index: 0,
        }],
        imported_hashes: vec![hash_utf16_lower("M_A"), hash_utf16_lower("M_B")],
        imports: vec![
            script("BodySetup"),
            script("StaticMesh"),
            ObjectIndex::Null,
            ObjectIndex::Package { package: 0, hash: 0 },
            ObjectIndex::Package { package: 1, hash: 1 },
        ],
        exports: vec![export(0, 1, "BodySetup"), export(1, 0, "StaticMesh")],
        bundle: Vec::new(),
        dependencies: vec![Dependencies::default(); 2],
        imported: ["/Game/Box/M_A", "/Game/Box/M_B"]
            .map(|name| ImportedPackage::new(&path(name)).unwrap())
            .to_vec(),
        data: vec![1, 2, 3, 4, 5, 11, 12, 13, 14, 15, 0xc1, 0x83, 0x2a, 0x9e],
    };
    if package.imported[0].id() > package.imported[1].id() {
        package.imported.swap(0, 1);
        package.imports[3] = ObjectIndex::Package { package: 1, hash: 0 };
        package.imports[4] = ObjectIndex::Package { package: 0, hash: 1 };
    }
    package.exports[0].outer = ObjectIndex::Export(1);
    package.exports[1].offset = 5;
    package.exports[1].flags = 0xb;
    package.exports[1].public_hash = hash_utf16_lower("SM_Box");
    package.dependencies[0].create_before_create = vec![2];
    package.dependencies[1].create_before_serialize = vec![-4, -5, 1];
    for command in [BundleCommand::Create, BundleCommand::Serialize] {
        for export in [1, 0] {
            package.bundle.push(BundleEntry { export, command });
        }
    }
    package.check().unwrap();
    package
}

/// The package and the public hash of what import `slot` names.
fn imported(package: &Package, slot: usize) -> (String, u64) {
    let ObjectIndex::Package { package: from, hash } = package.imports[slot] else {
        panic!("import {slot} is no package import");
    };
    (package.imported[from as usize].text(), package.imported_hashes[hash as usize])
}

fn hex(value: u64) -> Value {
    json!(format!("{value:#018x}"))
}

/// The package in the form of the expectation files.
fn describe(package: &Package, bytes: &[u8]) -> Value {
    let import = |index: &ObjectIndex| match index {
        ObjectIndex::Package { package, hash } => json!({
            "raw": hex(index.raw()), "kind": "package",
            "imported_package_index": package, "public_export_hash_index": hash,
        }),
        ObjectIndex::Script(_) => json!({"raw": hex(index.raw()), "kind": "script"}),
        ObjectIndex::Null => json!({"raw": hex(index.raw()), "kind": "null"}),
        ObjectIndex::Export(_) => json!("export"),
    };
    let mut first = 0;
    let headers = package.dependencies.iter().map(|bundle| {
        let counts = bundle.lists().map(Vec::len);
        let header = if bundle.states_no_first { json!(-1) } else { json!(first) };
        first += counts.iter().sum::<usize>();
        json!([header, counts[0], counts[1], counts[2], counts[3]])
    });
    let headers: Vec<Value> = headers.collect();
    let header_size = bytes.len() - package.data.len();
    let tile =
        package.exports.iter().try_fold(0, |end, export| (export.offset == end).then_some(end + export.size));
    let tag = [0xc1, 0x83, 0x2a, 0x9e];
    json!({
        "has_versioning_info": 0,
        "package_flags": format!("{:#010x}", package.flags),
        "header_size": header_size,
        "cooked_header_size": package.cooked_header_size,
        "name": package.name_text(package.name),
        "package_id": package.id().to_string(),
        "names": package.names.iter().map(Name::text).collect::<Vec<_>>(),
        "name_hashes": package.names.iter().map(|name| hex(name.hash())).collect::<Vec<_>>(),
        "bulk_data_map": package.bulk.iter().map(|entry| json!({
            "serial_offset": entry.offset,
            "duplicate_serial_offset": entry.duplicate_offset,
            "serial_size": entry.size,
            "flags": format!("{:#010x}", entry.flags),
            "cooked_index": entry.cooked_index,
        })).collect::<Vec<_>>(),
        "imported_public_export_hashes":
            package.imported_hashes.iter().map(|hash| hex(*hash)).collect::<Vec<_>>(),
        "import_map": package.imports.iter().map(import).collect::<Vec<_>>(),
        "export_map": package.exports.iter().map(|export| json!({
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
        })).collect::<Vec<_>>(),
        "export_bundle_entries": package.bundle.iter().map(|entry| json!([
            entry.export, u32::from(entry.command == BundleCommand::Serialize),
        ])).collect::<Vec<_>>(),
        "dependency_bundle_headers": headers,
        "dependency_bundle_entries":
            package.dependencies.iter().flat_map(|d| d.lists()).flatten().collect::<Vec<_>>(),
        "imported_package_names":
            package.imported.iter().map(ImportedPackage::text).collect::<Vec<_>>(),
        "imported_package_ids":
            package.imported_packages().iter().map(PackageId::to_string).collect::<Vec<_>>(),
        "package_size": bytes.len(),
        "ends_with_package_file_tag": bytes.ends_with(&tag),
        "exports_tile_chunk": tile == Some(package.data.len() as u64 - 4),
    })
}

#[test]
fn cooked_packages_are_read_in_full_and_written_back() {
    let Some(folder) = conformance("ue55") else {
        return;
    };
    for file in packages(&folder) {
        let bytes = fs::read(&file).unwrap();
        let package = read(&bytes);
        assert_bytes_eq(&file.display().to_string(), &package.write(), &bytes);

        let expected = fs::read(file.with_extension("expected.json")).unwrap();
        let expected: Value = serde_json::from_slice(&expected).unwrap();
        let expected = expected["zen"].as_object().unwrap();
        let found = describe(&package, &bytes);
        for (key, value) in expected {
            match key.as_str() {
                // Written back byte for byte, so they were read as they stand.
                "bulk_map_pad" | "section_offsets" => {}
                _ => assert_eq!(&found[key], value, "{}: {key}", file.display()),
            }
        }
        for (i, export) in package.exports.iter().enumerate() {
            let public = hash_utf16_lower(&package.export_path(i).unwrap());
            assert_eq!(export.public_hash, if export.flags & 1 == 1 { public } else { 0 });
        }
    }
}

#[test]
fn cooked_packages_are_renamed_there_and_back() {
    let Some(folder) = conformance("ue55") else {
        return;
    };
    for file in packages(&folder) {
        let bytes = fs::read(&file).unwrap();
        let package = read(&bytes);
        let old = package.path().unwrap();
        let new = path("/Game/MJOLNIR/Forge/some-long-name-of-a-pack/X");
        let there = Renames::new([(old.clone(), new.clone())]).unwrap();
        let back = Renames::new([(new.clone(), old)]).unwrap();
        let renamed = read(&rename(&package, &there).unwrap().write());
        assert_eq!(renamed.path().unwrap(), new);
        assert_ne!(renamed.write(), bytes);
        let restored = rename(&renamed, &back).unwrap().write();
        assert_bytes_eq(&file.display().to_string(), &restored, &bytes);
    }
}

#[test]
fn hostile_packages_are_refused() {
    let Some(folder) = conformance("ue55") else {
        return;
    };
    let folder = folder.join("hostile");
    let faults: Value = serde_json::from_slice(&fs::read(folder.join("expected.json")).unwrap()).unwrap();
    for file in packages(&folder) {
        let bytes = fs::read(&file).unwrap();
        let found = Package::read(&bytes, &Limits::default());
        let error = found.expect_err(&file.display().to_string());
        assert!(error.offset <= bytes.len() as u64, "{error}");
        assert!(matches!(error.kind, ErrorKind::Malformed | ErrorKind::Truncated), "{error}");
        // The field that is blamed is the one that was damaged.
        let name = file.file_name().unwrap().to_string_lossy();
        let mut faults = faults.as_array().unwrap().iter();
        let fault = faults.find(|fault| fault["file"] == *name).unwrap()["fault"].as_str().unwrap();
        let mut words = fault.split(' ').filter(|word| word.len() > 3);
        assert!(words.any(|word| error.field.contains(word)), "{fault}: {error}");
    }
}

#[test]
fn damage_is_refused_or_written_back() {
    for form in [Form::Ue55, Form::Ue56] {
        damage(&Package { form, ..small() });
    }
}

fn damage(package: &Package) {
    let bytes = package.write();
    assert_eq!(read(&bytes), *package);
    for length in 0..bytes.len() {
        let cut = Package::read(&bytes[..length], &Limits::default());
        // The bytes after the last export belong to no table.
        assert_eq!(cut.is_ok(), length >= bytes.len() - 4, "{length} bytes");
    }
    let mut refused = 0;
    for at in 0..bytes.len() {
        for value in [0, 1, 2, 0x7f, 0x80, 0xff, bytes[at] ^ 1, bytes[at] ^ 0x40] {
            let mut damaged = bytes.clone();
            damaged[at] = value;
            match Package::read(&damaged, &Limits::default()) {
                Ok(package) => assert_bytes_eq("damaged", &package.write(), &damaged),
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > bytes.len(), "{refused} refusals");
}

#[test]
fn other_forms_are_named() {
    let bytes = small().write();
    let refusal = |bytes: &[u8], limits: &Limits| {
        let error = Package::read(bytes, limits).unwrap_err();
        (error.kind, error.to_string())
    };
    let mut versioned = bytes.clone();
    versioned[0] = 1;
    assert_eq!(
        refusal(&versioned, &Limits::default()),
        (
            ErrorKind::Unsupported,
            "unsupported: package.has versioning info at offset 0: found 1: versioned packages are not \
             read, only those with 0"
                .to_owned()
        )
    );
    let mut later = bytes.clone();
    later.splice(52..52, [0; 16]);
    assert_eq!(
        refusal(&later, &Limits::default()),
        (
            ErrorKind::Unsupported,
            "unsupported: header.summary at offset 52: no names follow it after 52 bytes, as up to Unreal \
             Engine 5.5, nor after 60, as from 5.6 on: found the name hash algorithm 0x0, known is \
             0xc1640000"
                .to_owned()
        )
    );
    let mut cells = Package { form: Form::Ue56, ..small() }.write();
    cells[52] += 8;
    let (kind, message) = refusal(&cells, &Limits::default());
    assert_eq!(kind, ErrorKind::Unsupported);
    assert!(message.contains("cell import map") && message.contains("cells of Verse code"), "{message}");
    let small = Limits { package_bytes: 100 };
    assert_eq!(refusal(&bytes, &small).0, ErrorKind::Limit);
}

#[test]
fn names_that_are_not_ascii_are_kept() {
    let mut package = small();
    package.names.push(Name::stored("Größe_漢字".to_owned(), 7));
    package.names.push(Name::new("After").unwrap());
    let bytes = package.write();
    assert_eq!(read(&bytes), package);
    assert_bytes_eq("wide names", &read(&bytes).write(), &bytes);
    assert!(Name::new("Größe").is_err());
}

#[test]
fn faults_of_edited_packages_are_found() {
    let check = |edit: fn(&mut Package), expected: &str| {
        let mut package = small();
        edit(&mut package);
        assert_eq!(package.check().unwrap_err().to_string(), expected);
        let error = Package::read(&package.write(), &Limits::default()).unwrap_err();
        assert_eq!(format!("{}: {}", error.field, error.message), expected);
    };
    check(|p| p.name.index = 3, "package name: name 3 of 3");
    check(|p| p.imports[4] = ObjectIndex::Export(0), "import map[4]: an export is no import");
    check(
        |p| p.imports[4] = ObjectIndex::Package { package: 2, hash: 0 },
        "import map[4]: imported package 2 of 2",
    );
    check(
        |p| p.imports[4] = ObjectIndex::Package { package: 0, hash: 2 },
        "import map[4]: imported public export hash 2 of 2",
    );
    check(|p| p.exports[0].outer = ObjectIndex::Export(2), "export map[0].outer: export 2 of 2");
    check(
        |p| p.exports[1].outer = ObjectIndex::Export(0),
        "export map[0].outer: outers nest deeper than 64, or in a circle",
    );
    check(|p| p.exports[1].filter = 3, "export map[1].filter: found 3, allowed are 0 to 2");
    check(|p| p.exports[1].size = 10, "export map[1].serial range: 10 bytes at 5 of 14");
    check(|p| p.exports[0].size = 6, "export map[1].serial range: overlaps that of export 0");
    check(|p| p.bundle[1].export = 1, "export bundle[1]: export 1 is created twice");
    check(|p| p.bundle.truncate(3), "export bundle: export 0 is never serialized");
    check(
        |p| p.dependencies[1].create_before_serialize[0] = -6,
        "dependency bundles[1]: names import -6 of 5",
    );
    check(|p| p.dependencies[0].create_before_create[0] = 0, "dependency bundles[0]: names export 0 of 2");
}

#[test]
fn an_export_is_resized() {
    let mut package = small();
    package.set_export_data(0, &[9; 8]).unwrap();
    assert_eq!(package.export_data(0), Some(&[9; 8][..]));
    assert_eq!(package.export_data(1), Some(&[11, 12, 13, 14, 15][..]));
    package.set_export_data(1, &[]).unwrap();
    assert_eq!(package.data, [9, 9, 9, 9, 9, 9, 9, 9, 0xc1, 0x83, 0x2a, 0x9e]);
    package.check().unwrap();
    assert_eq!(package.set_export_data(2, &[]), None);
    assert_eq!(package.export_path(0).as_deref(), Some("SM_Box/Body_0"));
}

#[test]
fn numbers_of_names_are_split_as_the_engine_does() {
    for (text, base, number) in [
        ("M_Cube_1", "M_Cube", 2),
        ("BodySetup_0", "BodySetup", 1),
        ("Rocket_04", "Rocket_04", 0),
        ("Cube", "Cube", 0),
        ("Cube_", "Cube_", 0),
        ("Cube_-1", "Cube_-1", 0),
        ("Cube_+1", "Cube_+1", 0),
        ("Cube_2147483647", "Cube", 0x8000_0000),
        ("Cube_2147483648", "Cube_2147483648", 0),
        ("_1", "_1", 0),
    ] {
        assert_eq!(model::split_number(text), (base, number));
        assert_eq!(model::join_number(base, number), text);
    }
}

#[test]
fn script_indices_are_hashes_of_paths() {
    for (path, raw) in [
        ("/Script/Engine", 0x51ac_ced3_dc7c_0922),
        ("/Script/Engine.StaticMesh", 0x407c_de1a_593e_47cf),
        ("/Script/Engine.Default__Texture2D", 0x6bfa_d34a_c8b1_f6d0),
        ("/Script/BlamSynchronization", 0x424d_5bcd_f3d9_d342),
    ] {
        let index = ObjectIndex::script(path);
        assert_eq!(index.raw(), raw, "{path}");
        assert_eq!(ObjectIndex::from_raw(raw), Some(index));
    }
    assert_eq!(ObjectIndex::from_raw(u64::MAX - 1), None);
}

#[test]
fn a_renamed_package_and_what_imports_it_agree() {
    let package = small();
    let renames = Renames::new([
        (path("/Game/Box/SM_Box"), path("/Game/MJOLNIR/Forge/pack/SM_Crate")),
        (path("/Game/Box/M_A"), path("/Game/MJOLNIR/Forge/pack/M_Wood")),
    ])
    .unwrap();
    let renamed = read(&rename(&package, &renames).unwrap().write());
    let names: Vec<&str> = renamed.names.iter().map(Name::text).collect();
    assert_eq!(names, ["Body", "SM_Crate", "/Game/MJOLNIR/Forge/pack/SM_Crate"]);
    assert_eq!(renamed.exports[1].public_hash, hash_utf16_lower("SM_Crate"));
    assert_eq!(renamed.exports[0].public_hash, 0);

    assert!(renamed.imported_packages().is_sorted());
    assert_eq!(imported(&renamed, 3), ("/Game/MJOLNIR/Forge/pack/M_Wood".into(), hash_utf16_lower("M_Wood")));
    assert_eq!(imported(&renamed, 4), ("/Game/Box/M_B".into(), hash_utf16_lower("M_B")));
    let grown = renamed.write().len() as i64 - package.write().len() as i64;
    assert_eq!(i64::from(renamed.cooked_header_size), 700 + grown);

    let back = Renames::new([
        (path("/Game/MJOLNIR/Forge/pack/SM_Crate"), path("/Game/Box/SM_Box")),
        (path("/Game/MJOLNIR/Forge/pack/M_Wood"), path("/Game/Box/M_A")),
    ])
    .unwrap();
    assert_eq!(rename(&renamed, &back).unwrap(), package);
}

#[test]
fn references_by_name_follow() {
    let mut package = small();
    for name in ["/Game/Box/B_Door", "B_Door_C", "/Game/Box/B_Door.B_Door_C:Hinge", "/Game/Box/B_Doors"] {
        package.names.push(Name::new(name).unwrap());
    }
    let renames = Renames::new([(path("/Game/Box/B_Door"), path("/Game/New/B_Gate"))]).unwrap();
    let renamed = rename(&package, &renames).unwrap();
    let names: Vec<&str> = renamed.names[3..].iter().map(Name::text).collect();
    assert_eq!(
        names,
        ["/Game/New/B_Gate", "B_Gate_C", "/Game/New/B_Gate.B_Gate_C:Hinge", "/Game/Box/B_Doors"]
    );
    assert_eq!(renamed.exports, package.exports);
}

#[test]
fn a_package_that_ended_in_a_number_gets_names_of_its_own() {
    let mut package = small();
    package.names[1] = Name::new("SM").unwrap();
    package.names[2] = Name::new("/Game/Box/SM").unwrap();
    package.name.number = 8;
    package.exports[1].name.number = 8;
    package.exports[1].public_hash = hash_utf16_lower("SM_7");
    let renames = Renames::new([(path("/Game/Box/SM_7"), path("/Game/New/SM_Crate"))]).unwrap();
    let renamed = read(&rename(&package, &renames).unwrap().write());
    assert_eq!(renamed.path().unwrap(), path("/Game/New/SM_Crate"));
    assert_eq!(renamed.export_path(0).as_deref(), Some("SM_Crate/Body_0"));
    assert_eq!(renamed.exports[1].public_hash, hash_utf16_lower("SM_Crate"));
    assert_eq!(renamed.names[..3], package.names[..3]);

    package.data.splice(10..10, [2, 0, 0, 0, 8, 0, 0, 0]);
    assert_eq!(
        rename(&package, &renames).unwrap_err().to_string(),
        "the export data refers to `/Game/Box/SM_7`, which ends in a number and so shares its name"
    );
}

#[test]
fn what_cannot_be_renamed_is_refused() {
    let refusal = |edit: fn(&mut Package), pairs: &[(&str, &str)]| {
        let mut package = small();
        edit(&mut package);
        let pairs = pairs.iter().map(|(old, new)| (path(old), path(new)));
        Renames::new(pairs).and_then(|renames| rename(&package, &renames)).unwrap_err()
    };
    let nothing = |_: &mut Package| {};
    for (error, expected) in [
        (
            refusal(nothing, &[("/Game/A/A", "/Game/B/B_7")]),
            "`/Game/B/B_7` ends in a number, which the game does not find in a new package; end it in a \
             letter",
        ),
        (
            refusal(nothing, &[("/Game/A/A", "/Game/B/B"), ("/Game/a/a", "/Game/B/C")]),
            "`/Game/A/A` occurs in two renames; each package may be given one path, and each path once",
        ),
        (
            refusal(nothing, &[("/Game/A/A", "/Game/B/B"), ("/Game/A/C", "/Game/b/b")]),
            "`/Game/b/b` occurs in two renames; each package may be given one path, and each path once",
        ),
        (
            refusal(
                |p| p.names.push(Name::new("/Game/Box/SM_Box/_Generated_/Cell").unwrap()),
                &[("/Game/Box/SM_Box", "/Game/B/B")],
            ),
            "`/Game/Box/SM_Box` is a world with partitions, whose cells would stay below the old path",
        ),
        (
            refusal(
                |p| p.exports[0].class = ObjectIndex::script("/Script/Engine.WorldPartition"),
                &[("/Game/Box/SM_Box", "/Game/B/B")],
            ),
            "`/Game/Box/SM_Box` is a world with partitions, whose cells would stay below the old path",
        ),
        (
            refusal(nothing, &[("/Game/Box/M_A", "/Game/Box/M_B")]),
            "`/Game/Box/M_B` is imported already, and another imported package would get its path",
        ),
        (
            refusal(|p| p.imported_hashes[0] = 1, &[("/Game/Box/M_A", "/Game/Box/M_C")]),
            "the object 0x0000000000000001 imported from `/Game/Box/M_A` is not named after that package",
        ),
        (
            refusal(|p| p.exports[1].public_hash = 1, &[("/Game/Box/SM_Box", "/Game/Box/SM_C")]),
            "the public hash of the export `SM_Box` is not that of its path",
        ),
        (
            refusal(
                |p| p.names.push(Name::new("/Game/Other/SM_Box").unwrap()),
                &[("/Game/Other/SM_Box", "/Game/Other/SM_Lid")],
            ),
            "the name `SM_Box` would have to become both `SM_Box` and `SM_Lid`",
        ),
    ] {
        assert_eq!(error.to_string(), expected);
    }
}
