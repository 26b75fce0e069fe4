//! How a build goes, shown while it goes: [`Progress`], with one form for terminals and one for everything
//! else. On a terminal what is slow is shown, not what is many; elsewhere each step that ran has a line.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use engine::{Event, Failure, Label, Outcome, Plan, Sink};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::count::{count, duration};
use crate::shell::Shell;

/// Shows how a build goes.
pub(crate) trait Progress: Sink {
    /// A plan was made.
    fn planned(&mut self, plan: &Plan);
    /// The build ended: nothing more is drawn.
    fn finish(&mut self);
}

/// The form for where the talk goes.
pub(crate) fn new<'s>(shell: &'s Shell) -> Box<dyn Progress + 's> {
    if shell.is_terminal() { Box::new(Bar::new(shell)) } else { Box::new(Lines { shell }) }
}

/// A label that failed, with what people read.
fn failure(shell: &Shell, label: &Label, failure: &Failure) {
    shell.failure(&Failure { message: format!("{label}: {}", failure.message), ..failure.clone() });
}

/// What both forms say.
fn say(shell: &Shell, event: &Event) {
    match event {
        Event::ActionFinished { label, outcome: Outcome::Failed(found), .. } => failure(shell, label, found),
        Event::ActionFinished { label, notes, .. } => {
            for note in notes {
                let text = format!("{label}: {}", note.message);
                match note.severity {
                    cache::Severity::Note => shell.note(&text),
                    cache::Severity::Warning => shell.warning(&text),
                }
            }
        }
        _ => {}
    }
}

fn planned(shell: &Shell, plan: &Plan) {
    let targets: Vec<String> = plan.targets().iter().map(|target| target.label.to_string()).collect();
    let many = targets.len() > 3;
    let targets = if many { count(targets.len(), "target") } else { targets.join(" ") };
    shell.status("Planning", &format!("{targets}: {}", count(plan.nodes().len(), "step")));
}

struct Lines<'s> {
    shell: &'s Shell,
}

impl Sink for Lines<'_> {
    fn event(&mut self, event: &Event) {
        say(self.shell, event);
        if let Event::ActionFinished { label, outcome: Outcome::Ran, why, took, .. } = event {
            let why: Vec<String> = why.iter().map(ToString::to_string).collect();
            let line = format!("{label}  {} ({})", why.join(", "), duration(*took));
            self.shell.status("Ran", &line);
        }
    }
}

impl Progress for Lines<'_> {
    fn planned(&mut self, plan: &Plan) {
        planned(self.shell, plan);
    }
    fn finish(&mut self) {}
}

/// Steps that run, since when.
type Running = Arc<Mutex<BTreeMap<Label, Instant>>>;

struct Bar<'s> {
    shell: &'s Shell,
    bar: ProgressBar,
    running: Running,
}

/// Steps that run for less are not worth a name.
const SLOW: Duration = Duration::from_millis(500);

impl<'s> Bar<'s> {
    fn new(shell: &'s Shell) -> Self {
        let bar = ProgressBar::hidden();
        let running = Running::default();
        let seen = Arc::clone(&running);
        let style = ProgressStyle::with_template(" Running   [{bar:24}] {pos}/{len} {slow}");
        if let Ok(style) = style {
            // Asked at every tick, so that seconds go on while nothing happens.
            let slow = move |_: &ProgressState, out: &mut dyn std::fmt::Write| {
                let _ = out.write_str(&slowest(&seen));
            };
            bar.set_style(style.progress_chars("=> ").with_key("slow", slow));
        }
        Self { shell, bar, running }
    }

    fn running(&self) -> MutexGuard<'_, BTreeMap<Label, Instant>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The steps that run longest: `cook:ground 12s · collision 3s`.
fn slowest(running: &Running) -> String {
    let running = running.lock().unwrap_or_else(PoisonError::into_inner);
    let times = running.iter().map(|(label, since)| (since.elapsed(), label));
    let mut slow: Vec<(Duration, &Label)> = times.filter(|(time, _)| *time >= SLOW).collect();
    slow.sort_by(|a, b| b.cmp(a));
    let names = slow.iter().take(3).map(|(time, label)| format!("{} {}s", label.short(), time.as_secs()));
    names.collect::<Vec<_>>().join(" · ")
}

impl Sink for Bar<'_> {
    fn event(&mut self, event: &Event) {
        match event {
            Event::BuildStarted { steps, .. } => {
                self.bar.set_length(*steps as u64);
                self.bar.set_draw_target(ProgressDrawTarget::stderr());
                // Names of slow steps age while nothing else happens.
                self.bar.enable_steady_tick(Duration::from_millis(200));
            }
            Event::Expanded { instances, .. } => {
                self.bar.inc_length(*instances as u64);
                self.bar.inc(1);
            }
            Event::ActionStarted { label, .. } => {
                self.running().insert(label.clone(), Instant::now());
            }
            Event::ActionFinished { label, notes, outcome, .. } => {
                self.running().remove(label);
                self.bar.inc(1);
                if !notes.is_empty() || matches!(outcome, Outcome::Failed(_)) {
                    self.bar.suspend(|| say(self.shell, event));
                }
            }
            Event::Skipped { .. } => self.bar.inc(1),
            Event::Progress { .. } | Event::Lost { .. } => {}
        }
    }
}

impl Progress for Bar<'_> {
    fn planned(&mut self, plan: &Plan) {
        self.bar.suspend(|| planned(self.shell, plan));
    }
    fn finish(&mut self) {
        self.bar.finish_and_clear();
    }
}
