//! The schema that editors complete recipes from: the form of a recipe, with every rule's parameters and
//! inputs, and every pipeline's values.
//!
//! Texts that hold `{name}` are accepted for values of any type: what they stand for is checked when the
//! recipe is planned.

use engine::{Catalogue, Rule, schema};
use serde_json::{Map, Value, json};

use crate::form::{RecipeForm, SettingsForm};
use crate::pipeline::Pipelines;

/// The schema of a recipe.
pub fn recipe_schema(catalogue: &Catalogue) -> Value {
    let mut root = schema::of::<RecipeForm>();
    let mut definitions = root["$defs"].take();
    definitions["Template"] = json!({"type": "string", "pattern": "\\{[^}]+\\}"});
    let mut rules = Vec::new();
    for rule in catalogue.iter() {
        let name = rule.id().name.into_owned();
        let mut params = rule.schema().clone();
        let own = params.as_object_mut().and_then(|params| params.remove("$defs"));
        for (inner, mut definition) in own.into_iter().flat_map(into_table) {
            adapt(&mut definition, &name);
            definitions[format!("{name}.{inner}")] = definition;
        }
        adapt(&mut params, &name);
        if let Some(params) = params.as_object_mut() {
            params.remove("$schema");
            params.remove("title");
        }
        definitions[&name] = params;
        rules.push(json!({
            "if": {"properties": {"rule": {"const": name}}, "required": ["rule"]},
            "then": {
                "properties": {"params": {"$ref": format!("#/$defs/{name}")}, "inputs": inputs(rule)},
                "required": needed(rule),
            },
        }));
    }
    let choices = catalogue.iter().map(|rule| json!({"const": rule.id().name, "description": rule.doc()}));
    definitions["StepForm"]["properties"]["rule"] = json!({
        "description": "The rule; absent to change the inputs and parameters of a step of the pipeline.",
        "oneOf": choices.collect::<Vec<_>>(),
    });
    definitions["StepForm"]["allOf"] = Value::Array(rules);
    let pipelines = Pipelines::embedded();
    let values = pipelines.found.values().map(|pipeline| {
        let declared = &pipeline.form.values;
        let required: Vec<&String> = declared
            .iter()
            .filter(|(_, schema)| !schema.contains_key("default"))
            .map(|(name, _)| name)
            .collect();
        let values = json!({"properties": declared, "additionalProperties": false, "required": required});
        let needs: &[&str] = if required.is_empty() { &[] } else { &["values"] };
        json!({
            "if": {"properties": {"pipeline": {"const": pipeline.name}}, "required": ["pipeline"]},
            "then": {"properties": {"values": values}, "required": needs},
        })
    });
    root["allOf"] = values.collect();
    root["$defs"] = definitions;
    root
}

/// The schema of `bake.toml` and `bake.local.toml`.
pub fn settings_schema() -> Value {
    schema::of::<SettingsForm>()
}

fn into_table(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(table) => table,
        _ => Map::new(),
    }
}

/// What of a step with this rule must be there.
fn needed(rule: &dyn Rule) -> Vec<&'static str> {
    let has_params =
        rule.schema().get("required").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    let has_inputs = rule.interface().inputs.iter().any(|input| input.required);
    let keys = [("params", has_params), ("inputs", has_inputs)];
    keys.into_iter().filter(|(_, is)| *is).map(|(key, _)| key).collect()
}

fn inputs(rule: &dyn Rule) -> Value {
    let interface = rule.interface();
    let one =
        |doc: &str| json!({"description": doc, "type": ["string", "array"], "items": {"type": "string"}});
    let properties: Map<String, Value> =
        interface.inputs.iter().map(|input| (input.name.to_owned(), one(input.doc))).collect();
    let required: Vec<&str> =
        interface.inputs.iter().filter(|input| input.required).map(|input| input.name).collect();
    json!({"properties": properties, "additionalProperties": interface.open_inputs, "required": required})
}

/// Points references at where a rule's definitions are put, and accepts templates in place of anything.
fn adapt(schema: &mut Value, rule: &str) {
    let Some(table) = schema.as_object_mut() else { return };
    if let Some(Value::String(target)) = table.get_mut("$ref") {
        *target = target.replace("#/$defs/", &format!("#/$defs/{rule}."));
    }
    for key in ["properties", "patternProperties"] {
        for property in
            table.get_mut(key).and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut)
        {
            adapt_or_template(property, rule);
        }
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = table.get_mut(key).filter(|inner| inner.is_object()) {
            adapt_or_template(inner, rule);
        }
    }
    for key in ["allOf", "anyOf", "oneOf", "prefixItems"] {
        for inner in table.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten() {
            adapt(inner, rule);
        }
    }
}

fn adapt_or_template(schema: &mut Value, rule: &str) {
    adapt(schema, rule);
    let plain_text =
        schema.get("type").and_then(Value::as_str) == Some("string") && schema.get("enum").is_none();
    if schema.is_object() && !plain_text {
        *schema = json!({"anyOf": [schema.take(), {"$ref": "#/$defs/Template"}]});
    }
}
