//! Sizes, limits and bit masks of the 16-bit tables. It knows no table's content.
//!
//! Maxima are those of the tag definitions; where the encodings or the engine's own masks allow less, the
//! lesser figure stands here: a writer refuses beyond it and never masks.

/// Bytes of a record of each table.
pub const NODE_SIZE: u64 = 8;
/// Bytes of a supernode.
pub const SUPERNODE_SIZE: u64 = 128;
/// Bytes of a plane.
pub const PLANE_SIZE: u64 = 16;
/// Bytes of a leaf.
pub const LEAF_SIZE: u64 = 8;
/// Bytes of a reference.
pub const REFERENCE_SIZE: u64 = 4;
/// Bytes of a 2D node.
pub const NODE2D_SIZE: u64 = 16;
/// Bytes of a surface.
pub const SURFACE_SIZE: u64 = 14;
/// Bytes of an edge.
pub const EDGE_SIZE: u64 = 12;
/// Bytes of a vertex.
pub const VERTEX_SIZE: u64 = 16;

/// Most 3D nodes, and most leaves: index `0x7FFFFF` of a leaf would read as none.
pub const MAX_NODES: usize = 8_388_607;
/// Most supernodes.
pub const MAX_SUPERNODES: usize = 2_048;
/// Most planes that nodes may name.
pub const MAX_PLANES: usize = 65_535;
/// Most planes that a surface or a reference may name: the line test compares 15 bits of a reference.
pub const MAX_SURFACE_PLANES: usize = 32_767;
/// Most references, and most of them in one leaf.
pub const MAX_REFERENCES: usize = 196_608;
/// Most references of one leaf.
pub const MAX_LEAF_REFERENCES: usize = 65_535;
/// Most 2D nodes.
pub const MAX_NODES2D: usize = 32_767;
/// Most surfaces: `0x7FFF` with the flag would read as none.
pub const MAX_SURFACES: usize = 32_767;
/// Most edges, and most vertices that edges can name.
pub const MAX_EDGES: usize = 65_534;
/// Most vertices that edges can name.
pub const MAX_VERTICES: usize = 65_534;
/// Deepest 3D tree: the engine's traversal stack.
pub const MAX_DEPTH: usize = 128;
/// Most vertices of a ring that the engine's buffers hold.
pub const MAX_RING: usize = 8;
/// Most surfaces of a definition whose surfaces are keyed one by one in a static body.
pub const MAX_KEYED_SURFACES: usize = 8_192;
/// Furthest coordinate from the origin, in world units.
pub const WORLD_LIMIT: f64 = 5_000.0;

/// A 24-bit child that leads to solid space.
pub const CHILD_NONE: u32 = 0x00FF_FFFF;
/// The bit of a 24-bit child that makes it a leaf.
pub const CHILD_LEAF: u32 = 0x0080_0000;
/// The bit of a 16-bit child that makes it a surface, and of a reference's plane that negates it.
pub const SHORT_FLAG: u16 = 0x8000;
/// The absent 16-bit index.
pub const SHORT_NONE: u16 = 0xFFFF;
/// The bit of a surface's flags that says that its plane is used negated.
pub const PLANE_NEGATED: u16 = 1 << 7;
/// The bit of a supernode's cell that makes it a 3D child.
pub const CELL_CHILD: u32 = 0x4000_0000;
/// The bit of a supernode's cell that makes it empty.
pub const CELL_EMPTY: u32 = 0x8000_0000;
