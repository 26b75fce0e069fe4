//! Reading `mjolnir.json`: every bound of the format, all faults at once.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use std::collections::BTreeSet;

use super::{
    Compat, Dep, Fault, LONGEST, Manifest, MapCode, MapInfo, MapOrigin, MapSize, Marks, Payload, Players,
    forge, is_slug,
};
use crate::json::{Cursor, Faults, parse, read_document};
use crate::version::{Range, Version};

const SLUG: &str = "a slug: 2 to 64 of `a-z 0-9 -`, not starting with `-`";
const DEPS: usize = 64;
const MODES: usize = 8;
const MOST_PLAYERS: i128 = 16;

impl Manifest {
    /// Reads a manifest. All its faults are given, in the order of the fields.
    pub fn read(bytes: &[u8]) -> Result<Self, Vec<Fault>> {
        read_document(bytes, LONGEST, read)
    }

    /// Reads a manifest that is a part of another document.
    pub(crate) fn read_at(place: &Cursor<'_>, faults: &mut Faults) -> Option<Self> {
        read(place, faults)
    }

    /// Whether `bytes` claim to be a map's manifest, be they right otherwise or not.
    pub(crate) fn claims_map(bytes: &[u8]) -> bool {
        parse(bytes, LONGEST).is_ok_and(|value| Cursor::root(&value).field("type").as_text() == Some("map"))
    }
}

/// Reads field by field and gives up only at the end, so that one fault hides no other.
fn read(root: &Cursor<'_>, faults: &mut Faults) -> Option<Manifest> {
    root.object(faults)?;
    root.field("schema_version").integer(1..=1, faults);
    let name = root.field("name").text(1..=120, faults);
    let version = read_version(&root.field("version"), faults);
    let kind =
        root.field("type").matching(|text| matches!(text, "content" | "map"), "`content` or `map`", faults);
    let summary = root.optional("summary").and_then(|field| field.text(0..=300, faults));
    let compat = root.optional("compat").and_then(|field| read_compat(&field, faults));
    let deps = match root.optional("deps") {
        Some(field) => read_deps(&field, faults),
        None => Some(Vec::new()),
    };
    let payload = match kind {
        Some("map") => {
            if let Some(field) = root.optional("forge_pack") {
                faults.add(&field.at, "a map must not have a `forge_pack`");
            }
            read_map(&root.field("map"), faults).map(Payload::Map)
        }
        Some(_) => {
            if let Some(field) = root.optional("map") {
                faults.add(&field.at, "only the type `map` has a `map`");
            }
            match root.optional("forge_pack") {
                Some(field) => forge::read(&field, faults).map(Payload::ForgePack),
                None => Some(Payload::Content),
            }
        }
        None => None,
    };
    Some(Manifest {
        name: name?.to_owned(),
        version: version?,
        summary: summary.map(str::to_owned),
        compat,
        deps: deps?,
        payload: payload?,
        marks: read_marks(root),
    })
}

fn read_version(field: &Cursor<'_>, faults: &mut Faults) -> Option<Version> {
    let text = field.text(0..=usize::MAX, faults)?;
    Version::parse(text).map_err(|error| faults.add(&field.at, error.to_string())).ok()
}

fn read_compat(field: &Cursor<'_>, faults: &mut Faults) -> Option<Compat> {
    field.object(faults)?;
    let mut build =
        |name| field.optional(name).and_then(|field| field.text(1..=80, faults)).map(str::to_owned);
    Some(Compat { min_build: build("min_build"), max_build: build("max_build") })
}

fn read_deps(field: &Cursor<'_>, faults: &mut Faults) -> Option<Vec<Dep>> {
    let mut deps: Vec<Dep> = Vec::new();
    for item in field.items(0..=DEPS, faults)? {
        if item.object(faults).is_none() {
            continue;
        }
        let slug = item.field("slug").matching(is_slug, SLUG, faults);
        let range = match item.optional("range") {
            Some(field) => field.text(0..=usize::MAX, faults).and_then(|text| {
                Range::parse(text).map_err(|error| faults.add(&field.at, error.to_string())).ok()
            }),
            None => Some(Range::any()),
        };
        if slug.is_some_and(|slug| deps.iter().any(|dep| dep.slug == slug)) {
            faults.add(&item.field("slug").at, "the slug is listed twice");
        } else if let Some(slug) = slug {
            // The slug counts as listed, whatever its range is; with a fault the list goes nowhere.
            deps.push(Dep { slug: slug.to_owned(), range: range.unwrap_or_else(Range::any) });
        }
    }
    Some(deps)
}

fn read_map(field: &Cursor<'_>, faults: &mut Faults) -> Option<MapInfo> {
    field.object(faults)?;
    let code_field = field.field("code");
    let code = code_field.matching(|text| MapCode::parse(text).is_some(), "three of `A-Z 0-9`", faults);
    let code = code.and_then(MapCode::parse);
    if code.is_some_and(MapCode::is_shipped) {
        faults.add(&code_field.at, "the game has a scenario of its own by this code");
    }
    let title = field.field("title").text(1..=80, faults);
    let mut modes: Vec<String> = Vec::new();
    let mode = |text: &str| {
        (1..=24).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    for item in field.field("modes").items(1..=MODES, faults).unwrap_or_default() {
        let Some(word) = item.matching(mode, "1 to 24 of `a-z _`", faults) else {
            continue;
        };
        if modes.iter().any(|known| known == word) {
            faults.add(&item.at, "the mode is listed twice");
        }
        modes.push(word.to_owned());
    }
    let mut word = |name, words: &[&str]| {
        field.optional(name).and_then(|field| {
            let allowed = format!("one of `{}`", words.join("`, `"));
            field.matching(|text| words.contains(&text), &allowed, faults)
        })
    };
    let size = word("size", MapSize::WORDS).and_then(MapSize::parse);
    let origin = word("origin", MapOrigin::WORDS).and_then(MapOrigin::parse);
    let players = field.optional("players").and_then(|field| read_players(&field, faults));
    let vehicles = field.optional("vehicles").and_then(|field| field.bool(faults));
    Some(MapInfo { code: code?, title: title?.to_owned(), modes, size, players, vehicles, origin })
}

fn read_players(field: &Cursor<'_>, faults: &mut Faults) -> Option<Players> {
    field.object(faults)?;
    let mut count = |name| {
        let count = field.field(name).integer(1..=MOST_PLAYERS, faults)?;
        u8::try_from(count).ok()
    };
    let (min, max) = (count("min"), count("max"));
    let players = Players { min: min?, max: max? };
    if players.min > players.max {
        faults.add(&field.at, "`min` is more than `max`");
    }
    Some(players)
}

/// Marks are ours: what is there in another form means nothing and is passed over like any unknown field.
fn read_marks(root: &Cursor<'_>) -> Marks {
    let field = root.field("x_bake");
    let mut unheard = Faults::default();
    let names = field.field("stand_ins").items(0..=usize::MAX, &mut unheard).unwrap_or_default();
    // A set: sorted and once each, as we write it.
    let names: BTreeSet<&str> = names.iter().filter_map(Cursor::as_text).collect();
    Marks {
        stand_ins: names.into_iter().map(str::to_owned).collect(),
        reduced: field.field("reduced").bool(&mut unheard) == Some(true),
    }
}
