//! All actions and outputs of a build in the order of its plan: what `bake reproduce` compares.

use std::path::Path;

use cache::Output;
use engine::Label;
use serde::{Deserialize, Serialize};

use crate::driver::Done;
use crate::fail::Fail;

/// One action and what it gave.
#[derive(Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) label: String,
    pub(crate) action: String,
    /// Name, whether a tree, digest.
    pub(crate) outputs: Vec<(String, bool, String)>,
}

/// Writes the entries of a build.
pub(crate) fn write(path: &Path, done: &Done) -> Result<(), Fail> {
    let bytes = serde_json::to_vec(&entries(done)?).map_err(|error| Fail::machine(error.to_string()))?;
    std::fs::write(path, bytes).map_err(|error| Fail::io("write", path, &error))
}

/// Reads them again.
pub(crate) fn read(path: &Path) -> Result<Vec<Entry>, Fail> {
    let bytes = std::fs::read(path).map_err(|error| Fail::io("read", path, &error))?;
    serde_json::from_slice(&bytes).map_err(|error| Fail::machine(format!("`{}`: {error}", path.display())))
}

fn entries(done: &Done) -> Result<Vec<Entry>, Fail> {
    let order = done.plan.needed().map_err(|cycle| Fail::usage(cycle.to_string()))?;
    let mut entries = Vec::new();
    for id in order {
        let step = &done.plan.node(id).label;
        let own = |(label, _): &(&Label, _)| step.contains(label);
        for (label, found) in done.report.done.range(step.clone()..).take_while(own) {
            let Some(action) = found.action else { continue };
            let output = |(name, output): (&String, &Output)| {
                (name.clone(), matches!(output, Output::Tree(_)), output.digest().to_string())
            };
            entries.push(Entry {
                label: label.to_string(),
                action: action.to_string(),
                outputs: found.outputs.iter().map(output).collect(),
            });
        }
    }
    Ok(entries)
}
