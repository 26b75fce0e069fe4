//! What follows from a failure: it is said once, and what waits for it is skipped.

use std::collections::BTreeMap;
use std::time::Duration;

use cache::{ActionDigest, StoreError};

use super::Loop;
use crate::build::Failed;
use crate::error::{Failure, Lost, RuleError};
use crate::event::{Event, Outcome};
use crate::label::Label;
use crate::state::State;

impl Loop<'_, '_> {
    pub(super) fn fail(&mut self, index: usize, action: Option<ActionDigest>, error: RuleError) {
        let failure = match error {
            RuleError::Lost(Lost(digest)) => return self.lost(index, digest),
            RuleError::Cancelled => {
                self.stopping = true;
                self.records.set(index, State::Failed);
                return;
            }
            RuleError::Store(error) => {
                self.stopping = true;
                self.store_failed(error)
            }
            RuleError::Failed(failure) => *failure,
        };
        let label = self.records.get(index).label.clone();
        self.records.set(index, State::Failed);
        self.say_failed(label, action, failure);
        let most = if self.ground.options.keep_going { self.ground.options.max_failures } else { Some(1) };
        self.stopping |= most.is_some_and(|most| self.report.failed.len() >= most);
        self.skip_waiters(index);
    }

    /// Keeps the first trouble with the store, and gives what people read of it.
    pub(super) fn store_failed(&mut self, error: StoreError) -> Failure {
        let failure = Failure::of_store(&error);
        self.report.store_error.get_or_insert(error);
        failure
    }

    pub(super) fn say_failed(&mut self, label: Label, action: Option<ActionDigest>, failure: Failure) {
        self.sink.event(&Event::ActionFinished {
            label: label.clone(),
            action,
            outcome: Outcome::Failed(Box::new(failure.clone())),
            why: Vec::new(),
            started: self.started.elapsed(),
            took: Duration::ZERO,
            thread: 0,
            notes: Vec::new(),
            outputs: BTreeMap::new(),
            after: Vec::new(),
        });
        self.report.failed.push(Failed { label, failure });
    }

    fn skip_waiters(&mut self, failed: usize) {
        let because = self.records.get(failed).label.clone();
        let mut stack = std::mem::take(&mut self.records.get_mut(failed).waiters);
        while let Some(index) = stack.pop() {
            if self.records.get(index).state == State::Waiting {
                self.records.set(index, State::Skipped);
                let label = self.records.get(index).label.clone();
                self.sink.event(&Event::Skipped { label, because: because.clone() });
                self.report.skipped += 1;
                stack.extend(std::mem::take(&mut self.records.get_mut(index).waiters));
            }
        }
    }
}
