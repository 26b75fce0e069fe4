//! Runs one action and stores its result.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use cache::{ActionResult, Note, Output};

use crate::io::{Cx, Inputs, Outputs, Signer};
use crate::resolve::{Context, Prepared};
use crate::rule::Body;
use crate::staged::Elsewhere;
use crate::{RuleError, exec, staged};

/// What running needs besides what resolving needs.
pub(crate) struct Runner<'a> {
    pub(crate) signer: Option<&'a dyn Signer>,
    pub(crate) cancelled: &'a AtomicBool,
    /// Where folders for tools and staged actions are made.
    pub(crate) scratch: &'a Path,
    pub(crate) sandbox: bool,
    pub(crate) elsewhere: Option<&'a dyn Elsewhere>,
}

/// What an action gave.
pub(crate) struct Ran {
    pub(crate) outputs: BTreeMap<String, Output>,
    pub(crate) notes: Vec<Note>,
    pub(crate) duration_ms: u64,
}

impl Runner<'_> {
    /// Runs an action; its result is in the store when this returns.
    pub(crate) fn run(
        &self,
        context: &Context<'_>,
        prepared: Prepared<'_>,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<Ran, RuleError> {
        let start = Instant::now();
        let request = &prepared.request;
        let rule = request.rule;
        let outputs = Outputs::new(context.store, rule.interface());
        let mut private = request.private;
        let mut cx = Cx { cancelled: self.cancelled, progress, notes: Mutex::default(), signer: None };
        let manifest = prepared.action.encode();
        match rule.body() {
            Body::Exec(_) => {
                // What a tool did outside the sandbox is believed here and nowhere else.
                private |= !self.sandbox;
                let (spec, tool) =
                    prepared.exec.as_ref().ok_or_else(|| RuleError::new("no tool was resolved"))?;
                let env = prepared.action.tool.as_ref().map(|tool| &tool.env);
                let job = exec::Job { spec, tool, env, inputs: &prepared.inputs };
                exec::run(&job, self, context, &outputs)?;
            }
            Body::Pure(body) => {
                if body.signs() {
                    cx.signer = self.signer;
                }
                match self.elsewhere.filter(|elsewhere| !body.signs() && elsewhere.takes(&prepared.action)) {
                    Some(elsewhere) => {
                        let notes = staged::run_elsewhere(
                            elsewhere,
                            self.scratch,
                            &manifest,
                            &prepared.inputs,
                            context,
                            &outputs,
                        )?;
                        notes.into_iter().for_each(|note| cx.note(note.severity, note.message));
                    }
                    None => {
                        let inputs = Inputs::new(context.store, &prepared.inputs);
                        guarded(|| body.run(&prepared.params, &inputs, &outputs, &cx))?;
                    }
                }
            }
            Body::Import(_) => {
                let (fetch, given) =
                    prepared.import.ok_or_else(|| RuleError::new("nothing was identified"))?;
                guarded(|| context.with_external(&given, |external| fetch(external, &outputs, &cx)))?;
            }
        }
        cx.check_cancelled()?;
        let notes = cx.into_notes();
        let duration_ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
        let outputs = outputs.finish()?;
        let result = ActionResult { manifest, outputs, notes, duration_ms, private };
        context.store.put_result(&result)?;
        Ok(Ran { outputs: result.outputs, notes: result.notes, duration_ms })
    }
}

/// A panic in a rule is our bug: it fails its step and says so, and the build goes on in good order.
pub(crate) fn guarded(run: impl FnOnce() -> Result<(), RuleError>) -> Result<(), RuleError> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        Err(RuleError::new(format!("bake has a bug: {text}")).hint("please report it, with the recipe"))
    })
}
