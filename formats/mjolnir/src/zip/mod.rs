//! The zip container of a release: our own strict reader and the canonical writer.
//!
//! It knows zip records, not what the members mean. Its invariant: an archive that [`Archive::read`]
//! accepts has one reading only. Every byte belongs to exactly one record, every name occurs once, local
//! and central records agree, and each member inflates to the length and checksum that it declares.

mod inflate;
mod read;
mod record;
mod write;

use std::fmt;

pub use read::{Archive, Member};
pub use write::{Compression, ENCODER, WriteError, write};

/// The most members that an archive may have.
pub const MEMBERS: usize = 4096;
/// The most bytes that all members may hold uncompressed; exactly this much is allowed.
pub const UNPACKED: u64 = 256 << 20;

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const DESCRIPTOR: u32 = 0x0807_4b50;
const ZIP64_LOCATOR: u32 = 0x0706_4b50;
const LOCAL_SIZE: u64 = 30;
const CENTRAL_SIZE: u64 = 46;
const END_SIZE: usize = 22;

const STORED: u16 = 0;
const DEFLATED: u16 = 8;
/// "Version needed" of a stored and of a deflated member.
const VERSION_STORED: u16 = 10;
const VERSION_DEFLATED: u16 = 20;
/// The high byte of "made by": Unix, whose file modes are in the external attributes.
const UNIX: u16 = 3;
/// Mode 0100644 in the external attributes.
const REGULAR_FILE: u32 = 0o100_644 << 16;
/// 1980-01-01, the first day that a zip can state.
const FIRST_DAY: u16 = 0x0021;

/// Where a member stands in canonical order: the manifest, the signature, then all by their bytes.
fn canonical_rank(name: &[u8]) -> (u8, &[u8]) {
    match name {
        b"mjolnir.json" => (0, name),
        b"signature.json" => (1, name),
        _ => (2, name),
    }
}

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident = $token:literal,)*) => {
        /// Why an archive is not accepted; the first one found, in the order of the checks.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Reason {
            $($(#[$doc])* $name,)*
        }

        impl Reason {
            /// All reasons.
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

reasons! {
    /// There is no end record.
    NotZip = "not_zip",
    /// Bytes or a comment follow the end record.
    Trailing = "trailing",
    /// 64-bit records or sizes.
    Zip64 = "zip64",
    /// More than one disk.
    MultiDisk = "multi_disk",
    /// The directory or a member runs past its end.
    Truncated = "truncated",
    /// More than [`MEMBERS`] members.
    MemberCount = "member_count",
    /// Two records that describe the same thing differ, or bytes belong to none.
    HeaderMismatch = "header_mismatch",
    /// The first member is not at the start.
    Prefix = "prefix",
    /// A member starts before the one before it ends.
    Overlap = "overlap",
    /// A member is encrypted.
    Encrypted = "encrypted",
    /// A flag bit that is not read here.
    Flags = "flags",
    /// A method other than stored and deflate.
    Method = "method",
    /// A link, device or pipe, or a directory that is none.
    SpecialFile = "special_file",
    /// The members declare more than [`UNPACKED`] bytes.
    UnpackedLimit = "unpacked_limit",
    /// A member is not as long as it declares.
    Size = "size",
    /// A member's checksum is wrong.
    Crc = "crc",
    /// Two members have one name.
    Duplicate = "duplicate",
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.token())
    }
}

/// An archive that is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}: {message}")]
pub struct ZipError {
    /// The kind of fault.
    pub reason: Reason,
    /// The member it is about, as far as its name could be read.
    pub member: Option<String>,
    /// What was found and what is allowed.
    pub message: String,
}

impl ZipError {
    fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, member: None, message: message.into() }
    }

    fn of(reason: Reason, member: &[u8], message: impl Into<String>) -> Self {
        Self { member: Some(String::from_utf8_lossy(member).into_owned()), ..Self::new(reason, message) }
    }
}
