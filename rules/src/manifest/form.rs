//! The forms of a manifest and of its changes as recipes write them: for editors, and for the first look at
//! what was written.
//!
//! They know types and names, no bounds: those are the format's, which reads what is made of them.
#![allow(dead_code, reason = "only the schemas are used")]

use schemars::JsonSchema;

/// What a recipe says of a release.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Release {
    /// Its id, which is also its slug on the hub.
    id: String,
    /// The name that people see.
    name: String,
    /// Its version.
    version: String,
    /// One or two sentences for lists.
    summary: Option<String>,
    /// The code of a map: three of A-Z and 0-9. With it the release is a map.
    code: Option<String>,
    /// What lists say of a map.
    map: Option<Map>,
    /// The builds of the game that it is for.
    compat: Option<Builds>,
    /// Releases that it needs.
    deps: Option<Vec<Needed>>,
}

/// What lists say of a map.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Map {
    /// The title in the game's menu; what its files say when left out.
    title: Option<String>,
    /// The game types that it can be played with; what its level file says when left out.
    modes: Option<Vec<String>>,
    /// `small`, `medium` or `large`.
    size: Option<String>,
    /// For how many players it is meant.
    players: Option<Players>,
    /// Whether it has vehicles.
    vehicles: Option<bool>,
    /// `custom_edition` or `original`.
    origin: Option<String>,
}

/// For how many players a map is meant.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Players {
    /// The fewest.
    min: i64,
    /// The most, no more than 16.
    max: i64,
}

/// Builds of the game.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Builds {
    /// The oldest.
    min_build: Option<String>,
    /// The newest.
    max_build: Option<String>,
}

/// A release that is needed.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Needed {
    /// Its slug.
    slug: String,
    /// The versions of it that will do; any when left out.
    range: Option<String>,
}

/// A piece of a Forge pack. Lengths are metres; axes are right-handed with Z up, from the authored origin.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Block {
    /// Its id, unique in the pack; kept for as long as the pack's line lives.
    id: String,
    /// Only `block` is known; what is left out is one.
    kind: Option<String>,
    /// The name in the palette.
    name: String,
    /// Its crate: `objects\mjolnir\forge\<pack>\<id>`, the same when left out.
    tag: Option<String>,
    /// The group in the palette.
    category: String,
    /// The sides of its box.
    dimensions_m: Vec<f64>,
    /// The grid that it snaps to.
    snap_m: Option<f64>,
    /// A point light that it gives.
    light: Option<Light>,
    /// A box that pushes players.
    lift: Option<Lift>,
    /// A panel that moves up when players are near.
    door: Option<Door>,
    /// Material slots with one of the shared surfaces.
    surfaces: Option<Vec<Surface>>,
}

/// A point light.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Light {
    /// Where it is.
    offset_m: Vec<f64>,
    /// Its colour, linear, each part from 0 to 1.
    color_rgb: Vec<f64>,
    /// Its intensity in candela.
    intensity_cd: f64,
    /// How far it reaches.
    radius_m: f64,
}

/// A box that pushes players.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Lift {
    /// The centre of the box's bottom.
    offset_m: Vec<f64>,
    /// The box.
    size_m: Vec<f64>,
    /// Where to, of length 1.
    direction: Vec<f64>,
    /// How hard, in m/s².
    acceleration_m_s2: f64,
    /// Up to which speed, in m/s.
    max_speed_m_s: f64,
    /// Whether gravity rests inside.
    negates_gravity: bool,
}

/// A panel that moves up when players are near.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Door {
    /// How far it moves.
    travel_m: f64,
    /// How fast, in m/s.
    speed_m_s: f64,
    /// The box that opens it.
    trigger_size_m: Vec<f64>,
    /// How long it stays open, in seconds.
    hold_open_s: f64,
}

/// A material slot with a shared surface.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Surface {
    /// The slot, 0 to 15.
    slot: i64,
    /// `glass_cyan` or `teleporter_green`.
    profile: String,
}

/// What a release changes in the game, as its author declares it.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Changes {
    /// Shipped tags of which fields are changed.
    tags: Option<Vec<TagEdit>>,
    /// Textures that are replaced.
    textures: Option<Vec<Texture>>,
    /// Tags that hold scripts, and which are changed.
    scripts: Option<Vec<Tag>>,
    /// Tags that are added. Those of a Forge pack's blocks are known.
    new_tags: Option<Vec<NewTag>>,
}

/// A shipped tag of which fields are changed.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct TagEdit {
    /// The tag's group, such as `weap`.
    group: String,
    /// The tag's path.
    tag: String,
    /// Its fields.
    fields: Vec<FieldEdit>,
}

/// A field of a tag that is changed.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct FieldEdit {
    /// The field's path in the tag.
    field: String,
    /// What the game ships there, as a text.
    before: Option<String>,
    /// What the release puts there, as a text.
    value: String,
}

/// A texture that is replaced.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Texture {
    /// The texture's path.
    path: String,
    /// How large the new one is; its size in the containers when left out.
    bytes: Option<u64>,
}

/// A tag.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Tag {
    /// The tag's group, such as `scnr`.
    group: String,
    /// The tag's path.
    tag: String,
}

/// A tag that is added.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct NewTag {
    /// The tag's group, such as `bloc`.
    group: String,
    /// The tag's path.
    tag: String,
    /// The path of the tag that it was made from.
    from: Option<String>,
}
