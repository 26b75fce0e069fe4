//! The engine's own line and point tests over decoded tables, in its own precision: the judge of what the
//! builder made.
//!
//! Nothing of the builder is used here. Tables need not be valid: a walk that leaves them, or goes in a
//! circle, ends with [`Lost`].
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use glam::Vec3;

use crate::layout::{MAX_DEPTH, MAX_RING};
use crate::model::{Cell, Child, Child2d, Collision, LEAF_TWO_SIDED, Plane, Supernode, surface_flags};

/// What a line test looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query(pub u32);

impl Query {
    /// Surfaces met from their front.
    pub const FRONT: Self = Self(1);
    /// Surfaces met from their back.
    pub const BACK: Self = Self(2);
    /// Surfaces met from either side.
    pub const ANY: Self = Self(1 | 2);
    /// Two-sided surfaces do not count.
    pub const IGNORE_TWO_SIDED: Self = Self(4);
    /// Invisible surfaces do not count.
    pub const IGNORE_INVISIBLE: Self = Self(8);
    /// Breakable surfaces do not count.
    pub const IGNORE_BREAKABLE: Self = Self(16);
    /// Surfaces for path finding alone do count.
    pub const PATHFINDING: Self = Self(64);

    /// Both.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// What a line met first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Where, as a fraction of the line.
    pub fraction: f32,
    /// The leaf that named the surface.
    pub leaf: u32,
    /// The surface.
    pub surface: u32,
    /// The plane of the node that was crossed.
    pub plane: u32,
}

/// A walk left the tables, or did not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the walk leaves the {0} or does not end")]
pub struct Lost(pub &'static str);

/// What was met last on the way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Nothing,
    Open,
    OpenTwoSided,
    Solid,
}

struct Walk<'a> {
    bsp: &'a Collision,
    query: Query,
    origin: Vec3,
    direction: Vec3,
    kind: Kind,
    leaf: u32,
    plane: u32,
    steps: usize,
}

impl Collision {
    /// The first surface that the line from `from` to `to` meets.
    pub fn line(&self, from: Vec3, to: Vec3, query: Query) -> Result<Option<Hit>, Lost> {
        let mut walk = Walk {
            bsp: self,
            query,
            origin: from,
            direction: to - from,
            kind: Kind::Nothing,
            leaf: 0,
            plane: u32::MAX,
            steps: self.nodes.len().saturating_mul(16).saturating_add(4096),
        };
        if self.supernodes.is_empty() {
            return walk.tree(Child::Node(0), 0.0, 1.0, 0);
        }
        walk.supernode(0, 0.0, 1.0, 0)
    }

    /// Whether a point lies in solid space.
    pub fn is_solid(&self, point: Vec3) -> Result<bool, Lost> {
        let mut child = Child::Node(0);
        let mut at = (!self.supernodes.is_empty()).then_some(0);
        for _ in 0..=MAX_DEPTH {
            let Some(index) = at else { break };
            let supernode = self.supernodes.get(index as usize).ok_or(Lost("supernodes"))?;
            let mut i = 0;
            for level in 0..4 {
                let (axis, split) = split_of(supernode, i, level)?;
                i = if *point.to_array().get(axis).ok_or(Lost("supernodes"))? < split {
                    2 * i + 1
                } else {
                    2 * i + 2
                };
            }
            match supernode.cell(i - 15) {
                Cell::Empty => return Ok(false),
                Cell::Tree(root) => (child, at) = (root, None),
                Cell::Supernode(next) => at = Some(next),
            }
        }
        for _ in 0..=self.nodes.len() {
            match child {
                Child::Solid => return Ok(true),
                Child::Leaf(_) => return Ok(false),
                Child::Node(index) => {
                    let node = self.nodes.get(index as usize).ok_or(Lost("3D nodes"))?;
                    let plane = self.planes.get(node.plane as usize).ok_or(Lost("planes"))?;
                    let front = Vec3::from(plane.normal).dot(point) - plane.d >= 0.0;
                    child = if front { node.front } else { node.back };
                }
            }
        }
        Err(Lost("3D nodes"))
    }
}

fn split_of(supernode: &Supernode, i: usize, level: u32) -> Result<(usize, f32), Lost> {
    let axis = (supernode.dimensions >> (2 * level)) & 3;
    let split = supernode.splits.get(i).ok_or(Lost("supernodes"))?;
    Ok((axis as usize, *split))
}

impl Walk<'_> {
    fn step(&mut self) -> Result<(), Lost> {
        self.steps = self.steps.checked_sub(1).ok_or(Lost("3D nodes"))?;
        Ok(())
    }

    /// Walks a supernode: sixteen cells below four levels of splits, near sides first.
    fn supernode(&mut self, index: u32, t0: f32, t1: f32, depth: usize) -> Result<Option<Hit>, Lost> {
        self.step()?;
        if depth > MAX_DEPTH {
            return Err(Lost("supernodes"));
        }
        let supernode = *self.bsp.supernodes.get(index as usize).ok_or(Lost("supernodes"))?;
        self.cells(&supernode, 0, 0, t0, t1, depth)
    }

    fn cells(
        &mut self,
        supernode: &Supernode,
        i: usize,
        level: u32,
        t0: f32,
        t1: f32,
        depth: usize,
    ) -> Result<Option<Hit>, Lost> {
        if level == 4 {
            return match supernode.cell(i - 15) {
                Cell::Empty => Ok(None),
                Cell::Tree(root) => self.tree(root, t0, t1, depth),
                Cell::Supernode(next) => self.supernode(next, t0, t1, depth + 1),
            };
        }
        let (axis, split) = split_of(supernode, i, level)?;
        let component = |v: Vec3| v.to_array().get(axis).copied().ok_or(Lost("supernodes"));
        let (origin, speed) = (component(self.origin)? - split, component(self.direction)?);
        let (a, b) = (origin + speed * t0, origin + speed * t1);
        let (below, above) = (2 * i + 1, 2 * i + 2);
        if a < 0.0 && b < 0.0 {
            return self.cells(supernode, below, level + 1, t0, t1, depth);
        }
        if a >= 0.0 && b >= 0.0 {
            return self.cells(supernode, above, level + 1, t0, t1, depth);
        }
        let t = between(-origin / speed, t0, t1);
        let (near, far) = if speed >= 0.0 { (below, above) } else { (above, below) };
        match self.cells(supernode, near, level + 1, t0, t, depth)? {
            Some(hit) => Ok(Some(hit)),
            None => self.cells(supernode, far, level + 1, t, t1, depth),
        }
    }

    fn tree(&mut self, mut child: Child, mut t0: f32, t1: f32, depth: usize) -> Result<Option<Hit>, Lost> {
        if depth > 2 * MAX_DEPTH {
            return Err(Lost("3D nodes"));
        }
        while let Child::Node(index) = child {
            self.step()?;
            let node = *self.bsp.nodes.get(index as usize).ok_or(Lost("3D nodes"))?;
            let plane = self.bsp.planes.get(node.plane as usize).ok_or(Lost("planes"))?;
            let normal = Vec3::from(plane.normal);
            let (d, v) = (normal.dot(self.origin) - plane.d, normal.dot(self.direction));
            let (a, b) = (d + v * t0, d + v * t1);
            if a >= 0.0 && b >= 0.0 {
                child = node.front;
            } else if a < 0.0 && b < 0.0 {
                child = node.back;
            } else {
                let t = between(-d / v, t0, t1);
                let (near, far) = if v >= 0.0 { (node.back, node.front) } else { (node.front, node.back) };
                if let Some(hit) = self.tree(near, t0, t, depth + 1)? {
                    return Ok(Some(hit));
                }
                self.plane = node.plane;
                t0 = t;
                child = far;
            }
        }
        self.terminal(child, t0)
    }

    fn terminal(&mut self, child: Child, t: f32) -> Result<Option<Hit>, Lost> {
        let (kind, leaf) = match child {
            Child::Leaf(leaf) => {
                let flags = self.bsp.leaves.get(leaf as usize).ok_or(Lost("leaves"))?.flags;
                (if flags & LEAF_TWO_SIDED != 0 { Kind::OpenTwoSided } else { Kind::Open }, leaf)
            }
            _ => (Kind::Solid, 0),
        };
        let open = |kind| matches!(kind, Kind::Open | Kind::OpenTwoSided);
        let front = self.query.has(Query::FRONT);
        let two_sided = !self.query.has(Query::IGNORE_TWO_SIDED);
        let asked = if front && open(self.kind) && kind == Kind::Solid {
            Some((self.leaf, false))
        } else if self.query.has(Query::BACK) && self.kind == Kind::Solid && open(kind) {
            Some((leaf, false))
        } else if two_sided && self.kind == Kind::OpenTwoSided && kind == Kind::OpenTwoSided {
            Some((if front { self.leaf } else { leaf }, true))
        } else {
            None
        };
        if let Some((leaf, polygon)) = asked
            && let Some(surface) = self.surface_at(leaf, t, polygon)?
        {
            return Ok(Some(Hit { fraction: t, leaf, surface, plane: self.plane }));
        }
        (self.kind, self.leaf) = (kind, leaf);
        Ok(None)
    }

    /// The surface of `leaf` on the plane that was crossed last, at the place of the crossing.
    fn surface_at(&self, leaf: u32, t: f32, polygon: bool) -> Result<Option<u32>, Lost> {
        let leaf = self.bsp.leaves.get(leaf as usize).ok_or(Lost("leaves"))?;
        let point = self.origin + self.direction * t;
        let (first, count) = (leaf.first as usize, usize::from(leaf.count));
        let references = if count == 0 {
            Some(&[][..])
        } else {
            self.bsp.references.get(first..first.saturating_add(count))
        };
        for reference in references.ok_or(Lost("references"))? {
            if reference.plane & 0x7FFF != self.plane {
                continue;
            }
            let plane = self.bsp.planes.get(self.plane as usize).ok_or(Lost("planes"))?;
            let found = descend(self.bsp, reference.node, plane, reference.negated, point)?;
            if polygon {
                let behind = Vec3::from(plane.normal).dot(self.direction) > 0.0;
                let inside = match found {
                    Some(surface) => behind == reference.negated && self.is_inside(surface, plane, point)?,
                    None => false,
                };
                if !inside {
                    continue;
                }
            }
            let Some(surface) = found else { return Ok(None) };
            let flags = self.bsp.surfaces.get(surface as usize).ok_or(Lost("surfaces"))?.flags;
            let excluded = [
                (Query::IGNORE_TWO_SIDED, surface_flags::TWO_SIDED),
                (Query::IGNORE_INVISIBLE, surface_flags::INVISIBLE),
                (Query::IGNORE_BREAKABLE, surface_flags::BREAKABLE),
            ]
            .iter()
            .any(|(ignore, flag)| self.query.has(*ignore) && flags & flag != 0)
                || (flags & surface_flags::PATHFINDING_ONLY != 0 && !self.query.has(Query::PATHFINDING));
            return Ok((!excluded).then_some(surface));
        }
        Ok(None)
    }

    /// Whether a point of its plane lies within a surface. Each edge is judged in its own direction, so
    /// that of two neighbours at least one has every point of the edge between them.
    fn is_inside(&self, index: u32, plane: &Plane, point: Vec3) -> Result<bool, Lost> {
        let surface = self.bsp.surfaces.get(index as usize).ok_or(Lost("surfaces"))?;
        let (u, v) = projection(plane, surface.negated);
        let at = |vertex: u32| -> Result<(f32, f32), Lost> {
            let point = self.bsp.vertices.get(vertex as usize).ok_or(Lost("vertices"))?.point;
            Ok((component(point, u), component(point, v)))
        };
        let (pu, pv) = (component(point.to_array(), u), component(point.to_array(), v));
        let mut next = surface.first_edge;
        for _ in 0..2 * MAX_RING {
            let edge = self.bsp.edges.get(next as usize).ok_or(Lost("edges"))?;
            let ((su, sv), (eu, ev)) = (at(edge.start)?, at(edge.end)?);
            let side = (eu - su) * (pv - sv) - (ev - sv) * (pu - su);
            let (inside, forward) = if edge.left == Some(index) {
                (side >= 0.0, edge.forward)
            } else {
                (side <= 0.0, edge.reverse)
            };
            if !inside {
                return Ok(false);
            }
            next = forward.ok_or(Lost("edges"))?;
            if next == surface.first_edge {
                return Ok(true);
            }
        }
        Err(Lost("edges"))
    }
}

/// `t` within `low..=high`, and `low` where it is not a number.
fn between(t: f32, low: f32, high: f32) -> f32 {
    if t > high {
        high
    } else if t > low {
        t
    } else {
        low
    }
}

fn component(v: [f32; 3], axis: usize) -> f32 {
    let [x, y, z] = v;
    [x, y, z].get(axis).copied().unwrap_or(0.0)
}

/// The axes (u, v) onto which surfaces on `plane` are laid flat: those left when the normal's largest
/// component is dropped (z before y before x), in an order that keeps counter-clockwise counter-clockwise.
pub fn projection(plane: &Plane, negated: bool) -> (usize, usize) {
    let [x, y, z] = plane.normal.map(f32::abs);
    let axis = if z >= x && z >= y { 2 } else { usize::from(y >= x) };
    let positive = (component(plane.normal, axis) > 0.0) != negated;
    let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
    if positive { (u, v) } else { (v, u) }
}

/// Follows a 2D tree to the surface at a point.
fn descend(
    bsp: &Collision,
    mut child: Child2d,
    plane: &Plane,
    negated: bool,
    point: Vec3,
) -> Result<Option<u32>, Lost> {
    let (u, v) = projection(plane, negated);
    let (u, v) = (component(point.to_array(), u), component(point.to_array(), v));
    for _ in 0..1024 {
        match child {
            Child2d::None => return Ok(None),
            Child2d::Surface(surface) => return Ok(Some(surface)),
            Child2d::Node(index) => {
                let node = bsp.nodes2d.get(index as usize).ok_or(Lost("2D nodes"))?;
                let [i, j, d] = node.line;
                child = if i * u + j * v - d >= 0.0 { node.right } else { node.left };
            }
        }
    }
    Err(Lost("2D nodes"))
}
