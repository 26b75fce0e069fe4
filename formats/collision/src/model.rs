//! A collision BSP with its indices decoded: what builders make, importers read, and packers write.
//!
//! It knows neither of the byte forms. Indices are plain numbers; absent ones are `None` or a variant of
//! their own, so that no magic number is ever compared. Nothing here is checked: see [`crate::check`].

use glam::{DVec3, Vec3};

/// Where a side of a 3D node leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Child {
    /// Solid space.
    Solid,
    /// Another node.
    Node(u32),
    /// Open space.
    Leaf(u32),
}

/// A node of the 3D tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// The plane that splits.
    pub plane: u32,
    /// Behind it.
    pub back: Child,
    /// In front of it, and on it.
    pub front: Child,
}

/// A plane `normal · x = d`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plane {
    /// Unit normal.
    pub normal: [f32; 3],
    /// Distance from the origin along the normal.
    pub d: f32,
}

impl Plane {
    /// The signed distance of a point, in double precision.
    pub fn distance(&self, point: DVec3) -> f64 {
        self.normal64().dot(point) - f64::from(self.d)
    }

    /// The normal, in double precision.
    pub fn normal64(&self) -> DVec3 {
        Vec3::from(self.normal).as_dvec3()
    }

    /// The same plane, seen from behind.
    #[must_use]
    pub fn negated(&self) -> Self {
        Self { normal: self.normal.map(|c| -c), d: -self.d }
    }
}

/// Open space, and the surfaces that bound it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Bit 0: has two-sided surfaces.
    pub flags: u8,
    /// Index of its first reference; of no meaning without references.
    pub first: u32,
    /// How many references it has.
    pub count: u16,
}

/// Leaf flag: two-sided surfaces are among those it names.
pub const LEAF_TWO_SIDED: u8 = 1;

/// Where a 2D tree leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Child2d {
    /// Nowhere.
    None,
    /// Another 2D node.
    Node(u32),
    /// A surface.
    Surface(u32),
}

/// The surfaces of a leaf on one plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The plane.
    pub plane: u32,
    /// Whether the surfaces face against it.
    pub negated: bool,
    /// The 2D tree that tells them apart.
    pub node: Child2d,
}

/// A node of a 2D tree: the line `i u + j v = d`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Node2d {
    /// `i`, `j` and `d`.
    pub line: [f32; 3],
    /// Where the line's value is negative.
    pub left: Child2d,
    /// Where it is not.
    pub right: Child2d,
}

/// What a surface is beside its shape.
pub mod surface_flags {
    /// Blocks from both sides.
    pub const TWO_SIDED: u16 = 1;
    /// Stops nothing that is seen.
    pub const INVISIBLE: u16 = 1 << 1;
    /// A ladder.
    pub const CLIMBABLE: u16 = 1 << 2;
    /// May break.
    pub const BREAKABLE: u16 = 1 << 3;
    /// Not to be used.
    pub const INVALID: u16 = 1 << 4;
    /// Moves what stands on it.
    pub const CONVEYOR: u16 = 1 << 5;
    /// Slippery.
    pub const SLIP: u16 = 1 << 6;
    /// For path finding alone.
    pub const PATHFINDING_ONLY: u16 = 1 << 8;
}

/// A polygon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surface {
    /// Its plane.
    pub plane: u32,
    /// Whether it faces against the plane.
    pub negated: bool,
    /// An edge of its ring.
    pub first_edge: u32,
    /// Material, or -1.
    pub material: i16,
    /// Breakable set, or -1.
    pub breakable_set: i16,
    /// Breakable surface, or -1.
    pub breakable: i16,
    /// [`surface_flags`]; that the plane is negated is not among them.
    pub flags: u16,
    /// A hint of the engine's tools; 0 is always right.
    pub best_plane_vertex: u8,
}

impl Surface {
    /// Whether it blocks from both sides.
    pub fn is_two_sided(&self) -> bool {
        self.flags & surface_flags::TWO_SIDED != 0
    }
}

/// An edge between two surfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// First vertex, as the left surface goes.
    pub start: u32,
    /// Second vertex.
    pub end: u32,
    /// Next edge of the left surface.
    pub forward: Option<u32>,
    /// Next edge of the right surface.
    pub reverse: Option<u32>,
    /// The surface that goes from start to end.
    pub left: Option<u32>,
    /// The surface that goes from end to start.
    pub right: Option<u32>,
}

/// A corner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vertex {
    /// Where it is.
    pub point: [f32; 3],
    /// The lowest edge that uses it.
    pub first_edge: Option<u32>,
    /// How far the engine sinks it.
    pub sink: i16,
}

/// Four levels of axis splits before the 3D tree: sixteen cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Supernode {
    /// Where the splits lie.
    pub splits: [f32; 15],
    /// What lies behind each path: see [`Cell`].
    pub cells: [u32; 16],
    /// Two bits a level: the axis.
    pub dimensions: u32,
}

/// What a supernode's cell leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    /// Nothing.
    Empty,
    /// The 3D tree at a child.
    Tree(Child),
    /// Another supernode.
    Supernode(u32),
}

/// A collision BSP: the nine tables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Collision {
    /// 3D nodes; the root is the first.
    pub nodes: Vec<Node>,
    /// Supernodes; the walk starts at the first.
    pub supernodes: Vec<Supernode>,
    /// Planes.
    pub planes: Vec<Plane>,
    /// Leaves.
    pub leaves: Vec<Leaf>,
    /// References.
    pub references: Vec<Reference>,
    /// 2D nodes.
    pub nodes2d: Vec<Node2d>,
    /// Surfaces.
    pub surfaces: Vec<Surface>,
    /// Edges.
    pub edges: Vec<Edge>,
    /// Vertices.
    pub vertices: Vec<Vertex>,
}

impl Supernode {
    /// The supernode that hands everything to node 0: its splits lie outside every world.
    pub fn pass_through() -> Self {
        Self { splits: [1.0e6; 15], cells: [crate::layout::CELL_CHILD; 16], dimensions: 0 }
    }

    /// What the cell `index` (0 to 15) leads to.
    pub fn cell(&self, index: usize) -> Cell {
        use crate::layout::{CELL_CHILD, CELL_EMPTY};
        match self.cells.get(index).copied().unwrap_or(0) {
            0 => Cell::Empty,
            cell if cell & CELL_EMPTY != 0 => Cell::Empty,
            cell if cell & CELL_CHILD != 0 => Cell::Tree(Child::from_bits(cell & !CELL_CHILD)),
            cell => Cell::Supernode(cell),
        }
    }
}

impl Child {
    /// From the 24-bit form of nodes and cells.
    pub fn from_bits(bits: u32) -> Self {
        use crate::layout::{CHILD_LEAF, CHILD_NONE};
        match bits {
            CHILD_NONE => Self::Solid,
            bits if bits & CHILD_LEAF != 0 => Self::Leaf(bits & !CHILD_LEAF),
            bits => Self::Node(bits),
        }
    }
}

impl Collision {
    /// The polygon of a surface, counter-clockwise seen from its front; `None` where its ring does not
    /// close within 256 steps or leaves the tables.
    pub fn ring(&self, surface: u32) -> Option<Vec<u32>> {
        let first = self.surfaces.get(surface as usize)?.first_edge;
        let (mut at, mut ring) = (first, Vec::with_capacity(4));
        for _ in 0..256 {
            let edge = self.edges.get(at as usize)?;
            let (vertex, next) = if edge.left == Some(surface) {
                (edge.start, edge.forward)
            } else if edge.right == Some(surface) {
                (edge.end, edge.reverse)
            } else {
                return None;
            };
            self.vertices.get(vertex as usize)?;
            ring.push(vertex);
            at = next?;
            if at == first {
                return Some(ring);
            }
        }
        None
    }

    /// The corners of a surface; empty where its ring is broken.
    pub fn polygon(&self, surface: u32) -> Vec<DVec3> {
        let ring = self.ring(surface).unwrap_or_default();
        ring.iter().filter_map(|&v| self.vertices.get(v as usize)).map(Vertex::point64).collect()
    }

    /// The plane that a surface faces: its plane, negated when it faces against it.
    pub fn facing(&self, surface: &Surface) -> Option<Plane> {
        let plane = self.planes.get(surface.plane as usize)?;
        Some(if surface.negated { plane.negated() } else { *plane })
    }

    /// The smallest box around all vertices; `None` without vertices.
    pub fn bounds(&self) -> Option<(DVec3, DVec3)> {
        let mut points = self.vertices.iter().map(Vertex::point64);
        let first = points.next()?;
        Some(points.fold((first, first), |(lo, hi), p| (lo.min(p), hi.max(p))))
    }
}

impl Vertex {
    /// Where it is, in double precision.
    pub fn point64(&self) -> DVec3 {
        Vec3::from(self.point).as_dvec3()
    }
}
