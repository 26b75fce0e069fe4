//! What is built again, and what is not.

use std::fs;

use crate::workspace::{FOUNDRY, Workspace};

fn short(labels: &[String]) -> Vec<&str> {
    labels.iter().map(|label| label.split_once(':').map_or(&label[..], |(_, step)| step)).collect()
}

#[test]
fn a_second_build_runs_no_action_and_says_so() {
    let workspace = Workspace::foundry();
    assert!(workspace.build(&[FOUNDRY]).len() >= 16);
    let again = workspace.bake(&["build", FOUNDRY]).success();
    assert!(again.stderr.contains("Fresh") && again.stderr.contains("nothing to do"), "{}", again.stderr);
    assert_eq!(workspace.build(&[FOUNDRY]), Vec::<String>::new());
    workspace.bake(&["verify", &workspace.archive().to_string_lossy()]).success();
}

#[test]
fn only_what_depends_on_a_change_is_built() {
    let workspace = Workspace::foundry();
    workspace.build(&[FOUNDRY]);
    let (readme, recipe) = (format!("{FOUNDRY}/README.md"), format!("{FOUNDRY}/recipe.toml"));
    let (text, first) = (workspace.read(&readme), fs::read(workspace.archive()).unwrap());

    workspace.write(&readme, &text);
    workspace.write(&recipe, &workspace.read(&recipe));
    assert_eq!(workspace.build(&[FOUNDRY]), Vec::<String>::new(), "touched, not changed");

    workspace.write(&readme, &format!("{text}\nMore.\n"));
    assert_eq!(short(&workspace.build(&[FOUNDRY])), ["archive"]);
    assert!(fs::read(workspace.archive()).unwrap() != first);
    workspace.write(&readme, &text);
    assert_eq!(workspace.build(&[FOUNDRY]), Vec::<String>::new(), "changed back");
    assert!(fs::read(workspace.archive()).unwrap() == first);

    workspace.edit(&recipe, "summary = \"", "summary = \"New: ");
    assert_eq!(short(&workspace.build(&[FOUNDRY])), ["archive", "manifest"]);

    // A donor under another name: it is taken again with the others, and renamed alone with those that use it.
    workspace.edit(&recipe, "name = \"SM_Slab\"", "name = \"SM_Plate\"");
    assert_eq!(
        short(&workspace.build(&[FOUNDRY])),
        ["archive", "extract", "manifest", "pack", "rename:SM_Plate"]
    );
}

#[test]
fn what_is_placed_is_put_back() {
    let workspace = Workspace::foundry();
    workspace.build(&[FOUNDRY]);
    let (archive, bytes) = (workspace.archive(), fs::read(workspace.archive()).unwrap());
    fs::write(&archive, b"edited").unwrap();
    assert_eq!(workspace.build(&[FOUNDRY]), Vec::<String>::new());
    assert!(fs::read(&archive).unwrap() == bytes);
    fs::remove_file(&archive).unwrap();
    assert_eq!(workspace.build(&[FOUNDRY]), Vec::<String>::new());
    assert!(fs::read(&archive).unwrap() == bytes);
    // What was placed is a copy: writing to it does not reach the store.
    fs::write(&archive, b"edited in place").unwrap();
    workspace.bake(&["gc", "--check"]).success();
}

#[test]
fn every_cause_is_told_and_only_that() {
    let workspace = Workspace::foundry();
    let why = |workspace: &Workspace, step: &str| {
        let events = workspace.path("events.jsonl");
        workspace.bake(&["build", FOUNDRY, "--events", &events.to_string_lossy()]).success();
        let label = format!("{FOUNDRY}:{step}");
        let of_step =
            |event: &serde_json::Value| event["event"] == "action_finished" && event["label"] == label[..];
        let event = workspace.events(&events).into_iter().find(of_step).unwrap();
        let why = event["why"].as_array().unwrap().iter().map(|why| match why.as_str() {
            Some(text) => text.to_owned(),
            None => why["text"].as_str().unwrap_or_default().to_owned(),
        });
        why.collect::<Vec<_>>().join("; ")
    };
    assert_eq!(why(&workspace, "archive"), "it was never built here");
    let readme = format!("{FOUNDRY}/README.md");
    workspace.write(&readme, "other\n");
    assert_eq!(why(&workspace, "archive"), "input `members` changed (forge-packs/foundry/README.md)");
    let recipe = format!("{FOUNDRY}/recipe.toml");
    workspace.edit(&recipe, "summary = \"", "summary = \"New: ");
    assert_eq!(why(&workspace, "archive"), "input `members` changed (from manifest)");
    let text = workspace.bake(&["why", &format!("{FOUNDRY}:archive")]).success().stdout;
    assert!(text.contains("input `members` changed (from manifest)"), "{text}");
}

#[test]
fn a_failed_build_changes_nothing() {
    let workspace = Workspace::foundry();
    workspace.build(&[FOUNDRY]);
    let (archive, bytes) = (workspace.archive(), fs::read(workspace.archive()).unwrap());
    let recipe = format!("{FOUNDRY}/recipe.toml");
    workspace.edit(&recipe, "package = \"/Game/Synth/SM_Slab\"", "package = \"/Game/Synth/SM_Slap\"");
    let failed = workspace.bake(&["build", FOUNDRY]).fails_with(1);
    assert!(failed.stderr.contains("@game has no package `/Game/Synth/SM_Slap`"), "{}", failed.stderr);
    assert!(failed.stderr.contains("did you mean `/Game/Synth/SM_Slab`?"), "{}", failed.stderr);
    assert!(fs::read(archive).unwrap() == bytes);
}

#[test]
fn a_set_but_missing_game_is_an_error_and_never_the_stand_in() {
    let workspace = Workspace::foundry();
    let nowhere = workspace.path("nowhere");
    let workspace = workspace.with("BAKE_GAME", nowhere);
    let failed = workspace.bake(&["build", FOUNDRY]).fails_with(2);
    assert!(failed.stderr.contains("nowhere"), "{}", failed.stderr);
    assert!(!workspace.path("out").exists());
}

#[test]
fn locked_builds_fail_on_any_difference() {
    // As shipped.
    let workspace = Workspace::foundry();
    workspace.bake(&["build", "--locked", FOUNDRY]).success();
    workspace.edit(&format!("{FOUNDRY}/recipe.toml"), "summary = \"", "summary = \"New: ");
    let failed = workspace.bake(&["build", "--locked", FOUNDRY]).fails_with(4);
    assert!(failed.stderr.contains("archive"), "{}", failed.stderr);
    workspace.bake(&["lock", "--update", FOUNDRY]).success();
    workspace.bake(&["build", "--locked", FOUNDRY]).success();
}

#[test]
fn garbage_is_collected_and_pins_are_kept() {
    let workspace = Workspace::foundry();
    workspace.build(&[FOUNDRY]);
    let before = workspace.stored();
    let dry = workspace.bake(&["gc", "--dry-run"]).success();
    assert_eq!(workspace.stored(), before, "{}", dry.stdout);
    workspace.edit(&format!("{FOUNDRY}/recipe.toml"), "summary = \"", "summary = \"New: ");
    workspace.build(&[FOUNDRY]);
    let grown = workspace.stored().len();
    workspace.bake(&["gc"]).success();
    let kept = workspace.stored().len();
    assert!(kept < grown, "{kept} of {grown}");
    workspace.bake(&["gc", "--check"]).success();
    let _ = fs::remove_dir_all(workspace.path("out"));
    assert_eq!(workspace.build(&[FOUNDRY]), Vec::<String>::new(), "the last build is kept whole");
}

#[test]
fn an_archive_is_reported_by_member_and_step() {
    let workspace = Workspace::foundry();
    let said = workspace.bake(&["build", FOUNDRY, "--json"]).success();
    let report: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    let members = report["artifacts"][0]["members"].as_array().unwrap();
    let step = |name: &str| {
        let member = members.iter().find(|member| member["member"] == name).unwrap();
        assert!(
            member["stored"].as_u64().unwrap() > 0 && member["size"].as_u64() >= member["stored"].as_u64()
        );
        member["step"].clone()
    };
    assert_eq!(step("mjolnir.json"), "manifest");
    assert_eq!(step("content/pakchunk990-foundry_P.ucas"), "pack");
    assert_eq!(step("docs/README.md"), serde_json::Value::Null);
    assert!(
        said.stderr.contains(" pack 32") && said.stderr.contains("files of the recipe"),
        "{}",
        said.stderr
    );

    // A build that looks at a part of the plan alone knows as much.
    let readme = format!("{FOUNDRY}/README.md");
    workspace.write(&readme, &(workspace.read(&readme) + "\nMore.\n"));
    let part = workspace.bake(&["build", FOUNDRY, "--json"]).success();
    let part: serde_json::Value = serde_json::from_str(&part.stdout).unwrap();
    assert_eq!(part["ran"], 1);
    let steps = |report: &serde_json::Value| {
        let members = report["artifacts"][0]["members"].as_array().unwrap().iter();
        members.map(|member| (member["member"].clone(), member["step"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(steps(&part), steps(&report));
}
