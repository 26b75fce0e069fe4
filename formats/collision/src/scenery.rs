//! Loose triangles of Halo CE: scenery, placed by its angles or staged as the last surfaces of a BSP.
//!
//! They become definitions of their own, two-sided and beside the terrain, so that no leaf of the terrain
//! has to be cut for them.

use glam::{DMat3, DVec3};

use crate::input::{Geometry, Triangle};
use crate::model::{Child2d, Collision};
use crate::refusal::{Code, Refusal};
use crate::surface_flags::TWO_SIDED;

/// How a Halo CE placement turns its object: angles in radians.
pub fn placement_matrix(yaw: f64, pitch: f64, roll: f64) -> DMat3 {
    let turn = |angle: f64| (libm::sin(angle), libm::cos(angle));
    let ((sy, cy), (sp, cp), (sr, cr)) = (turn(yaw), turn(pitch), turn(roll));
    let row = |x: f64, y: f64, z: f64| DVec3::new(x, y, z);
    let rows = |a, b, c| DMat3::from_cols(a, b, c).transpose();
    let z = rows(row(cy, -sy, 0.0), row(sy, cy, 0.0), row(0.0, 0.0, 1.0));
    let y = rows(row(cp, 0.0, -sp), row(0.0, 1.0, 0.0), row(sp, 0.0, cp));
    let x = rows(row(1.0, 0.0, 0.0), row(0.0, cr, -sr), row(0.0, sr, cr));
    x * y * z
}

/// Adds an object's triangles where a placement puts them.
pub fn add_placed(
    geometry: &mut Geometry,
    vertices: &[[f32; 3]],
    triangles: &[[u32; 3]],
    material: i16,
    matrix: &DMat3,
    position: DVec3,
) {
    let base = geometry.vertices.len() as u32;
    let placed = vertices.iter().map(|p| *matrix * DVec3::from(p.map(f64::from)) + position);
    geometry.vertices.extend(placed.map(|p| p.to_array().map(|c| c as f32)));
    let flags = TWO_SIDED;
    geometry.triangles.extend(triangles.iter().map(|t| Triangle {
        vertices: t.map(|v| v + base),
        material,
        flags,
    }));
}

impl Collision {
    /// Takes off the last `count` surfaces, which no tree may name, and gives them as loose triangles.
    pub fn take_scenery(&mut self, count: usize) -> Result<Geometry, Refusal> {
        let refuse = |message: String| Refusal::new(Code::IndexOutOfRange, Vec::new(), message);
        let Some(kept) = self.surfaces.len().checked_sub(count) else {
            let have = self.surfaces.len();
            return Err(refuse(format!("{count} surfaces of scenery, there are {have} surfaces")));
        };
        let of_trees = self.nodes2d.iter().flat_map(|node| [node.left, node.right]);
        let named = of_trees.chain(self.references.iter().map(|reference| reference.node));
        if let Some(surface) = named
            .filter_map(|child| match child {
                Child2d::Surface(surface) if surface as usize >= kept => Some(surface),
                _ => None,
            })
            .min()
        {
            return Err(refuse(format!("surface {surface} is scenery, and the terrain's tree names it")));
        }
        let mut geometry = Geometry::default();
        for index in kept..self.surfaces.len() {
            let material = self.surfaces[index].material;
            let Some(ring) = self.ring(index as u32) else {
                return Err(refuse(format!("the ring of surface {index} does not close")));
            };
            let base = geometry.vertices.len() as u32;
            geometry.vertices.extend(ring.iter().map(|&v| self.vertices[v as usize].point));
            let fan = (1..ring.len() as u32 - 1).map(|i| [base, base + i, base + i + 1]);
            geometry.triangles.extend(fan.map(|vertices| Triangle { vertices, material, flags: TWO_SIDED }));
        }
        self.surfaces.truncate(kept);
        // Edges that only scenery used go with it; they come last as well, or are remade with the fans.
        let keep = |side: &mut Option<u32>, next: &mut Option<u32>| {
            if side.is_some_and(|surface| surface as usize >= kept) {
                (*side, *next) = (None, None);
            }
        };
        for edge in &mut self.edges {
            keep(&mut edge.left, &mut edge.forward);
            keep(&mut edge.right, &mut edge.reverse);
        }
        Ok(geometry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Meaning, Open, cook, intake};

    #[test]
    fn angles_turn_as_the_game_turns() {
        let quarter = std::f64::consts::FRAC_PI_2;
        let near = |found: DVec3, expected: DVec3| assert!((found - expected).length() < 1e-12, "{found}");
        near(placement_matrix(quarter, 0.0, 0.0) * DVec3::X, DVec3::Y);
        near(placement_matrix(0.0, quarter, 0.0) * DVec3::X, DVec3::Z);
        near(placement_matrix(0.0, 0.0, quarter) * DVec3::Y, DVec3::Z);
        // Yaw first, then pitch, then roll.
        near(placement_matrix(quarter, 0.0, quarter) * DVec3::X, DVec3::Z);
    }

    #[test]
    fn the_last_surfaces_come_off_as_triangles() {
        let square = |z: f32| [[0.0, 0.0, z], [2.0, 0.0, z], [2.0, 2.0, z], [0.0, 2.0, z]];
        let mut both = Geometry::default();
        for z in [0.0, 1.0] {
            add_placed(&mut both, &square(z), &[[0, 1, 2], [0, 2, 3]], 5, &DMat3::IDENTITY, DVec3::ZERO);
        }
        let meaning = Meaning { open: Open::TwoSided, shell: false };
        let mut polygons = intake(&both, &meaning).unwrap().polygons;
        let named = cook(&polygons).unwrap().definitions.remove(0).bsp;
        assert!(named.clone().take_scenery(1).unwrap_err().message.contains("names it"));
        assert!(named.clone().take_scenery(9).unwrap_err().message.contains("there are 2"));
        // Without a tree: tables as they are staged.
        polygons.polygons.truncate(2);
        let mut staged = polygons.tables();
        let scenery = staged.take_scenery(1).unwrap();
        assert_eq!((staged.surfaces.len(), scenery.triangles.len(), scenery.vertices.len()), (1, 2, 4));
        assert!(scenery.vertices.iter().all(|p| p[2] == 1.0));
        assert!(intake(&scenery, &meaning).is_ok());
    }
}
