//! Sizes and values of the zen package format of Unreal Engine 5.5, and of the later form.
//!
//! From measurements of cooked packages: each constant is proven by the packages that the tests read and
//! write back byte for byte.

/// The summary (`FZenPackageSummary`) up to 5.5.
pub(super) const SUMMARY_BYTES: u64 = 52;
/// From 5.6 on: the offsets of two maps of cells follow.
pub(super) const LATER_SUMMARY_BYTES: u64 = 60;
/// An entry of the bulk data map (`FBulkDataMapEntry`).
pub(super) const BULK_ENTRY_BYTES: u64 = 32;
/// A public export hash of another package, and an object index.
pub(super) const WORD_BYTES: u64 = 8;
/// An entry of the export map (`FExportMapEntry`).
pub(super) const EXPORT_BYTES: u64 = 72;
/// An entry of the export bundle (`FExportBundleEntry`).
pub(super) const BUNDLE_ENTRY_BYTES: u64 = 8;
/// The four counts of an export's dependencies (`FDependencyBundleHeader`).
pub(super) const DEPENDENCY_HEADER_BYTES: u64 = 20;
/// One dependency (`FDependencyBundleEntry`).
pub(super) const DEPENDENCY_BYTES: u64 = 4;

/// The algorithm that a name batch states for its hashes: CityHash64.
pub(super) const NAME_HASH_ALGORITHM: u64 = 0xC164_0000;
/// Hash, header and no character: the least that a name takes in a batch.
pub(super) const NAME_BYTES: u64 = 10;
/// Marks a name of a batch as UTF-16; the other bits are its length.
pub(super) const NAME_IS_WIDE: u16 = 0x8000;
/// The longest name, in units.
pub(super) const MAX_NAME_UNITS: usize = 1_023;

/// Where the kind of an object index begins.
pub(super) const OBJECT_KIND_SHIFT: u32 = 62;
/// The bits below the kind.
pub(super) const OBJECT_VALUE: u64 = (1 << OBJECT_KIND_SHIFT) - 1;
/// Where the index into the imported packages begins in a package import.
pub(super) const IMPORTED_PACKAGE_SHIFT: u32 = 32;
/// The object index of nothing.
pub(super) const NULL_OBJECT: u64 = u64::MAX;

/// How far outers may nest.
pub(super) const MAX_OUTERS: usize = 64;

/// Package flags of the game's cook: cooked, unversioned properties, editor data left out.
pub(super) const PACKAGE_COOKED_FLAGS: u32 = 0x8000_2200;
/// What ends a package, after the last export.
pub(super) const CLOSING_TAG: [u8; 4] = [0xc1, 0x83, 0x2a, 0x9e];
/// Package flag: contains a map. Shipped worlds do not all carry it.
pub(super) const PACKAGE_CONTAINS_MAP: u32 = 0x0002_0000;
