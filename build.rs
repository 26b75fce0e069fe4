//! Sets development builds apart: a hash of the source tree, the same on every platform and in every
//! folder, which salts action digests. Releases (`BAKE_RELEASE=1`) have none.

use std::fs;
use std::path::{Path, PathBuf};

/// What shapes outputs: sources, manifests, pipelines.
const PARTS: [&str; 8] =
    ["Cargo.lock", "Cargo.toml", "src", "cache", "engine", "formats", "recipes", "rules"];
/// What does not.
const ASIDE: [&str; 5] = ["target", "tests", "benches", "examples", "fuzz"];

fn main() {
    println!("cargo:rerun-if-env-changed=BAKE_RELEASE");
    let mut files = Vec::new();
    for part in PARTS {
        println!("cargo:rerun-if-changed={part}");
        collect(Path::new(part), part.to_owned(), &mut files);
    }
    let release = std::env::var("BAKE_RELEASE").is_ok_and(|value| value == "1");
    let salt = if release { String::new() } else { hash(files) };
    println!("cargo:rustc-env=BAKE_SALT={salt}");
}

fn collect(path: &Path, name: String, files: &mut Vec<(String, PathBuf)>) {
    if path.is_file() {
        if [".rs", ".toml", ".lock"].iter().any(|end| name.ends_with(end)) {
            files.push((name, path.to_owned()));
        }
        return;
    }
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        let Ok(last) = entry.file_name().into_string() else { continue };
        if !ASIDE.contains(&last.as_str()) {
            collect(&entry.path(), format!("{name}/{last}"), files);
        }
    }
}

fn hash(mut files: Vec<(String, PathBuf)>) -> String {
    files.sort();
    let mut hasher = blake3::Hasher::new();
    for (name, path) in files {
        let bytes = fs::read(path).unwrap_or_default();
        hasher.update(&(name.len() as u64).to_le_bytes()).update(name.as_bytes());
        hasher.update(&(bytes.len() as u64).to_le_bytes()).update(&bytes);
    }
    hasher.finalize().to_hex().to_string()
}
