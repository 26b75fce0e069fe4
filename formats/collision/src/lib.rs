//! Collision of "Halo: Campaign Evolved": reading, building, packing and proving.
//!
//! [`intake`] turns triangles and hulls into polygons, or refuses them by name; [`cook`] builds BSPs from these
//! and proves them. A [`Collision`] is a BSP with its indices decoded: [`Collision::pack`] writes the 16-bit tables of the
//! game's tags, [`Collision::unpack`] reads them back, and [`Collision::line`] asks the engine's own
//! question of them. It knows no tag container and no file.
#![forbid(unsafe_code)]

mod build;
pub mod ce;
mod check;
mod convert;
mod define;
mod flat;
pub mod havok;
mod hull;
mod input;
mod intake;
mod keys;
mod large;
pub mod layout;
mod line;
pub mod materials;
mod model;
pub mod mopp;
mod open;
pub mod own_bsp;
pub mod parts;
mod polygons;
mod probe;
mod prove;
mod read;
mod refusal;
mod scene;
pub mod scenery;
mod truth;
mod weld;
mod world;
mod write;

pub use build::Decisions;
pub use check::CheckError;
pub use convert::{Placement, PlacementError};
pub use define::Definition;
pub use input::{Geometry, Hull, Meaning, Open, Triangle};
pub use intake::{Facts, Intake, intake};
pub use keys::{SHELL_SINK, ShapeKey};
pub use large::LargeTables;
pub use line::{Hit, Lost, Query, projection};
pub use model::{
    Cell, Child, Child2d, Collision, Edge, LEAF_TWO_SIDED, Leaf, Node, Node2d, Plane, Reference, Supernode,
    Surface, Vertex, surface_flags,
};
pub use polygons::{Polygon, Polygons};
pub use prove::{Numbers, Rays, prove, prove_converted, random_segments};
pub use refusal::{Code, Element, Refusal};
pub use truth::{Fault, Segment};
pub use weld::WELD;
pub use world::{CookError, Report, World, cook};
pub use write::Packed;
