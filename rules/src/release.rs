//! What the rules of releases share: the kinds of releases, the members that they look into, and how faults
//! of documents are told.

use engine::{Blob, Inputs, RuleError};
use mjolnir::finding::Finding;
use mjolnir::manifest::Fault;
use schemars::JsonSchema;
use serde::Deserialize;

/// What is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ReleaseKind {
    /// Containers that change or add something.
    Content,
    /// The runtime pack that maps share.
    Runtime,
    /// A pack of pieces.
    ForgePack,
    /// A map.
    Map,
}

/// The member `name` of the input `content`.
pub(crate) fn member(inputs: &Inputs<'_>, name: &str) -> Result<Blob, RuleError> {
    let tree = inputs.tree("content")?;
    let found = tree.iter().find(|(path, _)| path.as_str() == name);
    match found {
        Some((_, digest)) => inputs.read(*digest),
        None => Err(RuleError::new(format!("a map needs `{name}`")).code("map_file_missing")),
    }
}

/// The error of a level file of another form.
pub(crate) fn bad_level(name: &str, faults: &[Fault]) -> RuleError {
    faulty(&format!("`{name}` is no level file of a map"), "bad_map_file", faults)
}

/// The error of a document with faults, which all are told.
pub(crate) fn faulty(message: &str, code: &str, faults: &[Fault]) -> RuleError {
    let unsupported = faults.iter().any(|fault| fault.unsupported);
    let error = RuleError::new(message).code(if unsupported { "forge_unsupported" } else { code });
    faults.iter().fold(error, |error, fault| match fault.at.as_str() {
        "" => error.detail(&fault.message),
        at => error.detail(format!("{at}: {}", fault.message)),
    })
}

/// The error of what was found, which is all told.
pub(crate) fn findings(message: &str, found: &[Finding]) -> RuleError {
    let error = match found.first() {
        Some(first) => RuleError::new(format!("{message}: {}", first.message)).code(first.code.to_string()),
        None => RuleError::new(message),
    };
    found.iter().fold(error, |error, finding| error.detail(line(finding)))
}

/// A finding in one line.
pub(crate) fn line(finding: &Finding) -> String {
    let place = finding.member.as_deref().map(|member| format!("{member}: ")).unwrap_or_default();
    format!("[{}] {place}{}", finding.code, finding.message)
}

/// The first names, and how many more there are.
pub(crate) fn listed(names: &[&str]) -> String {
    const SHOWN: usize = 5;
    let shown = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_cut() {
        assert_eq!(listed(&["a", "b"]), "`a`, `b`");
        assert_eq!(listed(&["a"; 7]), "`a`, `a`, `a`, `a`, `a` and 2 more");
    }
}
