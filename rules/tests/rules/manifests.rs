//! `manifest`: every type of release, what it changes, and every mistake at its place with its code.

use engine::Input;
use mjolnir::changes::Changes;
use mjolnir::manifest::{Manifest, Payload};
use serde_json::{Value, json};

use crate::harness::{Bench, params, said};

fn release() -> Value {
    json!({"id": "foundry", "name": "Foundry", "version": "0.2.0", "summary": "Pieces."})
}

fn map() -> Value {
    json!({"id": "ce-gulch", "name": "Gulch", "version": "1.0.0", "summary": "A map.", "code": "BGL"})
}

fn floor() -> Value {
    json!({"id": "floor_2x2", "name": "Floor 2 x 2", "category": "floors", "dimensions_m": [4, 4.0, 0.5]})
}

/// The mistakes in parameters: place, code, message.
fn mistakes(bench: &Bench, given: Value) -> Vec<String> {
    let errors = bench.rule("manifest").check(&params(given));
    errors.iter().map(|error| format!("[{}] {error}", error.code.unwrap_or("-"))).collect()
}

/// A container of a package of this name with 5 bytes, and 7 of bulk data.
fn container(bench: &Bench, name: &str, more: &[(&str, &[u8])]) -> Input {
    let package = iostore::Package {
        bulk: Some(iostore::Payload::Slice(b"1234567")),
        ..iostore::Package::new(name, iostore::Payload::Slice(b"12345"))
    };
    let mut ucas = Vec::new();
    let utoc = iostore::Builder::new("pakchunk990-x_P").package(package).write(&mut ucas).unwrap();
    let pair = [("content/x_P.utoc", &utoc[..]), ("content/x_P.ucas", &ucas[..])];
    bench.tree(pair.into_iter().chain(more.iter().copied()))
}

#[test]
fn a_forge_pack_has_its_catalog_and_adds_its_crates() {
    let bench = Bench::new();
    let mut lamp = floor();
    lamp["id"] = json!("lamp");
    lamp["snap_m"] = json!(0.25);
    lamp["light"] =
        json!({"offset_m": [0, -1.5, 3], "color_rgb": [1, 0.5, 0], "intensity_cd": 70, "radius_m": 8});
    lamp["lift"] = json!({"offset_m": [0, 0, 0], "size_m": [2, 2, 3], "direction": [0, 0, 1],
        "acceleration_m_s2": 30, "max_speed_m_s": 8, "negates_gravity": true});
    lamp["door"] = json!({"travel_m": 4, "speed_m_s": 4.5, "trigger_size_m": [8, 16, 6], "hold_open_s": 0});
    lamp["surfaces"] = json!([{"slot": 15, "profile": "glass_cyan"}]);
    lamp["kind"] = json!("block");
    let given =
        json!({"release": release(), "blocks": [lamp, floor()], "reduced": true, "stand_ins": ["game"]});
    assert_eq!(mistakes(&bench, given.clone()), [""; 0]);
    let files = bench.files(&bench.run("manifest", given, &[]).unwrap(), "members");
    let manifest = Manifest::read(&files["mjolnir.json"]).unwrap();
    let Payload::ForgePack(pack) = &manifest.payload else { panic!("no pack") };
    let ids: Vec<&str> = pack.blocks.iter().map(|block| block.id.as_str()).collect();
    assert_eq!((pack.id.as_str(), &ids[..]), ("foundry", &["lamp", "floor_2x2"][..]));
    let lamp = &pack.blocks[0];
    assert_eq!((lamp.snap_m, lamp.surfaces.len()), (Some(0.25), 1));
    assert!(lamp.light.is_some() && lamp.lift.is_some() && lamp.door.is_some());
    assert!(manifest.marks.reduced && manifest.marks.stand_ins == ["game"]);

    let changes = Changes::read(&files["changes.json"]).unwrap();
    let tags: Vec<String> = changes.new_tags.iter().map(|new| format!("{} {}", new.group, new.tag)).collect();
    assert_eq!(
        tags,
        [r"bloc objects\mjolnir\forge\foundry\floor_2x2", r"bloc objects\mjolnir\forge\foundry\lamp"]
    );
}

#[test]
fn every_mistake_in_a_catalog_is_found_at_once() {
    let bench = Bench::new();
    let with = |key: &str, value: Value| {
        let mut block = floor();
        block[key] = value;
        block
    };
    let light =
        json!({"offset_m": [0, 0, 101], "color_rgb": [1, 1, 2], "intensity_cd": 0, "radius_m": 8, "hue": 1});
    let mut nameless = with("id", json!("nameless"));
    nameless.as_object_mut().unwrap().remove("name");
    nameless["dimensions_m"] = json!([1, 0, 1]);
    let mut release = release();
    release["version"] = json!("1.0");
    release["deps"] = json!([{"slug": "ok", "range": "^^1"}, {"slug": "ok"}]);
    release["compat"] = json!({"min_build": ""});
    let given = json!({
        "release": release,
        "requires": ["ladders"],
        "blocks": [
            with("light", light), floor(), with("kind", json!("weapon")), with("categry", json!("x")), nameless,
            with("snap_m", json!("half")), with("tag", json!("objects\\crate")),
        ],
    });
    insta::assert_snapshot!(mistakes(&bench, given).join("\n"));
}

#[test]
fn kinds_of_releases_have_what_is_theirs() {
    let bench = Bench::new();
    let of = |kind: &str, mut given: Value, release: Value| {
        given["release"] = release;
        given["kind"] = json!(kind);
        mistakes(&bench, given)
    };
    let mut coded = release();
    coded["code"] = json!("BGL");
    coded["map"] = json!({"size": "large"});
    assert_eq!(
        of("content", json!({"blocks": [floor()], "requires": ["x"]}), coded),
        [
            "[bad_manifest] `release.code`: only maps have a code",
            "[bad_manifest] `release.map`: only maps have a table `map`",
            "[bad_manifest] `blocks`: only Forge packs have `blocks`",
            "[bad_manifest] `requires`: only Forge packs have `requires`",
        ]
    );
    assert_eq!(
        of("runtime", json!({"changes": {"textures": [{"path": "/Game/T"}]}}), release()),
        ["[bad_manifest] `changes`: the runtime pack declares no changes"]
    );
    let none = of("forge-pack", json!({}), release());
    assert!(none[0].starts_with("[bad_manifest] `blocks`: an array of 0 items found"), "{none:?}");
    let codeless = of("map", json!({"runtime": ">"}), release());
    assert!(codeless[0].starts_with("[bad_manifest] `runtime`: "), "{codeless:?}");
    assert!(codeless[1].starts_with("[bad_manifest] `release.code`: missing"), "{codeless:?}");
    let mut wrong = map();
    wrong["map"] = json!({"modes": ["Slayer", "ctf", "ctf"], "size": "huge", "players": {"min": 9, "max": 4},
        "origin": "classic", "title": ""});
    let found = of("map", json!({}), wrong);
    let places: Vec<&str> = found.iter().map(|text| text.split('`').nth(1).unwrap()).collect();
    let expected = ["title", "modes[0]", "modes[2]", "size", "origin", "players"]
        .map(|key| format!("release.map.{key}"));
    assert_eq!(places, expected);
}

#[test]
fn a_map_says_what_its_members_say() {
    let bench = Bench::new();
    let level = br#"{"name":"gulch","multiplayer":true,"modes":["slayer","ctf"],"canvas":{"scenario":"b40"},
        "blam":{"forge_packs":[{"slug":"foundry","version":"0.2.0","blocks":[]}]}}"#;
    let registration = br#"{"code":"BGL","from":"B40","title":"Test Gulch"}"#;
    let members: [(&str, &[u8]); 2] = [("map/level.json", level), ("map/registration.json", registration)];
    let run = |release: Value, members: &[(&str, &[u8])], more: Value| {
        let mut given = json!({"kind": "map", "release": release, "runtime": "^1.0.0"});
        given.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let inputs = [("content", bench.tree(members.iter().copied()))];
        Ok::<_, engine::RuleError>(bench.files(&bench.run("manifest", given, &inputs)?, "members"))
    };
    let files = run(map(), &members, json!({})).unwrap();
    // A map declares no changes unless it says some.
    assert_eq!(files.keys().collect::<Vec<_>>(), ["mjolnir.json"]);
    insta::assert_snapshot!(String::from_utf8(files["mjolnir.json"].clone()).unwrap());

    // What the recipe says goes before what the members say.
    let mut own = map();
    own["map"] =
        json!({"title": "Own", "modes": ["slayer"], "players": {"min": 2, "max": 8}, "vehicles": false});
    own["deps"] =
        json!([{"slug": "foundry", "range": "0.2.0"}, {"slug": "mjolnir-ce-runtime", "range": "^1.2.0"}]);
    let files = run(own, &members, json!({"changes": {"scripts": [{"group": "scnr", "tag": "a"}]}})).unwrap();
    let manifest = Manifest::read(&files["mjolnir.json"]).unwrap();
    let deps: Vec<_> = manifest.deps.iter().map(|dep| format!("{} {}", dep.slug, dep.range)).collect();
    assert_eq!(deps, ["foundry 0.2.0", "mjolnir-ce-runtime ^1.2.0"]);
    let Payload::Map(info) = manifest.payload else { panic!("no map") };
    assert_eq!((info.title.as_str(), info.modes), ("Own", vec!["slayer".to_owned()]));
    assert!(files.contains_key("changes.json"));

    assert_eq!(
        said(run(map(), &members[..1], json!({}))),
        "a map needs `map/registration.json` [map_file_missing]"
    );
    let single: [(&str, &[u8]); 2] = [("map/level.json", b"{\"multiplayer\":false}"), members[1]];
    assert_eq!(
        said(run(map(), &single, json!({}))),
        "`map/level.json` is no level file of a map [bad_map_file]\n  \
         /multiplayer: false found; only a map for several players can be a release"
    );
    let long = format!(r#"{{"title":"{}"}}"#, "x".repeat(81));
    let titled = [members[0], ("map/registration.json", long.as_bytes())];
    let text = said(run(map(), &titled, json!({})));
    assert!(text.starts_with("the manifest would not be accepted [bad_manifest]\n  /map/title: "), "{text}");
}

#[test]
fn declared_changes_are_written_sorted() {
    let bench = Bench::new();
    let changes = json!({
        "tags": [
            {"group": "weap", "tag": "objects\\weapons\\pistol", "fields": [
                {"field": "magazines[0].rounds", "before": "12", "value": "24"}, {"field": "aim", "value": ""}]},
            {"group": "bipd", "tag": "objects\\marine", "fields": []},
        ],
        "textures": [{"path": "/Game/B", "bytes": 9}, {"path": "/Game/A"}],
        "scripts": [{"group": "scnr", "tag": "levels\\a30"}],
    });
    let given = json!({"release": release(), "changes": changes});
    assert_eq!(mistakes(&bench, given.clone()), [""; 0]);
    let content = container(&bench, "/Game/A", &[]);
    let ran = bench.run("manifest", given, &[("content", content)]).unwrap();
    let text = bench.files(&ran, "members").remove("changes.json").unwrap();
    insta::assert_snapshot!(String::from_utf8(text).unwrap());
    // What is declared and what is packed are compared as far as names go.
    let notes: Vec<&str> = ran.notes.iter().map(|note| note.message.as_str()).collect();
    assert_eq!(
        notes,
        [
            r"no container holds the declared tag: `objects\weapons\pistol`, `objects\marine`, `levels\a30`",
            "no container holds the declared texture: `/Game/B`",
        ]
    );
}

#[test]
fn what_is_packed_and_not_declared_is_said() {
    let bench = Bench::new();
    let notes = |package: &str, given: Value| {
        let mut given = given;
        given["release"] = release();
        let ran = bench.run("manifest", given, &[("content", container(&bench, package, &[]))]).unwrap();
        ran.notes.into_iter().map(|note| note.message).collect::<Vec<_>>()
    };
    let pistol = "/Game/Tags/objects/weapons/pistol-weapon";
    assert_eq!(
        notes(pistol, json!({})),
        [format!("`changes` says nothing of a package outside `/Game/MJOLNIR`: `{pistol}`")]
    );
    let edit = json!({"tags": [{"group": "weap", "tag": "objects\\weapons\\Pistol", "fields": []}]});
    assert_eq!(notes(pistol, json!({"changes": edit})), [""; 0]);
    assert_eq!(notes("/Game/T", json!({"changes": {"textures": [{"path": "/Game/t.T"}]}})), [""; 0]);
    assert_eq!(notes("/Game/MJOLNIR/X/T", json!({})), [""; 0]);
    let tag = r"objects\mjolnir\forge\foundry\floor_2x2";
    assert_eq!(
        notes("/Game/Tags/objects/mjolnir/forge/foundry/floor_2x2-crate", json!({"blocks": [floor()]})),
        [""; 0]
    );
    assert_eq!(
        notes("/Game/MJOLNIR/Forge/foundry/floor_2x2", json!({"blocks": [floor()]})),
        [format!("no container holds the crate of a block: `{tag}`")]
    );
}

#[test]
fn mistakes_in_changes_have_their_place() {
    let bench = Bench::new();
    let found =
        |changes: Value| mistakes(&bench, json!({"release": release(), "changes": changes})).join("\n");
    let text = found(json!({
        "tags": [{"group": "", "tag": "t", "fields": [{"field": "f", "before": "1"}]}],
        "textures": [{"path": "p", "bytes": 1, "size": 2}], "new_tags": [{"group": "bloc", "tag": ""}], "sounds": [],
    }));
    insta::assert_snapshot!(text);
    let fields: Vec<Value> =
        (0..200).map(|n| json!({"field": n.to_string(), "value": "x".repeat(4000)})).collect();
    let text = found(json!({"tags": [{"group": "weap", "tag": "t", "fields": fields}]}));
    assert!(text.starts_with("[bad_changes] `changes`: ") && text.contains("524288 bytes"), "{text}");
    // Just short enough as it was written, and too long in the form of the member.
    let fields: Vec<Value> =
        (0..500).map(|n| json!({"field": n.to_string(), "value": "x".repeat(1000)})).collect();
    let text = found(json!({"tags": [{"group": "weap", "tag": "t", "fields": fields}]}));
    assert!(text.starts_with("[bad_changes] `changes`: `changes.json` would have 5"), "{text}");
    assert!(
        found(json!({"scripts": vec![json!({"group": "a", "tag": "b"}); 501]}))
            .contains("`changes.scripts`: ")
    );
}

#[test]
fn a_whole_file_of_changes_stays_as_it_is() {
    let bench = Bench::new();
    let run = |given: Value, text: &[u8]| {
        let file = engine::Input::File(cache::Blobs::put(&bench.store, text).unwrap());
        bench.run("manifest", given, &[("changes", file)])
    };
    let text = b"{ \"schema_version\": 1, \"tags\": [], \"textures\": [] }";
    let given = json!({"release": release(), "blocks": [floor()]});
    let ran = run(given.clone(), text).unwrap();
    assert_eq!(bench.files(&ran, "members")["changes.json"], text);
    assert_eq!(
        said(run(given, b"{\"schema_version\":1}")),
        "`changes.json` would not be accepted [bad_changes]\n  /tags: missing; it must be an array"
    );
    let both = json!({"release": release(), "changes": {"textures": [{"path": "p"}]}});
    assert_eq!(
        said(run(both, text)),
        "changes are declared in a file and in the recipe: only one of them can be right [bad_changes]"
    );
}
