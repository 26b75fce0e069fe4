//! `extract-donors`: what identifies donors, what is read of them, and what is said when something is wrong.

use std::collections::BTreeMap;

use engine::Facts;
use iostore::{Builder, ChunkType, Limits, Package, Toc};
use rules::stand_in_game;
use serde_json::{Value, json};
use unreal::{PackagePath, package};

use crate::harness::{Bench, Game, Reads, said};

const RULE: &str = "extract-donors";

fn donors(packages: &[&str]) -> Value {
    let donors: Vec<Value> = packages.iter().map(|package| json!({"package": package})).collect();
    json!({"donors": donors})
}

/// The game's own containers: stem and table of contents.
fn shipped(game: &Game) -> Vec<(&str, Toc)> {
    let stems = game.files.iter().filter_map(|(name, bytes)| Some((name.strip_suffix(".utoc")?, bytes)));
    let shipped = stems.filter(|(stem, _)| *stem != "global" && iostore::is_shipped_container(stem));
    shipped.map(|(stem, bytes)| (stem, Toc::read(bytes, &Limits::default()).unwrap())).collect()
}

/// All packages that the game's own containers name.
fn packages(game: &Game) -> Vec<String> {
    let mut found = Vec::new();
    for (_, toc) in shipped(game) {
        for (index, chunk) in toc.chunks().iter().enumerate() {
            if chunk.id.kind() == ChunkType::ExportBundleData {
                found.push(PackagePath::of_file(&toc.path(index).unwrap()).unwrap().to_string());
            }
        }
    }
    found
}

/// Reads in order, those that lie end to end as one: how many reads it takes is no matter.
fn joined(mut reads: Reads) -> Reads {
    reads.sort();
    let mut joined: Reads = Vec::new();
    for (file, offset, length) in reads {
        match joined.last_mut().filter(|last| last.0 == file && last.1 + last.2 == offset) {
            Some(last) => last.2 += length,
            None => joined.push((file, offset, length)),
        }
    }
    joined
}

/// The tables of contents alone identify, and fetching one donor reads the blocks of its chunks and no other
/// byte of any `.ucas`.
fn reads_only_what_it_takes(game: &Game) {
    let (bench, all) = (Bench::new(), packages(game));
    assert!(all.len() >= 2);
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let facts = bench.identify(RULE, donors(&all), &game.without(".ucas")).unwrap();
    assert_eq!(bench.identify(RULE, donors(&all), game).unwrap(), facts);
    let mut together = Facts::new();
    for package in &all {
        game.take_reads();
        let ran = bench.import(RULE, donors(&[package]), game).unwrap();
        let mut taken = Vec::new();
        for (stem, toc) in shipped(game) {
            let own = |index: &usize| {
                ran.facts.keys().any(|key| key.ends_with(&toc.chunks()[*index].id.to_string()))
            };
            for index in (0..toc.chunks().len()).filter(own) {
                let (_, blocks) = toc.blocks_of(index).unwrap();
                let blocks =
                    blocks.iter().map(|block| (format!("{stem}.ucas"), block.offset, block.compressed_size));
                taken.extend(blocks.map(|(file, offset, size)| (file, offset, u64::from(size))));
            }
        }
        let mut reads = game.take_reads();
        reads.retain(|(file, ..)| file.ends_with(".ucas"));
        assert_eq!(joined(reads), joined(taken), "{package}");
        together.extend(ran.facts);
    }
    assert_eq!(together, facts);
}

#[test]
fn only_the_blocks_of_a_donor_are_read() {
    reads_only_what_it_takes(&Game::stand_in());
    if let Some(folder) = test_support::conformance("ue55") {
        reads_only_what_it_takes(&Game::folder(&folder));
    }
}

#[test]
fn donors_come_out_as_they_went_in() {
    let (bench, game) = (Bench::new(), Game::stand_in());
    let made = stand_in_game::packages();
    let paths: Vec<&str> = made.iter().map(|package| package.path.as_str()).collect();
    let ran = bench.import(RULE, donors(&paths), &game).unwrap();
    let mut expected = BTreeMap::new();
    for package in &made {
        let leaf = package.path.rsplit('/').next().unwrap();
        expected.insert(format!("{leaf}/{leaf}.uasset"), package.zen.clone());
        if !package.bulk.is_empty() {
            expected.insert(format!("{leaf}/{leaf}.ubulk"), package.bulk.clone());
        }
    }
    assert!(expected.len() > paths.len(), "some have bulk data");
    assert_eq!(bench.files(&ran, "packages"), expected);
}

#[test]
fn descriptors_say_who_refers_to_whom() {
    let (bench, game) = (Bench::new(), Game::stand_in());
    let given = json!({"donors": [
        {"package": "/Game/Synth/SM_Crate", "name": "crate"},
        {"package": "/game/synth/m_marked", "name": "marked"},
        {"package": "/Game/Synth/T_Ramp"},
        {"package": "/Game/Synth/M_Panels"},
    ]});
    let ran = bench.import(RULE, given, &game).unwrap();
    let files = bench.files(&ran, "descriptors");
    let text: Vec<String> = files
        .into_iter()
        .map(|(name, bytes)| format!("{name} {}", String::from_utf8(bytes).unwrap()))
        .collect();
    assert_eq!(
        text.join("\n"),
        r#"M_Panels.json {"name":"M_Panels","package":"/Game/Synth/M_Panels","references":{}}
T_Ramp.json {"name":"T_Ramp","package":"/Game/Synth/T_Ramp","references":{}}
crate.json {"name":"crate","package":"/Game/Synth/SM_Crate","references":{"/game/synth/m_marked":"marked"}}
marked.json {"name":"marked","package":"/game/synth/m_marked","references":{"/Game/Synth/T_Ramp":"T_Ramp"}}"#
    );
}

#[test]
fn facts_name_chunk_hash_and_length_and_no_container() {
    let (bench, game) = (Bench::new(), Game::stand_in());
    let facts = bench.identify(RULE, donors(&["/Game/Synth/T_Synth_BC1"]), &game).unwrap();
    let kinds: Vec<&str> = facts.keys().map(|key| key.rsplit_once(' ').unwrap().0).collect();
    assert_eq!(
        kinds,
        ["@game /Game/Synth/T_Synth_BC1 bulk data", "@game /Game/Synth/T_Synth_BC1 export bundle"]
    );
    let id = PackagePath::parse("/Game/Synth/T_Synth_BC1").unwrap().id();
    assert!(facts.keys().all(|key| key.contains(&id.chunk(ChunkType::BulkData).to_string()[..16])));
    assert!(facts.values().all(|value| value.split_once(' ').is_some_and(|(hash, length)| {
        hash.len() == 40 && length.parse::<u64>().is_ok_and(|length| length > 0)
    })));
    let mut moved = Game::default();
    for (name, bytes) in game.files {
        moved.files.insert(name.replace("pakchunk0-Windows", "pakchunk7-Windows"), bytes);
    }
    assert_eq!(bench.identify(RULE, donors(&["/Game/Synth/T_Synth_BC1"]), &moved).unwrap(), facts);
}

/// A container with the one package, whose bytes are changed so that it can be told apart.
fn variant(package: &str, add: u8) -> (Vec<u8>, Vec<u8>) {
    let made = stand_in_game::packages().into_iter().find(|made| made.path == package).unwrap();
    let mut zen = made.zen;
    *zen.last_mut().unwrap() ^= add;
    let mut ucas = Vec::new();
    let utoc = Builder::new("any").package(Package::new(package, &zen)).write(&mut ucas).unwrap();
    (utoc, ucas)
}

#[test]
fn the_shipped_container_that_wins_is_read_and_mods_are_not() {
    let (bench, package) = (Bench::new(), "/Game/Synth/T_Checker");
    let of = |game: &Game| bench.identify(RULE, donors(&[package]), game).unwrap();
    let mut game = Game::stand_in();
    let alone = of(&game);
    for mod_of in ["pakchunk900-x_P", "pakchunk9-MJOLNIRMAT-Windows", "Meteorite-a_1_P"] {
        game.files.insert(format!("{mod_of}.utoc"), variant(package, 1).0);
        game.files.insert(format!("{mod_of}.ucas"), variant(package, 1).1);
    }
    // What belongs to mods is not even read.
    game.files.insert("broken_P.utoc".to_owned(), b"no container".to_vec());
    assert_eq!(of(&game), alone);
    game.files.insert("pakchunk9-Windows.utoc".to_owned(), variant(package, 2).0);
    assert_eq!(of(&game), alone, "of one order, the lowest name wins");
    game.files.insert("Meteorite-Windows.utoc".to_owned(), variant(package, 2).0);
    assert_ne!(of(&game), alone, "a higher order wins");
}

#[test]
fn what_is_missing_is_named_with_what_is_near() {
    let (bench, game) = (Bench::new(), Game::stand_in());
    let refused = |packages: &[&str], game: &Game| said(bench.identify(RULE, donors(packages), game));
    assert_eq!(
        refused(&["/Game/Synth/SM_Slap"], &game),
        "@game has no package `/Game/Synth/SM_Slap` (1 container searched)\nhelp: did you mean `/Game/Synth/SM_Slab`?"
    );
    assert_eq!(
        refused(&["/Game/Props/sm_crate"], &game),
        "@game has no package `/Game/Props/sm_crate` (1 container searched)\nhelp: did you mean `/Game/Synth/SM_Crate`?"
    );
    assert_eq!(
        refused(&["/Game/Synth/T_Ramp", "/Game/A/Xyzzy", "/Game/Synth/SM_Wegde"], &game),
        "@game has none of 2 packages that are asked for (1 container searched)\n  `/Game/A/Xyzzy`\n  \
         `/Game/Synth/SM_Wegde`\nhelp: did you mean `/Game/Synth/SM_Wedge`?"
    );
    assert_eq!(
        refused(&["/Game/A/B"], &Game::default()),
        "@game holds no container of the game\n  found 0 files and no `.utoc` of the game in Paks/\n\
         help: it is the folder `Meteorite/Content/Paks` of the game"
    );
}

#[test]
fn broken_containers_are_named_with_the_place() {
    let (bench, whole) = (Bench::new(), Game::stand_in());
    let package = "/Game/Synth/SM_Slab";
    let refused = |game: &Game| said(bench.import(RULE, donors(&[package]), game));
    let mut cut = whole.clone();
    cut.files.get_mut("pakchunk0-Windows.utoc").unwrap().truncate(200);
    let text = refused(&cut);
    assert!(
        text.starts_with("`Paks/pakchunk0-Windows.utoc` is no table of contents that can be read\n  "),
        "{text}"
    );
    assert!(text.contains(" at offset 144"), "{text}");

    let gone = whole.without(".ucas");
    assert_eq!(refused(&gone), "cannot read `Paks/pakchunk0-Windows.ucas`: entity not found");

    let toc = Toc::read(&whole.files["pakchunk0-Windows.utoc"], &Limits::default()).unwrap();
    let index =
        toc.find(PackagePath::parse(package).unwrap().id().chunk(ChunkType::ExportBundleData)).unwrap();
    let (at, length) = (toc.blocks_of(index).unwrap().1[0].offset as usize, toc.chunks()[index].length);
    let mut flipped = whole.clone();
    flipped.files.get_mut("pakchunk0-Windows.ucas").unwrap()[at + 5] ^= 0x10;
    let text = refused(&flipped);
    let stated = toc.chunks()[index].hash;
    assert!(
        text.starts_with("`/Game/Synth/SM_Slab` in @game does not match its recorded hash\n  "),
        "{text}"
    );
    assert!(text.contains(&format!(": expected {stated}, found ")), "{text}");
    assert!(
        text.ends_with(
            "\nhelp: the game may be half-updated: verify its files, then build again (nothing was kept)"
        ),
        "{text}"
    );
    let place: String = text.lines().nth(1).unwrap().chars().filter(|c| *c != ' ').collect();
    assert!(place.starts_with(&format!("pakchunk0-Windows.ucasat{at},{length}bytes:")), "{place}");

    let mut short = whole.clone();
    short.files.get_mut("pakchunk0-Windows.ucas").unwrap().truncate(at + 1);
    let text = refused(&short);
    assert!(
        text.starts_with("`/Game/Synth/SM_Slab` in @game cannot be read\n  pakchunk0-Windows.ucas at "),
        "{text}"
    );
    assert!(text.contains("truncated: block "), "{text}");
}

/// A game with packages under these paths.
fn game_of(paths: &[&str]) -> Game {
    let donor = stand_in_game::packages().into_iter().find(|made| made.path.ends_with("/T_Checker")).unwrap();
    let donor = package::Package::read(&donor.zen, &package::Limits::default()).unwrap();
    let renamed = |path: &&str| {
        let to = [(donor.path().unwrap(), PackagePath::parse(path).unwrap())];
        package::rename(&donor, &package::Renames::new(to).unwrap()).unwrap().write()
    };
    let zen: Vec<Vec<u8>> = paths.iter().map(renamed).collect();
    let packages = paths.iter().zip(&zen).map(|(path, zen)| Package::new(path, zen));
    let builder = packages.fold(Builder::new("pakchunk0-Windows"), Builder::package);
    let mut ucas = Vec::new();
    let utoc = builder.write(&mut ucas).unwrap();
    let files = [("pakchunk0-Windows.utoc", utoc), ("pakchunk0-Windows.ucas", ucas)];
    Game::of(files.into_iter().map(|(name, bytes)| (name.to_owned(), bytes)).collect())
}

const CRATE: &str = "/Game/Tags/objects/crates/crate_space_a/crate_space_a-";

#[test]
fn groups_filters_and_tags_are_taken() {
    let bench = Bench::new();
    let paths = [
        format!("{CRATE}collision_model"),
        format!("{CRATE}crate"),
        "/Game/Tags/objects/crates/box/box-collision_model".to_owned(),
        "/Game/Tags/objects/doors/box/box-collision_model".to_owned(),
        "/Game/Props/crate_space_a".to_owned(),
    ];
    let game = game_of(&paths.each_ref().map(String::as_str));
    let descriptors = |given: Value| {
        let ran = bench.import(RULE, given, &game).unwrap();
        let files = bench.files(&ran, "descriptors");
        assert_eq!(bench.files(&ran, "packages").len(), files.len());
        let texts = files.into_values().map(|bytes| serde_json::from_slice::<Value>(&bytes).unwrap());
        texts
            .map(|value| format!("{} {}", value["name"].as_str().unwrap(), value["group"]))
            .collect::<Vec<_>>()
    };
    let taken = [r#"crate_space_a-collision_model "collision_model""#];
    for given in [
        json!({"select": [{"group": "collision_model", "filter": "Crate_Space_a"}]}),
        json!({"select": [{"filter": "/Game/Tags/**/crate_space_a/*-collision_model"}]}),
        json!({"donors": [{"tag": "objects/crates/crate_space_a/crate_space_a.collision_model"}]}),
        json!({"donors": [{"tag": r"objects\crates\crate_space_a\crate_space_a.collision_model"}]}),
        json!({"donors": [{"package": paths[0]}], "select": [{"filter": paths[0]}]}),
    ] {
        assert_eq!(descriptors(given.clone()), taken, "{given}");
    }
    // What is called alike is called by its whole path.
    assert_eq!(
        descriptors(json!({"select": [{"group": "collision_model"}]})),
        [
            r#"Game.Tags.objects.crates.box.box-collision_model "collision_model""#,
            r#"Game.Tags.objects.doors.box.box-collision_model "collision_model""#,
            r#"crate_space_a-collision_model "collision_model""#,
        ]
    );
    let facts = |given| bench.identify(RULE, given, &game.without(".ucas")).unwrap();
    assert_eq!(facts(json!({"select": [{"filter": "crate"}]})).len(), 4);
    let none = json!({"select": [{"group": "scenery", "filter": "crate"}]});
    assert_eq!(
        said(bench.identify(RULE, none, &game)),
        "@game has no package of the group `scenery` called `crate`\n  1 container searched"
    );
}

#[test]
fn wrong_selections_are_found_with_the_rest() {
    let given = json!({
        "donors": [
            {"package": "/Game/A/CON", "name": "x"},
            {"package": "/Game/A/X", "name": ".."},
            {"package": "/Game/A/Y", "name": "nul.txt"},
            {"package": "/Game/A/Z", "tag": "a.b"},
            {"tag": "objects/a"},
            {"name": "y"},
            {"package": "/Game/A/W", "name": "w"},
            {"package": "/Game/B/W", "name": "W"},
        ],
        "select": [{}, {"filter": ""}, {"group": "", "filter": "a"}],
    });
    let found = Bench::new().mistakes(RULE, given).join("\n");
    assert_eq!(
        found,
        "`donors[0].package`: `/Game/A/CON` is not a package path: component `CON`: it is the name of a Windows device\n\
         `donors[1].name`: `..` cannot be a name: it leads elsewhere\n\
         `donors[2].name`: `nul.txt` cannot be a name: it is the name of a Windows device\n\
         `donors[3].tag`: `package` is given as well\n\
         `donors[4].tag`: `objects/a` is no tag: expected a path and a group, such as `objects/a/b.scenery`\n\
         `donors[5].package`: neither `package` nor `tag` is given\n\
         `donors[7].name`: two donors are called `W`\n\
         `select[0].filter`: neither `filter` nor `group` is given\n\
         `select[1].filter`: it is empty, and every package has that in its path\n\
         `select[2].group`: it is empty"
    );
}

#[test]
fn wrong_parameters_are_found_all_at_once() {
    let bench = Bench::new();
    let given = json!({"donors": [
        {"package": "Game/X"},
        {"package": "/Game/A B/C D"},
        {"package": "/Game/A/X"},
        {"package": "/Game/B/x"},
        {"package": "/game/a/x", "name": "y"},
        {"package": "/Game/A/Z", "name": "a/b"},
    ]});
    assert_eq!(
        bench.mistakes(RULE, given).join("\n"),
        "`donors[0].package`: `Game/X` is not a package path: it does not begin with `/`\n\
         `donors[1].package`: `C D` is no name: letters, digits, `_`, `-`, `.`\n\
         `donors[3].name`: two donors are called `x`\n\
         `donors[4].package`: `/game/a/x` is there twice\n\
         `donors[5].name`: `a/b` is no name: letters, digits, `_`, `-`, `.`"
    );
    assert_eq!(bench.mistakes(RULE, json!({"donors": []})).len(), 1);
}
