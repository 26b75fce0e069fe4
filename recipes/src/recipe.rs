//! [`Recipe`]: a recipe file with its pipeline worked in: the list of its steps, each text with its place.
//!
//! Neither rules nor files are looked at here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use engine::params::{Segment, display_path};
use engine::{Label, WorkspacePath, schema};
use serde_json::{Map, Value, json};

use crate::diagnostic::{Diagnostic, Place};
use crate::document::{Document, Path, key, keys};
use crate::form::{self, RecipeForm, ReleaseForm, StepForm, Texts, When};
use crate::pipeline::{Pipeline, Pipelines};

/// A recipe, read.
#[derive(Debug)]
pub(crate) struct Recipe {
    pub(crate) folder: WorkspacePath,
    pub(crate) document: Arc<Document>,
    pub(crate) steps: Vec<Step>,
    /// What appears under `out/`: text and place.
    pub(crate) outputs: Vec<Located>,
    /// `[release]` with its `id`, without `signed_at`.
    pub(crate) release: Option<Value>,
    pub(crate) signed_at: Option<String>,
    pub(crate) code: Option<String>,
    /// `[values]` with the pipeline's defaults.
    pub(crate) values: Value,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Whether all steps are known. Otherwise nothing is to be concluded from one that is missing.
    pub(crate) complete: bool,
    /// Names of steps that cannot be used, because of what is wrong with them.
    pub(crate) broken: BTreeSet<String>,
}

/// A text with its place.
#[derive(Clone, Debug)]
pub(crate) struct Located {
    pub(crate) text: String,
    pub(crate) place: Place,
}

/// A step, with what a recipe changed in it.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) rule: Located,
    pub(crate) for_each: Option<Located>,
    pub(crate) when: Option<When>,
    pub(crate) inputs: BTreeMap<String, (Place, Vec<Located>)>,
    pub(crate) params: Map<String, Value>,
    /// Where parameters were written, the last one first: a document and the path of the step in it.
    pub(crate) layers: Vec<(Arc<Document>, Path)>,
    /// Something of it was left out because it is wrong.
    pub(crate) damaged: bool,
}

impl Step {
    /// Where a parameter was written. Where it is nothing but a `{values…}` of the recipe, the place is that
    /// value's.
    pub(crate) fn param_place(&self, recipe: &Recipe, path: &[Segment], at_key: bool) -> Place {
        let show = |document: &Document, path: &[Segment]| match at_key {
            true => document.key_place(path),
            false => document.value_place(path),
        };
        for length in (1..=path.len()).rev() {
            let (prefix, rest) = path.split_at(length);
            for (document, step) in &self.layers {
                let full = [step.as_slice(), &[key("params")], prefix].concat();
                if !document.has(&full) {
                    continue;
                }
                let whole = document.get(&full).and_then(Value::as_str).and_then(whole_name);
                if let Some(name) =
                    whole.filter(|_| !Arc::ptr_eq(document, &recipe.document) || !rest.is_empty())
                {
                    let names: Vec<&str> = name.split('.').collect();
                    let value = keys(&names);
                    if recipe.document.has(&value) {
                        return show(&recipe.document, &[value, rest.to_vec()].concat());
                    }
                }
                return show(document, &full);
            }
        }
        self.place.clone()
    }
}

/// The name in a text that is nothing but one `{name}`.
pub(crate) fn whole_name(text: &str) -> Option<&str> {
    text.strip_prefix('{')?.strip_suffix('}').filter(|name| !name.contains(['{', '}']))
}

impl Recipe {
    /// Reads a recipe. What is wrong with it is in `diagnostics`.
    pub(crate) fn read(folder: WorkspacePath, text: String, pipelines: &Pipelines) -> Self {
        let (document, mut diagnostics) = Document::parse(format!("{folder}/recipe.toml"), text);
        let read = form::read::<RecipeForm>(&document, &mut diagnostics);
        let document = Arc::new(document);
        let form = read.form;
        let mut recipe = Self {
            folder,
            document: Arc::clone(&document),
            steps: Vec::new(),
            outputs: Vec::new(),
            release: None,
            signed_at: None,
            code: None,
            values: Value::Object(form.values.clone()),
            diagnostics,
            complete: document.readable,
            broken: BTreeSet::new(),
        };
        recipe.take_release(form.release.as_ref());
        let pipeline = form.pipeline.as_deref().and_then(|name| recipe.find_pipeline(name, pipelines));
        let flawless =
            |pipeline: &Arc<Pipeline>| pipelines.diagnostics.get(&pipeline.name).is_none_or(Vec::is_empty);
        recipe.complete &= form.pipeline.is_none() || pipeline.as_ref().is_some_and(flawless);
        if let Some(pipeline) = &pipeline {
            recipe.take_values(pipeline, form.values);
            recipe.take_pipeline(pipeline);
        }
        recipe.take_steps(form.step, &read.wrong, pipeline.as_deref());
        let base = keys(&["outputs"]);
        match (form.outputs, pipeline) {
            (Some(outputs), _) => recipe.outputs = located(&document, &base, outputs),
            (None, Some(pipeline)) => {
                recipe.outputs = located(&pipeline.document, &base, pipeline.form.outputs.clone());
            }
            (None, None) => {}
        }
        recipe
    }

    pub(crate) fn label(&self) -> Label {
        Label::recipe(self.folder.clone())
    }

    /// The step called `name`.
    pub(crate) fn step(&self, name: &str) -> Option<&Step> {
        self.steps.iter().find(|step| step.name == name)
    }

    /// The release's id, and where it is said.
    pub(crate) fn id(&self) -> Option<(&str, Place)> {
        let id = self.release.as_ref()?.get("id")?.as_str()?;
        Some((id, self.document.value_place(&keys(&["release", "id"]))))
    }

    fn error(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    fn take_release(&mut self, form: Option<&ReleaseForm>) {
        let Some(form) = form else { return };
        let document = Arc::clone(&self.document);
        let at = |names: &[&str]| document.value_place(&[keys(&["release"]), keys(names)].concat());
        let id = form.id.clone().unwrap_or_else(|| self.folder.name().to_owned());
        if !is_slug(&id) {
            self.error(
                Diagnostic::error(format!("`{id}` cannot be the id of a release"))
                    .code(BAD_MANIFEST)
                    .at(at(&["id"]))
                    .label("expected 2 to 64 lower-case letters, digits and `-`, no `-` at the start"),
            );
        }
        if let Some(version) = &form.version {
            let parsed = semver::Version::parse(version);
            let fault = match parsed {
                Err(error) => Some(error.to_string()),
                Ok(version) if !version.build.is_empty() => Some("it has a build part".to_owned()),
                Ok(_) => (version.len() > 96).then(|| "it is longer than 96 bytes".to_owned()),
            };
            if let Some(fault) = fault {
                self.error(
                    Diagnostic::error(format!("`{version}` is no version: {fault}"))
                        .code(BAD_MANIFEST)
                        .at(at(&["version"]))
                        .label("expected one such as 1.0.0 or 1.2.0-beta.1"),
                );
            }
        }
        if let Some(code) = form.code.as_ref().filter(|code| !is_code(code)) {
            let error = Diagnostic::error(format!("`{code}` cannot be the code of a map")).code(BAD_MANIFEST);
            self.error(error.at(at(&["code"])).label("expected three of A-Z and 0-9"));
        }
        if let Some(time) = form.signed_at.as_ref().filter(|time| !is_time(time)) {
            let error = Diagnostic::error(format!("`{time}` is no time that a signature can name"));
            self.error(error.at(at(&["signed_at"])).label("expected one such as 2026-08-02T00:00:00Z"));
        }
        for (index, dependency) in form.deps.iter().enumerate() {
            let Some(range) = &dependency.range else { continue };
            if let Err(fault) = semver::VersionReq::parse(range) {
                let path = [keys(&["release", "deps"]), vec![Segment::Index(index), key("range")]].concat();
                let error = Diagnostic::error(format!("`{range}` is no range of versions: {fault}"))
                    .code(BAD_MANIFEST);
                self.error(error.at(document.value_place(&path)).label("expected one such as ^1.2.0"));
            }
        }
        let mut release = document.get(&keys(&["release"])).cloned().unwrap_or_else(|| json!({}));
        if let Value::Object(table) = &mut release {
            table.remove("signed_at");
            table.insert("id".to_owned(), Value::String(id));
        }
        self.release = Some(release);
        self.signed_at = form.signed_at.clone();
        self.code = form.code.clone();
    }

    fn find_pipeline(&mut self, name: &str, pipelines: &Pipelines) -> Option<Arc<Pipeline>> {
        let place = self.document.value_place(&keys(&["pipeline"]));
        let names = || pipelines.found.keys().map(String::as_str);
        if let Some(wrong) = pipelines.diagnostics.get(name) {
            self.diagnostics.extend(wrong.iter().cloned());
        }
        let found = pipelines.found.get(name);
        if found.is_none() && !pipelines.diagnostics.contains_key(name) {
            let known = names().collect::<Vec<_>>().join(", ");
            let error = Diagnostic::error(format!("unknown pipeline `{name}`")).at(place.clone());
            self.error(error.label(format!("expected one of: {known}")).did_you_mean(name, names()));
        }
        let needs_release = found.is_some_and(|pipeline| pipeline.document.file.text.contains("{release"));
        if needs_release && self.release.is_none() && !self.document.has(&keys(&["release"])) {
            let error = Diagnostic::error(format!("the pipeline `{name}` needs a table [release]"));
            self.error(error.at(place).label("it names and versions what is built"));
            // Nothing of it can be worked out without.
            return None;
        }
        found.cloned()
    }

    fn take_values(&mut self, pipeline: &Pipeline, given: Map<String, Value>) {
        let mut values = Map::new();
        let declared = &pipeline.form.values;
        let document = Arc::clone(&self.document);
        for (name, schema) in declared {
            let base = keys(&["values", name]);
            let value = given.get(name).or_else(|| schema.get("default"));
            let Some(value) = value else {
                let doc = schema.get("description").and_then(Value::as_str).unwrap_or_default();
                let error =
                    Diagnostic::error(format!("missing value `{name}` of the pipeline `{}`", pipeline.name));
                self.error(error.at(document.key_place(&base)).label(format!("`{name}`: {doc}")));
                continue;
            };
            for error in form::without_echoes(schema::check(&Value::Object(schema.clone()), value)) {
                let path = [base.clone(), error.path.clone()].concat();
                let message = match error.at_key {
                    true => error.message.replacen("parameter", "key", 1),
                    false => format!("`{}`: {}", display_path(&path), error.message),
                };
                self.error(form::from_param_error(error, message, |path, at_key| {
                    let path = [base.as_slice(), path].concat();
                    if at_key { document.key_place(&path) } else { document.value_place(&path) }
                }));
            }
            values.insert(name.clone(), value.clone());
        }
        let names = || declared.keys().map(String::as_str);
        for name in given.keys().filter(|name| !declared.contains_key(*name)) {
            let known = names().collect::<Vec<_>>().join(", ");
            let error =
                Diagnostic::error(format!("unknown value `{name}` of the pipeline `{}`", pipeline.name))
                    .at(document.key_place(&keys(&["values", name])))
                    .label(format!("expected one of: {known}"));
            self.error(error.did_you_mean(name, names()));
        }
        self.values = Value::Object(values);
    }

    fn take_pipeline(&mut self, pipeline: &Pipeline) {
        for (index, form) in pipeline.form.step.iter().enumerate() {
            let path = vec![key("step"), Segment::Index(index)];
            let (Some(name), Some(rule)) = (&form.name, &form.rule) else {
                let error = Diagnostic::error("a step of a pipeline has a `name` and a `rule`");
                self.error(error.at(pipeline.document.key_place(&path)));
                continue;
            };
            let step = self.new_step(&pipeline.document, &path, form, name, rule);
            self.steps.push(step);
        }
    }

    fn take_steps(&mut self, forms: Vec<StepForm>, wrong: &[Path], pipeline: Option<&Pipeline>) {
        let document = Arc::clone(&self.document);
        let mut own: BTreeMap<String, Place> = BTreeMap::new();
        for (index, form) in forms.into_iter().enumerate() {
            let path = vec![key("step"), Segment::Index(index)];
            let Some(name) = form.name.clone() else { continue };
            let place = document.value_place(&[path.clone(), keys(&["name"])].concat());
            if !is_step_name(&name) {
                let error = Diagnostic::error(format!("`{name}` cannot name a step")).at(place.clone());
                self.error(error.label("expected lower-case letters, digits, `_` and `-`"));
            }
            if let Some(first) = own.insert(name.clone(), place.clone()) {
                let error = Diagnostic::error(format!("two steps are called `{name}`")).at(place);
                self.error(error.label("the second one").related(first, "the first one"));
                continue;
            }
            let damaged = wrong.iter().any(|wrong| wrong.starts_with(&path));
            let at = self.steps.iter().position(|step| step.name == name);
            let broken = damaged && wrong.contains(&[path.clone(), keys(&["rule"])].concat());
            match (&form.rule, at) {
                (None, Some(at)) => {
                    self.change(at, &document, &path, &form);
                    if let Some(step) = self.steps.get_mut(at) {
                        step.damaged |= damaged;
                    }
                }
                (Some(rule), at) => {
                    let mut step = self.new_step(&document, &path, &form, &name, rule);
                    step.damaged = damaged;
                    let pipeline = pipeline.map_or("", |pipeline| &pipeline.name);
                    match at.and_then(|at| self.steps.get_mut(at)) {
                        Some(old) if form.replace => *old = step,
                        Some(_) => {
                            let error = Diagnostic::error(format!(
                                "the pipeline `{pipeline}` has a step `{name}` already"
                            ));
                            self.error(error.at(place).help(
                                "leave `rule` out to change its inputs and parameters, or say `replace = true`",
                            ));
                        }
                        None if form.replace && self.complete => {
                            let names: Vec<String> =
                                self.steps.iter().map(|step| step.name.clone()).collect();
                            let error =
                                Diagnostic::error(format!("there is no step `{name}` to replace")).at(place);
                            self.error(error.did_you_mean(&name, names.iter().map(String::as_str)));
                        }
                        None => self.steps.push(step),
                    }
                }
                (None, None) => {
                    self.broken.insert(name.clone());
                    if broken || !self.complete {
                        continue;
                    }
                    let names: Vec<String> = self.steps.iter().map(|step| step.name.clone()).collect();
                    let error = Diagnostic::error(format!("step `{name}` has no rule")).at(place);
                    let label = match pipeline {
                        Some(pipeline) => {
                            format!("the pipeline `{}` has no step of this name", pipeline.name)
                        }
                        None => "expected `rule`".to_owned(),
                    };
                    let known = names.iter().map(String::as_str).filter(|_| pipeline.is_some());
                    self.error(error.label(label).did_you_mean(&name, known));
                }
            }
        }
    }

    fn new_step(
        &self,
        document: &Arc<Document>,
        path: &[Segment],
        form: &StepForm,
        name: &str,
        rule: &str,
    ) -> Step {
        let at = |name: &str| document.value_place(&[path, &[key(name)]].concat());
        Step {
            name: name.to_owned(),
            place: at("name"),
            rule: Located { text: rule.to_owned(), place: at("rule") },
            for_each: form
                .for_each
                .as_ref()
                .map(|text| Located { text: text.clone(), place: at("for_each") }),
            when: form.when,
            inputs: inputs(document, path, form),
            params: form.params.clone(),
            layers: vec![(Arc::clone(document), path.to_vec())],
            damaged: false,
        }
    }

    fn change(&mut self, at: usize, document: &Arc<Document>, path: &[Segment], form: &StepForm) {
        let Some(step) = self.steps.get_mut(at) else { return };
        step.place = document.value_place(&[path, &[key("name")]].concat());
        step.inputs.extend(inputs(document, path, form));
        merge(&mut step.params, &form.params);
        step.layers.insert(0, (Arc::clone(document), path.to_vec()));
        if let Some(text) = &form.for_each {
            let place = document.value_place(&[path, &[key("for_each")]].concat());
            step.for_each = Some(Located { text: text.clone(), place });
        }
        step.when = form.when.or(step.when);
        if form.replace {
            let place = document.key_place(&[path, &[key("replace")]].concat());
            self.error(Diagnostic::error("a step that replaces another has a `rule`").at(place));
        }
    }
}

fn inputs(document: &Document, path: &[Segment], form: &StepForm) -> BTreeMap<String, (Place, Vec<Located>)> {
    let each = form.inputs.iter().map(|(name, texts)| {
        let base = [path, &[key("inputs"), key(name)]].concat();
        let texts = match texts {
            Texts::One(text) => vec![Located { text: text.clone(), place: document.value_place(&base) }],
            Texts::Many(texts) => located(document, &base, texts.clone()),
        };
        (name.clone(), (document.key_place(&base), texts))
    });
    each.collect()
}

fn located(document: &Document, base: &[Segment], texts: Vec<String>) -> Vec<Located> {
    let each = texts.into_iter().enumerate().map(|(index, text)| {
        let place = document.value_place(&[base, &[Segment::Index(index)]].concat());
        Located { text, place }
    });
    each.collect()
}

/// What the hub calls a mistake that would reach the manifest.
const BAD_MANIFEST: &str = "bad_manifest";

/// Tables are merged key by key; everything else is replaced.
fn merge(old: &mut Map<String, Value>, new: &Map<String, Value>) {
    for (key, value) in new {
        match (old.get_mut(key), value) {
            (Some(Value::Object(old)), Value::Object(new)) => merge(old, new),
            _ => drop(old.insert(key.clone(), value.clone())),
        }
    }
}

fn is_step_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte);
    engine::is_name(name) && name.bytes().all(allowed) && !name.starts_with(['_', '-'])
}

fn is_slug(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (2..=64).contains(&text.len()) && text.bytes().all(allowed) && !text.starts_with('-')
}

fn is_code(text: &str) -> bool {
    text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}

/// Whether it is a moment of the calendar in the form `2026-08-02T00:00:00Z`.
fn is_time(text: &str) -> bool {
    let form = "0000-00-00T00:00:00Z";
    let fits = |(found, form): (u8, u8)| if form == b'0' { found.is_ascii_digit() } else { found == form };
    if text.len() != form.len() || !text.bytes().zip(form.bytes()).all(fits) {
        return false;
    }
    let number = |at: usize, length: usize| text[at..at + length].parse::<u32>().unwrap_or(u32::MAX);
    let (year, month) = (number(0, 4), number(5, 2));
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&number(8, 2)) && number(11, 2) < 24 && number(14, 2) < 60 && number(17, 2) < 60
}
