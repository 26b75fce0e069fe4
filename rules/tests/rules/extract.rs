//! `extract-donors`: what identifies donors, what is read of them, and what is said when something is wrong.

use std::collections::BTreeMap;

use engine::Facts;
use iostore::{Builder, ChunkType, Limits, Package, Toc};
use rules::stand_in_game;
use serde_json::{Value, json};
use unreal::PackagePath;

use crate::harness::{Bench, Game, said};

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
        reads.sort();
        taken.sort();
        assert_eq!(reads, taken, "{package}");
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
