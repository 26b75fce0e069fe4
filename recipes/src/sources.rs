//! What the texts of inputs name: files, externals, outputs of steps. Whether it fits is said here.

use std::sync::Arc;

use engine::template;
use engine::{Kind, Source, WorkspacePath};
use serde_json::Value;

use crate::diagnostic::{Diagnostic, Place};
use crate::document::keys;
use crate::lower::Lowering;
use crate::plan::{Planner, exists};
use crate::recipe::{Located, Recipe, whole_name};
use crate::reference::{Reference, StepReference, is_glob};

/// An output of a step of the plan.
pub(crate) struct Found {
    pub(crate) number: usize,
    pub(crate) output: String,
    pub(crate) kind: Kind,
}

/// A source, and what it holds where that is known.
struct Sourced {
    source: Source,
    kind: Option<Kind>,
}

impl Lowering<'_, '_> {
    /// What the texts of an input name.
    pub(crate) fn sources(&mut self, input: &str, kind: Kind, texts: &[Located]) -> Vec<Source> {
        let before = self.planner.diagnostics.len();
        let mut sources = Vec::new();
        let mut last_place = None;
        for text in texts {
            for located in self.expand_text(text) {
                let found = match self.source(&located) {
                    Ok(found) => found,
                    Err(diagnostic) => {
                        // A value that is wrong is said once.
                        let mut said = self.planner.diagnostics.iter().take(before);
                        match said.any(|said| said.place == diagnostic.place) {
                            true => self.planner.excused = true,
                            false => self.report(*diagnostic),
                        }
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
        let list =
            whole_name(text).and_then(|name| template::member(&self.context, name)).and_then(Value::as_array);
        if let Some(list) = list {
            let place = self.said(whole_name(text).unwrap_or_default());
            let texts = list.iter().filter_map(Value::as_str);
            return texts.map(|text| Located { text: text.to_owned(), place: place.clone() }).collect();
        }
        if is_plain_glob(text) {
            return vec![located.clone()];
        }
        match template::expand_text(text, self.again(), &|name| self.lookup(name)) {
            Ok(text) => vec![Located { text, place: self.asked(located) }],
            Err(message) => {
                self.report(Diagnostic::error(message).at(located.place.clone()));
                Vec::new()
            }
        }
    }

    /// Where the recipe says what a name stands for.
    fn said(&self, name: &str) -> Place {
        let document = &self.recipe.document;
        let path = keys(&name.split('.').collect::<Vec<_>>());
        match document.has(&path) {
            true => document.value_place(&path),
            // A default of the pipeline: that is where the recipe asked for it.
            false => document.value_place(&keys(&["pipeline"])),
        }
    }

    /// Where the recipe says what a text of its pipeline is about: the text's own place, if it names no value.
    fn asked(&self, located: &Located) -> Place {
        let value = located.text.split_once("{values.").and_then(|(_, rest)| rest.split_once('}'));
        match value {
            Some((name, _)) if !Arc::ptr_eq(&located.place.file, &self.recipe.document.file) => {
                self.said(&format!("values.{name}"))
            }
            _ => located.place.clone(),
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
