//! The large form of the tables: 32-bit records that lift every limit.
//!
//! Nobody knows whether the game reads it, so it is written only where it is asked for by name, and nothing
//! falls back to it. Supernodes and planes are as in the small form.

use wire::Writer;

use crate::layout::PLANE_NEGATED;
use crate::model::{Child, Child2d, Collision};

/// The eight tables of the large form, under their names in the tag.
pub type LargeTables = [(&'static str, Vec<u8>); 8];

impl Collision {
    /// The tables in the large form. Nothing shipped uses it.
    pub fn pack_large(&self) -> LargeTables {
        let mut tables: [Writer; 8] = Default::default();
        let [nodes, planes, leaves, references, nodes2d, surfaces, edges, vertices] = &mut tables;
        for node in &self.nodes {
            nodes.u32(node.plane).u32(child(node.back)).u32(child(node.front));
        }
        for plane in &self.planes {
            plane.normal.iter().chain([&plane.d]).for_each(|c| _ = planes.f32(*c));
        }
        for leaf in &self.leaves {
            leaves.u16(u16::from(leaf.flags)).u16(leaf.count);
            leaves.u32(if leaf.count == 0 { u32::MAX } else { leaf.first });
        }
        for reference in &self.references {
            references.u32(reference.plane | u32::from(reference.negated) << 31).u32(child2d(reference.node));
        }
        for node in &self.nodes2d {
            node.line.iter().for_each(|c| _ = nodes2d.f32(*c));
            nodes2d.u32(child2d(node.left)).u32(child2d(node.right));
        }
        for it in &self.surfaces {
            surfaces.u32(it.plane).u32(it.first_edge);
            for word in [it.material, it.breakable_set, it.breakable] {
                surfaces.u16(word.cast_unsigned());
            }
            surfaces.u16(it.flags | if it.negated { PLANE_NEGATED } else { 0 });
            surfaces.u8(it.best_plane_vertex).zeros(3);
        }
        for it in &self.edges {
            edges.u32(it.start).u32(it.end);
            for index in [it.forward, it.reverse, it.left, it.right] {
                edges.u32(index.unwrap_or(u32::MAX));
            }
        }
        for it in &self.vertices {
            it.point.iter().for_each(|c| _ = vertices.f32(*c));
            vertices.u32(it.first_edge.unwrap_or(u32::MAX)).u16(it.sink.cast_unsigned()).zeros(2);
        }
        let names = [
            "bsp3d nodes",
            "planes",
            "leaves",
            "bsp2d references",
            "bsp2d nodes",
            "surfaces",
            "edges",
            "vertices",
        ];
        let mut tables = tables.into_iter().map(Writer::into_bytes);
        names.map(|name| (name, tables.next().unwrap_or_default()))
    }
}

fn child(child: Child) -> u32 {
    match child {
        Child::Solid => u32::MAX,
        Child::Node(node) => node,
        Child::Leaf(leaf) => leaf | 1 << 31,
    }
}

fn child2d(child: Child2d) -> u32 {
    match child {
        Child2d::None => u32::MAX,
        Child2d::Node(node) => node,
        Child2d::Surface(surface) => surface | 1 << 31,
    }
}

#[cfg(test)]
mod tests {
    use crate::{Geometry, Hull, Meaning, cook, intake};

    #[test]
    fn records_have_the_sizes_of_the_large_form() {
        let corner = |i: u32| [0, 1, 2].map(|axis| if i >> axis & 1 == 1 { 1.0 } else { 0.0 });
        let faces = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
        let cube = Hull {
            vertices: (0..8).map(corner).collect(),
            faces: faces.iter().map(|face| face.to_vec()).collect(),
            ..Hull::default()
        };
        let geometry = Geometry { hulls: vec![cube], ..Geometry::default() };
        let polygons = intake(&geometry, &Meaning::default()).unwrap().polygons;
        let bsp = cook(&polygons).unwrap().definitions.remove(0).bsp;
        let sizes = bsp.pack_large().map(|(_, bytes)| bytes.len());
        assert_eq!(sizes, [6 * 12, 6 * 16, 6 * 8, 6 * 8, 0, 6 * 20, 12 * 24, 8 * 20]);
        // The first child that is none is solid, the first that is a leaf has the highest bit.
        let (_, nodes) = &bsp.pack_large()[0];
        assert!(nodes.chunks(4).any(|c| c == [0xFF; 4]) && nodes.chunks(4).any(|c| c == [0, 0, 0, 0x80]));
    }
}
