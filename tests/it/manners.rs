//! What people are told when something stands in the way.

use crate::workspace::{FOUNDRY, Workspace};
use std::fs;

#[test]
fn an_output_that_cannot_be_placed_is_said_with_its_path() {
    let workspace = Workspace::foundry();
    workspace.bake(&["build", FOUNDRY]).success();
    let archive = workspace.archive();
    fs::remove_file(&archive).unwrap();
    fs::create_dir(&archive).unwrap();
    fs::write(archive.join("kept.txt"), "not of this build").unwrap();
    let failed = workspace.bake(&["build", FOUNDRY]).fails_with(3);
    let name = archive.file_name().unwrap().to_string_lossy().into_owned();
    let said = failed.stderr.lines().find(|line| line.starts_with("error: ")).unwrap_or_default();
    assert!(said.contains(&name), "{}", failed.stderr);
    assert_eq!(fs::read_to_string(archive.join("kept.txt")).unwrap(), "not of this build");
    fs::remove_dir_all(&archive).unwrap();
    workspace.bake(&["build", FOUNDRY]).success();
    assert!(archive.is_file());
}

#[test]
fn a_label_to_run_again_must_exist() {
    let workspace = Workspace::foundry();
    let failed = workspace.bake(&["build", FOUNDRY, "--rerun", "forge-packs/foundri"]).fails_with(2);
    assert!(failed.stderr.contains("foundry"), "{}", failed.stderr);
    let ran = workspace.build(&[FOUNDRY]).len();
    assert!(ran >= 16);
    assert_eq!(workspace.build(&[FOUNDRY, "--rerun", "forge-packs/foundry:pack"]).len(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn data_that_does_not_arrive_is_an_error() {
    let workspace = Workspace::foundry();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = workspace.command(&["rules"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write to stdout"));
}

#[test]
fn labels_may_be_written_from_a_folder_inside() {
    let workspace = Workspace::foundry();
    let inside = |folder: &str, label: &str| {
        let folder = workspace.path(folder);
        let said = workspace.bake(&["-C", &folder.to_string_lossy(), "query", "deps", label]).success();
        said.stdout.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let steps = inside(".", &format!("{FOUNDRY}:pack"));
    assert!(steps.iter().any(|step| step == "forge-packs/foundry:rename"), "{steps:?}");
    let absolute = workspace.path(FOUNDRY).canonicalize().unwrap().to_string_lossy().into_owned() + ":pack";
    let absolute = absolute.trim_start_matches(r"\\?\").to_owned();
    for (folder, label) in [
        (FOUNDRY, ":pack"),
        (FOUNDRY, ".:pack"),
        ("forge-packs", "./foundry:pack"),
        ("forge-packs", &absolute),
    ] {
        assert_eq!(inside(folder, label), steps, "{label} in {folder}");
    }
    let outside = workspace.bake(&["build", "../elsewhere"]).fails_with(2);
    assert!(outside.stderr.contains("outside the workspace"), "{}", outside.stderr);
}

#[test]
fn why_knows_steps_instances_and_stand_ins() {
    let workspace = Workspace::foundry();
    let why = |label: &str| workspace.bake(&["why", label]);
    workspace.bake(&["build", FOUNDRY]).success();
    let whole = why("forge-packs/foundry:rename").success().stdout;
    assert!(whole.starts_with("rename has 13 instances, none of which would run now"), "{whole}");
    assert!(whole.contains("rename:SM_Slab\n"), "{whole}");
    let one = why("forge-packs/foundry:rename:SM_Slab").success().stdout;
    assert!(one.contains("it would not run now") && one.contains("rename-package"), "{one}");
    let stand_in = why("stand-ins:game").success().stdout;
    assert!(stand_in.contains("it would not run now") && stand_in.contains("stand-in-game"), "{stand_in}");
    let near = why("forge-packs/foundry:rename:SM_Slap").fails_with(1).stdout;
    assert!(near.contains("no instance `SM_Slap`") && near.contains("did you mean `SM_Slab`?"), "{near}");
    let plain = why("forge-packs/foundry:pack:x").fails_with(2).stderr;
    assert!(plain.contains("has no instances"), "{plain}");
}

#[test]
fn a_build_with_nothing_to_do_still_writes_its_trace() {
    let workspace = Workspace::foundry();
    workspace.bake(&["build", FOUNDRY]).success();
    let trace = workspace.path("trace.json");
    workspace.bake(&["build", FOUNDRY, "--trace", &trace.to_string_lossy()]).success();
    let rows: Vec<serde_json::Value> = serde_json::from_slice(&fs::read(&trace).unwrap()).unwrap();
    assert!(rows.iter().all(|row| row["ph"] == "M"), "names of rows alone: nothing ran");
}

#[test]
fn why_asks_of_no_other_recipe() {
    let workspace = Workspace::foundry();
    workspace.write("forge-packs/broken/recipe.toml", "schema = 1\nnonsense = true\n");
    let said = workspace.bake(&["why", "forge-packs/foundry:pack"]).success().stdout;
    assert!(said.contains("would run"), "{said}");
}
