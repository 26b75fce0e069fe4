//! What an archive that was built is made of: its members, what they take, and the step each came from.

use std::collections::BTreeMap;

use cache::{Blobs, Digest, DiskStore, Output, Tree};
use engine::{Artifact, NodeId};
use mjolnir::zip::Archive;
use serde_json::{Value, json};

use crate::count::size;
use crate::driver::Done;

/// A member of an archive.
pub(crate) struct Part {
    member: String,
    /// Bytes in the archive.
    stored: u64,
    /// Bytes of the member itself.
    size: u64,
    /// The step that made it; `None` for files of the recipe's folder.
    step: Option<String>,
}

/// The members of an archive in their order. What is gone from the store has no step.
pub(crate) fn parts(archive: &Archive<'_>, artifact: &Artifact, done: &Done, store: &DiskStore) -> Vec<Part> {
    let made = made_by(artifact, done, store);
    let part = |member: &mjolnir::zip::Member<'_>| {
        let name = member.name();
        let digest = made.names.get(&*name).copied().unwrap_or_else(|| Digest::of(&member.read()));
        Part {
            stored: member.packed_size(),
            size: member.size(),
            step: made.steps.get(&digest).cloned(),
            member: name.into_owned(),
        }
    };
    archive.members().map(part).collect()
}

/// What the step that made an archive knows of its members, and the steps before it of their bytes.
#[derive(Default)]
struct Made {
    names: BTreeMap<String, Digest>,
    steps: BTreeMap<Digest, String>,
}

fn made_by(artifact: &Artifact, done: &Done, store: &DiskStore) -> Made {
    let files = |id: NodeId| -> Vec<(Option<String>, Digest)> {
        let found = done.report.done.get(&done.plan.node(id).label);
        let outputs = found.into_iter().flat_map(|step| step.outputs.values());
        outputs.flat_map(|output| listed(output, store)).collect()
    };
    let mut made = Made::default();
    let own = |id: &NodeId| done.plan.node(*id).label.recipe_path() == artifact.label.recipe_path();
    let targets = done.plan.targets().iter().filter(|target| target.label == artifact.label);
    let makers = targets.flat_map(|target| &target.placed).map(|placed| placed.node);
    let found = makers
        .map(|id| (id, files(id)))
        .find(|(_, files)| files.iter().any(|(_, digest)| *digest == artifact.record.digest));
    let Some((maker, outputs)) = found else { return made };
    made.names = outputs.into_iter().filter_map(|(name, digest)| Some((name?, digest))).collect();
    for id in done.plan.dependencies(maker) {
        let label = &done.plan.node(id).label;
        let step = if own(&id) { label.short() } else { label.to_string() };
        made.steps.extend(files(id).into_iter().map(|(_, digest)| (digest, step.clone())));
    }
    made
}

/// The files of an output, with their paths in a tree.
fn listed(output: &Output, store: &DiskStore) -> Vec<(Option<String>, Digest)> {
    let Output::Tree(listing) = output else { return vec![(None, output.digest())] };
    let bytes = store.read(listing).ok().flatten();
    let tree = bytes.and_then(|bytes| Tree::decode(&bytes).ok()).unwrap_or_default();
    tree.iter().map(|(path, digest)| (Some(path.to_string()), *digest)).collect()
}

/// What takes the space, by step, in a line.
pub(crate) fn by_step(parts: &[Part]) -> String {
    let mut steps: BTreeMap<&str, u64> = BTreeMap::new();
    for part in parts {
        *steps.entry(part.step.as_deref().unwrap_or("files of the recipe")).or_default() += part.stored;
    }
    let mut steps: Vec<(&str, u64)> = steps.into_iter().collect();
    steps.sort_by_key(|(step, bytes)| (std::cmp::Reverse(*bytes), *step));
    steps.iter().map(|(step, bytes)| format!("{step} {}", size(*bytes))).collect::<Vec<_>>().join(" · ")
}

/// The same as JSON, by member.
pub(crate) fn json(parts: &[Part]) -> Value {
    let part = |part: &Part| json!({"member": part.member, "stored": part.stored, "size": part.size, "step": part.step});
    parts.iter().map(part).collect()
}
