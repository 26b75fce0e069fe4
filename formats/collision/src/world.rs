//! From polygons to what ships, proven: build, pack, decode again, check, ask; and once more with other
//! tolerances where an answer is wrong.

use crate::build::Decisions;
use crate::check::CheckError;
use crate::define::{Definition, definitions};
use crate::polygons::Polygons;
use crate::prove::{Rays, decoded, prove_decoded};
use crate::refusal::Refusal;
use crate::scene::Scene;
use crate::write::Packed;

/// Collision that answers every line rightly.
#[derive(Clone, Debug)]
pub struct World {
    /// What answers, each for its region.
    pub definitions: Vec<Definition>,
    /// Their tables.
    pub packed: Vec<Packed>,
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
    /// What was written cannot be read.
    #[error("what was written cannot be read: {0}")]
    Unreadable(#[from] wire::ReadError),
}

fn shown(rays: &Rays) -> String {
    rays.wrong.first().map_or_else(String::new, |(fault, line)| {
        format!("from {} to {} ({fault:?})", line.from, line.to).to_lowercase()
    })
}

/// Multiples of the usual tolerance, in the order in which they are tried. Below it fewer parts that lie
/// across a plane pass for uncut, and so fewer cells contradict themselves.
const TRIED: [f64; 4] = [0.25, 1.0, 0.0625, 4.0];

/// Builds collision and proves it.
pub fn cook(polygons: &Polygons) -> Result<World, CookError> {
    let scene = Scene::new(polygons);
    let (mut wrong, mut invalid): (Option<Rays>, Option<CookError>) = (None, None);
    for times in TRIED {
        let definitions = definitions(polygons, &scene, polygons.epsilon() * times, false)?;
        let packed: Result<Vec<Packed>, Refusal> = definitions.iter().map(|d| d.bsp.pack()).collect();
        let packed = packed?;
        let decoded = match decoded(polygons, &packed) {
            Ok(decoded) => decoded,
            Err(fault) => {
                invalid = Some(fault);
                continue;
            }
        };
        let rays = prove_decoded(polygons, &scene, decoded);
        if rays.faults() == 0 {
            return Ok(World { definitions, packed, rays });
        }
        if wrong.as_ref().is_none_or(|least| rays.faults() < least.faults()) {
            wrong = Some(rays);
        }
    }
    match (wrong, invalid) {
        (Some(wrong), _) => Err(CookError::Wrong(Box::new(wrong))),
        (None, Some(invalid)) => Err(invalid),
        (None, None) => Err(CookError::Wrong(Box::default())),
    }
}

impl World {
    /// What the builder had to decide, over all definitions.
    pub fn decisions(&self) -> Decisions {
        self.definitions.iter().fold(Decisions::default(), |sum, definition| {
            let it = definition.decisions;
            Decisions {
                mixed_cells: sum.mixed_cells + it.mixed_cells,
                asked_cells: sum.asked_cells + it.asked_cells,
                overlaps: sum.overlaps + it.overlaps,
                unnamed: sum.unnamed + it.unnamed,
                depth: sum.depth.max(it.depth),
            }
        })
    }
}
