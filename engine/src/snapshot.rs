//! The snapshot of the last successful build of a set of targets: what a build that finds nothing to do
//! needs, and what one that finds little to do starts from.
//!
//! It is two blocks of bytes. *Stats* holds every file that the build looked at or placed, with stat and
//! digest: a no-op reads it, stats, compares, and is done. *Steps* holds the plan and every action's outputs;
//! it is read when something changed. Both are a convenience: without them a build is slower, not wrong.

mod part;
mod rows;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cache::{ActionDigest, Digest, FileStat, Looker, WorkspacePath, hash_file};
use rayon::prelude::*;

use crate::build::{Built, Options, StepDone};
use crate::external::External;
use crate::label::Label;
use crate::place::PlacedFile;
use crate::plan::{Plan, Source, fingerprint};
use crate::resolve::Outputs;
use crate::rule::Body;
use crate::sources::SourceRecord;

/// Action and outputs of each step after the last build.
#[derive(Default)]
pub struct Previous {
    steps: HashMap<String, StepDone>,
    placed: HashMap<WorkspacePath, PlacedFile>,
    externals_changed: HashSet<String>,
}

/// What is known of the last build.
#[derive(Default)]
pub struct Last {
    /// Its steps.
    pub(crate) previous: Previous,
    /// Sources that changed since; `None` when the plan was made anew, so that every step is looked at.
    pub(crate) changed_sources: Option<HashSet<WorkspacePath>>,
    /// Sources that a stat or a look has just confirmed.
    pub(crate) confirmed: Vec<(WorkspacePath, SourceRecord)>,
    /// The snapshot that the plan is a part of, when it is one.
    pub(crate) part_of: Option<Whole>,
}

/// The snapshot that a partial plan was cut out of.
pub(crate) struct Whole {
    stats: Stats,
    steps: Vec<u8>,
}

impl Last {
    /// Every step is to be looked at: the plan is another one.
    #[must_use]
    pub fn replanned(mut self) -> Self {
        self.changed_sources = None;
        self
    }

    /// Whether the plan that came along is a part of the last one.
    pub fn is_part(&self) -> bool {
        self.part_of.is_some()
    }
}

impl Previous {
    pub(crate) fn get(&self, label: &Label) -> Option<(ActionDigest, Outputs)> {
        let done = self.steps.get(&label.to_string())?;
        done.action.map(|action| (action, Arc::clone(&done.outputs)))
    }

    pub(crate) fn action(&self, label: &Label) -> Option<ActionDigest> {
        self.steps.get(&label.to_string())?.action
    }

    pub(crate) fn outputs(&self, label: &Label) -> Option<Outputs> {
        self.steps.get(&label.to_string()).map(|done| Arc::clone(&done.outputs))
    }

    pub(crate) fn duration_ms(&self, label: &str) -> Option<u64> {
        self.steps.get(label).map(|done| done.duration_ms).filter(|duration| *duration > 0)
    }

    pub(crate) fn placed(&self, path: &WorkspacePath) -> Option<&PlacedFile> {
        self.placed.get(path)
    }

    pub(crate) fn external_unchanged(&self, name: &str) -> bool {
        !self.externals_changed.contains(name)
    }
}

/// Everything that a build looked at, with what it saw.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// What the build was asked to do and by which bake: another one starts anew.
    pub key: String,
    made_from: Vec<Made>,
    sources: Vec<(WorkspacePath, SourceRecord)>,
    placed: Vec<(Label, PlacedFile)>,
    externals: Vec<(String, [u8; 32])>,
    tools: Vec<(String, SourceRecord)>,
    environment: Vec<(String, Option<String>)>,
    actions: u64,
}

#[derive(Clone, Debug, PartialEq)]
struct Made {
    path: WorkspacePath,
    fingerprint: Option<Digest>,
    stat: Option<FileStat>,
    settled: bool,
}

/// What a look at the files of [`Stats`] found.
pub struct Checked {
    /// Nothing at all is to be done.
    pub fresh: bool,
    /// The plan is to be made anew.
    pub replan: bool,
    /// The stats, with what was looked at again now proven; worth storing when `improved`.
    pub stats: Stats,
    /// Whether the next check will be quicker with these stats.
    pub improved: bool,
    /// Whether nothing but sources changed: then the steps that they reach are all that is looked at.
    only_sources: bool,
    changed_sources: HashSet<WorkspacePath>,
    externals_changed: HashSet<String>,
}

impl Stats {
    /// Reads what [`Stats::encode`] wrote; `None` for anything else.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        rows::decode_stats(bytes)
    }

    /// The bytes to keep.
    pub fn encode(&self) -> Vec<u8> {
        rows::encode_stats(self)
    }

    /// The files that the build placed, by target.
    pub fn placed(&self) -> impl Iterator<Item = (&Label, &PlacedFile)> {
        self.placed.iter().map(|(label, file)| (label, file))
    }

    /// How many actions the plan had.
    pub fn actions(&self) -> u64 {
        self.actions
    }

    /// Looks at every file again: a stat each, and a second look at those whose stat proves nothing.
    pub fn check(mut self, options: &Options<'_>) -> Checked {
        let (mut replan, mut improved) = (false, false);
        for made in &mut self.made_from {
            match made.look(options.workspace) {
                Looked::Same => {}
                Looked::Proven => improved = true,
                Looked::Changed => replan = true,
            }
        }
        let looked: Vec<Looked> = self
            .sources
            .par_chunks_mut(256)
            .flat_map_iter(|neighbours| {
                let mut looker = Looker::new(options.workspace);
                neighbours.iter_mut().map(move |(path, record)| {
                    look(looker.look(path), record, || path.under(options.workspace))
                })
            })
            .collect();
        improved |= looked.contains(&Looked::Proven);
        let changed = self.sources.iter().zip(&looked).filter(|(_, looked)| **looked == Looked::Changed);
        let changed_sources: HashSet<WorkspacePath> = changed.map(|((path, _), _)| path.clone()).collect();
        let externals_changed: HashSet<String> = self
            .externals
            .iter()
            .filter(|(name, before)| stamp(options.externals, name) != Some(*before))
            .map(|(name, _)| name.clone())
            .collect();
        let mut misplaced = false;
        let mut looker = Looker::new(options.out);
        for (_, file) in &mut self.placed {
            let mut record = SourceRecord { stat: file.stat, digest: file.digest, settled: file.settled };
            match look(looker.look(&file.path), &mut record, || file.path.under(options.out)) {
                Looked::Same => {}
                Looked::Proven => improved = true,
                Looked::Changed => misplaced = true,
            }
            (file.stat, file.settled) = (record.stat, record.settled && !misplaced);
        }
        let mut tools = false;
        for (name, record) in &mut self.tools {
            let looked = (options.tools)(name).map(|path| {
                let stat = std::fs::metadata(&path).map(|metadata| FileStat::of(&metadata));
                look(stat, record, || path)
            });
            match looked {
                Ok(Looked::Same) => {}
                Ok(Looked::Proven) => improved = true,
                Ok(Looked::Changed) | Err(_) => tools = true,
            }
        }
        let environment =
            self.environment.iter().any(|(name, value)| options.environment.get(name) != value.as_ref());
        let only_sources = !(replan || misplaced || tools || environment)
            && externals_changed.is_empty()
            && options.forced.is_empty();
        let fresh = only_sources && changed_sources.is_empty();
        Checked { fresh, replan, only_sources, improved, changed_sources, externals_changed, stats: self }
    }
}

impl Checked {
    /// What the next build starts from; `steps` are the bytes of [`Snapshot::steps`]. The plan comes along: of
    /// the whole, or, where nothing but sources changed, of the steps that they reach. A build of a part that
    /// loses something ends with [`Report::incomplete`](crate::Report::incomplete); ask for the `whole` then.
    pub fn last(&self, steps: &[u8], whole: bool) -> Option<(Plan, Last)> {
        let row = rows::read_steps(steps)?;
        if self.only_sources && !whole {
            return part::cut(self, &row, steps);
        }
        let numbers = Plan::new();
        let all = row.nodes.iter().map(Cow::Borrowed);
        let targets: Vec<_> = row.targets.iter().collect();
        let plan = rows::plan_of(&row, all, &targets, &|number| numbers.reserve(number as usize))?;
        let steps = row.steps.iter().map(|row| (row.0.clone().into_owned(), rows::step_of(row))).collect();
        let confirmed = self.stats.sources.iter().filter(|(path, _)| !self.changed_sources.contains(path));
        let last = Last {
            previous: self.previous(steps),
            changed_sources: Some(self.changed_sources.clone()),
            confirmed: confirmed.cloned().collect(),
            part_of: None,
        };
        Some((plan, last))
    }

    fn previous(&self, steps: HashMap<String, StepDone>) -> Previous {
        let placed = self.stats.placed.iter().map(|(_, file)| (file.path.clone(), file.clone())).collect();
        Previous { steps, placed, externals_changed: self.externals_changed.clone() }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Looked {
    /// The stat proves it.
    Same,
    /// The stat proved nothing, the bytes do; the stat does now.
    Proven,
    /// It is another.
    Changed,
}

/// Holds a file against what is recorded of it: by its stat, and where that proves nothing, by its bytes.
fn look(stat: io::Result<FileStat>, record: &mut SourceRecord, path: impl FnOnce() -> PathBuf) -> Looked {
    let Ok(stat) = stat else { return Looked::Changed };
    if record.settled && stat == record.stat {
        return Looked::Same;
    }
    if stat.len != record.stat.len {
        return Looked::Changed;
    }
    match hash_file(&path()) {
        Ok((digest, stat)) if digest == record.digest => {
            *record = SourceRecord { stat, digest, settled: stat.is_settled(FileStat::now()) };
            Looked::Proven
        }
        _ => Looked::Changed,
    }
}

impl Made {
    fn look(&mut self, workspace: &Path) -> Looked {
        let path = self.path.under(workspace);
        let stat = std::fs::metadata(&path).ok().map(|metadata| FileStat::of(&metadata));
        if self.settled && stat == self.stat {
            return Looked::Same;
        }
        match fingerprint(&path) {
            Ok(found) if found == self.fingerprint => {
                let now = FileStat::now();
                self.settled = stat.is_none_or(|stat| stat.is_settled(now));
                self.stat = stat;
                Looked::Proven
            }
            _ => Looked::Changed,
        }
    }
}

fn stamp(externals: &BTreeMap<String, Arc<dyn External>>, name: &str) -> Option<[u8; 32]> {
    externals.get(name).and_then(|external| external.stamp().ok())
}

/// The snapshot of a build.
pub struct Snapshot {
    /// See [`Stats`].
    pub stats: Stats,
    /// The plan and all outputs, for [`Checked::last`].
    pub steps: Vec<u8>,
}

impl Snapshot {
    /// The actions of all steps: what garbage collection must keep for this build to stay whole.
    pub fn actions(&self) -> Vec<ActionDigest> {
        let row = rows::read_steps(&self.steps);
        let steps = row.iter().flat_map(|row| &row.steps);
        steps.filter_map(|row| row.1.map(ActionDigest::from_bytes)).collect()
    }

    /// The snapshot of a successful build; `None` when something changed while it ran, so that what it saw
    /// proves nothing.
    pub fn take(
        key: &str,
        plan: &Plan,
        options: &Options<'_>,
        built: &Built,
        last: &Last,
    ) -> io::Result<Option<Self>> {
        let Some(sources) = &built.sources else { return Ok(None) };
        if let Some(whole) = &last.part_of {
            return Ok(part::merge(whole, plan, built, sources));
        }
        let now = FileStat::now();
        let mut made_from = Vec::new();
        for (path, expected) in &plan.made_from {
            let full = path.under(options.workspace);
            let stat = std::fs::metadata(&full).ok().map(|metadata| FileStat::of(&metadata));
            if fingerprint(&full)? != *expected {
                return Ok(None);
            }
            let settled = stat.is_none_or(|stat| stat.is_settled(now));
            made_from.push(Made { path: path.clone(), fingerprint: *expected, stat, settled });
        }
        let Some(outside) = Outside::of(plan, options)? else { return Ok(None) };
        let report = &built.report;
        let mut stats = Stats {
            key: key.to_owned(),
            made_from,
            sources: sources.iter().map(|(path, record)| (path.clone(), *record)).collect(),
            placed: placed(built).collect(),
            externals: outside.externals.into_iter().collect(),
            tools: outside.tools.into_iter().collect(),
            environment: outside.environment.into_iter().collect(),
            actions: 0,
        };
        let mut steps: Vec<rows::StepRow<'_>> = Vec::with_capacity(report.done.len());
        for (label, done) in &report.done {
            steps.push(rows::step_row(label.to_string(), done));
        }
        // A step that was taken over whole did not name its instances again.
        for (label, done) in &last.previous.steps {
            let Ok(label) = label.parse::<Label>() else { continue };
            let step = label.step().map(|step| Label::recipe(label.recipe_path().clone()).with_step(step));
            let taken_over =
                label.instance().is_some() && step.is_some_and(|step| report.done.contains_key(&step));
            if taken_over && !report.done.contains_key(&label) {
                steps.push(rows::step_row(label.to_string(), done));
            }
        }
        stats.actions = steps.iter().filter(|row| row.1.is_some()).count() as u64;
        let steps = rows::encode_steps(&rows::steps_row(plan, steps));
        Ok(Some(Self { stats, steps }))
    }
}

fn placed(built: &Built) -> impl Iterator<Item = (Label, PlacedFile)> {
    built.report.artifacts.iter().map(|artifact| (artifact.label.clone(), artifact.record.clone()))
}

/// What a plan depends on outside workspace and store.
#[derive(Default)]
struct Outside {
    externals: BTreeMap<String, [u8; 32]>,
    tools: BTreeMap<String, SourceRecord>,
    environment: BTreeMap<String, Option<String>>,
}

impl Outside {
    fn of(plan: &Plan, options: &Options<'_>) -> io::Result<Option<Self>> {
        let mut outside = Self::default();
        for (_, node) in plan.nodes() {
            for source in node.inputs.values().flatten() {
                if let Source::External(name) = source
                    && !outside.externals.contains_key(name)
                {
                    let Some(stamp) = stamp(options.externals, name) else { return Ok(None) };
                    outside.externals.insert(name.clone(), stamp);
                }
            }
            let rule = options.catalogue.get(&node.rule);
            if let Some(Body::Exec(exec)) = rule.map(|rule| rule.body())
                && let Ok(spec) = exec.command(&node.params)
                && let Ok(path) = (options.tools)(&spec.tool)
            {
                let (digest, stat) = hash_file(&path)?;
                let settled = stat.is_settled(FileStat::now());
                outside.tools.insert(spec.tool, SourceRecord { stat, digest, settled });
                for name in spec.inherit {
                    let value = options.environment.get(&name).cloned();
                    outside.environment.insert(name, value);
                }
            }
        }
        Ok(Some(outside))
    }
}
