//! `bake doctor`: what was found, what is missing, and how to mend it.

use serde_json::json;

use crate::Product;
use crate::cli::{Cli, Doctor};
use crate::count::count;
use crate::fail::{Exit, Fail};
use crate::session::{Session, environment, store_path};
use crate::shell::Shell;
use crate::signing;

/// How something stands.
#[derive(Clone, Copy, PartialEq)]
enum State {
    Good,
    /// Works, with less.
    Less,
    Bad,
}

struct Found {
    name: String,
    state: State,
    what: String,
    mend: Option<String>,
}

pub(crate) fn run(args: &Doctor, cli: &Cli, product: &Product, shell: &Shell) -> Result<(), Fail> {
    let mut all = vec![found("bake", State::Good, version(product))];
    let session = match Session::find(cli, product) {
        Ok(session) => Some(session),
        Err(fail) => {
            shell.fail(&fail);
            let mend = "go to a workspace, or name one with -C";
            all.push(found("workspace", State::Bad, "none that can be used").mend(mend));
            None
        }
    };
    if let Some(session) = &session {
        workspace(session, shell, &mut all);
        externals(session, &mut all);
        tools(session, &mut all);
    }
    store(cli, session.as_ref(), &mut all);
    all.push(match engine::sandbox::available() {
        Ok(()) => found("sandbox", State::Good, "`exec` steps run cut off from the machine"),
        Err(why) => found("sandbox", State::Less, why).mend("`exec` steps need --no-sandbox here"),
    });
    if let Some(session) = &session {
        all.push(match &session.settings.signing_key {
            None => found("signing", State::Less, "no key is configured: archives are unsigned")
                .mend("`bake signing-keys new`"),
            Some(set) => {
                let found_at = signing::Place::of(&set.key);
                let opened = found_at.open();
                let mend = "`bake signing-keys new`, or correct [signing] of the settings";
                match (opened, found_at.warning()) {
                    (Ok(_), None) => found("signing", State::Good, found_at.to_string()),
                    (Ok(_), Some(warning)) => {
                        found("signing", State::Less, warning.message).mend(warning.help)
                    }
                    (Err(fail), _) => found("signing", State::Bad, fail.words()).mend(mend),
                }
            }
        });
    }
    if args.json {
        let form = |found: &Found| {
            let state = match found.state {
                State::Good => "good",
                State::Less => "less",
                State::Bad => "bad",
            };
            json!({"name": found.name, "state": state, "found": found.what, "help": found.mend})
        };
        shell.json(&json!({"schema": 1, "checks": all.iter().map(form).collect::<Vec<_>>()}));
    } else {
        shell.data(&text(&all));
    }
    if all.iter().any(|found| found.state == State::Bad) { Err(Fail::said(Exit::Machine)) } else { Ok(()) }
}

fn text(all: &[Found]) -> String {
    let mut text = String::new();
    for found in all {
        let mark = match found.state {
            State::Good => "ok",
            State::Less => "--",
            State::Bad => "!!",
        };
        text += &format!("{mark}  {:10} {}\n", found.name, found.what);
        if let Some(mend) = &found.mend {
            text += &format!("               {mend}\n");
        }
    }
    text
}

fn found(name: impl Into<String>, state: State, what: impl Into<String>) -> Found {
    Found { name: name.into(), state, what: what.into(), mend: None }
}

impl Found {
    fn mend(self, mend: impl Into<String>) -> Self {
        Self { mend: Some(mend.into()), ..self }
    }
}

fn version(product: &Product) -> String {
    let kind = if product.salt.is_some() { "a development build" } else { "a release" };
    let rules = count(product.catalogue.iter().count(), "rule");
    format!("{}, {kind}, {rules}", env!("CARGO_PKG_VERSION"))
}

fn workspace(session: &Session<'_>, shell: &Shell, all: &mut Vec<Found>) {
    all.push(match session.workspace() {
        Ok(workspace) => {
            let what = format!("{}: {}", session.root.display(), count(workspace.recipes().len(), "recipe"));
            found("workspace", State::Good, what)
        }
        Err(fail) => {
            shell.fail(&fail);
            found("workspace", State::Bad, format!("{}: see above", session.root.display()))
        }
    });
}

fn externals(session: &Session<'_>, all: &mut Vec<Found>) {
    let externals = session.externals();
    for name in ["game", "mappings", "ce-maps", "runtime"] {
        let variable = recipes::external_variable(name).unwrap_or_default();
        let at = format!("@{name}");
        all.push(match session.settings.externals.get(name) {
            None if session.product.catalogue.get(&format!("stand-in-{name}")).is_none() => {
                found(at, State::Less, "not set, and nothing stands in for it yet")
                    .mend(format!("set {variable}, or `bake.local.toml` [{name}] path = \"…\""))
            }
            None => found(at, State::Less, "not set: built from its stand-in")
                .mend(format!("set {variable}, or `bake.local.toml` [{name}] path = \"…\"")),
            Some(set) => {
                let files = externals.get(name).map(|external| external.files());
                match files {
                    Some(Ok(files)) if !files.is_empty() => {
                        let what = format!("{}: {}", set.path.display(), count(files.len(), "file"));
                        found(at, State::Good, what)
                    }
                    Some(Ok(_)) => found(at, State::Bad, format!("`{}` has no files", set.path.display()))
                        .mend(format!("correct {variable} or the settings")),
                    Some(Err(error)) => found(at, State::Bad, format!("`{}`: {error}", set.path.display()))
                        .mend(format!("correct {variable} or the settings")),
                    None => continue,
                }
            }
        });
    }
}

fn tools(session: &Session<'_>, all: &mut Vec<Found>) {
    for name in session.settings.tools.keys() {
        all.push(match session.find_tool(name) {
            Ok(path) => found(name, State::Good, path.display().to_string()),
            Err(error) => found(name, State::Bad, error).mend("correct [tools] in the settings"),
        });
    }
}

fn store(cli: &Cli, session: Option<&Session<'_>>, all: &mut Vec<Found>) {
    let settings = session.map(|session| &session.settings);
    let opened = store_path(cli, settings, &environment()).and_then(|path| {
        cache::DiskStore::open(&path)?;
        Ok(path)
    });
    all.push(match opened {
        Ok(path) => found("store", State::Good, path.display().to_string()),
        Err(fail) => found("store", State::Bad, fail.words()).mend("name another folder with BAKE_STORE"),
    });
}
