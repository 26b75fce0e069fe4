//! The records of a zip as they lie in the file: fields, read and not yet judged.
//!
//! What is in a local and in a central record alike is one type, so that the two can be compared. Signatures
//! are the caller's to look at: a record without its own is no shorter record, but none.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use wire::{ReadError, Reader};

/// The end record behind its signature.
pub(super) struct EndRecord {
    pub(super) disk: u16,
    pub(super) central_disk: u16,
    pub(super) here: u16,
    pub(super) count: u16,
    pub(super) size: u32,
    pub(super) offset: u32,
    pub(super) comment_length: u16,
}

impl EndRecord {
    pub(super) fn read(r: &mut Reader<'_>) -> Result<Self, ReadError> {
        Ok(Self {
            disk: r.u16("disk")?,
            central_disk: r.u16("central disk")?,
            here: r.u16("count on this disk")?,
            count: r.u16("count")?,
            size: r.u32("central size")?,
            offset: r.u32("central offset")?,
            comment_length: r.u16("comment length")?,
        })
    }
}

/// What both records of a member state, up to the lengths of name and extra fields.
pub(super) struct Stated {
    pub(super) needed: u16,
    pub(super) flags: u16,
    pub(super) method: u16,
    /// Time and date.
    pub(super) moment: (u16, u16),
    pub(super) crc: u32,
    pub(super) packed: u32,
    pub(super) size: u32,
    name_length: u16,
    extra_length: u16,
}

impl Stated {
    fn read(r: &mut Reader<'_>) -> Result<Self, ReadError> {
        Ok(Self {
            needed: r.u16("version needed")?,
            flags: r.u16("flags")?,
            method: r.u16("method")?,
            moment: (r.u16("time")?, r.u16("date")?),
            crc: r.u32("crc")?,
            packed: r.u32("compressed size")?,
            size: r.u32("size")?,
            name_length: r.u16("name length")?,
            extra_length: r.u16("extra length")?,
        })
    }
}

/// A local record behind its signature.
pub(super) struct Local<'a> {
    pub(super) stated: Stated,
    pub(super) name: &'a [u8],
    pub(super) extra: &'a [u8],
}

impl<'a> Local<'a> {
    pub(super) fn read(r: &mut Reader<'a>) -> Result<Self, ReadError> {
        let stated = Stated::read(r)?;
        let name = r.bytes(stated.name_length.into(), "name")?;
        let extra = r.bytes(stated.extra_length.into(), "extra")?;
        Ok(Self { stated, name, extra })
    }
}

/// A central record behind its signature.
pub(super) struct Central<'a> {
    pub(super) made_by: u16,
    pub(super) stated: Stated,
    pub(super) disk: u16,
    pub(super) internal: u16,
    pub(super) external: u32,
    pub(super) offset: u32,
    pub(super) name: &'a [u8],
    pub(super) extra: &'a [u8],
    pub(super) comment: &'a [u8],
}

impl<'a> Central<'a> {
    pub(super) fn read(r: &mut Reader<'a>) -> Result<Self, ReadError> {
        let made_by = r.u16("made by")?;
        let stated = Stated::read(r)?;
        let comment_length = r.u16("comment length")?;
        let disk = r.u16("disk")?;
        let internal = r.u16("internal attributes")?;
        let external = r.u32("external attributes")?;
        let offset = r.u32("local offset")?;
        let name = r.bytes(stated.name_length.into(), "name")?;
        let extra = r.bytes(stated.extra_length.into(), "extra")?;
        let comment = r.bytes(comment_length.into(), "comment")?;
        Ok(Self { made_by, stated, disk, internal, external, offset, name, extra, comment })
    }
}
