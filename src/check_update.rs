//! `bake check-update`: whether a release keeps what others of the same thing gave.

use mjolnir::finding::Level;
use mjolnir::scan::Verdict;
use mjolnir::update;
use serde_json::json;

use crate::archives::{self, Release};
use crate::cli::CheckUpdate;
use crate::fail::{Exit, Fail};
use crate::shell::Shell;
use crate::verify;

pub(crate) fn run(args: &CheckUpdate, shell: &Shell) -> Result<(), Fail> {
    let Some((new, old)) = args.files.split_last() else { return Ok(()) };
    let mut paths = Vec::new();
    let mut in_folders = Vec::new();
    for path in old {
        match path.is_dir() {
            true => in_folders.extend(archives::in_folder(path)?),
            false => paths.push(path.clone()),
        }
    }
    let mut slug = args.slug.clone();
    let mut read = |path: &std::path::PathBuf| -> Result<Release, Fail> {
        let release = archives::read(path, slug.as_deref(), true)?;
        slug = slug.take().or(release.known().slug().map(str::to_owned));
        Ok(release)
    };
    let new = read(new)?;
    let mut named = paths.iter().map(&mut read).collect::<Result<Vec<_>, _>>()?;
    // What the others are called may tell what the new one is.
    let new = match new.slug.is_none() && slug.is_some() {
        true => archives::read(&new.path, slug.as_deref(), true)?,
        false => new,
    };
    for old in &named {
        let same_kind = old.manifest.type_word() == new.manifest.type_word();
        let slugs = old.known().slug().zip(new.known().slug());
        if !same_kind || slugs.is_some_and(|(old, new)| old != new) {
            let message = format!(
                "`{}` is {}, `{}` is {}",
                old.path.display(),
                old.named(),
                new.path.display(),
                new.named()
            );
            return Err(
                Fail::usage(message).help("an update is held against releases of the same map or pack")
            );
        }
    }
    for path in &in_folders {
        let release = archives::read(path, slug.as_deref(), true)?;
        let another = release.known().slug().zip(new.known().slug()).is_some_and(|(one, other)| one != other);
        if !another {
            named.push(release);
        }
    }
    let findings = update::check(new.known(), named.iter().map(Release::known));
    let refused = findings.iter().any(|finding| finding.level == Level::Error);
    if args.json {
        shell.json(&json!({
            "schema": 1,
            "new": new.path.to_string_lossy(),
            "old": named.iter().map(|old| old.path.to_string_lossy()).collect::<Vec<_>>(),
            "slug": new.known().slug(),
            "version": new.manifest.version.to_string(),
            "line": new.manifest.version.line().to_string(),
            "verdict": if refused { Verdict::Fail } else { Verdict::Pass },
            "errors": verify::listed(&findings, Level::Error),
            "warnings": verify::listed(&findings, Level::Warning),
        }));
    } else {
        let mut versions: Vec<_> = named.iter().map(|old| &old.manifest.version).collect();
        versions.sort();
        versions.dedup();
        let versions: Vec<String> = versions.iter().map(ToString::to_string).collect();
        let others = if versions.is_empty() { "no other".to_owned() } else { versions.join(", ") };
        shell.data(&verify::text(&format!("{} against {others}", new.named()), &findings));
    }
    if refused { Err(Fail::said(Exit::Refused)) } else { Ok(()) }
}
