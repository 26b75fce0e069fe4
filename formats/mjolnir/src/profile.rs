//! What a set of enabled releases may hold together: limits of the game's simulation and of its loader, over
//! all Forge packs, over each map with them, and over the files in the Paks folder.
//!
//! It judges releases side by side, not one by one: that each is sound is [`crate::scan`]'s affair, and what
//! is not sound counts for nothing here. It does not choose versions.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use std::collections::{BTreeMap, BTreeSet};

use iostore::ChunkType;

use crate::companions::paks_name;
use crate::finding::{Code, Finding};
use crate::json::{Cursor, Faults, Value, parse};
use crate::manifest::{Block, ForgePack, Manifest, Payload};
use crate::map_files;
use crate::path;
use crate::zip::{Archive, Member};

/// The most blocks in the catalogs of all packs.
pub const BLOCKS: usize = 4096;
/// The most blocks with a door in all packs.
pub const DOORS: usize = 256;
/// The most doors, lights and lifts that are placed at once.
pub const ACTIVE_DOORS: usize = 128;
/// See [`ACTIVE_DOORS`].
pub const ACTIVE_LIGHTS: usize = 64;
/// See [`ACTIVE_DOORS`].
pub const ACTIVE_LIFTS: usize = 64;
/// The most classes of lifts: the first ones by their sorted paths count, the rest does not lift.
pub const LIFT_CLASSES: usize = 16;
/// The most packs that a map may build on.
pub const PACKS: usize = 63;
/// The most blocks of packs that a map may list.
pub const REFERENCES: usize = 200;
/// The most entries of a map's palette, standard objects included.
pub const PALETTE: usize = 255;

/// The reasons of [`Code::ProfileLimit`].
pub const REASONS: [&str; 9] = [
    "blocks",
    "doors",
    "lift_classes",
    "packs",
    "references",
    "palette",
    "active_doors",
    "active_lights",
    "active_lifts",
];

/// What one release brings.
#[derive(Clone, Debug)]
pub struct Part {
    /// What messages call it.
    name: String,
    pack: Option<ForgePack>,
    /// The containers that are installed: stem, and whether there is a shader library in it. Sorted.
    containers: Vec<(String, bool)>,
    level: Option<Level>,
}

/// What a map uses.
#[derive(Clone, Debug, Default)]
struct Level {
    packs: BTreeSet<String>,
    references: usize,
    /// Entries that placed standard objects have in its palette.
    standard: usize,
    /// How often a block of a pack is placed, by its tag.
    placed: BTreeMap<String, usize>,
}

impl Part {
    /// What the archive `bytes` brings; `None` if it cannot be read. `name` is what messages call it.
    pub fn read(name: &str, bytes: &[u8]) -> Option<Self> {
        let archive = Archive::read(bytes).ok()?;
        let manifest = Manifest::read(&archive.member("mjolnir.json")?.read()).ok()?;
        let level = archive.member(map_files::LEVEL).and_then(|member| Level::read(&member.read()));
        let is_map = matches!(manifest.payload, Payload::Map(_));
        let mut containers: Vec<_> = archive.members().filter_map(container).collect();
        containers.sort();
        Some(Self {
            name: name.to_owned(),
            pack: match manifest.payload {
                Payload::ForgePack(pack) => Some(pack),
                Payload::Map(_) | Payload::Content => None,
            },
            containers,
            level: level.filter(|_| is_map),
        })
    }
}

/// The stem of a container that would be installed, and whether it has a shader library.
fn container(member: &Member<'_>) -> Option<(String, bool)> {
    let name = member.name();
    let stem = name.strip_prefix("content/")?.strip_suffix(".utoc")?;
    path::check(member.name_bytes()).ok()?;
    // How long the other half is, is not asked here.
    let toc = iostore::check::toc_structure(&member.read(), u64::MAX).ok()?;
    let library = toc.chunk_ids.iter().any(|id| id.kind() == ChunkType::ShaderCodeLibrary);
    Some((stem.to_owned(), library))
}

impl Level {
    fn read(bytes: &[u8]) -> Option<Self> {
        let value = parse(bytes, map_files::LONGEST).ok()?;
        Some(Self::of(&value))
    }

    /// Passes over what is not as it should be: the bake refuses it.
    fn of(value: &Value) -> Self {
        let mut level = Self::default();
        let blam = Cursor::root(value).field("blam");
        let mut custom: BTreeSet<String> = BTreeSet::new();
        for pack in items(blam.field("forge_packs")) {
            level.packs.extend(pack.field("slug").as_text().map(str::to_owned));
            let blocks = items(pack.field("blocks"));
            level.references = level.references.saturating_add(blocks.len());
            custom.extend(blocks.iter().filter_map(|block| block.field("tag").as_text().map(str::to_owned)));
        }
        let mut standard: BTreeSet<(&str, String, String)> = BTreeSet::new();
        for (list, key) in
            [("vehicles", "type"), ("weapons", "type"), ("equipment", "type"), ("objects", "tag")]
        {
            for object in items(blam.field(list)) {
                let Some(what) = object.field(key).as_text() else { continue };
                if custom.contains(what) {
                    let count = level.placed.entry(what.to_owned()).or_default();
                    *count = count.saturating_add(1);
                    continue;
                }
                let variant = object.field("set").field("permutation data.variant name");
                let variant = variant.as_text().unwrap_or_default().to_owned();
                standard.insert((list, what.to_ascii_lowercase(), variant));
            }
        }
        level.standard = standard.len();
        level
    }
}

/// The items of an array; none of what is no array, or so long that no level has it.
fn items(cursor: Cursor<'_>) -> Vec<Cursor<'_>> {
    cursor.items(0..=4096, &mut Faults::default()).unwrap_or_default()
}

/// Checks the releases together, in the order in which they are enabled.
pub fn check(parts: &[Part]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let packs: Vec<&ForgePack> = parts.iter().filter_map(|part| part.pack.as_ref()).collect();
    check_packs(&packs, &mut findings);
    for part in parts {
        if let Some(level) = &part.level {
            check_level(&part.name, level, &packs, &mut findings);
        }
    }
    check_libraries(parts, &mut findings);
    findings
}

fn over(reason: &'static str, message: String) -> Finding {
    Finding::error(Code::ProfileLimit, message).because(reason)
}

/// A finding if `found` is more than `most`.
fn limit(found: usize, most: usize, reason: &'static str, what: &str, findings: &mut Vec<Finding>) {
    if found > most {
        findings.push(over(reason, format!("{found} {what}; at most {most} are allowed")));
    }
}

fn check_packs(packs: &[&ForgePack], findings: &mut Vec<Finding>) {
    let mut ids: BTreeSet<&str> = BTreeSet::new();
    for pack in packs {
        if !ids.insert(&pack.id) {
            let message = format!("`{}` is there twice; only one release of a pack can be enabled", pack.id);
            findings.push(Finding::error(Code::PackTwice, message));
        }
    }
    let blocks = || packs.iter().flat_map(|pack| pack.blocks.iter().map(move |block| (*pack, block)));
    let n = blocks().count();
    limit(n, BLOCKS, "blocks", "blocks in the catalogs of all packs", findings);
    let doors = blocks().filter(|(_, block)| block.door.is_some()).count();
    limit(doors, DOORS, "doors", "blocks with a door in all packs", findings);
    let lifts: BTreeSet<String> = blocks()
        .filter(|(_, block)| block.lift.is_some())
        .map(|(pack, block)| format!("{}/{}", pack.id, block.id))
        .collect();
    if lifts.len() > LIFT_CLASSES {
        let rest: Vec<&str> = lifts.iter().skip(LIFT_CLASSES).map(String::as_str).collect();
        let message = format!(
            "{} classes of lifts in all packs; only the first {LIFT_CLASSES} by their sorted paths lift, not `{}`",
            lifts.len(),
            rest.join("`, `")
        );
        findings.push(over("lift_classes", message));
    }
}

fn check_level(name: &str, level: &Level, packs: &[&ForgePack], findings: &mut Vec<Finding>) {
    limit(level.packs.len(), PACKS, "packs", &format!("Forge packs in `{name}`"), findings);
    limit(level.references, REFERENCES, "references", &format!("blocks of packs in `{name}`"), findings);
    let palette = level.standard.saturating_add(level.references);
    let what = format!("entries in the palette of `{name}`, {} of packs", level.references);
    limit(palette, PALETTE, "palette", &what, findings);
    for slug in &level.packs {
        if !packs.iter().any(|pack| pack.id == *slug) {
            let message = format!(
                "`{name}` builds on `{slug}`, which is not here: its doors, lights and lifts are not counted"
            );
            findings.push(Finding::warning(Code::PackNotHere, message));
        }
    }
    let placed = |has: fn(&Block) -> bool| {
        packs
            .iter()
            .flat_map(|pack| pack.blocks.iter().map(move |block| (pack, block)))
            .filter(|(_, block)| has(block))
            .filter_map(|(pack, block)| level.placed.get(&pack.tag(&block.id)))
            .fold(0usize, |sum, count| sum.saturating_add(*count))
    };
    for (has, most, reason, what) in [
        ((|block| block.door.is_some()) as fn(&Block) -> bool, ACTIVE_DOORS, "active_doors", "doors"),
        (|block| block.light.is_some(), ACTIVE_LIGHTS, "active_lights", "lights"),
        (|block| block.lift.is_some(), ACTIVE_LIFTS, "active_lifts", "lifts"),
    ] {
        limit(placed(has), most, reason, &format!("{what} placed in `{name}`"), findings);
    }
}

/// The engine opens a shader library by the number in its container's name, so two on one number hide each
/// other.
fn check_libraries(parts: &[Part], findings: &mut Vec<Finding>) {
    let mut numbers: BTreeMap<String, String> = BTreeMap::new();
    for (position, part) in parts.iter().enumerate() {
        for (index, (stem, library)) in part.containers.iter().enumerate() {
            if !library {
                continue;
            }
            let installed = paks_name("x", position, stem, index, true);
            let number = installed.split('-').next().unwrap_or_default().to_owned();
            let here = format!("`{stem}` of `{}`", part.name);
            if let Some(other) = numbers.get(&number) {
                let message = format!("{here} and {other} both have a shader library on `{number}`");
                findings.push(Finding::error(Code::ShaderLibraryClash, message));
            } else {
                numbers.insert(number, here);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::{Door, Lift, Light};

    const LIGHT: Light = Light { offset_m: [0.0; 3], color_rgb: [1.0; 3], intensity_cd: 1.0, radius_m: 1.0 };
    const LIFT: Lift = Lift {
        offset_m: [0.0; 3],
        size_m: [1.0; 3],
        direction: [0.0, 0.0, 1.0],
        acceleration_m_s2: 1.0,
        max_speed_m_s: 1.0,
        negates_gravity: false,
    };
    const DOOR: Door = Door { travel_m: 1.0, speed_m_s: 1.0, trigger_size_m: [1.0; 3], hold_open_s: 0.0 };

    /// A pack of `count` blocks with all utilities.
    fn pack(id: &str, count: usize) -> Part {
        let block = |index| Block {
            id: format!("b{index:04}"),
            name: "Block".to_owned(),
            category: "blocks".to_owned(),
            dimensions_m: [1.0; 3],
            snap_m: None,
            light: Some(LIGHT),
            lift: Some(LIFT),
            door: Some(DOOR),
            surfaces: Vec::new(),
        };
        let pack = ForgePack { id: id.to_owned(), blocks: (0..count).map(block).collect() };
        Part { name: id.to_owned(), pack: Some(pack), containers: Vec::new(), level: None }
    }

    fn plain(id: &str, count: usize) -> Part {
        let mut part = pack(id, count);
        for block in part.pack.iter_mut().flat_map(|pack| &mut pack.blocks) {
            (block.light, block.lift, block.door) = (None, None, None);
        }
        part
    }

    fn map(level: &str) -> Part {
        let level = Level::read(level.as_bytes());
        assert!(level.is_some(), "a level that parses");
        Part { name: "map".to_owned(), pack: None, containers: Vec::new(), level }
    }

    fn library(name: &str, stem: &str) -> Part {
        let containers = vec![(stem.to_owned(), true), ("z".to_owned(), false)];
        Part { name: name.to_owned(), pack: None, containers, level: None }
    }

    #[track_caller]
    fn found(parts: &[Part], expected: &[&str]) {
        let findings = check(parts);
        let codes: Vec<_> =
            findings.iter().map(|finding| finding.reason.unwrap_or(finding.code.token())).collect();
        assert_eq!(codes, expected, "{findings:#?}");
    }

    #[test]
    fn limits_over_packs() {
        let many = |count: usize| -> Vec<Part> {
            let full = (0..count / 256).map(|index| plain(&format!("pack-{index}"), 256));
            full.chain([plain("rest", count % 256)]).collect()
        };
        found(&many(BLOCKS), &[]);
        found(&many(BLOCKS + 1), &["blocks"]);
        let lifts = |count| {
            let mut part = pack("lifts", count);
            part.pack.iter_mut().flat_map(|pack| &mut pack.blocks).for_each(|block| block.door = None);
            part
        };
        found(&[lifts(LIFT_CLASSES)], &[]);
        found(&[lifts(LIFT_CLASSES + 1)], &["lift_classes"]);
        // The seventeenth by path is the first pack's last: packs are sorted, whatever their order is.
        let message = check(&[lifts(10), pack("a-lifts", 7)]).remove(0).message;
        assert!(message.ends_with("not `lifts/b0009`"), "{message}");
        let doors = |count| {
            let mut part = pack("doors", count);
            part.pack.iter_mut().flat_map(|pack| &mut pack.blocks).for_each(|block| block.lift = None);
            part
        };
        found(&[doors(DOORS)], &[]);
        found(&[doors(DOORS + 1)], &["doors"]);
        found(&[plain("one", 1), plain("one", 1)], &["pack_twice"]);
    }

    #[test]
    fn limits_over_a_map() {
        let level = |packs: usize, blocks: usize, standard: usize| {
            let pack = |index: usize| {
                let blocks = if index == 0 { blocks } else { 1 };
                let block = r#"{"tag":"t"}"#;
                format!(r#"{{"slug":"pack-{index}","blocks":[{}]}}"#, vec![block; blocks].join(","))
            };
            let packs: Vec<_> = (0..packs).map(pack).collect();
            let weapons: Vec<_> = (0..standard).map(|index| format!(r#"{{"type":"w{index}"}}"#)).collect();
            map(&format!(
                r#"{{"blam":{{"forge_packs":[{}],"weapons":[{}]}}}}"#,
                packs.join(","),
                weapons.join(",")
            ))
        };
        let with = |map: Part, packs: usize| -> Vec<Part> {
            (0..packs).map(|index| plain(&format!("pack-{index}"), 1)).chain([map]).collect()
        };
        found(&with(level(PACKS, 138, 55), PACKS), &[]);
        found(&with(level(PACKS + 1, 1, 0), PACKS + 1), &["packs"]);
        found(&with(level(1, REFERENCES + 1, 54), 1), &["references"]);
        found(&with(level(1, REFERENCES, 56), 1), &["palette"]);
        found(&with(level(2, 1, 0), 1), &["pack_not_here"]);
    }

    #[test]
    fn what_is_placed_counts() {
        let placed = |count: usize| {
            let tag = r"objects\\mjolnir\\forge\\foundry\\b0000";
            let object = format!(r#"{{"tag":"{tag}","group":"crates"}}"#);
            map(&format!(
                r#"{{"blam":{{"forge_packs":[{{"slug":"foundry","blocks":[{{"id":"b0000","tag":"{tag}"}}]}}],
                    "objects":[{}]}}}}"#,
                vec![object; count].join(",")
            ))
        };
        found(&[pack("foundry", 1), placed(ACTIVE_LIGHTS)], &[]);
        found(&[pack("foundry", 1), placed(ACTIVE_LIGHTS + 1)], &["active_lights", "active_lifts"]);
        found(
            &[pack("foundry", 1), placed(ACTIVE_DOORS + 1)],
            &["active_doors", "active_lights", "active_lifts"],
        );
        found(&[plain("foundry", 1), placed(ACTIVE_DOORS + 1)], &[]);
    }

    #[test]
    fn a_palette_has_an_entry_for_each_object_and_variant() {
        let level = Level::read(
            br#"{"blam":{"vehicles":[{"type":"ghost"},{"type":"Ghost"},{"type":"warthog"}],
                "weapons":[{"type":"ghost"}],
                "objects":[{"tag":"objects\\a"},{"tag":"objects\\a","set":{"permutation data.variant name":"v"}}]}}"#,
        );
        assert_eq!(level.map(|level| level.standard), Some(5));
    }

    #[test]
    fn shader_libraries_need_numbers_of_their_own() {
        let first = library("one", "pakchunk988-MJOLNIRMAT-Windows");
        found(&[first.clone(), library("two", "pakchunk989-X_P")], &[]);
        found(&[first.clone(), library("two", "pakchunk988-X_P")], &["shader_library_clash"]);
        // Without a number of its own a container gets its release's.
        found(&[first, library("two", "X_P")], &[]);
        found(&[library("one", "pakchunk901-X_P"), library("two", "X_P")], &["shader_library_clash"]);
    }
}
