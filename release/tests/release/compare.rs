//! What differs between two archives.

use std::collections::BTreeMap;
use std::io::Cursor;

use iostore::{ChunkType, PackageId};
use mjolnir::zip::{Compression, write};
use release::compare::{Change, Group};
use release::{Opened, compare};

type Members = BTreeMap<String, Vec<u8>>;

const BLOCK: &str = r#"{"id":"deck","name":"Deck","category":"c","tag":"objects\\mjolnir\\forge\\foundry\\deck",
    "dimensions_m":[4,4,2]}"#;

fn manifest(version: &str, blocks: &str, more: &str) -> Vec<u8> {
    format!(
        r#"{{"schema_version":1,"name":"Foundry","version":"{version}","type":"content"{more},
            "forge_pack":{{"schema_version":1,"id":"foundry","blocks":[{blocks}]}}}}"#
    )
    .into_bytes()
}

/// Adds a container with these packages and one chunk of a shader library.
fn add_container(members: &mut Members, stem: &str, packages: &[(&str, &[u8])]) {
    let files: Vec<_> = packages
        .iter()
        .map(|(path, bytes)| {
            let file = format!("Meteorite/Content/{}.uasset", path.trim_start_matches("/Game/"));
            (PackageId::of_name(path).chunk(ChunkType::ExportBundleData), file, *bytes)
        })
        .collect();
    let builder = files.iter().fold(iostore::Builder::new(stem), |builder, (id, file, bytes)| {
        builder.named_chunk(*id, file, bytes)
    });
    let mut ucas = Vec::new();
    let library = PackageId(0x77).chunk(ChunkType::ShaderCodeLibrary);
    let utoc = builder.chunk(library, b"library").write(&mut ucas).unwrap();
    members.insert(format!("content/{stem}.utoc"), utoc);
    members.insert(format!("content/{stem}.ucas"), ucas);
}

fn members() -> Members {
    let mut members = Members::new();
    members.insert("mjolnir.json".to_owned(), manifest("0.2.0", BLOCK, r#","summary":"s""#));
    members.insert("docs/README.md".to_owned(), b"# Foundry".to_vec());
    add_container(&mut members, "A_P", &[("/Game/A", b"a"), ("/Game/B", b"b")]);
    members
}

fn archive(members: &Members) -> Vec<u8> {
    let members: Vec<_> = members.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    write(&members, Compression::Text, Cursor::new(Vec::new())).unwrap().into_inner()
}

fn changes(old: &Members, new: &Members) -> Vec<Change> {
    let (old, new) = (archive(old), archive(new));
    let open = |bytes| Opened::read("foundry.mjolnir", bytes).unwrap();
    compare(&open(&old), &open(&new))
}

/// `+`, `-` or `~`, the group and the place.
fn told(old: &Members, new: &Members) -> Vec<String> {
    let told = |change: &Change| {
        let sign = match (&change.old, &change.new) {
            (None, _) => '+',
            (_, None) => '-',
            _ => '~',
        };
        format!("{sign} {} {}", change.group.word(), change.at)
    };
    changes(old, new).iter().map(told).collect()
}

#[test]
fn the_same_members_have_no_changes() {
    assert_eq!(changes(&members(), &members()), []);
    let (stored, open) = (members(), |bytes| Opened::read("x.mjolnir", bytes).unwrap());
    let all: Vec<_> = stored.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    let stored = write(&all, Compression::Store, Cursor::new(Vec::new())).unwrap().into_inner();
    let packed = archive(&members());
    assert_eq!(compare(&open(&stored), &open(&packed)), [], "compression is no content");
}

#[test]
fn fields_entries_and_deps_are_told_by_their_names() {
    let mut new = members();
    let rail = BLOCK.replace("deck", "rail").replace("[4,4,2]", "[4,4,2.5]");
    let deck = BLOCK.replace("[4,4,2]", "[4.0,4,2.5]").replace("\"Deck\"", "\"Floor\"");
    let more = r#","deps":[{"slug":"base","range":"^1.0.0"}]"#;
    new.insert("mjolnir.json".to_owned(), manifest("0.2.1", &format!("{rail},{deck}"), more));
    assert_eq!(
        told(&members(), &new),
        [
            "- manifest summary",
            "~ manifest version",
            "+ deps base",
            "+ entries rail",
            "~ entries deck/dimensions_m",
            "~ entries deck/name",
        ]
    );
    let mut turned = new.clone();
    turned.insert("mjolnir.json".to_owned(), manifest("0.2.1", &format!("{deck},{rail}"), more));
    assert_eq!(told(&new, &turned), ["~ entries order"]);
    let mut spelled = members();
    spelled.get_mut("mjolnir.json").unwrap().push(b'\n');
    assert_eq!(told(&members(), &spelled), ["~ manifest mjolnir.json"]);
}

#[test]
fn packages_are_told_by_path_wherever_they_lie() {
    let mut new = members();
    add_container(&mut new, "A_P", &[("/Game/A", b"other"), ("/Game/C", b"c")]);
    assert_eq!(told(&members(), &new), ["~ packages /Game/A", "- packages /Game/B", "+ packages /Game/C"]);
    let change = changes(&members(), &new).remove(0);
    assert_eq!(change.group, Group::Packages);
    assert_eq!(
        (&change.old.unwrap()["exports"]["size"], &change.new.unwrap()["exports"]["size"]),
        (&1.into(), &5.into())
    );

    let mut moved = members();
    moved.retain(|name, _| !name.starts_with("content/"));
    add_container(&mut moved, "B_P", &[("/Game/A", b"a"), ("/Game/B", b"b")]);
    assert_eq!(
        told(&members(), &moved),
        ["- containers content/A_P", "+ containers content/B_P", "~ packages /Game/A", "~ packages /Game/B",]
    );
}

#[test]
fn other_members_are_told_and_nothing_is_passed_over() {
    let mut new = members();
    new.insert("docs/README.md".to_owned(), b"# Other".to_vec());
    new.insert("signature.json".to_owned(), b"{}".to_vec());
    new.insert("changes.json".to_owned(), br#"{"schema_version":1,"tags":[]}"#.to_vec());
    assert_eq!(
        told(&members(), &new),
        ["+ changes changes.json", "~ members docs/README.md", "+ members signature.json"]
    );
    // Bytes that no table speaks of.
    let mut padded = members();
    padded.get_mut("content/A_P.ucas").unwrap().push(0);
    assert_eq!(told(&members(), &padded), ["~ containers content/A_P"]);
    let mut broken = members();
    broken.insert("content/A_P.utoc".to_owned(), b"no table".to_vec());
    let found = told(&members(), &broken);
    assert!(found.contains(&"~ containers content/A_P".to_owned()), "{found:?}");
}

#[test]
fn changes_and_levels_are_told_by_their_fields() {
    let with = |text: &str| {
        let mut members = members();
        members.insert("changes.json".to_owned(), text.as_bytes().to_vec());
        members
    };
    let old = with(
        r#"{"schema_version":1,"tags":[{"group":"weap","tag":"a","fields":[{"field":"f","value":1}]}]}"#,
    );
    let new = with(
        r#"{"schema_version":1,"tags":[{"group":"weap","tag":"a","fields":[{"field":"f","value":2}]}]}"#,
    );
    assert_eq!(told(&old, &new), ["~ changes tags/weap:a/fields/f/value"]);
}
