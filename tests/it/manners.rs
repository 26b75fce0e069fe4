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
