//! Changes a package: names, imports and dependencies that are added, exports that are resized.
//!
//! What is there keeps its number: names and imports are added at their ends, as the export data refers to
//! both by index. Only the list of imported packages is sorted, and what counts in it follows.

use std::ops::Range;

use iostore::hash_utf16_lower;

use super::model::*;
use crate::PackagePath;

/// Flags of a bulk entry whose payload is in a chunk of its own: at the end of the file, in another file.
const SEPARATE: u32 = 0x1 | 0x100;

/// The reference for the name `text`, which is added to `names` where it is missing.
pub(crate) fn intern(names: &mut Vec<Name>, text: &str) -> Result<NameRef, NameError> {
    let (base, number) = split_number(text);
    let index = match names.iter().position(|name| name.text() == base) {
        Some(index) => index,
        None => {
            names.push(Name::new(base)?);
            names.len() - 1
        }
    };
    Ok(NameRef { index: index as u32, number })
}

/// What must have happened before an export is created or serialized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say what comes before what")]
pub enum Dependency {
    CreateBeforeCreate,
    SerializeBeforeCreate,
    CreateBeforeSerialize,
    SerializeBeforeSerialize,
}

/// Why bytes of an export cannot be replaced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpliceError {
    /// There are no such bytes.
    #[error("export {export} has no bytes {start}..{end}")]
    Range {
        /// The export.
        export: usize,
        /// The first byte.
        start: usize,
        /// The byte after the last.
        end: usize,
    },
    /// A payload lies in what is replaced.
    #[error("the payload of bulk entry {0} lies in the bytes that are replaced")]
    Payload(usize),
    /// Whose a payload is cannot be told.
    #[error("bulk entry {entry} may be export {export}'s or another's: its index stands before both places")]
    Owner {
        /// The entry.
        entry: usize,
        /// The export.
        export: usize,
    },
}

impl Package {
    /// The reference for the name `text`, which is added where it is missing.
    pub fn intern(&mut self, text: &str) -> Result<NameRef, NameError> {
        intern(&mut self.names, text)
    }

    /// The object that export data calls the script object at `path`, imported if it is not yet.
    pub fn import_script(&mut self, path: &str) -> i32 {
        self.import(ObjectIndex::script(path))
    }

    /// The object that export data calls the export `object` of the package `from`, imported if it is not
    /// yet. `object` is the path below the package, its parts joined by `/`. A package that is new here gets
    /// an empty slot first, as a cook leaves for the package itself.
    pub fn import_object(&mut self, from: &PackagePath, object: &str) -> Result<i32, NameError> {
        let imported = ImportedPackage::new(from)?;
        let (package, known) = self.import_package(imported);
        let value = hash_utf16_lower(object);
        let same = |slot: &ObjectIndex| match slot {
            ObjectIndex::Package { package: other, hash } => {
                *other == package && self.imported_hashes.get(*hash as usize) == Some(&value)
            }
            _ => false,
        };
        if let Some(at) = self.imports.iter().position(same) {
            return Ok(import_number(at));
        }
        if !known {
            self.imports.push(ObjectIndex::Null);
        }
        let hash = self.imported_hashes.len() as u32;
        self.imported_hashes.push(value);
        self.imports.push(ObjectIndex::Package { package, hash });
        Ok(import_number(self.imports.len() - 1))
    }

    fn import(&mut self, object: ObjectIndex) -> i32 {
        let at = self.imports.iter().position(|known| *known == object).unwrap_or_else(|| {
            self.imports.push(object);
            self.imports.len() - 1
        });
        import_number(at)
    }

    /// The place of a package in the list, which stays ascending by id, and whether it was there before.
    fn import_package(&mut self, imported: ImportedPackage) -> (u32, bool) {
        let id = imported.id();
        if let Some(at) = self.imported.iter().position(|known| known.id() == id) {
            return (at as u32, true);
        }
        let at = self.imported.iter().position(|known| known.id() > id).unwrap_or(self.imported.len());
        self.imported.insert(at, imported);
        let shift = |object: &mut ObjectIndex| {
            if let ObjectIndex::Package { package, .. } = object
                && *package as usize >= at
            {
                *package += 1;
            }
        };
        self.imports.iter_mut().for_each(shift);
        for export in &mut self.exports {
            let Export { outer, class, super_object, template, .. } = export;
            [outer, class, super_object, template].into_iter().for_each(shift);
        }
        (at as u32, false)
    }

    /// Adds an export of these `bytes`, created and then serialized after all others, and gives its index.
    /// Offset and size of `export` are set; it waits for nothing yet.
    pub fn add_export(&mut self, mut export: Export, bytes: &[u8]) -> usize {
        let index = self.exports.len();
        let end = self.exports.iter().map(|export| export.offset.saturating_add(export.size)).max();
        let end = end.unwrap_or(0).min(self.data.len() as u64);
        (export.offset, export.size) = (end, bytes.len() as u64);
        self.data.splice(end as usize..end as usize, bytes.iter().copied());
        self.exports.push(export);
        self.dependencies.push(Dependencies::default());
        for command in [BundleCommand::Create, BundleCommand::Serialize] {
            self.bundle.push(BundleEntry { export: index as u32, command });
        }
        index
    }

    /// Lets export `export` wait for `object`, as export data calls it, after what it waits for already.
    /// `None`, and nothing changed, when there is no such export.
    pub fn depend(&mut self, export: usize, what: Dependency, object: i32) -> Option<()> {
        let waits = self.dependencies.get_mut(export)?;
        waits.states_no_first = false;
        let list = match what {
            Dependency::CreateBeforeCreate => &mut waits.create_before_create,
            Dependency::SerializeBeforeCreate => &mut waits.serialize_before_create,
            Dependency::CreateBeforeSerialize => &mut waits.create_before_serialize,
            Dependency::SerializeBeforeSerialize => &mut waits.serialize_before_serialize,
        };
        if !list.contains(&object) {
            list.push(object);
        }
        Some(())
    }

    /// Puts `bytes` in the place of `range` of export `export`: later exports move, and so do the payloads
    /// that lie in this export after the range.
    pub fn splice_export(
        &mut self,
        export: usize,
        range: Range<usize>,
        bytes: &[u8],
    ) -> Result<(), SpliceError> {
        let Range { start, end } = range;
        let missing = SpliceError::Range { export, start, end };
        let old = self.export_data(export).filter(|old| old.get(start..end).is_some());
        let Some(old) = old else { return Err(missing) };
        let mut new = old.to_vec();
        new.splice(start..end, bytes.iter().copied());
        let moved = bytes.len() as i64 - (end - start) as i64;
        let mut later = Vec::new();
        for (entry, bulk) in self.bulk.iter().enumerate() {
            if bulk.flags & SEPARATE != 0 || !self.may_own(export, entry) {
                continue;
            }
            let offset = bulk.offset as usize;
            if (0..self.exports.len()).any(|other| other != export && self.may_own(other, entry)) {
                if moved != 0 && offset >= end {
                    return Err(SpliceError::Owner { entry, export });
                }
            } else if offset > start && offset < end {
                return Err(SpliceError::Payload(entry));
            } else if offset >= end {
                later.push(entry);
            }
        }
        for entry in later {
            self.bulk[entry].offset += moved;
        }
        self.set_export_data(export, &new).ok_or(missing)
    }

    /// Whether the payload of bulk entry `entry` can be in export `export`: its index stands before it.
    fn may_own(&self, export: usize, entry: usize) -> bool {
        let word = usize::try_from(self.bulk[entry].offset).ok().and_then(|offset| offset.checked_sub(4));
        let found = word.and_then(|at| self.export_data(export)?.get(at..)?.first_chunk::<4>());
        found.is_some_and(|found| u32::from_le_bytes(*found) as usize == entry)
    }
}

fn import_number(slot: usize) -> i32 {
    i32::try_from(slot).map_or(i32::MIN, |slot| -slot - 1)
}
