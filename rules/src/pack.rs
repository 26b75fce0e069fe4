//! `pack`: packages into one container, in the canonical form.
//!
//! It knows that a file's place and the name inside it must agree, and that what a package needs of this
//! container must be in it: the game says nothing when it is not. The bytes of a container are the affair of
//! `iostore`.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io;

use engine::{Cx, Digest, Inputs, Interface, Kind, Outputs, ParamError, Pure, RuleError};
use iostore::{ChunkType, PackageId, Payload, Source, WriteError};
use schemars::JsonSchema;
use serde::Deserialize;
use unreal::PackagePath;
use unreal::package::{BulkEntry, ImportedPackage, Package};

use crate::parts;
use crate::stream::Stream;

/// Parameters of `pack`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The container's base name, such as `pakchunk990-foundry_P`.
    #[schemars(extend("x-claim" = "container name"))]
    name: String,
    /// The folder in which every package must lie, such as `/Game/MJOLNIR/Forge/foundry`.
    namespace: Option<String>,
}

/// The rule.
pub(crate) struct Pack;

impl Pure for Pack {
    type Params = Params;
    const NAME: &'static str = "pack";
    const VERSION: u32 = 1;
    const DOC: &'static str = "Writes packages into one container (`.utoc` and `.ucas`) in the canonical form: \
        the same packages give the same bytes.";

    fn interface() -> Interface {
        Interface::new()
            .input("packages", Kind::Tree, "Packages and bulk data under their paths in a container.")
            .output("container", Kind::Tree, "`content/<name>.utoc` and `content/<name>.ucas`.")
    }

    fn check(params: &Params) -> Vec<ParamError> {
        let digits = params
            .name
            .strip_prefix("pakchunk")
            .map(|rest| rest.bytes().take_while(u8::is_ascii_digit).count());
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let numbered =
            digits.is_some_and(|digits| digits > 0 && params.name.len() > "pakchunk".len() + digits);
        if numbered && params.name.ends_with("_P") && params.name.bytes().all(allowed) {
            return Vec::new();
        }
        let mut error = ParamError::at("name", format!("`{}` is no name of a mod's container", params.name));
        error.expected =
            Some("expected `pakchunk<number>-<name>_P` of letters, digits, `.`, `_`, `-`".to_owned());
        vec![error]
    }

    /// Inputs are mapped and outputs streamed: what is held is the table of contents.
    fn memory(_: &Params, input_bytes: u64) -> u64 {
        (32 << 20) + input_bytes / 64
    }

    fn run(params: Params, inputs: &Inputs<'_>, outputs: &Outputs<'_>, cx: &Cx<'_>) -> Result<(), RuleError> {
        let files = Files::of(inputs, cx)?;
        if let Some(folder) = &params.namespace {
            files.check_namespace(folder)?;
        }
        let mut builder = iostore::Builder::new(&params.name);
        for file in &files.0 {
            builder = builder.package(file.package());
        }
        let mut ucas = Stream::new(outputs)?;
        let written = builder.write(&mut ucas);
        let ucas_length = ucas.written();
        let (utoc, ucas) = ucas.finish(written, |error| unwrapped(error, &params.name))?;
        // A fault here is ours, and the game would only say that there is no such package.
        iostore::check::toc_structure(&utoc, ucas_length).map_err(|error| {
            RuleError::new(format!("container `{}` does not read back: {error}", params.name))
        })?;
        outputs.link_in("container", &format!("content/{}.ucas", params.name), ucas)?;
        outputs.put_in("container", &format!("content/{}.utoc", params.name), &utoc)
    }
}

/// A file that is read when it is written: of small files, which are not mapped, one is held at a time.
struct Later<'a> {
    inputs: &'a Inputs<'a>,
    digest: Digest,
}

impl Source for Later<'_> {
    fn len(&self) -> u64 {
        self.digest.len()
    }

    fn read(&self, sink: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        // What is wrong with the store must reach the engine as it is: see `unwrapped`.
        sink(&self.inputs.read(self.digest).map_err(io::Error::other)?)
    }
}

/// What an error of the writer is to the engine.
fn unwrapped(error: WriteError, container: &str) -> RuleError {
    let explain =
        |error: &dyn Display| RuleError::new(format!("container `{container}` cannot be written: {error}"));
    match error {
        WriteError::Io(error) => error.downcast::<RuleError>().unwrap_or_else(|error| explain(&error)),
        error => explain(&error),
    }
}

/// The files of one package.
struct File<'a> {
    path: String,
    name: PackagePath,
    is_world: bool,
    imports: Vec<String>,
    zen: Later<'a>,
    bulk: BTreeMap<ChunkType, Later<'a>>,
}

struct Files<'a>(Vec<File<'a>>);

impl<'a> Files<'a> {
    fn of(inputs: &'a Inputs<'a>, cx: &Cx<'_>) -> Result<Self, RuleError> {
        let mut stems: BTreeMap<String, Vec<(String, ChunkType, Digest)>> = BTreeMap::new();
        for (path, digest) in inputs.tree("packages")?.iter() {
            let (stem, kind) = parts::split(path.as_str()).ok_or_else(|| parts::no_part(path.as_str()))?;
            if digest.is_empty() {
                return Err(RuleError::new(format!("`{path}` is empty; leave it out")));
            }
            stems.entry(stem.to_owned()).or_default().push((path.to_string(), kind, *digest));
        }
        let stems: Vec<_> = stems.into_iter().collect();
        let files = cx.par_map(&stems, |(stem, files)| File::of(stem, files, inputs))?;
        let mut seen = BTreeMap::new();
        for file in &files {
            if let Some(other) = seen.insert(file.name.id(), &file.path) {
                return Err(RuleError::new(format!(
                    "`{other}` and `{}` are one package to the game",
                    file.path
                )));
            }
        }
        Ok(Self(files))
    }

    /// All packages must lie in `folder`, and what they import from it must be here: it cannot be elsewhere.
    fn check_namespace(&self, folder: &str) -> Result<(), RuleError> {
        let here: BTreeMap<PackageId, &File<'_>> = self.0.iter().map(|file| (file.name.id(), file)).collect();
        for file in &self.0 {
            if !is_below(file.name.as_str(), folder) {
                return Err(RuleError::new(format!("`{}` lies outside `{folder}`", file.name))
                    .detail(format!("as `{}`", file.path)));
            }
            let missing =
                |name: &&String| is_below(name, folder) && !here.contains_key(&PackageId::of_name(name));
            if let Some(missing) = file.imports.iter().find(missing) {
                return Err(RuleError::new(format!(
                    "`{}` imports `{missing}`, which is not packed",
                    file.name
                )));
            }
        }
        Ok(())
    }
}

impl<'a> File<'a> {
    fn of(
        stem: &str,
        files: &[(String, ChunkType, Digest)],
        inputs: &'a Inputs<'a>,
    ) -> Result<Self, RuleError> {
        let packages: Vec<_> =
            files.iter().filter(|(_, kind, _)| *kind == ChunkType::ExportBundleData).collect();
        let (path, digest) = match packages[..] {
            [(path, _, digest)] => (path, *digest),
            [] => return Err(RuleError::new(format!("`{}` has no package beside it", files[0].0))),
            _ => return Err(RuleError::new(format!("`{stem}` is there both as `.uasset` and as `.umap`"))),
        };
        let zen = inputs.read(digest)?;
        let package = parts::parse(&zen, path)?;
        let name = package.path().map_err(|error| RuleError::new(format!("`{path}`: {error}")))?;
        let expected = PackagePath::of_file(path).filter(|expected| *expected == name);
        if expected.is_none() || !path.ends_with(&format!(".{}", parts::extension(&package))) {
            let place = name.file_path(package.is_world()).unwrap_or_default();
            return Err(RuleError::new(format!("`{path}` holds `{name}`, whose place is `{place}`")));
        }
        let bulk = files.iter().filter(|(_, kind, _)| *kind != ChunkType::ExportBundleData);
        let bulk = bulk.map(|(_, kind, digest)| (*kind, Later { inputs, digest: *digest })).collect();
        check_bulk(&package, &name, &bulk)?;
        Ok(Self {
            path: path.clone(),
            name,
            is_world: package.is_world(),
            imports: package.imported.iter().map(ImportedPackage::text).collect(),
            bulk,
            zen: Later { inputs, digest },
        })
    }

    fn package(&self) -> iostore::Package<'_> {
        let bulk = |kind| self.bulk.get(&kind).map(|later| Payload::Source(later));
        iostore::Package {
            is_world: self.is_world,
            bulk: bulk(ChunkType::BulkData),
            optional_bulk: bulk(ChunkType::OptionalBulkData),
            mapped_bulk: bulk(ChunkType::MemoryMappedBulkData),
            imports: self.imports.iter().map(|name| PackageId::of_name(name)).collect(),
            ..iostore::Package::new(self.name.as_str(), Payload::Source(&self.zen))
        }
    }
}

/// Whether the package `name` is below `folder`; like the game, without regard to case.
fn is_below(name: &str, folder: &str) -> bool {
    let (start, rest) = name.split_at_checked(folder.len()).unwrap_or_default();
    start.eq_ignore_ascii_case(folder) && rest.starts_with('/')
}

/// Every payload that the package says is beside it must be there.
fn check_bulk(
    package: &Package,
    name: &PackagePath,
    bulk: &BTreeMap<ChunkType, Later<'_>>,
) -> Result<(), RuleError> {
    for entry in &package.bulk {
        let Some(kind) = chunk_of(entry) else { continue };
        let found = bulk.get(&kind).map_or(0, |later| later.digest.len());
        let end = entry.offset.checked_add(entry.size).and_then(|end| u64::try_from(end).ok());
        if end.is_none_or(|end| end > found) {
            let (noun, size, offset) = (parts::noun(kind), entry.size, entry.offset);
            let message = format!("`{name}` needs {size} bytes at {offset} of its {noun}, which has {found}");
            return Err(RuleError::new(message));
        }
    }
    Ok(())
}

/// The chunk that a payload is in; `None` when it is inside the package.
fn chunk_of(entry: &BulkEntry) -> Option<ChunkType> {
    const SEPARATE: u32 = 0x100;
    const OPTIONAL: u32 = 0x800;
    const MAPPED: u32 = 0x1000;
    let has = |flag| entry.flags & flag != 0;
    match has(SEPARATE) && entry.size != 0 {
        false => None,
        true if has(OPTIONAL) => Some(ChunkType::OptionalBulkData),
        true if has(MAPPED) => Some(ChunkType::MemoryMappedBulkData),
        true => Some(ChunkType::BulkData),
    }
}
