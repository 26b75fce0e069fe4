//! Conventions as code: module documentation, file sizes, purity of rules and formats, and that nothing of
//! the game's lies in git.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All files of the repository: what git tracks, or without git what lies here outside `target`.
fn files() -> Vec<PathBuf> {
    let output = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output();
    if let Ok(output) = output
        && output.status.success()
        && !output.stdout.is_empty()
    {
        let text = String::from_utf8(output.stdout).unwrap();
        return text
            .split_terminator('\0')
            .map(PathBuf::from)
            .filter(|path| root().join(path).exists())
            .collect();
    }
    let mut files = Vec::new();
    let mut folders = vec![root().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !["target", "out"].contains(&name.as_str()) && !name.starts_with('.') {
                folders.push(path);
            } else if path.is_file() {
                files.push(path.strip_prefix(root()).unwrap().to_owned());
            }
        }
    }
    files
}

fn sources() -> impl Iterator<Item = (PathBuf, String)> {
    files().into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs")).map(
        |path| {
            let text = std::fs::read_to_string(root().join(&path)).unwrap();
            (path, text)
        },
    )
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

/// The part of a file before its tests.
fn without_tests(text: &str) -> &str {
    let before = text.split("\nmod tests {").next().unwrap_or(text);
    if before.len() == text.len() {
        text
    } else {
        &before[..before.rfind("#[cfg(test)]").unwrap_or(before.len())]
    }
}

#[test]
fn every_file_says_what_it_is() {
    let silent: Vec<String> =
        sources().filter(|(_, text)| !text.starts_with("//!")).map(|(path, _)| shown(&path)).collect();
    assert_eq!(silent, Vec::<String>::new(), "the first line of a file is its documentation");
}

#[test]
fn files_stay_small() {
    let large: Vec<String> = sources()
        .filter(|(path, _)| !shown(path).contains("tests/"))
        .map(|(path, text)| (shown(&path), without_tests(&text).lines().count()))
        .filter(|(_, lines)| *lines > 600)
        .map(|(path, lines)| format!("{path}: {lines} lines"))
        .collect();
    assert_eq!(large, Vec::<String>::new(), "at most 600 lines without tests");
}

#[test]
fn rules_and_formats_are_pure() {
    let forbidden = [
        "std::fs",
        "std::env",
        "std::time",
        "std::process",
        "std::net",
        "HashMap",
        "HashSet",
        "rand::",
        "SystemTime",
        "Instant",
        "getrandom",
    ];
    let mut found = Vec::new();
    for (path, text) in sources() {
        let name = shown(&path);
        let pure = ["rules/src/", "formats/"].iter().any(|start| name.starts_with(start));
        if !pure || ["/tests/", "/examples/", "/benches/"].iter().any(|part| name.contains(part)) {
            continue;
        }
        for (number, line) in without_tests(&text).lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            for word in forbidden.iter().filter(|word| code.contains(**word)) {
                found.push(format!("{name}:{}: {word}", number + 1));
            }
        }
    }
    assert_eq!(
        found,
        Vec::<String>::new(),
        "same inputs, same bytes: no files, clocks, environment, hash order"
    );
}

#[test]
fn only_the_index_says_sled_and_only_the_plan_says_petgraph() {
    for (word, home) in [("sled::", "cache/src/index.rs"), ("petgraph", "engine/src/plan.rs")] {
        let strays: Vec<String> = sources()
            .filter(|(path, text)| {
                !shown(path).starts_with("tests/") && shown(path) != home && text.contains(word)
            })
            .map(|(path, _)| shown(&path))
            .collect();
        assert_eq!(strays, Vec::<String>::new(), "{word} belongs into {home}");
    }
}

#[test]
fn nothing_of_the_game_lies_in_git() {
    let refused =
        ["utoc", "ucas", "pak", "map", "usmap", "uasset", "uexp", "ubulk", "umap", "uzenasset", "mjolnir"];
    let magics: [(&[u8], &str); 4] = [
        (b"-==--==--==--==-", "an IoStore table of contents"),
        (&[0xe1, 0x12, 0x6f, 0x5a], "a pak footer"),
        (b"daeh", "a Halo map"),
        (&[0xc4, 0x30], "type mappings"),
    ];
    let mut found = Vec::new();
    for path in files() {
        let name = shown(&path);
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
        if extension.is_some_and(|extension| refused.contains(&extension.as_str())) {
            found.push(format!("{name}: by its name"));
        }
        let bytes = std::fs::read(root().join(&path)).unwrap();
        for (magic, what) in magics {
            if bytes.starts_with(magic) {
                found.push(format!("{name}: {what}"));
            }
        }
        // A Blam tag says so at the end of its 64-byte header.
        if bytes.get(60..64) == Some(b"MALB") {
            found.push(format!("{name}: a tag"));
        }
    }
    assert_eq!(found, Vec::<String>::new(), "no game containers, tags, maps or mappings in git");
}
