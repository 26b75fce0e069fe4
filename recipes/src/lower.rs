//! One step of a recipe to one [`Node`]: its rule, its parameters with all names replaced, its inputs wired.

use std::collections::BTreeMap;

use engine::params::{Segment, display_path};
use engine::template::{self, Lookup};
use engine::{ForEach, InputSpec, Item, Kind, Node, Params, Rule, Source, WorkspacePath, is_name};
use serde_json::{Map, Value};

use crate::diagnostic::{Diagnostic, Place};
use crate::form;
use crate::plan::{Planner, exists};
use crate::recipe::{Located, Recipe, Step, whole_name};
use crate::reference::{Reference, StepReference, is_glob};

/// An output of a step of the plan.
pub(crate) struct Found {
    pub(crate) number: usize,
    pub(crate) output: String,
    kind: Kind,
}

/// A source, and what it holds where that is known.
struct Sourced {
    source: Source,
    kind: Option<Kind>,
}

/// The work on one step.
pub(crate) struct Lowering<'p, 'a> {
    planner: &'p mut Planner<'a>,
    recipe: &'a Recipe,
    step: &'a Step,
    context: Value,
}

impl<'p, 'a> Lowering<'p, 'a> {
    pub(crate) fn new(
        planner: &'p mut Planner<'a>,
        recipe: &'a Recipe,
        step: &'a Step,
        context: &Value,
    ) -> Self {
        // The engine replaces `{item…}` in a second pass; what is put in now must come out of it unchanged.
        let context = if step.for_each.is_some() { escaped(context) } else { context.clone() };
        Self { planner, recipe, step, context }
    }

    /// The node. It may be incomplete when something was reported.
    pub(crate) fn node(mut self) -> Node {
        let catalogue = self.planner.catalogue;
        let rule = catalogue.get(&self.step.rule.text);
        if rule.is_none() {
            let known = || catalogue.iter().map(|rule| rule.id().name.into_owned()).collect::<Vec<_>>();
            let error = Diagnostic::error(format!("unknown rule `{}`", self.step.rule.text))
                .at(self.step.rule.place.clone())
                .label("`bake rules` lists them all")
                .did_you_mean(&self.step.rule.text, known().iter().map(String::as_str));
            self.report(error);
        }
        let params = self.params(rule);
        let inputs = match rule {
            Some(rule) => self.inputs(rule),
            None => BTreeMap::new(),
        };
        let for_each = self.for_each();
        Node {
            label: self.recipe.label().with_step(&self.step.name),
            rule: self.step.rule.text.clone(),
            params,
            inputs,
            for_each,
            private: false,
        }
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.planner.diagnostics.push(diagnostic);
    }

    fn again(&self) -> bool {
        self.step.for_each.is_some()
    }

    fn params(&mut self, rule: Option<&dyn Rule>) -> Params {
        let given = Value::Object(self.step.params.clone());
        let expanded = template::expand(&given, self.again(), &|name| self.lookup(name));
        let table = match expanded {
            Ok(Value::Object(table)) => table,
            Ok(_) => Map::new(),
            Err(errors) => {
                for error in errors {
                    let place = self.step.param_place(self.recipe, &error.path, false);
                    self.report(Diagnostic::error(error.message).at(place));
                }
                return Params::default();
            }
        };
        let params = Params::new(table);
        if let Some(rule) = rule {
            let name = rule.id().name;
            for error in form::without_echoes(rule.check(&params)) {
                let message = match (error.at_key, error.path.is_empty()) {
                    (true, _) => format!("{} of rule `{name}`", error.message),
                    (false, true) => format!("parameters of rule `{name}`: {}", error.message),
                    (false, false) => {
                        format!(
                            "parameter `{}` of rule `{name}`: {}",
                            display_path(&error.path),
                            error.message
                        )
                    }
                };
                if !(self.step.damaged && message.starts_with("missing")) {
                    let place = |path: &[Segment], at_key| self.step.param_place(self.recipe, path, at_key);
                    let diagnostic = form::from_param_error(error, message, place);
                    // What a value stands for was checked as that value already.
                    let said = self.planner.diagnostics.iter().any(|said| said.place == diagnostic.place);
                    if !said || diagnostic.place.as_ref() == Some(&self.step.place) {
                        self.report(diagnostic);
                    }
                }
            }
        }
        params
    }

    fn lookup(&self, name: &str) -> Lookup<'_> {
        if name == "item" || name.starts_with("item.") {
            return match self.again() {
                true => Lookup::Later,
                false => Lookup::Unknown("it is known in steps with `for_each` only".to_owned()),
            };
        }
        if let Some(value) = template::member(&self.context, name) {
            return Lookup::Is(value);
        }
        if name == "signing.signed_at" {
            return Lookup::Unknown(
                "give --signed-at, SOURCE_DATE_EPOCH, or `signed_at` in [release]".to_owned(),
            );
        }
        let (parent, prefix) = match name.rsplit_once('.') {
            Some((parent, _)) => (template::member(&self.context, parent), format!("{parent}.")),
            None => (Some(&self.context), String::new()),
        };
        let (parent, prefix) = match parent {
            Some(parent) if parent.is_object() => (parent, prefix),
            _ => (&self.context, String::new()),
        };
        let names = parent.as_object().into_iter().flat_map(|table| table.keys());
        let known: Vec<String> = names.map(|name| format!("{prefix}{name}")).collect();
        let near = engine::schema::did_you_mean(name, known.iter().map(String::as_str));
        let near = near.map(|near| format!("; did you mean `{{{near}}}`?")).unwrap_or_default();
        Lookup::Unknown(format!("known are: {}{near}", known.join(", ")))
    }

    fn inputs(&mut self, rule: &dyn Rule) -> BTreeMap<String, Vec<Source>> {
        let interface = rule.interface();
        let name_of_rule = rule.id().name;
        let mut inputs = BTreeMap::new();
        let mut meant = Vec::new();
        let step = self.step;
        for (name, (place, texts)) in &step.inputs {
            let Some(kind) = interface.input_kind(name) else {
                let known = || interface.inputs.iter().map(|input| input.name);
                let label = match interface.inputs.is_empty() {
                    true => "it has no inputs".to_owned(),
                    false => format!("expected one of: {}", known().collect::<Vec<_>>().join(", ")),
                };
                let error = Diagnostic::error(format!("rule `{name_of_rule}` has no input `{name}`"));
                self.report(error.at(place.clone()).label(label).did_you_mean(name, known()));
                meant.extend(engine::schema::did_you_mean(name, known()));
                continue;
            };
            let before = self.planner.diagnostics.len();
            self.planner.excused = false;
            let sources = self.sources(name, kind, texts);
            let wrong = self.planner.diagnostics.len() > before || self.planner.excused;
            let spec = interface.inputs.iter().find(|input| input.name == name);
            match sources.is_empty() {
                true if !wrong && spec.is_some_and(|spec| spec.required) => {
                    let error =
                        Diagnostic::error(format!("input `{name}` of rule `{name_of_rule}` is left open"));
                    self.report(
                        error.at(place.clone()).label("nothing of this exists here, and the rule needs it"),
                    );
                }
                true => {}
                false => drop(inputs.insert(name.clone(), sources)),
            }
        }
        let given = |name: &str| step.inputs.contains_key(name) || meant.contains(&name);
        let missing = |spec: &&InputSpec| spec.required && !given(spec.name);
        for spec in interface.inputs.iter().filter(missing).filter(|_| !step.damaged) {
            let error =
                Diagnostic::error(format!("input `{}` of rule `{name_of_rule}` is left open", spec.name));
            let label = format!("`{}`: {}", spec.name, spec.doc);
            self.report(error.at(step.place.clone()).label(label));
        }
        inputs
    }

    fn sources(&mut self, input: &str, kind: Kind, texts: &[Located]) -> Vec<Source> {
        let mut sources = Vec::new();
        let mut last_place = None;
        for text in texts {
            for located in self.expand_text(text) {
                let found = match self.source(&located) {
                    Ok(found) => found,
                    Err(diagnostic) => {
                        self.report(*diagnostic);
                        continue;
                    }
                };
                for sourced in found {
                    if let Some(error) = misfit(input, kind, &sourced) {
                        self.report(error.at(located.place.clone()));
                        continue;
                    }
                    last_place = Some(located.place.clone());
                    sources.push(sourced.source);
                }
            }
        }
        if let (true, Some(place)) = (kind != Kind::Tree && sources.len() > 1, last_place) {
            let count = sources.len();
            let error = Diagnostic::error(format!("input `{input}` takes one source, {count} are given"));
            self.report(error.at(place));
        }
        sources
    }

    /// A text with its names replaced: one, or several where it stands for a list.
    fn expand_text(&mut self, located: &Located) -> Vec<Located> {
        let text = located.text.as_str();
        if text == "{item}" {
            if !self.again() {
                let error = Diagnostic::error("`{item}` is known in steps with `for_each` only");
                self.report(error.at(located.place.clone()));
                return Vec::new();
            }
            return vec![located.clone()];
        }
        let same = |text: String| Located { text, place: located.place.clone() };
        let list =
            whole_name(text).and_then(|name| template::member(&self.context, name)).and_then(Value::as_array);
        if let Some(list) = list {
            let name = whole_name(text).unwrap_or_default();
            let place = crate::document::keys(&name.split('.').collect::<Vec<_>>());
            let place = match self.recipe.document.has(&place) {
                true => self.recipe.document.value_place(&place),
                false => located.place.clone(),
            };
            let texts = list.iter().filter_map(Value::as_str);
            return texts.map(|text| Located { text: text.to_owned(), place: place.clone() }).collect();
        }
        if is_plain_glob(text) {
            return vec![located.clone()];
        }
        match template::expand_text(text, self.again(), &|name| self.lookup(name)) {
            Ok(text) => vec![same(text)],
            Err(message) => {
                self.report(Diagnostic::error(message).at(located.place.clone()));
                Vec::new()
            }
        }
    }

    fn source(&mut self, located: &Located) -> Result<Vec<Sourced>, Box<Diagnostic>> {
        let place = &located.place;
        let reference = Reference::parse(&located.text);
        match reference.map_err(|message| Box::new(Diagnostic::error(message).at(place.clone())))? {
            Reference::Item => Ok(vec![Sourced { source: Source::Item, kind: Some(Kind::File) }]),
            Reference::External(name) => {
                let source = self.planner.external(&name, place);
                Ok(source.into_iter().map(|source| Sourced { source, kind: Some(Kind::External) }).collect())
            }
            Reference::Files { pattern, from_root, optional } => {
                let base = (!from_root).then_some(&self.recipe.folder);
                let paths = self.files(base, &pattern, optional, place)?;
                let sourced = paths.into_iter().filter_map(|path| {
                    let name = base.map_or(Some(path.as_str()), |base| path.below(base.as_str()))?;
                    let name = WorkspacePath::parse(name).ok()?;
                    Some(Sourced { source: Source::File { path, name }, kind: Some(Kind::File) })
                });
                Ok(sourced.collect())
            }
            Reference::Step(reference) => {
                let found = self.planner.find_output(self.recipe, &reference, place);
                let Some(found) = found else { return Ok(Vec::new()) };
                if found.kind == Kind::File && reference.select.is_some() {
                    let message =
                        format!("output `{}` is one file, nothing can be chosen from it", found.output);
                    return Err(Box::new(Diagnostic::error(message).at(place.clone())));
                }
                // What is chosen from a tree may be a file or a folder: known when the tree is.
                let kind = reference.select.is_none().then_some(found.kind);
                let node = self.planner.id(found.number);
                let source = Source::Output { node, output: found.output, select: reference.select };
                Ok(vec![Sourced { source, kind }])
            }
        }
    }

    fn files(
        &self,
        base: Option<&WorkspacePath>,
        pattern: &str,
        optional: bool,
        place: &Place,
    ) -> Result<Vec<WorkspacePath>, Box<Diagnostic>> {
        let wrong = |message: String| Box::new(Diagnostic::error(message).at(place.clone()));
        let folder = &self.planner.workspace.folder;
        if is_glob(pattern) {
            let found = folder.glob(base, pattern).map_err(&wrong)?;
            return match found.is_empty() && !optional {
                true => Err(Box::new(
                    wrong(format!("no file matches `{pattern}`")).label("add a `?` if that is meant"),
                )),
                false => Ok(found),
            };
        }
        let path = base.map_or_else(|| WorkspacePath::parse(pattern), |base| base.join(pattern));
        let path = path.map_err(|error| wrong(error.to_string()))?;
        if folder.is_folder(&path) {
            let error = *wrong(format!("`{pattern}` is a folder, expected a file or a glob"));
            return Err(Box::new(error.help(format!("did you mean `{pattern}/**`?"))));
        }
        if optional {
            return Ok(folder.is_optional_file(&path).then_some(path).into_iter().collect());
        }
        if folder.is_file(&path) {
            return Ok(vec![path]);
        }
        let parent = path.as_str().rsplit_once('/').and_then(|(parent, _)| WorkspacePath::parse(parent).ok());
        let siblings = parent.map_or_else(Vec::new, |parent| folder.list(&parent));
        let names: Vec<String> = siblings.iter().map(|(path, _)| path.name().to_owned()).collect();
        let error = *wrong(format!("there is no file `{path}`"));
        Err(Box::new(error.did_you_mean(path.name(), names.iter().map(String::as_str))))
    }

    fn for_each(&mut self) -> Option<ForEach> {
        let located = self.step.for_each.clone()?;
        let place = located.place.clone();
        let wrong = |message: String, label: &str| Diagnostic::error(message).at(place.clone()).label(label);
        if located.text.contains(':') {
            let reference = match Reference::parse(&located.text) {
                Ok(Reference::Step(reference)) if reference.select.is_none() => reference,
                _ => {
                    let message = format!("`{}` is nothing that a step can run for", located.text);
                    self.report(wrong(
                        message,
                        "expected a list such as `values.donors` or a tree such as `:extract.descriptors`",
                    ));
                    return None;
                }
            };
            let found = self.planner.find_output(self.recipe, &reference, &place)?;
            if found.kind != Kind::Tree {
                let message =
                    format!("output `{}` is a file, a step can run for each file of a tree", found.output);
                self.report(wrong(message, "expected a tree of descriptors"));
                return None;
            }
            return Some(ForEach::Tree { node: self.planner.id(found.number), output: found.output });
        }
        // Entries are data, not templates: they go in as they were written.
        let data = Value::Object(
            [("values".to_owned(), self.recipe.values.clone())]
                .into_iter()
                .chain(self.recipe.release.clone().map(|release| ("release".to_owned(), release)))
                .collect(),
        );
        let Some(entries) = template::member(&data, &located.text).and_then(Value::as_array) else {
            let message = match template::member(&data, &located.text) {
                Some(_) => format!("`{}` is no list", located.text),
                None => format!("there is no `{}` in this recipe", located.text),
            };
            self.report(wrong(
                message,
                "expected a list such as `values.donors` or a tree such as `:extract.descriptors`",
            ));
            return None;
        };
        let mut items: BTreeMap<String, Item> = BTreeMap::new();
        let mut order = Vec::new();
        for (index, entry) in entries.iter().enumerate() {
            let path: Vec<Segment> =
                located.text.split('.').map(crate::document::key).chain([Segment::Index(index)]).collect();
            let place = self.recipe.document.value_place(&path);
            let name = entry
                .as_str()
                .or_else(|| entry.get("name").or_else(|| entry.get("id")).and_then(Value::as_str));
            let Some(name) = name.filter(|name| is_name(name)) else {
                let error = Diagnostic::error("an entry that a step runs for needs a name").at(place);
                self.report(error.label("expected `name` or `id`: letters, digits, `_`, `-`, `.`"));
                continue;
            };
            let item = Item { name: name.to_owned(), value: entry.clone() };
            if items.insert(name.to_owned(), item).is_some() {
                self.report(Diagnostic::error(format!("two entries are called `{name}`")).at(place));
            } else {
                order.push(name.to_owned());
            }
        }
        Some(ForEach::List(order.iter().filter_map(|name| items.remove(name)).collect()))
    }
}

/// A glob with alternatives (`{a,b}`) is no template: names hold no comma.
fn is_plain_glob(text: &str) -> bool {
    let braces = text.split('{').skip(1);
    !text.contains(':') && braces.clone().next().is_some() && braces.clone().all(|part| part.contains(','))
}

fn misfit(input: &str, kind: Kind, sourced: &Sourced) -> Option<Diagnostic> {
    let found = sourced.kind?;
    let is_stand_in = matches!(&sourced.source, Source::Output { .. });
    match (kind, found) {
        (Kind::File, Kind::Tree) => {
            let error = Diagnostic::error(format!("input `{input}` is one file, a tree is given"));
            Some(error.help("choose a file of it: `:step.output/path/of/file`"))
        }
        (Kind::External, Kind::External) => None,
        (Kind::External, Kind::Tree) if is_stand_in => None,
        (Kind::External, _) => {
            let error = Diagnostic::error(format!("input `{input}` is an external, a file or tree is given"));
            Some(error.help("expected one such as `@game`"))
        }
        (_, Kind::External) => {
            let error = Diagnostic::error(format!("input `{input}` holds files, an external is given"));
            Some(error.help("only imports read externals: take what is needed out of it with one"))
        }
        _ => None,
    }
}

fn escaped(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(text.replace('{', "{{").replace('}', "}}")),
        Value::Array(items) => items.iter().map(escaped).collect(),
        Value::Object(table) => table.iter().map(|(key, value)| (key.clone(), escaped(value))).collect(),
        other => other.clone(),
    }
}

impl Planner<'_> {
    /// The output that a reference in `recipe` names. What is wrong is reported; an optional reference to a
    /// step that does not exist is nothing.
    pub(crate) fn find_output(
        &mut self,
        recipe: &Recipe,
        reference: &StepReference,
        place: &Place,
    ) -> Option<Found> {
        let workspace = self.workspace;
        let other = match &reference.recipe {
            None => recipe,
            Some(path) => match workspace.recipes.get(path) {
                Some(other) => other,
                None => {
                    let error = workspace.no_recipe(path.as_str()).at(place.clone());
                    self.report_once(error);
                    return None;
                }
            },
        };
        let name = reference.step.as_str();
        if other.broken.contains(name) || (!other.complete && other.step(name).is_none()) {
            self.excused = true;
            return None;
        }
        let Some(step) = other.step(name) else {
            if !reference.optional {
                let known = || other.steps.iter().map(|step| step.name.as_str());
                let list = known().collect::<Vec<_>>().join(", ");
                let error =
                    Diagnostic::error(format!("`{}` has no step `{name}`", other.folder)).at(place.clone());
                self.report_once(error.label(format!("expected one of: {list}")).did_you_mean(name, known()));
            }
            return None;
        };
        if !exists(step, self.options) {
            if !reference.optional {
                let error =
                    Diagnostic::error(format!("step `{name}` does not exist without a key to sign with"));
                self.report_once(error.at(place.clone()).help(format!("`:{name}?` leaves it out then")));
            }
            return None;
        }
        let Some(rule) = self.catalogue.get(&step.rule.text) else {
            self.excused = true;
            return None;
        };
        let outputs = &rule.interface().outputs;
        let found = match (&reference.output, outputs.as_slice()) {
            (Some(output), _) => outputs.iter().find(|spec| spec.name == output),
            (None, [only]) => Some(only),
            (None, _) => None,
        };
        let Some(spec) = found else {
            let known = || outputs.iter().map(|output| output.name);
            let list = known().collect::<Vec<_>>().join(", ");
            let error = match &reference.output {
                Some(output) => {
                    let error = Diagnostic::error(format!("step `{name}` has no output `{output}`"));
                    error.did_you_mean(output, known())
                }
                None => Diagnostic::error(format!("step `{name}` has several outputs, one must be named")),
            };
            self.report_once(error.at(place.clone()).label(format!("expected one of: {list}")));
            return None;
        };
        let number = *self.ids.get(&(other.folder.clone(), name.to_owned()))?;
        // The outputs of instances join as one tree.
        let kind = if step.for_each.is_some() { Kind::Tree } else { spec.kind };
        Some(Found { number, output: spec.name.to_owned(), kind })
    }
}
