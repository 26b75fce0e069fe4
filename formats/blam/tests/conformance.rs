//! The conformance data: cases are found by the form of their files, never by name.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use blam::{Edit, Group, Script, Tag, TagName, Work, Wrapper, append_preload, clone_wrapper};
use serde_json::Value;
use unreal::package::{Limits, Package};
use unreal::usmap::{self, Mappings};

fn folders() -> Vec<PathBuf> {
    let Some(root) = test_support::conformance("blam-tag") else {
        return Vec::new();
    };
    let mut folders = vec![root.clone()];
    for entry in std::fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            folders.push(path);
        }
    }
    folders.sort();
    folders
}

fn files(extension: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = folders()
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    files.sort();
    files
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// The first place where two trees differ.
fn difference(found: &Value, expected: &Value, path: &str) -> Option<String> {
    match (found, expected) {
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
            a.iter().find_map(|(key, value)| difference(value, &b[key], &format!("{path}.{key}")))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let mut pairs = a.iter().zip(b).enumerate();
            pairs.find_map(|(i, (a, b))| difference(a, b, &format!("{path}[{i}]")))
        }
        _ => (found != expected).then(|| format!("{path}: found {found}, expected {expected}")),
    }
}

#[test]
fn tags_are_read_as_expected_and_written_as_they_were() {
    let mut tags = files("tag");
    tags.extend(files("ubulk"));
    for path in tags {
        let name = path.display();
        let bytes = std::fs::read(&path).unwrap();
        let mut work = Work::default();
        let tag = Tag::read_measured(&bytes, &mut work).unwrap_or_else(|error| panic!("{name}: {error}"));
        test_support::assert_bytes_eq(&name.to_string(), &tag.write(), &bytes);
        assert!(work.steps <= bytes.len() as u64, "{name}: {work:?}");
        let expected = path.with_extension("json");
        if expected.exists() {
            let found = serde_json::to_value(&tag).unwrap();
            assert_eq!(difference(&found, &json(&expected), "tag"), None, "{name}");
        }
    }
}

#[test]
fn corruptions_are_refused() {
    for folder in folders() {
        let list = folder.join("hostile.json");
        if !list.exists() {
            continue;
        }
        for case in json(&list).as_array().unwrap() {
            let name = case["name"].as_str().unwrap();
            let mut bytes = std::fs::read(folder.join(case["input"].as_str().unwrap())).unwrap();
            for patch in case["patches"].as_array().unwrap() {
                let at = patch["at"].as_u64().unwrap() as usize;
                let patch = unhex(patch["hex"].as_str().unwrap());
                bytes[at..at + patch.len()].copy_from_slice(&patch);
            }
            if let Some(length) = case["truncate_to"].as_u64() {
                bytes.truncate(length as usize);
            }
            if let Some(tail) = case["append"].as_str() {
                bytes.extend(unhex(tail));
            }
            let mut work = Work::default();
            let error = Tag::read_measured(&bytes, &mut work).expect_err(name);
            println!("{name} ({}): {error}", case["expect"]);
            assert!(work.steps + work.states <= 2 * bytes.len() as u64, "{name}: {work:?}");
            assert!(error.offset <= bytes.len() as u64 && !error.field.is_empty(), "{name}: {error}");
        }
    }
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    sha2::Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn edits_give_the_expected_bytes() {
    for folder in folders() {
        let list = folder.join("edits.json");
        if !list.exists() {
            continue;
        }
        for case in json(&list).as_array().unwrap() {
            let name = case["name"].as_str().unwrap();
            let bytes = std::fs::read(folder.join(case["input"].as_str().unwrap())).unwrap();
            let mut tag = Tag::read(&bytes).unwrap();
            let edits: Vec<Edit> = serde_json::from_value(case["ops"].clone()).unwrap();
            tag.edit(&edits, &BTreeMap::new()).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(tag.len(), case["size"].as_u64().unwrap(), "{name}");
            let edited = tag.write();
            assert_eq!(sha256(&edited), case["sha256"], "{name}");
            let again = Tag::read(&edited).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(serde_json::to_value(&again).unwrap(), serde_json::to_value(&tag).unwrap(), "{name}");
        }
    }
}

/// A script is a `.json` with the two halves of the script beside it.
#[test]
fn scripts_are_replaced_as_expected() {
    for path in files("json") {
        let folder = path.parent().unwrap();
        let halves = ["datums.bin", "strings.bin"].map(|half| folder.join(half));
        if !halves.iter().all(|half| half.exists()) {
            continue;
        }
        let case = json(&path);
        let [datums, strings] = halves.map(|half| std::fs::read(half).unwrap());
        let input = case["input"].as_str().unwrap();
        let bytes =
            std::fs::read(folder.join(input)).or_else(|_| std::fs::read(folder.join("..").join(input)));
        let bytes = bytes.unwrap();
        let mut tag = Tag::read(&bytes).unwrap();
        let number = |key: &str| case[key].as_u64().unwrap() as u16;
        let root = case["root"].as_str().unwrap().trim_start_matches("0x");
        tag.replace_scripts(&Script {
            name: case["script_name"].as_str().unwrap(),
            kind: number("script_type"),
            return_type: number("return_type"),
            root: u32::from_str_radix(root, 16).unwrap(),
            datums: &datums,
            strings: &strings,
        })
        .unwrap();
        assert_eq!(tag.len(), case["size"].as_u64().unwrap());
        assert_eq!(sha256(&tag.write()), case["sha256"]);
    }
}

fn mappings() -> Option<Mappings> {
    let folder = test_support::conformance("usmap")?;
    let file = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let file = file.into_iter().find(|path| path.extension().is_some_and(|found| found == "usmap"))?;
    let bytes = std::fs::read(file).unwrap();
    Some(usmap::File::read(&bytes, &usmap::Limits::default()).unwrap().mappings)
}

fn package(path: &Path) -> (Vec<u8>, Package) {
    let bytes = std::fs::read(path).unwrap();
    let package = Package::read(&bytes, &Limits::default()).unwrap();
    (bytes, package)
}

/// All wrappers say what their tag and the lists beside them say, and are made anew byte for byte; those that
/// were appended to have their imports in another order.
#[test]
fn wrappers_are_read_and_made_as_they_were() {
    let Some(mappings) = mappings() else { return };
    for path in files("uasset") {
        let name = path.display().to_string();
        let (bytes, package) = package(&path);
        let wrapper = Wrapper::read(&package, &mappings).unwrap_or_else(|error| panic!("{name}: {error}"));
        if let Ok(tag) = std::fs::read(path.with_extension("ubulk")) {
            let tag = Tag::read(&tag).unwrap();
            let group = TagName::of_package(&wrapper.package).unwrap().group();
            assert_eq!((wrapper.tag_bytes, group.code), (tag.len(), tag.header().group), "{name}");
            // What a tag loads is what it refers to, where that is there.
            let mut references = tag
                .references()
                .unwrap()
                .into_iter()
                .filter_map(|reference| TagName::of_reference(&reference).ok()?.package().ok());
            for package in &wrapper.preload {
                assert!(references.any(|reference| reference.id() == package.id()), "{name}: {package}");
            }
        }
        let anew = wrapper.build(&mappings).unwrap();
        if !name.ends_with(".preload.uasset") {
            test_support::assert_bytes_eq(&name, &anew.write(), &bytes);
        }
        assert_eq!(Wrapper::read(&anew, &mappings).unwrap(), wrapper, "{name}");
    }
}

fn group_of(wrapper: &Wrapper) -> Group {
    TagName::of_package(&wrapper.package).unwrap().group()
}

/// `A-x.uasset` and `B-x.uasset` are clones of each other; `B-x.preload.uasset` is `B-x.uasset` with the
/// packages appended that it lists in addition.
#[test]
fn wrappers_are_cloned_and_appended_to_byte_for_byte() {
    let Some(mappings) = mappings() else { return };
    let paths = files("uasset");
    let mut clones = 0;
    for donor in &paths {
        let (donor_bytes, donor) = package(donor);
        let wrapper = Wrapper::read(&donor, &mappings).unwrap();
        for path in paths.iter() {
            let (bytes, other) = package(path);
            let other = Wrapper::read(&other, &mappings).unwrap();
            let same = (&other.preload, &other.actor, group_of(&other))
                == (&wrapper.preload, &wrapper.actor, group_of(&wrapper));
            let lengths = |wrapper: &Wrapper| (wrapper.package.as_str().len(), wrapper.package.leaf().len());
            if same && group_of(&other).is_generated() && lengths(&other) == lengths(&wrapper) {
                let clone = clone_wrapper(&donor, &other.package, other.tag_bytes).unwrap();
                test_support::assert_bytes_eq(&path.display().to_string(), &clone.write(), &bytes);
                clones += usize::from(bytes != donor_bytes);
            }
            if other.package == wrapper.package && other.preload.len() > wrapper.preload.len() {
                let mut donor = donor.clone();
                append_preload(&mut donor, &other.preload, &mappings).unwrap();
                test_support::assert_bytes_eq(&path.display().to_string(), &donor.write(), &bytes);
                clones += 1;
            }
        }
    }
    assert!(paths.is_empty() || clones > 0);
}

/// The ids of the packages of a piece, and what their containers list.
#[test]
fn packages_have_the_expected_ids() {
    for path in files("json") {
        let case = json(&path);
        let (Some(tag), Some(ids)) = (case["tag"].as_str(), case["package_ids"].as_object()) else {
            continue;
        };
        for (group, id) in ids {
            let package = TagName::new(group, tag).unwrap().package().unwrap();
            assert_eq!(format!("{:#x}", package.id().0), id.as_str().unwrap(), "{group}");
        }
        for (group, imports) in case["imports"].as_object().unwrap() {
            let leaf = TagName::new(group, tag).unwrap().package().unwrap().leaf().to_owned();
            let (_, package) = package(&path.with_file_name(format!("{leaf}.uasset")));
            let found: Vec<String> =
                package.imported_packages().iter().map(|id| format!("{:#x}", id.0)).collect();
            assert_eq!(serde_json::to_value(found).unwrap(), *imports, "{group}");
        }
    }
}
