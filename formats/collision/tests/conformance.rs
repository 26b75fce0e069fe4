//! The conformance data of collision, found by the form of its files: packed records and
//! tables, intake, rays and points, MOPPs.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]
mod intake;
mod mopp;
mod packed;
mod rays;
mod support;
