//! How a step becomes its instances, once the entries of its `for_each` are known.

use std::collections::BTreeSet;

use super::Loop;
use crate::RuleError;
use crate::event::Event;
use crate::plan::Item;
use crate::state::State;

impl Loop<'_, '_> {
    /// The entries that a step spreads out over are known.
    pub(super) fn expand(&mut self, index: usize, mut items: Vec<Item>) {
        let label = self.records.get(index).label.clone();
        if let Some(only) = self.only.get(&index) {
            if let Some(missing) = only.iter().find(|name| !items.iter().any(|item| item.name == **name)) {
                let known: Vec<&str> = items.iter().map(|item| item.name.as_str()).collect();
                let error = RuleError::new(format!("there is no instance `{missing}`"));
                let near = crate::schema::did_you_mean(missing, known.iter().copied());
                let error = match near {
                    Some(near) => error.hint(format!("did you mean `{near}`?")),
                    None => error.hint(format!("it has: {}", known.join(", "))),
                };
                self.fail(index, None, error);
                return;
            }
            items.retain(|item| only.contains(&item.name));
        }
        let mut names = BTreeSet::new();
        let twice = items.iter().find(|item| !names.insert(item.name.to_ascii_lowercase()));
        if let Some(item) = twice {
            let error = RuleError::new(format!("two instances of {label} are called `{}`", item.name));
            self.fail(index, None, error);
            return;
        }
        self.sink.event(&Event::Expanded { label, instances: items.len() });
        let instances: Vec<usize> =
            items.into_iter().map(|item| self.records.add_instance(index, item)).collect();
        self.records.get_mut(index).waiting = instances.len();
        self.records.get_mut(index).instances = Some(instances.clone());
        self.records.set(index, State::Waiting);
        if instances.is_empty() {
            self.make_ready(index);
        }
        instances.into_iter().for_each(|instance| self.make_ready(instance));
    }
}
