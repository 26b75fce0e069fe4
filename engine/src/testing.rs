//! Runs one rule without a plan and without a scheduler: for tests of rules.
//!
//! It knows no caching, no actions and no `exec`. A rule sees here exactly what it sees in a build.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use cache::{Note, Output, Store};

use crate::external::External;
use crate::io::{Cx, Input, Inputs, Outputs, Signer};
use crate::params::Params;
use crate::rule::{Body, Facts, Rule};
use crate::{ParamError, RuleError};

/// What a rule gave.
#[derive(Debug)]
pub struct Ran {
    /// Outputs by name.
    pub outputs: BTreeMap<String, Output>,
    /// What an import identified; empty for other rules.
    pub facts: Facts,
    /// What it said.
    pub notes: Vec<Note>,
}

/// Checks `params` and runs `rule`; imports identify and then fetch.
pub fn run_rule(
    rule: &dyn Rule,
    params: &Params,
    inputs: &BTreeMap<String, Input>,
    external: Option<&dyn External>,
    signer: Option<&dyn Signer>,
    store: &dyn Store,
) -> Result<Ran, RuleError> {
    if let Some(error) = rule.check(params).into_iter().next() {
        return Err(ParamError::into(error));
    }
    let cancelled = AtomicBool::new(false);
    let progress = |_, _| {};
    let inputs = Inputs::new(store, inputs);
    let outputs = Outputs::new(store, rule.interface());
    let cx = |signer| Cx { cancelled: &cancelled, progress: &progress, notes: Mutex::default(), signer };
    let (facts, cx) = match rule.body() {
        Body::Pure(run) => {
            let cx = cx(signer.filter(|_| run.signs()));
            run.run(params, &inputs, &outputs, &cx)?;
            (Facts::new(), cx)
        }
        Body::Import(import) => {
            let external = external.ok_or_else(|| RuleError::new("an import needs an external"))?;
            let identified = import.identify(params, external)?;
            let cx = cx(None);
            (identified.fetch)(external, &outputs, &cx)?;
            (identified.facts, cx)
        }
        Body::Exec(_) => return Err(RuleError::new("`exec` is run by the scheduler alone")),
    };
    Ok(Ran { outputs: outputs.finish()?, facts, notes: cx.into_notes() })
}
