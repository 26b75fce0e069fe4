//! `cook-tags`: from donors and edits to packages that read back.

use std::collections::BTreeMap;
use std::sync::Arc;

use blam::{Tag, TagName, Wrapper};
use cache::Blobs as _;
use engine::testing::Ran;
use engine::{Input, RuleError};
use iostore::PackageId;
use serde_json::{Value, json};
use unreal::PackagePath;
use unreal::package::{Limits, Package};
use unreal::usmap::{self, Mappings, Property, PropertyType, Struct};

use crate::harness::{Bench, said};

#[path = "../../../formats/blam/tests/fixture/mod.rs"]
mod fixture;

/// The classes of the donors, as a build has them.
fn mappings() -> Mappings {
    let class = |name: &str, properties: &[(&str, PropertyType)]| Struct {
        name: Arc::from(name),
        parent: None,
        slots: properties.len() as u16,
        properties: (0..)
            .zip(properties)
            .map(|(slot, (name, kind))| Property {
                slot,
                dimension: 1,
                name: Arc::from(*name),
                kind: kind.clone(),
            })
            .collect(),
    };
    let object = PropertyType::Object;
    let list = PropertyType::Array(Box::new(PropertyType::Object));
    let loaded = ("CookedAssetsReferencedByTag", list);
    let bare = [loaded.clone(), ("BinaryBlobSize", PropertyType::Int), ("NativeClass", object.clone())];
    let actor = [("AssetReference", object.clone()), ("DefaultAssetReference", object), loaded];
    let classes = vec![
        class("BlamCrateTagDataAsset", &actor),
        class("BlamCollisionModelTagDataAsset", &bare),
        class("BlamScenarioTagDataAsset", &bare),
    ];
    Mappings::new(Vec::new(), classes).unwrap()
}

/// A tag of `group` and the package that it lies in.
fn donor(group: &str, path: &str) -> BTreeMap<String, Vec<u8>> {
    let name = TagName::new(group, path).unwrap();
    let mut tag = fixture::small().bytes;
    tag[0x30..0x34].copy_from_slice(&name.group().code.0.to_le_bytes());
    let mut wrapper = Wrapper::new(name.package().unwrap(), tag.len() as u64);
    wrapper.preload = vec![TagName::new("coll", "A").unwrap().package().unwrap()];
    let package = wrapper.build(&mappings()).unwrap().write();
    let stem = path.replace('\\', "_");
    BTreeMap::from([(format!("{stem}.uasset"), package), (format!("{stem}.ubulk"), tag)])
}

fn run(bench: &Bench, given: Value, donors: &[BTreeMap<String, Vec<u8>>]) -> Result<Ran, RuleError> {
    let files = donors.iter().flatten().map(|(path, bytes)| (path.as_str(), bytes.as_slice()));
    let mapped = Input::File(bench.store.put(&usmap::write(&mappings())).unwrap());
    bench.run("cook-tags", given, &[("donors", bench.tree(files)), ("mappings", mapped)])
}

fn cook(
    bench: &Bench,
    given: Value,
    donors: &[BTreeMap<String, Vec<u8>>],
) -> Result<BTreeMap<String, Vec<u8>>, RuleError> {
    run(bench, given, donors).map(|ran| bench.files(&ran, "packages"))
}

/// A tag for the frozen corpus.
pub fn cooked(bench: &Bench) -> Ran {
    let edits =
        json!([{"op": "append", "block": "all", "copy": 0}, {"op": "set", "path": "ref", "value": "none"}]);
    let tag = json!({"donor": "crate:x", "path": "frozen", "actor": "/Game/BP_Frozen", "edits": edits});
    run(bench, json!({"tags": [tag]}), &[donor("crate", "x")]).unwrap()
}

fn wrapper(files: &BTreeMap<String, Vec<u8>>, place: &str) -> (Wrapper, Vec<PackageId>) {
    let package = Package::read(&files[&format!("{place}.uasset")], &Limits::default()).unwrap();
    (Wrapper::read(&package, &mappings()).unwrap(), package.imported_packages())
}

#[test]
fn a_tag_is_its_donor_edited_under_its_own_path() {
    let bench = Bench::new();
    let tags = json!([
        {
            "donor": "crate:objects\\x", "path": "objects/mjolnir/flag", "actor": "/Game/MJOLNIR/BP_Flag",
            "edits": [
                {"op": "set", "path": "n", "value": 9},
                {"op": "set", "path": "ref", "value": "coll:objects\\mjolnir\\flag"},
                {"op": "append", "block": "all", "copy": 0},
                {"op": "remove", "block": "all", "elements": [1]},
            ],
        },
        {"donor": "coll:hull", "path": "objects\\mjolnir\\flag", "edits": [{"op": "set", "path": "ref", "value": "coll:other\\made"}]},
        {"donor": "coll:hull", "path": "objects\\mjolnir\\plain"},
    ]);
    let donors = [donor("crate", r"objects\x"), donor("coll", "hull")];
    let files = cook(&bench, json!({"tags": tags, "beside": ["coll:other\\made"]}), &donors).unwrap();
    let place = "Meteorite/Content/Tags/objects/mjolnir";
    let names = ["flag-collision_model", "flag-crate", "plain-collision_model"];
    let expected: Vec<String> = names
        .iter()
        .flat_map(|name| ["uasset", "ubulk"].map(|part| format!("{place}/{name}.{part}")))
        .collect();
    assert_eq!(files.keys().collect::<Vec<_>>(), expected.iter().collect::<Vec<_>>());

    let bytes = &files[&format!("{place}/flag-crate.ubulk")];
    let tag = Tag::read(bytes).unwrap();
    assert_eq!(serde_json::to_value(tag.field("n").unwrap()).unwrap()["value"], 9);
    assert_eq!(serde_json::to_value(tag.field("all[1].id").unwrap()).unwrap()["value"], "z");
    let (found, imports) = wrapper(&files, &format!("{place}/flag-crate"));
    let flag = |group: &str| TagName::new(group, r"objects\mjolnir\flag").unwrap().package().unwrap();
    assert_eq!((&found.package, found.tag_bytes), (&flag("crate"), tag.len()));
    // It loads the tag that is made beside it, and no longer what its donor loaded.
    assert_eq!(found.preload, [flag("coll")]);
    let actor = PackagePath::parse("/Game/MJOLNIR/BP_Flag").unwrap();
    assert_eq!(found.actor, Some(blam::PackageObject::blueprint(&actor)));
    let mut both = [flag("coll").id(), actor.id()];
    both.sort();
    assert_eq!(imports, both);

    let (found, _) = wrapper(&files, &format!("{place}/flag-collision_model"));
    assert_eq!(found.preload[0].as_str(), "/Game/Tags/other/made-collision_model");
    // What its donor loaded is there, and is spelled as there.
    let (found, _) = wrapper(&files, &format!("{place}/plain-collision_model"));
    assert_eq!(found.preload[0].as_str(), "/Game/Tags/A-collision_model");
    assert_eq!(files[&format!("{place}/plain-collision_model.ubulk")], donors[1]["hull.ubulk"]);
}

#[test]
fn generated_groups_are_cloned() {
    let bench = Bench::new();
    let donors = [donor("scenario", r"levels\b40\b40")];
    let clone = |path: &str| {
        cook(&bench, json!({"tags": [{"donor": "scnr:levels\\b40\\b40", "path": path}]}), &donors)
    };
    let files = clone(r"levels\xyz\xyz").unwrap();
    let (found, _) = wrapper(&files, "Meteorite/Content/Tags/levels/xyz/_Generated_/xyz-scenario");
    assert_eq!(found.package.as_str(), "/Game/Tags/levels/xyz/_Generated_/xyz-scenario");
    assert_eq!(found.preload.len(), 1);
    assert_eq!(
        said(clone(r"levels\wxyz\xyz")),
        "`scnr:levels\\wxyz\\xyz`: `/Game/Tags/levels/b40/_Generated_/b40-scenario` cannot become \
         `/Game/Tags/levels/wxyz/_Generated_/xyz-scenario` in a clone: they have 46 and 47 bytes"
    );
}

#[test]
fn what_cannot_be_cooked_is_refused() {
    let bench = Bench::new();
    let donors = [donor("crate", r"objects\x"), donor("coll", "hull")];
    let refused = |tag: Value| said(cook(&bench, json!({"tags": [tag]}), &donors));
    let edit = |edit: Value| json!({"donor": "crate:objects\\x", "path": "a", "edits": [edit]});
    for (tag, message) in [
        (
            json!({"donor": "crate:nothing", "path": "a"}),
            "`bloc:a`: the donor `bloc:nothing` is not among the packages: `/Game/Tags/",
        ),
        (edit(json!({"op": "set", "path": "m", "value": 1})), "`bloc:a`: `m`: `root` has no field `m`"),
        (
            edit(json!({"op": "set", "path": "one.id", "value": "unheard"})),
            "`bloc:a`: the game refuses string ids that it does not know, and the donor has none of `unheard`; list \
             those that it does know as `new_string_ids`",
        ),
        (
            edit(json!({"op": "replace", "block": "all", "from": "coll:x"})),
            "`bloc:a`: the donor `coll:x` is not among",
        ),
    ] {
        let found = refused(tag);
        assert!(found.starts_with(message), "{found}");
    }
    let mut known = edit(json!({"op": "set", "path": "one.id", "value": "unheard"}));
    known["new_string_ids"] = json!(["unheard"]);
    assert!(cook(&bench, json!({"tags": [known]}), &donors).is_ok());
    let taken = edit(json!({"op": "replace", "block": "all", "from": "coll:hull"}));
    assert!(cook(&bench, json!({"tags": [taken]}), &donors).is_ok());

    let mut alone = donors[0].clone();
    alone.remove("objects_x.ubulk");
    let found = said(cook(&bench, json!({"tags": []}), &[alone]));
    assert_eq!(found, "`objects_x` has no `.ubulk` beside it, as the package of a tag has");

    let tags = json!({
        "tags": [
            {"donor": "crate", "path": "a"},
            {"donor": "crate:x", "path": "a.b", "actor": "BP"},
            {"donor": "crate:x", "path": "a", "edits": [{"op": "sett"}]},
            {"donor": "boulder:x", "path": "a"},
        ],
        "beside": ["x"],
    });
    let mistakes = bench.mistakes("cook-tags", tags);
    assert!(mistakes.iter().any(|mistake| mistake.contains("sett")), "{mistakes:?}");
    let twice = json!({"tags": [{"donor": "crate:x", "path": "a"}, {"donor": "crate:y", "path": "A"}]});
    assert_eq!(bench.mistakes("cook-tags", twice), ["`tags[1]`: `bloc:A` is made twice"]);
    let beside = json!({"tags": [], "beside": ["x"]});
    assert_eq!(
        bench.mistakes("cook-tags", beside),
        ["`beside[0]`: `x` names no tag: a group and a path do, as in `crate:objects\\props\\x\\x`"]
    );
}
