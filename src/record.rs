//! `bake build --record-release`: writes down beside its recipe what a release is, for later ones to be held
//! against.
//!
//! A record says once and for all what a version is. Only that of a build from stand-ins, which nobody has,
//! gives way to another.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use cache::{Blobs, Output};
use mjolnir::record::{LONGEST, Record};
use mjolnir::update;

use crate::driver::{Done, Driver};
use crate::fail::{Exit, Fail};
use crate::lock;
use crate::session::Session;
use crate::shell::Shell;
use crate::verify::given;

/// The output of a step that makes an archive, and the folder of a recipe that records lie in.
const RECORD: &str = "record";
const FOLDER: &str = "releases";

pub(crate) fn write(
    session: &Session<'_>,
    driver: &Driver<'_>,
    done: &Done,
    shell: &Shell,
) -> Result<(), Fail> {
    let sections = lock::sections(session, done)?;
    let asked: BTreeSet<&str> =
        done.plan.targets().iter().map(|target| target.label.recipe_path().as_str()).collect();
    let mut recorded = 0;
    for (id, node) in done.plan.nodes().filter(|(_, node)| asked.contains(node.label.recipe_path().as_str()))
    {
        let Some(step) = done.report.done.get(&node.label) else { continue };
        let (Some(Output::File(digest)), true) = (step.outputs.get(RECORD), node.rule == lock::ARCHIVER)
        else {
            continue;
        };
        let bytes = driver
            .store
            .read(digest)?
            .ok_or_else(|| Fail::machine("the record is not in the store any more"))?;
        let mut record = read(&bytes, "the record that was built")?;
        record.contents.game = sections.get(&id).cloned();
        let recipe = node.label.recipe_path();
        let shown = format!("{recipe}/{FOLDER}/{}.json", record.manifest.version);
        place(&recipe.under(&session.root).join(FOLDER), &shown, &record, shell)?;
        recorded += 1;
    }
    match recorded {
        0 => Err(Fail::usage("nothing that was built is a release: no step made an archive")),
        _ => Ok(()),
    }
}

fn read(bytes: &[u8], what: &str) -> Result<Record, Fail> {
    Record::read(bytes).map_err(|faults| {
        let fail = Fail::usage(format!("{what} is no record of a release"));
        faults.iter().fold(fail, |fail, fault| fail.detail(fault.to_string()))
    })
}

/// Writes a record into `folder`; messages call the file `shown`.
fn place(folder: &Path, shown: &str, record: &Record, shell: &Shell) -> Result<(), Fail> {
    let (slug, version) = (&record.slug, &record.manifest.version);
    if record.manifest.marks.reduced {
        let message = format!("{version} of `{slug}` is a build of a part, which is never released");
        return Err(Fail::new(Exit::Refused, message));
    }
    let path = folder.join(format!("{version}.json"));
    let stand_ins = &record.manifest.marks.stand_ins;
    let mut instead = "";
    if path.exists() {
        let earlier = read(&given(&path, LONGEST as u64)?, &format!("`{shown}`"))?;
        if earlier.contents.members == record.contents.members && earlier.slug == *slug {
            shell.status("Recorded", &format!("{version} of `{slug}` as it was: {shown}"));
            return Ok(());
        }
        if earlier.manifest.marks.stand_ins.is_empty() {
            return Err(refused(shown, record, &earlier));
        }
        instead = ", instead of another build from stand-ins";
    }
    let text = record.write().map_err(|faults| {
        let fail = Fail::usage(format!("{version} of `{slug}` cannot be recorded"));
        faults.iter().fold(fail, |fail, fault| fail.detail(fault.to_string()))
    })?;
    let failed = |error: std::io::Error| Fail::io("write", &path, &error);
    std::fs::create_dir_all(folder).map_err(failed)?;
    let mut aside = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    aside.write_all(text.as_bytes()).and_then(|()| aside.as_file().sync_all()).map_err(failed)?;
    aside.persist(&path).map_err(|error| failed(error.error))?;
    shell.status("Recorded", &format!("{version} of `{slug}`: {shown}{instead}"));
    if !stand_ins.is_empty() {
        shell.more(&format!(
            "from stand-ins for `{}`: later builds of {version} are not held to its bytes",
            stand_ins.join("`, `")
        ));
    }
    Ok(())
}

/// Why a record does not give way.
fn refused(shown: &str, record: &Record, earlier: &Record) -> Fail {
    let version = &record.manifest.version;
    let help = format!("raise the version, or remove `{shown}` if {version} was never published");
    if !record.manifest.marks.stand_ins.is_empty() {
        let message = format!("`{shown}` records {version} as it was released, this build is from stand-ins");
        return Fail::new(Exit::Refused, message).help(help);
    }
    if let Some(finding) = update::check(record, [earlier]).into_iter().next() {
        let fail = Fail::new(Exit::Refused, finding.message).code(finding.code.token());
        return fail.detail(format!("its record is `{shown}`")).help(help);
    }
    let section =
        |record: &Record| record.contents.game.clone().unwrap_or_else(|| "no known game".to_owned());
    let message = format!("`{shown}` records {version} as built for `{}`", section(earlier));
    let fail = Fail::new(Exit::Refused, message);
    fail.detail(format!("this build has other members and is for `{}`", section(record))).help(help)
}
