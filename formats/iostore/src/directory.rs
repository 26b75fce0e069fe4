//! The directory index: which chunks are named as files, and how.
//!
//! It keeps the tables as stored, so that they are written back as they were, and beside them the way
//! from each chunk up to the root. It knows chunks by their index alone. Invariant: every chain ends,
//! every component may be part of a path on any system, and no chunk has two names. Paths are built on
//! demand: held, a hostile index of a few megabytes could make gigabytes of them.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use std::collections::BTreeMap;

use wire::{ErrorKind, ReadError, Reader, Writer};

use crate::text::{Text, Texts, component_fault};

const NONE: u32 = u32::MAX;
pub(crate) const MAX_DEPTH: usize = 64;
pub(crate) const MAX_PATH: usize = 1024;
/// Where the names of cooked content start: the game's folder, seen from its binary.
const CONTENT_MOUNT: &str = "../../../";

#[derive(Clone, Debug, PartialEq, Eq)]
struct Directory {
    name: u32,
    first_child: u32,
    next_sibling: u32,
    first_file: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct File {
    name: u32,
    next_file: u32,
    chunk: u32,
}

/// The directory index of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DirectoryIndex {
    mount: Text,
    directories: Vec<Directory>,
    files: Vec<File>,
    names: Texts,
    upward: Upward,
}

/// The way from each chunk to the root: arrays, since there may be a hundred thousand of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Upward {
    /// For every directory the one that holds it; the root's own is the root.
    parents: Vec<u32>,
    /// For every file the directory that holds it.
    homes: Vec<u32>,
    /// For every chunk its file, or none. Built tables end with the last chunk that has one.
    files: Vec<u32>,
}

impl Upward {
    fn name(&mut self, chunk: u32, file: u32, home: u32) -> bool {
        let chunk = place_of(chunk);
        if self.files.len() <= chunk {
            self.files.resize(chunk.saturating_add(1), NONE);
        }
        if let Some(known) = self.homes.get_mut(place_of(file)) {
            *known = home;
        }
        self.files.get_mut(chunk).is_some_and(|known| std::mem::replace(known, file) == NONE)
    }
}

impl DirectoryIndex {
    /// Reads the whole of `r` as an index over `chunk_count` chunks.
    pub(crate) fn read(mut r: Reader<'_>, chunk_count: usize) -> Result<Self, ReadError> {
        let mount_at = r.offset();
        let mount = Text::read(&mut r, "mount point")?;
        if let Some((part, fault)) =
            mount_components(&mount.value).find_map(|part| component_fault(part).map(|fault| (part, fault)))
        {
            let message = format!("`{}` must not be in a path: {fault}", part.escape_debug());
            return Err(ReadError::new(ErrorKind::Malformed, mount_at, "mount point", message));
        }
        let count = u64::from(r.u32("directory count")?);
        let mut directories = Vec::with_capacity(r.count(count, 16, "directories")?);
        for _ in 0..count {
            directories.push(Directory {
                name: r.u32("directory name")?,
                first_child: r.u32("first child")?,
                next_sibling: r.u32("next sibling")?,
                first_file: r.u32("first file")?,
            });
        }
        let count = u64::from(r.u32("file count")?);
        let mut files = Vec::with_capacity(r.count(count, 12, "files")?);
        for _ in 0..count {
            files.push(File {
                name: r.u32("file name")?,
                next_file: r.u32("next file")?,
                chunk: r.u32("user data")?,
            });
        }
        let count = u64::from(r.u32("name count")?);
        // The shortest component has one unit and a terminator.
        let mut names = Texts::with_capacity(r.count(count, 4 + 2, "names")?);
        for index in 0..count {
            let at = r.offset();
            let name = names.read(&mut r, "name")?;
            if let Some(fault) = component_fault(name) {
                return Err(ReadError::new(
                    ErrorKind::Malformed,
                    at,
                    format!("directory index.names[{index}]"),
                    format!("`{}` must not be in a path: {fault}", name.escape_debug()),
                ));
            }
        }
        let upward = Walk::new(&directories, &files, &names, chunk_count)
            .run()
            .map_err(|(field, message)| r.malformed(&field, message))?;
        r.finish()?;
        Ok(Self { mount, directories, files, names, upward })
    }

    /// The canonical index of the named chunks, in the order of their indices; without any, an index
    /// of a root alone. The paths are ASCII and their components have no fault.
    pub(crate) fn build<'a>(paths: impl Iterator<Item = (u32, &'a str)>) -> Self {
        Build::default().run(paths)
    }

    /// Appends the index as it is stored.
    pub(crate) fn write(&self, w: &mut Writer) {
        /// Tables are no longer than what was read or than the number of chunks, both of which fit.
        fn count(w: &mut Writer, length: usize) {
            w.u32(u32::try_from(length).unwrap_or(u32::MAX));
        }
        self.mount.write(w);
        count(w, self.directories.len());
        for directory in &self.directories {
            w.u32(directory.name).u32(directory.first_child);
            w.u32(directory.next_sibling).u32(directory.first_file);
        }
        count(w, self.files.len());
        for file in &self.files {
            w.u32(file.name).u32(file.next_file).u32(file.chunk);
        }
        count(w, self.names.len());
        self.names.write(w);
    }

    /// The mount point as stored.
    pub(crate) fn mount(&self) -> &str {
        &self.mount.value
    }

    /// The path of chunk `chunk` below the mount point.
    pub(crate) fn path(&self, chunk: u32) -> Option<String> {
        let file = *self.upward.files.get(place_of(chunk))?;
        let mut directory = *self.upward.homes.get(place_of(file))?;
        let mut parts = vec![self.names.get(self.files.get(place_of(file))?.name)?];
        while directory != 0 {
            parts.push(self.names.get(self.directories.get(place_of(directory))?.name)?);
            directory = *self.upward.parents.get(place_of(directory))?;
        }
        parts.reverse();
        Some(parts.join("/"))
    }

    /// The path of chunk `chunk` from the folder that all containers share.
    pub(crate) fn full_path(&self, chunk: u32) -> Option<String> {
        let below = self.path(chunk)?;
        let parts: Vec<_> = mount_components(self.mount()).chain([below.as_str()]).collect();
        Some(parts.join("/"))
    }
}

/// The folders of a mount point, without the way up that it starts with.
fn mount_components(mount: &str) -> impl Iterator<Item = &str> {
    let mut rest = mount.strip_prefix('/').unwrap_or(mount);
    while let Some(up) = rest.strip_prefix("../") {
        rest = up;
    }
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    rest.split('/').filter(move |_| !rest.is_empty())
}

/// Field and message of what is wrong with the tables.
type Fault = (String, String);

/// One visit of everything that the root leads to.
struct Walk<'a> {
    directories: &'a [Directory],
    files: &'a [File],
    names: &'a Texts,
    chunk_count: usize,
    upward: Upward,
    seen_directories: Vec<bool>,
    seen_files: Vec<bool>,
}

impl<'a> Walk<'a> {
    fn new(directories: &'a [Directory], files: &'a [File], names: &'a Texts, chunk_count: usize) -> Self {
        Self {
            directories,
            files,
            names,
            chunk_count,
            upward: Upward {
                parents: vec![0; directories.len()],
                homes: vec![0; files.len()],
                files: vec![NONE; chunk_count],
            },
            seen_directories: vec![false; directories.len()],
            seen_files: vec![false; files.len()],
        }
    }

    fn run(mut self) -> Result<Upward, Fault> {
        let field = |what: &str, index: usize| format!("{what}[{index}]");
        match self.directories.first() {
            Some(root) if root.name == NONE => {}
            Some(_) => return Err((field("directories", 0), "the root has a name".to_owned())),
            None => return Err(("directories".to_owned(), "there is no root".to_owned())),
        }
        visit(&mut self.seen_directories, 0, "directories")?;
        // Directories still to be opened, with their depth and the bytes of their path.
        let mut open = vec![(0_usize, 0_usize, 0_usize)];
        while let Some((index, depth, path)) = open.pop() {
            let Some(directory) = self.directories.get(index) else {
                continue;
            };
            self.files_of(index, directory.first_file, path)?;
            let mut next = directory.first_child;
            while let Some((child, entry)) = at(self.directories, next, "directories")? {
                visit(&mut self.seen_directories, child, "directories")?;
                let path = self.longer(path, entry.name, || field("directories", child))?;
                let depth = depth.saturating_add(1);
                if depth > MAX_DEPTH {
                    let message = format!("nested deeper than {MAX_DEPTH} directories");
                    return Err((field("directories", child), message));
                }
                if let Some(parent) = self.upward.parents.get_mut(child) {
                    *parent = index_of(index);
                }
                open.push((child, depth, path));
                next = entry.next_sibling;
            }
        }
        Ok(self.upward)
    }

    fn files_of(&mut self, directory: usize, first: u32, path: usize) -> Result<(), Fault> {
        let mut next = first;
        while let Some((index, file)) = at(self.files, next, "files")? {
            visit(&mut self.seen_files, index, "files")?;
            let field = || format!("files[{index}]");
            self.longer(path, file.name, field)?;
            let chunk = file.chunk;
            if usize::try_from(chunk).is_ok_and(|chunk| chunk >= self.chunk_count) {
                let message = format!("names chunk {chunk} of {}", self.chunk_count);
                return Err((field(), message));
            }
            if !self.upward.name(chunk, index_of(index), index_of(directory)) {
                return Err((field(), format!("chunk {chunk} is named twice")));
            }
            next = file.next_file;
        }
        Ok(())
    }

    /// The bytes of a path when the component `name` is added to `path` bytes.
    fn longer(&self, path: usize, name: u32, field: impl Fn() -> String) -> Result<usize, Fault> {
        let count = self.names.len();
        let name = self.names.get(name).ok_or_else(|| (field(), format!("name {name} of {count}")))?;
        let length = path.saturating_add(name.len()).saturating_add(1);
        if length > MAX_PATH {
            return Err((field(), format!("a path longer than {MAX_PATH} bytes")));
        }
        Ok(length)
    }
}

/// The entry that a link leads to, or `None` at the end of a chain.
fn at<'a, T>(table: &'a [T], link: u32, what: &str) -> Result<Option<(usize, &'a T)>, Fault> {
    if link == NONE {
        return Ok(None);
    }
    let index = usize::try_from(link).unwrap_or(usize::MAX);
    match table.get(index) {
        Some(entry) => Ok(Some((index, entry))),
        None => Err((what.to_owned(), format!("a link to {link} of {}", table.len()))),
    }
}

fn visit(seen: &mut [bool], index: usize, what: &str) -> Result<(), Fault> {
    match seen.get_mut(index) {
        Some(seen) if !*seen => {
            *seen = true;
            Ok(())
        }
        _ => Err((format!("{what}[{index}]"), "directory index loop: linked to twice".to_owned())),
    }
}

/// A new index in the making. Chains grow at their ends, components are named at their first use.
#[derive(Default)]
struct Build {
    directories: Vec<Directory>,
    files: Vec<File>,
    names: Texts,
    name_of: BTreeMap<String, u32>,
    /// Children by parent and name.
    children: BTreeMap<(u32, u32), u32>,
    /// The last child and the last file of each directory.
    last_child: BTreeMap<u32, u32>,
    last_file: BTreeMap<u32, u32>,
    upward: Upward,
}

impl Build {
    fn run<'a>(mut self, paths: impl Iterator<Item = (u32, &'a str)>) -> DirectoryIndex {
        self.directory(NONE, 0);
        for (chunk, path) in paths {
            let (folders, file) = path.rsplit_once('/').unwrap_or(("", path));
            let mut directory = 0;
            for folder in folders.split('/').filter(|folder| !folder.is_empty()) {
                directory = self.child(directory, folder);
            }
            self.file(directory, file, chunk);
        }
        let mount = if self.files.is_empty() { "/" } else { CONTENT_MOUNT };
        DirectoryIndex {
            mount: Text::ascii(mount),
            directories: self.directories,
            files: self.files,
            names: self.names,
            upward: self.upward,
        }
    }

    fn name(&mut self, name: &str) -> u32 {
        if let Some(index) = self.name_of.get(name) {
            return *index;
        }
        let index = index_of(self.names.len());
        self.names.add(name);
        self.name_of.insert(name.to_owned(), index);
        index
    }

    fn directory(&mut self, name: u32, parent: u32) -> u32 {
        let index = index_of(self.directories.len());
        self.directories.push(Directory { name, first_child: NONE, next_sibling: NONE, first_file: NONE });
        self.upward.parents.push(parent);
        index
    }

    fn child(&mut self, parent: u32, name: &str) -> u32 {
        let name = self.name(name);
        if let Some(child) = self.children.get(&(parent, name)) {
            return *child;
        }
        let child = self.directory(name, parent);
        self.children.insert((parent, name), child);
        let (from, link): (_, fn(&mut Directory) -> &mut u32) = match self.last_child.insert(parent, child) {
            Some(sibling) => (sibling, |directory| &mut directory.next_sibling),
            None => (parent, |directory| &mut directory.first_child),
        };
        if let Some(directory) = self.directories.get_mut(place_of(from)) {
            *link(directory) = child;
        }
        child
    }

    fn file(&mut self, directory: u32, name: &str, chunk: u32) {
        let name = self.name(name);
        let file = index_of(self.files.len());
        self.upward.homes.push(directory);
        self.upward.name(chunk, file, directory);
        self.files.push(File { name, next_file: NONE, chunk });
        let link = match self.last_file.insert(directory, file) {
            Some(last) => self.files.get_mut(place_of(last)).map(|last| &mut last.next_file),
            None => {
                (self.directories.get_mut(place_of(directory))).map(|directory| &mut directory.first_file)
            }
        };
        if let Some(link) = link {
            *link = file;
        }
    }
}

/// The writer's limits on chunks, path lengths and components keep all tables far below 2^32 entries.
fn index_of(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(NONE)
}

fn place_of(index: u32) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An index from its tables: directories as name, child, sibling, file; files as name, next, chunk.
    fn index(mount: &str, directories: &[[u32; 4]], files: &[[u32; 3]], names: &[&str]) -> Vec<u8> {
        let mut w = Writer::new();
        Text::ascii(mount).write(&mut w);
        w.u32(directories.len() as u32);
        for field in directories.as_flattened() {
            w.u32(*field);
        }
        w.u32(files.len() as u32);
        for field in files.as_flattened() {
            w.u32(*field);
        }
        w.u32(names.len() as u32);
        names.iter().for_each(|name| Text::ascii(name).write(&mut w));
        w.into_bytes()
    }

    /// Reads an index over three chunks.
    fn read(bytes: &[u8]) -> Result<DirectoryIndex, ReadError> {
        DirectoryIndex::read(Reader::new(bytes, "directory index"), 3)
    }

    const ROOT: [u32; 4] = [NONE, NONE, NONE, NONE];

    #[test]
    fn what_is_built_is_read() {
        let paths = [(0, "a/b/c.uasset"), (1, "a/b/d.uasset"), (2, "b/c.uasset")];
        let built = DirectoryIndex::build(paths.into_iter());
        let mut w = Writer::new();
        built.write(&mut w);
        let read = read(w.as_bytes()).unwrap();
        assert_eq!(read, built);
        for (chunk, path) in paths {
            assert_eq!(read.path(chunk).as_deref(), Some(path));
            assert_eq!(read.full_path(chunk).as_deref(), Some(path));
        }
        // A component has one name, at its first use: a, b, c.uasset, d.uasset.
        assert_eq!((read.names.len(), read.directories.len()), (4, 4));
    }

    #[test]
    fn an_index_without_files_has_34_bytes() {
        let mut w = Writer::new();
        DirectoryIndex::build(std::iter::empty()).write(&mut w);
        assert_eq!(w.as_bytes(), index("/", &[ROOT], &[], &[]));
        assert_eq!(w.len(), 34);
    }

    #[test]
    fn paths_are_joined_with_the_mount_point() {
        for (mount, path) in [
            ("../../../", "f"),
            ("/", "f"),
            ("", "f"),
            ("../../../Game/Content/", "Game/Content/f"),
            ("../../../Game/Content", "Game/Content/f"),
        ] {
            let index = read(&index(mount, &[[NONE, NONE, NONE, 0]], &[[0, NONE, 1]], &["f"])).unwrap();
            assert_eq!(index.full_path(1).as_deref(), Some(path), "{mount}");
            assert_eq!(index.path(1).as_deref(), Some("f"));
            assert_eq!(index.path(0), None);
        }
        for mount in ["C:/", "../../../a/../b/", "a//b", "../../..\\x/"] {
            assert!(read(&index(mount, &[ROOT], &[], &[])).is_err(), "{mount}");
        }
    }

    #[test]
    fn links_that_lead_nowhere_or_back_are_refused() {
        let deep: Vec<[u32; 4]> =
            (0..66).map(|i| [if i == 0 { NONE } else { 0 }, i + 1, NONE, NONE]).collect();
        let in_root = |file: &[[u32; 3]]| index("/", &[[NONE, NONE, NONE, 0]], file, &["f"]);
        for (message, bytes) in [
            ("there is no root", index("/", &[], &[], &[])),
            ("the root has a name", index("/", &[[0, NONE, NONE, NONE]], &[], &["a"])),
            ("loop", index("/", &[[NONE, 0, NONE, NONE]], &[], &["a"])),
            ("loop", index("/", &[[NONE, 1, NONE, NONE], [0, NONE, 1, NONE]], &[], &["a"])),
            ("loop", index("/", &[[NONE, 1, NONE, NONE], [0, 1, NONE, NONE]], &[], &["a"])),
            ("a link to 7 of 1", index("/", &[[NONE, 7, NONE, NONE]], &[], &["a"])),
            ("name 1 of 1", index("/", &[[NONE, 1, NONE, NONE], [1, NONE, NONE, NONE]], &[], &["a"])),
            ("nested deeper than 64", index("/", &[deep, vec![[0, NONE, NONE, NONE]]].concat(), &[], &["a"])),
            ("a link to 0 of 0", in_root(&[])),
            ("loop", in_root(&[[0, 0, 0]])),
            ("name 5 of 1", in_root(&[[5, NONE, 0]])),
            ("chunk 3 of 3", in_root(&[[0, NONE, 3]])),
            ("chunk 1 is named twice", in_root(&[[0, 1, 1], [0, NONE, 1]])),
            ("must not be in a path", index("/", &[ROOT], &[], &[".."])),
            ("must not be in a path", index("/", &[ROOT], &[], &["a\0b"])),
            ("follow the last field", [index("/", &[ROOT], &[], &[]).as_slice(), &[0]].concat()),
        ] {
            let error = read(&bytes).unwrap_err().to_string();
            assert!(error.contains(message), "{error}, expected: {message}");
        }
    }

    #[test]
    fn paths_are_no_longer_than_allowed() {
        let long = "n".repeat(511);
        let directories = [[NONE, 1, NONE, NONE], [0, NONE, NONE, 0]];
        assert!(read(&index("/", &directories, &[[0, NONE, 0]], &[&long])).is_ok());
        let longer = "n".repeat(512);
        let error = read(&index("/", &directories, &[[0, NONE, 0]], &[&longer])).unwrap_err();
        assert!(error.message.contains("longer than 1024 bytes"), "{error}");
    }
}
