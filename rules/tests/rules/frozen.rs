//! The bytes that rules give for one fixed corpus: they move only together with a rule's version.

use std::fmt::Write as _;

use engine::testing::Ran;
use engine::{Body, Input};
use serde_json::{Value, json};

use crate::harness::{Bench, Game, Key};

/// A pack of the whole stand-in, through every rule that can run here: a line an output.
fn corpus() -> String {
    let (bench, mut text) = (Bench::new(), String::new());
    let mut note = |rule: &str, what: &str, ran: &Ran| {
        let version = bench.rule(rule).id().version;
        for (output, found) in &ran.outputs {
            writeln!(text, "{rule} {version} {what}{output} {}", found.digest().short()).unwrap();
        }
    };
    let stand_in = bench.run("stand-in-game", json!({}), &[]).unwrap();
    note("stand-in-game", "", &stand_in);
    let game = Game::of(bench.files(&stand_in, "root"));

    let donors: Vec<Value> = rules::stand_in_game::packages()
        .iter()
        .map(|made| json!({"package": made.path, "name": made.path.rsplit('/').next().unwrap()}))
        .collect();
    let extracted = bench.import("extract-donors", json!({"donors": donors}), &game).unwrap();
    note("extract-donors", "", &extracted);

    let packages = bench.files(&extracted, "packages");
    let mut renamed = Vec::new();
    for (name, descriptor) in bench.files(&extracted, "descriptors") {
        let item: Value = serde_json::from_slice(&descriptor).unwrap();
        let name = name.strip_suffix(".json").unwrap();
        let to = format!("/Game/MJOLNIR/Forge/frozen/{name}");
        let given = json!({"from": item["package"], "to": to, "references": item["references"]});
        let files = packages
            .iter()
            .filter_map(|(path, bytes)| Some((path.strip_prefix(name)?.strip_prefix('/')?, &bytes[..])));
        let ran = bench.run("rename-package", given, &[("package", bench.tree(files))]).unwrap();
        note("rename-package", &format!("{name} "), &ran);
        renamed.extend(bench.files(&ran, "package"));
    }
    let renamed = bench.tree(renamed.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())));
    let given = json!({"name": "pakchunk990-frozen_P", "namespace": "/Game/MJOLNIR/Forge/frozen"});
    let packed = bench.run("pack", given, &[("packages", renamed)]).unwrap();
    note("pack", "", &packed);

    let release = json!({"id": "frozen", "name": "Frozen", "version": "1.0.0", "summary": "Never moves."});
    let cooked = bench.files(&packed, "container");
    let cooked = bench.tree(cooked.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())));
    let given = json!({"release": release, "kind": "forge-pack", "folder": "content"});
    note("prebuilt", "", &bench.run("prebuilt", given, &[("files", cooked)]).unwrap());
    let manifest = bench.run("manifest", json!({"release": release, "stand_ins": ["game"]}), &[]).unwrap();
    note("manifest", "", &manifest);
    let block = json!({"id": "floor", "name": "Floor", "category": "floors", "dimensions_m": [4, 4, 0.1]});
    let changes = json!({"textures": [{"path": "/Game/T", "bytes": 7}]});
    let given = json!({"release": release, "blocks": [block], "changes": changes});
    note("manifest", "pack ", &bench.run("manifest", given, &[]).unwrap());
    let mut members = bench.files(&manifest, "members");
    members.extend(bench.files(&packed, "container"));
    members.insert("README.md".to_owned(), b"Never moves. ".repeat(40));
    let members = bench.tree(members.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())));

    let given = json!({
        "public_key": Key::new().base64(), "slug": "frozen", "version": "1.0.0", "signed_at": "2026-08-02T00:00:00Z",
    });
    let signed = bench.run("sign", given, &[("members", members.clone())]).unwrap();
    note("sign", "", &signed);
    let signature = Input::File(signed.outputs["signature"].digest());
    let given = json!({"file": "frozen.mjolnir", "slug": "frozen", "version": "1.0.0"});
    let archived =
        bench.run("archive-and-verify", given, &[("members", members), ("signature", signature)]).unwrap();
    note("archive-and-verify", "", &archived);
    note("cook-tags", "", &crate::tags::cooked(&bench));
    text
}

fn on_threads(threads: usize) -> String {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(corpus)
}

#[test]
fn outputs_move_only_with_their_rules_version() {
    // When a digest moves: raise the version of that rule, then accept the new lines.
    insta::assert_snapshot!("frozen", corpus());
}

#[test]
fn outputs_do_not_depend_on_the_number_of_threads() {
    let one = on_threads(1);
    assert_eq!(one, on_threads(2));
    assert_eq!(one, on_threads(5));
}

#[test]
fn the_corpus_runs_every_rule() {
    let (bench, corpus) = (Bench::new(), corpus());
    for rule in bench.rules().filter(|rule| !matches!(rule.body(), Body::Exec(_))) {
        let start = format!("{} ", rule.id().name);
        assert!(corpus.lines().any(|line| line.starts_with(&start)), "{start}");
    }
}
