//! The files of a package as trees hold them: the package itself and up to three kinds of bulk data.
//!
//! It knows extensions and chunk types, not what is in the files. Invariant: [`split`] is the inverse of
//! adding an extension.

use iostore::ChunkType;
use unreal::package::{Limits, Package};

use engine::{Inputs, RuleError};

/// Kinds of bulk data and their extensions.
pub(crate) const BULK: [(ChunkType, &str); 3] = [
    (ChunkType::BulkData, "ubulk"),
    (ChunkType::OptionalBulkData, "uptnl"),
    (ChunkType::MemoryMappedBulkData, "m.ubulk"),
];

/// What messages call a chunk of this type.
pub(crate) fn noun(kind: ChunkType) -> &'static str {
    match kind {
        ChunkType::ExportBundleData => "export bundle",
        ChunkType::BulkData => "bulk data",
        ChunkType::OptionalBulkData => "optional bulk data",
        ChunkType::MemoryMappedBulkData => "memory-mapped bulk data",
        _ => "chunk",
    }
}

/// The extension of the package's own file.
pub(crate) fn extension(package: &Package) -> &'static str {
    if package.is_world() { "umap" } else { "uasset" }
}

/// The extension of bulk data of this kind; `None` for what is no bulk data.
pub(crate) fn bulk_extension(kind: ChunkType) -> Option<&'static str> {
    BULK.iter().find(|(known, _)| *known == kind).map(|(_, extension)| *extension)
}

/// A path without its extension, and what that says it is; `None` for anything that is no part of a
/// package.
pub(crate) fn split(path: &str) -> Option<(&str, ChunkType)> {
    let package = ["uasset", "umap"].map(|extension| (ChunkType::ExportBundleData, extension));
    // `.m.ubulk` ends in `.ubulk` as well: the longest extension decides.
    let known = package.into_iter().chain(BULK.into_iter().rev());
    known.into_iter().find_map(|(kind, extension)| {
        let stem = path.strip_suffix(extension)?.strip_suffix('.')?;
        (!stem.is_empty() && !stem.ends_with('/')).then_some((stem, kind))
    })
}

/// Reads the package at `path` of an input.
pub(crate) fn read(inputs: &Inputs<'_>, path: &str, digest: engine::Digest) -> Result<Package, RuleError> {
    let bytes = inputs.read(digest)?;
    parse(&bytes, path)
}

/// Reads the bytes of a package that messages call `what`.
pub(crate) fn parse(bytes: &[u8], what: &str) -> Result<Package, RuleError> {
    Package::read(bytes, &Limits::default())
        .map_err(|error| RuleError::new(format!("`{what}` is no package that can be read: {error}")))
}

/// The error for a file that is no part of a package.
pub(crate) fn no_part(path: &str) -> RuleError {
    let bulk: Vec<String> = BULK.iter().map(|(_, extension)| format!("`.{extension}`")).collect();
    RuleError::new(format!(
        "`{path}` is no part of a package: expected `.uasset`, `.umap`, {}",
        bulk.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_say_what_a_file_is() {
        for (path, expected) in [
            ("a/b.uasset", Some(("a/b", ChunkType::ExportBundleData))),
            ("b.umap", Some(("b", ChunkType::ExportBundleData))),
            ("b.ubulk", Some(("b", ChunkType::BulkData))),
            ("b.m.ubulk", Some(("b", ChunkType::MemoryMappedBulkData))),
            ("b.uptnl", Some(("b", ChunkType::OptionalBulkData))),
            ("a/.uasset", None),
            (".ubulk", None),
            ("b.uexp", None),
            ("uasset", None),
        ] {
            assert_eq!(split(path), expected, "{path}");
        }
    }
}
