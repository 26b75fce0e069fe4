//! The members of an archive as a tree holds them.

use engine::{Blob, Inputs, RuleError};

/// The signature's member.
pub(crate) const SIGNATURE: &str = "signature.json";

/// All unsigned members: name and bytes, in order.
pub(crate) fn read(inputs: &Inputs<'_>) -> Result<Vec<(String, Blob)>, RuleError> {
    let tree = inputs.tree("members")?;
    let read = |(path, digest): (&engine::WorkspacePath, &engine::Digest)| {
        Ok((member(path.as_str()), inputs.read(*digest)?))
    };
    let members: Vec<(String, Blob)> = tree.iter().map(read).collect::<Result<_, RuleError>>()?;
    match members.iter().find(|(name, _)| name == SIGNATURE) {
        Some(_) => Err(RuleError::new(format!(
            "`{SIGNATURE}` is made by the step that signs, not given as a member"
        ))),
        None => Ok(members),
    }
}

/// Where a file goes in an archive: pages and pictures of the recipe's folder go to `docs/`.
pub(crate) fn member(path: &str) -> String {
    let page = ["md", "txt", "png", "jpg", "jpeg", "webp"]
        .iter()
        .any(|extension| path.rsplit_once('.').is_some_and(|(_, found)| found == *extension));
    match page && !path.starts_with("docs/") && path != "LICENSE.txt" {
        true => format!("docs/{path}"),
        false => path.to_owned(),
    }
}
