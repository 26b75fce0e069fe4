//! From polygons to what ships, proven: build, pack, decode again, check, ask; and once more with other
//! tolerances where an answer is wrong.

use glam::Vec3;
use rayon::prelude::*;

use crate::check::CheckError;
use crate::define::{Definition, Region, definitions, regions};
use crate::line::{Hit, Lost, Query};
use crate::mopp::Mopp;
use crate::own_bsp::{OwnBspError, definition_mopp};
use crate::polygons::Polygons;
use crate::prove::{Court, Placed, Rays, decoded};
use crate::refusal::Refusal;
use crate::scene::Scene;
use crate::truth::Segment;
use crate::write::Packed;

/// Collision that answers every line rightly.
#[derive(Clone, Debug)]
pub struct World {
    /// What answers, each for its region.
    pub definitions: Vec<Definition>,
    /// Their tables.
    pub packed: Vec<Packed>,
    /// Their MOPPs: a terminal a surface.
    pub mopps: Vec<Mopp>,
    /// What the rays said.
    pub rays: Rays,
}

/// Why there is no [`World`].
#[derive(Clone, Debug, thiserror::Error)]
pub enum CookError {
    /// The geometry is refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Some lines are answered wrongly, whatever the tolerance.
    #[error(
        "of {} lines {} are missed, {} displaced, {} meet nothing, {} are lost, at least one of them {}",
        .0.rays, .0.missed, .0.displaced, .0.phantoms, .0.lost, shown(.0)
    )]
    Wrong(Box<Rays>),
    /// The tables contradict themselves.
    #[error(transparent)]
    Invalid(#[from] CheckError),
    /// A MOPP would not find what it is for.
    #[error(transparent)]
    Mopp(#[from] OwnBspError),
    /// What was written cannot be read.
    #[error("what was written cannot be read: {0}")]
    Unreadable(#[from] wire::ReadError),
}

fn shown(rays: &Rays) -> String {
    rays.wrong.first().map_or_else(String::new, |(fault, line)| {
        format!("from {} to {} ({fault:?})", line.from, line.to).to_lowercase()
    })
}

/// Multiples of the usual tolerance, in the order in which they are tried where an answer is wrong. Below it
/// fewer parts that lie across a plane pass for uncut, and so fewer cells contradict themselves.
const TRIED: [f64; 8] = [0.25, 1.0, 0.0625, 0.5, 2.0, 0.125, 0.03125, 4.0];

/// A region as far as it was built.
struct Site {
    region: Region,
    tries: usize,
    definitions: Vec<Definition>,
    packed: Vec<Packed>,
    bsps: Vec<Placed>,
    rays: Option<Rays>,
}

/// Builds collision and proves it.
pub fn cook(polygons: &Polygons) -> Result<World, CookError> {
    let scene = Scene::new(polygons);
    let court = Court::new(polygons, &scene);
    let sites: Result<Vec<Site>, CookError> =
        regions(polygons, false)?.into_par_iter().map(|region| Site::new(polygons, &scene, region)).collect();
    let mut sites = sites?;
    loop {
        let (all, owners) = together(&sites);
        for (index, site) in sites.iter_mut().enumerate().filter(|(_, site)| site.rays.is_none()) {
            let own = (0..all.len()).filter(|bsp| owners[*bsp] == index);
            site.rays = Some(own.map(|bsp| court.parts(&all, bsp)).fold(Rays::default(), Rays::and));
        }
        let faults = |site: &Site| site.rays.as_ref().is_some_and(|rays| rays.faults() > 0);
        let mut bad: Vec<usize> = (0..sites.len()).filter(|&site| faults(&sites[site])).collect();
        let parts = sites.iter().filter_map(|site| site.rays.clone()).fold(Rays::default(), Rays::and);
        let rays = if bad.is_empty() { court.world(&all).and(parts) } else { parts };
        if rays.faults() == 0 {
            let definitions: Vec<Definition> =
                sites.iter().flat_map(|site| site.definitions.clone()).collect();
            let mopps: Result<Vec<Mopp>, OwnBspError> =
                definitions.par_iter().map(|definition| definition_mopp(&definition.bsp)).collect();
            let packed = sites.into_iter().flat_map(|site| site.packed).collect();
            return Ok(World { definitions, packed, mopps: mopps?, rays });
        }
        if bad.is_empty() {
            // Whoever may have had to do with a wrong answer is built anew.
            let near = |bsp: &Placed, line: &Segment| {
                let (low, high) = (line.from.min(line.to), line.from.max(line.to));
                low.cmple(bsp.high).all() && high.cmpge(bsp.low).all()
            };
            let wrong = |bsp: usize| rays.wrong.iter().any(|(_, line)| near(&all[bsp], line));
            bad = (0..all.len()).filter(|&bsp| wrong(bsp)).map(|bsp| owners[bsp]).collect();
            bad.dedup();
        }
        if bad.is_empty() || bad.iter().any(|&site| sites[site].tries >= TRIED.len()) {
            return Err(CookError::Wrong(Box::new(rays)));
        }
        for site in bad {
            sites[site].build(polygons, &scene)?;
        }
    }
}

/// All BSPs, and which site each belongs to.
fn together(sites: &[Site]) -> (Vec<Placed>, Vec<usize>) {
    let owned =
        (0..).zip(sites).flat_map(|(index, site)| site.bsps.iter().map(move |bsp| (bsp.clone(), index)));
    owned.unzip()
}

impl Site {
    fn new(polygons: &Polygons, scene: &Scene, region: Region) -> Result<Self, CookError> {
        let (definitions, packed, bsps) = (Vec::new(), Vec::new(), Vec::new());
        let mut site = Self { region, tries: 0, definitions, packed, bsps, rays: None };
        site.build(polygons, scene)?;
        Ok(site)
    }

    /// Builds with the next tolerance whose tables do not contradict themselves.
    fn build(&mut self, polygons: &Polygons, scene: &Scene) -> Result<(), CookError> {
        loop {
            let times = TRIED[self.tries.min(TRIED.len() - 1)];
            self.tries += 1;
            self.definitions = definitions(polygons, scene, times, &self.region, false)?;
            let packed: Result<Vec<Packed>, Refusal> =
                self.definitions.iter().map(|d| d.bsp.pack()).collect();
            self.packed = packed?;
            let decoded: Result<Vec<Placed>, CookError> = self
                .definitions
                .iter()
                .zip(&self.packed)
                .map(|(it, packed)| Ok(Placed::new(decoded(&it.planes, packed)?, it.position)))
                .collect();
            match decoded {
                Ok(bsps) => {
                    self.bsps = bsps;
                    self.rays = None;
                    return Ok(());
                }
                Err(fault) if self.tries >= TRIED.len() => return Err(fault),
                Err(_) => {}
            }
        }
    }
}

impl World {
    /// The first hit of a line over all definitions, each asked in its own coordinates: which, and what.
    pub fn line(&self, from: Vec3, to: Vec3, query: Query) -> Result<Option<(usize, Hit)>, Lost> {
        let mut best: Option<(usize, Hit)> = None;
        for (index, it) in self.definitions.iter().enumerate() {
            let position = it.position.as_vec3();
            if let Some(hit) = it.bsp.line(from - position, to - position, query)?
                && best.is_none_or(|(_, best)| hit.fraction < best.fraction)
            {
                best = Some((index, hit));
            }
        }
        Ok(best)
    }

    /// Whether a point lies in what a definition calls solid.
    pub fn is_solid(&self, point: Vec3) -> Result<bool, Lost> {
        for it in &self.definitions {
            if it.bsp.is_solid(point - it.position.as_vec3())? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What there is to tell of it.
    pub fn report(&self) -> Report {
        let mut report = Report { definitions: self.definitions.len(), ..Report::default() };
        for Definition { bsp, decisions, .. } in &self.definitions {
            report.surfaces += bsp.surfaces.len();
            report.planes += bsp.planes.len();
            report.nodes += bsp.nodes.len();
            report.leaves += bsp.leaves.len();
            report.references += bsp.references.len();
            report.nodes2d += bsp.nodes2d.len();
            report.depth = report.depth.max(decisions.depth);
            report.mixed_cells += decisions.mixed_cells;
            report.asked_cells += decisions.asked_cells;
            report.overlaps += decisions.overlaps;
            report.unnamed += decisions.unnamed;
        }
        report.mopp_bytes = self.mopps.iter().map(|mopp| mopp.code.len()).sum();
        report.rays = self.rays.clone();
        report
    }
}

/// Sizes, decisions and rays over all definitions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// How many definitions there are.
    pub definitions: usize,
    /// Surfaces; those in several regions count in each.
    pub surfaces: usize,
    /// Planes.
    pub planes: usize,
    /// 3D nodes.
    pub nodes: usize,
    /// Leaves.
    pub leaves: usize,
    /// References.
    pub references: usize,
    /// 2D nodes.
    pub nodes2d: usize,
    /// Bytes of all MOPPs of definitions.
    pub mopp_bytes: usize,
    /// Depth of the deepest tree.
    pub depth: u32,
    /// Cells whose parts contradict each other.
    pub mixed_cells: u32,
    /// Cells about which the polygons were asked.
    pub asked_cells: u32,
    /// Surfaces of some size that lie on others, and are not named where they do.
    pub overlaps: u32,
    /// Surfaces that no leaf names, left out of the tables.
    pub unnamed: u32,
    /// What the rays said.
    pub rays: Rays,
}
