//! Two commands in turn, medians, and the table: nothing here knows what is measured.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::Outcome;

/// A command of this binary (see `main.rs`), or any other, with nothing of the caller's settings.
pub(crate) fn command(program: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args).env_clear().stdin(Stdio::null()).stdout(Stdio::null());
    command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    command
}

/// This binary with `args`.
pub(crate) fn this(args: &[&str]) -> Outcome<Command> {
    Ok(command(&std::env::current_exe()?, args))
}

/// The time from start to end of a command, which must succeed.
pub(crate) fn time(command: &mut Command) -> Outcome<Duration> {
    let start = Instant::now();
    let output = command.stderr(Stdio::piped()).output()?;
    let took = start.elapsed();
    match output.status.success() {
        true => Ok(took),
        false => Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

/// Runs `ours` and `yardstick` in turn, first one first, then the other, after one round that does not
/// count; gives the medians.
pub(crate) fn alternate(
    rounds: usize,
    mut ours: impl FnMut() -> Outcome<Duration>,
    mut yardstick: impl FnMut() -> Outcome<Duration>,
) -> Outcome<(Duration, Duration)> {
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for round in 0..=rounds {
        let (one, other);
        if round % 2 == 0 {
            one = ours()?;
            other = yardstick()?;
        } else {
            other = yardstick()?;
            one = ours()?;
        }
        if round > 0 {
            a.push(one);
            b.push(other);
        }
    }
    Ok((median(a), median(b)))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Most anonymous memory (heap and stacks; mapped files are not in it) that a command had while it ran,
/// looked at every few milliseconds; `None` where the system does not say.
pub(crate) fn peak_memory(command: &mut Command) -> Outcome<Option<u64>> {
    let mut child = command.stderr(Stdio::null()).spawn()?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak = None;
    loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        peak = peak.max(line.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse::<u64>().ok()));
        if let Some(ended) = child.try_wait()? {
            return if ended.success() { Ok(peak.map(|kib| kib << 10)) } else { Err("it failed".into()) };
        }
        std::thread::sleep(Duration::from_millis(3));
    }
}

/// Prints rows as they come.
pub(crate) struct Table;

impl Table {
    pub(crate) fn new() -> Self {
        println!("{:38} {:>10} {:>10}  {:16} {:>6} {:>7}", "", "ours", "yardstick", "", "ratio", "target");
        Self
    }

    /// A row of times. `target` is the greatest ratio that is aimed at.
    pub(crate) fn times(
        &mut self,
        name: &str,
        (ours, other): (Duration, Duration),
        yardstick: &str,
        target: Option<f64>,
    ) {
        let text = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1e3);
        let ratio = ours.as_secs_f64() / other.as_secs_f64();
        self.row(name, &text(ours), &text(other), yardstick, ratio, target);
    }

    /// A row of sizes.
    pub(crate) fn sizes(&mut self, name: &str, ours: u64, limit: u64, yardstick: &str) {
        let text = |bytes: u64| format!("{} MiB", bytes >> 20);
        self.row(name, &text(ours), &text(limit), yardstick, ours as f64 / limit as f64, Some(1.0));
    }

    /// Why there is no row.
    pub(crate) fn skipped(&mut self, name: &str, why: &str) {
        println!("{name:38} skipped: {why}");
    }

    fn row(&self, name: &str, ours: &str, other: &str, yardstick: &str, ratio: f64, target: Option<f64>) {
        let (target, verdict) = match target {
            Some(target) => (format!("<= {target:.2}"), if ratio <= target { "" } else { "  MISSED" }),
            None => ("-".to_owned(), ""),
        };
        println!("{name:38} {ours:>10} {other:>10}  {yardstick:16} {ratio:6.2} {target:>7}{verdict}");
    }
}
