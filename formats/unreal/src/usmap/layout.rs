//! Sizes and values of the format.

/// What a file begins with.
pub(super) const MAGIC: u16 = 0x30c4;
/// Whether versions of packages are stated.
pub(super) const VERSION_PACKAGE_VERSIONS: u8 = 1;
/// Lengths of names have 16 bits.
pub(super) const VERSION_LONG_NAMES: u8 = 2;
/// Counts of enum entries have 16 bits.
pub(super) const VERSION_LARGE_ENUMS: u8 = 3;
/// Enum entries state their values.
pub(super) const VERSION_ENUM_VALUES: u8 = 4;
/// The last version that is known.
pub(super) const LAST_VERSION: u8 = VERSION_ENUM_VALUES;

/// File versions of the engine and its licensee, before the custom versions.
pub(super) const FILE_VERSION_BYTES: u64 = 8;
/// A custom version: an id and a number.
pub(super) const CUSTOM_VERSION_BYTES: u64 = 20;
/// The least that a struct takes: name, parent and two counts.
pub(super) const STRUCT_BYTES: u64 = 12;
/// The least that a property takes: slot, dimension, name and type.
pub(super) const PROPERTY_BYTES: u64 = 8;
/// The parent of a struct without one.
pub(super) const NO_PARENT: u32 = u32::MAX;

/// How far types may nest: arrays of maps of arrays and so on.
pub(super) const MAX_TYPE_DEPTH: usize = 16;
/// How long a line of ancestors may be.
pub(super) const MAX_ANCESTORS: usize = 64;
