//! Name batches: the form in which Unreal stores many names at once, as script objects and container headers
//! hold them. (Packages have their own reader, which keeps more of how a name was stored.)
//!
//! It keeps the stored hashes and does not judge them: how letters beyond ASCII are lower-cased is not known.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use wire::{ReadError, Reader, Writer};

use crate::text::Texts;

/// CityHash64 of lower-cased names.
const ALGORITHM: u64 = 0xC164_0000;
const WIDE: u16 = 0x8000;

/// Names with their hashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Names {
    texts: Texts,
    hashes: Vec<u64>,
}

impl Names {
    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ReadError> {
        let count = u64::from(r.u32("name count")?);
        if count == 0 {
            return Ok(Self::default());
        }
        let stated = u64::from(r.u32("name bytes")?);
        let algorithm = r.u64("name hash algorithm")?;
        if algorithm != ALGORITHM {
            let message = format!("{algorithm:#x}, only {ALGORITHM:#x} is read");
            return Err(r.unsupported("name hash algorithm", message));
        }
        let mut hashes = Vec::with_capacity(r.count(count, 8 + 2, "names")?);
        for _ in 0..count {
            hashes.push(r.u64("name hash")?);
        }
        let mut headers = r.section(count.saturating_mul(2), "name lengths")?;
        let start = r.offset();
        let mut texts = Texts::with_capacity(hashes.len());
        for _ in 0..count {
            let header = headers.u16_be("name length")?;
            texts.read_bare(r, "name", (header & !WIDE).into(), header & WIDE != 0)?;
        }
        let found = r.offset().saturating_sub(start);
        if found != stated {
            return Err(r.malformed("names", format!("{found} bytes, {stated} are stated")));
        }
        Ok(Self { texts, hashes })
    }

    pub(crate) fn write(&self, w: &mut Writer) {
        // Counts were read as 32 bits.
        let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        w.u32(count(self.hashes.len()));
        if self.hashes.is_empty() {
            return;
        }
        let (mut headers, mut bytes) = (Writer::new(), Writer::new());
        self.texts.write_bare(&mut headers, &mut bytes, WIDE);
        w.u32(count(bytes.len())).u64(ALGORITHM);
        for hash in &self.hashes {
            w.u64(*hash);
        }
        w.bytes(headers.as_bytes()).bytes(bytes.as_bytes());
    }

    pub(crate) fn len(&self) -> usize {
        self.hashes.len()
    }

    pub(crate) fn get(&self, index: u32) -> Option<&str> {
        self.texts.get(index)
    }
}

/// A name of a batch and its number: 0 for the bare name, `k` for the name with `_<k-1>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MappedName {
    pub(crate) index: u32,
    pub(crate) number: u32,
}

impl MappedName {
    /// Reads a name of `kind`, which stands in the top two bits.
    pub(crate) fn read(r: &mut Reader<'_>, names: &Names, kind: u32, field: &str) -> Result<Self, ReadError> {
        let start = r.clone();
        let (raw, number) = (r.u32(field)?, r.u32(field)?);
        let (found, index) = (raw >> 30, raw & 0x3fff_ffff);
        if found != kind {
            return Err(start.malformed(field, format!("a name of kind {found}, {kind} is expected")));
        }
        if names.get(index).is_none() {
            return Err(start.malformed(field, format!("name {index} of {}: out of range", names.len())));
        }
        Ok(Self { index, number })
    }

    pub(crate) fn write(self, w: &mut Writer, kind: u32) {
        w.u32(self.index | (kind << 30)).u32(self.number);
    }

    pub(crate) fn text(self, names: &Names) -> String {
        let name = names.get(self.index).unwrap_or_default();
        match self.number.checked_sub(1) {
            None => name.to_owned(),
            Some(number) => format!("{name}_{number}"),
        }
    }
}
