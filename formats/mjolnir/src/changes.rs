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

/// What a release changes. Order is not part of it: it is written sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Shipped tags of which fields are changed.
    pub tags: Vec<TagEdit>,
    /// Textures that are replaced.
    pub textures: Vec<Texture>,
    /// Tags that hold scripts, and which are changed.
    pub scripts: Vec<Script>,
    /// Tags that are added.
    pub new_tags: Vec<NewTag>,
}

/// A shipped tag of which fields are changed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct TagEdit {
    /// The tag's group.
    pub group: String,
    /// The tag's path.
    pub tag: String,
    /// Its fields, in the order in which they are set.
    pub fields: Vec<FieldEdit>,
}

/// A field of a tag that is changed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct FieldEdit {
    /// The field's path in the tag.
    pub field: String,
    /// What the game ships there, where it is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// What the release puts there.
    pub value: String,
}

/// A texture that is replaced.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Texture {
    /// The texture's path.
    pub path: String,
    /// How large the new one is, where it is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// A tag that holds scripts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Script {
    /// The tag's group.
    pub group: String,
    /// The tag's path.
    pub tag: String,
}

/// A tag that a release adds, and the tag that it was made from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct NewTag {
    /// The tag's group.
    pub group: String,
    /// The tag's path.
    pub tag: String,
    /// The path of the tag that it was made from; empty where that is not known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub from: String,
}

impl Changes {
    /// The text of `changes.json`, every list sorted.
    pub fn write(&self) -> String {
        #[derive(Serialize)]
        struct Form {
            schema_version: u8,
            tags: Vec<TagEdit>,
            #[serde(skip_serializing_if = "Vec::is_empty")]
            textures: Vec<Texture>,
            #[serde(skip_serializing_if = "Vec::is_empty")]
            scripts: Vec<Script>,
            #[serde(skip_serializing_if = "Vec::is_empty")]
            new_tags: Vec<NewTag>,
        }
        let form = Form {
            schema_version: 1,
            tags: sorted(&self.tags),
            textures: sorted(&self.textures),
            scripts: sorted(&self.scripts),
            new_tags: sorted(&self.new_tags),
        };
        // A tree of texts and numbers always has a JSON form.
        serde_json::to_string_pretty(&form).unwrap_or_default()
    }

    /// Reads what an author declares, or gives all its faults. Unlike [`check`], it holds `new_tags` to our
    /// own bounds, since they are to be written.
    pub fn read(bytes: &[u8]) -> Result<Self, Vec<Fault>> {
        let (changes, faults) = read(bytes, true);
        if faults.is_empty() { Ok(changes) } else { Err(faults) }
    }
}

fn sorted<T: Ord + Clone>(items: &[T]) -> Vec<T> {
    let mut items = items.to_vec();
    items.sort();
    items
}

/// The text of a `changes.json` that adds tags and changes none.
pub fn additions(new_tags: Vec<NewTag>) -> String {
    Changes { new_tags, ..Changes::default() }.write()
}

/// All faults of a `changes.json` of anybody's.
pub fn check(bytes: &[u8]) -> Vec<Fault> {
    read(bytes, false).1
}

fn read(bytes: &[u8], with_new_tags: bool) -> (Changes, Vec<Fault>) {
    let (mut changes, mut faults) = (Changes::default(), Faults::default());
    match parse(bytes, LONGEST) {
        Ok(value) => {
            let root = Cursor::root(&value);
            if root.object(&mut faults).is_some() {
                changes.take(&root, with_new_tags, &mut faults);
            }
        }
        Err(message) => faults.add("", message),
    }
    (changes, faults.0)
}

impl Changes {
    fn take(&mut self, root: &Cursor<'_>, with_new_tags: bool, faults: &mut Faults) {
        root.field("schema_version").integer(1..=1, faults);
        for tag in root.field("tags").items(0..=1000, faults).unwrap_or_default() {
            if tag.object(faults).is_none() {
                continue;
            }
            let (group, path) = read_tag(&tag, faults);
            let mut fields = Vec::new();
            for field in tag.field("fields").items(0..=500, faults).unwrap_or_default() {
                fields.extend(read_field(&field, faults));
            }
            self.tags.extend(group.zip(path).map(|(group, tag)| TagEdit { group, tag, fields }));
        }
        for texture in optional_items(root, "textures", 500, faults) {
            let path = texture.field("path").text(1..=512, faults);
            let bytes = texture.optional("bytes").and_then(|bytes| bytes.integer(0..=i128::MAX, faults));
            let bytes = bytes.and_then(|bytes| u64::try_from(bytes).ok());
            self.textures.extend(path.map(|path| Texture { path: path.to_owned(), bytes }));
        }
        for script in optional_items(root, "scripts", 500, faults) {
            let (group, path) = read_tag(&script, faults);
            self.scripts.extend(group.zip(path).map(|(group, tag)| Script { group, tag }));
        }
        if !with_new_tags {
            return;
        }
        for added in optional_items(root, "new_tags", 1000, faults) {
            let (group, path) = read_tag(&added, faults);
            let from = added.optional("from").and_then(|from| from.text(1..=512, faults));
            let from = from.unwrap_or_default().to_owned();
            self.new_tags.extend(group.zip(path).map(|(group, tag)| NewTag { group, tag, from }));
        }
    }
}

/// The objects of an array that may be absent; what is no object is a fault and left out.
fn optional_items<'v>(root: &Cursor<'v>, name: &str, most: usize, faults: &mut Faults) -> Vec<Cursor<'v>> {
    let items = root.optional(name).and_then(|field| field.items(0..=most, faults));
    items.unwrap_or_default().into_iter().filter(|item| item.object(faults).is_some()).collect()
}

fn read_field(field: &Cursor<'_>, faults: &mut Faults) -> Option<FieldEdit> {
    field.object(faults)?;
    let name = field.field("field").text(1..=512, faults);
    let before = field.nullable("before").and_then(|before| before.text(0..=4096, faults));
    let value = field.field("value").text(0..=4096, faults);
    Some(FieldEdit { field: name?.to_owned(), before: before.map(str::to_owned), value: value?.to_owned() })
}

fn read_tag(tag: &Cursor<'_>, faults: &mut Faults) -> (Option<String>, Option<String>) {
    let group = tag.field("group").text(1..=64, faults).map(str::to_owned);
    let path = tag.field("tag").text(1..=512, faults).map(str::to_owned);
    (group, path)
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
    fn what_is_read_is_written_sorted() {
        let text = r#"{"schema_version":1,"tags":[
            {"group":"weap","tag":"b","fields":[{"field":"y","value":"2"},{"field":"x","before":null,"value":"1"}]},
            {"group":"bipd","tag":"c","fields":[{"field":"z","before":"0","value":""}]}],
            "textures":[{"path":"/Game/B"},{"path":"/Game/A","bytes":7}],"scripts":[{"group":"scnr","tag":"s"}],
            "new_tags":[{"group":"bloc","tag":"n"},{"group":"bloc","tag":"m","from":"o"}],"more":1}"#;
        let changes = Changes::read(text.as_bytes()).unwrap();
        let written = changes.write();
        let again = Changes::read(written.as_bytes()).unwrap();
        assert_eq!(again.write(), written);
        let places = ["bipd", "weap", "\"y\"", "\"x\"", "/Game/A", "/Game/B", "scnr", "\"m\"", "\"n\""];
        let found: Vec<_> = places.iter().map(|place| written.find(place).unwrap()).collect();
        assert!(found.is_sorted(), "{written}");
        assert!(!written.contains("more") && !written.contains("null"), "{written}");
        let empty = "{\n  \"schema_version\": 1,\n  \"tags\": []\n}";
        assert_eq!(Changes::default().write(), empty);
    }

    #[test]
    fn new_tags_are_ours_to_bound() {
        let text = br#"{"schema_version":1,"tags":[],"new_tags":[{"group":"bloc"},3]}"#;
        assert_eq!(check(text), []);
        let at: Vec<_> = Changes::read(text).unwrap_err().into_iter().map(|fault| fault.at).collect();
        assert_eq!(at, ["/new_tags/1", "/new_tags/0/tag"]);
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
