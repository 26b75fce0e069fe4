//! Places final outputs under `out/`: copies, whole or not at all, of what the store holds.

use cache::{Digest, FileStat, Output, StoreError, WorkspacePath};

use crate::build::Options;
use crate::plan::Placed;
use crate::resolve::Context;
use crate::snapshot::Previous;
use crate::{Lost, RuleError};

/// A file that was placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedFile {
    /// Its path below `out/`.
    pub path: WorkspacePath,
    /// Its digest.
    pub digest: Digest,
    /// Its stat afterwards.
    pub stat: FileStat,
    /// Whether the stat proves the digest.
    pub settled: bool,
}

/// Places one output and notes its files.
pub(crate) fn output(
    options: &Options<'_>,
    context: &Context<'_>,
    previous: &Previous,
    placed: &Placed,
    output: &Output,
    files: &mut Vec<PlacedFile>,
) -> Result<(), RuleError> {
    let below = |name: &str| placed.folder.join(name);
    match output {
        Output::File(digest) => files.push(file(options, previous, below(&placed.output)?, *digest)?),
        Output::Tree(listing) => {
            for (path, digest) in context.trees.get(*listing)?.iter() {
                files.push(file(options, previous, below(path.as_str())?, *digest)?);
            }
        }
    }
    Ok(())
}

fn file(
    options: &Options<'_>,
    previous: &Previous,
    path: WorkspacePath,
    digest: Digest,
) -> Result<PlacedFile, RuleError> {
    let full = path.under(options.out);
    let stat = || std::fs::metadata(&full).map(|metadata| FileStat::of(&metadata));
    if let Some(before) = previous.placed(&path)
        && before.digest == digest
        && before.settled
        && stat().is_ok_and(|now| now == before.stat)
    {
        return Ok(before.clone());
    }
    if !options.store.place(&digest, &full)? {
        return Err(RuleError::Lost(Lost(digest)));
    }
    let stat = stat().map_err(StoreError::io("read", &full))?;
    Ok(PlacedFile { path, digest, stat, settled: false })
}
