//! Releases: the `.mjolnir` archive, its manifest and signature, and the scan that accepts or refuses it.
//!
//! It works on bytes in memory and knows no folder, clock, network or build system. The secret key of a
//! signature stays with the caller ([`signature::Signer`]).
#![forbid(unsafe_code)]

pub mod changes;
pub mod companions;
pub mod finding;
mod json;
pub mod manifest;
pub mod map_files;
pub mod path;
pub mod scan;
pub mod sidecar;
pub mod signature;
pub mod update;
pub mod version;
pub mod zip;
