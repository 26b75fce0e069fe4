//! `bake pack` and the pipeline `prebuilt`: folders of cooked containers become releases, or nothing does.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use iostore::{Builder, Package, Payload};
use mjolnir::zip::Archive;

use crate::workspace::Workspace;

/// A container with one package of this name.
fn put(workspace: &Workspace, folder: &str, stem: &str, package: &str) {
    let mut ucas = Vec::new();
    let package = Package::new(package, Payload::Slice(b"a package"));
    let utoc = Builder::new(stem).package(package).write(&mut ucas).unwrap();
    fs::create_dir_all(workspace.path(folder)).unwrap();
    fs::write(workspace.path(&format!("{folder}/{stem}.utoc")), utoc).unwrap();
    fs::write(workspace.path(&format!("{folder}/{stem}.ucas")), ucas).unwrap();
}

fn members(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let bytes = fs::read(path).unwrap();
    let archive = Archive::read(&bytes).unwrap();
    assert!(archive.canonical());
    archive.members().map(|member| (member.name().into_owned(), member.read().into_owned())).collect()
}

const LEVEL: &str = r#"{"name":"gulch","title":"Test Gulch","multiplayer":true,"canvas":{"scenario":"b40"}}"#;

fn map(workspace: &Workspace) {
    put(workspace, "cooked", "pakchunk24853-MJOLNIRMAP-BGL_P", "/Game/Levels/Halo1/Solo/BGL/BGL");
    put(workspace, "cooked", "MJOLNIRMESH-BGL_P", "/Game/MJOLNIR/Maps/BGL/SM_BGL_Terrain");
    workspace.write("cooked/gulch.level.json", LEVEL);
}

#[test]
fn a_folder_becomes_a_signed_map_as_a_recipe_would_make_it() {
    let workspace = Workspace::empty();
    map(&workspace);
    fs::write(workspace.path("seed"), [7; 32]).unwrap();
    let pack = ["pack", "map", "cooked", "--code", "bgl", "--version", "1.0.0", "--summary", "A map."];
    let sign = ["--sign-seed", "seed", "--signed-at", "2026-08-02T00:00:00Z"];
    workspace.bake(&[&pack[..], &sign].concat()).success();
    let packed = members(&workspace.path("ce-test-gulch-1.0.0.mjolnir"));
    assert!(packed.contains_key("signature.json") && !packed.contains_key("changes.json"));

    let recipe = "schema = 1\npipeline = \"prebuilt\"\n[release]\nname = \"Test Gulch\"\nversion = \"1.0.0\"\n\
                  summary = \"A map.\"\ncode = \"BGL\"\n[values]\nkind = \"map\"\nfolder = \"cooked\"\n";
    workspace.write("maps/ce-test-gulch/recipe.toml", recipe);
    fs::rename(workspace.path("cooked"), workspace.path("maps/ce-test-gulch/cooked")).unwrap();
    workspace.bake(&[&["build", "maps/ce-test-gulch"][..], &sign].concat()).success();
    let built = members(&workspace.path("out/maps/ce-test-gulch/ce-test-gulch-1.0.0.mjolnir"));
    assert_eq!(built, packed);
    assert_eq!(workspace.build(&[&["maps/ce-test-gulch"][..], &sign].concat()), [""; 0]);
}

#[test]
fn what_cannot_be_packed_leaves_no_file() {
    let workspace = Workspace::empty();
    map(&workspace);
    fs::write(workspace.path("seed"), [7; 32]).unwrap();
    let files = || fs::read_dir(workspace.path("")).unwrap().map(|entry| entry.unwrap().file_name());
    let before: Vec<_> = files().collect();
    let pack = ["pack", "map", "cooked", "--code", "BGL", "--version", "1.0.0"];
    let refused = |more: &[&str], code: i32, text: &str| {
        let ran = workspace.bake(&[&pack[..], more].concat()).fails_with(code);
        assert!(ran.stderr.contains(text), "{}", ran.stderr);
        assert_eq!(files().filter(|name| !before.contains(name) && name != "store").count(), 0);
    };
    refused(&["--slug", "Gulch"], 2, "`Gulch` is no slug");
    refused(&["--sign-seed", "seed"], 2, "a signature states its time");
    refused(&["--runtime", ">"], 2, "bad_manifest");
    refused(&["--out", "cooked"], 2, "`cooked` is a folder");
    refused(&["--out", "none/x.mjolnir"], 2, "there is no folder `none`");
    put(&workspace, "cooked", "stray-BGL_P", "/Game/MJOLNIR/Maps/DCN/X");
    refused(&[], 1, "packages lie in another mod's folder");
    workspace.write("cooked/other.level.json", LEVEL);
    refused(&[], 5, "[bad_map_file]");
}

#[test]
fn a_manifest_and_its_containers_become_a_forge_pack() {
    let workspace = Workspace::empty();
    put(&workspace, "content", "pakchunk990-TEST_P", "/Game/MJOLNIR/Forge/test-pack/SM_Floor");
    put(&workspace, "content", "tags_P", "/Game/Tags/objects/mjolnir/forge/test-pack/floor-crate");
    let block = |light: &str| {
        format!(
            r#"{{"schema_version":1,"name":"Test","version":"0.2.0","type":"content","summary":"s","later":1,
            "compat":{{"min_build":"2026"}},"deps":[{{"slug":"base"}}],"x_bake":{{"stand_ins":["game"]}},
            "forge_pack":{{"schema_version":1,"id":"test-pack","blocks":[{{"id":"floor","name":"Floor",
            "tag":"objects\\mjolnir\\forge\\test-pack\\floor","category":"floors","dimensions_m":[4,4,0.5],
            "light":{light}}}]}}}}"#
        )
    };
    workspace.write("mjolnir.json", &block("null"));
    workspace.write("page.md", "# Test\n");
    let pack = ["pack", "forge", "mjolnir.json", "--content", "content", "--readme", "page.md"];
    let ran = workspace.bake(&pack).success();
    assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
    // What was built from a stand-in stays marked.
    let packed = members(&workspace.path("test-pack-0.2.0.standin.mjolnir"));
    assert_eq!(packed["docs/README.md"], b"# Test\n");
    let manifest = mjolnir::manifest::Manifest::read(&packed["mjolnir.json"]).unwrap();
    assert_eq!(Ok(manifest), mjolnir::manifest::Manifest::read(block("null").as_bytes()));
    assert!(String::from_utf8_lossy(&packed["changes.json"]).contains(r"forge\\test-pack\\floor"));

    workspace.write("mjolnir.json", &block("{}"));
    let ran = workspace.bake(&pack).fails_with(5);
    assert!(ran.stderr.contains("`/forge_pack/blocks/0/light/radius_m`: missing"), "{}", ran.stderr);
    workspace.write("mjolnir.json", &block("null"));
    workspace.write("content/README.md", "stray");
    workspace.bake(&pack).fails_with(5);
}

/// Good archives of others, taken apart, are packed again to the same members.
#[test]
fn archives_are_packed_again_as_they_were() {
    let Some(folder) = test_support::conformance("release") else { return };
    let mut packed = 0;
    for entry in fs::read_dir(folder.join("good")).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        let archive = Archive::read(&bytes).unwrap();
        let old: BTreeMap<String, Vec<u8>> = archive
            .members()
            .map(|member| (member.name().into_owned(), member.read().into_owned()))
            .collect();
        let manifest = mjolnir::manifest::Manifest::read(&old["mjolnir.json"]).unwrap();
        let workspace = Workspace::empty();
        fs::create_dir(workspace.path("content")).unwrap();
        let direct = |name: &str| name.strip_prefix("content/").map(|file| format!("content/{file}"));
        for (name, bytes) in &old {
            let file = match name.as_str() {
                "map/level.json" => Some("content/x.level.json".to_owned()),
                "map/registration.json" => None,
                name => direct(name).or_else(|| (!name.contains('/')).then(|| name.to_owned())),
            };
            if let Some(file) = file {
                fs::write(workspace.path(&file), bytes).unwrap();
            }
        }
        let version = manifest.version.to_string();
        let summary = manifest.summary.clone().unwrap_or_default();
        let args = match &manifest.payload {
            mjolnir::manifest::Payload::ForgePack(_) => {
                vec!["pack", "forge", "mjolnir.json", "--content", "content", "--changes", "changes.json"]
            }
            mjolnir::manifest::Payload::Map(_) => {
                let code = if old.keys().any(|name| name.contains("-BGL_P")) { "BGL" } else { continue };
                vec!["pack", "map", "content", "--code", code, "--version", &version, "--summary", &summary]
            }
            mjolnir::manifest::Payload::Content
                if !old.contains_key("changes.json") && !summary.is_empty() =>
            {
                let name = manifest.name.as_str();
                vec![
                    "pack",
                    "runtime",
                    "content",
                    "--version",
                    &version,
                    "--name",
                    name,
                    "--summary",
                    &summary,
                ]
            }
            mjolnir::manifest::Payload::Content => continue,
        };
        workspace.bake(&[&args[..], &["--out", "again.mjolnir"]].concat()).success();
        let new = members(&workspace.path("again.mjolnir"));
        for (name, bytes) in &new {
            // Fields of maps and optional words of lists are the author's alone.
            if name != "mjolnir.json" || matches!(manifest.payload, mjolnir::manifest::Payload::ForgePack(_))
            {
                assert_eq!(Some(bytes), old.get(name), "{name}");
            }
        }
        let again = mjolnir::manifest::Manifest::read(&new["mjolnir.json"]).unwrap();
        assert_eq!((again.name, again.deps), (manifest.name, manifest.deps));
        packed += 1;
    }
    assert!(packed >= 3, "{packed}");
}

#[test]
fn mistakes_in_a_catalog_are_told_at_their_lines() {
    let workspace = Workspace::empty();
    put(&workspace, "forge-packs/odd/content", "odd_P", "/Game/MJOLNIR/Forge/odd/SM_Floor");
    let block = "[[values.blocks]]\nid = \"floor\"\nname = \"Floor\"\ncategory = \"floors\"\ndimensions_m = [4, 4, 0.5]\n";
    let light =
        "light = { offset_m = [0, 0, 101], color_rgb = [1, 1, 1], intensity_cd = 70, radius_m = 8 }\n";
    let recipe = format!(
        "schema = 1\npipeline = \"prebuilt\"\n[release]\nname = \"Odd\"\nversion = \"1.0.0\"\n\
         deps = [{{ slug = \"base\", range = \"^^1\" }}]\n[values]\nkind = \"forge-pack\"\n{block}{light}{block}kind = \"weapon\"\n"
    );
    workspace.write("forge-packs/odd/recipe.toml", &recipe);
    let said = workspace.bake(&["build", "forge-packs/odd"]).fails_with(2).stderr;
    for expected in ["recipe.toml:6:34", "recipe.toml:14:22", "recipe.toml:16:6", "recipe.toml:20:8"] {
        assert!(said.contains(expected), "{expected}\n{said}");
    }
    for code in ["error[bad_manifest]: `^^1` is no range", "error[forge_unsupported]", "the id is used twice"]
    {
        assert!(said.contains(code), "{code}\n{said}");
    }
}

/// A value is at fault where the recipe says it, not where the pipeline uses it, and once; what is missing in a
/// piece is named, and a mistyped key is said once.
#[test]
fn mistakes_are_said_once_where_the_recipe_makes_them() {
    let workspace = Workspace::empty();
    put(&workspace, "forge-packs/one/content", "a_P", "/Game/MJOLNIR/Forge/one/SM_Floor");
    let told = |release: &str, values: &str| {
        let recipe = format!(
            "schema = 1\npipeline = \"prebuilt\"\n[release]\n{release}\nversion = \"1.0.0\"\n[values]\n{values}\n"
        );
        workspace.write("forge-packs/one/recipe.toml", &recipe);
        let stderr = workspace.bake(&["build", "forge-packs/one"]).fails_with(2).stderr;
        assert_eq!(stderr.matches("error").count(), 1, "{stderr}");
        stderr
    };
    for folder in ["contents", "../content", ""] {
        let stderr = told("name = \"P\"", &format!("kind = \"content\"\nfolder = \"{folder}\""));
        assert!(stderr.contains("recipe.toml:8:10"), "{stderr}");
    }
    let stderr = told("nam = \"P\"", "kind = \"content\"");
    assert!(stderr.contains("recipe.toml:4:1") && stderr.contains("did you mean `name`?"), "{stderr}");
    let light = "offset_m = [0, 0, 1], color_rgb = [1, 1, 1], intensity_cd = 70";
    let block = "id = \"a\", name = \"A\", category = \"c\", dimensions_m = [1, 1, 1]";
    let values = format!("kind = \"forge-pack\"\nblocks = [{{ {block}, light = {{ {light} }} }}]");
    let stderr = told("name = \"P\"", &values);
    assert!(stderr.contains("missing parameter `radius_m`"), "{stderr}");
}
