//! Rules as a build runs them, without recipes and scheduler.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop")]

mod extract;
mod frozen;
mod harness;
mod manifests;
mod packages;
mod prebuilt;
mod release;
mod tags;
