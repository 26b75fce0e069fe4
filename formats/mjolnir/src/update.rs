//! What a release owes to the other releases of the same thing.
//!
//! It compares what is known of them: manifests, and where there are records or archives, contents as well.
//! Which releases were published is for the caller to know. Whoever builds on the older of two releases finds
//! in the newer one all that it gave; so a release that is published below another is held to be kept by that
//! one. Builds of parts are never published, so nothing is held against them.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use std::collections::BTreeSet;

use crate::finding::{Code, Finding};
use crate::manifest::{Block, ForgePack, Manifest, Payload};
use crate::record::{Contents, RUNTIME, Record, package_id};
use crate::version::Version;

const MANIFEST: &str = "mjolnir.json";
const LEVEL: &str = crate::map_files::LEVEL;

/// What is known of a release.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// Its slug; that of a Forge pack is in its manifest.
    pub slug: Option<&'a str>,
    /// Its manifest.
    pub manifest: &'a Manifest,
    /// What is in its archive.
    pub contents: Option<&'a Contents>,
}

impl<'a> From<&'a Manifest> for Known<'a> {
    fn from(manifest: &'a Manifest) -> Self {
        Self { slug: None, manifest, contents: None }
    }
}

impl<'a> From<&'a Record> for Known<'a> {
    fn from(record: &'a Record) -> Self {
        let Record { slug, manifest, contents } = record;
        Self { slug: Some(slug), manifest, contents: Some(contents) }
    }
}

impl<'a> Known<'a> {
    /// The slug, where it is known.
    pub fn slug(&self) -> Option<&'a str> {
        self.slug.or(self.pack().map(|pack| pack.id.as_str()))
    }

    fn pack(&self) -> Option<&'a ForgePack> {
        match &self.manifest.payload {
            Payload::ForgePack(pack) => Some(pack),
            _ => None,
        }
    }

    fn version(&self) -> &'a Version {
        &self.manifest.version
    }

    /// What people call it.
    fn named(&self) -> String {
        let name = self.slug().unwrap_or(&self.manifest.name);
        format!("release {} of `{name}`", self.version())
    }

    fn is_published_build(&self) -> bool {
        self.manifest.marks.is_empty()
    }
}

/// Checks `new` against other releases of the same thing, older and newer ones. Those of another slug are
/// passed over.
pub fn check<'a>(
    new: impl Into<Known<'a>>,
    others: impl IntoIterator<Item = impl Into<Known<'a>>>,
) -> Vec<Finding> {
    let new = new.into();
    let mut findings = Vec::new();
    for other in others.into_iter().map(Into::into) {
        let another = new.slug().zip(other.slug()).is_some_and(|(new, other)| new != other);
        if another || new.manifest.marks.reduced || other.manifest.marks.reduced {
            continue;
        }
        let same = new.version() == other.version();
        if same {
            findings.extend(changed(new, other));
        }
        // What is built from stand-ins is no release yet, and may be built otherwise.
        if same && !(new.is_published_build() && other.is_published_build()) {
            continue;
        }
        let pair = if other.version() <= new.version() {
            Pair { older: other, newer: new, new_is_newer: true }
        } else {
            Pair { older: new, newer: other, new_is_newer: false }
        };
        pair.palettes(&mut findings);
        if new.version().line() == other.version().line() {
            pair.catalogs(&mut findings);
            pair.runtimes(&mut findings);
        }
    }
    findings
}

/// Two builds of one version. Only where both are known to be for different builds of the game may they
/// differ.
fn changed(new: Known<'_>, other: Known<'_>) -> Option<Finding> {
    let (ours, theirs) = new.contents.zip(other.contents)?;
    let elsewhere = ours.game.as_ref().zip(theirs.game.as_ref()).is_some_and(|(new, other)| new != other);
    if elsewhere || !new.is_published_build() || !other.is_published_build() || ours.members == theirs.members
    {
        return None;
    }
    let names: BTreeSet<&String> = ours.members.keys().chain(theirs.members.keys()).collect();
    let differ = names.into_iter().filter(|name| ours.members.get(*name) != theirs.members.get(*name));
    let message = format!("{} was released with other members: {}", new.named(), listed(differ));
    let help = "the bytes of a released version never change: raise the version";
    Some(Finding::error(Code::ReleaseChanged, message).help(help))
}

/// Up to three of them, in backticks.
fn listed<'a>(names: impl Iterator<Item = &'a String>) -> String {
    const SHOWN: usize = 3;
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    let more = match names.len().saturating_sub(SHOWN) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    format!("{}{more}", names.get(..SHOWN).unwrap_or(&names).join(", "))
}

/// Two releases of one thing, of which the newer must keep what the older gave.
struct Pair<'a> {
    older: Known<'a>,
    newer: Known<'a>,
    /// Whether the release that is checked is the newer one, as usual.
    new_is_newer: bool,
}

impl Pair<'_> {
    /// What to do: `undo` says how to keep to the line in the newer release.
    fn help(&self, what: &str, undo: &str) -> String {
        let line = self.newer.version().line();
        let (range, next) = (line.range(), line.next().first());
        let (older, newer) = (self.older.version(), self.newer.version());
        match self.new_is_newer {
            true => format!("within {range} {what}: start {next}, or {undo}"),
            false => format!(
                "within {range} {what}: {newer} is published, so {older} can only give what {newer} keeps"
            ),
        }
    }

    /// Forge packs: every entry of the older one is in the newer one, in the same size and on the same grid.
    fn catalogs(&self, findings: &mut Vec<Finding>) {
        let (Some(old_pack), new_pack) = (self.older.pack(), self.newer.pack()) else { return };
        let (older, newer, checked) = (self.older.version(), self.newer.version(), self.newer.named());
        let mut add = |message: String, pointer: String, undo: &str| {
            let what = "every entry must stay (same id, kind, dimensions, snap)";
            let finding = Finding::error(Code::ForgeLineBreak, message).help(self.help(what, undo));
            findings.push(finding.in_member(MANIFEST).at(pointer));
        };
        let Some(new_pack) = new_pack else {
            let message = format!("{checked} has no catalog, {older} has one");
            return add(message, "/forge_pack".to_owned(), "bring it back");
        };
        for (old_index, block) in old_pack.blocks.iter().enumerate() {
            let id = &block.id;
            let kept = new_pack.blocks.iter().enumerate().find(|(_, other)| other.id == *id);
            let pointer = |field: &str| {
                let own = if self.new_is_newer { kept.map(|(index, _)| index) } else { Some(old_index) };
                own.map_or("/forge_pack/blocks".to_owned(), |index| {
                    format!("/forge_pack/blocks/{index}{field}")
                })
            };
            let Some((_, kept)) = kept else {
                let message = match self.new_is_newer {
                    true => format!("{checked} drops block `{id}` of {older}"),
                    false => format!("{} brings block `{id}`, which {newer} lacks", self.older.named()),
                };
                add(message, pointer(""), "bring it back");
                continue;
            };
            let dimensions = |block: &Block| block.dimensions_m.map(|side| side.to_string()).join(" × ");
            if kept.dimensions_m != block.dimensions_m {
                let (is, was) = (dimensions(kept), dimensions(block));
                let message = format!("{checked} makes block `{id}` {is} m, it is {was} m in {older}");
                add(message, pointer("/dimensions_m"), "give it its size back");
            }
            let snap = |block: &Block| block.snap_m.map_or("no grid".to_owned(), |snap| format!("{snap} m"));
            if kept.snap_m != block.snap_m {
                let (is, was) = (snap(kept), snap(block));
                let message = format!("{checked} snaps block `{id}` to {is}, {older} to {was}");
                add(message, pointer("/snap_m"), "give it its grid back");
            }
        }
    }

    /// Maps: the palette of the older one is the beginning of the newer one's. This holds in all versions:
    /// saved layouts know places in the palette, and no version of the map.
    fn palettes(&self, findings: &mut Vec<Finding>) {
        let is_map = |known: &Known<'_>| matches!(known.manifest.payload, Payload::Map(_));
        let (Some(older), Some(newer)) = (self.older.contents, self.newer.contents) else { return };
        if !is_map(&self.older) || !is_map(&self.newer) {
            return;
        }
        let mut places = older.palette.iter().enumerate();
        let moved = places.find(|(index, entry)| newer.palette.get(*index) != Some(entry));
        let Some((index, entry)) = moved else { return };
        let (named, version) = (self.newer.named(), self.older.version());
        let found = match newer.palette.get(index) {
            Some(other) => format!("binds `{}` at place {index} of its packs' palette", other.tag()),
            None => format!("has no place {index} in its packs' palette"),
        };
        let message = format!("{named} {found}, {version} binds `{}` there", entry.tag());
        let help = "saved layouts know pieces by their place: keep packs and blocks in their order, append new ones \
                    at the end";
        findings.push(Finding::error(Code::MapPaletteBreak, message).in_member(LEVEL).help(help));
    }

    /// The runtime pack: maps refer to its packages and set parameters of its masters.
    fn runtimes(&self, findings: &mut Vec<Finding>) {
        let (Some(older), Some(newer)) = (self.older.contents, self.newer.contents) else { return };
        if self.older.slug() != Some(RUNTIME) || self.newer.slug() != Some(RUNTIME) {
            return;
        }
        let (named, version) = (self.newer.named(), self.older.version());
        let has: BTreeSet<_> = newer.packages.iter().filter_map(|text| package_id(text)).collect();
        let gone = |text: &&String| package_id(text).is_some_and(|id| !has.contains(&id));
        for package in older.packages.iter().filter(gone) {
            let message = format!("{named} lacks package `{package}` of {version}");
            let help = self.help("nothing that maps refer to may vanish", "bring it back");
            findings.push(Finding::error(Code::RuntimeLineBreak, message).help(help));
        }
        for (master, names) in &older.masters {
            let Some(kept) = newer.masters.get(master) else { continue };
            let lost: Vec<&String> = names.difference(kept).collect();
            if !lost.is_empty() {
                let lost = listed(lost.into_iter());
                let message = format!("`{master}` of {named} no longer names {lost}, as {version} does");
                let help = "if one of them is a parameter that maps set, the line is broken: an archive does not tell \
                            parameters from other names";
                findings.push(Finding::warning(Code::RuntimeLineBreak, message).help(help));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map_files::PaletteEntry;
    use crate::signature::Sha256Digest;

    fn release(version: &str, blocks: &[(&str, f64)]) -> Manifest {
        let blocks: Vec<String> = blocks
            .iter()
            .map(|(id, side)| {
                format!(
                    r#"{{"id":"{id}","name":"n","tag":"objects\\mjolnir\\forge\\aa\\{id}","category":"c",
                        "dimensions_m":[{side},1,1],"snap_m":{side}}}"#
                )
            })
            .collect();
        let text = format!(
            r#"{{"schema_version":1,"name":"n","version":"{version}","type":"content",
                "forge_pack":{{"schema_version":1,"id":"aa","blocks":[{}]}}}}"#,
            blocks.join(",")
        );
        Manifest::read(text.as_bytes()).unwrap()
    }

    fn content(version: &str) -> Manifest {
        let text = format!(r#"{{"schema_version":1,"name":"n","version":"{version}","type":"content"}}"#);
        Manifest::read(text.as_bytes()).unwrap()
    }

    fn map(version: &str) -> Manifest {
        let text = format!(
            r#"{{"schema_version":1,"name":"n","version":"{version}","type":"map",
                "map":{{"code":"BGL","title":"t","modes":["slayer"]}}}}"#
        );
        Manifest::read(text.as_bytes()).unwrap()
    }

    fn record(slug: &str, manifest: Manifest, change: impl FnOnce(&mut Contents)) -> Record {
        let mut contents = Contents::default();
        contents.members.insert("mjolnir.json".to_owned(), Sha256Digest::of(b"1"));
        change(&mut contents);
        Record { slug: slug.to_owned(), manifest, contents }
    }

    fn said(new: &Record, other: &Record) -> Vec<String> {
        let findings = check(new, [other]);
        let said = |finding: &Finding| format!("{:?} {}: {}", finding.level, finding.code, finding.message);
        findings.iter().map(said).collect()
    }

    #[test]
    fn a_line_keeps_what_it_gave_in_both_directions() {
        let (one, two) = ([("a", 1.0)], [("a", 1.0), ("b", 1.0)]);
        for (version, blocks, published, breaks) in [
            ("0.2.1", &two[..], ("0.2.0", &one[..]), 0),
            ("0.2.1", &one, ("0.2.0", &two), 1),
            ("0.2.1", &[("a", 2.0)], ("0.2.0", &one), 2),
            ("0.3.0", &one, ("0.2.0", &two), 0),
            ("0.2.0", &two, ("0.2.1", &one), 1),
            ("0.2.0", &one, ("0.2.1", &two), 0),
            ("0.2.0-rc.1", &two, ("0.2.0", &one), 1),
            ("0.2.0", &one, ("0.2.0", &two), 1),
        ] {
            let (new, other) = (release(version, blocks), release(published.0, published.1));
            let found = check(&new, [&other]);
            assert_eq!(found.len(), breaks, "{version} after {}: {found:?}", published.0);
        }
    }

    #[test]
    fn breaks_are_named_with_their_place_and_a_way_out() {
        let old = release("0.2.0", &[("rail_2m", 1.0), ("deck", 4.0)]);
        let new = release("0.2.1", &[("deck", 2.5)]);
        let found = check(&new, [&old]);
        let found: Vec<_> =
            found.iter().map(|finding| (finding.message.as_str(), finding.at.as_deref())).collect();
        assert_eq!(
            found,
            [
                ("release 0.2.1 of `aa` drops block `rail_2m` of 0.2.0", Some("/forge_pack/blocks")),
                (
                    "release 0.2.1 of `aa` makes block `deck` 2.5 × 1 × 1 m, it is 4 × 1 × 1 m in 0.2.0",
                    Some("/forge_pack/blocks/0/dimensions_m")
                ),
                (
                    "release 0.2.1 of `aa` snaps block `deck` to 2.5 m, 0.2.0 to 4 m",
                    Some("/forge_pack/blocks/0/snap_m")
                ),
            ]
        );
        let help = check(&new, [&old]).remove(0).help.unwrap();
        assert_eq!(
            help,
            "within ^0.2.0 every entry must stay (same id, kind, dimensions, snap): start 0.3.0, or bring it back"
        );
        let below = check(&old, [&new]).remove(0);
        assert_eq!(below.message, "release 0.2.0 of `aa` brings block `rail_2m`, which 0.2.1 lacks");
        assert_eq!(below.at.as_deref(), Some("/forge_pack/blocks/0"));
    }

    #[test]
    fn a_pack_stays_a_pack_and_others_are_passed_over() {
        let (pack, plain) = (release("1.0.0", &[("a", 1.0)]), content("1.1.0"));
        assert_eq!(check(&plain, [&pack]).len(), 1);
        assert_eq!(check(&pack, [&plain]).len(), 1, "the newer one has no catalog");
        let other = record("bb", content("1.1.0"), |_| ());
        assert_eq!(check(&other, [&pack]), []);
        let mut reduced = release("1.1.0", &[("b", 1.0)]);
        reduced.marks.reduced = true;
        assert_eq!(check(&reduced, [&pack]), []);
    }

    #[test]
    fn an_earlier_palette_is_the_beginning_of_a_later_one_in_all_versions() {
        let with = |version: &str, blocks: &[&str]| {
            let entry = |block: &&str| PaletteEntry { pack: "aa".to_owned(), block: (*block).to_owned() };
            record("ce-map", map(version), |contents| contents.palette = blocks.iter().map(entry).collect())
        };
        let base = with("1.0.0", &["a", "b"]);
        for (version, blocks, breaks) in [
            ("1.1.0", &["a", "b", "c"][..], 0),
            ("1.1.0", &["a", "b"], 0),
            ("1.1.0", &["b", "a"], 1),
            ("1.1.0", &["a"], 1),
            ("2.0.0", &["c", "a", "b"], 1),
            ("0.9.0", &["a"], 0),
            ("0.9.0", &["a", "b", "c"], 1),
        ] {
            assert_eq!(said(&with(version, blocks), &base).len(), breaks, "{version} {blocks:?}");
        }
        assert_eq!(
            said(&with("1.1.0", &["a", "c"]), &base),
            [
                r"Error map_palette_break: release 1.1.0 of `ce-map` binds `objects\mjolnir\forge\aa\c` at place 1 of its packs' palette, 1.0.0 binds `objects\mjolnir\forge\aa\b` there"
            ]
        );
    }

    #[test]
    fn nothing_of_the_runtime_vanishes_within_its_line() {
        let with = |slug: &str, version: &str, packages: &[&str], names: &[&str]| {
            record(slug, content(version), |contents| {
                contents.packages = packages.iter().map(|path| (*path).to_owned()).collect();
                let names = names.iter().map(|name| (*name).to_owned()).collect();
                contents.masters.insert("/Game/MJOLNIR/CE/M_CE_Water".to_owned(), names);
            })
        };
        let base = with(RUNTIME, "1.0.0", &["/Game/A", "/Game/B"], &["Ripple"]);
        let id = iostore::PackageId::of_name("/Game/B").to_string();
        assert_eq!(said(&with(RUNTIME, "1.1.0", &["/Game/A", &id], &["Ripple", "New"]), &base), [""; 0]);
        assert_eq!(
            said(&with(RUNTIME, "1.1.0", &["/Game/A"], &[]), &base),
            [
                "Error runtime_line_break: release 1.1.0 of `mjolnir-ce-runtime` lacks package `/Game/B` of 1.0.0",
                "Warning runtime_line_break: `/Game/MJOLNIR/CE/M_CE_Water` of release 1.1.0 of `mjolnir-ce-runtime` \
                 no longer names `Ripple`, as 1.0.0 does",
            ]
        );
        assert_eq!(said(&with(RUNTIME, "2.0.0", &[], &[]), &base), [""; 0]);
        let other = with("other", "1.0.0", &["/Game/A"], &[]);
        assert_eq!(said(&with("other", "1.1.0", &[], &[]), &other), [""; 0]);
    }

    #[test]
    fn a_version_is_released_once() {
        let with = |member: &str, game: Option<&str>| {
            record("aa", content("1.0.0"), |contents| {
                contents.members.insert(member.to_owned(), Sha256Digest::of(b"2"));
                contents.game = game.map(str::to_owned);
            })
        };
        let base = with("a", Some("game 1"));
        assert_eq!(
            said(&with("b", Some("game 1")), &base),
            ["Error release_changed: release 1.0.0 of `aa` was released with other members: `a`, `b`"]
        );
        assert_eq!(said(&with("b", None), &base).len(), 1, "nothing says that it is for another build");
        assert_eq!(said(&with("b", Some("game 2")), &base), [""; 0]);
        assert_eq!(said(&base, &base), [""; 0]);
        let mut stand_in = with("b", Some("game 1"));
        stand_in.manifest.marks.stand_ins = vec!["game".to_owned()];
        assert_eq!(said(&stand_in, &base), [""; 0]);
        assert_eq!(said(&base, &stand_in), [""; 0]);
    }
}
