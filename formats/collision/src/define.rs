//! Worlds of any size as BSPs that each fit the tables.
//!
//! A world shell is one tree or none. Anything else may be split by axis planes into regions: a definition
//! answers for its region and calls everything outside of it open, without a surface at the border, so
//! that the first hit over all definitions is the hit of the whole. A polygon that reaches into several
//! regions is in each of them.

use glam::DVec3;

use crate::build::{Decisions, Half, Settings, build, sweep};
use crate::hull::cut;
use crate::layout::{MAX_KEYED_SURFACES, MAX_SURFACES};
use crate::model::{Collision, Plane};
use crate::polygons::Polygons;
use crate::refusal::{Code, Refusal};
use crate::scene::Scene;

/// A BSP, and what of the world it answers for.
#[derive(Clone, Debug)]
pub struct Definition {
    /// The BSP, in coordinates of its own: near its origin single precision carries more.
    pub bsp: Collision,
    /// Where its origin lies in the world.
    pub position: DVec3,
    /// What the builder had to decide.
    pub decisions: Decisions,
    /// The polygons that reach into its region.
    pub polygons: Vec<u32>,
    /// The planes of these, where they lie here.
    pub(crate) planes: Vec<Plane>,
}

/// A region and the polygons that reach into it.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    halves: Vec<Half>,
    polygons: Vec<u32>,
}

/// Free parts from which on a cell is split along an axis; the second is for trees that get too deep.
const AXIS_FROM: [usize; 2] = [1_024, 256];
/// How often a region that overflows the tables is halved.
const HALVINGS: u32 = 5;

/// The regions of a world: one for a shell, as many as it takes for anything else.
pub(crate) fn regions(polygons: &Polygons, large: bool) -> Result<Vec<Region>, Refusal> {
    let all = Region { halves: Vec::new(), polygons: (0..polygons.polygons.len() as u32).collect() };
    if !polygons.solid_outside {
        return Ok(divide(polygons, polygons.epsilon(), all, MAX_KEYED_SURFACES));
    }
    if all.polygons.len() > MAX_SURFACES && !large {
        let found = all.polygons.len();
        return Err(Refusal::over(Code::TooManySurfaces, "surfaces of a world shell", found, MAX_SURFACES));
    }
    Ok(vec![all])
}

/// Builds the definitions of a region, with distances below so many of the usual ones taken for none: one, or several where
/// its tables overflow.
pub(crate) fn definitions(
    polygons: &Polygons,
    scene: &Scene,
    times: f64,
    region: &Region,
    large: bool,
) -> Result<Vec<Definition>, Refusal> {
    if polygons.solid_outside {
        return Ok(vec![one(polygons, scene, times, region, large)?]);
    }
    until_it_fits(polygons, scene, times, region.clone(), HALVINGS)
}

fn until_it_fits(
    polygons: &Polygons,
    scene: &Scene,
    times: f64,
    region: Region,
    halvings: u32,
) -> Result<Vec<Definition>, Refusal> {
    let refusal = match one(polygons, scene, times, &region, false) {
        Ok(definition) => return Ok(vec![definition]),
        Err(refusal) if halvings == 0 => return Err(refusal),
        Err(refusal) => refusal,
    };
    let half = region.polygons.len().div_ceil(2).max(1);
    let parts = divide(polygons, polygons.epsilon(), region, half);
    if parts.len() < 2 {
        return Err(refusal);
    }
    let built: Result<Vec<Vec<Definition>>, Refusal> =
        parts.into_iter().map(|region| until_it_fits(polygons, scene, times, region, halvings - 1)).collect();
    Ok(built?.into_iter().flatten().collect())
}

fn one(
    polygons: &Polygons,
    scene: &Scene,
    times: f64,
    region: &Region,
    large: bool,
) -> Result<Definition, Refusal> {
    let mut chosen = polygons.subset(&region.polygons);
    let mut position = DVec3::ZERO;
    if !region.halves.is_empty() {
        // A part of a world stands wherever its instance puts it.
        let (low, high) = chosen.bounds();
        position = ((low + high) / 2.0).round();
        chosen = chosen.moved(-position);
    }
    let epsilon = chosen.epsilon() * times;
    let moved = |half: &Half| Half { at: (f64::from(half.at) - position[half.axis]) as f32, ..*half };
    let halves: Vec<Half> = region.halves.iter().map(moved).collect();
    let mut last = None;
    for axis_from in AXIS_FROM {
        let settings = Settings { epsilon, axis_from, halves: halves.clone(), position };
        match build(&chosen, scene, &settings) {
            Ok((bsp, decisions)) => {
                if !large {
                    bsp.fits()?;
                }
                return Ok(Definition {
                    bsp,
                    position,
                    decisions,
                    polygons: region.polygons.clone(),
                    planes: chosen.planes,
                });
            }
            Err(refusal) if refusal.code == Code::TooDeep => last = Some(refusal),
            Err(refusal) => return Err(refusal),
        }
    }
    Err(last.unwrap_or_else(|| Refusal::new(Code::TooDeep, Vec::new(), "the tree is too deep")))
}

/// Halves a region until no part of it has more than `most` polygons.
fn divide(polygons: &Polygons, epsilon: f64, region: Region, most: usize) -> Vec<Region> {
    let (mut done, mut todo) = (Vec::new(), vec![region]);
    while let Some(region) = todo.pop() {
        let split = if region.polygons.len() > most { halve(polygons, epsilon, &region) } else { None };
        match split {
            // The lower half next: regions come out in the order of their places.
            Some([below, above]) => todo.extend([above, below]),
            None => done.push(region),
        }
    }
    done
}

fn halve(polygons: &Polygons, epsilon: f64, region: &Region) -> Option<[Region; 2]> {
    let parts: Vec<(u32, Vec<DVec3>)> = region
        .polygons
        .iter()
        .map(|&index| {
            (index, within(polygons.points(&polygons.polygons[index as usize]), &region.halves, epsilon))
        })
        .collect();
    let extents: Vec<(DVec3, DVec3)> = parts
        .iter()
        .map(|(_, points)| {
            points.iter().fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(l, h), p| (l.min(*p), h.max(*p)))
        })
        .collect();
    let mut best: Option<(usize, usize, f32)> = None;
    for axis in 0..3 {
        let mut lows: Vec<f64> = extents.iter().map(|(low, _)| low[axis]).collect();
        let mut highs: Vec<f64> = extents.iter().map(|(_, high)| high[axis]).collect();
        if let Some((score, at)) = sweep(&mut lows, &mut highs, extents.len())
            && best.is_none_or(|(least, ..)| score < least)
        {
            best = Some((score, axis, at));
        }
    }
    let (_, axis, at) = best?;
    let half = |above: bool| {
        let reaches = |(low, high): &(DVec3, DVec3)| {
            let at = f64::from(at);
            if above { high[axis] > at + epsilon } else { low[axis] < at - epsilon }
        };
        let polygons =
            region.polygons.iter().zip(&extents).filter(|(_, e)| reaches(e)).map(|(p, _)| *p).collect();
        let mut halves = region.halves.clone();
        halves.push(Half { axis, at, above });
        Region { halves, polygons }
    };
    Some([half(false), half(true)])
}

/// What of a polygon lies within all halves, as the builder cuts it.
fn within(mut points: Vec<DVec3>, halves: &[Half], epsilon: f64) -> Vec<DVec3> {
    for half in halves {
        let distances: Vec<f64> = points.iter().map(|p| p[half.axis] - f64::from(half.at)).collect();
        if distances.iter().any(|d| *d > epsilon) && distances.iter().any(|d| *d < -epsilon) {
            let (front, back) = cut(&points, &distances);
            points = if half.above { front } else { back };
        }
    }
    points
}
