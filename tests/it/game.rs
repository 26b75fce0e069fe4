//! `bake extract` and `bake impact`: what is taken out of a game, and what an update of it touches.

use std::fs;
use std::path::Path;

use iostore::{Builder, Package};
use rules::stand_in_game;
use serde_json::Value;

use crate::workspace::{FOUNDRY, Workspace, walk};

const CONTAINER: &str = "pakchunk0-Windows";

/// A game with the packages of the stand-in as `change` leaves them.
fn game(folder: &Path, with_bytes: bool, change: impl Fn(&mut Vec<stand_in_game::StandInPackage>)) -> String {
    let mut packages = stand_in_game::packages();
    change(&mut packages);
    let made = packages.iter().map(|made| Package {
        bulk: (!made.bulk.is_empty()).then(|| (&made.bulk).into()),
        imports: made.imports.clone(),
        ..Package::new(&made.path, &made.zen)
    });
    let mut ucas = Vec::new();
    let utoc = made.fold(Builder::new(CONTAINER), Builder::package).write(&mut ucas).unwrap();
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join(format!("{CONTAINER}.utoc")), utoc).unwrap();
    if with_bytes {
        fs::write(folder.join(format!("{CONTAINER}.ucas")), ucas).unwrap();
    }
    folder.to_string_lossy().into_owned()
}

fn listing(folder: &Path) -> Vec<String> {
    let mut files = Vec::new();
    walk(folder, &mut files);
    let below =
        |file: &std::path::PathBuf| file.strip_prefix(folder).unwrap().to_string_lossy().replace('\\', "/");
    let mut names: Vec<String> = files.iter().map(below).collect();
    names.sort();
    names
}

#[test]
fn packages_are_extracted_and_nothing_is_overwritten() {
    let workspace = Workspace::empty();
    let game = game(&workspace.path("Paks"), true, |_| {});
    let out = workspace.path("taken").to_string_lossy().into_owned();
    let extract = |more: &[&str]| {
        let args = ["extract", "--game", &game, "--out", &out];
        workspace.bake(&args.iter().chain(more).copied().collect::<Vec<_>>())
    };
    let dry = extract(&["/Game/Synth/SM_Slab", "--dry-run"]).success();
    assert!(
        dry.stdout.contains("pakchunk0-Windows  Meteorite/Content/Synth/SM_Slab.uasset"),
        "{}",
        dry.stdout
    );
    assert!(!workspace.path("taken").exists());

    extract(&["--filter", "/Game/Synth/T_Synth_*"]).success();
    let names = [
        "Meteorite/Content/Synth/T_Synth_BC1.uasset",
        "Meteorite/Content/Synth/T_Synth_BC1.ubulk",
        "Meteorite/Content/Synth/T_Synth_RGBA.uasset",
        "Meteorite/Content/Synth/T_Synth_VT.uasset",
        "Meteorite/Content/Synth/T_Synth_VT.ubulk",
    ];
    let taken = listing(&workspace.path("taken"));
    assert_eq!(taken, names);
    let made = stand_in_game::packages().into_iter().find(|made| made.path.ends_with("T_Synth_BC1")).unwrap();
    assert_eq!(fs::read(workspace.path("taken").join(names[0])).unwrap(), made.zen);
    assert_eq!(fs::read(workspace.path("taken").join(names[1])).unwrap(), made.bulk);

    let again = extract(&["--filter", "T_Synth_BC1"]).success();
    assert!(again.stderr.contains("2 there already"), "{}", again.stderr);
    fs::write(workspace.path("taken").join(names[0]), "mine").unwrap();
    let refused = extract(&["--filter", "Synth"]).fails_with(2);
    assert!(refused.stderr.contains("1 file would be overwritten by another"), "{}", refused.stderr);
    assert_eq!(listing(&workspace.path("taken")), names, "nothing was written");
    let missing = extract(&["/Game/Synth/SM_Slap"]).fails_with(1);
    assert!(missing.stderr.contains("did you mean `/Game/Synth/SM_Slab`?"), "{}", missing.stderr);
}

#[test]
fn the_stand_in_is_extracted_where_no_game_is_set() {
    let workspace = Workspace::empty();
    let ran = workspace.bake(&["extract", "/Game/Synth/M_Panels", "--out", "taken", "--json"]).success();
    assert!(ran.stderr.contains("warning: @game is not set"), "{}", ran.stderr);
    let json: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(json["files"][0]["path"], "Meteorite/Content/Synth/M_Panels.uasset");
    assert_eq!(listing(&workspace.path("taken")).len(), 1);
}

#[test]
fn an_update_touches_what_depends_on_the_donors_that_changed() {
    let workspace = Workspace::foundry();
    let old = game(&workspace.path("old"), false, |_| {});
    let workspace = workspace.with("BAKE_GAME", old);
    let impact = |new: &str| {
        let ran = workspace.bake(&["impact", "--game", new, "--json"]).success();
        serde_json::from_str::<Value>(&ran.stdout).unwrap()
    };
    let same = game(&workspace.path("same"), false, |packages| {
        packages
            .iter_mut()
            .filter(|made| made.path.ends_with("T_Synth_VT"))
            .for_each(|made| made.zen.push(0));
    });
    let found = impact(&same);
    assert!(found["compared"].as_u64().unwrap() > 0 && found["steps"] == Value::Array(Vec::new()), "{found}");

    let changed = game(&workspace.path("changed"), false, |packages| {
        let slab = packages.iter_mut().find(|made| made.path.ends_with("SM_Slab")).unwrap();
        *slab.zen.last_mut().unwrap() ^= 1;
    });
    let found = impact(&changed);
    assert_eq!(found["recipes"], serde_json::json!([FOUNDRY]));
    let changes = found["imports"][0]["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 1, "{found}");
    assert!(changes[0]["what"].as_str().unwrap().starts_with("@game /Game/Synth/SM_Slab export bundle "));
    assert!(changes[0]["before"] != changes[0]["after"] && changes[0]["after"].is_string());
    assert!(found["steps"].as_array().unwrap().len() > 1, "{found}");
    let text = workspace.bake(&["impact", "--game", &changed]).success();
    assert!(text.stdout.contains("\n  @game /Game/Synth/SM_Slab export bundle "), "{}", text.stdout);
    assert!(text.stdout.contains(&format!("\n  reaches {FOUNDRY}:")), "{}", text.stdout);

    let gone = game(&workspace.path("gone"), false, |packages| {
        packages.retain(|made| !made.path.ends_with("SM_Slab"));
    });
    let what = impact(&gone)["imports"][0]["changes"][0]["what"].as_str().unwrap().to_owned();
    assert!(what.starts_with("@game has no package `/Game/Synth/SM_Slab`"), "{what}");
}

#[test]
fn without_a_game_there_is_nothing_to_compare() {
    let workspace = Workspace::foundry();
    let ran = workspace.bake(&["impact", "--game", "new"]).fails_with(2);
    assert!(ran.stderr.contains("@game is not set"), "{}", ran.stderr);
}
