//! 2D trees: which surface of a leaf lies at a point of a plane.

use glam::{DVec2, DVec3};

use crate::model::{Child2d, Node2d, Plane};

/// How far across a line a fragment may reach and still lie on one side.
const ACROSS: f64 = 1e-4;
/// Fragments without a line between them are dropped; above this area it is counted.
const NOTABLE_AREA: f64 = 1e-5;
/// Lines that are tried at once.
const TRIED: usize = 64;

/// A surface's part in a leaf, laid flat; counter-clockwise.
pub(crate) struct Flat {
    surface: u32,
    ring: Vec<DVec2>,
    area: f64,
}

impl Flat {
    /// Lays a fragment flat in the projection of its reference.
    pub(crate) fn new(surface: u32, points: &[DVec3], plane: &Plane, negated: bool) -> Self {
        let (u, v) = crate::line::projection(plane, negated);
        let mut ring: Vec<DVec2> = points.iter().map(|p| DVec2::new(p[u], p[v])).collect();
        let twice: f64 = (1..ring.len().saturating_sub(1))
            .map(|i| (ring[i] - ring[0]).perp_dot(ring[i + 1] - ring[0]))
            .sum();
        if twice < 0.0 {
            ring.reverse();
        }
        Self { surface, ring, area: twice.abs() / 2.0 }
    }

    /// Whether it reaches to the negative and to the positive side of a line.
    fn sides(&self, line: [f32; 3]) -> (bool, bool) {
        let [i, j, d] = line.map(f64::from);
        let (mut low, mut high, mut sum) = (f64::INFINITY, f64::NEG_INFINITY, 0.0);
        for p in &self.ring {
            let side = i * p.x + j * p.y - d;
            (low, high, sum) = (low.min(side), high.max(side), sum + side);
        }
        match (low < -ACROSS, high > ACROSS) {
            (false, false) => (sum < 0.0, sum >= 0.0),
            sides => sides,
        }
    }

    fn lines(&self) -> impl Iterator<Item = [f32; 3]> + '_ {
        (0..self.ring.len()).filter_map(|k| {
            let (p, q) = (self.ring[k], self.ring[(k + 1) % self.ring.len()]);
            let along = q - p;
            let length = along.length();
            if length < ACROSS {
                return None;
            }
            let (i, j) = ((along.y / length) as f32, (-along.x / length) as f32);
            let d = f64::from(i) * p.x + f64::from(j) * p.y;
            Some([i, j, d as f32])
        })
    }
}

/// Makes the tree over `items`; `lost` counts surfaces of some size that no line could tell apart.
pub(crate) fn tree(mut items: Vec<&Flat>, nodes: &mut Vec<Node2d>, lost: &mut u32) -> Child2d {
    loop {
        match items[..] {
            [] => return Child2d::None,
            [item] => return Child2d::Surface(item.surface),
            _ => {}
        }
        if let Some(line) = best(&items) {
            let at = nodes.len();
            nodes.push(Node2d { line, left: Child2d::None, right: Child2d::None });
            let side = |left: bool| -> Vec<&Flat> {
                let of = |item: &&&Flat| if left { item.sides(line).0 } else { item.sides(line).1 };
                items.iter().filter(of).copied().collect()
            };
            let left = tree(side(true), nodes, lost);
            let right = tree(side(false), nodes, lost);
            nodes[at].left = left;
            nodes[at].right = right;
            return Child2d::Node(at as u32);
        }
        let smallest =
            (0..items.len()).fold(0, |least, i| if items[i].area < items[least].area { i } else { least });
        *lost += u32::from(items[smallest].area > NOTABLE_AREA);
        items.remove(smallest);
    }
}

/// The line that tells fragments apart best: even sides, few on both; the first of equals.
fn best(items: &[&Flat]) -> Option<[f32; 3]> {
    let lines: Vec<[f32; 3]> = items.iter().flat_map(|item| item.lines()).collect();
    let score = |line: [f32; 3]| -> Option<usize> {
        let (mut back, mut front) = (0_usize, 0_usize);
        for item in items {
            let (left, right) = item.sides(line);
            back += usize::from(left);
            front += usize::from(right);
        }
        let divides = back > 0 && front > 0 && back < items.len() && front < items.len();
        divides.then(|| back.abs_diff(front) + 2 * (back + front))
    };
    let first_best = |step: usize, skip: usize| {
        let tried = lines.iter().skip(skip).step_by(step);
        tried
            .filter_map(|&line| Some((score(line)?, line)))
            .reduce(|best, next| if next.0 < best.0 { next } else { best })
    };
    let step = lines.len().div_ceil(TRIED).max(1);
    (0..step).find_map(|skip| first_best(step, skip)).map(|(_, line)| line)
}
