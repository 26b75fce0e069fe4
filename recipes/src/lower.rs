//! One step of a recipe to one [`Node`]: its rule, its parameters with all names replaced, its inputs wired.

use std::collections::BTreeMap;

use engine::params::{Segment, display_path};
use engine::template::{self, Lookup};
use engine::{ForEach, InputSpec, Item, Kind, Node, Params, Rule, Source, is_name};
use serde_json::{Map, Value};

use crate::diagnostic::Diagnostic;
use crate::form;
use crate::plan::Planner;
use crate::recipe::{Recipe, Step};
use crate::reference::Reference;

/// The work on one step.
pub(crate) struct Lowering<'p, 'a> {
    pub(crate) planner: &'p mut Planner<'a>,
    pub(crate) recipe: &'a Recipe,
    step: &'a Step,
    pub(crate) context: Value,
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

    pub(crate) fn report(&mut self, diagnostic: Diagnostic) {
        self.planner.diagnostics.push(diagnostic);
    }

    pub(crate) fn again(&self) -> bool {
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
            let before = self.planner.diagnostics.len();
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
                    let mut earlier = self.planner.diagnostics.iter().take(before);
                    let said = earlier.any(|said| said.place == diagnostic.place);
                    if !said || diagnostic.place.as_ref() == Some(&self.step.place) {
                        self.report(diagnostic);
                    }
                }
            }
        }
        params
    }

    pub(crate) fn lookup(&self, name: &str) -> Lookup<'_> {
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

fn escaped(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(text.replace('{', "{{").replace('}', "}}")),
        Value::Array(items) => items.iter().map(escaped).collect(),
        Value::Object(table) => table.iter().map(|(key, value)| (key.clone(), escaped(value))).collect(),
        other => other.clone(),
    }
}
