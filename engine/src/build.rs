//! [`build`]: runs a plan. Sets up the workers, hands the state to the loop, returns a [`Report`].

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use cache::{ActionDigest, Digest, Output, Store, StoreError, Tree, WorkspacePath};

use crate::error::{Failure, RuleError};
use crate::event::Sink;
use crate::external::External;
use crate::history::{History, NoHistory};
use crate::io::Signer;
use crate::label::{Label, is_name};
use crate::place::PlacedFile;
use crate::plan::{Cycle, Item, Plan};
use crate::resolve::{Context, FindTool, Outputs};
use crate::rule::{Catalogue, Interface, Kind, Rule};
use crate::run::Runner;
use crate::schedule::{Ground, Job, Loop, Message};
use crate::snapshot::Last;
use crate::sources::Sources;
use crate::staged::Elsewhere;
use crate::trees::Trees;

/// How to build. Nothing in here enters an identity, save the salt and what tools and externals hold.
pub struct Options<'a> {
    /// The workspace's folder.
    pub workspace: &'a Path,
    /// Where outputs are placed.
    pub out: &'a Path,
    /// Where folders for tools are made and removed again.
    pub scratch: &'a Path,
    /// All rules.
    pub catalogue: &'a Catalogue,
    /// The store.
    pub store: &'a dyn Store,
    /// What is remembered between builds.
    pub history: &'a dyn History,
    /// Externals of this machine by name without `@`.
    pub externals: &'a BTreeMap<String, Arc<dyn External>>,
    /// Finds the tools of `exec` steps.
    pub tools: &'a FindTool<'a>,
    /// The environment that `exec` steps may inherit from by name.
    pub environment: &'a BTreeMap<String, String>,
    /// Sets development builds of `bake` apart.
    pub salt: Option<[u8; 32]>,
    /// How many actions run at once.
    pub jobs: NonZeroUsize,
    /// How much memory they may take together, in bytes, as rules estimate it.
    pub memory: u64,
    /// Go on with what does not depend on a failed step,
    pub keep_going: bool,
    /// until so many failed.
    pub max_failures: Option<usize>,
    /// Whether `exec` steps are cut off from the machine.
    pub sandbox: bool,
    /// Signs, for the rule that may.
    pub signer: Option<&'a dyn Signer>,
    /// Set it to stop.
    pub cancelled: &'a AtomicBool,
    /// Run these even if their results are known.
    pub forced: &'a [Label],
    /// Runs some actions in another process.
    pub elsewhere: Option<&'a dyn Elsewhere>,
}

/// What a build did.
#[derive(Default)]
pub struct Report {
    /// How many actions ran,
    pub ran: usize,
    /// how many had a result in the store,
    pub cached: usize,
    /// of how many nothing had changed since the last build.
    pub unchanged: usize,
    /// What failed.
    pub failed: Vec<Failed>,
    /// How many steps were not tried because of that.
    pub skipped: usize,
    /// Whether it was stopped from outside.
    pub cancelled: bool,
    /// The first trouble with the store or the disk.
    pub store_error: Option<StoreError>,
    /// What was placed under `out/`.
    pub artifacts: Vec<Artifact>,
    /// A part of a plan could not be built by itself, because something was lost that lies outside it:
    /// build the whole.
    pub incomplete: bool,
    /// All steps and instances that have outputs.
    pub done: BTreeMap<Label, StepDone>,
}

impl Report {
    /// Whether all targets are built and placed.
    pub fn is_success(&self) -> bool {
        self.failed.is_empty() && !self.cancelled && !self.incomplete && self.store_error.is_none()
    }
}

/// What a step or an instance has.
#[derive(Clone, Debug, PartialEq)]
pub struct StepDone {
    /// Its identity; absent for a step that spread out.
    pub action: Option<ActionDigest>,
    /// Its outputs by name.
    pub outputs: Arc<BTreeMap<String, Output>>,
    /// How long its last run took, in milliseconds; 0 when that is not known.
    pub duration_ms: u64,
}

/// A step that failed.
#[derive(Clone, Debug)]
pub struct Failed {
    /// Which.
    pub label: Label,
    /// Why.
    pub failure: Failure,
}

/// A file that a target placed.
#[derive(Clone, Debug)]
pub struct Artifact {
    /// The target.
    pub label: Label,
    /// The file.
    pub record: PlacedFile,
}

/// Why a plan cannot be built at all.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Steps wait for each other.
    #[error(transparent)]
    Cycle(#[from] Cycle),
    /// A step names a rule that the catalogue lacks.
    #[error("{label}: there is no rule `{rule}`")]
    UnknownRule {
        /// The step.
        label: Label,
        /// The name.
        rule: String,
    },
}

/// What a build leaves for the next one, besides the store.
pub struct Built {
    /// What it did.
    pub report: Report,
    /// The sources that it looked at; `None` when one of them changed while it ran.
    pub sources: Option<BTreeMap<WorkspacePath, crate::sources::SourceRecord>>,
}

/// Builds all targets of a plan. `last` is what is known of the last build.
pub fn build(
    plan: &Plan,
    options: &Options<'_>,
    last: &Last,
    sink: &mut dyn Sink,
) -> Result<Built, BuildError> {
    let needed = plan.needed()?;
    let mut rules: Vec<&dyn Rule> = Vec::with_capacity(plan.nodes().len());
    for (_, node) in plan.nodes() {
        let unknown = || BuildError::UnknownRule { label: node.label.clone(), rule: node.rule.clone() };
        rules.push(options.catalogue.get(&node.rule).ok_or_else(unknown)?);
    }
    // A part comes with all that is remembered of it; opening an index for it would take longer than it does.
    let history = if last.part_of.is_some() { &NoHistory } else { options.history };
    let context = Context {
        store: options.store,
        history,
        sources: Sources::new(options.workspace, options.store, history),
        trees: Trees::new(options.store),
        externals: options.externals,
        tools: options.tools,
        environment: options.environment,
        salt: options.salt,
    };
    for (path, record) in &last.confirmed {
        context.sources.confirm(path, *record);
    }
    let runner = Runner {
        signer: options.signer,
        cancelled: options.cancelled,
        scratch: options.scratch,
        sandbox: options.sandbox,
        elsewhere: options.elsewhere,
    };
    let report = std::thread::scope(|scope| {
        let (job_sender, job_receiver) = sync_channel(options.jobs.get());
        let (message_sender, message_receiver) = channel();
        let jobs = Arc::new(Mutex::new(job_receiver));
        for thread in 0..options.jobs.get() {
            let worker = Worker {
                thread,
                context: &context,
                runner: &runner,
                jobs: Arc::clone(&jobs),
                messages: message_sender.clone(),
            };
            scope.spawn(move || worker.work());
        }
        drop(message_sender);
        let ground = Ground { plan, options, context: &context, last };
        Loop::new(ground, &needed, &rules, sink, job_sender, message_receiver).run()
    });
    let paths = plan.nodes().flat_map(|(_, node)| node.inputs.values().flatten());
    let paths = paths.filter_map(|source| match source {
        crate::plan::Source::File { path, .. } => Some(path.clone()),
        _ => None,
    });
    let sources = context.sources.records(paths);
    Ok(Built { report, sources })
}

struct Worker<'a, 'b> {
    thread: usize,
    context: &'b Context<'a>,
    runner: &'b Runner<'a>,
    jobs: Arc<Mutex<Receiver<Job<'b>>>>,
    messages: Sender<Message<'b>>,
}

impl<'b> Worker<'_, 'b> {
    fn work(&self) {
        loop {
            let job = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(job) = job else { return };
            let message = self.perform(job);
            if self.messages.send(message).is_err() {
                return;
            }
        }
    }

    fn perform(&self, job: Job<'b>) -> Message<'b> {
        match job {
            Job::Resolve(index, request) => Message::Resolved(index, self.context.resolve(*request)),
            Job::Expand(index, listing) => Message::Expanded(index, items(self.context, listing)),
            Job::Join(index, instances, rule) => {
                Message::Joined(index, join(self.context, rule.interface(), &instances))
            }
            Job::Run(index, prepared) => {
                let started = Instant::now();
                let progress =
                    |done, total| drop(self.messages.send(Message::Progress { index, done, total }));
                let result = self.runner.run(self.context, *prepared, &progress);
                Message::Ran { index, thread: self.thread, started, result }
            }
        }
    }
}

/// The items that a tree of descriptors lists: `<name>.json` each.
fn items(context: &Context<'_>, listing: Digest) -> Result<Vec<Item>, RuleError> {
    let tree = context.trees.get(listing)?;
    let item = |(path, digest): (&WorkspacePath, &Digest)| {
        let name = path.as_str().strip_suffix(".json").filter(|name| is_name(name));
        let name =
            name.ok_or_else(|| RuleError::new(format!("descriptor `{path}` is not called `<name>.json`")))?;
        let bytes = context.store.read(digest)?.ok_or(crate::Lost(*digest))?;
        let value = serde_json::from_slice(&bytes);
        let value =
            value.map_err(|error| RuleError::new(format!("descriptor `{path}` is no JSON: {error}")))?;
        Ok(Item { name: name.to_owned(), value })
    };
    tree.iter().map(item).collect()
}

/// Makes one output of all instances': trees are merged, files become files called like the instances.
fn join(
    context: &Context<'_>,
    interface: &Interface,
    instances: &[(String, Outputs)],
) -> Result<BTreeMap<String, Output>, RuleError> {
    let mut joined = BTreeMap::new();
    for spec in &interface.outputs {
        let mut tree = Tree::new();
        for (instance, outputs) in instances {
            let clash = |error: &dyn std::fmt::Display| {
                RuleError::new(format!("output `{}` of instance `{instance}`: {error}", spec.name))
            };
            match (outputs.get(spec.name), spec.kind) {
                (Some(Output::Tree(listing)), _) => {
                    tree.merge(&*context.trees.get(*listing)?).map_err(|error| clash(&error))?;
                }
                (Some(Output::File(digest)), Kind::File) => {
                    let path = WorkspacePath::parse(instance.clone()).map_err(|error| clash(&error))?;
                    tree.insert(path, *digest).map_err(|error| clash(&error))?;
                }
                _ => return Err(clash(&"it is missing")),
            }
        }
        tree.check().map_err(|error| RuleError::new(format!("output `{}`: {error}", spec.name)))?;
        joined.insert(spec.name.to_owned(), Output::Tree(context.trees.put(tree)?));
    }
    Ok(joined)
}
