//! What is done with releases: recorded by a build, held against each other, compared, resolved.

use std::fs;
use std::io::Cursor;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::workspace::{FOUNDRY, Workspace};

const RECORD: &str = "forge-packs/foundry/releases/0.1.0.json";

fn record_release(workspace: &Workspace) -> crate::workspace::Ran {
    workspace.bake(&["build", FOUNDRY, "--record-release"])
}

fn value(workspace: &Workspace, path: &str) -> Value {
    serde_json::from_str(&workspace.read(path)).unwrap()
}

/// Changes a record, keeps its own digest right, and puts it elsewhere.
fn rewrite(workspace: &Workspace, to: &str, change: impl FnOnce(&mut Value)) {
    let mut record = value(workspace, RECORD);
    change(&mut record);
    let members = record["members"].to_string();
    record["unsigned_sha256"] = json!(mjolnir::signature::Sha256Digest::of(members.as_bytes()).to_string());
    workspace.write(to, &format!("{record:#}"));
}

#[test]
fn a_build_records_its_release_beside_its_recipe() {
    let workspace = Workspace::foundry();
    let said = record_release(&workspace).success().stderr;
    assert!(said.contains("Recorded  0.1.0 of `foundry`: forge-packs/foundry/releases/0.1.0.json"), "{said}");
    assert!(said.contains("from stand-ins for `game`"), "{said}");
    let record = value(&workspace, RECORD);
    assert_eq!((&record["slug"], &record["game"]), (&json!("foundry"), &json!("stand-in game 1")));
    assert_eq!(record["manifest"]["x_bake"]["stand_ins"], json!(["game"]));
    let archive = fs::read(workspace.archive()).unwrap();
    let archive = mjolnir::zip::Archive::read(&archive).unwrap();
    let members: Vec<String> = archive.members().map(|member| member.name().into_owned()).collect();
    assert_eq!(record["members"].as_object().unwrap().len(), members.len());

    // Recording is no reason to build anything but the archive again, which is the same.
    let text = workspace.read(RECORD);
    let said = record_release(&workspace).success().stderr;
    assert!(said.contains("as it was"), "{said}");
    assert_eq!(workspace.read(RECORD), text);
    assert_eq!(workspace.build(&[FOUNDRY]), Vec::<String>::new());
}

#[test]
fn a_record_gives_way_to_nothing_but_stand_ins() {
    let workspace = Workspace::foundry();
    record_release(&workspace).success();
    let first = workspace.read(RECORD);
    workspace.write(&format!("{FOUNDRY}/README.md"), "# Other\n");
    let said = record_release(&workspace).success().stderr;
    assert!(said.contains("instead of another build from stand-ins"), "{said}");
    assert_ne!(workspace.read(RECORD), first);

    // As if it had been built from the game.
    rewrite(&workspace, RECORD, |record| {
        record["game"] = json!("game 0123456789ab");
        record["manifest"].as_object_mut().unwrap().remove("x_bake");
    });
    let real = workspace.read(RECORD);
    workspace.write(&format!("{FOUNDRY}/README.md"), "# Third\n");
    let failed = record_release(&workspace).fails_with(5);
    assert!(failed.stderr.contains("records 0.1.0 as it was released"), "{}", failed.stderr);
    assert!(failed.stderr.contains("help: raise the version, or remove "), "{}", failed.stderr);
    assert_eq!(workspace.read(RECORD), real, "it was not touched");
}

#[test]
fn a_build_that_breaks_an_earlier_release_fails() {
    let workspace = Workspace::foundry();
    record_release(&workspace).success();
    rewrite(&workspace, "forge-packs/foundry/releases/0.1.0-rc.1.json", |record| {
        record["manifest"]["version"] = json!("0.1.0-rc.1");
        record["manifest"]["forge_pack"] = json!({"schema_version": 1, "id": "foundry", "blocks": [{
            "id": "gone", "name": "Gone", "category": "c", "dimensions_m": [1, 1, 1],
            "tag": "objects\\mjolnir\\forge\\foundry\\gone",
        }]});
    });
    let failed = workspace.bake(&["build", FOUNDRY]).fails_with(1);
    assert!(failed.stderr.contains("[forge_line_break]"), "{}", failed.stderr);
    assert!(failed.stderr.contains("help: within ^0.1.0 every entry must stay"), "{}", failed.stderr);
    workspace.write("forge-packs/foundry/releases/0.1.0-rc.1.json", "{}");
    let failed = workspace.bake(&["build", FOUNDRY]).fails_with(1);
    assert!(
        failed.stderr.contains("`releases/0.1.0-rc.1.json` is no record of `foundry`"),
        "{}",
        failed.stderr
    );
}

fn pack(version: &str, blocks: &[(&str, f64)]) -> Value {
    let block = |(id, height): &(&str, f64)| {
        json!({
            "id": id, "name": id, "category": "c", "dimensions_m": [4, 4, height],
            "tag": format!("objects\\mjolnir\\forge\\foundry\\{id}"),
        })
    };
    let blocks: Vec<Value> = blocks.iter().map(block).collect();
    json!({
        "schema_version": 1, "name": "Foundry", "version": version, "type": "content",
        "forge_pack": {"schema_version": 1, "id": "foundry", "blocks": blocks},
    })
}

fn content(version: &str, deps: &[(&str, &str)]) -> Value {
    let deps: Vec<Value> = deps.iter().map(|(slug, range)| json!({"slug": slug, "range": range})).collect();
    json!({"schema_version": 1, "name": "x", "version": version, "type": "content", "deps": deps})
}

/// Writes an archive that holds these members beside its manifest.
fn archive(workspace: &Workspace, path: &str, manifest: &Value, more: &[(&str, &str)]) -> String {
    let manifest = format!("{manifest:#}");
    let own = [("mjolnir.json", manifest.as_bytes())];
    let more = more.iter().map(|(name, text)| (*name, text.as_bytes()));
    let members: Vec<(&str, &[u8])> = own.into_iter().chain(more).collect();
    let packed =
        mjolnir::zip::write(&members, mjolnir::zip::Compression::Text, Cursor::new(Vec::new())).unwrap();
    let full = workspace.path(path);
    fs::create_dir_all(full.parent().unwrap()).unwrap();
    fs::write(&full, packed.into_inner()).unwrap();
    path.to_owned()
}

#[test]
fn updates_are_held_against_earlier_and_later_releases() {
    let workspace = Workspace::empty();
    for (version, blocks) in [
        ("0.2.0", &[("deck", 2.0), ("rail_2m", 1.0)][..]),
        ("0.2.1", &[("deck", 2.0), ("rail_2m", 1.0), ("ramp", 1.0)]),
    ] {
        archive(&workspace, &format!("published/foundry-{version}.mjolnir"), &pack(version, blocks), &[]);
    }
    archive(&workspace, "published/other-1.0.0.mjolnir", &content("1.0.0", &[]), &[]);
    workspace
        .write("good.json", &pack("0.2.2", &[("rail_2m", 1.0), ("ramp", 1.0), ("deck", 2.0)]).to_string());
    workspace.write("bad.json", &pack("0.2.2", &[("deck", 2.5), ("ramp", 1.0)]).to_string());
    let good = workspace.bake(&["check-update", "published", "good.json"]).success();
    assert_eq!(good.stdout, "0.2.2 of `foundry` against 0.2.0, 0.2.1: accepted\n");
    let old = "published/foundry-0.2.0.mjolnir";
    let bad = workspace.bake(&["check-update", old, "bad.json"]).fails_with(5);
    assert_eq!(
        bad.stdout,
        "0.2.2 of `foundry` against 0.2.0: refused, 2 errors
  error: release 0.2.2 of `foundry` makes block `deck` 4 × 4 × 2.5 m, it is 4 × 4 × 2 m in 0.2.0  [forge_line_break]
    at mjolnir.json /forge_pack/blocks/0/dimensions_m
    help: within ^0.2.0 every entry must stay (same id, kind, dimensions, snap): start 0.3.0, or give it its size back
  error: release 0.2.2 of `foundry` drops block `rail_2m` of 0.2.0  [forge_line_break]
    at mjolnir.json /forge_pack/blocks
    help: within ^0.2.0 every entry must stay (same id, kind, dimensions, snap): start 0.3.0, or bring it back
  help: `bake explain forge_line_break` says what that means and how to mend it
"
    );
    // Below a published version: what it brings, that one would have to keep.
    workspace.write("below.json", &pack("0.1.9", &[("deck", 2.0)]).to_string());
    workspace.bake(&["check-update", "published", "below.json"]).success();
    workspace.write("below.json", &pack("0.2.0-rc.1", &[("beam", 2.0)]).to_string());
    let below = workspace.bake(&["check-update", "published", "below.json", "--json"]).fails_with(5);
    let below: Value = serde_json::from_str(&below.stdout).unwrap();
    assert_eq!(
        (&below["schema"], &below["verdict"], &below["line"]),
        (&json!(1), &json!("fail"), &json!("0.2"))
    );
    assert_eq!(below["errors"].as_array().unwrap().len(), 2, "{below:#}");
    assert_eq!(below["errors"][0]["code"], "forge_line_break");
}

#[test]
fn a_version_is_released_once_and_palettes_and_runtimes_keep_what_they_gave() {
    let workspace = Workspace::empty();
    let refused = |old: &str, new: &str, code: &str| {
        let found = workspace.bake(&["check-update", old, new]).fails_with(5).stdout;
        assert!(found.contains(&format!("[{code}]")), "{found}");
    };
    let one = archive(&workspace, "a/mod-1.0.0.mjolnir", &content("1.0.0", &[]), &[("docs/a.md", "a")]);
    let two = archive(&workspace, "b/mod-1.0.0.mjolnir", &content("1.0.0", &[]), &[("docs/a.md", "b")]);
    refused(&one, &two, "release_changed");
    workspace.bake(&["check-update", &one, &one]).success();
    let mut marked = content("1.0.0", &[]);
    marked["x_bake"] = json!({"stand_ins": ["game"]});
    let stand_in = archive(&workspace, "c/mod-1.0.0.mjolnir", &marked, &[]);
    workspace.bake(&["check-update", &one, &stand_in]).success();

    let map = |path: &str, version: &str, blocks: &[&str]| {
        let blocks: Vec<Value> = blocks
            .iter()
            .map(|id| json!({"id": id, "tag": format!("objects\\mjolnir\\forge\\foundry\\{id}")}))
            .collect();
        let level =
            json!({"blam": {"forge_packs": [{"slug": "foundry", "version": "0.2.0", "blocks": blocks}]}});
        let manifest = json!({
            "schema_version": 1, "name": "x", "version": version, "type": "map",
            "map": {"code": "XYZ", "title": "X", "modes": ["slayer"]},
        });
        archive(&workspace, path, &manifest, &[("map/level.json", &level.to_string())])
    };
    let old = map("ce-x-1.0.0.mjolnir", "1.0.0", &["a", "b"]);
    let more = map("ce-x-1.1.0.mjolnir", "1.1.0", &["a", "b", "c"]);
    workspace.bake(&["check-update", &old, &more]).success();
    refused(&old, &map("ce-x-1.2.0.mjolnir", "1.2.0", &["b", "a"]), "map_palette_break");

    let runtime = |path: &str, version: &str, packages: &[&str]| {
        let mut ucas = Vec::new();
        let ids: Vec<_> = packages
            .iter()
            .map(|path| iostore::PackageId::of_name(path).chunk(iostore::ChunkType::ExportBundleData))
            .collect();
        let builder = iostore::Builder::new("R_P");
        let utoc = ids.iter().fold(builder, |builder, id| builder.chunk(*id, b"x")).write(&mut ucas).unwrap();
        let manifest = content(version, &[]).to_string();
        let members: [(&str, &[u8]); 3] =
            [("mjolnir.json", manifest.as_bytes()), ("content/R_P.utoc", &utoc), ("content/R_P.ucas", &ucas)];
        let packed =
            mjolnir::zip::write(&members, mjolnir::zip::Compression::Store, Cursor::new(Vec::new())).unwrap();
        fs::write(workspace.path(path), packed.into_inner()).unwrap();
        path.to_owned()
    };
    let old = runtime("mjolnir-ce-runtime-1.0.0.mjolnir", "1.0.0", &["/Game/A", "/Game/B"]);
    let less = runtime("mjolnir-ce-runtime-1.1.0.mjolnir", "1.1.0", &["/Game/A"]);
    refused(&old, &less, "runtime_line_break");
    // The slug may come from the other file.
    refused(&old, &runtime("new.mjolnir", "1.1.0", &["/Game/A"]), "runtime_line_break");
    workspace.bake(&["check-update", &old, &runtime("new.mjolnir", "2.0.0", &["/Game/A"])]).success();
}

#[test]
fn what_is_no_release_is_said_with_its_place() {
    let workspace = Workspace::foundry();
    record_release(&workspace).success();
    let said = |args: &[&str]| workspace.bake(args).fails_with(2).stderr;
    workspace.write("old.json", &pack("0.1.0", &[("deck", 2.0)]).to_string());
    workspace.write("broken.mjolnir", "PK");
    assert!(said(&["check-update", "old.json", "broken.mjolnir"]).contains("`broken.mjolnir` is no archive"));
    assert!(said(&["diff", "broken.mjolnir", "broken.mjolnir"]).contains("`broken.mjolnir` is no archive"));
    workspace.write("text.json", "[");
    assert!(said(&["check-update", "old.json", "text.json"]).contains("no archive, record or manifest"));
    let mut record = value(&workspace, RECORD);
    record["members"]["../x"] = json!("00");
    record["extra"] = json!(1);
    workspace.write("record.json", &record.to_string());
    let text = said(&["check-update", "old.json", "record.json"]);
    for place in ["`/extra`", "`/members/..~1x`"] {
        assert!(text.contains(place), "{text}");
    }
    let map = archive(&workspace, "other-1.0.0.mjolnir", &content("1.0.0", &[]), &[]);
    assert!(
        said(&["check-update", "old.json", &map]).contains("an update is held against releases of the same")
    );
    workspace.bake(&["check-update", "old.json", "nowhere.json"]).fails_with(3);
    fs::File::create(workspace.path("large.mjolnir")).unwrap().set_len(51 << 20).unwrap();
    let large = workspace.bake(&["diff", "large.mjolnir", "large.mjolnir"]).fails_with(3);
    assert!(large.stderr.contains("at most 52428800 are read"), "{}", large.stderr);
}

#[test]
fn archives_are_compared_in_the_words_of_their_makers() {
    let workspace = Workspace::foundry();
    workspace.build(&[FOUNDRY]);
    let old = workspace.path("old.mjolnir");
    fs::copy(workspace.archive(), &old).unwrap();
    let same = workspace.bake(&["diff", "old.mjolnir", "old.mjolnir"]).success();
    assert_eq!(same.stdout, "Foundry 0.1.0 -> Foundry 0.1.0: no difference\n");
    let recipe = format!("{FOUNDRY}/recipe.toml");
    workspace.edit(&recipe, "version = \"0.1.0\"", "version = \"0.1.1\"");
    workspace.edit(&recipe, "name = \"SM_Crate\"", "name = \"SM_Box\"");
    fs::remove_dir_all(workspace.path("out")).unwrap();
    workspace.build(&[FOUNDRY]);
    let new = workspace.archive().to_string_lossy().into_owned();
    let found = workspace.bake(&["diff", "old.mjolnir", &new]).success().stdout;
    for line in [
        "Foundry 0.1.0 -> foundry 0.1.1: ",
        "manifest\n  ~ version  \"0.1.0\" -> \"0.1.1\"\n",
        "packages\n  + /Game/MJOLNIR/Forge/foundry/SM_Box\n  - /Game/MJOLNIR/Forge/foundry/SM_Crate\n",
    ] {
        assert!(found.contains(line), "`{line}` is not in\n{found}");
    }
    assert!(!found.contains("SM_Slab"), "{found}");
    let json: Value =
        serde_json::from_str(&workspace.bake(&["diff", "old.mjolnir", &new, "--json"]).success().stdout)
            .unwrap();
    assert_eq!((&json["schema"], &json["new"]["version"]), (&json!(1), &json!("0.1.1")));
    let changes = json["changes"].as_array().unwrap();
    let version =
        changes.iter().find(|change| change["group"] == "manifest" && change["at"] == "version").unwrap();
    assert_eq!((&version["kind"], &version["old"]), (&json!("changed"), &json!("0.1.0")));
}

/// A folder of releases.
fn releases() -> (Workspace, PathBuf) {
    let workspace = Workspace::empty();
    for version in ["0.2.0", "0.2.1", "0.3.0"] {
        archive(
            &workspace,
            &format!("releases/foundry-{version}.mjolnir"),
            &pack(version, &[("deck", 1.0)]),
            &[],
        );
    }
    let map = |name: &str, range: &str| {
        archive(
            &workspace,
            &format!("releases/{name}-1.0.0.mjolnir"),
            &content("1.0.0", &[("foundry", range)]),
            &[],
        )
    };
    map("map-a", "^0.2.0");
    map("map-b", "^0.3.0");
    let folder = workspace.path("releases");
    (workspace, folder)
}

#[test]
fn releases_of_a_folder_are_resolved() {
    let (workspace, _) = releases();
    let resolve = |args: &[&str]| {
        let args: Vec<&str> = ["resolve"].into_iter().chain(args.iter().copied()).collect();
        workspace.bake(&[&args[..], &["--releases", "releases"]].concat())
    };
    let found = resolve(&["map-a"]).success().stdout.replace('\\', "/");
    assert_eq!(
        found,
        "foundry  0.2.1  releases/foundry-0.2.1.mjolnir  (wanted: ^0.2.0 by `map-a` 1.0.0)
map-a    1.0.0  releases/map-a-1.0.0.mjolnir  (wanted: * by you)
"
    );
    let kept = resolve(&["map-a@^1", "--installed", "foundry@0.2.0"]).success().stdout;
    assert!(kept.starts_with("foundry  0.2.0  installed, kept"), "{kept}");
    workspace.write(
        "releases/index.json",
        r#"{"schema": 1, "releases": [{"slug": "foundry", "version": "0.2.1", "yanked": true}]}"#,
    );
    let found = resolve(&["releases/map-a-1.0.0.mjolnir", "--json"]).success().stdout;
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found["resolved"][0]["version"], "0.2.0", "{found:#}");
    assert_eq!(
        found["resolved"][0]["wanted_by"],
        json!([{"slug": "map-a", "version": "1.0.0", "range": "^0.2.0"}])
    );
    assert_eq!(found["problems"], json!([]));

    let entry = r#"{"slug": "foundry", "version": "0.2.1"}"#;
    for (entries, told) in [
        (format!("{entry}, {entry}"), "0.2.1 of `foundry` is listed twice"),
        (r#"{"slug": "foundry", "version": "0.2"}"#.to_owned(), "`0.2` of `foundry`: "),
    ] {
        workspace.write("releases/index.json", &format!(r#"{{"schema": 1, "releases": [{entries}]}}"#));
        let failed = resolve(&["map-a"]).fails_with(2);
        assert!(failed.stderr.contains(told), "{}", failed.stderr);
    }
}

#[test]
fn conflicts_name_both_sides_and_their_ranges() {
    let (workspace, _) = releases();
    let args = ["resolve", "map-a", "map-b", "--releases", "releases"];
    let failed = workspace.bake(&args).fails_with(5);
    assert_eq!(
        failed.stderr,
        "error: no release of `foundry` is in all ranges in which it is wanted
  ^0.2.0 is wanted by `map-a` 1.0.0
  ^0.3.0 is wanted by `map-b` 1.0.0
help: there are 0.2.0, 0.2.1 (line 0.2); 0.3.0 (line 0.3): update the dependent of the older line, or leave one out
"
    );
    let json = workspace.bake(&[&args[..], &["--json"]].concat()).fails_with(5);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["problems"][0]["kind"], "conflict");
    assert_eq!(json["problems"][0]["available"], json!(["0.2.0", "0.2.1", "0.3.0"]));
    let missing = workspace.bake(&["resolve", "nothing", "--releases", "releases"]).fails_with(5);
    assert!(missing.stderr.contains("there is no release of `nothing`"), "{}", missing.stderr);
    let wrong = workspace.bake(&["resolve", "Map A", "--releases", "releases"]).fails_with(2);
    assert!(wrong.stderr.contains("neither a file nor a slug"), "{}", wrong.stderr);
    archive(&workspace, "releases/untold.mjolnir", &content("1.0.0", &[]), &[]);
    let untold = workspace.bake(&args).fails_with(2);
    assert!(untold.stderr.contains("help: call it `<slug>-<version>.mjolnir`"), "{}", untold.stderr);
}

/// The update cases of the conformance data, and every archive compared with itself: whatever it holds, there
/// is an answer, and never a panic.
#[test]
fn conformance_releases_are_held_and_compared() {
    let Some(root) = test_support::conformance("release") else { return };
    let workspace = Workspace::empty();
    let path = |file: &str| root.join(file).to_string_lossy().into_owned();
    let cases: Value = serde_json::from_slice(&fs::read(root.join("cases.json")).unwrap()).unwrap();
    let (mut updates, mut archives) = (0, 0);
    for case in cases["cases"].as_array().unwrap() {
        let file = path(case["file"].as_str().unwrap());
        let passes = case["expect"]["verdict"] == "pass";
        if case["type"] == "update" {
            let earlier = case["earlier"].as_array().unwrap().iter();
            let earlier: Vec<String> = earlier.map(|file| path(file.as_str().unwrap())).collect();
            let files = earlier.iter().chain([&file]).map(String::as_str);
            let args: Vec<&str> = ["check-update"].into_iter().chain(files).collect();
            let ran = workspace.bake(&args);
            assert_eq!(ran.code, Some(if passes { 0 } else { 5 }), "{file}: {}{}", ran.stdout, ran.stderr);
            updates += 1;
        } else if case["type"] == "archive" {
            let ran = workspace.bake(&["diff", &file, &file]);
            match ran.code {
                Some(0) => assert!(ran.stdout.ends_with(": no difference\n"), "{file}: {}", ran.stdout),
                code => assert!(!passes && matches!(code, Some(2 | 3)), "{file}: {code:?} {}", ran.stderr),
            }
            archives += 1;
        }
    }
    assert!(updates > 0 && archives > 0);
}
