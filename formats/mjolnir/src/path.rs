//! What a member may be called: path rules and allowed kinds.
//!
//! It knows names alone, not what lies behind them. A name that passes is plain ASCII, relative, and means
//! the same file on every system that archives are unpacked on.

/// A rule that a name breaks: which of the two codes it is, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathFault {
    /// It may lead out of the folder that it is unpacked into.
    Traversal(&'static str),
    /// It is not a name that every system keeps as it is.
    Bad(&'static str),
}

/// The extensions that a release may hold.
pub const KINDS: [&str; 9] = ["utoc", "ucas", "json", "md", "txt", "png", "jpg", "jpeg", "webp"];

/// The longest name, in bytes.
pub const LONGEST: usize = 200;

/// Checks the path rules for one name; a trailing `/` of a directory entry is no part of it. That two names
/// differ in more than case is for the caller to see.
pub fn check(name: &[u8]) -> Result<(), PathFault> {
    if name.windows(2).any(|pair| pair == b"..") {
        return Err(PathFault::Traversal("it contains `..`"));
    }
    if name.starts_with(b"/") {
        return Err(PathFault::Traversal("it starts with `/`"));
    }
    if let [letter, b':', ..] = name
        && letter.is_ascii_alphabetic()
    {
        return Err(PathFault::Traversal("it starts with a drive letter"));
    }
    if name.len() > LONGEST {
        return Err(PathFault::Bad("it is longer than 200 bytes"));
    }
    if !name.iter().all(|byte| (0x20..=0x7E).contains(byte)) {
        return Err(PathFault::Bad("only printable ASCII is allowed"));
    }
    if name.iter().any(|byte| b"\\:*?\"<>|".contains(byte)) {
        return Err(PathFault::Bad("none of `\\ : * ? \" < > |` is allowed in it"));
    }
    let name = name.strip_suffix(b"/").unwrap_or(name);
    for segment in name.split(|byte| *byte == b'/') {
        if segment.is_empty() || segment == b"." {
            return Err(PathFault::Bad("it has an empty segment or one that is `.`"));
        }
        if segment.ends_with(b".") || segment.ends_with(b" ") || segment.starts_with(b" ") {
            return Err(PathFault::Bad("a segment starts or ends with a space or ends with a dot"));
        }
        if is_device(segment) {
            return Err(PathFault::Bad("a segment is the name of a DOS device"));
        }
    }
    let in_content = name.strip_prefix(b"content/");
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
    if let Some(file) = in_content
        && is_container(name)
        && !file.iter().all(plain)
    {
        return Err(PathFault::Bad(
            "a container must lie directly in `content/` under a name of `A-Z a-z 0-9 . _ -`",
        ));
    }
    Ok(())
}

/// What follows the last dot of the last segment.
pub fn extension(name: &[u8]) -> Option<&[u8]> {
    let base = name.rsplit(|byte| *byte == b'/').next()?;
    let mut parts = base.rsplitn(2, |byte| *byte == b'.');
    let extension = parts.next()?;
    parts.next().map(|_| extension)
}

/// Whether a file of this name may be in a release at all.
pub fn is_allowed_kind(name: &[u8]) -> bool {
    extension(name).is_some_and(|extension| KINDS.iter().any(|kind| kind.as_bytes() == extension))
}

/// Whether it is one half of a container.
pub fn is_container(name: &[u8]) -> bool {
    matches!(extension(name), Some(b"utoc" | b"ucas"))
}

fn is_device(segment: &[u8]) -> bool {
    let stem = segment.split(|byte| *byte == b'.').next().unwrap_or(segment);
    let stem = stem.trim_ascii_end().to_ascii_lowercase();
    match stem.as_slice() {
        b"con" | b"prn" | b"aux" | b"nul" | b"conin$" | b"conout$" => true,
        [b'c', b'o', b'm', digit] | [b'l', b'p', b't', digit] => digit.is_ascii_digit(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart() {
        for name in [
            "mjolnir.json",
            "content/pakchunk24853-MJOLNIRMAP-BGL_P.utoc",
            "docs/a b.png",
            "content/",
            "docs/console.md",
            "docs/com.md",
        ] {
            assert_eq!(check(name.as_bytes()), Ok(()), "{name}");
        }
        for name in ["a..b.md", "../x.md", "/x.md", "C:x.md", "z:/x.md"] {
            let fault = check(name.as_bytes());
            assert!(matches!(fault, Err(PathFault::Traversal(_))), "{name}");
        }
        let long = format!("docs/{}.md", "x".repeat(193));
        for name in [
            "docs\\x.md",
            "1:x.md",
            "docs//x.md",
            "docs/./x.md",
            "x. /y.md",
            " x.md",
            "docs/x.md ",
            "NUL.md",
            "docs/com1.tar.md",
            "lpt0",
            "docs/caf\u{e9}.md",
            "a\tb.md",
            "//",
            "conOUT$.txt",
            "content/sub/x.utoc",
            "content/a b.ucas",
            "content/+.utoc",
            &long,
        ] {
            let fault = check(name.as_bytes());
            assert!(matches!(fault, Err(PathFault::Bad(_) | PathFault::Traversal(_))), "{name}");
        }
        assert_eq!(check(&long.as_bytes()[1..]), Ok(()));
    }

    #[test]
    fn kinds_go_by_the_last_dot_of_the_last_segment() {
        for (name, allowed) in [
            ("x.json", true),
            ("LICENSE.txt", true),
            ("LICENSE", false),
            ("json", false),
            ("a.json/b", false),
            ("x.UTOC", false),
            ("x.md.exe", false),
            ("x.", false),
            (".md", true),
        ] {
            assert_eq!(is_allowed_kind(name.as_bytes()), allowed, "{name}");
        }
    }
}
