//! What only one recipe of a workspace may have: a release's id, a map's code, and every parameter that a
//! rule's schema marks with `x-claim` (the name of a container, say).

use std::collections::{BTreeMap, BTreeSet};

use engine::template::{self, Lookup};
use engine::{Catalogue, WorkspacePath};
use serde_json::Value;

use crate::diagnostic::{Diagnostic, Place};
use crate::document::{key, keys};
use crate::plan::{Options, context, exists};
use crate::workspace::Workspace;

/// All claims, by what is claimed and the value.
pub(crate) struct Claims {
    found: BTreeMap<(String, String), Vec<(WorkspacePath, Place)>>,
}

impl Claims {
    /// The claims of all recipes. What is wrong with recipes that are not built is of no interest here.
    pub(crate) fn collect(workspace: &Workspace, catalogue: &Catalogue, options: &Options) -> Self {
        let mut claims = Self { found: BTreeMap::new() };
        for recipe in workspace.recipes.values() {
            if let Some((id, place)) = recipe.id() {
                claims.add("release id", id, &recipe.folder, place);
            }
            if let Some(code) = &recipe.code {
                let place = recipe.document.value_place(&keys(&["release", "code"]));
                claims.add("code", code, &recipe.folder, place);
            }
            let known = context(recipe, options, &BTreeSet::new());
            let lookup = |name: &str| match template::member(&known, name) {
                Some(value) => Lookup::Is(value),
                None => Lookup::Later,
            };
            for step in recipe.steps.iter().filter(|step| exists(step, options)) {
                let schema = catalogue.get(&step.rule.text).and_then(|rule| rule.schema().get("properties"));
                for (name, property) in schema.and_then(Value::as_object).into_iter().flatten() {
                    let Some(claim) = property.get("x-claim").and_then(Value::as_str) else { continue };
                    let value = step.params.get(name).and_then(Value::as_str);
                    let value = value.and_then(|text| template::expand_text(text, false, &lookup).ok());
                    if let Some(value) = value.filter(|value| !value.contains('{')) {
                        let place = step.param_place(recipe, &[key(name)], false);
                        let own = place.file == recipe.document.file;
                        let pipeline = || recipe.document.value_place(&keys(&["pipeline"]));
                        let place = if own { place } else { pipeline() };
                        claims.add(claim, &value, &recipe.folder, place);
                    }
                }
            }
        }
        claims
    }

    fn add(&mut self, what: &str, value: &str, recipe: &WorkspacePath, place: Place) {
        let holders = self.found.entry((what.to_owned(), value.to_owned())).or_default();
        holders.push((recipe.clone(), place));
    }

    /// Reports what two hold, where one of them is needed. Containers of one id clash as a matter of course:
    /// of two recipes' clashes, the first says enough.
    pub(crate) fn report(self, needed: &BTreeSet<WorkspacePath>, diagnostics: &mut Vec<Diagnostic>) {
        let mut said = BTreeSet::new();
        let mut found: Vec<_> = self.found.into_iter().collect();
        found.sort_by_key(|((what, _), _)| !matches!(what.as_str(), "release id" | "code"));
        for ((what, value), holders) in found {
            let Some(((first, first_place), others)) = holders.split_first() else { continue };
            for (second, place) in others {
                let concerns = needed.contains(first) || needed.contains(second);
                let derived = !matches!(what.as_str(), "release id" | "code");
                let fresh = said.insert((first.clone(), second.clone()));
                if concerns && (fresh || !derived) {
                    let error = Diagnostic::error(format!(
                        "`{first}` and `{second}` both claim the {what} `{value}`"
                    ));
                    let error = error.at(place.clone()).label("claimed here");
                    diagnostics.push(error.related(first_place.clone(), "and here"));
                }
            }
        }
    }
}
