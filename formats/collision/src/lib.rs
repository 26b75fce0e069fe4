//! Collision of "Halo: Campaign Evolved": reading, building, packing and proving.
//!
//! A [`Collision`] is a BSP with its indices decoded. [`Collision::pack`] writes the 16-bit tables of the
//! game's tags, [`Collision::unpack`] reads them back, and [`Collision::line`] asks the engine's own
//! question of them. It knows no tag container and no file.
#![forbid(unsafe_code)]

pub mod layout;
mod line;
mod model;
mod read;
mod refusal;
mod write;

pub use line::{Hit, Lost, Query, projection};
pub use model::{
    Cell, Child, Child2d, Collision, Edge, LEAF_TWO_SIDED, Leaf, Node, Node2d, Plane, Reference, Supernode,
    Surface, Vertex, surface_flags,
};
pub use refusal::{Code, Element, Refusal};
pub use write::Packed;
