//! `bake query`: what a step waits for, what waits for it, and by which way.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use engine::{Label, NodeId, Plan};
use serde_json::json;

use crate::cli::Query;
use crate::fail::Fail;
use crate::graph::named;
use crate::session::Session;
use crate::shell::Shell;

pub(crate) fn run(query: &Query, session: &Session<'_>, shell: &Shell) -> Result<(), Fail> {
    let (planned, _) = session.plan_or_all(&[])?;
    let plan = &planned.plan;
    let (found, json) = match query {
        Query::Deps(of) => {
            let from = steps(session, plan, &of.labels)?;
            (reachable(&from, |id| plan.dependencies(id)), of.json)
        }
        Query::Rdeps(of) => {
            let waiters = waiters(plan);
            let from = steps(session, plan, &of.labels)?;
            (reachable(&from, |id| waiters.get(&id).cloned().unwrap_or_default()), of.json)
        }
        Query::Somepath { from, to, json } => {
            let start = steps(session, plan, std::slice::from_ref(from))?;
            let end = steps(session, plan, std::slice::from_ref(to))?;
            let path = path(plan, &start, &end)
                .ok_or_else(|| Fail::usage(format!("`{from}` does not wait for `{to}`")))?;
            (path, *json)
        }
    };
    let labels: Vec<String> = found.into_iter().map(|id| plan.node(id).label.to_string()).collect();
    if json {
        shell.json(&json!({"schema": 1, "labels": labels}));
    } else if !labels.is_empty() {
        shell.data(&labels.join("\n"));
    }
    Ok(())
}

fn steps(session: &Session<'_>, plan: &Plan, labels: &[String]) -> Result<Vec<NodeId>, Fail> {
    let mut steps = Vec::new();
    for text in labels {
        // What stands in for an external is a step of the plan and of no recipe.
        let found = text.parse().map(|label: Label| named(plan, &label)).unwrap_or_default();
        if found.is_empty() {
            let labels = session.workspace()?.resolve(std::slice::from_ref(text))?;
            steps.extend(labels.iter().flat_map(|label| named(plan, label)));
        }
        steps.extend(found);
    }
    Ok(steps)
}

pub(crate) fn waiters(plan: &Plan) -> BTreeMap<NodeId, Vec<NodeId>> {
    let mut waiters: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
    for (id, _) in plan.nodes() {
        for dependency in plan.dependencies(id) {
            waiters.entry(dependency).or_default().push(id);
        }
    }
    waiters
}

/// All that can be reached from `from`, those not included unless they reach each other, in plan order.
pub(crate) fn reachable(from: &[NodeId], next: impl Fn(NodeId) -> Vec<NodeId>) -> Vec<NodeId> {
    let mut seen = BTreeSet::new();
    let mut pending: Vec<NodeId> = from.iter().flat_map(|id| next(*id)).collect();
    while let Some(id) = pending.pop() {
        if seen.insert(id) {
            pending.extend(next(id));
        }
    }
    seen.into_iter().collect()
}

/// A shortest way.
fn path(plan: &Plan, from: &[NodeId], to: &[NodeId]) -> Option<Vec<NodeId>> {
    let mut before: BTreeMap<NodeId, Option<NodeId>> = from.iter().map(|id| (*id, None)).collect();
    let mut pending: VecDeque<NodeId> = from.iter().copied().collect();
    while let Some(id) = pending.pop_front() {
        if to.contains(&id) {
            let step = |id: &NodeId| before.get(id).copied().flatten();
            let mut path: Vec<NodeId> = std::iter::successors(Some(id), step).collect();
            path.reverse();
            return Some(path);
        }
        for dependency in plan.dependencies(id) {
            before.entry(dependency).or_insert_with(|| {
                pending.push_back(dependency);
                Some(id)
            });
        }
    }
    None
}
