//! `bake run-action`: one action, staged in a folder, in a process of its own; and [`Half`], which sends
//! every other action of a build through it.

use std::path::Path;
use std::process::{Command, Stdio};

use cache::DiskStore;
use engine::{Action, Elsewhere};

use crate::Product;
use crate::cli::RunAction;
use crate::fail::Fail;

pub(crate) fn run(args: &RunAction, product: &Product) -> Result<(), Fail> {
    // What passes through is kept on disk: an action may be larger than memory.
    let place =
        tempfile::tempdir_in(&args.folder).map_err(|error| Fail::io("write to", &args.folder, &error))?;
    let store = DiskStore::open(place.path())?;
    Ok(engine::run_action(&args.folder, &product.catalogue, &store)?)
}

/// Runs every other action in a process of its own; which ones is a matter of their digests.
pub(crate) struct Half;

impl Elsewhere for Half {
    fn takes(&self, action: &Action) -> bool {
        action.digest().as_bytes().last().is_some_and(|byte| byte % 2 == 1)
    }

    fn run(&self, folder: &Path) -> Result<(), String> {
        let bake = std::env::current_exe().map_err(|error| format!("cannot find bake itself: {error}"))?;
        let mut command = Command::new(bake);
        command
            .arg("run-action")
            .arg(folder)
            .args(["--color", "never"])
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let done = command.output().map_err(|error| format!("cannot start bake itself: {error}"))?;
        if done.status.success() {
            return Ok(());
        }
        let words = String::from_utf8_lossy(&done.stderr);
        let words = words.trim().trim_start_matches("error: ");
        Err(if words.is_empty() {
            format!("run-action ended with {}", done.status)
        } else {
            words.to_owned()
        })
    }
}
