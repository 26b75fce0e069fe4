//! `bake impact`: which recipes and steps an update of the game would touch, before it is applied.
//!
//! Imports are identified against the game that is set and against the new one: by tables of contents alone,
//! so that no `.ucas` need be there. It builds nothing and keeps nothing.

use std::collections::{BTreeMap, BTreeSet};

use engine::{Body, External, Facts, FolderExternal, Node, NodeId, Plan, RuleError, Source};
use serde_json::{Value, json};

use crate::cli::Impact;
use crate::count::count;
use crate::fail::Fail;
use crate::query::{reachable, waiters};
use crate::session::Session;
use crate::shell::Shell;

const GAME: &str = "game";

/// What an import step has to do with the two games.
struct Touched {
    node: NodeId,
    changes: Vec<Change>,
}

/// A chunk that is another one, or why there is none.
struct Change {
    /// What identifies it, such as a package and a chunk id.
    what: String,
    before: Option<String>,
    after: Option<String>,
}

pub(crate) fn run(args: &Impact, session: &Session<'_>, shell: &Shell) -> Result<(), Fail> {
    let set = session.settings.externals.get(GAME).ok_or_else(|| {
        Fail::usage("@game is not set: there is nothing to compare the new game with")
            .help("set it with BAKE_GAME, or in bake.local.toml")
    })?;
    let old = FolderExternal::new(GAME, set.path.clone());
    let new = FolderExternal::new(GAME, args.game.clone());
    let (planned, _) = session.plan_or_all(&args.labels)?;
    let plan = &planned.plan;
    let order = plan.needed().map_err(|cycle| Fail::usage(cycle.to_string()))?;
    let (mut touched, mut compared, mut unknown) = (Vec::new(), 0, Vec::new());
    for id in order {
        let node = plan.node(id);
        let Some(rule) = session.product.catalogue.get(&node.rule) else { continue };
        let Body::Import(import) = rule.body() else { continue };
        let reads_game = |source: &Source| matches!(source, Source::External(name) if name == GAME);
        if !node.inputs.values().flatten().any(reads_game) {
            continue;
        }
        // What it runs for is known once other steps have run.
        if node.for_each.is_some() {
            unknown.push(node.label.to_string());
            continue;
        }
        compared += 1;
        let identify = |game: &dyn External| import.identify(&node.params, game).map(|found| found.facts);
        let (before, after) = (identify(&old), identify(&new));
        let before = before.map_err(|error| unreadable(node, error))?;
        let changes = changes(&before, after);
        if !changes.is_empty() {
            touched.push(Touched { node: id, changes });
        }
    }
    show(args, plan, &touched, compared, &unknown, shell);
    Ok(())
}

/// The game that is set must be able to give what is asked of it.
fn unreadable(node: &Node, error: RuleError) -> Fail {
    let fail = Fail::machine(format!("`{}` cannot be compared: {error}", node.label));
    match error {
        RuleError::Failed(failure) => failure.details.iter().fold(fail, |fail, line| fail.detail(line)),
        _ => fail,
    }
}

fn changes(before: &Facts, after: Result<Facts, RuleError>) -> Vec<Change> {
    let after = match after {
        Ok(after) => after,
        Err(error) => {
            let details = match &error {
                RuleError::Failed(failure) => failure.details.join("; "),
                _ => String::new(),
            };
            let what = if details.is_empty() { error.to_string() } else { format!("{error}: {details}") };
            return vec![Change { what, before: None, after: None }];
        }
    };
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let differs = |key: &&String| before.get(*key) != after.get(*key);
    let change = |key: &String| Change {
        what: key.clone(),
        before: before.get(key).cloned(),
        after: after.get(key).cloned(),
    };
    keys.into_iter().filter(differs).map(change).collect()
}

impl Change {
    fn text(&self) -> String {
        match (&self.before, &self.after) {
            (Some(_), Some(_)) => format!("{} changed", self.what),
            (Some(_), None) => format!("{} is gone", self.what),
            (None, Some(_)) => format!("{} is new", self.what),
            (None, None) => format!("would fail: {}", self.what),
        }
    }
}

fn show(args: &Impact, plan: &Plan, touched: &[Touched], compared: usize, unknown: &[String], shell: &Shell) {
    let waiters = waiters(plan);
    let label = |id: &NodeId| plan.node(*id).label.to_string();
    let mut steps: BTreeMap<String, Vec<&Touched>> = BTreeMap::new();
    for step in touched {
        let reached = reachable(&[step.node], |id| waiters.get(&id).cloned().unwrap_or_default());
        for id in reached.iter().chain([&step.node]) {
            steps.entry(label(id)).or_default().push(step);
        }
    }
    let recipe = |step: &String| step.split(':').next().unwrap_or_default().to_owned();
    let recipes: BTreeSet<String> = steps.keys().map(recipe).collect();
    if args.json {
        let change =
            |change: &Change| json!({"what": change.what, "before": change.before, "after": change.after});
        let imports = touched.iter().map(|step| {
            let changes: Vec<Value> = step.changes.iter().map(change).collect();
            json!({"label": label(&step.node), "changes": changes})
        });
        shell.json(&json!({
            "schema": 1,
            "compared": compared,
            "imports": imports.collect::<Vec<_>>(),
            "steps": steps.keys().collect::<Vec<_>>(),
            "recipes": recipes,
            "unknown": unknown,
        }));
        return;
    }
    let mut text = String::new();
    for step in touched {
        text += &format!("{}\n", label(&step.node));
        for change in &step.changes {
            text += &format!("  {}\n", change.text());
        }
        let reached = steps.iter().filter(|(_, by)| by.iter().any(|other| other.node == step.node));
        let reached: Vec<&str> =
            reached.map(|(label, _)| label.as_str()).filter(|other| *other != label(&step.node)).collect();
        if !reached.is_empty() {
            text += &format!("  reaches {}\n", reached.join(", "));
        }
    }
    if !text.is_empty() {
        shell.data(&text);
    }
    for label in unknown {
        shell.note(&format!("`{label}` is not compared: what it runs for is known once it is built"));
    }
    let of = count(compared, "import");
    match recipes.is_empty() {
        true => shell.status("Compared", &format!("{of}: nothing would run again")),
        false => shell.status(
            "Compared",
            &format!(
                "{of}: {} touched, {} in {}",
                touched.len(),
                count(steps.len(), "step"),
                count(recipes.len(), "recipe")
            ),
        ),
    }
}
