//! The game's containers as an external: which are part of the game, and where in them a package lies.
//!
//! It reads tables of contents alone, so that it works while every `.ucas` is away. Mods that lie beside the
//! game's own containers are not looked at.

use engine::{External, RuleError, schema};
use iostore::{Chunk, ChunkId, ChunkType, Limits, PackageId, Toc};
use unreal::PackagePath;

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
    let files = external.files().map_err(|error| {
        RuleError::new(format!("@{name} cannot be read: {error}"))
            .hint("`bake doctor` shows where it was looked for")
    })?;
    let stems = files.iter().filter_map(|(file, _)| file.strip_suffix(".utoc"));
    let shipped = stems.filter(|stem| *stem != GLOBAL && iostore::is_shipped_container(stem));
    let mut containers = shipped.map(|stem| read(external, stem)).collect::<Result<Vec<_>, _>>()?;
    if containers.is_empty() {
        return Err(RuleError::new(format!("@{name} holds no container of the game"))
            .detail(format!("looked for `.utoc` files, mods aside, in {}", external.describe("")))
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

/// Where a package lies: its container, and its chunks by index.
pub(crate) struct Located {
    pub(crate) container: usize,
    pub(crate) chunks: Vec<(ChunkType, usize)>,
}

/// Looks a package up; the first container that has it wins.
pub(crate) fn locate(containers: &[Container], path: &PackagePath) -> Option<Located> {
    let id = PackageId::of_name(path.as_str());
    let package = ChunkId::new(id.0, 0, ChunkType::ExportBundleData);
    let (container, found) =
        containers.iter().enumerate().find_map(|(index, it)| Some((index, it.toc.find(package)?)))?;
    let mut chunks = vec![(ChunkType::ExportBundleData, found)];
    for (kind, _) in crate::parts::BULK {
        let chunk = containers[container].toc.find(ChunkId::new(id.0, 0, kind));
        chunks.extend(chunk.map(|index| (kind, index)));
    }
    Some(Located { container, chunks })
}

/// The error for a package that no container has.
pub(crate) fn missing(containers: &[Container], path: &PackagePath, external: &str) -> RuleError {
    let known: Vec<String> = containers
        .iter()
        .flat_map(|container| {
            let chunks = container.toc.chunks().iter().enumerate();
            let packages = chunks.filter(|(_, chunk)| chunk.id.kind() == ChunkType::ExportBundleData);
            packages.filter_map(|(index, _)| PackagePath::of_file(&container.toc.path(index)?))
        })
        .map(|path| path.to_string())
        .collect();
    let count = containers.len();
    let error = RuleError::new(format!("@{external} has no package `{path}`"))
        .detail(format!("{count} container{} searched", if count == 1 { "" } else { "s" }));
    match schema::did_you_mean(path.as_str(), known.iter().map(String::as_str)) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error,
    }
}

/// What identifies a chunk: its id, the hash that the table of contents states, and its length.
pub(crate) fn fact(chunk: &Chunk) -> String {
    format!("{} {}", chunk.hash, chunk.length)
}
