//! `rename-package` and `pack`: from donors to a container that reads back.

use std::collections::BTreeMap;

use engine::Input;
use iostore::{ChunkReader, ChunkType, Limits, Toc};
use rules::stand_in_game::{self, StandInPackage};
use serde_json::{Value, json};
use unreal::PackagePath;
use unreal::package::{self, Package};

use crate::harness::{Bench, said};

const FOLDER: &str = "/Game/MJOLNIR/Forge/foundry";
const PLACE: &str = "Meteorite/Content/MJOLNIR/Forge/foundry";

fn made(leaf: &str) -> StandInPackage {
    let path = format!("/Game/Synth/{leaf}");
    stand_in_game::packages().into_iter().find(|made| made.path == path).unwrap()
}

fn parse(zen: &[u8]) -> Package {
    Package::read(zen, &package::Limits::default()).unwrap()
}

/// The files of some packages of the stand-in, as `pack` takes them.
fn in_place(leaves: &[&str]) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for leaf in leaves {
        let StandInPackage { zen, bulk, .. } = made(leaf);
        files.insert(format!("Meteorite/Content/Synth/{leaf}.uasset"), zen);
        if !bulk.is_empty() {
            files.insert(format!("Meteorite/Content/Synth/{leaf}.ubulk"), bulk);
        }
    }
    files
}

fn tree(bench: &Bench, files: &BTreeMap<String, Vec<u8>>) -> Input {
    bench.tree(files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())))
}

fn rename(leaf: &str, to: &str, references: Value) -> Value {
    json!({"from": format!("/Game/Synth/{leaf}"), "to": format!("{FOLDER}/{to}"), "references": references})
}

#[test]
fn a_renamed_package_has_its_new_name_and_its_references_follow() {
    let bench = Bench::new();
    let StandInPackage { zen, bulk, .. } = made("T_Synth_BC1");
    let files = [("x/T.uasset", zen.as_slice()), ("x/T.ubulk", bulk.as_slice())];
    let ran = bench.run(
        "rename-package",
        rename("T_Synth_BC1", "T_Counted", json!({})),
        &[("package", bench.tree(files))],
    );
    let files = bench.files(&ran.unwrap(), "package");
    assert_eq!(
        files.keys().collect::<Vec<_>>(),
        [&format!("{PLACE}/T_Counted.uasset"), &format!("{PLACE}/T_Counted.ubulk")]
    );
    assert_eq!(files[&format!("{PLACE}/T_Counted.ubulk")], bulk);
    let renamed = parse(&files[&format!("{PLACE}/T_Counted.uasset")]);
    assert_eq!(renamed.path().unwrap().as_str(), format!("{FOLDER}/T_Counted"));

    let crate_ = made("SM_Crate").zen;
    let given = rename("SM_Crate", "SM_Box", json!({"/Game/Synth/M_Marked": "M_Box"}));
    let files = [("SM_Crate.uasset", crate_.as_slice())];
    let ran = bench.run("rename-package", given, &[("package", bench.tree(files))]).unwrap();
    let renamed = parse(&bench.files(&ran, "package")[&format!("{PLACE}/SM_Box.uasset")]);
    assert_eq!(renamed.imported[0].text(), format!("{FOLDER}/M_Box"));
}

#[test]
fn what_cannot_be_renamed_is_refused() {
    let bench = Bench::new();
    let zen = made("T_Ramp").zen;
    let refused = |given: Value, files: &[(&str, &[u8])]| {
        said(bench.run("rename-package", given, &[("package", bench.tree(files.iter().copied()))]))
    };
    assert_eq!(
        refused(rename("T_Checker", "T", json!({})), &[("a.uasset", &zen)]),
        "`a.uasset` holds `/Game/Synth/T_Ramp`, expected `/Game/Synth/T_Checker`"
    );
    assert_eq!(
        refused(rename("T_Ramp", "T", json!({})), &[("a.ubulk", b"x")]),
        "0 packages were given, expected one: `/Game/Synth/T_Ramp`"
    );
    assert_eq!(
        refused(rename("T_Ramp", "T", json!({})), &[("a.uexp", &zen)]),
        "`a.uexp` is no part of a package: expected `.uasset`, `.umap`, `.ubulk`, `.uptnl`, `.m.ubulk`"
    );
    assert!(refused(rename("T_Ramp", "T_1", json!({})), &[("a.uasset", &zen)]).contains("ends in a number"));
    let short = refused(rename("T_Ramp", "T", json!({})), &[("a.uasset", &zen[..60])]);
    assert!(short.starts_with("`a.uasset` is no package that can be read: "), "{short}");
    assert_eq!(
        bench.mistakes("rename-package", json!({"from": "X", "to": "/Game/A"})),
        ["`from`: `X` is not a package path: it does not begin with `/`"]
    );
}

#[test]
fn a_container_reads_back_through_its_perfect_hash() {
    let bench = Bench::new();
    let files = in_place(&["SM_Crate", "M_Marked", "T_Checker", "T_Ramp", "T_Stripes", "T_Synth_BC1"]);
    let given = json!({"name": "pakchunk990-foundry_P", "namespace": "/Game/Synth"});
    let ran = bench.run("pack", given, &[("packages", tree(&bench, &files))]).unwrap();
    let container = bench.files(&ran, "container");
    let (utoc, ucas) =
        (&container["content/pakchunk990-foundry_P.utoc"], &container["content/pakchunk990-foundry_P.ucas"]);
    let toc = Toc::read(utoc, &Limits::default()).unwrap();
    let partitions: [&dyn iostore::ReadAt; 1] = [ucas];
    let mut found = BTreeMap::new();
    for (index, chunk) in toc.chunks().iter().enumerate() {
        assert_eq!(toc.resolve(chunk.id), Some(index));
        let bytes = ChunkReader::new(&toc, &partitions).read(index, 1 << 30).unwrap();
        if chunk.id.kind() == ChunkType::ContainerHeader {
            let header = iostore::ContainerHeader::read(&bytes).unwrap();
            let crate_ = PackagePath::parse("/Game/Synth/SM_Crate").unwrap().id();
            let entry = header.packages.iter().find(|entry| entry.id == crate_).unwrap();
            assert_eq!(entry.imports, [PackagePath::parse("/Game/Synth/M_Marked").unwrap().id()]);
            continue;
        }
        found.insert(toc.path(index).unwrap(), bytes);
    }
    assert_eq!(found, files);
}

/// The message for the packages above with something changed.
fn refused(namespace: Option<&str>, change: impl FnOnce(&mut BTreeMap<String, Vec<u8>>)) -> String {
    let (bench, mut files) = (Bench::new(), in_place(&["SM_Slab", "M_Panels", "T_Panels", "T_Synth_BC1"]));
    change(&mut files);
    let mut given = json!({"name": "pakchunk990-x_P"});
    if let Some(namespace) = namespace {
        given["namespace"] = json!(namespace);
    }
    said(bench.run("pack", given, &[("packages", tree(&bench, &files))]))
}

#[test]
fn what_would_not_load_is_refused() {
    let place = |leaf: &str| format!("Meteorite/Content/Synth/{leaf}");
    let moved = refused(None, |files| {
        let zen = files.remove(&place("SM_Slab.uasset")).unwrap();
        files.insert(place("SM_Board.uasset"), zen);
    });
    assert_eq!(
        moved,
        "`Meteorite/Content/Synth/SM_Board.uasset` holds `/Game/Synth/SM_Slab`, whose place is \
         `Meteorite/Content/Synth/SM_Slab.uasset`"
    );
    let world = refused(None, |files| {
        let zen = files.remove(&place("SM_Slab.uasset")).unwrap();
        files.insert(place("SM_Slab.umap"), zen);
    });
    assert!(world.starts_with("`Meteorite/Content/Synth/SM_Slab.umap` holds "), "{world}");
    let both = refused(None, |files| {
        files.insert(place("SM_Slab.umap"), made("SM_Slab").zen);
    });
    assert_eq!(both, "`Meteorite/Content/Synth/SM_Slab` is there both as `.uasset` and as `.umap`");
    let alone = refused(None, |files| drop(files.remove(&place("T_Synth_BC1.uasset"))));
    assert_eq!(alone, "`Meteorite/Content/Synth/T_Synth_BC1.ubulk` has no package beside it");
    let without_bulk = refused(None, |files| drop(files.remove(&place("T_Synth_BC1.ubulk"))));
    assert!(without_bulk.starts_with("`/Game/Synth/T_Synth_BC1` needs "), "{without_bulk}");
    assert!(without_bulk.ends_with(" of its bulk data, which has 0"), "{without_bulk}");
    let short = refused(None, |files| {
        files.get_mut(&place("T_Synth_BC1.ubulk")).unwrap().pop();
    });
    assert!(short.contains(" of its bulk data, which has "), "{short}");
    let empty = refused(None, |files| drop(files.insert(place("T_Synth_BC1.ubulk"), Vec::new())));
    assert_eq!(empty, "`Meteorite/Content/Synth/T_Synth_BC1.ubulk` is empty; leave it out");
    assert_eq!(
        refused(Some("/Game/Syn"), |_| ()),
        "`/Game/Synth/M_Panels` lies outside `/Game/Syn`\n  as `Meteorite/Content/Synth/M_Panels.uasset`"
    );
    let dangling = refused(Some("/Game/Synth"), |files| drop(files.remove(&place("T_Panels.uasset"))));
    assert!(
        dangling.ends_with("imports `/Game/Synth/T_Panels`, which is not packed")
            || dangling.contains("T_Panels"),
        "{dangling}"
    );
    assert_eq!(
        refused(None, |files| files.clear()),
        "container `pakchunk990-x_P` cannot be written: a container without chunks"
    );
}

#[test]
fn packages_that_differ_by_case_are_one() {
    let bench = Bench::new();
    let StandInPackage { zen, .. } = made("M_Synth");
    let given = rename("M_Synth", "M_A", json!({}));
    let ran = bench
        .run("rename-package", given, &[("package", bench.tree([("a.uasset", zen.as_slice())]))])
        .unwrap();
    let mut files = bench.files(&ran, "package");
    let given = rename("M_Synth", "M_a", json!({}));
    let ran = bench
        .run("rename-package", given, &[("package", bench.tree([("a.uasset", zen.as_slice())]))])
        .unwrap();
    files.extend(bench.files(&ran, "package"));
    let found = bench.run("pack", json!({"name": "pakchunk1-x_P"}), &[("packages", tree(&bench, &files))]);
    assert_eq!(
        said(found),
        format!("`{PLACE}/M_A.uasset` and `{PLACE}/M_a.uasset` are one package to the game")
    );
}

#[test]
fn names_of_containers_are_those_that_the_game_mounts_last() {
    let bench = Bench::new();
    let good = |name: &str| bench.mistakes("pack", json!({"name": name})).is_empty();
    assert!(["pakchunk990-foundry_P", "pakchunk0-a.b-C_1_P"].into_iter().all(good));
    let bad = [
        "",
        "foundry_P",
        "pakchunk-foundry_P",
        "pakchunk990_",
        "pakchunk990-foundry",
        "pakchunk9-a/b_P",
        "pakchunk9-ä_P",
    ];
    for name in bad {
        assert!(!good(name), "{name}");
    }
}
