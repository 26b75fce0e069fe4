//! `exec` steps where there is no sandbox: they are refused unless that is said, and what a tool starts ends
//! with it.
#![cfg(windows)]

use std::fs;
use std::time::Duration;

use crate::workspace::Workspace;

const TOOL: &str = "forge-packs/tool";

/// A workspace whose one step runs `lines` as a batch file.
fn workspace(lines: &str) -> Workspace {
    let workspace = Workspace::empty();
    workspace.write(&format!("{TOOL}/a.txt"), "declared\r\n");
    workspace.write(&format!("{TOOL}/step.cmd"), &lines.replace('\n', "\r\n"));
    let recipe = r#"schema = 1
outputs = [":tool"]
[release]
name = "Tool"
version = "1.0.0"
[[step]]
name = "tool"
rule = "exec"
inputs.src = ["a.txt", "step.cmd"]
params.tool = "cmd"
params.args = ["/c", 'in\src\step.cmd']
"#;
    workspace.write(&format!("{TOOL}/recipe.toml"), recipe);
    workspace
}

#[test]
fn without_a_sandbox_a_tool_is_refused_unless_that_is_said() {
    let workspace = workspace("@copy in\\src\\a.txt out\\z\n");
    let refused = workspace.bake(&["build", TOOL]);
    assert_ne!(refused.code, Some(0));
    assert!(refused.stderr.contains("--no-sandbox"), "{}", refused.stderr);
    assert!(!workspace.path("out").exists(), "nothing is placed");
    workspace.bake(&["build", TOOL, "--no-sandbox"]).success();
    assert_eq!(workspace.read("out/forge-packs/tool/z"), "declared\r\n");
}

#[test]
fn what_a_tool_leaves_running_ends_with_its_step() {
    let beside = Workspace::empty();
    let (late, witness) = (beside.path("late.cmd"), beside.path("witness.txt"));
    beside.write(
        "late.cmd",
        &format!("@echo off\r\n:again\r\necho x>>{}\r\ngoto again\r\n", witness.display()),
    );
    // The step ends only once the other has begun.
    let workspace = workspace(&format!(
        "@echo off\nstart /b cmd /c {}\n:wait\nif not exist {} goto wait\ncopy in\\src\\a.txt out\\z\n",
        late.display(),
        witness.display()
    ));
    workspace.bake(&["build", TOOL, "--no-sandbox"]).success();
    let written = fs::metadata(&witness).unwrap().len();
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(fs::metadata(&witness).unwrap().len(), written, "it outlived its step");
}
