//! Polygons in a tree of boxes: the truth that a BSP is held against, and the answer where the pieces in
//! one of its cells leave open whether the cell is solid.
//!
//! It knows polygons alone, in double precision, with planes of their own making; no table and no node.

use glam::DVec3;

use crate::polygons::{Polygons, newell};

/// A crossing of a line and a polygon.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Crossing {
    /// Where, as a multiple of the direction.
    pub(crate) t: f64,
    /// Which polygon.
    pub(crate) polygon: u32,
    /// How far inside the polygon's border; slightly negative on it.
    pub(crate) margin: f64,
    /// The normal along the direction: below 0 when the front was met.
    pub(crate) slope: f64,
}

struct Face {
    start: u32,
    len: u32,
    normal: DVec3,
    d: f64,
    two_sided: bool,
}

#[derive(Clone, Copy)]
struct BoxNode {
    low: DVec3,
    high: DVec3,
    /// First child, the second follows; or the first face of a leaf.
    first: u32,
    /// Faces of a leaf; 0 for a branch.
    count: u32,
}

/// The polygons.
pub(crate) struct Scene {
    corners: Vec<DVec3>,
    faces: Vec<Face>,
    order: Vec<u32>,
    boxes: Vec<BoxNode>,
    solid_outside: bool,
    has_solids: bool,
}

const LEAF_FACES: usize = 4;
/// How far outside its border a polygon still counts as met: neighbours must not leave a crack.
const CRACK: f64 = 1e-6;

impl Scene {
    pub(crate) fn new(polygons: &Polygons) -> Self {
        let mut corners = Vec::new();
        let mut faces = Vec::with_capacity(polygons.polygons.len());
        for polygon in &polygons.polygons {
            let points = polygons.points(polygon);
            let normal = newell(&points).normalize_or(polygons.normal(polygon));
            let d = points.iter().map(|p| normal.dot(*p)).sum::<f64>() / points.len() as f64;
            let (start, len) = (corners.len() as u32, points.len() as u32);
            corners.extend(points);
            faces.push(Face { start, len, normal, d, two_sided: polygon.is_two_sided() });
        }
        let mut it = Self {
            corners,
            order: (0..faces.len() as u32).collect(),
            has_solids: faces.iter().any(|face| !face.two_sided),
            faces,
            boxes: Vec::new(),
            solid_outside: polygons.solid_outside,
        };
        let bounds: Vec<(DVec3, DVec3)> = (0..it.faces.len()).map(|face| it.face_box(face)).collect();
        it.boxes.push(BoxNode { low: DVec3::ZERO, high: DVec3::ZERO, first: 0, count: 0 });
        it.divide(0, 0, bounds.len(), &bounds);
        it
    }

    pub(crate) fn points(&self, polygon: u32) -> &[DVec3] {
        let face = &self.faces[polygon as usize];
        &self.corners[face.start as usize..(face.start + face.len) as usize]
    }

    pub(crate) fn normal(&self, polygon: u32) -> DVec3 {
        self.faces[polygon as usize].normal
    }

    pub(crate) fn is_two_sided(&self, polygon: u32) -> bool {
        self.faces[polygon as usize].two_sided
    }

    pub(crate) fn len(&self) -> usize {
        self.faces.len()
    }

    fn face_box(&self, face: usize) -> (DVec3, DVec3) {
        let points = self.points(face as u32).iter();
        points.fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(lo, hi), p| (lo.min(*p), hi.max(*p)))
    }

    fn divide(&mut self, node: usize, start: usize, end: usize, bounds: &[(DVec3, DVec3)]) {
        let faces = &self.order[start..end];
        let (low, high) = faces.iter().fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(lo, hi), &f| {
            let (a, b) = bounds[f as usize];
            (lo.min(a), hi.max(b))
        });
        if end - start <= LEAF_FACES {
            self.boxes[node] = BoxNode { low, high, first: start as u32, count: (end - start) as u32 };
            return;
        }
        let spread = high - low;
        let axis = (0..3).fold(0, |best, axis| if spread[axis] > spread[best] { axis } else { best });
        let middle = |f: u32| bounds[f as usize].0[axis] + bounds[f as usize].1[axis];
        self.order[start..end].sort_unstable_by(|&a, &b| middle(a).total_cmp(&middle(b)).then(a.cmp(&b)));
        let first = self.boxes.len();
        self.boxes[node] = BoxNode { low, high, first: first as u32, count: 0 };
        let empty = self.boxes[node];
        self.boxes.extend([empty, empty]);
        let half = start + (end - start) / 2;
        self.divide(first, start, half, bounds);
        self.divide(first + 1, half, end, bounds);
    }

    /// Calls `each` with every crossing of the line below the limit that the last call gave back.
    fn walk(&self, origin: DVec3, direction: DVec3, mut limit: f64, each: &mut dyn FnMut(Crossing) -> f64) {
        let mut stack = vec![0_u32];
        while let Some(index) = stack.pop() {
            let node = self.boxes[index as usize];
            if !touches(&node, origin, direction, limit) {
                continue;
            }
            if node.count == 0 && !self.faces.is_empty() {
                stack.extend([node.first + 1, node.first]);
                continue;
            }
            for &face in &self.order[node.first as usize..(node.first + node.count) as usize] {
                if let Some(crossing) = self.crossing(face, origin, direction)
                    && (0.0..=limit).contains(&crossing.t)
                {
                    limit = each(crossing);
                }
            }
        }
    }

    fn crossing(&self, polygon: u32, origin: DVec3, direction: DVec3) -> Option<Crossing> {
        let face = &self.faces[polygon as usize];
        let slope = face.normal.dot(direction);
        if slope == 0.0 {
            return None;
        }
        let t = (face.d - face.normal.dot(origin)) / slope;
        let margin = self.margin(polygon, origin + direction * t);
        (margin >= -CRACK).then_some(Crossing { t, polygon, margin, slope })
    }

    /// How far inside the border of a polygon a point of its plane lies; negative outside.
    pub(crate) fn margin(&self, polygon: u32, point: DVec3) -> f64 {
        let normal = self.faces[polygon as usize].normal;
        let points = self.points(polygon);
        let mut least = f64::INFINITY;
        for i in 0..points.len() {
            let along = points[(i + 1) % points.len()] - points[i];
            let inward = normal.cross(along);
            let length = inward.length();
            if length > 0.0 {
                least = least.min(inward.dot(point - points[i]) / length);
            }
        }
        least
    }

    /// Whether a point lies within `reach` of a border of a polygon.
    pub(crate) fn is_near_border(&self, point: DVec3, reach: f64) -> bool {
        let mut stack = vec![0_u32];
        while let Some(index) = stack.pop() {
            let node = self.boxes[index as usize];
            if point.cmplt(node.low - reach).any() || point.cmpgt(node.high + reach).any() {
                continue;
            }
            if node.count == 0 && !self.faces.is_empty() {
                stack.extend([node.first, node.first + 1]);
                continue;
            }
            let near = |face: &u32| {
                let points = self.points(*face);
                (0..points.len()).any(|i| {
                    let (start, along) = (points[i], points[(i + 1) % points.len()] - points[i]);
                    let t = (point - start).dot(along) / along.length_squared();
                    (start + along * t.clamp(0.0, 1.0)).distance(point) <= reach
                })
            };
            if self.order[node.first as usize..(node.first + node.count) as usize].iter().any(near) {
                return true;
            }
        }
        false
    }

    /// All crossings of the segment, in order; of crossings at one place that of the lower polygon first.
    pub(crate) fn crossings(&self, from: DVec3, to: DVec3) -> Vec<Crossing> {
        let mut found = Vec::new();
        self.walk(from, to - from, 1.0, &mut |crossing| {
            found.push(crossing);
            1.0
        });
        found.sort_by(|a, b| a.t.total_cmp(&b.t).then(a.polygon.cmp(&b.polygon)));
        found
    }

    /// Whether a point lies in solid space, by the side from which the nearest one-sided polygon is seen.
    pub(crate) fn is_solid(&self, point: DVec3) -> bool {
        if !self.has_solids {
            return false;
        }
        // Odd directions, so that no grid of a level lines up with them.
        const DIRECTIONS: [[f64; 3]; 7] = [
            [0.128_317, 0.213_541, 0.968_471],
            [0.913_271, -0.317_211, 0.255_713],
            [-0.371_813, 0.871_427, -0.319_791],
            [-0.291_371, -0.187_213, -0.938_113],
            [0.531_737, 0.613_151, -0.584_237],
            [-0.713_371, 0.237_713, 0.659_137],
            [0.213_737, -0.911_371, -0.351_713],
        ];
        let mut lead = 0_i32;
        for direction in DIRECTIONS {
            let direction = DVec3::from(direction);
            let mut nearest: Option<Crossing> = None;
            self.walk(point, direction, f64::INFINITY, &mut |crossing| {
                if !self.faces[crossing.polygon as usize].two_sided
                    && nearest.is_none_or(|n| crossing.t < n.t)
                {
                    nearest = Some(crossing);
                }
                nearest.map_or(f64::INFINITY, |n| n.t)
            });
            let (solid, weight) = match nearest {
                None => (self.solid_outside, 2),
                Some(n) => (n.slope > 0.0, if n.margin > 1e-4 && n.slope.abs() > 0.02 { 2 } else { 1 }),
            };
            lead += if solid { weight } else { -weight };
            if lead.abs() >= 4 {
                break;
            }
        }
        lead > 0
    }

    /// Whether anything of it is one-sided.
    pub(crate) fn has_solids(&self) -> bool {
        self.has_solids
    }
}

fn touches(node: &BoxNode, origin: DVec3, direction: DVec3, limit: f64) -> bool {
    let (mut enter, mut leave) = (0.0_f64, limit);
    for axis in 0..3 {
        let (low, high) = (node.low[axis] - CRACK - origin[axis], node.high[axis] + CRACK - origin[axis]);
        let speed = direction[axis];
        if speed == 0.0 {
            if low > 0.0 || high < 0.0 {
                return false;
            }
            continue;
        }
        let (a, b) = (low / speed, high / speed);
        enter = enter.max(a.min(b));
        leave = leave.min(a.max(b));
    }
    enter <= leave
}
