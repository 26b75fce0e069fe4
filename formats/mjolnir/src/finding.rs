//! What a scan finds: codes, levels, places.
//!
//! It knows no check. Codes are the hub's where it has one, so that authors meet the same words here and
//! there.

use std::fmt;

use serde::Serialize;

/// Whether a finding refuses the release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// It does.
    Error,
    /// It does not.
    Warning,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $token:literal,)*) => {
        /// What is wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Code {
            $($(#[$doc])* $name,)*
        }

        impl Code {
            /// All codes.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The token that reports and conformance cases use.
            pub const fn token(self) -> &'static str {
                match self {
                    $(Self::$name => $token,)*
                }
            }
        }
    };
}

codes! {
    /// The archive has more than 50 MiB.
    ArchiveTooLarge = "archive_too_large",
    /// The zip is not read; the reason says why.
    BadZip = "bad_zip",
    /// A name may lead out of the folder that it is unpacked into.
    PathTraversal = "path_traversal",
    /// A name that not every system keeps.
    BadPath = "bad_path",
    /// A kind of file that no release may hold.
    ForbiddenFile = "forbidden_file",
    /// There is no `mjolnir.json`.
    NoManifest = "no_manifest",
    /// The manifest breaks a rule.
    BadManifest = "bad_manifest",
    /// The manifest's version is not the release's.
    VersionMismatch = "version_mismatch",
    /// There is no summary for lists.
    NoSummary = "no_summary",
    /// There is no `changes.json`.
    NoChanges = "no_changes",
    /// `changes.json` breaks a rule.
    BadChanges = "bad_changes",
    /// A `.utoc` without its `.ucas`.
    OrphanUtoc = "orphan_utoc",
    /// A `.ucas` without its `.utoc`.
    OrphanUcas = "orphan_ucas",
    /// A container whose content the game would not find.
    BadContainer = "bad_container",
    /// A container that is encrypted.
    EncryptedContainer = "encrypted_container",
    /// A container without chunks.
    EmptyContainer = "empty_container",
    /// Two containers hold the same chunk.
    DuplicateChunk = "duplicate_chunk",
    /// A container that is never installed.
    StrayContainer = "stray_container",
    /// There is nothing to install.
    NoContent = "no_content",
    /// A map's `level.json` or `registration.json` is missing.
    MapFileMissing = "map_file_missing",
    /// A map's file breaks a rule.
    BadMapFile = "bad_map_file",
    /// The registration is another map's.
    MapMismatch = "map_mismatch",
    /// The level's Forge packs and the manifest's deps disagree.
    MapForgePacks = "map_forge_packs",
    /// A container that is not named for the map.
    ForeignContainer = "foreign_container",
    /// Another mod has the map's code.
    MapCodeTaken = "map_code_taken",
    /// The pack's id is not the release's slug.
    ForgeSlugMismatch = "forge_slug_mismatch",
    /// A catalog that needs a newer version.
    ForgeUnsupported = "forge_unsupported",
    /// A surface package that a block needs is missing.
    ForgeSurfaceMissing = "forge_surface_missing",
    /// Which surface packages blocks need is not known here.
    SurfacePackagesUnknown = "surface_packages_unknown",
    /// A release breaks what an earlier one of its line gave.
    ForgeLineBreak = "forge_line_break",
    /// A map's palette binds another piece at a place than an earlier release's.
    MapPaletteBreak = "map_palette_break",
    /// The runtime pack lacks what an earlier release of its line gave.
    RuntimeLineBreak = "runtime_line_break",
    /// The same version was released with other members.
    ReleaseChanged = "release_changed",
    /// There is no signature.
    Unsigned = "unsigned",
    /// The signature does not hold; the reason says at which step.
    BadSignature = "bad_signature",
    /// The signature is not the uploader's.
    ForeignSignature = "foreign_signature",
    /// Built from stand-ins, so not for publishing.
    StandInBuild = "stand_in_build",
    /// Only a part was built, so not for publishing.
    ReducedBuild = "reduced_build",
    /// A layout's list of packs breaks a rule.
    BadSidecar = "bad_sidecar",
    /// A game type that the loader may not have.
    UnknownMode = "unknown_mode",
    /// Releases that are enabled together exceed a limit; the reason says which.
    ProfileLimit = "profile_limit",
    /// Two releases of one pack are enabled together.
    PackTwice = "pack_twice",
    /// A map builds on a pack that is not among the releases that are looked at.
    PackNotHere = "pack_not_here",
    /// Two containers have a shader library on one chunk number.
    ShaderLibraryClash = "shader_library_clash",
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.token())
    }
}

impl Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.token())
    }
}

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Whether it refuses the release.
    pub level: Level,
    /// What is wrong.
    pub code: Code,
    /// Why, as a token, for codes that have reasons.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// In which member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    /// At which JSON pointer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// What was found and what is allowed.
    pub message: String,
    /// What to do about it, where that is not plain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

impl Finding {
    /// An error.
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { level: Level::Error, code, reason: None, member: None, at: None, message, help: None }
    }

    /// A warning.
    pub fn warning(code: Code, message: impl Into<String>) -> Self {
        Self { level: Level::Warning, ..Self::error(code, message) }
    }

    /// With the member that it is in.
    #[must_use]
    pub fn in_member(mut self, member: impl Into<String>) -> Self {
        self.member = Some(member.into());
        self
    }

    /// With its reason.
    #[must_use]
    pub fn because(mut self, reason: &'static str) -> Self {
        self.reason = Some(reason);
        self
    }

    /// With what to do about it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// With its JSON pointer.
    #[must_use]
    pub fn at(mut self, pointer: impl Into<String>) -> Self {
        self.at = Some(pointer.into());
        self
    }
}
