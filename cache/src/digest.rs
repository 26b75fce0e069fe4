//! [`Digest`]: BLAKE3-256 of some bytes, with their length. The name of everything in a store.

use std::fmt;
use std::io::{self, Write};
use std::str::FromStr;

/// BLAKE3-256 of some bytes, with their length in bytes. Its one textual form is
/// `<64 hex digits>-<length>`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest {
    hash: [u8; 32],
    len: u64,
}

/// A text that is no digest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is no digest: expected 64 lower-case hex digits, for a blob with `-` and its length")]
pub struct DigestError {
    found: String,
}

impl DigestError {
    pub(crate) fn of(text: &str) -> Self {
        Self { found: text.to_owned() }
    }
}

impl Digest {
    /// The digest of `bytes`. The value does not depend on how many threads compute it.
    pub fn of(bytes: &[u8]) -> Self {
        let mut hasher = Hasher::new();
        hasher.update(bytes);
        hasher.finish()
    }

    /// A digest from its parts, as read from a file.
    pub const fn from_parts(hash: [u8; 32], len: u64) -> Self {
        Self { hash, len }
    }

    /// The 32 hash bytes.
    pub const fn hash(&self) -> &[u8; 32] {
        &self.hash
    }

    /// The length of the bytes that it names.
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether it names no bytes at all.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The hash as 64 hex digits.
    pub fn hex(&self) -> String {
        hex(&self.hash)
    }

    /// The first 12 hex digits: for messages, never for files.
    pub fn short(&self) -> String {
        let mut text = self.hex();
        text.truncate(12);
        text
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.hex(), self.len)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let error = || DigestError::of(text);
        let (hash, len) = text.split_once('-').ok_or_else(error)?;
        let plain = !len.is_empty()
            && len.bytes().all(|byte| byte.is_ascii_digit())
            && (len == "0" || !len.starts_with('0'));
        if !plain {
            return Err(error());
        }
        Ok(Self { hash: unhex(hash).ok_or_else(error)?, len: len.parse().map_err(|_| error())? })
    }
}

/// Computes a digest while bytes go by.
#[derive(Clone, Default)]
pub struct Hasher {
    hasher: blake3::Hasher,
}

/// Below this many bytes at once, splitting the work over threads costs more than it gives.
const PARALLEL_BYTES: usize = 1 << 20;

impl Hasher {
    /// A hasher that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes `bytes` in. Large pieces are hashed on several threads.
    pub fn update(&mut self, bytes: &[u8]) {
        if bytes.len() >= PARALLEL_BYTES {
            self.hasher.update_rayon(bytes);
        } else {
            self.hasher.update(bytes);
        }
    }

    /// The digest of all that was taken in.
    pub fn finish(&self) -> Digest {
        Digest { hash: *self.hasher.finalize().as_bytes(), len: self.hasher.count() }
    }
}

impl Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn unhex(text: &str) -> Option<[u8; 32]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; 32];
    if text.len() != 64 {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_textual_form_goes_there_and_back() {
        let digest = Digest::of(b"");
        let text = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262-0";
        assert_eq!(digest.to_string(), text);
        assert_eq!(text.parse(), Ok(digest));
        for bad in ["", "-0", "00-0", &text[..64], &format!("{}+1", &text[..64]), &format!("{text}0")] {
            assert!(bad.parse::<Digest>().is_err(), "{bad}");
        }
        assert!(text.to_uppercase().parse::<Digest>().is_err());
    }

    #[test]
    fn pieces_give_the_digest_of_the_whole() {
        let bytes: Vec<u8> = (0..3_000_000u32).map(|n| n as u8).collect();
        let mut hasher = Hasher::new();
        for piece in bytes.chunks(70_001) {
            hasher.update(piece);
        }
        assert_eq!(hasher.finish(), Digest::of(&bytes));
        assert_eq!(Digest::of(&bytes).hash(), blake3::hash(&bytes).as_bytes());
    }
}
