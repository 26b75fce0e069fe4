//! Properties of random worlds, all of them seeded: what is built answers like brute force, moves exactly,
//! survives its own bytes, and shows when it is tampered with.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]

mod mutations;
mod worlds;
