//! What running an action gave: one immutable file an action, closed by its own digest.
//!
//! The file: `bake result 1\n` · manifest · number of outputs, then each as name, kind (0 file, 1 tree),
//! 32 hash bytes, length, in the order of names · number of notes, then each as severity (0 note,
//! 1 warning), message · duration · private (0 or 1) · BLAKE3 of all before. Numbers are 64 bits, kinds
//! 8 bits, little-endian; bytes and texts are led by their length. One result has one such file.

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::digest::{hex, unhex};
use crate::sealed::{seal, unseal};
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

    /// The canonical bytes of the result's file.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        put_bytes(&mut bytes, &self.manifest);
        put_number(&mut bytes, self.outputs.len() as u64);
        for (name, output) in &self.outputs {
            put_bytes(&mut bytes, name.as_bytes());
            bytes.push(match output {
                Output::File(_) => 0,
                Output::Tree(_) => 1,
            });
            bytes.extend_from_slice(output.digest().hash());
            put_number(&mut bytes, output.digest().len());
        }
        put_number(&mut bytes, self.notes.len() as u64);
        for note in &self.notes {
            bytes.push(match note.severity {
                Severity::Note => 0,
                Severity::Warning => 1,
            });
            put_bytes(&mut bytes, note.message.as_bytes());
        }
        put_number(&mut bytes, self.duration_ms);
        bytes.push(self.private.into());
        seal(bytes)
    }

    /// Reads what [`ActionResult::encode`] wrote; `None` for anything else.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(unseal(bytes)?.strip_prefix(MAGIC)?);
        let manifest = fields.bytes()?.to_vec();
        let mut outputs = BTreeMap::new();
        // Every turn takes bytes or gives up, so a count that lies ends early.
        for _ in 0..fields.number()? {
            let name = fields.text()?;
            if outputs.last_key_value().is_some_and(|(last, _)| *last >= name) {
                return None;
            }
            let kind = fields.byte()?;
            let digest = Digest::from_parts(*fields.array()?, fields.number()?);
            let output = match kind {
                0 => Output::File(digest),
                1 => Output::Tree(digest),
                _ => return None,
            };
            outputs.insert(name, output);
        }
        let mut notes = Vec::new();
        for _ in 0..fields.number()? {
            let severity = match fields.byte()? {
                0 => Severity::Note,
                1 => Severity::Warning,
                _ => return None,
            };
            let message = fields.text()?;
            notes.push(Note { severity, message });
        }
        let duration_ms = fields.number()?;
        let private = match fields.byte()? {
            0 => false,
            1 => true,
            _ => return None,
        };
        fields.0.is_empty().then_some(Self { manifest, outputs, notes, duration_ms, private })
    }
}

const MAGIC: &[u8] = b"bake result 1\n";

fn put_number(to: &mut Vec<u8>, number: u64) {
    to.extend_from_slice(&number.to_le_bytes());
}

fn put_bytes(to: &mut Vec<u8>, bytes: &[u8]) {
    put_number(to, bytes.len() as u64);
    to.extend_from_slice(bytes);
}

/// The fields still to be read; `None` where the bytes end first.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn array<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| *byte)
    }

    fn number(&mut self) -> Option<u64> {
        self.array().copied().map(u64::from_le_bytes)
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(self.number()?).ok()?;
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> ActionResult {
        let digest = Digest::of(b"x");
        ActionResult {
            manifest: b"manifest".to_vec(),
            outputs: BTreeMap::from([
                ("log".to_owned(), Output::File(digest)),
                ("packages".to_owned(), Output::Tree(Digest::of(b"tree"))),
            ]),
            notes: vec![
                Note { severity: Severity::Warning, message: "the image is not square".to_owned() },
                Note { severity: Severity::Note, message: "é".to_owned() },
            ],
            duration_ms: 12_345,
            private: true,
        }
    }

    #[test]
    fn a_result_goes_there_and_back() {
        let empty = ActionResult {
            manifest: Vec::new(),
            outputs: BTreeMap::new(),
            notes: Vec::new(),
            duration_ms: 0,
            private: false,
        };
        for result in [sample(), empty] {
            assert_eq!(ActionResult::decode(&result.encode()), Some(result));
        }
    }

    #[test]
    fn the_form_is_frozen() {
        let digest = Digest::of(&sample().encode());
        assert_eq!(digest.len(), 239);
        assert_eq!(digest.short(), "46d7324152f6");
    }

    #[test]
    fn every_cut_and_every_flipped_bit_is_refused() {
        let bytes = sample().encode();
        for cut in 0..bytes.len() {
            assert_eq!(ActionResult::decode(&bytes[..cut]), None, "{cut}");
        }
        for bit in 0..bytes.len() * 8 {
            let mut bytes = bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(ActionResult::decode(&bytes), None, "{bit}");
        }
    }

    #[test]
    fn a_false_form_under_a_true_seal_is_refused() {
        let whole = sample().encode();
        let body = unseal(&whole).unwrap().to_vec();
        // Whatever is accepted is canonical: it encodes to the very same bytes.
        for at in 0..body.len() {
            for value in [0, 1, 2, 0x7f, 0xff] {
                let mut body = body.clone();
                body[at] = value;
                let bytes = seal(body);
                if let Some(result) = ActionResult::decode(&bytes) {
                    assert_eq!(result.encode(), bytes, "{at} {value}");
                }
            }
            assert_eq!(ActionResult::decode(&seal(body[..at].to_vec())), None);
        }
        let mut longer = body.clone();
        longer.push(0);
        assert_eq!(ActionResult::decode(&seal(longer)), None);
    }
}
