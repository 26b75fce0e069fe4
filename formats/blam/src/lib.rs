//! Blam tags, the simulation's data: read, checked, edited and written back, and the packages they lie in.
//!
//! A tag describes itself: every field list, offset and size is from its own layout, none from here. Values
//! are decoded when they are asked for, and edits replace spans, so a tag is never copied but to be written.
//! It knows neither containers nor files. Invariant: a tag that was not edited is written as it was read,
//! and one that was edited walks exactly. Start with [`Tag::read`], [`Tag::root`] and [`Edit`].
#![forbid(unsafe_code)]

mod check;
mod clone;
mod defaults;
mod edit;
mod groups;
mod layout;
mod model;
mod name;
mod package;
mod path;
mod read;
mod rope;
mod same;
mod script;
mod sections;
mod survey;
mod text;
mod value;
mod view;
mod write;

pub use clone::{append_preload, clone_wrapper, set_tag_bytes};
pub use edit::{Edit, EditError, Literal};
pub use groups::Group;
pub use layout::Kind;
pub use model::{FourCc, FourCcError, Header, Layout, Tag};
pub use name::{TagName, TagNameError};
pub use package::{PackageObject, Variant, Wrapper, WrapperError};
pub use read::Work;
pub use script::Script;
pub use survey::Warning;
pub use value::{Block, Elements, Field, Reference, Resource, Struct, Value};
