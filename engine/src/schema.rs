//! JSON schemas of parameters: made from types, and used to find all mistakes of a table at once.
//!
//! serde stops at the first mistake; people want all of them, with what is allowed. The checker knows the
//! part of JSON Schema that `schemars` makes from our types, and it is the same schema that editors get.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::params::{ParamError, Params, Segment};

/// The schema of a type.
pub fn of<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().to_value()
}

/// All mistakes of `value` against `schema`. Strings that hold `{item…}` are taken as right: their value
/// is known later.
pub fn check(schema: &Value, value: &Value) -> Vec<ParamError> {
    let mut checker = Checker { root: schema, errors: Vec::new(), path: Vec::new() };
    checker.check(schema, value);
    checker.errors
}

/// Whether a string of `value` holds `{item…}`.
pub fn has_item(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("{item"),
        Value::Array(items) => items.iter().any(has_item),
        Value::Object(table) => table.values().any(has_item),
        _ => false,
    }
}

/// The known name that `found` is most likely a slip of.
pub fn did_you_mean<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distance = |name: &str| strsim::damerau_levenshtein(found, name);
    let best = known.into_iter().min_by_key(|name| distance(name))?;
    (distance(best) <= 1 + best.len() / 4).then_some(best)
}

/// Parameters without what is wrong with them. Items of lists keep their places.
pub(crate) fn without(mut value: Value, errors: &[ParamError]) -> Params {
    for error in errors.iter().filter(|error| missing(error).is_none()) {
        let Some((last, parents)) = error.path.split_last() else { continue };
        let parent = parents.iter().try_fold(&mut value, |value, segment| match segment {
            Segment::Key(key) => value.get_mut(key),
            Segment::Index(index) => value.get_mut(index),
        });
        match (parent, last) {
            (Some(Value::Object(table)), Segment::Key(key)) => drop(table.remove(key)),
            (Some(Value::Array(items)), Segment::Index(index)) => {
                items.get_mut(*index).into_iter().for_each(|item| *item = Value::Null);
            }
            _ => {}
        }
    }
    Params::new(value.as_object().cloned().unwrap_or_default())
}

/// Whether a mistake is about what one of `known` is about.
pub(crate) fn is_told(known: &[ParamError], error: &ParamError) -> bool {
    known.iter().any(|known| match missing(known) {
        Some(name) => {
            let path = error.path.split_last();
            path.is_some_and(|(last, table)| *last == Segment::Key(name.to_owned()) && *table == known.path)
        }
        None => known.path.starts_with(&error.path) || error.path.starts_with(&known.path),
    })
}

/// The parameter that a mistake says is missing from the table at its path.
pub fn missing(error: &ParamError) -> Option<&str> {
    error.message.strip_prefix(MISSING)?.strip_suffix('`')
}

const MISSING: &str = "missing parameter `";

struct Checker<'a> {
    root: &'a Value,
    errors: Vec<ParamError>,
    path: Vec<Segment>,
}

impl Checker<'_> {
    fn check(&mut self, schema: &Value, value: &Value) {
        if has_item(value) && value.is_string() {
            return;
        }
        if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
            let target = target.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
            if let Some(target) = target {
                self.check(&target.clone(), value);
            }
        }
        for all in list(schema, "allOf") {
            self.check(all, value);
        }
        for key in ["oneOf", "anyOf"] {
            self.check_branches(list(schema, key), value);
        }
        if let Some(constant) = schema.get("const") {
            self.expect(value == constant, value, &constant.to_string());
        }
        let allowed = list(schema, "enum");
        if !allowed.is_empty() && !allowed.contains(value) {
            self.wrong_choice(value, allowed);
            return;
        }
        if !self.type_fits(schema, value) {
            return;
        }
        match value {
            Value::Object(table) => self.check_table(schema, table),
            Value::Array(items) => self.check_list(schema, items),
            Value::Number(number) => self.check_range(schema, number.as_f64().unwrap_or(f64::NAN), value),
            Value::String(text) => {
                let length = text.encode_utf16().count() as f64;
                self.check_bound(
                    schema,
                    "minLength",
                    value,
                    |bound| length >= bound,
                    "at least",
                    "characters",
                );
                self.check_bound(
                    schema,
                    "maxLength",
                    value,
                    |bound| length <= bound,
                    "at most",
                    "characters",
                );
            }
            _ => {}
        }
    }

    fn check_branches(&mut self, branches: &[Value], value: &Value) {
        let attempt = |branch: &Value| {
            let mut checker = Checker { root: self.root, errors: Vec::new(), path: self.path.clone() };
            checker.check(branch, value);
            checker.errors
        };
        let attempts: Vec<_> = branches.iter().map(attempt).collect();
        if branches.is_empty() || attempts.iter().any(Vec::is_empty) {
            return;
        }
        let choices = |branch: &Value| match branch.get("const") {
            Some(constant) => vec![constant.clone()],
            None => list(branch, "enum").to_vec(),
        };
        if branches.iter().all(|branch| !choices(branch).is_empty()) {
            let all: Vec<Value> = branches.iter().flat_map(choices).collect();
            self.wrong_choice(value, &all);
            return;
        }
        // The branch that got deepest is the one that was meant, of equal ones the first: that something may be
        // left out (`null`) comes last.
        let depth = |error: &ParamError| error.path.len() + usize::from(missing(error).is_some());
        let deepest = |errors: &Vec<ParamError>| errors.iter().map(depth).max();
        let fewest = |errors: &Vec<ParamError>| std::cmp::Reverse(errors.len());
        let best = attempts.into_iter().rev().max_by_key(|errors| (deepest(errors), fewest(errors)));
        self.errors.extend(best.unwrap_or_default());
    }

    fn wrong_choice(&mut self, value: &Value, allowed: &[Value]) {
        let texts: Vec<String> = allowed.iter().map(Value::to_string).collect();
        let known = allowed.iter().filter_map(Value::as_str);
        let hint = value.as_str().and_then(|found| did_you_mean(found, known));
        self.push(ParamError {
            expected: Some(format!("expected one of: {}", texts.join(", "))),
            hint: hint.map(|name| format!("did you mean `{name}`?")),
            ..ParamError::new(self.path.clone(), format!("{value} is not allowed here"))
        });
    }

    fn type_fits(&mut self, schema: &Value, value: &Value) -> bool {
        let types: Vec<&str> = match schema.get("type") {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
            _ => return true,
        };
        let fits = types.iter().any(|wanted| match *wanted {
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            _ => value.is_null(),
        });
        let names: Vec<&str> =
            types.iter().filter(|name| **name != "null").map(|name| type_name(name)).collect();
        self.expect(fits, value, &names.join(" or "));
        fits
    }

    fn check_table(&mut self, schema: &Value, table: &serde_json::Map<String, Value>) {
        let properties = schema.get("properties").and_then(Value::as_object);
        let known = || properties.into_iter().flat_map(|properties| properties.keys().map(String::as_str));
        let others = schema.get("additionalProperties");
        for (key, item) in table {
            self.path.push(Segment::Key(key.clone()));
            match (properties.and_then(|properties| properties.get(key)), others) {
                (Some(schema), _) => self.check(schema, item),
                (None, Some(Value::Bool(false))) => {
                    let names: Vec<&str> = known().collect();
                    self.push(ParamError {
                        expected: Some(match names.is_empty() {
                            true => "nothing is allowed here".to_owned(),
                            false => format!("expected one of: {}", names.join(", ")),
                        }),
                        hint: did_you_mean(key, known()).map(|name| format!("did you mean `{name}`?")),
                        at_key: true,
                        ..ParamError::new(self.path.clone(), format!("unknown parameter `{key}`"))
                    });
                }
                (None, Some(schema)) => self.check(schema, item),
                (None, None) => {}
            }
            self.path.pop();
        }
        for missing in list(schema, "required").iter().filter_map(Value::as_str) {
            if !table.contains_key(missing) {
                let property = properties.and_then(|properties| properties.get(missing));
                let doc = property.and_then(|property| property.get("description")).and_then(Value::as_str);
                self.push(ParamError {
                    expected: doc.map(|doc| format!("`{missing}`: {doc}")),
                    at_key: true,
                    ..ParamError::new(self.path.clone(), format!("{MISSING}{missing}`"))
                });
            }
        }
    }

    fn check_list(&mut self, schema: &Value, items: &[Value]) {
        let value = Value::from(items.len());
        let count = items.len() as f64;
        self.check_bound(schema, "minItems", &value, |bound| count >= bound, "at least", "items");
        self.check_bound(schema, "maxItems", &value, |bound| count <= bound, "at most", "items");
        let each = schema.get("items");
        for (index, item) in items.iter().enumerate() {
            let place = list(schema, "prefixItems").get(index).or(each);
            self.path.push(Segment::Index(index));
            if let Some(schema) = place {
                self.check(schema, item);
            }
            self.path.pop();
        }
    }

    fn check_range(&mut self, schema: &Value, number: f64, value: &Value) {
        self.check_bound(schema, "minimum", value, |bound| number >= bound, "at least", "");
        self.check_bound(schema, "maximum", value, |bound| number <= bound, "at most", "");
        self.check_bound(schema, "exclusiveMinimum", value, |bound| number > bound, "more than", "");
        self.check_bound(schema, "exclusiveMaximum", value, |bound| number < bound, "less than", "");
    }

    fn check_bound(
        &mut self,
        schema: &Value,
        key: &str,
        found: &Value,
        holds: impl Fn(f64) -> bool,
        words: &str,
        unit: &str,
    ) {
        let Some(bound) = schema.get(key) else { return };
        if !bound.as_f64().is_none_or(holds) {
            let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
            self.push(ParamError {
                expected: Some(format!("expected {words} {bound}{unit}")),
                ..ParamError::new(self.path.clone(), format!("{found} is out of range"))
            });
        }
    }

    fn expect(&mut self, fits: bool, found: &Value, expected: &str) {
        if !fits {
            self.push(ParamError {
                expected: Some(format!("expected {expected}")),
                ..ParamError::new(self.path.clone(), format!("found {}", brief(found)))
            });
        }
    }

    fn push(&mut self, error: ParamError) {
        self.errors.push(error);
    }
}

fn list<'a>(schema: &'a Value, key: &str) -> &'a [Value] {
    schema.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn type_name(name: &str) -> &str {
    match name {
        "integer" => "a whole number",
        "number" => "a number",
        "string" => "a text",
        "boolean" => "true or false",
        "array" => "a list",
        _ => "a table",
    }
}

fn brief(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("a list of {} items", items.len()),
        Value::Object(_) => "a table".to_owned(),
        Value::String(text) if text.chars().count() > 40 => "a text".to_owned(),
        Value::String(_) => format!("the text {value}"),
        Value::Number(_) => format!("the number {value}"),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::display_path;
    use serde_json::json;

    #[allow(dead_code, reason = "only the schema is used")]
    #[derive(schemars::JsonSchema, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Texture {
        /// Block format.
        format: Format,
        #[serde(default)]
        srgb: bool,
        mips: Option<Mips>,
        #[schemars(range(min = 1, max = 9))]
        levels: Option<u8>,
    }

    #[allow(dead_code, reason = "only the schema is used")]
    #[derive(schemars::JsonSchema, serde::Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Format {
        Bc1,
        /// With alpha.
        Bc7,
    }

    #[allow(dead_code, reason = "only the schema is used")]
    #[derive(schemars::JsonSchema, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Mips {
        filter: String,
        sizes: Vec<u32>,
    }

    fn errors(value: Value) -> Vec<String> {
        let show = |error: ParamError| {
            let more = error.expected.into_iter().chain(error.hint).collect::<Vec<_>>().join("; ");
            format!("{}: {} ({more})", display_path(&error.path), error.message)
        };
        check(&of::<Texture>(), &value).into_iter().map(show).collect()
    }

    #[test]
    fn what_is_right_is_accepted() {
        for good in [
            json!({"format": "bc7"}),
            json!({"format": "bc1", "srgb": true, "mips": {"filter": "box", "sizes": [1, 2]}, "levels": 9}),
            json!({"format": "{item.format}", "srgb": "{item.srgb}"}),
            json!({"format": "bc1", "mips": null}),
        ] {
            assert_eq!(errors(good.clone()), Vec::<String>::new(), "{good}");
        }
    }

    #[test]
    fn what_is_wrong_hides_nothing_else() {
        let value = json!({"srgb": 1, "mips": {"filter": "box", "sizes": [1, "x"]}, "levels": 3});
        let wrong = check(&of::<Texture>(), &value);
        let rest = without(value, &wrong);
        assert_eq!(rest.to_value(), json!({"mips": {"filter": "box", "sizes": [1, null]}, "levels": 3}));
        let told = |path: &[&str]| {
            let path = path.iter().map(|name| match name.parse() {
                Ok(index) => Segment::Index(index),
                Err(_) => Segment::Key((*name).to_owned()),
            });
            is_told(&wrong, &ParamError::new(path.collect(), "also wrong"))
        };
        assert!(told(&["srgb"]) && told(&["mips", "sizes"]) && told(&["mips", "sizes", "1", "x"]));
        // `format` is missing: that is told, and nothing of its table but that.
        assert!(told(&["format"]));
        assert!(!told(&["levels"]) && !told(&["mips", "filter"]) && !told(&["mips", "sizes", "0"]));
    }

    /// Of what may be left out, too, what is missing in it is said, not that it could be left out.
    #[test]
    fn mistakes_in_what_may_be_left_out_are_precise() {
        let found = |mips: Value| errors(json!({"format": "bc1", "mips": mips})).join("\n");
        assert_eq!(found(json!({"filter": "box"})), "mips: missing parameter `sizes` ()");
        assert_eq!(found(json!(3)), "mips: found the number 3 (expected a table)");
    }

    #[test]
    fn all_mistakes_are_found_at_once() {
        let found = errors(json!({
            "formt": "bc7", "srgb": 1, "levels": 12, "mips": {"filter": 2, "sizes": ["x"]}
        }));
        insta::assert_snapshot!(found.join("\n"), @r#"
        formt: unknown parameter `formt` (expected one of: format, levels, mips, srgb; did you mean `format`?)
        levels: 12 is out of range (expected at most 9)
        mips.filter: found the number 2 (expected a text)
        mips.sizes[0]: found the text "x" (expected a whole number)
        srgb: found the number 1 (expected true or false)
        : missing parameter `format` (`format`: Block format.)
        "#);
        let found = errors(json!({"format": "bc77"}));
        insta::assert_snapshot!(found.join("\n"), @r#"format: "bc77" is not allowed here (expected one of: "bc1", "bc7"; did you mean `bc7`?)"#);
    }
}
