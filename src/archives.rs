//! Releases that a command line names: archives, records, manifests, and folders of them.

use std::path::{Path, PathBuf};

use mjolnir::manifest::{self, Fault, Manifest};
use mjolnir::record::{self, Contents, Record};
use mjolnir::scan;
use mjolnir::update::Known;
use release::Opened;
use serde_json::Value;

use crate::fail::Fail;
use crate::verify::given;

/// What tells about channels and withdrawn releases, in a folder of releases.
pub(crate) const INDEX: &str = "index.json";

/// What is known of one release.
pub(crate) struct Release {
    pub(crate) path: PathBuf,
    pub(crate) slug: Option<String>,
    pub(crate) manifest: Manifest,
    pub(crate) contents: Option<Contents>,
}

impl Release {
    pub(crate) fn known(&self) -> Known<'_> {
        Known { slug: self.slug.as_deref(), manifest: &self.manifest, contents: self.contents.as_ref() }
    }

    /// What people call it.
    pub(crate) fn named(&self) -> String {
        let name = self.known().slug().unwrap_or(&self.manifest.name);
        format!("{} of `{name}`", self.manifest.version)
    }
}

/// Reads an archive as a whole, and no more of it than could pass.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>, Fail> {
    given(path, scan::ARCHIVE)
}

/// Opens the archive at `path`, of these bytes.
pub(crate) fn open<'b>(path: &Path, bytes: &'b [u8]) -> Result<Opened<'b>, Fail> {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    Opened::read(&name, bytes)
        .map_err(|error| Fail::usage(format!("`{}` is no archive: {error}", path.display())))
}

/// Reads an archive, a record or a manifest. What an archive holds is looked at where that is `wanted`; `slug`
/// is its slug where neither its manifest nor its name tells.
pub(crate) fn read(path: &Path, slug: Option<&str>, wanted: bool) -> Result<Release, Fail> {
    let bytes = bytes(path)?;
    if bytes.starts_with(b"PK") || path.extension().is_some_and(|extension| extension == "mjolnir") {
        let mut opened = open(path, &bytes)?;
        opened.slug = opened.slug.or(slug.map(str::to_owned));
        let contents = wanted.then(|| opened.contents()).transpose();
        let contents = contents.map_err(|error| Fail::usage(format!("`{}`: {error}", path.display())))?;
        return Ok(Release { path: path.to_owned(), slug: opened.slug, manifest: opened.manifest, contents });
    }
    let wrong = |what: &str, faults: Vec<Fault>| {
        let fail = Fail::usage(format!("`{}` is no {what}", path.display()));
        faults.iter().fold(fail, |fail, fault| fail.detail(fault.to_string()))
    };
    let is_record = bytes.len() <= record::LONGEST
        && serde_json::from_slice::<Value>(&bytes).is_ok_and(|value| value.get("manifest").is_some());
    if is_record {
        let record = Record::read(&bytes).map_err(|faults| wrong("record of a release", faults))?;
        let Record { slug, manifest, contents } = record;
        return Ok(Release { path: path.to_owned(), slug: Some(slug), manifest, contents: Some(contents) });
    }
    if bytes.len() > manifest::LONGEST {
        return Err(Fail::usage(format!("`{}` is too long for a manifest", path.display())));
    }
    let manifest =
        Manifest::read(&bytes).map_err(|faults| wrong("archive, record or manifest of a release", faults))?;
    let slug = Known::from(&manifest).slug().or(slug).map(str::to_owned);
    Ok(Release { path: path.to_owned(), slug, manifest, contents: None })
}

/// The archives and records directly in a folder, by their names.
pub(crate) fn in_folder(folder: &Path) -> Result<Vec<PathBuf>, Fail> {
    let failed = |error: std::io::Error| Fail::io("read", folder, &error);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let extension = path.extension().and_then(|text| text.to_str()).unwrap_or_default();
        if matches!(extension, "mjolnir" | "json") && path.file_name().is_some_and(|name| name != INDEX) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
