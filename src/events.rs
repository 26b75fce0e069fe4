//! `--events FILE`: all that happens, as JSON lines, each with `event` (see `docs/machine-output.md`).

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use engine::{Event, Outcome, Sink, Stats};
use serde_json::{Value, json};

use crate::driver::{Done, placed};
use crate::fail::Fail;

/// Writes events.
pub(crate) struct EventLog {
    file: BufWriter<File>,
    path: PathBuf,
    error: Option<std::io::Error>,
}

impl EventLog {
    pub(crate) fn create(path: &Path) -> Result<Self, Fail> {
        let file = File::create(path).map_err(|error| Fail::io("write", path, &error))?;
        Ok(Self { file: BufWriter::new(file), path: path.to_owned(), error: None })
    }

    fn line(&mut self, value: &Value) {
        let written = writeln!(self.file, "{value}");
        // The first one tells; the build goes on.
        self.error = self.error.take().or(written.err());
    }

    /// Ends the file with what was built.
    pub(crate) fn finish(mut self, done: &Done, out: &Path) -> Result<(), Fail> {
        let artifacts = done.artifacts.iter().map(|artifact| {
            let path = placed(out, &artifact.record.path);
            json!({"label": artifact.label.to_string(), "path": path, "digest": artifact.record.digest.to_string()})
        });
        let report = &done.report;
        self.line(&json!({
            "event": "build_finished",
            "ran": report.ran,
            "cached": done.actions.saturating_sub(report.ran + report.failed.len()),
            "failed": report.failed.len(),
            "skipped": report.skipped,
            "artifacts": artifacts.collect::<Vec<_>>(),
        }));
        self.close()
    }

    /// The whole file of a build that found nothing to do.
    pub(crate) fn fresh(mut self, labels: &[String], stats: &Stats, out: &Path) -> Result<(), Fail> {
        self.line(&json!({"event": "build_started", "schema": 1, "targets": labels, "steps": 0}));
        let artifacts = stats.placed().map(|(label, file)| {
            let path = placed(out, &file.path);
            json!({"label": label.to_string(), "path": path, "digest": file.digest.to_string()})
        });
        let artifacts: Vec<Value> = artifacts.collect();
        self.line(&json!({
            "event": "build_finished",
            "ran": 0,
            "cached": stats.actions(),
            "failed": 0,
            "skipped": 0,
            "artifacts": artifacts,
        }));
        self.close()
    }

    fn close(mut self) -> Result<(), Fail> {
        let flushed = self.file.flush();
        match self.error.take().or(flushed.err()) {
            Some(error) => Err(Fail::io("write", &self.path, &error)),
            None => Ok(()),
        }
    }
}

impl Sink for EventLog {
    fn event(&mut self, event: &Event) {
        if let Some(value) = form(event) {
            self.line(&value);
        }
    }
}

fn form(event: &Event) -> Option<Value> {
    let texts = |items: &[engine::RebuildReason]| items.iter().map(ToString::to_string).collect::<Vec<_>>();
    Some(match event {
        Event::BuildStarted { targets, steps } => {
            let targets: Vec<String> = targets.iter().map(ToString::to_string).collect();
            json!({"event": "build_started", "schema": 1, "targets": targets, "steps": steps})
        }
        Event::Expanded { label, instances } => {
            json!({"event": "expanded", "label": label.to_string(), "instances": instances})
        }
        Event::ActionStarted { label, action, why } => json!({
            "event": "action_started",
            "label": label.to_string(),
            "action": action.to_string(),
            "why": texts(why),
        }),
        Event::ActionFinished { label, action, outcome, why, started, took, thread, outputs, .. } => {
            let (result, error) = match outcome {
                Outcome::Ran => ("ran", None),
                Outcome::Cached | Outcome::Unchanged => ("cached", None),
                Outcome::Failed(failure) => ("failed", Some(failure.message.clone())),
            };
            let outputs =
                outputs.iter().map(|(name, output)| (name.clone(), output.digest().to_string().into()));
            let mut value = json!({
                "event": "action_finished",
                "label": label.to_string(),
                "action": action.as_ref().map(ToString::to_string),
                "result": result,
                "why": texts(why),
                "started_ms": started.as_millis() as u64,
                "took_ms": took.as_millis() as u64,
                "thread": thread,
                "outputs": Value::Object(outputs.collect()),
            });
            if let Some(error) = error {
                value["error"] = error.into();
            }
            value
        }
        Event::Skipped { label, because } => {
            json!({"event": "skipped", "label": label.to_string(), "because": because.to_string()})
        }
        Event::Lost { label, digest } => {
            json!({"event": "lost", "label": label.to_string(), "digest": digest.to_string()})
        }
        Event::Progress { .. } => return None,
    })
}
