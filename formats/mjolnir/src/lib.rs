//! Releases: the `.mjolnir` archive, its manifest and signature, and the scan that accepts or refuses it.
//!
//! [`manifest::Manifest`] and [`changes::Changes`] give the texts of a release, [`signature::Release`]
//! signs its members, [`zip::write`] lays them out in their one canonical form, and [`scan::scan`] says of
//! an archive from anywhere what the hub, the packer and the launcher would.
//!
//! It works on bytes in memory and knows no folder, clock, network or build system. The secret key of a
//! signature stays with the caller ([`signature::Signer`]). Its invariants: a reader of foreign bytes cannot
//! panic or be made to allocate by a number in them, and whatever it accepts has one reading only.
#![forbid(unsafe_code)]

pub mod build;
pub mod changes;
pub mod companions;
pub mod finding;
mod json;
pub mod manifest;
pub mod map_files;
pub mod packing;
pub mod path;
pub mod profile;
pub mod record;
mod report;
pub mod scan;
pub mod sidecar;
pub mod signature;
pub mod update;
pub mod version;
pub mod zip;
