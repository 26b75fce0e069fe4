//! What happens when an input is gone from the store: whoever makes it runs again, at any depth.

use cache::{Digest, Output};

use super::Loop;
use crate::RuleError;
use crate::event::Event;
use crate::resolve::Outputs;
use crate::state::State;

/// A step that keeps losing inputs is given up: the store forgets faster than builds make.
pub(super) const MOST_SETBACKS: u8 = 16;

impl Loop<'_, '_> {
    /// An input of `index` is gone from the store: whoever makes it runs again first. This works at any
    /// depth: a producer that lost its own inputs comes here in its turn.
    pub(super) fn lost(&mut self, index: usize, digest: Digest) {
        let label = self.records.get(index).label.clone();
        self.sink.event(&Event::Lost { label: label.clone(), digest });
        if self.ground.last.part_of.is_some() {
            self.stopping = true;
            self.report.incomplete = true;
            return;
        }
        let record = self.records.get_mut(index);
        record.setbacks += 1;
        record.verify = true;
        if record.setbacks > MOST_SETBACKS {
            let message = format!("the store keeps losing what {label} needs (blob {})", digest.short());
            self.fail(index, None, RuleError::new(message));
            return;
        }
        self.records.set(index, State::Waiting);
        let mut producers = self.producers(index);
        producers.retain(|&producer| self.gave(producer, digest));
        self.wait_for(index, producers);
    }

    /// Whether the blob is one that the step gave, or was meant to give.
    fn gave(&self, index: usize, digest: Digest) -> bool {
        let record = self.records.get(index);
        match &record.outputs {
            // A step that is being made again will give it again.
            None => record.state != State::Unneeded,
            Some(outputs) => outputs.values().any(|output| {
                // The listing itself may be what is gone: then anything may be in it.
                self.ground.context.trees.holds(output, digest)
                    || matches!(output, Output::Tree(listing) if self.ground.context.trees.get(*listing).is_err())
            }),
        }
    }

    fn wait_for(&mut self, index: usize, producers: Vec<usize>) {
        self.records.get_mut(index).waiting = producers.len();
        for &producer in &producers {
            self.records.get_mut(producer).waiters.push(index);
        }
        for &producer in &producers {
            self.make_again(producer);
        }
        if producers.is_empty() {
            self.make_ready(index);
        }
    }

    pub(super) fn make_again(&mut self, index: usize) {
        let record = self.records.get_mut(index);
        if record.state != State::Done {
            return;
        }
        record.verify = true;
        self.records.set(index, State::Waiting);
        let instances = self.records.get(index).instances.clone();
        let Some(instances) = instances else {
            self.make_ready(index);
            return;
        };
        // A join is as good as its instances: each is asked whether it still has its outputs.
        let lacking = |outputs: &Option<Outputs>| {
            let missing = |output| !matches!(self.ground.context.trees.missing(output), Ok(None));
            outputs.as_ref().is_none_or(|outputs| outputs.values().any(missing))
        };
        let again: Vec<usize> =
            instances.into_iter().filter(|&instance| lacking(&self.records.get(instance).outputs)).collect();
        self.wait_for(index, again);
    }
}
