//! `bake graph`: the steps of a build and what waits for what, for Graphviz or as JSON.

use engine::{Label, Plan};
use serde_json::{Value, json};

use crate::cli::{Graph, GraphFormat};
use crate::fail::Fail;
use crate::session::Session;
use crate::shell::Shell;

pub(crate) fn run(args: &Graph, session: &Session<'_>, shell: &Shell) -> Result<(), Fail> {
    let (planned, _) = session.plan_or_all(&args.labels)?;
    let plan = &planned.plan;
    let order = plan.needed().map_err(|cycle| Fail::usage(cycle.to_string()))?;
    match args.format {
        GraphFormat::Dot => {
            let mut text = "digraph bake {\n  rankdir = LR;\n  node [shape = box];\n".to_owned();
            for id in &order {
                let node = plan.node(*id);
                let many = if node.for_each.is_some() { ", peripheries = 2" } else { "" };
                text += &format!(
                    "  \"{}\" [label = \"{}\\n{}\"{many}];\n",
                    node.label,
                    node.label.short(),
                    node.rule
                );
                for dependency in plan.dependencies(*id) {
                    text += &format!("  \"{}\" -> \"{}\";\n", plan.node(dependency).label, node.label);
                }
            }
            shell.data(&(text + "}"));
        }
        GraphFormat::Json => {
            let targets: Vec<String> = plan.targets().iter().map(|target| target.label.to_string()).collect();
            let steps: Vec<Value> = order.iter().map(|id| step(plan, *id)).collect();
            shell.json(&json!({"schema": 1, "targets": targets, "steps": steps}));
        }
    }
    Ok(())
}

fn step(plan: &Plan, id: engine::NodeId) -> Value {
    let node = plan.node(id);
    let needs = plan.dependencies(id);
    let needs: Vec<String> = needs.iter().map(|id| plan.node(*id).label.to_string()).collect();
    json!({
        "label": node.label.to_string(),
        "rule": node.rule,
        "needs": needs,
        "for_each": node.for_each.is_some(),
        "private": node.private,
    })
}

/// The steps that a label names in a plan: itself, or all of a recipe.
pub(crate) fn named(plan: &Plan, label: &Label) -> Vec<engine::NodeId> {
    let whole = label.instance().is_none();
    let named = |other: &Label| if whole { label.contains(other) } else { other.contains(label) };
    plan.nodes().filter(|(_, node)| named(&node.label)).map(|(id, _)| id).collect()
}
