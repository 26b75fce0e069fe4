//! A map in a BSP of its own: a world shell, instances with their definitions, and the three trees and the
//! static body through which the engine finds them.
//!
//! It gives tables and values; which tag and field they go into is for others to know. The same walls are
//! held three times, and each copy serves other questions, so all are made from the same polygons here.

use glam::{DVec3, Vec3};

use crate::convert::{Placement, PlacementError};
use crate::keys::{SHELL_SINK, ShapeKey};
use crate::layout::MAX_KEYED_SURFACES;
use crate::line::{Hit, Lost, Query};
use crate::model::{Collision, Supernode};
use crate::mopp::{KeyBox, Mopp, MoppError, MoppFault};
use crate::refusal::{Code, Refusal};
use crate::write::Packed;

/// How far the engine sinks polygons of a shell, at most.
const SHELL_DEPTH: f64 = 0.25;

/// A box and the ball around it, as instances and groups hold them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent {
    /// Low corner.
    pub low: DVec3,
    /// High corner.
    pub high: DVec3,
}

impl Extent {
    /// The middle.
    pub fn centre(&self) -> DVec3 {
        (self.low + self.high) / 2.0
    }

    /// From the middle to the high corner.
    pub fn half(&self) -> DVec3 {
        (self.high - self.low) / 2.0
    }

    /// Of the ball around the middle: half the diagonal.
    pub fn radius(&self) -> f64 {
        self.half().length()
    }

    fn around(parts: impl IntoIterator<Item = Self>) -> Option<Self> {
        parts.into_iter().reduce(|a, b| Self { low: a.low.min(b.low), high: a.high.max(b.high) })
    }
}

/// An instance and the definition that it alone uses.
#[derive(Clone, Debug)]
pub struct Instance {
    /// Where it stands, neither turned nor scaled.
    pub position: DVec3,
    /// The definition, in the instance's frame.
    pub definition: Collision,
    /// Its tables.
    pub packed: Packed,
    /// Its MOPP: a terminal a surface.
    pub mopp: Mopp,
    /// Where its corners are, in its own frame: the physics copy.
    pub local: Extent,
    /// Where its corners are in the world.
    pub world: Extent,
}

/// A map in a BSP of its own.
#[derive(Clone, Debug)]
pub struct OwnBsp {
    /// The world shell.
    pub shell: Collision,
    /// Its tables.
    pub packed_shell: Packed,
    /// Instances; their indices in the tag count from `first_instance`.
    pub instances: Vec<Instance>,
    /// Index of the first instance.
    pub first_instance: u16,
    /// Index of the group that holds all instances.
    pub group: u16,
    /// Terminals are instances.
    pub group_mopp: Mopp,
    /// Terminals are groups.
    pub cluster_mopp: Mopp,
    /// What everything that moves stands on.
    pub static_body: Mopp,
    /// The world.
    pub bounds: Extent,
}

/// Why a map gets no BSP of its own.
#[derive(Clone, Debug, thiserror::Error)]
pub enum OwnBspError {
    /// Something does not fit.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// An instance cannot stand there.
    #[error(transparent)]
    Placement(#[from] PlacementError),
    /// A MOPP would not find what it is for.
    #[error(transparent)]
    Mopp(#[from] MoppFault),
}

/// Boxes of all surfaces, by `key`.
fn surface_boxes(
    bsp: &Collision,
    offset: DVec3,
    key: impl Fn(u32) -> Option<u32>,
) -> Result<Vec<KeyBox>, Refusal> {
    let boxes = (0..bsp.surfaces.len() as u32).map(|surface| {
        let points = bsp.polygon(surface);
        let low = points.iter().fold(DVec3::INFINITY, |low, p| low.min(*p + offset));
        let high = points.iter().fold(DVec3::NEG_INFINITY, |high, p| high.max(*p + offset));
        key(surface).filter(|_| !points.is_empty()).map(|key| KeyBox { key, low, high }).ok_or_else(|| {
            Refusal::new(
                Code::TooManySurfaces,
                Vec::new(),
                format!("surface {surface} has no key or no corners"),
            )
        })
    });
    boxes.collect()
}

fn compiled(boxes: &[KeyBox]) -> Result<Mopp, MoppFault> {
    let mopp = Mopp::compile(boxes);
    mopp.check(boxes)?;
    Ok(mopp)
}

/// The MOPP of a definition or piece: a terminal a surface.
pub fn definition_mopp(bsp: &Collision) -> Result<Mopp, OwnBspError> {
    Ok(compiled(&surface_boxes(bsp, DVec3::ZERO, Some)?)?)
}

/// Boxes of a static body for one instance: a key a surface, or one for the whole where it has too many.
fn body_boxes(instance: u16, it: &Instance) -> Result<Vec<KeyBox>, Refusal> {
    if it.definition.surfaces.len() > MAX_KEYED_SURFACES {
        let key = ShapeKey::Instance(u32::from(instance)).bits();
        return Ok(key
            .map(|key| KeyBox { key, low: it.world.low, high: it.world.high })
            .into_iter()
            .collect());
    }
    surface_boxes(&it.definition, it.position, |surface| {
        let surface = u16::try_from(surface).ok()?;
        ShapeKey::Surface { instance, surface }.bits()
    })
}

impl Instance {
    /// An instance at `position` of a BSP in its own coordinates.
    pub fn new(mut definition: Collision, position: DVec3) -> Result<Self, OwnBspError> {
        definition.supernodes = vec![Supernode::pass_through()];
        let Some((low, high)) = definition.bounds() else {
            return Err(Refusal::new(Code::Empty, Vec::new(), "a definition has no corners").into());
        };
        let packed = definition.pack()?;
        let mopp = definition_mopp(&definition)?;
        let local = Extent { low, high };
        let world = Extent { low: low + position, high: high + position };
        Ok(Self { position, definition, packed, mopp, local, world })
    }
}

impl OwnBsp {
    /// Makes a map of a shell in the coordinates of the world, whose copy stands at `position` as the first
    /// instance, and of pieces, each with its own position.
    pub fn new(
        shell: &Collision,
        pieces: &[(Collision, DVec3)],
        position: DVec3,
        first_instance: u16,
        group: u16,
    ) -> Result<Self, OwnBspError> {
        let mut shell = shell.clone();
        shell.supernodes = vec![Supernode::pass_through()];
        let packed_shell = shell.pack()?;
        let mut first = shell.clone();
        first.place(&Placement::at(-position))?;
        let mut instances = vec![Instance::new(first, position)?];
        for (piece, position) in pieces {
            instances.push(Instance::new(piece.clone(), *position)?);
        }
        let count = u16::try_from(instances.len()).ok().and_then(|n| first_instance.checked_add(n));
        if count.is_none() {
            return Err(Refusal::new(Code::TooManySurfaces, Vec::new(), "more than 65,535 instances").into());
        }
        let indexed = || (first_instance..).zip(&instances);
        let group_boxes: Vec<KeyBox> = indexed()
            .map(|(index, it)| KeyBox { key: u32::from(index), low: it.world.low, high: it.world.high })
            .collect();
        let Some(bounds) = Extent::around(instances.iter().map(|it| it.world)) else {
            return Err(Refusal::new(Code::Empty, Vec::new(), "there is no shell").into());
        };
        let cluster = [KeyBox { key: u32::from(group), low: bounds.low, high: bounds.high }];
        let sunk = |mut it: KeyBox| {
            it.low.z -= SHELL_DEPTH;
            it
        };
        let shell_key = |surface| ShapeKey::Shell { sink: SHELL_SINK, surface }.bits();
        let mut body: Vec<KeyBox> =
            surface_boxes(&shell, DVec3::ZERO, shell_key)?.into_iter().map(sunk).collect();
        for (index, instance) in indexed() {
            body.extend(body_boxes(index, instance)?);
        }
        Ok(Self {
            group_mopp: compiled(&group_boxes)?,
            cluster_mopp: compiled(&cluster)?,
            static_body: compiled(&body)?,
            shell,
            packed_shell,
            first_instance,
            group,
            bounds,
            instances,
        })
    }

    /// A line as the engine follows it: where it starts is asked of the shell; then the cluster's tree names
    /// groups, the group's tree and the balls name instances, and the definition of each is asked in its own frame.
    pub fn line(&self, from: Vec3, to: Vec3, query: Query) -> Result<Option<(usize, Hit)>, LineError> {
        if self.shell.is_solid(from)? {
            return Ok(None);
        }
        let (low, high) = (from.min(to).as_dvec3(), from.max(to).as_dvec3());
        let mut best: Option<(usize, Hit)> = None;
        for group in self.cluster_mopp.query(low, high)? {
            if group != u32::from(self.group) {
                continue;
            }
            for key in self.group_mopp.query(low, high)? {
                let index = key as usize - usize::from(self.first_instance);
                let Some(instance) = self.instances.get(index) else { continue };
                let position = instance.position.as_vec3();
                let hit = instance.definition.line(from - position, to - position, query)?;
                if let Some(hit) = hit
                    && best.is_none_or(|(_, best)| hit.fraction < best.fraction)
                {
                    best = Some((index, hit));
                }
            }
        }
        Ok(best)
    }

    /// The 12 bytes that make an instance collidable, to be added to every root of the tree of instances.
    pub fn collidable_header(bsp_index: i8, instance: u16) -> [u8; 12] {
        let mut w = wire::Writer::with_capacity(12);
        w.u8(0).u8(bsp_index.cast_unsigned()).u16(instance);
        w.u32(1 << (instance % 32)).u32(1_u32.checked_shl(u32::from(bsp_index.cast_unsigned())).unwrap_or(0));
        let mut header = [0; 12];
        header.copy_from_slice(w.as_bytes());
        header
    }
}

/// Why a line has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// The tables led nowhere.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// A MOPP cannot be run.
    #[error(transparent)]
    Mopp(#[from] MoppError),
}
