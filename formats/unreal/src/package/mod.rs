//! Zen packages: the header that ties exports, imports and bulk data together, and the export data.
//!
//! A [`Package`] is read, checked and written whole; what an export's bytes mean is the affair of other
//! modules. Invariant: `Package::read(b)?.write() == b` for all bytes that are accepted. Packages with
//! versioning info and those with cells of Verse code are refused by name.
//!
//! Known gaps: the rule by which the engine lower-cases names that are not ASCII is not known, so their
//! hashes are kept as they were read, and no such name can be made.

mod check;
mod edit;
mod layout;
mod model;
mod read;
mod rename;
#[cfg(test)]
mod tests;
mod write;

pub use check::Fault;
pub(crate) use edit::intern;
pub use edit::{Dependency, SpliceError};
pub(crate) use model::join_number;
pub use model::split_number;
pub use model::{
    BulkEntry, BundleCommand, BundleEntry, Dependencies, Export, Form, ImportedPackage, Name, NameError,
    NameRef, ObjectIndex, Package,
};
pub use read::Limits;
pub(crate) use read::name_batch;
pub use rename::{RenameError, Renames, rename};
