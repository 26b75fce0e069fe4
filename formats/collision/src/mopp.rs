//! MOPPs: byte codes that tell a box which shapes it may touch. They may name too many, never too few.
//!
//! What is known of the code comes from published notes of its operations and from a public vector that
//! Havok itself made. [`Mopp::compile`] writes a small part of it; [`Mopp::query`] runs all of it, within
//! a budget; [`Mopp::check`] proves a compiled tree against its boxes. A MOPP knows keys and boxes, and
//! nothing of what a key stands for.

mod check;
mod compile;
mod element;
mod frame;
mod interpret;

pub use check::MoppFault;
pub use element::{Mopp, read_element};
pub use frame::{Frame, KeyBox, QueryBox};
pub use interpret::{MoppError, run};
