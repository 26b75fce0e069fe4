//! The integration tests, in one binary so that they link once.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

mod arrows;
mod builds;
mod conformance;
mod determinism;
mod docs;
mod exec;
mod exec_windows;
mod faults;
mod game;
mod manners;
mod pack;
mod real_path;
mod releases;
mod signing;
mod tidy;
mod verify;
mod workspace;
