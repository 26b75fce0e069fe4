//! [`WorkspacePath`]: a relative path that means the same on every system, checked once at the edge.

use std::fmt;
use std::path::{Path, PathBuf};

/// A relative path: `/` between components, none of which is empty, `.`, `..`, a Windows device name,
/// or holds a character that some file system refuses. Ordered by bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkspacePath(String);

/// A text that is no workspace path, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is no usable path: {reason}")]
pub struct PathError {
    /// The text.
    pub found: String,
    /// What is wrong with it and what is allowed.
    pub reason: &'static str,
}

const LONGEST: usize = 1024;

impl WorkspacePath {
    /// Checks `text`.
    pub fn parse(text: impl Into<String>) -> Result<Self, PathError> {
        let text = text.into();
        match text
            .split('/')
            .find_map(fault)
            .or_else(|| (text.len() > LONGEST).then_some("it is longer than 1,024 bytes"))
        {
            Some(reason) => Err(PathError { found: text, reason }),
            None => Ok(Self(text)),
        }
    }

    /// The path as text, with `/`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// This path with `rest` below it.
    pub fn join(&self, rest: &str) -> Result<Self, PathError> {
        Self::parse(format!("{}/{rest}", self.0))
    }

    /// The last component.
    pub fn name(&self) -> &str {
        self.0.rsplit_once('/').map_or(&self.0, |(_, name)| name)
    }

    /// What follows `folder/`, if the path lies below it.
    pub fn below(&self, folder: &str) -> Option<&str> {
        self.0.strip_prefix(folder)?.strip_prefix('/')
    }

    /// The path on this machine, below `root`.
    pub fn under(&self, root: &Path) -> PathBuf {
        let mut path = root.to_path_buf();
        path.extend(self.0.split('/'));
        path
    }
}

impl fmt::Display for WorkspacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn fault(component: &str) -> Option<&'static str> {
    let stem = component.split('.').next().unwrap_or_default().trim_end();
    let numbered = |prefix: &str| {
        stem.len() == 4
            && stem.get(..3).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
            && stem.ends_with(|end: char| end.is_ascii_digit())
    };
    let device = ["con", "prn", "aux", "nul"].iter().any(|name| stem.eq_ignore_ascii_case(name))
        || numbered("com")
        || numbered("lpt");
    if component.is_empty() {
        Some("a component is empty (paths are relative, with single `/`)")
    } else if component == "." || component == ".." {
        Some("`.` and `..` are not allowed")
    } else if component.contains(|c: char| c.is_control() || r#"\:*?"<>|"#.contains(c)) {
        Some("it holds a control character or one of \\ : * ? \" < > |")
    } else if component.ends_with(['.', ' ']) {
        Some("a component ends in a dot or a space")
    } else if device {
        Some("a component is a device name on Windows")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_portable_relative_paths_are_accepted() {
        for good in ["a", "a/b.c", "maps/bgl/recipe.toml", "console/x", ".hidden", "com10", "é/ü"] {
            assert_eq!(WorkspacePath::parse(good).unwrap().as_str(), good);
        }
        for bad in [
            "", "/a", "a//b", "a/", "..", "a/../b", "./a", "a\\b", "c:/x", "nul", "NUL.txt", "a/com1.x",
            "a.", "a ", "a\0", "a\nb", "lpt9", "con .txt",
        ] {
            assert!(WorkspacePath::parse(bad).is_err(), "{bad:?}");
        }
        assert!(WorkspacePath::parse("x/".repeat(600) + "x").is_err());
    }
}
