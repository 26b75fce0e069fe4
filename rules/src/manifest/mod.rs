//! `manifest`: `mjolnir.json` and `changes.json` of a release, of every type.
//!
//! It knows which field of a recipe becomes which field of the manifest, and what the other members say of a
//! map. Bounds are the format's: what is made of the recipe is read like anybody's manifest, so that every
//! fault is found, each at its place.

mod changes;
mod form;
mod held;

use engine::params::Segment;
use engine::{Blob, Cx, Inputs, Interface, Kind, Outputs, ParamError, Pure, RuleError};
use mjolnir::manifest::{Fault, MapCode, Marks, block_tag};
use mjolnir::packing::Level;
use mjolnir::version::Range;
use mjolnir::{manifest::Manifest, map_files};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::release::{self, ReleaseKind};
use held::Held;

/// A table of a recipe, as it was written.
type Table = Map<String, Value>;

/// Parameters of `manifest`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// What the recipe says of the release.
    #[schemars(with = "form::Release")]
    release: Table,
    /// What is released; left out, a Forge pack when there are blocks, else content.
    kind: Option<ReleaseKind>,
    /// The catalog of a Forge pack.
    #[serde(default)]
    #[schemars(with = "Vec<form::Block>")]
    blocks: Vec<Value>,
    /// Features that the catalog needs. None is known yet.
    #[serde(default)]
    requires: Vec<String>,
    /// What the release changes in the game.
    #[serde(default)]
    #[schemars(with = "form::Changes")]
    changes: Table,
    /// The versions of the runtime pack that a map needs; without it the map does not depend on one.
    runtime: Option<String>,
    /// Externals that stand-ins were used for.
    #[serde(default)]
    stand_ins: Vec<String>,
    /// Only a part of the release is built.
    #[serde(default)]
    reduced: bool,
}

/// The rule.
pub(crate) struct ManifestRule;

impl Pure for ManifestRule {
    type Params = Params;
    const NAME: &'static str = "manifest";
    const VERSION: u32 = 2;
    const DOC: &'static str = "Writes the manifest of a release, and the list of what it changes.";

    fn interface() -> Interface {
        Interface::new()
            .optional(
                "content",
                Kind::Tree,
                "The members that say more: `map/level.json`, `map/registration.json`, containers.",
            )
            .optional("changes", Kind::File, "A whole `changes.json`, in place of the parameter.")
            .output("members", Kind::Tree, "`mjolnir.json` and `changes.json`.")
    }

    fn check(params: &Params) -> Vec<ParamError> {
        let mut errors = params.misplaced();
        if let Err(error) = params.runtime_range() {
            errors.push(error);
        }
        let document = params.document(None);
        let faults = Manifest::read(document.to_string().as_bytes()).err().unwrap_or_default();
        errors.extend(faults.into_iter().map(at_fault));
        errors.extend(changes::check(params));
        errors
    }

    fn run(params: Params, inputs: &Inputs<'_>, outputs: &Outputs<'_>, cx: &Cx<'_>) -> Result<(), RuleError> {
        let about = match params.kind() {
            ReleaseKind::Map => Some(AboutMap::read(inputs)?),
            _ => None,
        };
        let document = params.document(about.as_ref());
        let mut manifest = Manifest::read(document.to_string().as_bytes()).map_err(refused)?;
        for dep in about.iter().flat_map(|about| about.level.deps(params.runtime_range().ok().flatten())) {
            if manifest.deps.iter().all(|known| known.slug != dep.slug) {
                manifest.deps.push(dep);
            }
        }
        manifest.marks = Marks { stand_ins: params.stand_ins.clone(), reduced: params.reduced };
        let text = manifest.write().map_err(refused)?;
        outputs.put_in("members", "mjolnir.json", text.as_bytes())?;
        changes::write(&params, &Held::read(inputs)?, inputs, outputs, cx)
    }
}

/// What the members of a map say of it.
struct AboutMap {
    level: Level,
    registration: Blob,
}

impl AboutMap {
    fn read(inputs: &Inputs<'_>) -> Result<Self, RuleError> {
        let level = release::member(inputs, map_files::LEVEL)?;
        let registration = release::member(inputs, map_files::REGISTRATION)?;
        let level = Level::read(&level).map_err(|faults| release::bad_level(map_files::LEVEL, &faults))?;
        Ok(Self { level, registration })
    }
}

impl Params {
    fn kind(&self) -> ReleaseKind {
        let guessed = if self.blocks.is_empty() { ReleaseKind::Content } else { ReleaseKind::ForgePack };
        self.kind.unwrap_or(guessed)
    }

    fn text(&self, key: &str) -> &str {
        self.release.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    fn runtime_range(&self) -> Result<Option<Range>, ParamError> {
        self.runtime
            .as_deref()
            .map(Range::parse)
            .transpose()
            .map_err(|error| at(&["runtime"], error.to_string()))
    }

    /// What another kind of release than this one has.
    fn misplaced(&self) -> Vec<ParamError> {
        let (is_map, is_pack) = (self.kind() == ReleaseKind::Map, self.kind() == ReleaseKind::ForgePack);
        let mut errors = Vec::new();
        for (key, noun) in [("code", "a code"), ("map", "a table `map`")] {
            if self.release.contains_key(key) && !is_map {
                errors.push(at(&["release", key], format!("only maps have {noun}")));
            }
        }
        for (key, given) in [("blocks", !self.blocks.is_empty()), ("requires", !self.requires.is_empty())] {
            if given && !is_pack {
                errors.push(at(&[key], format!("only Forge packs have `{key}`")));
            }
        }
        if !self.changes.is_empty() && self.kind() == ReleaseKind::Runtime {
            errors.push(at(&["changes"], "the runtime pack declares no changes".to_owned()));
        }
        if !mjolnir::manifest::is_slug(self.text("id")) && !is_pack {
            let message = format!(
                "`{}` is no slug: 2 to 64 of `a-z`, `0-9`, `-`, not starting with `-`",
                self.text("id")
            );
            errors.push(at(&["release", "id"], message));
        }
        errors
    }

    /// The manifest that the recipe means, right or wrong. What a map's members say is not known before it
    /// is built; until then it is taken as right.
    fn document(&self, about: Option<&AboutMap>) -> Value {
        let mut document = Table::new();
        for key in ["name", "version", "summary", "compat", "deps"] {
            document.extend(self.release.get(key).map(|value| (key.to_owned(), value.clone())));
        }
        document.insert("schema_version".to_owned(), json!(1));
        document.insert(
            "type".to_owned(),
            json!(if self.kind() == ReleaseKind::Map { "map" } else { "content" }),
        );
        match self.kind() {
            ReleaseKind::Map => drop(document.insert("map".to_owned(), self.map(about))),
            ReleaseKind::ForgePack => {
                let blocks: Vec<Value> = self.blocks.iter().map(|block| self.block(block)).collect();
                let mut pack = json!({"schema_version": 1, "id": self.text("id"), "blocks": blocks});
                if !self.requires.is_empty() {
                    pack["requires"] = json!(self.requires);
                }
                document.insert("forge_pack".to_owned(), pack);
            }
            ReleaseKind::Content | ReleaseKind::Runtime => {}
        }
        Value::Object(document)
    }

    fn map(&self, about: Option<&AboutMap>) -> Value {
        let mut map = self.release.get("map").and_then(Value::as_object).cloned().unwrap_or_default();
        map.extend(self.release.get("code").map(|code| ("code".to_owned(), code.clone())));
        let said = |about: &AboutMap| {
            let code = MapCode::parse(self.text("code"));
            let title = code.map(|code| about.level.title(&about.registration, code));
            (json!(title.unwrap_or_default()), json!(about.level.modes))
        };
        let (title, modes) = about.map_or_else(|| (json!("?"), json!(["slayer"])), said);
        map.entry("title").or_insert(title);
        map.entry("modes").or_insert(modes);
        Value::Object(map)
    }

    /// A block with its tag, which need not be written.
    fn block(&self, block: &Value) -> Value {
        let mut block = block.clone();
        if let Some(table) = block.as_object_mut() {
            let id = table.get("id").and_then(Value::as_str).unwrap_or_default();
            let tag = block_tag(self.text("id"), id);
            table.entry("tag").or_insert(json!(tag));
        }
        block
    }
}

fn at(path: &[&str], message: String) -> ParamError {
    let path = path.iter().map(|key| Segment::Key((*key).to_owned())).collect();
    ParamError { code: Some("bad_manifest"), ..ParamError::new(path, message) }
}

/// A fault of the manifest at the parameter that it comes from.
fn at_fault(fault: Fault) -> ParamError {
    let mut path = segments(&fault.at);
    let is = |at: usize, name: &str| path.get(at) == Some(&Segment::Key(name.to_owned()));
    let of_release = !is(0, "forge_pack") || is(1, "id");
    if (is(0, "forge_pack") && path.len() > 1) || (is(0, "map") && is(1, "code")) {
        path.remove(0);
    }
    if of_release {
        path.insert(0, Segment::Key("release".to_owned()));
    }
    let code = if fault.unsupported { "forge_unsupported" } else { "bad_manifest" };
    ParamError { code: Some(code), ..ParamError::new(path, fault.message) }
}

/// The places of a JSON pointer.
fn segments(pointer: &str) -> Vec<Segment> {
    let segment = |text: &str| match text.parse() {
        Ok(index) => Segment::Index(index),
        Err(_) => Segment::Key(text.replace("~1", "/").replace("~0", "~")),
    };
    pointer.split('/').skip(1).map(segment).collect()
}

/// The error of a manifest that would not be accepted.
fn refused(faults: Vec<Fault>) -> RuleError {
    release::faulty("the manifest would not be accepted", "bad_manifest", &faults)
}
