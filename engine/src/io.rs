//! What a running action sees: its declared inputs and outputs by name, and a small context.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cache::{Blob, BlobWriter, Digest, Note, Output, Severity, Store, Tree, WorkspacePath};
use rayon::prelude::*;

use crate::rule::{Interface, Kind, OutputSpec};
use crate::{Lost, RuleError};

/// A resolved input.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// One file.
    File(Digest),
    /// A tree.
    Tree(Arc<Tree>),
}

impl Input {
    /// What it is to an action: its kind, and the digest of the file or of the listing.
    pub(crate) fn identity(&self) -> (Kind, Digest) {
        match self {
            Self::File(digest) => (Kind::File, *digest),
            Self::Tree(tree) => (Kind::Tree, Digest::of(&tree.encode())),
        }
    }
}

/// The inputs of an action, by name.
pub struct Inputs<'a> {
    store: &'a dyn Store,
    inputs: &'a BTreeMap<String, Input>,
}

impl<'a> Inputs<'a> {
    pub(crate) fn new(store: &'a dyn Store, inputs: &'a BTreeMap<String, Input>) -> Self {
        Self { store, inputs }
    }

    /// The file input `name`.
    pub fn file(&self, name: &str) -> Result<Blob, RuleError> {
        self.read(self.digest(name)?)
    }

    /// The file input `name`, where the step gave it.
    pub fn optional_file(&self, name: &str) -> Result<Option<Blob>, RuleError> {
        self.inputs.contains_key(name).then(|| self.file(name)).transpose()
    }

    /// The digest of the file input `name`: to hand it on unread.
    pub fn digest(&self, name: &str) -> Result<Digest, RuleError> {
        match self.inputs.get(name) {
            Some(Input::File(digest)) => Ok(*digest),
            _ => Err(RuleError::new(format!("no file input `{name}` was given"))),
        }
    }

    /// The listing of the tree input `name`; empty where the step left an optional one out.
    pub fn tree(&self, name: &str) -> Result<Arc<Tree>, RuleError> {
        match self.inputs.get(name) {
            Some(Input::Tree(tree)) => Ok(Arc::clone(tree)),
            None => Ok(Arc::default()),
            Some(Input::File(_)) => Err(RuleError::new(format!("input `{name}` is a file, not a tree"))),
        }
    }

    /// The bytes of a file of an input tree. What no input names cannot be read: the digest of anything
    /// else is not known to a rule.
    pub fn read(&self, digest: Digest) -> Result<Blob, RuleError> {
        self.store.read(&digest)?.ok_or(RuleError::Lost(Lost(digest)))
    }
}

/// The outputs of an action, by name. May be written from several threads.
pub struct Outputs<'a> {
    store: &'a dyn Store,
    interface: &'a Interface,
    written: Mutex<BTreeMap<String, Written>>,
}

enum Written {
    File(Digest),
    Tree(Tree),
}

impl<'a> Outputs<'a> {
    pub(crate) fn new(store: &'a dyn Store, interface: &'a Interface) -> Self {
        Self { store, interface, written: Mutex::default() }
    }

    /// Writes the file output `name`.
    pub fn put(&self, name: &str, bytes: &[u8]) -> Result<(), RuleError> {
        self.link(name, self.store.put(bytes)?)
    }

    /// Gives a blob that is in the store already as the file output `name`.
    pub fn link(&self, name: &str, digest: Digest) -> Result<(), RuleError> {
        self.declared(name, Kind::File)?;
        let earlier = self.lock().insert(name.to_owned(), Written::File(digest));
        match earlier {
            None => Ok(()),
            Some(_) => Err(RuleError::new(format!("output `{name}` was written twice"))),
        }
    }

    /// Streams a blob into the store; [`OutputWriter::finish`] names it.
    pub fn writer(&self) -> Result<OutputWriter<'_>, RuleError> {
        Ok(OutputWriter { writer: self.store.writer()? })
    }

    /// Writes a file of the tree output `name`.
    pub fn put_in(&self, name: &str, path: &str, bytes: &[u8]) -> Result<(), RuleError> {
        self.link_in(name, path, self.store.put(bytes)?)
    }

    /// Gives a blob that is in the store already as a file of the tree output `name`.
    pub fn link_in(&self, name: &str, path: &str, digest: Digest) -> Result<(), RuleError> {
        self.declared(name, Kind::Tree)?;
        let error = |error: &dyn std::fmt::Display| RuleError::new(format!("output `{name}`: {error}"));
        let path = WorkspacePath::parse(path).map_err(|bad| error(&bad))?;
        let mut written = self.lock();
        match written.entry(name.to_owned()).or_insert_with(|| Written::Tree(Tree::new())) {
            Written::Tree(tree) => tree.insert(path, digest).map_err(|bad| error(&bad)),
            Written::File(_) => Err(error(&"it was written as a file")),
        }
    }

    /// What is declared.
    pub(crate) fn specs(&self) -> &'a [OutputSpec] {
        &self.interface.outputs
    }

    /// All declared outputs, stored; an output tree nothing was written into is empty, a file that was
    /// not written is an error.
    pub(crate) fn finish(self) -> Result<BTreeMap<String, Output>, RuleError> {
        let mut written = self.written.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut outputs = BTreeMap::new();
        for spec in &self.interface.outputs {
            let output = match (written.remove(spec.name), spec.kind) {
                (Some(Written::File(digest)), _) => Output::File(digest),
                (Some(Written::Tree(tree)), _) => {
                    tree.check().map_err(|bad| RuleError::new(format!("output `{}`: {bad}", spec.name)))?;
                    Output::Tree(self.store.put(&tree.encode())?)
                }
                (None, Kind::Tree) => Output::Tree(self.store.put(&Tree::new().encode())?),
                (None, _) => return Err(RuleError::new(format!("output `{}` was not written", spec.name))),
            };
            outputs.insert(spec.name.to_owned(), output);
        }
        Ok(outputs)
    }

    fn declared(&self, name: &str, kind: Kind) -> Result<(), RuleError> {
        match self.interface.find_output(name) {
            Some(spec) if spec.kind == kind => Ok(()),
            _ => Err(RuleError::new(format!("no output `{name}` of that kind is declared"))),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Written>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Streams one blob.
pub struct OutputWriter<'a> {
    writer: Box<dyn BlobWriter + 'a>,
}

impl OutputWriter<'_> {
    /// Appends bytes, with the store's own errors.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), RuleError> {
        Ok(self.writer.append(bytes)?)
    }

    /// Ends the blob and names it; hand the digest to [`Outputs::link`] or [`Outputs::link_in`].
    pub fn finish(self) -> Result<Digest, RuleError> {
        Ok(self.writer.commit()?)
    }
}

impl Write for OutputWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// Signs for the one rule that may. The secret stays behind it.
pub trait Signer: Send + Sync {
    /// The Ed25519 public key.
    fn public_key(&self) -> [u8; 32];
    /// The Ed25519 signature of `message`.
    fn sign(&self, message: &[u8]) -> [u8; 64];
}

/// What else a running action may use.
pub struct Cx<'a> {
    pub(crate) cancelled: &'a AtomicBool,
    pub(crate) progress: &'a (dyn Fn(u64, u64) + Sync),
    pub(crate) notes: Mutex<Vec<Note>>,
    pub(crate) signer: Option<&'a dyn Signer>,
}

impl Cx<'_> {
    /// Gives up when the build was cancelled: call it in long loops.
    pub fn check_cancelled(&self) -> Result<(), RuleError> {
        if self.cancelled.load(Ordering::Relaxed) { Err(RuleError::Cancelled) } else { Ok(()) }
    }

    /// Says how far it is: `done` of `total` of whatever the rule counts.
    pub fn progress(&self, done: u64, total: u64) {
        (self.progress)(done, total);
    }

    /// Says something that is kept with the result. Notes are kept in the order of their text, so that
    /// threads cannot reorder them.
    pub fn note(&self, severity: Severity, message: impl Into<String>) {
        let note = Note { severity, message: message.into() };
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(note);
    }

    /// Applies `f` to each item on all cores; results come in the items' order, and so does the first
    /// error.
    pub fn par_map<T: Sync, R: Send>(
        &self,
        items: &[T],
        f: impl Fn(&T) -> Result<R, RuleError> + Sync,
    ) -> Result<Vec<R>, RuleError> {
        let results: Vec<_> = items
            .par_iter()
            .map(|item| {
                self.check_cancelled()?;
                f(item)
            })
            .collect();
        results.into_iter().collect()
    }

    /// The signer, for the rule that declares that it signs.
    pub fn signer(&self) -> Option<&dyn Signer> {
        self.signer
    }

    pub(crate) fn into_notes(self) -> Vec<Note> {
        let mut notes = self.notes.into_inner().unwrap_or_else(PoisonError::into_inner);
        notes.sort_by(|a, b| a.message.cmp(&b.message));
        notes
    }
}
