//! `bake diff`: what differs between two archives, in the words of those who made them.

use release::compare::{Change, Group};
use release::{Opened, compare};
use serde_json::{Value, json};

use crate::archives;
use crate::cli::Diff;
use crate::count::{count, size};
use crate::fail::Fail;
use crate::shell::Shell;

/// Longer values are cut for people.
const SHOWN: usize = 60;

pub(crate) fn run(args: &Diff, shell: &Shell) -> Result<(), Fail> {
    let (old_bytes, new_bytes) = (archives::bytes(&args.old)?, archives::bytes(&args.new)?);
    let (old, new) = (archives::open(&args.old, &old_bytes)?, archives::open(&args.new, &new_bytes)?);
    let changes = compare(&old, &new);
    if args.json {
        let side = |path: &std::path::Path, opened: &Opened<'_>| {
            json!({
                "file": path.to_string_lossy(),
                "slug": opened.slug,
                "version": opened.manifest.version.to_string(),
            })
        };
        let change = |change: &Change| {
            json!({
                "group": change.group.word(),
                "kind": kind(change).0,
                "at": change.at,
                "old": change.old,
                "new": change.new,
            })
        };
        shell.json(&json!({
            "schema": 1,
            "old": side(&args.old, &old),
            "new": side(&args.new, &new),
            "changes": changes.iter().map(change).collect::<Vec<_>>(),
        }));
        return Ok(());
    }
    let called = |opened: &Opened<'_>| {
        let name = opened.slug.as_deref().unwrap_or(&opened.manifest.name);
        format!("{name} {}", opened.manifest.version)
    };
    let told = match changes.len() {
        0 => "no difference".to_owned(),
        n => count(n, "difference"),
    };
    let mut text = format!("{} -> {}: {told}\n", called(&old), called(&new));
    let mut group = None;
    for change in &changes {
        if group.replace(change.group) != Some(change.group) {
            text += &format!("{}\n", change.group.word());
        }
        text += &format!("  {} {}{}\n", kind(change).1, change.at, values(change));
    }
    shell.data(&text);
    Ok(())
}

fn kind(change: &Change) -> (&'static str, char) {
    match (&change.old, &change.new) {
        (None, _) => ("added", '+'),
        (_, None) => ("removed", '-'),
        _ => ("changed", '~'),
    }
}

/// What was there and is there now, as short as it can be said.
fn values(change: &Change) -> String {
    let parts = |value: &Option<Value>| value.as_ref().and_then(Value::as_object).cloned();
    match (change.group, parts(&change.old), parts(&change.new)) {
        // Of a thing with parts, those that differ.
        (Group::Packages | Group::Chunks | Group::Members | Group::Containers, Some(old), Some(new)) => {
            let names = old.keys().chain(new.keys().filter(|name| !old.contains_key(*name)));
            let parts: Vec<String> = names
                .filter(|name| old.get(*name) != new.get(*name))
                .filter_map(|name| part(name, old.get(name), new.get(name)))
                .collect();
            if parts.is_empty() { String::new() } else { format!("  {}", parts.join(", ")) }
        }
        _ => match (&change.old, &change.new) {
            (Some(old), Some(new)) => format!("  {} -> {}", shown(old), shown(new)),
            (Some(value), None) | (None, Some(value)) if !value.is_object() => format!("  {}", shown(value)),
            _ => String::new(),
        },
    }
}

/// `exports 1.0 KiB -> 1.1 KiB`; digests say nothing to people beside a size.
fn part(name: &str, old: Option<&Value>, new: Option<&Value>) -> Option<String> {
    let bytes = |value: &Value| {
        let number = if name == "size" { value.as_u64() } else { value.get("size").and_then(Value::as_u64) };
        number.map_or_else(|| shown(value), size)
    };
    match (old, new) {
        _ if matches!(name, "sha256" | "hash") => None,
        (Some(old), Some(new)) if bytes(old) == bytes(new) => {
            Some(format!("{name} ({}) changed", bytes(new)))
        }
        (Some(old), Some(new)) => Some(format!("{name} {} -> {}", bytes(old), bytes(new))),
        (Some(_), None) => Some(format!("{name} gone")),
        (None, Some(new)) => Some(format!("{name} {} new", bytes(new))),
        (None, None) => None,
    }
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text,
    }
}
