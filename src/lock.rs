//! `bake lock` and `build --locked`: what externals gave and what was made of it, against `bake.lock`.
//!
//! A section is named by what was built from: a build of the game, a version of a stand-in. An entry is
//! an output of an import (or the facts that it went by), or the members of an archive.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cache::Results;
use engine::{Action, Body, External, Label, NodeId, Source};
use recipes::{Entries, Lock};

use crate::cli;
use crate::count::count;
use crate::driver::{Done, Driver, Ended, Request};
use crate::fail::{Exit, Fail};
use crate::make::{Watchers, verdict};
use crate::session::Session;
use crate::shell::Shell;

const FILE: &str = "bake.lock";
/// The outputs of a step that makes an archive: the archive itself, and what is in it but the signature.
const ARCHIVE: &str = "archive";
/// The rule of that step.
pub(crate) const ARCHIVER: &str = "archive-and-verify";
const MEMBERS: &str = "members";

pub(crate) fn run(args: &cli::Lock, session: &Session<'_>, shell: &Shell) -> Result<(), Fail> {
    let all = ["...".to_owned()];
    let labels = if args.labels.is_empty() { &all[..] } else { &args.labels };
    let driver = Driver::open(session)?;
    let request = Request {
        labels,
        out: session.out(None),
        how: &args.how,
        remember: true,
        all: true,
        elsewhere: None,
    };
    let mut watchers = Watchers::new(session, shell, None)?;
    crate::driver::watch_for_interrupts(shell);
    let ended = driver.build(&request, &mut watchers);
    watchers.progress.finish();
    watchers.log.write(shell);
    let Ended::Built(done) = ended? else { return Ok(()) };
    verdict(&done)?;
    let found = found(session, &driver, &done)?;
    let mut lock = read(&session.root)?;
    let concerned = Concerned::of(&done);
    let differences = lock.compare(&found, |key| concerned.has(key));
    let is_new = |difference: &recipes::Difference| matches!(difference, recipes::Difference::Added { .. });
    if !args.update && !differences.iter().all(is_new) {
        return Err(differs(&differences).help("if this is meant: `bake lock --update`"));
    }
    lock.update(&found, |key| concerned.has(key));
    let path = session.root.join(FILE);
    std::fs::write(&path, lock.format()).map_err(|error| Fail::io("write", &path, &error))?;
    let entries = found.values().map(BTreeMap::len).sum::<usize>();
    shell.status("Locked", &format!("{entries} entries in {FILE}, {} of them changed", differences.len()));
    Ok(())
}

/// Compares what was built with what is locked.
pub(crate) fn hold(session: &Session<'_>, driver: &Driver<'_>, done: &Done) -> Result<(), Fail> {
    let found = found(session, driver, done)?;
    let concerned = Concerned::of(done);
    let differences = read(&session.root)?.compare(&found, |key| concerned.has(key));
    if differences.is_empty() {
        Ok(())
    } else {
        Err(differs(&differences).help("if this is meant: `bake lock --update`"))
    }
}

fn differs(differences: &[recipes::Difference]) -> Fail {
    let fail = Fail::new(Exit::Differs, format!("{} from {FILE}", count(differences.len(), "difference")));
    differences.iter().fold(fail, |fail, difference| fail.detail(difference.to_string()))
}

fn read(root: &Path) -> Result<Lock, Fail> {
    let path = root.join(FILE);
    match std::fs::read_to_string(&path) {
        Ok(text) => Lock::parse(&text).map_err(|error| Fail::usage(error.to_string())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Lock::default()),
        Err(error) => Err(Fail::io("read", &path, &error)),
    }
}

/// What a build answers for: all of the recipes that it was asked to build whole, and every step it did.
struct Concerned {
    recipes: BTreeSet<String>,
    steps: BTreeSet<String>,
}

impl Concerned {
    fn of(done: &Done) -> Self {
        let whole = done.plan.targets().iter().filter(|target| target.label.step().is_none());
        Self {
            recipes: whole.map(|target| target.label.recipe_path().to_string()).collect(),
            steps: done.report.done.keys().map(Label::to_string).collect(),
        }
    }

    fn has(&self, key: &str) -> bool {
        let recipe = key.split(':').next().unwrap_or_default();
        let step = key.rsplit_once('.').map_or(key, |(step, _)| step);
        self.recipes.contains(recipe) || self.steps.contains(step)
    }
}

/// The section that each step of a build belongs to, in the order of the plan: what it was built from.
pub(crate) fn sections(session: &Session<'_>, done: &Done) -> Result<BTreeMap<NodeId, String>, Fail> {
    let names = Names::new(session);
    let plan = &done.plan;
    let order = plan.needed().map_err(|cycle| Fail::usage(cycle.to_string()))?;
    let mut origins: BTreeMap<NodeId, BTreeSet<String>> = BTreeMap::new();
    for id in order {
        let node = plan.node(id);
        let mut origin: BTreeSet<String> = BTreeSet::new();
        for dependency in plan.dependencies(id) {
            origin.extend(origins.get(&dependency).into_iter().flatten().cloned());
        }
        for source in node.inputs.values().flatten() {
            if let Source::External(name) = source {
                origin.insert(names.external(name)?);
            }
        }
        let rule = session.product.catalogue.get(&node.rule);
        if let Some(rule) = rule.filter(|rule| rule.id().name.starts_with("stand-in-")) {
            let rule = rule.id();
            let name = rule.name.trim_start_matches("stand-in-");
            origin.insert(format!("stand-in {name} {}", rule.version));
        }
        origins.insert(id, origin);
    }
    let section = |origin: BTreeSet<String>| match origin.is_empty() {
        true => "workspace".to_owned(),
        false => origin.into_iter().collect::<Vec<_>>().join(" + "),
    };
    Ok(origins.into_iter().map(|(id, origin)| (id, section(origin))).collect())
}

/// The entries of a build, by section.
fn found(session: &Session<'_>, driver: &Driver<'_>, done: &Done) -> Result<BTreeMap<String, Entries>, Fail> {
    let mut sections: BTreeMap<String, Entries> = BTreeMap::new();
    for (id, section) in self::sections(session, done)? {
        let node = done.plan.node(id);
        let rule = session.product.catalogue.get(&node.rule);
        let import = rule.is_some_and(|rule| matches!(rule.body(), Body::Import(_)));
        let own = |(label, _): &(&Label, _)| node.label.contains(label);
        for (label, step) in done.report.done.range(node.label.clone()..).take_while(own) {
            let Some(action) = step.action else { continue };
            let mut entry = |name: &str, digest: String| {
                sections.entry(section.clone()).or_default().insert(format!("{label}.{name}"), digest);
            };
            for (name, output) in step.outputs.iter() {
                if import || (name == MEMBERS && step.outputs.contains_key(ARCHIVE)) {
                    entry(name, output.digest().hex());
                }
            }
            if import && let Some(result) = driver.store.result(&action)? {
                let action =
                    Action::decode(&result.manifest).map_err(|error| Fail::machine(error.to_string()))?;
                let facts = serde_json::to_vec(&action.facts).unwrap_or_default();
                entry("facts", blake3::hash(&facts).to_hex().to_string());
            }
        }
    }
    Ok(sections)
}

/// Short ids of externals.
struct Names {
    externals: BTreeMap<String, std::sync::Arc<dyn External>>,
}

impl Names {
    fn new(session: &Session<'_>) -> Self {
        Self { externals: session.externals() }
    }

    /// `game 5b1e…`: by names and lengths of the tables of contents that the game was shipped with; of all
    /// files where there are none.
    fn external(&self, name: &str) -> Result<String, Fail> {
        let Some(external) = self.externals.get(name) else { return Ok(name.to_owned()) };
        let files =
            external.files().map_err(|error| Fail::machine(format!("cannot read @{name}: {error}")))?;
        let stem = |file: &str| file.strip_suffix(".utoc").map(str::to_owned);
        let shipped =
            |file: &&(String, u64)| stem(&file.0).is_some_and(|stem| iostore::is_shipped_container(&stem));
        let tables: Vec<&(String, u64)> = files.iter().filter(shipped).collect();
        let counted = if tables.is_empty() { files.iter().collect() } else { tables };
        let mut hasher = blake3::Hasher::new();
        for (file, len) in counted {
            hasher.update(format!("{file}\0{len}\n").as_bytes());
        }
        let id = hasher.finalize().to_hex();
        Ok(format!("{name} {}", id.get(..12).unwrap_or_default()))
    }
}
