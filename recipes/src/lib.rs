//! Recipes: TOML files of a workspace to an [`engine::Plan`], and all that is wrong with them, each mistake
//! with its line.
//!
//! It knows no concrete rule and no file format (it is handed the catalogue), reads no environment and
//! prints nothing. Start with [`Workspace`]; a mistake is a [`Diagnostic`], shown by [`render`].

mod claims;
mod diagnostic;
mod document;
mod editor;
mod folder;
mod form;
mod lock;
mod lower;
mod pipeline;
mod plan;
mod recipe;
mod reference;
mod settings;
mod sources;
#[cfg(test)]
mod tests;
mod workspace;

pub use diagnostic::{Diagnostic, Owner, Place, Severity, SourceFile, render};
pub use editor::{recipe_schema, settings_schema};
pub use lock::{Difference, Entries, Lock, LockError};
pub use plan::{Options, Planned, Signing};
pub use settings::{ExternalPath, Settings, SigningKey, SigningSet, external_variable, parse_size};
pub use workspace::Workspace;
