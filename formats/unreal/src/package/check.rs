//! Whether the tables of a package agree with each other.
//!
//! It knows the model and nothing of offsets in a file; the reader adds those to what it finds here, and
//! whoever edits a package asks again before writing. It stops at the first fault.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use iostore::name_hash;

use super::layout::MAX_OUTERS;
use super::model::{BundleCommand, NameRef, ObjectIndex, Package};

/// The tables of a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    Summary,
    Names,
    Imports,
    Exports,
    Bundle,
    Dependencies,
}

/// What is wrong with a package.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct Fault {
    pub(super) table: Table,
    pub(super) index: usize,
    pub(super) field: String,
    pub(super) message: String,
}

impl Package {
    /// Checks that all references between the tables hold. A package that was read has been checked.
    pub fn check(&self) -> Result<(), Fault> {
        self.check_name(self.name, Table::Summary, 0, "package name")?;
        self.check_names()?;
        self.check_imports()?;
        self.check_exports()?;
        self.check_ranges()?;
        self.check_bundle()?;
        self.check_dependencies()
    }

    fn check_name(&self, name: NameRef, table: Table, index: usize, field: &str) -> Result<(), Fault> {
        if (name.index as usize) < self.names.len() {
            return Ok(());
        }
        let (found, names) = (name.index, self.names.len());
        let message = format!("name {found} of {names}");
        Err(fault(table, index, field, message))
    }

    fn check_names(&self) -> Result<(), Fault> {
        for (i, name) in self.names.iter().enumerate() {
            let text = name.text();
            // How the engine lower-cases other letters is not known, so their hashes cannot be judged.
            if text.is_ascii() && name_hash(text) != name.hash() {
                let message = format!("the stored hash is not that of `{text}`");
                return Err(fault(Table::Names, i, &format!("names[{i}].hash"), message));
            }
        }
        Ok(())
    }

    fn check_imports(&self) -> Result<(), Fault> {
        for (i, import) in self.imports.iter().enumerate() {
            let problem = match import {
                ObjectIndex::Export(_) => Some("an export is no import".to_owned()),
                other => self.object_problem(*other),
            };
            if let Some(message) = problem {
                return Err(fault(Table::Imports, i, &format!("import map[{i}]"), message));
            }
        }
        Ok(())
    }

    /// What is wrong with a reference to `object`.
    fn object_problem(&self, object: ObjectIndex) -> Option<String> {
        let (what, found, count) = match object {
            ObjectIndex::Script(_) | ObjectIndex::Null => return None,
            ObjectIndex::Export(index) => ("export", index, self.exports.len()),
            ObjectIndex::Package { package, hash } => {
                if (hash as usize) < self.imported_hashes.len() {
                    ("imported package", u64::from(package), self.imported.len())
                } else {
                    let hashes = self.imported_hashes.len();
                    ("imported public export hash", u64::from(hash), hashes)
                }
            }
        };
        (found >= count as u64).then(|| format!("{what} {found} of {count}"))
    }

    fn check_exports(&self) -> Result<(), Fault> {
        for (i, export) in self.exports.iter().enumerate() {
            self.check_name(export.name, Table::Exports, i, &format!("export map[{i}].name"))?;
            for (field, object) in [
                ("outer", export.outer),
                ("class", export.class),
                ("super", export.super_object),
                ("template", export.template),
            ] {
                if let Some(message) = self.object_problem(object) {
                    let field = format!("export map[{i}].{field}");
                    return Err(fault(Table::Exports, i, &field, message));
                }
            }
            if export.filter > 2 {
                let message = format!("found {}, allowed are 0 to 2", export.filter);
                let field = format!("export map[{i}].filter");
                return Err(fault(Table::Exports, i, &field, message));
            }
        }
        for i in 0..self.exports.len() {
            self.check_outers(i)?;
        }
        Ok(())
    }

    fn check_outers(&self, index: usize) -> Result<(), Fault> {
        let mut export = self.exports.get(index);
        for _ in 0..MAX_OUTERS {
            match export.map(|export| export.outer) {
                Some(ObjectIndex::Export(outer)) => {
                    export = usize::try_from(outer).ok().and_then(|outer| self.exports.get(outer));
                }
                _ => return Ok(()),
            }
        }
        let message = format!("outers nest deeper than {MAX_OUTERS}, or in a circle");
        let field = format!("export map[{index}].outer");
        Err(fault(Table::Exports, index, &field, message))
    }

    fn check_ranges(&self) -> Result<(), Fault> {
        let length = self.data.len() as u64;
        let mut ranges = Vec::with_capacity(self.exports.len());
        for (i, export) in self.exports.iter().enumerate() {
            let (offset, size) = (export.offset, export.size);
            match offset.checked_add(size).filter(|end| *end <= length) {
                Some(end) => ranges.push((offset, end, i)),
                None => {
                    let message = format!("{size} bytes at {offset} of {length}");
                    let field = format!("export map[{i}].serial range");
                    return Err(fault(Table::Exports, i, &field, message));
                }
            }
        }
        ranges.retain(|(start, end, _)| start < end);
        ranges.sort_unstable();
        for (a, b) in ranges.iter().zip(ranges.iter().skip(1)) {
            if b.0 < a.1 {
                let message = format!("overlaps that of export {}", a.2);
                let field = format!("export map[{}].serial range", b.2);
                return Err(fault(Table::Exports, b.2, &field, message));
            }
        }
        Ok(())
    }

    fn check_bundle(&self) -> Result<(), Fault> {
        let mut created = vec![false; self.exports.len()];
        let mut serialized = created.clone();
        for (i, entry) in self.bundle.iter().enumerate() {
            let at = entry.export as usize;
            let exports = self.exports.len();
            let message = match (created.get_mut(at), serialized.get_mut(at)) {
                (Some(created), Some(serialized)) => match entry.command {
                    BundleCommand::Create if !*created => {
                        *created = true;
                        continue;
                    }
                    BundleCommand::Serialize if *created && !*serialized => {
                        *serialized = true;
                        continue;
                    }
                    BundleCommand::Create => format!("export {at} is created twice"),
                    BundleCommand::Serialize => {
                        format!("export {at} is serialized twice, or before it is created")
                    }
                },
                _ => format!("export {at} of {exports}"),
            };
            return Err(fault(Table::Bundle, i, &format!("export bundle[{i}]"), message));
        }
        match serialized.iter().position(|done| !done) {
            None => Ok(()),
            Some(at) => {
                let message = format!("export {at} is never serialized");
                Err(fault(Table::Bundle, 0, "export bundle", message))
            }
        }
    }

    fn check_dependencies(&self) -> Result<(), Fault> {
        let (bundles, exports) = (self.dependencies.len(), self.exports.len());
        if bundles != exports {
            let message = format!("{bundles} dependency bundles for {exports} exports");
            return Err(fault(Table::Dependencies, 0, "dependency bundles", message));
        }
        for (i, dependencies) in self.dependencies.iter().enumerate() {
            let field = format!("dependency bundles[{i}]");
            let mut entries = dependencies.lists().into_iter().flatten().peekable();
            if dependencies.states_no_first && entries.peek().is_some() {
                let message = "has entries, but states no first one".to_owned();
                return Err(fault(Table::Dependencies, i, &field, message));
            }
            for &entry in entries {
                let (what, count) =
                    if entry < 0 { ("import", self.imports.len()) } else { ("export", exports) };
                if entry == 0 || entry.unsigned_abs() as usize > count {
                    let message = format!("names {what} {entry} of {count}");
                    return Err(fault(Table::Dependencies, i, &field, message));
                }
            }
        }
        Ok(())
    }
}

fn fault(table: Table, index: usize, field: &str, message: String) -> Fault {
    Fault { table, index, field: field.to_owned(), message }
}
