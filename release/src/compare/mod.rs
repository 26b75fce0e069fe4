//! What differs between two archives, in the words of those who made them: fields, catalog entries, packages.
//!
//! Each kind of thing has a section of its own, and [`SECTIONS`] is all of them: what looks deeper (into tags,
//! meshes, textures) is a further line there. A section sees both archives and gives changes; it decides
//! nothing about how they are shown. Invariant: two archives with the same members have no changes, and of two
//! with other members at least one change is told.

mod containers;
mod documents;

use std::collections::BTreeMap;

use mjolnir::signature::Sha256Digest;
use serde_json::{Value, json};

use crate::Opened;

/// What a change is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// A field of the manifest.
    Manifest,
    /// A release that is needed.
    Deps,
    /// An entry of a pack's catalog, or a field of it.
    Entries,
    /// The list of what the release changes in the game.
    Changes,
    /// A map's level file or registration.
    Map,
    /// Any other member.
    Members,
    /// A container as a whole.
    Containers,
    /// A package, with its bulk data.
    Packages,
    /// A chunk that is no part of a package.
    Chunks,
}

impl Group {
    /// The word that reports use.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Manifest => "manifest",
            Self::Deps => "deps",
            Self::Entries => "entries",
            Self::Changes => "changes",
            Self::Map => "map",
            Self::Members => "members",
            Self::Containers => "containers",
            Self::Packages => "packages",
            Self::Chunks => "chunks",
        }
    }
}

/// One thing that differs. What has no `old` was added, what has no `new` is gone.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// What it is about.
    pub group: Group,
    /// Where: a field, the id of an entry, a path.
    pub at: String,
    /// What was there.
    pub old: Option<Value>,
    /// What is there now.
    pub new: Option<Value>,
}

/// Finds what differs in one kind of thing.
type Section = fn(&Opened<'_>, &Opened<'_>, &mut Vec<Change>);

/// All sections, in the order in which they are shown.
const SECTIONS: &[Section] = &[documents::compare, members, containers::compare];

/// All that differs between two archives, in a fixed order.
pub fn compare(old: &Opened<'_>, new: &Opened<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    for section in SECTIONS {
        section(old, new, &mut changes);
    }
    changes.sort_by_key(|change| change.group);
    changes
}

/// The members that no other section looks into.
fn members(old: &Opened<'_>, new: &Opened<'_>, changes: &mut Vec<Change>) {
    let digests = |opened: &Opened<'_>| -> BTreeMap<String, Value> {
        let members = opened.archive.members();
        let own = members.filter(|member| {
            let name = member.name();
            !documents::is_document(&name) && !containers::is_container(&name)
        });
        own.map(|member| {
            let digest = Sha256Digest::of_pieces(|sink| member.for_each_piece(sink));
            let value = json!({"size": member.size(), "sha256": digest.to_string()});
            (member.name().into_owned(), value)
        })
        .collect()
    };
    pairs(digests(old), digests(new), |at, old, new| {
        changes.push(Change { group: Group::Members, at, old, new });
    });
}

/// Gives each key of two tables whose values differ, in order.
fn pairs<V: PartialEq>(
    mut old: BTreeMap<String, V>,
    new: BTreeMap<String, V>,
    mut differ: impl FnMut(String, Option<V>, Option<V>),
) {
    let mut found: Vec<(String, Option<V>, Option<V>)> = Vec::new();
    for (key, value) in new {
        let before = old.remove(&key);
        if before.as_ref() != Some(&value) {
            found.push((key, before, Some(value)));
        }
    }
    found.extend(old.into_iter().map(|(key, value)| (key, Some(value), None)));
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found.into_iter().for_each(|(key, old, new)| differ(key, old, new));
}
