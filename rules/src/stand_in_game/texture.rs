//! Textures of the stand-in: classic chains of mips, and one virtual texture.
//!
//! All pixels come from integer formulas. Nothing is compressed: blocks are made as blocks.

use iostore::hash_utf16_lower;
use sha1::{Digest, Sha1};
use wire::Writer;

use super::StandInPackage;
use super::package::{Draft, GUID, INLINE, NOTHING, Object, SEPARATE, engine, string};

/// The two pixel formats of the stand-in.
#[derive(Clone, Copy)]
pub(super) enum Format {
    /// Four bytes a pixel: blue, green, red, alpha.
    Bgra8,
    /// Eight bytes a block of 4 × 4.
    Bc1,
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Self::Bgra8 => "PF_B8G8R8A8",
            Self::Bc1 => "PF_DXT1",
        }
    }

    /// Columns and rows of pixels or blocks.
    fn cells(self, width: u32, height: u32) -> (u32, u32) {
        match self {
            Self::Bgra8 => (width, height),
            Self::Bc1 => (width.div_ceil(4), height.div_ceil(4)),
        }
    }
}

/// The bytes of one mip: its number and its columns and rows of cells.
pub(super) type Fill = fn(mip: u32, columns: u32, rows: u32) -> Vec<u8>;

/// Mips that stay in the package; larger ones go into the bulk chunk.
const INLINE_MIPS: u32 = 7;

/// A texture with a full chain of mips.
pub(super) fn classic(leaf: &str, format: Format, width: u32, height: u32, fill: Fill) -> StandInPackage {
    let mips = width.max(height).ilog2() + 1;
    let mut bulk = Vec::new();
    let mut entries = Vec::new();
    let mut w = Writer::new();
    let skip_at = head(&mut w, format, width, height);
    w.u32(0).u32(mips);
    for mip in 0..mips {
        let (width, height) = ((width >> mip).max(1), (height >> mip).max(1));
        let (columns, rows) = format.cells(width, height);
        let bytes = fill(mip, columns, rows);
        w.u32(mip);
        if mip + INLINE_MIPS < mips {
            entries.push((bulk.len() as i64, bytes.len() as i64, SEPARATE));
            bulk.extend_from_slice(&bytes);
        } else {
            entries.push((w.len() as i64, bytes.len() as i64, INLINE));
            w.bytes(&bytes);
        }
        w.u32(width).u32(height).u32(1);
    }
    w.u32(0);
    finish(leaf, format, w, skip_at, entries, bulk)
}

/// The virtual texture of 256 × 256: tiles of 128 with a border of 4, in two mips and two chunks.
pub(super) fn virtual_texture(leaf: &str) -> StandInPackage {
    const TILE_BYTES: u32 = 34 * 34 * 8;
    let format = Format::Bc1;
    let chunks: Vec<Vec<u8>> = [(0, 4), (1, 1)]
        .into_iter()
        .map(|(mip, tiles): (u32, u32)| {
            let mut chunk = vec![0; 4];
            for tile in 0..tiles {
                chunk.extend((0..TILE_BYTES).map(|k| (13 * k + 101 * mip + 29 * tile) as u8));
            }
            chunk
        })
        .collect();

    let mut w = Writer::new();
    let skip_at = head(&mut w, format, 256, 256);
    w.u32(0).u32(0);
    // Virtual, cooked, one layer, one block of tiles of 128 pixels and their border.
    for word in [1, 1, 1, 1, 1, 128, 4] {
        w.u32(word);
    }
    w.u32(1).u32(TILE_BYTES);
    w.u32(2).u32(256).u32(256);
    // Chunk of each mip, and where tiles begin in it: after the codec's four bytes.
    w.u32(2).u32(0).u32(1);
    w.u32(2).u32(4).u32(4);
    w.u32(2);
    for (side, tiles) in [(2, 4), (1, 1)] {
        w.u32(side).u32(side).u32(tiles);
        w.u32(1).u32(0);
        w.u32(1).u32(0);
    }
    w.u32(0).u32(0).u32(0);
    string(&mut w, format.name());
    for component in [0.5, 0.25, 0.125, 1.0] {
        w.f32(component);
    }
    w.u32(chunks.len() as u32);
    let mut entries = Vec::new();
    let mut bulk = Vec::new();
    for (i, chunk) in chunks.iter().enumerate() {
        w.bytes(&Sha1::digest(chunk));
        w.u32(chunk.len() as u32).u32(4);
        w.u8(4).u32(4);
        w.u32(i as u32);
        entries.push((bulk.len() as i64, chunk.len() as i64, SEPARATE));
        bulk.extend_from_slice(chunk);
    }
    finish(leaf, format, w, skip_at, entries, bulk)
}

/// Properties and platform data up to the first mip's number. Gives the place of the skip offset.
fn head(w: &mut Writer, format: Format, width: u32, height: u32) -> usize {
    w.bytes(&[0x04, 0x05]).u32(width).u32(height).bytes(&GUID);
    w.u32(0).bytes(&[5, 0, 5, 0]).u32(1).u32(1);
    w.u32(1).u32(0);
    let skip_at = w.len();
    w.i64(0).zeros(16).u32(width).u32(height).u32(1);
    string(w, format.name());
    skip_at
}

fn finish(
    leaf: &str,
    format: Format,
    mut w: Writer,
    skip_at: usize,
    entries: Vec<(i64, i64, u32)>,
    bulk: Vec<u8>,
) -> StandInPackage {
    let skip = (w.len() - skip_at) as u64;
    w.patch(skip_at, &skip.to_le_bytes());
    w.u32(0).u32(0);
    let path = super::path(leaf);
    let draft = Draft {
        names: ["None", format.name(), leaf, &path].map(str::to_owned).to_vec(),
        bulk: entries,
        imported_hashes: Vec::new(),
        imports: vec![engine("Texture2D"), engine(""), engine("Default__Texture2D")],
        objects: vec![Object {
            name: 2,
            number: 0,
            outer: NOTHING,
            class: engine("Texture2D"),
            template: engine("Default__Texture2D"),
            public_hash: hash_utf16_lower(leaf),
            flags: 3,
            bytes: w.into_bytes(),
            create_before_create: Vec::new(),
            create_before_serialize: Vec::new(),
        }],
        order: vec![0],
        imported: Vec::new(),
    };
    StandInPackage::new(path, &draft, bulk)
}

/// The pixels that the smallest synthetic texture is defined by.
pub(super) fn gradient(mip: u32, columns: u32, rows: u32) -> Vec<u8> {
    pixels(columns, rows, |x, y| [16 * x + mip, 16 * y + mip, 64 * mip, 255].map(|value| value as u8))
}

/// The bytes that the synthetic block texture is defined by: no picture, but every byte is known.
pub(super) fn counted(mip: u32, columns: u32, rows: u32) -> Vec<u8> {
    (0..columns * rows * 8).map(|k| (7 * k + 31 * mip) as u8).collect()
}

/// Light and dark squares, eight a side in every mip that has the room.
pub(super) fn checker(_mip: u32, columns: u32, rows: u32) -> Vec<u8> {
    pixels(columns, rows, |x, y| {
        let light = (x * 8 / columns + y * 8 / rows).is_multiple_of(2);
        if light { [208, 216, 224, 255] } else { [48, 40, 32, 255] }
    })
}

/// Green across, red down, with a blue diagonal.
pub(super) fn ramp(_mip: u32, columns: u32, rows: u32) -> Vec<u8> {
    pixels(columns, rows, |x, y| {
        let (across, down) = (x * 255 / columns, y * 255 / rows);
        [across.abs_diff(down), across, down, 255].map(|value| value as u8)
    })
}

/// Grey panels with dark seams: every eighth row and column of blocks is a seam.
pub(super) fn panels(_mip: u32, columns: u32, rows: u32) -> Vec<u8> {
    blocks(columns, rows, |x, y| if x % 8 == 0 || y % 8 == 0 { (0x4208, 0x2104) } else { (0xA514, 0x8410) })
}

/// Slanted stripes of two ochres.
pub(super) fn stripes(_mip: u32, columns: u32, rows: u32) -> Vec<u8> {
    blocks(columns, rows, |x, y| if (x + y) % 4 < 2 { (0xCC60, 0xAB40) } else { (0x6A20, 0x4940) })
}

fn pixels(columns: u32, rows: u32, pixel: impl Fn(u32, u32) -> [u8; 4]) -> Vec<u8> {
    let places = (0..rows).flat_map(|y| (0..columns).map(move |x| (x, y)));
    places.flat_map(|(x, y)| pixel(x, y)).collect()
}

/// BC1 blocks of two colours, the larger first as the four-colour mode wants it, with a fixed dither.
fn blocks(columns: u32, rows: u32, colours: impl Fn(u32, u32) -> (u16, u16)) -> Vec<u8> {
    let mut w = Writer::new();
    for y in 0..rows {
        for x in 0..columns {
            let (first, second) = colours(x, y);
            w.u16(first).u16(second).u32(0xE4B1_1BE4);
        }
    }
    w.into_bytes()
}
