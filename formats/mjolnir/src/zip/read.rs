//! The strict reader: raw records, each checked against the others, in one fixed order.
//!
//! It tolerates what other tools write (times, modes, extra fields, descriptors, directory entries, any
//! order) and says so with [`Archive::canonical`]; all else is refused with the first [`Reason`] in the
//! order end record, central entries, members by offset, duplicates. Stored members are borrowed, deflated
//! ones are inflated anew at each use and never all held at once.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;

use wire::{ReadError, Reader};

use super::inflate::inflate;
use super::record::{Central, EndRecord, Local, Stated};
use super::write::{deflate_if_smaller, may_be_deflated};
use super::{
    CENTRAL, CENTRAL_SIZE, DEFLATED, DESCRIPTOR, END, END_SIZE, FIRST_DAY, LOCAL, LOCAL_SIZE, MEMBERS,
    REGULAR_FILE, Reason, STORED, UNIX, UNPACKED, VERSION_DEFLATED, VERSION_STORED, ZIP64_LOCATOR, ZipError,
    canonical_rank,
};

/// An end record lies at most this far from the end: its own length and a comment of 65,535 bytes.
const END_REACH: usize = END_SIZE + 0xFFFF;
/// Flag bits: encrypted, strong encryption, masked headers; and those that are read.
const ENCRYPTED_FLAGS: u16 = 1 | 1 << 6 | 1 << 13;
const DESCRIPTOR_FLAG: u16 = 1 << 3;
const READ_FLAGS: u16 = 1 << 1 | 1 << 2 | DESCRIPTOR_FLAG | 1 << 11;
const EXTRA_ZIP64: u16 = 0x0001;
const EXTRA_AES: u16 = 0x9901;
const NO_16: u16 = u16::MAX;
const NO_32: u32 = u32::MAX;
/// The kinds of file in a Unix mode: none, regular, directory.
const MODE_NONE: u32 = 0;
const MODE_DIRECTORY: u32 = 0o04;
const MODE_REGULAR: u32 = 0o10;
/// The high byte of "made by" for MS-DOS, and its attribute of a directory.
const DOS: u16 = 0;
const DOS_DIRECTORY: u32 = 0x10;

/// An archive that was read and found sound.
#[derive(Clone, Debug)]
pub struct Archive<'a> {
    entries: Vec<Member<'a>>,
    /// Where in `entries` a name is.
    names: BTreeMap<&'a [u8], usize>,
    canonical: bool,
}

/// One member of an [`Archive`].
#[derive(Clone, Debug)]
pub struct Member<'a> {
    name: &'a [u8],
    body: &'a [u8],
    size: u64,
    deflated: bool,
}

impl<'a> Archive<'a> {
    /// Reads `bytes`, the whole of the file, and checks all of it, checksums included.
    pub fn read(bytes: &'a [u8]) -> Result<Self, ZipError> {
        let end = End::read(bytes)?;
        let central = read_central(&end)?;
        let (entries, mut canonical) = read_members(&end, &central)?;

        let mut names = BTreeMap::new();
        for (index, entry) in entries.iter().enumerate() {
            if names.insert(entry.name, index).is_some() {
                let message = "the name occurs twice; every name must be unique";
                return Err(ZipError::of(Reason::Duplicate, entry.name, message));
            }
        }
        canonical &= entries.is_sorted_by(|a, b| canonical_rank(a.name) < canonical_rank(b.name))
            && entries.iter().all(|entry| entry.size > 0);
        // Last, because it deflates anew: where anything is deflated, each member must be as our encoder makes it.
        let canonical = canonical
            && (entries.iter().all(|entry| !entry.deflated)
                || entries.iter().all(|entry| match may_be_deflated(entry.name, entry.size) {
                    true => {
                        let body = deflate_if_smaller(entry.name, &entry.read());
                        body.as_deref() == entry.deflated.then_some(entry.body)
                    }
                    // Not read: it may be large.
                    false => !entry.deflated,
                }));
        Ok(Self { entries, names, canonical })
    }

    /// The members in the order of the central directory, without directory entries.
    pub fn members(&self) -> impl Iterator<Item = &Member<'a>> {
        self.entries.iter().filter(|entry| !entry.is_directory())
    }

    /// All entries in the order of the central directory, with directory entries.
    pub fn entries(&self) -> &[Member<'a>] {
        &self.entries
    }

    /// The member called `name`.
    pub fn member(&self, name: &str) -> Option<&Member<'a>> {
        self.names.get(name.as_bytes()).and_then(|index| self.entries.get(*index))
    }

    /// Whether these are the bytes that [`super::write`] gives for the same members, stored or in our
    /// encoder's deflate.
    pub fn canonical(&self) -> bool {
        self.canonical
    }
}

impl<'a> Member<'a> {
    /// The name as the archive holds it; not checked by any path rule.
    pub fn name_bytes(&self) -> &'a [u8] {
        self.name
    }

    /// The name as text, with what is not UTF-8 replaced: for messages and comparisons with names that
    /// are known to be ASCII.
    pub fn name(&self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.name)
    }

    /// Whether it is a directory entry, which has no content.
    pub fn is_directory(&self) -> bool {
        self.name.ends_with(b"/")
    }

    /// The uncompressed length in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The length in the archive.
    pub fn packed_size(&self) -> u64 {
        self.body.len() as u64
    }

    /// The uncompressed bytes: borrowed when stored, else inflated anew.
    pub fn read(&self) -> Cow<'a, [u8]> {
        if !self.deflated {
            return Cow::Borrowed(self.body);
        }
        // The length is safe to allocate for: reading the archive has inflated exactly as much.
        let mut bytes = Vec::with_capacity(usize::try_from(self.size).unwrap_or_default());
        self.for_each_piece(|piece| bytes.extend_from_slice(piece));
        Cow::Owned(bytes)
    }

    /// Gives `sink` the uncompressed bytes in order, in pieces, without holding them all.
    pub fn for_each_piece(&self, mut sink: impl FnMut(&[u8])) {
        if self.deflated {
            // Cannot fail: `Archive::read` has inflated the same bytes.
            let inflated = inflate(self.body, self.size, sink);
            debug_assert!(inflated.is_ok(), "an archive that was read inflates again");
        } else {
            sink(self.body);
        }
    }
}

/// The end record, and what it bounds: members, then the central directory, then itself.
struct End<'a> {
    members: &'a [u8],
    central: &'a [u8],
    count: u16,
}

impl<'a> End<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, ZipError> {
        let (before, record) = bytes
            .len()
            .checked_sub(END_SIZE)
            .and_then(|at| bytes.split_at_checked(at))
            .filter(|(_, record)| record.starts_with(&END.to_le_bytes()))
            .ok_or_else(|| no_end_record(bytes))?;
        let mut r = Reader::new(record, "end record");
        let EndRecord { disk, central_disk, here, count, size, offset, comment_length } = r
            .u32("signature")
            .and_then(|_| EndRecord::read(&mut r))
            .map_err(|e| ZipError::new(Reason::Truncated, e.to_string()))?;

        if comment_length != 0 {
            let message = "the end record has a comment; there must be none";
            return Err(ZipError::new(Reason::Trailing, message));
        }
        let locator = before
            .len()
            .checked_sub(20)
            .and_then(|at| before.get(at..))
            .is_some_and(|bytes| bytes.starts_with(&ZIP64_LOCATOR.to_le_bytes()));
        if locator || here == NO_16 || count == NO_16 || size == NO_32 || offset == NO_32 {
            let message = "a 64-bit zip; an archive must fit in 32-bit records";
            return Err(ZipError::new(Reason::Zip64, message));
        }
        if disk != 0 || central_disk != 0 || here != count {
            let message = format!(
                "disks {disk} and {central_disk}, {here} of {count} members here; all must be on disk 0"
            );
            return Err(ZipError::new(Reason::MultiDisk, message));
        }
        if usize::from(count) > MEMBERS {
            let message = format!("{count} members; at most {MEMBERS} are allowed");
            return Err(ZipError::new(Reason::MemberCount, message));
        }
        let (size, offset) = (u64::from(size), u64::from(offset));
        let (room, end) = (before.len() as u64, offset.saturating_add(size));
        if end != room {
            let reason = if end > room { Reason::Truncated } else { Reason::HeaderMismatch };
            let message = format!(
                "{size} bytes of central directory at {offset} do not end at the end record, at {room}"
            );
            return Err(ZipError::new(reason, message));
        }
        let (members, central) = usize::try_from(offset)
            .ok()
            .and_then(|offset| before.split_at_checked(offset))
            .ok_or_else(|| ZipError::new(Reason::Truncated, "no central directory"))?;
        Ok(Self { members, central, count })
    }
}

/// Whether bytes follow an end record or there is none.
fn no_end_record(bytes: &[u8]) -> ZipError {
    let tail = bytes.len().saturating_sub(END_REACH);
    let found = bytes
        .get(tail..)
        .unwrap_or_default()
        .windows(END_SIZE)
        .any(|window| window.starts_with(&END.to_le_bytes()));
    if found {
        let message = "bytes follow the end record; it must be the last 22 bytes";
        ZipError::new(Reason::Trailing, message)
    } else {
        ZipError::new(Reason::NotZip, "there is no end record; this is not a zip")
    }
}

fn read_central<'a>(end: &End<'a>) -> Result<Vec<Central<'a>>, ZipError> {
    let truncated = |e: ReadError| ZipError::new(Reason::Truncated, e.to_string());
    let mut r = Reader::new(end.central, "central directory");
    let count = r.count(end.count.into(), CENTRAL_SIZE, "entries").map_err(truncated)?;
    let mut entries = Vec::with_capacity(count);
    let mut unpacked = 0u64;
    for _ in 0..count {
        let signature = r.u32("signature").map_err(truncated)?;
        if signature != CENTRAL {
            let message = format!("{signature:#010x} where a central entry must start");
            return Err(ZipError::new(Reason::HeaderMismatch, message));
        }
        let entry = Central::read(&mut r).map_err(truncated)?;
        check_central(&entry, &mut unpacked)?;
        entries.push(entry);
    }
    if r.remaining() > 0 {
        let message = format!("{} bytes follow the last of {count} central entries", r.remaining());
        return Err(ZipError::new(Reason::HeaderMismatch, message));
    }
    Ok(entries)
}

fn check_central(entry: &Central<'_>, unpacked: &mut u64) -> Result<(), ZipError> {
    let fail = |reason: Reason, message: String| -> Result<(), ZipError> {
        Err(ZipError::of(reason, entry.name, message))
    };
    let Stated { flags, method, packed, size, .. } = entry.stated;
    if packed == NO_32 || size == NO_32 || entry.offset == NO_32 {
        return fail(Reason::Zip64, "64-bit sizes or offset".to_owned());
    }
    check_extra(entry.name, entry.extra)?;
    if flags & ENCRYPTED_FLAGS != 0 {
        return fail(Reason::Encrypted, format!("flags {flags:#06x} mark it as encrypted"));
    }
    if flags & !READ_FLAGS != 0 {
        return fail(Reason::Flags, format!("flags {flags:#06x}; only bits 1, 2, 3 and 11 are read"));
    }
    if entry.disk != 0 {
        return fail(Reason::MultiDisk, format!("it is on disk {}", entry.disk));
    }
    if !matches!(method, STORED | DEFLATED) {
        let message = format!("method {method}; only 0 (stored) and 8 (deflate) are read");
        return fail(Reason::Method, message);
    }
    *unpacked = unpacked.saturating_add(size.into());
    if *unpacked > UNPACKED {
        let message = format!("the members up to here declare {unpacked} bytes of {UNPACKED}");
        return fail(Reason::UnpackedLimit, message);
    }
    check_kind(entry)?;
    if !entry.comment.is_empty() {
        return fail(Reason::HeaderMismatch, "it has a comment; there must be none".to_owned());
    }
    Ok(())
}

/// Whether the central record is as we write it; the local one is held against it.
fn as_written(entry: &Central<'_>) -> bool {
    let Stated { needed, flags, method, moment, .. } = entry.stated;
    let version = if method == DEFLATED { VERSION_DEFLATED } else { VERSION_STORED };
    entry.made_by == UNIX << 8 | version
        && needed == version
        && flags == 0
        && moment == (0, FIRST_DAY)
        && entry.extra.is_empty()
        && entry.internal == 0
        && entry.external == REGULAR_FILE
}

/// Extra fields are passed over, save for the two that change what the member is.
fn check_extra(name: &[u8], extra: &[u8]) -> Result<(), ZipError> {
    let mut r = Reader::new(extra, "extra");
    let broken = |e: ReadError| ZipError::of(Reason::HeaderMismatch, name, e.to_string());
    let mut encrypted = false;
    while r.remaining() > 0 {
        let id = r.u16("id").map_err(broken)?;
        let length = r.u16("length").map_err(broken)?;
        r.bytes(length.into(), "data").map_err(broken)?;
        if id == EXTRA_ZIP64 {
            return Err(ZipError::of(Reason::Zip64, name, "a 64-bit extra field"));
        }
        encrypted |= id == EXTRA_AES;
    }
    if encrypted {
        return Err(ZipError::of(Reason::Encrypted, name, "an AES extra field"));
    }
    Ok(())
}

/// Files and empty directories alone: nothing that an unpacking tool would turn into a link or device.
fn check_kind(entry: &Central<'_>) -> Result<(), ZipError> {
    let directory_name = entry.name.ends_with(b"/");
    let (system, kind) = (entry.made_by >> 8, entry.external >> 28);
    let message = if system == UNIX && !matches!(kind, MODE_NONE | MODE_DIRECTORY | MODE_REGULAR) {
        format!("file type {kind:#o} of a Unix mode; only regular files are allowed")
    } else if system == UNIX && kind != MODE_NONE && (kind == MODE_DIRECTORY) != directory_name
        || system == DOS && entry.external & DOS_DIRECTORY != 0 && !directory_name
    {
        "its type and its name disagree whether it is a directory".to_owned()
    } else if directory_name && entry.stated.size > 0 {
        format!("a directory entry with {} bytes; it must be empty", entry.stated.size)
    } else {
        return Ok(());
    };
    Err(ZipError::of(Reason::SpecialFile, entry.name, message))
}

/// Checks every member's layout, local record, length and checksum, in the order of their offsets.
fn read_members<'a>(end: &End<'a>, central: &[Central<'a>]) -> Result<(Vec<Member<'a>>, bool), ZipError> {
    let mut order: Vec<usize> = (0..central.len()).collect();
    order.sort_by_key(|index| central.get(*index).map(|entry| entry.offset));
    let mut canonical = order.is_sorted();
    let mut bodies: Vec<Option<&'a [u8]>> = vec![None; central.len()];
    let mut r = Reader::new(end.members, "member");
    for index in order {
        let (Some(entry), Some(body)) = (central.get(index), bodies.get_mut(index)) else {
            continue;
        };
        let (taken, same) = read_member(&mut r, entry)?;
        *body = Some(taken);
        canonical &= same && as_written(entry);
    }
    if r.remaining() > 0 {
        let message = format!("{} bytes before the central directory", r.remaining());
        return Err(ZipError::new(Reason::HeaderMismatch, message));
    }
    let members = central
        .iter()
        .zip(bodies)
        .map(|(entry, body)| Member {
            name: entry.name,
            body: body.unwrap_or_default(),
            size: entry.stated.size.into(),
            deflated: entry.stated.method == DEFLATED,
        })
        .collect();
    Ok((members, canonical))
}

/// The body of one member, and whether its local record says no more than the central one.
fn read_member<'a>(r: &mut Reader<'a>, entry: &Central<'a>) -> Result<(&'a [u8], bool), ZipError> {
    let fail = |reason: Reason, message: &str| ZipError::of(reason, entry.name, message);
    let truncated = |e: ReadError| ZipError::of(Reason::Truncated, entry.name, e.to_string());
    match u64::from(entry.offset).cmp(&r.position()) {
        Ordering::Less => {
            return Err(fail(Reason::Overlap, "it starts before the one before it ends"));
        }
        Ordering::Greater if r.position() == 0 => {
            return Err(fail(Reason::Prefix, "the first member is not at the start of the archive"));
        }
        Ordering::Greater => {
            return Err(fail(Reason::HeaderMismatch, "bytes that belong to no member lie before it"));
        }
        Ordering::Equal => {}
    }
    r.count(1, LOCAL_SIZE, "local header").map_err(truncated)?;
    if r.u32("signature").map_err(truncated)? != LOCAL {
        return Err(fail(Reason::HeaderMismatch, "no local header at its offset"));
    }
    let local = Local::read(r).map_err(truncated)?;
    let (here, there) = (&local.stated, &entry.stated);
    if (here.flags, here.method, local.name) != (there.flags, there.method, entry.name) {
        return Err(fail(
            Reason::HeaderMismatch,
            "local flags, method or name differ from the central directory's",
        ));
    }
    check_extra(entry.name, local.extra)?;
    let described = here.flags & DESCRIPTOR_FLAG != 0;
    let agrees = |local: u32, central: u32| local == central || described && local == 0;
    if !(agrees(here.crc, there.crc) && agrees(here.packed, there.packed) && agrees(here.size, there.size)) {
        return Err(fail(
            Reason::HeaderMismatch,
            "local checksum or sizes differ from the central directory's",
        ));
    }
    let body = r.bytes(there.packed.into(), "body").map_err(truncated)?;
    if described {
        read_descriptor(r, entry)?;
    }
    check_content(entry, body)?;
    let same = here.needed == there.needed && here.moment == there.moment && local.extra.is_empty();
    Ok((body, same))
}

/// The record after a body of unknown length, with or without its signature.
fn read_descriptor(r: &mut Reader<'_>, entry: &Central<'_>) -> Result<(), ZipError> {
    let Stated { crc, packed, size, .. } = entry.stated;
    let values = [crc, packed, size].map(u32::to_le_bytes);
    let bare = values.as_flattened();
    let signed = [&DESCRIPTOR.to_le_bytes(), bare].concat();
    let length =
        [signed.as_slice(), bare].into_iter().find(|record| r.rest().starts_with(record)).map(<[u8]>::len);
    let Some(length) = length else {
        return Err(ZipError::of(
            Reason::HeaderMismatch,
            entry.name,
            "its data descriptor differs from the central directory",
        ));
    };
    r.bytes(length as u64, "descriptor")
        .map(drop)
        .map_err(|e| ZipError::of(Reason::Truncated, entry.name, e.to_string()))
}

fn check_content(entry: &Central<'_>, body: &[u8]) -> Result<(), ZipError> {
    let fail = |reason: Reason, message: String| ZipError::of(reason, entry.name, message);
    let Stated { method, crc: declared, packed, size, .. } = entry.stated;
    let mut crc = crc32fast::Hasher::new();
    if method == STORED {
        if packed != size {
            return Err(fail(Reason::Size, format!("stored in {packed} bytes, {size} declared")));
        }
        crc.update(body);
    } else {
        inflate(body, size.into(), |piece| crc.update(piece))
            .map_err(|message| fail(Reason::Size, message))?;
    }
    let crc = crc.finalize();
    if crc != declared {
        return Err(fail(Reason::Crc, format!("crc32 {crc:08x}, {declared:08x} declared")));
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "offsets of our own bytes")]
mod tests {
    use std::io::Cursor;

    use super::super::{Compression, write};
    use super::*;

    const NAME: usize = b"a.md".len();
    const LOCAL_LENGTH: usize = 30 + NAME + 3;
    const CENTRAL_AT: usize = 2 * LOCAL_LENGTH;
    const SECOND: usize = CENTRAL_AT + 46 + NAME;

    /// `a.md` and `b.md`, three bytes each.
    fn two() -> Vec<u8> {
        let members: [(&str, &[u8]); 2] = [("a.md", b"one"), ("b.md", b"two")];
        write(&members, Compression::Store, Cursor::new(Vec::new())).unwrap().into_inner()
    }

    #[track_caller]
    fn check(patches: &[(usize, &[u8])], expected: Result<bool, Reason>) {
        let mut bytes = two();
        for (at, patch) in patches {
            bytes[*at..*at + patch.len()].copy_from_slice(patch);
        }
        let found = Archive::read(&bytes).map(|archive| archive.canonical());
        assert_eq!(found.map_err(|error| error.reason), expected);
    }

    #[test]
    fn what_is_passed_over() {
        check(&[], Ok(true));
        let at = CENTRAL_AT;
        for patch in [
            (at + 4, &[45, 0][..]),   // made by MS-DOS
            (at + 6, &[20]),          // version needed
            (at + 12, &[1, 2, 3, 4]), // time and date
            (at + 36, &[1]),          // internal attributes
            (at + 41, &[0x80]),       // mode 0600
        ] {
            check(&[patch], Ok(false));
        }
        for bit in [1 << 1, 1 << 2] {
            check(&[(6, &[bit]), (at + 8, &[bit])], Ok(false));
        }
        check(&[(7, &[8]), (at + 9, &[8])], Ok(false));
    }

    #[test]
    fn reasons_of_the_end_record() {
        let end = two().len() - 22;
        check(&[(end, b"X")], Err(Reason::NotZip));
        check(&[(end + 20, &[1])], Err(Reason::Trailing));
        check(&[(end + 8, &[255; 4])], Err(Reason::Zip64));
        check(&[(end + 16, &[255; 4])], Err(Reason::Zip64));
        check(&[(end - 20, b"PK\x06\x07")], Err(Reason::Zip64));
        check(&[(end + 4, &[1])], Err(Reason::MultiDisk));
        check(&[(end + 8, &[1])], Err(Reason::MultiDisk));
        check(&[(end + 8, &[1, 16, 1, 16])], Err(Reason::MemberCount));
        check(&[(end + 8, &[3, 0, 3])], Err(Reason::Truncated));
        check(&[(end + 8, &[1, 0, 1])], Err(Reason::HeaderMismatch));
        check(&[(end + 12, &[101])], Err(Reason::Truncated));
        check(&[(end + 12, &[99])], Err(Reason::HeaderMismatch));
    }

    #[test]
    fn reasons_of_central_entries() {
        let at = CENTRAL_AT;
        check(&[(at, b"X")], Err(Reason::HeaderMismatch));
        check(&[(at + 20, &[255; 4])], Err(Reason::Zip64));
        for bit in [0x01, 0x40, 0x2000_u16] {
            check(&[(at + 8, &bit.to_le_bytes())], Err(Reason::Encrypted));
        }
        for bit in [0x10, 0x20, 0x80, 0x100, 0x1000, 0x8000_u16] {
            check(&[(at + 8, &bit.to_le_bytes())], Err(Reason::Flags));
        }
        check(&[(at + 34, &[1])], Err(Reason::MultiDisk));
        check(&[(at + 10, &[12])], Err(Reason::Method));
        check(&[(at + 24, &[1, 0, 0, 16])], Err(Reason::UnpackedLimit));
        for kind in [0o02, 0o01, 0o06, 0o12, 0o14, 0o04] {
            check(&[(at + 41, &[kind << 4])], Err(Reason::SpecialFile));
        }
        check(&[(at + 46 + 3, b"/"), (33, b"/")], Err(Reason::SpecialFile));
        check(&[(SECOND + 32, &[1])], Err(Reason::Truncated));
    }

    #[test]
    fn reasons_of_members() {
        let (at, second) = (CENTRAL_AT, SECOND);
        check(&[(0, b"X")], Err(Reason::HeaderMismatch));
        for place in [6, 8, 14, 18, 22, 30] {
            check(&[(place, b"\x02")], Err(Reason::HeaderMismatch));
        }
        check(&[(at + 42, &[1])], Err(Reason::Prefix));
        check(&[(second + 42, &[0])], Err(Reason::Overlap));
        check(&[(second + 42, &[LOCAL_LENGTH as u8 + 1])], Err(Reason::HeaderMismatch));
        check(&[(at + 20, &[99]), (18, &[99])], Err(Reason::Truncated));
        check(&[(at + 24, &[4]), (22, &[4])], Err(Reason::Size));
        check(&[(34, b"X")], Err(Reason::Crc));
        check(&[(LOCAL_LENGTH + 30, b"a"), (second + 46, b"a")], Err(Reason::Duplicate));
        // A descriptor that is announced and not there.
        check(&[(6, &[8]), (at + 8, &[8])], Err(Reason::HeaderMismatch));
    }

    #[test]
    fn unpacked_bytes_are_bounded_before_anything_is_inflated() {
        let limit = u32::try_from(UNPACKED).unwrap();
        let size = |value: u32| value.to_le_bytes();
        check(&[(CENTRAL_AT + 24, &size(limit - 2))], Err(Reason::UnpackedLimit));
        check(&[(CENTRAL_AT + 24, &size(limit - 3))], Err(Reason::HeaderMismatch));
    }
}
