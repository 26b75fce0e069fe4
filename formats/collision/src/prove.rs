//! The proof: what ships is decoded again, and the engine's line test over it is held against brute force
//! over all polygons.

use glam::{DVec3, Vec3};
use rayon::prelude::*;
use wire::ReadError;

use crate::line::Query;
use crate::model::Collision;
use crate::polygons::Polygons;
use crate::probe::{nodes, through_borders, through_surface};
use crate::scene::Scene;
use crate::truth::{Fault, Segment, Verdict, judge};
use crate::world::CookError;
use crate::write::Packed;

/// How far a hit may lie from the true one, in world units.
const TOLERANCE: f64 = 1e-3;
/// Random segments across the bounds.
const RANDOM: u64 = 10_000;
/// Columns of the floor grid at most; beyond, its step is doubled.
const COLUMNS: f64 = 40_000.0;
/// Longest ring of what is shipped.
const CORNERS: usize = 4;
/// Faults that are kept to be shown.
const SHOWN: usize = 8;

/// What the rays said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rays {
    /// Lines that were asked.
    pub rays: u64,
    /// Lines that went through a surface.
    pub missed: u64,
    /// Lines that met something elsewhere.
    pub displaced: u64,
    /// Lines that met something where nothing is.
    pub phantoms: u64,
    /// Lines on which the tables led nowhere.
    pub lost: u64,
    /// Lines so near a border that either answer would do, and the answer was the other one.
    pub grazes: u64,
    /// Lines that passed exactly where a plane of the tree cuts a surface, in a crack of rounding width.
    pub cracks: u64,
    /// The largest distance between a hit and the true one, in world units.
    pub worst_error: f64,
    /// The first lines that were wrong.
    pub wrong: Vec<(Fault, Segment)>,
}

impl Rays {
    /// How many answers were wrong.
    pub fn faults(&self) -> u64 {
        self.missed + self.displaced + self.phantoms + self.lost
    }

    fn count(&mut self, segment: &Segment, verdict: Verdict) {
        self.rays += 1;
        match verdict {
            Verdict::Right(error) => self.worst_error = self.worst_error.max(error),
            Verdict::Grazes => self.grazes += 1,
            Verdict::Crack => self.cracks += 1,
            Verdict::Wrong(fault) => {
                *match fault {
                    Fault::Missed => &mut self.missed,
                    Fault::Displaced => &mut self.displaced,
                    Fault::Phantom => &mut self.phantoms,
                    Fault::Lost => &mut self.lost,
                } += 1;
                if self.wrong.len() < SHOWN {
                    self.wrong.push((fault, *segment));
                }
            }
        }
    }

    /// Both together; `other` comes after.
    #[must_use]
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.rays += other.rays;
        self.missed += other.missed;
        self.displaced += other.displaced;
        self.phantoms += other.phantoms;
        self.lost += other.lost;
        self.grazes += other.grazes;
        self.cracks += other.cracks;
        self.worst_error = self.worst_error.max(other.worst_error);
        self.wrong.extend(other.wrong);
        self.wrong.truncate(SHOWN);
        self
    }
}

/// A small generator of numbers that are the same everywhere.
#[derive(Clone, Debug)]
pub struct Numbers(u64);

impl Numbers {
    /// A sequence of its own for every seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number from 0 up to 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A whole number below `limit`, which is not 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.bits() % limit
    }
}

/// Random segments across a box, half of them short.
pub fn random_segments(low: DVec3, high: DVec3, seed: u64, count: u64) -> Vec<Segment> {
    let (low, high) = (low - 0.5, high + 0.5);
    let mut numbers = Numbers::new(seed);
    let mut point = move || low + (high - low) * DVec3::new(numbers.unit(), numbers.unit(), numbers.unit());
    (0..count)
        .map(|i| {
            let (from, to) = (point(), point());
            let short = (to - from).clamp_length_max(8.0);
            Segment::new(from, if i % 2 == 0 { to } else { from + short })
        })
        .collect()
}

/// Decoded BSPs, each with the box outside of which it has nothing.
pub(crate) fn boxed(bsps: Vec<Collision>) -> Vec<(Collision, Vec3, Vec3)> {
    let boxed = bsps.into_iter().map(|bsp| {
        let (low, high) = bsp.bounds().unwrap_or_default();
        (bsp, (low - 0.01).as_vec3(), (high + 0.01).as_vec3())
    });
    boxed.collect()
}

/// Decodes what will ship, checks it, and asks it; `polygons` are what it was built from.
pub fn prove(polygons: &Polygons, packed: &[Packed]) -> Result<Rays, CookError> {
    let bsps = decoded(polygons, packed)?;
    Ok(prove_decoded(polygons, &Scene::new(polygons), bsps))
}

/// What will ship, decoded and checked.
pub(crate) fn decoded(polygons: &Polygons, packed: &[Packed]) -> Result<Vec<Collision>, CookError> {
    let bsps: Result<Vec<Collision>, ReadError> = packed.iter().map(Collision::unpack).collect();
    let bsps = bsps?;
    for bsp in &bsps {
        bsp.check(CORNERS)?;
        bsp.check_planes(&polygons.planes)?;
    }
    Ok(bsps)
}

pub(crate) fn prove_decoded(polygons: &Polygons, scene: &Scene, bsps: Vec<Collision>) -> Rays {
    let bsps = boxed(bsps);
    let (low, high) = polygons.bounds();
    let most = low.abs().max(high.abs()).max_element();
    let tolerance = TOLERANCE.max(8.0 * most / f64::from(1 << 23));
    let beside = 2.0 * polygons.epsilon();
    let judged = |segments: Vec<Segment>, queries: &[Query]| {
        let mut rays = Rays::default();
        for segment in &segments {
            for &query in queries {
                rays.count(segment, judge(&bsps, scene, segment, query, tolerance, beside));
            }
        }
        rays
    };
    let mut total = Rays::default();
    for (bsp, ..) in &bsps {
        let surfaces: Vec<Rays> = (0..bsp.surfaces.len() as u32)
            .into_par_iter()
            .map(|surface| judged(through_surface(bsp, surface), &[Query::FRONT]))
            .collect();
        total = surfaces.into_iter().fold(total, Rays::and);
        let borders: Vec<Rays> = nodes(bsp)
            .into_par_iter()
            .map(|(node, path)| {
                judged(through_borders(bsp, node, &path, low - 1.0, high + 1.0), &[Query::FRONT])
            })
            .collect();
        total = borders.into_iter().fold(total, Rays::and);
    }
    // Every polygon of the input, whether or not a table holds it.
    let polygon_rays: Vec<Rays> = (0..scene.len() as u32)
        .into_par_iter()
        .map(|polygon| {
            let points = scene.points(polygon);
            let middle = points.iter().sum::<DVec3>() / points.len() as f64;
            let away = scene.normal(polygon) * crate::probe::AWAY;
            judged(vec![Segment::new(middle + away, middle - away)], &[Query::ANY])
        })
        .collect();
    total = polygon_rays.into_iter().fold(total, Rays::and);
    let random = random_segments(low, high, 1, RANDOM);
    let random: Vec<Rays> =
        random.par_chunks(64).map(|some| judged(some.to_vec(), &[Query::FRONT, Query::ANY])).collect();
    total = random.into_iter().fold(total, Rays::and);
    let columns = columns(low, high);
    let floors: Vec<Rays> = columns
        .into_par_iter()
        .map(|(x, y)| judged(floor(scene, x, y, low.z - 1.0, high.z + 1.0), &[Query::FRONT]))
        .collect();
    floors.into_iter().fold(total, Rays::and)
}

/// Places of the floor grid: one a world unit, or as many fewer as it takes.
fn columns(low: DVec3, high: DVec3) -> Vec<(f64, f64)> {
    let mut step = 1.0;
    while ((high.x - low.x) / step + 1.0) * ((high.y - low.y) / step + 1.0) > COLUMNS {
        step *= 2.0;
    }
    let along = |low: f64, high: f64| {
        let first = (low / step).floor() as i64;
        let last = (high / step).ceil() as i64;
        (first..last).map(move |i| (i as f64 + 0.5) * step)
    };
    along(low.x, high.x).flat_map(|x| along(low.y, high.y).map(move |y| (x, y))).collect()
}

/// Lines onto every floor of a column, straight and slanted.
fn floor(scene: &Scene, x: f64, y: f64, low: f64, high: f64) -> Vec<Segment> {
    let mut lines = Vec::new();
    for crossing in scene.crossings(DVec3::new(x, y, high), DVec3::new(x, y, low)) {
        if scene.normal(crossing.polygon).z.abs() < 0.5 {
            continue;
        }
        let z = high + (low - high) * crossing.t;
        let above = DVec3::new(x, y, z + 0.6);
        if scene.is_solid(above) {
            continue;
        }
        let steps = [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)];
        for (dx, dy) in steps {
            let aside = DVec3::new(f64::from(dx), f64::from(dy), 0.0).normalize_or_zero();
            lines.push(Segment::new(above, DVec3::new(x, y, z - 0.6) + aside));
        }
    }
    lines
}
