//! The proof: what ships is decoded again, and the engine's line test over it is held against brute force
//! over all polygons.

use glam::{DVec3, Vec3};
use rayon::prelude::*;
use wire::ReadError;

use crate::line::Query;
use crate::model::{Collision, Plane};
use crate::polygons::Polygons;
use crate::probe::{Border, borders, nodes, through_surface};
use crate::scene::Scene;
use crate::truth::{Fault, GRAZE, Segment, Verdict, first, judge};
use crate::world::CookError;
use crate::write::Packed;

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

/// A decoded BSP where it stands, with the box outside of which it has nothing.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    pub(crate) bsp: Collision,
    pub(crate) position: Vec3,
    pub(crate) low: Vec3,
    pub(crate) high: Vec3,
}

impl Placed {
    pub(crate) fn new(bsp: Collision, position: DVec3) -> Self {
        let (low, high) = bsp.bounds().unwrap_or_default();
        let (low, high) = ((position + low - 0.01).as_vec3(), (position + high + 0.01).as_vec3());
        Self { bsp, position: position.as_vec3(), low, high }
    }

    fn moved(&self, segment: Segment) -> Segment {
        let by = self.position.as_dvec3();
        Segment::new(segment.from.as_dvec3() + by, segment.to.as_dvec3() + by)
    }
}

/// Decodes what will ship of one BSP in the polygons' own coordinates, checks it, and asks it; `polygons` are
/// what it was built from.
pub fn prove(polygons: &Polygons, packed: &Packed) -> Result<Rays, CookError> {
    let bsp = decoded(&polygons.planes, packed)?;
    Ok(prove_decoded(polygons, &Scene::new(polygons), vec![Placed::new(bsp, DVec3::ZERO)]))
}

/// Decodes converted tables and asks them of their own polygons, for they have no other truth. Classic data
/// has some phantoms of its own: what they are worth is for the caller to judge.
pub fn prove_converted(packed: &Packed) -> Result<Rays, ReadError> {
    let bsp = Collision::unpack(packed)?;
    let polygons = Polygons::of(&bsp);
    Ok(prove_decoded(&polygons, &Scene::new(&polygons), vec![Placed::new(bsp, DVec3::ZERO)]))
}

/// What will ship, decoded and checked.
pub(crate) fn decoded(planes: &[Plane], packed: &Packed) -> Result<Collision, CookError> {
    let bsp = Collision::unpack(packed)?;
    bsp.check(CORNERS)?;
    bsp.check_planes(planes)?;
    Ok(bsp)
}

/// All that lines are held against.
pub(crate) struct Court<'a> {
    pub(crate) scene: &'a Scene,
    low: DVec3,
    high: DVec3,
    noise: f64,
    beside: f64,
}

impl<'a> Court<'a> {
    pub(crate) fn new(polygons: &Polygons, scene: &'a Scene) -> Self {
        let (low, high) = polygons.bounds();
        let most = low.abs().max(high.abs()).max_element();
        let noise = 8.0 * most / f64::from(1 << 23);
        Self { scene, low, high, noise, beside: 2.0 * polygons.epsilon() }
    }

    fn judged(&self, bsps: &[Placed], segments: &[Segment], queries: &[Query]) -> Rays {
        let mut rays = Rays::default();
        for segment in segments {
            for &query in queries {
                rays.count(segment, judge(bsps, self.scene, segment, query, self.noise, self.beside));
            }
        }
        rays
    }

    /// Lines through every part of every surface and every border of one of the BSPs.
    pub(crate) fn parts(&self, bsps: &[Placed], which: usize) -> Rays {
        let placed = &bsps[which];
        let bsp = &placed.bsp;
        let surfaces: Vec<Rays> = (0..bsp.surfaces.len() as u32)
            .into_par_iter()
            .map(|surface| {
                let lines: Vec<Segment> =
                    through_surface(bsp, surface).into_iter().map(|line| placed.moved(line)).collect();
                self.judged(bsps, &lines, &[Query::FRONT])
            })
            .collect();
        let borders: Vec<Rays> = nodes(bsp)
            .into_par_iter()
            .map(|(node, path)| {
                let (low, high) =
                    (self.low.max(placed.low.as_dvec3()), self.high.min(placed.high.as_dvec3()));
                let by = placed.position.as_dvec3();
                let mut found = borders(bsp, node, &path, low - by - 1.0, high - by + 1.0);
                for border in &mut found {
                    border.points.iter_mut().for_each(|p| *p += by);
                    border.line = placed.moved(border.line);
                    border.corners.iter_mut().for_each(|line| *line = placed.moved(*line));
                }
                found.iter().fold(Rays::default(), |sum, border| sum.and(self.border(bsps, border)))
            })
            .collect();
        surfaces.into_iter().chain(borders).fold(Rays::default(), Rays::and)
    }

    /// One line through a border that one polygon covers, and lines at its corners otherwise.
    fn border(&self, bsps: &[Placed], border: &Border) -> Rays {
        let rays = self.judged(bsps, &[border.line], &[Query::FRONT]);
        let covered = first(self.scene, &border.line, Query::FRONT).is_some_and(|crossing| {
            border.points.iter().all(|p| self.scene.margin(crossing.polygon, *p) >= -GRAZE)
        });
        if covered { rays } else { rays.and(self.judged(bsps, &border.corners, &[Query::FRONT])) }
    }

    /// Lines through every polygon of the input, the floor grid, and random segments.
    pub(crate) fn world(&self, bsps: &[Placed]) -> Rays {
        let (scene, low, high) = (self.scene, self.low, self.high);
        let polygons: Vec<Rays> = (0..scene.len() as u32)
            .into_par_iter()
            .map(|polygon| {
                let points = scene.points(polygon);
                let middle = points.iter().sum::<DVec3>() / points.len() as f64;
                let away = scene.normal(polygon) * crate::probe::AWAY;
                self.judged(bsps, &[Segment::new(middle + away, middle - away)], &[Query::ANY])
            })
            .collect();
        let random: Vec<Rays> = random_segments(low, high, 1, RANDOM)
            .par_chunks(64)
            .map(|some| self.judged(bsps, some, &[Query::FRONT, Query::ANY]))
            .collect();
        let floors: Vec<Rays> = columns(low, high)
            .into_par_iter()
            .map(|(x, y)| self.judged(bsps, &floor(scene, x, y, low.z - 1.0, high.z + 1.0), &[Query::FRONT]))
            .collect();
        polygons.into_iter().chain(random).chain(floors).fold(Rays::default(), Rays::and)
    }
}

pub(crate) fn prove_decoded(polygons: &Polygons, scene: &Scene, bsps: Vec<Placed>) -> Rays {
    let court = Court::new(polygons, scene);
    (0..bsps.len()).map(|which| court.parts(&bsps, which)).fold(court.world(&bsps), Rays::and)
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
