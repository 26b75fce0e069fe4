//! `map/level.json` and `map/registration.json`, as far as a release's checks read them.
//!
//! The level file is the game loader's and archived byte for byte; only the Forge packs that it builds on
//! are looked at here.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use crate::finding::{Code, Finding};
use crate::json::{Cursor, Fault, Faults, parse};
use crate::manifest::{Dep, MapCode, block_tag, is_block_id, is_slug};
use crate::version::Version;

/// The level file's member.
pub const LEVEL: &str = "map/level.json";
/// The registration's member.
pub const REGISTRATION: &str = "map/registration.json";

pub(crate) const LONGEST: usize = 32 << 20;
const PACKS: usize = 63;
const REFERENCES: usize = 200;

/// A piece of a pack in a map's palette. Saved layouts know it by its place there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaletteEntry {
    /// The pack's slug.
    pub pack: String,
    /// The block's id.
    pub block: String,
}

impl PaletteEntry {
    /// The tag that the entry binds.
    pub fn tag(&self) -> String {
        block_tag(&self.pack, &self.block)
    }
}

/// The pieces of packs that a level file puts into the palette, in palette order.
pub fn palette(level: &[u8]) -> Result<Vec<PaletteEntry>, Vec<Fault>> {
    let mut faults = Faults::default();
    let mut palette = Vec::new();
    match parse(level, LONGEST) {
        Err(message) => faults.add("", message),
        Ok(value) => {
            if let Some(packs) = Cursor::root(&value).field("blam").optional("forge_packs") {
                palette = check_packs(&packs, None, &mut faults);
            }
        }
    }
    if faults.0.is_empty() { Ok(palette) } else { Err(faults.0) }
}

/// Checks a level file against the deps of the manifest, where that could be read.
pub(crate) fn check_level(bytes: &[u8], deps: Option<&[Dep]>) -> Vec<Finding> {
    let mut faults = Faults::default();
    let value = match parse(bytes, LONGEST) {
        Ok(value) => value,
        Err(message) => return vec![bad_file(LEVEL, "", message)],
    };
    let root = Cursor::root(&value);
    if root.object(&mut faults).is_none() {
        return as_findings(faults, Code::BadMapFile, LEVEL);
    }
    if let Some(packs) = root.field("blam").optional("forge_packs") {
        check_packs(&packs, deps, &mut faults);
    }
    as_findings(faults, Code::MapForgePacks, LEVEL)
}

/// Gives what was sound; with a fault the list goes nowhere.
fn check_packs(packs: &Cursor<'_>, deps: Option<&[Dep]>, faults: &mut Faults) -> Vec<PaletteEntry> {
    let mut palette = Vec::new();
    let mut references = 0usize;
    let mut slugs: Vec<&str> = Vec::new();
    for pack in packs.items(0..=PACKS, faults).unwrap_or_default() {
        if pack.object(faults).is_none() {
            continue;
        }
        let slug_field = pack.field("slug");
        let slug = slug_field.matching(is_slug, "a slug", faults);
        if slug.is_some_and(|slug| slugs.contains(&slug)) {
            faults.add(&slug_field.at, "the pack is listed twice");
        }
        slugs.extend(slug);
        let version_field = pack.field("version");
        let version = version_field.as_text().and_then(|text| Version::parse(text).ok());
        if version.is_none() {
            faults.add(&version_field.at, "it must be an exact version");
        }
        if let (Some(slug), Some(version), Some(deps)) = (slug, &version, deps) {
            let dep = deps.iter().find(|dep| dep.slug == slug);
            match dep {
                None => faults.add(&pack.at, format!("the manifest has no dep on `{slug}`")),
                Some(dep) if !dep.range.accepts(version) => {
                    let range = &dep.range;
                    let message = format!("the manifest's dep `{slug}` `{range}` excludes {version}");
                    faults.add(&pack.at, message);
                }
                Some(_) => {}
            }
        }
        let blocks = pack.field("blocks");
        let mut ids: Vec<&str> = Vec::new();
        for block in blocks.items(0..=REFERENCES, faults).unwrap_or_default() {
            references = references.saturating_add(1);
            if block.object(faults).is_none() {
                continue;
            }
            let id_field = block.field("id");
            let id = id_field.matching(is_block_id, "a block's id", faults);
            if id.is_some_and(|id| ids.contains(&id)) {
                faults.add(&id_field.at, "the block is listed twice");
            }
            ids.extend(id);
            if let Some((slug, id)) = slug.zip(id) {
                let tag = block_tag(slug, id);
                block.field("tag").matching(|text| text == tag, &tag, faults);
                palette.push(PaletteEntry { pack: slug.to_owned(), block: id.to_owned() });
            }
        }
    }
    if references > REFERENCES {
        let message = format!("{references} blocks of packs; at most {REFERENCES} are allowed");
        faults.add(&packs.at, message);
    }
    palette
}

/// Checks a registration against the map's code, where that is known.
pub(crate) fn check_registration(bytes: &[u8], code: Option<MapCode>) -> Vec<Finding> {
    let mut faults = Faults::default();
    let value = match parse(bytes, LONGEST) {
        Ok(value) => value,
        Err(message) => return vec![bad_file(REGISTRATION, "", message)],
    };
    let root = Cursor::root(&value);
    if root.object(&mut faults).is_none() {
        return as_findings(faults, Code::BadMapFile, REGISTRATION);
    }
    let found = root.field("code").text(0..=usize::MAX, &mut faults);
    root.field("from").text(0..=usize::MAX, &mut faults);
    for name in ["title", "description"] {
        if let Some(field) = root.nullable(name) {
            field.text(0..=usize::MAX, &mut faults);
        }
    }
    if let Some(world) = root.nullable("world") {
        let allowed = "an object path such as `/Game/Levels/X/X.X`, or null";
        world.matching(is_object_path, allowed, &mut faults);
    }
    let mut findings = as_findings(faults, Code::BadMapFile, REGISTRATION);
    if let Some((found, code)) = found.zip(code)
        && found != code.to_string()
    {
        let message = format!("it registers `{found}`, the manifest's code is `{code}`");
        let finding = Finding::error(Code::MapMismatch, message);
        findings.push(finding.in_member(REGISTRATION).at("/code"));
    }
    findings
}

fn is_object_path(path: &str) -> bool {
    let last = path.rsplit('/').next().and_then(|last| last.split_once('.'));
    path.starts_with("/Game/")
        && last.is_some_and(|(package, object)| !package.is_empty() && package == object)
}

fn bad_file(member: &str, at: &str, message: String) -> Finding {
    Finding::error(Code::BadMapFile, message).in_member(member).at(at)
}

fn as_findings(faults: Faults, code: Code, member: &str) -> Vec<Finding> {
    let faults = faults.0.into_iter();
    faults.map(|fault| Finding::error(code, fault.message).in_member(member).at(fault.at)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::version::Range;

    fn places(findings: &[Finding]) -> Vec<(&str, &str)> {
        let place = |finding: &Finding| (finding.code.token(), finding.at.is_some());
        assert!(findings.iter().all(|finding| place(finding).1));
        findings
            .iter()
            .map(|finding| (finding.code.token(), finding.at.as_deref().unwrap_or_default()))
            .collect()
    }

    #[test]
    fn packs_of_a_level_need_their_deps() {
        let level = |slug: &str, version: &str, tag: &str| {
            format!(
                r#"{{"blam":{{"forge_packs":[{{"slug":"{slug}","version":"{version}",
                    "blocks":[{{"id":"a","tag":"objects\\mjolnir\\forge\\{tag}\\a"}}]}}]}}}}"#
            )
        };
        let deps = [Dep { slug: "foundry".to_owned(), range: Range::parse("^0.2.0").unwrap() }];
        let at = "/blam/forge_packs/0";
        for (level, expected) in [
            (level("foundry", "0.2.9", "foundry"), vec![]),
            (level("foundry", "0.3.0", "foundry"), vec![("map_forge_packs", at.to_owned())]),
            (level("other", "0.2.0", "other"), vec![("map_forge_packs", at.to_owned())]),
            (level("foundry", "^0.2.0", "foundry"), vec![("map_forge_packs", format!("{at}/version"))]),
            (level("foundry", "0.2.0", "other"), vec![("map_forge_packs", format!("{at}/blocks/0/tag"))]),
            ("[]".to_owned(), vec![("bad_map_file", String::new())]),
            ("{}".to_owned(), vec![]),
        ] {
            let found = check_level(level.as_bytes(), Some(&deps));
            let expected: Vec<_> = expected.iter().map(|(code, at)| (*code, at.as_str())).collect();
            assert_eq!(places(&found), expected, "{level}");
        }
    }

    #[test]
    fn registrations() {
        let code = MapCode::parse("BGL");
        for (text, expected) in [
            (r#"{"code":"BGL","from":"B40"}"#, vec![]),
            (r#"{"code":"BGL","from":"B40","title":null,"world":"/Game/Levels/BGL/BGL.BGL"}"#, vec![]),
            (r#"{"code":"DCN","from":"B40"}"#, vec![("map_mismatch", "/code")]),
            (r#"{"code":"BGL"}"#, vec![("bad_map_file", "/from")]),
            (r#"{"code":"BGL","from":"B40","world":"BGL"}"#, vec![("bad_map_file", "/world")]),
        ] {
            assert_eq!(places(&check_registration(text.as_bytes(), code)), expected, "{text}");
        }
    }
}
