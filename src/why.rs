//! `bake why`: when a step was last run and for what cause, whether it would run now, and what it is made
//! of. The [`BuildLog`] is what is remembered of runs: a line each, appended, in the store's folder.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cache::{ActionResult, Blobs, Output, Results, Tree};
use engine::{Action, Event, Label, Node, Outcome, Plan, Sink, Source};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::cli::Why;
use crate::count::{ago, count, size};
use crate::driver::Driver;
use crate::fail::{Exit, Fail};
use crate::graph::named;
use crate::session::Session;
use crate::shell::Shell;

/// One run of an action.
#[derive(Serialize, Deserialize)]
struct Run {
    /// Milliseconds since 1970.
    time: u64,
    label: String,
    action: String,
    why: Vec<String>,
}

/// What ran in this workspace.
pub(crate) struct BuildLog {
    path: PathBuf,
    runs: Vec<Run>,
}

/// Beyond this a new file is begun; the one before is kept.
const LARGEST: u64 = 16 << 20;

impl BuildLog {
    pub(crate) fn of(session: &Session<'_>) -> Self {
        let path = session.store_path.join("logs").join(format!("{}.jsonl", session.id()));
        Self { path, runs: Vec::new() }
    }

    /// Appends what ran. A log that cannot be written costs explanations, not the build.
    pub(crate) fn write(&self, shell: &Shell) {
        if self.runs.is_empty() {
            return;
        }
        let mut text = String::new();
        for run in &self.runs {
            text += &serde_json::to_string(run).unwrap_or_default();
            text.push('\n');
        }
        let append = || {
            std::fs::create_dir_all(self.path.parent().unwrap_or(&self.path))?;
            if std::fs::metadata(&self.path).is_ok_and(|found| found.len() > LARGEST) {
                std::fs::rename(&self.path, self.earlier())?;
            }
            File::options().append(true).create(true).open(&self.path)?.write_all(text.as_bytes())
        };
        let appended: std::io::Result<()> = append();
        if let Err(error) = appended {
            shell.warning(&format!("cannot write the build log `{}`: {error}", self.path.display()));
        }
    }

    fn earlier(&self) -> PathBuf {
        self.path.with_extension("earlier.jsonl")
    }

    /// The last run of a label.
    fn last(&self, label: &str) -> Option<Run> {
        let find = |path: PathBuf| {
            let text = std::fs::read_to_string(path).ok()?;
            let runs = text.lines().rev().filter(|line| line.contains(label));
            // A line that was torn is no run.
            let mut runs = runs.filter_map(|line| serde_json::from_str::<Run>(line).ok());
            runs.find(|run| run.label == label)
        };
        find(self.path.clone()).or_else(|| find(self.earlier()))
    }
}

impl Sink for BuildLog {
    fn event(&mut self, event: &Event) {
        if let Event::ActionFinished { label, action: Some(action), outcome: Outcome::Ran, why, .. } = event {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            self.runs.push(Run {
                time: u64::try_from(now.as_millis()).unwrap_or_default(),
                label: label.to_string(),
                action: action.to_string(),
                why: why.iter().map(ToString::to_string).collect(),
            });
        }
    }
}

/// What it would do now.
enum Now {
    /// Its result is known.
    Known(String),
    /// It is spread out, and the results of all of these instances are known.
    AllKnown(Vec<String>),
    /// It would run, for these causes.
    Runs(Vec<String>),
    /// Another one would run first, for these causes.
    After(String, Vec<String>),
    /// A step that it needs cannot be resolved.
    Fails(String),
}

pub(crate) fn run(args: &Why, session: &Session<'_>, shell: &Shell) -> Result<(), Fail> {
    let label: Label =
        args.label.parse().map_err(|error: engine::LabelError| Fail::usage(error.to_string()))?;
    if label.step().is_none() {
        let steps = session.workspace()?.steps(&label);
        let steps: Vec<String> = steps.iter().map(Label::short).collect();
        let fail = Fail::usage(format!("`{label}` is a recipe: `bake why` is about a step"));
        return Err(if steps.is_empty() { fail } else { fail.help(format!("it has: {}", steps.join(", "))) });
    }
    // What stands in for an external is a step of the plans that need it, and of no recipe.
    let stands_in =
        || session.plan_or_all(&[]).is_ok_and(|(planned, _)| !named(&planned.plan, &label).is_empty());
    let mut pattern = label.to_string();
    if session.workspace()?.resolve(&[&pattern]).is_err() && stands_in() {
        pattern = "...".to_owned();
    }
    let (planned, _) = session.plan(std::slice::from_ref(&pattern), None)?;
    let node = named(&planned.plan, &label).first().map(|id| planned.plan.node(*id));
    let spread = node.is_some_and(|node| node.for_each.is_some());
    let driver = Driver::open(session)?;
    let group = spread && label.instance().is_none();
    let last = if group { None } else { BuildLog::of(session).last(&label.to_string()) };
    let now = now(&driver, &pattern, &label, group)?;
    let action = match (&now, &last) {
        (Now::Known(action), _) => Some(action.clone()),
        (_, last) => last.as_ref().map(|run| run.action.clone()),
    };
    let result = match action.and_then(|action| action.parse().ok()) {
        Some(action) => driver.store.result(&action)?,
        None => None,
    };
    if args.json {
        shell.json(&as_json(&label, &last, &now, result.as_ref()));
    } else {
        let mut text = said(&label, &last, &now);
        if let Some(result) = result {
            text += &made_of(&result, node.map(|node| (&planned.plan, node)), &driver)?;
        }
        shell.data(&text);
    }
    if matches!(now, Now::Fails(_)) { Err(Fail::said(Exit::StepFailed)) } else { Ok(()) }
}

fn now(driver: &Driver<'_>, pattern: &str, label: &Label, group: bool) -> Result<Now, Fail> {
    let mut found = None;
    let mut known = Vec::new();
    driver.probe(pattern, &mut |event| {
        let next = match event {
            Event::ActionStarted { label: started, why, .. } => {
                let why = why.iter().map(ToString::to_string).collect();
                let own = label.contains(started) && !group;
                if own { Now::Runs(why) } else { Now::After(started.to_string(), why) }
            }
            Event::ActionFinished { label: finished, action: Some(action), outcome, .. }
                if label.contains(finished) && matches!(outcome, Outcome::Cached | Outcome::Unchanged) =>
            {
                known.push(finished.short());
                Now::Known(action.to_string())
            }
            Event::ActionFinished { label, outcome: Outcome::Failed(failure), .. } => {
                let hint = failure.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
                Now::Fails(format!("{label}: {}{hint}", failure.message))
            }
            _ => return,
        };
        // The first that would run tells; a known instance tells only while nothing else does.
        if matches!(found, None | Some(Now::Known(_))) {
            found = Some(next);
        }
    })?;
    known.sort();
    Ok(match found {
        None | Some(Now::Known(_)) if group => Now::AllKnown(known),
        Some(found) => found,
        None => Now::Fails(format!("`{label}` has no such instance")),
    })
}

fn said(label: &Label, last: &Option<Run>, now: &Now) -> String {
    let short = label.short();
    if let Now::AllKnown(instances) = now {
        return format!(
            "{short} has {}, none of which would run now; ask about one of them:\n  {}\n",
            count(instances.len(), "instance"),
            instances.join("\n  ")
        );
    }
    let mut text = match last {
        None if matches!(now, Now::After(..)) => String::new(),
        None => format!("{short} was not run here by any build that is remembered\n"),
        Some(run) => {
            let then = UNIX_EPOCH + Duration::from_millis(run.time);
            let age = SystemTime::now().duration_since(then).unwrap_or_default();
            format!("{short} was last run {} because {}\n", ago(age), run.why.join(", "))
        }
    };
    text += &match now {
        Now::Known(action) => {
            format!("it would not run now: action {}… is in the store\n", action.get(..12).unwrap_or(action))
        }
        Now::AllKnown(_) => String::new(),
        Now::Runs(why) => format!("it would run now because {}\n", why.join(", ")),
        Now::After(first, why) => format!("{first} would run first, because {}\n", why.join(", ")),
        Now::Fails(message) => format!("it could not run now: {message}\n"),
    };
    text
}

fn made_of(
    result: &ActionResult,
    planned: Option<(&Plan, &Node)>,
    driver: &Driver<'_>,
) -> Result<String, Fail> {
    let action = Action::decode(&result.manifest).map_err(|error| Fail::machine(error.to_string()))?;
    let mut text = format!("  {:9}{}\n", "rule", action.rule);
    let mut params = Vec::new();
    for (key, value) in action.params.iter() {
        flatten(key, value, &mut params);
    }
    if !params.is_empty() {
        text += &format!("  {:9}{}\n", "params", params.join(", "));
    }
    let mut title = "inputs";
    for (name, (_, digest)) in &action.inputs {
        let from = planned.and_then(|(plan, node)| Some(sources(plan, node.inputs.get(name)?)));
        text += &format!("  {title:9}{name:12} {}…  {}\n", digest.short(), from.unwrap_or_default());
        title = "";
    }
    for (fact, value) in &action.facts {
        text += &format!("  {title:9}{fact} {value}\n");
        title = "";
    }
    let mut title = "outputs";
    for (name, output) in &result.outputs {
        let what = match output {
            Output::File(digest) => size(digest.len()),
            Output::Tree(listing) => {
                let bytes = driver.store.read(listing)?;
                let tree = bytes.and_then(|bytes| Tree::decode(&bytes).ok());
                tree.map_or("not in the store".to_owned(), |tree| count(tree.iter().count(), "file"))
            }
        };
        text += &format!("  {title:9}{name:12} {}…  {what}\n", output.digest().short());
        title = "";
    }
    Ok(text)
}

/// `mips.filter = "kaiser"`: tables as keys with dots.
fn flatten(key: &str, value: &Value, out: &mut Vec<String>) {
    match value {
        Value::Object(table) if !table.is_empty() => {
            table.iter().for_each(|(below, value)| flatten(&format!("{key}.{below}"), value, out));
        }
        other => out.push(format!("{key} = {other}")),
    }
}

fn sources(plan: &Plan, sources: &[Source]) -> String {
    const SHOWN: usize = 3;
    let text = |source: &Source| match source {
        Source::File { path, .. } => path.to_string(),
        Source::Output { node, output, .. } => format!("{}.{output}", plan.node(*node).label),
        Source::External(name) => format!("@{name}"),
        Source::Item => "its item".to_owned(),
    };
    let mut texts: Vec<String> = sources.iter().take(SHOWN).map(text).collect();
    if sources.len() > SHOWN {
        texts.push(format!("and {} more", sources.len() - SHOWN));
    }
    texts.join(", ")
}

fn as_json(label: &Label, last: &Option<Run>, now: &Now, result: Option<&ActionResult>) -> Value {
    let (state, first, why) = match now {
        Now::Known(_) | Now::AllKnown(_) => ("known", None, Vec::new()),
        Now::Runs(why) => ("runs", None, why.clone()),
        Now::After(first, why) => ("runs_after", Some(first.clone()), why.clone()),
        Now::Fails(message) => ("fails", None, vec![message.clone()]),
    };
    let action = result.and_then(|result| Action::decode(&result.manifest).ok());
    json!({
        "schema": 1,
        "label": label.to_string(),
        "last_run": last,
        "now": {"state": state, "first": first, "why": why},
        "instances": if let Now::AllKnown(instances) = now { json!(instances) } else { Value::Null },
        "action": result.map(|result| result.action().to_string()),
        "rule": action.as_ref().map(|action| action.rule.to_string()),
        "params": action.as_ref().map(|action| action.params.to_value()),
        "inputs": action.as_ref().map(|action| {
            action.inputs.iter().map(|(name, (_, digest))| (name.clone(), digest.to_string().into())).collect::<serde_json::Map<_, Value>>()
        }),
        "outputs": result.map(|result| {
            result.outputs.iter().map(|(name, output)| (name.clone(), output.digest().to_string().into())).collect::<serde_json::Map<_, Value>>()
        }),
    })
}
