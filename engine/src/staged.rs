//! Actions as folders: how a tool, another process or another machine gets inputs and gives outputs.
//!
//! A staged action is a folder with `action` (the manifest), `inputs/<name>` (a file, or a folder for a
//! tree), and afterwards `outputs/<name>` likewise and `notes.json`. `bake run-action` runs one.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cache::{Digest, Note, Output, Severity, Store, StoreError, Tree, WorkspacePath};

use crate::action::Action;
use crate::io::{Cx, Input, Inputs, Outputs};
use crate::resolve::Context;
use crate::rule::{Body, Catalogue, Kind};
use crate::run::guarded;
use crate::{Lost, RuleError};

/// Runs staged actions somewhere else.
pub trait Elsewhere: Sync {
    /// Whether it takes this action.
    fn takes(&self, action: &Action) -> bool;
    /// Runs the action staged in `folder`; the error is the other side's own words.
    fn run(&self, folder: &Path) -> Result<(), String>;
}

/// A folder that is gone when its owner is.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new(parent: &Path) -> Result<Self, StoreError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        fs::create_dir_all(parent).map_err(StoreError::io("create", parent))?;
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("{}-{number}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self(path)),
                // Left by a process of the same number that was killed.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(StoreError::io("create", path)(error)),
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed now is in nobody's way.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Copies inputs out of the store: `<folder>/<name>`, a file or a folder.
pub(crate) fn place_inputs(
    inputs: &BTreeMap<String, Input>,
    folder: &Path,
    store: &dyn Store,
) -> Result<(), RuleError> {
    let place = |digest: &Digest, path: &Path| match store.place(digest, path)? {
        true => Ok(()),
        false => Err(RuleError::Lost(Lost(*digest))),
    };
    for (name, input) in inputs {
        let path = folder.join(name);
        match input {
            Input::File(digest) => place(digest, &path)?,
            Input::Tree(tree) => {
                fs::create_dir_all(&path).map_err(StoreError::io("create", &path))?;
                tree.iter().try_for_each(|(below, digest)| place(digest, &below.under(&path)))?;
            }
        }
    }
    Ok(())
}

/// Stores every file below `folder` and hands its path and digest on, in order. Links and special files
/// are refused: what they stand for was not made by the action.
pub(crate) fn collect_tree(
    folder: &Path,
    store: &dyn Store,
    each: &mut dyn FnMut(&WorkspacePath, Digest) -> Result<(), RuleError>,
) -> Result<(), RuleError> {
    collect_below(folder, "", store, each)
}

fn collect_below(
    folder: &Path,
    prefix: &str,
    store: &dyn Store,
    each: &mut dyn FnMut(&WorkspacePath, Digest) -> Result<(), RuleError>,
) -> Result<(), RuleError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(StoreError::io("read", folder))? {
        let entry = entry.map_err(StoreError::io("read", folder))?;
        let kind = entry.file_type().map_err(StoreError::io("read", entry.path()))?;
        let name = entry.file_name().into_string();
        names.push((
            name.map_err(|name| RuleError::new(format!("output {name:?} has a name that is no text")))?,
            kind,
        ));
    }
    names.sort_by(|a, b| a.0.cmp(&b.0));
    for (name, kind) in names {
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
        let full = folder.join(&name);
        if kind.is_dir() {
            collect_below(&full, &path, store, each)?;
        } else if kind.is_file() {
            let path = WorkspacePath::parse(path).map_err(|error| RuleError::new(error.to_string()))?;
            let mut file = fs::File::open(&full).map_err(StoreError::io("read", &full))?;
            let digest = store.put_from(&mut file)?.map_err(StoreError::io("read", &full))?;
            each(&path, digest)?;
        } else {
            return Err(RuleError::new(format!(
                "output `{path}` is a link or a special file; only files are kept"
            )));
        }
    }
    Ok(())
}

/// Stages an action, has it run, and takes its outputs.
pub(crate) fn run_elsewhere(
    elsewhere: &dyn Elsewhere,
    parent: &Path,
    manifest: &[u8],
    inputs: &BTreeMap<String, Input>,
    context: &Context<'_>,
    outputs: &Outputs<'_>,
) -> Result<Vec<Note>, RuleError> {
    let scratch = Scratch::new(parent)?;
    let folder = scratch.path();
    write(&folder.join("action"), manifest)?;
    let inputs_folder = folder.join("inputs");
    fs::create_dir(&inputs_folder).map_err(StoreError::io("create", &inputs_folder))?;
    place_inputs(inputs, &inputs_folder, context.store)?;
    elsewhere.run(folder).map_err(RuleError::new)?;
    for spec in outputs.specs() {
        let path = folder.join("outputs").join(spec.name);
        if spec.kind == Kind::Tree {
            collect_tree(&path, context.store, &mut |below, digest| {
                outputs.link_in(spec.name, below.as_str(), digest)
            })?;
        } else {
            let mut file = fs::File::open(&path).map_err(StoreError::io("read", &path))?;
            outputs.link(
                spec.name,
                context.store.put_from(&mut file)?.map_err(StoreError::io("read", &path))?,
            )?;
        }
    }
    let notes = folder.join("notes.json");
    let bytes = fs::read(&notes).map_err(StoreError::io("read", &notes))?;
    let notes: Vec<(bool, String)> = serde_json::from_slice(&bytes)
        .map_err(|error| RuleError::new(format!("the notes of a staged action are damaged: {error}")))?;
    let severity = |warning| if warning { Severity::Warning } else { Severity::Note };
    Ok(notes.into_iter().map(|(warning, message)| Note { severity: severity(warning), message }).collect())
}

/// Runs the action staged in `folder`, with `store` for what passes through.
pub fn run_action(folder: &Path, catalogue: &Catalogue, store: &dyn Store) -> Result<(), RuleError> {
    let path = folder.join("action");
    let manifest = fs::read(&path).map_err(StoreError::io("read", &path))?;
    let action = Action::decode(&manifest)
        .map_err(|error| RuleError::new(format!("`{}`: {error}", path.display())))?;
    let rule = catalogue.get(&action.rule.name).filter(|rule| rule.id() == action.rule);
    let rule = rule.ok_or_else(|| RuleError::new(format!("this bake has no rule `{}`", action.rule)))?;
    let Body::Pure(body) = rule.body() else {
        return Err(RuleError::new(format!("rule `{}` runs at home only", action.rule.name)));
    };
    let mut inputs = BTreeMap::new();
    for (name, (kind, digest)) in &action.inputs {
        let path = folder.join("inputs").join(name);
        let input = match kind {
            Kind::Tree => {
                let mut tree = Tree::new();
                collect_tree(&path, store, &mut |below, digest| {
                    tree.insert(below.clone(), digest).map_err(|error| RuleError::new(error.to_string()))
                })?;
                Input::Tree(Arc::new(tree))
            }
            _ => {
                let mut file = fs::File::open(&path).map_err(StoreError::io("read", &path))?;
                Input::File(store.put_from(&mut file)?.map_err(StoreError::io("read", &path))?)
            }
        };
        let found = match &input {
            Input::File(digest) => *digest,
            Input::Tree(tree) => Digest::of(&tree.encode()),
        };
        if found != *digest {
            return Err(RuleError::new(format!("input `{name}` is not what the action names")));
        }
        inputs.insert(name.clone(), input);
    }
    let outputs = Outputs::new(store, rule.interface());
    let cx = Cx {
        cancelled: &AtomicBool::new(false),
        progress: &|_, _| {},
        notes: Mutex::default(),
        signer: None,
    };
    guarded(|| body.run(&action.params, &Inputs::new(store, &inputs), &outputs, &cx))?;
    let notes: Vec<(bool, String)> =
        cx.into_notes().into_iter().map(|note| (note.severity == Severity::Warning, note.message)).collect();
    let place = |digest: &Digest, path: &Path| match store.place(digest, path)? {
        true => Ok(()),
        false => Err(RuleError::Lost(Lost(*digest))),
    };
    for (name, output) in outputs.finish()? {
        let path = folder.join("outputs").join(name);
        match output {
            Output::File(digest) => place(&digest, &path)?,
            Output::Tree(listing) => {
                fs::create_dir_all(&path).map_err(StoreError::io("create", &path))?;
                let bytes = store.read(&listing)?.ok_or(Lost(listing))?;
                let tree = Tree::decode(&bytes).map_err(|error| RuleError::new(error.to_string()))?;
                tree.iter().try_for_each(|(below, digest)| place(digest, &below.under(&path)))?;
            }
        }
    }
    write(
        &folder.join("notes.json"),
        serde_json::Value::from_iter(notes.into_iter().map(|(w, m)| serde_json::json!([w, m])))
            .to_string()
            .as_bytes(),
    )
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), RuleError> {
    Ok(fs::write(path, bytes).map_err(StoreError::io("write", path))?)
}
