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

mod key;
mod moment;
mod statement;
mod verify;

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, VerifyingKey};
use sha2::{Digest as _, Sha256};

pub use key::{SeedKey, SignError, Signer};
pub use moment::SignedAt;
pub use statement::{Author, Release};
pub use verify::{BadSignature, Expected, Step, Verified, verify};

/// The member that holds the envelope, and that no statement names.
pub const MEMBER: &str = "signature.json";
const PAYLOAD_TYPE: &str = "mjolnir-mod-statement-v1";
/// What is signed before the statement, so that no other text of the author's is a statement.
const DOMAIN: &[u8] = b"MJOLNIR-MOD-STATEMENT-V1\n";

/// What is signed: the domain, then the statement.
pub fn message(statement: &[u8]) -> Vec<u8> {
    [DOMAIN, statement].concat()
}

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

#[cfg(test)]
mod tests {
    use super::*;
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
    fn digests_have_one_text() {
        let digest = Sha256Digest::of(b"x");
        let text = digest.to_string();
        assert_eq!(Sha256Digest::parse(&text), Some(digest));
        assert_eq!(format!("{digest:?}"), text);
        for wrong in
            [&text[1..], &text[2..], &text.to_uppercase(), &format!("{text}0"), &format!(" {}", &text[1..])]
        {
            assert_eq!(Sha256Digest::parse(wrong), None, "{wrong}");
        }
        assert_eq!(
            Sha256Digest::of_pieces(|feed| (0..3).for_each(|at| feed(&b"abc"[at..=at]))),
            Sha256Digest::of(b"abc")
        );
    }
}
