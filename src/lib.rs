//! The command line: arguments, progress, reports. It wires the other crates together and decides nothing.
//!
//! It is a library so that another binary can bring other rules; `main.rs` brings ours. Start with
//! `cli.rs` for what can be asked, then `driver.rs`, the one way in which anything is built. `shell.rs` is
//! the only place that prints.

mod archives;
mod bytes;
mod check_update;
mod clean;
mod cli;
mod completions;
mod contents;
mod count;
mod device_key;
mod diff;
mod doctor;
mod driver;
mod dump;
mod events;
mod explain;
mod extract;
mod fail;
mod gc;
mod graph;
mod impact;
mod init;
mod inspect;
mod lock;
mod make;
mod pack;
mod progress;
mod query;
mod record;
mod report;
mod reproduce;
mod resolve;
mod rules;
mod run_action;
mod schema;
mod session;
mod shell;
mod signing;
mod store;
mod trace;
mod verify;
mod why;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use engine::Catalogue;

use crate::cli::{Cli, Command};
use crate::fail::Fail;
use crate::session::Session;
use crate::shell::Shell;

/// What this build of the command brings.
pub(crate) struct Product {
    pub(crate) catalogue: Catalogue,
    pub(crate) salt: Option<[u8; 32]>,
}

/// The salt of this build: a hash of its source tree; `None` for a release.
pub fn source_salt() -> Option<[u8; 32]> {
    bytes::unhex(env!("BAKE_SALT"))
}

/// Runs the command line `args` (the program's name first) with these rules. `salt` sets the action
/// digests of development builds apart.
pub fn main(
    args: impl IntoIterator<Item = OsString>,
    catalogue: Catalogue,
    salt: Option<[u8; 32]>,
) -> ExitCode {
    // What is caught and becomes an error is nothing to shout about.
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !iostore::Oodle::is_decoding() {
            usual(info);
        }
    }));
    let product = Product { catalogue, salt };
    let mut cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let shell = Shell::new(&cli);
    let done = session::settle_labels(&mut cli).and_then(|()| run(&cli, &product, &shell));
    match done.and_then(|()| shell.arrived()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fail) => {
            shell.fail(&fail);
            fail.exit.into()
        }
    }
}

fn run(cli: &Cli, product: &Product, shell: &Shell) -> Result<(), Fail> {
    let session = || Session::find(cli, product);
    match &cli.command {
        Command::Build(args) => make::run(args, &session()?, shell),
        Command::Pack(args) => pack::run(args, cli, product, shell),
        Command::Verify(args) => verify::run(args, shell),
        Command::Explain(args) => explain::run(args, shell),
        Command::Extract(args) => extract::run(args, session, shell),
        Command::Impact(args) => impact::run(args, &session()?, shell),
        Command::CheckUpdate(args) => check_update::run(args, shell),
        Command::Diff(args) => diff::run(args, shell),
        Command::Resolve(args) => resolve::run(args, shell),
        Command::Inspect(args) => inspect::run(args, shell),
        Command::Why(args) => why::run(args, &session()?, shell),
        Command::Graph(args) => graph::run(args, &session()?, shell),
        Command::Query(args) => query::run(args, &session()?, shell),
        Command::Lock(args) => lock::run(args, &session()?, shell),
        Command::Reproduce(args) => reproduce::run(args, &session()?, shell),
        Command::Gc(args) => gc::run(args, cli, product, shell),
        Command::Clean(args) => clean::run(args, &session()?, shell),
        Command::Doctor(args) => doctor::run(args, cli, product, shell),
        Command::Rules(args) => rules::run(args, product, shell),
        Command::Schema(args) => schema::run(args, product, session, shell),
        Command::SigningKeys(args) => signing::run(args, cli, product, shell),
        Command::Init(args) => init::run(args, session, shell),
        Command::RunAction(args) => run_action::run(args, product),
        Command::Completions(args) => completions::run(args, shell),
        Command::Man => completions::man(shell),
        Command::Labels => completions::labels(&session()?, shell),
    }
}
