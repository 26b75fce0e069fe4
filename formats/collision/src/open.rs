//! The skirt: what makes a height-field patch a closed body, by walls along its border and a floor.

use std::collections::BTreeMap;

use glam::DVec2;

use crate::input::Triangle;
use crate::intake::Mesh;
use crate::refusal::{Code, Element, Refusal};

/// Closes `mesh`, whose border is the directed edges `border`, `depth` below its lowest vertex.
pub(crate) fn skirt(mesh: &mut Mesh, border: &[(u32, u32)], depth: f32) -> Result<(), Refusal> {
    let outline = outline(mesh, border)?;
    let used = mesh.triangles.iter().flat_map(|(_, triangle)| triangle.vertices);
    let lowest = used.map(|v| mesh.vertices[v as usize][2]).fold(f32::INFINITY, f32::min);
    let floor = lowest - depth;
    let base = mesh.vertices.len() as u32;
    for &v in &outline {
        let [x, y, _] = mesh.vertices[v as usize];
        mesh.vertices.push([x, y, floor]);
    }
    let n = outline.len() as u32;
    let material = mesh.triangles.first().map_or(-1, |(_, triangle)| triangle.material);
    let mut add = |vertices| {
        mesh.triangles.push((u32::MAX, Triangle { vertices, material, flags: 0 }));
    };
    for i in 0..n {
        let (a, b) = (outline[i as usize], outline[((i + 1) % n) as usize]);
        let (below_a, below_b) = (base + i, base + (i + 1) % n);
        add([b, a, below_a]);
        add([b, below_a, below_b]);
    }
    let corners: Vec<DVec2> = (base..base + n).map(|v| mesh.point(v).truncate()).collect();
    let middle = corners.iter().sum::<DVec2>() / f64::from(n);
    let middle = DVec2::new(f64::from(middle.x as f32), f64::from(middle.y as f32));
    let wide = (0..corners.len())
        .all(|i| (corners[i] - middle).perp_dot(corners[(i + 1) % corners.len()] - middle) > 1e-9);
    let mut floors = Vec::new();
    if wide {
        let centre = mesh.vertices.len() as u32;
        mesh.vertices.push([middle.x as f32, middle.y as f32, floor]);
        floors.extend((0..n).map(|i| [base + (i + 1) % n, base + i, centre]));
    } else {
        // The outline is not seen whole from its middle: triangles between its own corners.
        floors.extend(ears(&corners)?.iter().map(|[a, b, c]| [base + c, base + b, base + a]));
    }
    let add = floors.into_iter().map(|vertices| (u32::MAX, Triangle { vertices, material, flags: 0 }));
    mesh.triangles.extend(add);
    Ok(())
}

fn refuse(border: &[(u32, u32)], message: &str) -> Refusal {
    let mut edges: Vec<[u32; 2]> = border.iter().map(|&(a, b)| [a.min(b), a.max(b)]).collect();
    edges.sort_unstable();
    Refusal::new(Code::OpenEdge, edges.into_iter().map(Element::Edge).collect(), message)
}

/// The border as one loop that does not cross itself seen from above, counter-clockwise.
fn outline(mesh: &Mesh, border: &[(u32, u32)]) -> Result<Vec<u32>, Refusal> {
    let next: BTreeMap<u32, u32> = border.iter().copied().collect();
    let Some((&first, _)) = next.first_key_value() else {
        return Err(refuse(border, "there is no border to hang a skirt from"));
    };
    let mut outline = vec![first];
    while let Some(&following) = outline.last().and_then(|last| next.get(last)) {
        if following == first || outline.len() > border.len() {
            break;
        }
        outline.push(following);
    }
    if outline.len() != border.len() || next.len() != border.len() {
        return Err(refuse(border, "a skirt needs a border that is one loop"));
    }
    let at = |i: usize| mesh.point(outline[i % outline.len()]).truncate();
    let area: f64 = (0..outline.len()).map(|i| at(i).perp_dot(at(i + 1))).sum();
    if area <= 0.0 {
        return Err(refuse(border, "a skirt needs a patch that is counter-clockwise seen from above"));
    }
    if crosses_itself(&(0..outline.len()).map(at).collect::<Vec<_>>()) {
        return Err(refuse(border, "the border crosses itself seen from above"));
    }
    Ok(outline)
}

/// Whether two sides of a closed line that are no neighbours meet. Sides are swept along x.
fn crosses_itself(line: &[DVec2]) -> bool {
    let n = line.len();
    let side = |i: usize| (line[i], line[(i + 1) % n]);
    let low = |i: usize| side(i).0.x.min(side(i).1.x);
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| low(a).total_cmp(&low(b)).then(a.cmp(&b)));
    order.iter().enumerate().any(|(at, &i)| {
        let (p, q) = side(i);
        let near = order[at + 1..].iter().take_while(|&&j| low(j) <= p.x.max(q.x));
        near.into_iter().any(|&j| {
            let (r, s) = side(j);
            let turn = |a: DVec2, b: DVec2, c: DVec2| (b - a).perp_dot(c - a);
            let neighbours = (i + 1) % n == j || (j + 1) % n == i;
            !neighbours
                && turn(p, q, r) * turn(p, q, s) <= 0.0
                && turn(r, s, p) * turn(r, s, q) <= 0.0
                && p.min(q).cmple(r.max(s)).all()
                && r.min(s).cmple(p.max(q)).all()
        })
    })
}

/// Triangles of a simple counter-clockwise outline, by cutting off ears.
fn ears(outline: &[DVec2]) -> Result<Vec<[u32; 3]>, Refusal> {
    let mut left: Vec<u32> = (0..outline.len() as u32).collect();
    let mut triangles = Vec::with_capacity(outline.len());
    let at = |v: u32| outline[v as usize];
    while left.len() > 3 {
        let n = left.len();
        let ear = (0..n).find(|&i| {
            let [a, b, c] = [left[(i + n - 1) % n], left[i], left[(i + 1) % n]].map(at);
            let inside = |p: DVec2| {
                p != a
                    && p != b
                    && p != c
                    && [(a, b), (b, c), (c, a)].iter().all(|(s, e)| (*e - *s).perp_dot(p - *s) >= 0.0)
            };
            (b - a).perp_dot(c - a) > 1e-9 && !left.iter().any(|&v| inside(at(v)))
        });
        let Some(i) = ear else {
            let message = "the outline of the patch cannot be closed by a floor".to_owned();
            return Err(Refusal::new(Code::OpenEdge, Vec::new(), message));
        };
        triangles.push([left[(i + n - 1) % n], left[i], left[(i + 1) % n]]);
        left.remove(i);
    }
    triangles.push([left[0], left[1], left[2]]);
    Ok(triangles)
}
