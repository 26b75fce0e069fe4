//! Changes of a finished BSP: moving it, laying it into an instance's frame, and splitting its polygons.
//!
//! Lines of 2D trees lie in the projection of their reference, sign included: they move with it. A 2D tree
//! that references of different projections share is copied first, for it can move with one alone.

use std::collections::BTreeMap;

use glam::{DMat3, DVec3};

use crate::layout::{MAX_NODES2D, MAX_SURFACES};
use crate::line::projection;
use crate::model::{Child2d, Collision, Node2d, Plane};
use crate::polygons::{Polygon, Polygons};
use crate::refusal::{Code, Refusal};

/// Where an instance stands: `world = position + scale * (x * forward + y * left + z * up)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placement {
    /// Where its origin is.
    pub position: DVec3,
    /// How much larger it is; above 0.
    pub scale: f64,
    /// Forward, left and up as columns; each along an axis of the world.
    pub axes: DMat3,
}

impl Placement {
    /// Moved, and neither turned nor scaled.
    pub fn at(position: DVec3) -> Self {
        Self { position, scale: 1.0, axes: DMat3::IDENTITY }
    }

    /// Where a point of the instance lies in the world.
    pub fn point(&self, point: DVec3) -> DVec3 {
        self.position + self.axes * point * self.scale
    }

    fn is_straight(&self) -> bool {
        let columns = [self.axes.x_axis, self.axes.y_axis, self.axes.z_axis];
        let along_an_axis = |c: &DVec3| c.abs().max_element() == 1.0 && c.length_squared() == 1.0;
        columns.iter().all(along_an_axis) && self.axes.determinant() == 1.0 && self.scale > 0.0
    }
}

/// The part of a placement that is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlacementError {
    /// Not along the axes, mirrored, or of no size.
    #[error("a frame must turn by right angles, mirror nothing and have a scale above 0")]
    Frame,
}

impl Collision {
    /// Places the BSP; distances are computed in double precision and rounded once.
    pub fn place(&mut self, placement: &Placement) -> Result<(), PlacementError> {
        if !placement.is_straight() {
            return Err(PlacementError::Frame);
        }
        self.unshare();
        let old = self.planes.clone();
        for vertex in &mut self.vertices {
            vertex.point = placement.point(vertex.point64()).to_array().map(|c| c as f32);
        }
        for plane in &mut self.planes {
            let normal = placement.axes * plane.normal64();
            let d = f64::from(plane.d) * placement.scale + normal.dot(placement.position);
            *plane = Plane { normal: normal.to_array().map(|c| c as f32), d: d as f32 };
        }
        let mut moved = vec![false; self.nodes2d.len()];
        for reference in &self.references {
            let Some(before) = old.get(reference.plane as usize) else { continue };
            let from = projection(before, reference.negated);
            let after =
                Plane { normal: (placement.axes * before.normal64()).to_array().map(|c| c as f32), d: 0.0 };
            let to = projection(&after, reference.negated);
            let mut todo = vec![reference.node];
            while let Some(child) = todo.pop() {
                let Child2d::Node(index) = child else { continue };
                let (Some(node), Some(moved)) =
                    (self.nodes2d.get_mut(index as usize), moved.get_mut(index as usize))
                else {
                    continue;
                };
                if !std::mem::replace(moved, true) {
                    node.line = place_line(node.line, from, to, placement);
                    todo.extend([node.left, node.right]);
                }
            }
        }
        Ok(())
    }

    /// Gives every projection 2D trees of its own.
    fn unshare(&mut self) {
        let mut nodes = Vec::with_capacity(self.nodes2d.len());
        let mut known: BTreeMap<(u32, usize, usize), u32> = BTreeMap::new();
        let mut references = std::mem::take(&mut self.references);
        for reference in &mut references {
            let Some(plane) = self.planes.get(reference.plane as usize) else { continue };
            let axes = projection(plane, reference.negated);
            reference.node = self.copy(reference.node, axes, &mut nodes, &mut known);
        }
        self.references = references;
        self.nodes2d = nodes;
    }

    /// Copies a 2D tree for a projection; parts that were copied before are used again.
    fn copy(
        &self,
        root: Child2d,
        (u, v): (usize, usize),
        nodes: &mut Vec<Node2d>,
        known: &mut BTreeMap<(u32, usize, usize), u32>,
    ) -> Child2d {
        let mut place = |child: Child2d, nodes: &mut Vec<Node2d>, todo: &mut Vec<u32>| {
            let Child2d::Node(index) = child else { return child };
            let Some(node) = self.nodes2d.get(index as usize) else { return Child2d::None };
            Child2d::Node(*known.entry((index, u, v)).or_insert_with(|| {
                nodes.push(*node);
                todo.push(nodes.len() as u32 - 1);
                nodes.len() as u32 - 1
            }))
        };
        let mut todo = Vec::new();
        let root = place(root, nodes, &mut todo);
        while let Some(index) = todo.pop() {
            let Node2d { left, right, .. } = nodes[index as usize];
            let (left, right) = (place(left, nodes, &mut todo), place(right, nodes, &mut todo));
            let node = &mut nodes[index as usize];
            (node.left, node.right) = (left, right);
        }
        root
    }

    /// Splits polygons of more than four corners into triangles that fan out from the first, or into
    /// quads where triangles would be too many, and gives 2D trees the lines between them. All edges are
    /// made anew.
    pub fn split_polygons(&mut self) -> Result<(), Refusal> {
        self.unshare();
        let rings: Option<Vec<Vec<u32>>> = (0..self.surfaces.len() as u32).map(|s| self.ring(s)).collect();
        let Some(mut rings) = rings else {
            return Err(Refusal::new(Code::IndexOutOfRange, Vec::new(), "a ring of edges does not close"));
        };
        rings.iter_mut().filter(|ring| ring.len() > 4).for_each(|ring| self.start_well(ring));
        let parts = |step: usize| rings.iter().map(|ring| pieces(ring.len(), step)).sum::<usize>();
        let step = if parts(1) <= MAX_SURFACES { 1 } else { 2 };
        let mut polygons = Polygons {
            vertices: self.vertices.iter().map(|vertex| vertex.point).collect(),
            planes: self.planes.clone(),
            ..Polygons::default()
        };
        let surfaces = std::mem::take(&mut self.surfaces);
        // The first piece keeps the place of its surface; the others follow after all surfaces.
        let mut extra = Vec::new();
        let mut first_extra = Vec::with_capacity(rings.len());
        for (surface, ring) in surfaces.iter().zip(&rings) {
            let polygon = |ring: Vec<u32>| Polygon {
                ring,
                plane: surface.plane,
                negated: surface.negated,
                flags: surface.flags,
                material: surface.material,
            };
            first_extra.push((rings.len() + extra.len()) as u32);
            let mut split = split(ring, step).into_iter().map(polygon);
            polygons.polygons.extend(split.next());
            extra.extend(split);
        }
        polygons.polygons.extend(extra);
        let tables = polygons.tables();
        self.surfaces = tables.surfaces;
        self.edges = tables.edges;
        for (vertex, made) in self.vertices.iter_mut().zip(tables.vertices) {
            vertex.first_edge = made.first_edge;
        }
        let whole = |surface: u32| rings.get(surface as usize).map_or(&[][..], Vec::as_slice);
        let mut chains: BTreeMap<(u32, usize, usize), Child2d> = BTreeMap::new();
        let mut seen = vec![false; self.nodes2d.len()];
        for index in 0..self.references.len() {
            let reference = self.references[index];
            let Some(plane) = self.planes.get(reference.plane as usize) else { continue };
            let axes = projection(plane, reference.negated);
            let mut chain = |child: Child2d, nodes: &mut Vec<Node2d>| {
                let Child2d::Surface(surface) = child else { return child };
                if pieces(whole(surface).len(), step) < 2 {
                    return child;
                }
                *chains.entry((surface, axes.0, axes.1)).or_insert_with(|| {
                    let corners: Vec<DVec3> = whole(surface).iter().map(|&v| polygons.point(v)).collect();
                    fan_lines(&corners, axes, step, surface, first_extra[surface as usize], nodes)
                })
            };
            self.references[index].node = chain(reference.node, &mut self.nodes2d);
            let mut todo = vec![reference.node];
            while let Some(child) = todo.pop() {
                let Child2d::Node(at) = child else { continue };
                let at = at as usize;
                if seen.get(at).copied().unwrap_or(true) {
                    continue;
                }
                seen[at] = true;
                let Node2d { left, right, .. } = self.nodes2d[at];
                todo.extend([left, right]);
                self.nodes2d[at].left = chain(left, &mut self.nodes2d);
                let right = chain(right, &mut self.nodes2d);
                self.nodes2d[at].right = right;
            }
        }
        if self.nodes2d.len() > MAX_NODES2D {
            return Err(Refusal::over(Code::TooManyNodes2d, "2D nodes", self.nodes2d.len(), MAX_NODES2D));
        }
        Ok(())
    }
}

impl Collision {
    /// Turns a ring until no triangle of its fan lies on a line, if there is such a corner to start from.
    fn start_well(&self, ring: &mut [u32]) {
        let point =
            |v: u32| self.vertices.get(v as usize).map(crate::model::Vertex::point64).unwrap_or_default();
        let least = |ring: &[u32]| {
            let [o, rest @ ..] = ring else { return 0.0 };
            let area = |pair: &[u32]| (point(pair[0]) - point(*o)).cross(point(pair[1]) - point(*o)).length();
            rest.windows(2).map(area).fold(f64::INFINITY, f64::min)
        };
        let mut best = (least(ring), 0);
        for turn in 1..ring.len() {
            ring.rotate_left(1);
            let area = least(ring);
            if best.0 < 1e-6 && area > best.0 {
                best = (area, turn);
            }
        }
        ring.rotate_left(1);
        ring.rotate_left(best.1);
    }
}

/// A line `i p[u] + j p[v] = d` in the axes that it has after a placement.
fn place_line(
    line: [f32; 3],
    (u, v): (usize, usize),
    (to_u, to_v): (usize, usize),
    placement: &Placement,
) -> [f32; 3] {
    let [i, j, d] = line.map(f64::from);
    let mut before = DVec3::ZERO;
    before[u] = i;
    before[v] = j;
    let after = placement.axes * before;
    let (i, j) = (after[to_u], after[to_v]);
    let d = d * placement.scale + i * placement.position[to_u] + j * placement.position[to_v];
    [i as f32, j as f32, d as f32]
}

/// Into how many pieces a ring is split; `step` corners more with each.
fn pieces(corners: usize, step: usize) -> usize {
    if corners <= 4 { 1 } else { (corners - 2).div_ceil(step) }
}

fn split(ring: &[u32], step: usize) -> Vec<Vec<u32>> {
    if ring.len() <= 4 {
        return vec![ring.to_vec()];
    }
    let starts = (1..ring.len() - 1).step_by(step);
    let piece = |from: usize| {
        let to = (from + step).min(ring.len() - 1);
        [&ring[..1], &ring[from..=to]].concat()
    };
    starts.map(piece).collect()
}

/// The 2D tree that tells the pieces of a fan apart: a line along each diagonal, the pieces after it on its
/// positive side.
fn fan_lines(
    corners: &[DVec3],
    (u, v): (usize, usize),
    step: usize,
    first: u32,
    extra: u32,
    nodes: &mut Vec<Node2d>,
) -> Child2d {
    let flat = |i: usize| (corners[i][u], corners[i][v]);
    let area: f64 = (1..corners.len() - 1)
        .map(|i| {
            let (o, a, b) = (flat(0), flat(i), flat(i + 1));
            (a.0 - o.0) * (b.1 - o.1) - (a.1 - o.1) * (b.0 - o.0)
        })
        .sum();
    // From behind the fan goes the other way around.
    let turn = if area < 0.0 { -1.0 } else { 1.0 };
    let base = nodes.len() as u32;
    let count = pieces(corners.len(), step) as u32;
    for k in 1..count {
        let (o, p) = (flat(0), flat(k as usize * step + 1));
        let (du, dv) = (p.0 - o.0, p.1 - o.1);
        let length = (du * du + dv * dv).sqrt();
        let (i, j) = ((-dv / length * turn) as f32, (du / length * turn) as f32);
        let d = f64::from(i) * o.0 + f64::from(j) * o.1;
        let left = Child2d::Surface(if k == 1 { first } else { extra + k - 2 });
        let right = if k + 1 == count { Child2d::Surface(extra + k - 1) } else { Child2d::Node(base + k) };
        nodes.push(Node2d { line: [i, j, d as f32], left, right });
    }
    Child2d::Node(base)
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;
    use crate::ce::{CeTable, read_staged, read_tables};
    use crate::define::{definitions, regions};
    use crate::line::Query;
    use crate::model::{Child, surface_flags};
    use crate::own_bsp::OwnBsp;
    use crate::polygons::{Planes, newell};
    use crate::prove::{prove_decoded, random_segments};
    use crate::scene::Scene;
    use crate::truth::Segment;

    /// Prisms with five to eight sides and a two-sided plate, their polygons whole.
    fn prisms() -> Polygons {
        let (mut it, mut planes) = (Polygons::default(), Planes::new());
        let mut add = |it: &mut Polygons, points: &[DVec3], flags: u16| {
            let base = it.vertices.len() as u32;
            it.vertices.extend(points.iter().map(|p| p.to_array().map(|c| c as f32)));
            let ring: Vec<u32> = (base..it.vertices.len() as u32).collect();
            let rounded: Vec<DVec3> = ring.iter().map(|&v| it.point(v)).collect();
            let (plane, negated) = planes.share(newell(&rounded).normalize(), &rounded);
            it.polygons.push(Polygon { ring, plane, negated, flags, material: 3 });
        };
        for (i, sides) in (5..9).enumerate() {
            let at = DVec3::new(4.0 * i as f64, 0.5 * i as f64, 0.25 * i as f64);
            let tilt = DMat3::from_rotation_x(0.3 * i as f64);
            let corner = |k: usize, z: f64| {
                let angle = k as f64 / sides as f64 * std::f64::consts::TAU;
                at + tilt * DVec3::new(1.5 * angle.cos(), 1.5 * angle.sin(), z)
            };
            let top: Vec<DVec3> = (0..sides).map(|k| corner(k, 1.0)).collect();
            let bottom: Vec<DVec3> = (0..sides).rev().map(|k| corner(k, 0.0)).collect();
            add(&mut it, &top, 0);
            add(&mut it, &bottom, 0);
            for k in 0..sides {
                let (a, b) = (k, (k + 1) % sides);
                add(&mut it, &[corner(a, 0.0), corner(b, 0.0), corner(b, 1.0), corner(a, 1.0)], 0);
            }
            let plate: Vec<DVec3> = top.iter().map(|p| *p + DVec3::new(0.3, -0.2, 1.5)).collect();
            add(&mut it, &plate, surface_flags::TWO_SIDED);
        }
        it.planes = planes.into_planes();
        it
    }

    fn whole() -> (Polygons, Scene, Collision) {
        let polygons = prisms();
        let scene = Scene::new(&polygons);
        let region = regions(&polygons, false).unwrap().remove(0);
        let bsp = definitions(&polygons, &scene, 1.0, &region, false).unwrap().remove(0).bsp;
        assert!(bsp.check(8).is_ok() && bsp.check(4).is_err());
        (polygons, scene, bsp)
    }

    fn lines(seed: u64) -> Vec<Segment> {
        random_segments(DVec3::new(-2.0, -2.0, -2.0), DVec3::new(14.0, 4.0, 5.0), seed, 3000)
    }

    fn apart(a: &Collision, b: &Collision, lines: &[Segment], moved: impl Fn(Vec3) -> Vec3) -> usize {
        let differ = |line: &&Segment| {
            let first = a.line(line.from, line.to, Query::ANY).unwrap().map(|hit| hit.fraction);
            let second =
                b.line(moved(line.from), moved(line.to), Query::ANY).unwrap().map(|hit| hit.fraction);
            match (first, second) {
                (Some(a), Some(b)) => (a - b).abs() > 1e-4,
                (None, None) => false,
                _ => true,
            }
        };
        lines.iter().filter(differ).count()
    }

    #[test]
    fn split_polygons_answer_like_whole_ones() {
        let (polygons, scene, bsp) = whole();
        let mut split = bsp.clone();
        split.split_polygons().unwrap();
        split.check(4).unwrap();
        assert!(split.surfaces.len() > bsp.surfaces.len() && split.nodes2d.len() > bsp.nodes2d.len());
        assert!(split.surfaces.iter().all(|surface| surface.material == 3));
        assert_eq!(apart(&bsp, &split, &lines(1), |p| p), 0);
        assert_eq!(
            prove_decoded(&polygons, &scene, vec![crate::prove::Placed::new(split, DVec3::ZERO)]).faults(),
            0
        );
    }

    #[test]
    fn a_fan_never_starts_on_a_line() {
        let (.., mut bsp) = whole();
        bsp.vertices.truncate(0);
        let corners = [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [2.0, 2.0], [1.0, 2.0], [0.0, 2.0]];
        let vertex =
            |[x, y]: [f32; 2]| crate::model::Vertex { point: [x, y, 0.0], first_edge: None, sink: 0 };
        bsp.vertices.extend(corners.map(vertex));
        let mut ring = [0, 1, 2, 3, 4, 5];
        bsp.start_well(&mut ring);
        assert_eq!(ring, [1, 2, 3, 4, 5, 0]);
    }

    #[test]
    fn every_straight_frame_moves_answers_with_it() {
        let (.., bsp) = whole();
        let mut split = bsp;
        split.split_polygons().unwrap();
        let axes = [DVec3::X, DVec3::Y, DVec3::Z, -DVec3::X, -DVec3::Y, -DVec3::Z];
        let mut frames = 0;
        for forward in axes {
            for left in axes.into_iter().filter(|left| left.dot(forward) == 0.0) {
                let axes = DMat3::from_cols(forward, left, forward.cross(left));
                let placement = Placement { position: DVec3::new(3.0, -7.0, 0.5), scale: 2.0, axes };
                let mut placed = split.clone();
                placed.place(&placement).unwrap();
                placed.check(4).unwrap();
                let moved = |p: Vec3| placement.point(p.as_dvec3()).as_vec3();
                // A line may meet an edge, and single precision decide otherwise elsewhere.
                assert!(apart(&split, &placed, &lines(frames), moved) <= 1, "{axes}");
                frames += 1;
            }
        }
        assert_eq!(frames, 24);
        let mirrored = DMat3::from_cols(DVec3::X, DVec3::Y, -DVec3::Z);
        let turned = DMat3::from_rotation_z(0.1);
        for axes in [mirrored, turned] {
            let placement = Placement { axes, ..Placement::at(DVec3::ZERO) };
            assert_eq!(split.clone().place(&placement), Err(PlacementError::Frame));
        }
    }

    /// The tables as Halo CE has them, with every other node's plane negated.
    fn as_ce(bsp: &Collision, big_endian: bool) -> [Vec<u8>; 8] {
        let int = |v: i32| if big_endian { v.to_be_bytes() } else { v.to_le_bytes() };
        let float = |v: f32| int(v.to_bits().cast_signed());
        let short = |v: u16| if big_endian { v.to_be_bytes() } else { v.to_le_bytes() };
        let flag = |index: u32, flag: bool| int((index | u32::from(flag) << 31).cast_signed());
        let none = |index: Option<u32>| int(index.map_or(-1, u32::cast_signed));
        let child = |c: Child| match c {
            Child::Solid => int(-1),
            Child::Node(n) => flag(n, false),
            Child::Leaf(l) => flag(l, true),
        };
        let child2d = |c: Child2d| match c {
            Child2d::None => int(-1),
            Child2d::Node(n) => flag(n, false),
            Child2d::Surface(s) => flag(s, true),
        };
        let mut out: [Vec<u8>; 8] = Default::default();
        for (i, node) in bsp.nodes.iter().enumerate() {
            let turned = i % 2 == 1;
            let (back, front) = if turned { (node.front, node.back) } else { (node.back, node.front) };
            out[0].extend([flag(node.plane, turned), child(back), child(front)].concat());
        }
        for plane in &bsp.planes {
            out[1].extend(plane.normal.iter().chain([&plane.d]).flat_map(|c| float(*c)));
        }
        for leaf in &bsp.leaves {
            out[2].extend([short(u16::from(leaf.flags)), short(leaf.count)].concat());
            out[2].extend(int(leaf.first.cast_signed()));
        }
        for reference in &bsp.references {
            out[3].extend([flag(reference.plane, reference.negated), child2d(reference.node)].concat());
        }
        for node in &bsp.nodes2d {
            out[4].extend(node.line.iter().flat_map(|c| float(*c)));
            out[4].extend([child2d(node.left), child2d(node.right)].concat());
        }
        for surface in &bsp.surfaces {
            out[5].extend([flag(surface.plane, surface.negated), flag(surface.first_edge, false)].concat());
            out[5].extend([surface.flags as u8, 0xFF]);
            out[5].extend(short(surface.material.cast_unsigned()));
        }
        for edge in &bsp.edges {
            out[6].extend([flag(edge.start, false), flag(edge.end, false)].concat());
            out[6].extend([edge.forward, edge.reverse, edge.left, edge.right].map(none).concat());
        }
        for vertex in &bsp.vertices {
            out[7].extend(vertex.point.iter().flat_map(|c| float(*c)));
            out[7].extend(none(vertex.first_edge));
        }
        out
    }

    fn staged(tables: &[Vec<u8>; 8], order: &[CeTable; 8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for table in order {
            let at = CeTable::ORDER.iter().position(|known| known == table).unwrap();
            bytes.extend((tables[at].len() as u32 / table.record() as u32).to_le_bytes());
            bytes.extend(&tables[at]);
        }
        bytes
    }

    #[test]
    fn tables_of_halo_ce_are_read_in_any_order_and_byte_order() {
        let (.., bsp) = whole();
        let little = as_ce(&bsp, false);
        let mut order = CeTable::ORDER;
        assert_eq!(read_staged(&staged(&little, &order), &order).unwrap(), bsp);
        order.reverse();
        assert_eq!(read_staged(&staged(&little, &order), &order).unwrap(), bsp);
        let big = as_ce(&bsp, true);
        assert_eq!(read_tables(&big.each_ref().map(Vec::as_slice), true).unwrap(), bsp);
    }

    #[test]
    fn hostile_tables_of_halo_ce_are_refused() {
        let (.., bsp) = whole();
        let bytes = staged(&as_ce(&bsp, false), &CeTable::ORDER);
        let read = |bytes: &[u8]| read_staged(bytes, &CeTable::ORDER).map_err(|error| error.to_string());
        for end in (0..bytes.len()).step_by(97) {
            assert!(read(&bytes[..end]).is_err(), "{end}");
        }
        assert!(read(&[&bytes[..], &[0]].concat()).unwrap_err().contains("follow the last field"));
        assert!(read(&[0xFF; 64]).unwrap_err().contains("do not fit"));
        let mut numbers = crate::prove::Numbers::new(3);
        for _ in 0..4000 {
            let mut bad = bytes.clone();
            let at = numbers.below(bad.len() as u64) as usize;
            bad[at] ^= 1 << numbers.below(8);
            // What is read can be followed, split and moved, whatever it is.
            if let Ok(mut bsp) = read_staged(&bad, &CeTable::ORDER) {
                let _ = bsp.line(Vec3::ZERO, Vec3::new(12.0, 3.0, 1.0), Query::ANY);
                let _ = bsp.split_polygons();
                let _ = bsp.place(&Placement::at(DVec3::ONE));
                let _ = bsp.pack();
            }
        }
    }

    #[test]
    fn a_map_of_its_own_is_met_through_shell_instance_and_definition() {
        let (.., mut bsp) = whole();
        bsp.split_polygons().unwrap();
        let position = DVec3::new(33.5, 12.0, -7.25);
        let map = OwnBsp::new(&bsp, &[(bsp.clone(), DVec3::ZERO)], position, 7, 2).unwrap();
        assert_eq!(map.instances.len(), 2);
        let mut met = 0;
        for line in lines(9) {
            if bsp.is_solid(line.from).unwrap() {
                assert_eq!(map.line(line.from, line.to, Query::ANY).unwrap(), None);
                continue;
            }
            let alone = bsp.line(line.from, line.to, Query::ANY).unwrap().map(|hit| hit.fraction);
            let found = map.line(line.from, line.to, Query::ANY).unwrap().map(|(_, hit)| hit.fraction);
            match (alone, found) {
                (Some(a), Some(b)) => {
                    assert!((a - b).abs() < 1e-4);
                    met += 1;
                }
                (a, b) => assert_eq!(a, b, "{line:?}"),
            }
        }
        assert!(met > 300);
        // Everything that a body stands on has a key, in a tree of its own.
        let keys = crate::mopp::run(&map.static_body.code, None).unwrap();
        assert_eq!(keys.len(), 3 * bsp.surfaces.len());
        let header = OwnBsp::collidable_header(3, 763);
        assert_eq!(header, [0, 3, 0xFB, 2, 0, 0, 0, 8, 8, 0, 0, 0]);
    }
}
