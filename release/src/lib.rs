//! What is done with finished archives: what differs between two of them, which releases go together.
//!
//! [`Opened`] is an archive that was read, [`compare`] says what differs between two in the words of those
//! who made them, [`Universe`] holds the releases of a folder and resolves what some of them need. It works
//! on bytes in memory and knows no folder, network, recipe or build. Invariant: the same input gives the same
//! answer in the same order.
#![forbid(unsafe_code)]

pub mod compare;
mod opened;
pub mod resolve;

pub use compare::compare;
pub use opened::{OpenError, Opened};
pub use resolve::Universe;
