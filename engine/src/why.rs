//! Why an action runs: the difference between two manifests.

use std::fmt;

use serde_json::Value;

use crate::action::Action;
use crate::params::{Params, Segment, display_path};
use crate::rule::RuleId;

/// One cause for running an action.
#[derive(Clone, Debug, PartialEq)]
pub enum RebuildReason {
    /// This step was never built here.
    NeverBuilt,
    /// Another rule, or another version of it; or another development build of `bake`.
    RuleChanged {
        /// Before.
        old: RuleId,
        /// Now.
        new: RuleId,
        /// Whether the rule stands and `bake` itself is another development build.
        development: bool,
    },
    /// A parameter.
    ParamChanged {
        /// Its path.
        path: String,
        /// Before; absent when it was not there.
        old: Option<Value>,
        /// Now; absent when it is gone.
        new: Option<Value>,
    },
    /// An input has other bytes.
    InputChanged {
        /// Its name.
        input: String,
        /// Where it comes from, when that is known: `from pieces:ramp_4x4`, `pieces.toml`.
        from: Option<String>,
    },
    /// Something that an import reads has other bytes.
    ExternalChanged {
        /// What.
        what: String,
    },
    /// Inputs or outputs were added or taken away.
    InterfaceChanged {
        /// In words.
        what: String,
    },
    /// The tool of an `exec` step has other bytes, or the platform is another.
    ToolChanged {
        /// Its name.
        tool: String,
    },
    /// A declared value of the environment.
    EnvironmentChanged {
        /// Its name.
        name: String,
    },
    /// Nothing changed, but its result or an output was gone from the store.
    OutputMissing,
    /// It was asked for.
    Forced,
}

impl fmt::Display for RebuildReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NeverBuilt => f.write_str("it was never built here"),
            Self::RuleChanged { development: true, .. } => {
                f.write_str("bake itself changed (a development build)")
            }
            Self::RuleChanged { old, new, .. } => write!(f, "rule changed: {old} -> {new}"),
            Self::ParamChanged { path, old, new } => match (old, new) {
                (Some(old), Some(new)) => write!(f, "parameter `{path}` changed: {old} -> {new}"),
                (None, Some(new)) => write!(f, "parameter `{path}` is new: {new}"),
                (old, _) => {
                    write!(f, "parameter `{path}` is gone, was {}", old.as_ref().unwrap_or(&Value::Null))
                }
            },
            Self::InputChanged { input, from: Some(from) } => write!(f, "input `{input}` changed ({from})"),
            Self::InputChanged { input, from: None } => write!(f, "input `{input}` changed"),
            Self::ExternalChanged { what } => write!(f, "{what} changed"),
            Self::InterfaceChanged { what } => f.write_str(what),
            Self::ToolChanged { tool } => write!(f, "tool `{tool}` changed"),
            Self::EnvironmentChanged { name } => write!(f, "environment variable `{name}` changed"),
            Self::OutputMissing => f.write_str("its output was missing from the store"),
            Self::Forced => f.write_str("it was asked for"),
        }
    }
}

/// All causes that lie between two actions of one step; empty when they are the same.
pub fn difference(old: &Action, new: &Action) -> Vec<RebuildReason> {
    let mut reasons = Vec::new();
    if old.rule != new.rule || old.salt != new.salt {
        let development = old.rule == new.rule;
        reasons.push(RebuildReason::RuleChanged {
            old: old.rule.clone(),
            new: new.rule.clone(),
            development,
        });
    }
    params(&old.params, &new.params, &mut reasons);
    let names = |action: &Action| action.inputs.keys().cloned().collect::<Vec<_>>();
    for name in names(old).iter().filter(|name| !new.inputs.contains_key(*name)) {
        reasons.push(RebuildReason::InterfaceChanged { what: format!("input `{name}` is gone") });
    }
    for (name, digest) in &new.inputs {
        match old.inputs.get(name) {
            None => reasons.push(RebuildReason::InterfaceChanged { what: format!("input `{name}` is new") }),
            Some(before) if before != digest => {
                reasons.push(RebuildReason::InputChanged { input: name.clone(), from: None });
            }
            Some(_) => {}
        }
    }
    for what in old.facts.keys().chain(new.facts.keys().filter(|key| !old.facts.contains_key(*key))) {
        if old.facts.get(what) != new.facts.get(what) {
            reasons.push(RebuildReason::ExternalChanged { what: what.clone() });
        }
    }
    if old.outputs != new.outputs {
        let what = format!("outputs changed: {} -> {}", old.outputs.join(", "), new.outputs.join(", "));
        reasons.push(RebuildReason::InterfaceChanged { what });
    }
    tools(old, new, &mut reasons);
    reasons
}

fn tools(old: &Action, new: &Action, reasons: &mut Vec<RebuildReason>) {
    let (Some(before), Some(now)) = (&old.tool, &new.tool) else {
        if let Some(tool) = old.tool.as_ref().or(new.tool.as_ref()).filter(|_| old.tool != new.tool) {
            reasons.push(RebuildReason::ToolChanged { tool: tool.name.clone() });
        }
        return;
    };
    if (&before.name, before.digest, &before.platform) != (&now.name, now.digest, &now.platform) {
        reasons.push(RebuildReason::ToolChanged { tool: now.name.clone() });
    }
    let names = before.env.keys().chain(now.env.keys().filter(|name| !before.env.contains_key(*name)));
    for name in names {
        if before.env.get(name) != now.env.get(name) {
            reasons.push(RebuildReason::EnvironmentChanged { name: name.clone() });
        }
    }
}

fn params(old: &Params, new: &Params, reasons: &mut Vec<RebuildReason>) {
    values(Some(&old.to_value()), Some(&new.to_value()), &mut Vec::new(), reasons);
}

fn values(
    old: Option<&Value>,
    new: Option<&Value>,
    path: &mut Vec<Segment>,
    reasons: &mut Vec<RebuildReason>,
) {
    if old == new {
        return;
    }
    match (old, new) {
        (Some(Value::Object(before)), Some(Value::Object(now))) => {
            for key in before.keys().chain(now.keys().filter(|key| !before.contains_key(*key))) {
                path.push(Segment::Key(key.clone()));
                values(before.get(key), now.get(key), path, reasons);
                path.pop();
            }
        }
        (Some(Value::Array(before)), Some(Value::Array(now))) => {
            for index in 0..before.len().max(now.len()) {
                path.push(Segment::Index(index));
                values(before.get(index), now.get(index), path, reasons);
                path.pop();
            }
        }
        _ => reasons.push(RebuildReason::ParamChanged {
            path: display_path(path),
            old: old.cloned(),
            new: new.cloned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::Tool;
    use crate::rule::Kind;
    use cache::Digest;
    use serde_json::json;

    fn sample() -> Action {
        Action {
            rule: RuleId { name: "exec".into(), version: 3 },
            params: Params::new([("mips".to_owned(), json!({"filter": "box", "sizes": [1, 2]}))]),
            inputs: [("image".to_owned(), (Kind::File, Digest::of(b"image")))].into(),
            facts: [("@game /Game/A".to_owned(), "hash".to_owned())].into(),
            outputs: vec!["out".to_owned()],
            tool: Some(Tool {
                name: "sh".to_owned(),
                digest: Digest::of(b"tool"),
                env: [("A".to_owned(), "b".to_owned())].into(),
                platform: "linux-x86_64".to_owned(),
            }),
            salt: None,
        }
    }

    fn causes(change: fn(&mut Action)) -> String {
        let mut new = sample();
        change(&mut new);
        let texts: Vec<String> = difference(&sample(), &new).iter().map(RebuildReason::to_string).collect();
        texts.join("\n")
    }

    #[test]
    fn each_change_is_named_and_nothing_else() {
        assert_eq!(causes(|_| {}), "");
        insta::assert_snapshot!(causes(|a| a.rule.version = 4), @"rule changed: exec 3 -> exec 4");
        insta::assert_snapshot!(causes(|a| a.salt = Some([1; 32])), @"bake itself changed (a development build)");
        insta::assert_snapshot!(
            causes(|a| a.params = Params::new([("mips".to_owned(), json!({"filter": "kaiser", "sizes": [1]}))])),
            @r#"
        parameter `mips.filter` changed: "box" -> "kaiser"
        parameter `mips.sizes[1]` is gone, was 2
        "#);
        insta::assert_snapshot!(
            causes(|a| a.inputs.extend([("image".into(), (Kind::File, Digest::of(b"other")))])),
            @"input `image` changed");
        insta::assert_snapshot!(
            causes(|a| a.inputs.extend([("mask".into(), (Kind::File, Digest::of(b"mask")))])),
            @"input `mask` is new");
        insta::assert_snapshot!(
            causes(|a| a.facts.extend([("@game /Game/A".into(), "other".into())])),
            @"@game /Game/A changed");
        insta::assert_snapshot!(
            causes(|a| a.tool.as_mut().unwrap().digest = Digest::of(b"newer")),
            @"tool `sh` changed");
        insta::assert_snapshot!(
            causes(|a| a.tool.as_mut().unwrap().env.extend([("A".into(), "c".into())])),
            @"environment variable `A` changed");
        insta::assert_snapshot!(
            causes(|a| a.outputs.push("more".into())),
            @"outputs changed: out -> out, more");
    }
}
