//! [`Workspace`]: settings, recipes and pipelines of a folder, read once; labels are resolved here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use engine::{Catalogue, Label, WorkspacePath};

use crate::diagnostic::Diagnostic;
use crate::folder::{Folder, RECIPE_FOLDERS};
use crate::pipeline::Pipelines;
use crate::plan::{self, Options, Planned};
use crate::recipe::Recipe;
use crate::settings::Settings;

/// A workspace, read.
#[derive(Debug)]
pub struct Workspace {
    pub(crate) folder: Folder,
    pub(crate) recipes: BTreeMap<WorkspacePath, Recipe>,
    settings: Settings,
}

impl Workspace {
    /// Reads the workspace whose folder with `bake.toml` is `root`. Of the environment, only `BAKE_GAME`,
    /// `BAKE_MAPPINGS`, `BAKE_CE_MAPS` and `BAKE_RUNTIME` are looked at. Mistakes in recipes are kept until
    /// a plan needs the recipe.
    pub fn open(root: &Path, env: &BTreeMap<String, String>) -> Result<Self, Vec<Diagnostic>> {
        let folder = Folder::new(root);
        let mut diagnostics = Vec::new();
        let settings = Settings::load(&folder, env, &mut diagnostics);
        let pipelines = Pipelines::load(&folder);
        let mut recipes = BTreeMap::new();
        for path in folder.recipes() {
            let text = path.join("recipe.toml").map_err(|error| error.to_string());
            match text.and_then(|file| folder.read(&file)) {
                Ok(text) => {
                    let recipe = Recipe::read(path.clone(), text.unwrap_or_default(), &pipelines);
                    recipes.insert(path, recipe);
                }
                Err(message) => diagnostics.push(Diagnostic::error(message).of_machine()),
            }
        }
        if diagnostics.is_empty() { Ok(Self { folder, recipes, settings }) } else { Err(diagnostics) }
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The labels of all recipes, in order.
    pub fn recipes(&self) -> Vec<Label> {
        self.recipes.values().map(Recipe::label).collect()
    }

    /// The labels of all steps of a recipe, in the recipe's order: for completions and queries.
    pub fn steps(&self, recipe: &Label) -> Vec<Label> {
        let found = self.recipes.get(recipe.recipe_path());
        let steps = found.into_iter().flat_map(|recipe| &recipe.steps);
        steps.map(|step| recipe.with_step(&step.name)).collect()
    }

    /// The labels that patterns name, each once, in order: labels, `...` for all recipes,
    /// `forge-packs/...` for all below a folder.
    pub fn resolve<P: AsRef<str>>(&self, patterns: &[P]) -> Result<Vec<Label>, Vec<Diagnostic>> {
        let mut found = BTreeSet::new();
        let mut diagnostics = Vec::new();
        for pattern in patterns {
            match self.resolve_one(pattern.as_ref()) {
                Ok(labels) => found.extend(labels),
                Err(diagnostic) => diagnostics.push(*diagnostic),
            }
        }
        if diagnostics.is_empty() { Ok(found.into_iter().collect()) } else { Err(diagnostics) }
    }

    fn resolve_one(&self, pattern: &str) -> Result<Vec<Label>, Box<Diagnostic>> {
        // As shells complete paths.
        let text = pattern.replace('\\', "/");
        let text = text.trim_start_matches("./").trim_start_matches("//");
        if text == "..." {
            return self.some(pattern, self.recipes());
        }
        if let Some(top) = text.strip_suffix("/...") {
            let below = |label: &Label| {
                let path = label.recipe_path();
                path.as_str() == top || path.below(top).is_some()
            };
            return self.some(pattern, self.recipes().into_iter().filter(below).collect());
        }
        let text = text.strip_suffix("/recipe.toml").unwrap_or(text);
        let label: Label =
            text.parse().map_err(|error: engine::LabelError| Diagnostic::error(error.to_string()))?;
        let Some(recipe) = self.recipes.get(label.recipe_path()) else {
            return Err(Box::new(self.no_recipe(label.recipe_path().as_str())));
        };
        let known = recipe.steps.iter().map(|step| step.name.as_str());
        match label.step() {
            Some(step) if recipe.step(step).is_none() && !recipe.broken.contains(step) && recipe.complete => {
                let list = known.clone().collect::<Vec<_>>().join(", ");
                let error =
                    Diagnostic::error(format!("`{}` has no step `{step}`, it has: {list}", recipe.folder));
                Err(Box::new(error.did_you_mean(step, known)))
            }
            _ => Ok(vec![label]),
        }
    }

    fn some(&self, pattern: &str, labels: Vec<Label>) -> Result<Vec<Label>, Box<Diagnostic>> {
        if labels.is_empty() {
            let tops = RECIPE_FOLDERS.map(|top| format!("`{top}/`")).join(" and ");
            let error = Diagnostic::error(format!("`{pattern}` names no recipe"));
            return Err(Box::new(
                error.help(format!("recipes are files `recipe.toml` in folders below {tops}")),
            ));
        }
        Ok(labels)
    }

    /// The error that there is no recipe of this name.
    pub(crate) fn no_recipe(&self, path: &str) -> Diagnostic {
        let known = || self.recipes.keys().map(WorkspacePath::as_str);
        let error = Diagnostic::error(format!("there is no recipe `{path}`"));
        let few: Vec<&str> = known().take(8).collect();
        let near = engine::schema::did_you_mean(path, known());
        match (near, few.is_empty()) {
            (Some(near), _) => error.help(format!("did you mean `{near}`?")),
            (None, true) => error.help("this workspace has no recipes yet: `bake init forge-pack`"),
            (None, false) => error.help(format!("there are: {}", few.join(", "))),
        }
    }

    /// The plan of what `labels` name (see [`Workspace::resolve`]), or all that is wrong with the recipes it
    /// needs.
    pub fn plan(
        &self,
        labels: &[Label],
        catalogue: &Catalogue,
        options: &Options,
    ) -> Result<Planned, Vec<Diagnostic>> {
        plan::plan(self, labels, catalogue, options)
    }
}
