//! `sign`: the author's signature over all members.
//!
//! A pure function of the statement and the public key, since Ed25519 is deterministic. The secret stays with
//! the signer, which no other rule is given.

use engine::{Cx, Inputs, Interface, Kind, Outputs, ParamError, Pure, RuleError};
use mjolnir::signature::{PublicKey, Release, Sha256Digest, SignError, SignedAt, Signer};
use mjolnir::version::Version;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::members;

/// Parameters of `sign`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The author's public key: 32 bytes as base64, the form in which the hub registers it.
    public_key: String,
    /// The release's slug.
    slug: String,
    /// The release's version.
    version: String,
    /// When it is signed, `YYYY-MM-DDThh:mm:ssZ`: stated, never taken from a clock.
    signed_at: String,
}

/// The rule.
pub(crate) struct Sign;

impl Pure for Sign {
    type Params = Params;
    const NAME: &'static str = "sign";
    const VERSION: u32 = 1;
    const DOC: &'static str =
        "Signs all members of a release with the author's key. Runs on this machine only.";
    const SIGNS: bool = true;

    fn interface() -> Interface {
        Interface::new().input("members", Kind::Tree, "All members but the signature.").output(
            "signature",
            Kind::File,
            "`signature.json`.",
        )
    }

    fn check(params: &Params) -> Vec<ParamError> {
        let version =
            Version::parse(&params.version).err().map(|error| ParamError::at("version", error.to_string()));
        let time = SignedAt::parse(&params.signed_at).is_none().then(|| {
            let message = format!("`{}` is no time, expected `YYYY-MM-DDThh:mm:ssZ`", params.signed_at);
            ParamError::at("signed_at", message)
        });
        version.into_iter().chain(time).collect()
    }

    fn run(params: Params, inputs: &Inputs<'_>, outputs: &Outputs<'_>, cx: &Cx<'_>) -> Result<(), RuleError> {
        let signer = cx.signer().ok_or_else(|| {
            RuleError::new("no key was given to sign with")
                .hint("`--sign-seed FILE`, or `bake signing-keys new`")
        })?;
        let bridge = Bridge(signer);
        let key = bridge.public_key();
        if key.to_base64() != params.public_key {
            let given = key.to_base64();
            let message =
                format!("the step is to sign with key {}, the key given is {given}", params.public_key);
            return Err(RuleError::new(message));
        }
        let members = members::read(inputs)?;
        let release = Release {
            slug: params.slug,
            version: Version::parse(&params.version).map_err(|error| RuleError::new(error.to_string()))?,
            author: None,
            signed_at: SignedAt::parse(&params.signed_at)
                .ok_or_else(|| RuleError::new("`signed_at` is no time"))?,
            files: members.iter().map(|(name, bytes)| (name.clone(), Sha256Digest::of(bytes))).collect(),
        };
        let envelope =
            release.sign(&bridge).map_err(|error| RuleError::new(format!("cannot sign: {error}")))?;
        outputs.put("signature", envelope.as_bytes())
    }
}

/// The engine's signer, as the format wants one.
struct Bridge<'a>(&'a dyn engine::Signer);

impl Signer for Bridge<'_> {
    fn public_key(&self) -> PublicKey {
        PublicKey::from_bytes(self.0.public_key())
    }

    fn sign(&self, message: &[u8]) -> Result<[u8; 64], SignError> {
        Ok(self.0.sign(message))
    }
}
