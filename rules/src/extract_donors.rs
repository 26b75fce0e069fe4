//! `extract-donors`: takes packages out of the game's containers.
//!
//! Identified from tables of contents alone; only the blocks of what is taken are read, and every chunk is
//! held against its recorded hash before anything uses it. It does not rename: descriptors say which of the
//! donors refer to each other, so that later steps can let references follow.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::params::Segment;
use engine::{Cx, External, Facts, Import, Interface, Kind, Outputs, ParamError, RuleError, is_name};
use iostore::{ChunkError, ChunkReader, ChunkType, PackageId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unreal::PackagePath;
use unreal::package::Package;

use crate::game::{self, Container, Part};
use crate::parts;
use crate::stream::Stream;

/// Parameters of `extract-donors`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The packages to take.
    #[schemars(length(min = 1))]
    donors: Vec<Donor>,
}

/// A package to take.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Donor {
    /// Its path in the game, such as `/Game/Props/SM_Crate`.
    package: String,
    /// What later steps call it; the last part of its path when left out.
    name: Option<String>,
}

/// A donor whose parameters are in order.
struct Wanted {
    name: String,
    package: PackagePath,
}

/// What later steps fan out over.
#[derive(Serialize)]
struct Descriptor<'a> {
    name: &'a str,
    package: &'a str,
    /// The other donors that it refers to, by path, and what they are called.
    references: BTreeMap<&'a str, &'a str>,
}

/// The rule.
pub(crate) struct ExtractDonors;

/// What was identified.
pub(crate) struct Located {
    containers: Vec<Container>,
    donors: Vec<Vec<Part>>,
}

impl Import for ExtractDonors {
    type Params = Params;
    type Located = Located;
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
                "`<name>.json`: name, package, and which of the others it refers to.",
            )
    }

    fn check(params: &Params) -> Vec<ParamError> {
        params.wanted().err().unwrap_or_default()
    }

    fn identify(params: &Params, external: &dyn External) -> Result<(Facts, Located), RuleError> {
        let wanted = params.wanted().map_err(first)?;
        let containers = game::open(external)?;
        let (mut facts, mut donors, mut absent) = (Facts::new(), Vec::new(), Vec::new());
        for Wanted { package, .. } in &wanted {
            let Some(parts) = game::locate(&containers, package) else {
                absent.push(package);
                continue;
            };
            for part in &parts {
                let chunk = &containers[part.container].toc.chunks()[part.index];
                let key = format!("@{} {package} {} {}", external.name(), parts::noun(part.kind), chunk.id);
                facts.insert(key, game::fact(chunk));
            }
            donors.push(parts);
        }
        if !absent.is_empty() {
            return Err(game::missing(&containers, &absent, external.name()));
        }
        Ok((facts, Located { containers, donors }))
    }

    fn fetch(
        params: Params,
        located: Located,
        external: &dyn External,
        outputs: &Outputs<'_>,
        cx: &Cx<'_>,
    ) -> Result<(), RuleError> {
        let wanted = params.wanted().map_err(first)?;
        let donors = wanted.iter().map(|donor| (donor.package.id(), donor)).collect();
        let taker = Taker { containers: &located.containers, donors, external, outputs };
        let (done, total) = (AtomicU64::new(0), wanted.len() as u64);
        let pairs: Vec<(&Wanted, &Vec<Part>)> = wanted.iter().zip(&located.donors).collect();
        cx.par_map(&pairs, |(donor, parts)| {
            taker.take(donor, parts)?;
            cx.progress(done.fetch_add(1, Ordering::Relaxed) + 1, total);
            Ok(())
        })?;
        Ok(())
    }
}

impl Params {
    fn wanted(&self) -> Result<Vec<Wanted>, Vec<ParamError>> {
        let (mut wanted, mut errors): (Vec<Wanted>, Vec<ParamError>) = (Vec::new(), Vec::new());
        for (index, donor) in self.donors.iter().enumerate() {
            match donor.wanted() {
                Ok(donor) if wanted.iter().any(|other| other.name.eq_ignore_ascii_case(&donor.name)) => {
                    errors.push(at(index, "name", format!("two donors are called `{}`", donor.name)));
                }
                Ok(donor) if wanted.iter().any(|other| other.package.id() == donor.package.id()) => {
                    errors.push(at(index, "package", format!("`{}` is there twice", donor.package)));
                }
                Ok(donor) => wanted.push(donor),
                Err((key, message)) => errors.push(at(index, key, message)),
            }
        }
        if errors.is_empty() { Ok(wanted) } else { Err(errors) }
    }
}

impl Donor {
    fn wanted(&self) -> Result<Wanted, (&'static str, String)> {
        let package = PackagePath::parse(&self.package).map_err(|error| ("package", error.to_string()))?;
        let name = self.name.clone().unwrap_or_else(|| package.leaf().to_owned());
        if !is_name(&name) {
            let key = if self.name.is_some() { "name" } else { "package" };
            return Err((key, format!("`{name}` is no name: letters, digits, `_`, `-`, `.`")));
        }
        Ok(Wanted { name, package })
    }
}

fn at(index: usize, key: &str, message: String) -> ParamError {
    let place = [Segment::Key("donors".to_owned()), Segment::Index(index), Segment::Key(key.to_owned())];
    ParamError::new(place.into(), message)
}

fn first(errors: Vec<ParamError>) -> RuleError {
    errors.into_iter().next().map_or_else(|| RuleError::new("the donors are wrong"), RuleError::from)
}

/// Takes donors, from any thread.
struct Taker<'a> {
    containers: &'a [Container],
    donors: BTreeMap<PackageId, &'a Wanted>,
    external: &'a dyn External,
    outputs: &'a Outputs<'a>,
}

impl Taker<'_> {
    fn take(&self, donor: &Wanted, chunks: &[Part]) -> Result<(), RuleError> {
        let name = &donor.name;
        for part in chunks {
            let container = &self.containers[part.container];
            let opened = partitions(container, self.external)?;
            let files: Vec<&dyn iostore::ReadAt> = opened.iter().map(|file| file as _).collect();
            let reader = ChunkReader::new(&container.toc, &files);
            let fault = |error| self.explain(donor, part, error);
            if let Some(extension) = parts::bulk_extension(part.kind) {
                let mut stream = Stream::new(self.outputs)?;
                let copied = reader.copy(part.index, &mut stream);
                let ((), digest) = stream.finish(copied, fault)?;
                self.outputs.link_in("packages", &format!("{name}/{name}.{extension}"), digest)?;
            } else {
                let bytes = reader.read(part.index, iostore::Limits::default().chunk_bytes).map_err(fault)?;
                let package = parts::parse(&bytes, donor.package.as_str())?;
                let extension = parts::extension(&package);
                self.outputs.put_in("packages", &format!("{name}/{name}.{extension}"), &bytes)?;
                self.describe(donor, &package)?;
            }
        }
        Ok(())
    }

    fn describe(&self, donor: &Wanted, package: &Package) -> Result<(), RuleError> {
        if package.id() != donor.package.id() {
            let found = package.name_text(package.name);
            return Err(RuleError::new(format!(
                "`{}` is the package `{found}` by its own header",
                donor.package
            )));
        }
        // Export data refers to packages by names of the batch, as soft references do.
        let imported = package.imported.iter().map(|import| import.id());
        let named = package.names.iter().map(|name| {
            let text = name.text();
            PackageId::of_name(text.split_once('.').map_or(text, |(path, _)| path))
        });
        let others = imported.chain(named).filter(|id| *id != donor.package.id());
        let references = others.filter_map(|id| self.donors.get(&id));
        let descriptor = Descriptor {
            name: &donor.name,
            package: donor.package.as_str(),
            references: references.map(|other| (other.package.as_str(), other.name.as_str())).collect(),
        };
        let text = serde_json::to_vec(&descriptor).map_err(|error| RuleError::new(error.to_string()))?;
        self.outputs.put_in("descriptors", &format!("{}.json", donor.name), &text)
    }

    fn explain(&self, donor: &Wanted, part: &Part, error: ChunkError) -> RuleError {
        let container = &self.containers[part.container];
        let what = match part.kind {
            ChunkType::ExportBundleData => format!("`{}` in @{}", donor.package, self.external.name()),
            kind => format!("the {} of `{}` in @{}", parts::noun(kind), donor.package, self.external.name()),
        };
        let blocks = container.toc.blocks_of(part.index).map(|(_, blocks)| blocks).unwrap_or_default();
        let start = blocks.first().map_or(0, |block| block.offset);
        let partition = start / container.toc.partition_size().max(1);
        let stored: u64 = blocks.iter().map(|block| u64::from(block.compressed_size)).sum();
        let file = ucas(container, u32::try_from(partition).unwrap_or(u32::MAX));
        let place = format!(
            "{file} at {}, {} bytes",
            grouped(start % container.toc.partition_size().max(1)),
            grouped(stored)
        );
        let half_updated =
            "the game may be half-updated: verify its files, then build again (nothing was kept)";
        match error {
            ChunkError::Hash { found, stated, .. } => {
                RuleError::new(format!("{what} does not match its recorded hash"))
                    .detail(format!("{place}: expected {stated}, found {found}"))
                    .hint(half_updated)
            }
            ChunkError::Read { source, .. } => game::in_file(source, &self.external.describe(&file)),
            error @ (ChunkError::Truncated { .. } | ChunkError::Corrupt { .. }) => {
                RuleError::new(format!("{what} cannot be read"))
                    .detail(format!("{place}: {error}"))
                    .hint(half_updated)
            }
            error => RuleError::new(format!("{what} cannot be read")).detail(format!("{place}: {error}")),
        }
    }
}

/// A number in groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(" ")
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
