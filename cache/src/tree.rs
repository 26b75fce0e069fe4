//! [`Tree`]: a canonical listing of files, itself stored as a blob and named by its digest.
//!
//! A listing is flat: every file by its whole relative path. Two paths that differ only by ASCII case,
//! or where one is a folder of the other, cannot stand in one tree: they could not both be placed on
//! every file system.

use std::collections::BTreeMap;

use crate::{Digest, PathError, WorkspacePath};

/// Files by path, ordered by the bytes of the path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    files: BTreeMap<WorkspacePath, Digest>,
}

/// Why a tree cannot be, or bytes are no listing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// Two files claim one path.
    #[error("two files claim the path `{0}`")]
    Duplicate(WorkspacePath),
    /// Two paths cannot both be placed.
    #[error("`{0}` and `{1}` cannot lie in one folder on every system")]
    Clash(WorkspacePath, WorkspacePath),
    /// A bad path.
    #[error(transparent)]
    Path(#[from] PathError),
    /// Bytes that this module did not write.
    #[error("line {line} of the tree is malformed: expected a digest, a space and a path, in order")]
    Malformed {
        /// Counted from 1.
        line: usize,
    },
}

const HEADER: &str = "bake tree 1";

impl Tree {
    /// A tree without files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file; the same file twice is accepted when it is the same in both places.
    pub fn insert(&mut self, path: WorkspacePath, digest: Digest) -> Result<(), TreeError> {
        match self.files.get(&path) {
            Some(found) if *found == digest => Ok(()),
            Some(_) => Err(TreeError::Duplicate(path)),
            None => {
                self.files.insert(path, digest);
                Ok(())
            }
        }
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Tree) -> Result<(), TreeError> {
        other.files.iter().try_for_each(|(path, digest)| self.insert(path.clone(), *digest))
    }

    /// The file at `path`.
    pub fn get(&self, path: &str) -> Option<Digest> {
        // A lookup by text that is no path finds nothing, as it should.
        let path = WorkspacePath::parse(path).ok()?;
        self.files.get(&path).copied()
    }

    /// All files, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&WorkspacePath, &Digest)> {
        self.files.iter()
    }

    /// How many files it lists.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether it lists none.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The sum of the files' lengths, in bytes.
    pub fn total_bytes(&self) -> u64 {
        self.files.values().fold(0, |sum, digest| sum.saturating_add(digest.len()))
    }

    /// Whether all files can be placed on every file system.
    pub fn check(&self) -> Result<(), TreeError> {
        let mut seen: BTreeMap<String, &WorkspacePath> = BTreeMap::new();
        for path in self.files.keys() {
            if let Some(other) = seen.insert(path.as_str().to_ascii_lowercase(), path) {
                return Err(TreeError::Clash(other.clone(), path.clone()));
            }
        }
        for path in self.files.keys() {
            let folded = path.as_str().to_ascii_lowercase();
            let folders = folded.match_indices('/').map(|(end, _)| &folded[..end]);
            if let Some(file) = folders.into_iter().find_map(|folder| seen.get(folder)) {
                return Err(TreeError::Clash((*file).clone(), path.clone()));
            }
        }
        Ok(())
    }

    /// The canonical bytes: a header line, then a line a file in path order.
    pub fn encode(&self) -> Vec<u8> {
        let mut text = format!("{HEADER}\n");
        for (path, digest) in &self.files {
            text += &format!("{digest} {path}\n");
        }
        text.into_bytes()
    }

    /// Reads what [`Tree::encode`] wrote; anything else is an error.
    pub fn decode(bytes: &[u8]) -> Result<Self, TreeError> {
        let malformed = |line| TreeError::Malformed { line };
        let text = std::str::from_utf8(bytes).map_err(|_| malformed(1))?;
        let body = text.strip_prefix(HEADER).and_then(|rest| rest.strip_prefix('\n'));
        let body = body.ok_or_else(|| malformed(1))?;
        if !(body.is_empty() || body.ends_with('\n')) {
            return Err(malformed(body.lines().count() + 1));
        }
        let mut tree = Self::new();
        for (index, line) in body.split_terminator('\n').enumerate() {
            let malformed = || malformed(index + 2);
            let (digest, path) = line.split_once(' ').ok_or_else(malformed)?;
            let path = WorkspacePath::parse(path)?;
            if tree.files.last_key_value().is_some_and(|(last, _)| *last >= path) {
                return Err(malformed());
            }
            tree.files.insert(path, digest.parse().map_err(|_| malformed())?);
        }
        Ok(tree)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(paths: &[&str]) -> Tree {
        let mut tree = Tree::new();
        for path in paths {
            tree.insert(WorkspacePath::parse(*path).unwrap(), Digest::of(path.as_bytes())).unwrap();
        }
        tree
    }

    #[test]
    fn the_listing_does_not_depend_on_the_order_of_insertion() {
        let one = tree(&["b", "a/x", "a.txt"]);
        assert_eq!(one.encode(), tree(&["a.txt", "b", "a/x"]).encode());
        assert_eq!(Tree::decode(&one.encode()), Ok(one));
    }

    #[test]
    fn what_cannot_be_placed_is_refused() {
        assert!(tree(&["a", "b/a"]).check().is_ok());
        assert!(matches!(tree(&["A", "a"]).check(), Err(TreeError::Clash(..))));
        assert!(matches!(tree(&["x/a", "X"]).check(), Err(TreeError::Clash(..))));
        let mut one = tree(&["a"]);
        let other = Digest::of(b"other");
        assert!(one.insert(WorkspacePath::parse("a").unwrap(), other).is_err());
    }

    #[test]
    fn every_damaged_listing_is_refused() {
        let bytes = tree(&["a", "b"]).encode();
        for cut in 0..bytes.len() {
            let whole_lines = bytes[..cut].ends_with(b"\n") && cut > HEADER.len();
            assert_eq!(Tree::decode(&bytes[..cut]).is_ok(), whole_lines, "{cut}");
        }
        let text = String::from_utf8(bytes).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let swapped = format!("{}\n{}\n{}\n", lines[0], lines[2], lines[1]);
        assert_eq!(Tree::decode(swapped.as_bytes()), Err(TreeError::Malformed { line: 3 }));
    }
}
