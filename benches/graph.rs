//! Nothing to do, and one file changed, in graphs of many small actions: beside ninja on the same graph.
//!
//! A graph is made of folders of 1,000 actions in ten layers of 100. An action reads a source file of its own
//! and, below the first layer, the output of the action 100 before it; one changed source of the first layer
//! reaches ten actions. The tool of both sides concatenates: a rule of ours in process, `cat` for ninja.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use engine::{Catalogue, Cx, Inputs, Interface, Kind, Outputs, Pure, RuleError, pure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::Outcome;
use crate::measure::{Table, alternate, command, this, time};

/// Actions of a folder and of a layer.
const FOLDER: usize = 1_000;
const LAYER: usize = 100;

/// All rules of `bake`, and `join`.
pub(crate) fn catalogue() -> Catalogue {
    rules::catalogue().with(pure(Join))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    name: String,
}

struct Join;

impl Pure for Join {
    type Params = Params;
    const NAME: &'static str = "join";
    const VERSION: u32 = 1;
    const DOC: &'static str = "Joins files.";

    fn interface() -> Interface {
        Interface::new().input("parts", Kind::Tree, "Files.").output("whole", Kind::Tree, "Them as one.")
    }

    fn run(params: Params, inputs: &Inputs<'_>, outputs: &Outputs<'_>, _: &Cx<'_>) -> Result<(), RuleError> {
        let mut whole = Vec::new();
        for (_, digest) in inputs.tree("parts")?.iter() {
            whole.extend_from_slice(&inputs.read(*digest)?);
        }
        outputs.put_in("whole", &params.name, &whole)
    }
}

/// Measures a graph of `size` actions.
pub(crate) fn measure(folder: &Path, size: usize, table: &mut Table) -> Outcome<()> {
    let name = |what: &str| format!("{what}, {size} actions");
    if command("ninja".as_ref(), &["--version"]).output().is_err() {
        table.skipped(&name("graph"), "there is no ninja to compare with");
        return Ok(());
    }
    let (ours, theirs) = (folder.join("ours"), folder.join("theirs"));
    let (sources, changed_by_us) = write_ours(&ours, size)?;
    write_theirs(&theirs, size)?;
    let store = folder.join("store");
    let bake = || -> Outcome<Command> {
        let store = store.to_string_lossy();
        let mut command = this(&["bake", "build", "...", "--store", &store])?;
        command.current_dir(&ours);
        Ok(command)
    };
    let ninja = || {
        let mut command = command("ninja".as_ref(), &[]);
        command.current_dir(&theirs);
        command
    };
    let cold = (time(&mut bake()?)?, time(&mut ninja())?);
    table.times(&name("all"), cold, "ninja", None);
    // Files that were written a moment ago are looked at twice: not what is measured.
    std::thread::sleep(Duration::from_millis(2_100));

    let (rounds, target) = match size {
        ..10_000 => (41, 1.0),
        10_000..100_000 => (15, 0.5),
        _ => (7, 0.35),
    };
    let pair = alternate(rounds, || time(&mut bake()?), || time(&mut ninja()))?;
    table.times(&name("no-op"), pair, "ninja", Some(target));

    let changed = Path::new("f7");
    let text = |round: usize| format!("changed {round}\n");
    let (mut a, mut b) = (0, 0);
    let one = |root: &Path, out: &Path, round: &mut usize, command: &mut Command| {
        *round += 1;
        fs::write(root.join(changed), text(*round))?;
        let took = time(command)?;
        match fs::read_to_string(out)?.contains(&text(*round)) {
            true => Ok(took),
            false => Err("the change did not reach the end".into()),
        }
    };
    let pair = alternate(
        rounds,
        || one(&sources, &changed_by_us, &mut a, &mut bake()?),
        || one(&theirs.join("g0"), &theirs.join("out/g0/s907"), &mut b, &mut ninja()),
    )?;
    table.times(&name("one changed"), pair, "ninja", Some(1.0));
    Ok(())
}

fn sources(folder: &Path, number: usize) -> Outcome<()> {
    fs::create_dir_all(folder)?;
    for i in 0..FOLDER {
        fs::write(folder.join(format!("f{i}")), format!("{number} {i}\n"))?;
    }
    Ok(())
}

/// A workspace, the folder of its first recipe, and the last output that its `f7` reaches.
fn write_ours(root: &Path, size: usize) -> Outcome<(std::path::PathBuf, std::path::PathBuf)> {
    let recipe = |number: usize| format!("forge-packs/g{number}");
    for number in 0..size / FOLDER {
        let folder = root.join(recipe(number));
        sources(&folder, number)?;
        let outputs: Vec<String> = (FOLDER - LAYER..FOLDER).map(|i| format!(":s{i}")).collect();
        let mut text = format!("schema = 1\noutputs = {outputs:?}\n");
        for i in 0..FOLDER {
            let before = i.checked_sub(LAYER).map(|before| format!(", \":s{before}\"")).unwrap_or_default();
            write!(
                text,
                "[[step]]\nname = \"s{i}\"\nrule = \"join\"\ninputs.parts = [\"f{i}\"{before}]\nparams.name = \"s{i}\"\n"
            )?;
        }
        fs::write(folder.join("recipe.toml"), text)?;
    }
    fs::write(root.join("bake.toml"), "schema = 1\n")?;
    Ok((root.join(recipe(0)), root.join("out").join(recipe(0)).join("s907")))
}

fn write_theirs(root: &Path, size: usize) -> Outcome<()> {
    let mut text = "rule cat\n  command = cat $in > $out\n".to_owned();
    for number in 0..size / FOLDER {
        sources(&root.join(format!("g{number}")), number)?;
        for i in 0..FOLDER {
            write!(text, "build out/g{number}/s{i}: cat g{number}/f{i}")?;
            match i.checked_sub(LAYER) {
                Some(before) => writeln!(text, " out/g{number}/s{before}")?,
                None => writeln!(text)?,
            }
        }
    }
    Ok(fs::write(root.join("build.ninja"), text)?)
}
