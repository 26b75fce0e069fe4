//! Havok shapes: convex polyhedra with their mass, as physics models hold them.
//!
//! Vertices lie in groups of four, coordinate by coordinate; a last group that is short repeats its last
//! vertex, for zeros would stretch the hull to the origin. Faces are moved inwards by the convex radius
//! where the hull is thick enough, since the engine adds it again.

use glam::{DMat3, DVec3};
use wire::Writer;

use crate::hull;
use crate::input::Hull;
use crate::refusal::Refusal;

/// The convex radius: 5 cm.
pub const CONVEX_RADIUS: f64 = 0.0164;
/// A hull thinner than this many radii keeps a smaller radius.
const THICK: f64 = 4.0;

/// Volume, centre and tensor of a body of density 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MassProperties {
    /// Volume, and so mass.
    pub volume: f64,
    /// Centre of mass.
    pub centre: DVec3,
    /// Inertia about the centre.
    pub inertia: DMat3,
}

impl MassProperties {
    fn from_moments(volume: f64, first: DVec3, second: DMat3) -> Self {
        let centre = first / volume;
        let about = |i: usize, j: usize| second.col(i)[j] - volume * centre[i] * centre[j];
        let trace = about(0, 0) + about(1, 1) + about(2, 2);
        let entry = |i: usize, j: usize| if i == j { trace - about(i, i) } else { -about(i, j) };
        let column = |i: usize| DVec3::new(entry(i, 0), entry(i, 1), entry(i, 2));
        Self { volume, centre, inertia: DMat3::from_cols(column(0), column(1), column(2)) }
    }

    /// Of what the triangles enclose.
    fn of_triangles(triangles: impl Iterator<Item = [DVec3; 3]>) -> Self {
        let (mut volume, mut first, mut second) = (0.0, DVec3::ZERO, DMat3::ZERO);
        for [p, q, r] in triangles {
            let v = p.dot(q.cross(r)) / 6.0;
            let sum = p + q + r;
            volume += v;
            first += sum * (v / 4.0);
            let outer = |a: DVec3| DMat3::from_cols(a * a.x, a * a.y, a * a.z);
            second += (outer(p) + outer(q) + outer(r) + outer(sum)) * (v / 20.0);
        }
        Self::from_moments(volume, first, second)
    }

    /// Of a hull.
    pub fn of_hull(hull: &Hull) -> Self {
        let point = |v: u32| DVec3::from(hull.vertices[v as usize].map(f64::from));
        let fans = hull
            .faces
            .iter()
            .filter(|face| face.len() > 2)
            .flat_map(|face| (1..face.len() - 1).map(move |i| [face[0], face[i], face[i + 1]]));
        Self::of_triangles(fans.map(|triangle| triangle.map(point)))
    }

    /// Of several bodies together.
    pub fn of_all(parts: &[Self]) -> Self {
        let volume: f64 = parts.iter().map(|part| part.volume).sum();
        let centre = parts.iter().map(|part| part.centre * part.volume).sum::<DVec3>() / volume;
        let moved = parts.iter().map(|part| {
            let d = part.centre - centre;
            let outer = DMat3::from_cols(d * d.x, d * d.y, d * d.z);
            part.inertia + (DMat3::from_diagonal(DVec3::splat(d.length_squared())) - outer) * part.volume
        });
        let inertia = moved.fold(DMat3::ZERO, |sum, part| sum + part);
        Self { volume, centre, inertia }
    }

    /// The 64 bytes of a mass distribution: centre and the three rows.
    pub fn distribution(&self) -> [u8; 64] {
        let mut w = Writer::with_capacity(64);
        for row in [self.centre, self.inertia.row(0), self.inertia.row(1), self.inertia.row(2)] {
            row.to_array().into_iter().for_each(|c| _ = w.f32(c as f32));
            w.f32(0.0);
        }
        let mut bytes = [0; 64];
        bytes.copy_from_slice(w.as_bytes());
        bytes
    }
}

/// Which sign the distance of a plane equation has. It is not known of this game: ask a donor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaneSign {
    /// `w = -n·p`: inside is where `n·x + w <= 0`.
    Negative,
    /// `w = n·p`.
    Positive,
}

impl PlaneSign {
    /// The sign with which all vertices of a donor lie inside its planes; `None` when neither or both fit.
    pub fn of_donor(vertices: &[DVec3], planes: &[[f32; 4]]) -> Option<Self> {
        let fits = |sign: f64| {
            planes.iter().all(|[x, y, z, w]| {
                let normal = DVec3::new(f64::from(*x), f64::from(*y), f64::from(*z));
                vertices.iter().all(|v| normal.dot(*v) + sign * f64::from(*w) <= 1e-3)
            })
        };
        match (fits(1.0), fits(-1.0)) {
            (true, false) => Some(Self::Negative),
            (false, true) => Some(Self::Positive),
            _ => None,
        }
    }
}

/// A convex polyhedron.
#[derive(Clone, Debug, PartialEq)]
pub struct Polyhedron {
    /// Its corners, shrunk by the radius.
    pub vertices: Vec<DVec3>,
    /// Its planes: outward normal, and distance `n·p`.
    pub planes: Vec<(DVec3, f64)>,
    /// The convex radius around it.
    pub radius: f64,
    /// Low corner of it with its radius.
    pub low: DVec3,
    /// High corner of it with its radius.
    pub high: DVec3,
    /// Of the hull as it was given.
    pub mass: MassProperties,
}

impl Polyhedron {
    /// Makes the polyhedron of a hull, which is checked as intake checks it.
    pub fn new(hull: &Hull) -> Result<Self, Refusal> {
        hull::check(std::slice::from_ref(hull))?;
        let mut faces = hull::planes(hull);
        // The thinnest way through, across a face.
        let corners: Vec<DVec3> = hull.vertices.iter().map(|p| DVec3::from(p.map(f64::from))).collect();
        let across =
            |(n, d): &(DVec3, f64)| d - corners.iter().map(|p| n.dot(*p)).fold(f64::INFINITY, f64::min);
        let thinnest = faces.iter().map(across).fold(f64::INFINITY, f64::min);
        let radius = if thinnest > THICK * CONVEX_RADIUS { CONVEX_RADIUS } else { thinnest / (2.0 * THICK) };
        let shrunk = shrink(hull, &faces, radius);
        for (_, d) in &mut faces {
            *d -= radius;
        }
        let low = shrunk.iter().fold(DVec3::INFINITY, |low, p| low.min(*p)) - radius;
        let high = shrunk.iter().fold(DVec3::NEG_INFINITY, |high, p| high.max(*p)) + radius;
        let mass = MassProperties::of_hull(hull);
        Ok(Self { vertices: shrunk, planes: faces, radius, low, high, mass })
    }

    /// The groups of four vertices, 48 bytes each.
    pub fn four_vectors(&self) -> Vec<u8> {
        let mut w = Writer::with_capacity(self.vertices.len().div_ceil(4) * 48);
        for group in self.vertices.chunks(4) {
            for axis in 0..3 {
                for i in 0..4 {
                    w.f32(group.get(i).or(group.last()).map_or(0.0, |p| p[axis]) as f32);
                }
            }
        }
        w.into_bytes()
    }

    /// The plane equations, 16 bytes each.
    pub fn plane_equations(&self, sign: PlaneSign) -> Vec<u8> {
        let mut w = Writer::with_capacity(self.planes.len() * 16);
        for (normal, d) in &self.planes {
            normal.to_array().into_iter().for_each(|c| _ = w.f32(c as f32));
            w.f32(if sign == PlaneSign::Negative { -*d } else { *d } as f32);
        }
        w.into_bytes()
    }

    /// The 176 bytes of the polyhedron: its base is kept from a donor where there is one.
    pub fn element(&self, name: u32, material: i8, donor: Option<&[u8; 176]>) -> [u8; 176] {
        let mut w = Writer::with_capacity(176);
        match donor {
            Some(donor) => w.bytes(donor),
            None => w.zeros(176).patch(8, &1.0_f32.to_le_bytes()).patch(28, &[0, 0, 0xFF, 0xFF]),
        };
        let float = |w: &mut Writer, at: usize, value: f64| _ = w.patch(at, &(value as f32).to_le_bytes());
        w.patch(0, &name.to_le_bytes()).patch(4, &material.to_le_bytes());
        float(&mut w, 20, self.mass.volume);
        float(&mut w, 24, self.mass.volume);
        // The header of all Havok shapes, and of convex vertices.
        w.patch(32, &[0; 8]).patch(40, &0_u16.to_le_bytes()).patch(42, &128_u16.to_le_bytes());
        w.patch(48, &[0; 8]).patch(56, &8_u32.to_le_bytes());
        float(&mut w, 64, self.radius);
        let (half, centre) = ((self.high - self.low) / 2.0, (self.high + self.low) / 2.0);
        for (at, v) in [(80, half), (96, centre)] {
            for (i, c) in v.to_array().into_iter().chain([0.0]).enumerate() {
                float(&mut w, at + 4 * i, c);
            }
        }
        let sizes = [(120, self.vertices.len().div_ceil(4) as u32), (152, self.planes.len() as u32)];
        for (at, size) in sizes {
            w.patch(at, &size.to_le_bytes()).patch(at + 4, &(0x8000_0000 | size).to_le_bytes());
        }
        w.patch(128, &(self.vertices.len() as u32).to_le_bytes());
        let mut element = [0; 176];
        element.copy_from_slice(w.as_bytes());
        element
    }
}

/// The corners once every face has moved inwards by `radius`: where the planes that met in a corner meet
/// now. A corner in which their planes do not fix a point moves to the nearest place behind all of them.
fn shrink(hull: &Hull, faces: &[(DVec3, f64)], radius: f64) -> Vec<DVec3> {
    let used: std::collections::BTreeSet<u32> = hull.faces.iter().flatten().copied().collect();
    let corners = used.iter().map(|&v| DVec3::from(hull.vertices[v as usize].map(f64::from)));
    corners
        .map(|corner| {
            let met: Vec<DVec3> =
                faces.iter().filter(|(n, d)| (n.dot(corner) - d).abs() < 1e-3).map(|(n, _)| *n).collect();
            // Least squares over the faces that meet here: n·m = -radius for each.
            let mut normal = DMat3::ZERO;
            let mut sum = DVec3::ZERO;
            for n in &met {
                normal += DMat3::from_cols(*n * n.x, *n * n.y, *n * n.z);
                sum += *n;
            }
            if normal.determinant() > 1e-6 {
                corner - normal.inverse() * sum * radius
            } else {
                corner - sum.normalize_or_zero() * radius
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cube(size: f32, at: f32) -> Hull {
        let corner = |i: u32| [0, 1, 2].map(|axis| at + if i >> axis & 1 == 1 { size } else { 0.0 });
        let faces = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
        Hull {
            vertices: (0..8).map(corner).collect(),
            faces: faces.iter().map(|face| face.to_vec()).collect(),
            ..Hull::default()
        }
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn the_unit_cube_weighs_one() {
        let mass = MassProperties::of_hull(&cube(1.0, 0.0));
        assert!(near(mass.volume, 1.0) && mass.centre.distance(DVec3::splat(0.5)) < 1e-12);
        for i in 0..3 {
            for j in 0..3 {
                let expected = if i == j { 1.0 / 6.0 } else { 0.0 };
                assert!(near(mass.inertia.col(i)[j], expected), "{mass:?}");
            }
        }
        let moved = MassProperties::of_hull(&cube(1.0, 7.0));
        assert!((moved.inertia - mass.inertia).abs().to_cols_array().iter().all(|c| *c < 1e-9));
    }

    #[test]
    fn two_halves_are_one_whole() {
        let whole = Hull {
            vertices: cube(2.0, -1.0).vertices.iter().map(|p| [p[0] * 2.0, p[1], p[2]]).collect(),
            ..cube(2.0, -1.0)
        };
        let half = |at: f32| Hull {
            vertices: cube(2.0, -1.0).vertices.iter().map(|p| [p[0] + at, p[1], p[2]]).collect(),
            ..cube(2.0, -1.0)
        };
        let parts = [half(-1.0), half(1.0)].map(|hull| MassProperties::of_hull(&hull));
        let (sum, whole) = (MassProperties::of_all(&parts), MassProperties::of_hull(&whole));
        assert!(near(sum.volume, whole.volume) && (sum.centre - whole.centre).length() < 1e-9);
        assert!((sum.inertia - whole.inertia).abs().to_cols_array().iter().all(|c| *c < 1e-9));
    }

    #[test]
    fn shrunk_vertices_and_radius_fill_the_hull() {
        let it = Polyhedron::new(&cube(1.0, 0.0)).unwrap();
        assert!(near(it.radius, CONVEX_RADIUS) && it.planes.len() == 6);
        assert!(it.low.length() < 1e-9 && (it.high - 1.0).length() < 1e-9, "{it:?}");
        for (normal, d) in &it.planes {
            assert!(it.vertices.iter().all(|v| normal.dot(*v) <= d + 1e-9));
        }
        let thin = Polyhedron::new(&cube(0.02, 0.0)).unwrap();
        assert!(thin.radius < 0.003 && (thin.high - 0.02).length() < 1e-8);
    }

    #[test]
    fn a_short_group_repeats_its_last_vertex() {
        let mut it = Polyhedron::new(&cube(1.0, 0.0)).unwrap();
        it.vertices.truncate(5);
        let bytes = it.four_vectors();
        assert_eq!(bytes.len(), 96);
        let xs: Vec<[u8; 4]> = bytes[48..64].chunks(4).map(|c| c.try_into().unwrap()).collect();
        assert!(xs.iter().all(|x| *x == xs[0]) && f32::from_le_bytes(xs[0]) != 0.0);
    }

    #[test]
    fn a_donor_tells_the_sign_of_its_planes() {
        let it = Polyhedron::new(&cube(1.0, 3.0)).unwrap();
        for sign in [PlaneSign::Negative, PlaneSign::Positive] {
            let planes: Vec<[f32; 4]> = it
                .plane_equations(sign)
                .chunks(16)
                .map(|p| [0, 4, 8, 12].map(|i| f32::from_le_bytes(p[i..i + 4].try_into().unwrap())))
                .collect();
            assert_eq!(PlaneSign::of_donor(&it.vertices, &planes), Some(sign));
        }
        assert_eq!(PlaneSign::of_donor(&it.vertices, &[[0.0, 0.0, 1.0, 0.0]]), None);
    }

    #[test]
    fn the_element_states_its_sizes() {
        let element = Polyhedron::new(&cube(1.0, 0.0)).unwrap().element(5, 2, None);
        let word = |at: usize| u32::from_le_bytes(element[at..at + 4].try_into().unwrap());
        assert_eq!([word(0), word(56), word(120), word(124), word(128)], [5, 8, 2, 0x8000_0002, 8]);
        assert_eq!([word(152), word(156)], [6, 0x8000_0006]);
        assert_eq!((element[4], &element[30..32]), (2, &[0xFF, 0xFF][..]));
    }
}
