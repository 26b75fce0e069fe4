//! The schema for editors, held against recipes by a validator that knows every word it uses, and refuses any
//! other: editors must not see more in it than the test does.

use serde_json::{Value, json};

use super::catalogue;
use crate::{recipe_schema, settings_schema};

fn accepts(schema: &Value, text: &str) -> bool {
    let (document, errors) = crate::document::Document::parse("recipe.toml", text);
    assert_eq!(errors, []);
    valid(schema, schema, &document.value)
}

fn valid(root: &Value, schema: &Value, value: &Value) -> bool {
    let Some(schema) = schema.as_object() else { return schema == &json!(true) };
    let check = |schema: &Value, value: &Value| valid(root, schema, value);
    let list = |value: &Value| value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
    let table = value.as_object();
    schema.iter().all(|(word, rule)| match word.as_str() {
        "$schema" | "$defs" | "title" | "description" | "default" | "format" | "then" | "x-claim" => true,
        "$ref" => check(root.pointer(&rule.as_str().unwrap()[1..]).expect("a definition"), value),
        "type" => list(rule).iter().any(|name| match name.as_str().unwrap() {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            "null" => value.is_null(),
            other => panic!("type {other}"),
        }),
        "properties" => table
            .into_iter()
            .flatten()
            .all(|(key, value)| rule.get(key).is_none_or(|rule| check(rule, value))),
        "required" => {
            table.is_none_or(|table| list(rule).iter().all(|key| table.contains_key(key.as_str().unwrap())))
        }
        "additionalProperties" => {
            let known = |key: &str| schema.get("properties").is_some_and(|known| known.get(key).is_some());
            table.into_iter().flatten().all(|(key, value)| known(key) || check(rule, value))
        }
        "items" => value.as_array().into_iter().flatten().all(|value| check(rule, value)),
        "allOf" => list(rule).iter().all(|rule| check(rule, value)),
        "anyOf" => list(rule).iter().any(|rule| check(rule, value)),
        "oneOf" => list(rule).iter().filter(|rule| check(rule, value)).count() == 1,
        "if" => !check(rule, value) || check(&schema["then"], value),
        "const" => value == rule,
        "enum" => list(rule).contains(value),
        "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().unwrap()),
        "maximum" => value.as_f64().is_none_or(|number| number <= rule.as_f64().unwrap()),
        "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= rule.as_u64().unwrap()),
        "minLength" => value.as_str().is_none_or(|text| text.len() as u64 >= rule.as_u64().unwrap()),
        "pattern" => {
            assert_eq!(rule, "\\{[^}]+\\}");
            value
                .as_str()
                .is_none_or(|text| text.split_once('{').is_some_and(|(_, rest)| rest.find('}') > Some(0)))
        }
        other => panic!("the test knows no {other}"),
    })
}

const PACK: &str = "schema = 1\npipeline = \"forge-pack\"\n[release]\nname = \"P\"\nversion = \"1.0.0\"\n\
                    [[values.donors]]\nname = \"T\"\npackage = \"/Game/T\"\n";

#[test]
fn right_recipes_are_accepted() {
    let schema = recipe_schema(&catalogue());
    let shipped = include_str!("../../../forge-packs/foundry/recipe.toml");
    let step = "[[step]]\nname = \"a\"\nrule = \"cook-texture\"\ninputs.image = \"x.png\"\n";
    for good in [
        PACK.to_owned(),
        shipped.to_owned(),
        format!("schema = 1\n{step}params.format = \"bc7\"\n"),
        format!("schema = 1\n{step}params = {{ format = \"{{values.f}}\", mips = \"{{values.mips}}\" }}\n"),
        format!("{PACK}[[step]]\nname = \"pack\"\nparams.name = \"x\"\n"),
    ] {
        assert!(accepts(&schema, &good), "{good}");
    }
}

#[test]
fn wrong_recipes_are_refused() {
    let schema = recipe_schema(&catalogue());
    let step = "schema = 1\n[[step]]\nname = \"a\"\nrule = \"cook-texture\"\n";
    for bad in [
        "pipeline = \"forge-pack\"\n".to_owned(),
        "schema = 2\n".to_owned(),
        "schema = 1\npipeline = \"forge-pack\"\n".to_owned(),
        format!("{PACK}[values]\n").replace("[[values.donors]]\nname = \"T\"\npackage = \"/Game/T\"\n", ""),
        format!("unknown = 1\n{PACK}"),
        PACK.replace("package =", "pakage ="),
        PACK.replace("[[values.donors]]", "[values]\nchnk = 7\n[[values.donors]]"),
        "schema = 1\n[[step]]\nrule = \"manifest\"\n".to_owned(),
        "schema = 1\n[[step]]\nname = \"a\"\nrule = \"nothing\"\n".to_owned(),
        step.to_owned(),
        format!("{step}inputs.image = \"x\"\nparams.formt = \"bc7\"\n"),
        format!("{step}inputs.image = \"x\"\nparams.format = \"bc71\"\n"),
        format!("{step}inputs.image = \"x\"\nparams = {{ format = \"bc7\", mips = {{ filter = 1 }} }}\n"),
        format!("{step}inputs.imge = \"x\"\nparams.format = \"bc7\"\n"),
        format!("{step}inputs.image = 7\nparams.format = \"bc7\"\n"),
    ] {
        assert!(!accepts(&schema, &bad), "{bad}");
    }
}

#[test]
fn settings_have_a_schema_too() {
    let schema = settings_schema();
    assert!(accepts(&schema, include_str!("../../../bake.toml")));
    assert!(!accepts(&schema, "schema = 1\n[gme]\npath = \"x\"\n"));
    assert_eq!(schema["properties"]["game"]["description"], json!("The game's folder `Paks`."));
}
