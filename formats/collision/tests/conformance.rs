//! The conformance data of collision, found by the form of its files: packed records and tables.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]
mod packed;
mod support;
