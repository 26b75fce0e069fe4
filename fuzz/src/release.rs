//! What a release is made of, as fuzz targets: the zip, the manifest, the signature, the sidecar, declared
//! changes, the files of a map.
//!
//! Each target comes with inputs to start from, made here. Besides its properties each reader is held to a
//! bound of memory for every byte that it is given.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Cursor, Read, Write};
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mjolnir::changes::{self, NewTag};
use mjolnir::finding::Finding;
use mjolnir::manifest::{Fault, Manifest, block_tag};
use mjolnir::map_files;
use mjolnir::record::Record;
use mjolnir::scan::{Context, Verdict, scan, scan_manifest};
use mjolnir::sidecar;
use mjolnir::signature::{
    self, Author, Expected, Release, SeedKey, Sha256Digest, SignedAt, Signer, Step, message, verify,
};
use mjolnir::version::Version;
use mjolnir::zip::{Archive, Compression, MEMBERS, UNPACKED, WriteError, write};
use serde_json::{Value, json};

use crate::memory::within;
use crate::target::Target;

/// All targets.
pub const TARGETS: [Target; 9] = [
    Target { name: "zip", run: zip, seeds: zip_seeds },
    Target { name: "zip_written", run: zip_written, seeds: zip_written_seeds },
    Target { name: "archive", run: archive, seeds: archive_seeds },
    Target { name: "manifest", run: manifest, seeds: manifest_seeds },
    Target { name: "record", run: record, seeds: record_seeds },
    Target { name: "signature", run: signature, seeds: signature_seeds },
    Target { name: "sidecar", run: sidecar, seeds: sidecar_seeds },
    Target { name: "changes", run: changes, seeds: changes_seeds },
    Target { name: "map_files", run: map_files, seeds: map_files_seeds },
];

const KIB: usize = 1 << 10;

/// Any bytes as a zip: what is read has one reading, which other tools share, and what counts as canonical is
/// what our writer makes of the same members.
pub fn zip(data: &[u8]) {
    // Deflate packs a thousandfold; a member and what it is packed into again are there at once.
    let Ok(archive) = within(data, 1024 * KIB, 1600, || Archive::read(data)) else { return };
    let entries = archive.entries();
    assert!(entries.len() <= MEMBERS);
    assert!(entries.iter().map(|entry| entry.size()).sum::<u64>() <= UNPACKED);
    let names: BTreeSet<_> = entries.iter().map(|entry| entry.name_bytes()).collect();
    assert_eq!(names.len(), entries.len());

    let mut other = zip::ZipArchive::new(Cursor::new(data)).expect("other tools read it");
    assert_eq!(other.len(), entries.len());
    let mut members = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let bytes = entry.read();
        assert_eq!(bytes.len() as u64, entry.size());
        let mut pieces = Vec::new();
        entry.for_each_piece(|piece| pieces.extend_from_slice(piece));
        assert!(pieces == *bytes);
        let mut file = other.by_index(index).expect("other tools read every member");
        assert_eq!(file.name_raw(), entry.name_bytes());
        let mut read = Vec::new();
        file.read_to_end(&mut read).expect("other tools read every byte");
        assert!(read == *bytes);
        members.push((entry.name().into_owned(), bytes));
    }
    if archive.canonical() {
        let members: Vec<_> = members.iter().map(|(name, bytes)| (name.as_str(), &bytes[..])).collect();
        let again = |compression| write(&members, compression, Cursor::new(Vec::new()));
        let same = [Compression::Store, Compression::Text].map(again).into_iter().any(|again| match again {
            Ok(again) => again.into_inner() == data,
            // The zip is sound; that its names are not is for the scan to say.
            Err(error) => matches!(error, WriteError::Name { .. }),
        });
        assert!(same, "canonical, and not what we write");
    }
}

fn zip_seeds() -> Vec<(&'static str, Vec<u8>)> {
    let text = "a line that says the same again\n".repeat(9);
    let members: [(&str, &[u8]); 4] =
        [("mjolnir.json", b"{}"), ("docs/README.md", text.as_bytes()), ("a.ucas", b"1"), ("a.utoc", b"2")];
    let written = |members: &[(&str, &[u8])], compression| {
        write(members, compression, Cursor::new(Vec::new())).expect("good members").into_inner()
    };
    // As a streaming tool writes it: sizes and checksum follow the data.
    let mut described = written(&members[..1], Compression::Store);
    let central_at = 30 + 12 + 2;
    let sizes = described[14..26].to_vec();
    described[6] = 8;
    described[14..26].fill(0);
    described[central_at + 8] = 8;
    let end = described.len() - 22;
    described[end + 16] += 16;
    described.splice(central_at..central_at, [b"PK\x07\x08", &sizes[..]].concat());
    // Ours but for one member, which we would deflate.
    let deflated = written(&members, Compression::Text);
    let mut ours = zip::ZipArchive::new(Cursor::new(&deflated)).expect("a good zip");
    let mut mixed = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().system(zip::System::Unix);
    let options = options.compression_method(zip::CompressionMethod::Stored);
    mixed.start_file("a.md", options).expect("a good name");
    mixed.write_all(text.as_bytes()).expect("room in memory");
    mixed.raw_copy_file(ours.by_name("docs/README.md").expect("it is there")).expect("room in memory");
    vec![
        ("stored", written(&members, Compression::Store)),
        ("mixed", mixed.finish().expect("room in memory").into_inner()),
        ("deflated", deflated),
        ("described", described),
        ("empty", written(&[], Compression::Store)),
    ]
}

/// Pieces of an input, until it is used up.
struct Pieces<'a>(&'a [u8]);

impl<'a> Pieces<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::from(self.byte()?).min(self.0.len());
        let (piece, rest) = self.0.split_at(length);
        self.0 = rest;
        Some(piece)
    }
}

/// Any members: what is written reads back, as canonical; what is not written breaks a rule of names.
pub fn zip_written(data: &[u8]) {
    let mut pieces = Pieces(data);
    let compression =
        if pieces.byte().unwrap_or_default() % 2 == 0 { Compression::Store } else { Compression::Text };
    let mut members = Vec::new();
    while let Some((name, body)) = pieces.bytes().zip(pieces.bytes()) {
        let times = usize::from(pieces.byte().unwrap_or(1)) * usize::from(pieces.byte().unwrap_or(1));
        members.push((String::from_utf8_lossy(name).into_owned(), body.repeat(times.min(4 * KIB))));
    }
    let members: Vec<_> = members.iter().map(|(name, body)| (name.as_str(), body.as_slice())).collect();
    let bytes = match write(&members, compression, Cursor::new(Vec::new())) {
        Ok(bytes) => bytes.into_inner(),
        Err(error) => {
            assert!(matches!(error, WriteError::Name { .. }), "{error}");
            return;
        }
    };
    let archive = Archive::read(&bytes).expect("what is written is read");
    assert!(archive.canonical());
    assert_eq!(archive.entries().len(), members.len());
    for (name, body) in members {
        assert!(*archive.member(name).expect("every member is there").read() == *body);
    }
}

fn zip_written_seeds() -> Vec<(&'static str, Vec<u8>)> {
    let members = b"\x0cmjolnir.json\x02{}\x01\x01\x04a.md\x05aaaab\xff\x0f\x06a.ucas\x01x\x02\x02";
    vec![
        ("stored", [b"\x00", &members[..]].concat()),
        ("deflated", [b"\x01", &members[..]].concat()),
        ("no_name", b"\x00\x04a.md\x01x\x01\x01\x04A.md\x01x\x01\x01".to_vec()),
    ]
}

/// A signed archive, and changes to it: two bytes that say where and one to be changed by, again and again.
/// What is still read and verifies has the members that were signed, and is canonical only unchanged.
pub fn archive(data: &[u8]) {
    static SIGNED: LazyLock<Vec<u8>> = LazyLock::new(signed_archive);
    let signed = &*SIGNED;
    let mut changed = signed.clone();
    for change in data.chunks_exact(3) {
        let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % changed.len();
        changed[at] ^= change[2];
    }
    let Ok(found) = Archive::read(&changed) else { return };
    assert!(!found.canonical() || changed == *signed);
    let Some(envelope) = found.member(signature::MEMBER) else { return };
    let digests = digests(&found);
    if verify(&envelope.read(), expected(), || digests.clone()).is_ok() {
        let before = Archive::read(signed).expect("it was just written");
        assert!(digests == self::digests(&before), "another archive with the same signature");
    }
}

fn archive_seeds() -> Vec<(&'static str, Vec<u8>)> {
    // The day of the first member, a flag of it, a letter of its name, a byte of its data.
    vec![
        ("unchanged", Vec::new()),
        ("day", vec![12, 0, 1]),
        ("flag", vec![6, 0, 2]),
        ("name", vec![30, 0, 32]),
        ("data", vec![44, 0, 1]),
    ]
}

fn signed_archive() -> Vec<u8> {
    let members: [(&str, &[u8]); 3] = [("mjolnir.json", b"{}"), ("a.ucas", b"1"), ("a.utoc", b"2")];
    let files = members.iter().map(|(name, data)| ((*name).to_owned(), Sha256Digest::of(data))).collect();
    let envelope = release(files).sign(&author()).expect("a good statement");
    let members = [&members[..], &[(signature::MEMBER, envelope.as_bytes())]].concat();
    write(&members, Compression::Store, Cursor::new(Vec::new())).expect("good members").into_inner()
}

fn digests(archive: &Archive<'_>) -> BTreeMap<String, Sha256Digest> {
    let members = archive.members().filter(|member| member.name_bytes() != signature::MEMBER.as_bytes());
    members.map(|member| (member.name().into_owned(), Sha256Digest::of(&member.read()))).collect()
}

fn author() -> SeedKey {
    SeedKey::from_seed(&[7; 32])
}

fn expected() -> Expected<'static> {
    Expected { slug: Some("foundry"), version: Some("0.2.0") }
}

fn release(files: BTreeMap<String, Sha256Digest>) -> Release {
    Release {
        slug: "foundry".to_owned(),
        version: Version::parse("0.2.0").expect("a version"),
        author: Some(Author { id: "1".to_owned(), username: "\"é/\u{1}\u{7f}😀\\".to_owned() }),
        signed_at: SignedAt::from_unix(0).expect("a time"),
        files,
    }
}

/// The part of a document that holds the place of a fault is there.
#[track_caller]
fn assert_place(document: &[u8], at: &str) {
    let Ok(value) = serde_json::from_slice::<Value>(document) else {
        assert_eq!(at, "", "a place in what is no JSON");
        return;
    };
    let parent = at.rsplit_once('/').map_or("", |(parent, _)| parent);
    assert!(value.pointer(parent).is_some(), "`{at}` is nowhere");
}

#[track_caller]
fn assert_places(document: &[u8], faults: &[Fault]) {
    assert!(!faults.is_empty());
    faults.iter().for_each(|fault| assert_place(document, &fault.at));
}

/// Any bytes as a manifest: what is read can be written and reads back as itself; faults have their places.
pub fn manifest(data: &[u8]) {
    match within(data, 64 * KIB, 400, || Manifest::read(data)) {
        Ok(manifest) => {
            let text = manifest.write().expect("what is read can be written");
            let again = Manifest::read(text.as_bytes()).expect("what is written is read");
            assert_eq!(again, manifest);
            assert_eq!(again.write().expect("as before"), text);
        }
        Err(faults) => assert_places(data, &faults),
    }
    let sound = Manifest::read(data).is_ok_and(|manifest| manifest.marks.is_empty());
    let passes = scan_manifest(data, &Context::default()).verdict() == Verdict::Pass;
    assert!(passes || !sound);
}

fn manifest_seeds() -> Vec<(&'static str, Vec<u8>)> {
    let light =
        json!({"offset_m": [0, -1.5, 3], "color_rgb": [1, 0.05, 0], "intensity_cd": 70, "radius_m": 8});
    let lift = json!({"offset_m": [0, 0, 0], "size_m": [1, 1, 4], "direction": [0, 0.6, 0.8],
        "acceleration_m_s2": 20, "max_speed_m_s": 9.5, "negates_gravity": true});
    let door = json!({"travel_m": 4, "speed_m_s": 4.5, "trigger_size_m": [8, 16, 6], "hold_open_s": 0});
    let block = |id: &str| {
        json!({"id": id, "name": "A piece", "tag": block_tag("foundry", id), "category": "misc",
            "dimensions_m": [4, 0.5, 1e-9]})
    };
    let with = |id: &str, name: &str, value: Value| {
        let mut block = block(id);
        block[name] = value;
        block
    };
    let pack = json!({"schema_version": 1, "name": "Höhle \"1\"", "version": "0.2.0-a.1", "type": "content",
        "summary": "Pieces", "compat": {"min_build": "2026.06.26.1097863.1"},
        "deps": [{"slug": "mjolnir-ce-runtime", "range": ">=1.2.3, <2.0.0"}, {"slug": "other"}],
        "forge_pack": {"schema_version": 1, "id": "foundry", "requires": [], "blocks": [
            with("a", "light", light), with("b", "lift", lift), with("c", "door", door),
            with("d", "surfaces", json!([{"slot": 15, "profile": "glass_cyan"}])),
            with("e", "snap_m", json!(0.1))]},
        "x_bake": {"stand_ins": ["mappings", "game", "game"], "reduced": true}});
    let map = json!({"schema_version": 1, "name": "x", "version": "1.0.0", "type": "map",
        "map": {"code": "BGL", "title": "Beaver", "modes": ["slayer", "ctf"], "size": "small",
            "players": {"min": 2, "max": 16}, "vehicles": false, "origin": "custom_edition"}});
    vec![("pack", pack.to_string().into_bytes()), ("map", map.to_string().into_bytes())]
}

/// Any bytes as the record of a release: what is read can be written and reads back as itself; faults have
/// their places.
pub fn record(data: &[u8]) {
    match within(data, 64 * KIB, 400, || Record::read(data)) {
        Ok(record) => {
            let text = record.write().expect("what is read can be written");
            let again = Record::read(text.as_bytes()).expect("what is written is read");
            assert_eq!(again, record);
            assert_eq!(again.write().expect("as before"), text);
        }
        Err(faults) => assert_places(data, &faults),
    }
}

fn record_seeds() -> Vec<(&'static str, Vec<u8>)> {
    let level = format!(
        r#"{{"blam":{{"forge_packs":[{{"slug":"foundry","version":"0.2.1","blocks":[{{"id":"a","tag":{}}}]}}]}}}}"#,
        json!(block_tag("foundry", "a"))
    );
    let record = |slug: &str, manifest: &[u8], level: Option<&str>| {
        let manifest = Some(("mjolnir.json".into(), manifest.to_vec().into()));
        let level = level.map(|level| (map_files::LEVEL.into(), level.as_bytes().to_vec().into()));
        let record = Record::of(slug, manifest.into_iter().chain(level), &|_| None).expect("a good release");
        record.write().expect("a good record").into_bytes()
    };
    let (_, pack) = manifest_seeds().swap_remove(0);
    vec![("pack", record("foundry", &pack, None)), ("map", record("ce-x", MAP.as_bytes(), Some(&level)))]
}

/// Any bytes as an envelope, and as a statement that its author signed. What verifies says what an ordinary
/// JSON reader finds in it, and no other envelope says what ours does.
pub fn signature(data: &[u8]) {
    static OURS: LazyLock<Fields> = LazyLock::new(|| Fields::of(&envelope()));
    if within(data, 256 * KIB, 400, || verify(data, expected(), files)).is_ok() {
        let fields = Fields::of(data);
        let same = fields.payload == OURS.payload && fields.signature == OURS.signature;
        assert!(same || fields.key != OURS.key, "a forgery");
    }

    let key = author();
    let signed = key.sign(&message(data)).expect("a key in memory signs");
    let form = json!({"schema_version": 1, "payload_type": "mjolnir-mod-statement-v1",
        "payload": STANDARD.encode(data), "public_key": key.public_key().to_base64(),
        "signature": STANDARD.encode(signed)});
    let envelope = form.to_string();
    let value: Value = serde_json::from_slice(data).unwrap_or_default();
    let stated = value["files"].as_object().cloned().unwrap_or_default();
    let digests = || stated.keys().map(|name| (name.clone(), Sha256Digest::of(name.as_bytes()))).collect();
    match within(data, 256 * KIB, 400, || verify(envelope.as_bytes(), Expected::default(), digests)) {
        Ok(verified) => {
            assert_eq!(verified.key, key.public_key());
            assert_eq!(verified.author_id.as_deref(), value["author"]["id"].as_str());
            assert_eq!(value["schema_version"].to_string(), "1");
            assert_eq!(value["key_fingerprint"], key.public_key().fingerprint().to_string());
            assert!(value["slug"].is_string() && value["version"].is_string());
            for (name, digest) in &stated {
                assert_eq!(*digest, Sha256Digest::of(name.as_bytes()).to_string());
            }
        }
        Err(error) => {
            let after_crypto = [Step::Statement, Step::Fingerprint, Step::Replay, Step::Members];
            assert!(after_crypto.contains(&error.step), "{error:?}");
        }
    }
}

/// The fields of an envelope that matter, as an ordinary JSON reader finds them.
struct Fields {
    payload: Vec<u8>,
    key: Vec<u8>,
    signature: Vec<u8>,
}

impl Fields {
    fn of(envelope: &[u8]) -> Self {
        let value: Value = serde_json::from_slice(envelope).expect("JSON");
        let field = |name: &str| STANDARD.decode(value[name].as_str().expect("text")).expect("base64");
        Self { payload: field("payload"), key: field("public_key"), signature: field("signature") }
    }
}

/// Members whose digests are those of their names, so that an input can state them.
fn files() -> BTreeMap<String, Sha256Digest> {
    ["a.ucas", "a.utoc", "mjolnir.json"]
        .map(|name| (name.to_owned(), Sha256Digest::of(name.as_bytes())))
        .into()
}

fn envelope() -> Vec<u8> {
    release(files()).sign(&author()).expect("a good statement").into_bytes()
}

fn signature_seeds() -> Vec<(&'static str, Vec<u8>)> {
    let statement = release(files()).statement(&author().public_key()).expect("a good statement");
    let anonymous = Release { author: None, ..release(BTreeMap::new()) };
    let none = anonymous.statement(&author().public_key()).expect("a good statement");
    vec![("envelope", envelope()), ("statement", statement), ("no_files", none)]
}

/// Any bytes as a layout's list of packs: what is read has one text only.
pub fn sidecar(data: &[u8]) {
    let Ok(rows) = within(data, 64 * KIB, 64, || sidecar::read(data)) else { return };
    let row = |row: &sidecar::Row| {
        let tag = block_tag(&row.slug, &row.block);
        format!("{}\t{tag}\t{}\t{}\t{}\n", row.index, row.slug, row.version, row.sha256)
    };
    let text: String = rows.iter().map(row).collect();
    assert_eq!(format!("forge-packs 1\n{text}").as_bytes(), data);
    let indices: BTreeSet<_> = rows.iter().map(|row| row.index).collect();
    assert!(indices.len() == rows.len() && rows.len() <= 200);
}

fn sidecar_seeds() -> Vec<(&'static str, Vec<u8>)> {
    let row = |index: u8, version: &str| {
        let tag = block_tag("foundry-wide", "wall_4x2");
        format!("{index}\t{tag}\tfoundry-wide\t{version}\t{}\n", "0a".repeat(32))
    };
    let two = format!("forge-packs 1\n{}{}", row(0, "0.2.0"), row(254, "1.0.0-rc.1"));
    vec![("two", two.into_bytes()), ("none", b"forge-packs 1\n".to_vec())]
}

/// Any bytes as declared changes: faults have their places, and what we declare has none.
pub fn changes(data: &[u8]) {
    let faults = within(data, 64 * KIB, 1200, || changes::check(data));
    if faults.is_empty() {
        let value: Value = serde_json::from_slice(data).expect("JSON");
        assert!(value["schema_version"] == 1 && value["tags"].is_array());
    } else {
        assert_places(data, &faults);
    }
    let mut pieces = Pieces(data);
    let mut text =
        || Some(String::from_utf8_lossy(pieces.bytes()?).into_owned()).filter(|text| !text.is_empty());
    let tag = || Some(NewTag { group: text()?.chars().take(64).collect(), tag: text()?, from: text()? });
    let ours = changes::additions(std::iter::from_fn(tag).take(1000).collect());
    assert_eq!(changes::check(ours.as_bytes()), []);
}

fn changes_seeds() -> Vec<(&'static str, Vec<u8>)> {
    let all = json!({"schema_version": 1,
        "tags": [{"group": "weap", "tag": "a\\b", "fields": [
            {"field": "f", "before": null, "value": "1"}, {"field": "g", "before": "é", "value": ""}]}],
        "textures": [{"path": "t", "bytes": 1}, {"path": "u"}], "scripts": [{"group": "scnr", "tag": "s"}],
        "new_tags": [{"group": "bloc", "tag": "n", "from": "o"}]});
    vec![
        ("all", all.to_string().into_bytes()),
        ("none", b"{\"schema_version\":1,\"tags\":[]}".to_vec()),
        ("pieces", b"\x04bloc\x01n\x01o".to_vec()),
    ]
}

/// Any bytes as both files of a map, in an archive: faults have their places, and without one the level's
/// packs are deps and the registration is the map's.
pub fn map_files(data: &[u8]) {
    if data.is_empty() {
        return;
    }
    let members: [(&str, &[u8]); 3] =
        [("mjolnir.json", MAP.as_bytes()), (map_files::LEVEL, data), (map_files::REGISTRATION, data)];
    let archive = write(&members, Compression::Store, Cursor::new(Vec::new())).expect("good members");
    let report = within(data, 512 * KIB, 1200, || scan(archive.get_ref(), &Context::default()));
    let of = |member: &str| -> Vec<&Finding> {
        report.findings.iter().filter(|finding| finding.member.as_deref() == Some(member)).collect()
    };
    for member in [map_files::LEVEL, map_files::REGISTRATION] {
        of(member).iter().for_each(|finding| assert_place(data, finding.at.as_deref().unwrap_or_default()));
    }
    let value = serde_json::from_slice::<Value>(data).unwrap_or_default();
    if of(map_files::LEVEL).is_empty() {
        assert!(value.is_object());
        for pack in value["blam"]["forge_packs"].as_array().into_iter().flatten() {
            assert_eq!(pack["slug"], "foundry");
        }
    }
    if of(map_files::REGISTRATION).is_empty() {
        assert!(value["code"] == "BGL" && value["from"].is_string());
    }
}

const MAP: &str = r#"{"schema_version":1,"name":"x","version":"1.0.0","type":"map",
    "deps":[{"slug":"foundry","range":"^0.2.0"}],"map":{"code":"BGL","title":"x","modes":["slayer"]}}"#;

fn map_files_seeds() -> Vec<(&'static str, Vec<u8>)> {
    let level = json!({"multiplayer": true, "canvas": {"scenario": "b40"}, "blam": {"forge_packs": [
        {"slug": "foundry", "version": "0.2.1",
            "blocks": [{"id": "a", "tag": block_tag("foundry", "a")}, {"id": "b", "tag": block_tag("foundry", "b")}]}]}});
    let registration = json!({"code": "BGL", "from": "B40", "title": "x", "description": null,
        "world": "/Game/Levels/Halo1/Solo/BGL/BGL.BGL"});
    vec![("level", level.to_string().into_bytes()), ("registration", registration.to_string().into_bytes())]
}
