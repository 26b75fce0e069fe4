//! Numbers as people read them: counted things, sizes, durations. A number has a unit.

use std::time::Duration;

/// `1 action`, `2 actions`.
pub(crate) fn count(n: impl TryInto<u64>, noun: &str) -> String {
    let n = n.try_into().unwrap_or(u64::MAX);
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// `812 B`, `1.4 MiB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = "B";
    for next in UNITS {
        // What would be written as 1024.0 is one of the next unit.
        if value < 1023.95 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    if unit == "B" { format!("{bytes} B") } else { format!("{value:.1} {unit}") }
}

/// `9 ms`, `48.2 s`, `3 min 7 s`.
pub(crate) fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 => format!("{} ms", time.as_millis()),
        1..=119 => format!("{:.1} s", time.as_secs_f64()),
        _ => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

/// `2 days ago`.
pub(crate) fn ago(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..=59 => "just now".to_owned(),
        60..=3_599 => format!("{} ago", count(seconds / 60, "minute")),
        3_600..=86_399 => format!("{} ago", count(seconds / 3_600, "hour")),
        _ => format!("{} ago", count(seconds / 86_400, "day")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_things_agree_in_number() {
        assert_eq!([0, 1, 2].map(|n| count(n, "step")), ["0 steps", "1 step", "2 steps"]);
    }

    #[test]
    fn sizes_change_unit_before_they_read_as_1024() {
        let sizes = [0, 1023, 1024, 1 << 20, (1 << 20) - 1, 11_953_766].map(size);
        assert_eq!(sizes, ["0 B", "1023 B", "1.0 KiB", "1.0 MiB", "1.0 MiB", "11.4 MiB"]);
    }

    #[test]
    fn durations_are_as_fine_as_they_are_short() {
        let times = [9, 1_250, 119_000, 187_000].map(|ms| duration(Duration::from_millis(ms)));
        assert_eq!(times, ["9 ms", "1.2 s", "119.0 s", "3 min 7 s"]);
        assert_eq!(
            [5, 61, 7_200, 172_800].map(|s| ago(Duration::from_secs(s))),
            ["just now", "1 minute ago", "2 hours ago", "2 days ago"]
        );
    }
}
