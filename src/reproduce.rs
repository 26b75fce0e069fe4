//! `bake reproduce`: builds a second time under other circumstances, and names the first step that gives
//! other bytes for the same inputs.
//!
//! The second build runs in a process of its own: a copy of the workspace in another folder, an empty
//! store, another number of threads, time zone, locale, umask and, where the system lets us, processor set
//! and host name; every other action runs in a process of its own again. Steps are compared by action
//! digest: what merely depends on the culprit has another digest, and is not blamed.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use cache::{Blobs, Digest, DiskStore, Tree};

use crate::bytes::difference;
use crate::cli::{How, Reproduce};
use crate::count::count;
use crate::driver::{Driver, Ended, Request};
use crate::dump::{self, Entry};
use crate::fail::{Exit, Fail};
use crate::make::{Watchers, verdict};
use crate::session::Session;
use crate::shell::Shell;

pub(crate) fn run(args: &Reproduce, session: &Session<'_>, shell: &Shell) -> Result<(), Fail> {
    crate::driver::watch_for_interrupts(shell);
    let temporary = tempfile::Builder::new().prefix("bake-reproduce-").tempdir();
    let temporary =
        temporary.map_err(|error| Fail::machine(format!("cannot make a temporary folder: {error}")))?;
    let driver = Driver::open(session)?;
    let out = temporary.path().join("out");
    let request =
        Request { labels: &args.labels, out, how: &args.how, remember: false, all: true, elsewhere: None };
    let mut watchers = Watchers::new(session, shell, None)?;
    let ended = driver.build(&request, &mut watchers);
    watchers.progress.finish();
    watchers.log.write(shell);
    let Ended::Built(done) = ended? else { return Ok(()) };
    verdict(&done)?;
    let first_dump = temporary.path().join("first.json");
    dump::write(&first_dump, &done)?;
    let first = dump::read(&first_dump)?;
    shell.status("Again", "in another folder, process, locale and time zone, with an empty store");
    let second_store = temporary.path().join("store");
    let second = again(args, session, temporary.path(), &second_store)?;
    let second_store = DiskStore::open(&second_store)?;
    match first_difference(&first, &second) {
        None => {
            let same = first.len();
            shell.status("Same", &format!("{} gave the same bytes again", count(same, "action")));
            Ok(())
        }
        Some(culprit) => Err(culprit.tell(&driver.store, &second_store)?),
    }
}

/// Builds again under other circumstances.
fn again(
    args: &Reproduce,
    session: &Session<'_>,
    temporary: &Path,
    store: &Path,
) -> Result<Vec<Entry>, Fail> {
    let workspace = temporary.join("another place").join("workspace");
    copy(&session.root, &workspace, session)?;
    let dump = temporary.join("second.json");
    let bake = std::env::current_exe()
        .map_err(|error| Fail::machine(format!("cannot find bake itself: {error}")))?;
    let mut line: Vec<OsString> = vec![bake.into(), "build".into()];
    line.extend(args.labels.iter().map(OsString::from));
    line.extend(["--color", "never", "--quiet", "--half-elsewhere", "--dump"].map(OsString::from));
    line.push(dump.clone().into());
    how(&args.how, &mut line);
    let mut command = elsewhere(line);
    command.current_dir(&workspace).env("BAKE_STORE", store).stdin(Stdio::null()).stdout(Stdio::null());
    command.env("TZ", "Pacific/Chatham").env("LC_ALL", "tr_TR.UTF-8").env("LANG", "tr_TR.UTF-8");
    for (name, set) in &session.settings.externals {
        if let Some(variable) = recipes::external_variable(name) {
            command.env(variable, std::path::absolute(&set.path).unwrap_or_else(|_| set.path.clone()));
        }
    }
    let done =
        command.output().map_err(|error| Fail::machine(format!("cannot start bake again: {error}")))?;
    if !done.status.success() {
        let words = String::from_utf8_lossy(&done.stderr);
        return Err(
            Fail::new(Exit::Differs, "the second build failed, the first did not").detail(words.trim())
        );
    }
    dump::read(&dump)
}

/// The same build, with another number of threads.
fn how(how: &How, line: &mut Vec<OsString>) {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let first = how.jobs.map_or(processors, usize::from);
    let jobs = if first == 1 { 3 } else { 1 };
    line.extend(["--jobs".into(), jobs.to_string().into()]);
    if how.no_sandbox {
        line.push("--no-sandbox".into());
    }
    if how.sign.device {
        line.push("--sign".into());
    }
    if let Some(file) = &how.sign.sign_seed {
        line.extend([
            "--sign-seed".into(),
            std::path::absolute(file).unwrap_or_else(|_| file.clone()).into(),
        ]);
    }
    if let Some(time) = &how.sign.signed_at {
        line.extend(["--signed-at".into(), time.into()]);
    }
}

/// A command in circumstances that are as different as this system allows without asking anyone.
fn elsewhere(line: Vec<OsString>) -> Command {
    let works = |words: &[&str]| {
        let [program, rest @ ..] = words else { return false };
        let mut probe = Command::new(program);
        probe.args(rest).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        probe.status().is_ok_and(|status| status.success())
    };
    let mut words: Vec<OsString> = Vec::new();
    if cfg!(target_os = "linux") {
        let named = ["sh", "-c", "hostname bake-elsewhere"];
        let spaces: [&[&str]; 2] =
            [&["unshare", "--uts"], &["unshare", "--user", "--map-root-user", "--uts"]];
        let space = spaces.iter().find(|space| works(&[space, &named[..]].concat()));
        if let Some(space) = space {
            words.extend(space.iter().map(OsString::from));
        }
        let name = if space.is_some() { "hostname bake-elsewhere; " } else { "" };
        let pinned =
            if works(&["taskset", "-c", "0", "true"]) { "exec taskset -c 0 \"$@\"" } else { "exec \"$@\"" };
        words.extend(["sh".into(), "-c".into(), format!("umask 077; {name}{pinned}").into(), "sh".into()]);
    }
    words.extend(line);
    let mut words = words.into_iter();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    command
}

/// Copies a workspace without what builds and tools leave in it.
fn copy(from: &Path, to: &Path, session: &Session<'_>) -> Result<(), Fail> {
    const LEFT_OUT: [&str; 3] = ["out", "target", ".git"];
    std::fs::create_dir_all(to).map_err(|error| Fail::io("make", to, &error))?;
    let entries = std::fs::read_dir(from).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    for entry in entries.map_err(|error| Fail::io("read", from, &error))? {
        let (path, name) = (entry.path(), entry.file_name());
        let top = from == session.root;
        if (top && LEFT_OUT.iter().any(|left| name == *left)) || path == session.store_path {
            continue;
        }
        let target = to.join(&name);
        let metadata = std::fs::metadata(&path).map_err(|error| Fail::io("read", &path, &error))?;
        if metadata.is_dir() {
            copy(&path, &target, session)?;
        } else if metadata.is_file() {
            std::fs::copy(&path, &target).map_err(|error| Fail::io("copy", &path, &error))?;
        }
    }
    Ok(())
}

/// A step that gave other bytes for the same inputs.
struct Culprit {
    label: String,
    output: String,
    tree: bool,
    first: String,
    second: String,
}

/// The first in the order of the plan.
fn first_difference(first: &[Entry], second: &[Entry]) -> Option<Culprit> {
    let again: BTreeMap<&str, &Entry> = second.iter().map(|entry| (entry.action.as_str(), entry)).collect();
    for entry in first {
        let Some(other) = again.get(entry.action.as_str()) else { continue };
        for ((name, tree, before), (_, _, after)) in entry.outputs.iter().zip(&other.outputs) {
            if before != after {
                return Some(Culprit {
                    label: entry.label.clone(),
                    output: name.clone(),
                    tree: *tree,
                    first: before.clone(),
                    second: after.clone(),
                });
            }
        }
    }
    // The same inputs were named otherwise: that is a difference of bake itself.
    let known = |entry: &&Entry| !again.contains_key(entry.action.as_str());
    first.iter().find(known).map(|entry| Culprit {
        label: entry.label.clone(),
        output: String::new(),
        tree: false,
        first: entry.action.clone(),
        second: second
            .iter()
            .find(|other| other.label == entry.label)
            .map(|other| other.action.clone())
            .unwrap_or_default(),
    })
}

impl Culprit {
    fn tell(&self, first: &DiskStore, second: &DiskStore) -> Result<Fail, Fail> {
        if self.output.is_empty() {
            let fail = Fail::new(
                Exit::Differs,
                format!("{} was another action when it was built again", self.label),
            );
            return Ok(fail.detail(format!("{} and {}", self.first, self.second)));
        }
        let message =
            format!("{} gave other bytes for the same inputs, in output `{}`", self.label, self.output);
        let mut fail = Fail::new(Exit::Differs, message);
        for line in self.how(first, second)? {
            fail = fail.detail(line);
        }
        Ok(fail.help("look for a clock, a random order, a path, the number of threads or the host's name in what it runs"))
    }

    /// How the outputs differ.
    fn how(&self, first: &DiskStore, second: &DiskStore) -> Result<Vec<String>, Fail> {
        let one = bytes(first, &self.first)?;
        let two = bytes(second, &self.second)?;
        let (Some(one), Some(two)) = (one, two) else { return Ok(Vec::new()) };
        if !self.tree {
            return Ok(difference(&one, &two).into_iter().collect());
        }
        let (Ok(one), Ok(two)) = (Tree::decode(&one), Tree::decode(&two)) else { return Ok(Vec::new()) };
        let (one, two): (BTreeMap<_, _>, BTreeMap<_, _>) = (one.iter().collect(), two.iter().collect());
        let paths: BTreeSet<&cache::WorkspacePath> = one.keys().chain(two.keys()).copied().collect();
        let mut differing = paths.into_iter().filter(|path| one.get(path) != two.get(path));
        let Some(path) = differing.next() else { return Ok(Vec::new()) };
        let line = match (one.get(path), two.get(path)) {
            (Some(a), Some(b)) => {
                let a = first.read(a)?.map(|blob| blob.to_vec()).unwrap_or_default();
                let b = second.read(b)?.map(|blob| blob.to_vec()).unwrap_or_default();
                format!("`{path}` differs, {}", difference(&a, &b).unwrap_or_default())
            }
            (Some(_), None) => format!("`{path}` was made the first time only"),
            _ => format!("`{path}` was made the second time only"),
        };
        let more = differing.count();
        Ok(std::iter::once(line)
            .chain((more > 0).then(|| format!("and {}", count(more, "other file"))))
            .collect())
    }
}

fn bytes(store: &DiskStore, digest: &str) -> Result<Option<Vec<u8>>, Fail> {
    let Ok(digest) = digest.parse::<Digest>() else { return Ok(None) };
    Ok(store.read(&digest)?.map(|blob| blob.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(label: &str, action: &str, output: &str) -> Entry {
        Entry {
            label: label.to_owned(),
            action: action.to_owned(),
            outputs: vec![("out".to_owned(), false, output.to_owned())],
        }
    }

    #[test]
    fn the_first_unstable_step_is_named_and_not_its_dependants() {
        let first = [entry("a:good", "1", "x"), entry("a:bad", "2", "y"), entry("a:after", "3", "z")];
        let second = [entry("a:good", "1", "x"), entry("a:bad", "2", "Y"), entry("a:after", "4", "Z")];
        assert_eq!(first_difference(&first, &second).unwrap().label, "a:bad");
        assert!(first_difference(&first, &first).is_none());
    }

    #[test]
    fn an_action_of_another_name_is_told_when_nothing_unstable_explains_it() {
        let culprit = first_difference(&[entry("a:b", "1", "x")], &[entry("a:b", "2", "x")]).unwrap();
        assert_eq!((culprit.label.as_str(), culprit.output.as_str()), ("a:b", ""));
    }
}
