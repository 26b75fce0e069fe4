//! Lines that leave no part of a BSP untried, found from its own decoded tables.
//!
//! Every surface is pushed down the tree to the cells that it reaches: a line goes through each part. And
//! every border between open and solid cells is cut out of its node's plane: a line goes through each,
//! for a border without a surface is a wall where none is. What a changed plane, child or reference moves
//! is one of these.

use glam::DVec3;

use crate::hull::cut;
use crate::layout::MAX_DEPTH;
use crate::model::{Cell, Child, Collision, Plane};
use crate::truth::Segment;

/// Parts less wide than this are borders: nothing is asked of them.
const NARROW: f64 = 1e-3;
/// How far from a surface its lines start.
pub(crate) const AWAY: f64 = 0.05;
/// Distances below this are none.
const EPSILON: f64 = 1e-6;

/// Lines through every part of surface `surface`, from each side on which it blocks.
pub(crate) fn through_surface(bsp: &Collision, surface: u32) -> Vec<Segment> {
    let polygon = bsp.polygon(surface);
    let Some(it) = bsp.surfaces.get(surface as usize) else { return Vec::new() };
    let Some(facing) = bsp.facing(it) else { return Vec::new() };
    let mut lines = Vec::new();
    if polygon.len() < 3 {
        return lines;
    }
    let sides: &[bool] = if it.is_two_sided() { &[true, false] } else { &[true] };
    for &front in sides {
        let mut todo: Vec<(Child, Vec<DVec3>, usize)> =
            roots(bsp).into_iter().map(|root| (root, polygon.clone(), 0)).collect();
        while let Some((child, points, depth)) = todo.pop() {
            let Child::Node(index) = child else {
                let normal = if front { facing.normal64() } else { -facing.normal64() };
                lines.extend(middle(&points).map(|(at, _)| across(at, normal, AWAY)));
                continue;
            };
            let Some(node) = bsp.nodes.get(index as usize) else { continue };
            let Some(plane) = bsp.planes.get(node.plane as usize) else { continue };
            if depth > MAX_DEPTH {
                continue;
            }
            if node.plane == it.plane {
                let child = if front != it.negated { node.front } else { node.back };
                todo.push((child, points, depth + 1));
                continue;
            }
            let (before, behind) = sides_of(points, plane);
            todo.extend(before.map(|points| (node.front, points, depth + 1)));
            todo.extend(behind.map(|points| (node.back, points, depth + 1)));
        }
    }
    lines
}

fn roots(bsp: &Collision) -> Vec<Child> {
    if bsp.supernodes.is_empty() {
        return vec![Child::Node(0)];
    }
    let mut roots: Vec<u32> = Vec::new();
    for supernode in &bsp.supernodes {
        for cell in 0..16 {
            if let Cell::Tree(Child::Node(root)) = supernode.cell(cell) {
                roots.push(root);
            }
        }
    }
    roots.sort_unstable();
    roots.dedup();
    roots.into_iter().map(Child::Node).collect()
}

fn across(at: DVec3, normal: DVec3, away: f64) -> Segment {
    Segment::new(at + normal * away, at - normal * away)
}

type Sides = (Option<Vec<DVec3>>, Option<Vec<DVec3>>);

/// The parts of a polygon in front of and behind a plane; what lies on it is on both sides.
fn sides_of(points: Vec<DVec3>, plane: &Plane) -> Sides {
    let distances: Vec<f64> = points.iter().map(|p| plane.distance(*p)).collect();
    let front = distances.iter().any(|d| *d > EPSILON);
    let back = distances.iter().any(|d| *d < -EPSILON);
    match (front, back) {
        (true, true) => {
            let (front, back) = cut(&points, &distances);
            (Some(front), Some(back))
        }
        (true, false) => (Some(points), None),
        (false, true) => (None, Some(points)),
        (false, false) => (Some(points.clone()), Some(points)),
    }
}

/// The middle of a part, and how far it is from its sides; none where it is too narrow to tell.
fn middle(points: &[DVec3]) -> Option<(DVec3, f64)> {
    let n = points.len();
    if n < 3 {
        return None;
    }
    let middle = points.iter().sum::<DVec3>() / n as f64;
    let reach = (0..n).map(|i| {
        let along = points[(i + 1) % n] - points[i];
        along.cross(middle - points[i]).length() / along.length().max(1e-12)
    });
    Some((middle, reach.fold(f64::INFINITY, f64::min))).filter(|(_, reach)| *reach > NARROW)
}

/// A part of a border between open and solid.
pub(crate) struct Border {
    /// Its corners.
    pub(crate) points: Vec<DVec3>,
    /// A line through its middle, from the open side.
    pub(crate) line: Segment,
    /// Lines near its corners.
    pub(crate) corners: Vec<Segment>,
}

/// All borders between an open and a solid cell on node `index`'s plane.
pub(crate) fn borders(
    bsp: &Collision,
    index: u32,
    path: &[(u32, bool)],
    low: DVec3,
    high: DVec3,
) -> Vec<Border> {
    let mut borders = Vec::new();
    let Some(node) = bsp.nodes.get(index as usize) else { return borders };
    let Some(plane) = bsp.planes.get(node.plane as usize) else { return borders };
    let mut points = sheet(plane, low, high);
    for &(other, before) in path {
        let Some(it) = bsp.planes.get(other as usize) else { return borders };
        let (front, back) = sides_of(points, it);
        match if before { front } else { back } {
            Some(rest) if rest.len() > 2 => points = rest,
            _ => return borders,
        }
    }
    let normal = plane.normal64();
    for (back, points) in parts(bsp, node.back, points) {
        for (front, points) in parts(bsp, node.front, points) {
            let solid = |child| child == Child::Solid;
            let along = match (solid(back), solid(front)) {
                (true, false) => normal,
                (false, true) => -normal,
                _ => continue,
            };
            if let Some((at, reach)) = middle(&points) {
                let inwards = (2.0 * NARROW / reach).clamp(0.05, 0.5);
                let corners = points.iter().map(|p| across(p.lerp(at, inwards), along, AWAY)).collect();
                borders.push(Border { line: across(at, along, AWAY), corners, points });
            }
        }
    }
    borders
}

/// The terminals below `child` that a polygon on its border reaches.
fn parts(bsp: &Collision, child: Child, points: Vec<DVec3>) -> Vec<(Child, Vec<DVec3>)> {
    let mut out = Vec::new();
    let mut todo = vec![(child, points, 0)];
    while let Some((child, points, depth)) = todo.pop() {
        let Child::Node(index) = child else {
            out.push((child, points));
            continue;
        };
        let Some(node) = bsp.nodes.get(index as usize) else { continue };
        let Some(plane) = bsp.planes.get(node.plane as usize) else { continue };
        if depth > MAX_DEPTH {
            continue;
        }
        let (front, back) = sides_of(points, plane);
        todo.extend(front.map(|points| (node.front, points, depth + 1)));
        todo.extend(back.map(|points| (node.back, points, depth + 1)));
    }
    out
}

/// A polygon on a plane that covers a box.
fn sheet(plane: &Plane, low: DVec3, high: DVec3) -> Vec<DVec3> {
    let normal = plane.normal64();
    let middle = (low + high) / 2.0;
    let middle = middle - normal * plane.distance(middle);
    let u = normal.any_orthonormal_vector();
    let v = normal.cross(u);
    let size = (high - low).length();
    let mut points: Vec<DVec3> = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]
        .map(|(a, b)| middle + (u * a + v * b) * size)
        .into();
    for axis in 0..3 {
        for (at, above) in [(low[axis], true), (high[axis], false)] {
            let distances: Vec<f64> = points.iter().map(|p| p[axis] - at).collect();
            let (front, back) = cut(&points, &distances);
            points = if above { front } else { back };
        }
    }
    points
}

/// The planes on the way to a node, and whether it lies in front of each.
pub(crate) type Path = Vec<(u32, bool)>;

/// Every node with the way to it.
pub(crate) fn nodes(bsp: &Collision) -> Vec<(u32, Path)> {
    let mut found = Vec::with_capacity(bsp.nodes.len());
    for root in roots(bsp) {
        let Child::Node(root) = root else { continue };
        let mut path = Path::new();
        let mut todo = vec![(root, 0_usize, None)];
        while let Some((index, depth, step)) = todo.pop() {
            let Some(node) = bsp.nodes.get(index as usize) else { continue };
            // Tables that are not a tree are cut short here, and refused elsewhere.
            if depth > MAX_DEPTH || found.len() > 2 * bsp.nodes.len() {
                continue;
            }
            path.truncate(depth.saturating_sub(1));
            path.extend(step);
            found.push((index, path.clone()));
            for (child, before) in [(node.front, true), (node.back, false)] {
                if let Child::Node(child) = child {
                    todo.push((child, depth + 1, Some((node.plane, before))));
                }
            }
        }
    }
    found
}
