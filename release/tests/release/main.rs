//! What the crate answers: resolution against all assignments of small universes, and changes of archives.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod compare;
mod resolve;
