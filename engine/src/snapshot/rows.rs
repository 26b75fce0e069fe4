//! The bytes of a snapshot: serde structs in `postcard`, behind a version line. Text is borrowed while it
//! is decoded: a no-op of a hundred thousand files should not allocate twice for each.

use std::borrow::Cow;
use std::sync::Arc;

use cache::{ActionDigest, Digest, FileStat, Output, WorkspacePath};
use serde::{Deserialize, Serialize};

use super::{Made, Stats};
use crate::build::StepDone;
use crate::label::Label;
use crate::params::Params;
use crate::place::PlacedFile;
use crate::plan::{ForEach, Item, Node, NodeId, Placed, Plan, Source, Target};
use crate::sources::SourceRecord;

const STATS: &[u8] = b"bake stats 2\n";
const STEPS: &[u8] = b"bake steps 1\n";

pub(super) type Hash = ([u8; 32], u64);
type Stat = (u64, i64, i64, u64);

#[derive(Serialize, Deserialize)]
struct StatsRow<'a> {
    key: &'a str,
    #[serde(borrow)]
    made_from: Vec<(&'a str, Option<Hash>, Option<Stat>, bool)>,
    #[serde(borrow)]
    sources: Vec<(&'a str, Stat, Hash, bool)>,
    #[serde(borrow)]
    placed: Vec<(String, &'a str, Stat, Hash, bool)>,
    #[serde(borrow)]
    externals: Vec<(&'a str, [u8; 32])>,
    #[serde(borrow)]
    tools: Vec<(&'a str, Stat, Hash, bool)>,
    #[serde(borrow)]
    environment: Vec<(&'a str, Option<&'a str>)>,
    actions: u64,
}

/// The plan, and what every step and instance gave. Borrows all texts, so that reading it costs little
/// beyond the lists.
#[derive(Serialize, Deserialize)]
pub(super) struct StepsRow<'a> {
    #[serde(borrow)]
    pub(super) made_from: Vec<(&'a str, Option<Hash>)>,
    #[serde(borrow)]
    pub(super) nodes: Vec<NodeRow<'a>>,
    #[serde(borrow)]
    pub(super) targets: Vec<TargetRow<'a>>,
    #[serde(borrow)]
    pub(super) steps: Vec<StepRow<'a>>,
}

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct NodeRow<'a> {
    pub(super) label: Cow<'a, str>,
    pub(super) rule: &'a str,
    pub(super) params: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) inputs: Vec<(&'a str, Vec<SourceRow<'a>>)>,
    #[serde(borrow)]
    pub(super) for_each: Option<ForEachRow<'a>>,
    pub(super) private: bool,
}

#[derive(Clone, Serialize, Deserialize)]
pub(super) enum SourceRow<'a> {
    File(&'a str, &'a str),
    Output(u32, &'a str, Option<&'a str>),
    External(&'a str),
    Item,
}

#[derive(Clone, Serialize, Deserialize)]
pub(super) enum ForEachRow<'a> {
    List(#[serde(borrow)] Vec<(&'a str, Cow<'a, str>)>),
    Tree(u32, &'a str),
}

/// Label, steps, and what is placed: step, output, folder.
pub(super) type TargetRow<'a> = (Cow<'a, str>, Vec<u32>, Vec<(u32, &'a str, &'a str)>);
/// Label, action, how long it last ran, and outputs: name, whether a tree, digest.
pub(super) type StepRow<'a> = (Cow<'a, str>, Option<[u8; 32]>, u64, Vec<(Cow<'a, str>, bool, Hash)>);

impl NodeRow<'_> {
    /// The steps that it waits for.
    pub(super) fn dependencies(&self) -> impl Iterator<Item = u32> {
        let sources = self.inputs.iter().flat_map(|(_, sources)| sources);
        let outputs = sources.filter_map(|source| match source {
            SourceRow::Output(node, ..) => Some(*node),
            _ => None,
        });
        let tree = match &self.for_each {
            Some(ForEachRow::Tree(node, _)) => Some(*node),
            _ => None,
        };
        outputs.chain(tree)
    }
}

pub(super) fn encode_stats(stats: &Stats) -> Vec<u8> {
    let row = StatsRow {
        key: &stats.key,
        made_from: stats
            .made_from
            .iter()
            .map(|made| (made.path.as_str(), made.fingerprint.map(hash), made.stat.map(stat), made.settled))
            .collect(),
        sources: stats
            .sources
            .iter()
            .map(|(path, record)| (path.as_str(), stat(record.stat), hash(record.digest), record.settled))
            .collect(),
        placed: stats
            .placed
            .iter()
            .map(|(label, file)| {
                (label.to_string(), file.path.as_str(), stat(file.stat), hash(file.digest), file.settled)
            })
            .collect(),
        externals: stats.externals.iter().map(|(name, stamp)| (name.as_str(), *stamp)).collect(),
        tools: stats
            .tools
            .iter()
            .map(|(name, record)| (name.as_str(), stat(record.stat), hash(record.digest), record.settled))
            .collect(),
        environment: stats
            .environment
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_deref()))
            .collect(),
        actions: stats.actions,
    };
    write(STATS, &row)
}

pub(super) fn decode_stats(bytes: &[u8]) -> Option<Stats> {
    let row: StatsRow<'_> = read(STATS, bytes)?;
    let made = |(at, print, seen, settled): (&str, Option<Hash>, Option<Stat>, bool)| {
        Some(Made { path: path(at)?, fingerprint: print.map(digest), stat: seen.map(file_stat), settled })
    };
    let source = |(at, seen, named, settled): (&str, Stat, Hash, bool)| {
        Some((path(at)?, record(seen, named, settled)))
    };
    let placed = |(label, at, seen, named, settled): (String, &str, Stat, Hash, bool)| {
        let file = PlacedFile { path: path(at)?, digest: digest(named), stat: file_stat(seen), settled };
        Some((label.parse().ok()?, file))
    };
    Some(Stats {
        key: row.key.to_owned(),
        made_from: row.made_from.into_iter().map(made).collect::<Option<_>>()?,
        sources: row.sources.into_iter().map(source).collect::<Option<_>>()?,
        placed: row.placed.into_iter().map(placed).collect::<Option<_>>()?,
        externals: row.externals.into_iter().map(|(name, stamp)| (name.to_owned(), stamp)).collect(),
        tools: row
            .tools
            .into_iter()
            .map(|(name, seen, named, settled)| (name.to_owned(), record(seen, named, settled)))
            .collect(),
        environment: row
            .environment
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.map(str::to_owned)))
            .collect(),
        actions: row.actions,
    })
}

pub(super) fn encode_steps(row: &StepsRow<'_>) -> Vec<u8> {
    write(STEPS, row)
}

pub(super) fn read_steps(bytes: &[u8]) -> Option<StepsRow<'_>> {
    let row: StepsRow<'_> = read(STEPS, bytes)?;
    let count = u32::try_from(row.nodes.len()).ok()?;
    let inside = |node: u32| node < count;
    let sound = row.nodes.iter().all(|node| node.dependencies().all(inside))
        && row.targets.iter().all(|(_, nodes, placed)| {
            nodes.iter().copied().all(inside) && placed.iter().all(|(node, ..)| inside(*node))
        });
    sound.then_some(row)
}

/// The rows of a plan and of what its steps gave.
pub(super) fn steps_row<'a>(plan: &'a Plan, steps: Vec<StepRow<'a>>) -> StepsRow<'a> {
    let target = |target: &'a Target| -> TargetRow<'a> {
        let placed = target.placed.iter();
        let placed = placed.map(|it| (it.node.0, it.output.as_str(), it.folder.as_str()));
        let nodes = target.nodes.iter().map(|id| id.0).collect();
        (Cow::Owned(target.label.to_string()), nodes, placed.collect())
    };
    StepsRow {
        made_from: plan.made_from.iter().map(|(path, print)| (path.as_str(), print.map(hash))).collect(),
        nodes: plan.nodes().map(|(_, node)| node_row(node)).collect(),
        targets: plan.targets().iter().map(target).collect(),
        steps,
    }
}

pub(super) fn step_row<'a>(label: String, done: &'a StepDone) -> StepRow<'a> {
    let output = |(name, output): (&'a String, &Output)| {
        (Cow::Borrowed(name.as_str()), matches!(output, Output::Tree(_)), hash(output.digest()))
    };
    let action = done.action.map(|action| *action.as_bytes());
    (Cow::Owned(label), action, done.duration_ms, done.outputs.iter().map(output).collect())
}

/// What a step gave, as the loop wants it.
pub(super) fn step_of((_, action, duration_ms, outputs): &StepRow<'_>) -> StepDone {
    let output = |(name, tree, named): &(Cow<'_, str>, bool, Hash)| {
        let digest = digest(*named);
        (name.clone().into_owned(), if *tree { Output::Tree(digest) } else { Output::File(digest) })
    };
    StepDone {
        action: action.map(ActionDigest::from_bytes),
        outputs: Arc::new(outputs.iter().map(output).collect()),
        duration_ms: *duration_ms,
    }
}

/// Makes a plan of rows; `id` says which step a row's number stands for.
pub(super) fn plan_of<'r>(
    row: &StepsRow<'_>,
    nodes: impl Iterator<Item = Cow<'r, NodeRow<'r>>>,
    targets: &[&TargetRow<'_>],
    id: &dyn Fn(u32) -> NodeId,
) -> Option<Plan> {
    let mut plan = Plan::new();
    for node in nodes {
        plan.add(node_of(&node, id)?);
    }
    for (label, nodes, placed) in targets {
        let placed = placed.iter().map(|(node, output, folder)| {
            Some(Placed { node: id(*node), output: (*output).to_owned(), folder: path(folder)? })
        });
        let placed = placed.collect::<Option<_>>()?;
        let nodes = nodes.iter().map(|node| id(*node)).collect();
        plan.add_target(Target { label: label.parse().ok()?, nodes, placed });
    }
    for (at, print) in &row.made_from {
        plan.made_from.insert(path(at)?, print.map(digest));
    }
    Some(plan)
}

fn node_row(node: &Node) -> NodeRow<'_> {
    fn source(source: &Source) -> SourceRow<'_> {
        match source {
            Source::File { path, name } => SourceRow::File(path.as_str(), name.as_str()),
            Source::Output { node, output, select } => SourceRow::Output(node.0, output, select.as_deref()),
            Source::External(name) => SourceRow::External(name),
            Source::Item => SourceRow::Item,
        }
    }
    let inputs = node.inputs.iter();
    let for_each = node.for_each.as_ref().map(|for_each| match for_each {
        ForEach::List(items) => {
            let row = |item: &'_ Item| Cow::Owned(item.value.to_string());
            ForEachRow::List(items.iter().map(|item| (item.name.as_str(), row(item))).collect())
        }
        ForEach::Tree { node, output } => ForEachRow::Tree(node.0, output),
    });
    NodeRow {
        label: Cow::Owned(node.label.to_string()),
        rule: &node.rule,
        params: Cow::Owned(node.params.canonical_text()),
        inputs: inputs.map(|(name, sources)| (name.as_str(), sources.iter().map(source).collect())).collect(),
        for_each,
        private: node.private,
    }
}

fn node_of(row: &NodeRow<'_>, id: &dyn Fn(u32) -> NodeId) -> Option<Node> {
    let source = |source: &SourceRow<'_>| {
        Some(match source {
            SourceRow::File(at, name) => Source::File { path: path(at)?, name: path(name)? },
            SourceRow::Output(node, output, select) => Source::Output {
                node: id(*node),
                output: (*output).to_owned(),
                select: select.map(str::to_owned),
            },
            SourceRow::External(name) => Source::External((*name).to_owned()),
            SourceRow::Item => Source::Item,
        })
    };
    let input = |(name, sources): &(&str, Vec<SourceRow<'_>>)| {
        Some(((*name).to_owned(), sources.iter().map(source).collect::<Option<Vec<_>>>()?))
    };
    let for_each = match &row.for_each {
        None => None,
        Some(ForEachRow::Tree(node, output)) => {
            Some(ForEach::Tree { node: id(*node), output: (*output).to_owned() })
        }
        Some(ForEachRow::List(items)) => {
            let item = |(name, text): &(&str, Cow<'_, str>)| {
                Some(Item { name: (*name).to_owned(), value: serde_json::from_str(text).ok()? })
            };
            Some(ForEach::List(items.iter().map(item).collect::<Option<_>>()?))
        }
    };
    Some(Node {
        label: row.label.parse::<Label>().ok()?,
        rule: row.rule.to_owned(),
        params: Params::from_canonical_text(&row.params).ok()?,
        inputs: row.inputs.iter().map(input).collect::<Option<_>>()?,
        for_each,
        private: row.private,
    })
}

fn write<T: Serialize>(header: &[u8], row: &T) -> Vec<u8> {
    postcard::to_extend(row, header.to_vec()).expect("because writing to memory cannot fail")
}

fn read<'a, T: Deserialize<'a>>(header: &[u8], bytes: &'a [u8]) -> Option<T> {
    postcard::from_bytes(bytes.strip_prefix(header)?).ok()
}

fn path(text: &str) -> Option<WorkspacePath> {
    WorkspacePath::parse(text).ok()
}

fn record(seen: Stat, named: Hash, settled: bool) -> SourceRecord {
    SourceRecord { stat: file_stat(seen), digest: digest(named), settled }
}

fn hash(digest: Digest) -> Hash {
    (*digest.hash(), digest.len())
}

fn digest((hash, len): Hash) -> Digest {
    Digest::from_parts(hash, len)
}

fn stat(stat: FileStat) -> Stat {
    (stat.len, stat.modified, stat.changed, stat.inode)
}

fn file_stat((len, modified, changed, inode): Stat) -> FileStat {
    FileStat { len, modified, changed, inode }
}
