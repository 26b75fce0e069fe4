//! `exec` steps: tools that see what they declare, and `reproduce`, which finds those that give other bytes.
#![cfg(target_os = "linux")]

use crate::workspace::Workspace;

const TOOL: &str = "forge-packs/tool";

/// A recipe with a step `tool` that runs `script`, one before it and one after it.
fn workspace(script: &str) -> Workspace {
    let workspace = Workspace::empty();
    workspace.write(&format!("{TOOL}/a.txt"), "declared\n");
    workspace.write(&format!("{TOOL}/b.txt"), "undeclared\n");
    let step = |name: &str, input: &str, script: &str| {
        format!(
            "[[step]]\nname = \"{name}\"\nrule = \"exec\"\ninputs.src = [\"{input}\"]\n\
             params.tool = \"sh\"\nparams.args = [\"-c\", '{script}']\n"
        )
    };
    let recipe = "schema = 1\noutputs = [\":after\"]\n[release]\nname = \"Tool\"\nversion = \"1.0.0\"\n"
        .to_owned()
        + &step("before", "a.txt", "cat in/src/a.txt > out/x")
        + &step("tool", ":before", script)
        + &step("after", ":tool", "cat in/src/* > out/y");
    workspace.write(&format!("{TOOL}/recipe.toml"), &recipe);
    workspace
}

#[test]
fn a_tool_sees_its_declared_inputs() {
    let workspace = workspace("cat in/src/x > out/z; echo $$ > tmp/free");
    workspace.bake(&["build", TOOL]).success();
    assert_eq!(workspace.read("out/forge-packs/tool/y"), "declared\n");
}

#[test]
fn what_is_not_declared_is_out_of_reach() {
    let home = std::env::var("HOME").unwrap_or_else(|_| "/root".to_owned());
    let undeclared = workspace("true").path(&format!("{TOOL}/b.txt"));
    for (script, words) in [
        (format!("cat {}", undeclared.display()), "No such file or directory"),
        (format!("ls {home}"), "No such file or directory"),
        ("echo x > /usr/planted".to_owned(), "Read-only file system"),
        ("echo x > in/src/x".to_owned(), "Read-only file system"),
    ] {
        let failed = workspace(&script).bake(&["build", TOOL]).fails_with(1);
        assert!(failed.stderr.contains(words), "{script}:\n{}", failed.stderr);
        assert!(failed.stderr.contains("tool"), "the step is named: {}", failed.stderr);
    }
}

#[test]
fn a_step_without_its_output_or_its_tool_says_so() {
    let failed = workspace("exit 7").bake(&["build", TOOL]).fails_with(1);
    assert!(failed.stderr.contains("exit code 7"), "{}", failed.stderr);
    let workspace = workspace("true");
    workspace.edit(&format!("{TOOL}/recipe.toml"), "tool = \"sh\"", "tool = \"no-such-tool\"");
    let failed = workspace.bake(&["build", TOOL]);
    assert_ne!(failed.code, Some(0));
    assert!(failed.stderr.contains("no-such-tool"), "{}", failed.stderr);
}

#[test]
fn reproduce_names_the_unstable_step_and_nothing_else() {
    for (what, script, args) in [
        ("a clock", "date +%s%N > out/z", &[][..]),
        ("a random order", "od -An -N8 -tx8 /dev/urandom > out/z", &[]),
        ("the number of threads", "nproc > out/z", &[]),
        ("the host's name", "cat /proc/sys/kernel/hostname > out/z", &["--no-sandbox"]),
    ] {
        if what == "the number of threads" && std::thread::available_parallelism().is_ok_and(|n| n.get() == 1)
        {
            eprintln!("skipped: one processor cannot be made fewer");
            continue;
        }
        let workspace = workspace(script);
        let all: Vec<&str> = ["reproduce", TOOL].into_iter().chain(args.iter().copied()).collect();
        let ran = workspace.bake(&all).fails_with(4);
        let errors: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("error")).collect();
        assert_eq!(errors.len(), 1, "{what}: {}", ran.stderr);
        assert!(errors[0].contains(&format!("{TOOL}:tool ")), "{what}: {}", ran.stderr);
        assert!(ran.stderr.contains("`z` differs"), "{what}: {}", ran.stderr);
    }
    workspace("cat in/src/x > out/z").bake(&["reproduce", TOOL]).success();
}

#[test]
fn a_shipped_pack_reproduces() {
    let workspace = Workspace::foundry();
    workspace.bake(&["reproduce", crate::workspace::FOUNDRY]).success();
}
