//! `bake rules`: what rules there are, and what each takes and gives.

use engine::{InputSpec, Kind, Rule};
use serde_json::{Value, json};

use crate::Product;
use crate::cli::Rules;
use crate::fail::Fail;
use crate::shell::Shell;

pub(crate) fn run(args: &Rules, product: &Product, shell: &Shell) -> Result<(), Fail> {
    match &args.name {
        None if args.json => {
            let rules: Vec<Value> = product.catalogue.iter().map(form).collect();
            shell.json(&json!({"schema": 1, "rules": rules}));
        }
        None => {
            let first = |rule: &dyn Rule| {
                rule.doc().split(". ").next().unwrap_or_default().trim_end_matches('.').to_owned()
            };
            let lines =
                product.catalogue.iter().map(|rule| format!("{:24} {}", rule.id().to_string(), first(rule)));
            shell.data(&lines.collect::<Vec<_>>().join("\n"));
        }
        Some(name) => {
            let rule = find(product, name)?;
            if args.json { shell.json(&form(rule)) } else { shell.data(&text(rule)) }
        }
    }
    Ok(())
}

/// The rule called `name`.
pub(crate) fn find<'p>(product: &'p Product, name: &str) -> Result<&'p dyn Rule, Fail> {
    product.catalogue.get(name).ok_or_else(|| {
        let names: Vec<String> = product.catalogue.iter().map(|rule| rule.id().name.into_owned()).collect();
        let fail = Fail::usage(format!("there is no rule `{name}`"));
        match engine::schema::did_you_mean(name, names.iter().map(String::as_str)) {
            Some(near) => fail.help(format!("did you mean `{near}`?")),
            None => fail.help(format!("there are: {}", names.join(", "))),
        }
    })
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::File => "file",
        Kind::Tree => "tree",
        Kind::External => "external",
    }
}

fn form(rule: &dyn Rule) -> Value {
    let interface = rule.interface();
    let input = |input: &InputSpec| json!({"name": input.name, "kind": kind(input.kind), "required": input.required, "doc": input.doc});
    let outputs = interface.outputs.iter();
    let outputs =
        outputs.map(|output| json!({"name": output.name, "kind": kind(output.kind), "doc": output.doc}));
    json!({
        "name": rule.id().name,
        "version": rule.id().version,
        "doc": rule.doc(),
        "inputs": interface.inputs.iter().map(input).collect::<Vec<_>>(),
        "further_inputs": interface.open_inputs,
        "outputs": outputs.collect::<Vec<_>>(),
        "params": rule.schema(),
    })
}

fn text(rule: &dyn Rule) -> String {
    let interface = rule.interface();
    let mut text = format!("{}\n{}\n", rule.id(), rule.doc());
    if !interface.inputs.is_empty() || interface.open_inputs {
        text += "\ninputs\n";
    }
    for input in &interface.inputs {
        let optional = if input.required { "" } else { ", optional" };
        text += &format!("  {:14} {}{optional}: {}\n", input.name, kind(input.kind), input.doc);
    }
    if interface.open_inputs {
        text += "  and any further ones, as trees\n";
    }
    text += "\noutputs\n";
    for output in &interface.outputs {
        text += &format!("  {:14} {}: {}\n", output.name, kind(output.kind), output.doc);
    }
    let schema = rule.schema();
    let params = schema.get("properties").and_then(Value::as_object);
    let Some(params) = params.filter(|params| !params.is_empty()) else { return text };
    let required = schema.get("required").and_then(Value::as_array);
    text += "\nparameters\n";
    for (name, form) in params {
        let needed = required.is_some_and(|required| required.iter().any(|required| required == name));
        let optional = if needed { "" } else { ", optional" };
        let doc = form.get("description").and_then(Value::as_str).unwrap_or_default();
        text += &format!("  {name:14} {}{optional}: {}\n", kind_of(form), doc.replace('\n', " "));
    }
    text
}

/// What a parameter is, in a word.
fn kind_of(form: &Value) -> String {
    match form.get("type") {
        Some(Value::String(kind)) => kind.clone(),
        Some(Value::Array(kinds)) => {
            let kinds = kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null");
            kinds.collect::<Vec<_>>().join(" or ")
        }
        _ => match form.get("$ref").and_then(Value::as_str) {
            Some(name) => name.rsplit('/').next().unwrap_or(name).to_owned(),
            None => "value".to_owned(),
        },
    }
}
