//! `archive-and-verify`: the canonical archive, read back and scanned before it counts.

use std::borrow::Cow;
use std::io::Cursor;

use engine::{Blob, Cx, Inputs, Interface, Kind, Outputs, ParamError, Pure, RuleError, Severity};
use mjolnir::finding::{Code, Finding, Level};
use mjolnir::record::Record;
use mjolnir::scan::{ARCHIVE, Context, scan};
use mjolnir::update;
use mjolnir::zip::{self, Compression};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use unreal::package::{Limits, Package};

use crate::members;

/// Parameters of `archive-and-verify`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The archive's file name, ending in `.mjolnir`.
    file: String,
    /// The release's slug.
    slug: String,
    /// The release's version.
    version: String,
    /// Store all members unpacked.
    #[serde(default)]
    store: bool,
}

/// From here on the next piece may be one too many: the hub takes nothing beyond [`ARCHIVE`].
const LARGE: u64 = 40 << 20;

/// The rule. Its version stands for [`zip::ENCODER`] as well.
pub(crate) struct ArchiveAndVerify;

impl Pure for ArchiveAndVerify {
    type Params = Params;
    const NAME: &'static str = "archive-and-verify";
    const VERSION: u32 = 2;
    const DOC: &'static str = "Writes the release's archive in its canonical form, reads it back, and applies every \
        check of the hub's scanner. What would be refused there fails here, and so does what breaks what an earlier \
        release gave.";

    fn interface() -> Interface {
        Interface::new()
            .input("members", Kind::Tree, "All members but the signature.")
            .optional("signature", Kind::File, "`signature.json`.")
            .optional("earlier", Kind::Tree, "Records of releases that were published: `releases/*.json`.")
            .output("archive", Kind::Tree, "The archive.")
            .output("members", Kind::Tree, "The unsigned members as they lie in it: the build's identity.")
            .output("record", Kind::File, "What later releases are held against, as JSON.")
            .output("report", Kind::File, "What the checks found, as JSON.")
    }

    fn check(params: &Params) -> Vec<ParamError> {
        let name =
            params.file.strip_suffix(".mjolnir").filter(|stem| !stem.is_empty() && !stem.contains('/'));
        match name {
            Some(_) => Vec::new(),
            None => vec![ParamError::at(
                "file",
                format!("`{}` is no name of an archive, expected `<name>.mjolnir`", params.file),
            )],
        }
    }

    fn run(params: Params, inputs: &Inputs<'_>, outputs: &Outputs<'_>, cx: &Cx<'_>) -> Result<(), RuleError> {
        let unsigned = members::read(inputs)?;
        for (path, digest) in inputs.tree("members")?.iter() {
            outputs.link_in("members", &members::member(path.as_str()), *digest)?;
        }
        let signature = inputs.optional_file("signature")?;
        let signed = signature.iter().map(|bytes| (members::SIGNATURE, &bytes[..]));
        let all: Vec<(&str, &[u8])> =
            unsigned.iter().map(|(name, bytes)| (name.as_str(), &bytes[..])).chain(signed).collect();
        let compression = if params.store { Compression::Store } else { Compression::Text };
        let archive = zip::write(&all, compression, Cursor::new(Vec::new()))
            .map_err(|error| RuleError::new(format!("`{}` cannot be written: {error}", params.file)))?
            .into_inner();
        check_size(&params.file, archive.len() as u64, &all, cx)?;
        let context = Context {
            slug: Some(params.slug.clone()),
            version: Some(params.version.clone()),
            require_signed: signature.is_some(),
            ..Context::default()
        };
        let report = scan(&archive, &context);
        let errors: Vec<&Finding> = report.errors().collect();
        if let Some(first) = errors.first() {
            let error = RuleError::new(format!("`{}` would be refused: {}", params.file, first.message));
            let error = error.code(first.code.to_string());
            return Err(errors.iter().fold(error, |error, finding| error.detail(line(finding))));
        }
        if report.canonical != Some(true) {
            return Err(RuleError::new(format!("`{}` was not read back in its canonical form", params.file)));
        }
        let record = record(&params.slug, &unsigned)?;
        hold(&record, &earlier(&params.slug, inputs)?, cx)?;
        let text = record.write().map_err(|faults| {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            RuleError::new(format!("the release cannot be recorded: {}", faults.join(", ")))
        })?;
        outputs.put("record", text.as_bytes())?;
        // Warnings that a build cannot help are the command's to show, from the report.
        let findings =
            serde_json::to_value(&report.findings).map_err(|error| RuleError::new(error.to_string()))?;
        let text = json!({
            "schema": 1, "file": params.file, "bytes": archive.len(), "members": all.len(),
            "signed": signature.is_some(), "findings": findings,
        });
        outputs.put("report", text.to_string().as_bytes())?;
        outputs.put_in("archive", &params.file, &archive)
    }
}

fn record(slug: &str, members: &[(String, Blob)]) -> Result<Record, RuleError> {
    let members = members.iter().map(|(name, bytes)| (Cow::from(name.as_str()), Cow::from(&bytes[..])));
    let names = |package: &[u8]| {
        let package = Package::read(package, &Limits::default()).ok()?;
        Some(package.names.iter().map(|name| name.text().to_owned()).collect())
    };
    Record::of(slug, members, &names)
        .map_err(|error| RuleError::new(format!("the release cannot be recorded: {error}")))
}

/// The records that the step is given. Each is called by its version.
fn earlier(slug: &str, inputs: &Inputs<'_>) -> Result<Vec<Record>, RuleError> {
    let mut records = Vec::new();
    for (path, digest) in inputs.tree("earlier")?.iter() {
        let wrong = |message: String| RuleError::new(format!("`{path}` is no record of `{slug}`: {message}"));
        let record = Record::read(&inputs.read(*digest)?)
            .map_err(|faults| wrong(faults.first().map(ToString::to_string).unwrap_or_default()))?;
        let (found, version) = (&record.slug, &record.manifest.version);
        if found != slug || path.name() != format!("{version}.json") {
            return Err(wrong(format!("it is of {version} of `{found}`, which belongs in `{version}.json`")));
        }
        records.push(record);
    }
    Ok(records)
}

/// Applies the update rule. That the same version was built otherwise is worth a look, no more: whether it
/// was for the same game is not known here, and is asked when a release is recorded.
fn hold(record: &Record, earlier: &[Record], cx: &Cx<'_>) -> Result<(), RuleError> {
    let (same, others): (Vec<&Record>, Vec<&Record>) =
        earlier.iter().partition(|other| other.manifest.version == record.manifest.version);
    let changed = update::check(record, same).into_iter();
    for finding in changed.filter(|finding| finding.code == Code::ReleaseChanged) {
        cx.note(Severity::Warning, format!("{}; raise the version before it is released", finding.message));
    }
    let (broken, worth_a_look): (Vec<Finding>, Vec<Finding>) =
        update::check(record, others).into_iter().partition(|finding| finding.level == Level::Error);
    for finding in worth_a_look {
        cx.note(Severity::Warning, finding.message);
    }
    let mut broken = broken.into_iter();
    let Some(first) = broken.next() else { return Ok(()) };
    let error = RuleError::new(first.message).code(first.code.to_string());
    let error = broken.fold(error, |error, finding| error.detail(finding.message));
    Err(match first.help {
        Some(help) => error.hint(help),
        None => error,
    })
}

fn line(finding: &Finding) -> String {
    let place = finding.member.as_deref().map(|member| format!("{member}: ")).unwrap_or_default();
    format!("[{}] {place}{}", finding.code, finding.message)
}

fn check_size(file: &str, size: u64, members: &[(&str, &[u8])], cx: &Cx<'_>) -> Result<(), RuleError> {
    let mib = |bytes: u64| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
    let mut largest: Vec<(u64, &str)> =
        members.iter().map(|(name, bytes)| (bytes.len() as u64, *name)).collect();
    largest.sort_by(|a, b| b.cmp(a));
    let lines = largest
        .iter()
        .filter(|(bytes, _)| *bytes >= 1 << 20)
        .take(5)
        .map(|(bytes, name)| format!("{} {name}", mib(*bytes)));
    if size > ARCHIVE {
        let message = format!("`{file}` has {}, at most {} are allowed", mib(size), mib(ARCHIVE));
        return Err(lines.fold(RuleError::new(message).code("archive_too_large"), RuleError::detail));
    }
    if size >= LARGE {
        let lines: Vec<String> = lines.collect();
        let message = format!("`{file}` has {} of at most {}: {}", mib(size), mib(ARCHIVE), lines.join(", "));
        cx.note(Severity::Warning, message);
    }
    Ok(())
}
