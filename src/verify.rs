//! `bake verify`: every rule that the hub's scanner, the packer and the launcher apply, by their codes.

use std::path::Path;

use mjolnir::finding::{Finding, Level};
use mjolnir::scan::{self, Context, Report, Verdict};
use serde_json::{Value, json};

use crate::cli::{FileKind, Verify};
use crate::count::count;
use crate::fail::{Exit, Fail};
use crate::shell::Shell;

pub(crate) fn run(args: &Verify, shell: &Shell) -> Result<(), Fail> {
    if !args.earlier.is_empty() && args.kind != FileKind::Update {
        return Err(Fail::usage("`--earlier` names what an update follows: it goes with `--as update`"));
    }
    let mut context = match &args.context {
        Some(path) => serde_json::from_slice(&read(path)?)
            .map_err(|error| Fail::usage(format!("`{}` is no context: {error}", path.display())))?,
        None => Context::default(),
    };
    context.publishable |= args.publishable;
    let earlier = args.earlier.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    let earlier: Vec<&[u8]> = earlier.iter().map(Vec::as_slice).collect();
    let mut refused = 0;
    for file in &args.files {
        let bytes = read(file)?;
        let report = match args.kind {
            FileKind::Archive => scan::scan(&bytes, &context),
            FileKind::Manifest => scan::scan_manifest(&bytes, &context),
            FileKind::Sidecar => scan::scan_sidecar(&bytes),
            FileKind::Update => scan::scan_update(&bytes, &earlier, &context).map_err(|error| {
                let path = args.earlier.get(error.index).map(|path| path.display().to_string());
                Fail::usage(format!("`{}`: {error}", path.unwrap_or_default()))
            })?,
        };
        refused += usize::from(report.verdict() == Verdict::Fail);
        if args.json {
            shell.data(&line(file, args.kind, &report).to_string())
        } else {
            say(file, &report, shell)
        }
    }
    if refused == 0 { Ok(()) } else { Err(Fail::said(Exit::Refused)) }
}

fn read(path: &Path) -> Result<Vec<u8>, Fail> {
    std::fs::read(path).map_err(|error| Fail::io("read", path, &error))
}

/// One line of machine output.
fn line(file: &Path, kind: FileKind, report: &Report) -> Value {
    let kind = match kind {
        FileKind::Archive => "archive",
        FileKind::Manifest => "manifest",
        FileKind::Update => "update",
        FileKind::Sidecar => "sidecar",
    };
    let finding = |finding: &Finding| {
        json!({
            "code": finding.code.token(),
            "reason": finding.reason,
            "at": place(finding),
            "member": finding.member,
            "message": finding.message,
        })
    };
    json!({
        "schema": 1,
        "file": file,
        "type": kind,
        "verdict": report.verdict(),
        "canonical": report.canonical,
        "errors": report.errors().map(finding).collect::<Vec<_>>(),
        "warnings": report.warnings().map(finding).collect::<Vec<_>>(),
    })
}

/// The pointer into a document where there is one, else the member.
fn place(finding: &Finding) -> Option<&str> {
    finding.at.as_deref().or(finding.member.as_deref())
}

fn say(file: &Path, report: &Report, shell: &Shell) {
    let (errors, warnings) = (report.errors().count(), report.warnings().count());
    let state = match (errors, warnings) {
        (0, 0) => "accepted".to_owned(),
        (0, n) => format!("accepted, {}", count(n, "warning")),
        (n, 0) => format!("refused, {}", count(n, "error")),
        (n, m) => format!("refused, {}, {}", count(n, "error"), count(m, "warning")),
    };
    let mut text = format!("{}: {state}\n", file.display());
    for finding in &report.findings {
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
    }
    shell.data(&text);
}
