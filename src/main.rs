//! The `bake` command: the library's [`bake::main`] with all rules of this build.

use std::process::ExitCode;

fn main() -> ExitCode {
    bake::main(std::env::args_os(), rules::catalogue(), bake::source_salt())
}
