//! Gives a package another path, and lets references follow packages that get other paths.
//!
//! It knows the header and nothing of what export data means: there, names are references by index, so
//! they follow when the name itself is replaced. What cannot follow is refused, never left behind.
//! Renaming there and back gives the bytes of the start, for paths that do not end in a number.

use std::collections::{BTreeMap, BTreeSet};

use iostore::{PackageId, hash_utf16_lower};

use super::check::Fault;
use super::edit::intern;
use super::model::*;
use crate::PackagePath;

/// Which packages get which other paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Renames {
    by_id: BTreeMap<PackageId, Move>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Move {
    old: PackagePath,
    new: PackagePath,
}

/// Why a package cannot be renamed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenameError {
    /// Two renames begin or end at the same package.
    #[error("`{0}` occurs in two renames; each package may be given one path, and each path once")]
    Twice(PackagePath),
    /// The game does not find new packages of such names.
    #[error("`{0}` ends in a number, which the game does not find in a new package; end it in a letter")]
    NumberedPath(PackagePath),
    /// The cells of a partitioned world hang below its path.
    #[error("`{0}` is a world with partitions, whose cells would stay below the old path")]
    Partitioned(PackagePath),
    /// The export data refers to a numbered name, which cannot be replaced for it alone.
    #[error("the export data refers to `{0}`, which ends in a number and so shares its name")]
    SharedName(PackagePath),
    /// One name would have to become two.
    #[error("the name `{name}` would have to become both `{first}` and `{second}`")]
    Ambiguous {
        /// The name in the package.
        name: String,
        /// What one rename wants.
        first: String,
        /// What another wants.
        second: String,
    },
    /// An object of a renamed package is imported that is not named after the package.
    #[error("the object {hash:#018x} imported from `{package}` is not named after that package")]
    UnknownImport {
        /// The package that it comes from.
        package: PackagePath,
        /// Its public export hash.
        hash: u64,
    },
    /// The hash of a public export does not follow the rule, so its new one is not known.
    #[error("the public hash of the export `{0}` is not that of its path")]
    UnknownHash(String),
    /// Two imported packages would become one.
    #[error("`{0}` is imported already, and another imported package would get its path")]
    Collision(String),
    /// A name cannot be stored.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The package did not hold together.
    #[error("the package is not sound: {0}")]
    Fault(#[from] Fault),
}

impl Renames {
    /// Renames from the first path of each pair to the second.
    pub fn new(pairs: impl IntoIterator<Item = (PackagePath, PackagePath)>) -> Result<Self, RenameError> {
        let mut by_id = BTreeMap::new();
        let mut taken = BTreeSet::new();
        for (old, new) in pairs {
            if split_number(new.as_str()).1 != 0 && old != new {
                return Err(RenameError::NumberedPath(new));
            }
            if !taken.insert(new.id()) {
                return Err(RenameError::Twice(new));
            }
            let id = old.id();
            if let Some(earlier) = by_id.insert(id, Move { old, new }) {
                return Err(RenameError::Twice(earlier.old));
            }
        }
        Ok(Self { by_id })
    }

    /// The path that the package `id` gets.
    pub fn new_path(&self, id: PackageId) -> Option<&PackagePath> {
        self.by_id.get(&id).map(|step| &step.new)
    }
}

/// The forms in which objects are named after the leaf of their package: itself, and a Blueprint's class
/// and class default object.
fn leaf_forms(leaf: &str) -> [String; 3] {
    [leaf.to_owned(), format!("{leaf}_C"), format!("Default__{leaf}_C")]
}

/// Applies `renames` to `package`: to its own path, and to its references to others.
pub fn rename(package: &Package, renames: &Renames) -> Result<Package, RenameError> {
    package.check()?;
    let own = renames.by_id.get(&package.id());
    if let Some(step) = own
        && step.old.id() != step.new.id()
        && is_partitioned(package, &step.old)
    {
        return Err(RenameError::Partitioned(step.old.clone()));
    }
    let mut renamed = package.clone();
    replace_names(package, renames, own, &mut renamed)?;
    replace_public_hashes(package, &mut renamed)?;
    replace_imports(package, renames, &mut renamed)?;

    let grown = renamed.write_header().len() as i64 - package.write_header().len() as i64;
    renamed.cooked_header_size = package.cooked_header_size.wrapping_add_signed(grown as i32);
    renamed.check()?;
    Ok(renamed)
}

fn is_partitioned(package: &Package, path: &PackagePath) -> bool {
    let cells = format!("{path}/_Generated_/").to_ascii_lowercase();
    let below = |text: &str| text.to_ascii_lowercase().starts_with(&cells);
    let partition = ObjectIndex::script("/Script/Engine.WorldPartition");
    package.exports.iter().any(|export| export.class == partition)
        || package.names.iter().any(|name| below(name.text()))
        || package.imported.iter().any(|other| below(&other.text()))
}

/// What each name of the batch becomes.
struct Plan<'a> {
    names: &'a [Name],
    new: BTreeMap<usize, String>,
}

impl Plan<'_> {
    fn set(&mut self, index: usize, new: &str) -> Result<(), RenameError> {
        match self.new.insert(index, new.to_owned()) {
            Some(first) if first != new => Err(RenameError::Ambiguous {
                name: self.names[index].text().to_owned(),
                first,
                second: new.to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// Every name that is `old` exactly becomes `new`.
    fn set_all(&mut self, old: &str, new: &str) -> Result<(), RenameError> {
        for index in 0..self.names.len() {
            if self.names[index].text() == old {
                self.set(index, new)?;
            }
        }
        Ok(())
    }

    fn set_leaves(&mut self, old: &PackagePath, new: &PackagePath) -> Result<(), RenameError> {
        for (old, new) in leaf_forms(old.leaf()).iter().zip(&leaf_forms(new.leaf())) {
            self.set_all(old, new)?;
        }
        Ok(())
    }

    /// Names that are the path `old`, or an object path below it. Says whether there are any.
    fn set_paths(&mut self, old: &PackagePath, new: &PackagePath) -> Result<bool, RenameError> {
        let mut any = false;
        for index in 0..self.names.len() {
            let text = self.names[index].text();
            let Some((path, object)) = text.split_at_checked(old.as_str().len()) else {
                continue;
            };
            if !path.eq_ignore_ascii_case(old.as_str()) {
                continue;
            }
            let object = match object.strip_prefix('.') {
                Some(object) => {
                    let (name, rest) = object.find(['.', ':']).map_or((object, ""), |at| object.split_at(at));
                    let forms = leaf_forms(old.leaf());
                    let form = forms.iter().position(|form| form == name);
                    let name = form.map_or(name.to_owned(), |form| leaf_forms(new.leaf())[form].clone());
                    format!(".{name}{rest}")
                }
                None if object.is_empty() => String::new(),
                None => continue,
            };
            self.set(index, &format!("{new}{object}"))?;
            any = true;
        }
        Ok(any)
    }
}

fn replace_names(
    package: &Package,
    renames: &Renames,
    own: Option<&Move>,
    renamed: &mut Package,
) -> Result<(), RenameError> {
    let mut plan = Plan { names: &package.names, new: BTreeMap::new() };
    if own.is_none()
        && let Ok(path) = package.path()
    {
        // The package's own objects keep their names, whatever others of the same name get.
        plan.set_leaves(&path, &path)?;
    }
    for step in renames.by_id.values() {
        let is_own = own == Some(step);
        let (base, number) = split_number(step.old.as_str());
        if number != 0 {
            refuse_shared_name(package, &step.old, base, number)?;
            if !is_own {
                continue;
            }
        }
        if plan.set_paths(&step.old, &step.new)? || is_own {
            plan.set_leaves(&step.old, &step.new)?;
        }
    }
    for (index, text) in plan.new {
        renamed.names[index] = replaced(&package.names[index], &text)?;
    }
    if let Some(step) = own {
        name_anew(package, step, renamed)?;
    }
    Ok(())
}

/// The name `text` in the place of `old`, which keeps what is known of it when nothing changes.
fn replaced(old: &Name, text: &str) -> Result<Name, NameError> {
    if old.text() == text { Ok(old.clone()) } else { Name::new(text) }
}

/// A name with a number is a base that others may use with other numbers. The header can refer to
/// another name instead, but export data cannot: refused when it holds the eight bytes of the reference.
fn refuse_shared_name(
    package: &Package,
    path: &PackagePath,
    base: &str,
    number: u32,
) -> Result<(), RenameError> {
    for (index, name) in package.names.iter().enumerate() {
        if name.text().eq_ignore_ascii_case(base) {
            let mut reference = [0; 8];
            reference[..4].copy_from_slice(&(index as u32).to_le_bytes());
            reference[4..].copy_from_slice(&number.to_le_bytes());
            if package.data.windows(8).any(|bytes| bytes == reference) {
                return Err(RenameError::SharedName(path.clone()));
            }
        }
    }
    Ok(())
}

/// Points the package's name, and the exports that were named after it, at names of their own where
/// replacing the old names has not done it.
fn name_anew(package: &Package, step: &Move, renamed: &mut Package) -> Result<(), RenameError> {
    if renamed.name_text(renamed.name) != step.new.as_str() {
        renamed.name = intern(&mut renamed.names, step.new.as_str())?;
    }
    for index in 0..renamed.exports.len() {
        let old = package.name_text(package.exports[index].name);
        let name = renamed.exports[index].name;
        if old == step.old.leaf() && renamed.name_text(name) != step.new.leaf() {
            renamed.exports[index].name = intern(&mut renamed.names, step.new.leaf())?;
        }
    }
    Ok(())
}

fn replace_public_hashes(package: &Package, renamed: &mut Package) -> Result<(), RenameError> {
    for (index, export) in package.exports.iter().enumerate() {
        let old = package.export_path(index).unwrap_or_default();
        let new = renamed.export_path(index).unwrap_or_default();
        if export.public_hash == 0 || old == new {
            continue;
        }
        if export.public_hash != hash_utf16_lower(&old) {
            return Err(RenameError::UnknownHash(old));
        }
        renamed.exports[index].public_hash = hash_utf16_lower(&new);
    }
    Ok(())
}

/// Lets imports follow: the list stays ascending by id, and the hashes in order of first use.
fn replace_imports(package: &Package, renames: &Renames, renamed: &mut Package) -> Result<(), RenameError> {
    let steps: Vec<Option<&Move>> =
        package.imported.iter().map(|other| renames.by_id.get(&other.id())).collect();
    if steps.iter().all(Option::is_none) {
        return Ok(());
    }
    let mut imported = Vec::with_capacity(steps.len());
    for (old, step) in steps.iter().enumerate() {
        let other = match step {
            Some(step) => ImportedPackage::new(&step.new)?,
            None => package.imported[old].clone(),
        };
        imported.push((other.id(), old, other));
    }
    imported.sort_by_key(|(id, old, _)| (*id, *old));
    let mut places = vec![0; imported.len()];
    for (new, (id, old, other)) in imported.iter().enumerate() {
        if new > 0 && imported[new - 1].0 == *id {
            return Err(RenameError::Collision(other.text()));
        }
        places[*old] = new as u32;
    }
    renamed.imported = imported.into_iter().map(|(_, _, other)| other).collect();

    // One for each object that is imported: two packages may have objects of one hash.
    let mut hashes: Vec<(u32, u64)> = Vec::new();
    let mut follow = |object: &mut ObjectIndex| -> Result<(), RenameError> {
        if let ObjectIndex::Package { package: old, hash } = *object {
            let value = package.imported_hashes[hash as usize];
            let value = match steps[old as usize] {
                Some(step) => followed_hash(step, value)?,
                None => value,
            };
            let known = hashes.iter().position(|known| *known == (hash, value));
            let hash = known.unwrap_or_else(|| {
                hashes.push((hash, value));
                hashes.len() - 1
            });
            *object = ObjectIndex::Package { package: places[old as usize], hash: hash as u32 };
        }
        Ok(())
    };
    for import in &mut renamed.imports {
        follow(import)?;
    }
    for export in &mut renamed.exports {
        follow(&mut export.outer)?;
        follow(&mut export.class)?;
        follow(&mut export.super_object)?;
        follow(&mut export.template)?;
    }
    renamed.imported_hashes = hashes.into_iter().map(|(_, value)| value).collect();
    Ok(())
}

/// The public hash, after `step`, of the object that had the hash `value` before.
fn followed_hash(step: &Move, value: u64) -> Result<u64, RenameError> {
    if step.old.leaf().eq_ignore_ascii_case(step.new.leaf()) {
        return Ok(value);
    }
    leaf_forms(step.old.leaf())
        .iter()
        .zip(&leaf_forms(step.new.leaf()))
        .find(|(old, _)| hash_utf16_lower(old) == value)
        .map(|(_, new)| hash_utf16_lower(new))
        .ok_or_else(|| RenameError::UnknownImport { package: step.old.clone(), hash: value })
}
