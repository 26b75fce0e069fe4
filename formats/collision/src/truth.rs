//! What a line must meet: brute force over all polygons, and the verdict on what a BSP said.

use glam::{DVec3, Vec3};

use crate::line::{Lost, Query};
use crate::prove::Placed;
use crate::scene::{Crossing, Scene};

/// How far a hit may lie from the true one, in world units.
const TOLERANCE: f64 = 1e-3;
/// Where a true hit lies too near a border, or its plane is met too flatly, to say which way it goes.
pub(crate) const GRAZE: f64 = 1e-3;

/// A line's ends, exact in the engine's precision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// Where it starts.
    pub from: Vec3,
    /// Where it ends.
    pub to: Vec3,
}

impl Segment {
    pub(crate) fn new(from: DVec3, to: DVec3) -> Self {
        Self { from: from.as_vec3(), to: to.as_vec3() }
    }

    pub(crate) fn length(&self) -> f64 {
        self.from.as_dvec3().distance(self.to.as_dvec3())
    }
}

/// How a BSP was wrong about a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// It went through a surface.
    Missed,
    /// It met something, elsewhere.
    Displaced,
    /// It met something where nothing is.
    Phantom,
    /// The tables led nowhere.
    Lost,
}

/// The judgement of one line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// Right, to within this distance.
    Right(f64),
    /// It grazes a border: either answer would do.
    Grazes,
    /// It passed a crack between two parts of a surface.
    Crack,
    /// Wrong.
    Wrong(Fault),
}

/// The first hit of a line by brute force.
pub(crate) fn first(scene: &Scene, segment: &Segment, query: Query) -> Option<Crossing> {
    let (from, to) = (segment.from.as_dvec3(), segment.to.as_dvec3());
    let crossings = scene.crossings(from, to);
    let one_sided = crossings.iter().find(|c| !scene.is_two_sided(c.polygon));
    let mut solid = match one_sided {
        Some(crossing) => crossing.slope > 0.0,
        None => !crossings.is_empty() && scene.has_solids() && scene.is_solid(from),
    };
    for crossing in crossings {
        let enters = crossing.slope < 0.0;
        if scene.is_two_sided(crossing.polygon) {
            if !solid {
                return Some(crossing);
            }
        } else if enters != solid {
            let wanted = if enters { Query::FRONT } else { Query::BACK };
            if query.0 & wanted.0 != 0 {
                return Some(crossing);
            }
            solid = enters;
        }
    }
    None
}

/// The first hit over several BSPs, each in a box outside of which it has nothing: fraction, BSP, surface.
pub(crate) fn ask(
    bsps: &[Placed],
    segment: &Segment,
    query: Query,
) -> Result<Option<(f32, usize, u32)>, Lost> {
    let (low, high) = (segment.from.min(segment.to), segment.from.max(segment.to));
    let mut best: Option<(f32, usize, u32)> = None;
    for (index, placed) in bsps.iter().enumerate() {
        if low.cmpgt(placed.high).any() || high.cmplt(placed.low).any() {
            continue;
        }
        if let Some(hit) =
            placed.bsp.line(segment.from - placed.position, segment.to - placed.position, query)?
            && best.is_none_or(|(fraction, ..)| hit.fraction < fraction)
        {
            best = Some((hit.fraction, index, hit.surface));
        }
    }
    Ok(best)
}

/// Judges what the BSPs say of a line, in numbers that carry no less than `noise`. In single precision a line that meets a surface exactly where a
/// plane of the tree cuts it may pass: such a crack is as wide as a rounding error, and unavoidable. It is
/// told from a hole by lines beside it, `beside` away: only those along the crack may pass as well.
pub(crate) fn judge(
    bsps: &[Placed],
    scene: &Scene,
    segment: &Segment,
    query: Query,
    noise: f64,
    beside: f64,
) -> Verdict {
    let verdict = judge_one(bsps, scene, segment, query, noise);
    if !matches!(verdict, Verdict::Wrong(_)) {
        return verdict;
    }
    let (from, to) = (segment.from.as_dvec3(), segment.to.as_dvec3());
    let Some(along) = (to - from).try_normalize() else { return verdict };
    let (u, v) = along.any_orthonormal_pair();
    let aside = [u, -u, v, -v, u + v, u - v, v - u, -u - v].map(|offset| offset * beside);
    let wrong = aside.iter().filter(|offset| {
        let moved = Segment::new(from + **offset, to + **offset);
        matches!(judge_one(bsps, scene, &moved, query, noise), Verdict::Wrong(_))
    });
    // A crack is a line: of eight lines around it at most two lie along it.
    if wrong.count() <= 2 { Verdict::Crack } else { verdict }
}

fn judge_one(bsps: &[Placed], scene: &Scene, segment: &Segment, query: Query, noise: f64) -> Verdict {
    let Ok(found) = ask(bsps, segment, query) else { return Verdict::Wrong(Fault::Lost) };
    let truth = first(scene, segment, query);
    let length = segment.length();
    if let (Some((fraction, ..)), Some(crossing)) = (found, truth) {
        let error = (f64::from(fraction) - crossing.t).abs() * length;
        // What is met flatly is met that much less exactly.
        let flatness = length / crossing.slope.abs().max(f64::MIN_POSITIVE);
        if error <= TOLERANCE.max(noise * flatness) {
            return Verdict::Right(error);
        }
    }
    let fault = match (found, truth) {
        (None, None) => return Verdict::Right(0.0),
        (Some(_), None) => Fault::Phantom,
        (None, Some(_)) => Fault::Missed,
        (Some(_), Some(_)) => Fault::Displaced,
    };
    // The end of a line may lie on a surface, as far as single precision knows.
    let tolerance = TOLERANCE.max(noise);
    let at_end = |t: f64| t * length <= tolerance || (1.0 - t) * length <= tolerance;
    let told = found.map(|(fraction, ..)| f64::from(fraction));
    let grazes = |t: f64| {
        let point = segment.from.as_dvec3().lerp(segment.to.as_dvec3(), t);
        at_end(t) || scene.is_near_border(point, GRAZE)
    };
    let flat = |c: &Crossing| c.slope.abs() <= GRAZE * length;
    let graze = match (told, &truth) {
        // It stopped before the true hit: there, a border was taken for a surface.
        (Some(told), Some(truth)) if told < truth.t => grazes(told),
        (Some(told), None) => grazes(told),
        (_, Some(truth)) => truth.margin <= GRAZE || flat(truth) || at_end(truth.t),
        (None, None) => false,
    };
    if graze { Verdict::Grazes } else { Verdict::Wrong(fault) }
}
