//! [`Event`]: all that a build says while it runs. Console, build log, trace and `--events` are fed by it.

use std::collections::BTreeMap;
use std::time::Duration;

use cache::{ActionDigest, Digest, Note, Output};

use crate::error::Failure;
use crate::label::Label;
use crate::why::RebuildReason;

/// What happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// The plan is known.
    BuildStarted {
        /// What is built.
        targets: Vec<Label>,
        /// How many steps the plan has, before `for_each` steps spread out.
        steps: usize,
    },
    /// A `for_each` step spread out: that many more actions.
    Expanded {
        /// The step.
        label: Label,
        /// How many instances.
        instances: usize,
    },
    /// An action was not found in the store and runs now.
    ActionStarted {
        /// Whose.
        label: Label,
        /// Its identity.
        action: ActionDigest,
        /// Why it runs.
        why: Vec<RebuildReason>,
    },
    /// A running action says how far it is.
    Progress {
        /// Whose.
        label: Label,
        /// So much is done,
        done: u64,
        /// of so much.
        total: u64,
    },
    /// An action is done.
    ActionFinished {
        /// Whose.
        label: Label,
        /// Its identity; absent when its inputs could not be resolved.
        action: Option<ActionDigest>,
        /// How it ended.
        outcome: Outcome,
        /// Why it ran.
        why: Vec<RebuildReason>,
        /// When it started, since the build started.
        started: Duration,
        /// How long it took.
        took: Duration,
        /// The thread that it ran on, from 0.
        thread: usize,
        /// What the rule said.
        notes: Vec<Note>,
        /// Outputs by name; empty when it failed.
        outputs: BTreeMap<String, Output>,
        /// The labels that it waited for.
        after: Vec<Label>,
    },
    /// A step was not tried because one that it waits for failed.
    Skipped {
        /// The step.
        label: Label,
        /// The one that failed.
        because: Label,
    },
    /// An action's input was gone from the store; its producer runs again.
    Lost {
        /// The action that missed it.
        label: Label,
        /// What was gone.
        digest: Digest,
    },
}

/// How an action ended.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It ran.
    Ran,
    /// Its result was in the store.
    Cached,
    /// Nothing that it depends on changed since the last build; the store was not asked.
    Unchanged,
    /// It ran, or would have, and failed.
    Failed(Box<Failure>),
}

/// Receives events, on the thread that owns the build.
pub trait Sink {
    /// Takes one.
    fn event(&mut self, event: &Event);
}

impl<F: FnMut(&Event)> Sink for F {
    fn event(&mut self, event: &Event) {
        self(event);
    }
}
