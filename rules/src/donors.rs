//! Donors: which packages of the game are asked for, where they lie, and how their chunks are read.
//!
//! Shared by the import and by `bake extract`. Everything up to [`Donors::find`] needs tables of contents
//! alone; [`Donors::copy`] reads the blocks of one chunk and holds them against its recorded hash. It does not
//! know what becomes of them.

use std::collections::{BTreeMap, BTreeSet};

use engine::params::Segment;
use engine::{External, Facts, ParamError, RuleError, is_name};
use iostore::{Chunk, ChunkError, ChunkReader, ChunkType, Oodle, PackageId, component_fault};
use schemars::JsonSchema;
use serde::Deserialize;
use unreal::PackagePath;
use unreal::package::Package;

pub use crate::game::Part;
use crate::game::{self, Container};
use crate::{glob, parts};

/// Where the packages of tags lie.
const TAGS: &str = "/Game/Tags/";
/// A slip in a filter must not take the game apart.
const MOST: usize = 10_000;

/// Which packages of the game to take.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// Packages and tags by name.
    #[serde(default)]
    pub donors: Vec<Donor>,
    /// Further packages by what they are called and which tags they are. Each is called by the last part of
    /// its path; where two have the same, by the whole path with `.` for `/`.
    #[serde(default)]
    pub select: Vec<Selection>,
}

/// A package to take: `package` or `tag`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Donor {
    /// The package's path in the game, such as `/Game/Props/SM_Crate`.
    pub package: Option<String>,
    /// A tag instead, such as `objects/characters/marine/marine.collision_model`.
    pub tag: Option<String>,
    /// What later steps call it; the last part of its path when left out.
    pub name: Option<String>,
}

/// Packages to take: all that every part given here lets pass.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Selection {
    /// A part of the path, or with `*` or `?` in it a glob that the whole path must match: `**` stands for any
    /// folders. Upper and lower case are the same.
    pub filter: Option<String>,
    /// A group of tags, such as `collision_model`.
    pub group: Option<String>,
}

/// A donor whose parameters are in order.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// What it is called.
    pub name: String,
    /// The package.
    pub package: PackagePath,
}

impl Wanted {
    /// The group of the tag that it is, if it is one.
    pub fn group(&self) -> Option<&str> {
        group(self.package.as_str())
    }

    /// Refuses a package that is another one by its own header.
    pub fn must_be(&self, package: &Package) -> Result<(), RuleError> {
        if package.id() == self.package.id() {
            return Ok(());
        }
        let found = package.name_text(package.name);
        Err(RuleError::new(format!("`{}` is the package `{found}` by its own header", self.package)))
    }
}

/// The group of a tag, by the path of its package.
fn group(package: &str) -> Option<&str> {
    let below = package.get(..TAGS.len()).filter(|start| start.eq_ignore_ascii_case(TAGS));
    below.and_then(|_| Some(package.rsplit_once('/')?.1.rsplit_once('-')?.1))
}

impl Asked {
    /// All mistakes, or the donors that are asked for by name.
    pub fn wanted(&self) -> Result<Vec<Wanted>, Vec<ParamError>> {
        let mut errors = Vec::new();
        if self.donors.is_empty() && self.select.is_empty() {
            errors.push(ParamError::new(Vec::new(), "no donors are asked for: name some, or select some"));
        }
        let (mut wanted, mut names, mut ids) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
        for (index, donor) in self.donors.iter().enumerate() {
            let mut wrong = |key, message| errors.push(at("donors", index, key, message));
            let donor = match donor.wanted() {
                Ok(donor) => donor,
                Err((key, message)) => {
                    wrong(key, message);
                    continue;
                }
            };
            if !names.insert(donor.name.to_ascii_lowercase()) {
                wrong("name", format!("two donors are called `{}`", donor.name));
            } else if !ids.insert(donor.package.id()) {
                wrong("package", format!("`{}` is there twice", donor.package));
            } else {
                wanted.push(donor);
            }
        }
        for (index, selection) in self.select.iter().enumerate() {
            if let Some((key, message)) = selection.fault() {
                errors.push(at("select", index, key, message));
            }
        }
        if errors.is_empty() { Ok(wanted) } else { Err(errors) }
    }
}

impl Donor {
    fn wanted(&self) -> Result<Wanted, (&'static str, String)> {
        let (key, path) = match (&self.package, &self.tag) {
            (Some(package), None) => ("package", package.clone()),
            (None, Some(tag)) => ("tag", tag_package(tag).map_err(|message| ("tag", message))?),
            (None, None) => return Err(("package", "neither `package` nor `tag` is given".to_owned())),
            (Some(_), Some(_)) => return Err(("tag", "`package` is given as well".to_owned())),
        };
        let package = PackagePath::parse(&path).map_err(|error| (key, error.to_string()))?;
        let name = self.name.clone().unwrap_or_else(|| package.leaf().to_owned());
        let key = if self.name.is_some() { "name" } else { key };
        if !is_name(&name) {
            return Err((key, format!("`{name}` is no name: letters, digits, `_`, `-`, `.`")));
        }
        // Later steps make files of it.
        if let Some(fault) = component_fault(&name) {
            return Err((key, format!("`{name}` cannot be a name: {fault}")));
        }
        Ok(Wanted { name, package })
    }
}

/// The package of a tag as people write it: path and group.
fn tag_package(tag: &str) -> Result<String, String> {
    let path = tag.replace('\\', "/");
    match path.rsplit_once('.') {
        Some((path, group)) if !path.is_empty() && !group.is_empty() && !group.contains('/') => {
            Ok(format!("{TAGS}{path}-{group}"))
        }
        _ => Err(format!("`{tag}` is no tag: expected a path and a group, such as `objects/a/b.scenery`")),
    }
}

impl Selection {
    fn fault(&self) -> Option<(&'static str, String)> {
        let empty = |text: &Option<String>| text.as_ref().is_some_and(String::is_empty);
        if self.filter.is_none() && self.group.is_none() {
            Some(("filter", "neither `filter` nor `group` is given".to_owned()))
        } else if empty(&self.filter) {
            Some(("filter", "it is empty, and every package has that in its path".to_owned()))
        } else if empty(&self.group) {
            Some(("group", "it is empty".to_owned()))
        } else {
            None
        }
    }

    fn takes(&self, package: &str) -> bool {
        let in_group =
            |wanted: &String| group(package).is_some_and(|group| group.eq_ignore_ascii_case(wanted));
        self.group.as_ref().is_none_or(in_group)
            && self.filter.as_ref().is_none_or(|filter| glob::matches(filter, package))
    }

    fn describe(&self) -> String {
        let group = self.group.as_ref().map(|group| format!("of the group `{group}`"));
        let filter = self.filter.as_ref().map(|filter| format!("called `{filter}`"));
        group.into_iter().chain(filter).collect::<Vec<_>>().join(" ")
    }
}

fn at(list: &str, index: usize, key: &str, message: String) -> ParamError {
    let place = [Segment::Key(list.to_owned()), Segment::Index(index), Segment::Key(key.to_owned())];
    ParamError::new(place.into(), message)
}

/// The donors of a game, found.
pub struct Donors {
    containers: Vec<Container>,
    found: Vec<(Wanted, Vec<Part>)>,
}

impl Donors {
    /// Finds what is asked for, by tables of contents alone.
    pub fn find(asked: &Asked, external: &dyn External) -> Result<Self, RuleError> {
        let mut wanted = asked.wanted().map_err(first)?;
        let containers = game::open(external)?;
        for selection in &asked.select {
            select(selection, &containers, external.name(), &mut wanted)?;
        }
        let (mut found, mut absent) = (Vec::with_capacity(wanted.len()), Vec::new());
        for donor in wanted {
            match game::locate(&containers, &donor.package) {
                Some(parts) => found.push((donor, parts)),
                None => absent.push(donor.package),
            }
        }
        if !absent.is_empty() {
            return Err(game::missing(&containers, &absent, external.name()));
        }
        Ok(Self { containers, found })
    }

    /// What identifies them: for every chunk its id, hash and length.
    pub fn facts(&self, external: &str) -> Facts {
        let chunks = self.found.iter().flat_map(|(donor, parts)| parts.iter().map(move |part| (donor, part)));
        let fact = |(donor, part): (&Wanted, &Part)| {
            let chunk = self.chunk_of(part);
            let key = format!("@{external} {} {} {}", donor.package, parts::noun(part.kind), chunk.id);
            (key, game::fact(chunk))
        };
        chunks.map(fact).collect()
    }

    /// The donors with their chunks, of each package its own first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Wanted, &[Part])> {
        self.found.iter().map(|(wanted, parts)| (wanted, parts.as_slice()))
    }

    /// A chunk as its container describes it.
    pub fn chunk_of(&self, part: &Part) -> &Chunk {
        &self.containers[part.container].toc.chunks()[part.index]
    }

    /// The name of a chunk as a file, with its mount point, where its container gives it one.
    pub fn path_of(&self, part: &Part) -> Option<String> {
        self.containers[part.container].toc.path(part.index)
    }

    /// The container that a chunk is read from.
    pub fn container_of(&self, part: &Part) -> &str {
        &self.containers[part.container].stem
    }

    /// Donors by the id of their package.
    pub(crate) fn by_id(&self) -> BTreeMap<PackageId, &Wanted> {
        self.found.iter().map(|(donor, _)| (donor.package.id(), donor)).collect()
    }

    /// Writes a chunk to `to`. What was written is good once this returns: the hash is known last.
    pub fn copy(
        &self,
        part: &Part,
        external: &dyn External,
        to: &mut dyn std::io::Write,
    ) -> Result<(), ReadFault> {
        self.reader(part, external, |reader| reader.copy(part.index, to))
    }

    /// The bytes of a chunk.
    pub fn read(&self, part: &Part, external: &dyn External) -> Result<Vec<u8>, ReadFault> {
        self.reader(part, external, |reader| reader.read(part.index, iostore::Limits::default().chunk_bytes))
    }

    fn reader<T>(
        &self,
        part: &Part,
        external: &dyn External,
        read: impl FnOnce(ChunkReader<'_>) -> Result<T, ChunkError>,
    ) -> Result<T, ReadFault> {
        let container = &self.containers[part.container];
        let opened = partitions(container, external).map_err(ReadFault::Open)?;
        let files: Vec<&dyn iostore::ReadAt> = opened.iter().map(|file| file as _).collect();
        read(ChunkReader::new(&container.toc, &files).with_decompressor(&Oodle)).map_err(ReadFault::Chunk)
    }

    /// What is said when a chunk of `donor` cannot be read.
    pub fn explain(
        &self,
        donor: &Wanted,
        part: &Part,
        external: &dyn External,
        fault: ReadFault,
    ) -> RuleError {
        let error = match fault {
            ReadFault::Open(error) => return error,
            ReadFault::Chunk(error) => error,
        };
        let container = &self.containers[part.container];
        let what = match part.kind {
            ChunkType::ExportBundleData => format!("`{}` in @{}", donor.package, external.name()),
            kind => format!("the {} of `{}` in @{}", parts::noun(kind), donor.package, external.name()),
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
        let mut said = match error {
            ChunkError::Hash { found, stated, .. } => {
                RuleError::new(format!("{what} does not match its recorded hash"))
                    .detail(format!("{place}: expected {stated}, found {found}"))
                    .hint(HALF_UPDATED)
            }
            ChunkError::Read { source, .. } => return game::in_file(source, &external.describe(&file)),
            error @ (ChunkError::Truncated { .. } | ChunkError::Corrupt { .. }) => {
                RuleError::new(format!("{what} cannot be read"))
                    .detail(format!("{place}: {error}"))
                    .hint(HALF_UPDATED)
            }
            error => RuleError::new(format!("{what} cannot be read")).detail(format!("{place}: {error}")),
        };
        // Which one was read is no matter of course where several have the chunk.
        let id = self.chunk_of(part).id;
        let others = self.containers.iter().filter(|other| other.stem != container.stem);
        for other in others.filter(|other| other.toc.find(id).is_some()) {
            said = said.detail(iostore::why_it_wins(&container.stem, &other.stem));
        }
        said
    }
}

const HALF_UPDATED: &str =
    "the game may be half-updated: verify its files, then build again (nothing was kept)";

/// Why a chunk could not be read.
pub enum ReadFault {
    /// Its file could not be opened.
    Open(RuleError),
    /// Its bytes are not there, or not what they should be.
    Chunk(ChunkError),
}

/// Adds the packages that a selection takes, by path.
fn select(
    selection: &Selection,
    containers: &[Container],
    external: &str,
    wanted: &mut Vec<Wanted>,
) -> Result<(), RuleError> {
    let mut taken: BTreeMap<PackageId, PackagePath> = BTreeMap::new();
    for package in containers.iter().flat_map(game::packages) {
        if selection.takes(package.as_str()) {
            taken.entry(package.id()).or_insert(package);
        }
    }
    if taken.is_empty() {
        let what = format!("@{external} has no package {}", selection.describe());
        return Err(RuleError::new(what).detail(format!("{} searched", containers_text(containers.len()))));
    }
    let known: BTreeSet<PackageId> = wanted.iter().map(|donor| donor.package.id()).collect();
    taken.retain(|id, _| !known.contains(id));
    if taken.len() + known.len() > MOST {
        return Err(RuleError::new(format!(
            "{} packages {}: at most {MOST} are taken",
            taken.len(),
            selection.describe()
        ))
        .hint("narrow the filter"));
    }
    let mut paths: Vec<PackagePath> = taken.into_values().collect();
    paths.sort();
    let lower = |text: &str| text.to_ascii_lowercase();
    let mut leaves: BTreeMap<String, usize> = BTreeMap::new();
    paths.iter().for_each(|path| *leaves.entry(lower(&name_of(path.leaf()))).or_default() += 1);
    let mut names: BTreeMap<String, PackagePath> =
        wanted.iter().map(|donor| (lower(&donor.name), donor.package.clone())).collect();
    for package in paths {
        let leaf = name_of(package.leaf());
        let free = !names.contains_key(&lower(&leaf)) && leaves.get(&lower(&leaf)) == Some(&1);
        let name = if free && component_fault(&leaf).is_none() { leaf } else { name_of(package.as_str()) };
        if let Some(other) = names.insert(lower(&name), package.clone()) {
            let what = format!("`{other}` and `{package}` would both be called `{name}`");
            return Err(RuleError::new(what).hint("name one of them under `donors`"));
        }
        wanted.push(Wanted { name, package });
    }
    Ok(())
}

/// A name made of a path or a part of one.
fn name_of(text: &str) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '_' };
    let text = text.trim_start_matches('/').chars();
    text.map(|c| if c == '/' { '.' } else { kept(c) }).collect()
}

pub(crate) fn containers_text(count: usize) -> String {
    if count == 1 { "1 container".to_owned() } else { format!("{count} containers") }
}

pub(crate) fn first(errors: Vec<ParamError>) -> RuleError {
    errors.into_iter().next().map_or_else(|| RuleError::new("the donors are wrong"), RuleError::from)
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
