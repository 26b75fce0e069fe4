//! `exec`: runs a tool of the user's on declared inputs.
//!
//! It knows what to run and nothing of how: the engine finds the tool, makes the sandbox and takes the
//! outputs. It is the one rule whose inputs a recipe names itself.

use std::collections::BTreeMap;

use engine::params::Segment;
use engine::{Body, Exec, ExecSpec, Interface, Kind, ParamError, Rule, RuleError, RuleId, schema};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// Parameters of `exec`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The tool's name, which `bake.toml` or the search path turns into a file.
    #[schemars(length(min = 1))]
    tool: String,
    /// Its arguments. Inputs lie in `in/<input name>/`, outputs belong in `out/`.
    #[serde(default)]
    args: Vec<String>,
    /// Variables of the tool's environment, which is otherwise empty.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Names of variables to pass on from the caller's environment; their values become part of the
    /// step's identity.
    #[serde(default)]
    inherit: Vec<String>,
    /// Files below `out/` that must be there afterwards.
    #[serde(default)]
    outputs: Vec<String>,
}

const DOC: &str = "Runs a tool of yours on declared inputs, in a fresh folder without network. \
    All that it writes to `out/` is its output.";

/// The rule.
pub(crate) struct ExecRule {
    interface: Interface,
    schema: Value,
}

impl ExecRule {
    pub(crate) fn new() -> Self {
        let mut interface = Interface::new().output("out", Kind::Tree, "All files that the tool wrote.");
        interface.open_inputs = true;
        Self { interface, schema: schema::of::<Params>() }
    }
}

impl Rule for ExecRule {
    fn id(&self) -> RuleId {
        RuleId { name: "exec".into(), version: 1 }
    }

    fn doc(&self) -> &'static str {
        DOC
    }

    fn interface(&self) -> &Interface {
        &self.interface
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn check(&self, params: &engine::Params) -> Vec<ParamError> {
        let value = params.to_value();
        let errors = schema::check(&self.schema, &value);
        if !errors.is_empty() || schema::has_item(&value) {
            return errors;
        }
        match params.read::<Params>() {
            Ok(params) => mistakes(&params),
            Err(error) => vec![error],
        }
    }

    fn memory(&self, _params: &engine::Params, input_bytes: u64) -> u64 {
        // What a foreign tool takes is anybody's guess.
        (256 << 20) + input_bytes.saturating_mul(2)
    }

    fn body(&self) -> Body<'_> {
        Body::Exec(self)
    }
}

impl Exec for ExecRule {
    fn command(&self, params: &engine::Params) -> Result<ExecSpec, RuleError> {
        let Params { tool, args, env, inherit, outputs } = params.read()?;
        Ok(ExecSpec { tool, args, env, inherit, expected: outputs })
    }
}

fn mistakes(params: &Params) -> Vec<ParamError> {
    let named = params.env.keys().map(|name| ("env", Segment::Key(name.clone()), name));
    let inherited = params.inherit.iter().enumerate();
    let inherited = inherited.map(|(index, name)| ("inherit", Segment::Index(index), name));
    let variables =
        named.chain(inherited).filter(|(_, _, name)| name.is_empty() || name.contains(['=', '\0']));
    let at =
        |list: &str, place, message| ParamError::new(vec![Segment::Key(list.to_owned()), place], message);
    let mut errors: Vec<ParamError> = variables
        .map(|(list, place, name)| {
            at(
                list,
                place,
                format!("`{}` is no name of a variable: it is empty or has `=`", name.escape_debug()),
            )
        })
        .collect();
    let both = params.inherit.iter().enumerate().filter(|(_, name)| params.env.contains_key(*name));
    errors.extend(both.map(|(index, name)| {
        at("inherit", Segment::Index(index), format!("`{name}` has a value in `env` already"))
    }));
    errors.extend(params.outputs.iter().enumerate().filter_map(|(index, path)| {
        let bad = engine::WorkspacePath::parse(path.as_str()).err()?;
        Some(at("outputs", Segment::Index(index), bad.to_string()))
    }));
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn params(value: Value) -> engine::Params {
        let Value::Object(table) = value else { panic!("a table") };
        engine::Params::new(table)
    }

    #[test]
    fn the_command_is_what_the_parameters_say() {
        let rule = ExecRule::new();
        let given =
            params(json!({"tool": "blender", "args": ["-b"], "env": {"A": "1"}, "outputs": ["a/b.glb"]}));
        assert_eq!(rule.check(&given), []);
        let spec = rule.command(&given).unwrap();
        assert_eq!((spec.tool.as_str(), &spec.args[..]), ("blender", &["-b".to_owned()][..]));
        assert_eq!(spec.expected, ["a/b.glb"]);
        assert_eq!(spec.env["A"], "1");
        assert_eq!(rule.interface().input_kind("anything"), Some(Kind::Tree));
    }

    #[test]
    fn all_mistakes_are_named() {
        let wrong = params(json!({
            "tool": "x", "env": {"A=B": "1", "C": ""}, "inherit": ["", "C"], "outputs": ["ok", "../x"],
        }));
        let errors: Vec<String> = ExecRule::new().check(&wrong).iter().map(ParamError::to_string).collect();
        insta::assert_snapshot!(errors.join("\n"));
        let unknown = params(json!({"tool": "x", "arg": []}));
        assert_eq!(ExecRule::new().check(&unknown).len(), 1);
    }
}
