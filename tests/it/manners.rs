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
