//! The workspace's files as recipes see them: recipes found, globs expanded, and every folder and file
//! that an answer depended on written down, so that a plan knows when it is out of date.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use engine::{Digest, WorkspacePath};
use globset::GlobBuilder;

/// Folders in which recipes lie.
pub(crate) const RECIPE_FOLDERS: [&str; 2] = ["maps", "forge-packs"];

/// The workspace's root, with a list of what was looked at.
#[derive(Debug)]
pub(crate) struct Folder {
    root: PathBuf,
    seen: RefCell<BTreeMap<WorkspacePath, Option<Digest>>>,
    /// Folders that were listed: each is listed once, so that all globs of a plan see the same files.
    listed: RefCell<BTreeMap<WorkspacePath, Rc<[Entry]>>>,
}

/// Deep enough for anything but a folder mounted into itself.
const DEEPEST: usize = 32;

/// Something in a folder.
#[derive(Clone, Debug)]
struct Entry {
    name: String,
    /// Or why nothing can name it.
    path: Result<WorkspacePath, &'static str>,
    lies: Lies,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lies {
    File,
    Folder,
    LinkedFolder,
    /// A link to nothing, a pipe, a socket, a device.
    Neither,
}

impl Folder {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_path_buf(), seen: RefCell::default(), listed: RefCell::default() }
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
        let parts = pattern.split('/').count();
        let mut found = Vec::new();
        let mut pending = vec![start];
        while let Some(folder) = pending.pop() {
            let below = base.map_or(Some(folder.as_str()), |base| folder.below(base.as_str()));
            for Entry { name, path, lies } in self.entries(&folder)?.iter().cloned() {
                if name.starts_with('.') && !hidden {
                    continue;
                }
                let relative = below.map_or_else(|| name.clone(), |below| format!("{below}/{name}"));
                let depth = relative.split('/').count();
                // What could hold files that match, or is one itself, is never left out in silence.
                let inside = lies != Lies::File && (pattern.contains("**") || depth < parts);
                let matches = lies != Lies::Folder && matcher.is_match(&relative);
                let wrong = |reason: &str| Err(format!("`{pattern}` finds `{folder}/{name}`: {reason}"));
                match (path, lies) {
                    (_, Lies::Neither) if matches => return wrong("it is no file"),
                    (_, Lies::LinkedFolder) if inside || matches => {
                        return wrong("it is a link to a folder, which no glob follows");
                    }
                    (Err(reason), Lies::File) if matches => return wrong(reason),
                    (Err(reason), Lies::Folder) if inside => return wrong(reason),
                    (Ok(_), Lies::Folder) if inside && depth > DEEPEST => {
                        return wrong("folders lie too deep in each other");
                    }
                    (Ok(path), Lies::Folder) if inside => pending.push(path),
                    (Ok(path), Lies::File) if matches => found.push(path),
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
        let entries = self.entries(folder).unwrap_or_default();
        let named = entries.iter().filter_map(|entry| match entry.lies {
            Lies::File | Lies::Folder => Some((entry.path.clone().ok()?, entry.lies == Lies::Folder)),
            Lies::LinkedFolder | Lies::Neither => None,
        });
        let mut found: Vec<_> = named.collect();
        found.sort();
        found
    }

    /// All that lies directly in a folder, also what no workspace path can name; nothing where there is
    /// no folder.
    fn entries(&self, folder: &WorkspacePath) -> Result<Rc<[Entry]>, String> {
        if let Some(listed) = self.listed.borrow().get(folder) {
            return Ok(Rc::clone(listed));
        }
        let entries: Rc<[Entry]> = self.list_anew(folder)?.into();
        self.listed.borrow_mut().insert(folder.clone(), Rc::clone(&entries));
        Ok(entries)
    }

    fn list_anew(&self, folder: &WorkspacePath) -> Result<Vec<Entry>, String> {
        // Taken before the folder is read: what comes in between is noticed by the next build.
        let full = folder.under(&self.root);
        self.saw(folder, engine::fingerprint(&full).unwrap_or_default());
        let unreadable = |error: std::io::Error| format!("`{folder}` cannot be read: {error}");
        let entries = match std::fs::read_dir(full) {
            Ok(entries) => entries,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(Vec::new());
            }
            Err(error) => return Err(unreadable(error)),
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry.map_err(unreadable)?;
            let kind = entry.file_type().map_err(unreadable)?;
            let lies = match kind.is_symlink() {
                _ if kind.is_dir() => Lies::Folder,
                _ if kind.is_file() => Lies::File,
                // A link that leads nowhere is neither.
                true => match entry.path().metadata() {
                    Ok(target) if target.is_file() => Lies::File,
                    Ok(target) if target.is_dir() => Lies::LinkedFolder,
                    _ => Lies::Neither,
                },
                false => Lies::Neither,
            };
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = match entry.file_name().to_str() {
                Some(name) => folder.join(name).map_err(|error| error.reason),
                None => Err("its name is not UTF-8"),
            };
            found.push(Entry { name, path, lies });
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    fn saw(&self, path: &WorkspacePath, fingerprint: Option<Digest>) {
        self.seen.borrow_mut().entry(path.clone()).or_insert(fingerprint);
    }
}
