//! The rules of the build: one module a rule, and the catalogue of them all.
//!
//! A rule is thin: it turns declared inputs into calls of format crates, and what they give into declared
//! outputs. It sees no recipe, no folder, no environment and no clock.

mod archive_and_verify;
mod cook_tags;
pub mod donors;
mod exec;
mod extract_donors;
mod game;
mod glob;
mod manifest;
mod members;
mod pack;
mod parts;
mod prebuilt;
mod release;
mod rename_package;
mod sign;
mod stand_in;
pub mod stand_in_game;
mod stream;

use engine::{Catalogue, import, pure};

/// All rules.
pub fn catalogue() -> Catalogue {
    Catalogue::new([
        pure(archive_and_verify::ArchiveAndVerify),
        pure(cook_tags::CookTags),
        Box::new(exec::ExecRule::new()),
        import(extract_donors::ExtractDonors),
        pure(manifest::ManifestRule),
        pure(pack::Pack),
        pure(prebuilt::Prebuilt),
        pure(rename_package::RenamePackage),
        pure(sign::Sign),
        pure(stand_in::StandInGame),
    ])
}
