//! Measures `bake` beside yardsticks, in the same run and on the same machine, and prints the ratios:
//! `cargo bench --bench ratios [-- [--quick] [no-op] [hash] [pack] [game] [release]]`. See docs/benchmarks.md.
//!
//! What is measured are whole processes, as a user starts them. This binary is `bake` itself, with one rule
//! more, when its first argument is `bake`; other first words are halves of comparisons (see [`copying`]).
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark's output is what it prints")]

mod bytes;
mod copying;
mod games;
mod graph;
mod hashing;
mod measure;
mod packing;
mod releases;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

/// How a part of the benchmarks ends.
type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let mut args: Vec<_> = std::env::args_os().skip(1).collect();
    if args.first().is_some_and(|first| first == "bake") {
        return bake::main(args, graph::catalogue(), bake::source_salt());
    }
    let texts: Vec<String> = args.drain(..).map(|arg| arg.to_string_lossy().into_owned()).collect();
    let ended = match texts.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["hash", file] => copying::hash(file.as_ref()),
        ["capture", file, store] => copying::capture(file.as_ref(), store.as_ref()),
        ["copy", folder, to] => copying::copy(folder.as_ref(), to.as_ref()),
        ["tables", game] => games::tables(game.as_ref()),
        ["table-bytes", game] => games::table_bytes(game.as_ref()),
        ["donors", game, ref packages @ ..] => games::donors(game.as_ref(), packages),
        ["ranges", game, ref packages @ ..] => games::ranges(game.as_ref(), packages),
        ["digests", file] => releases::digests(file.as_ref()),
        ["unzip", file] => releases::unzip(file.as_ref()),
        ["archive", folder, to] => releases::archive(folder.as_ref(), to.as_ref()),
        ["zip", folder, to] => releases::zip(folder.as_ref(), to.as_ref()),
        ref asked => all(asked),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn all(asked: &[&str]) -> Outcome<()> {
    let quick = asked.contains(&"--quick");
    // cargo itself passes `--bench`.
    let parts: Vec<&str> = asked.iter().copied().filter(|arg| !arg.starts_with("--")).collect();
    let wanted = |part: &str| parts.is_empty() || parts.contains(&part);
    // Below the target folder: a temporary folder may lie in memory.
    let folder = tempfile::Builder::new().prefix("bench-").tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let below = |name: &str| -> std::io::Result<PathBuf> {
        let path = folder.path().join(name);
        std::fs::create_dir(&path).map(|()| path)
    };
    let mut table = measure::Table::new();
    if wanted("no-op") {
        let sizes: &[usize] = if quick { &[1_000, 10_000] } else { &[1_000, 10_000, 100_000] };
        for size in sizes {
            graph::measure(&below(&format!("graph-{size}"))?, *size, &mut table)?;
        }
    }
    let bytes: u64 = if quick { 128 << 20 } else { 1 << 30 };
    if wanted("hash") {
        hashing::measure(&below("hash")?, bytes, &mut table)?;
    }
    if wanted("pack") {
        packing::measure(&below("pack-large")?, bytes, 64 << 20, &mut table)?;
        packing::measure(&below("pack-small")?, bytes, 30 << 10, &mut table)?;
    }
    if wanted("game") {
        games::measure(&below("game")?, &mut table)?;
    }
    if wanted("release") {
        // As large as an archive may be.
        releases::measure(&below("release")?, if quick { 12 << 20 } else { 50 << 20 }, &mut table)?;
    }
    Ok(())
}
