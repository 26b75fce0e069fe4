//! Verification: eight steps in one order, the first that fails is the answer.
//!
//! Nothing of the statement is read before its signature holds.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{PAYLOAD_TYPE, PublicKey, Sha256Digest, message};
use crate::json::{Cursor, Faults, parse};

/// The longest envelope that is read: 4,096 members of 200 bytes fit several times.
const LONGEST: usize = 8 << 20;

/// What the statement is held against.
#[derive(Clone, Copy, Debug, Default)]
pub struct Expected<'a> {
    /// The release's slug, where it is known.
    pub slug: Option<&'a str>,
    /// The release's version, where it is known.
    pub version: Option<&'a str>,
}

/// A signature that holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The author's key.
    pub key: PublicKey,
    /// The id of the author's account, if the statement names one; empty if what it names is no text, and so
    /// is nobody's.
    pub author_id: Option<String>,
}

/// The step at which a signature failed; the first in the order of verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The envelope is not of the form.
    Envelope,
    /// A field is not strict base64.
    Base64,
    /// Key or signature are not 32 and 64 bytes.
    Length,
    /// The signature is not the key's, or not strictly so.
    Crypto,
    /// The statement is not of the form.
    Statement,
    /// The statement was made for another key.
    Fingerprint,
    /// The statement was made for another release.
    Replay,
    /// The members are not those that were signed.
    Members,
}

impl Step {
    /// All steps, in their order.
    pub const ALL: &[Self] = &[
        Self::Envelope,
        Self::Base64,
        Self::Length,
        Self::Crypto,
        Self::Statement,
        Self::Fingerprint,
        Self::Replay,
        Self::Members,
    ];

    /// The token that reports use.
    pub const fn token(self) -> &'static str {
        match self {
            Self::Envelope => "envelope",
            Self::Base64 => "base64",
            Self::Length => "length",
            Self::Crypto => "crypto",
            Self::Statement => "statement",
            Self::Fingerprint => "fingerprint",
            Self::Replay => "replay",
            Self::Members => "members",
        }
    }
}

/// A signature that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BadSignature {
    /// Where it failed.
    pub step: Step,
    /// What was found and what is allowed.
    pub message: String,
}

/// Verifies `envelope`. `members` gives the digest of every member but `signature.json`, and is asked only
/// when all else holds.
pub fn verify(
    envelope: &[u8],
    expected: Expected<'_>,
    members: impl FnOnce() -> BTreeMap<String, Sha256Digest>,
) -> Result<Verified, BadSignature> {
    let fail = |step, message: &str| BadSignature { step, message: message.to_owned() };
    let mut faults = Faults::default();
    let value = parse(envelope, LONGEST).map_err(|message| fail(Step::Envelope, &message))?;
    let root = Cursor::root(&value);
    root.field("schema_version").integer(1..=1, &mut faults);
    root.field("payload_type").matching(|text| text == PAYLOAD_TYPE, PAYLOAD_TYPE, &mut faults);
    let mut text = |name| root.field(name).text(0..=usize::MAX, &mut faults);
    let (payload, key, signature) = (text("payload"), text("public_key"), text("signature"));
    first_fault(faults, Step::Envelope)?;
    let decoded = |name: &str, text: Option<&str>| {
        STANDARD
            .decode(text.unwrap_or_default())
            .map_err(|error| fail(Step::Base64, &format!("`{name}` is not strict base64: {error}")))
    };
    let payload = decoded("payload", payload)?;
    let (key, signature) = (decoded("public_key", key)?, decoded("signature", signature)?);
    let (Ok(key), Ok(signature)) =
        (<[u8; 32]>::try_from(key.as_slice()), <[u8; 64]>::try_from(signature.as_slice()))
    else {
        let message = format!(
            "a key of {} and a signature of {} bytes; they must have 32 and 64",
            key.len(),
            signature.len()
        );
        return Err(fail(Step::Length, &message));
    };
    let key = PublicKey(key);
    if !key.verifies(&message(&payload), &signature) {
        let message = "the signature is not this key's over the statement";
        return Err(fail(Step::Crypto, message));
    }

    let mut faults = Faults::default();
    let value = parse(&payload, LONGEST).map_err(|message| fail(Step::Statement, &message))?;
    let root = Cursor::root(&value);
    root.field("schema_version").integer(1..=1, &mut faults);
    let files = root.field("files");
    let stated = files.object(&mut faults);
    first_fault(faults, Step::Statement)?;
    let fingerprint = key.fingerprint().to_string();
    if root.field("key_fingerprint").as_text() != Some(&fingerprint) {
        let message = format!("the statement was not made for the key {fingerprint}");
        return Err(fail(Step::Fingerprint, &message));
    }
    for (name, expected) in [("slug", expected.slug), ("version", expected.version)] {
        let found = root.field(name).as_text();
        let message = match (found, expected) {
            (None, _) => format!("the statement names no {name}"),
            (Some(found), Some(expected)) if found != expected => {
                format!("the statement is for {name} `{found}`, the release's is `{expected}`")
            }
            _ => continue,
        };
        return Err(fail(Step::Replay, &message));
    }
    let members = members();
    for name in stated.into_iter().flat_map(|stated| stated.keys()) {
        if !members.contains_key(name) {
            let message = format!("`{name}` was signed and is missing");
            return Err(fail(Step::Members, &message));
        }
    }
    for (name, digest) in &members {
        let stated = files.field(name);
        if stated.as_text() != Some(&digest.to_string()) {
            let message = match stated.as_text() {
                None => format!("`{name}` was not signed"),
                Some(_) => format!("`{name}` is not as it was signed"),
            };
            return Err(fail(Step::Members, &message));
        }
    }
    let author_id = root.field("author").nullable("id");
    Ok(Verified { key, author_id: author_id.map(|id| id.as_text().unwrap_or_default().to_owned()) })
}

fn first_fault(faults: Faults, step: Step) -> Result<(), BadSignature> {
    match faults.0.first() {
        None => Ok(()),
        Some(fault) => Err(BadSignature { step, message: fault.to_string() }),
    }
}
