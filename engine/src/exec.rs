//! `exec` steps: a tool of the user's in a folder that holds the declared inputs alone.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;

use cache::{StoreError, WorkspacePath};

use crate::RuleError;
use crate::io::{Input, Outputs};
use crate::resolve::Context;
use crate::rule::ExecSpec;
use crate::run::Runner;
use crate::sandbox::{self, Command, Ended, Policy};
use crate::staged::{self, Scratch};

/// How much of a tool's words is kept.
const OUTPUT_LIMIT: usize = 64 << 10;

pub(crate) struct Job<'a> {
    pub(crate) spec: &'a ExecSpec,
    pub(crate) tool: &'a Path,
    pub(crate) env: Option<&'a BTreeMap<String, String>>,
    pub(crate) inputs: &'a BTreeMap<String, Input>,
}

/// Runs the tool; what it left in `out/` becomes the tree output `out`.
pub(crate) fn run(
    job: &Job<'_>,
    runner: &Runner<'_>,
    context: &Context<'_>,
    outputs: &Outputs<'_>,
) -> Result<(), RuleError> {
    let policy = policy(runner.sandbox)?;
    let scratch = Scratch::new(runner.scratch)?;
    let folder = scratch.path();
    for name in ["in", "out", "tmp"] {
        fs::create_dir(folder.join(name)).map_err(StoreError::io("create", folder.join(name)))?;
    }
    staged::place_inputs(job.inputs, &folder.join("in"), context.store)?;
    let command = Command {
        tool: job.tool.to_owned(),
        args: job.spec.args.iter().map(OsString::from).collect(),
        env: job.env.cloned().unwrap_or_default(),
        folder: folder.to_owned(),
        timeout: None,
        output_limit: OUTPUT_LIMIT,
    };
    let cancelled = || runner.cancelled.load(Ordering::Relaxed);
    let finished = sandbox::run(&command, policy, &cancelled)
        .map_err(|error| RuleError::new(format!("tool `{}` could not be run: {error}", job.spec.tool)))?;
    match finished.ended {
        Ended::Code(0) => {}
        Ended::Cancelled => return Err(RuleError::Cancelled),
        ended => {
            let message = format!("tool `{}` failed: {ended}", job.spec.tool);
            let words = [finished.stderr.to_string(), finished.stdout.to_string()];
            let lines = words.iter().flat_map(|text| text.lines());
            return Err(lines.fold(RuleError::new(message), RuleError::detail));
        }
    }
    let out = folder.join("out");
    staged::collect_tree(&out, context.store, &mut |path, digest| {
        outputs.link_in("out", path.as_str(), digest)
    })?;
    for expected in &job.spec.expected {
        if !WorkspacePath::parse(expected)?.under(&out).exists() {
            return Err(RuleError::new(format!("tool `{}` did not write `out/{expected}`", job.spec.tool)));
        }
    }
    Ok(())
}

fn policy(sandboxed: bool) -> Result<Policy, RuleError> {
    if !sandboxed {
        return Ok(Policy::Unsandboxed);
    }
    sandbox::available().map(|()| Policy::Sandboxed).map_err(|reason| {
        RuleError::new(format!("an `exec` step needs a sandbox, and there is none here: {reason}"))
            .hint("`--no-sandbox` runs it all the same; its result is then never shared")
    })
}
