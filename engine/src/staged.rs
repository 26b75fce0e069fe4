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
    inputs.iter().try_for_each(|(name, input)| match input {
        Input::File(digest) => place(digest, &folder.join(name), store),
        Input::Tree(tree) => place_tree(tree, &folder.join(name), store),
    })
}

fn place(digest: &Digest, path: &Path, store: &dyn Store) -> Result<(), RuleError> {
    match store.place(digest, path)? {
        true => Ok(()),
        false => Err(RuleError::Lost(Lost(*digest))),
    }
}

fn place_tree(tree: &Tree, folder: &Path, store: &dyn Store) -> Result<(), RuleError> {
    fs::create_dir_all(folder).map_err(StoreError::io("create", folder))?;
    tree.iter().try_for_each(|(below, digest)| place(digest, &below.under(folder), store))
}

/// Stores a file that an action left or was given.
fn store_file(path: &Path, store: &dyn Store) -> Result<Digest, RuleError> {
    let mut file = fs::File::open(path).map_err(StoreError::io("read", path))?;
    Ok(store.put_from(&mut file)?.map_err(StoreError::io("read", path))?)
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
            each(&WorkspacePath::parse(path)?, store_file(&full, store)?)?;
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
            outputs.link(spec.name, store_file(&path, context.store)?)?;
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
                collect_tree(&path, store, &mut |below, digest| Ok(tree.insert(below.clone(), digest)?))?;
                Input::Tree(Arc::new(tree))
            }
            _ => Input::File(store_file(&path, store)?),
        };
        if input.identity().1 != *digest {
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
    for (name, output) in outputs.finish()? {
        let path = folder.join("outputs").join(name);
        match output {
            Output::File(digest) => place(&digest, &path, store)?,
            Output::Tree(listing) => {
                let bytes = store.read(&listing)?.ok_or(Lost(listing))?;
                place_tree(&Tree::decode(&bytes)?, &path, store)?;
            }
        }
    }
    let notes = serde_json::to_vec(&notes).map_err(|error| RuleError::new(error.to_string()))?;
    write(&folder.join("notes.json"), &notes)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), RuleError> {
    Ok(fs::write(path, bytes).map_err(StoreError::io("write", path))?)
}
