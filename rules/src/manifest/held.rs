//! [`Held`]: what the containers of a release hold, as far as their tables of contents tell.
//!
//! No package is read: which packages there are is known by their ids, what they are called only where a
//! container has a directory index.

use std::collections::{BTreeMap, BTreeSet};

use engine::{Inputs, RuleError};
use iostore::{ChunkType, Limits, PackageId, Toc};
use unreal::PackagePath;

/// What containers hold.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// The bytes of all chunks of each package.
    sizes: BTreeMap<PackageId, u64>,
    /// The paths of packages, as far as they have names.
    names: BTreeSet<String>,
    /// Packages without names.
    unnamed: bool,
    containers: usize,
}

impl Held {
    /// Reads the tables of contents among the members. What is no sound table is for the scan to refuse.
    pub(super) fn read(inputs: &Inputs<'_>) -> Result<Self, RuleError> {
        let mut held = Self::default();
        for (path, digest) in inputs.tree("content")?.iter() {
            if path.as_str().ends_with(".utoc")
                && let Ok(toc) = Toc::read(&inputs.read(*digest)?, &Limits::default())
            {
                held.add(&toc);
            }
        }
        Ok(held)
    }

    fn add(&mut self, toc: &Toc) {
        self.containers += 1;
        for (index, chunk) in toc.chunks().iter().enumerate() {
            if chunk.id.kind() == ChunkType::ExportBundleData {
                let name = toc.path(index).and_then(|path| PackagePath::of_file(&path));
                self.unnamed |= name.is_none();
                self.names.extend(name.map(|name| name.to_string()));
                self.sizes.entry(PackageId(chunk.id.id())).or_default();
            }
        }
        for chunk in toc.chunks() {
            if let Some(size) = self.sizes.get_mut(&PackageId(chunk.id.id())) {
                *size = size.saturating_add(chunk.length);
            }
        }
    }

    /// Whether there is anything to tell.
    pub(super) fn is_known(&self) -> bool {
        self.containers > 0
    }

    /// The bytes of the package of this path, or of the object `path.name` in it; `None` if none is held.
    pub(super) fn size(&self, path: &str) -> Option<u64> {
        let (folder, leaf) = path.rsplit_once('/').unwrap_or(("", path));
        let leaf = leaf.split_once('.').map_or(leaf, |(package, _)| package);
        self.sizes.get(&PackageId::of_name(&format!("{folder}/{leaf}"))).copied()
    }

    /// Whether the tag is held; `None` where that cannot be told.
    pub(super) fn has_tag(&self, tag: &str) -> Option<bool> {
        let start = format!("{}-", tag_path(tag));
        let found = self.names.iter().any(|name| name.to_ascii_lowercase().starts_with(&start));
        (found || !self.unnamed).then_some(found)
    }

    /// Whether the crate of a block is held.
    pub(super) fn has_crate(&self, tag: &str) -> bool {
        self.sizes.contains_key(&PackageId::of_name(&format!("{}-crate", tag_path(tag))))
    }

    /// The packages of which `is_own` and `is_declared` do not hold, in order.
    pub(super) fn others(&self, is_declared: impl Fn(&str) -> bool) -> Vec<&str> {
        self.names.iter().map(String::as_str).filter(|name| !is_declared(name)).collect()
    }
}

/// The path of a tag's package, without the group's name at its end.
pub(super) fn tag_path(tag: &str) -> String {
    format!("/Game/Tags/{}", tag.replace('\\', "/")).to_ascii_lowercase()
}
