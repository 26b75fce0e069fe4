//! The forms of recipes, pipelines and settings: one definition for reading, for checking, and for the
//! schema that editors complete from.

use std::collections::BTreeMap;

use engine::params::{ParamError, Segment, display_path};
use engine::schema;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::diagnostic::Diagnostic;
use crate::document::{Document, Path};

/// A recipe: one mod, as data.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Recipe of bake")]
pub(crate) struct RecipeForm {
    /// The version of this form.
    #[schemars(required, range(min = 1, max = 1))]
    #[allow(dead_code, reason = "checked by the schema")]
    pub(crate) schema: Option<u32>,
    /// The list of steps to go through; absent when the recipe lists all its steps itself.
    pub(crate) pipeline: Option<String>,
    /// What appears under `out/`: outputs of steps, such as `:archive.archive`.
    pub(crate) outputs: Option<Vec<String>>,
    /// What is released.
    pub(crate) release: Option<ReleaseForm>,
    /// What the pipeline asks for.
    #[serde(default)]
    pub(crate) values: Map<String, Value>,
    /// Steps that are added, changed or replaced.
    #[serde(default)]
    pub(crate) step: Vec<StepForm>,
}

/// What is released, as the hub knows it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReleaseForm {
    /// The hub's slug and the pack's id: lower-case letters, digits and `-`, 2 to 64; the folder's name
    /// when absent.
    pub(crate) id: Option<String>,
    /// The name that people read.
    #[schemars(required, length(min = 1))]
    #[allow(dead_code, reason = "read through the document")]
    pub(crate) name: Option<String>,
    /// The version, as Semantic Versioning 2.0 has it, without a build part.
    #[schemars(required)]
    pub(crate) version: Option<String>,
    /// What it is, in a sentence.
    #[allow(dead_code, reason = "read through the document")]
    pub(crate) summary: Option<String>,
    /// The code of a map: three of A-Z and 0-9.
    pub(crate) code: Option<String>,
    /// What lists say of a map. The rule that writes the manifest knows its form.
    #[schemars(extend("$ref" = "#/$defs/manifest.Map"))]
    #[allow(dead_code, reason = "read through the document")]
    pub(crate) map: Option<Map<String, Value>>,
    /// Releases that it needs.
    #[serde(default)]
    pub(crate) deps: Vec<DependencyForm>,
    /// Builds of the game that it fits.
    #[allow(dead_code, reason = "read through the document")]
    pub(crate) compat: Option<CompatForm>,
    /// The time that a signature names, such as `2026-08-02T00:00:00Z`.
    pub(crate) signed_at: Option<String>,
}

/// A release that is needed.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DependencyForm {
    /// Its slug.
    #[schemars(required)]
    #[allow(dead_code, reason = "read through the document")]
    pub(crate) slug: Option<String>,
    /// Its versions, such as `^1.2.0`; any when absent.
    pub(crate) range: Option<String>,
}

/// Builds of the game.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "read through the document")]
pub(crate) struct CompatForm {
    /// The oldest.
    pub(crate) min_build: Option<String>,
    /// The newest.
    pub(crate) max_build: Option<String>,
}

/// A step.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StepForm {
    /// Its name: lower-case letters, digits, `_` and `-`.
    #[schemars(required)]
    pub(crate) name: Option<String>,
    /// The rule; absent to change the inputs and parameters of a step of the pipeline.
    pub(crate) rule: Option<String>,
    /// Run once for each entry of a list of the recipe (`values.donors`) or of a tree of descriptors that
    /// another step makes (`:extract.descriptors`).
    pub(crate) for_each: Option<String>,
    /// The step exists only under this condition.
    pub(crate) when: Option<When>,
    /// Inputs by name: files or globs, `:step.output`, `recipe:step.output`, `@external`, `{item}`.
    #[serde(default)]
    pub(crate) inputs: BTreeMap<String, Texts>,
    /// Parameters of the rule.
    #[serde(default)]
    pub(crate) params: Map<String, Value>,
    /// Replaces the pipeline's step of this name whole.
    #[serde(default)]
    pub(crate) replace: bool,
}

/// A condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum When {
    /// A key to sign with is configured.
    Signing,
}

/// A text, or a list of texts.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Texts {
    One(String),
    Many(Vec<String>),
}

impl JsonSchema for Texts {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Texts".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": ["string", "array"], "items": {"type": "string"}})
    }
}

/// A pipeline: the steps that a kind of recipe goes through.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PipelineForm {
    /// The version of this form.
    #[schemars(required, range(min = 1, max = 1))]
    #[allow(dead_code, reason = "checked by the schema")]
    pub(crate) schema: Option<u32>,
    /// What it makes, in a sentence.
    #[allow(dead_code, reason = "for who reads the pipeline")]
    pub(crate) doc: Option<String>,
    /// What appears under `out/`, where a recipe does not say.
    #[serde(default)]
    pub(crate) outputs: Vec<String>,
    /// The values that a recipe gives: a JSON schema each, and `default` where it may be left out.
    #[serde(default)]
    pub(crate) values: BTreeMap<String, Map<String, Value>>,
    /// The steps.
    #[serde(default)]
    pub(crate) step: Vec<StepForm>,
}

/// The settings of a workspace (`bake.toml`) or of a machine (`bake.local.toml`).
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct SettingsForm {
    /// The version of this form.
    #[schemars(required, range(min = 1, max = 1))]
    #[allow(dead_code, reason = "checked by the schema")]
    pub(crate) schema: Option<u32>,
    /// The game's folder `Paks`.
    #[serde(default)]
    pub(crate) game: PathForm,
    /// The `.usmap` of the game's build.
    #[serde(default)]
    pub(crate) mappings: PathForm,
    /// A folder of Halo CE maps.
    #[serde(default)]
    pub(crate) ce_maps: PathForm,
    /// A released runtime pack.
    #[serde(default)]
    pub(crate) runtime: PathForm,
    /// Files of tools, by name.
    #[serde(default)]
    pub(crate) tools: BTreeMap<String, String>,
    /// The store.
    #[serde(default)]
    pub(crate) store: StoreForm,
    /// What signs.
    #[serde(default)]
    pub(crate) signing: SigningForm,
}

/// An external.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PathForm {
    /// Where it lies; below the workspace's root when relative.
    pub(crate) path: Option<String>,
}

/// The store.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoreForm {
    /// Its folder.
    pub(crate) path: Option<String>,
    /// Its size cap, such as `20G`.
    pub(crate) size: Option<String>,
}

/// What signs.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SigningForm {
    /// A file with the seed to sign with.
    pub(crate) seed_file: Option<String>,
    /// Whether to sign with this device's key, that of the game's tools.
    pub(crate) device_key: Option<bool>,
}

/// What was read of a document, and which places were left out because they are wrong.
pub(crate) struct Read<T> {
    pub(crate) form: T,
    pub(crate) wrong: Vec<Path>,
}

/// Reads a document as a form. All mistakes are reported; what is wrong is left out of the form, so that
/// the rest can still be checked.
pub(crate) fn read<T: DeserializeOwned + JsonSchema + Default>(
    document: &Document,
    diagnostics: &mut Vec<Diagnostic>,
) -> Read<T> {
    let mut value = document.value.clone();
    let mut wrong = Vec::new();
    if !document.readable {
        return Read { form: T::default(), wrong };
    }
    for error in without_echoes(schema::check(&schema::of::<T>(), &document.value)) {
        // All that must be there can be left out of a form, so the rest of its table stays.
        if schema::missing(&error).is_none() && document.get(&error.path).is_some() {
            remove(&mut value, &error.path);
        }
        if !error.at_key {
            wrong.push(error.path.clone());
        }
        let message = match (error.at_key, error.path.is_empty()) {
            (true, _) => error.message.replacen("parameter", "key", 1),
            (false, true) => error.message.clone(),
            (false, false) => format!("`{}`: {}", display_path(&error.path), error.message),
        };
        diagnostics.push(from_param_error(error, message, |path, at_key| match at_key {
            true => document.key_place(path),
            false => document.value_place(path),
        }));
    }
    Read { form: serde_json::from_value(value).unwrap_or_default(), wrong }
}

/// Leaves out that a key is missing where one that was probably meant to be it is reported already.
pub(crate) fn without_echoes(errors: Vec<ParamError>) -> Vec<ParamError> {
    let meant: Vec<Path> = errors.iter().filter_map(meant).collect();
    let echo = |error: &ParamError| {
        let missing = schema::missing(error).map(|name| Segment::Key(name.to_owned()));
        missing.is_some_and(|name| meant.contains(&error.path.iter().cloned().chain([name]).collect()))
    };
    errors.into_iter().filter(|error| !echo(error)).collect()
}

/// The path of the key that an unknown one was probably meant to be.
fn meant(error: &ParamError) -> Option<Path> {
    let name = error.hint.as_ref().filter(|_| error.at_key)?.split('`').nth(1)?;
    let (_, parents) = error.path.split_last()?;
    Some(parents.iter().cloned().chain([Segment::Key(name.to_owned())]).collect())
}

/// Turns a mistake in a table into a diagnostic.
pub(crate) fn from_param_error(
    error: ParamError,
    message: String,
    place: impl Fn(&[Segment], bool) -> crate::diagnostic::Place,
) -> Diagnostic {
    let at = place(&error.path, error.at_key);
    let ParamError { expected: label, hint: help, code, .. } = error;
    let code = code.map(str::to_owned);
    Diagnostic { label, help, code, ..Diagnostic::error(message).at(at) }
}

/// Removes the innermost key on a path; a list loses all its items when one is wrong, so that the others
/// keep their numbers.
fn remove(value: &mut Value, path: &[Segment]) {
    let steps_list = matches!(path, [Segment::Key(step), Segment::Index(_), ..] if step == "step");
    let floor = if steps_list { 2 } else { 0 };
    let last_key = path.iter().rposition(|segment| matches!(segment, Segment::Key(_)));
    let Some(at) = last_key.filter(|at| *at >= floor) else {
        if let (Some(Value::Array(steps)), [_, Segment::Index(index), ..]) = (value.get_mut("step"), path)
            && let Some(step) = steps.get_mut(*index)
        {
            *step = Value::Object(Map::new());
        }
        return;
    };
    let (parents, rest) = path.split_at(at);
    let parent = parents.iter().try_fold(value, |value, segment| match segment {
        Segment::Key(key) => value.get_mut(key),
        Segment::Index(index) => value.get_mut(index),
    });
    if let (Some(Value::Object(table)), Some(Segment::Key(key))) = (parent, rest.first()) {
        table.remove(key);
    }
}
