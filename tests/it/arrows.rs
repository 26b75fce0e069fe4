//! Who may know whom: the arrows between crates, read from every `Cargo.toml`. A new arrow is drawn here
//! first, in a commit of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Crate, and the crates of ours that it may depend on.
const ARROWS: &[(&str, &[&str])] = &[
    ("bake", &["blam", "cache", "engine", "iostore", "mjolnir", "recipes", "release", "rules", "unreal"]),
    ("blam", &["iostore", "unreal", "wire"]),
    ("cache", &[]),
    ("collision", &["wire"]),
    ("engine", &["cache"]),
    ("iostore", &["wire"]),
    ("mjolnir", &["iostore", "wire"]),
    ("recipes", &["engine"]),
    ("release", &["iostore", "mjolnir", "unreal"]),
    ("rules", &["blam", "engine", "iostore", "mjolnir", "unreal", "wire"]),
    ("test-support", &[]),
    ("unreal", &["iostore", "wire"]),
    ("wire", &[]),
];

/// Crates of others that one of ours must not use.
const STRANGERS: &[(&str, &[&str])] = &[
    ("engine", &["toml", "toml_edit", "clap", "indicatif", "annotate-snippets"]),
    ("cache", &["toml", "clap", "indicatif", "petgraph"]),
    ("recipes", &["clap", "indicatif"]),
    ("release", &["clap", "indicatif", "toml"]),
    ("rules", &["toml", "clap", "indicatif", "sled"]),
    ("blam", &["clap", "toml", "rayon"]),
    ("wire", &["serde", "toml", "clap"]),
    ("collision", &["clap", "toml", "serde"]),
    ("iostore", &["clap", "toml", "rayon"]),
    ("unreal", &["clap", "toml"]),
    ("mjolnir", &["clap", "toml"]),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn manifests() -> BTreeMap<String, toml::Table> {
    let mut files: Vec<PathBuf> = vec![root().join("Cargo.toml")];
    for folder in ["", "formats", "tests"] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            files.push(entry.unwrap().path().join("Cargo.toml"));
        }
    }
    let mut manifests = BTreeMap::new();
    for file in files.into_iter().filter(|file| file.is_file() && !file.ends_with("fuzz/Cargo.toml")) {
        let manifest: toml::Table = std::fs::read_to_string(&file).unwrap().parse().unwrap();
        let name = manifest["package"]["name"].as_str().unwrap().to_owned();
        manifests.insert(name, manifest);
    }
    manifests
}

fn dependencies(manifest: &toml::Table) -> BTreeSet<String> {
    let table = manifest.get("dependencies").and_then(toml::Value::as_table);
    table.into_iter().flat_map(|table| table.keys().cloned()).collect()
}

#[test]
fn crates_know_only_whom_they_may_know() {
    let manifests = manifests();
    let ours: BTreeSet<&str> = ARROWS.iter().map(|(name, _)| *name).collect();
    assert_eq!(manifests.keys().map(String::as_str).collect::<BTreeSet<_>>(), ours);
    for (name, allowed) in ARROWS {
        let found: BTreeSet<String> =
            dependencies(&manifests[*name]).into_iter().filter(|name| ours.contains(name.as_str())).collect();
        let allowed: BTreeSet<String> = allowed.iter().map(|name| (*name).to_owned()).collect();
        assert!(found.is_subset(&allowed), "{name} knows {found:?}, may know {allowed:?}");
    }
    for (name, strangers) in STRANGERS {
        let found = dependencies(&manifests[*name]);
        let met: Vec<_> = strangers.iter().filter(|stranger| found.contains(**stranger)).collect();
        assert!(met.is_empty(), "{name} must not use {met:?}");
    }
}
