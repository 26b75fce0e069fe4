//! Identities: packages, containers, chunks and the hashes of chunks.
//!
//! It knows how an identity is made, stored and printed, and nothing about where it occurs. Ids are
//! compared and ordered by the bytes or the number that a container stores.

use std::fmt;

use crate::hash::hash_utf16_lower;

/// A package (`FPackageId`): the hash of its full name, such as `/Game/Meshes/SM_Cube`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackageId(pub u64);

impl PackageId {
    /// The id of the package `name`: no extension, no object part, case of ASCII letters ignored.
    pub fn of_name(name: &str) -> Self {
        Self(hash_utf16_lower(name))
    }

    /// The chunk of this package of `kind`.
    pub fn chunk(self, kind: ChunkType) -> ChunkId {
        ChunkId::new(self.0, 0, kind)
    }
}

/// A container (`FIoContainerId`): the hash of its base name, `_P` included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContainerId(pub u64);

impl ContainerId {
    /// The id of the container whose files are called `base_name` and an extension.
    pub fn of_name(base_name: &str) -> Self {
        Self(hash_utf16_lower(base_name))
    }

    /// The chunk that holds this container's header.
    pub fn header_chunk(self) -> ChunkId {
        ChunkId::new(self.0, 0, ChunkType::ContainerHeader)
    }
}

macro_rules! number_id {
    ($($type:ident)*) => {$(
        /// `0x` and 16 hexadecimal digits.
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:#018x}", self.0)
            }
        }
    )*};
}
number_id!(PackageId ContainerId);

macro_rules! chunk_types {
    ($($(#[$doc:meta])* $name:ident = $value:literal,)*) => {
        /// What a chunk holds (`EIoChunkType`).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ChunkType {
            $($(#[$doc])* $name,)*
            /// A type that is not known here; kept as it is.
            Other(u8),
        }

        impl From<u8> for ChunkType {
            fn from(value: u8) -> Self {
                match value {
                    $($value => Self::$name,)*
                    other => Self::Other(other),
                }
            }
        }

        impl From<ChunkType> for u8 {
            fn from(kind: ChunkType) -> Self {
                match kind {
                    $(ChunkType::$name => $value,)*
                    ChunkType::Other(other) => other,
                }
            }
        }

        impl fmt::Display for ChunkType {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$name => f.write_str(stringify!($name)),)*
                    Self::Other(other) => write!(f, "type {other}"),
                }
            }
        }
    };
}

chunk_types! {
    /// Not a chunk.
    Invalid = 0,
    /// A zen package.
    ExportBundleData = 1,
    /// Bulk data: `.ubulk`, and the payload of a Blam tag.
    BulkData = 2,
    /// Optional bulk data: `.uptnl`.
    OptionalBulkData = 3,
    /// Memory-mapped bulk data: `.m.ubulk`.
    MemoryMappedBulkData = 4,
    /// Script objects, in `global` only.
    ScriptObjects = 5,
    /// The container's own header.
    ContainerHeader = 6,
    /// A file by the hash of its name.
    ExternalFile = 7,
    /// A shader library.
    ShaderCodeLibrary = 8,
    /// A group of shaders; its id is the start of a SHA-1.
    ShaderCode = 9,
    /// A single package store entry.
    PackageStoreEntry = 10,
    /// Derived data.
    DerivedData = 11,
    /// Derived data of the editor.
    EditorDerivedData = 12,
    /// A resource of a package.
    PackageResource = 13,
}

/// A chunk (`FIoChunkId`): twelve raw bytes, compared, hashed and printed as such.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChunkId([u8; 12]);

impl ChunkId {
    /// The chunk of `kind` that belongs to `id`, with the index 0 for all that is written here.
    pub fn new(id: u64, index: u16, kind: ChunkType) -> Self {
        let [a, b, c, d, e, f, g, h] = id.to_le_bytes();
        // The index alone is big-endian.
        let [i, j] = index.to_be_bytes();
        Self([a, b, c, d, e, f, g, h, i, j, 0, kind.into()])
    }

    /// The id as a container stores it.
    pub const fn from_bytes(bytes: [u8; 12]) -> Self {
        Self(bytes)
    }

    /// The id as a container stores it.
    pub const fn as_bytes(&self) -> &[u8; 12] {
        &self.0
    }

    /// Reads the textual form, 24 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        parse_hex(text).map(Self)
    }

    /// What the chunk holds.
    pub fn kind(self) -> ChunkType {
        let [.., kind] = self.0;
        ChunkType::from(kind)
    }

    /// The first eight bytes: a package id, a container id or a hash, by kind.
    pub fn id(self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }

    /// The chunk index.
    pub fn index(self) -> u16 {
        let [.., i, j, _, _] = self.0;
        u16::from_be_bytes([i, j])
    }

    /// Byte 10, which is 0 in all that is known of this game and must be in all that is written.
    pub fn reserved(self) -> u8 {
        let [.., reserved, _] = self.0;
        reserved
    }
}

/// The hash that a container states for a chunk (`FIoHash`): the first 20 bytes of BLAKE3.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChunkHash([u8; 20]);

impl ChunkHash {
    /// The hash of a chunk's uncompressed bytes. Long ones are hashed on all threads; the hash is the
    /// same on any number.
    pub fn of(bytes: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new();
        Self::absorb(&mut hasher, bytes);
        Self::finish(&hasher)
    }

    /// Adds bytes to a hash.
    pub(crate) fn absorb(hasher: &mut blake3::Hasher, bytes: &[u8]) {
        /// Below this, sharing the work costs more than it saves.
        const SHARED: usize = 128 * 1024;
        if bytes.len() < SHARED {
            hasher.update(bytes);
        } else {
            hasher.update_rayon(bytes);
        }
    }

    pub(crate) fn finish(hasher: &blake3::Hasher) -> Self {
        let mut hash = [0; 20];
        hasher.finalize_xof().fill(&mut hash);
        Self(hash)
    }

    /// The hash as a container stores it.
    pub const fn from_bytes(bytes: [u8; 20]) -> Self {
        Self(bytes)
    }

    /// The hash as a container stores it.
    pub const fn as_bytes(&self) -> &[u8; 20] {
        &self.0
    }

    /// Reads the textual form, 40 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        parse_hex(text).map(Self)
    }
}

macro_rules! hex_id {
    ($($type:ident)*) => {$(
        /// Lower-case hexadecimal digits, two a byte.
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    )*};
}
hex_id!(ChunkId ChunkHash);

fn parse_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let mut digits = text.chars();
    for byte in &mut bytes {
        let mut value = 0;
        for digit in [digits.next()?, digits.next()?] {
            if digit.is_ascii_uppercase() {
                return None;
            }
            value = value << 4 | u8::try_from(digit.to_digit(16)?).ok()?;
        }
        *byte = value;
    }
    digits.next().is_none().then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunk_ids_are_made_printed_and_parsed() {
        let cube = PackageId::of_name("/Game/Meshes/SM_Cube");
        assert_eq!(cube.to_string(), "0x516e7b3842b88189");
        let bulk = cube.chunk(ChunkType::BulkData);
        assert_eq!(bulk.to_string(), "8981b842387b6e5100000002");
        assert_eq!(ChunkId::parse("8981b842387b6e5100000002"), Some(bulk));
        assert_eq!((bulk.id(), bulk.index(), bulk.kind()), (cube.0, 0, ChunkType::BulkData));

        let library = ChunkId::new(0xb35e_db58_9db8_e99c, 0, ChunkType::ShaderCodeLibrary);
        assert_eq!(library.to_string(), "9ce9b89d58db5eb300000008");
        assert_eq!(
            ContainerId::of_name("pakchunk990-one_P").header_chunk().to_string(),
            "41f98f6bdb0005a100000006"
        );
        assert_eq!(ChunkId::new(0, 0, ChunkType::ScriptObjects).to_string(), "000000000000000000000005");
        // The index is big-endian.
        assert_eq!(ChunkId::new(1, 0x0203, ChunkType::BulkData).to_string(), "010000000000000002030002");
        assert_eq!(ChunkId::new(1, 0x0203, ChunkType::BulkData).index(), 0x0203);
    }

    #[test]
    fn only_the_one_textual_form_is_parsed() {
        for wrong in [
            "",
            "8981b842387b6e510000000",
            "8981b842387b6e51000000022",
            "8981B842387b6e5100000002",
            "8981b842387b6e510000000g",
            "+981b842387b6e5100000002",
        ] {
            assert_eq!(ChunkId::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn chunk_types_survive() {
        for value in 0..=u8::MAX {
            assert_eq!(u8::from(ChunkType::from(value)), value);
        }
        assert_eq!(ChunkType::from(14), ChunkType::Other(14));
        assert_eq!(ChunkType::BulkData.to_string(), "BulkData");
        assert_eq!(ChunkType::Other(14).to_string(), "type 14");
    }

    #[test]
    fn chunk_hashes_are_the_start_of_blake3() {
        // The published BLAKE3 vector of no bytes.
        let empty = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9";
        assert_eq!(ChunkHash::of(&[]).to_string(), empty);
        let long: Vec<u8> = (0..300_000u32).map(|i| i as u8).collect();
        assert_eq!(ChunkHash::of(&long).as_bytes(), &blake3::hash(&long).as_bytes()[..20]);
        assert_eq!(ChunkHash::parse(empty), Some(ChunkHash::of(&[])));
    }
}
