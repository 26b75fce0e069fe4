//! Every file of the conformance data is claimed by a test, ignored on purpose, or waits for an issue. A file
//! that nobody claims is a failure: it would prove nothing.

use std::path::{Path, PathBuf};

/// Folder (`*` for any), form of the file's name (`*` stands for anything), and who reads it.
const CLAIMED: &[(&str, &str, &str)] = &[
    ("*", "README.md", "for people"),
    ("*", "LICENSE*", "for people"),
    ("*", "*.py", "generators"),
    ("blam-tag", "*.tag", "blam: conformance"),
    ("blam-tag", "*.json", "blam: conformance"),
    ("blam-tag/piece", "*.ubulk", "blam: conformance"),
    ("blam-tag/piece", "*.uasset", "blam: conformance"),
    ("blam-tag/piece", "*.json", "blam: conformance"),
    ("blam-tag/script", "*.bin", "blam: conformance"),
    ("blam-tag/script", "*.json", "blam: conformance"),
    ("release", "peer_observed.json", "for people: what others answered"),
    ("release", "cases.json", "mjolnir: conformance, it: verify"),
    ("release", "vectors.json", "mjolnir: conformance"),
    ("release/good", "*.mjolnir", "mjolnir: conformance, it: verify"),
    ("release/bad", "*.mjolnir", "mjolnir: conformance, it: verify"),
    ("release/manifests", "*.json", "mjolnir: conformance, it: verify"),
    ("release/updates", "*.json", "mjolnir: conformance, it: verify"),
    ("release/sidecars", "*.packs", "mjolnir: conformance, it: verify"),
    ("collision", "*.json", "collision: conformance"),
    ("ue55", "canonical.json", "iostore: conformance"),
    ("ue55", "*.utoc", "iostore: conformance"),
    ("ue55", "*.ucas", "iostore: conformance"),
    ("ue55", "*.pak", "iostore: conformance"),
    ("ue55", "*.ubulk", "iostore: conformance"),
    ("ue55", "*.uzenasset", "unreal: package tests"),
    ("ue55", "*.expected.json", "iostore: conformance, unreal: package tests"),
    ("ue55", "*.uasset", "for people: the legacy form of the packages"),
    ("ue55", "*.uexp", "for people: the legacy form of the packages"),
    ("ue55/hostile", "*.utoc", "iostore: conformance"),
    ("ue55/hostile", "*.ucas", "iostore: conformance"),
    ("ue55/hostile", "*.uzenasset", "unreal: package tests"),
    ("ue55/hostile", "expected.json", "iostore: conformance, unreal: package tests"),
    ("ue55-expect", "synthetic.json", "rules: stand-in game"),
    ("ue58", "*.utoc", "iostore: conformance"),
    ("ue58", "*.ucas", "iostore: conformance"),
    ("ue58", "*.expected.json", "iostore: conformance"),
    ("ue58", "*.usmap", "unreal: conformance"),
    ("ue58", "usmap.json", "unreal: conformance"),
    ("ue58", "packages.json", "unreal: conformance"),
    ("ue58/patch", "packages-*.json", "unreal: conformance"),
    ("ue58/patch", "*.utoc", "iostore: conformance"),
    ("ue58/patch", "*.ucas", "iostore: conformance"),
    ("ue58/patch", "*.expected.json", "iostore: conformance"),
    ("ue58/patch", "precedence.json", "iostore: conformance"),
    ("usmap", "*.usmap", "unreal: conformance"),
];

/// What is not built yet. This list shrinks to nothing.
const WAITING: &[(&str, &str, &str)] = &[
    ("blam-tag/bake", "*", "maps"),
    ("blam-tag/registration", "*", "maps"),
    ("ce-map*", "*", "maps of Halo CE"),
    ("sound", "*", "sounds"),
    ("ue55-expect", "*.json", "meshes and textures beyond their properties"),
    ("ue58", "*.json", "meshes and textures beyond their properties"),
    ("ue58/source", "*.png", "textures"),
];

fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, end)) => {
            text.len() >= start.len() + end.len() && text.starts_with(start) && text.ends_with(end)
        }
    }
}

fn is_claimed(folder: &str, name: &str) -> bool {
    CLAIMED.iter().chain(WAITING).any(|(at, form, _)| matches(at, folder) && matches(form, name))
}

#[test]
fn every_file_of_the_conformance_data_is_claimed() {
    let Some(root) = std::env::var_os("BAKE_CONFORMANCE").map(PathBuf::from).filter(|root| root.is_dir())
    else {
        eprintln!("skipped: no conformance data (BAKE_CONFORMANCE is not set)");
        return;
    };
    let mut files = Vec::new();
    crate::workspace::walk(&root, &mut files);
    assert!(!files.is_empty());
    let strays: Vec<String> = files
        .iter()
        .map(|file| file.strip_prefix(&root).unwrap_or(file))
        .filter(|file| {
            let folder = file.parent().unwrap_or(Path::new("")).to_string_lossy().replace('\\', "/");
            !is_claimed(&folder, &file.file_name().unwrap_or_default().to_string_lossy())
        })
        .map(|file| file.display().to_string())
        .collect();
    assert_eq!(strays, Vec::<String>::new(), "no test reads these");
}

#[test]
fn claims_do_not_claim_everything() {
    assert!(is_claimed("release/bad", "x.mjolnir") && is_claimed("ue55", "a.expected.json"));
    assert!(
        !is_claimed("release/bad", "x.zip")
            && !is_claimed("unknown", "x.json")
            && !is_claimed("ue55", "x.json")
    );
}
