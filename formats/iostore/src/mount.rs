//! Which container wins: the order in which the engine mounts them, and what counts as shipped.
//!
//! It knows names of files directly in the game's Paks folder, and nothing of their content.

use std::cmp::Ordering;
use std::fmt;

/// The game's project name.
pub(crate) const PROJECT: &str = "Meteorite";

/// Where a container stands in the order of mounting, and by which parts of its name. The number after
/// `pakchunk` is none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MountOrder {
    /// By where the file lies: 4 for files that begin with the project's name, else 3.
    pub place: u64,
    /// The number of a `_P` or `_<n>_P` at the end of the name, 0 where it states none.
    pub patch: Option<u32>,
}

impl MountOrder {
    /// The order of the container with this base name, directly in the game's Paks folder.
    pub fn of(stem: &str) -> Self {
        let lower = stem.to_ascii_lowercase();
        let own = lower.strip_prefix(&PROJECT.to_ascii_lowercase()).is_some_and(|rest| rest.starts_with('-'));
        let number = |name: &str| {
            let (_, number) = name.rsplit_once('_')?;
            number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse().ok())?
        };
        Self {
            place: if own { 4 } else { 3 },
            patch: lower.strip_suffix("_p").map(|name| number(name).unwrap_or(0)),
        }
    }

    /// The number that decides: the higher one wins.
    pub fn number(self) -> u64 {
        self.place + self.patch.map_or(0, |patch| 100 * (u64::from(patch) + 1))
    }
}

/// `103 (3 by its place, 100 for `_P`)`.
impl fmt::Display for MountOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} by its place", self.number(), self.place)?;
        match self.patch {
            None => f.write_str(")"),
            Some(0) => f.write_str(", 100 for `_P`)"),
            Some(patch) => write!(f, ", {} for `_{patch}_P`)", self.number() - self.place),
        }
    }
}

/// The order of the container with this base name, directly in the game's Paks folder. The higher one
/// wins.
pub fn mount_order(stem: &str) -> u64 {
    MountOrder::of(stem).number()
}

/// `Greater` when the container `a` wins over `b`: the game takes a chunk, and the entry of a package, from the
/// one that wins. Equal orders are decided by name, the lowest first; what is built here never lets it come to
/// that.
pub fn precedence(a: &str, b: &str) -> Ordering {
    mount_order(a).cmp(&mount_order(b)).then_with(|| b.to_ascii_lowercase().cmp(&a.to_ascii_lowercase()))
}

/// Why the container that wins does so.
pub fn why_it_wins(winner: &str, loser: &str) -> String {
    let (order, other) = (MountOrder::of(winner), MountOrder::of(loser));
    if order.number() == other.number() {
        format!(
            "`{winner}` and `{loser}` have the mount order {order}, and of equal ones the lowest name is mounted \
             last and wins"
        )
    } else {
        format!("`{winner}` has the mount order {order}, `{loser}` has {other}")
    }
}

/// Whether the container with this base name, directly in the game's Paks folder, is part of the game
/// and not of a mod.
pub fn is_shipped_container(stem: &str) -> bool {
    let upper = stem.to_ascii_uppercase();
    !upper.ends_with("_P") && !upper.contains("MJOLNIR")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders() {
        for (stem, order) in [
            ("pakchunk0-Windows", 3),
            ("pakchunk988-MJOLNIRMAT-Windows", 3),
            ("pakchunk990-FOUNDRY_P", 103),
            ("pakchunk990-FOUNDRY_0_P", 103),
            ("pakchunk990-FOUNDRY_1_P", 203),
            ("pakchunk990-FOUNDRY_7_P", 803),
            ("Meteorite-x_P", 104),
            ("Meteorite-Windows", 4),
            ("MeteoriteX_P", 103),
            ("a_99999999999999999999_P", 103),
            ("_P", 103),
            ("a__P", 103),
        ] {
            assert_eq!(mount_order(stem), order, "{stem}");
        }
    }

    #[test]
    fn winners() {
        assert_eq!(precedence("a_P", "b"), Ordering::Greater);
        assert_eq!(precedence("a_P", "b_1_P"), Ordering::Less);
        assert_eq!(precedence("pakchunk990-a_P", "pakchunk999-a_P"), Ordering::Greater);
        assert_eq!(precedence("A_P", "a_P"), Ordering::Equal);
    }

    #[test]
    fn reasons() {
        for (winner, loser, why) in [
            (
                "a_7_P",
                "Meteorite-Windows",
                "`a_7_P` has the mount order 803 (3 by its place, 800 for `_7_P`), `Meteorite-Windows` has 4 (4 by \
                 its place)",
            ),
            (
                "pakchunk990-a_P",
                "pakchunk999-a_P",
                "`pakchunk990-a_P` and `pakchunk999-a_P` have the mount order 103 (3 by its place, 100 for `_P`), \
                 and of equal ones the lowest name is mounted last and wins",
            ),
        ] {
            assert_eq!(precedence(winner, loser), Ordering::Greater);
            assert_eq!(why_it_wins(winner, loser), why);
        }
    }

    #[test]
    fn shipped_containers() {
        for stem in ["global", "pakchunk0-Windows", "pakchunk1_Part"] {
            assert!(is_shipped_container(stem), "{stem}");
        }
        for stem in ["pakchunk990-FOUNDRY_P", "pakchunk988-MJOLNIRMAT-Windows", "x_p"] {
            assert!(!is_shipped_container(stem), "{stem}");
        }
    }
}
