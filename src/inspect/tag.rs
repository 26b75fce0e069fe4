//! Blam tags: the fields of the root, or the field that a path leads to; as JSON all that is below.

use blam::{EditError, Elements, Field, FourCc, Group, Tag, Value};
use serde_json::json;

use super::Shown;
use crate::count::{count, size};
use crate::fail::Fail;

/// How many oddities are named.
const WARNINGS: usize = 100;

/// The tag in `bytes`, or the field of it that `path` names.
pub(super) fn file(name: &str, bytes: &[u8], path: &[&str]) -> Result<Shown, Fail> {
    let broken =
        |error: &dyn std::fmt::Display| Fail::usage(format!("`{name}` is no tag that can be read: {error}"));
    let tag = Tag::read(bytes).map_err(|error| broken(&error))?;
    match path {
        [] => whole(name, &tag).map_err(|error| broken(&error)),
        [path] => {
            let field =
                tag.field(path).map_err(|error: EditError| Fail::usage(format!("`{name}`: {error}")))?;
            one(&field).map_err(|error| broken(&error))
        }
        [_, more, ..] => Err(Fail::usage(format!("a field is a single thing: there is no `{more}` in it"))),
    }
}

fn whole(name: &str, tag: &Tag<'_>) -> Result<Shown, Box<dyn std::error::Error>> {
    let header = tag.header();
    let group = Group::of(header.group).map_or("unknown group", |group| group.name);
    let references = tag.references()?;
    let warnings: Vec<String> = tag.warnings(WARNINGS)?.iter().map(ToString::to_string).collect();
    let mut text = format!(
        "{name}: tag of {group} (`{}` {}), {}, {}\n",
        header.group,
        header.group_version,
        count(references.len(), "reference"),
        size(tag.len()),
    );
    for field in tag.root()?.fields() {
        text += &line(&field?)?;
    }
    for reference in &references {
        text += &format!("  refers to {}:{}\n", reference.group, reference.path);
    }
    for warning in &warnings {
        text += &format!("  odd: {warning}\n");
    }
    let mut json = serde_json::to_value(tag)?;
    json["schema"] = json!(1);
    json["size"] = json!(tag.len());
    json["warnings"] = json!(warnings);
    Ok(Shown { text, json })
}

fn one(field: &Field<'_, '_>) -> Result<Shown, Box<dyn std::error::Error>> {
    let mut text = line(field)?;
    let elements = match field.value()? {
        Value::Struct(Some(inner)) => {
            for field in inner.fields() {
                text += &line(&field?)?;
            }
            None
        }
        Value::Block(Some(block)) => Some(block.elements()),
        Value::Array(elements) => Some(elements),
        _ => None,
    };
    for (index, element) in elements.into_iter().flatten().enumerate() {
        text += &format!("  [{index}]\n");
        for field in element?.fields() {
            text += &format!("  {}", line(&field?)?);
        }
    }
    let mut json = serde_json::to_value(field)?;
    json["schema"] = json!(1);
    Ok(Shown { text, json })
}

/// Name, type, and the value where it is short.
fn line(field: &Field<'_, '_>) -> Result<String, Box<dyn std::error::Error>> {
    let elements = |elements: &Elements<'_, '_>| count(elements.n_left(), "element");
    let value = match field.value()? {
        Value::Struct(None) | Value::Block(None) | Value::Data(None) | Value::Resource(None) => {
            "default".to_owned()
        }
        Value::Struct(Some(inner)) => inner.name().to_owned(),
        Value::Block(Some(block)) => elements(&block.elements()),
        Value::Array(array) => elements(&array),
        Value::Data(Some(bytes)) => size(bytes.len() as u64),
        Value::Resource(Some(resource)) => size(resource.body.len() as u64),
        Value::Enum { raw, option } => option.map_or_else(|| raw.to_string(), str::to_owned),
        Value::Flags { set, .. } if set.is_empty() => "none".to_owned(),
        Value::Flags { set, .. } => set.join(" | "),
        Value::BlockFlags(raw) => format!("{raw:#x}"),
        Value::Tag(group) => group.as_ref().map_or("none".to_owned(), FourCc::to_string),
        Value::Reference(None) => "none".to_owned(),
        Value::Reference(Some(reference)) => format!("{}:{}", reference.group, reference.path),
        other => serde_json::to_string(&other)?,
    };
    Ok(format!("  {}  {}  {value}\n", field.name(), field.type_name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is expected of tags is shown under the same names.
    #[test]
    fn expectations_are_shown_under_their_names() {
        let Some(folder) = test_support::conformance("blam-tag") else { return };
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "tag") {
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            let name = path.display().to_string();
            let shown = file(&name, &bytes, &[]).unwrap();
            let Ok(expected) = std::fs::read(path.with_extension("json")) else { continue };
            let expected: serde_json::Value = serde_json::from_slice(&expected).unwrap();
            for (key, value) in expected.as_object().unwrap() {
                assert_eq!(&shown.json[key], value, "{name}: {key}");
            }
            // Each field by itself as well.
            for field in expected["root"].as_array().unwrap() {
                let field_name = field["name"].as_str().unwrap();
                let one = file(&name, &bytes, &[field_name]).unwrap();
                assert_eq!(one.json["type"], field["type"], "{name}: {field_name}");
                assert!(shown.text.contains(one.text.lines().next().unwrap()), "{name}: {field_name}");
            }
        }
    }
}
