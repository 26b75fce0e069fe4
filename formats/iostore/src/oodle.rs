//! [`Oodle`]: decodes the blocks of the game, whose method is Oodle, behind guards.
//!
//! The decoder is another project's. On bad input it panics or gives wrong bytes as if they were right, since
//! a block has no checksum: panics are caught, its count of bytes must be exact, and what it gives is good only
//! once the hash of the whole chunk agrees, which [`crate::ChunkReader`] asks. That a block has more than its
//! stated bytes shows in the hash alone: the decoder ends when its output is full. It holds some 768 KiB a
//! thread.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

use oozextract::Extractor;

use crate::chunk::{DecompressError, Decompressor};

thread_local! {
    /// Makes no decoder for threads that need none.
    static EXTRACTOR: RefCell<Option<Extractor>> = const { RefCell::new(None) };
    static DECODING: Cell<bool> = const { Cell::new(false) };
}

/// Decodes blocks of the method `Oodle`.
#[derive(Clone, Copy, Debug)]
pub struct Oodle;

impl Oodle {
    /// Whether this thread is decoding a block. A panic now is caught and becomes an error: a panic hook need
    /// say nothing of it.
    pub fn is_decoding() -> bool {
        DECODING.get()
    }
}

impl Decompressor for Oodle {
    fn decompress(&self, method: &str, input: &[u8], output: &mut [u8]) -> Result<(), DecompressError> {
        if !method.eq_ignore_ascii_case("Oodle") {
            return Err(DecompressError::Unsupported);
        }
        let corrupt =
            |message: String| Err(DecompressError::Corrupt(format!("not an Oodle block: {message}")));
        // After a panic the decoder is not to be trusted: it is put back only when it came back.
        let mut extractor = EXTRACTOR.take().unwrap_or_else(Extractor::new);
        DECODING.set(true);
        let decoded = catch_unwind(AssertUnwindSafe(|| extractor.read_from_slice(input, output)));
        DECODING.set(false);
        let Ok(decoded) = decoded else {
            return corrupt("the decoder gave up".to_owned());
        };
        EXTRACTOR.set(Some(extractor));
        match decoded {
            Ok(length) if length == output.len() => Ok(()),
            Ok(length) => corrupt(format!("{length} bytes, {} are stated", output.len())),
            Err(error) => corrupt(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a block of bytes begins with that Oodle could not shrink.
    const STORED: [u8; 2] = [0xcc, 0x06];

    fn decode(input: &[u8], length: usize) -> Result<Vec<u8>, DecompressError> {
        let mut output = vec![0; length];
        Oodle.decompress("oodle", input, &mut output).map(|()| output)
    }

    #[test]
    fn other_methods_are_not_its_business() {
        assert_eq!(Oodle.decompress("Zstd", &[], &mut []), Err(DecompressError::Unsupported));
    }

    #[test]
    fn blocks_give_exactly_what_is_stated() {
        let block = [&STORED[..], b"some bytes"].concat();
        assert_eq!(decode(&block, 10).unwrap(), b"some bytes");
        for length in [11, 70_000] {
            assert!(decode(&block, length).is_err(), "{length}");
        }
        assert!(matches!(decode(b"", 10), Err(DecompressError::Corrupt(_))));
    }

    /// Whatever it is given, it returns, and works on afterwards.
    #[test]
    fn no_input_panics() {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !Oodle::is_decoding() {
                usual(info)
            }
        }));
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for round in 0..20_000_usize {
            let mut block = vec![0x8c, [0x06, 0x0a, 0x0c, 0x05, 0x0b, 0x07][round % 6]];
            for _ in 0..8 + round % 90 {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                block.push(state as u8);
            }
            // A size that the block could have, so that the decoder goes on.
            let size = (block.len() - 6) as u32;
            block.splice(2..5, size.to_be_bytes()[1..].iter().copied());
            let _ = decode(&block, 300);
        }
        assert!(!Oodle::is_decoding());
        let block = [&STORED[..], b"some bytes"].concat();
        assert_eq!(decode(&block, 10).unwrap(), b"some bytes");
    }
}
