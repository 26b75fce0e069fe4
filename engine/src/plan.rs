//! [`Plan`]: the graph of a build, before anything is known of its inputs' bytes.
//!
//! The front end makes it once; the loop only reads it. petgraph stays inside this file: cycles are
//! found and reported here, and the loop works on dense arrays.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::path::Path;

use cache::{Digest, WorkspacePath};
use petgraph::graph::{DiGraph, NodeIndex};
use serde_json::Value;

use crate::label::Label;
use crate::params::Params;

/// A step of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(crate) u32);

impl NodeId {
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where an input comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A file of the workspace.
    File {
        /// Its path in the workspace.
        path: WorkspacePath,
        /// Its path inside the input, where that is a tree.
        name: WorkspacePath,
    },
    /// An output of another step.
    Output {
        /// The step.
        node: NodeId,
        /// The output's name.
        output: String,
        /// A file or folder inside the tree, may hold `{item…}`; everything when absent.
        select: Option<String>,
    },
    /// An external of this machine.
    External(String),
    /// The descriptor of the instance: the item of `for_each` as canonical JSON.
    Item,
}

/// What a step runs once for.
#[derive(Clone, Debug, PartialEq)]
pub enum ForEach {
    /// The entries of a list of the recipe.
    List(Vec<Item>),
    /// Each file of a tree that another step makes: `<name>.json`, a descriptor.
    Tree {
        /// The step.
        node: NodeId,
        /// Its output.
        output: String,
    },
}

/// An entry that a step runs for.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The name of the instance.
    pub name: String,
    /// What `{item}` stands for.
    pub value: Value,
}

/// A step.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its label.
    pub label: Label,
    /// The rule's name in the catalogue.
    pub rule: String,
    /// Parameters; strings may hold `{item…}` where `for_each` is given.
    pub params: Params,
    /// Inputs by name; several sources are merged into one tree, in this order.
    pub inputs: BTreeMap<String, Vec<Source>>,
    /// Run once for each of these.
    pub for_each: Option<ForEach>,
    /// Derived from private bytes, directly or not.
    pub private: bool,
}

/// An output that is placed under `out/`.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// The step.
    pub node: NodeId,
    /// Its output.
    pub output: String,
    /// The folder, below `out/`: a tree's files appear in it, a file appears under the output's name.
    pub folder: WorkspacePath,
}

/// What is to be built.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// What was asked for.
    pub label: Label,
    /// The steps that make it.
    pub nodes: Vec<NodeId>,
    /// What appears under `out/`.
    pub placed: Vec<Placed>,
}

/// The graph of a build.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    nodes: Vec<Node>,
    targets: Vec<Target>,
    /// Files and folders besides inputs that the plan was made from (recipes, pipelines, settings, folders
    /// that globs looked into), with their [`fingerprint`] when they were read (of the very bytes that were
    /// parsed, so that an edit in between cannot hide); `None` where there was nothing. When one of them
    /// changes, the plan is made anew.
    pub made_from: BTreeMap<WorkspacePath, Option<Digest>>,
}

/// What a file or folder that a plan is made from looks like: the digest of a file's bytes, of a folder's
/// sorted entry names (folders with a final `/`), `None` where there is nothing.
pub fn fingerprint(path: &Path) -> io::Result<Option<Digest>> {
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !metadata.is_dir() {
        return std::fs::read(path).map(|bytes| Some(Digest::of(&bytes)));
    }
    let mut names = Vec::new();
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        let folder = if entry.file_type()?.is_dir() { "/" } else { "" };
        names.push(format!("{}{folder}\n", entry.file_name().to_string_lossy()));
    }
    names.sort();
    Ok(Some(Digest::of(names.concat().as_bytes())))
}

/// A cycle, as the labels on it, the first one repeated at the end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("these steps wait for each other: {}", Arrows(.0))]
pub struct Cycle(pub Vec<Label>);

struct Arrows<'a>(&'a [Label]);

impl fmt::Display for Arrows<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.0.iter().map(Label::to_string).collect();
        f.write_str(&texts.join(" > "))
    }
}

impl Plan {
    /// A plan without steps.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a step. Sources may name steps that are added later (see [`Plan::reserve`]).
    pub fn add(&mut self, node: Node) -> NodeId {
        let id = self.reserve(self.nodes.len());
        self.nodes.push(node);
        id
    }

    /// The id that the step added as number `index` (from 0) has or will have.
    pub fn reserve(&self, index: usize) -> NodeId {
        NodeId(u32::try_from(index).expect("because a plan of four billion steps does not fit in memory"))
    }

    /// Adds a target.
    pub fn add_target(&mut self, target: Target) {
        self.targets.push(target);
    }

    /// The step.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// All steps with their ids, in the order in which they were added.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = (NodeId, &Node)> {
        self.nodes.iter().enumerate().map(|(index, node)| (NodeId(index as u32), node))
    }

    /// What is to be built.
    pub fn targets(&self) -> &[Target] {
        &self.targets
    }

    /// The steps that `id` waits for, each once, in order.
    pub fn dependencies(&self, id: NodeId) -> Vec<NodeId> {
        let node = self.node(id);
        let sources = node.inputs.values().flatten();
        let mut found: Vec<NodeId> = sources
            .filter_map(|source| match source {
                Source::Output { node, .. } => Some(*node),
                _ => None,
            })
            .collect();
        if let Some(ForEach::Tree { node, .. }) = &node.for_each {
            found.push(*node);
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Checks that no step waits for itself, and gives all steps in an order in which each comes after
    /// those that it waits for.
    pub fn order(&self) -> Result<Vec<NodeId>, Cycle> {
        let graph = self.graph();
        petgraph::algo::toposort(&graph, None)
            .map(|order| order.into_iter().map(|node| graph[node]).collect())
            .map_err(|cycle| self.cycle_through(&graph, cycle.node_id()))
    }

    /// The steps that the targets need, each after those that it waits for.
    pub fn needed(&self) -> Result<Vec<NodeId>, Cycle> {
        let mut wanted = vec![false; self.nodes.len()];
        let mut stack: Vec<NodeId> = self.targets.iter().flat_map(|target| target.nodes.clone()).collect();
        while let Some(id) = stack.pop() {
            if !std::mem::replace(&mut wanted[id.index()], true) {
                stack.extend(self.dependencies(id));
            }
        }
        let order = self.order()?;
        Ok(order.into_iter().filter(|id| wanted[id.index()]).collect())
    }

    /// The steps (by number) of which targets want some instances only: no target and no other step wants the
    /// whole.
    pub(crate) fn only(&self, needed: &[NodeId]) -> BTreeMap<usize, BTreeSet<String>> {
        let mut only: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
        for target in &self.targets {
            for node in &target.nodes {
                if let Some(instance) = target.label.instance() {
                    only.entry(node.index()).or_default().insert(instance.to_owned());
                }
            }
        }
        let whole_targets = self.targets.iter().filter(|target| target.label.instance().is_none());
        for node in whole_targets.flat_map(|target| &target.nodes) {
            only.remove(&node.index());
        }
        for dependency in needed.iter().flat_map(|id| self.dependencies(*id)) {
            only.remove(&dependency.index());
        }
        only
    }

    fn graph(&self) -> DiGraph<NodeId, ()> {
        let mut graph = DiGraph::with_capacity(self.nodes.len(), self.nodes.len() * 2);
        for (id, _) in self.nodes() {
            graph.add_node(id);
        }
        for (id, _) in self.nodes() {
            for dependency in self.dependencies(id) {
                graph.add_edge(NodeIndex::new(dependency.index()), NodeIndex::new(id.index()), ());
            }
        }
        graph
    }

    fn cycle_through(&self, graph: &DiGraph<NodeId, ()>, start: NodeIndex) -> Cycle {
        let components = petgraph::algo::tarjan_scc(graph);
        let component =
            components.into_iter().find(|component| component.contains(&start)).unwrap_or_default();
        // Inside a strongly connected component, following any arrow that stays in it must come back.
        let mut path = vec![start];
        while let Some(&last) = path.last() {
            let next = graph.neighbors(last).find(|next| component.contains(next));
            let Some(next) = next else { break };
            if let Some(at) = path.iter().position(|seen| *seen == next) {
                path.drain(..at);
                path.push(next);
                break;
            }
            path.push(next);
        }
        Cycle(path.into_iter().map(|node| self.node(graph[node]).label.clone()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(edges: &[(&str, &[u32])]) -> Plan {
        let mut plan = Plan::new();
        for (name, needs) in edges {
            let sources = needs.iter().map(|node| Source::Output {
                node: NodeId(*node),
                output: "out".to_owned(),
                select: None,
            });
            plan.add(Node {
                label: format!("a:{name}").parse().unwrap(),
                rule: "rule".to_owned(),
                params: Params::default(),
                inputs: [("in".to_owned(), sources.collect())].into(),
                for_each: None,
                private: false,
            });
        }
        plan
    }

    #[test]
    fn only_what_targets_need_is_built_in_order() {
        let mut plan = plan(&[("c", &[1]), ("b", &[2]), ("a", &[]), ("other", &[2])]);
        let label: Label = "a:c".parse().unwrap();
        plan.add_target(Target { label, nodes: vec![NodeId(0)], placed: Vec::new() });
        assert_eq!(plan.needed().unwrap(), [NodeId(2), NodeId(1), NodeId(0)]);
    }

    #[test]
    fn a_cycle_is_reported_as_its_path() {
        let plan = plan(&[("start", &[1]), ("a", &[3]), ("b", &[1]), ("c", &[2])]);
        let message = plan.order().unwrap_err().to_string();
        let path = message.strip_prefix("these steps wait for each other: ").unwrap();
        let steps: Vec<&str> = path.split(" > ").collect();
        assert_eq!(steps.len(), 4, "{message}");
        assert_eq!(steps.first(), steps.last());
        assert!(!path.contains("start"));
    }
}
