//! Tampered tables: what moves an answer is refused by the validator or by the rays.

use collision::mopp::{KeyBox, Mopp};
use collision::{
    Collision, Geometry, Meaning, Numbers, Open, Packed, Polygons, Query, Segment, Triangle, intake,
};
use collision::{prove, random_segments, surface_flags};
use glam::DVec3;

use crate::worlds::{block, built, hills};

/// A small world of everything: hills on a body, blocks that overlap, and a wall with two sides.
fn world() -> (Polygons, Vec<Packed>) {
    let mut geometry: Geometry = hills(3, 6);
    let meaning = Meaning { open: Open::Skirt { depth: 2.0 }, shell: false };
    let base = geometry.vertices.len() as u32;
    let wall = [[8.0, 1.0, 0.0], [8.0, 4.0, 0.0], [8.5, 4.0, 3.0], [8.5, 1.0, 3.0]];
    geometry.vertices.extend(wall);
    for vertices in [[0, 1, 2], [0, 2, 3]] {
        let vertices = vertices.map(|v: u32| v + base);
        geometry.triangles.push(Triangle { vertices, material: 0, flags: surface_flags::TWO_SIDED });
    }
    let turn = glam::DMat3::from_rotation_z(0.4);
    geometry.hulls.push(block(DVec3::new(1.0, 0.6, 0.5), turn, DVec3::new(11.0, 2.0, 1.0)));
    geometry.hulls.push(block(DVec3::new(0.5, 1.2, 0.7), turn, DVec3::new(11.3, 2.0, 1.3)));
    let polygons = intake(&geometry, &meaning).unwrap().polygons;
    let world = built_from(&polygons);
    (polygons, world)
}

fn built_from(polygons: &Polygons) -> Vec<Packed> {
    collision::cook(polygons).unwrap().packed
}

/// Answers of the tables to all segments; a walk that gets lost answers nothing.
fn answers(bsp: &Collision, segments: &[Segment]) -> Vec<Option<f32>> {
    let ask = |s: &Segment| bsp.line(s.from, s.to, Query::FRONT).ok().flatten().map(|hit| hit.fraction);
    segments.iter().map(ask).collect()
}

fn moves(a: Option<f32>, b: Option<f32>, segment: &Segment) -> bool {
    let length = (segment.to - segment.from).length();
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() * length > 1e-3,
        (None, None) => false,
        _ => true,
    }
}

/// Changes one field of one record: which table, and the bytes of the field.
fn tamper(packed: &mut Packed, numbers: &mut Numbers) -> String {
    /// Table, bytes of a record, and its fields: place and width.
    type Fields = (usize, usize, &'static [(usize, usize)]);
    const FIELDS: [Fields; 7] = [
        (0, 8, &[(0, 2), (2, 3), (5, 3)]),
        (1, 128, &[(60, 4), (124, 4), (0, 4)]),
        (2, 16, &[(0, 4), (4, 4), (8, 4), (12, 4)]),
        (3, 8, &[(0, 1), (2, 2), (4, 4)]),
        (4, 4, &[(0, 2), (2, 2)]),
        (5, 16, &[(0, 4), (4, 4), (8, 4), (12, 2), (14, 2)]),
        (7, 12, &[(0, 2), (2, 2), (4, 2), (6, 2), (8, 2), (10, 2)]),
    ];
    let (table, size, fields) = FIELDS[numbers.below(FIELDS.len() as u64) as usize];
    let (name, bytes) = packed.tables_mut().into_iter().nth(table).unwrap();
    let count = bytes.len() / size;
    if count == 0 {
        return String::new();
    }
    let record = numbers.below(count as u64) as usize;
    let (at, width) = fields[numbers.below(fields.len() as u64) as usize];
    let field = &mut bytes[record * size + at..][..width];
    match numbers.below(3) {
        // A bit, a small step, or a value from elsewhere.
        0 => field[numbers.below(width as u64) as usize] ^= 1 << numbers.below(8),
        1 => field[0] = field[0].wrapping_add(1),
        _ => {
            let other = numbers.below(count as u64) as usize;
            let copied: Vec<u8> = bytes[other * size + at..][..width].to_vec();
            bytes[record * size + at..][..width].copy_from_slice(&copied);
        }
    }
    format!("{name}[{record}] at {at}")
}

fn undetected(mutations: u64, segments: u64) {
    let (polygons, packed) = world();
    assert_eq!(packed.len(), 1);
    let (low, high) = polygons.bounds();
    let separate = random_segments(low, high, 4242, segments);
    let good = Collision::unpack(&packed[0]).unwrap();
    let before = answers(&good, &separate);
    assert!(good.check(4).is_ok() && prove(&polygons, &packed[0]).unwrap().faults() == 0);
    let mut numbers = Numbers::new(99);
    let (mut moved, mut refused_by_rays, mut slipped) = (0, 0, Vec::new());
    for _ in 0..mutations {
        let mut bad = packed[0].clone();
        let what = tamper(&mut bad, &mut numbers);
        if bad == packed[0] {
            continue;
        }
        let Ok(bsp) = Collision::unpack(&bad) else { continue };
        if bsp.check(4).is_err() {
            continue;
        }
        let after = answers(&bsp, &separate);
        let pairs = before.iter().zip(&after).zip(&separate);
        let count = pairs.filter(|((a, b), segment)| moves(**a, **b, segment)).count();
        if count == 0 {
            continue;
        }
        moved += 1;
        if prove(&polygons, &bad).map_or(true, |rays| rays.faults() > 0) {
            refused_by_rays += 1;
        } else {
            slipped.push(format!("{what} moves {count} answers"));
        }
    }
    assert!(moved > 0, "nothing that passes the validator moves an answer: the mutations are too harsh");
    assert!(slipped.is_empty(), "{} of {moved} slipped through: {slipped:#?}", slipped.len());
    assert_eq!(moved, refused_by_rays);
}

#[test]
fn what_moves_an_answer_is_refused() {
    undetected(250, 5_000);
}

/// The whole of it: minutes.
#[test]
#[ignore = "ten thousand mutations against a hundred thousand lines take minutes"]
fn what_moves_an_answer_is_refused_at_length() {
    undetected(10_000, 100_000);
}

#[test]
fn tables_of_any_bytes_are_refused_or_walked() {
    let packed = built(&crate::worlds::blocks(1, 3), &Meaning::default()).packed.remove(0);
    let mut numbers = Numbers::new(7);
    for _ in 0..3000 {
        let mut bad = packed.clone();
        for _ in 0..4 {
            tamper(&mut bad, &mut numbers);
        }
        let bsp = Collision::unpack(&bad).unwrap();
        _ = bsp.check(8);
        for line in random_segments(DVec3::splat(-5.0), DVec3::splat(5.0), numbers.bits(), 4) {
            _ = bsp.line(line.from, line.to, Query::ANY);
            _ = bsp.is_solid(line.from);
        }
    }
    for table in 0..9 {
        let mut cut = packed.clone();
        let (name, bytes) = cut.tables_mut().into_iter().nth(table).unwrap();
        if bytes.pop().is_some() {
            assert!(Collision::unpack(&cut).is_err(), "{name}");
        }
    }
}

/// Boxes of a small world, keyed by their number.
fn boxes(numbers: &mut Numbers, count: u32) -> Vec<KeyBox> {
    let boxes = (0..count).map(|key| {
        let mut three = |scale: f64| DVec3::new(numbers.unit(), numbers.unit(), numbers.unit()) * scale;
        let (low, size) = (three(20.0), three(2.0));
        KeyBox { key, low, high: low + size }
    });
    boxes.collect()
}

#[test]
fn a_mopp_that_passes_its_check_misses_nothing() {
    let mut numbers = Numbers::new(21);
    let boxes = boxes(&mut numbers, 120);
    let good = Mopp::compile(&boxes);
    good.check(&boxes).unwrap();
    let (mut passed, mut asked) = (0, 0);
    for _ in 0..4000 {
        let mut bad = good.clone();
        let at = numbers.below(bad.code.len() as u64) as usize;
        bad.code[at] = match numbers.below(2) {
            0 => bad.code[at] ^ 1 << numbers.below(8),
            _ => bad.code[at].wrapping_sub(1),
        };
        if bad.check(&boxes).is_err() {
            continue;
        }
        passed += 1;
        for _ in 0..20 {
            let low = DVec3::new(numbers.unit(), numbers.unit(), numbers.unit()) * 20.0;
            let high = low + 6.0 * numbers.unit();
            let found = bad.query(low, high).unwrap();
            for it in boxes.iter().filter(|it| it.low.cmple(high).all() && it.high.cmpge(low).all()) {
                assert!(found.contains(&it.key), "byte {at}: key {} is missed", it.key);
                asked += 1;
            }
        }
    }
    assert!(passed > 20 && asked > 1000, "{passed} passed, {asked} asked");
}
