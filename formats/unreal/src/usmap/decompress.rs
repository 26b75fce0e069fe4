//! Unpacks the body of a file: what comes out has exactly the size that the header states, which the caller
//! has bounded, and no more is ever held.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use std::io::Read;

use iostore::{Decompressor, Oodle};
use wire::{ReadError, Reader};

/// How much of a brotli stream is looked at a time.
const BROTLI_BUFFER: usize = 4_096;
/// The least window that a zstd stream may ask for, whatever its size.
const ZSTD_WINDOW: u64 = 8 << 20;

pub(super) fn brotli(r: &Reader<'_>, size: u64) -> Result<Vec<u8>, ReadError> {
    exactly(r, "brotli", size, brotli_decompressor::Decompressor::new(r.rest(), BROTLI_BUFFER))
}

pub(super) fn zstd(r: &Reader<'_>, size: u64) -> Result<Vec<u8>, ReadError> {
    let window = size.max(ZSTD_WINDOW);
    let decoder = ruzstd::decoding::StreamingDecoder::new_with_max_window_size(r.rest(), window);
    match decoder {
        Ok(decoder) => exactly(r, "zstd", size, decoder),
        Err(error) => Err(r.malformed("zstd", error.to_string())),
    }
}

/// One Oodle stream. It has no checksum: that its bytes are right shows when they are read.
pub(super) fn oodle(r: &Reader<'_>, size: u64) -> Result<Vec<u8>, ReadError> {
    let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
    match Oodle.decompress("Oodle", r.rest(), &mut bytes) {
        Ok(()) => Ok(bytes),
        Err(error) => Err(r.malformed("oodle", error.to_string())),
    }
}

/// All that `decoder` gives, which must be `size` bytes.
fn exactly(r: &Reader<'_>, method: &str, size: u64, decoder: impl Read) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    match decoder.take(size.saturating_add(1)).read_to_end(&mut bytes) {
        Ok(read) if read as u64 == size => Ok(bytes),
        Ok(read) if (read as u64) < size => {
            Err(r.malformed(method, format!("unpacks to {read} bytes, stated are {size}")))
        }
        Ok(_) => Err(r.malformed(method, format!("unpacks to more than the {size} bytes that are stated"))),
        Err(error) => Err(r.malformed(method, error.to_string())),
    }
}
