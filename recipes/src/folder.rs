//! The workspace's files as recipes see them: recipes found, globs expanded, and every folder and file
//! that an answer depended on written down, so that a plan knows when it is out of date.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use engine::{Digest, WorkspacePath};
use globset::GlobBuilder;

/// Folders in which recipes lie.
pub(crate) const RECIPE_FOLDERS: [&str; 2] = ["maps", "forge-packs"];

/// The workspace's root, with a list of what was looked at.
#[derive(Debug)]
pub(crate) struct Folder {
    root: PathBuf,
    seen: RefCell<BTreeMap<WorkspacePath, Option<Digest>>>,
}

/// Deep enough for anything but a folder linked into itself.
const DEEPEST: usize = 32;

impl Folder {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_path_buf(), seen: RefCell::default() }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// What was looked at so far, with its fingerprint; `None` for what does not exist.
    pub(crate) fn seen(&self) -> BTreeMap<WorkspacePath, Option<Digest>> {
        self.seen.borrow().clone()
    }

    /// Reads a text; `None` when there is no such file.
    pub(crate) fn read(&self, path: &WorkspacePath) -> Result<Option<String>, String> {
        match std::fs::read(path.under(&self.root)) {
            Ok(bytes) => {
                self.saw(path, Some(Digest::of(&bytes)));
                String::from_utf8(bytes).map(Some).map_err(|_| format!("`{path}` is not UTF-8"))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                self.saw(path, None);
                Ok(None)
            }
            Err(error) => Err(format!("`{path}` cannot be read: {error}")),
        }
    }

    /// Whether a file lies at `path`.
    pub(crate) fn is_file(&self, path: &WorkspacePath) -> bool {
        path.under(&self.root).is_file()
    }

    /// Whether a file lies at `path`, where nothing need lie: its coming and going changes the plan.
    pub(crate) fn is_optional_file(&self, path: &WorkspacePath) -> bool {
        let found = self.is_file(path);
        if !found {
            self.saw(path, None);
        }
        found
    }

    /// Whether a folder lies at `path`.
    pub(crate) fn is_folder(&self, path: &WorkspacePath) -> bool {
        path.under(&self.root).is_dir()
    }

    /// The folders of all recipes, in order. A recipe's folder is its own: nothing is sought below it.
    pub(crate) fn recipes(&self) -> Vec<WorkspacePath> {
        let mut found = Vec::new();
        for top in RECIPE_FOLDERS {
            if let Ok(top) = WorkspacePath::parse(top) {
                self.recipes_below(&top, 0, &mut found);
            }
        }
        found.sort();
        found
    }

    fn recipes_below(&self, folder: &WorkspacePath, depth: usize, found: &mut Vec<WorkspacePath>) {
        for (path, is_folder) in self.list(folder) {
            if !is_folder || depth >= DEEPEST {
                continue;
            }
            match path.join("recipe.toml") {
                Ok(recipe) if self.is_file(&recipe) => found.push(path),
                _ => self.recipes_below(&path, depth + 1, found),
            }
        }
    }

    /// The files that a glob matches, in order. It starts with the name of a folder or with a wildcard
    /// below `base`. Names that start with `.` are matched only by patterns that say so.
    pub(crate) fn glob(
        &self,
        base: Option<&WorkspacePath>,
        pattern: &str,
    ) -> Result<Vec<WorkspacePath>, String> {
        let glob = GlobBuilder::new(pattern).literal_separator(true).build();
        let glob = glob.map_err(|error| format!("`{pattern}` is no glob: {}", error.kind()))?;
        let matcher = glob.compile_matcher();
        let literal: Vec<&str> =
            pattern.split('/').take_while(|part| !crate::reference::is_glob(part)).collect();
        let prefix = [base.map(WorkspacePath::as_str)].into_iter().flatten().chain(literal);
        let prefix = prefix.collect::<Vec<_>>().join("/");
        let start = WorkspacePath::parse(prefix);
        let start = start
            .map_err(|_| format!("`{pattern}` would search the whole workspace, expected a folder first"))?;
        let hidden = pattern.starts_with('.') || pattern.contains("/.");
        let mut found = Vec::new();
        let mut pending = vec![(start, 0)];
        while let Some((folder, depth)) = pending.pop() {
            for (path, is_folder) in self.list(&folder) {
                let relative = base.map_or(Some(path.as_str()), |base| path.below(base.as_str()));
                if path.name().starts_with('.') && !hidden {
                    continue;
                }
                match is_folder {
                    true if depth < DEEPEST => pending.push((path, depth + 1)),
                    false if relative.is_some_and(|relative| matcher.is_match(relative)) => found.push(path),
                    _ => {}
                }
            }
        }
        found.sort();
        Ok(found)
    }

    /// What lies directly in a folder, in order; whether each is a folder. Names that are no workspace
    /// paths are left out: nothing could name them. Links to folders are not followed.
    pub(crate) fn list(&self, folder: &WorkspacePath) -> Vec<(WorkspacePath, bool)> {
        // Taken before the folder is read: what comes in between is noticed by the next build.
        self.saw(folder, engine::fingerprint(&folder.under(&self.root)).unwrap_or_default());
        let Ok(entries) = std::fs::read_dir(folder.under(&self.root)) else { return Vec::new() };
        let mut found = Vec::new();
        for entry in entries.flatten() {
            let Some(path) = entry.file_name().to_str().and_then(|name| folder.join(name).ok()) else {
                continue;
            };
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder || entry.path().is_file() {
                found.push((path, is_folder));
            }
        }
        found.sort();
        found
    }

    fn saw(&self, path: &WorkspacePath, fingerprint: Option<Digest>) {
        self.seen.borrow_mut().entry(path.clone()).or_insert(fingerprint);
    }
}
