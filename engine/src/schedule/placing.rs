//! Final outputs are placed when their target is done, and only then.

use super::Loop;
use super::lost::MOST_SETBACKS;
use crate::build::Artifact;
use crate::error::{Failure, Lost, RuleError};
use crate::event::Event;
use crate::place;
use crate::plan::Target;
use crate::state::State;

impl Loop<'_, '_> {
    /// Places the outputs of all targets that are done; `true` when something was lost and is made again.
    pub(super) fn place_outputs(&mut self) -> bool {
        let mut again = false;
        for target in self.ground.plan.targets() {
            // What could not be placed was said: it is not tried again when another target is.
            let failed = self.report.failed.iter().any(|failed| failed.label == target.label);
            if !failed && target.nodes.iter().all(|node| self.records.get(node.index()).state == State::Done)
            {
                again |= self.place_target(target);
            }
        }
        again
    }

    fn place_target(&mut self, target: &Target) -> bool {
        let mut artifacts = Vec::new();
        for placed in &target.placed {
            let index = placed.node.index();
            let outputs = self.records.get(index).outputs.clone().unwrap_or_default();
            let Some(output) = outputs.get(&placed.output) else { continue };
            let result = place::output(
                self.ground.options,
                self.ground.context,
                &self.ground.last.previous,
                placed,
                output,
                &mut artifacts,
            );
            match result {
                Ok(()) => {}
                Err(RuleError::Lost(_)) if self.ground.last.part_of.is_some() => {
                    self.report.incomplete = true;
                    return false;
                }
                Err(RuleError::Lost(Lost(digest))) => {
                    let record = self.records.get_mut(index);
                    record.setbacks += 1;
                    if record.setbacks <= MOST_SETBACKS {
                        self.sink.event(&Event::Lost { label: target.label.clone(), digest });
                        self.make_again(index);
                        return true;
                    }
                    let message = format!("the store keeps losing outputs of {}", target.label);
                    self.place_failed(target, RuleError::new(message));
                }
                Err(error) => self.place_failed(target, error),
            }
        }
        let of_target = artifacts.into_iter().map(|record| Artifact { label: target.label.clone(), record });
        self.report.artifacts.retain(|artifact| artifact.label != target.label);
        self.report.artifacts.extend(of_target);
        false
    }

    fn place_failed(&mut self, target: &Target, error: RuleError) {
        let failure = match error {
            RuleError::Failed(failure) => *failure,
            RuleError::Store(error) => self.store_failed(error),
            other => Failure::new(other.to_string()),
        };
        self.say_failed(target.label.clone(), None, failure);
    }
}
