//! Names and files that an installed release has beside its containers: what the game and its tools find it
//! by.
//!
//! It makes names and texts; where they are written is the affair of whoever installs.

use crate::manifest::ForgePack;

/// The base name under which the launcher puts a container into the game's Paks folder.
///
/// `position` counts the enabled releases of a profile, `index` the containers of a release in the order of
/// their stems. Later positions win, except that a shader library keeps its number: the engine opens it by
/// the number in the file's name.
pub fn paks_name(slug: &str, position: usize, stem: &str, index: usize, shader_library: bool) -> String {
    let own = stem
        .strip_prefix("pakchunk")
        .map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default())
        .filter(|digits| shader_library && !digits.is_empty());
    let number = own.map_or_else(|| (900 + position.min(99)).to_string(), str::to_owned);
    format!("pakchunk{number}-MJOLNIRHUB-{slug}-{index}_P")
}

/// `doors.txt`: the doors of all enabled packs, in their order.
pub fn doors_txt<'a>(packs: impl IntoIterator<Item = &'a ForgePack>) -> String {
    let mut text = "forge-doors 1\n".to_owned();
    for pack in packs {
        for block in &pack.blocks {
            let Some(door) = &block.door else { continue };
            let numbers = [door.travel_m, door.speed_m_s]
                .into_iter()
                .chain(door.trigger_size_m)
                .chain([door.hold_open_s])
                .chain(block.dimensions_m);
            text += &pack.tag(&block.id);
            for number in numbers {
                text += &format!("\t{number}");
            }
            text.push('\n');
        }
    }
    text
}
