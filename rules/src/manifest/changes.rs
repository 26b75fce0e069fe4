//! `changes.json`: what the recipe declares, what can be told without it, and where the two disagree.
//!
//! A declaration proves nothing, and tags are not read here. What containers can tell is told: which packages
//! are there at all.

use engine::params::Segment;
use engine::{Cx, Inputs, Outputs, ParamError, RuleError, Severity};
use mjolnir::changes::{self, Changes, LONGEST, MEMBER, NewTag};
use mjolnir::manifest::block_tag;
use serde_json::{Value, json};

use super::held::{Held, tag_path};
use super::{Params, segments};
use crate::release::{ReleaseKind, faulty, listed};

/// The group of the tags that blocks of a Forge pack are.
const CRATE: &str = "bloc";

/// All mistakes in what the recipe declares.
pub(super) fn check(params: &Params) -> Vec<ParamError> {
    let error = |at: &str, message: String| {
        let key = Segment::Key("changes".to_owned());
        let path = [key].into_iter().chain(segments(at)).collect();
        ParamError { code: Some("bad_changes"), ..ParamError::new(path, message) }
    };
    match declared(params) {
        Ok(changes) => match changes.write().len() {
            length if length > LONGEST => {
                let message = format!("`{MEMBER}` would have {length} bytes; at most {LONGEST} are allowed");
                vec![error("", message)]
            }
            _ => Vec::new(),
        },
        Err(faults) => faults.into_iter().map(|fault| error(&fault.at, fault.message)).collect(),
    }
}

/// Writes the member, where this kind of release has one, and says what does not look right.
pub(super) fn write(
    params: &Params,
    held: &Held,
    inputs: &Inputs<'_>,
    outputs: &Outputs<'_>,
    cx: &Cx<'_>,
) -> Result<(), RuleError> {
    let refused = |faults: &[_]| faulty(&format!("`{MEMBER}` would not be accepted"), "bad_changes", faults);
    let changes = match inputs.optional_file("changes")? {
        Some(_) if !params.changes.is_empty() => {
            let message = "changes are declared in a file and in the recipe: only one of them can be right";
            return Err(RuleError::new(message).code("bad_changes"));
        }
        Some(bytes) => {
            let faults = changes::check(&bytes);
            if !faults.is_empty() {
                return Err(refused(&faults));
            }
            // It is the author's word, so it stays as it is.
            outputs.put_in("members", MEMBER, &bytes)?;
            Changes::read(&bytes).unwrap_or_default()
        }
        None => {
            let silent = matches!(params.kind(), ReleaseKind::Map | ReleaseKind::Runtime);
            if silent && params.changes.is_empty() {
                return Ok(());
            }
            let mut changes = declared(params).map_err(|faults| refused(&faults))?;
            for texture in changes.textures.iter_mut().filter(|texture| texture.bytes.is_none()) {
                texture.bytes = held.size(&texture.path);
            }
            outputs.put_in("members", MEMBER, changes.write().as_bytes())?;
            changes
        }
    };
    if held.is_known() {
        compare(params, &changes, held, cx);
    }
    Ok(())
}

/// What the recipe declares, with the tags of its blocks.
fn declared(params: &Params) -> Result<Changes, Vec<mjolnir::manifest::Fault>> {
    let mut document = params.changes.clone();
    document.insert("schema_version".to_owned(), json!(1));
    document.entry("tags").or_insert(json!([]));
    let mut changes = Changes::read(Value::Object(document).to_string().as_bytes())?;
    let blocks = block_tags(params).into_iter();
    let new: Vec<NewTag> = blocks
        .filter(|tag| changes.new_tags.iter().all(|known| known.tag != *tag))
        .map(|tag| NewTag { group: CRATE.to_owned(), tag, from: String::new() })
        .collect();
    changes.new_tags.extend(new);
    Ok(changes)
}

/// The tags of the pack's blocks.
fn block_tags(params: &Params) -> Vec<String> {
    let ids = params.blocks.iter().filter_map(|block| block.get("id").and_then(Value::as_str));
    ids.map(|id| block_tag(params.text("id"), id)).collect()
}

/// Says where what is declared and what the containers hold disagree.
fn compare(params: &Params, changes: &Changes, held: &Held, cx: &Cx<'_>) {
    let textures = changes.textures.iter().map(|texture| texture.path.as_str());
    let absent: Vec<&str> =
        textures.filter(|path| path.starts_with('/') && held.size(path).is_none()).collect();
    warn(cx, "no container holds the declared texture", &absent);

    let edits = changes.tags.iter().map(|edit| edit.tag.as_str());
    let scripts = changes.scripts.iter().map(|script| script.tag.as_str());
    let absent: Vec<&str> = edits.chain(scripts).filter(|tag| held.has_tag(tag) == Some(false)).collect();
    warn(cx, "no container holds the declared tag", &absent);

    let blocks = block_tags(params);
    let absent: Vec<&str> = blocks.iter().map(String::as_str).filter(|tag| !held.has_crate(tag)).collect();
    warn(cx, "no container holds the crate of a block", &absent);

    let tags = changes.tags.iter().map(|edit| &edit.tag);
    let tags = tags.chain(changes.scripts.iter().map(|script| &script.tag));
    let tags = tags.chain(changes.new_tags.iter().map(|added| &added.tag));
    let tags: Vec<String> = tags.map(|tag| format!("{}-", tag_path(tag))).collect();
    let is_declared = |name: &str| {
        let lower = name.to_ascii_lowercase();
        let texture =
            |path: &str| path.split_once('.').map_or(path, |(path, _)| path).eq_ignore_ascii_case(name);
        lower.starts_with("/game/mjolnir/")
            || lower.starts_with(&format!("/game/tags/objects/mjolnir/forge/{}/", params.text("id")))
            || tags.iter().any(|tag| lower.starts_with(tag))
            || changes.textures.iter().any(|declared| texture(&declared.path))
    };
    let others = held.others(is_declared);
    if !others.is_empty() && params.kind() != ReleaseKind::Map {
        warn(cx, "`changes` says nothing of a package outside `/Game/MJOLNIR`", &others);
    }
}

fn warn(cx: &Cx<'_>, what: &str, names: &[&str]) {
    if !names.is_empty() {
        cx.note(Severity::Warning, format!("{what}: {}", listed(names)));
    }
}
