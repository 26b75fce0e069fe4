//! The bytes of a snapshot: serde structs in `postcard`, behind a version line. Text is borrowed while it
//! is decoded: a no-op of a hundred thousand files should not allocate twice for each.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use cache::{ActionDigest, Digest, FileStat, Output, WorkspacePath};
use serde::{Deserialize, Serialize};

use super::{Made, Stats};
use crate::label::Label;
use crate::params::Params;
use crate::place::PlacedFile;
use crate::plan::{ForEach, Item, Node, Placed, Plan, Source, Target};
use crate::resolve::Outputs;
use crate::sources::SourceRecord;

const STATS: &[u8] = b"bake stats 1\n";
const STEPS: &[u8] = b"bake steps 1\n";

type Hash = ([u8; 32], u64);
type Stat = (u64, i64, i64, u64);
/// Label, steps, and what is placed: step, output, folder.
type TargetRow = (String, Vec<u32>, Vec<(u32, String, String)>);
/// Label, action, and outputs: name, whether a tree, digest.
type StepRow = (String, Option<[u8; 32]>, Vec<(String, bool, Hash)>);

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
    tools: Vec<(&'a str, Hash)>,
    #[serde(borrow)]
    environment: Vec<(&'a str, Option<&'a str>)>,
    actions: u64,
}

#[derive(Serialize, Deserialize)]
struct StepsRow {
    made_from: Vec<(String, Option<Hash>)>,
    nodes: Vec<NodeRow>,
    targets: Vec<TargetRow>,
    steps: Vec<StepRow>,
}

#[derive(Serialize, Deserialize)]
struct NodeRow {
    label: String,
    rule: String,
    params: String,
    inputs: Vec<(String, Vec<SourceRow>)>,
    for_each: Option<ForEachRow>,
    private: bool,
}

#[derive(Serialize, Deserialize)]
enum SourceRow {
    File(String, String),
    Output(u32, String, Option<String>),
    External(String),
    Item,
}

#[derive(Serialize, Deserialize)]
enum ForEachRow {
    List(Vec<(String, String)>),
    Tree(u32, String),
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
        tools: stats.tools.iter().map(|(name, digest)| (name.as_str(), hash(*digest))).collect(),
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
        Some((path(at)?, SourceRecord { stat: file_stat(seen), digest: digest(named), settled }))
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
        tools: row.tools.into_iter().map(|(name, named)| (name.to_owned(), digest(named))).collect(),
        environment: row
            .environment
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.map(str::to_owned)))
            .collect(),
        actions: row.actions,
    })
}

pub(super) fn encode_steps(
    plan: &Plan,
    steps: &BTreeMap<String, (Option<ActionDigest>, Outputs)>,
) -> Vec<u8> {
    let nodes = plan.nodes().map(|(_, node)| node_row(node)).collect();
    let target = |target: &Target| {
        let placed = target.placed.iter().map(|it| (it.node.0, it.output.clone(), it.folder.to_string()));
        (target.label.to_string(), target.nodes.iter().map(|id| id.0).collect(), placed.collect())
    };
    let step = |(label, (action, outputs)): (&String, &(Option<ActionDigest>, Outputs))| {
        let outputs = outputs
            .iter()
            .map(|(name, output)| (name.clone(), matches!(output, Output::Tree(_)), hash(output.digest())));
        (label.clone(), action.map(|action| *action.as_bytes()), outputs.collect())
    };
    let row = StepsRow {
        made_from: plan.made_from.iter().map(|(path, print)| (path.to_string(), print.map(hash))).collect(),
        nodes,
        targets: plan.targets().iter().map(target).collect(),
        steps: steps.iter().map(step).collect(),
    };
    write(STEPS, &row)
}

pub(super) type Steps = HashMap<String, (Option<ActionDigest>, Outputs)>;

pub(super) fn decode_steps(bytes: &[u8]) -> Option<(Plan, Steps)> {
    let row: StepsRow = read(STEPS, bytes)?;
    let mut plan = Plan::new();
    let count = row.nodes.len();
    let id = |plan: &Plan, index: u32| ((index as usize) < count).then(|| plan.reserve(index as usize));
    for node in row.nodes {
        let node = node_of(node, &|index| id(&plan, index))?;
        plan.add(node);
    }
    for (label, nodes, placed) in row.targets {
        let nodes = nodes.into_iter().map(|index| id(&plan, index)).collect::<Option<_>>()?;
        let placed = placed.into_iter().map(|(node, output, folder)| {
            Some(Placed { node: id(&plan, node)?, output, folder: path(&folder)? })
        });
        let placed = placed.collect::<Option<_>>()?;
        plan.add_target(Target { label: label.parse().ok()?, nodes, placed });
    }
    for (at, print) in row.made_from {
        plan.made_from.insert(path(&at)?, print.map(digest));
    }
    let step = |(label, action, outputs): StepRow| {
        let output = |(name, tree, named): (String, bool, Hash)| {
            let digest = digest(named);
            (name, if tree { Output::Tree(digest) } else { Output::File(digest) })
        };
        let outputs: BTreeMap<String, Output> = outputs.into_iter().map(output).collect();
        (label, (action.map(ActionDigest::from_bytes), Arc::new(outputs)))
    };
    Some((plan, row.steps.into_iter().map(step).collect()))
}

fn node_row(node: &Node) -> NodeRow {
    let source = |source: &Source| match source {
        Source::File { path, name } => SourceRow::File(path.to_string(), name.to_string()),
        Source::Output { node, output, select } => SourceRow::Output(node.0, output.clone(), select.clone()),
        Source::External(name) => SourceRow::External(name.clone()),
        Source::Item => SourceRow::Item,
    };
    let inputs =
        node.inputs.iter().map(|(name, sources)| (name.clone(), sources.iter().map(source).collect()));
    let for_each = node.for_each.as_ref().map(|for_each| match for_each {
        ForEach::List(items) => {
            ForEachRow::List(items.iter().map(|item| (item.name.clone(), item.value.to_string())).collect())
        }
        ForEach::Tree { node, output } => ForEachRow::Tree(node.0, output.clone()),
    });
    NodeRow {
        label: node.label.to_string(),
        rule: node.rule.clone(),
        params: node.params.canonical_text(),
        inputs: inputs.collect(),
        for_each,
        private: node.private,
    }
}

fn node_of(row: NodeRow, id: &dyn Fn(u32) -> Option<crate::plan::NodeId>) -> Option<Node> {
    let source = |source: SourceRow| {
        Some(match source {
            SourceRow::File(at, name) => Source::File { path: path(&at)?, name: path(&name)? },
            SourceRow::Output(node, output, select) => Source::Output { node: id(node)?, output, select },
            SourceRow::External(name) => Source::External(name),
            SourceRow::Item => Source::Item,
        })
    };
    let input = |(name, sources): (String, Vec<SourceRow>)| {
        Some((name, sources.into_iter().map(source).collect::<Option<Vec<_>>>()?))
    };
    let for_each = match row.for_each {
        None => None,
        Some(ForEachRow::Tree(node, output)) => Some(ForEach::Tree { node: id(node)?, output }),
        Some(ForEachRow::List(items)) => {
            let item = |(name, text): (String, String)| {
                Some(Item { name, value: serde_json::from_str(&text).ok()? })
            };
            Some(ForEach::List(items.into_iter().map(item).collect::<Option<_>>()?))
        }
    };
    Some(Node {
        label: row.label.parse::<Label>().ok()?,
        rule: row.rule,
        params: Params::from_canonical_text(&row.params).ok()?,
        inputs: row.inputs.into_iter().map(input).collect::<Option<_>>()?,
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
