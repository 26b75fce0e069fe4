//! Sizes, magics and field types of the tag format, and the bounds that readers keep to.
//!
//! From the published descriptions of the format, each proven by the tags that the tests read, edit and
//! write back. It holds no field list and no offset of any group: those travel in each tag.

/// The header before the `tag!` section.
pub(crate) const HEADER_BYTES: u64 = 64;
/// Magic, version and size of a section.
pub(crate) const SECTION_BYTES: u64 = 12;
/// Count and flags of a block, before its elements.
pub(crate) const BLOCK_BYTES: u64 = 8;
/// The version of `blay`, that of the layout in it, and that of `bdat`.
pub(crate) const BLAY_VERSION: u32 = 2;
pub(crate) const LAYOUT_VERSION: u32 = 4;
pub(crate) const BDAT_VERSION: u32 = 1;
/// Of a block's flags: set when no wrapper an element follows.
pub(crate) const UNWRAPPED: u32 = 1;
/// The four-character code of nothing.
pub(crate) const NO_GROUP: u32 = u32::MAX;

/// A magic as it reads: stored as a little-endian number, its bytes lie reversed.
pub(crate) const fn magic(text: &[u8; 4]) -> u32 {
    u32::from_be_bytes(*text)
}

pub(crate) const BLAM: u32 = magic(b"BLAM");
pub(crate) const TAG_STREAM: u32 = magic(b"tag!");
pub(crate) const BLAY: u32 = magic(b"blay");
pub(crate) const BDAT: u32 = magic(b"bdat");
pub(crate) const TGLY: u32 = magic(b"tgly");
pub(crate) const BLOCK: u32 = magic(b"tgbl");
pub(crate) const STRUCT: u32 = magic(b"tgst");
pub(crate) const STRING_ID: u32 = magic(b"tgsi");
pub(crate) const REFERENCE: u32 = magic(b"tgrf");
pub(crate) const DATA: u32 = magic(b"tgda");
pub(crate) const RESOURCE_DATA: u32 = magic(b"tgdt");
pub(crate) const INTEROP: u32 = magic(b"ti][");
/// What an interop section holds.
pub(crate) const INTEROP_BYTES: u32 = 12;
/// The bytes of a resource's magic that are the same for all kinds, and their mask.
pub(crate) const RESOURCE: u32 = magic(b"tg\0c");
pub(crate) const RESOURCE_MASK: u32 = 0xffff_00ff;

/// The tables of a layout, in the order in which they lie in `tgly`: magic, bytes a record, and the place
/// of their count among the counts, which stand in another order.
pub(crate) const TABLES: [(&[u8; 4], u64, usize); 12] = [
    (b"str*", 1, 0),
    (b"sz+x", 4, 1),
    (b"sz[]", 12, 2),
    (b"csbn", 4, 3),
    (b"dtnm", 4, 4),
    (b"arr!", 12, 5),
    (b"tgft", 12, 6),
    (b"gras", 12, 7),
    (b"blv2", 12, 9),
    (b"rcv2", 12, 10),
    (b"]==[", 24, 11),
    (b"stv4", 28, 8),
];
pub(crate) const STRINGS: usize = 0;
pub(crate) const OPTIONS: usize = 1;
pub(crate) const ENUMS: usize = 2;
pub(crate) const ARRAYS: usize = 5;
pub(crate) const TYPES: usize = 6;
pub(crate) const FIELDS: usize = 7;
pub(crate) const BLOCKS: usize = 8;
pub(crate) const STRUCTS: usize = 11;

/// How deep wrappers may lie in each other in the data.
pub(crate) const MAX_DEPTH: u32 = 64;
/// How deep structs and arrays may lie in each other in a layout.
pub(crate) const MAX_STRUCT_DEPTH: u32 = 128;
/// How many fields the structs of a tag may have together; the largest of the game's have below 2,000.
pub(crate) const MAX_FIELDS: usize = 1 << 16;
/// How many types a layout may list; 54 are known.
pub(crate) const MAX_TYPES: u64 = 1 << 10;
/// The longest name of a layout; the game's are below 100.
pub(crate) const MAX_NAME_BYTES: usize = 1024;
/// How many states matching may look at in one tag, to tell phantom wrappers from others.
pub(crate) const MAX_STATES: u64 = 1 << 22;
/// How many elements without a single byte a block may have.
pub(crate) const MAX_HOLLOW: u64 = 1 << 16;

/// What a type of field is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Signed whole numbers of so many bytes.
    Signed(u8),
    /// Unsigned whole numbers of so many bytes.
    Unsigned(u8),
    /// One of the options of an enum.
    Enum(u8),
    /// Any of the options of an enum, a bit each.
    Flags(u8),
    /// Bits that stand for the elements of a block.
    BlockFlags,
    /// An index into a block, -1 for none.
    BlockIndex(u8),
    /// An index into a block that the layout does not name.
    CustomBlockIndex(u8),
    /// A single-precision number.
    Real,
    /// So many single-precision numbers.
    Reals(u8),
    /// So many signed 16-bit numbers.
    Shorts(u8),
    /// A colour of four bytes, without alpha.
    Rgb,
    /// A colour of four bytes.
    Argb,
    /// The four-character code of a group.
    Tag,
    /// Text that ends at the first NUL.
    Text,
    /// Text in a section of its own.
    StringId,
    /// A reference to another tag.
    Reference,
    /// Bytes in a section of their own.
    Data,
    /// A list of structs.
    Block,
    /// A struct in place.
    Struct,
    /// A fixed number of structs in place.
    Array,
    /// A resource, kept as it is.
    Resource,
    /// An object of the engine's, kept as it is.
    Interop,
    /// Bytes without meaning.
    Pad,
    /// A mark for editors, without bytes.
    Custom,
    /// The end of a struct.
    Terminator,
    /// A type that is not known, so neither is its size.
    Unknown,
}

impl Kind {
    /// Whether fields of this kind hold a value at all.
    pub(crate) fn is_shown(self) -> bool {
        !matches!(self, Self::Pad | Self::Custom | Self::Terminator)
    }
}

/// All known types: name, bytes in place, and kind.
const KINDS: [(&str, u32, Kind); 54] = [
    ("array", 0, Kind::Array),
    ("custom", 0, Kind::Custom),
    ("pad", 0, Kind::Pad),
    ("struct", 0, Kind::Struct),
    ("terminator X", 0, Kind::Terminator),
    ("char integer", 1, Kind::Signed(1)),
    ("byte integer", 1, Kind::Unsigned(1)),
    ("char enum", 1, Kind::Enum(1)),
    ("byte flags", 1, Kind::Flags(1)),
    ("char block index", 1, Kind::BlockIndex(1)),
    ("short integer", 2, Kind::Signed(2)),
    ("word integer", 2, Kind::Unsigned(2)),
    ("short enum", 2, Kind::Enum(2)),
    ("word flags", 2, Kind::Flags(2)),
    ("short block index", 2, Kind::BlockIndex(2)),
    ("custom short block index", 2, Kind::CustomBlockIndex(2)),
    ("long integer", 4, Kind::Signed(4)),
    ("dword integer", 4, Kind::Unsigned(4)),
    ("long enum", 4, Kind::Enum(4)),
    ("long flags", 4, Kind::Flags(4)),
    ("long block flags", 4, Kind::BlockFlags),
    ("long block index", 4, Kind::BlockIndex(4)),
    ("custom long block index", 4, Kind::CustomBlockIndex(4)),
    ("real", 4, Kind::Real),
    ("real fraction", 4, Kind::Real),
    ("angle", 4, Kind::Real),
    ("rgb color", 4, Kind::Rgb),
    ("argb color", 4, Kind::Argb),
    ("string id", 4, Kind::StringId),
    ("tag", 4, Kind::Tag),
    ("short integer bounds", 4, Kind::Shorts(2)),
    ("int64 integer", 8, Kind::Signed(8)),
    ("rectangle 2d", 8, Kind::Shorts(4)),
    ("real bounds", 8, Kind::Reals(2)),
    ("angle bounds", 8, Kind::Reals(2)),
    ("fraction bounds", 8, Kind::Reals(2)),
    ("real point 2d", 8, Kind::Reals(2)),
    ("real vector 2d", 8, Kind::Reals(2)),
    ("real euler angles 2d", 8, Kind::Reals(2)),
    ("pageable resource", 8, Kind::Resource),
    ("block", 12, Kind::Block),
    ("api interop", 12, Kind::Interop),
    ("real point 3d", 12, Kind::Reals(3)),
    ("real vector 3d", 12, Kind::Reals(3)),
    ("real euler angles 3d", 12, Kind::Reals(3)),
    ("real rgb color", 12, Kind::Reals(3)),
    ("real plane 2d", 12, Kind::Reals(3)),
    ("tag reference", 16, Kind::Reference),
    ("real argb color", 16, Kind::Reals(4)),
    ("real plane 3d", 16, Kind::Reals(4)),
    ("real quaternion", 16, Kind::Reals(4)),
    ("data", 20, Kind::Data),
    ("string", 32, Kind::Text),
    ("long string", 256, Kind::Text),
];

/// The size and kind of the type called `name`.
pub(crate) fn kind_of(name: &str) -> (u32, Kind) {
    let found = KINDS.iter().find(|(known, ..)| *known == name);
    found.map_or((0, Kind::Unknown), |(_, size, kind)| (*size, *kind))
}
