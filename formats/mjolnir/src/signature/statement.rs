//! What an author states, and the envelope that is signed: bytes that never differ for the same statement.
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
use serde::Serialize;

use super::{MEMBER, PAYLOAD_TYPE, PublicKey, Sha256Digest, SignError, SignedAt, Signer, message};
use crate::manifest::is_slug;
use crate::version::Version;

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
            signed_at: self.signed_at.as_str(),
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

#[cfg(test)]
mod tests {
    use super::super::SeedKey;
    use super::*;

    fn release() -> Release {
        Release {
            slug: "foundry".to_owned(),
            version: Version::parse("0.2.0-rc.1").unwrap(),
            author: None,
            signed_at: SignedAt::from_unix(0).unwrap(),
            files: [("mjolnir.json".to_owned(), Sha256Digest::of(b"{}"))].into(),
        }
    }

    /// Keys in the order of the format, files by their bytes, and of names only escaped what JSON demands.
    #[test]
    fn the_statement_byte_for_byte() {
        let key = SeedKey::from_seed(&[7; 32]).public_key();
        let digest = Sha256Digest::of(b"");
        let username = "\"\\/ \u{8}\u{c}\n\r\t\u{0}\u{1f}\u{7f} é\u{2028}😀";
        let release = Release {
            author: Some(Author { id: "é-1".to_owned(), username: username.to_owned() }),
            files: ["b.md", "a.md", "B.md", "a/b.md", "a-b.md"].map(|name| (name.to_owned(), digest)).into(),
            ..release()
        };
        let statement = String::from_utf8(release.statement(&key).unwrap()).unwrap();
        let files =
            ["B.md", "a-b.md", "a.md", "a/b.md", "b.md"].map(|name| format!("\"{name}\":\"{digest}\""));
        let expected = format!(
            "{{\"schema_version\":1,\"slug\":\"foundry\",\"version\":\"0.2.0-rc.1\",\"author\":{{\"id\":\"é-1\",\
             \"username\":\"\\\"\\\\/ \\b\\f\\n\\r\\t\\u0000\\u001f\u{7f} é\u{2028}😀\"}},\
             \"key_fingerprint\":\"{}\",\"signed_at\":\"1970-01-01T00:00:00Z\",\"files\":{{{}}}}}",
            key.fingerprint(),
            files.join(",")
        );
        assert_eq!(statement, expected);
    }

    #[test]
    fn the_envelope_byte_for_byte() {
        let key = SeedKey::from_seed(&[7; 32]);
        let payload = release().statement(&key.public_key()).unwrap();
        let signature = key.sign(&message(&payload)).unwrap();
        let expected = format!(
            "{{\n  \"schema_version\": 1,\n  \"payload_type\": \"mjolnir-mod-statement-v1\",\n  \
             \"payload\": \"{}\",\n  \"public_key\": \"{}\",\n  \"signature\": \"{}\"\n}}",
            STANDARD.encode(&payload),
            key.public_key().to_base64(),
            STANDARD.encode(signature)
        );
        assert_eq!(release().sign(&key).unwrap(), expected);
    }

    #[test]
    fn what_could_not_verify_is_not_stated() {
        let key = SeedKey::from_seed(&[7; 32]);
        let wrong = Release { slug: "Foundry".to_owned(), ..release() };
        assert_eq!(wrong.sign(&key).unwrap_err().to_string(), "`Foundry` is no slug");
        let wrong = Release { files: [(MEMBER.to_owned(), Sha256Digest::of(b""))].into(), ..release() };
        assert_eq!(wrong.sign(&key).unwrap_err().to_string(), "`signature.json` cannot state its own digest");
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
}
