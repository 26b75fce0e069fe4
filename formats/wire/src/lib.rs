//! Bounded reading and plain writing of binary formats: the only crate that touches raw slices.
//!
//! It knows no format, no file and no compression. Its invariant: a [`Reader`] cannot panic, cannot
//! read outside its bytes, and cannot be made to allocate by a number that it read; the one way from a
//! count in a file to a `Vec` is [`Reader::count`], which first checks that the items can be there.
//! Start with [`Reader`] and [`ReadError`]; [`Writer`] is its mirror.
#![forbid(unsafe_code)]
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod error;
mod read;
mod write;

pub use error::{ErrorKind, ReadError};
pub use read::Reader;
pub use write::Writer;
