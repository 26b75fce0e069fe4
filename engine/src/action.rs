//! [`Action`]: a step with all its inputs resolved. It is data, so that it can be hashed, stored, compared
//! and sent away; one encoder writes the bytes that are hashed and the manifest that explains them.
//!
//! | enters the identity | and not |
//! |---|---|
//! | rule name and version | the rule's documentation |
//! | all parameters in canonical form | the order in which a recipe wrote them |
//! | every input's name, kind and digest | paths and times of files |
//! | the facts that an import identified | where the external lies, which container holds them |
//! | output names | |
//! | for `exec`: the tool's digest, declared environment values, platform | the tool's path, the rest of the environment |
//! | the salt of a development build | the digest of `bake`, thread counts, users, the workspace's place |

use std::collections::BTreeMap;

use cache::{ActionDigest, Digest};

use crate::params::Params;
use crate::rule::{Facts, Kind, RuleId};

/// A step with all its inputs resolved to digests.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    /// The rule and its version.
    pub rule: RuleId,
    /// All parameters.
    pub params: Params,
    /// Inputs: kind and digest (of the listing, for trees) by name.
    pub inputs: BTreeMap<String, (Kind, Digest)>,
    /// What an import identified.
    pub facts: Facts,
    /// Names of the outputs.
    pub outputs: Vec<String>,
    /// For `exec`.
    pub tool: Option<Tool>,
    /// For development builds: a hash of the source tree, the same on every platform.
    pub salt: Option<[u8; 32]>,
}

/// What an `exec` action depends on besides its inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// The name by which the recipe calls it.
    pub name: String,
    /// The digest of its file.
    pub digest: Digest,
    /// Declared values of the environment.
    pub env: BTreeMap<String, String>,
    /// Such as `linux-x86_64`.
    pub platform: String,
}

/// Bytes that are no manifest of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the manifest of an action: byte {at} is not as expected")]
pub struct ManifestError {
    at: usize,
}

const HEADER: &[u8] = b"bake action 1\n";
/// Far above what any honest manifest holds; stops counts that lie.
const MOST: u64 = 1 << 24;

impl Action {
    /// The identity: BLAKE3 of [`Action::encode`].
    pub fn digest(&self) -> ActionDigest {
        ActionDigest::of(&self.encode())
    }

    /// The canonical encoding: a header, then every part length-prefixed (u64, little-endian).
    pub fn encode(&self) -> Vec<u8> {
        let mut e = Encoder(HEADER.to_vec());
        e.text(&self.rule.name).number(self.rule.version.into());
        e.text(&self.params.canonical_text());
        e.number(self.inputs.len() as u64);
        for (name, (kind, digest)) in &self.inputs {
            e.text(name).number(kind_number(*kind)).digest(digest);
        }
        e.pairs(&self.facts);
        e.number(self.outputs.len() as u64);
        for name in &self.outputs {
            e.text(name);
        }
        e.number(self.tool.is_some().into());
        if let Some(tool) = &self.tool {
            e.text(&tool.name).digest(&tool.digest).pairs(&tool.env).text(&tool.platform);
        }
        e.number(self.salt.is_some().into());
        e.0.extend(self.salt.iter().flatten());
        e.0
    }

    /// Reads what [`Action::encode`] wrote; anything else is an error.
    pub fn decode(manifest: &[u8]) -> Result<Self, ManifestError> {
        let mut d = Decoder { bytes: manifest, at: 0 };
        if d.take(HEADER.len() as u64)? != HEADER {
            return Err(ManifestError { at: 0 });
        }
        let rule = RuleId { name: d.text()?.into(), version: d.number()?.try_into().map_err(|_| d.error())? };
        let params = Params::from_canonical_text(&d.text()?).map_err(|_| d.error())?;
        let mut inputs = BTreeMap::new();
        for _ in 0..d.count()? {
            let name = d.text()?;
            let kind = kind_of(d.number()?).ok_or_else(|| d.error())?;
            inputs.insert(name, (kind, d.digest()?));
        }
        let facts = d.pairs()?;
        let outputs = (0..d.count()?).map(|_| d.text()).collect::<Result<_, _>>()?;
        let tool = match d.number()? {
            0 => None,
            _ => Some(Tool { name: d.text()?, digest: d.digest()?, env: d.pairs()?, platform: d.text()? }),
        };
        let salt = match d.number()? {
            0 => None,
            _ => Some(d.hash()?),
        };
        let action = Self { rule, params, inputs, facts, outputs, tool, salt };
        // One form only: what would be written differently is not ours.
        if action.encode() == manifest { Ok(action) } else { Err(d.error()) }
    }
}

const fn kind_number(kind: Kind) -> u64 {
    match kind {
        Kind::File => 0,
        Kind::Tree => 1,
        Kind::External => 2,
    }
}

const fn kind_of(number: u64) -> Option<Kind> {
    match number {
        0 => Some(Kind::File),
        1 => Some(Kind::Tree),
        2 => Some(Kind::External),
        _ => None,
    }
}

struct Encoder(Vec<u8>);

impl Encoder {
    fn number(&mut self, number: u64) -> &mut Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.number(text.len() as u64);
        self.0.extend(text.as_bytes());
        self
    }

    fn digest(&mut self, digest: &Digest) -> &mut Self {
        self.0.extend(digest.hash());
        self.number(digest.len())
    }

    fn pairs(&mut self, pairs: &BTreeMap<String, String>) -> &mut Self {
        self.number(pairs.len() as u64);
        for (key, value) in pairs {
            self.text(key).text(value);
        }
        self
    }
}

struct Decoder<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Decoder<'a> {
    fn error(&self) -> ManifestError {
        ManifestError { at: self.at }
    }

    fn take(&mut self, n: u64) -> Result<&'a [u8], ManifestError> {
        let end = usize::try_from(n).ok().and_then(|n| self.at.checked_add(n));
        let taken = end.and_then(|end| self.bytes.get(self.at..end)).ok_or_else(|| self.error())?;
        self.at += taken.len();
        Ok(taken)
    }

    fn number(&mut self) -> Result<u64, ManifestError> {
        let bytes = self.take(8)?;
        Ok(bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    }

    fn count(&mut self) -> Result<u64, ManifestError> {
        let count = self.number()?;
        if count <= MOST { Ok(count) } else { Err(self.error()) }
    }

    fn text(&mut self) -> Result<String, ManifestError> {
        let length = self.number()?;
        let bytes = self.take(length)?;
        String::from_utf8(bytes.to_vec()).map_err(|_| self.error())
    }

    fn hash(&mut self) -> Result<[u8; 32], ManifestError> {
        let bytes = self.take(32)?;
        bytes.try_into().map_err(|_| self.error())
    }

    fn digest(&mut self) -> Result<Digest, ManifestError> {
        Ok(Digest::from_parts(self.hash()?, self.number()?))
    }

    fn pairs(&mut self) -> Result<BTreeMap<String, String>, ManifestError> {
        (0..self.count()?).map(|_| Ok((self.text()?, self.text()?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sample() -> Action {
        Action {
            rule: RuleId { name: "exec".into(), version: 3 },
            params: Params::new([("args".to_owned(), json!(["-o", 2.0]))]),
            inputs: [("image".to_owned(), (Kind::File, Digest::of(b"image")))].into(),
            facts: [("chunk 01".to_owned(), "hash".to_owned())].into(),
            outputs: vec!["out".to_owned()],
            tool: Some(Tool {
                name: "sh".to_owned(),
                digest: Digest::of(b"tool"),
                env: [("A".to_owned(), "b".to_owned())].into(),
                platform: "linux-x86_64".to_owned(),
            }),
            salt: None,
        }
    }

    #[test]
    fn the_encoding_is_frozen() {
        // When this moves, every cache in the world goes cold: raise the header's version with it.
        insta::assert_snapshot!(sample().digest(), @"22663e3dc09e494ce93864bf24a85032b35cfbf18efc415f459fe81fc9dd89ae");
        let bare = Action { tool: None, facts: Facts::new(), ..sample() };
        insta::assert_snapshot!(bare.digest(), @"f2684239a0e5f9d3da28a85b48d292edd8fc958f490b0482e46645aa0499b304");
    }

    #[test]
    fn a_manifest_is_read_back_and_every_damage_is_noticed() {
        let salted = Action { salt: Some([7; 32]), ..sample() };
        for action in [sample(), salted] {
            let manifest = action.encode();
            assert_eq!(Action::decode(&manifest), Ok(action));
            for cut in 0..manifest.len() {
                assert!(Action::decode(&manifest[..cut]).is_err(), "{cut}");
            }
            for at in 0..manifest.len() {
                let mut damaged = manifest.clone();
                damaged[at] ^= 0x80;
                if let Ok(other) = Action::decode(&damaged) {
                    assert_ne!(other.digest(), ActionDigest::of(&manifest));
                }
            }
        }
    }

    #[test]
    fn each_part_enters_the_identity() {
        let change: &[fn(&mut Action)] = &[
            |a| a.rule.version += 1,
            |a| a.rule.name = "other".into(),
            |a| a.params = Params::default(),
            |a| a.inputs.extend([("image".to_owned(), (Kind::File, Digest::of(b"other")))]),
            |a| a.inputs.extend([("image".to_owned(), (Kind::Tree, Digest::of(b"image")))]),
            |a| a.facts.extend([("chunk 02".to_owned(), String::new())]),
            |a| a.outputs.push("more".to_owned()),
            |a| a.tool.as_mut().unwrap().digest = Digest::of(b"newer tool"),
            |a| a.tool.as_mut().unwrap().env.extend([("B".to_owned(), String::new())]),
            |a| a.tool.as_mut().unwrap().platform.push('x'),
            |a| a.salt = Some([0; 32]),
        ];
        let mut digests = vec![sample().digest()];
        for change in change {
            let mut action = sample();
            change(&mut action);
            digests.push(action.digest());
        }
        let count = digests.len();
        digests.sort();
        digests.dedup();
        assert_eq!(digests.len(), count);
    }
}
