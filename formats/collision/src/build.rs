//! The tree builder: polygons to a BSP whose leaves name, on their open side, the surfaces that bound them.
//!
//! It works in double precision on rounded planes. Polygons are cut as they sink; a polygon on the plane
//! of a node is used up there, and its parts sink on only to say which cells it bounds. Whether a cell is
//! solid follows from the sides of the parts in it; where they contradict each other, or are too thin to
//! be believed, the polygons themselves are asked ([`Scene`]). What comes out is never trusted: see
//! [`crate::prove`].

use std::collections::BTreeMap;

use glam::DVec3;

use crate::flat::{self, Flat};
use crate::hull::cut;
use crate::layout::MAX_DEPTH;
use crate::model::{Child, Child2d, Collision, LEAF_TWO_SIDED, Leaf, Node, Plane, Reference, Supernode};
use crate::polygons::{Polygons, newell};
use crate::refusal::{Code, Refusal};
use crate::scene::Scene;

/// Most planes of surfaces that are weighed for a node.
const CANDIDATES: usize = 48;
/// A part thinner than this does not decide alone whether a cell is solid.
const THIN: f64 = 1e-3;

/// A half of space that a definition answers for: `axis`, where, and whether the upper half is meant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Half {
    pub(crate) axis: usize,
    pub(crate) at: f32,
    pub(crate) above: bool,
}

/// How a tree is built.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Distances below this are none.
    pub(crate) epsilon: f64,
    /// From so many free parts on, cells are split along axes.
    pub(crate) axis_from: usize,
    /// Outside of these halves nothing is built.
    pub(crate) halves: Vec<Half>,
    /// Where the polygons' origin lies in the scene.
    pub(crate) position: DVec3,
}

/// What the builder had to decide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decisions {
    /// Cells whose parts contradict each other.
    pub mixed_cells: u32,
    /// Cells about which the polygons were asked.
    pub asked_cells: u32,
    /// Surfaces of some size that lie on others, and are not named where they do.
    pub overlaps: u32,
    /// Surfaces that no leaf names, left out of the tables.
    pub unnamed: u32,
    /// Depth of the tree.
    pub depth: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Free,
    /// Used up by a node: it faces this cell, in a reference that is negated or not.
    Front {
        negated: bool,
    },
    /// Used up by a node: it turns its back on this cell.
    Back,
}

#[derive(Clone, Copy, Debug)]
struct Part {
    surface: u32,
    start: u32,
    len: u32,
    state: State,
}

struct Builder<'a> {
    polygons: &'a Polygons,
    scene: &'a Scene,
    settings: &'a Settings,
    corners: Vec<DVec3>,
    path: Vec<(u32, bool)>,
    axis_planes: BTreeMap<(usize, u32), u32>,
    out: Collision,
    decisions: Decisions,
}

/// Builds the tree over all polygons; `scene` may hold more than these.
pub(crate) fn build(
    polygons: &Polygons,
    scene: &Scene,
    settings: &Settings,
) -> Result<(Collision, Decisions), Refusal> {
    let mut builder = Builder {
        polygons,
        scene,
        settings,
        corners: Vec::new(),
        path: Vec::new(),
        axis_planes: BTreeMap::new(),
        out: Collision { planes: polygons.planes.clone(), ..Collision::default() },
        decisions: Decisions::default(),
    };
    let mut parts = Vec::with_capacity(polygons.polygons.len());
    for (surface, polygon) in (0_u32..).zip(&polygons.polygons) {
        let start = builder.corners.len() as u32;
        builder.corners.extend(polygons.points(polygon));
        parts.push(Part { surface, start, len: polygon.ring.len() as u32, state: State::Free });
    }
    for (index, plane) in (0_u32..).zip(&polygons.planes) {
        for axis in 0..3 {
            if plane.normal[axis] == 1.0 {
                builder.axis_planes.insert((axis, plane.d.to_bits()), index);
            }
        }
    }
    builder.halves(parts)?;
    builder.finish()
}

impl Builder<'_> {
    /// Nodes that cut off what other definitions answer for, and the tree of the rest below them.
    fn halves(&mut self, mut parts: Vec<Part>) -> Result<(), Refusal> {
        let count = self.settings.halves.len();
        for (i, half) in self.settings.halves.clone().into_iter().enumerate() {
            let plane = self.axis_plane(half.axis, half.at);
            let (back, front) = self.divide(&parts, plane);
            parts = if half.above { front } else { back };
            let outside = self.leaf(0, Vec::new());
            let inside = Child::Node(self.out.nodes.len() as u32 + 1);
            let (back, front) = if half.above { (outside, inside) } else { (inside, outside) };
            self.out.nodes.push(Node { plane, back, front });
            self.path.push((plane, half.above));
            if parts.is_empty() {
                // Nothing reaches this region: not a tree, and callers do not ask for one.
                return Err(Refusal::new(
                    Code::Empty,
                    Vec::new(),
                    format!("nothing lies in half {i} of {count}"),
                ));
            }
        }
        self.cell(parts).map(|_| ())
    }

    fn cell(&mut self, parts: Vec<Part>) -> Result<Child, Refusal> {
        let free = parts.iter().filter(|part| part.state == State::Free).count();
        if free == 0 {
            return Ok(self.terminal(&parts));
        }
        if self.path.len() >= MAX_DEPTH {
            return Err(Refusal::over(Code::TooDeep, "levels of nodes", self.path.len() + 1, MAX_DEPTH));
        }
        let plane = self.choose(&parts, free);
        let index = self.out.nodes.len();
        self.out.nodes.push(Node { plane, back: Child::Solid, front: Child::Solid });
        let mark = self.corners.len();
        let (back, front) = self.divide(&parts, plane);
        drop(parts);
        self.decisions.depth = self.decisions.depth.max(self.path.len() as u32 + 1);
        self.path.push((plane, false));
        let back = self.cell(back)?;
        self.path.pop();
        self.path.push((plane, true));
        let front = self.cell(front)?;
        self.path.pop();
        self.corners.truncate(mark);
        self.out.nodes[index] = Node { plane, back, front };
        Ok(Child::Node(index as u32))
    }

    fn points(&self, part: &Part) -> &[DVec3] {
        &self.corners[part.start as usize..(part.start + part.len) as usize]
    }

    /// Sorts parts behind and in front of a plane, and cuts those that lie across.
    fn divide(&mut self, parts: &[Part], plane: u32) -> (Vec<Part>, Vec<Part>) {
        let surface_plane = self.out.planes[plane as usize];
        let (normal, d) = (surface_plane.normal64(), f64::from(surface_plane.d));
        let epsilon = self.settings.epsilon;
        let (mut back, mut front) = (Vec::with_capacity(parts.len()), Vec::with_capacity(parts.len()));
        let mut distances = Vec::new();
        for part in parts {
            let polygon = &self.polygons.polygons[part.surface as usize];
            if part.state == State::Free && polygon.plane == plane {
                let (behind, before) = match (polygon.is_two_sided(), polygon.negated) {
                    (true, _) => (State::Front { negated: true }, State::Front { negated: false }),
                    (false, false) => (State::Back, State::Front { negated: false }),
                    (false, true) => (State::Front { negated: true }, State::Back),
                };
                back.push(Part { state: behind, ..*part });
                front.push(Part { state: before, ..*part });
                continue;
            }
            distances.clear();
            distances.extend(self.points(part).iter().map(|p| normal.dot(*p) - d));
            let (low, high) = extent(&distances);
            if high <= epsilon {
                back.push(*part);
            }
            if low >= -epsilon {
                front.push(*part);
            }
            if high > epsilon && low < -epsilon {
                let (before, behind) = cut(self.points(part), &distances);
                for (points, side) in [(behind, &mut back), (before, &mut front)] {
                    if points.len() > 2 {
                        let start = self.corners.len() as u32;
                        side.push(Part { start, len: points.len() as u32, ..*part });
                        self.corners.extend(points);
                    }
                }
            }
        }
        (back, front)
    }

    fn choose(&mut self, parts: &[Part], free: usize) -> u32 {
        if free >= self.settings.axis_from
            && let Some((axis, at)) = self.choose_axis(parts, free)
        {
            return self.axis_plane(axis, at);
        }
        let mut planes: Vec<u32> = Vec::new();
        let mut seen = vec![false; if free > CANDIDATES { self.polygons.planes.len() } else { 0 }];
        let freed = || parts.iter().filter(|part| part.state == State::Free);
        for part in freed() {
            let plane = self.polygons.polygons[part.surface as usize].plane;
            let known = match seen.get_mut(plane as usize) {
                Some(seen) => std::mem::replace(seen, true),
                None => planes.contains(&plane),
            };
            if !known {
                planes.push(plane);
            }
        }
        let count = planes.len();
        let tried: Vec<u32> = match count {
            0..=CANDIDATES => planes,
            _ => (0..CANDIDATES).map(|i| planes[i * count / CANDIDATES]).collect(),
        };
        let mut best = (usize::MAX, tried[0]);
        for plane in tried {
            let it = &self.out.planes[plane as usize];
            let (normal, d, epsilon) = (it.normal64(), f64::from(it.d), self.settings.epsilon);
            let (mut back, mut front) = (0_usize, 0_usize);
            for part in freed().filter(|p| self.polygons.polygons[p.surface as usize].plane != plane) {
                let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
                for p in self.points(part) {
                    let distance = normal.dot(*p) - d;
                    (low, high) = (low.min(distance), high.max(distance));
                }
                back += usize::from(low < -epsilon || high <= epsilon);
                front += usize::from(high > epsilon || low >= -epsilon);
            }
            let score = back.abs_diff(front) + 2 * (back + front);
            if score < best.0 {
                best = (score, plane);
            }
        }
        best.1
    }

    /// The axis plane that leaves the most even sides and cuts the fewest parts.
    fn choose_axis(&self, parts: &[Part], free: usize) -> Option<(usize, f32)> {
        let freed = parts.iter().filter(|part| part.state == State::Free);
        let mut best: Option<(usize, usize, f32)> = None;
        let extents: Vec<(DVec3, DVec3)> = freed
            .map(|part| {
                let points = self.points(part).iter();
                points.fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(l, h), p| (l.min(*p), h.max(*p)))
            })
            .collect();
        for axis in 0..3 {
            let mut lows: Vec<f64> = extents.iter().map(|(low, _)| low[axis]).collect();
            let mut highs: Vec<f64> = extents.iter().map(|(_, high)| high[axis]).collect();
            if let Some((score, at)) = sweep(&mut lows, &mut highs, free)
                && best.is_none_or(|(least, ..)| score < least)
            {
                best = Some((score, axis, at));
            }
        }
        best.map(|(_, axis, at)| (axis, at))
    }

    fn axis_plane(&mut self, axis: usize, at: f32) -> u32 {
        let planes = &mut self.out.planes;
        *self.axis_planes.entry((axis, at.to_bits())).or_insert_with(|| {
            let mut normal = [0.0; 3];
            normal[axis] = 1.0;
            planes.push(Plane { normal, d: at });
            planes.len() as u32 - 1
        })
    }

    fn leaf(&mut self, flags: u8, references: Vec<Reference>) -> Child {
        let first = if references.is_empty() { u32::MAX } else { self.out.references.len() as u32 };
        let count = u16::try_from(references.len()).unwrap_or(u16::MAX);
        self.out.references.extend(references);
        self.out.leaves.push(Leaf { flags, first, count });
        Child::Leaf(self.out.leaves.len() as u32 - 1)
    }

    /// A cell without free parts: solid, or a leaf that names those that face it.
    fn terminal(&mut self, parts: &[Part]) -> Child {
        if self.is_solid(parts) {
            return Child::Solid;
        }
        let mut groups: Vec<((u32, bool), Vec<Part>)> = Vec::new();
        let mut flags = 0;
        for part in parts {
            let State::Front { negated } = part.state else { continue };
            let polygon = &self.polygons.polygons[part.surface as usize];
            flags |= if polygon.is_two_sided() { LEAF_TWO_SIDED } else { 0 };
            let key = (polygon.plane, negated);
            match groups.iter_mut().find(|(known, _)| *known == key) {
                Some((_, group)) => group.push(*part),
                None => groups.push((key, vec![*part])),
            }
        }
        let mut references = Vec::with_capacity(groups.len());
        for ((plane, negated), group) in groups {
            let on = self.out.planes[plane as usize];
            let flats: Vec<Flat> =
                group.iter().map(|part| Flat::new(part.surface, self.points(part), &on, negated)).collect();
            let node =
                flat::tree(flats.iter().collect(), &mut self.out.nodes2d, &mut self.decisions.overlaps);
            references.push(Reference { plane, negated, node });
        }
        self.leaf(flags, references)
    }

    fn is_solid(&mut self, parts: &[Part]) -> bool {
        let (mut front, mut back, mut thickest) = (0.0, 0.0, 0.0_f64);
        let mut largest: Option<(f64, &Part)> = None;
        for part in parts {
            let points = self.points(part);
            let area = newell(points).length() / 2.0;
            if largest.is_none_or(|(most, _)| area > most) {
                largest = Some((area, part));
            }
            if self.polygons.polygons[part.surface as usize].is_two_sided() {
                continue;
            }
            let around: f64 =
                (0..points.len()).map(|i| points[i].distance(points[(i + 1) % points.len()])).sum();
            thickest = thickest.max(2.0 * area / around);
            match part.state {
                State::Back => back += area,
                _ => front += area,
            }
        }
        let mixed = front > 0.0 && back > 0.0;
        self.decisions.mixed_cells += u32::from(mixed);
        let by_area = back > 0.0 && 4.0 * front <= back;
        if !self.scene.has_solids() || (!mixed && thickest >= THIN) {
            return by_area;
        }
        match largest.and_then(|(_, part)| self.inside_of_cell(part)) {
            Some(point) => {
                self.decisions.asked_cells += 1;
                self.scene.is_solid(point + self.settings.position)
            }
            None => by_area,
        }
    }

    /// A point well inside the cell that `part` bounds: half-way from its middle to the other side.
    fn inside_of_cell(&self, part: &Part) -> Option<DVec3> {
        let points = self.points(part);
        let middle = points.iter().sum::<DVec3>() / points.len() as f64;
        let on = self.polygons.polygons[part.surface as usize].plane;
        let &(_, before) = self.path.iter().rev().find(|(plane, _)| *plane == on)?;
        let normal = self.out.planes[on as usize].normal64();
        let along = if before { normal } else { -normal };
        let mut reach = 2.0_f64;
        for &(plane, before) in &self.path {
            if plane == on {
                continue;
            }
            let it = &self.out.planes[plane as usize];
            let sign = if before { 1.0 } else { -1.0 };
            let closing = -sign * it.normal64().dot(along);
            if closing > 0.0 {
                reach = reach.min(sign * it.distance(middle) / closing);
            }
        }
        (reach > 2.0 * self.settings.epsilon).then(|| middle + along * (reach / 2.0))
    }

    /// Surfaces, edges and vertices of what is named, and the supernode that leads to the tree.
    fn finish(mut self) -> Result<(Collision, Decisions), Refusal> {
        let mut new = vec![u32::MAX; self.polygons.polygons.len()];
        let named =
            |child: &Child2d| if let Child2d::Surface(surface) = child { Some(*surface) } else { None };
        let children = self.out.nodes2d.iter().flat_map(|node| [&node.left, &node.right]);
        for surface in children.chain(self.out.references.iter().map(|r| &r.node)).filter_map(named) {
            new[surface as usize] = 0;
        }
        let kept: Vec<u32> = (0..new.len() as u32).filter(|&s| new[s as usize] == 0).collect();
        self.decisions.unnamed = (new.len() - kept.len()) as u32;
        for (index, &surface) in (0_u32..).zip(&kept) {
            new[surface as usize] = index;
        }
        let rename = |child: &mut Child2d| {
            if let Child2d::Surface(surface) = child {
                *surface = new[*surface as usize];
            }
        };
        self.out.references.iter_mut().for_each(|reference| rename(&mut reference.node));
        for node in &mut self.out.nodes2d {
            rename(&mut node.left);
            rename(&mut node.right);
        }
        let mut polygons = self.polygons.subset(&kept);
        for (polygon, &surface) in polygons.polygons.iter_mut().zip(&kept) {
            polygon.plane = self.polygons.polygons[surface as usize].plane;
        }
        let tables = polygons.tables();
        self.out.surfaces = tables.surfaces;
        self.out.edges = tables.edges;
        self.out.vertices = tables.vertices;
        self.out.supernodes = vec![Supernode::pass_through()];
        Ok((self.out, self.decisions))
    }
}

fn extent(distances: &[f64]) -> (f64, f64) {
    distances.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), d| (l.min(*d), h.max(*d)))
}

/// The best place between extents along an axis, with its score: `None` where nothing is told apart.
pub(crate) fn sweep(lows: &mut [f64], highs: &mut [f64], count: usize) -> Option<(usize, f32)> {
    lows.sort_unstable_by(f64::total_cmp);
    highs.sort_unstable_by(f64::total_cmp);
    let (mut below, mut behind) = (0, 0);
    let mut best: Option<(usize, f32)> = None;
    while behind < count {
        // The next extent, and the one after it: a plane fits between them.
        let here = highs[behind].min(lows.get(below).copied().unwrap_or(f64::INFINITY));
        while below < count && lows[below] <= here {
            below += 1;
        }
        while behind < count && highs[behind] <= here {
            behind += 1;
        }
        let next = lows.get(below).copied().unwrap_or(f64::INFINITY);
        let next = next.min(highs.get(behind).copied().unwrap_or(f64::INFINITY));
        if !next.is_finite() || next - here < 1e-3 {
            continue;
        }
        // `below` parts begin behind the plane; `count - behind` end in front of it.
        let (back, front) = (below, count - behind);
        let score = back.abs_diff(front) + 2 * (back + front);
        if back < count && front < count && best.is_none_or(|(least, _)| score < least) {
            best = Some((score, ((here + next) / 2.0) as f32));
        }
    }
    best
}
