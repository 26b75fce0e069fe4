//! Builds of the game: which of two is the older, and whether a release is for one.
//!
//! A build is named `2026.06.26.1097863.1`, perhaps with more behind a `-`. It knows no list of builds.

use std::cmp::Ordering;

use crate::manifest::Compat;

/// Compares two builds: their leading decimal numbers with dots between, one by one and as numbers of any
/// length. What comes from the first `-` on, or behind anything else that is no such number, is ignored; a
/// number that one of them lacks is 0.
pub fn compare(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (numbers(a), numbers(b));
    loop {
        let (left, right) = (a.next(), b.next());
        if left.is_none() && right.is_none() {
            return Ordering::Equal;
        }
        let (left, right) = (left.unwrap_or_default(), right.unwrap_or_default());
        let order = left.len().cmp(&right.len()).then(left.cmp(right));
        if order.is_ne() {
            return order;
        }
    }
}

/// The leading decimal numbers, without leading zeros: the longer is the greater.
fn numbers(build: &str) -> impl Iterator<Item = &str> {
    let end = build.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(build.len());
    let leading = build.get(..end).unwrap_or_default();
    leading.split('.').take_while(|run| !run.is_empty()).map(|run| run.trim_start_matches('0'))
}

impl Compat {
    /// Whether the release is for `build`: neither older than the oldest nor newer than the newest.
    pub fn admits(&self, build: &str) -> bool {
        let older = self.min_build.as_deref().is_some_and(|min| compare(build, min).is_lt());
        let newer = self.max_build.as_deref().is_some_and(|max| compare(build, max).is_gt());
        !older && !newer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_are_compared_by_their_numbers() {
        for (a, b, expected) in [
            ("2026.06.26.1097863.1", "2026.06.26.1097863.1", Ordering::Equal),
            ("2026.06.26.1097863.1-rel", "2026.6.26.1097863.1-dev", Ordering::Equal),
            ("2026.06.26.1097863.1", "2026.06.26.1097863.2", Ordering::Less),
            ("2026.06.26.1097863.9", "2026.06.26.1097863.10", Ordering::Less),
            ("2026.10.1", "2026.9.30", Ordering::Greater),
            ("2026.06.26", "2026.06.26.1097863.1", Ordering::Less),
            ("1.2", "1.2.0", Ordering::Equal),
            ("1.99999999999999999999999", "1.100000000000000000000000", Ordering::Less),
            ("1.2-9", "1.2-1", Ordering::Equal),
            ("1.2x.9", "1.2.1", Ordering::Less),
            ("1..9", "1.2", Ordering::Less),
            ("", "0", Ordering::Equal),
            ("build", "", Ordering::Equal),
            ("-1", "0", Ordering::Equal),
        ] {
            assert_eq!(compare(a, b), expected, "{a} and {b}");
            assert_eq!(compare(b, a), expected.reverse(), "{b} and {a}");
        }
    }

    #[test]
    fn a_release_is_for_the_builds_between_its_bounds() {
        let compat = |min: Option<&str>, max: Option<&str>| Compat {
            min_build: min.map(str::to_owned),
            max_build: max.map(str::to_owned),
        };
        assert!(compat(None, None).admits("1"));
        let bounds = compat(Some("2026.06.26"), Some("2026.09.01"));
        for (build, expected) in [
            ("2026.06.25.9", false),
            ("2026.06.26", true),
            ("2026.06.26.1", true),
            ("2026.9.1", true),
            ("2026.9.1.1", false),
        ] {
            assert_eq!(bounds.admits(build), expected, "{build}");
        }
    }
}
