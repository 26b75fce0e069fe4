//! From recipes to [`engine::Plan`]: which recipes are needed, what their steps are wired to, what is
//! private, what stands in for externals that are not set.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use engine::{Catalogue, ForEach, Label, Node, NodeId, Params, Placed, Plan, Source, Target, WorkspacePath};
use serde_json::{Value, json};

use crate::claims::Claims;
use crate::diagnostic::{Diagnostic, Place};
use crate::form::When;
use crate::lower::Lowering;
use crate::recipe::{Recipe, Step};
use crate::reference::Reference;
use crate::settings::EXTERNALS;
use crate::workspace::Workspace;

/// What a plan depends on besides the workspace.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The key to sign with; steps with `when = "signing"` exist when it is given.
    pub signing: Option<Signing>,
}

/// The public half of signing.
#[derive(Clone, Debug)]
pub struct Signing {
    /// The public key as the signing rule takes it.
    pub public_key: String,
    /// The time that the signature names; the recipe's `[release] signed_at` when absent.
    pub signed_at: Option<String>,
}

/// A plan, and what to know of it.
#[derive(Debug)]
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// Externals that stand-ins stand in for, in order.
    pub stand_ins: Vec<String>,
    /// Externals that are set and used, with their places on this machine.
    pub externals: BTreeMap<String, PathBuf>,
    /// What to say before building.
    pub notes: Vec<Diagnostic>,
}

/// Externals whose bytes are not ours to hand on.
const PRIVATE: [&str; 2] = ["game", "ce-maps"];

pub(crate) fn plan(
    workspace: &Workspace,
    labels: &[Label],
    catalogue: &Catalogue,
    options: &Options,
) -> Result<Planned, Vec<Diagnostic>> {
    let mut planner = Planner {
        workspace,
        catalogue,
        options,
        ids: BTreeMap::new(),
        stand_ins: BTreeMap::new(),
        nodes: Vec::new(),
        places: Vec::new(),
        externals: BTreeMap::new(),
        diagnostics: Vec::new(),
        excused: false,
    };
    let needed = planner.closure(labels.iter().map(|label| label.recipe_path().clone()));
    for path in &needed {
        if let Some(recipe) = workspace.recipes.get(path) {
            for diagnostic in &recipe.diagnostics {
                planner.report_once(diagnostic.clone());
            }
        }
    }
    planner.name_nodes(&needed);
    planner.lower(&needed);
    let targets = planner.targets(labels);
    Claims::collect(workspace, catalogue, options).report(&needed, &mut planner.diagnostics);
    planner.finish(targets)
}

/// The plan as it grows.
pub(crate) struct Planner<'a> {
    pub(crate) workspace: &'a Workspace,
    pub(crate) catalogue: &'a Catalogue,
    pub(crate) options: &'a Options,
    /// Numbers of the steps.
    pub(crate) ids: BTreeMap<(WorkspacePath, String), usize>,
    stand_ins: BTreeMap<String, usize>,
    nodes: Vec<Node>,
    places: Vec<Option<Place>>,
    externals: BTreeMap<String, PathBuf>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// A reference led to something whose own mistake is reported: no more is to be said of it.
    pub(crate) excused: bool,
}

/// Whether a step exists.
pub(crate) fn exists(step: &Step, options: &Options) -> bool {
    match step.when {
        None => true,
        Some(When::Signing) => options.signing.is_some(),
    }
}

impl<'a> Planner<'a> {
    /// The recipes that these need, themselves included, in order.
    fn closure(&self, from: impl IntoIterator<Item = WorkspacePath>) -> BTreeSet<WorkspacePath> {
        let mut found = BTreeSet::new();
        let mut pending: Vec<WorkspacePath> = from.into_iter().collect();
        while let Some(path) = pending.pop() {
            let recipe = self.workspace.recipes.get(&path).filter(|_| found.insert(path));
            for reference in recipe.into_iter().flat_map(|recipe| references(recipe, self.options)) {
                if let Reference::Step(step) = reference {
                    pending.extend(step.recipe);
                }
            }
        }
        found
    }

    fn name_nodes(&mut self, needed: &BTreeSet<WorkspacePath>) {
        for recipe in needed.iter().filter_map(|path| self.workspace.recipes.get(path)) {
            for step in recipe.steps.iter().filter(|step| exists(step, self.options)) {
                let number = self.ids.len();
                self.ids.insert((recipe.folder.clone(), step.name.clone()), number);
            }
        }
    }

    fn lower(&mut self, needed: &BTreeSet<WorkspacePath>) {
        for recipe in needed.iter().filter_map(|path| self.workspace.recipes.get(path)) {
            let context = self.context(recipe);
            for step in recipe.steps.iter().filter(|step| exists(step, self.options)) {
                let node = Lowering::new(self, recipe, step, &context).node();
                self.nodes.push(node);
                self.places.push(Some(step.place.clone()));
            }
        }
        // Stand-ins were counted from the end of the steps as they were met.
        let mut names: Vec<(usize, String)> =
            self.stand_ins.iter().map(|(name, number)| (*number, name.clone())).collect();
        names.sort();
        for (_, name) in names {
            if let Some(label) = stand_in_label(&name) {
                let rule = format!("stand-in-{name}");
                let (params, inputs) = (Params::default(), BTreeMap::new());
                self.nodes.push(Node { label, rule, params, inputs, for_each: None, private: false });
                self.places.push(None);
            }
        }
    }

    /// What names in templates of this recipe stand for.
    fn context(&self, recipe: &Recipe) -> Value {
        let closure = self.closure([recipe.folder.clone()]);
        let mut unset = BTreeSet::new();
        for recipe in closure.iter().filter_map(|path| self.workspace.recipes.get(path)) {
            for reference in references(recipe, self.options) {
                if let Reference::External(name) = reference
                    && !self.workspace.settings().externals.contains_key(&name)
                {
                    unset.insert(name);
                }
            }
        }
        context(recipe, self.options, &unset)
    }

    /// What an external is in this plan.
    pub(crate) fn external(&mut self, name: &str, place: &Place) -> Option<Source> {
        let Some((_, variable, _)) = EXTERNALS.iter().find(|external| external.0 == name) else {
            let names = || EXTERNALS.iter().map(|external| external.0);
            let known = names().map(|name| format!("@{name}")).collect::<Vec<_>>().join(", ");
            let error = Diagnostic::error(format!("unknown external `@{name}`")).at(place.clone());
            self.diagnostics
                .push(error.label(format!("expected one of: {known}")).did_you_mean(name, names()));
            return None;
        };
        if let Some(set) = self.workspace.settings().externals.get(name) {
            let first = self.externals.insert(name.to_owned(), set.path.clone()).is_none();
            if first && !set.path.exists() {
                let path = set.path.display();
                let error = Diagnostic::error(format!("@{name} is set to `{path}`, which does not exist"));
                let error = error.of_machine();
                self.diagnostics.push(match &set.place {
                    Some(place) => {
                        error.at(place.clone()).label("correct it, or remove it to build from the stand-in")
                    }
                    None => error.help(format!("correct {variable}, or unset it to build from the stand-in")),
                });
            }
            return Some(Source::External(name.to_owned()));
        }
        let rule = self.catalogue.get(&format!("stand-in-{name}"));
        if rule.is_none_or(|rule| rule.interface().find_output("root").is_none()) {
            let error = Diagnostic::error(format!("@{name} is not set, and nothing can stand in for it yet"));
            self.diagnostics.push(error.at(place.clone()).of_machine().help(set_it(name, variable)));
            return None;
        }
        let next = self.ids.len() + self.stand_ins.len();
        let number = *self.stand_ins.entry(name.to_owned()).or_insert(next);
        Some(Source::Output { node: self.id(number), output: "root".to_owned(), select: None })
    }

    /// The id that a node will have.
    pub(crate) fn id(&self, number: usize) -> NodeId {
        Plan::new().reserve(number)
    }

    fn targets(&mut self, labels: &[Label]) -> Vec<Target> {
        let mut targets = Vec::new();
        for label in labels {
            let Some(recipe) = self.workspace.recipes.get(label.recipe_path()) else {
                let error = self.workspace.no_recipe(label.recipe_path().as_str());
                self.diagnostics.push(error);
                continue;
            };
            let outputs = self.outputs(recipe);
            let step = label.step().and_then(|step| self.ids.get(&(recipe.folder.clone(), step.to_owned())));
            let (nodes, placed): (Vec<NodeId>, Vec<Placed>) = match (label.step(), step) {
                (Some(_), Some(number)) => {
                    let id = self.id(*number);
                    let node = self.nodes.get(*number);
                    if let Some(error) = node.and_then(|node| no_instance(node, label.instance()?)) {
                        self.diagnostics.push(error);
                        continue;
                    }
                    let placed =
                        outputs.into_iter().filter(|placed| placed.node == id && label.instance().is_none());
                    (vec![id], placed.collect())
                }
                (Some(_), None) if !recipe.complete => continue,
                (Some(step), None) => {
                    self.diagnostics.push(absent(recipe, step));
                    continue;
                }
                (None, _) if recipe.outputs.is_empty() => {
                    let own = self.ids.iter().filter(|((path, _), _)| *path == recipe.folder);
                    (own.map(|(_, number)| self.id(*number)).collect(), Vec::new())
                }
                (None, _) => {
                    let mut nodes: Vec<NodeId> = outputs.iter().map(|placed| placed.node).collect();
                    nodes.sort_unstable();
                    nodes.dedup();
                    (nodes, outputs)
                }
            };
            targets.push(Target { label: label.clone(), nodes, placed });
        }
        targets
    }

    fn outputs(&mut self, recipe: &Recipe) -> Vec<Placed> {
        let mut placed = Vec::new();
        for output in &recipe.outputs {
            let reference = match Reference::parse(&output.text) {
                Ok(Reference::Step(step)) if step.select.is_none() && step.recipe.is_none() => step,
                _ => {
                    let error = Diagnostic::error(format!("`{}` is no output of this recipe", output.text));
                    let error =
                        error.at(output.place.clone()).label("expected one such as `:archive.archive`");
                    self.report_once(error);
                    continue;
                }
            };
            if let Some(found) = self.find_output(recipe, &reference, &output.place) {
                let node = self.id(found.number);
                placed.push(Placed { node, output: found.output, folder: recipe.folder.clone() });
            }
        }
        placed
    }

    /// Reports a mistake that several targets may meet.
    pub(crate) fn report_once(&mut self, diagnostic: Diagnostic) {
        if !self.diagnostics.contains(&diagnostic) {
            self.diagnostics.push(diagnostic);
        }
    }

    fn finish(mut self, targets: Vec<Target>) -> Result<Planned, Vec<Diagnostic>> {
        if self.diagnostics.iter().any(Diagnostic::is_error) {
            self.diagnostics.sort_by_key(Diagnostic::order);
            return Err(self.diagnostics);
        }
        self.taint();
        let mut plan = Plan::new();
        for node in std::mem::take(&mut self.nodes) {
            plan.add(node);
        }
        for target in targets {
            plan.add_target(target);
        }
        if let Err(cycle) = plan.order() {
            let first = cycle.0.first().cloned();
            let node = plan.nodes().position(|(_, node)| Some(&node.label) == first.as_ref());
            let place = node.and_then(|at| self.places.get(at).cloned().flatten());
            let error = Diagnostic::error(cycle.to_string());
            return Err(vec![match place {
                Some(place) => error.at(place).label("this step waits for itself"),
                None => error,
            }]);
        }
        plan.made_from = self.workspace.folder.seen();
        let stand_ins: Vec<String> = self.stand_ins.into_keys().collect();
        let notes = stand_ins.iter().filter_map(|name| stand_in_note(name)).collect();
        Ok(Planned { plan, stand_ins, externals: self.externals, notes })
    }

    /// What is made from private bytes is private, however far down.
    fn taint(&mut self) {
        let probe = Plan::new();
        let number: BTreeMap<NodeId, usize> =
            (0..self.nodes.len()).map(|at| (probe.reserve(at), at)).collect();
        loop {
            let private: Vec<bool> = self.nodes.iter().map(|node| node.private).collect();
            let is_private =
                |node: &NodeId| number.get(node).and_then(|at| private.get(*at)).copied() == Some(true);
            let mut changed = false;
            for node in self.nodes.iter_mut().filter(|node| !node.private) {
                let by_input = node.inputs.values().flatten().any(|source| match source {
                    Source::External(name) => PRIVATE.contains(&name.as_str()),
                    Source::Output { node, .. } => is_private(node),
                    _ => false,
                });
                let by_list = match &node.for_each {
                    Some(ForEach::Tree { node, .. }) => is_private(node),
                    _ => false,
                };
                node.private = by_input || by_list;
                changed |= node.private;
            }
            if !changed {
                break;
            }
        }
    }
}

/// What names in templates stand for.
pub(crate) fn context(recipe: &Recipe, options: &Options, unset: &BTreeSet<String>) -> Value {
    let mut context = json!({
        "values": recipe.values,
        "recipe": {"name": recipe.folder.name(), "path": recipe.folder.as_str()},
        "build": {"stand_ins": unset, "suffix": if unset.is_empty() { "" } else { ".standin" }},
    });
    if let Some(release) = &recipe.release {
        context["release"] = release.clone();
    }
    if let Some(signing) = &options.signing {
        context["signing"] = json!({"public_key": signing.public_key});
        if let Some(time) = signing.signed_at.as_ref().or(recipe.signed_at.as_ref()) {
            context["signing"]["signed_at"] = json!(time);
        }
    }
    context
}

/// All that the steps of a recipe refer to, as far as it can be read without working out templates.
fn references<'r>(recipe: &'r Recipe, options: &'r Options) -> impl Iterator<Item = Reference> + 'r {
    let steps = recipe.steps.iter().filter(move |step| exists(step, options));
    let texts = steps.flat_map(|step| {
        let inputs = step.inputs.values().flat_map(|(_, texts)| texts);
        inputs.chain(&step.for_each).map(|located| located.text.as_str())
    });
    texts.filter_map(|text| Reference::parse(text).ok())
}

/// The error that a step is not there.
fn absent(recipe: &Recipe, step: &str) -> Diagnostic {
    let error = Diagnostic::error(format!("`{}` has no step `{step}` in this build", recipe.folder));
    match recipe.step(step) {
        Some(_) => error.help("it exists when a key to sign with is configured (`bake signing-keys new`)"),
        None => error.did_you_mean(step, recipe.steps.iter().map(|step| step.name.as_str())),
    }
}

/// The error that a step has no such instance, where that is known before it is built.
fn no_instance(node: &Node, instance: &str) -> Option<Diagnostic> {
    let step = &node.label;
    match &node.for_each {
        None => Some(Diagnostic::error(format!("`{step}` has no instances: it runs once"))),
        Some(ForEach::List(items)) if items.iter().all(|item| item.name != instance) => {
            let error = Diagnostic::error(format!("`{step}` has no instance `{instance}`"));
            Some(error.did_you_mean(instance, items.iter().map(|item| item.name.as_str())))
        }
        Some(_) => None,
    }
}

fn stand_in_label(name: &str) -> Option<Label> {
    WorkspacePath::parse("stand-ins").ok().map(|path| Label::recipe(path).with_step(name))
}

fn stand_in_note(name: &str) -> Option<Diagnostic> {
    let (_, variable, what) = EXTERNALS.iter().find(|external| external.0 == name)?;
    let note = Diagnostic::note(format!("@{name} is not set: building from the stand-in ({what})"));
    Some(note.of_machine().help(set_it(name, variable)))
}

fn set_it(name: &str, variable: &str) -> String {
    format!("set {variable}, or in `bake.local.toml` [{name}] path = \"…\"")
}
