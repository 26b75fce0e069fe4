//! The validator of decoded tables: what a right answer to every line needs, and what the engine dies of.
//!
//! It knows nothing of how tables are made. Lines ([`crate::prove()`]) find what is wrong with places;
//! this finds what is wrong with structure, before any line is followed.
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::fmt;

use glam::DVec3;

use crate::layout::{MAX_DEPTH, MAX_RING, MAX_SURFACE_PLANES};
use crate::line::projection;
use crate::model::{Cell, Child, Child2d, Collision, LEAF_TWO_SIDED, Plane};

/// A fault of decoded tables.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{table}[{index}]: {message}")]
pub struct CheckError {
    /// The table, by its name in the tag.
    pub table: &'static str,
    /// The element.
    pub index: usize,
    /// What was found and what is allowed.
    pub message: String,
}

type Checked = Result<(), CheckError>;

fn fault(table: &'static str, index: usize, message: impl fmt::Display) -> CheckError {
    CheckError { table, index, message: message.to_string() }
}

fn within(table: &'static str, index: usize, what: &str, found: u32, count: usize) -> Checked {
    if (found as usize) < count {
        return Ok(());
    }
    Err(fault(table, index, format!("{what} {found}, there are {count}")))
}

impl Collision {
    /// Checks the tables as the game will get them. `most_corners` is the longest ring that is accepted: 4 in
    /// what is shipped, 8 in what the engine can hold.
    pub fn check(&self, most_corners: usize) -> Checked {
        self.fits().map_err(|refusal| fault("tables", 0, refusal))?;
        self.numbers()?;
        self.indices(false)?;
        self.tree()?;
        self.flat_trees()?;
        for index in 0..self.surfaces.len() {
            self.ring_of(index, most_corners.min(MAX_RING))?;
        }
        self.edges_agree()?;
        self.named()
    }

    /// Checks that all indices lie within their tables and all numbers are finite: what a reader of others'
    /// tables needs before it follows them.
    pub(crate) fn check_references(&self) -> Checked {
        let plane = |p: &Plane| p.normal.iter().all(|c| c.is_finite()) && p.d.is_finite();
        let lines = self.nodes2d.iter().position(|n| n.line.iter().any(|c| !c.is_finite()));
        let vertices = self.vertices.iter().position(|v| v.point.iter().any(|c| !c.is_finite()));
        let planes = self.planes.iter().position(|p| !plane(p));
        for (table, bad) in [("planes", planes), ("bsp2d nodes", lines), ("vertices", vertices)] {
            if let Some(index) = bad {
                return Err(fault(table, index, "a number is not finite"));
            }
        }
        self.indices(true)
    }

    /// Checks that surfaces lie on `known` planes, bit for bit, and that what else splits space is an axis
    /// plane: lines across a plane that is off by less than they can tell would see it only when they are flat.
    pub(crate) fn check_planes(&self, known: &[Plane]) -> Checked {
        let bits = |plane: &Plane| (plane.normal.map(f32::to_bits), plane.d.to_bits());
        let known: BTreeSet<_> = known.iter().map(bits).collect();
        let of_surfaces: BTreeSet<u32> = self.surfaces.iter().map(|surface| surface.plane).collect();
        for (index, plane) in self.planes.iter().enumerate() {
            let axis = plane.normal.iter().filter(|c| **c == 0.0).count() == 2;
            let free = axis && !of_surfaces.contains(&(index as u32));
            if !free && !known.contains(&bits(plane)) {
                return Err(fault("planes", index, "is none of those that the polygons lie on"));
            }
        }
        Ok(())
    }

    fn numbers(&self) -> Checked {
        for (index, plane) in self.planes.iter().enumerate() {
            let length = plane.normal64().length();
            if !plane.d.is_finite() || !length.is_finite() || (length - 1.0).abs() > 1e-4 {
                return Err(fault("planes", index, format!("a normal of length {length}, d {}", plane.d)));
            }
        }
        for (index, node) in self.nodes2d.iter().enumerate() {
            let [i, j, d] = node.line.map(f64::from);
            let length = (i * i + j * j).sqrt();
            if !d.is_finite() || !length.is_finite() || (length - 1.0).abs() > 1e-3 {
                return Err(fault("bsp2d nodes", index, format!("a normal of length {length}, d {d}")));
            }
        }
        for (index, vertex) in self.vertices.iter().enumerate() {
            if vertex.point.iter().any(|c| !c.is_finite()) {
                return Err(fault("vertices", index, "a coordinate is not finite"));
            }
        }
        for (index, supernode) in self.supernodes.iter().enumerate() {
            if supernode.splits.iter().any(|c| !c.is_finite()) {
                return Err(fault("bsp3d supernodes", index, "a split is not finite"));
            }
        }
        Ok(())
    }

    fn indices(&self, lenient: bool) -> Checked {
        let child = |index: usize, child: Child| match child {
            Child::Solid => Ok(()),
            Child::Node(node) => within("bsp3d nodes", index, "child node", node, self.nodes.len()),
            Child::Leaf(leaf) => within("bsp3d nodes", index, "child leaf", leaf, self.leaves.len()),
        };
        for (index, node) in self.nodes.iter().enumerate() {
            within("bsp3d nodes", index, "plane", node.plane, self.planes.len())?;
            child(index, node.back)?;
            child(index, node.front)?;
        }
        for (index, leaf) in self.leaves.iter().enumerate().filter(|(_, leaf)| leaf.count > 0) {
            let end = u64::from(leaf.first) + u64::from(leaf.count);
            if end > self.references.len() as u64 {
                return Err(fault(
                    "leaves",
                    index,
                    format!("references to {end}, there are {}", self.references.len()),
                ));
            }
        }
        let child2d = |table, index, child| match child {
            Child2d::None if lenient => Ok(()),
            Child2d::None => Err(fault(table, index, "a 2D child leads nowhere")),
            Child2d::Node(node) => within(table, index, "2D node", node, self.nodes2d.len()),
            Child2d::Surface(surface) => within(table, index, "surface", surface, self.surfaces.len()),
        };
        let planes = if lenient { self.planes.len() } else { self.planes.len().min(MAX_SURFACE_PLANES) };
        for (index, reference) in self.references.iter().enumerate() {
            within("bsp2d references", index, "plane", reference.plane, planes)?;
            child2d("bsp2d references", index, reference.node)?;
        }
        for (index, node) in self.nodes2d.iter().enumerate() {
            child2d("bsp2d nodes", index, node.left)?;
            child2d("bsp2d nodes", index, node.right)?;
        }
        for (index, surface) in self.surfaces.iter().enumerate() {
            within("surfaces", index, "plane", surface.plane, planes)?;
            within("surfaces", index, "first edge", surface.first_edge, self.edges.len())?;
        }
        for (index, edge) in self.edges.iter().enumerate() {
            within("edges", index, "start", edge.start, self.vertices.len())?;
            within("edges", index, "end", edge.end, self.vertices.len())?;
            for (what, found, count) in [
                ("forward edge", edge.forward, self.edges.len()),
                ("reverse edge", edge.reverse, self.edges.len()),
                ("left surface", edge.left, self.surfaces.len()),
                ("right surface", edge.right, self.surfaces.len()),
            ] {
                found.map_or(Ok(()), |found| within("edges", index, what, found, count))?;
            }
        }
        for (index, vertex) in self.vertices.iter().enumerate() {
            vertex
                .first_edge
                .map_or(Ok(()), |edge| within("vertices", index, "first edge", edge, self.edges.len()))?;
        }
        Ok(())
    }

    /// Every node and leaf is reached exactly once, from the cells of supernodes that are reached.
    fn tree(&self) -> Checked {
        if self.supernodes.is_empty() {
            return Err(fault("bsp3d supernodes", 0, "there is none, at least 1 is needed"));
        }
        let mut reached = vec![false; self.supernodes.len()];
        let (mut todo, mut roots) = (vec![0_u32], BTreeSet::new());
        while let Some(index) = todo.pop() {
            let (Some(supernode), Some(seen)) =
                (self.supernodes.get(index as usize), reached.get_mut(index as usize))
            else {
                return Err(fault(
                    "bsp3d supernodes",
                    index as usize,
                    "a cell leads to it, and it does not exist",
                ));
            };
            if std::mem::replace(seen, true) {
                continue;
            }
            if (0..4).any(|level| supernode.dimensions >> (2 * level) & 3 == 3) {
                return Err(fault("bsp3d supernodes", index as usize, "an axis is 3, at most 2 is possible"));
            }
            for cell in 0..16 {
                match supernode.cell(cell) {
                    Cell::Empty => {}
                    Cell::Tree(child) => _ = roots.insert(child),
                    Cell::Supernode(next) => todo.push(next),
                }
            }
        }
        if let Some(index) = reached.iter().position(|reached| !reached) {
            return Err(fault("bsp3d supernodes", index, "no cell leads to it"));
        }
        let mut todo: Vec<(Child, usize)> = roots.into_iter().map(|root| (root, 0)).collect();
        let (mut nodes, mut leaves) = (vec![false; self.nodes.len()], vec![false; self.leaves.len()]);
        while let Some((child, depth)) = todo.pop() {
            let (table, index, seen) = match child {
                Child::Solid => continue,
                Child::Node(node) => ("bsp3d nodes", node as usize, nodes.get_mut(node as usize)),
                Child::Leaf(leaf) => ("leaves", leaf as usize, leaves.get_mut(leaf as usize)),
            };
            let Some(seen) = seen else { return Err(fault(table, index, "is led to, and does not exist")) };
            if std::mem::replace(seen, true) {
                return Err(fault(table, index, "is reached twice"));
            }
            if depth > MAX_DEPTH {
                return Err(fault(table, index, format!("lies deeper than {MAX_DEPTH} levels")));
            }
            if let (Child::Node(_), Some(node)) = (child, self.nodes.get(index)) {
                todo.push((node.front, depth + 1));
                todo.push((node.back, depth + 1));
            }
        }
        for (table, seen) in [("bsp3d nodes", nodes), ("leaves", leaves)] {
            if let Some(index) = seen.iter().position(|seen| !seen) {
                return Err(fault(table, index, "is never reached"));
            }
        }
        Ok(())
    }

    /// 2D trees end, serve one plane and sign, and name surfaces of that plane and sign.
    fn flat_trees(&self) -> Checked {
        let mut owner: Vec<Option<(u32, bool)>> = vec![None; self.nodes2d.len()];
        let mut seen_by = vec![usize::MAX; self.nodes2d.len()];
        for (index, reference) in self.references.iter().enumerate() {
            let mut todo = vec![reference.node];
            while let Some(child) = todo.pop() {
                match child {
                    Child2d::None => {}
                    Child2d::Surface(surface) => {
                        let Some(it) = self.surfaces.get(surface as usize) else { continue };
                        if it.plane != reference.plane {
                            let message = format!("names surface {surface} of another plane");
                            return Err(fault("bsp2d references", index, message));
                        }
                        if it.negated != reference.negated && !it.is_two_sided() {
                            let message = format!("names surface {surface}, which faces the other way");
                            return Err(fault("bsp2d references", index, message));
                        }
                    }
                    Child2d::Node(node) => {
                        let key = (reference.plane, reference.negated);
                        let (Some(own), Some(seen), Some(it)) = (
                            owner.get_mut(node as usize),
                            seen_by.get_mut(node as usize),
                            self.nodes2d.get(node as usize),
                        ) else {
                            continue;
                        };
                        if own.is_some_and(|own| own != key) {
                            return Err(fault("bsp2d nodes", node as usize, "serves two planes or signs"));
                        }
                        if std::mem::replace(seen, index) == index {
                            return Err(fault(
                                "bsp2d nodes",
                                node as usize,
                                "is reached twice by one reference",
                            ));
                        }
                        *own = Some(key);
                        todo.extend([it.left, it.right]);
                    }
                }
            }
        }
        match owner.iter().position(Option::is_none) {
            Some(index) => Err(fault("bsp2d nodes", index, "is never reached")),
            None => Ok(()),
        }
    }

    /// A ring closes, lies on its plane, is convex, and goes the way that its surface faces.
    fn ring_of(&self, index: usize, most: usize) -> Checked {
        let bad = |message: String| Err(fault("surfaces", index, message));
        let ring = self.ring(index as u32).unwrap_or_default();
        if ring.len() < 3 || ring.len() > most {
            return bad(format!("a ring of {} corners, 3 to {most} are possible", ring.len()));
        }
        let points = self.polygon(index as u32);
        let (Some(surface), Some(plane)) = (
            self.surfaces.get(index),
            self.surfaces.get(index).and_then(|s| self.planes.get(s.plane as usize)),
        ) else {
            return bad("names no plane".to_owned());
        };
        // Far from the origin single precision carries no thousandth.
        let most = points.iter().fold(0.0_f64, |most, p| most.max(p.abs().max_element()));
        let off = points.iter().fold(0.0_f64, |off, p| off.max(plane.distance(*p).abs()));
        if off > (4.0 * most / f64::from(1 << 23)).max(1e-3) {
            return bad(format!("a corner lies {off} off its plane, at most 0.001 is allowed"));
        }
        let (u, v) = projection(plane, surface.negated);
        let flat = |p: &DVec3| {
            let c = p.to_array();
            (c.get(u).copied().unwrap_or(0.0), c.get(v).copied().unwrap_or(0.0))
        };
        let corners: Vec<(f64, f64)> = points.iter().map(flat).collect();
        let next = |i: usize| corners.iter().cycle().skip(i).take(3).copied().collect::<Vec<_>>();
        let mut turned = 0.0;
        for i in 0..corners.len() {
            let [a, b, c] = next(i)[..] else { continue };
            let (x, y) = ((b.0 - a.0, b.1 - a.1), (c.0 - b.0, c.1 - b.1));
            let cross = x.0 * y.1 - x.1 * y.0;
            let lengths = (x.0 * x.0 + x.1 * x.1).sqrt() * (y.0 * y.0 + y.1 * y.1).sqrt();
            if cross < -1e-3 * lengths {
                return bad("is not convex, or goes the wrong way around".to_owned());
            }
            turned += cross;
        }
        if turned > 0.0 { Ok(()) } else { bad("has no area, or goes the wrong way around".to_owned()) }
    }

    fn edges_agree(&self) -> Checked {
        let mut used = vec![(false, false); self.edges.len()];
        for surface in 0..self.surfaces.len() as u32 {
            let first = self.surfaces.get(surface as usize).map_or(0, |s| s.first_edge);
            let mut at = first;
            for _ in 0..=MAX_RING {
                let (Some(edge), Some(used)) = (self.edges.get(at as usize), used.get_mut(at as usize))
                else {
                    break;
                };
                let left = edge.left == Some(surface);
                *(if left { &mut used.0 } else { &mut used.1 }) = true;
                at = if left { edge.forward } else { edge.reverse }.unwrap_or(first);
                if at == first {
                    break;
                }
            }
        }
        for (index, (edge, used)) in self.edges.iter().zip(used).enumerate() {
            let bad = |message: &str| Err(fault("edges", index, message));
            if edge.left == edge.right {
                return bad("has the same surface, or none, on both sides");
            }
            if edge.left.is_some() != edge.forward.is_some() || edge.right.is_some() != edge.reverse.is_some()
            {
                return bad("has a side without a surface, or a surface without a next edge");
            }
            if edge.start == edge.end {
                return bad("starts where it ends");
            }
            if (edge.left.is_some(), edge.right.is_some()) != used {
                return bad("names a surface whose ring does not use it");
            }
        }
        Ok(())
    }

    /// Every surface is named by a leaf, and a two-sided one only by leaves that say so.
    fn named(&self) -> Checked {
        let mut named = vec![(false, false); self.surfaces.len()];
        let mut owned = vec![false; self.references.len()];
        for (index, leaf) in self.leaves.iter().enumerate().filter(|(_, leaf)| leaf.count > 0) {
            let range = leaf.first as usize..leaf.first as usize + usize::from(leaf.count);
            let (Some(references), Some(owned)) = (self.references.get(range.clone()), owned.get_mut(range))
            else {
                continue;
            };
            owned.fill(true);
            for reference in references {
                let mut todo = vec![reference.node];
                while let Some(child) = todo.pop() {
                    match child {
                        Child2d::None => {}
                        Child2d::Node(node) => {
                            todo.extend(
                                self.nodes2d
                                    .get(node as usize)
                                    .into_iter()
                                    .flat_map(|it| [it.left, it.right]),
                            );
                        }
                        Child2d::Surface(surface) => {
                            let (Some(it), Some(named)) =
                                (self.surfaces.get(surface as usize), named.get_mut(surface as usize))
                            else {
                                continue;
                            };
                            if it.is_two_sided() && leaf.flags & LEAF_TWO_SIDED == 0 {
                                return Err(fault(
                                    "leaves",
                                    index,
                                    "names a two-sided surface and does not say so",
                                ));
                            }
                            *(if reference.negated { &mut named.1 } else { &mut named.0 }) = true;
                        }
                    }
                }
            }
        }
        if let Some(index) = owned.iter().position(|owned| !owned) {
            return Err(fault("bsp2d references", index, "belongs to no leaf"));
        }
        for (index, named) in named.into_iter().enumerate() {
            // From one side at least: the other side of a two-sided surface may lie on something solid.
            if named == (false, false) {
                return Err(fault("surfaces", index, "is named by no leaf"));
            }
        }
        Ok(())
    }
}
