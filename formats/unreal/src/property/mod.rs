//! Unversioned properties: the values that an object's export begins with, read and written by mappings.
//!
//! A block names neither its properties nor their types: [`usmap`](crate::usmap) does. What follows the block
//! is the affair of the object's class and is carried along unread. Start with [`Object`]; an [`Editor`]
//! changes values by path. Invariant: `Object::read(b)?.write() == b` for all bytes that are accepted, and an
//! accepted header is the one that the engine writes for those slots, so a walk that lost its place is told.
//!
//! From the published descriptions of the format, and from cooked packages that were walked to the ends of
//! their objects. Known gaps: structs that write themselves are known by a table; one that is missing there
//! and in the mappings is refused, one that is missing there alone shows as a header that nobody would write.

mod edit;
mod from_json;
mod header;
mod layout;
mod model;
mod read;
mod view;
mod write;

pub use edit::{EditError, Editor, edit_export};
pub use header::{read_header, write_header};
pub use model::{Block, Context, Entry, Limits, Object, Str, Text, Value};
pub use view::{View, view_block, view_object};
