//! `mjolnir.json`: what a release is, as types that cannot hold what the format forbids to combine.
//!
//! It knows one document, not the archive around it. [`Manifest::read`] gives a manifest or all its faults
//! with their JSON pointers; [`Manifest::write`] gives the text that is hashed and signed, and only text
//! that reads back as the same manifest.

mod forge;
mod read;
mod write;

use std::fmt;

use crate::version::{Range, Version};

pub use crate::json::Fault;
pub use forge::{Block, Door, ForgePack, Lift, Light, Surface, SurfaceProfile};

/// The longest `mjolnir.json` that is read.
pub const LONGEST: usize = 4 << 20;

/// The game types that the loader is known to have. The list need not be whole, so others are no fault.
pub const KNOWN_MODES: [&str; 6] = ["slayer", "ctf", "oddball", "koth", "king", "race"];

/// The codes of the game's own scenarios, which no map can register.
const SHIPPED_CODES: [&str; 13] =
    ["A15", "A30", "A50", "B30", "B40", "C10", "C20", "C45", "D20", "D40", "E10", "E20", "E30"];

/// A release.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// The name that people see.
    pub name: String,
    /// The release's version.
    pub version: Version,
    /// One or two sentences for lists.
    pub summary: Option<String>,
    /// The builds of the game that it is for.
    pub compat: Option<Compat>,
    /// Releases that it needs.
    pub deps: Vec<Dep>,
    /// What it brings.
    pub payload: Payload,
    /// Marks of builds that must not be published.
    pub marks: Marks,
}

impl Manifest {
    /// The word of the field `type`.
    pub fn type_word(&self) -> &'static str {
        match self.payload {
            Payload::Map(_) => "map",
            Payload::Content | Payload::ForgePack(_) => "content",
        }
    }
}

/// What a release brings.
#[derive(Clone, Debug, PartialEq)]
pub enum Payload {
    /// Containers alone.
    Content,
    /// Containers and the catalog of a Forge pack.
    ForgePack(ForgePack),
    /// A map.
    Map(MapInfo),
}

/// The builds of the game that a release is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compat {
    /// The oldest build.
    pub min_build: Option<String>,
    /// The newest build.
    pub max_build: Option<String>,
}

/// A release that is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dep {
    /// Its slug.
    pub slug: String,
    /// Its versions.
    pub range: Range,
}

/// The `map` block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapInfo {
    /// The code, unique on the hub.
    pub code: MapCode,
    /// The title in the game's menu.
    pub title: String,
    /// The game types that it can be played with.
    pub modes: Vec<String>,
    /// How large it is.
    pub size: Option<MapSize>,
    /// For how many players it is meant.
    pub players: Option<Players>,
    /// Whether it has vehicles.
    pub vehicles: Option<bool>,
    /// Where it comes from.
    pub origin: Option<MapOrigin>,
}

/// Three characters of `A-Z0-9` that name a map in paths, containers and menus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MapCode([u8; 3]);

impl MapCode {
    /// Reads a code.
    pub fn parse(text: &str) -> Option<Self> {
        let code = <[u8; 3]>::try_from(text.as_bytes()).ok()?;
        code.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()).then_some(Self(code))
    }

    /// Whether the game has a scenario of its own by this code.
    pub fn is_shipped(self) -> bool {
        SHIPPED_CODES.iter().any(|code| code.as_bytes() == self.0)
    }

    /// The number of the map's chunk: 10000 and the code as a number of base 36.
    pub fn chunk_number(self) -> u32 {
        let digit = |byte: u8| char::from(byte).to_digit(36).unwrap_or_default();
        10_000 + self.0.iter().fold(0, |number, byte| number * 36 + digit(*byte))
    }
}

impl fmt::Display for MapCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{}", char::from(*byte)))
    }
}

/// For how many players a map is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Players {
    /// The fewest.
    pub min: u8,
    /// The most.
    pub max: u8,
}

macro_rules! words {
    ($(#[$doc:meta])* $type:ident { $($(#[$item:meta])* $name:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $type {
            $($(#[$item])* $name,)*
        }

        impl $type {
            /// All words that the field may hold.
            pub const WORDS: &[&str] = &[$($word),*];

            /// Reads a word.
            pub fn parse(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$name),)*
                    _ => None,
                }
            }

            /// The word that stands for it.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)*
                }
            }
        }
    };
}
pub(crate) use words;

words! {
    /// How large a map is.
    MapSize {
        /// For few players.
        Small = "small",
        /// For some.
        Medium = "medium",
        /// For many.
        Large = "large",
    }
}

words! {
    /// Where a map comes from. The hub's third word, `classic`, is for moderators to give.
    MapOrigin {
        /// Converted from a Custom Edition map.
        CustomEdition = "custom_edition",
        /// Made for this game.
        Original = "original",
    }
}

/// Marks of our own builds, kept in the field `x_bake` that other readers pass over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// The externals that stand-ins were used for, sorted.
    pub stand_ins: Vec<String>,
    /// Whether only a part of the release was built.
    pub reduced: bool,
}

impl Marks {
    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        self.stand_ins.is_empty() && !self.reduced
    }
}

/// Whether `text` is a slug: 2 to 64 of `a-z 0-9 -`, not starting with `-`.
pub fn is_slug(text: &str) -> bool {
    (2..=64).contains(&text.len()) && is_word(text, b"-")
}

/// Whether `text` is the id of a block or a category: 1 to 64 of `a-z 0-9 _ -`, starting with a letter or
/// digit.
pub fn is_block_id(text: &str) -> bool {
    (1..=64).contains(&text.len()) && is_word(text, b"_-")
}

fn is_word(text: &str, others: &[u8]) -> bool {
    let alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.as_bytes().first().is_some_and(alphanumeric)
        && text.bytes().all(|byte| alphanumeric(&byte) || others.contains(&byte))
}

/// The tag of the block `id` of the pack `pack`.
pub fn block_tag(pack: &str, id: &str) -> String {
    format!("objects\\mjolnir\\forge\\{pack}\\{id}")
}
