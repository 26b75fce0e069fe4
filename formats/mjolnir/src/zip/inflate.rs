//! Inflating in constant memory: a window of 32 KiB, however long the member is.
//!
//! It knows raw deflate alone, and gives out at most one byte more than the declared length.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

/// The window of deflate.
const WINDOW: usize = 32 << 10;

/// Hands the bytes that `body` inflates to on to `sink`, piece by piece. `Err` says how the stream is not
/// exactly `size` bytes that take up the whole of `body`.
pub(super) fn inflate(body: &[u8], size: u64, mut sink: impl FnMut(&[u8])) -> Result<(), String> {
    let mut state = Box::<DecompressorOxide>::default();
    let mut window = vec![0; WINDOW];
    let (mut rest, mut at, mut left) = (body, 0, size);
    loop {
        let (status, read, written) = decompress(&mut state, rest, &mut window, at, 0);
        let piece = at.checked_add(written).and_then(|end| window.get(at..end)).unwrap_or_default();
        left = left
            .checked_sub(piece.len() as u64)
            .ok_or_else(|| format!("the data inflates to more than the {size} bytes declared"))?;
        sink(piece);
        rest = rest.get(read..).unwrap_or_default();
        at = at.saturating_add(written) % WINDOW;
        match status {
            TINFLStatus::Done if !rest.is_empty() => {
                return Err(format!("{} bytes follow the deflate stream", rest.len()));
            }
            TINFLStatus::Done if left > 0 => {
                return Err(format!("the data inflates to {left} bytes less than the {size} declared"));
            }
            TINFLStatus::Done => return Ok(()),
            TINFLStatus::HasMoreOutput => {}
            _ => return Err("the deflate stream is broken or not ended".to_owned()),
        }
    }
}
