//! `changes.json`: what an author declares to have changed. Declarations only; nothing proves them.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use serde::Serialize;

use crate::json::{Cursor, Fault, Faults, parse};

/// The member that holds it.
pub const MEMBER: &str = "changes.json";
/// The longest that is read.
pub const LONGEST: usize = 512 << 10;

/// A tag that a release adds, and the tag that it was made from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct NewTag {
    /// The tag's group.
    pub group: String,
    /// The tag's path.
    pub tag: String,
    /// The path of the tag that it was made from.
    pub from: String,
}

/// The text of a `changes.json` that adds tags and changes none.
pub fn additions(mut new_tags: Vec<NewTag>) -> String {
    #[derive(Serialize)]
    struct Form {
        schema_version: u8,
        tags: [(); 0],
        new_tags: Vec<NewTag>,
    }
    new_tags.sort();
    let form = Form { schema_version: 1, tags: [], new_tags };
    // A tree of texts always has a JSON form.
    serde_json::to_string_pretty(&form).unwrap_or_default()
}

/// All faults of a `changes.json`.
pub fn check(bytes: &[u8]) -> Vec<Fault> {
    let mut faults = Faults::default();
    match parse(bytes, LONGEST) {
        Ok(value) => {
            let root = Cursor::root(&value);
            if root.object(&mut faults).is_some() {
                check_fields(&root, &mut faults);
            }
        }
        Err(message) => faults.add("", message),
    }
    faults.0
}

fn check_fields(root: &Cursor<'_>, faults: &mut Faults) {
    root.field("schema_version").integer(1..=1, faults);
    for tag in root.field("tags").items(0..=1000, faults).unwrap_or_default() {
        if !check_tag(&tag, faults) {
            continue;
        }
        for field in tag.field("fields").items(0..=500, faults).unwrap_or_default() {
            if field.object(faults).is_some() {
                field.field("field").text(1..=512, faults);
                if let Some(before) = field.nullable("before") {
                    before.text(0..=4096, faults);
                }
                field.field("value").text(0..=4096, faults);
            }
        }
    }
    if let Some(textures) = root.optional("textures") {
        for texture in textures.items(0..=500, faults).unwrap_or_default() {
            if texture.object(faults).is_some() {
                texture.field("path").text(1..=512, faults);
                if let Some(bytes) = texture.optional("bytes") {
                    bytes.integer(0..=i128::MAX, faults);
                }
            }
        }
    }
    if let Some(scripts) = root.optional("scripts") {
        for script in scripts.items(0..=500, faults).unwrap_or_default() {
            check_tag(&script, faults);
        }
    }
}

/// Whether it is an object, and if so, its group and tag.
fn check_tag(tag: &Cursor<'_>, faults: &mut Faults) -> bool {
    if tag.object(faults).is_none() {
        return false;
    }
    tag.field("group").text(1..=64, faults);
    tag.field("tag").text(1..=512, faults);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_has_no_faults() {
        let tag = |tag: &str| NewTag {
            group: "bloc".to_owned(),
            tag: tag.to_owned(),
            from: "objects\\crate".to_owned(),
        };
        let text = additions(vec![tag("b"), tag("a")]);
        assert_eq!(check(text.as_bytes()), []);
        assert!(text.find("\"a\"") < text.find("\"b\""), "{text}");
    }

    #[test]
    fn all_faults_have_their_places() {
        let text =
            br#"{"schema_version":1,"tags":[{"group":"","tag":"t","fields":[{"field":"f","before":null}]}],
            "textures":[{"path":"p","bytes":-1}],"scripts":null}"#;
        let at: Vec<_> = check(text).into_iter().map(|fault| fault.at).collect();
        assert_eq!(at, ["/tags/0/group", "/tags/0/fields/0/value", "/textures/0/bytes", "/scripts"]);
        assert_eq!(check(b"{\"schema_version\":1}")[0].at, "/tags");
    }
}
