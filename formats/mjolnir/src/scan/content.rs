//! What an archive holds: names, kinds, and the containers among its members.
//!
//! It knows no manifest. Containers are taken for what the game would find in them, so one that is not sound
//! counts for nothing further.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use std::collections::{BTreeMap, BTreeSet};

use iostore::ChunkId;

use super::{Report, Verdict};
use crate::finding::{Code, Finding};
use crate::path::{self, PathFault};
use crate::zip::{Archive, Member};

const CONTENT: &str = "content/";

pub(super) fn check_names(archive: &Archive<'_>, report: &mut Report) {
    let mut folded = BTreeSet::new();
    for entry in archive.entries() {
        let (bytes, name) = (entry.name_bytes(), entry.name());
        match path::check(bytes) {
            Err(PathFault::Traversal(message)) => {
                report.error(Code::PathTraversal, &name, message);
            }
            Err(PathFault::Bad(message)) => report.error(Code::BadPath, &name, message),
            Ok(()) => {}
        }
        let plain = bytes.strip_suffix(b"/").unwrap_or(bytes);
        if !folded.insert(plain.to_ascii_lowercase()) {
            let message = "another member has the same name but for case";
            report.error(Code::BadPath, &name, message);
        }
        if !entry.is_directory() && !path::is_allowed_kind(bytes) {
            let message = format!("only `.{}` are allowed, in lower case", path::KINDS.join("` `."));
            report.error(Code::ForbiddenFile, &name, message);
        }
    }
}

/// Checks the containers and gives the chunks below `content/`, each with whether it would be installed.
pub(super) fn check_containers(archive: &Archive<'_>, report: &mut Report) -> BTreeMap<ChunkId, bool> {
    let mut chunks: BTreeMap<ChunkId, bool> = BTreeMap::new();
    let mut any_installed = false;
    for member in archive.members() {
        let name = member.name();
        let partner = |extension: &str| {
            let stem = name.rsplit_once('.').map_or(&*name, |(stem, _)| stem);
            archive.member(&format!("{stem}.{extension}"))
        };
        match path::extension(member.name_bytes()) {
            Some(b"ucas") if partner("utoc").is_none() => {
                report.error(Code::OrphanUcas, &name, "its `.utoc` is missing");
            }
            Some(b"utoc") => {
                let ucas = partner("ucas");
                if ucas.is_none() {
                    report.error(Code::OrphanUtoc, &name, "its `.ucas` is missing");
                }
                let found = check_container(member, ucas, report);
                let Some(below) = name.strip_prefix(CONTENT) else {
                    let message = "a container outside `content/` is never installed";
                    report.warning(Code::StrayContainer, &name, message);
                    continue;
                };
                let installed = !below.contains('/');
                any_installed |= installed;
                let mut shared = None;
                for id in found {
                    if let Some(other) = chunks.insert(id, installed) {
                        chunks.insert(id, installed | other);
                        shared = Some(id);
                    }
                }
                if let Some(id) = shared {
                    let message = format!("chunk {id} is in another container, too");
                    report.error(Code::DuplicateChunk, &name, message);
                }
            }
            _ => {}
        }
    }
    if !any_installed && report.verdict() == Verdict::Pass {
        let message = "there is no container directly in `content/`";
        report.add(Finding::error(Code::NoContent, message));
    }
    chunks
}

fn check_container(utoc: &Member<'_>, ucas: Option<&Member<'_>>, report: &mut Report) -> Vec<ChunkId> {
    let name = utoc.name();
    match iostore::check::toc_structure(&utoc.read(), ucas.map_or(0, Member::size)) {
        Err(error) => report.error(Code::BadContainer, &name, error.to_string()),
        Ok(summary) if summary.encrypted => {
            report.error(Code::EncryptedContainer, &name, "the container is encrypted");
        }
        Ok(summary) => {
            if summary.chunk_ids.is_empty() {
                report.warning(Code::EmptyContainer, &name, "the container has no chunks");
            }
            return summary.chunk_ids;
        }
    }
    Vec::new()
}
