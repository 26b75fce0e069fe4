//! Packages of Unreal Engine 5 as the game cooks them, and the paths that name them.
//!
//! It knows packages as bytes: neither containers (crate `iostore` gives ids and hashes alone) nor
//! files. Start with [`package::Package`] and [`PackagePath`].
#![forbid(unsafe_code)]

pub mod package;
mod path;
pub mod property;
mod script;
pub mod usmap;

pub use path::{PackagePath, PathError};
pub use script::{ScriptObjects, class_of};
