//! Which container wins: the order in which the engine mounts them, and what counts as shipped.
//!
//! It knows names of files directly in the game's Paks folder, and nothing of their content.

use std::cmp::Ordering;

/// The game's project name.
pub(crate) const PROJECT: &str = "Meteorite";

/// The order of the container with this base name, directly in the game's Paks folder. The higher one
/// wins.
pub fn mount_order(stem: &str) -> u64 {
    let lower = stem.to_ascii_lowercase();
    let own = lower.strip_prefix(&PROJECT.to_ascii_lowercase()).is_some_and(|rest| rest.starts_with('-'));
    let base = if own { 4 } else { 3 };
    let Some(name) = lower.strip_suffix("_p") else {
        return base;
    };
    let number = name
        .rsplit_once('_')
        .map(|(_, number)| number)
        .filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
        .and_then(|number| number.parse::<u32>().ok())
        .unwrap_or(0);
    base + 100 * (u64::from(number) + 1)
}

/// `Greater` when the container `a` wins over `b`. Equal orders are decided by name, the lowest first;
/// what is built here never lets it come to that.
pub fn precedence(a: &str, b: &str) -> Ordering {
    mount_order(a).cmp(&mount_order(b)).then_with(|| b.to_ascii_lowercase().cmp(&a.to_ascii_lowercase()))
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
    fn shipped_containers() {
        for stem in ["global", "pakchunk0-Windows", "pakchunk1_Part"] {
            assert!(is_shipped_container(stem), "{stem}");
        }
        for stem in ["pakchunk990-FOUNDRY_P", "pakchunk988-MJOLNIRMAT-Windows", "x_p"] {
            assert!(!is_shipped_container(stem), "{stem}");
        }
    }
}
