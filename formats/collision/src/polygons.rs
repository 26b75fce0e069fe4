//! Polygons on shared planes: what intake hands to the tree builder.
//!
//! Planes are rounded to single precision when they are made, and used rounded from then on. Two
//! polygons share a plane only where all corners lie on it: sharing by the normal alone would put far
//! corners off the plane that the tree routes by.

use std::collections::BTreeMap;

use glam::DVec3;

use crate::model::{Collision, Edge, Plane, Surface, Vertex};
use crate::weld::Grid;

/// How far from a plane the corners of a polygon on it may lie.
pub(crate) const ON_PLANE: f64 = 1.0 / 16384.0;

/// A polygon of at least three corners.
#[derive(Clone, Debug, PartialEq)]
pub struct Polygon {
    /// Corners, counter-clockwise seen from its front.
    pub ring: Vec<u32>,
    /// Its plane.
    pub plane: u32,
    /// Whether it faces against the plane.
    pub negated: bool,
    /// [`crate::surface_flags`].
    pub flags: u16,
    /// Material, or -1.
    pub material: i16,
}

impl Polygon {
    /// Whether it blocks from both sides.
    pub fn is_two_sided(&self) -> bool {
        self.flags & crate::surface_flags::TWO_SIDED != 0
    }
}

/// Polygons with their corners and planes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Polygons {
    /// Corners.
    pub vertices: Vec<[f32; 3]>,
    /// Planes.
    pub planes: Vec<Plane>,
    /// Polygons.
    pub polygons: Vec<Polygon>,
    /// Whether what lies outside of everything is solid.
    pub solid_outside: bool,
}

/// Planes in the order in which they were first needed.
pub(crate) struct Planes {
    planes: Vec<Plane>,
    grid: Grid<4>,
}

impl Planes {
    pub(crate) fn new() -> Self {
        let tolerance = 1.0 / 512.0;
        Self { planes: Vec::new(), grid: Grid::new([1.0 / 64.0; 4], [tolerance; 4]) }
    }

    /// The plane of a polygon with this normal and these corners: an earlier one in either direction that
    /// fits all of them, or a new one.
    pub(crate) fn share(&mut self, normal: DVec3, points: &[DVec3]) -> (u32, bool) {
        let snap = |c: f64| if c.abs() < 1e-9 { 0.0 } else { c };
        let normal = DVec3::new(snap(normal.x), snap(normal.y), snap(normal.z)).normalize();
        let rounded = DVec3::from(normal.to_array().map(|c| f64::from(c as f32)));
        let d = points.iter().map(|p| rounded.dot(*p)).sum::<f64>() / points.len() as f64;
        let fits = |plane: &Plane, sign: f64| {
            plane.normal64().dot(normal) * sign >= 1.0 - 1e-7
                && points.iter().all(|p| plane.distance(*p).abs() <= ON_PLANE)
        };
        let place = |n: DVec3, d: f64| [n.x, n.y, n.z, d];
        let find = |sign: f64| {
            let accept = |i: u32| fits(&self.planes[i as usize], sign);
            self.grid.lowest(place(rounded * sign, d * sign), accept).map(|i| (i, sign < 0.0))
        };
        match (find(1.0), find(-1.0)) {
            (Some(a), Some(b)) => a.min(b),
            (Some(found), None) | (None, Some(found)) => found,
            (None, None) => {
                let index = self.planes.len() as u32;
                let plane = Plane { normal: normal.to_array().map(|c| c as f32), d: d as f32 };
                self.planes.push(plane);
                self.grid.keep(place(rounded, d), index);
                (index, false)
            }
        }
    }

    pub(crate) fn into_planes(self) -> Vec<Plane> {
        self.planes
    }
}

/// The normal of a triangle, from the corner opposite its longest edge.
pub(crate) fn triangle_normal(p: [DVec3; 3]) -> DVec3 {
    let longest = (0..3)
        .max_by(|&a, &b| {
            let length = |i: usize| (p[(i + 1) % 3] - p[i]).length_squared();
            length(a).total_cmp(&length(b)).then(b.cmp(&a))
        })
        .unwrap_or(0);
    let [a, b, c] = [p[(longest + 2) % 3], p[longest], p[(longest + 1) % 3]];
    (b - a).cross(c - a).normalize_or_zero()
}

/// The normal of a polygon, twice its area long.
pub(crate) fn newell(points: &[DVec3]) -> DVec3 {
    let origin = points[0];
    points[1..].windows(2).map(|pair| (pair[0] - origin).cross(pair[1] - origin)).sum()
}

impl Polygons {
    /// The polygons of finished tables; those whose rings are broken are left out. Outside is what the tables
    /// say of a far point.
    pub fn of(bsp: &Collision) -> Self {
        let whole = |(surface, it): (u32, &Surface)| {
            let ring = bsp.ring(surface).filter(|ring| ring.len() > 2)?;
            let known = (it.plane as usize) < bsp.planes.len();
            let (plane, negated, flags, material) = (it.plane, it.negated, it.flags, it.material);
            known.then_some(Polygon { ring, plane, negated, flags, material })
        };
        Self {
            vertices: bsp.vertices.iter().map(|vertex| vertex.point).collect(),
            planes: bsp.planes.clone(),
            polygons: (0_u32..).zip(&bsp.surfaces).filter_map(whole).collect(),
            solid_outside: bsp.is_solid(glam::Vec3::splat(1.0e5)).unwrap_or(false),
        }
    }

    /// A corner, in double precision.
    pub fn point(&self, vertex: u32) -> DVec3 {
        DVec3::from(self.vertices[vertex as usize].map(f64::from))
    }

    /// The corners of a polygon.
    pub fn points(&self, polygon: &Polygon) -> Vec<DVec3> {
        polygon.ring.iter().map(|&v| self.point(v)).collect()
    }

    /// The unit normal that a polygon faces along.
    pub fn normal(&self, polygon: &Polygon) -> DVec3 {
        let normal = self.planes[polygon.plane as usize].normal64();
        if polygon.negated { -normal } else { normal }
    }

    /// The tolerance of building: far from the origin single precision carries less.
    pub fn epsilon(&self) -> f64 {
        let most = self.vertices.iter().flatten().fold(0.0_f64, |most, c| most.max(f64::from(c.abs())));
        (4.0 * most / f64::from(1 << 23)).max(1e-5)
    }

    /// The smallest box around all corners.
    pub fn bounds(&self) -> (DVec3, DVec3) {
        let mut points = self.polygons.iter().flat_map(|p| &p.ring).map(|&v| self.point(v));
        let first = points.next().unwrap_or_default();
        points.fold((first, first), |(lo, hi), p| (lo.min(p), hi.max(p)))
    }

    /// The polygons of `chosen`, in that order, with the vertices and planes that they need.
    #[must_use]
    pub fn subset(&self, chosen: &[u32]) -> Self {
        let mut it = Self { solid_outside: self.solid_outside, ..Self::default() };
        let (mut vertices, mut planes) = (BTreeMap::new(), BTreeMap::new());
        for &index in chosen {
            let mut polygon = self.polygons[index as usize].clone();
            for vertex in &mut polygon.ring {
                *vertex = *vertices.entry(*vertex).or_insert_with(|| {
                    it.vertices.push(self.vertices[*vertex as usize]);
                    it.vertices.len() as u32 - 1
                });
            }
            polygon.plane = *planes.entry(polygon.plane).or_insert_with(|| {
                it.planes.push(self.planes[polygon.plane as usize]);
                it.planes.len() as u32 - 1
            });
            it.polygons.push(polygon);
        }
        it
    }

    /// The same polygons, moved by whole units so that single precision holds them exactly; their planes get
    /// distances of their own, which carry more near the origin.
    #[must_use]
    pub(crate) fn moved(mut self, by: DVec3) -> Self {
        for point in &mut self.vertices {
            *point = (DVec3::from(point.map(f64::from)) + by).to_array().map(|c| c as f32);
        }
        let mut sums = vec![(0.0, 0_u32); self.planes.len()];
        for polygon in &self.polygons {
            let (sum, count) = &mut sums[polygon.plane as usize];
            let normal = self.planes[polygon.plane as usize].normal64();
            *sum += polygon.ring.iter().map(|&v| normal.dot(self.point(v))).sum::<f64>();
            *count += polygon.ring.len() as u32;
        }
        for (plane, (sum, count)) in self.planes.iter_mut().zip(sums) {
            if count > 0 {
                plane.d = (sum / f64::from(count)) as f32;
            }
        }
        self
    }

    /// Joins pairs of coplanar triangles across a whole shared edge into convex quads.
    pub(crate) fn merge(&mut self) {
        let mut users: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
        for (index, polygon) in self.polygons.iter().enumerate().filter(|(_, p)| p.ring.len() == 3) {
            for (a, b) in sides(&polygon.ring) {
                users.entry((a.min(b), a.max(b))).or_default().push(index as u32);
            }
        }
        let mut gone = vec![false; self.polygons.len()];
        for index in 0..self.polygons.len() {
            if gone[index] || self.polygons[index].ring.len() != 3 {
                continue;
            }
            let mut edges: Vec<(u32, u32)> = sides(&self.polygons[index].ring).collect();
            let length = |(a, b): (u32, u32)| (self.point(b) - self.point(a)).length_squared();
            edges.sort_by(|&a, &b| length(b).total_cmp(&length(a)));
            let joined = edges.iter().find_map(|&(a, b)| {
                let [first, second] = users[&(a.min(b), a.max(b))][..] else { return None };
                let other = if first as usize == index { second } else { first } as usize;
                if gone[other] || other == index {
                    return None;
                }
                Some((other, self.quad(index, other, (a, b))?))
            });
            if let Some((other, ring)) = joined {
                self.polygons[index].ring = ring;
                gone[other] = true;
            }
        }
        let mut gone = gone.into_iter();
        self.polygons.retain(|_| !gone.next().unwrap_or(false));
    }

    /// The convex quad of two triangles that share the edge `a` to `b` of the first.
    fn quad(&self, first: usize, second: usize, (a, b): (u32, u32)) -> Option<Vec<u32>> {
        let (p, q) = (&self.polygons[first], &self.polygons[second]);
        let kind = |p: &Polygon| (p.plane, p.negated, p.flags, p.material, p.ring.len());
        if kind(p) != kind(q) || !sides(&q.ring).any(|side| side == (b, a)) {
            return None;
        }
        let c = *p.ring.iter().find(|&&v| v != a && v != b)?;
        let d = *q.ring.iter().find(|&&v| v != a && v != b)?;
        let ring = vec![a, d, b, c];
        let points: Vec<DVec3> = ring.iter().map(|&v| self.point(v)).collect();
        let normal = self.normal(p);
        let convex = (0..4).all(|i| {
            let (before, here, after) = (points[(i + 3) % 4], points[i], points[(i + 1) % 4]);
            (here - before).normalize_or_zero().cross((after - here).normalize_or_zero()).dot(normal) >= -1e-4
        });
        (c != d && convex).then_some(ring)
    }

    /// Surfaces, edges and vertices of the tables: each pair of corners is one edge, whose left side is
    /// the polygon that first used it, and whose right side is the one that uses it backwards.
    pub fn tables(&self) -> Collision {
        let mut it = Collision { planes: self.planes.clone(), ..Collision::default() };
        let mut open: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for (index, polygon) in self.polygons.iter().enumerate() {
            let index = index as u32;
            let mut ring = Vec::with_capacity(polygon.ring.len());
            for (a, b) in sides(&polygon.ring) {
                // A neighbour waits under the direction in which its edge is still free.
                ring.push(match open.remove(&(a, b)) {
                    Some(edge) => {
                        it.edges[edge as usize].right = Some(index);
                        edge
                    }
                    None => {
                        let edge = it.edges.len() as u32;
                        open.insert((b, a), edge);
                        it.edges.push(Edge {
                            start: a,
                            end: b,
                            forward: None,
                            reverse: None,
                            left: Some(index),
                            right: None,
                        });
                        edge
                    }
                });
            }
            for (i, &edge) in ring.iter().enumerate() {
                let next = Some(ring[(i + 1) % ring.len()]);
                let edge = &mut it.edges[edge as usize];
                if edge.left == Some(index) {
                    edge.forward = next;
                } else {
                    edge.reverse = next;
                }
            }
            it.surfaces.push(Surface {
                plane: polygon.plane,
                negated: polygon.negated,
                first_edge: ring[0],
                material: polygon.material,
                breakable_set: -1,
                breakable: -1,
                flags: polygon.flags & !crate::surface_flags::BREAKABLE,
                best_plane_vertex: 0,
            });
        }
        it.vertices =
            self.vertices.iter().map(|&point| Vertex { point, first_edge: None, sink: 0 }).collect();
        for (index, edge) in it.edges.iter().enumerate() {
            for vertex in [edge.start, edge.end] {
                it.vertices[vertex as usize].first_edge.get_or_insert(index as u32);
            }
        }
        it
    }
}

/// The directed sides of a ring.
pub(crate) fn sides(ring: &[u32]) -> impl Iterator<Item = (u32, u32)> + '_ {
    (0..ring.len()).map(|i| (ring[i], ring[(i + 1) % ring.len()]))
}

/// A ring as polygons of at most four corners that fan out from its first.
pub(crate) fn fan<T: Copy>(ring: &[T]) -> impl Iterator<Item = Vec<T>> + '_ {
    (1..ring.len() - 1).step_by(2).map(|i| {
        let mut part = vec![ring[0], ring[i], ring[i + 1]];
        part.extend(ring.get(i + 2));
        part
    })
}
