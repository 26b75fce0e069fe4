//! The state of a build: one record a step or instance, changed by one thread alone.
//!
//! ```text
//! Waiting ──> Ready ──> Busy ──> Done
//!    ^          ^         │ └──> Failed
//!    └──────────┴─────────┘          waiters of what failed: Skipped
//!      an input was lost: its producer is made Ready again
//! ```
//!
//! A step with `for_each` is Busy twice: when it spreads out, and when its instances join again.

use std::sync::Arc;

use cache::ActionDigest;

use crate::label::Label;
use crate::plan::{self, Item, NodeId, Plan};
use crate::resolve::Outputs;
use crate::rule::Rule;

/// Where a step stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// No target needs it.
    Unneeded,
    /// It waits for others.
    Waiting,
    /// Nothing keeps it from being worked on.
    Ready,
    /// A worker has it, or it waits for memory, or for an equal action in flight.
    Busy,
    /// Its outputs are known.
    Done,
    /// It failed.
    Failed,
    /// One that it waits for failed.
    Skipped,
}

/// A step, or an instance of one.
pub(crate) struct Record<'a> {
    pub(crate) label: Label,
    pub(crate) rule: &'a dyn Rule,
    pub(crate) id: NodeId,
    pub(crate) spec: &'a plan::Node,
    pub(crate) item: Option<Arc<Item>>,
    pub(crate) state: State,
    /// How many of those that it waits for are not done.
    pub(crate) waiting: usize,
    /// Who is told when it is done.
    pub(crate) waiters: Vec<usize>,
    /// The instances of a step that spread out.
    pub(crate) instances: Option<Vec<usize>>,
    pub(crate) outputs: Option<Outputs>,
    pub(crate) action: Option<ActionDigest>,
    /// How long its last run took, in milliseconds.
    pub(crate) duration_ms: u64,
    /// Whether its outputs differ from those of the last build.
    pub(crate) changed: bool,
    /// Do not take the last build's word for its outputs: some were lost.
    pub(crate) verify: bool,
    /// How often it was set back because inputs were lost.
    pub(crate) setbacks: u8,
    /// The length of the longest way to a target through it, in milliseconds.
    pub(crate) priority: u64,
}

/// All records; those of the plan's steps come first, at their ids.
pub(crate) struct Records<'a>(Vec<Record<'a>>);

impl<'a> Records<'a> {
    pub(crate) fn new(plan: &'a Plan, rules: &[&'a dyn Rule], needed: &[NodeId]) -> Self {
        let mut records: Vec<Record<'a>> = Vec::with_capacity(plan.nodes().len());
        for (id, spec) in plan.nodes() {
            records.push(Record::new(spec.label.clone(), rules[id.index()], id, spec, None));
        }
        for &id in needed {
            let dependencies = plan.dependencies(id);
            records[id.index()].waiting = dependencies.len();
            records[id.index()].state = State::Waiting;
            for dependency in dependencies {
                records[dependency.index()].waiters.push(id.index());
            }
        }
        Self(records)
    }

    /// Adds the instance of a step.
    pub(crate) fn add_instance(&mut self, group: usize, item: Item) -> usize {
        let parent = &self.0[group];
        let label = parent.label.with_instance(&item.name);
        let mut record = Record::new(label, parent.rule, parent.id, parent.spec, Some(Arc::new(item)));
        record.priority = parent.priority;
        record.verify = parent.verify;
        record.state = State::Waiting;
        record.waiters.push(group);
        self.0.push(record);
        self.0.len() - 1
    }

    pub(crate) fn get(&self, index: usize) -> &Record<'a> {
        &self.0[index]
    }

    pub(crate) fn get_mut(&mut self, index: usize) -> &mut Record<'a> {
        &mut self.0[index]
    }

    /// The one place where a state changes.
    pub(crate) fn set(&mut self, index: usize, state: State) {
        debug_assert!(
            !matches!((self.0[index].state, state), (State::Failed | State::Skipped | State::Unneeded, _)),
            "a step came back from the dead"
        );
        self.0[index].state = state;
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Record<'a>> {
        self.0.iter()
    }
}

impl<'a> Record<'a> {
    fn new(
        label: Label,
        rule: &'a dyn Rule,
        id: NodeId,
        spec: &'a plan::Node,
        item: Option<Arc<Item>>,
    ) -> Self {
        Self {
            label,
            rule,
            id,
            spec,
            item,
            state: State::Unneeded,
            waiting: 0,
            waiters: Vec::new(),
            instances: None,
            outputs: None,
            action: None,
            duration_ms: 0,
            changed: true,
            verify: false,
            setbacks: 0,
            priority: 0,
        }
    }

    /// Whether it is a step that spreads out (and no instance of one).
    pub(crate) fn is_group(&self) -> bool {
        self.spec.for_each.is_some() && self.item.is_none()
    }
}
