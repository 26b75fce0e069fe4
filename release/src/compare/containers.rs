//! Containers by what the game loads from them: packages with their bulk data, and chunks that belong to none.
//!
//! It believes the tables of contents, which the scan holds against the bytes; containers whose bytes differ
//! and whose tables tell no difference are named as such.

use std::collections::{BTreeMap, BTreeSet};

use iostore::{ChunkId, ChunkType, Limits, PackageId, Toc};
use mjolnir::signature::Sha256Digest;
use serde_json::{Map, Value, json};
use unreal::PackagePath;

use super::{Change, Group, pairs};
use crate::Opened;

/// Whether this section looks into the member.
pub(super) fn is_container(name: &str) -> bool {
    name.ends_with(".utoc") || name.ends_with(".ucas")
}

/// The containers of one archive.
#[derive(Default)]
struct Side {
    /// By stem: what is told of one that is new or gone, and the digest of its bytes.
    containers: BTreeMap<String, (Value, Sha256Digest)>,
    packages: BTreeMap<String, Value>,
    chunks: BTreeMap<String, Value>,
    /// In which containers a package or chunk is.
    places: BTreeMap<String, BTreeSet<String>>,
}

pub(super) fn compare(old: &Opened<'_>, new: &Opened<'_>, changes: &mut Vec<Change>) {
    let (old, new) = (Side::read(old), Side::read(new));
    let mut touched: BTreeSet<String> = BTreeSet::new();
    let mut found = Vec::new();
    let places = [&old.places, &new.places];
    let mut note = |group, at: String, old: Option<Value>, new: Option<Value>| {
        touched.extend(places.iter().filter_map(|places| places.get(&at)).flatten().cloned());
        found.push(Change { group, at, old, new });
    };
    pairs(old.packages, new.packages, |at, old, new| note(Group::Packages, at, old, new));
    pairs(old.chunks, new.chunks, |at, old, new| note(Group::Chunks, at, old, new));
    pairs(old.containers, new.containers, |at, old, new| {
        let (old, new) = (old.map(|(value, _)| value), new.map(|(value, _)| value));
        // A container that is there before and after is told by what changed in it.
        if old.is_none() || new.is_none() || old != new || !touched.contains(&at) {
            let (old, new) = match old.is_some() && old == new {
                true => (Some(json!("the same chunks by its table")), Some(json!("in other bytes"))),
                false => (old, new),
            };
            changes.push(Change { group: Group::Containers, at, old, new });
        }
    });
    changes.extend(found);
}

impl Side {
    fn read(opened: &Opened<'_>) -> Self {
        let mut side = Self::default();
        let names = opened.names();
        let stems = names.iter().filter(|name| is_container(name)).filter_map(|name| name.rsplit_once('.'));
        let stems: BTreeSet<&str> = stems.map(|(stem, _)| stem).collect();
        for stem in stems {
            side.add(opened, stem);
        }
        side
    }

    fn add(&mut self, opened: &Opened<'_>, stem: &str) {
        let member = |extension: &str| opened.archive.member(&format!("{stem}.{extension}"));
        let (utoc, ucas) = (member("utoc"), member("ucas"));
        let digest = Sha256Digest::of_pieces(|sink| {
            for member in [utoc, ucas].into_iter().flatten() {
                member.for_each_piece(&mut *sink);
            }
        });
        let size: u64 = [utoc, ucas].into_iter().flatten().map(|member| member.size()).sum();
        let toc = utoc.and_then(|utoc| Toc::read(&utoc.read(), &Limits::default()).ok());
        let Some(toc) = toc else {
            let value = json!({"size": size, "unreadable": true, "sha256": digest.to_string()});
            self.containers.insert(stem.to_owned(), (value, digest));
            return;
        };
        let value =
            json!({"chunks": toc.chunks().len(), "methods": toc.methods(), "block_size": toc.block_size()});
        self.containers.insert(stem.to_owned(), (value, digest));
        let names = package_names(&toc);
        let mut packages: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
        for chunk in toc.chunks().iter().filter(|chunk| chunk.id.kind() != ChunkType::ContainerHeader) {
            let what = json!({"size": chunk.length, "hash": chunk.hash.to_string()});
            let of_package = is_part(chunk.id.kind()).then(|| names.get(&PackageId(chunk.id.id()))).flatten();
            let at = match of_package {
                Some(name) => {
                    packages.entry(name).or_default().insert(part(chunk.id), what);
                    name.clone()
                }
                None => {
                    let at = format!("{} {}", chunk.id, chunk.id.kind());
                    self.chunks.insert(at.clone(), what);
                    at
                }
            };
            self.places.entry(at).or_default().insert(stem.to_owned());
        }
        for (name, mut parts) in packages {
            parts.insert("container".to_owned(), json!(stem));
            self.packages.insert(name.to_owned(), Value::Object(parts));
        }
    }
}

/// What the packages of a container are called: their paths, or their ids where it does not tell.
fn package_names(toc: &Toc) -> BTreeMap<PackageId, String> {
    let chunks = toc.chunks().iter().enumerate();
    let packages = chunks.filter(|(_, chunk)| chunk.id.kind() == ChunkType::ExportBundleData);
    packages
        .map(|(index, chunk)| {
            let id = PackageId(chunk.id.id());
            let path = toc.path_below_mount(index).and_then(|file| PackagePath::of_file(&file));
            let path = path.filter(|path| path.id() == id);
            (id, path.map_or_else(|| id.to_string(), |path| path.to_string()))
        })
        .collect()
}

fn is_part(kind: ChunkType) -> bool {
    matches!(
        kind,
        ChunkType::ExportBundleData
            | ChunkType::BulkData
            | ChunkType::OptionalBulkData
            | ChunkType::MemoryMappedBulkData
    )
}

/// What reports call a part of a package.
fn part(id: ChunkId) -> String {
    let name = match id.kind() {
        ChunkType::ExportBundleData => "exports",
        ChunkType::BulkData => "bulk",
        ChunkType::OptionalBulkData => "optional_bulk",
        _ => "memory_mapped_bulk",
    };
    if id.index() == 0 { name.to_owned() } else { format!("{name}_{}", id.index()) }
}
