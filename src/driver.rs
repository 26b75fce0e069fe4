//! The one way in which anything is built: look whether there is anything to do, plan, build, and leave
//! behind what makes the next build quick.
//!
//! The order matters. A build that finds nothing to do reads the settings and one snapshot, takes a stat of
//! each file, and is done: no recipe is read, no index opened.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cache::{ActionDigest, DiskStore, Keep};
use engine::{
    Artifact, Built, Elsewhere, External, FindTool, Label, Last, Options, Plan, Report, Sink, Snapshot,
    Stats, WorkspacePath,
};
use recipes::{Diagnostic, Planned};

use crate::bytes::hex;
use crate::cli::How;
use crate::fail::Fail;
use crate::session::Session;
use crate::shell::Shell;
use crate::signing::Key;
use crate::store::{Leased, Memory};

/// What to build, and how.
pub(crate) struct Request<'r> {
    pub(crate) labels: &'r [String],
    pub(crate) out: PathBuf,
    pub(crate) how: &'r How,
    /// Remember the build for the next one, and keep its results from garbage collection.
    pub(crate) remember: bool,
    /// Look at every step, so that the report names the outputs of all.
    pub(crate) all: bool,
    pub(crate) elsewhere: Option<&'r dyn Elsewhere>,
}

/// What is told while it is built.
pub(crate) trait Watch: Sink {
    /// The plan is known.
    fn planned(&mut self, _plan: &Plan, _notes: &[Diagnostic]) {}
}

/// How it ended.
pub(crate) enum Ended {
    /// There was nothing to do.
    Fresh(Stats),
    Built(Box<Done>),
}

pub(crate) struct Done {
    pub(crate) plan: Plan,
    pub(crate) report: Report,
    /// How many actions the whole build has, those included that nobody looked at.
    pub(crate) actions: usize,
    /// All files of the targets.
    pub(crate) artifacts: Vec<Artifact>,
    pub(crate) signed: bool,
}

/// The store, opened, with the key to sign with: what lives longer than one build.
pub(crate) struct Driver<'s> {
    session: &'s Session<'s>,
    pub(crate) store: DiskStore,
}

impl<'s> Driver<'s> {
    pub(crate) fn open(session: &'s Session<'s>) -> Result<Self, Fail> {
        Ok(Self { session, store: DiskStore::open(&session.store_path)? })
    }

    /// Builds.
    pub(crate) fn build(&self, request: &Request<'_>, watch: &mut dyn Watch) -> Result<Ended, Fail> {
        let session = self.session;
        if let Some(jobs) = request.how.jobs {
            // A second build of this process keeps the first one's.
            let _ = rayon::ThreadPoolBuilder::new().num_threads(jobs.get()).build_global();
        }
        let setup = self.set_up(request.how)?;
        let options = setup.options(request, interrupted());
        let workspace = session.id();
        let key = setup.key.as_ref();
        let stamp = self.stamp(request, key);
        let name = snapshot_name(&stamp);
        let stats_name = format!("{name}.stats");
        let steps_name = format!("{name}.steps");
        let stats = self.store.snapshot(&workspace, &stats_name)?.and_then(|bytes| Stats::decode(&bytes));
        let checked = stats.filter(|stats| stats.key == stamp).map(|stats| stats.check(&options));
        if let Some(checked) = checked.as_ref().filter(|checked| checked.fresh && !request.all) {
            if checked.improved {
                self.store.put_snapshot(&workspace, &stats_name, &checked.stats.encode())?;
            }
            return Ok(Ended::Fresh(checked.stats.clone()));
        }
        let steps = match &checked {
            Some(_) => self.store.snapshot(&workspace, &steps_name)?.unwrap_or_default(),
            None => Vec::new(),
        };
        let missing = session.settings.externals.values().any(|set| !set.path.exists());
        let mut whole = request.all;
        loop {
            let last = checked.as_ref().and_then(|checked| checked.last(&steps, whole));
            let replan = missing || request.all || checked.as_ref().is_none_or(|checked| checked.replan);
            let (plan, last) = match last {
                Some((plan, last)) if !replan => (plan, last),
                last => {
                    let last = last.map(|(_, last)| last.replanned()).unwrap_or_default();
                    let (planned, _) = session.plan(request.labels, key.map(Key::signing))?;
                    let Planned { plan, notes, .. } = planned;
                    watch.planned(&plan, &notes);
                    (plan, last)
                }
            };
            let built = engine::build(&plan, &options, &last, watch)?;
            if built.report.incomplete && !whole {
                whole = true;
                continue;
            }
            let snapshot = match built.report.is_success() {
                true => Snapshot::take(&stamp, &plan, &options, &built, &last)
                    .map_err(|error| Fail::machine(format!("cannot look at what was built: {error}")))?,
                false => None,
            };
            let mut actions = built.report.ran + built.report.cached + built.report.unchanged;
            let mut artifacts = built.report.artifacts.clone();
            if let Some(snapshot) = &snapshot {
                actions = usize::try_from(snapshot.stats.actions()).unwrap_or(actions);
                artifacts = snapshot
                    .stats
                    .placed()
                    .map(|(label, record)| Artifact { label: label.clone(), record: record.clone() })
                    .collect();
                if request.remember {
                    self.store.put_snapshot(&workspace, &steps_name, &snapshot.steps)?;
                    self.store.put_snapshot(&workspace, &stats_name, &snapshot.stats.encode())?;
                    self.keep(request, &last, &built, snapshot)?;
                }
            }
            let Built { report, .. } = built;
            return Ok(Ended::Built(Box::new(Done {
                plan,
                report,
                actions,
                artifacts,
                signed: setup.key.is_some(),
            })));
        }
    }

    /// Goes through a build until something would run, and runs nothing: `watch` sees what and why.
    pub(crate) fn probe(&self, label: &str, watch: &mut dyn FnMut(&engine::Event)) -> Result<(), Fail> {
        let labels = [label.to_owned()];
        let nowhere =
            tempfile::tempdir().map_err(|error| Fail::machine(format!("no temporary folder: {error}")))?;
        let how = How::default();
        let out = nowhere.path().to_owned();
        let request = Request {
            labels: &labels,
            out,
            how: &how,
            remember: false,
            all: true,
            elsewhere: Some(&Nowhere),
        };
        let stop = AtomicBool::new(false);
        let setup = self.set_up(&how)?;
        let options = setup.options(&request, &stop);
        let (planned, _) = self.session.plan(&labels, setup.key.as_ref().map(Key::signing))?;
        let mut sink = |event: &engine::Event| {
            if matches!(event, engine::Event::ActionStarted { .. }) {
                stop.store(true, Ordering::Relaxed);
            }
            watch(event);
        };
        engine::build(&planned.plan, &options, &Last::default(), &mut sink)?;
        Ok(())
    }

    fn set_up(&self, how: &How) -> Result<Setup<'_>, Fail> {
        let session = self.session;
        let forced =
            if how.rerun.is_empty() { Vec::new() } else { session.workspace()?.resolve(&how.rerun)? };
        Ok(Setup {
            session,
            key: Key::find(session, &how.sign)?,
            forced,
            store: Leased::new(&self.store)?,
            history: Memory::new(&self.store, session.id()),
            externals: session.externals(),
            tools: Box::new(|name| session.find_tool(name)),
            scratch: session.store_path.join("scratch"),
        })
    }

    /// All that makes one build another one, besides what the engine looks at.
    fn stamp(&self, request: &Request<'_>, key: Option<&Key>) -> String {
        let session = self.session;
        let mut stamp = format!("bake {}\n", env!("CARGO_PKG_VERSION"));
        let mut line = |name: &str, value: &str| stamp += &format!("{name} {value}\n");
        if let Some(salt) = session.product.salt {
            line("salt", &hex(&salt));
        }
        for rule in session.product.catalogue.iter() {
            line("rule", &rule.id().to_string());
        }
        request.labels.iter().for_each(|label| line("label", label));
        line("out", &request.out.to_string_lossy());
        for (name, set) in &session.settings.externals {
            line(name, &set.path.to_string_lossy());
        }
        if let Some(key) = key {
            let signing = key.signing();
            line("key", &signing.public_key);
            line("signed at", &signing.signed_at.unwrap_or_default());
        }
        line("sandbox", if request.how.no_sandbox { "no" } else { "yes" });
        stamp
    }

    /// Keeps the results of this build from garbage collection. A part of a build is kept beside the whole
    /// until there are many of them: a small rebuild should not write down a large graph.
    fn keep(
        &self,
        request: &Request<'_>,
        last: &Last,
        built: &Built,
        snapshot: &Snapshot,
    ) -> Result<(), Fail> {
        const MOST: usize = 4_096;
        let name = root_name(self.session, &request.labels.join(" "));
        let since = format!("{name} since");
        if last.is_part() {
            let roots = self.store.kept(Keep::Root)?;
            let before = roots.into_iter().find(|kept| kept.name == since).map(|kept| kept.actions);
            let mut actions: BTreeSet<ActionDigest> = before.unwrap_or_default();
            actions.extend(built.report.done.values().filter_map(|step| step.action));
            if actions.len() <= MOST {
                return Ok(self.store.keep(Keep::Root, &since, &actions.into_iter().collect::<Vec<_>>())?);
            }
        }
        self.store.keep(Keep::Root, &name, &snapshot.actions())?;
        self.store.release(Keep::Root, &since)?;
        Ok(())
    }
}

/// What the engine's options borrow.
struct Setup<'s> {
    session: &'s Session<'s>,
    key: Option<Key>,
    forced: Vec<Label>,
    store: Leased<'s>,
    history: Memory<'s>,
    externals: BTreeMap<String, Arc<dyn External>>,
    tools: Box<FindTool<'s>>,
    scratch: PathBuf,
}

impl Setup<'_> {
    fn options<'o>(&'o self, request: &'o Request<'_>, cancelled: &'o AtomicBool) -> Options<'o> {
        let how = request.how;
        let processors = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Options {
            workspace: &self.session.root,
            out: &request.out,
            scratch: &self.scratch,
            catalogue: &self.session.product.catalogue,
            store: &self.store,
            history: &self.history,
            externals: &self.externals,
            tools: &*self.tools,
            environment: &self.session.environment,
            salt: self.session.product.salt,
            jobs: how.jobs.unwrap_or_else(processors),
            memory: how.memory.unwrap_or_else(half_of_memory),
            keep_going: how.keep_going,
            max_failures: how.max_failures.and_then(|most| usize::try_from(most).ok()),
            sandbox: !how.no_sandbox,
            signer: self.key.as_ref().map(|key| key as &dyn engine::Signer),
            cancelled,
            forced: &self.forced,
            elsewhere: request.elsewhere,
        }
    }
}

/// Takes every action and runs none.
struct Nowhere;

impl Elsewhere for Nowhere {
    fn takes(&self, _action: &engine::Action) -> bool {
        true
    }
    fn run(&self, _folder: &std::path::Path) -> Result<(), String> {
        Err("nothing is run to find out what would".to_owned())
    }
}

/// The name under which the last build of labels of a workspace is kept.
pub(crate) fn root_name(session: &Session<'_>, labels: &str) -> String {
    format!("{labels} in {}", session.root.display())
}

fn snapshot_name(stamp: &str) -> String {
    let mut name = hex(blake3::hash(stamp.as_bytes()).as_bytes());
    name.truncate(32);
    name
}

/// Where a file of the targets lies.
pub(crate) fn placed(out: &std::path::Path, path: &WorkspacePath) -> PathBuf {
    path.under(out)
}

/// Set by the first Ctrl-C; the second one ends the process at once, which leaves the store whole.
pub(crate) fn interrupted() -> &'static AtomicBool {
    static INTERRUPTED: AtomicBool = AtomicBool::new(false);
    &INTERRUPTED
}

/// Takes Ctrl-C over.
pub(crate) fn watch_for_interrupts(shell: &Shell) {
    let handler = || {
        if interrupted().swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        shell.warning(&format!("Ctrl-C will end the build at once: {error}"));
    }
}

/// Half of the machine's memory; 4 GiB where it does not say how much it has.
fn half_of_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = total.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.map_or(4 << 30, |kib| kib << 9)
}
