//! Who signs: whatever holds a key, and the key of a seed that the caller has read.
//!
//! It knows no file. Its invariant: a seed is wiped where it lay, and nothing that can be printed shows it.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use std::fmt;

use ed25519_dalek::{Signer as _, SigningKey};
use zeroize::Zeroizing;

use super::PublicKey;

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
    /// The seed is of no known form. It is counted, not shown.
    #[error("{0}; a seed is exactly 32 bytes, or 64 hexadecimal digits with nothing but white space around")]
    Seed(String),
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
        if let Ok(raw) = contents.try_into() {
            return Ok(Self::from_seed(raw));
        }
        let wrong = |found: String| SignError::Seed(found);
        let digits = contents.trim_ascii();
        let mut seed = Zeroizing::new([0; 32]);
        let pairs = match digits.as_chunks::<2>() {
            (pairs, []) if pairs.len() == seed.len() => pairs,
            _ => return Err(wrong(format!("{} bytes", contents.len()))),
        };
        let digit = |byte: u8| char::from(byte).to_digit(16);
        for (byte, [high, low]) in seed.iter_mut().zip(pairs) {
            let value = digit(*high).zip(digit(*low)).map(|(high, low)| high << 4 | low);
            *byte = value
                .and_then(|value| u8::try_from(value).ok())
                .ok_or_else(|| wrong("64 characters that are not all hexadecimal digits".to_owned()))?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_of_both_forms_and_no_other() {
        let key = SeedKey::from_seed(&[0xAB; 32]).public_key();
        let spaced = [b" \t\n", &b"Ab".repeat(32)[..], b"\r\n"].concat();
        for contents in [vec![0xAB; 32], b"aB".repeat(32), spaced] {
            assert_eq!(SeedKey::from_seed_file(&contents).unwrap().public_key(), key);
        }
        // 32 bytes are raw, whatever they could be read as.
        let raw = SeedKey::from_seed_file(&[b'a'; 32]).unwrap().public_key();
        assert_eq!(raw, SeedKey::from_seed(&[b'a'; 32]).public_key());

        let form = "a seed is exactly 32 bytes, or 64 hexadecimal digits with nothing but white space around";
        for (contents, found) in [
            (Vec::new(), "0 bytes"),
            (vec![0xAB; 31], "31 bytes"),
            (vec![0xAB; 33], "33 bytes"),
            ([&[0xAB; 32][..], b"\n"].concat(), "33 bytes"),
            (b"ab".repeat(31), "62 bytes"),
            ([&b"ab".repeat(32)[..], b"a"].concat(), "65 bytes"),
            (b"a b".repeat(22), "66 bytes"),
            (b"ag".repeat(32), "64 characters that are not all hexadecimal digits"),
            ("é".repeat(32).into_bytes(), "64 characters that are not all hexadecimal digits"),
        ] {
            let error = SeedKey::from_seed_file(&contents).unwrap_err();
            assert_eq!(error.to_string(), format!("{found}; {form}"));
        }
    }

    #[test]
    fn nothing_shows_the_seed_and_it_is_wiped() {
        let key = SeedKey::from_seed(&[0xAB; 32]);
        for shown in [format!("{key:?}"), format!("{key:#?}"), format!("{:?}", key.sign(b"x").unwrap())] {
            let shown = shown.to_lowercase();
            assert!(!["abab", "171, 171", "q6ur"].iter().any(|part| shown.contains(part)), "{shown}");
        }
        assert_eq!(format!("{key:?}"), format!("{:?}", key.public_key()));
        let wrong = SeedKey::from_seed_file(&[0xAB; 33]).unwrap_err();
        assert!(!format!("{wrong:?} {wrong}").contains("171"));
        // What a key is made of wipes itself.
        fn wiped<T: zeroize::ZeroizeOnDrop>(_: &T) {}
        wiped(&key.0);
    }
}
