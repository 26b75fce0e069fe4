//! `extract-donors`: takes packages out of the game's containers.
//!
//! Identified from tables of contents alone; only the blocks of what is taken are read, and every chunk is
//! held against its recorded hash before anything uses it.

use std::collections::{BTreeMap, BTreeSet};

use engine::params::Segment;
use engine::{Cx, External, Facts, Import, Interface, Kind, Outputs, ParamError, RuleError, is_name};
use iostore::{ChunkError, ChunkReader, ChunkType};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unreal::PackagePath;
use unreal::package::ImportedPackage;

use crate::game::{self, Container, Located};
use crate::parts;
use crate::stream::Stream;

/// Parameters of `extract-donors`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The packages to take.
    #[schemars(length(min = 1))]
    donors: Vec<Donor>,
}

/// A package to take.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Donor {
    /// Its path in the game, such as `/Game/Props/SM_Crate`.
    package: String,
    /// What later steps call it; the last part of its path when left out.
    name: Option<String>,
}

impl Donor {
    fn name(&self) -> &str {
        let leaf = || self.package.rsplit('/').next().unwrap_or_default();
        self.name.as_deref().unwrap_or_else(leaf)
    }
}

/// What later steps fan out over.
#[derive(Serialize)]
struct Descriptor<'a> {
    name: &'a str,
    package: &'a str,
    /// Packages of this step that it imports, by path, and what they are called.
    references: BTreeMap<&'a str, &'a str>,
}

/// The rule.
pub(crate) struct ExtractDonors;

impl Import for ExtractDonors {
    type Params = Params;
    type Located = (Vec<Container>, Vec<Located>);
    const NAME: &'static str = "extract-donors";
    const VERSION: u32 = 1;
    const DOC: &'static str = "Takes packages out of the game's own containers, with their bulk data. Mods \
        installed beside the game are not looked at.";

    fn interface() -> Interface {
        Interface::new()
            .input("game", Kind::External, "The game's Paks folder.")
            .output("packages", Kind::Tree, "`<name>/<name>.uasset` (`.umap` for a world) and its bulk data.")
            .output(
                "descriptors",
                Kind::Tree,
                "`<name>.json`: name, package, and which of the others it imports.",
            )
    }

    fn check(params: &Params) -> Vec<ParamError> {
        let mut names = BTreeSet::new();
        let mut errors = Vec::new();
        for (index, donor) in params.donors.iter().enumerate() {
            let place = |key: &str| {
                vec![Segment::Key("donors".into()), Segment::Index(index), Segment::Key(key.into())]
            };
            if let Err(error) = PackagePath::parse(&donor.package) {
                errors.push(ParamError::new(place("package"), error.to_string()));
            }
            let key = if donor.name.is_some() { "name" } else { "package" };
            if !is_name(donor.name()) {
                let message = format!("`{}` is no name: letters, digits, `_`, `-`, `.`", donor.name());
                errors.push(ParamError::new(place(key), message));
            } else if !names.insert(donor.name().to_ascii_lowercase()) {
                let message = format!("two donors are called `{}`", donor.name());
                errors.push(ParamError::new(place(key), message));
            }
        }
        errors
    }

    fn identify(params: &Params, external: &dyn External) -> Result<(Facts, Self::Located), RuleError> {
        let containers = game::open(external)?;
        let (mut facts, mut located) = (Facts::new(), Vec::new());
        for donor in &params.donors {
            let path = package_path(donor)?;
            let found = game::locate(&containers, &path)
                .ok_or_else(|| game::missing(&containers, &path, external.name()))?;
            let toc = &containers[found.container].toc;
            for (kind, index) in &found.chunks {
                let chunk = &toc.chunks()[*index];
                let key = format!("@{} {path} {} {}", external.name(), parts::noun(*kind), chunk.id);
                facts.insert(key, game::fact(chunk));
            }
            located.push(found);
        }
        Ok((facts, (containers, located)))
    }

    fn fetch(
        params: Params,
        (containers, located): Self::Located,
        external: &dyn External,
        outputs: &Outputs<'_>,
        cx: &Cx<'_>,
    ) -> Result<(), RuleError> {
        let names: BTreeMap<String, &str> =
            params.donors.iter().map(|donor| (donor.package.to_ascii_lowercase(), donor.name())).collect();
        let pairs: Vec<(&Donor, &Located)> = params.donors.iter().zip(&located).collect();
        cx.par_map(&pairs, |(donor, located)| take(donor, located, &containers, &names, external, outputs))?;
        Ok(())
    }
}

fn package_path(donor: &Donor) -> Result<PackagePath, RuleError> {
    PackagePath::parse(&donor.package).map_err(|error| RuleError::new(error.to_string()))
}

fn take(
    donor: &Donor,
    located: &Located,
    containers: &[Container],
    names: &BTreeMap<String, &str>,
    external: &dyn External,
    outputs: &Outputs<'_>,
) -> Result<(), RuleError> {
    let container = &containers[located.container];
    let opened = partitions(container, external)?;
    let partitions: Vec<&dyn iostore::ReadAt> =
        opened.iter().map(|file| file as &dyn iostore::ReadAt).collect();
    let reader = ChunkReader::new(&container.toc, &partitions);
    let name = donor.name();
    let fault = |kind: ChunkType, index: usize, error: ChunkError| {
        let what = format!("the {} of `{}` in @{}", parts::noun(kind), donor.package, external.name());
        explain(&what, container, index, external, error)
    };
    for &(kind, index) in &located.chunks {
        if kind != ChunkType::ExportBundleData {
            let extension = parts::BULK.iter().find(|(known, _)| *known == kind).map_or("bulk", |(_, it)| it);
            let mut stream = Stream::new(outputs)?;
            let copied = reader.copy(index, &mut stream);
            let ((), digest) = stream.finish(copied, |error| fault(kind, index, error))?;
            outputs.link_in("packages", &format!("{name}/{name}.{extension}"), digest)?;
            continue;
        }
        let limit = iostore::Limits::default().chunk_bytes;
        let bytes = reader.read(index, limit).map_err(|error| fault(kind, index, error))?;
        let package = parts::parse(&bytes, &donor.package)?;
        let extension = parts::extension(&package);
        outputs.put_in("packages", &format!("{name}/{name}.{extension}"), &bytes)?;
        let imported: Vec<String> = package.imported.iter().map(ImportedPackage::text).collect();
        let references = imported.iter().filter_map(|path| {
            let name = names.get(&path.to_ascii_lowercase())?;
            Some((path.as_str(), *name))
        });
        let descriptor = Descriptor { name, package: &donor.package, references: references.collect() };
        let text = serde_json::to_string(&descriptor).map_err(|error| RuleError::new(error.to_string()))?;
        outputs.put_in("descriptors", &format!("{name}.json"), text.as_bytes())?;
    }
    Ok(())
}

/// A file of an external, as the container format reads it.
struct Opened(Box<dyn engine::ReadAt>);

impl iostore::ReadAt for Opened {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<()> {
        self.0.read_at(offset, buffer)
    }

    fn len(&self) -> u64 {
        self.0.len()
    }
}

fn partitions(container: &Container, external: &dyn External) -> Result<Vec<Opened>, RuleError> {
    let names = (0..container.toc.partition_count()).map(|number| ucas(container, number));
    let open = |file: String| {
        external.open(&file).map(Opened).map_err(|error| game::in_file(error, &external.describe(&file)))
    };
    names.map(open).collect()
}

fn ucas(container: &Container, partition: u32) -> String {
    match partition {
        0 => format!("{}.ucas", container.stem),
        number => format!("{}_s{number}.ucas", container.stem),
    }
}

fn explain(
    what: &str,
    container: &Container,
    index: usize,
    external: &dyn External,
    error: ChunkError,
) -> RuleError {
    let chunk = &container.toc.chunks()[index];
    let start =
        container.toc.blocks_of(index).and_then(|(_, blocks)| blocks.first()).map_or(0, |block| block.offset);
    let place = format!("{} at {start}, {} bytes", external.describe(&ucas(container, 0)), chunk.length);
    let hint = "the game may be half-updated: verify its files, then build again (nothing was kept)";
    match error {
        ChunkError::Hash { found, stated, .. } => {
            RuleError::new(format!("{what} does not match its recorded hash"))
                .detail(format!("{place}: expected {stated}, found {found}"))
                .hint(hint)
        }
        ChunkError::Read { source, .. } => game::in_file(source, &external.describe(&ucas(container, 0))),
        error @ ChunkError::Truncated { .. } => {
            RuleError::new(format!("{what} cannot be read")).detail(format!("{place}: {error}")).hint(hint)
        }
        error => RuleError::new(format!("{what} cannot be read")).detail(format!("{place}: {error}")),
    }
}
