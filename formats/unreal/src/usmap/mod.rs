//! Type mappings (`.usmap`): which properties the classes and structs of one build of the game have.
//!
//! Unversioned property data carries neither names nor types; a [`Class`] of these [`Mappings`] gives both by
//! slot. What the values look like is the affair of `property`. Names are looked up without case, as builds
//! spell some differently. Invariant: `File::read(&write(&mappings))?.mappings == mappings`, and writing again
//! gives the same bytes.
//!
//! From the published description of the format and from two files, both read to their ends. Known gaps:
//! extensions after the structs are measured and left alone.

mod check;
mod decompress;
mod layout;
mod model;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use check::MappingsError;
pub use model::{Class, Enum, Mappings, NoSchema, Property, PropertyType, Slot, Struct};
pub use read::{Compression, File, Limits};
pub use write::write;
