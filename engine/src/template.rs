//! `{name}` in the strings of a recipe: replaced by a value before a rule sees them.
//!
//! A string that is nothing but one `{name}` becomes that value with its type; inside a longer string a
//! text or a number is inserted. `{{` and `}}` stand for braces.

use serde_json::Value;

use crate::params::Segment;

/// What a name stands for.
pub enum Lookup<'a> {
    /// This value.
    Is(&'a Value),
    /// It is replaced later: left as it is, escapes too.
    Later,
    /// It is not known; the text says which names are.
    Unknown(String),
}

/// A string in which something could not be replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateError {
    /// Where the string stands.
    pub path: Vec<Segment>,
    /// What is wrong.
    pub message: String,
}

/// Replaces all names in all strings of `value`. With `again`, escapes are kept for a later pass.
pub fn expand<'a>(
    value: &Value,
    again: bool,
    lookup: &dyn Fn(&str) -> Lookup<'a>,
) -> Result<Value, Vec<TemplateError>> {
    let mut errors = Vec::new();
    let expanded = walk(value, again, lookup, &mut Vec::new(), &mut errors);
    if errors.is_empty() { Ok(expanded) } else { Err(errors) }
}

/// Replaces all names in one string, giving a string.
pub fn expand_text<'a>(
    text: &str,
    again: bool,
    lookup: &dyn Fn(&str) -> Lookup<'a>,
) -> Result<String, String> {
    match string(text, again, lookup)? {
        Value::String(text) => Ok(text),
        other => plain(&other).ok_or_else(|| format!("`{text}` stands for {other}, not for a text")),
    }
}

/// The value below `value` that `path` (`a.b.c`) names.
pub fn member<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, key| value.get(key))
}

fn walk<'a>(
    value: &Value,
    again: bool,
    lookup: &dyn Fn(&str) -> Lookup<'a>,
    path: &mut Vec<Segment>,
    errors: &mut Vec<TemplateError>,
) -> Value {
    match value {
        Value::String(text) => string(text, again, lookup).unwrap_or_else(|message| {
            errors.push(TemplateError { path: path.clone(), message });
            Value::Null
        }),
        Value::Array(items) => {
            let each = items.iter().enumerate().map(|(index, item)| {
                path.push(Segment::Index(index));
                let item = walk(item, again, lookup, path, errors);
                path.pop();
                item
            });
            each.collect()
        }
        Value::Object(table) => {
            let each = table.iter().map(|(key, item)| {
                path.push(Segment::Key(key.clone()));
                let item = walk(item, again, lookup, path, errors);
                path.pop();
                (key.clone(), item)
            });
            each.collect()
        }
        other => other.clone(),
    }
}

fn string<'a>(text: &str, again: bool, lookup: &dyn Fn(&str) -> Lookup<'a>) -> Result<Value, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, tail) = rest.split_at(at);
        out += before;
        if let Some(after) = tail.strip_prefix("{{").or_else(|| tail.strip_prefix("}}")) {
            out += &tail[..if again { 2 } else { 1 }];
            rest = after;
            continue;
        }
        let Some((name, after)) = tail.strip_prefix('{').and_then(|inner| inner.split_once('}')) else {
            return Err(format!("a brace of `{text}` has no partner (`{{{{` and `}}}}` stand for braces)"));
        };
        match lookup(name.trim()) {
            Lookup::Is(value) if before.is_empty() && out.is_empty() && after.is_empty() => {
                return Ok(value.clone());
            }
            Lookup::Is(value) => match plain(value) {
                Some(text) => out += &text,
                None => {
                    return Err(format!("`{{{name}}}` stands for {value}, which cannot be part of a text"));
                }
            },
            Lookup::Later => out += &tail[..tail.len() - after.len()],
            Lookup::Unknown(known) => return Err(format!("unknown name `{{{name}}}`, {known}")),
        }
        rest = after;
    }
    Ok(Value::String(out + rest))
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn try_expand(value: Value, again: bool) -> Result<Value, Vec<TemplateError>> {
        let known = json!({"id": "foundry", "n": 3, "list": [1, 2]});
        expand(&value, again, &|name| match name.strip_prefix("item.") {
            Some(_) => Lookup::Later,
            None => member(&known, name).map_or(Lookup::Unknown("known: id, n, list".into()), Lookup::Is),
        })
    }

    #[test]
    fn names_become_values() {
        let found = try_expand(json!({"a": "x/{id}-{n}", "b": "{list}", "c": ["{n}"]}), false);
        assert_eq!(found.unwrap(), json!({"a": "x/foundry-3", "b": [1, 2], "c": [3]}));
        assert_eq!(try_expand(json!("{{id}}"), false).unwrap(), json!("{id}"));
        assert_eq!(try_expand(json!("{{{id}}}"), false).unwrap(), json!("{foundry}"));
    }

    #[test]
    fn what_comes_later_is_left_alone() {
        let found = try_expand(json!("{id}/{item.name}/{{x}}"), true).unwrap();
        assert_eq!(found, json!("foundry/{item.name}/{{x}}"));
    }

    #[test]
    fn all_mistakes_are_found_with_their_places() {
        let errors = try_expand(json!({"a": ["{nope}", "{id"], "b": "x{list}"}), false).unwrap_err();
        let found: Vec<String> = errors.iter().map(|e| crate::params::display_path(&e.path)).collect();
        assert_eq!(found, ["a[0]", "a[1]", "b"]);
    }
}
