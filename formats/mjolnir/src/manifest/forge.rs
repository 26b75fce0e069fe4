//! The catalog of a Forge pack: its model, and its bounds.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use super::{block_tag, is_block_id, is_slug, words};
use crate::json::{Cursor, Faults};

const BLOCKS: usize = 256;
const REQUIRES: usize = 16;
const SURFACES: usize = 16;
const BLOCK_ID: &str = "1 to 64 of `a-z 0-9 _ -`, starting with a letter or digit";
/// The largest side of a block that has a door.
const DOOR_PANEL: f64 = 64.0;

/// A pack of pieces.
#[derive(Clone, Debug, PartialEq)]
pub struct ForgePack {
    /// The pack's id, which is its slug.
    pub id: String,
    /// Its pieces, in palette order.
    pub blocks: Vec<Block>,
}

/// One piece. Lengths are metres; axes are right-handed with Z up, from the authored origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// The piece's id, unique in its pack.
    pub id: String,
    /// The name in the palette.
    pub name: String,
    /// The group in the palette.
    pub category: String,
    /// The sides of its box.
    pub dimensions_m: [f64; 3],
    /// The grid that it snaps to.
    pub snap_m: Option<f64>,
    /// A light that it gives.
    pub light: Option<Light>,
    /// A lift that it is.
    pub lift: Option<Lift>,
    /// A door that it is.
    pub door: Option<Door>,
    /// Material slots with one of the shared surfaces.
    pub surfaces: Vec<Surface>,
}

/// A point light.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Light {
    /// Where it is.
    pub offset_m: [f64; 3],
    /// Its colour, linear.
    pub color_rgb: [f64; 3],
    /// Its intensity in candela.
    pub intensity_cd: f64,
    /// How far it reaches.
    pub radius_m: f64,
}

/// A box that pushes players.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lift {
    /// The centre of the box's bottom.
    pub offset_m: [f64; 3],
    /// The box.
    pub size_m: [f64; 3],
    /// Where to, of length 1.
    pub direction: [f64; 3],
    /// How hard, in m/s².
    pub acceleration_m_s2: f64,
    /// Up to which speed, in m/s.
    pub max_speed_m_s: f64,
    /// Whether gravity rests inside.
    pub negates_gravity: bool,
}

/// A panel that moves up when players are near.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Door {
    /// How far it moves.
    pub travel_m: f64,
    /// How fast, in m/s.
    pub speed_m_s: f64,
    /// The box that opens it.
    pub trigger_size_m: [f64; 3],
    /// How long it stays open, in seconds.
    pub hold_open_s: f64,
}

/// A material slot with a shared surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surface {
    /// The slot, 0 to 15.
    pub slot: u8,
    /// The surface.
    pub profile: SurfaceProfile,
}

words! {
    /// A surface that the game's runtime brings.
    SurfaceProfile {
        /// Translucent glass.
        GlassCyan = "glass_cyan",
        /// A teleporter's field.
        TeleporterGreen = "teleporter_green",
    }
}

impl ForgePack {
    /// The tag of its block `id`.
    pub fn tag(&self, id: &str) -> String {
        block_tag(&self.id, id)
    }
}

pub(super) fn read(field: &Cursor<'_>, faults: &mut Faults) -> Option<ForgePack> {
    field.object(faults)?;
    let schema = field.field("schema_version");
    if schema.as_integer().is_some_and(|version| version > 1) {
        // The rest is of a form that is not known here.
        faults.unsupported(&schema.at, "the catalog needs a newer version; only 1 is known");
        return None;
    }
    schema.integer(1..=1, faults);
    let allowed = "a slug: 2 to 64 of `a-z 0-9 -`, not starting with `-`";
    let id = field.field("id").matching(is_slug, allowed, faults);
    if let Some(requires) = field.optional("requires") {
        read_requires(&requires, faults);
    }
    let mut blocks = Vec::new();
    let mut ids: Vec<&str> = Vec::new();
    for item in field.field("blocks").items(1..=BLOCKS, faults).unwrap_or_default() {
        let known = item.field("id").as_text();
        if known.is_some_and(|id| ids.contains(&id)) {
            faults.add(&item.field("id").at, "the id is used twice");
        }
        ids.extend(known);
        blocks.extend(read_block(&item, id, faults));
    }
    Some(ForgePack { id: id?.to_owned(), blocks })
}

/// No feature is defined, so any that is well named is one that only a newer version could know.
fn read_requires(field: &Cursor<'_>, faults: &mut Faults) {
    let Some(items) = field.items(0..=REQUIRES, faults) else {
        return;
    };
    let words = |item: &Cursor<'_>| item.as_text().is_some_and(is_block_id);
    if !items.iter().all(words) {
        let message = format!("every entry must be {BLOCK_ID}");
        faults.add(&field.at, message);
    } else if !items.is_empty() {
        let message = "the catalog needs a newer version; no feature is known here";
        faults.unsupported(&field.at, message);
    }
}

fn read_block(item: &Cursor<'_>, pack: Option<&str>, faults: &mut Faults) -> Option<Block> {
    item.object(faults)?;
    let id = item.field("id").matching(is_block_id, BLOCK_ID, faults);
    if let Some(kind) = item.optional("kind")
        && let Some(text) = kind.text(0..=usize::MAX, faults).filter(|text| *text != "block")
    {
        // What a piece of another kind must have is not known here.
        let message = format!("{text:?} needs a newer version; only `block` is known");
        faults.unsupported(&kind.at, message);
        return None;
    }
    let name = item.field("name");
    let name_text = name.text(1..=80, faults);
    if name_text.is_some_and(|text| text.trim().is_empty() || text.chars().any(char::is_control)) {
        faults.add(&name.at, "it is blank or has control characters");
    }
    // Without a right id of pack and block there is nothing to hold the tag against.
    let tag = pack.zip(id).map(|(pack, id)| block_tag(pack, id));
    let expected = tag.as_deref().unwrap_or("a string");
    let right = |text: &str| tag.as_ref().is_none_or(|tag| tag == text);
    item.field("tag").matching(right, expected, faults);
    let category = item.field("category").matching(is_block_id, BLOCK_ID, faults);
    let positive = |value: f64| value > 0.0;
    let dimensions = item.field("dimensions_m");
    let dimensions_m = dimensions.vector(positive, "more than 0", faults);
    let snap_m =
        item.optional("snap_m").and_then(|field| field.number(positive, "a number more than 0", faults));
    let light = item.nullable("light").and_then(|field| read_light(&field, faults));
    let lift = item.nullable("lift").and_then(|field| read_lift(&field, faults));
    let door = item.nullable("door");
    if door.is_some() && dimensions_m.is_some_and(|sides| sides.iter().any(|side| *side > DOOR_PANEL)) {
        let message = "a block with a door must have no side of more than 64";
        faults.add(&dimensions.at, message);
    }
    let door = door.and_then(|field| read_door(&field, faults));
    let surfaces = item.nullable("surfaces").map(|field| read_surfaces(&field, faults));
    Some(Block {
        id: id?.to_owned(),
        name: name_text?.to_owned(),
        category: category?.to_owned(),
        dimensions_m: dimensions_m?,
        snap_m,
        light,
        lift,
        door,
        surfaces: surfaces.unwrap_or_default(),
    })
}

fn read_light(field: &Cursor<'_>, faults: &mut Faults) -> Option<Light> {
    field.object(faults)?;
    field.only(&["offset_m", "color_rgb", "intensity_cd", "radius_m"], faults);
    let offset_m = read_offset(field, faults);
    let color_rgb =
        field.field("color_rgb").vector(|value| (0.0..=1.0).contains(&value), "from 0 to 1", faults);
    let intensity_cd = above_zero(field, "intensity_cd", 10_000.0, faults);
    let radius_m = above_zero(field, "radius_m", 100.0, faults);
    Some(Light {
        offset_m: offset_m?,
        color_rgb: color_rgb?,
        intensity_cd: intensity_cd?,
        radius_m: radius_m?,
    })
}

fn read_lift(field: &Cursor<'_>, faults: &mut Faults) -> Option<Lift> {
    field.object(faults)?;
    let known = ["offset_m", "size_m", "direction", "acceleration_m_s2", "max_speed_m_s", "negates_gravity"];
    field.only(&known, faults);
    let offset_m = read_offset(field, faults);
    let size_m =
        field.field("size_m").vector(|value| (0.1..=100.0).contains(&value), "from 0.1 to 100", faults);
    let direction = field.field("direction");
    let unit = |[x, y, z]: [f64; 3]| (x * x + y * y + z * z - 1.0).abs() <= 0.001;
    let vector = direction.vector(f64::is_finite, "finite", faults);
    if vector.is_some_and(|vector| !unit(vector)) {
        faults.add(&direction.at, "its length is not 1");
    }
    let acceleration_m_s2 = within(field, "acceleration_m_s2", 0.1, 100.0, faults);
    let max_speed_m_s = within(field, "max_speed_m_s", 0.1, 30.0, faults);
    let negates_gravity = field.field("negates_gravity").bool(faults);
    Some(Lift {
        offset_m: offset_m?,
        size_m: size_m?,
        direction: vector?,
        acceleration_m_s2: acceleration_m_s2?,
        max_speed_m_s: max_speed_m_s?,
        negates_gravity: negates_gravity?,
    })
}

fn read_door(field: &Cursor<'_>, faults: &mut Faults) -> Option<Door> {
    field.object(faults)?;
    let known = ["travel_m", "speed_m_s", "trigger_size_m", "hold_open_s"];
    field.only(&known, faults);
    let travel_m = above_zero(field, "travel_m", 16.0, faults);
    let speed_m_s = above_zero(field, "speed_m_s", 8.0, faults);
    let trigger_size_m = field.field("trigger_size_m").vector(
        |value| value > 0.0 && value <= 32.0,
        "more than 0, at most 32",
        faults,
    );
    let hold_open_s = within(field, "hold_open_s", 0.0, 10.0, faults);
    Some(Door {
        travel_m: travel_m?,
        speed_m_s: speed_m_s?,
        trigger_size_m: trigger_size_m?,
        hold_open_s: hold_open_s?,
    })
}

fn read_surfaces(field: &Cursor<'_>, faults: &mut Faults) -> Vec<Surface> {
    let mut surfaces: Vec<Surface> = Vec::new();
    for item in field.items(0..=SURFACES, faults).unwrap_or_default() {
        if item.object(faults).is_none() {
            continue;
        }
        item.only(&["slot", "profile"], faults);
        let slot = item.field("slot");
        let number = slot.integer(0..=15, faults).and_then(|slot| u8::try_from(slot).ok());
        if number.is_some_and(|slot| surfaces.iter().any(|known| known.slot == slot)) {
            faults.add(&slot.at, "the slot is used twice");
        }
        let words = SurfaceProfile::WORDS;
        let allowed = format!("one of `{}`", words.join("`, `"));
        let profile = item
            .field("profile")
            .matching(|text| words.contains(&text), &allowed, faults)
            .and_then(SurfaceProfile::parse);
        // The slot counts as used, whatever its profile is; with a fault the list goes nowhere.
        if let Some(slot) = number {
            surfaces.push(Surface { slot, profile: profile.unwrap_or(SurfaceProfile::GlassCyan) });
        }
    }
    surfaces
}

fn read_offset(field: &Cursor<'_>, faults: &mut Faults) -> Option<[f64; 3]> {
    let allowed = "from -100 to 100";
    let range = -100.0..=100.0;
    field.field("offset_m").vector(|value| range.contains(&value), allowed, faults)
}

fn within(field: &Cursor<'_>, name: &str, min: f64, max: f64, faults: &mut Faults) -> Option<f64> {
    let allowed = format!("a number from {min} to {max}");
    let range = min..=max;
    field.field(name).number(|value| range.contains(&value), &allowed, faults)
}

fn above_zero(field: &Cursor<'_>, name: &str, max: f64, faults: &mut Faults) -> Option<f64> {
    let allowed = format!("a number more than 0, at most {max}");
    field.field(name).number(|value| value > 0.0 && value <= max, &allowed, faults)
}
