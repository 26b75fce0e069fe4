//! When something was signed: a moment of UTC in its one textual form. For people only.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use std::fmt;

/// A moment as statements hold it: `YYYY-MM-DDThh:mm:ssZ`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedAt(String);

impl SignedAt {
    /// Reads the one textual form of a moment that there was or will be; leap seconds are none.
    pub fn parse(text: &str) -> Option<Self> {
        const FORM: &[u8] = b"0000-00-00T00:00:00Z";
        let fits = |(byte, form): (u8, &u8)| match form {
            b'0' => byte.is_ascii_digit(),
            form => byte == *form,
        };
        if text.len() != FORM.len() || !text.bytes().zip(FORM).all(fits) {
            return None;
        }
        let number = |from: usize, to: usize| text.get(from..to)?.parse::<u64>().ok();
        let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
        let days =
            usize::try_from(month.checked_sub(1)?).ok().and_then(|at| months(year).get(at).copied())?;
        let real =
            (1..=days).contains(&day) && number(11, 13)? < 24 && number(14, 16)? < 60 && number(17, 19)? < 60;
        real.then(|| Self(text.to_owned()))
    }

    /// The moment `seconds` after 1970-01-01T00:00:00Z, as `SOURCE_DATE_EPOCH` gives it; up to the year
    /// 9999.
    pub fn from_unix(seconds: u64) -> Option<Self> {
        const DAY: u64 = 86_400;
        const LAST: u64 = 253_402_300_799;
        if seconds > LAST {
            return None;
        }
        let (mut days, rest) = (seconds / DAY, seconds % DAY);
        let mut year = 1970u64;
        while let Some(left) = days.checked_sub(months(year).iter().sum()) {
            (days, year) = (left, year.saturating_add(1));
        }
        let mut month = 1u64;
        for length in months(year) {
            let Some(left) = days.checked_sub(length) else {
                break;
            };
            (days, month) = (left, month.saturating_add(1));
        }
        let (day, hour) = (days.saturating_add(1), rest / 3600);
        let (minute, second) = (rest % 3600 / 60, rest % 60);
        Some(Self(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SignedAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How many days the months of a year have.
fn months(year: u64) -> [u64; 12] {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_moments() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_799, "2000-02-29T23:59:59Z"),
            (1_785_628_800, "2026-08-02T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(SignedAt::from_unix(seconds), SignedAt::parse(text));
            assert!(SignedAt::parse(text).is_some(), "{text}");
        }
        assert_eq!(SignedAt::from_unix(253_402_300_800), None);
        assert_eq!(SignedAt::from_unix(u64::MAX), None);
    }

    #[test]
    fn only_moments_of_the_calendar_in_one_form() {
        for right in ["2026-12-31T23:59:59Z", "2024-02-29T00:00:00Z", "2000-02-29T00:00:00Z"] {
            assert_eq!(SignedAt::parse(right).unwrap().to_string(), right);
        }
        for wrong in [
            "2026-08-02",
            "2026-08-02T00:00:00+00:00",
            "2026-08-02 00:00:00Z",
            "2026-08-02T00:00:00z",
            "2026-08-02T00:00:0aZ",
            "+026-08-02T00:00:00Z",
            " 2026-08-02T00:00:00Z",
            "2026-13-45T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-04-31T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "2100-02-29T00:00:00Z",
            "2026-08-02T24:00:00Z",
            "2026-08-02T00:60:00Z",
            "2026-06-30T23:59:60Z",
            "",
        ] {
            assert_eq!(SignedAt::parse(wrong), None, "{wrong}");
        }
    }
}
