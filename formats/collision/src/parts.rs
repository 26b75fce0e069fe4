//! The elements of physics models, collision models and instances, as bytes. Donors give what is not
//! known; what must agree with geometry is always written.
//!
//! The engine keeps copies of one truth in several places (boxes, MOPP sizes and frames), and tests a
//! different place where one is stale: whoever writes a MOPP or moves a shape writes its copies with
//! [`write_mopp_shape`] and [`write_geometry_shape`].

use glam::DVec3;
use wire::Writer;

use crate::havok::{MassProperties, PlaneSign, Polyhedron};
use crate::input::Hull;
use crate::mopp::Mopp;
use crate::own_bsp::Extent;
use crate::refusal::{Code, Refusal};

/// Most polyhedra of a physics model.
const MAX_POLYHEDRA: usize = 1_024;
/// Most groups of four vertices.
const MAX_FOUR_VECTORS: usize = 8_192;
/// Most plane equations.
const MAX_PLANES: usize = 4_096;
/// The type of a polyhedron, and of a list, in a shape reference.
const SHAPE_POLYHEDRON: u16 = 4;
const SHAPE_LIST: u16 = 14;

/// How a body moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Motion {
    /// By its tensor.
    Box = 2,
    /// By its tensor, steadied.
    StabilisedBox = 3,
    /// As it is told.
    Keyframed = 4,
    /// Not at all.
    Fixed = 5,
}

/// The blocks of a physics model with one rigid body.
#[derive(Clone, Debug, PartialEq)]
pub struct PhysicsModel {
    /// 176 bytes each.
    pub polyhedra: Vec<u8>,
    /// 48 bytes each, shared by the polyhedra in order.
    pub four_vectors: Vec<u8>,
    /// 16 bytes each, likewise.
    pub plane_equations: Vec<u8>,
    /// 144 bytes; empty for a single polyhedron.
    pub lists: Vec<u8>,
    /// 32 bytes each.
    pub list_shapes: Vec<u8>,
    /// 64 bytes each, one a polyhedron.
    pub mass_distributions: Vec<u8>,
    /// All hulls together, at density 1.
    pub mass: MassProperties,
    /// Around all hulls.
    pub extent: Extent,
    shape: (u16, u16),
}

impl PhysicsModel {
    /// Makes the blocks of a body of several hulls. `donor` is a polyhedron of the donor, for friction and
    /// the like.
    pub fn new(
        hulls: &[Hull],
        sign: PlaneSign,
        name: u32,
        donor: Option<&[u8; 176]>,
    ) -> Result<Self, Refusal> {
        let polyhedra: Result<Vec<Polyhedron>, Refusal> = hulls.iter().map(Polyhedron::new).collect();
        let polyhedra = polyhedra?;
        let Some(first) = polyhedra.first() else {
            return Err(Refusal::new(Code::Empty, Vec::new(), "a physics model needs a hull"));
        };
        let vectors: usize = polyhedra.iter().map(|it| it.vertices.len().div_ceil(4)).sum();
        let planes: usize = polyhedra.iter().map(|it| it.planes.len()).sum();
        for (code, what, found, limit) in [
            (Code::TooManySurfaces, "polyhedra", polyhedra.len(), MAX_POLYHEDRA),
            (Code::TooManyVertices, "groups of four vertices", vectors, MAX_FOUR_VECTORS),
            (Code::TooManyPlanes, "plane equations", planes, MAX_PLANES),
        ] {
            if found > limit {
                return Err(Refusal::over(code, what, found, limit));
            }
        }
        let low = polyhedra.iter().fold(first.low, |low, it| low.min(it.low));
        let high = polyhedra.iter().fold(first.high, |high, it| high.max(it.high));
        let masses: Vec<MassProperties> = polyhedra.iter().map(|it| it.mass).collect();
        let mut it = Self {
            polyhedra: Vec::new(),
            four_vectors: Vec::new(),
            plane_equations: Vec::new(),
            lists: Vec::new(),
            list_shapes: Vec::new(),
            mass_distributions: Vec::new(),
            mass: MassProperties::of_all(&masses),
            extent: Extent { low, high },
            shape: (SHAPE_POLYHEDRON, 0),
        };
        for (index, polyhedron) in (0_u16..).zip(&polyhedra) {
            let material = i8::try_from(hulls[usize::from(index)].material).unwrap_or(-1);
            let mut element = polyhedron.element(name, material, donor);
            element[28..30].copy_from_slice(&index.to_le_bytes());
            it.polyhedra.extend(element);
            it.four_vectors.extend(polyhedron.four_vectors());
            it.plane_equations.extend(polyhedron.plane_equations(sign));
            it.mass_distributions.extend(polyhedron.mass.distribution());
        }
        if polyhedra.len() > 1 {
            it.add_list(polyhedra.len() as u32);
        }
        Ok(it)
    }

    fn add_list(&mut self, count: u32) {
        let mut w = Writer::with_capacity(144);
        w.zeros(144).patch(10, &1_u16.to_le_bytes()).patch(24, &10_u32.to_le_bytes());
        w.patch(56, &count.to_le_bytes()).patch(60, &(0x8000_0000 | count).to_le_bytes());
        vector(&mut w, 80, self.extent.half(), 0.0);
        vector(&mut w, 96, self.extent.centre(), 0.0);
        // A bit a child, in the eight words that there are.
        for word in 0..8_u32 {
            let used = count.saturating_sub(word * 32).min(32);
            let mask = if used == 32 { u32::MAX } else { (1 << used) - 1 };
            w.patch(112 + 4 * word as usize, &mask.to_le_bytes());
        }
        self.lists = w.into_bytes();
        for index in 0..count as u16 {
            let mut w = Writer::with_capacity(32);
            w.u16(SHAPE_POLYHEDRON).u16(index).zeros(12).u32(count).zeros(12);
            self.list_shapes.extend(w.into_bytes());
        }
        self.shape = (SHAPE_LIST, 0);
    }

    /// The donor's rigid body with this shape, mass and motion.
    pub fn rigid_body(&self, donor: &[u8; 208], mass: f64, motion: Motion) -> [u8; 208] {
        let mut w = Writer::with_capacity(208);
        w.bytes(donor);
        let centre = self.extent.centre();
        for (i, c) in centre.to_array().into_iter().chain([self.extent.radius()]).enumerate() {
            w.patch(8 + 4 * i, &(c as f32).to_le_bytes());
        }
        w.patch(26, &(-1_i16).to_le_bytes()).patch(28, &[motion as u8]);
        vector(&mut w, 96, self.mass.centre, 0.0);
        let scale = mass / self.mass.volume;
        for row in 0..3 {
            vector(&mut w, 112 + 16 * row, self.mass.inertia.row(row) * scale, 0.0);
        }
        let (kind, index) = self.shape;
        w.patch(168, &kind.to_le_bytes()).patch(170, &index.to_le_bytes());
        w.patch(176, &(mass as f32).to_le_bytes());
        let mut body = [0; 208];
        body.copy_from_slice(w.as_bytes());
        body
    }
}

fn vector(w: &mut Writer, at: usize, v: DVec3, last: f64) {
    for (i, c) in v.to_array().into_iter().chain([last]).enumerate() {
        w.patch(at + 4 * i, &(c as f32).to_le_bytes());
    }
}

/// Whose shape it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ShapeOwner {
    /// A collision model.
    Model,
    /// An instance of a structure BSP.
    Instance {
        /// The BSP, as the scenario counts.
        bsp: i8,
        /// The instance.
        instance: u16,
        /// The instance's scale.
        scale: f32,
    },
}

/// Writes what must agree with geometry into a `collision geometry shape` of 128 bytes. The box is that of
/// the vertices, times the scale of an instance, neither turned nor moved.
pub fn write_geometry_shape(shape: &mut [u8; 128], local: &Extent, owner: ShapeOwner) {
    let mut w = Writer::with_capacity(128);
    w.bytes(shape);
    let (bsp, instance, scale) = match owner {
        ShapeOwner::Model => (-1, u16::MAX, 1.0),
        ShapeOwner::Instance { bsp, instance, scale } => (bsp, instance, scale),
    };
    if owner == ShapeOwner::Model {
        w.patch(41, &[2]);
    }
    let keep =
        |at: usize| f64::from(f32::from_le_bytes([shape[at], shape[at + 1], shape[at + 2], shape[at + 3]]));
    vector(&mut w, 48, local.centre() * f64::from(scale), keep(60));
    vector(&mut w, 64, local.half() * f64::from(scale), keep(76));
    w.patch(104, &bsp.to_le_bytes()).patch(106, &instance.to_le_bytes()).patch(108, &1.0_f32.to_le_bytes());
    shape.copy_from_slice(w.as_bytes());
}

/// Writes the copies of a MOPP's size and frame into a `mopp bv tree shape` of 128 bytes.
pub fn write_mopp_shape(shape: &mut [u8; 128], mopp: &Mopp) {
    let mut w = Writer::with_capacity(128);
    w.bytes(shape).patch(24, &27_u32.to_le_bytes());
    w.patch(56, &(mopp.code.len() as u32).to_le_bytes());
    let [x, y, z] = mopp.frame.offset;
    for (at, value) in [(64, x), (68, y), (72, z), (76, mopp.frame.scale), (112, 1.0)] {
        w.patch(at, &value.to_le_bytes());
    }
    shape.copy_from_slice(w.as_bytes());
}

/// The donor's instance of 148 bytes with a place, a box and a ball.
pub fn instance_element(donor: &[u8; 148], definition: u16, position: DVec3, world: &Extent) -> [u8; 148] {
    let mut w = Writer::with_capacity(148);
    w.bytes(donor).patch(0, &1.0_f32.to_le_bytes());
    let three = |w: &mut Writer, at: usize, v: DVec3| {
        for (i, c) in v.to_array().into_iter().enumerate() {
            w.patch(at + 4 * i, &(c as f32).to_le_bytes());
        }
    };
    for (at, axis) in [(4, DVec3::X), (16, DVec3::Y), (28, DVec3::Z), (40, position)] {
        three(&mut w, at, axis);
    }
    w.patch(52, &definition.to_le_bytes());
    for axis in 0..3 {
        w.patch(76 + 8 * axis, &(world.low[axis] as f32).to_le_bytes());
        w.patch(80 + 8 * axis, &(world.high[axis] as f32).to_le_bytes());
    }
    three(&mut w, 100, world.centre());
    w.patch(112, &(world.radius() as f32).to_le_bytes());
    let mut element = [0; 148];
    element.copy_from_slice(w.as_bytes());
    element
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mopp::KeyBox;

    fn blocks(count: u32) -> Vec<Hull> {
        let faces = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
        let block = |n: u32| {
            let corner = |i: u32| [0, 1, 2].map(|axis| if i >> axis & 1 == 1 { 1.0 } else { 0.0 } + n as f32);
            let vertices = (0..8).map(corner).collect();
            Hull { vertices, faces: faces.iter().map(|face| face.to_vec()).collect(), material: 3, flags: 0 }
        };
        (0..count).map(block).collect()
    }

    fn float(bytes: &[u8], at: usize) -> f32 {
        f32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
    }

    #[test]
    fn a_body_of_several_hulls_has_a_list() {
        let model = PhysicsModel::new(&blocks(34), PlaneSign::Negative, 9, None).unwrap();
        assert_eq!([model.polyhedra.len(), model.four_vectors.len()], [34 * 176, 34 * 2 * 48]);
        assert_eq!([model.plane_equations.len(), model.list_shapes.len()], [34 * 6 * 16, 34 * 32]);
        assert_eq!(model.lists.len(), 144);
        assert_eq!(&model.lists[112..124], &[[0xFF; 4], [3, 0, 0, 0], [0; 4]].concat()[..]);
        let body = model.rigid_body(&[0x55; 208], 10.0, Motion::Fixed);
        assert_eq!((&body[168..172], body[28]), (&[14, 0, 0, 0][..], 5));
        assert_eq!((float(&body, 176), float(&body, 96)), (10.0, 17.0));
        assert_eq!(body[60..64], [0x55; 4], "damping is the donor's");
    }

    #[test]
    fn a_single_hull_is_the_shape_itself() {
        let model = PhysicsModel::new(&blocks(1), PlaneSign::Negative, 9, None).unwrap();
        assert!(model.lists.is_empty() && model.list_shapes.is_empty());
        assert_eq!(model.rigid_body(&[0; 208], 1.0, Motion::Keyframed)[168..172], [4, 0, 0, 0]);
        assert!(PhysicsModel::new(&[], PlaneSign::Negative, 9, None).is_err());
        let refusal = PhysicsModel::new(&blocks(683), PlaneSign::Negative, 9, None).unwrap_err();
        assert_eq!(refusal.code, Code::TooManyPlanes);
    }

    #[test]
    fn copies_agree_with_what_they_copy() {
        let extent = Extent { low: DVec3::new(-1.0, 0.0, 2.0), high: DVec3::new(3.0, 1.0, 4.0) };
        let mopp = Mopp::compile(&[KeyBox { key: 1, low: extent.low, high: extent.high }]);
        let (mut geometry, mut tree) = ([7; 128], [7; 128]);
        write_geometry_shape(
            &mut geometry,
            &extent,
            ShapeOwner::Instance { bsp: 2, instance: 763, scale: 2.0 },
        );
        assert_eq!(
            [48, 52, 56, 64, 68, 72, 108].map(|at| float(&geometry, at)),
            [2.0, 1.0, 6.0, 4.0, 1.0, 2.0, 1.0]
        );
        assert_eq!((geometry[104], &geometry[106..108], geometry[60]), (2, &763_u16.to_le_bytes()[..], 7));
        write_geometry_shape(&mut geometry, &extent, ShapeOwner::Model);
        assert_eq!((geometry[104], geometry[41], &geometry[106..108]), (0xFF, 2, &[0xFF, 0xFF][..]));
        write_mopp_shape(&mut tree, &mopp);
        assert_eq!((tree[24], tree[56]), (27, mopp.code.len() as u8));
        assert_eq!(float(&tree, 76), mopp.frame.scale);
        let element = mopp.element(None);
        assert_eq!(crate::mopp::read_element(&element, &mopp.code).unwrap(), mopp);
        assert!(crate::mopp::read_element(&element, &[0; 5]).is_err());
        let instance = instance_element(&[0; 148], 4, DVec3::new(1.0, 2.0, 3.0), &extent);
        let found = [0, 4, 20, 36, 40, 76, 80, 92, 96, 100].map(|at| float(&instance, at));
        assert_eq!(found, [1.0, 1.0, 1.0, 1.0, 1.0, -1.0, 3.0, 2.0, 4.0, 1.0]);
        assert!((float(&instance, 112) - 21_f32.sqrt() / 2.0).abs() < 1e-6);
    }
}
