//! `bake verify`: every rule that the hub's scanner, the packer and the launcher apply, by their codes.
//!
//! What stands in the way of one file is that file's affair: the others are checked all the same.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use mjolnir::finding::{Finding, Level};
use mjolnir::profile::{self, Part};
use mjolnir::scan::{self, Context, Report, Verdict};
use mjolnir::{manifest, sidecar};
use serde_json::{Value, json};

use crate::cli::{FileKind, Verify};
use crate::count::count;
use crate::fail::{Exit, Fail};
use crate::shell::Shell;

/// A file that is longer is no context and no list of what is known to the hub.
const LONGEST_CONTEXT: u64 = 64 << 20;

pub(crate) fn run(args: &Verify, shell: &Shell) -> Result<(), Fail> {
    if !args.earlier.is_empty() && args.kind != FileKind::Update {
        return Err(Fail::usage("`--earlier` names what an update follows: it goes with `--as update`"));
    }
    if args.set && args.kind != FileKind::Archive {
        return Err(Fail::usage("`--set` looks at archives together: it goes with `--as archive`"));
    }
    let context = context(args)?;
    let earlier = args
        .earlier
        .iter()
        .map(|path| given(path, manifest::LONGEST as u64))
        .collect::<Result<Vec<_>, _>>()?;
    let earlier: Vec<&[u8]> = earlier.iter().map(Vec::as_slice).collect();
    let (mut refused, mut unread) = (0, 0);
    let mut parts = Vec::new();
    for file in &args.files {
        match read(file, args.kind) {
            Ok(contents) => {
                let report = check(args, &contents, &earlier, &context)?;
                refused += usize::from(report.verdict() == Verdict::Fail);
                if let (true, Contents::Whole(bytes)) = (args.set, &contents) {
                    parts.extend(Part::read(&file.to_string_lossy(), bytes));
                }
                match args.json {
                    true => shell.json_line(&line(file, args.kind, &report)),
                    false => shell.data(&text(&file.to_string_lossy(), &report.findings)),
                }
            }
            Err(message) => {
                unread += 1;
                match args.json {
                    true => shell.json_line(&unreadable(file, args.kind, &message)),
                    false => shell.data(&format!("{}: not read: {message}", file.display())),
                }
            }
        }
    }
    if args.set {
        let findings = profile::check(&parts);
        refused += usize::from(findings.iter().any(|finding| finding.level == Level::Error));
        match args.json {
            true => shell.json_line(&set_line(args, &findings)),
            false => shell.data(&text(&format!("the set of {}", count(parts.len(), "archive")), &findings)),
        }
    }
    match (unread, refused) {
        (0, 0) => Ok(()),
        (0, _) => Err(Fail::said(Exit::Refused)),
        _ => Err(Fail::said(Exit::Machine)),
    }
}

fn context(args: &Verify) -> Result<Context, Fail> {
    let mut context = match &args.context {
        Some(path) => serde_json::from_slice(&given(path, LONGEST_CONTEXT)?)
            .map_err(|error| Fail::usage(format!("`{}` is no context: {error}", path.display())))?,
        None => Context::default(),
    };
    context.publishable |= args.publishable;
    Ok(context)
}

fn check(args: &Verify, contents: &Contents, earlier: &[&[u8]], context: &Context) -> Result<Report, Fail> {
    let bytes = match contents {
        Contents::Whole(bytes) => bytes,
        Contents::TooLong(length) => return Ok(scan::too_large(*length)),
    };
    Ok(match args.kind {
        FileKind::Archive => scan::scan(bytes, context),
        FileKind::Manifest => scan::scan_manifest(bytes, context),
        FileKind::Sidecar => scan::scan_sidecar(bytes),
        FileKind::Update => scan::scan_update(bytes, earlier, context).map_err(|error| {
            let path = args.earlier.get(error.index).map(|path| path.display().to_string());
            Fail::usage(format!("`{}`: {error}", path.unwrap_or_default()))
        })?,
    })
}

enum Contents {
    Whole(Vec<u8>),
    /// An archive of so many bytes, which are not looked at.
    TooLong(u64),
}

/// Reads what is to be checked, and no more of it than could pass.
fn read(path: &Path, kind: FileKind) -> Result<Contents, String> {
    let most = match kind {
        FileKind::Archive => scan::ARCHIVE,
        FileKind::Manifest | FileKind::Update => manifest::LONGEST as u64,
        FileKind::Sidecar => sidecar::LONGEST as u64,
    };
    let (bytes, length) = read_up_to(path, most)?;
    Ok(match kind {
        FileKind::Archive if length > most => Contents::TooLong(length),
        _ => Contents::Whole(bytes),
    })
}

/// Reads a file that the command line names, of which there may be at most so much.
pub(crate) fn given(path: &Path, most: u64) -> Result<Vec<u8>, Fail> {
    let cannot = |message: String| Fail::machine(format!("cannot read `{}`: {message}", path.display()));
    let (bytes, length) = read_up_to(path, most).map_err(cannot)?;
    match length > most {
        true => Err(cannot(format!("it has {length} bytes, at most {most} are read"))),
        false => Ok(bytes),
    }
}

/// At most one byte more than `most`, and how long the file is. Only plain files are opened: a pipe would
/// wait for a writer.
fn read_up_to(path: &Path, most: u64) -> Result<(Vec<u8>, u64), String> {
    let said = |error: std::io::Error| error.to_string();
    let found = std::fs::metadata(path).map_err(said)?;
    if found.is_dir() {
        return Err("it is a folder".to_owned());
    }
    if !found.is_file() {
        return Err("it is no plain file".to_owned());
    }
    let mut bytes = Vec::new();
    File::open(path).map_err(said)?.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(said)?;
    let length = found.len().max(bytes.len() as u64);
    Ok((bytes, length))
}

/// One line of machine output.
fn line(file: &Path, kind: FileKind, report: &Report) -> Value {
    json!({
        "schema": 1,
        "file": file.to_string_lossy(),
        "type": kind.word(),
        "verdict": report.verdict(),
        "canonical": report.canonical,
        "signer": report.signer.map(|key| key.fingerprint().to_string()),
        "errors": listed(&report.findings, Level::Error),
        "warnings": listed(&report.findings, Level::Warning),
    })
}

fn unreadable(file: &Path, kind: FileKind, message: &str) -> Value {
    let error = json!({
        "code": "unreadable", "reason": null, "at": null, "member": null, "message": message,
        "help": null,
    });
    json!({
        "schema": 1,
        "file": file.to_string_lossy(),
        "type": kind.word(),
        "verdict": Verdict::Fail,
        "canonical": null,
        "signer": null,
        "errors": [error],
        "warnings": [],
    })
}

fn set_line(args: &Verify, findings: &[Finding]) -> Value {
    let errors = listed(findings, Level::Error);
    json!({
        "schema": 1,
        "file": null,
        "type": "set",
        "verdict": if errors.is_empty() { Verdict::Pass } else { Verdict::Fail },
        "files": args.files.iter().map(|file| file.to_string_lossy()).collect::<Vec<_>>(),
        "errors": errors,
        "warnings": listed(findings, Level::Warning),
    })
}

/// Findings of a level, as JSON.
pub(crate) fn listed(findings: &[Finding], level: Level) -> Vec<Value> {
    let findings = findings.iter().filter(|finding| finding.level == level);
    let form = |finding: &Finding| {
        json!({
            "code": finding.code.token(),
            "reason": finding.reason,
            "at": place(finding),
            "member": finding.member,
            "message": finding.message,
            "help": finding.help,
        })
    };
    findings.map(form).collect()
}

/// The pointer into a document where there is one, else the member.
fn place(finding: &Finding) -> Option<&str> {
    finding.at.as_deref().or(finding.member.as_deref())
}

/// What people read of one file, or of the set.
pub(crate) fn text(name: &str, findings: &[Finding]) -> String {
    let number = |level| findings.iter().filter(|finding| finding.level == level).count();
    let state = match (number(Level::Error), number(Level::Warning)) {
        (0, 0) => "accepted".to_owned(),
        (0, n) => format!("accepted, {}", count(n, "warning")),
        (n, 0) => format!("refused, {}", count(n, "error")),
        (n, m) => format!("refused, {}, {}", count(n, "error"), count(m, "warning")),
    };
    let mut text = format!("{name}: {state}\n");
    for finding in findings {
        let level = match finding.level {
            Level::Error => "error",
            Level::Warning => "warning",
        };
        let reason = finding.reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        text += &format!("  {level}: {}  [{}{reason}]\n", finding.message, finding.code.token());
        let places = [finding.member.as_deref(), finding.at.as_deref().filter(|at| !at.is_empty())];
        let places: Vec<&str> = places.into_iter().flatten().collect();
        if !places.is_empty() {
            text += &format!("    at {}\n", places.join(" "));
        }
        if let Some(help) = &finding.help {
            text += &format!("    help: {help}\n");
        }
    }
    let codes: BTreeSet<&str> = findings.iter().map(|finding| finding.code.token()).collect();
    if !codes.is_empty() {
        let codes: Vec<&str> = codes.into_iter().collect();
        text +=
            &format!("  help: `bake explain {}` says what that means and how to mend it\n", codes.join(" "));
    }
    text
}
