//! [`Opened`]: an archive that was read, with what its manifest and its name say of it.

use std::collections::BTreeSet;

use mjolnir::manifest::{Fault, Manifest, Payload, is_slug};
use mjolnir::record::{Contents, Record, RecordError};
use mjolnir::zip::{Archive, ZipError};
use unreal::package::{Limits, Package};

/// The manifest's member.
pub(crate) const MANIFEST: &str = "mjolnir.json";

/// An archive that was read.
#[derive(Clone, Debug)]
pub struct Opened<'a> {
    /// Its members.
    pub archive: Archive<'a>,
    /// Its manifest.
    pub manifest: Manifest,
    /// Its slug, where it is known: a pack's id, else what stands before the version in the file's name.
    pub slug: Option<String>,
}

/// Why an archive is not read.
#[derive(Clone, Debug, thiserror::Error)]
pub enum OpenError {
    /// It is no sound zip.
    #[error(transparent)]
    Zip(#[from] ZipError),
    /// There is no manifest.
    #[error("it has no `mjolnir.json`")]
    NoManifest,
    /// The manifest breaks a rule.
    #[error("its `mjolnir.json` is not sound: {}", .0.first().map(ToString::to_string).unwrap_or_default())]
    Manifest(Vec<Fault>),
}

impl<'a> Opened<'a> {
    /// Reads an archive whose file is called `name`, without folders.
    pub fn read(name: &str, bytes: &'a [u8]) -> Result<Self, OpenError> {
        let archive = Archive::read(bytes)?;
        let manifest = archive.member(MANIFEST).ok_or(OpenError::NoManifest)?.read();
        let manifest = Manifest::read(&manifest).map_err(OpenError::Manifest)?;
        let slug = match &manifest.payload {
            Payload::ForgePack(pack) => Some(pack.id.clone()),
            _ => slug_of(name, &manifest.version.to_string()),
        };
        Ok(Self { archive, manifest, slug })
    }

    /// What the archive holds, as far as other releases are held against it. All of it is hashed.
    pub fn contents(&self) -> Result<Contents, RecordError> {
        let members = self.archive.members().map(|member| (member.name(), member.read()));
        Ok(Contents::of(self.slug.as_deref(), members, &names)?.1)
    }

    /// The record of the release, whose slug must be known.
    pub fn record(&self) -> Option<Result<Record, RecordError>> {
        let slug = self.slug.clone()?;
        let manifest = self.manifest.clone();
        Some(self.contents().map(|contents| Record { slug, manifest, contents }))
    }

    /// The names of all members.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        self.archive.members().map(|member| member.name().into_owned()).collect()
    }
}

/// The name map of a package.
fn names(package: &[u8]) -> Option<Vec<String>> {
    let package = Package::read(package, &Limits::default()).ok()?;
    Some(package.names.iter().map(|name| name.text().to_owned()).collect())
}

/// `ce-map` of `ce-map-1.0.0.mjolnir` or `ce-map-1.0.0.standin.mjolnir`.
fn slug_of(name: &str, version: &str) -> Option<String> {
    let stem = name.strip_suffix(".mjolnir")?;
    let stem = stem.strip_suffix(".standin").unwrap_or(stem);
    let slug = stem.strip_suffix(version)?.strip_suffix('-')?;
    is_slug(slug).then(|| slug.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_the_slug_before_the_version() {
        for (name, version, expected) in [
            ("ce-map-1.0.0.mjolnir", "1.0.0", Some("ce-map")),
            ("ce-map-1.0.0-rc.1.standin.mjolnir", "1.0.0-rc.1", Some("ce-map")),
            ("ce-map-1.0.0.mjolnir", "1.0.1", None),
            ("1.0.0.mjolnir", "1.0.0", None),
            ("Map-1.0.0.mjolnir", "1.0.0", None),
            ("ce-map-1.0.0.zip", "1.0.0", None),
        ] {
            assert_eq!(slug_of(name, version).as_deref(), expected, "{name}");
        }
    }
}
