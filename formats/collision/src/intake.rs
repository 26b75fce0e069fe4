//! From loose triangles and hulls to polygons on shared planes, with everything refused that has no
//! inside: checks run in a fixed order, and the first class of mistakes that is found is reported whole.

use std::collections::BTreeMap;

use glam::DVec3;

use crate::hull;
use crate::input::{Geometry, Meaning, Open, Triangle};
use crate::layout::WORLD_LIMIT;
use crate::open;
use crate::polygons::{ON_PLANE, Planes, Polygon, Polygons, fan, newell, triangle_normal};
use crate::refusal::{Code, Element, Refusal};
use crate::surface_flags::TWO_SIDED;
use crate::weld::{WELD, weld};

/// What intake found; its numbers are those of the loose triangles that were kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Input triangles of no area, which were dropped.
    pub dropped: Vec<u32>,
    /// Vertices in use after welding.
    pub vertices: usize,
    /// Triangles that were kept.
    pub triangles: usize,
    /// Their area.
    pub area: f64,
    /// The volume that they enclose, from the origin when they are open.
    pub volume: f64,
    /// Edges of one triangle alone.
    pub open_edges: usize,
    /// Directed edges that more than one triangle uses.
    pub repeated_directed_edges: usize,
}

/// The result of intake.
#[derive(Clone, Debug)]
pub struct Intake {
    /// What to build from.
    pub polygons: Polygons,
    /// What the input was.
    pub facts: Facts,
    /// What the loose triangles were once a skirt had closed them.
    pub closed: Option<Facts>,
}

/// Checks geometry and turns it into polygons.
pub fn intake(geometry: &Geometry, meaning: &Meaning) -> Result<Intake, Refusal> {
    numbers(geometry)?;
    let kept = weld(&geometry.vertices, WELD);
    let mut mesh = Mesh { vertices: geometry.vertices.clone(), triangles: Vec::new() };
    let mut dropped = Vec::new();
    for (index, triangle) in geometry.triangles.iter().enumerate() {
        let welded = Triangle { vertices: triangle.vertices.map(|v| kept[v as usize]), ..*triangle };
        if mesh.is_degenerate(&welded) {
            dropped.push(index as u32);
        } else {
            mesh.triangles.push((index as u32, welded));
        }
    }
    let facts = Facts { dropped, ..mesh.facts() };
    if mesh.triangles.is_empty() && geometry.hulls.is_empty() {
        let message =
            format!("no triangles are left of {}, and there are no hulls", geometry.triangles.len());
        return Err(Refusal::new(Code::Empty, Vec::new(), message));
    }
    if meaning.open == Open::TwoSided {
        mesh.triangles.iter_mut().for_each(|(_, triangle)| triangle.flags |= TWO_SIDED);
    }
    let border = mesh.edges()?;
    let mut closed = None;
    if !border.is_empty() {
        match meaning.open {
            Open::Skirt { depth } => {
                open::skirt(&mut mesh, &border, depth)?;
                closed = Some(mesh.facts());
            }
            Open::Refuse | Open::TwoSided => return Err(mesh.open_edge(&border)),
        }
    }
    hull::check(&geometry.hulls)?;
    let solid = mesh.triangles.iter().filter(|(_, triangle)| triangle.flags & TWO_SIDED == 0);
    let volume: f64 = solid.clone().map(|(_, triangle)| mesh.volume(triangle)).sum();
    if solid.count() > 0 && volume <= 0.0 && !meaning.shell {
        let message = format!("the volume is {volume}, above 0 is needed: the faces point inwards");
        return Err(Refusal::new(Code::InsideOut, Vec::new(), message));
    }
    let polygons = polygons(&mesh, geometry, meaning);
    Ok(Intake { polygons, facts, closed })
}

fn numbers(geometry: &Geometry) -> Result<(), Refusal> {
    let loose = geometry.vertices.iter().enumerate().map(|(v, p)| (Element::Vertex(v as u32), *p));
    let hulls = geometry.hulls.iter().enumerate().flat_map(|(h, hull)| {
        let vertices = hull.vertices.iter().enumerate();
        vertices.map(move |(v, p)| (Element::HullVertex(h as u32, v as u32), *p))
    });
    let points: Vec<(Element, [f32; 3])> = loose.chain(hulls).collect();
    let all = |bad: &dyn Fn(f32) -> bool| -> Vec<Element> {
        points.iter().filter(|(_, p)| p.iter().any(|c| bad(*c))).map(|(element, _)| *element).collect()
    };
    let refuse = |code, elements: Vec<Element>, message: String| {
        if elements.is_empty() { Ok(()) } else { Err(Refusal::new(code, elements, message)) }
    };
    refuse(Code::NonFinite, all(&|c| !c.is_finite()), "coordinates must be finite numbers".to_owned())?;
    refuse(
        Code::OutOfRange,
        all(&|c| f64::from(c.abs()) > WORLD_LIMIT),
        format!("coordinates may be at most {WORLD_LIMIT} world units from the origin"),
    )?;
    let count = geometry.vertices.len();
    let mut outside: Vec<Element> = (0_u32..)
        .zip(&geometry.triangles)
        .filter(|(_, triangle)| triangle.vertices.iter().any(|&v| v as usize >= count))
        .map(|(t, _)| Element::Triangle(t))
        .collect();
    for (h, hull) in (0_u32..).zip(&geometry.hulls) {
        let faces = (0_u32..).zip(&hull.faces);
        let wrong = faces.filter(|(_, face)| face.iter().any(|&v| v as usize >= hull.vertices.len()));
        outside.extend(wrong.map(|(face, _)| Element::HullFace(h, face)));
    }
    refuse(Code::IndexOutOfRange, outside, "a vertex is named that does not exist".to_owned())
}

/// Welded triangles, each with its index in the input. Vertices keep their input indices.
pub(crate) struct Mesh {
    pub(crate) vertices: Vec<[f32; 3]>,
    pub(crate) triangles: Vec<(u32, Triangle)>,
}

impl Mesh {
    pub(crate) fn point(&self, vertex: u32) -> DVec3 {
        DVec3::from(self.vertices[vertex as usize].map(f64::from))
    }

    fn points(&self, triangle: &Triangle) -> [DVec3; 3] {
        triangle.vertices.map(|v| self.point(v))
    }

    fn is_degenerate(&self, triangle: &Triangle) -> bool {
        let [a, b, c] = triangle.vertices;
        if a == b || b == c || c == a {
            return true;
        }
        let [p, q, r] = self.points(triangle);
        let cross = (q - p).cross(r - p).length();
        let longest = (q - p).length().max((r - q).length()).max((p - r).length());
        cross < 1e-9 || cross / longest < WELD
    }

    fn volume(&self, triangle: &Triangle) -> f64 {
        let [p, q, r] = self.points(triangle);
        p.dot(q.cross(r)) / 6.0
    }

    fn directed(&self, which: impl Fn(&Triangle) -> bool) -> BTreeMap<(u32, u32), Vec<(u32, bool)>> {
        let mut edges: BTreeMap<(u32, u32), Vec<(u32, bool)>> = BTreeMap::new();
        for (index, triangle) in self.triangles.iter().filter(|(_, triangle)| which(triangle)) {
            for (a, b) in crate::polygons::sides(&triangle.vertices) {
                edges.entry((a.min(b), a.max(b))).or_default().push((*index, a < b));
            }
        }
        edges
    }

    fn facts(&self) -> Facts {
        let mut used: Vec<u32> = self.triangles.iter().flat_map(|(_, t)| t.vertices).collect();
        used.sort_unstable();
        used.dedup();
        let area = |t: &Triangle| {
            let [p, q, r] = self.points(t);
            (q - p).cross(r - p).length() / 2.0
        };
        let edges = self.directed(|_| true);
        let repeated = |users: &Vec<(u32, bool)>| {
            let up = users.iter().filter(|(_, up)| *up).count();
            usize::from(up > 1) + usize::from(users.len() - up > 1)
        };
        Facts {
            dropped: Vec::new(),
            vertices: used.len(),
            triangles: self.triangles.len(),
            area: self.triangles.iter().map(|(_, t)| area(t)).sum(),
            volume: self.triangles.iter().map(|(_, t)| self.volume(t)).sum(),
            open_edges: edges.values().filter(|users| users.len() == 1).count(),
            repeated_directed_edges: edges.values().map(repeated).sum(),
        }
    }

    /// Checks the edges of one-sided triangles, and gives the directed edges of the border.
    fn edges(&self) -> Result<Vec<(u32, u32)>, Refusal> {
        let edges = self.directed(|t| t.flags & TWO_SIDED == 0);
        let crowded: Vec<Element> = edges
            .iter()
            .filter(|(_, users)| users.len() > 2)
            .map(|(&(a, b), _)| Element::Edge([a, b]))
            .collect();
        if !crowded.is_empty() {
            let message = "more than two one-sided triangles share an edge".to_owned();
            return Err(Refusal::new(Code::NonManifoldEdge, crowded, message));
        }
        let mut conflicts: BTreeMap<u32, usize> = BTreeMap::new();
        for users in edges.values() {
            if let [(first, a), (second, b)] = users[..]
                && a == b
            {
                *conflicts.entry(first).or_default() += 1;
                *conflicts.entry(second).or_default() += 1;
            }
        }
        if !conflicts.is_empty() {
            let mut turned: Vec<(u32, usize)> = conflicts.into_iter().collect();
            turned.sort_by_key(|&(triangle, conflicts)| (std::cmp::Reverse(conflicts), triangle));
            let elements = turned.into_iter().map(|(triangle, _)| Element::Triangle(triangle)).collect();
            let message = "neighbours go along an edge in the same direction".to_owned();
            return Err(Refusal::new(Code::InconsistentWinding, elements, message));
        }
        let border = edges.iter().filter_map(|(&(a, b), users)| match users[..] {
            [(_, up)] => Some(if up { (a, b) } else { (b, a) }),
            _ => None,
        });
        Ok(border.collect())
    }

    fn open_edge(&self, border: &[(u32, u32)]) -> Refusal {
        let mut elements: Vec<[u32; 2]> = border.iter().map(|&(a, b)| [a.min(b), a.max(b)]).collect();
        elements.sort_unstable();
        let mut message = "an edge has one triangle alone, and no policy for open meshes is given".to_owned();
        if let Some((vertex, [a, b])) = self.t_junction(&elements) {
            message += &format!("; vertex {vertex} lies on edge {a}-{b} without splitting it");
        }
        Refusal::new(Code::OpenEdge, elements.into_iter().map(Element::Edge).collect(), message)
    }

    /// A corner of the border that lies on another edge of it. Only so many are looked at.
    fn t_junction(&self, edges: &[[u32; 2]]) -> Option<(u32, [u32; 2])> {
        const LOOKED_AT: usize = 512;
        let edges = &edges[..edges.len().min(LOOKED_AT)];
        edges.iter().flatten().find_map(|&vertex| {
            let point = self.point(vertex);
            let on = |&&[a, b]: &&[u32; 2]| {
                let (start, along) = (self.point(a), self.point(b) - self.point(a));
                let t = (point - start).dot(along) / along.length_squared();
                vertex != a
                    && vertex != b
                    && t > 0.0
                    && t < 1.0
                    && (start + along * t - point).length() <= WELD
            };
            edges.iter().find(on).map(|&edge| (vertex, edge))
        })
    }
}

fn polygons(mesh: &Mesh, geometry: &Geometry, meaning: &Meaning) -> Polygons {
    let mut planes = Planes::new();
    let mut vertices = mesh.vertices.clone();
    let mut all = Vec::with_capacity(mesh.triangles.len());
    for (_, triangle) in &mesh.triangles {
        let points = mesh.points(triangle);
        let (plane, negated) = planes.share(triangle_normal(points), &points);
        let (ring, flags, material) = (triangle.vertices.to_vec(), triangle.flags, triangle.material);
        all.push(Polygon { ring, plane, negated, flags, material });
    }
    add_hulls(geometry, &mut vertices, &mut planes, &mut all);
    let mut it =
        Polygons { vertices, planes: planes.into_planes(), polygons: all, solid_outside: meaning.shell };
    it.merge();
    // Only what is used, in the order of its use.
    it.subset(&(0..it.polygons.len() as u32).collect::<Vec<_>>())
}

/// Adds the union of the hulls. Faces keep the planes of their hulls, however small what is left of them.
fn add_hulls(geometry: &Geometry, vertices: &mut Vec<[f32; 3]>, planes: &mut Planes, all: &mut Vec<Polygon>) {
    let pieces = hull::union(&geometry.hulls);
    let corners: Vec<[f32; 3]> =
        pieces.iter().flat_map(|piece| &piece.points).map(|p| p.to_array().map(|c| c as f32)).collect();
    let most = corners.iter().flatten().fold(0.0_f64, |most, c| most.max(f64::from(c.abs())));
    let tolerance = hull::tolerance(most);
    let kept = weld(&corners, tolerance);
    let base = vertices.len() as u32;
    vertices.extend(corners);
    let mut next = 0;
    for piece in &pieces {
        let mut ring: Vec<u32> = (next..next + piece.points.len()).map(|i| base + kept[i]).collect();
        next += piece.points.len();
        ring.dedup();
        while ring.len() > 1 && ring.first() == ring.last() {
            ring.pop();
        }
        if ring.len() < 3 {
            continue;
        }
        let points = |ring: &[u32]| -> Vec<DVec3> {
            ring.iter().map(|v| DVec3::from(vertices[*v as usize].map(f64::from))).collect()
        };
        let hull = &geometry.hulls[piece.hull as usize];
        let mut add = |planes: &mut Planes, ring: Vec<u32>, normal: DVec3| {
            let corners = points(&ring);
            let longest = (0..corners.len()).map(|i| corners[i].distance(corners[(i + 1) % corners.len()]));
            // Between corners on one line there is nothing.
            if newell(&corners).length() > tolerance * longest.fold(0.0, f64::max) {
                let (plane, negated) = planes.share(normal, &corners);
                all.push(Polygon { ring, plane, negated, flags: hull.flags, material: hull.material });
            }
        };
        let corners = points(&ring);
        let middle = corners.iter().map(|p| piece.normal.dot(*p)).sum::<f64>() / corners.len() as f64;
        if corners.iter().all(|p| (piece.normal.dot(*p) - middle).abs() <= ON_PLANE) {
            fan(&ring).for_each(|ring| add(planes, ring, piece.normal));
            continue;
        }
        // A face that is not flat becomes triangles with planes of their own.
        for pair in ring[1..].windows(2) {
            let ring = vec![ring[0], pair[0], pair[1]];
            let normal = newell(&points(&ring)).normalize_or_zero();
            add(planes, ring, normal);
        }
    }
}
