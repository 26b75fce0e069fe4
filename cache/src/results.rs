//! What running an action gave: one immutable file an action, closed by its own digest.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::digest::{hex, unhex};
use crate::{Digest, DigestError, StoreError};

/// The identity of an action: BLAKE3-256 of its canonical encoding. Textual form: 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ActionDigest([u8; 32]);

impl ActionDigest {
    /// The identity of the action whose canonical encoding is `manifest`.
    pub fn of(manifest: &[u8]) -> Self {
        Self(*Digest::of(manifest).hash())
    }

    /// An identity as read from a file.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first 12 hex digits: for messages, never for files.
    pub fn short(&self) -> String {
        let mut text = self.to_string();
        text.truncate(12);
        text
    }
}

impl fmt::Display for ActionDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for ActionDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ActionDigest({self})")
    }
}

impl FromStr for ActionDigest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        match unhex(text) {
            Some(bytes) => Ok(Self(bytes)),
            None => Err(DigestError::of(text)),
        }
    }
}

/// One output of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// A single file.
    File(Digest),
    /// A tree: the digest of its listing.
    Tree(Digest),
}

impl Output {
    /// The digest of the file, or of the tree's listing.
    pub const fn digest(&self) -> Digest {
        match self {
            Self::File(digest) | Self::Tree(digest) => *digest,
        }
    }
}

/// How much a note matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Said, nothing more.
    Note,
    /// Something that the author should look at.
    Warning,
}

/// Something that a rule said while it ran, said again when its result is used again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// How much it matters.
    pub severity: Severity,
    /// The text, without a final period.
    pub message: String,
}

/// What an action gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionResult {
    /// The canonical encoding of the action; its BLAKE3 is the action digest.
    pub manifest: Vec<u8>,
    /// Outputs by name.
    pub outputs: BTreeMap<String, Output>,
    /// What the rule said.
    pub notes: Vec<Note>,
    /// How long it ran, in milliseconds: a hint for scheduling, never part of an identity.
    pub duration_ms: u64,
    /// Derived from private bytes: never uploaded.
    pub private: bool,
}

impl ActionResult {
    /// The identity of the action that gave this.
    pub fn action(&self) -> ActionDigest {
        ActionDigest::of(&self.manifest)
    }
}

/// A place for results.
pub trait Results: Send + Sync {
    /// The result of `action`; `None` when there is none, or when its file was damaged (it is then
    /// removed). It counts only if its outputs are present, which is the caller's to check.
    fn result(&self, action: &ActionDigest) -> Result<Option<ActionResult>, StoreError>;

    /// Stores a result, replacing an earlier one of the same action whole.
    fn put_result(&self, result: &ActionResult) -> Result<(), StoreError>;
}
