//! Globs over package paths: a linear walk, whatever the pattern is.
//!
//! It knows letters, digits and `/`; upper and lower case are the same, as they are to the game.

/// Whether `pattern` takes `path`: without `*` and `?` where it is a part of it, else where it matches the
/// whole. `?` is one character and `*` any number of them in one component, `**` any number of any; in
/// `a/**/b` there may be no folder between.
pub(crate) fn matches(pattern: &str, path: &str) -> bool {
    let (pattern, path) = (pattern.to_ascii_lowercase(), path.to_ascii_lowercase());
    if !pattern.contains(['*', '?']) {
        return path.contains(&pattern);
    }
    let pattern = pattern.as_bytes();
    let literal = pattern.iter().position(|byte| b"*?".contains(byte)).unwrap_or(pattern.len());
    let start = literal.saturating_sub(1);
    if !path.as_bytes().starts_with(&pattern[..start]) {
        return false;
    }
    // Which places in the pattern the path so far can have led to.
    let mut places = vec![false; pattern.len() + 1];
    reach(pattern, start, true, &mut places);
    let mut next = vec![false; pattern.len() + 1];
    for byte in &path.as_bytes()[start..] {
        let folder = *byte == b'/';
        next.fill(false);
        for place in (0..pattern.len()).filter(|place| places[*place]) {
            match pattern[place] {
                b'*' if pattern.get(place + 1) == Some(&b'*') => reach(pattern, place, folder, &mut next),
                b'*' if !folder => reach(pattern, place, folder, &mut next),
                b'?' if !folder => reach(pattern, place + 1, folder, &mut next),
                other if other == *byte && !b"*?".contains(&other) => {
                    reach(pattern, place + 1, folder, &mut next)
                }
                _ => {}
            }
        }
        std::mem::swap(&mut places, &mut next);
    }
    places[pattern.len()]
}

/// Marks `place` and all that can be reached from there without a character; `folder` says that a separator
/// was before.
fn reach(pattern: &[u8], place: usize, folder: bool, places: &mut [bool]) {
    let mut place = place;
    // All calls for one character agree on `folder`, so that a marked place need not be looked at again.
    while !std::mem::replace(&mut places[place], true) {
        let deep = pattern.get(place..place + 2) == Some(b"**");
        match pattern.get(place) {
            // `**/` may stand for nothing at all, its separator included.
            Some(b'*') if deep && folder && pattern.get(place + 2) == Some(&b'/') => {
                places[place + 2] = true;
                place += 3;
            }
            Some(b'*') => place += if deep { 2 } else { 1 },
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_take_what_they_say() {
        let path = "/Game/Tags/objects/Crates/crate_space_a/crate_space_a-collision_model";
        for pattern in [
            "crate_space",
            "CRATES",
            "/game/**",
            "/Game/**/*-collision_model",
            "/Game/Tags/**/crate_space_a/*",
            "/Game/Tags/objects/**/Crates/**/*",
            "**/*space_?-*",
            "**",
            "/Game/Tags/*/*/*/*",
        ] {
            assert!(matches(pattern, path), "{pattern}");
        }
        for pattern in [
            "crate_space_b",
            "/Game/*",
            "*",
            "Tags/**",
            "/Game/Tags/*/*",
            "/Game/**/*-scenery",
            "/Game/Tags?objects/**",
            "/Game/Tags/**/rates/**",
        ] {
            assert!(!matches(pattern, path), "{pattern}");
        }
    }

    #[test]
    fn no_pattern_takes_long() {
        let path = "a".repeat(1_000);
        assert!(!matches(&format!("{}b", "*a".repeat(500)), &path));
        assert!(!matches(&format!("{}b", "**".repeat(500)), &path));
        assert!(matches(&"**".repeat(500), &path));
        assert!(matches("*?", "b") && !matches("*?", "") && matches("*", ""));
    }
}
