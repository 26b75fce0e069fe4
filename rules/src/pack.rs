//! `pack`: packages into one container, in the canonical form.

use std::collections::BTreeMap;

use engine::{Blob, Cx, Digest, Inputs, Interface, Kind, Outputs, ParamError, Pure, RuleError};
use iostore::ChunkType;
use schemars::JsonSchema;
use serde::Deserialize;
use unreal::PackagePath;

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
        let files = Files::of(inputs)?;
        let mut builder = iostore::Builder::new(&params.name);
        for file in &files.0 {
            cx.check_cancelled()?;
            builder = builder.package(file.package(params.namespace.as_deref())?);
        }
        let mut ucas = Stream::new(outputs)?;
        let written = builder.write(&mut ucas);
        let (utoc, ucas) = ucas.finish(written, |error| {
            RuleError::new(format!("container `{}` cannot be written: {error}", params.name))
        })?;
        outputs.link_in("container", &format!("content/{}.ucas", params.name), ucas)?;
        outputs.put_in("container", &format!("content/{}.utoc", params.name), &utoc)
    }
}

/// The files of one package.
struct File {
    path: String,
    name: String,
    is_world: bool,
    imports: Vec<iostore::PackageId>,
    zen: Blob,
    bulk: BTreeMap<ChunkType, Blob>,
}

struct Files(Vec<File>);

impl Files {
    fn of(inputs: &Inputs<'_>) -> Result<Self, RuleError> {
        let mut stems: BTreeMap<String, Vec<(String, ChunkType, Digest)>> = BTreeMap::new();
        for (path, digest) in inputs.tree("packages")?.iter() {
            let (stem, kind) = parts::split(path.as_str()).ok_or_else(|| parts::no_part(path.as_str()))?;
            stems.entry(stem.to_owned()).or_default().push((path.to_string(), kind, *digest));
        }
        stems
            .into_iter()
            .map(|(stem, files)| File::of(&stem, &files, inputs))
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

impl File {
    fn of(stem: &str, files: &[(String, ChunkType, Digest)], inputs: &Inputs<'_>) -> Result<Self, RuleError> {
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
        let bulk = bulk.map(|(_, kind, digest)| Ok((*kind, inputs.read(*digest)?)));
        Ok(Self {
            path: path.clone(),
            name: name.to_string(),
            is_world: package.is_world(),
            imports: package.imported_packages(),
            bulk: bulk.collect::<Result<_, RuleError>>()?,
            zen,
        })
    }

    fn package(&self, namespace: Option<&str>) -> Result<iostore::Package<'_>, RuleError> {
        let inside = |folder: &str| {
            let start = self.name.get(..folder.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(folder))
                && self.name[folder.len()..].starts_with('/')
        };
        if let Some(folder) = namespace.filter(|folder| !inside(folder)) {
            return Err(RuleError::new(format!("`{}` lies outside `{folder}`", self.name))
                .detail(format!("as `{}`", self.path)));
        }
        let bulk = |kind| self.bulk.get(&kind).map(|blob| &blob[..]);
        Ok(iostore::Package {
            is_world: self.is_world,
            bulk: bulk(ChunkType::BulkData),
            optional_bulk: bulk(ChunkType::OptionalBulkData),
            mapped_bulk: bulk(ChunkType::MemoryMappedBulkData),
            imports: self.imports.clone(),
            ..iostore::Package::new(&self.name, &self.zen)
        })
    }
}
