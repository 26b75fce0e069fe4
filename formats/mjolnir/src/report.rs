//! What a scan gives: findings, a verdict, and what else it learned on the way.
//!
//! It knows no check. Its invariant: the verdict is `pass` exactly when no finding is an error.

use serde::Serialize;

use crate::finding::{Code, Finding, Level};
use crate::manifest::Manifest;
use crate::signature::PublicKey;

/// Whether a release is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// There are no errors.
    Pass,
    /// There are errors.
    Fail,
}

/// What a scan gives.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// All findings, in the order of the checks.
    pub findings: Vec<Finding>,
    /// Whether the zip is byte for byte what we write for its members; `None` when it was not read.
    pub canonical: Option<bool>,
    /// The manifest, if it is sound.
    pub manifest: Option<Manifest>,
    /// The author's key, if the signature holds.
    pub signer: Option<PublicKey>,
}

impl Report {
    /// Whether the release is accepted.
    pub fn verdict(&self) -> Verdict {
        match self.errors().next() {
            Some(_) => Verdict::Fail,
            None => Verdict::Pass,
        }
    }

    /// The findings that refuse it.
    pub fn errors(&self) -> impl Iterator<Item = &Finding> {
        self.at_level(Level::Error)
    }

    /// The findings that do not.
    pub fn warnings(&self) -> impl Iterator<Item = &Finding> {
        self.at_level(Level::Warning)
    }

    fn at_level(&self, level: Level) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| finding.level == level)
    }

    pub(crate) fn add(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    pub(crate) fn error(&mut self, code: Code, member: &str, message: impl Into<String>) {
        self.add(Finding::error(code, message).in_member(member));
    }

    pub(crate) fn warning(&mut self, code: Code, member: &str, message: impl Into<String>) {
        self.add(Finding::warning(code, message).in_member(member));
    }
}
