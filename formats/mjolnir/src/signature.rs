//! `signature.json`: an author's statement of what a release holds, and its strict verification.
//!
//! It knows digests of members, not the members. Verification is the strict kind throughout: one textual
//! form, canonical points, no key or nonce of small order. The secret never enters: whoever holds it
//! implements [`Signer`]; [`SeedKey`] is the one for a seed that the caller has read.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use crate::json::{Cursor, Faults, parse};
use crate::manifest::is_slug;
use crate::version::Version;

/// The member that holds the envelope, and that no statement names.
pub const MEMBER: &str = "signature.json";
const PAYLOAD_TYPE: &str = "mjolnir-mod-statement-v1";
/// What is signed before the statement, so that no other text of the author's is a statement.
const DOMAIN: &[u8] = b"MJOLNIR-MOD-STATEMENT-V1\n";
/// The longest envelope that is read: 4,096 members of 200 bytes fit several times.
const LONGEST: usize = 8 << 20;

/// The SHA-256 of a member's uncompressed bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha256Digest([u8; 32]);

impl Sha256Digest {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Reads the one textual form: 64 lower-case hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' | b'a'..=b'f' => u8::try_from(char::from(byte).to_digit(16)?).ok(),
            _ => None,
        };
        let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
        let bytes = pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?));
        let bytes: Option<Vec<u8>> = bytes.collect();
        <[u8; 32]>::try_from(bytes?).ok().map(Self)
    }

    /// The digest of the pieces that `feed` hands on.
    pub fn of_pieces(feed: impl FnOnce(&mut dyn FnMut(&[u8]))) -> Self {
        let mut hasher = Sha256::new();
        feed(&mut |piece| hasher.update(piece));
        Self(hasher.finalize().into())
    }
}

/// Lower-case hexadecimal digits.
impl fmt::Display for Sha256Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Sha256Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An author's public key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// The key of these bytes, good or not.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The key's 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// What statements and the hub know the key by: the SHA-256 of its bytes.
    pub fn fingerprint(&self) -> Sha256Digest {
        Sha256Digest::of(&self.0)
    }

    /// The form that the hub takes when a key is registered.
    pub fn to_base64(&self) -> String {
        STANDARD.encode(self.0)
    }

    /// Whether `signature` is this key's over `message`, strictly.
    fn verifies(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        // `verify_strict` recomputes R, which refuses its other encodings, but takes any of A's.
        is_canonical(&self.0)
            && VerifyingKey::from_bytes(&self.0)
                .is_ok_and(|key| key.verify_strict(message, &Signature::from_bytes(signature)).is_ok())
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", self.to_base64())
    }
}

/// Whether the y coordinate is less than the field's order, 2^255 - 19.
fn is_canonical(point: &[u8; 32]) -> bool {
    let [first, middle @ .., last] = point;
    *first < 0xED || middle.iter().any(|byte| *byte != 0xFF) || last & 0x7F != 0x7F
}

/// Whoever can sign for a key. The secret stays behind it.
pub trait Signer {
    /// The key that the signatures are of.
    fn public_key(&self) -> PublicKey;

    /// The Ed25519 signature (pure, RFC 8032) over `message`.
    fn sign(&self, message: &[u8]) -> Result<[u8; 64], SignError>;
}

/// Why there is no signature.
#[derive(Debug, thiserror::Error)]
pub enum SignError {
    /// The seed is of no known form. It is not shown.
    #[error("a seed must be exactly 32 bytes, or 64 hexadecimal digits")]
    Seed,
    /// A field of the statement is wrong.
    #[error("{0}")]
    Field(String),
    /// The holder of the key did not sign.
    #[error("the key's holder did not sign")]
    Holder(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// What came back is not the key's signature over the statement.
    #[error("the signature that was made does not verify against the key")]
    Unverified,
}

/// A key made from a 32-byte seed, which is wiped when the key goes.
pub struct SeedKey(SigningKey);

impl SeedKey {
    /// The key of the contents of a seed file: 32 raw bytes, else 64 hexadecimal digits of either case with
    /// white space around.
    pub fn from_seed_file(contents: &[u8]) -> Result<Self, SignError> {
        let mut seed = Zeroizing::new([0; 32]);
        if let Ok(raw) = <&[u8; 32]>::try_from(contents) {
            seed.copy_from_slice(raw);
        } else {
            let digits = contents.trim_ascii();
            let (pairs, []) = digits.as_chunks::<2>() else {
                return Err(SignError::Seed);
            };
            if pairs.len() != seed.len() {
                return Err(SignError::Seed);
            }
            let digit = |byte: u8| char::from(byte).to_digit(16);
            for (byte, [high, low]) in seed.iter_mut().zip(pairs) {
                let (high, low) = digit(*high).zip(digit(*low)).ok_or(SignError::Seed)?;
                *byte = u8::try_from(high << 4 | low).map_err(|_| SignError::Seed)?;
            }
        }
        Ok(Self::from_seed(&seed))
    }

    /// The key of a seed.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(seed))
    }
}

impl Signer for SeedKey {
    fn public_key(&self) -> PublicKey {
        PublicKey(self.0.verifying_key().to_bytes())
    }

    fn sign(&self, message: &[u8]) -> Result<[u8; 64], SignError> {
        Ok(self.0.sign(message).to_bytes())
    }
}

/// Shows the public key alone.
impl fmt::Debug for SeedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.public_key().fmt(f)
    }
}

/// Whose release it is, as the hub knows the account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Author {
    /// The account's id.
    pub id: String,
    /// The account's name.
    pub username: String,
}

/// What an author states; with the public key it is all that a signature depends on.
#[derive(Clone, Debug)]
pub struct Release {
    /// The release's slug.
    pub slug: String,
    /// The release's version.
    pub version: Version,
    /// The author's account, if it is to be named.
    pub author: Option<Author>,
    /// When it was signed; for people only.
    pub signed_at: SignedAt,
    /// The digests of all members but `signature.json`.
    pub files: BTreeMap<String, Sha256Digest>,
}

/// A moment as statements hold it: `YYYY-MM-DDThh:mm:ssZ`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedAt(String);

impl SignedAt {
    /// Reads the one textual form. That the day exists is not checked: nothing depends on it.
    pub fn parse(text: &str) -> Option<Self> {
        const FORM: &[u8] = b"0000-00-00T00:00:00Z";
        let fits = |(byte, form): (u8, &u8)| match form {
            b'0' => byte.is_ascii_digit(),
            form => byte == *form,
        };
        (text.len() == FORM.len() && text.bytes().zip(FORM).all(fits)).then(|| Self(text.to_owned()))
    }

    /// The moment `seconds` after 1970-01-01T00:00:00Z, as `SOURCE_DATE_EPOCH` gives it; up to the year
    /// 9999.
    pub fn from_unix(seconds: u64) -> Option<Self> {
        const DAY: u64 = 86_400;
        const LAST: u64 = 253_402_300_799;
        if seconds > LAST {
            return None;
        }
        let (mut days, rest) = (seconds.checked_div(DAY)?, seconds.checked_rem(DAY)?);
        let mut year = 1970u64;
        let leap =
            |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        loop {
            let length = if leap(year) { 366 } else { 365 };
            let Some(left) = days.checked_sub(length) else {
                break;
            };
            (days, year) = (left, year.saturating_add(1));
        }
        let february = if leap(year) { 29 } else { 28 };
        let mut month = 1u64;
        for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
            let Some(left) = days.checked_sub(length) else {
                break;
            };
            (days, month) = (left, month.saturating_add(1));
        }
        let (day, hour) = (days.saturating_add(1), rest / 3600);
        let (minute, second) = (rest % 3600 / 60, rest % 60);
        Some(Self(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")))
    }
}

impl fmt::Display for SignedAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Serialize)]
struct StatementForm<'a> {
    schema_version: u8,
    slug: &'a str,
    version: String,
    author: &'a Option<Author>,
    key_fingerprint: String,
    signed_at: &'a str,
    files: BTreeMap<&'a str, String>,
}

#[derive(Serialize)]
struct EnvelopeForm {
    schema_version: u8,
    payload_type: &'static str,
    payload: String,
    public_key: String,
    signature: String,
}

impl Release {
    /// The statement's bytes, for the key `key`.
    pub fn statement(&self, key: &PublicKey) -> Result<Vec<u8>, SignError> {
        if !is_slug(&self.slug) {
            return Err(SignError::Field(format!("`{}` is no slug", self.slug)));
        }
        if self.files.contains_key(MEMBER) {
            let message = format!("`{MEMBER}` cannot state its own digest");
            return Err(SignError::Field(message));
        }
        let files = self.files.iter();
        serde_json::to_vec(&StatementForm {
            schema_version: 1,
            slug: &self.slug,
            version: self.version.to_string(),
            author: &self.author,
            key_fingerprint: key.fingerprint().to_string(),
            signed_at: &self.signed_at.0,
            files: files.map(|(name, digest)| (name.as_str(), digest.to_string())).collect(),
        })
        .map_err(|error| SignError::Field(error.to_string()))
    }

    /// The text of `signature.json`. What `signer` gives is verified before it is believed.
    pub fn sign(&self, signer: &dyn Signer) -> Result<String, SignError> {
        let key = signer.public_key();
        let statement = self.statement(&key)?;
        let message = message(&statement);
        let signature = signer.sign(&message)?;
        if !key.verifies(&message, &signature) {
            return Err(SignError::Unverified);
        }
        serde_json::to_string_pretty(&EnvelopeForm {
            schema_version: 1,
            payload_type: PAYLOAD_TYPE,
            payload: STANDARD.encode(statement),
            public_key: key.to_base64(),
            signature: STANDARD.encode(signature),
        })
        .map_err(|error| SignError::Field(error.to_string()))
    }
}

/// What is signed: the domain, then the statement.
pub fn message(statement: &[u8]) -> Vec<u8> {
    [DOMAIN, statement].concat()
}

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
    /// The id of the author's account, if the statement names one.
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
    let decoded = |text: Option<&str>| {
        STANDARD
            .decode(text.unwrap_or_default())
            .map_err(|error| fail(Step::Base64, &format!("not strict base64: {error}")))
    };
    let (payload, key, signature) = (decoded(payload)?, decoded(key)?, decoded(signature)?);
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
    let stated = files.object(&mut faults).cloned().unwrap_or_default();
    first_fault(faults, Step::Statement)?;
    let fingerprint = key.fingerprint().to_string();
    if root.field("key_fingerprint").as_text() != Some(&fingerprint) {
        let message = format!("the statement was not made for the key {fingerprint}");
        return Err(fail(Step::Fingerprint, &message));
    }
    for (name, expected) in [("slug", expected.slug), ("version", expected.version)] {
        let found = root.field(name).as_text();
        if found.is_none() || expected.is_some() && found != expected {
            let message = format!(
                "the statement is for {name} `{}`, not `{}`",
                found.unwrap_or_default(),
                expected.unwrap_or_default()
            );
            return Err(fail(Step::Replay, &message));
        }
    }
    let members = members();
    for name in stated.keys() {
        if !members.contains_key(name) {
            let message = format!("`{name}` was signed and is missing");
            return Err(fail(Step::Members, &message));
        }
    }
    for (name, digest) in &members {
        let stated = files.field(name);
        if stated.as_text() != Some(&digest.to_string()) {
            let message = format!("`{name}` is not as it was signed");
            return Err(fail(Step::Members, &message));
        }
    }
    let author_id = root.field("author").field("id").as_text();
    Ok(Verified { key, author_id: author_id.map(str::to_owned) })
}

fn first_fault(faults: Faults, step: Step) -> Result<(), BadSignature> {
    match faults.0.first() {
        None => Ok(()),
        Some(fault) => Err(BadSignature { step, message: fault.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release() -> Release {
        Release {
            slug: "foundry".to_owned(),
            version: Version::parse("0.2.0").unwrap(),
            author: None,
            signed_at: SignedAt::from_unix(0).unwrap(),
            files: [("mjolnir.json".to_owned(), Sha256Digest::of(b"{}"))].into(),
        }
    }

    fn verified(envelope: &str) -> Result<Verified, Step> {
        let expected = Expected { slug: Some("foundry"), version: Some("0.2.0") };
        verify(envelope.as_bytes(), expected, || release().files).map_err(|error| error.step)
    }

    #[test]
    fn what_is_signed_verifies() {
        let key = SeedKey::from_seed(&[7; 32]);
        let envelope = release().sign(&key).unwrap();
        let expected = Verified { key: key.public_key(), author_id: None };
        assert_eq!(verified(&envelope), Ok(expected));
        let other = Release { slug: "other".to_owned(), ..release() }.sign(&key).unwrap();
        assert_eq!(verified(&other), Err(Step::Replay));
        let files = [("mjolnir.json".to_owned(), Sha256Digest::of(b"{ }"))].into();
        let other = Release { files, ..release() }.sign(&key).unwrap();
        assert_eq!(verified(&other), Err(Step::Members));
    }

    #[test]
    fn a_wrong_holder_is_noticed() {
        struct Wrong;
        impl Signer for Wrong {
            fn public_key(&self) -> PublicKey {
                SeedKey::from_seed(&[7; 32]).public_key()
            }
            fn sign(&self, message: &[u8]) -> Result<[u8; 64], SignError> {
                SeedKey::from_seed(&[9; 32]).sign(message)
            }
        }
        assert!(matches!(release().sign(&Wrong), Err(SignError::Unverified)));
    }

    /// The identity as key and nonce, and a zero scalar: plain verification accepts it for any message.
    #[test]
    fn small_order_keys_and_other_encodings_are_refused() {
        let mut identity = [0; 32];
        identity[0] = 1;
        let mut signature = [0; 64];
        signature[0] = 1;
        assert!(!PublicKey(identity).verifies(b"anything", &signature));
        // The field's order plus 1: the same point in another encoding.
        let mut other = [0xFF; 32];
        (other[0], other[31]) = (0xEE, 0x7F);
        assert!(!is_canonical(&other) && is_canonical(&identity));
        other[0] = 0xEC;
        assert!(is_canonical(&other));
    }

    #[test]
    fn seeds_of_both_forms_and_no_other() {
        let key = SeedKey::from_seed(&[0xAB; 32]).public_key();
        for contents in [vec![0xAB; 32], b"aB".repeat(32), [b" ", &b"Ab".repeat(32)[..], b"\r\n"].concat()] {
            assert_eq!(SeedKey::from_seed_file(&contents).unwrap().public_key(), key);
        }
        for contents in [vec![0xAB; 31], vec![0xAB; 33], b"ab".repeat(31), b"ag".repeat(32), Vec::new()] {
            assert!(SeedKey::from_seed_file(&contents).is_err());
        }
    }

    #[test]
    fn nothing_shows_the_seed() {
        let shown = format!("{:?}", SeedKey::from_seed(&[0xAB; 32]));
        assert!(shown.starts_with("PublicKey(") && !shown.to_lowercase().contains("abab"), "{shown}");
    }

    #[test]
    fn moments() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_799, "2000-02-29T23:59:59Z"),
            (1_785_628_800, "2026-08-02T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(SignedAt::from_unix(seconds), SignedAt::parse(text));
            assert!(SignedAt::parse(text).is_some(), "{text}");
        }
        assert_eq!(SignedAt::from_unix(253_402_300_800), None);
        for wrong in
            ["2026-08-02", "2026-08-02T00:00:00+00:00", "2026-08-02 00:00:00Z", "2026-08-02T00:00:0aZ"]
        {
            assert_eq!(SignedAt::parse(wrong), None, "{wrong}");
        }
    }
}
