//! When what ran: the critical path of a build, and the whole as a Chrome trace, in which that path is a
//! row of its own.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use engine::{Event, Label, Outcome, Sink};
use serde_json::{Value, json};

use crate::fail::Fail;

/// What ran, in the order in which it ended.
#[derive(Default)]
pub(crate) struct Trace {
    ran: Vec<Ran>,
    /// The end of the longest way to a step, by the label that others wait for.
    ways: HashMap<String, Way>,
}

struct Ran {
    label: Label,
    started: Duration,
    took: Duration,
    thread: usize,
    why: Vec<String>,
    /// What it waited longest for.
    before: Option<usize>,
}

#[derive(Clone, Copy)]
struct Way {
    length: Duration,
    last: usize,
}

impl Trace {
    /// The longest way through what ran: how long it is, and what lies on it.
    pub(crate) fn critical_path(&self) -> (Duration, Vec<&Label>) {
        let (length, path) = self.critical();
        (length, path.into_iter().filter_map(|at| self.ran.get(at)).map(|ran| &ran.label).collect())
    }

    fn critical(&self) -> (Duration, Vec<usize>) {
        let Some(way) = self.ways.values().max_by_key(|way| (way.length, way.last)) else {
            return (Duration::ZERO, Vec::new());
        };
        let before = |at: &usize| self.ran.get(*at).and_then(|ran| ran.before);
        let mut path: Vec<usize> = std::iter::successors(Some(way.last), before).collect();
        path.reverse();
        (way.length, path)
    }

    /// Writes the trace.
    pub(crate) fn write(&self, path: &Path) -> Result<(), Fail> {
        let bytes = Value::Array(self.rows()).to_string();
        std::fs::write(path, bytes).map_err(|error| Fail::io("write", path, &error))
    }

    fn rows(&self) -> Vec<Value> {
        let name = |row: usize, name: String| json!({"ph": "M", "name": "thread_name", "pid": 1, "tid": row, "args": {"name": name}});
        let span = |ran: &Ran, row: usize| {
            json!({
                "ph": "X",
                "name": ran.label.to_string(),
                "cat": ran.label.step().unwrap_or_default(),
                "pid": 1,
                "tid": row,
                "ts": ran.started.as_micros() as u64,
                "dur": ran.took.as_micros() as u64,
                "args": {"why": ran.why},
            })
        };
        let mut rows = vec![name(0, "critical path".to_owned())];
        let threads = self.ran.iter().map(|ran| ran.thread + 1).max().unwrap_or_default();
        rows.extend((0..threads).map(|thread| name(thread + 1, format!("thread {thread}"))));
        let (_, critical) = self.critical();
        rows.extend(critical.iter().filter_map(|at| self.ran.get(*at)).map(|ran| span(ran, 0)));
        rows.extend(self.ran.iter().map(|ran| span(ran, ran.thread + 1)));
        rows
    }
}

impl Sink for Trace {
    fn event(&mut self, event: &Event) {
        let Event::ActionFinished { label, outcome, why, started, took, thread, after, .. } = event else {
            return;
        };
        if !matches!(outcome, Outcome::Ran | Outcome::Failed(_)) {
            return;
        }
        let ways = after.iter().filter_map(|label| self.ways.get(&label.to_string()));
        let before = ways.max_by_key(|way| (way.length, way.last)).copied();
        let last = self.ran.len();
        let way = Way { length: before.map_or(Duration::ZERO, |way| way.length) + *took, last };
        self.ran.push(Ran {
            label: label.clone(),
            started: *started,
            took: *took,
            thread: *thread,
            why: why.iter().map(ToString::to_string).collect(),
            before: before.map(|way| way.last),
        });
        // Others wait for the step, not for one of its instances.
        let names = [Some(label.to_string()), group(label)];
        for name in names.into_iter().flatten() {
            let longest = self.ways.entry(name).or_insert(way);
            if way.length > longest.length {
                *longest = way;
            }
        }
    }
}

fn group(label: &Label) -> Option<String> {
    label.instance()?;
    Some(Label::recipe(label.recipe_path().clone()).with_step(label.step()?).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn ran(trace: &mut Trace, label: &str, started: u64, took: u64, after: &[&str]) {
        trace.event(&Event::ActionFinished {
            label: label.parse().unwrap(),
            action: None,
            outcome: Outcome::Ran,
            why: Vec::new(),
            started: Duration::from_millis(started),
            took: Duration::from_millis(took),
            thread: 0,
            notes: Vec::new(),
            outputs: BTreeMap::new(),
            after: after.iter().map(|label| label.parse().unwrap()).collect(),
        });
    }

    #[test]
    fn the_critical_path_goes_through_the_slowest_instance() {
        let mut trace = Trace::default();
        ran(&mut trace, "a:stage", 0, 10, &[]);
        ran(&mut trace, "a:cook:x", 10, 5, &["a:stage"]);
        ran(&mut trace, "a:cook:y", 10, 50, &["a:stage"]);
        ran(&mut trace, "a:other", 0, 55, &[]);
        ran(&mut trace, "a:pack", 60, 1, &["a:cook", "a:other"]);
        let (length, path) = trace.critical_path();
        let path: Vec<String> = path.iter().map(|label| label.short()).collect();
        assert_eq!((length.as_millis(), path.join(" > ").as_str()), (61, "stage > cook:y > pack"));
        let rows = trace.rows();
        let critical = rows.iter().filter(|row| row["tid"] == 0 && row["ph"] == "X").count();
        assert_eq!((critical, rows.len()), (3, 2 + 3 + 5));
    }
}
