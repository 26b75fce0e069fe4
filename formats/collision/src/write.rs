//! Writing of the 16-bit tables: what does not fit is refused by name, never masked.

use wire::Writer;

use crate::layout::{
    CHILD_LEAF, CHILD_NONE, MAX_EDGES, MAX_LEAF_REFERENCES, MAX_NODES, MAX_NODES2D, MAX_PLANES,
    MAX_REFERENCES, MAX_SUPERNODES, MAX_SURFACE_PLANES, MAX_SURFACES, MAX_VERTICES, PLANE_NEGATED,
};
use crate::model::{Child, Child2d, Collision, Edge};
use crate::refusal::{Code, Refusal};

/// The nine tables as they lie in a tag, in the tag's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packed {
    /// 3D nodes, 8 bytes each.
    pub nodes: Vec<u8>,
    /// Supernodes, 128 bytes each.
    pub supernodes: Vec<u8>,
    /// Planes, 16 bytes each.
    pub planes: Vec<u8>,
    /// Leaves, 8 bytes each.
    pub leaves: Vec<u8>,
    /// References, 4 bytes each.
    pub references: Vec<u8>,
    /// 2D nodes, 16 bytes each.
    pub nodes2d: Vec<u8>,
    /// Surfaces, 14 bytes each.
    pub surfaces: Vec<u8>,
    /// Edges, 12 bytes each.
    pub edges: Vec<u8>,
    /// Vertices, 16 bytes each.
    pub vertices: Vec<u8>,
}

impl Packed {
    /// The tables under the names of the tag's blocks, in the tag's order.
    pub fn tables(&self) -> [(&'static str, &[u8]); 9] {
        [
            ("bsp3d nodes", &self.nodes),
            ("bsp3d supernodes", &self.supernodes),
            ("planes", &self.planes),
            ("leaves", &self.leaves),
            ("bsp2d references", &self.references),
            ("bsp2d nodes", &self.nodes2d),
            ("surfaces", &self.surfaces),
            ("edges", &self.edges),
            ("vertices", &self.vertices),
        ]
    }

    /// The tables to be filled, in the same order.
    pub fn tables_mut(&mut self) -> [(&'static str, &mut Vec<u8>); 9] {
        [
            ("bsp3d nodes", &mut self.nodes),
            ("bsp3d supernodes", &mut self.supernodes),
            ("planes", &mut self.planes),
            ("leaves", &mut self.leaves),
            ("bsp2d references", &mut self.references),
            ("bsp2d nodes", &mut self.nodes2d),
            ("surfaces", &mut self.surfaces),
            ("edges", &mut self.edges),
            ("vertices", &mut self.vertices),
        ]
    }
}

impl Collision {
    /// Whether the 16-bit tables hold it; the first limit that it breaks otherwise.
    pub fn fits(&self) -> Result<(), Refusal> {
        let surface_planes = self.surfaces.iter().map(|s| s.plane);
        let reference_planes = self.references.iter().map(|r| r.plane);
        let named = surface_planes.chain(reference_planes).max().map_or(0, |plane| plane as usize + 1);
        let most = self.leaves.iter().map(|leaf| leaf.count as usize).max().unwrap_or(0);
        for (code, what, found, limit) in [
            (Code::TooManySurfaces, "surfaces", self.surfaces.len(), MAX_SURFACES),
            (Code::TooManyPlanes, "planes of surfaces", named, MAX_SURFACE_PLANES),
            (Code::TooManyPlanes, "planes", self.planes.len(), MAX_PLANES),
            (Code::TooManyEdges, "edges", self.edges.len(), MAX_EDGES),
            (Code::TooManyVertices, "vertices", self.vertices.len(), MAX_VERTICES),
            (Code::TooManyNodes2d, "2D nodes", self.nodes2d.len(), MAX_NODES2D),
            (Code::TooManyReferences, "references", self.references.len(), MAX_REFERENCES),
            (Code::TooManyReferences, "references of a leaf", most, MAX_LEAF_REFERENCES),
            (Code::TooManyNodes, "3D nodes", self.nodes.len(), MAX_NODES),
            (Code::TooManyNodes, "leaves", self.leaves.len(), MAX_NODES),
            (Code::TooManySupernodes, "supernodes", self.supernodes.len(), MAX_SUPERNODES),
        ] {
            if found > limit {
                return Err(Refusal::over(code, what, found, limit));
            }
        }
        Ok(())
    }

    /// The tables in their 16-bit form. Indices must lie within their tables ([`crate::check`]); those
    /// that the form cannot hold are refused.
    pub fn pack(&self) -> Result<Packed, Refusal> {
        self.fits()?;
        let mut packed = Packed::default();
        let mut w = Writer::with_capacity(self.nodes.len() * 8);
        for node in &self.nodes {
            w.u16(short(node.plane)?).u24(child(node.back)?).u24(child(node.front)?);
        }
        packed.nodes = w.into_bytes();
        let mut w = Writer::new();
        for supernode in &self.supernodes {
            supernode.splits.iter().for_each(|split| _ = w.f32(*split));
            supernode.cells.iter().for_each(|cell| _ = w.u32(*cell));
            w.u32(supernode.dimensions);
        }
        packed.supernodes = w.into_bytes();
        let mut w = Writer::with_capacity(self.planes.len() * 16);
        for plane in &self.planes {
            let [i, j, k] = plane.normal;
            w.f32(i).f32(j).f32(k).f32(plane.d);
        }
        packed.planes = w.into_bytes();
        let mut w = Writer::with_capacity(self.leaves.len() * 8);
        for leaf in &self.leaves {
            let first = if leaf.count == 0 { u32::MAX } else { leaf.first };
            w.u8(leaf.flags).u8(0).u16(leaf.count).u32(first);
        }
        packed.leaves = w.into_bytes();
        let mut w = Writer::with_capacity(self.references.len() * 4);
        for reference in &self.references {
            let plane = narrow(reference.plane, 0x7FFF)?;
            w.u16(plane | if reference.negated { 0x8000 } else { 0 }).u16(child2d(reference.node)?);
        }
        packed.references = w.into_bytes();
        let mut w = Writer::with_capacity(self.nodes2d.len() * 16);
        for node in &self.nodes2d {
            let [i, j, d] = node.line;
            w.f32(i).f32(j).f32(d).u16(child2d(node.left)?).u16(child2d(node.right)?);
        }
        packed.nodes2d = w.into_bytes();
        let mut w = Writer::with_capacity(self.surfaces.len() * 14);
        for surface in &self.surfaces {
            let flags = surface.flags | if surface.negated { PLANE_NEGATED } else { 0 };
            w.u16(short(surface.plane)?).u16(short(surface.first_edge)?);
            for word in [surface.material, surface.breakable_set, surface.breakable] {
                w.u16(word.cast_unsigned());
            }
            w.u16(flags).u8(surface.best_plane_vertex).u8(0);
        }
        packed.surfaces = w.into_bytes();
        let mut w = Writer::with_capacity(self.edges.len() * 12);
        for Edge { start, end, forward, reverse, left, right } in self.edges.iter().copied() {
            w.u16(short(start)?).u16(short(end)?);
            for index in [forward, reverse, left, right] {
                w.u16(index.map_or(Ok(0xFFFF), short)?);
            }
        }
        packed.edges = w.into_bytes();
        let mut w = Writer::with_capacity(self.vertices.len() * 16);
        for vertex in &self.vertices {
            let [x, y, z] = vertex.point;
            w.f32(x).f32(y).f32(z).u16(vertex.first_edge.map_or(Ok(0xFFFF), short)?);
            w.u16(vertex.sink.cast_unsigned());
        }
        packed.vertices = w.into_bytes();
        Ok(packed)
    }
}

/// An index in at most 16 bits of which `most` is the highest that means an index.
fn narrow(index: u32, most: u16) -> Result<u16, Refusal> {
    u16::try_from(index).ok().filter(|index| *index <= most).ok_or_else(|| {
        let message = format!("an index is {index}, at most {most} can be written");
        Refusal::new(Code::IndexOutOfRange, Vec::new(), message)
    })
}

/// An index whose highest value means none.
fn short(index: u32) -> Result<u16, Refusal> {
    // A node's plane may be any of 65,536; nothing reads it as none.
    narrow(index, 0xFFFF)
}

fn child(child: Child) -> Result<u32, Refusal> {
    let (index, flag, most) = match child {
        Child::Solid => return Ok(CHILD_NONE),
        Child::Node(node) => (node, 0, CHILD_LEAF - 1),
        Child::Leaf(leaf) => (leaf, CHILD_LEAF, CHILD_LEAF - 2),
    };
    if index > most {
        let message = format!("a child is {index}, at most {most} can be written");
        return Err(Refusal::new(Code::TooManyNodes, Vec::new(), message));
    }
    Ok(index | flag)
}

fn child2d(child: Child2d) -> Result<u16, Refusal> {
    match child {
        Child2d::None => Ok(0xFFFF),
        Child2d::Node(node) => narrow(node, 0x7FFF),
        Child2d::Surface(surface) => Ok(0x8000 | narrow(surface, 0x7FFE)?),
    }
}
