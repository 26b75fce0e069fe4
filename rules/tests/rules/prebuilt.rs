//! `prebuilt`: which files of a folder become members of which release, and what would not work in the game.

use std::collections::BTreeMap;

use engine::testing::Ran;
use iostore::{Builder, Package, Payload};
use serde_json::{Value, json};

use crate::harness::{Bench, said};

type Files = BTreeMap<String, Vec<u8>>;

/// A container with one package of this name.
fn put(files: &mut Files, stem: &str, package: &str) {
    let mut ucas = Vec::new();
    let package = Package::new(package, Payload::Slice(b"a package"));
    let utoc = Builder::new(stem).package(package).write(&mut ucas).unwrap();
    files.insert(format!("cooked/{stem}.utoc"), utoc);
    files.insert(format!("cooked/{stem}.ucas"), ucas);
}

fn run(bench: &Bench, kind: &str, files: &Files) -> Result<Ran, engine::RuleError> {
    let release = match kind {
        "map" => json!({"id": "ce-gulch", "name": "Gulch", "version": "1.0.0", "code": "BGL"}),
        _ => json!({"id": "foundry", "name": "Foundry", "version": "1.0.0"}),
    };
    let given = json!({"release": release, "kind": kind, "folder": "cooked"});
    let tree = bench.tree(files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())));
    bench.run("prebuilt", given, &[("files", tree)])
}

fn members(bench: &Bench, ran: &Ran) -> Vec<String> {
    bench.files(ran, "members").into_keys().collect()
}

fn notes(ran: &Ran) -> Vec<&str> {
    ran.notes.iter().map(|note| note.message.as_str()).collect()
}

const LEVEL: &[u8] =
    br#"{"name":"gulch","title":"Test Gulch","multiplayer":true,"canvas":{"scenario":"b40"}}"#;

fn map() -> Files {
    let mut files = Files::new();
    put(&mut files, "pakchunk24853-MJOLNIRMAP-BGL_P", "/Game/Levels/Halo1/Solo/BGL/BGL");
    put(&mut files, "MJOLNIRMESH-BGL_P", "/Game/MJOLNIR/Maps/BGL/SM_BGL_Terrain");
    files.insert("cooked/gulch.level.json".to_owned(), LEVEL.to_vec());
    files
}

#[test]
fn a_map_is_taken_with_its_level_and_a_registration() {
    let bench = Bench::new();
    let mut files = map();
    put(&mut files, "pakchunk996-MJOLNIRREG-BGL_P", "/Game/Blueprints/Campaign/DT_Scenarios");
    put(&mut files, "other-DCN_P", "/Game/MJOLNIR/Maps/DCN/X");
    let ran = run(&bench, "map", &files).unwrap();
    assert_eq!(
        members(&bench, &ran),
        [
            "content/MJOLNIRMESH-BGL_P.ucas",
            "content/MJOLNIRMESH-BGL_P.utoc",
            "content/pakchunk24853-MJOLNIRMAP-BGL_P.ucas",
            "content/pakchunk24853-MJOLNIRMAP-BGL_P.utoc",
            "map/level.json",
            "map/registration.json",
        ]
    );
    let taken = bench.files(&ran, "members");
    assert_eq!(taken["map/level.json"], LEVEL);
    let registration: Value = serde_json::from_slice(&taken["map/registration.json"]).unwrap();
    assert_eq!(
        registration,
        json!({"code": "BGL", "from": "B40", "title": "Test Gulch", "description": null,
            "world": "/Game/Levels/Halo1/Solo/BGL/BGL.BGL"})
    );

    let own = b"{\"code\":\"BGL\",\"from\":\"A30\"}";
    files.insert("cooked/BGL.registration.json".to_owned(), own.to_vec());
    let ran = run(&bench, "map", &files).unwrap();
    assert_eq!(bench.files(&ran, "members")["map/registration.json"], own);
}

#[test]
fn what_makes_no_map_is_refused() {
    let bench = Bench::new();
    let refused = |change: fn(&mut Files)| {
        let mut files = map();
        change(&mut files);
        said(run(&bench, "map", &files))
    };
    let level = |files: &mut Files, text: &str| {
        files.insert("cooked/gulch.level.json".to_owned(), text.as_bytes().to_vec());
    };
    let text = refused(|files| drop(files.remove("cooked/gulch.level.json")));
    assert!(text.starts_with("`cooked` cannot be released: there is no `<name>.level.json`"), "{text}");
    let text = refused(|files| drop(files.insert("cooked/b.level.json".to_owned(), LEVEL.to_vec())));
    assert!(
        text.contains("`b.level.json`, `gulch.level.json`: only one level file is allowed [bad_map_file]"),
        "{text}"
    );
    let mut files = map();
    level(&mut files, r#"{"multiplayer":false}"#);
    let text = said(run(&bench, "map", &files));
    assert!(
        text.starts_with("`gulch.level.json` is no level file of a map [bad_map_file]\n  /multiplayer: "),
        "{text}"
    );
    level(&mut files, r#"{"multiplayer":true}"#);
    let text = said(run(&bench, "map", &files));
    assert!(text.starts_with("`gulch.level.json` has no `canvas.scenario`"), "{text}");
    let text = refused(|files| drop(files.remove("cooked/MJOLNIRMESH-BGL_P.ucas")));
    assert!(text.ends_with("[orphan_utoc] MJOLNIRMESH-BGL_P.utoc: its `.ucas` is missing"), "{text}");
    let text = refused(|files| files.retain(|name, _| name.ends_with(".json")));
    assert!(text.contains("there is no container whose name ends in `-BGL_P` [no_content]"), "{text}");
    let text = refused(|files| put(files, "stray-BGL_P", "/Game/MJOLNIR/Maps/DCN/SM_Rock"));
    assert_eq!(
        text,
        "packages lie in another mod's folder: `/Game/MJOLNIR/Maps/DCN/SM_Rock`\n\
         help: its own are below `/Game/MJOLNIR/Maps/BGL`"
    );
}

#[test]
fn containers_that_the_game_would_not_find_are_all_named() {
    let bench = Bench::new();
    let mut files = Files::new();
    for stem in ["a_P", "b_P", "c_P"] {
        put(&mut files, stem, &format!("/Game/MJOLNIR/Forge/foundry/{stem}"));
    }
    files.get_mut("cooked/a_P.utoc").unwrap()[16] = 3;
    files.get_mut("cooked/b_P.ucas").unwrap().truncate(1);
    let text = said(run(&bench, "forge-pack", &files));
    assert!(text.starts_with("a container would not work in the game: "), "{text}");
    assert!(
        text.contains("\n  [bad_container] a_P.utoc: ") && text.contains("\n  [bad_container] b_P.utoc: "),
        "{text}"
    );
    assert!(!text.contains("c_P"), "{text}");
}

#[test]
fn the_runtime_pack_is_every_container_and_says_what_it_lacks() {
    let bench = Bench::new();
    let mut files = Files::new();
    files.insert("cooked/notes.txt".to_owned(), b"not for release".to_vec());
    for stem in mjolnir::packing::RUNTIME_CONTAINERS {
        put(&mut files, stem, &format!("/Game/MJOLNIR/CE/{stem}"));
    }
    let ran = run(&bench, "runtime", &files).unwrap();
    assert_eq!((members(&bench, &ran).len(), notes(&ran)), (28, vec![]));
    files.retain(|name, _| !name.contains("MJOLNIRMENU"));
    let ran = run(&bench, "runtime", &files).unwrap();
    assert_eq!(notes(&ran), ["the runtime pack lacks `pakchunk985-MJOLNIRMENU_P`"]);
    files.remove("cooked/pakchunk984-MJOLNIRUI-Windows.utoc");
    let text = said(run(&bench, "runtime", &files));
    assert!(text.contains("[orphan_ucas] pakchunk984-MJOLNIRUI-Windows.ucas"), "{text}");
}

#[test]
fn a_packs_folder_is_its_own() {
    let bench = Bench::new();
    let mut files = Files::new();
    put(&mut files, "pakchunk990-FOUNDRY_P", "/Game/MJOLNIR/Forge/foundry/SM_Floor");
    put(&mut files, "tags_P", "/Game/Tags/objects/mjolnir/forge/foundry/floor-crate");
    files.insert("cooked/tags_P.pak".to_owned(), b"a stub".to_vec());
    let ran = run(&bench, "forge-pack", &files).unwrap();
    assert_eq!((members(&bench, &ran).len(), notes(&ran)), (4, vec![]));

    put(&mut files, "more_P", "/Game/Props/SM_Crate");
    let ran = run(&bench, "forge-pack", &files).unwrap();
    assert_eq!(notes(&ran), ["packages lie outside the pack's own folders: `/Game/Props/SM_Crate`"]);
    put(&mut files, "more_P", "/Game/Tags/objects/mjolnir/forge/other/x-crate");
    let text = said(run(&bench, "forge-pack", &files));
    assert!(text.starts_with("packages lie in another mod's folder: "), "{text}");
    put(&mut files, "more_P", "/Game/MJOLNIR/Forge/foundry/More");
    for (name, code) in [
        ("cooked/README.md", "forbidden_file"),
        ("cooked/below/x_P.utoc", "bad_path"),
        ("cooked/x y.ucas", "bad_path"),
    ] {
        let mut files = files.clone();
        files.insert(name.to_owned(), b"x".to_vec());
        let text = said(run(&bench, "forge-pack", &files));
        assert!(text.contains(&format!("[{code}] {}", name.strip_prefix("cooked/").unwrap())), "{text}");
    }
}
