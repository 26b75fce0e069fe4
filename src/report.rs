//! What a build did, in few lines: what ran and why, what was kept, how long it took, what came out.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use cache::{DiskStore, WorkspacePath};
use engine::{Artifact, Event, Label, NodeId, Outcome, Plan, RebuildReason, Sink, Stats};
use mjolnir::zip::Archive;
use serde_json::{Value, json};

use crate::contents::{self, Part};
use crate::count::{count, duration, size};
use crate::driver::{Done, placed};
use crate::make::Watchers;
use crate::shell::Shell;

/// What ran, and why.
#[derive(Default)]
pub(crate) struct Account {
    ran: Vec<(Label, String)>,
    steps: BTreeSet<Label>,
    new: bool,
}

impl Sink for Account {
    fn event(&mut self, event: &Event) {
        if let Event::ActionFinished { label, outcome: Outcome::Ran, why, .. } = event {
            self.new |= why.contains(&RebuildReason::NeverBuilt);
            let why: Vec<String> = why.iter().map(ToString::to_string).collect();
            self.ran.push((label.clone(), why.join(", ")));
            self.steps.insert(step(label));
        }
    }
}

fn step(label: &Label) -> Label {
    let recipe = Label::recipe(label.recipe_path().clone());
    label.step().map_or(recipe.clone(), |step| recipe.with_step(step))
}

impl Account {
    /// How many steps did not run although one that they wait for did.
    fn stopped(&self, plan: &Plan) -> usize {
        let ran = |id: &NodeId| self.steps.contains(&plan.node(*id).label);
        let stopped = |id: NodeId| !ran(&id) && plan.dependencies(id).iter().any(ran);
        plan.nodes().filter(|(id, _)| stopped(*id)).count()
    }
}

/// On a terminal, where no line a step was written, so many steps are named afterwards.
const NAMED: usize = 12;

/// Says what was done.
pub(crate) fn say(done: &Done, watchers: &Watchers<'_>, archives: &[Built], out: &Path, took: Duration) {
    let (shell, account, report) = (watchers.shell, &watchers.account, &done.report);
    if shell.is_terminal() && !account.new && account.ran.len() <= NAMED {
        let widest = account.ran.iter().map(|(label, _)| label.to_string().len()).max().unwrap_or_default();
        for (label, why) in &account.ran {
            shell.status("Ran", &format!("{:widest$} {why}", label.to_string()));
        }
    }
    let kept = done.actions.saturating_sub(report.ran + report.failed.len());
    if kept > 0 && report.is_success() {
        let stopped = account.stopped(&done.plan).min(kept);
        let cached = report.cached.min(kept - stopped);
        let parts = [
            (kept - stopped - cached, "unchanged"),
            (stopped, "stopped by equal output"),
            (cached, "from the store"),
        ];
        let parts = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"));
        let parts = parts.collect::<Vec<_>>().join(", ");
        let others = if report.ran > 0 { count(kept, "other") } else { count(kept, "step") };
        shell.status("Kept", &format!("{others} ({parts})"));
    }
    if !report.is_success() {
        let mut parts = vec![format!("{} failed", count(report.failed.len(), "step"))];
        if report.skipped > 0 {
            parts.push(format!("{} not tried because of that", report.skipped));
        }
        if !report.cancelled {
            shell.status("Stopped", &parts.join(", "));
        }
        return;
    }
    let critical = match watchers.trace.critical_path() {
        (length, path) if path.len() > 1 && length >= Duration::from_secs(1) => {
            let path: Vec<String> = path.iter().map(|label| label.short()).collect();
            format!(" (critical path {}: {})", duration(length), path.join(" > "))
        }
        _ => String::new(),
    };
    shell.status("Finished", &format!("{} in {}{critical}", count(report.ran, "action"), duration(took)));
    artifacts(done, archives, shell, out);
}

/// An archive of a build, and what is in it.
pub(crate) struct Built {
    path: WorkspacePath,
    signed: bool,
    parts: Vec<Part>,
}

/// The archives among what was built.
pub(crate) fn archives(done: &Done, store: &DiskStore, out: &Path) -> Vec<Built> {
    let archive = |artifact: &Artifact| {
        let path = &artifact.record.path;
        let bytes = std::fs::read(placed(out, path).as_path()).ok()?;
        let archive = Archive::read(&bytes).ok()?;
        let signed = archive.member(mjolnir::signature::MEMBER).is_some();
        Some(Built { path: path.clone(), signed, parts: contents::parts(&archive, artifact, done, store) })
    };
    let is_archive = |artifact: &&Artifact| artifact.record.path.as_str().ends_with(".mjolnir");
    done.artifacts.iter().filter(is_archive).filter_map(archive).collect()
}

fn artifacts(done: &Done, archives: &[Built], shell: &Shell, out: &Path) {
    const SHOWN: usize = 8;
    for artifact in done.artifacts.iter().take(SHOWN) {
        let record = &artifact.record;
        let path = placed(out, &record.path);
        let here =
            std::env::current_dir().ok().and_then(|here| path.strip_prefix(here).ok().map(Path::to_path_buf));
        let shown = here.unwrap_or_else(|| path.clone()).display().to_string();
        let Some(Built { signed, parts, .. }) = archives.iter().find(|archive| archive.path == record.path)
        else {
            shell.status("Placed", &format!("{shown}   {}", size(record.digest.len())));
            continue;
        };
        let signed = *signed;
        let state = if signed { "verified, signed" } else { "verified, unsigned" };
        shell.status("Archive", &format!("{shown}   {}   {state}", size(record.digest.len())));
        let why = match (signed, done.signed) {
            (false, false) => "   why unsigned: no key configured (`bake signing-keys new`)",
            (false, true) => "   why unsigned: its recipe has no step that signs",
            (true, _) => "",
        };
        shell.more(&contents::by_step(parts));
        shell.more(&format!("blake3 {}{why}", record.digest.hex()));
    }
    if done.artifacts.len() > SHOWN {
        shell.more(&format!("and {}", count(done.artifacts.len() - SHOWN, "other file")));
    }
}

/// The same as JSON.
pub(crate) fn json(done: &Done, archives: &[Built], out: &Path) -> Value {
    let report = &done.report;
    let failed = report.failed.iter().map(|failed| {
        let failure = &failed.failure;
        json!({
            "label": failed.label.to_string(),
            "message": failure.message,
            "details": failure.details,
            "help": failure.hint,
            "code": failure.code,
        })
    });
    let artifacts = done.artifacts.iter().map(|artifact| {
        let record = &artifact.record;
        let archive = archives.iter().find(|archive| archive.path == record.path);
        json!({
            "label": artifact.label.to_string(),
            "path": placed(out, &record.path),
            "digest": record.digest.to_string(),
            "members": archive.map(|archive| contents::json(&archive.parts)),
        })
    });
    json!({
        "schema": 1,
        "ran": report.ran,
        "cached": done.actions.saturating_sub(report.ran + report.failed.len()),
        "skipped": report.skipped,
        "failed": failed.collect::<Vec<_>>(),
        "artifacts": artifacts.collect::<Vec<_>>(),
    })
}

/// The JSON of a build that found nothing to do.
pub(crate) fn fresh_json(stats: &Stats, out: &Path) -> Value {
    let artifacts = stats.placed().map(|(label, file)| {
        json!({"label": label.to_string(), "path": placed(out, &file.path), "digest": file.digest.to_string()})
    });
    json!({
        "schema": 1,
        "ran": 0,
        "cached": stats.actions(),
        "skipped": 0,
        "failed": [],
        "artifacts": artifacts.collect::<Vec<_>>(),
    })
}
