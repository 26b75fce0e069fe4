//! Names of tags, and of the packages that they lie in.
//!
//! A reference spells `objects\props\x\x` and a group; the package is `/Game/Tags/objects/props/x/x-crate`.
//! The game finds tags by name alone, without case.

use std::fmt;

use unreal::{PackagePath, PathError};

use crate::groups::Group;
use crate::value::Reference;

/// The folder that all tags lie in.
const ROOT: &str = "/Game/Tags/";
/// The folder of the packages of the generated groups, which references leave out.
const GENERATED: &str = "_Generated_";

/// A tag's group and path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TagName {
    group: &'static str,
    path: String,
}

/// Why a text names no tag.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TagNameError {
    /// The path has a part that the game would not find.
    #[error("`{path}` is not the path of a tag: {problem}")]
    Path {
        /// The path.
        path: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// There is no such group.
    #[error("`{0}` is not a group; they are named as in `collision_model` or `coll`")]
    Group(String),
    /// The package cannot be named.
    #[error(transparent)]
    Package(#[from] PathError),
}

impl TagName {
    /// The tag of `group`, a name or a code, at `path`, in which slashes stand for backslashes.
    pub fn new(group: &str, path: &str) -> Result<Self, TagNameError> {
        let by_code = || crate::FourCc::parse(group).ok().and_then(Group::of);
        let group =
            Group::named(group).or_else(by_code).ok_or_else(|| TagNameError::Group(group.to_owned()))?;
        let path = path.replace('/', "\\");
        match problem(&path) {
            Some(problem) => Err(TagNameError::Path { path, problem }),
            None => Ok(Self { group: group.name, path }),
        }
    }

    /// The tag whose package is `package`; `None` when it is no tag's.
    pub fn of_package(package: &PackagePath) -> Option<Self> {
        let text = package.as_str();
        let below = text
            .get(..ROOT.len())
            .filter(|root| root.eq_ignore_ascii_case(ROOT))
            .and(text.get(ROOT.len()..))?;
        let (path, group) = below.rsplit_once('-')?;
        let group = Group::named(group)?;
        let path = match path.rsplit_once('/') {
            Some((folder, leaf)) if group.is_generated() => {
                let (outer, last) = folder.rsplit_once('/').unwrap_or(("", folder));
                if last.eq_ignore_ascii_case(GENERATED) { format!("{outer}/{leaf}") } else { path.to_owned() }
            }
            _ => path.to_owned(),
        };
        Self::new(group.name, &path.to_ascii_lowercase()).ok()
    }

    /// The tag that `reference` is to.
    pub fn of_reference(reference: &Reference) -> Result<Self, TagNameError> {
        let group =
            Group::of(reference.group).ok_or_else(|| TagNameError::Group(reference.group.to_string()))?;
        Self::new(group.name, &reference.path)
    }

    /// The group.
    pub fn group(&self) -> Group {
        Group::named(self.group).unwrap_or(Group::ALL[0])
    }

    /// The path, with backslashes.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What a reference to the tag holds.
    pub fn reference(&self) -> Reference {
        Reference { group: self.group().code, path: self.path.clone() }
    }

    /// The package that the tag lies in.
    pub fn package(&self) -> Result<PackagePath, TagNameError> {
        let path = self.path.replace('\\', "/");
        let (folder, leaf) = path.rsplit_once('/').map_or((None, path.as_str()), |(a, b)| (Some(a), b));
        let generated = self.group().is_generated().then_some(GENERATED);
        let folders: String = folder.into_iter().chain(generated).map(|part| format!("{part}/")).collect();
        Ok(PackagePath::parse(&format!("{ROOT}{folders}{leaf}-{}", self.group))?)
    }
}

impl fmt::Display for TagName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.group().code, self.path)
    }
}

fn problem(path: &str) -> Option<&'static str> {
    if path.bytes().any(|byte| !(b' '..=b'~').contains(&byte)) {
        Some("it has a character that is not printable ASCII")
    } else if path.contains(['.', ':', '"']) {
        Some("it has a `.`, a `:` or a `\"`")
    } else if path.split('\\').any(str::is_empty) {
        Some("a part of it is empty")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_name_packages_and_back() {
        for (group, path, package) in [
            ("crate", r"objects\props\x\x", "/Game/Tags/objects/props/x/x-crate"),
            (
                "coll",
                r"objects\mjolnir\forge\foundry-wide\a-b",
                "/Game/Tags/objects/mjolnir/forge/foundry-wide/a-b-collision_model",
            ),
            (
                "sbsp",
                r"levels\halo1\solo\b40\bsp_01",
                "/Game/Tags/levels/halo1/solo/b40/_Generated_/bsp_01-scenario_structure_bsp",
            ),
            ("matg", r"globals\globals", "/Game/Tags/globals/globals-globals"),
            ("matg", "globals", "/Game/Tags/globals-globals"),
        ] {
            let tag = TagName::new(group, path).unwrap();
            assert_eq!(tag.package().unwrap().as_str(), package);
            assert_eq!(TagName::of_package(&PackagePath::parse(package).unwrap()), Some(tag.clone()));
            assert_eq!(TagName::of_reference(&tag.reference()), Ok(tag.clone()));
            assert_eq!(tag.to_string(), format!("{}:{path}", tag.group().code));
        }
        assert_eq!(TagName::new("scen", "a/b").unwrap().path(), r"a\b");
        let shipped = "/Game/Tags/Levels/Halo1/Solo/B40/_Generated_/BSP_01-scenario_structure_bsp";
        let tag = TagName::of_package(&PackagePath::parse(shipped).unwrap()).unwrap();
        assert_eq!(tag.path(), r"levels\halo1\solo\b40\bsp_01");
    }

    #[test]
    fn what_names_no_tag_is_refused() {
        for path in ["", r"a\\b", r"\a", r"a\", "a.b", "a:b", "a\"b", "ä", "a\0"] {
            assert!(matches!(TagName::new("crate", path), Err(TagNameError::Path { .. })), "{path}");
        }
        assert!(matches!(TagName::new("boulder", "a"), Err(TagNameError::Group(_))));
        for package in ["/Game/Meshes/SM_Cube", "/Game/Tags/a", "/Game/Tags/a-boulder", "/Game/Tagsx/a-crate"]
        {
            assert_eq!(TagName::of_package(&PackagePath::parse(package).unwrap()), None, "{package}");
        }
    }
}
