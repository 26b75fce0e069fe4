//! What plans hold.

use std::collections::BTreeMap;

use engine::{ForEach, Plan, Source};

use super::{catalogue, try_plan, workspace};
use crate::{Options, Planned, Signing, Workspace};

const PACK: &str = "#:schema x\nschema = 1\npipeline = \"forge-pack\"\n[release]\nname = \"P {x}\"\nversion = \"1.0.0\"\n\
                    signed_at = \"2026-08-02T00:00:00Z\"\n\
                    [[values.donors]]\nname = \"T\"\npackage = \"/Game/T\"\n\
                    [[step]]\nname = \"pack\"\nparams.name = \"own\"\n";

const FILES: &[(&str, &str)] = &[("forge-packs/one/recipe.toml", PACK), ("forge-packs/one/README.md", "")];

fn signing() -> Options {
    Options { signing: Some(Signing { public_key: "ab".to_owned(), signed_at: None }) }
}

/// A plan as text: a line a step, its parameters, a line an input.
fn show(plan: &Plan) -> String {
    let mut out = String::new();
    for (_, node) in plan.nodes() {
        let private = if node.private { " private" } else { "" };
        out += &format!("{} = {}{private} {}\n", node.label, node.rule, node.params.canonical_text());
        match &node.for_each {
            Some(ForEach::Tree { node, output }) => {
                out += &format!("  for each {}.{output}\n", plan.node(*node).label)
            }
            Some(ForEach::List(items)) => {
                let items: Vec<String> =
                    items.iter().map(|item| format!("{}={}", item.name, item.value)).collect();
                out += &format!("  for each {}\n", items.join(" "));
            }
            None => {}
        }
        for (name, sources) in &node.inputs {
            let sources = sources.iter().map(|source| match source {
                Source::File { path, name } => format!("{path} as {name}"),
                Source::Output { node, output, select } => {
                    let select = select.as_ref().map(|select| format!("/{select}")).unwrap_or_default();
                    format!("{}.{output}{select}", plan.node(*node).label.short())
                }
                Source::External(name) => format!("@{name}"),
                Source::Item => "{item}".to_owned(),
            });
            out += &format!("  {name}: {}\n", sources.collect::<Vec<_>>().join(", "));
        }
    }
    for target in plan.targets() {
        let nodes: Vec<String> = target.nodes.iter().map(|node| plan.node(*node).label.short()).collect();
        let placed = target.placed.iter().map(|placed| format!("{} in {}", placed.output, placed.folder));
        let placed: Vec<String> = placed.collect();
        out += &format!("{}: {} ({})\n", target.label, nodes.join(" "), placed.join(", "));
    }
    out
}

fn planned(files: &[(&str, &str)], patterns: &[&str], options: &Options) -> Planned {
    let root = workspace(files);
    match try_plan(root.path(), patterns, options) {
        Ok(planned) => planned,
        Err(diagnostics) => panic!("{}", crate::render(&diagnostics, false)),
    }
}

#[test]
fn a_pack_without_the_game_and_without_a_key() {
    let planned = planned(FILES, &["..."], &Options::default());
    insta::assert_snapshot!(show(&planned.plan), @r#"
    forge-packs/one:extract = extract-donors {"donors":[{"name":"T","package":"/Game/T"}]}
      game: game.root
    forge-packs/one:rename = rename-package {"from":"{item.package}","references":"{item.references}","to":"/Game/MJOLNIR/Forge/one/{item.name}"}
      for each forge-packs/one:extract.descriptors
      package: extract.packages/{item.name}
    forge-packs/one:pack = pack {"name":"own","namespace":"/Game/MJOLNIR/Forge/one"}
      packages: rename.package
    forge-packs/one:manifest = manifest {"blocks":[],"changes":{},"release":{"id":"one","name":"P {x}","version":"1.0.0"},"requires":[],"stand_ins":["game"]}
      content: pack.container
    forge-packs/one:archive = archive-and-verify {"file":"one-1.0.0.standin.mjolnir","slug":"one","version":"1.0.0"}
      members: manifest.members, pack.container, forge-packs/one/README.md as README.md
    stand-ins:game = stand-in-game {}
    forge-packs/one: archive (archive in forge-packs/one)
    "#);
    assert_eq!(planned.stand_ins, ["game"]);
    assert!(planned.externals.is_empty());
    insta::assert_snapshot!(crate::render(&planned.notes, false), @r#"
    note: @game is not set: building from the stand-in (self-made donors, not playable)
    help: set BAKE_GAME, or in `bake.local.toml` [game] path = "…"
    "#);
    let made_from: Vec<String> = planned
        .plan
        .made_from
        .iter()
        .map(|(path, print)| format!("{path}{}", if print.is_some() { "" } else { " (absent)" }))
        .collect();
    insta::assert_snapshot!(made_from.join("\n"), @r#"
    bake.local.toml (absent)
    bake.toml
    forge-packs
    forge-packs/one/recipe.toml
    forge-packs/one/releases (absent)
    maps (absent)
    pipelines (absent)
    "#);
}

#[test]
fn a_pack_with_a_key() {
    let planned = planned(FILES, &["forge-packs/one:sign", "forge-packs/one:archive"], &signing());
    insta::assert_snapshot!(show(&planned.plan), @r#"
    forge-packs/one:extract = extract-donors {"donors":[{"name":"T","package":"/Game/T"}]}
      game: game.root
    forge-packs/one:rename = rename-package {"from":"{item.package}","references":"{item.references}","to":"/Game/MJOLNIR/Forge/one/{item.name}"}
      for each forge-packs/one:extract.descriptors
      package: extract.packages/{item.name}
    forge-packs/one:pack = pack {"name":"own","namespace":"/Game/MJOLNIR/Forge/one"}
      packages: rename.package
    forge-packs/one:manifest = manifest {"blocks":[],"changes":{},"release":{"id":"one","name":"P {x}","version":"1.0.0"},"requires":[],"stand_ins":["game"]}
      content: pack.container
    forge-packs/one:sign = sign {"public_key":"ab","signed_at":"2026-08-02T00:00:00Z","slug":"one","version":"1.0.0"}
      members: manifest.members, pack.container, forge-packs/one/README.md as README.md
    forge-packs/one:archive = archive-and-verify {"file":"one-1.0.0.standin.mjolnir","slug":"one","version":"1.0.0"}
      members: manifest.members, pack.container, forge-packs/one/README.md as README.md
      signature: sign.signature
    stand-ins:game = stand-in-game {}
    forge-packs/one:archive: archive (archive in forge-packs/one)
    forge-packs/one:sign: sign ()
    "#);
}

#[test]
fn private_bytes_taint_all_that_is_made_of_them() {
    let root = workspace(FILES);
    std::fs::create_dir(root.path().join("Paks")).unwrap();
    let env = BTreeMap::from([("BAKE_GAME".to_owned(), root.path().join("Paks").display().to_string())]);
    let workspace = Workspace::open(root.path(), &env).unwrap();
    let planned = workspace.plan(&workspace.recipes(), &catalogue(), &Options::default()).unwrap();
    let private = planned.plan.nodes().filter(|(_, node)| node.private).map(|(_, node)| node.label.short());
    assert_eq!(private.collect::<Vec<_>>(), ["extract", "rename", "pack", "manifest", "archive"]);
    assert_eq!(planned.stand_ins, [""; 0]);
    assert_eq!(planned.externals.keys().collect::<Vec<_>>(), ["game"]);
    assert!(!show(&planned.plan).contains("standin"));
}

#[test]
fn own_steps_lists_globs_and_other_recipes() {
    let one = "schema = 1\noutputs = [\":all.all\", \":all.list\"]\n\
               [values]\nkinds = [\"x\", { id = \"y\", size = 2, note = \"{z}\" }]\n\
               [[step]]\nname = \"each\"\nrule = \"cook-texture\"\nfor_each = \"values.kinds\"\n\
               inputs.image = \"{item}\"\nparams.format = \"{item.format}\"\n\
               [[step]]\nname = \"all\"\nrule = \"gather\"\n\
               inputs.files = [\"docs/**/*.{md,png}\", \"a.txt\", \"//shared/*.txt\", \":each/x\", \"none?\", \"*.no?\"]\n\
               inputs.more = \"maps/two:pick.all\"\n";
    let two = "schema = 1\n[[step]]\nname = \"pick\"\nrule = \"gather\"\ninputs.files = \"recipe.toml\"\n";
    let files = [
        ("maps/one/recipe.toml", one),
        ("maps/one/a.txt", ""),
        ("maps/one/docs/x.md", ""),
        ("maps/one/docs/deep/y.png", ""),
        ("maps/one/docs/.hidden.md", ""),
        ("shared/s.txt", ""),
        ("maps/two/recipe.toml", two),
    ];
    let planned = planned(&files, &["maps/one"], &Options::default());
    insta::assert_snapshot!(show(&planned.plan), @r#"
    maps/one:each = cook-texture {"format":"{item.format}"}
      for each x="x" y={"id":"y","note":"{z}","size":2}
      image: {item}
    maps/one:all = gather {}
      files: maps/one/docs/deep/y.png as docs/deep/y.png, maps/one/docs/x.md as docs/x.md, maps/one/a.txt as a.txt, shared/s.txt as shared/s.txt, each.package/x
      more: pick.all
    maps/two:pick = gather {}
      files: maps/two/recipe.toml as recipe.toml
    maps/one: all (all in maps/one, list in maps/one)
    "#);
    assert!(
        planned.plan.made_from.contains_key(&engine::WorkspacePath::parse("maps/one/docs/deep").unwrap())
    );
    assert_eq!(
        planned.plan.made_from.get(&engine::WorkspacePath::parse("maps/one/none").unwrap()),
        Some(&None)
    );
}

#[test]
fn a_pipeline_of_the_workspace_wins_and_steps_are_replaced() {
    let pipeline = "schema = 1\noutputs = [\":b\"]\n[values.n]\ntype = \"integer\"\ndefault = 3\n\
                    [[step]]\nname = \"a\"\nrule = \"gather\"\ninputs.files = \"recipe.toml\"\n\
                    [[step]]\nname = \"b\"\nrule = \"manifest\"\nparams = { n = \"{values.n}\", t = { x = 1, y = 2 } }\n";
    let recipe = "schema = 1\npipeline = \"forge-pack\"\n\
                  [[step]]\nname = \"a\"\nrule = \"manifest\"\nreplace = true\n\
                  [[step]]\nname = \"b\"\nparams.t.y = 5\n";
    let files = [("pipelines/forge-pack.toml", pipeline), ("maps/one/recipe.toml", recipe)];
    insta::assert_snapshot!(show(&planned(&files, &["maps/one"], &Options::default()).plan), @r#"
    maps/one:a = manifest {}
    maps/one:b = manifest {"n":3,"t":{"x":1,"y":5}}
    maps/one: b (members in maps/one)
    "#);
}

#[test]
fn the_same_workspace_gives_the_same_plan() {
    let one = planned(FILES, &["..."], &signing());
    assert_eq!(one.plan, planned(FILES, &["..."], &signing()).plan);
}

#[test]
fn the_shipped_pack_is_planned() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let planned = try_plan(root, &["forge-packs/foundry"], &Options::default());
    let planned = planned.unwrap_or_else(|wrong| panic!("{}", crate::render(&wrong, false)));
    let extract = planned.plan.nodes().find(|(_, node)| node.label.step() == Some("extract")).unwrap().1;
    assert!(extract.params.get("donors").unwrap().as_array().unwrap().len() >= 12);
}
