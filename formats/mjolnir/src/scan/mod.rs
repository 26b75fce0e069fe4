//! The scan: everything that the hub, the packer and the launcher ask of a release, in one pass.
//!
//! It works on one archive in memory and on what the caller knows of the world ([`Context`]). All findings
//! are collected, but for an archive that is too large or whose zip is not sound: of that nothing can be
//! said.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod author;
mod content;

use std::collections::BTreeMap;

use iostore::{ChunkId, ChunkType, PackageId};
use serde::Deserialize;

use crate::finding::{Code, Finding};
use crate::manifest::{Fault, KNOWN_MODES, Manifest, MapInfo, Payload};
use crate::path;
pub use crate::report::{Report, Verdict};
use crate::zip::Archive;
use crate::{changes, map_files, sidecar, update};

/// The largest archive, in bytes.
pub const ARCHIVE: u64 = 50 << 20;
const MANIFEST: &str = "mjolnir.json";

/// What the caller knows of the release and the world around it. What is not known is not checked.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Context {
    /// The release's slug.
    pub slug: Option<String>,
    /// The release's version.
    pub version: Option<String>,
    /// Whether an unsigned archive is refused.
    pub require_signed: bool,
    /// Whether what must not be published is refused: builds from stand-ins, reduced builds, packs whose
    /// surface packages could not be checked.
    pub publishable: bool,
    /// The registered keys, by fingerprint.
    pub registry: Option<BTreeMap<String, Registered>>,
    /// The account that uploads.
    pub uploader: Option<String>,
    /// The slugs that hold map codes.
    pub code_holders: BTreeMap<String, String>,
    /// The surface packages that a pack with surfaces must bring, below its own folder.
    pub surface_packages: Option<Vec<String>>,
}

/// A key that is registered on the hub.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registered {
    /// The account that it belongs to.
    pub user: String,
    /// Whether it was revoked.
    #[serde(default)]
    pub revoked: bool,
}

/// Scans a whole archive.
pub fn scan(bytes: &[u8], context: &Context) -> Report {
    if bytes.len() as u64 > ARCHIVE {
        return too_large(bytes.len() as u64);
    }
    let mut report = Report::default();
    let archive = match Archive::read(bytes) {
        Ok(archive) => archive,
        Err(error) => {
            let mut finding = Finding::error(Code::BadZip, error.message).because(error.reason.token());
            finding.member = error.member;
            report.add(finding);
            return report;
        }
    };
    report.canonical = Some(archive.canonical());
    content::check_names(&archive, &mut report);
    let is_map = check_manifest(&archive, context, &mut report);
    check_changes(&archive, is_map, &mut report);
    let chunks = content::check_containers(&archive, &mut report);
    let manifest = report.manifest.clone();
    let map = manifest.as_ref().and_then(|manifest| match &manifest.payload {
        Payload::Map(map) => Some(map),
        _ => None,
    });
    if is_map {
        check_map(&archive, manifest.as_ref(), map, context, &mut report);
    }
    if let Some(manifest) = &manifest {
        check_forge(manifest, &chunks, context, &mut report);
        check_marks(manifest, context, &mut report);
    }
    author::check_signature(&archive, manifest.as_ref(), context, &mut report);
    report
}

/// The report on an archive of `length` bytes, more than [`ARCHIVE`]: it is not looked into.
pub fn too_large(length: u64) -> Report {
    let mut report = Report::default();
    let message = format!("{length} bytes; an archive has at most {ARCHIVE}");
    report.add(Finding::error(Code::ArchiveTooLarge, message));
    report
}

/// Scans a manifest without an archive around it.
pub fn scan_manifest(bytes: &[u8], context: &Context) -> Report {
    let mut report = Report::default();
    read_manifest(bytes, context, &mut report);
    if let Some(manifest) = report.manifest.clone() {
        check_slug(&manifest, context, &mut report);
        check_marks(&manifest, context, &mut report);
    }
    report
}

/// Scans a manifest as an update of published ones.
pub fn scan_update(bytes: &[u8], published: &[&[u8]], context: &Context) -> Result<Report, PublishedError> {
    let published: Vec<Manifest> = published
        .iter()
        .enumerate()
        .map(|(index, bytes)| Manifest::read(bytes).map_err(|faults| PublishedError { index, faults }))
        .collect::<Result<_, _>>()?;
    let mut report = scan_manifest(bytes, context);
    if let Some(manifest) = &report.manifest {
        report.findings.extend(update::check(manifest, &published));
    }
    Ok(report)
}

/// A manifest that is called published and is not sound: nothing can be held against it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("published manifest {index} is not sound: {}", .faults.first().map(ToString::to_string).unwrap_or_default())]
pub struct PublishedError {
    /// Which of those that were given, from 0.
    pub index: usize,
    /// What is wrong with it.
    pub faults: Vec<Fault>,
}

/// Scans a layout's list of packs.
pub fn scan_sidecar(bytes: &[u8]) -> Report {
    let mut report = Report::default();
    if let Err(error) = sidecar::read(bytes) {
        report.add(Finding::error(Code::BadSidecar, error.to_string()));
    }
    report
}

/// Whether the release is a map, as far as its manifest says.
fn check_manifest(archive: &Archive<'_>, context: &Context, report: &mut Report) -> bool {
    let Some(member) = archive.member(MANIFEST) else {
        let message = "there is no `mjolnir.json` at the top of the archive";
        report.add(Finding::error(Code::NoManifest, message));
        return false;
    };
    let bytes = member.read();
    read_manifest(&bytes, context, report);
    match &report.manifest {
        Some(manifest) => matches!(manifest.payload, Payload::Map(_)),
        None => Manifest::claims_map(&bytes),
    }
}

fn read_manifest(bytes: &[u8], context: &Context, report: &mut Report) {
    match Manifest::read(bytes) {
        Ok(manifest) => {
            let found = manifest.version.to_string();
            if let Some(expected) = context.version.as_ref().filter(|text| **text != found) {
                let message = format!("the manifest's version is {found}, the release's {expected}");
                let finding = Finding::error(Code::VersionMismatch, message);
                report.add(finding.in_member(MANIFEST).at("/version"));
            }
            check_words(&manifest, report);
            report.manifest = Some(manifest);
        }
        Err(faults) => {
            for fault in faults {
                let code = if fault.unsupported { Code::ForgeUnsupported } else { Code::BadManifest };
                let finding = Finding::error(code, fault.message);
                report.add(finding.in_member(MANIFEST).at(fault.at));
            }
        }
    }
}

/// Looks at what lists show of a release.
fn check_words(manifest: &Manifest, report: &mut Report) {
    if manifest.summary.as_deref().is_none_or(|summary| summary.trim().is_empty()) {
        report.warning(Code::NoSummary, MANIFEST, "there is no `summary`; lists show it");
    }
    let Payload::Map(map) = &manifest.payload else {
        return;
    };
    for (index, mode) in
        map.modes.iter().enumerate().filter(|(_, mode)| !KNOWN_MODES.contains(&mode.as_str()))
    {
        let known = KNOWN_MODES.join("`, `");
        let message = format!("`{mode}` is no game type that is known here; those are `{known}`");
        let finding = Finding::warning(Code::UnknownMode, message);
        report.add(finding.in_member(MANIFEST).at(format!("/map/modes/{index}")));
    }
}

fn check_changes(archive: &Archive<'_>, is_map: bool, report: &mut Report) {
    let Some(member) = archive.member(changes::MEMBER) else {
        if !is_map {
            let message = "there is no `changes.json` to say what the release changes";
            report.add(Finding::warning(Code::NoChanges, message));
        }
        return;
    };
    if member.size() > changes::LONGEST as u64 {
        let message = format!("{} bytes; at most {} are allowed", member.size(), changes::LONGEST);
        report.error(Code::BadChanges, changes::MEMBER, message);
        return;
    }
    for fault in changes::check(&member.read()) {
        let finding = Finding::error(Code::BadChanges, fault.message);
        report.add(finding.in_member(changes::MEMBER).at(fault.at));
    }
}

fn check_map(
    archive: &Archive<'_>,
    manifest: Option<&Manifest>,
    map: Option<&MapInfo>,
    context: &Context,
    report: &mut Report,
) {
    let code = map.map(|map| map.code);
    for name in [map_files::LEVEL, map_files::REGISTRATION] {
        let Some(member) = archive.member(name) else {
            report.error(Code::MapFileMissing, name, "a map must have it");
            continue;
        };
        let bytes = member.read();
        report.findings.extend(if name == map_files::LEVEL {
            let deps = manifest.map(|manifest| manifest.deps.as_slice());
            map_files::check_level(&bytes, deps)
        } else {
            map_files::check_registration(&bytes, code)
        });
    }
    let Some(code) = code.map(|code| code.to_string()) else {
        return;
    };
    let own = format!("-{code}_P.");
    for member in archive.members() {
        let name = member.name();
        if path::extension(member.name_bytes()) == Some(b"utoc") && !name.contains(&own) {
            let message = format!("its name lacks `{own}`; what maps share belongs in the runtime pack");
            report.warning(Code::ForeignContainer, &name, message);
        }
    }
    if let (Some(holder), Some(slug)) = (context.code_holders.get(&code), &context.slug)
        && holder != slug
    {
        let message = format!("the code `{code}` is held by `{holder}`");
        let finding = Finding::error(Code::MapCodeTaken, message);
        report.add(finding.in_member(MANIFEST).at("/map/code"));
    }
}

fn check_slug(manifest: &Manifest, context: &Context, report: &mut Report) {
    if let (Payload::ForgePack(pack), Some(slug)) = (&manifest.payload, &context.slug)
        && pack.id != *slug
    {
        let message = format!("the pack is `{}`, the release `{slug}`", pack.id);
        let finding = Finding::error(Code::ForgeSlugMismatch, message);
        report.add(finding.in_member(MANIFEST).at("/forge_pack/id"));
    }
}

fn check_forge(
    manifest: &Manifest,
    chunks: &BTreeMap<ChunkId, bool>,
    context: &Context,
    report: &mut Report,
) {
    check_slug(manifest, context, report);
    let Payload::ForgePack(pack) = &manifest.payload else {
        return;
    };
    if pack.blocks.iter().all(|block| block.surfaces.is_empty()) {
        return;
    }
    let Some(leaves) = &context.surface_packages else {
        let message = "which packages surfaces need is not known here, so they were not checked";
        let code = Code::SurfacePackagesUnknown;
        report.add(if context.publishable {
            Finding::error(code, message)
        } else {
            Finding::warning(code, message)
        });
        return;
    };
    for leaf in leaves {
        let package = format!("/Game/MJOLNIR/Forge/{}/{leaf}", pack.id);
        let chunk = PackageId::of_name(&package).chunk(ChunkType::ExportBundleData);
        if chunks.get(&chunk) != Some(&true) {
            let message = format!("blocks have surfaces, and `{package}` is missing");
            report.add(Finding::error(Code::ForgeSurfaceMissing, message));
        }
    }
}

fn check_marks(manifest: &Manifest, context: &Context, report: &mut Report) {
    if !context.publishable {
        return;
    }
    let stand_ins = &manifest.marks.stand_ins;
    if !stand_ins.is_empty() {
        let message = format!("built from stand-ins for `{}`", stand_ins.join("`, `"));
        report.error(Code::StandInBuild, MANIFEST, message);
    }
    if manifest.marks.reduced {
        let message = "only a part of the release was built";
        report.error(Code::ReducedBuild, MANIFEST, message);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::signature::{self, Release, SeedKey, Sha256Digest, SignedAt};
    use crate::version::Version;
    use crate::zip::{Compression, write};

    type Members = BTreeMap<&'static str, Vec<u8>>;

    fn members(manifest: &str) -> Members {
        let chunk = PackageId::of_name("/Game/MJOLNIR/Test/Thing").chunk(ChunkType::BulkData);
        let mut ucas = Vec::new();
        let utoc = iostore::Builder::new("Test_P").chunk(chunk, b"a thing").write(&mut ucas).unwrap();
        [
            ("mjolnir.json", manifest.as_bytes().to_vec()),
            ("changes.json", changes::additions(Vec::new()).into_bytes()),
            ("content/Test_P.utoc", utoc),
            ("content/Test_P.ucas", ucas),
        ]
        .into()
    }

    fn content() -> Members {
        members(r#"{"schema_version":1,"name":"x","version":"1.0.0","type":"content","summary":"s"}"#)
    }

    fn archive(members: &Members) -> Vec<u8> {
        let members: Vec<_> = members.iter().map(|(name, data)| (*name, data.as_slice())).collect();
        write(&members, Compression::Text, Cursor::new(Vec::new())).unwrap().into_inner()
    }

    fn signed() -> Vec<u8> {
        let mut members = content();
        let files = members.iter().map(|(name, data)| ((*name).to_owned(), Sha256Digest::of(data)));
        let release = Release {
            slug: "test".to_owned(),
            version: Version::parse("1.0.0").unwrap(),
            author: None,
            signed_at: SignedAt::from_unix(0).unwrap(),
            files: files.collect(),
        };
        let envelope = release.sign(&SeedKey::from_seed(&[7; 32])).unwrap();
        members.insert(signature::MEMBER, envelope.into_bytes());
        archive(&members)
    }

    fn context() -> Context {
        Context {
            slug: Some("test".to_owned()),
            version: Some("1.0.0".to_owned()),
            require_signed: true,
            ..Context::default()
        }
    }

    fn codes(report: &Report) -> Vec<&'static str> {
        report.findings.iter().map(|finding| finding.code.token()).collect()
    }

    #[test]
    fn a_signed_archive_passes_without_a_finding() {
        let report = scan(&signed(), &context());
        assert_eq!(report.findings, []);
        assert_eq!((report.verdict(), report.canonical), (Verdict::Pass, Some(true)));
        assert!(report.signer.is_some());
    }

    #[test]
    fn findings_are_collected() {
        let mut members = content();
        members.remove("changes.json");
        members.remove("content/Test_P.ucas");
        let report = scan(&archive(&members), &context());
        assert_eq!(codes(&report), ["no_changes", "orphan_utoc", "bad_container", "unsigned"]);
        let large = vec![0; usize::try_from(ARCHIVE).unwrap() + 1];
        assert_eq!(codes(&scan(&large, &context())), ["archive_too_large"]);
        assert_eq!(codes(&scan(&large[1..], &context())), ["bad_zip"]);
    }

    #[test]
    fn marked_builds_are_good_but_not_for_publishing() {
        let manifest = br#"{"schema_version":1,"name":"x","version":"1.0.0","type":"content","summary":"s",
            "x_bake":{"stand_ins":["game"],"reduced":true}}"#;
        assert_eq!(codes(&scan_manifest(manifest, &Context::default())), [""; 0]);
        let context = Context { publishable: true, ..Context::default() };
        assert_eq!(codes(&scan_manifest(manifest, &context)), ["stand_in_build", "reduced_build"]);
    }
}
