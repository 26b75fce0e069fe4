//! The part of a plan that changed sources reach: cut out of a snapshot, and merged back into it.
//!
//! A part holds the steps that wait, directly or not, for a changed source, and those that they wait for
//! themselves, as stumps: done, without inputs of their own. A stump cannot be made again; a build that would
//! have to do so gives up, and the whole plan is built instead.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use cache::WorkspacePath;

use super::rows::{self, NodeRow, SourceRow, StepRow, StepsRow};
use super::{Checked, Last, Snapshot, Whole, placed};
use crate::build::Built;
use crate::label::Label;
use crate::plan::Plan;
use crate::sources::SourceRecord;

const ABSENT: u32 = u32::MAX;

/// Cuts the part that the changed sources reach.
pub(super) fn cut(checked: &Checked, row: &StepsRow<'_>, steps: &[u8]) -> Option<(Plan, Last)> {
    let reached = reached(row, &checked.changed_sources);
    // The part's own numbers: steps that are reached, and the stumps that they stand on.
    let mut wanted = reached.clone();
    for (node, _) in row.nodes.iter().zip(&reached).filter(|(_, reached)| **reached) {
        node.dependencies().for_each(|dependency| wanted[dependency as usize] = true);
    }
    let targets: Vec<_> =
        row.targets.iter().filter(|(_, nodes, _)| nodes.iter().any(|node| reached[*node as usize])).collect();
    for (_, nodes, placed) in &targets {
        let named = nodes.iter().chain(placed.iter().map(|(node, ..)| node));
        named.for_each(|node| wanted[*node as usize] = true);
    }
    let mut numbers = vec![ABSENT; row.nodes.len()];
    let mut nodes = Vec::new();
    let mut labels: HashSet<&str> = HashSet::new();
    for (index, node) in row.nodes.iter().enumerate().filter(|(index, _)| wanted[*index]) {
        numbers[index] = u32::try_from(nodes.len()).ok()?;
        labels.insert(&node.label);
        nodes.push(if reached[index] { Cow::Borrowed(node) } else { Cow::Owned(stump(node)) });
    }
    let ids = Plan::new();
    let plan = rows::plan_of(row, nodes.into_iter(), &targets, &|number| {
        ids.reserve(numbers[number as usize] as usize)
    })?;
    let known =
        row.steps.iter().filter(|(label, ..)| labels.contains(&**label) || labels.contains(step(label)));
    let known: HashMap<String, _> =
        known.map(|row| (row.0.clone().into_owned(), rows::step_of(row))).collect();
    let last = Last {
        previous: checked.previous(known),
        changed_sources: Some(checked.changed_sources.clone()),
        confirmed: confirmed(checked, &plan),
        part_of: Some(Whole { stats: checked.stats.clone(), steps: steps.to_vec() }),
    };
    Some((plan, last))
}

/// Which steps wait, directly or not, for a changed source.
fn reached(row: &StepsRow<'_>, changed: &HashSet<WorkspacePath>) -> Vec<bool> {
    let changed: HashSet<&str> = changed.iter().map(WorkspacePath::as_str).collect();
    let is_changed =
        |source: &SourceRow<'_>| matches!(source, SourceRow::File(path, _) if changed.contains(path));
    let mut waiters: Vec<Vec<u32>> = vec![Vec::new(); row.nodes.len()];
    let mut stack = Vec::new();
    for (index, node) in (0u32..).zip(&row.nodes) {
        node.dependencies().for_each(|dependency| waiters[dependency as usize].push(index));
        if node.inputs.iter().flat_map(|(_, sources)| sources).any(is_changed) {
            stack.push(index);
        }
    }
    let mut reached = vec![false; row.nodes.len()];
    while let Some(index) = stack.pop() {
        if !std::mem::replace(&mut reached[index as usize], true) {
            stack.extend(&waiters[index as usize]);
        }
    }
    reached
}

fn stump<'a>(node: &NodeRow<'a>) -> NodeRow<'a> {
    NodeRow { inputs: Vec::new(), for_each: None, ..node.clone() }
}

/// The label of the step that an instance belongs to.
fn step(label: &str) -> &str {
    label.rsplit_once(':').map_or("", |(step, _)| step)
}

fn confirmed(checked: &Checked, plan: &Plan) -> Vec<(WorkspacePath, SourceRecord)> {
    let sources = plan.nodes().flat_map(|(_, node)| node.inputs.values().flatten());
    let mut paths: BTreeSet<&WorkspacePath> = BTreeSet::new();
    for source in sources {
        if let crate::plan::Source::File { path, .. } = source
            && !checked.changed_sources.contains(path)
        {
            paths.insert(path);
        }
    }
    let known = &checked.stats.sources;
    let record = |path: &WorkspacePath| {
        let at = known.binary_search_by(|(known, _)| known.cmp(path)).ok()?;
        Some((path.clone(), known[at].1))
    };
    paths.into_iter().filter_map(record).collect()
}

/// The whole snapshot again, with what the build of a part found.
pub(super) fn merge(
    whole: &Whole,
    plan: &Plan,
    built: &Built,
    sources: &BTreeMap<WorkspacePath, SourceRecord>,
) -> Option<Snapshot> {
    let mut stats = whole.stats.clone();
    for (path, record) in sources {
        let at = stats.sources.binary_search_by(|(known, _)| known.cmp(path)).ok()?;
        stats.sources[at].1 = *record;
    }
    let targets: HashSet<&Label> = plan.targets().iter().map(|target| &target.label).collect();
    stats.placed.retain(|(label, _)| !targets.contains(label));
    stats.placed.extend(placed(built));

    let mut row = rows::read_steps(&whole.steps)?;
    let done: HashMap<String, _> =
        built.report.done.iter().map(|(label, step)| (label.to_string(), step)).collect();
    let spread: HashSet<String> = built
        .report
        .done
        .keys()
        .filter_map(|label| label.instance().map(|_| step(&label.to_string()).to_owned()))
        .collect();
    // Instances of a step that spread out again are only those that it has now.
    row.steps.retain(|(label, ..)| !done.contains_key(&**label) && !spread.contains(step(label)));
    let now = done.iter().map(|(label, done)| -> StepRow<'_> { rows::step_row(label.clone(), done) });
    row.steps.extend(now);
    Some(Snapshot { stats, steps: rows::encode_steps(&row) })
}
