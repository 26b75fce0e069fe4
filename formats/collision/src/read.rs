//! Reading of the 16-bit tables. It checks nothing but lengths: [`crate::check`] judges what was read.
//!
//! It shares no code with the writer, so that bytes which both agree on have been understood twice.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use wire::{ReadError, Reader};

use crate::layout::{
    EDGE_SIZE, LEAF_SIZE, NODE_SIZE, NODE2D_SIZE, PLANE_NEGATED, PLANE_SIZE, REFERENCE_SIZE, SHORT_FLAG,
    SHORT_NONE, SUPERNODE_SIZE, SURFACE_SIZE, VERTEX_SIZE,
};
use crate::model::{
    Child, Child2d, Collision, Edge, Leaf, Node, Node2d, Plane, Reference, Supernode, Surface, Vertex,
};
use crate::write::Packed;

impl Collision {
    /// Reads the nine tables.
    pub fn unpack(packed: &Packed) -> Result<Self, ReadError> {
        Ok(Self {
            nodes: table(&packed.nodes, "bsp3d nodes", NODE_SIZE, node)?,
            supernodes: table(&packed.supernodes, "bsp3d supernodes", SUPERNODE_SIZE, supernode)?,
            planes: table(&packed.planes, "planes", PLANE_SIZE, plane)?,
            leaves: table(&packed.leaves, "leaves", LEAF_SIZE, leaf)?,
            references: table(&packed.references, "bsp2d references", REFERENCE_SIZE, reference)?,
            nodes2d: table(&packed.nodes2d, "bsp2d nodes", NODE2D_SIZE, node2d)?,
            surfaces: table(&packed.surfaces, "surfaces", SURFACE_SIZE, surface)?,
            edges: table(&packed.edges, "edges", EDGE_SIZE, edge)?,
            vertices: table(&packed.vertices, "vertices", VERTEX_SIZE, vertex)?,
        })
    }
}

type Record<T> = fn(&mut Reader<'_>) -> Result<T, ReadError>;

fn table<T>(bytes: &[u8], name: &'static str, size: u64, record: Record<T>) -> Result<Vec<T>, ReadError> {
    let mut r = Reader::new(bytes, name);
    let mut items =
        Vec::with_capacity(r.count(r.remaining().checked_div(size).unwrap_or(0), size, "table")?);
    while r.remaining() >= size {
        items.push(record(&mut r)?);
    }
    r.finish()?;
    Ok(items)
}

fn node(r: &mut Reader<'_>) -> Result<Node, ReadError> {
    let plane = u32::from(r.u16("plane")?);
    Ok(Node {
        plane,
        back: Child::from_bits(r.u24("back child")?),
        front: Child::from_bits(r.u24("front child")?),
    })
}

fn supernode(r: &mut Reader<'_>) -> Result<Supernode, ReadError> {
    let mut it = Supernode { splits: [0.0; 15], cells: [0; 16], dimensions: 0 };
    for split in &mut it.splits {
        *split = r.f32("split")?;
    }
    for cell in &mut it.cells {
        *cell = r.u32("cell")?;
    }
    it.dimensions = r.u32("dimensions")?;
    Ok(it)
}

fn plane(r: &mut Reader<'_>) -> Result<Plane, ReadError> {
    Ok(Plane { normal: [r.f32("i")?, r.f32("j")?, r.f32("k")?], d: r.f32("d")? })
}

fn leaf(r: &mut Reader<'_>) -> Result<Leaf, ReadError> {
    let flags = r.u8("flags")?;
    r.u8("padding")?;
    Ok(Leaf { flags, count: r.u16("reference count")?, first: r.u32("first reference")? })
}

fn child2d(bits: u16) -> Child2d {
    match bits {
        SHORT_NONE => Child2d::None,
        bits if bits & SHORT_FLAG != 0 => Child2d::Surface(u32::from(bits & !SHORT_FLAG)),
        bits => Child2d::Node(u32::from(bits)),
    }
}

fn reference(r: &mut Reader<'_>) -> Result<Reference, ReadError> {
    let plane = r.u16("plane")?;
    Ok(Reference {
        plane: u32::from(plane & !SHORT_FLAG),
        negated: plane & SHORT_FLAG != 0,
        node: child2d(r.u16("node")?),
    })
}

fn node2d(r: &mut Reader<'_>) -> Result<Node2d, ReadError> {
    Ok(Node2d {
        line: [r.f32("i")?, r.f32("j")?, r.f32("d")?],
        left: child2d(r.u16("left child")?),
        right: child2d(r.u16("right child")?),
    })
}

fn signed(r: &mut Reader<'_>, field: &str) -> Result<i16, ReadError> {
    Ok(r.u16(field)?.cast_signed())
}

fn surface(r: &mut Reader<'_>) -> Result<Surface, ReadError> {
    let plane = u32::from(r.u16("plane")?);
    let first_edge = u32::from(r.u16("first edge")?);
    let material = signed(r, "material")?;
    let breakable_set = signed(r, "breakable set")?;
    let breakable = signed(r, "breakable surface")?;
    let flags = r.u16("flags")?;
    let best_plane_vertex = r.u8("best plane vertex")?;
    r.u8("padding")?;
    Ok(Surface {
        plane,
        negated: flags & PLANE_NEGATED != 0,
        first_edge,
        material,
        breakable_set,
        breakable,
        flags: flags & !PLANE_NEGATED,
        best_plane_vertex,
    })
}

fn index(r: &mut Reader<'_>, field: &str) -> Result<Option<u32>, ReadError> {
    Ok(Some(r.u16(field)?).filter(|index| *index != SHORT_NONE).map(u32::from))
}

fn edge(r: &mut Reader<'_>) -> Result<Edge, ReadError> {
    Ok(Edge {
        start: u32::from(r.u16("start")?),
        end: u32::from(r.u16("end")?),
        forward: index(r, "forward")?,
        reverse: index(r, "reverse")?,
        left: index(r, "left")?,
        right: index(r, "right")?,
    })
}

fn vertex(r: &mut Reader<'_>) -> Result<Vertex, ReadError> {
    Ok(Vertex {
        point: [r.f32("x")?, r.f32("y")?, r.f32("z")?],
        first_edge: index(r, "first edge")?,
        sink: signed(r, "sink")?,
    })
}
