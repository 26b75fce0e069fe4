//! Random closed meshes and unions of hulls, against the definition of what they are.

use collision::{
    Collision, Geometry, Hull, Meaning, Numbers, Open, Query, Triangle, World, cook, intake, random_segments,
};
use glam::{DMat3, DVec3, Vec3};

/// A box, turned and moved; its corners are rounded to single precision.
pub fn block(half: DVec3, turn: DMat3, at: DVec3) -> Hull {
    let corner = |i: u32| {
        let sign = |bit: u32| if i >> bit & 1 == 1 { 1.0 } else { -1.0 };
        (turn * (half * DVec3::new(sign(0), sign(1), sign(2))) + at).to_array().map(|c| c as f32)
    };
    let faces = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
    Hull {
        vertices: (0..8).map(corner).collect(),
        faces: faces.iter().map(|face| face.to_vec()).collect(),
        material: 0,
        flags: 0,
    }
}

fn random_turn(numbers: &mut Numbers) -> DMat3 {
    let axis = DVec3::new(numbers.unit() - 0.5, numbers.unit() - 0.5, numbers.unit() - 0.5).normalize();
    DMat3::from_axis_angle(axis, numbers.unit() * 6.0)
}

/// Boxes in a small space: most overlap.
pub fn blocks(seed: u64, count: usize) -> Geometry {
    let mut numbers = Numbers::new(seed);
    let hulls = (0..count).map(|_| {
        let mut three = |scale: f64| DVec3::new(numbers.unit(), numbers.unit(), numbers.unit()) * scale;
        let (half, at) = (three(1.2) + 0.1, three(8.0) - 4.0);
        let turn = if numbers.unit() < 0.5 { DMat3::IDENTITY } else { random_turn(&mut numbers) };
        block(half, turn, at)
    });
    Geometry { hulls: hulls.collect(), ..Geometry::default() }
}

/// A ball with bumps and dents: a closed mesh of `rings` by `rings` cells.
pub fn ball(seed: u64, rings: u32) -> Geometry {
    let mut numbers = Numbers::new(seed);
    let mut geometry = Geometry::default();
    let mut point = |direction: DVec3| {
        let radius = 4.0 + 2.0 * numbers.unit();
        geometry.vertices.push((direction * radius).to_array().map(|c| c as f32));
    };
    for ring in 0..=rings {
        let height = f64::from(ring) / f64::from(rings) * 2.0 - 1.0;
        let wide = (1.0 - height * height).max(0.0).sqrt();
        for step in 0..if ring == 0 || ring == rings { 1 } else { rings } {
            let angle = f64::from(step) / f64::from(rings) * std::f64::consts::TAU;
            point(DVec3::new(wide * angle.cos(), wide * angle.sin(), height));
        }
    }
    let vertex = |ring: u32, step: u32| match ring {
        0 => 0,
        ring if ring == rings => 1 + (rings - 1) * rings,
        ring => 1 + (ring - 1) * rings + step % rings,
    };
    for ring in 0..rings {
        for step in 0..rings {
            let (a, b) = (vertex(ring, step), vertex(ring, step + 1));
            let (c, d) = (vertex(ring + 1, step + 1), vertex(ring + 1, step));
            for vertices in [[a, b, c], [a, c, d]] {
                if vertices[0] != vertices[1] && vertices[1] != vertices[2] && vertices[2] != vertices[0] {
                    geometry.triangles.push(Triangle { vertices, material: 0, flags: 0 });
                }
            }
        }
    }
    geometry
}

/// A height field of `n` by `n` cells with hills.
pub fn hills(seed: u64, n: u32) -> Geometry {
    let mut numbers = Numbers::new(seed);
    let mut geometry = Geometry::default();
    for j in 0..=n {
        for i in 0..=n {
            let slope = f64::from((i * 7 + j * 3) % 11) / 5.0;
            geometry.vertices.push([i as f32, j as f32, (numbers.unit() + slope) as f32]);
        }
    }
    for j in 0..n {
        for i in 0..n {
            let a = j * (n + 1) + i;
            let (b, c, d) = (a + 1, a + n + 2, a + n + 1);
            for vertices in [[a, b, c], [a, c, d]] {
                geometry.triangles.push(Triangle { vertices, material: 0, flags: 0 });
            }
        }
    }
    geometry
}

pub fn built(geometry: &Geometry, meaning: &Meaning) -> World {
    cook(&intake(geometry, meaning).unwrap().polygons).unwrap_or_else(|error| panic!("{error}"))
}

fn comes_back(world: &World) {
    for (packed, definition) in world.packed.iter().zip(&world.definitions) {
        assert_eq!(Collision::unpack(packed).unwrap(), definition.bsp, "unpack(pack(x)) = x");
    }
}

fn first(world: &World, from: Vec3, to: Vec3, query: Query) -> Option<f32> {
    world.line(from, to, query).unwrap().map(|(_, hit)| hit.fraction)
}

/// Where a line first enters the union of convex bodies, from their planes alone.
fn enters(hulls: &[Hull], from: DVec3, to: DVec3) -> (Option<f64>, bool) {
    let mut spans: Vec<(f64, f64)> = Vec::new();
    for hull in hulls {
        let (mut enter, mut leave) = (f64::NEG_INFINITY, f64::INFINITY);
        for face in &hull.faces {
            let at = |i: usize| DVec3::from(hull.vertices[face[i] as usize].map(f64::from));
            let normal = (at(1) - at(0)).cross(at(2) - at(0)).normalize();
            let (distance, speed) = (normal.dot(from - at(0)), normal.dot(to - from));
            match speed {
                speed if speed < 0.0 => enter = enter.max(-distance / speed),
                speed if speed > 0.0 => leave = leave.min(-distance / speed),
                _ if distance > 0.0 => leave = f64::NEG_INFINITY,
                _ => {}
            }
        }
        if enter < leave {
            spans.push((enter, leave));
        }
    }
    let starts_solid = spans.iter().any(|(enter, leave)| *enter < 0.0 && *leave > 0.0);
    // Spans that touch are one: nothing is entered inside of another.
    let entered = spans
        .iter()
        .filter(|(enter, _)| (0.0..=1.0).contains(enter))
        .filter(|(enter, _)| !spans.iter().any(|(e, l)| *e < *enter - 1e-5 && *l > *enter - 1e-5))
        .map(|(enter, _)| *enter)
        .reduce(f64::min);
    (entered, starts_solid)
}

#[test]
fn unions_of_hulls_are_entered_where_their_planes_say() {
    for seed in 0..6 {
        let geometry = blocks(seed, 4 + seed as usize * 4);
        let world = built(&geometry, &Meaning::default());
        comes_back(&world);
        let mut wrong = 0;
        let lines = random_segments(DVec3::splat(-6.0), DVec3::splat(6.0), 77 + seed, 2000);
        for line in &lines {
            let (from, to) = (line.from.as_dvec3(), line.to.as_dvec3());
            let (truth, _) = enters(&geometry.hulls, from, to);
            let found = first(&world, line.from, line.to, Query::FRONT).map(f64::from);
            let agrees = match (truth, found) {
                (Some(truth), Some(found)) => (truth - found).abs() * (to - from).length() < 2e-3,
                (None, None) => true,
                _ => false,
            };
            wrong += usize::from(!agrees);
        }
        // A line may graze an edge; it does so seldom.
        assert!(wrong <= 4, "seed {seed}: {wrong} of {} lines", lines.len());
    }
}

#[test]
fn random_balls_and_hills_are_proven() {
    for seed in 0..4 {
        let rings = 5 + 4 * seed as u32;
        let world = built(&ball(seed, rings), &Meaning::default());
        assert!(world.rays.rays > 20_000 && world.rays.faults() == 0);
        comes_back(&world);
        for open in [Open::TwoSided, Open::Skirt { depth: 1.0 }] {
            let world = built(&hills(seed, rings), &Meaning { open, shell: false });
            let report = world.report();
            assert_eq!((report.unnamed, report.definitions), (0, 1));
            assert!(report.mopp_bytes <= 9 * report.surfaces, "{report:?}");
            comes_back(&world);
        }
    }
}

#[test]
fn exact_moves_leave_answers_unchanged() {
    let by = Vec3::new(16.0, -32.0, 8.0);
    for seed in 0..3 {
        let mut geometry = ball(seed, 9);
        // Eighths: sums of them with `by` are exact.
        geometry.vertices.iter_mut().flatten().for_each(|c| *c = (*c * 8.0).round() / 8.0);
        let here = built(&geometry, &Meaning::default());
        for point in &mut geometry.vertices {
            *point = (Vec3::from(*point) + by).into();
        }
        let there = built(&geometry, &Meaning::default());
        let mut apart = 0;
        for line in random_segments(DVec3::splat(-6.0), DVec3::splat(6.0), seed, 3000) {
            let (from, to) = ((line.from * 64.0).round() / 64.0, (line.to * 64.0).round() / 64.0);
            let length = (to - from).length();
            let a = first(&here, from, to, Query::FRONT);
            let b = first(&there, from + by, to + by, Query::FRONT);
            apart += usize::from(match (a, b) {
                (Some(a), Some(b)) => (a - b).abs() * length > 1e-3,
                (None, None) => false,
                _ => true,
            });
        }
        assert!(apart <= 1, "seed {seed}: {apart} lines");
    }
}

#[test]
fn the_same_input_makes_the_same_bytes_on_any_number_of_threads() {
    let polygons = intake(&hills(5, 66), &Meaning { open: Open::Skirt { depth: 1.0 }, shell: false });
    let polygons = polygons.unwrap().polygons;
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| cook(&polygons).unwrap())
    };
    let (one, two) = (on(1), on(2));
    assert!(one.packed.len() > 1, "more than one definition");
    assert_eq!(one.packed, two.packed);
    assert_eq!(one.rays, two.rays);
}
