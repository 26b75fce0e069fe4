//! Bytes as hex digits, and what people can be told of a difference between two runs of bytes.

/// Lower-case hex digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The 32 bytes of 64 hex digits.
pub(crate) fn unhex(text: &str) -> Option<[u8; 32]> {
    blake3::Hash::from_hex(text).ok().map(|hash| *hash.as_bytes())
}

/// Where `a` and `b` differ first, in words; `None` when they do not.
pub(crate) fn difference(a: &[u8], b: &[u8]) -> Option<String> {
    let at = a.iter().zip(b).position(|(a, b)| a != b);
    match at {
        Some(at) => {
            let line = |bytes: &[u8]| hex(bytes.get(at..bytes.len().min(at + 8)).unwrap_or_default());
            Some(format!("first at byte {at}: {} and {}", line(a), line(b)))
        }
        None if a.len() != b.len() => Some(format!("{} and {} bytes long, equal so far", a.len(), b.len())),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_placed() {
        assert_eq!(difference(b"same", b"same"), None);
        assert_eq!(difference(b"abc", b"abX").as_deref(), Some("first at byte 2: 63 and 58"));
        assert_eq!(difference(b"abc", b"abcd").as_deref(), Some("3 and 4 bytes long, equal so far"));
    }
}
