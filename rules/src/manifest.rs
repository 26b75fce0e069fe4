//! `manifest`: `mjolnir.json` and `changes.json` of a release.

use engine::{Cx, Inputs, Interface, Kind, Outputs, ParamError, Pure, RuleError};
use mjolnir::changes;
use mjolnir::manifest::{Compat, Dep, Manifest, Marks, Payload};
use mjolnir::version::{Range, Version};
use schemars::JsonSchema;
use serde::Deserialize;

/// Parameters of `manifest`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// What the recipe says of the release.
    release: Release,
    /// Externals that stand-ins were used for.
    #[serde(default)]
    stand_ins: Vec<String>,
}

/// What a recipe says of a release.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Release {
    /// Its id, which is also its slug on the hub.
    id: String,
    /// The name that people see.
    name: String,
    /// Its version.
    version: String,
    /// One or two sentences for lists.
    summary: Option<String>,
    /// The code of a map: not for content.
    code: Option<String>,
    /// The builds of the game that it is for.
    #[serde(default)]
    compat: Option<Builds>,
    /// Releases that it needs.
    #[serde(default)]
    deps: Vec<Needed>,
}

/// Builds of the game.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Builds {
    /// The oldest.
    min_build: Option<String>,
    /// The newest.
    max_build: Option<String>,
}

/// A release that is needed.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Needed {
    /// Its slug.
    slug: String,
    /// The versions of it that will do; any when left out.
    range: Option<String>,
}

/// The rule.
pub(crate) struct ManifestRule;

impl Pure for ManifestRule {
    type Params = Params;
    const NAME: &'static str = "manifest";
    const VERSION: u32 = 1;
    const DOC: &'static str = "Writes the manifest of a release, and the list of what it changes.";

    fn interface() -> Interface {
        Interface::new().output("members", Kind::Tree, "`mjolnir.json` and `changes.json`.")
    }

    fn check(params: &Params) -> Vec<ParamError> {
        match manifest(params) {
            Ok(manifest) => manifest
                .write()
                .err()
                .into_iter()
                .flatten()
                .map(|fault| at(&fault.at, fault.message))
                .collect(),
            Err(error) => vec![error],
        }
    }

    fn run(params: Params, _: &Inputs<'_>, outputs: &Outputs<'_>, _: &Cx<'_>) -> Result<(), RuleError> {
        let text = manifest(&params)?.write().map_err(|faults| {
            let error = RuleError::new("the manifest would not be accepted").code("bad_manifest");
            faults
                .into_iter()
                .fold(error, |error, fault| error.detail(format!("{}: {}", fault.at, fault.message)))
        })?;
        outputs.put_in("members", "mjolnir.json", text.as_bytes())?;
        outputs.put_in("members", "changes.json", changes::additions(Vec::new()).as_bytes())
    }
}

/// An error at a JSON pointer of the manifest, which has the fields of the recipe's table.
fn at(pointer: &str, message: String) -> ParamError {
    let fields = pointer.split('/').skip(1).map(|field| match field.parse() {
        Ok(index) => engine::params::Segment::Index(index),
        Err(_) => engine::params::Segment::Key(field.to_owned()),
    });
    let release = engine::params::Segment::Key("release".to_owned());
    ParamError::new([release].into_iter().chain(fields).collect(), message)
}

fn manifest(params: &Params) -> Result<Manifest, ParamError> {
    let release = &params.release;
    if !mjolnir::manifest::is_slug(&release.id) {
        let message =
            format!("`{}` is no slug: 2 to 64 of `a-z`, `0-9`, `-`, not starting with `-`", release.id);
        return Err(at("/id", message));
    }
    if release.code.is_some() {
        return Err(at("/code", "only maps have a code".to_owned()));
    }
    let mut deps = Vec::new();
    for (index, needed) in release.deps.iter().enumerate() {
        let range = needed.range.as_deref().map_or(Ok(Range::any()), Range::parse);
        let range = range.map_err(|error| at(&format!("/deps/{index}/range"), error.to_string()))?;
        deps.push(Dep { slug: needed.slug.clone(), range });
    }
    let compat = release
        .compat
        .as_ref()
        .map(|builds| Compat { min_build: builds.min_build.clone(), max_build: builds.max_build.clone() });
    let mut stand_ins = params.stand_ins.clone();
    stand_ins.sort();
    Ok(Manifest {
        name: release.name.clone(),
        version: Version::parse(&release.version).map_err(|error| at("/version", error.to_string()))?,
        summary: release.summary.clone(),
        compat,
        deps,
        payload: Payload::Content,
        marks: Marks { stand_ins, reduced: false },
    })
}
