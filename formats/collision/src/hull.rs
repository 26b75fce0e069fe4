//! Convex hulls: their checks, and their union as polygons.
//!
//! In the union every face keeps what lies outside of all other hulls. Of equal faces the one of the lower
//! hull stays; opposite faces vanish where they overlap. No vertices are shared across hulls: what comes
//! out is judged by polygons, never by adjacency.

use glam::DVec3;

use crate::input::Hull;
use crate::polygons::newell;
use crate::refusal::{Code, Element, Refusal};
use crate::weld::{WELD, weld};

/// How far in front of a face a vertex of a hull may lie.
const CONVEX: f64 = 1e-4;

/// How far apart faces may lie to count as one: what single precision carries at this distance from the
/// origin.
pub(crate) fn tolerance(most: f64) -> f64 {
    (4.0 * most / f64::from(1 << 23)).max(1e-5)
}

fn points(hull: &Hull) -> Vec<DVec3> {
    hull.vertices.iter().map(|p| DVec3::from(p.map(f64::from))).collect()
}

/// The corners of a face after welding; fewer than three for one of no area.
fn ring(face: &[u32], kept: &[u32]) -> Vec<u32> {
    let mut ring: Vec<u32> = face.iter().map(|&v| kept[v as usize]).collect();
    ring.dedup();
    while ring.len() > 1 && ring.first() == ring.last() {
        ring.pop();
    }
    ring
}

/// Checks all hulls: flat ones, then those that are not convex or not closed, then those inside out.
pub(crate) fn check(hulls: &[Hull]) -> Result<(), Refusal> {
    let all = |bad: fn(&Hull) -> bool| -> Vec<Element> {
        (0_u32..).zip(hulls).filter(|(_, hull)| bad(hull)).map(|(h, _)| Element::Hull(h)).collect()
    };
    for (code, bad, message) in [
        (Code::HullFlat, is_flat as fn(&Hull) -> bool, "a hull needs four corners that are not on one plane"),
        (
            Code::HullNotConvex,
            is_dented,
            "a corner lies in front of a face, at most 0.0001 world units is allowed",
        ),
        (Code::OpenEdge, is_open, "the faces of a hull do not close"),
        (Code::InsideOut, is_inside_out, "the faces of a hull point inwards"),
    ] {
        let elements = all(bad);
        if !elements.is_empty() {
            return Err(Refusal::new(code, elements, message));
        }
    }
    Ok(())
}

fn is_flat(hull: &Hull) -> bool {
    let points = points(hull);
    let farthest = |from: &dyn Fn(DVec3) -> f64| {
        points.iter().copied().max_by(|a, b| from(*a).total_cmp(&from(*b))).filter(|p| from(*p) > WELD)
    };
    let Some(&a) = points.first() else { return true };
    let Some(b) = farthest(&|p| p.distance(a)) else { return true };
    let along = (b - a).normalize();
    let Some(c) = farthest(&|p| (p - a).cross(along).length()) else { return true };
    let normal = along.cross(c - a).normalize();
    farthest(&|p| (p - a).dot(normal).abs()).is_none()
}

fn is_dented(hull: &Hull) -> bool {
    let points = points(hull);
    let kept = weld(&hull.vertices, WELD);
    hull.faces.iter().map(|face| ring(face, &kept)).filter(|ring| ring.len() > 2).any(|ring| {
        let corners: Vec<DVec3> = ring.iter().map(|&v| points[v as usize]).collect();
        let normal = newell(&corners).normalize_or_zero();
        let d = corners.iter().map(|p| normal.dot(*p)).sum::<f64>() / corners.len() as f64;
        points.iter().any(|p| normal.dot(*p) - d > CONVEX)
    })
}

fn is_open(hull: &Hull) -> bool {
    let kept = weld(&hull.vertices, WELD);
    let rings: Vec<Vec<u32>> =
        hull.faces.iter().map(|face| ring(face, &kept)).filter(|r| r.len() > 2).collect();
    let mut sides: Vec<(u32, u32)> = rings.iter().flat_map(|ring| crate::polygons::sides(ring)).collect();
    let mut back: Vec<(u32, u32)> = sides.iter().map(|&(a, b)| (b, a)).collect();
    sides.sort_unstable();
    back.sort_unstable();
    sides != back || sides.windows(2).any(|pair| pair[0] == pair[1])
}

fn is_inside_out(hull: &Hull) -> bool {
    let points = points(hull);
    let fans =
        hull.faces.iter().flat_map(|face| face.windows(2).skip(1).map(|pair| (face[0], pair[0], pair[1])));
    let corner = |v: u32| points[v as usize];
    fans.map(|(a, b, c)| corner(a).dot(corner(b).cross(corner(c)))).sum::<f64>() <= 0.0
}

/// A part of a face that lies outside of all other hulls.
pub(crate) struct Piece {
    pub(crate) hull: u32,
    pub(crate) normal: DVec3,
    pub(crate) points: Vec<DVec3>,
}

struct Body {
    faces: Vec<Piece>,
    /// Normals and distances of its planes, each once.
    planes: Vec<(DVec3, f64)>,
    low: DVec3,
    high: DVec3,
}

impl Body {
    fn new(index: u32, hull: &Hull) -> Self {
        let points = points(hull);
        let kept = weld(&hull.vertices, WELD);
        let (mut faces, mut planes) = (Vec::new(), Vec::<(DVec3, f64)>::new());
        for face in &hull.faces {
            let corners: Vec<DVec3> = ring(face, &kept).iter().map(|&v| points[v as usize]).collect();
            if corners.len() < 3 {
                continue;
            }
            let normal = newell(&corners).normalize_or_zero();
            if normal == DVec3::ZERO {
                continue;
            }
            let d = corners.iter().map(|p| normal.dot(*p)).sum::<f64>() / corners.len() as f64;
            if !planes.iter().any(|(n, e)| n.dot(normal) > 1.0 - 1e-12 && (e - d).abs() < 1e-9) {
                planes.push((normal, d));
            }
            faces.push(Piece { hull: index, normal, points: corners });
        }
        let low = points.iter().fold(DVec3::INFINITY, |low, p| low.min(*p));
        let high = points.iter().fold(DVec3::NEG_INFINITY, |high, p| high.max(*p));
        Self { faces, planes, low, high }
    }

    /// What of `piece` lies outside; whole when nothing is lost.
    fn outside(&self, piece: Piece, lower: bool, tolerance: f64, out: &mut Vec<Piece>) {
        let (hull, normal) = (piece.hull, piece.normal);
        let start = out.len();
        let mut rest = piece.points.clone();
        for &(n, d) in &self.planes {
            let distances: Vec<f64> = rest.iter().map(|p| n.dot(*p) - d).collect();
            let front = distances.iter().any(|d| *d > tolerance);
            let back = distances.iter().any(|d| *d < -tolerance);
            match (front, back) {
                (false, false) if lower && n.dot(normal) > 0.0 => rest.clear(),
                (true, false) => rest.clear(),
                (false, _) => continue,
                (true, true) => {
                    let (points, inner) = cut(&rest, &distances);
                    out.push(Piece { hull, normal, points });
                    rest = inner;
                    continue;
                }
            }
            // What is left lies outside: when nothing was lost, the face stays in one piece.
            out.truncate(start);
            if out.len() == start {
                out.push(piece);
            }
            return;
        }
    }
}

/// Cuts a convex polygon by its distances to a plane: the part in front, the part behind.
pub(crate) fn cut(points: &[DVec3], distances: &[f64]) -> (Vec<DVec3>, Vec<DVec3>) {
    let (mut front, mut back) = (Vec::with_capacity(points.len() + 1), Vec::with_capacity(points.len() + 1));
    for i in 0..points.len() {
        let j = (i + 1) % points.len();
        let (p, q, a, b) = (points[i], points[j], distances[i], distances[j]);
        if a >= 0.0 {
            front.push(p);
        }
        if a <= 0.0 {
            back.push(p);
        }
        if (a > 0.0 && b < 0.0) || (a < 0.0 && b > 0.0) {
            // From the same end in both directions: neighbours get the same point.
            let crossing = if a > 0.0 { p + (q - p) * (a / (a - b)) } else { q + (p - q) * (b / (b - a)) };
            front.push(crossing);
            back.push(crossing);
        }
    }
    (front, back)
}

/// The planes of a hull: outward normals and distances, each once.
pub(crate) fn planes(hull: &Hull) -> Vec<(DVec3, f64)> {
    Body::new(0, hull).planes
}

/// The faces of the union of all hulls.
pub(crate) fn union(hulls: &[Hull]) -> Vec<Piece> {
    let mut bodies: Vec<Body> = (0_u32..).zip(hulls).map(|(h, hull)| Body::new(h, hull)).collect();
    let most =
        bodies.iter().fold(0.0_f64, |m, b| m.max(b.low.abs().max_element()).max(b.high.abs().max_element()));
    let tolerance = tolerance(most);
    // By their low x: only hulls that overlap along it can meet.
    let mut order: Vec<usize> = (0..bodies.len()).collect();
    order.sort_by(|&a, &b| bodies[a].low.x.total_cmp(&bodies[b].low.x).then(a.cmp(&b)));
    let mut near: Vec<Vec<usize>> = vec![Vec::new(); bodies.len()];
    for (at, &a) in order.iter().enumerate() {
        for &b in &order[at + 1..] {
            if bodies[b].low.x > bodies[a].high.x + tolerance {
                break;
            }
            let apart = |p: &Body, q: &Body| p.low.cmpgt(q.high + tolerance).any();
            if !apart(&bodies[a], &bodies[b]) && !apart(&bodies[b], &bodies[a]) {
                near[a].push(b);
                near[b].push(a);
            }
        }
    }
    let faces: Vec<Vec<Piece>> = bodies.iter_mut().map(|body| std::mem::take(&mut body.faces)).collect();
    let mut all = Vec::new();
    for (h, faces) in faces.into_iter().enumerate() {
        near[h].sort_unstable();
        for face in faces {
            let mut pieces = vec![face];
            for &g in &near[h] {
                let mut kept = Vec::with_capacity(pieces.len());
                for piece in pieces {
                    bodies[g].outside(piece, h < g, tolerance, &mut kept);
                }
                pieces = kept;
            }
            all.extend(pieces);
        }
    }
    all
}
