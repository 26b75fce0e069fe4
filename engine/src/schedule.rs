//! The loop: one thread owns the state of a build, workers compute and send.
//!
//! The owner hands out jobs in the order of the critical path and takes messages back; nothing else
//! changes a [`Record`](crate::state::Record). Read [`Loop::run`] first, then [`Loop::finish`]; how a step
//! becomes its instances stands in `spread`, what follows from a failure in `failing`, what happens when
//! something that was done is gone in `lost`, the placing of final outputs in `placing`.

mod failing;
mod lost;
mod placing;
mod spread;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Arc, atomic::Ordering};
use std::time::{Duration, Instant};

use cache::{ActionDigest, Digest, Note, Output};

use crate::build::{Options, Report, StepDone};
use crate::error::RuleError;
use crate::event::{Event, Outcome, Sink};
use crate::label::Label;
use crate::plan::{ForEach, Item, NodeId, Plan, Source};
use crate::resolve::{Context, Given, Outputs, Prepared, Request, Resolved};
use crate::rule::Rule;
use crate::run::Ran;
use crate::snapshot::Last;
use crate::state::{Records, State};
use crate::why::RebuildReason;

/// Something for a worker to do.
pub(crate) enum Job<'a> {
    /// Find the action, and whether its result is known.
    Resolve(usize, Box<Request<'a>>),
    /// Read the descriptors that a step spreads out over.
    Expand(usize, Digest),
    /// Make one output of all instances' outputs.
    Join(usize, Vec<(String, Outputs)>, &'a dyn Rule),
    /// Run.
    Run(usize, Box<Prepared<'a>>),
}

/// What a worker says.
pub(crate) enum Message<'a> {
    Resolved(usize, Result<Resolved<'a>, RuleError>),
    Expanded(usize, Result<Vec<Item>, RuleError>),
    Joined(usize, Result<BTreeMap<String, Output>, RuleError>),
    Ran { index: usize, thread: usize, started: Instant, result: Result<Ran, RuleError> },
    Progress { index: usize, done: u64, total: u64 },
}

/// What a build stands on: read by the loop, changed by nobody.
#[derive(Clone, Copy)]
pub(crate) struct Ground<'a, 'b> {
    pub(crate) plan: &'a Plan,
    pub(crate) options: &'b Options<'a>,
    pub(crate) context: &'b Context<'a>,
    pub(crate) last: &'b Last,
}

pub(crate) struct Loop<'a, 'b> {
    ground: Ground<'a, 'b>,
    sink: &'b mut dyn Sink,
    jobs: SyncSender<Job<'a>>,
    messages: Receiver<Message<'a>>,
    records: Records<'a>,
    /// Only these instances of a step are wanted.
    only: BTreeMap<usize, BTreeSet<String>>,
    ready: BinaryHeap<(u64, Reverse<usize>)>,
    /// Actions that wait for a thread or for memory.
    queued: BinaryHeap<(u64, Reverse<usize>)>,
    prepared: HashMap<usize, Box<Prepared<'a>>>,
    /// Actions that run, with the steps that wait for the same action.
    in_flight: HashMap<ActionDigest, Vec<usize>>,
    running: HashMap<usize, Running>,
    outstanding: usize,
    memory: u64,
    started: Instant,
    stopping: bool,
    report: Report,
}

struct Running {
    action: ActionDigest,
    why: Vec<RebuildReason>,
    memory: u64,
}

impl<'a, 'b> Loop<'a, 'b> {
    pub(crate) fn new(
        ground: Ground<'a, 'b>,
        needed: &[NodeId],
        rules: &[&'a dyn Rule],
        sink: &'b mut dyn Sink,
        jobs: SyncSender<Job<'a>>,
        messages: Receiver<Message<'a>>,
    ) -> Self {
        let plan = ground.plan;
        let mut this = Self {
            ground,
            sink,
            jobs,
            messages,
            records: Records::new(plan, rules, needed),
            only: plan.only(needed),
            ready: BinaryHeap::new(),
            queued: BinaryHeap::new(),
            prepared: HashMap::new(),
            in_flight: HashMap::new(),
            running: HashMap::new(),
            outstanding: 0,
            memory: 0,
            started: Instant::now(),
            stopping: false,
            report: Report::default(),
        };
        for id in needed.iter().rev() {
            this.measure(id.index());
        }
        for id in needed {
            if this.records.get(id.index()).waiting == 0 {
                this.make_ready(id.index());
            }
        }
        this
    }

    /// Runs until all targets are done, or nothing can go on.
    pub(crate) fn run(mut self) -> Report {
        let targets = self.ground.plan.targets().iter().map(|target| target.label.clone()).collect();
        let steps = self.records.iter().filter(|record| record.state != State::Unneeded).count();
        self.sink.event(&Event::BuildStarted { targets, steps });
        loop {
            while self.dispatch() {}
            if self.outstanding > 0 {
                let Ok(message) = self.messages.recv() else { break };
                self.take(message);
            } else if self.stopping || !self.place_outputs() {
                break;
            }
        }
        self.report.cancelled = self.ground.options.cancelled.load(Ordering::Relaxed);
        self.conclude()
    }

    /// Gives one job out, or finishes one step that needs none; `false` when there is nothing to do now.
    fn dispatch(&mut self) -> bool {
        self.stopping |= self.ground.options.cancelled.load(Ordering::Relaxed);
        if self.stopping {
            return false;
        }
        // What needs no worker is done at once.
        if let Some(&(_, Reverse(index))) = self.ready.peek()
            && let Some(outputs) = self.unchanged(index)
        {
            self.ready.pop();
            let action = self.ground.last.previous.action(&self.records.get(index).label);
            self.records.set(index, State::Busy);
            self.finish(index, action, outputs, Outcome::Unchanged, Finish::default());
            return true;
        }
        if self.outstanding >= self.ground.options.jobs.get() {
            return false;
        }
        let run_first = match (self.queued.peek(), self.ready.peek()) {
            (Some(queued), Some(ready)) => queued.0 >= ready.0,
            (queued, _) => queued.is_some(),
        };
        if run_first && self.start_queued() {
            return true;
        }
        if let Some((_, Reverse(index))) = self.ready.pop() {
            self.start(index);
            return true;
        }
        !run_first && self.start_queued()
    }

    fn start_queued(&mut self) -> bool {
        let Some(&(_, Reverse(index))) = self.queued.peek() else { return false };
        let Some(prepared) = self.prepared.get(&index) else { return false };
        let memory = prepared.memory;
        // Strictly in order, so that a large action is not overtaken for ever by small ones.
        if !self.running.is_empty() && self.memory.saturating_add(memory) > self.ground.options.memory {
            return false;
        }
        self.queued.pop();
        let Some(prepared) = self.prepared.remove(&index) else { return false };
        self.memory = self.memory.saturating_add(memory);
        let (action, why) = (prepared.digest, prepared.why.clone());
        let label = self.records.get(index).label.clone();
        self.sink.event(&Event::ActionStarted { label, action, why: why.clone() });
        self.running.insert(index, Running { action, why, memory });
        self.send(Job::Run(index, prepared));
        true
    }

    fn start(&mut self, index: usize) {
        let record = self.records.get(index);
        let spec = record.spec;
        let job = match (&spec.for_each, record.is_group(), &record.instances) {
            (Some(_), true, Some(instances)) => {
                let each = instances.iter().map(|&instance| {
                    let record = self.records.get(instance);
                    let name = record.item.as_ref().map(|item| item.name.clone()).unwrap_or_default();
                    (name, record.outputs.clone().unwrap_or_default())
                });
                Job::Join(index, each.collect(), record.rule)
            }
            (Some(ForEach::List(items)), true, None) => {
                let items = items.clone();
                self.records.set(index, State::Busy);
                self.expand(index, items);
                return;
            }
            (Some(ForEach::Tree { node, output }), true, None) => {
                match self.records.get(node.index()).outputs.as_ref().and_then(|outputs| outputs.get(output))
                {
                    Some(output) => Job::Expand(index, output.digest()),
                    None => {
                        self.records.set(index, State::Busy);
                        let error = RuleError::new(format!(
                            "{} has no output `{output}`",
                            self.ground.plan.node(*node).label
                        ));
                        self.fail(index, None, error);
                        return;
                    }
                }
            }
            _ => match self.request(index) {
                Ok(request) => Job::Resolve(index, Box::new(request)),
                Err(error) => {
                    self.records.set(index, State::Busy);
                    self.fail(index, None, error);
                    return;
                }
            },
        };
        self.records.set(index, State::Busy);
        self.send(job);
    }

    fn request(&self, index: usize) -> Result<Request<'a>, RuleError> {
        let record = self.records.get(index);
        let mut inputs = Vec::new();
        for (name, sources) in &record.spec.inputs {
            let given = sources.iter().map(|source| self.given(source)).collect::<Result<_, _>>()?;
            inputs.push((name.clone(), given));
        }
        let forced = self.ground.options.forced.iter().any(|label| label.contains(&record.label))
            && record.setbacks == 0;
        Ok(Request {
            label: record.label.clone(),
            rule: record.rule,
            params: Arc::new(record.spec.params.clone()),
            inputs,
            item: record.item.clone(),
            private: record.spec.private,
            forced,
            previous: (!record.verify).then(|| self.ground.last.previous.get(&record.label)).flatten(),
        })
    }

    fn given(&self, source: &Source) -> Result<Given, RuleError> {
        Ok(match source {
            Source::File { path, name } => Given::File { path: path.clone(), name: name.clone() },
            Source::External(name) => Given::External(name.clone()),
            Source::Item => Given::Item,
            Source::Output { node, output, select } => {
                let record = self.records.get(node.index());
                let found = record.outputs.as_ref().and_then(|outputs| outputs.get(output));
                Given::Output {
                    output: *found.ok_or_else(|| {
                        RuleError::new(format!("{} has no output `{output}`", record.label))
                    })?,
                    name: output.clone(),
                    select: select.clone(),
                    from: record.label.clone(),
                }
            }
        })
    }

    fn send(&mut self, job: Job<'a>) {
        self.outstanding += 1;
        // Workers live as long as the loop; if they were gone, `recv` ends the loop.
        let _ = self.jobs.send(job);
    }

    fn take(&mut self, message: Message<'a>) {
        if let Message::Progress { index, done, total } = message {
            let label = self.records.get(index).label.clone();
            self.sink.event(&Event::Progress { label, done, total });
            return;
        }
        self.outstanding -= 1;
        match message {
            Message::Progress { .. } => {}
            Message::Resolved(index, Ok(Resolved::Unchanged { action, outputs })) => {
                self.finish(index, Some(action), outputs, Outcome::Unchanged, Finish::default());
            }
            Message::Resolved(index, Ok(Resolved::Hit { action, outputs, notes })) => {
                self.finish(
                    index,
                    Some(action),
                    outputs,
                    Outcome::Cached,
                    Finish { notes, ..Finish::default() },
                );
            }
            Message::Resolved(index, Ok(Resolved::Miss(prepared))) => self.enqueue(index, prepared),
            Message::Resolved(index, Err(error)) => self.fail(index, None, error),
            Message::Expanded(index, Ok(items)) => self.expand(index, items),
            Message::Expanded(index, Err(error)) => self.fail(index, None, error),
            Message::Joined(index, Ok(outputs)) => {
                self.complete(index, Arc::new(outputs));
            }
            Message::Joined(index, Err(error)) => self.fail(index, None, error),
            Message::Ran { index, thread, started, result } => self.ran(index, thread, started, result),
        }
    }

    fn enqueue(&mut self, index: usize, prepared: Box<Prepared<'a>>) {
        if let Some(followers) = self.in_flight.get_mut(&prepared.digest) {
            followers.push(index);
            return;
        }
        self.in_flight.insert(prepared.digest, Vec::new());
        self.prepared.insert(index, prepared);
        self.queued.push((self.records.get(index).priority, Reverse(index)));
    }

    fn ran(&mut self, index: usize, thread: usize, started: Instant, result: Result<Ran, RuleError>) {
        let Some(running) = self.running.remove(&index) else { return };
        self.memory = self.memory.saturating_sub(running.memory);
        let followers = self.in_flight.remove(&running.action).unwrap_or_default();
        match result {
            Ok(ran) => {
                let label = self.records.get(index).label.to_string();
                self.ground.context.history.remember_action(&label, &running.action, Some(ran.duration_ms));
                self.records.get_mut(index).duration_ms = ran.duration_ms;
                let outputs: Outputs = Arc::new(ran.outputs);
                let details = Finish { why: running.why, notes: ran.notes, thread, started: Some(started) };
                self.finish(index, Some(running.action), Arc::clone(&outputs), Outcome::Ran, details);
                for follower in followers {
                    let outputs = Arc::clone(&outputs);
                    self.finish(follower, Some(running.action), outputs, Outcome::Cached, Finish::default());
                }
            }
            // Each follower finds out for itself: it may be luckier, or has its own producers to set back.
            Err(error) => {
                self.fail(index, Some(running.action), error);
                for follower in followers {
                    if self.records.get(follower).state == State::Busy {
                        self.make_ready(follower);
                    }
                }
            }
        }
    }

    /// An action has its outputs.
    fn finish(
        &mut self,
        index: usize,
        action: Option<ActionDigest>,
        outputs: Outputs,
        outcome: Outcome,
        details: Finish,
    ) {
        let record = self.records.get_mut(index);
        record.action = action;
        let label = record.label.clone();
        if !record.is_group() {
            match outcome {
                Outcome::Ran => self.report.ran += 1,
                Outcome::Cached => self.report.cached += 1,
                _ => self.report.unchanged += 1,
            }
            if let (Some(action), Outcome::Cached) = (&action, &outcome) {
                self.ground.context.history.remember_action(&label.to_string(), action, None);
            }
            let after = if matches!(outcome, Outcome::Ran) { self.after(index) } else { Vec::new() };
            let started = details.started.unwrap_or_else(Instant::now);
            self.sink.event(&Event::ActionFinished {
                label,
                action,
                outcome,
                why: details.why,
                started: started.duration_since(self.started),
                took: details.started.map(|started| started.elapsed()).unwrap_or(Duration::ZERO),
                thread: details.thread,
                notes: details.notes,
                outputs: (*outputs).clone(),
                after,
            });
        }
        self.complete(index, outputs);
    }

    /// A step has its outputs: those that wait for it may go on.
    fn complete(&mut self, index: usize, outputs: Outputs) {
        let previous = self.ground.last.previous.get(&self.records.get(index).label);
        let record = self.records.get_mut(index);
        record.changed = previous.is_none_or(|(_, before)| before != outputs);
        record.outputs = Some(outputs);
        let waiters = std::mem::take(&mut record.waiters);
        self.records.set(index, State::Done);
        for waiter in waiters {
            let record = self.records.get_mut(waiter);
            record.waiting = record.waiting.saturating_sub(1);
            if record.waiting == 0 && record.state == State::Waiting {
                self.make_ready(waiter);
            }
        }
    }

    fn make_ready(&mut self, index: usize) {
        self.records.set(index, State::Ready);
        self.ready.push((self.records.get(index).priority, Reverse(index)));
    }

    fn producers(&self, index: usize) -> Vec<usize> {
        let record = self.records.get(index);
        // Instances wait for what their step waits for.
        let dependencies = self.ground.plan.dependencies(record.id).into_iter();
        let mut producers: Vec<usize> = dependencies.map(NodeId::index).collect();
        if record.is_group() {
            producers.extend(record.instances.iter().flatten());
        }
        producers
    }

    fn after(&self, index: usize) -> Vec<Label> {
        self.producers(index).into_iter().map(|producer| self.records.get(producer).label.clone()).collect()
    }

    /// The outputs of a step of which nothing changed since the last build, without asking anybody.
    fn unchanged(&self, index: usize) -> Option<Outputs> {
        let changed = self.ground.last.changed_sources.as_ref()?;
        let record = self.records.get(index);
        let plain = !record.verify && record.item.is_none() && record.instances.is_none();
        if !plain
            || self
                .ground
                .options
                .forced
                .iter()
                .any(|label| label.contains(&record.label) || record.label.contains(label))
        {
            return None;
        }
        // A tool may have changed; where the plan is a part, it was looked at, and a stump has no inputs to run on.
        let may_run = !self.ground.last.is_part() && matches!(record.rule.body(), crate::rule::Body::Exec(_));
        if self.only.contains_key(&index) || may_run {
            return None;
        }
        let same = |source: &Source| match source {
            Source::File { path, .. } => !changed.contains(path),
            Source::Output { node, .. } => !self.records.get(node.index()).changed,
            Source::External(name) => self.ground.last.previous.external_unchanged(name),
            Source::Item => true,
        };
        let tree = match &record.spec.for_each {
            Some(ForEach::Tree { node, .. }) => !self.records.get(node.index()).changed,
            _ => true,
        };
        let all = tree && record.spec.inputs.values().flatten().all(same);
        all.then(|| self.ground.last.previous.outputs(&record.label)).flatten()
    }

    /// The longest way from a step to a target, by the durations of earlier runs.
    fn measure(&mut self, index: usize) {
        let record = self.records.get(index);
        let label = record.label.to_string();
        let known = self
            .ground
            .last
            .previous
            .duration_ms(&label)
            .or_else(|| self.ground.context.history.duration_ms(&label));
        let own = known.unwrap_or(1).max(1);
        let longest = record.waiters.iter().map(|&waiter| self.records.get(waiter).priority).max();
        self.records.get_mut(index).duration_ms = known.unwrap_or(0);
        self.records.get_mut(index).priority = own.saturating_add(longest.unwrap_or(0));
    }

    fn conclude(mut self) -> Report {
        for record in self.records.iter() {
            if let (State::Done, Some(outputs)) = (record.state, &record.outputs) {
                let (action, duration_ms) = (record.action, record.duration_ms);
                let done = StepDone { action, outputs: Arc::clone(outputs), duration_ms };
                self.report.done.insert(record.label.clone(), done);
            }
        }
        self.report
    }
}

/// What else is said of an action that is done.
#[derive(Default)]
struct Finish {
    why: Vec<RebuildReason>,
    notes: Vec<Note>,
    thread: usize,
    started: Option<Instant>,
}
