//! [`PackagePath`]: the full name of a package, such as `/Game/Meshes/SM_Cube`.
//!
//! It knows the rules for such names and how the game's files are called after them; it does not know
//! whether a package exists. A path cannot be made that could not be a file name on every system.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use std::fmt;

use iostore::{PackageId, component_fault};

/// Mount roots of packages and the folders that hold their files.
const ROOTS: [(&str, &str); 2] = [("/Game/", "Meteorite/Content/"), ("/Engine/", "Engine/Content/")];

/// The longest path: what a name batch can hold.
const MAX_BYTES: usize = 1_023;

/// The full name of a package: ASCII, at least two components, no extension and no object part.
///
/// Two paths that differ by the case of letters alone name the same package and have the same
/// [`id`](PackagePath::id), but are not equal: the spelling is kept.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackagePath(String);

/// Why a text is not a package path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a package path: {problem}", path.escape_debug())]
pub struct PathError {
    path: String,
    problem: String,
}

impl PackagePath {
    /// Checks `path`.
    pub fn parse(path: &str) -> Result<Self, PathError> {
        match problem(path) {
            None => Ok(Self(path.to_owned())),
            Some(problem) => Err(PathError { path: path.to_owned(), problem }),
        }
    }

    /// The package whose file is `file`, as in [`file_path`](Self::file_path); any extension of a
    /// package or of its bulk data is taken off. `None` when no package is stored there.
    pub fn of_file(file: &str) -> Option<Self> {
        let (root, below) =
            ROOTS.iter().find_map(|(root, folder)| Some((root, file.strip_prefix(folder)?)))?;
        let stem = [".uasset", ".umap", ".m.ubulk", ".ubulk", ".uptnl"]
            .iter()
            .find_map(|extension| below.strip_suffix(extension))?;
        Self::parse(&format!("{root}{stem}")).ok()
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last component: the name of the package's main object.
    pub fn leaf(&self) -> &str {
        self.0.rsplit_once('/').map_or(&self.0, |(_, leaf)| leaf)
    }

    /// The id that containers know the package by.
    pub fn id(&self) -> PackageId {
        PackageId::of_name(&self.0)
    }

    /// The file of the package, from the root of the game: `Meteorite/Content/Meshes/SM_Cube.uasset`, or
    /// `.umap` for a world. `None` when the path is below neither `/Game` nor `/Engine`, where the folder
    /// is a matter of a plugin.
    pub fn file_path(&self, is_world: bool) -> Option<String> {
        self.file_path_as(if is_world { "umap" } else { "uasset" })
    }

    /// The file of the package with another `extension`, such as `ubulk`.
    pub fn file_path_as(&self, extension: &str) -> Option<String> {
        ROOTS.iter().find_map(|(root, folder)| {
            let below = self.0.strip_prefix(root)?;
            Some(format!("{folder}{below}.{extension}"))
        })
    }
}

impl fmt::Display for PackagePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn problem(path: &str) -> Option<String> {
    if path.len() > MAX_BYTES {
        return Some(format!("it is longer than {MAX_BYTES} bytes"));
    }
    if !path.is_ascii() {
        return Some("it has characters other than ASCII".to_owned());
    }
    let Some(components) = path.strip_prefix('/') else {
        return Some("it does not begin with `/`".to_owned());
    };
    if !components.contains('/') {
        return Some("it has fewer than two components".to_owned());
    }
    components.split('/').find_map(|component| {
        let fault = component_problem(component)?;
        Some(format!("component `{}`: {fault}", component.escape_debug()))
    })
}

fn component_problem(component: &str) -> Option<&'static str> {
    if component.contains('.') {
        Some("it has a dot, as only extensions and object parts do")
    } else if component.contains(['*', '?', '"', '<', '>', '|']) {
        Some("it has a character that no file name may have")
    } else {
        component_fault(component)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_files_and_back() {
        for (path, is_world, leaf, file) in [
            ("/Game/Meshes/SM_Cube", false, "SM_Cube", "Meteorite/Content/Meshes/SM_Cube.uasset"),
            ("/Game/Levels/B40", true, "B40", "Meteorite/Content/Levels/B40.umap"),
            ("/Engine/BasicShapes/Cube", false, "Cube", "Engine/Content/BasicShapes/Cube.uasset"),
        ] {
            let parsed = PackagePath::parse(path).unwrap();
            assert_eq!(parsed.leaf(), leaf);
            assert_eq!(parsed.file_path(is_world).as_deref(), Some(file));
            assert_eq!(PackagePath::of_file(file), Some(parsed));
        }
        let cube = PackagePath::parse("/Game/Meshes/SM_Cube").unwrap();
        for extension in ["ubulk", "uptnl", "m.ubulk"] {
            let file = cube.file_path_as(extension).unwrap();
            assert_eq!(PackagePath::of_file(&file), Some(cube.clone()), "{file}");
        }
        assert_eq!(cube.id(), PackageId(0x516e_7b38_42b8_8189));
    }

    #[test]
    fn other_roots_have_no_file() {
        let plugin = PackagePath::parse("/Niagara/Effects/Smoke").unwrap();
        assert_eq!(plugin.file_path(false), None);
        for file in ["Meteorite/Content/A.txt", "Meteorite/A.uasset", "Meteorite/Content/.uasset"] {
            assert_eq!(PackagePath::of_file(file), None, "{file}");
        }
    }

    #[test]
    fn what_is_not_a_path_is_refused() {
        let long = format!("/Game/{}", "a".repeat(1_018));
        for (path, problem) in [
            ("", "it does not begin with `/`"),
            ("Game/A", "it does not begin with `/`"),
            ("/Game", "it has fewer than two components"),
            ("/Game/", "component ``: it is empty"),
            ("//A", "component ``: it is empty"),
            ("/Game/A.A", "component `A.A`: it has a dot, as only extensions and object parts do"),
            ("/Game/../A", "component `..`: it has a dot, as only extensions and object parts do"),
            ("/Game/A:B", "component `A:B`: it contains a separator"),
            ("/Game/A\\B", "component `A\\\\B`: it contains a separator"),
            ("/Game/A?", "component `A?`: it has a character that no file name may have"),
            ("/Game/A\0", "component `A\\0`: it contains a control character"),
            ("/Game/A /B", "component `A `: it ends in a dot or a space"),
            ("/Game/nul/B", "component `nul`: it is the name of a Windows device"),
            ("/Game/LPT1", "component `LPT1`: it is the name of a Windows device"),
            ("/Game/Ä", "it has characters other than ASCII"),
            (&long, "it is longer than 1023 bytes"),
        ] {
            let error = PackagePath::parse(path).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("`{}` is not a package path: {problem}", path.escape_debug())
            );
        }
        assert!(PackagePath::parse("/Game/Console/COM10").is_ok());
    }
}
