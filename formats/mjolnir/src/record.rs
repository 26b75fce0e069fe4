//! [`Record`]: what is kept of a release so that later ones can be held against it.
//!
//! A record is a small JSON file beside a recipe: the manifest, the digest of every unsigned member, the
//! section of the lock that it was built for, and what the update rule looks at beyond the manifest: a map's
//! palette, the runtime pack's packages and the names that its master materials use. It knows one release,
//! not what another owes to it ([`crate::update`]), and holds nothing of the game's. [`Record::read`] gives a
//! record or all its faults; [`Record::write`] gives its one form.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use iostore::{ChunkReader, ChunkType, Limits, PackageId, ReadAt, Toc};
use serde_json::json;

use crate::json::{Cursor, Fault, Faults, read_document};
use crate::manifest::{Manifest, Payload, is_block_id, is_slug};
use crate::map_files::{self, PaletteEntry};
use crate::path;
use crate::signature::{self, Sha256Digest};
use crate::zip::MEMBERS;

/// The slug of the pack that all converted maps share.
pub const RUNTIME: &str = "mjolnir-ce-runtime";
/// The longest record that is read.
pub const LONGEST: usize = 16 << 20;
const MANIFEST: &str = "mjolnir.json";
/// Where the runtime pack keeps the materials whose parameters maps set.
const MASTERS: &str = "/Game/MJOLNIR/CE/M_";
/// Where packages of the game and of mods lie, and the folder of their files.
const GAME_ROOT: (&str, &str) = ("/Game/", "Meteorite/Content/");
const PALETTE: usize = 255;
const PACKAGES: usize = 100_000;
const NAMES: usize = 10_000;
const GAME: usize = 200;

/// A release, as later ones are held against it.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Its slug.
    pub slug: String,
    /// Its manifest.
    pub manifest: Manifest,
    /// What was in its archive.
    pub contents: Contents,
}

/// What was in an archive, as far as later releases are held against it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// The section of the lock that it was built for, where that is known: a build of the game, or the
    /// version of a stand-in.
    pub game: Option<String>,
    /// The digests of all members but the signature.
    pub members: BTreeMap<String, Sha256Digest>,
    /// The pieces of packs in a map's palette, in its order.
    pub palette: Vec<PaletteEntry>,
    /// The runtime pack's packages, sorted: their paths, or their ids where containers do not name them.
    pub packages: Vec<String>,
    /// The names that each master material of the runtime pack uses, those of its parameters among them.
    pub masters: BTreeMap<String, BTreeSet<String>>,
}

/// Reads the name map of a package; `None` for what is no package.
pub type NamesOf<'f> = &'f dyn Fn(&[u8]) -> Option<Vec<String>>;

/// Why there is no record of a release.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{member}`{}: {message}", at.as_ref().map(|at| format!(" at `{at}`")).unwrap_or_default())]
pub struct RecordError {
    /// The member at fault.
    pub member: String,
    /// The JSON pointer into it.
    pub at: Option<String>,
    /// What was found and what is allowed.
    pub message: String,
}

impl RecordError {
    fn new(member: &str, message: impl Into<String>) -> Self {
        Self { member: member.to_owned(), at: None, message: message.into() }
    }

    fn first(member: &str, faults: Vec<Fault>) -> Self {
        match faults.into_iter().next() {
            Some(fault) => Self { at: Some(fault.at), ..Self::new(member, fault.message) },
            None => Self::new(member, "it cannot be read"),
        }
    }
}

impl Record {
    /// The record of the release `slug` with these members; a signature among them is passed over. Which
    /// build of the game it is for is not to be seen in an archive.
    pub fn of<'a>(
        slug: &str,
        members: impl IntoIterator<Item = (Cow<'a, str>, Cow<'a, [u8]>)>,
        names_of: NamesOf<'_>,
    ) -> Result<Self, RecordError> {
        let (manifest, contents) = Contents::of(Some(slug), members, names_of)?;
        Ok(Self { slug: slug.to_owned(), manifest, contents })
    }

    /// Reads a record. All its faults are given.
    pub fn read(bytes: &[u8]) -> Result<Self, Vec<Fault>> {
        read_document(bytes, LONGEST, read)
    }

    /// The text of the record: two-space JSON with a final line break, made for diffs. A record that breaks a
    /// bound gives its faults instead.
    pub fn write(&self) -> Result<String, Vec<Fault>> {
        let contents = &self.contents;
        let digests: BTreeMap<&str, String> =
            contents.members.iter().map(|(name, digest)| (name.as_str(), digest.to_string())).collect();
        let palette: Vec<_> = contents
            .palette
            .iter()
            .map(|entry| json!({"block": entry.block, "pack": entry.pack, "tag": entry.tag()}))
            .collect();
        let fields = [
            ("schema_version", Some(json!(1))),
            ("slug", Some(json!(self.slug))),
            ("game", contents.game.as_ref().map(|game| json!(game))),
            ("unsigned_sha256", Some(json!(contents.unsigned().to_string()))),
            ("manifest", None),
            ("members", Some(json!(digests))),
            ("palette", (!palette.is_empty()).then(|| json!(palette))),
            ("packages", (!contents.packages.is_empty()).then(|| json!(contents.packages))),
            ("masters", (!contents.masters.is_empty()).then(|| json!(contents.masters))),
        ];
        let mut lines = Vec::new();
        for (name, value) in fields {
            let text = match (name, value) {
                ("manifest", _) => self.manifest.write()?,
                (_, Some(value)) => format!("{value:#}"),
                (_, None) => continue,
            };
            // No JSON text holds a raw line break, so this indents and changes nothing.
            lines.push(format!("  \"{name}\": {}", text.replace('\n', "\n  ")));
        }
        let text = format!("{{\n{}\n}}\n", lines.join(",\n"));
        Self::read(text.as_bytes()).map(|_| text)
    }
}

impl Contents {
    /// What is in an archive with these members, and its manifest. `slug` is the release's, where it is
    /// known.
    pub fn of<'a>(
        slug: Option<&str>,
        members: impl IntoIterator<Item = (Cow<'a, str>, Cow<'a, [u8]>)>,
        names_of: NamesOf<'_>,
    ) -> Result<(Manifest, Self), RecordError> {
        let mut digests = BTreeMap::new();
        let mut kept: BTreeMap<Cow<'a, str>, Cow<'a, [u8]>> = BTreeMap::new();
        for (name, bytes) in members {
            if name == signature::MEMBER {
                continue;
            }
            digests.insert(name.clone().into_owned(), Sha256Digest::of(&bytes));
            let container = slug == Some(RUNTIME) && (name.ends_with(".utoc") || name.ends_with(".ucas"));
            if container || name == MANIFEST || name == map_files::LEVEL {
                kept.insert(name, bytes);
            }
        }
        let manifest = kept.get(MANIFEST).ok_or_else(|| RecordError::new(MANIFEST, "it is missing"))?;
        let manifest = Manifest::read(manifest).map_err(|faults| RecordError::first(MANIFEST, faults))?;
        let mut contents = Self { members: digests, ..Self::default() };
        if let (Payload::Map(_), Some(level)) = (&manifest.payload, kept.get(map_files::LEVEL)) {
            contents.palette =
                map_files::palette(level).map_err(|faults| RecordError::first(map_files::LEVEL, faults))?;
        }
        for (name, utoc) in kept.iter().filter(|(name, _)| name.ends_with(".utoc")) {
            let partner = name.strip_suffix("utoc").map(|stem| format!("{stem}ucas"));
            let ucas = partner.and_then(|partner| kept.get(partner.as_str()));
            let ucas = ucas.map(|bytes| &**bytes).unwrap_or_default();
            let toc = Toc::read(utoc, &Limits::default());
            let toc = toc.map_err(|error| RecordError::new(name, error.to_string()))?;
            contents.add_packages(&toc, ucas, names_of);
        }
        contents.packages.sort();
        contents.packages.dedup();
        Ok((manifest, contents))
    }

    /// The digest of the unsigned archive: the SHA-256 of its members' digests as a signature states them.
    pub fn unsigned(&self) -> Sha256Digest {
        let files: BTreeMap<&str, String> =
            self.members.iter().map(|(name, digest)| (name.as_str(), digest.to_string())).collect();
        Sha256Digest::of(json!(files).to_string().as_bytes())
    }

    fn add_packages(&mut self, toc: &Toc, ucas: &[u8], names_of: NamesOf<'_>) {
        let partitions: [&dyn ReadAt; 1] = [&ucas];
        let reader = ChunkReader::new(toc, &partitions);
        let packages = toc.chunks().iter().enumerate();
        for (index, chunk) in packages.filter(|(_, chunk)| chunk.id.kind() == ChunkType::ExportBundleData) {
            let id = PackageId(chunk.id.id());
            let path = toc.path_below_mount(index).and_then(|file| package_of(&file));
            let path = path.filter(|path| PackageId::of_name(path) == id);
            if let Some(path) = path.as_ref().filter(|path| path.starts_with(MASTERS)) {
                let bytes = reader.read(index, Limits::default().chunk_bytes).ok();
                let names = bytes.and_then(|bytes| names_of(&bytes)).unwrap_or_default();
                // Other packages are no parameters.
                let names = names.into_iter().filter(|name| !name.starts_with('/'));
                self.masters.entry(path.clone()).or_default().extend(names);
            }
            self.packages.push(path.unwrap_or_else(|| id.to_string()));
        }
    }
}

/// The package that the file of a container holds.
fn package_of(file: &str) -> Option<String> {
    let (root, folder) = GAME_ROOT;
    let below = file.strip_prefix(folder)?;
    let stem = below.strip_suffix(".uasset").or_else(|| below.strip_suffix(".umap"))?;
    Some(format!("{root}{stem}"))
}

/// The id of a package as records name it: by its path, or by the id itself.
pub(crate) fn package_id(text: &str) -> Option<PackageId> {
    match text.strip_prefix("0x") {
        Some(hex) if hex.len() == 16 => u64::from_str_radix(hex, 16).ok().map(PackageId),
        Some(_) => None,
        None => text.starts_with('/').then(|| PackageId::of_name(text)),
    }
}

fn read(root: &Cursor<'_>, faults: &mut Faults) -> Option<Record> {
    const FIELDS: [&str; 9] = [
        "schema_version",
        "slug",
        "game",
        "unsigned_sha256",
        "manifest",
        "members",
        "palette",
        "packages",
        "masters",
    ];
    root.object(faults)?;
    let schema = root.field("schema_version");
    if schema.as_integer().is_some_and(|version| version > 1) {
        faults.unsupported(&schema.at, "the record needs a newer version; only 1 is known");
        return None;
    }
    schema.integer(1..=1, faults);
    root.only(&FIELDS, faults);
    let slug = root.field("slug").matching(is_slug, "a slug: 2 to 64 of `a-z 0-9 -`", faults);
    let game = root.optional("game").and_then(|field| field.text(1..=GAME, faults)).map(str::to_owned);
    let stated = read_digest(&root.field("unsigned_sha256"), faults);
    let manifest = Manifest::read_at(&root.field("manifest"), faults);
    let members = read_members(&root.field("members"), faults);
    let palette = root.optional("palette").map(|field| read_palette(&field, faults));
    let packages = root.optional("packages").map(|field| read_packages(&field, faults));
    let masters = root.optional("masters").map(|field| read_masters(&field, faults));
    let contents = Contents {
        game,
        members: members?,
        palette: palette.unwrap_or_default(),
        packages: packages.unwrap_or_default(),
        masters: masters.unwrap_or_default(),
    };
    let (slug, manifest) = (slug?.to_owned(), manifest?);
    if stated? != contents.unsigned() {
        let message = format!("it is not the digest of the members, which is {}", contents.unsigned());
        faults.add(&root.field("unsigned_sha256").at, message);
    }
    if let Payload::ForgePack(pack) = &manifest.payload
        && pack.id != slug
    {
        faults.add(&root.field("slug").at, format!("the manifest is of the pack `{}`", pack.id));
    }
    Some(Record { slug, manifest, contents })
}

fn read_digest(field: &Cursor<'_>, faults: &mut Faults) -> Option<Sha256Digest> {
    let allowed = "64 lower-case hexadecimal digits";
    let text = field.matching(|text| Sha256Digest::parse(text).is_some(), allowed, faults)?;
    Sha256Digest::parse(text)
}

fn read_members(field: &Cursor<'_>, faults: &mut Faults) -> Option<BTreeMap<String, Sha256Digest>> {
    let object = field.object(faults)?;
    if !(1..=MEMBERS).contains(&object.len()) {
        faults.add(&field.at, format!("{} members; 1 to {MEMBERS} are allowed", object.len()));
        return None;
    }
    let mut members = BTreeMap::new();
    for name in object.keys() {
        let place = field.field(name);
        if path::check(name.as_bytes()).is_err() || name == signature::MEMBER {
            faults.add(&place.at, "it is not the name of an unsigned member");
        }
        if let Some(digest) = read_digest(&place, faults) {
            members.insert(name.clone(), digest);
        }
    }
    Some(members)
}

fn read_palette(field: &Cursor<'_>, faults: &mut Faults) -> Vec<PaletteEntry> {
    let mut palette: Vec<PaletteEntry> = Vec::new();
    for item in field.items(0..=PALETTE, faults).unwrap_or_default() {
        if item.object(faults).is_none() {
            continue;
        }
        item.only(&["pack", "block", "tag"], faults);
        let pack = item.field("pack").matching(is_slug, "a slug", faults);
        let block = item.field("block").matching(is_block_id, "a block's id", faults);
        let Some((pack, block)) = pack.zip(block) else { continue };
        let entry = PaletteEntry { pack: pack.to_owned(), block: block.to_owned() };
        let tag = entry.tag();
        item.field("tag").matching(|text| text == tag, &tag, faults);
        palette.push(entry);
    }
    palette
}

fn read_packages(field: &Cursor<'_>, faults: &mut Faults) -> Vec<String> {
    let allowed = "a package's path or id";
    let items = field.items(0..=PACKAGES, faults).unwrap_or_default();
    let packages: Vec<String> = items
        .iter()
        .filter_map(|item| item.matching(|text| package_id(text).is_some(), allowed, faults))
        .map(str::to_owned)
        .collect();
    if !packages.is_sorted_by(|a, b| a < b) {
        faults.add(&field.at, "packages are sorted, each once");
    }
    packages
}

fn read_masters(field: &Cursor<'_>, faults: &mut Faults) -> BTreeMap<String, BTreeSet<String>> {
    let mut masters = BTreeMap::new();
    for package in field.object(faults).into_iter().flat_map(BTreeMap::keys) {
        let place = field.field(package);
        if !package.starts_with(MASTERS) {
            faults.add(&place.at, format!("it is no master material, whose paths start with `{MASTERS}`"));
        }
        let names = place.items(0..=NAMES, faults).unwrap_or_default();
        let names = names.iter().filter_map(|name| name.text(0..=1_023, faults));
        masters.insert(package.clone(), names.map(str::to_owned).collect());
    }
    masters
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes;

    const CONTENT: &str =
        r#"{"schema_version":1,"name":"x","version":"1.0.0","type":"content","summary":"s"}"#;

    fn record(
        slug: &str,
        members: &[(&'static str, Vec<u8>)],
        names_of: NamesOf<'_>,
    ) -> Result<Record, RecordError> {
        let members = members.iter().map(|(name, bytes)| (Cow::Borrowed(*name), Cow::Borrowed(&bytes[..])));
        Record::of(slug, members, names_of)
    }

    fn container(packages: &[&str]) -> (Vec<u8>, Vec<u8>) {
        let mut ucas = Vec::new();
        let chunks: Vec<_> = packages
            .iter()
            .map(|path| {
                let file = format!("Meteorite/Content/{}.uasset", path.trim_start_matches("/Game/"));
                (PackageId::of_name(path).chunk(ChunkType::ExportBundleData), file)
            })
            .collect();
        let builder = iostore::Builder::new("Test_P");
        let builder =
            chunks.iter().fold(builder, |builder, (id, file)| builder.named_chunk(*id, file, b"package"));
        let unnamed = PackageId(7).chunk(ChunkType::ExportBundleData);
        let utoc = builder.chunk(unnamed, b"package").write(&mut ucas).unwrap();
        (utoc, ucas)
    }

    fn runtime() -> Record {
        let (utoc, ucas) = container(&["/Game/MJOLNIR/CE/M_CE_Water", "/Game/MJOLNIR/CTF/SM_CE_Flag"]);
        let members = [
            ("mjolnir.json", CONTENT.as_bytes().to_vec()),
            ("signature.json", b"{}".to_vec()),
            ("content/Test_P.ucas", ucas),
            ("content/Test_P.utoc", utoc),
        ];
        let names = ["Ripple", "/Game/MJOLNIR/CE/M_CE_Water"].map(str::to_owned).to_vec();
        let mut record =
            record(RUNTIME, &members, &|bytes| (bytes == b"package").then(|| names.clone())).unwrap();
        record.contents.game = Some("game 0123456789ab".to_owned());
        record
    }

    fn map() -> Record {
        let manifest = br#"{"schema_version":1,"name":"x","version":"1.0.0","type":"map",
            "map":{"code":"BGL","title":"t","modes":["slayer"]}}"#;
        let level = br#"{"blam":{"forge_packs":[{"slug":"aa","version":"1.0.0","blocks":[
            {"id":"b","tag":"objects\\mjolnir\\forge\\aa\\b"},{"id":"a","tag":"objects\\mjolnir\\forge\\aa\\a"}]}]}}"#;
        let members = [("mjolnir.json", manifest.to_vec()), ("map/level.json", level.to_vec())];
        record("ce-map", &members, &|_| None).unwrap()
    }

    #[test]
    fn a_runtime_pack_is_known_by_packages_and_names() {
        let contents = runtime().contents;
        assert_eq!(
            contents.packages,
            ["/Game/MJOLNIR/CE/M_CE_Water", "/Game/MJOLNIR/CTF/SM_CE_Flag", "0x0000000000000007"]
        );
        let names: Vec<_> = contents.masters["/Game/MJOLNIR/CE/M_CE_Water"].iter().collect();
        assert_eq!(names, ["Ripple"]);
        assert!(!contents.members.contains_key("signature.json"));
    }

    #[test]
    fn only_the_runtime_pack_lists_packages() {
        let (utoc, ucas) = container(&["/Game/A"]);
        let members = [
            ("mjolnir.json", CONTENT.as_bytes().to_vec()),
            ("content/Test_P.ucas", ucas),
            ("content/Test_P.utoc", utoc),
        ];
        assert!(record("other", &members, &|_| None).unwrap().contents.packages.is_empty());
    }

    #[test]
    fn a_record_has_one_form_and_reads_back() {
        for record in [runtime(), map()] {
            let text = record.write().unwrap();
            assert_eq!(Record::read(text.as_bytes()).as_ref(), Ok(&record), "{text}");
            assert_eq!(record.write().unwrap(), text);
        }
        let text = map().write().unwrap();
        let digest = Sha256Digest::of(b"{}");
        let expected = r#"  "palette": [
    {
      "block": "b",
      "pack": "aa",
      "tag": "objects\\mjolnir\\forge\\aa\\b"
    },
"#;
        assert!(text.contains(expected) && !text.contains(&digest.to_string()), "{text}");
        assert!(text.starts_with("{\n  \"schema_version\": 1,\n  \"slug\": \"ce-map\",\n"), "{text}");
    }

    #[test]
    fn the_unsigned_digest_is_that_of_what_a_signature_states() {
        let members = [("a", Sha256Digest::of(b"1")), ("b", Sha256Digest::of(b"2"))];
        let contents = Contents {
            members: members.iter().map(|(name, digest)| ((*name).to_owned(), *digest)).collect(),
            ..Contents::default()
        };
        let text = format!(r#"{{"a":"{}","b":"{}"}}"#, members[0].1, members[1].1);
        assert_eq!(contents.unsigned(), Sha256Digest::of(text.as_bytes()));
    }

    #[test]
    fn faults_have_their_places() {
        let good = runtime().write().unwrap();
        for (old, new, at) in [
            ("\"schema_version\": 1,\n  \"slug\"", "\"schema_version\": 2,\n  \"slug\"", "/schema_version"),
            ("\"slug\": \"mjolnir", "\"slug\": \"Mjolnir", "/slug"),
            ("\"game\": \"game 0123456789ab\"", "\"game\": \"\"", "/game"),
            ("\"game\":", "\"played\":", "/played"),
            ("\"version\": \"1.0.0\"", "\"version\": \"1.0\"", "/manifest/version"),
            ("content/Test_P.ucas", "content/Test_Q.ucas", "/unsigned_sha256"),
            ("content/Test_P.ucas", "content/../a.ucas", "/members/content~1..~1a.ucas"),
            ("\"/Game/MJOLNIR/CTF/SM_CE_Flag\"", "\"SM_CE_Flag\"", "/packages/1"),
            ("\"/Game/MJOLNIR/CTF/SM_CE_Flag\"", "\"/A\"", "/packages"),
            ("\"0x0000000000000007\"", "\"0x7\"", "/packages/2"),
            ("\"/Game/MJOLNIR/CE/M_CE_Water\": [", "\"/Game/M_CE_Water\": [", "/masters/~1Game~1M_CE_Water"),
            ("\"Ripple\"", "1", "/masters/~1Game~1MJOLNIR~1CE~1M_CE_Water/0"),
        ] {
            let text = good.replacen(old, new, 1);
            assert_ne!(text, good, "{old}");
            let faults = Record::read(text.as_bytes()).unwrap_err();
            assert_eq!(faults[0].at, at, "{old} -> {new}: {faults:?}");
        }
        let text = map().write().unwrap().replace("forge\\\\aa\\\\b", "forge\\\\aa\\\\c");
        assert_eq!(Record::read(text.as_bytes()).unwrap_err()[0].at, "/palette/0/tag");
    }

    /// Whatever is read of damaged text is a record: it can be written and reads back as itself.
    #[test]
    fn damage_is_refused_or_another_record() {
        let text = runtime().write().unwrap().into_bytes();
        let mut accepted = 0;
        for at in 0..text.len() {
            assert!(Record::read(&text[..at.min(text.len() - 2)]).is_err(), "cut at {at}");
            for byte in [0x00, b' ', b'"', b'0', b'9', b'a', b'}', 0xFF] {
                let mut damaged = text.clone();
                damaged[at] = byte;
                if let Ok(record) = Record::read(&damaged) {
                    assert_eq!(Record::read(record.write().unwrap().as_bytes()), Ok(record));
                    accepted += 1;
                }
            }
        }
        assert!(accepted > 0);
    }

    #[test]
    fn what_is_no_release_has_no_record() {
        let none = record("aa", &[("changes.json", changes::additions(Vec::new()).into_bytes())], &|_| None);
        assert_eq!(none.unwrap_err().to_string(), "`mjolnir.json`: it is missing");
        let bad = record("aa", &[("mjolnir.json", b"{}".to_vec())], &|_| None).unwrap_err();
        assert_eq!((bad.member.as_str(), bad.at.as_deref()), ("mjolnir.json", Some("/schema_version")));
        let members =
            [("mjolnir.json", CONTENT.as_bytes().to_vec()), ("content/a.utoc", b"not a table".to_vec())];
        assert_eq!(record(RUNTIME, &members, &|_| None).unwrap_err().member, "content/a.utoc");
    }
}
