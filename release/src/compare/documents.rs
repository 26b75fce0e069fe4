//! The JSON members, field by field. Items of lists that have an id, a slug or a path are matched by it, so
//! that an entry that was put in between moves no other.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Change, Group};
use crate::Opened;
use crate::opened::MANIFEST;

const CHANGES: &str = mjolnir::changes::MEMBER;
const MAP: [&str; 2] = [mjolnir::map_files::LEVEL, mjolnir::map_files::REGISTRATION];

/// Lists of more items that have no id are told as one change.
const ITEMS: usize = 64;

/// Whether this section looks into the member.
pub(super) fn is_document(name: &str) -> bool {
    name == MANIFEST || name == CHANGES || MAP.contains(&name)
}

pub(super) fn compare(old: &Opened<'_>, new: &Opened<'_>, changes: &mut Vec<Change>) {
    for name in [MANIFEST, CHANGES].into_iter().chain(MAP) {
        let read = |opened: &Opened<'_>| {
            let bytes = opened.archive.member(name)?.read().into_owned();
            let value = serde_json::from_slice(&bytes);
            Some((value.unwrap_or_else(|_| json!(String::from_utf8_lossy(&bytes))), bytes))
        };
        let (old, new) = (read(old), read(new));
        if old == new {
            continue;
        }
        let (old, new) = (old.map(|(value, _)| value), new.map(|(value, _)| value));
        let before = changes.len();
        differ("", old.as_ref(), new.as_ref(), &mut |at, old, new| {
            let (group, at) = placed(name, at);
            changes.push(Change { group, at, old: old.cloned(), new: new.cloned() });
        });
        if changes.len() == before {
            // The same document in another spelling.
            let (group, at) = placed(name, "");
            let spelled = |words: &str| Some(json!(words));
            changes.push(Change { group, at, old: spelled("spelled one way"), new: spelled("another") });
        }
    }
}

/// Which group a field of a member belongs to, and what people call it.
fn placed(name: &str, at: &str) -> (Group, String) {
    let below = |prefix: &str| at.strip_prefix(prefix).map(str::to_owned);
    let field = at.strip_prefix('/').unwrap_or(at).to_owned();
    match name {
        MANIFEST => match (below("/forge_pack/blocks/"), below("/deps/")) {
            (Some(entry), _) => (Group::Entries, entry),
            (_, Some(dep)) => (Group::Deps, dep),
            _ if at == "/deps" => (Group::Deps, "order".to_owned()),
            _ if at == "/forge_pack/blocks" => (Group::Entries, "order".to_owned()),
            _ if at.is_empty() => (Group::Manifest, MANIFEST.to_owned()),
            _ => (Group::Manifest, field),
        },
        CHANGES if at.is_empty() => (Group::Changes, CHANGES.to_owned()),
        CHANGES => (Group::Changes, field),
        _ => (Group::Map, format!("{name}{at}")),
    }
}

/// Takes a field and its two values.
type Tell<'t, 'v> = dyn FnMut(&str, Option<&'v Value>, Option<&'v Value>) + 't;

/// Tells each field whose values differ.
fn differ<'v>(at: &str, old: Option<&'v Value>, new: Option<&'v Value>, tell: &mut Tell<'_, 'v>) {
    match (old, new) {
        (Some(old), Some(new)) if same(old, new) => {}
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            let fields: BTreeMap<&String, ()> = old.keys().chain(new.keys()).map(|key| (key, ())).collect();
            for (field, ()) in fields {
                differ(&format!("{at}/{field}"), old.get(field), new.get(field), tell);
            }
        }
        (old, new) if is_list(old) && is_list(new) && (old.is_some() || new.is_some()) => {
            lists(at, old, new, tell);
        }
        (old, new) => tell(at, old, new),
    }
}

fn is_list(value: Option<&Value>) -> bool {
    value.is_none_or(Value::is_array)
}

fn lists<'v>(at: &str, old: Option<&'v Value>, new: Option<&'v Value>, tell: &mut Tell<'_, 'v>) {
    let items =
        |list: Option<&'v Value>| list.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let (before, after) = (items(old), items(new));
    if let (Some(before), Some(after)) = (keyed(before), keyed(after)) {
        let kept = |list: &[(String, &'v Value)], other: &[(String, &'v Value)]| -> Vec<String> {
            let in_other = |key: &String| other.iter().any(|(known, _)| known == key);
            list.iter().map(|(key, _)| key.clone()).filter(in_other).collect()
        };
        if kept(&before, &after) != kept(&after, &before) {
            tell(at, old, new);
            return;
        }
        let find = |list: &[(String, &'v Value)], key: &String| {
            list.iter().find(|(known, _)| known == key).map(|(_, value)| *value)
        };
        let gone = before.iter().filter(|(key, _)| find(&after, key).is_none());
        for (key, _) in gone.chain(&after) {
            differ(&format!("{at}/{key}"), find(&before, key), find(&after, key), tell);
        }
        return;
    }
    let objects = before.iter().chain(after).all(Value::is_object);
    if old.is_some() && new.is_some() && before.len() == after.len() && before.len() <= ITEMS && objects {
        for (index, (old, new)) in before.iter().zip(after).enumerate() {
            differ(&format!("{at}/{index}"), Some(old), Some(new), tell);
        }
        return;
    }
    tell(at, old, new);
}

/// The items with their keys; `None` where they have none, or two have the same.
fn keyed(items: &[Value]) -> Option<Vec<(String, &Value)>> {
    let text = |item: &Value, field: &str| item.get(field).and_then(Value::as_str).map(str::to_owned);
    let key = |item: &Value| {
        let tag = text(item, "group").zip(text(item, "tag")).map(|(group, tag)| format!("{group}:{tag}"));
        tag.or_else(|| ["id", "slug", "path", "field"].iter().find_map(|field| text(item, field)))
    };
    let keyed: Vec<(String, &Value)> =
        items.iter().map(|item| Some((key(item)?, item))).collect::<Option<_>>()?;
    let mut keys: Vec<&String> = keyed.iter().map(|(key, _)| key).collect();
    keys.sort();
    keys.is_sorted_by(|a, b| a < b).then_some(keyed)
}

/// Equal as readers see it: 4 is 4.0.
fn same(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Number(old), Value::Number(new)) => old == new || old.as_f64() == new.as_f64(),
        (Value::Array(old), Value::Array(new)) => {
            old.len() == new.len() && old.iter().zip(new).all(|(old, new)| same(old, new))
        }
        (Value::Object(old), Value::Object(new)) => {
            old.len() == new.len()
                && old.iter().all(|(key, value)| new.get(key).is_some_and(|other| same(value, other)))
        }
        _ => old == new,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(old: &Value, new: &Value) -> Vec<String> {
        let mut told = Vec::new();
        differ("", Some(old), Some(new), &mut |at, old, new| {
            let text = |value: Option<&Value>| value.map_or("none".to_owned(), Value::to_string);
            told.push(format!("{at}: {} > {}", text(old), text(new)));
        });
        told
    }

    #[test]
    fn items_are_matched_by_their_ids() {
        let old = json!({"blocks": [{"id": "a", "side": [1, 2]}, {"id": "b", "snap": 1}]});
        let new = json!({"blocks": [{"id": "c"}, {"id": "a", "side": [1.0, 2.5]}]});
        assert_eq!(
            told(&old, &new),
            [
                "/blocks/b: {\"id\":\"b\",\"snap\":1} > none",
                "/blocks/c: none > {\"id\":\"c\"}",
                "/blocks/a/side: [1,2] > [1.0,2.5]",
            ]
        );
        let turned = json!({"blocks": [{"id": "b", "snap": 1}, {"id": "a", "side": [1, 2]}]});
        assert_eq!(told(&old, &turned).len(), 1, "order is one change");
        assert_eq!(told(&old, &json!({}))[0], "/blocks/a: {\"id\":\"a\",\"side\":[1,2]} > none");
    }

    #[test]
    fn items_without_ids_are_matched_by_place_or_told_as_one() {
        let (old, new) = (json!([{"x": 1}, {"x": 2}]), json!([{"x": 1}, {"x": 3}]));
        assert_eq!(told(&old, &new), ["/1/x: 2 > 3"]);
        assert_eq!(
            told(&old, &json!([{"x": 1}])),
            ["[{\"x\":1},{\"x\":2}] > [{\"x\":1}]"].map(|text| format!(": {text}"))
        );
        assert_eq!(told(&json!([{"id": "a"}, {"id": "a"}]), &json!([{"id": "a"}])).len(), 1);
        assert_eq!(told(&json!(4), &json!(4.0)), [""; 0]);
    }
}
