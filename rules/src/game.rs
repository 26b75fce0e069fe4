//! The game's containers as an external: which are part of the game, and where in them a package lies.
//!
//! It reads tables of contents alone, so that it works while every `.ucas` is away. Mods that lie beside the
//! game's own containers are not looked at.

use std::collections::BTreeSet;

use engine::{External, RuleError, schema};
use iostore::{Chunk, ChunkType, Limits, Toc};
use rayon::prelude::*;
use unreal::PackagePath;

use crate::donors::containers_text;

/// A container of the game.
pub(crate) struct Container {
    /// The name of its files without extension.
    pub(crate) stem: String,
    pub(crate) toc: Toc,
}

/// The container of script objects: it holds no packages.
const GLOBAL: &str = "global";

/// Reads the tables of contents of all shipped containers, the one that wins over all others first.
pub(crate) fn open(external: &dyn External) -> Result<Vec<Container>, RuleError> {
    let name = external.name();
    let files = external.files().map_err(|error| in_file(error, &external.describe("")))?;
    let stems = files.iter().filter_map(|(file, _)| file.strip_suffix(".utoc"));
    let shipped: Vec<&str> =
        stems.filter(|stem| *stem != GLOBAL && iostore::is_shipped_container(stem)).collect();
    let read: Vec<_> = shipped.par_iter().map(|stem| read(external, stem)).collect();
    let mut containers = read.into_iter().collect::<Result<Vec<_>, _>>()?;
    if containers.is_empty() {
        return Err(RuleError::new(format!("@{name} holds no container of the game"))
            .detail(format!(
                "found {} files and no `.utoc` of the game in {}",
                files.len(),
                external.describe("")
            ))
            .hint("it is the folder `Meteorite/Content/Paks` of the game"));
    }
    containers.sort_by(|a, b| iostore::precedence(&b.stem, &a.stem));
    Ok(containers)
}

fn read(external: &dyn External, stem: &str) -> Result<Container, RuleError> {
    let file = format!("{stem}.utoc");
    let at = external.describe(&file);
    let limits = Limits::default();
    let opened = external.open(&file).map_err(|error| in_file(error, &at))?;
    if opened.len() > limits.toc_bytes {
        let (found, most) = (opened.len(), limits.toc_bytes);
        return Err(RuleError::new(format!(
            "`{at}` has {found} bytes; a table of contents has at most {most}"
        )));
    }
    let mut bytes = vec![0; usize::try_from(opened.len()).unwrap_or(usize::MAX)];
    opened.read_at(0, &mut bytes).map_err(|error| in_file(error, &at))?;
    let toc = Toc::read(&bytes, &limits).map_err(|error| {
        RuleError::new(format!("`{at}` is no table of contents that can be read")).detail(error.to_string())
    })?;
    Ok(Container { stem: stem.to_owned(), toc })
}

/// An error of a file, unless it is the store that lost it.
pub(crate) fn in_file(error: std::io::Error, at: &str) -> RuleError {
    let text = error.to_string();
    match RuleError::from(error) {
        RuleError::Failed(_) => RuleError::new(format!("cannot read `{at}`: {text}")),
        other => other,
    }
}

/// A chunk of a package.
pub struct Part {
    /// What it holds.
    pub kind: ChunkType,
    /// Index of its container.
    pub(crate) container: usize,
    /// Its index in that container.
    pub(crate) index: usize,
}

/// The chunks of a package, its own first; of each the one that the game would read. `None` when no
/// container has the package. Chunks without bytes are as good as none.
pub(crate) fn locate(containers: &[Container], path: &PackagePath) -> Option<Vec<Part>> {
    let part = |kind| {
        let id = path.id().chunk(kind);
        let (container, index) =
            containers.iter().enumerate().find_map(|(at, container)| Some((at, container.toc.find(id)?)))?;
        (containers[container].toc.chunks()[index].length > 0).then_some(Part { kind, container, index })
    };
    let mut parts = vec![part(ChunkType::ExportBundleData)?];
    parts.extend(crate::parts::BULK.iter().filter_map(|(kind, _)| part(*kind)));
    Some(parts)
}

/// The error for packages that no container has: it names all of them, and what they may be a slip of.
pub(crate) fn missing(containers: &[Container], absent: &[PackagePath], external: &str) -> RuleError {
    let known: BTreeSet<String> = containers.iter().flat_map(packages).map(|path| path.to_string()).collect();
    let near = |path: &PackagePath| {
        let leaf = |other: &&String| {
            other.rsplit('/').next().is_some_and(|leaf| leaf.eq_ignore_ascii_case(path.leaf()))
        };
        let same_leaf: Vec<&str> = known.iter().filter(leaf).take(3).map(String::as_str).collect();
        let slip = || schema::did_you_mean(path.as_str(), known.iter().map(String::as_str));
        if same_leaf.is_empty() { slip().into_iter().collect() } else { same_leaf }
    };
    let searched = containers_text(containers.len());
    let what = match absent {
        [path] => format!("no package `{path}`"),
        several => format!("none of {} packages that are asked for", several.len()),
    };
    let mut error = RuleError::new(format!("@{external} has {what} ({searched} searched)"));
    if absent.len() > 1 {
        error = absent.iter().fold(error, |error, path| error.detail(format!("`{path}`")));
    }
    let near: Vec<String> = absent.iter().flat_map(near).map(|path| format!("`{path}`")).take(5).collect();
    if near.is_empty() { error } else { error.hint(format!("did you mean {}?", near.join(" or "))) }
}

/// The packages that a container names.
pub(crate) fn packages(container: &Container) -> impl Iterator<Item = PackagePath> {
    let chunks = container.toc.chunks().iter().enumerate();
    let packages = chunks.filter(|(_, chunk)| chunk.id.kind() == ChunkType::ExportBundleData);
    packages.filter_map(|(index, _)| PackagePath::of_file(&container.toc.path(index)?))
}

/// What identifies a chunk: its id, the hash that the table of contents states, and its length.
pub(crate) fn fact(chunk: &Chunk) -> String {
    format!("{} {}", chunk.hash, chunk.length)
}
