//! Packing what was cooked elsewhere: which files of a folder make a release, and what a map's own files
//! say of it.
//!
//! It knows names and small JSON files, not what is in containers; nothing is opened here. What it chooses
//! is what the game's own tools choose, so that the same folder gives the same release.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use std::collections::BTreeSet;

use serde::Serialize;

use crate::finding::{Code, Finding};
use crate::json::{Cursor, Fault, Faults, Value, parse};
use crate::manifest::{Dep, MapCode, is_slug};
use crate::map_files;
use crate::version::{Range, Version};

/// The slug, and the name where no other is given, of the runtime pack.
pub const RUNTIME: &str = "mjolnir-ce-runtime";

/// The containers of a whole runtime pack.
pub const RUNTIME_CONTAINERS: [&str; 14] = [
    "pakchunk984-MJOLNIRUI-Windows",
    "pakchunk985-MJOLNIRMENU_P",
    "pakchunk988-MJOLNIRMAT-Windows",
    "pakchunk990-MJOLNIRCTFFLAG_P",
    "pakchunk990-MJOLNIRCTFMESH_P",
    "pakchunk990-MJOLNIRCTFMOTL_P",
    "pakchunk990-MJOLNIRCTFSTAND_P",
    "pakchunk990-MJOLNIRHPACK_P",
    "pakchunk990-MJOLNIRHPMESH_P",
    "pakchunk990-MJOLNIRHPSPOT_P",
    "pakchunk991-MJOLNIRTELE2_P",
    "pakchunk992-MJOLNIRTELER_P",
    "pakchunk993-MJOLNIRTELES_P",
    "pakchunk994-MJOLNIRSPAWN_P",
];

/// What a folder is to become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A release of containers alone.
    Content,
    /// The runtime pack that maps share.
    Runtime,
    /// A Forge pack: nothing but its containers may be in the folder.
    ForgePack,
    /// The map of this code.
    Map(MapCode),
}

/// The files of a folder that go into a release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The containers, without their extensions, in order.
    pub containers: Vec<String>,
    /// A map's level file.
    pub level: Option<String>,
    /// A map's registration, where the folder has one.
    pub registration: Option<String>,
}

impl Selection {
    /// Chooses among `files`, paths relative to the folder; a folder without files ends in `/`. All that is
    /// wrong is found.
    pub fn of(kind: Kind, files: &[&str]) -> Result<Self, Vec<Finding>> {
        let names: BTreeSet<&str> = files.iter().copied().collect();
        let mut findings = match kind {
            Kind::ForgePack => strays(&names),
            _ => Vec::new(),
        };
        let mut selection = Self::default();
        if let Kind::Map(code) = kind {
            selection.take_map_files(code, &names, &mut findings);
        }
        let wanted = |stem: &&str| match kind {
            Kind::Map(code) => stem.ends_with(&format!("-{code}_P")) && !stem.contains("MJOLNIRREG"),
            _ => true,
        };
        let direct = || names.iter().copied().filter(|name| !name.contains('/'));
        for stem in direct().filter_map(|name| name.strip_suffix(".utoc")).filter(wanted) {
            if !names.contains(format!("{stem}.ucas").as_str()) {
                let finding = Finding::error(Code::OrphanUtoc, "its `.ucas` is missing");
                findings.push(finding.in_member(format!("{stem}.utoc")));
            }
            selection.containers.push(stem.to_owned());
        }
        for stem in direct().filter_map(|name| name.strip_suffix(".ucas")).filter(wanted) {
            if !names.contains(format!("{stem}.utoc").as_str()) {
                let finding = Finding::error(Code::OrphanUcas, "its `.utoc` is missing");
                findings.push(finding.in_member(format!("{stem}.ucas")));
            }
        }
        if selection.containers.is_empty() && findings.is_empty() {
            let named = match kind {
                Kind::Map(code) => format!(" whose name ends in `-{code}_P`"),
                _ => String::new(),
            };
            findings.push(Finding::error(Code::NoContent, format!("there is no container{named}")));
        }
        if findings.is_empty() { Ok(selection) } else { Err(findings) }
    }

    fn take_map_files(&mut self, code: MapCode, names: &BTreeSet<&str>, findings: &mut Vec<Finding>) {
        let levels: Vec<&str> = names
            .iter()
            .copied()
            .filter(|name| name.ends_with(".level.json") && !name.contains('/'))
            .collect();
        match levels.as_slice() {
            [level] => self.level = Some((*level).to_owned()),
            [] => {
                let message = "there is no `<name>.level.json`, which says what the map is";
                findings.push(Finding::error(Code::MapFileMissing, message));
            }
            several => {
                let message = format!("`{}`: only one level file is allowed", several.join("`, `"));
                findings.push(Finding::error(Code::BadMapFile, message));
            }
        }
        let registration = format!("{code}.registration.json");
        self.registration = Some(registration).filter(|name| names.contains(name.as_str()));
    }

    /// All chosen files, and the members that they become.
    pub fn members(&self) -> impl Iterator<Item = (String, String)> {
        let container = |extension: &'static str| {
            move |stem: &String| (format!("{stem}.{extension}"), format!("content/{stem}.{extension}"))
        };
        let map = [(&self.level, map_files::LEVEL), (&self.registration, map_files::REGISTRATION)];
        let map = map.into_iter().filter_map(|(file, member)| Some((file.clone()?, member.to_owned())));
        let tables = self.containers.iter().map(container("utoc"));
        tables.chain(self.containers.iter().map(container("ucas"))).chain(map)
    }
}

/// What may not be in the folder of a Forge pack.
fn strays(names: &BTreeSet<&str>) -> Vec<Finding> {
    let plain = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    let stray = |name: &str| {
        let (code, message) = match name.rsplit_once('.') {
            _ if name.contains('/') => (Code::BadPath, "a pack's folder has no sub-folders"),
            Some((stem, "pak")) if names.contains(format!("{stem}.utoc").as_str()) => return None,
            Some((_, "utoc" | "ucas")) if plain(name) => return None,
            Some((_, "utoc" | "ucas")) => (Code::BadPath, "only `A-Z a-z 0-9 . _ -` are allowed in its name"),
            Some((_, "pak")) => (Code::ForbiddenFile, "there is no `.utoc` of this name beside it"),
            _ => (Code::ForbiddenFile, "a pack's folder holds `.utoc` and `.ucas` files alone"),
        };
        Some(Finding::error(code, message).in_member(name))
    };
    names.iter().filter_map(|name| stray(name)).collect()
}

/// What a release needs to know of a level file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// The name in files and logs.
    pub name: Option<String>,
    /// The title in the game's menu.
    pub title: Option<String>,
    /// What it is, for the menu.
    pub description: Option<String>,
    /// The shipped mission that it is built on.
    pub scenario: Option<String>,
    /// The game types that it can be played with.
    pub modes: Vec<String>,
    /// The Forge packs that it was built with.
    pub packs: Vec<(String, Version)>,
}

impl Level {
    /// Reads the level file of a map for several players, or gives all its faults.
    pub fn read(bytes: &[u8]) -> Result<Self, Vec<Fault>> {
        let mut faults = Faults::default();
        let value = match parse(bytes, map_files::LONGEST) {
            Ok(value) => value,
            Err(message) => {
                faults.add("", message);
                return Err(faults.0);
            }
        };
        match read_level(&Cursor::root(&value), &mut faults) {
            Some(level) if faults.0.is_empty() => Ok(level),
            _ => Err(faults.0),
        }
    }

    /// The releases that the map needs: these versions of the runtime pack, and its Forge packs from the
    /// versions on that it was built with.
    pub fn deps(&self, runtime: Option<Range>) -> Vec<Dep> {
        let runtime = runtime.map(|range| Dep { slug: RUNTIME.to_owned(), range });
        let pack =
            |(slug, version): &(String, Version)| Dep { slug: slug.clone(), range: Range::from_on(version) };
        runtime.into_iter().chain(self.packs.iter().map(pack)).collect()
    }

    /// The text of the registration that the level's own words give; `None` where it does not say which
    /// mission it is built on.
    pub fn registration(&self, code: MapCode) -> Option<String> {
        #[derive(Serialize)]
        struct Form<'a> {
            code: String,
            from: String,
            title: Option<&'a str>,
            description: Option<&'a str>,
            world: String,
        }
        let form = Form {
            code: code.to_string(),
            from: self.scenario.as_ref()?.to_ascii_uppercase(),
            title: self.title.as_deref(),
            description: self.description.as_deref(),
            world: format!("/Game/Levels/Halo1/Solo/{code}/{code}.{code}"),
        };
        serde_json::to_string_pretty(&form).ok()
    }

    /// The title of the map: what `registration` says, else the level's name, else its code.
    pub fn title(&self, registration: &[u8], code: MapCode) -> String {
        let value = parse(registration, map_files::LONGEST).unwrap_or(Value::Null);
        let registered = Cursor::root(&value).field("title").as_text().map(str::to_owned);
        registered.or_else(|| self.name.clone()).unwrap_or_else(|| code.to_string())
    }
}

fn read_level(root: &Cursor<'_>, faults: &mut Faults) -> Option<Level> {
    root.object(faults)?;
    let multiplayer = root.field("multiplayer");
    if multiplayer.bool(faults) == Some(false) {
        faults.add(&multiplayer.at, "false found; only a map for several players can be a release");
    }
    let mut text = |parent: &Cursor<'_>, name| {
        parent.nullable(name).and_then(|field| field.text(0..=usize::MAX, faults)).map(str::to_owned)
    };
    let (name, title, description) = (text(root, "name"), text(root, "title"), text(root, "description"));
    let scenario = text(&root.field("canvas"), "scenario");
    let modes = match root.nullable("modes") {
        Some(field) => field
            .items(1..=usize::MAX, faults)?
            .iter()
            .filter_map(|mode| mode.text(1..=usize::MAX, faults).map(str::to_owned))
            .collect(),
        None => vec!["slayer".to_owned()],
    };
    let packs = root.field("blam").nullable("forge_packs");
    let packs = packs.map(|field| field.items(0..=usize::MAX, faults).unwrap_or_default());
    let mut found: Vec<(String, Version)> = Vec::new();
    for pack in packs.unwrap_or_default() {
        let slug = pack.field("slug").matching(is_slug, "a slug", faults);
        let version = pack.field("version");
        let exact = |text: &str| Version::parse(text).is_ok();
        let version = version.matching(exact, "an exact version", faults);
        let version = version.and_then(|text| Version::parse(text).ok());
        let pack = slug.map(str::to_owned).zip(version);
        found.extend(pack.filter(|(slug, _)| found.iter().all(|(known, _)| known != slug)));
    }
    Some(Level { name, title, description, scenario, modes, packs: found })
}

/// The slug of a map where no other is given: `ce-` and the words of its title.
pub fn map_slug(title: &str) -> String {
    let words = title.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    ["ce".to_owned()].into_iter().chain(words.map(str::to_ascii_lowercase)).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(kind: Kind, files: &[&str]) -> Vec<String> {
        match Selection::of(kind, files) {
            Ok(selection) => selection.members().map(|(file, member)| format!("{file} > {member}")).collect(),
            Err(findings) => findings
                .iter()
                .map(|finding| format!("{} {}", finding.code, finding.member.as_deref().unwrap_or("-")))
                .collect(),
        }
    }

    fn map() -> Kind {
        Kind::Map(MapCode::parse("BGL").unwrap())
    }

    #[test]
    fn a_map_takes_the_containers_of_its_code() {
        let files = [
            "b-BGL_P.utoc",
            "b-BGL_P.ucas",
            "b-BGL_P.pak",
            "a-BGL_P.utoc",
            "a-BGL_P.ucas",
            "pakchunk996-MJOLNIRREG-BGL_P.utoc",
            "c-DCN_P.utoc",
            "d-BGL.utoc",
            "below/e-BGL_P.utoc",
            "below/other.level.json",
            "BGL.registration.json",
            "DCN.registration.json",
            "gulch.level.json",
            "notes.txt",
        ];
        assert_eq!(
            said(map(), &files),
            [
                "a-BGL_P.utoc > content/a-BGL_P.utoc",
                "b-BGL_P.utoc > content/b-BGL_P.utoc",
                "a-BGL_P.ucas > content/a-BGL_P.ucas",
                "b-BGL_P.ucas > content/b-BGL_P.ucas",
                "gulch.level.json > map/level.json",
                "BGL.registration.json > map/registration.json",
            ]
        );
    }

    #[test]
    fn a_map_needs_one_level_and_whole_containers() {
        for (files, expected) in [
            (&["a-BGL_P.utoc", "a-BGL_P.ucas"][..], &["map_file_missing -"][..]),
            (&["x.level.json", "y.level.json", "a-BGL_P.utoc", "a-BGL_P.ucas"], &["bad_map_file -"]),
            (&["x.level.json", "a-BGL_P.utoc"], &["orphan_utoc a-BGL_P.utoc"]),
            (&["x.level.json", "a-BGL_P.ucas"], &["orphan_ucas a-BGL_P.ucas"]),
            (&["x.level.json", "a-DCN_P.utoc", "a-DCN_P.ucas"], &["no_content -"]),
            (&["a-BGL_P.utoc"], &["map_file_missing -", "orphan_utoc a-BGL_P.utoc"]),
        ] {
            assert_eq!(said(map(), files), expected);
        }
    }

    #[test]
    fn the_runtime_pack_takes_every_container() {
        let files = ["a.utoc", "a.ucas", "readme.txt", "a.pak", "below/b.utoc"];
        assert_eq!(said(Kind::Runtime, &files), ["a.utoc > content/a.utoc", "a.ucas > content/a.ucas"]);
        assert_eq!(said(Kind::Runtime, &["a.utoc"]), ["orphan_utoc a.utoc"]);
        assert_eq!(said(Kind::Runtime, &["a.ucas"]), ["orphan_ucas a.ucas"]);
        assert_eq!(said(Kind::Content, &["readme.txt"]), ["no_content -"]);
    }

    #[test]
    fn a_packs_folder_holds_its_containers_alone() {
        let good = ["a_P.utoc", "a_P.ucas", "a_P.pak"];
        assert_eq!(said(Kind::ForgePack, &good).len(), 2);
        for (file, expected) in [
            ("readme.txt", "forbidden_file readme.txt"),
            ("below/b.utoc", "bad_path below/b.utoc"),
            ("empty/", "bad_path empty/"),
            ("b.utoc", "orphan_utoc b.utoc"),
            ("b.ucas", "orphan_ucas b.ucas"),
            ("b.pak", "forbidden_file b.pak"),
            ("b.UTOC", "forbidden_file b.UTOC"),
            ("noext", "forbidden_file noext"),
            (".DS_Store", "forbidden_file .DS_Store"),
        ] {
            assert_eq!(said(Kind::ForgePack, &[&good[..], &[file]].concat()), [expected]);
        }
        let spaced = ["b c.utoc", "b c.ucas"];
        assert_eq!(said(Kind::ForgePack, &spaced), ["bad_path b c.ucas", "bad_path b c.utoc"]);
    }

    #[test]
    fn a_level_says_what_the_map_is() {
        let level = Level::read(
            br#"{"name":"gulch","title":"Test Gulch","description":null,"multiplayer":true,
                "canvas":{"scenario":"b40"},"blam":{"forge_packs":[
                {"slug":"foundry","version":"0.2.0","blocks":[]},{"slug":"foundry","version":"0.3.0"}]}}"#,
        )
        .unwrap();
        let code = MapCode::parse("BGL").unwrap();
        assert_eq!(level.modes, ["slayer"]);
        let deps = level.deps(Range::parse("^1.0.0").ok());
        let deps: Vec<_> = deps.iter().map(|dep| format!("{} {}", dep.slug, dep.range)).collect();
        assert_eq!(deps, ["mjolnir-ce-runtime ^1.0.0", "foundry ^0.2.0"]);
        let registration = level.registration(code).unwrap();
        assert_eq!(
            registration,
            r#"{
  "code": "BGL",
  "from": "B40",
  "title": "Test Gulch",
  "description": null,
  "world": "/Game/Levels/Halo1/Solo/BGL/BGL.BGL"
}"#
        );
        assert_eq!(level.title(registration.as_bytes(), code), "Test Gulch");
        assert_eq!(level.title(br#"{"title":null}"#, code), "gulch");
        let plain = Level::read(br#"{"multiplayer":true}"#).unwrap();
        assert_eq!(plain.title(b"{}", code), "BGL");
        assert_eq!(plain.registration(code), None);
    }

    #[test]
    fn a_level_of_another_form_has_all_its_faults() {
        let places = |text: &str| {
            let faults = Level::read(text.as_bytes()).unwrap_err();
            faults.into_iter().map(|fault| fault.at).collect::<Vec<_>>()
        };
        assert_eq!(places(r#"{"multiplayer":false}"#), ["/multiplayer"]);
        assert_eq!(places("{}"), ["/multiplayer"]);
        assert_eq!(places("[]"), [""]);
        assert_eq!(places("{"), [""]);
        assert_eq!(
            places(
                r#"{"multiplayer":1,"modes":[2],"canvas":{"scenario":3},
                "blam":{"forge_packs":[{"slug":"X","version":"^1"}]}}"#
            ),
            [
                "/multiplayer",
                "/canvas/scenario",
                "/modes/0",
                "/blam/forge_packs/0/slug",
                "/blam/forge_packs/0/version"
            ]
        );
    }

    #[test]
    fn slugs_of_titles() {
        for (title, slug) in [
            ("Test Gulch", "ce-test-gulch"),
            ("  It's  4 You! ", "ce-it-s-4-you"),
            ("Höhle", "ce-h-hle"),
            ("", "ce"),
        ] {
            assert_eq!(map_slug(title), slug);
        }
    }
}
