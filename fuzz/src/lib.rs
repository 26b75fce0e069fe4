//! Fuzz targets as plain functions, so that `cargo test` replays them without a fuzzer.
//!
//! It knows no fuzzer: `fuzz_targets/` hands each function to libFuzzer, and the tests of the formats include
//! these files by their path. A target holds properties, not only the absence of panics.

pub mod blam;
pub mod collision;
pub mod iostore;
pub mod memory;
pub mod release;
pub mod target;
pub mod unreal;
