//! A signed archive that was changed anywhere is refused, or says the same things of the same members by the
//! same author: no change between signing and installing goes unnoticed.
//!
//! What may pass is the list of what readers tolerate: times, versions, modes, internal attributes, flag bits
//! 1, 2 and 11, extra fields, data descriptors, directory entries, the order of members and of records. Such
//! an archive is no longer canonical.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeMap;
use std::io::Cursor;

use iostore::{Builder, ChunkId, ChunkType};
use mjolnir::scan::{Context, Report, Verdict, scan};
use mjolnir::signature::{self, Release, SeedKey, Sha256Digest, SignedAt};
use mjolnir::version::Version;
use mjolnir::zip::{Archive, Compression, write};

const MANIFEST: &[u8] =
    br#"{"schema_version":1,"name":"x","version":"1.0.0","type":"content","summary":"said said said said said"}"#;

/// What is signed: containers, texts that are deflated, an image.
fn members() -> BTreeMap<String, Vec<u8>> {
    let mut ucas = Vec::new();
    let chunk = ChunkId::new(1, 0, ChunkType::BulkData);
    let utoc = Builder::new("Test_P").chunk(chunk, b"a thing").write(&mut ucas).unwrap();
    let text = "a line that says the same again\n".repeat(9);
    [
        ("mjolnir.json", MANIFEST.to_vec()),
        ("changes.json", br#"{"schema_version":1,"tags":[]}"#.to_vec()),
        ("content/Test_P.utoc", utoc),
        ("content/Test_P.ucas", ucas),
        ("docs/README.md", text.into_bytes()),
        ("docs/a.png", b"picture".to_vec()),
    ]
    .map(|(name, data)| (name.to_owned(), data))
    .into()
}

fn signed(compression: Compression) -> Vec<u8> {
    let mut members = members();
    let release = Release {
        slug: "test".to_owned(),
        version: Version::parse("1.0.0").unwrap(),
        author: None,
        signed_at: SignedAt::from_unix(0).unwrap(),
        files: members.iter().map(|(name, data)| (name.clone(), Sha256Digest::of(data))).collect(),
    };
    let envelope = release.sign(&SeedKey::from_seed(&[7; 32])).unwrap();
    members.insert(signature::MEMBER.to_owned(), envelope.into_bytes());
    let members: Vec<_> = members.iter().map(|(name, data)| (name.as_str(), data.as_slice())).collect();
    write(&members, compression, Cursor::new(Vec::new())).unwrap().into_inner()
}

fn judged(bytes: &[u8]) -> Report {
    let context = Context {
        slug: Some("test".to_owned()),
        version: Some("1.0.0".to_owned()),
        require_signed: true,
        ..Context::default()
    };
    scan(bytes, &context)
}

/// The members that are installed, by name.
fn contents(bytes: &[u8]) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let archive = Archive::read(bytes).unwrap();
    archive.members().map(|member| (member.name_bytes().to_vec(), member.read().into_owned())).collect()
}

/// Holds what becomes of archives against the one that was signed.
struct Judge {
    members: BTreeMap<Vec<u8>, Vec<u8>>,
    good: Report,
    refused: usize,
    harmless: usize,
}

impl Judge {
    fn of(signed: &[u8]) -> Self {
        let good = judged(signed);
        assert_eq!(good.findings, []);
        assert_eq!((good.verdict(), good.canonical), (Verdict::Pass, Some(true)));
        assert!(good.signer.is_some());
        Self { members: contents(signed), good, refused: 0, harmless: 0 }
    }

    /// Whether the archive is refused; if not, nothing that counts may have changed.
    #[track_caller]
    fn refuses(&mut self, bytes: &[u8], what: &str) -> bool {
        let report = judged(bytes);
        if report.verdict() == Verdict::Fail {
            self.refused += 1;
            return true;
        }
        self.harmless += 1;
        assert_eq!(report.canonical, Some(false), "{what} is not canonical");
        assert_eq!(report.findings, [], "{what}");
        assert_eq!(report.signer, self.good.signer, "{what}: the author");
        assert_eq!(report.manifest, self.good.manifest, "{what}: the manifest");
        assert!(contents(bytes) == self.members, "{what}: the members");
        false
    }

    #[track_caller]
    fn must_refuse(&mut self, bytes: &[u8], what: &str) {
        assert!(self.refuses(bytes, what), "{what} passes");
    }

    #[track_caller]
    fn must_pass(&mut self, bytes: &[u8], what: &str) {
        assert!(!self.refuses(bytes, what), "{what}: {:?}", judged(bytes).findings);
    }
}

/// A field of a record: where it is in it, how long, and which of its bits a reader may pass over.
type Field = (&'static str, usize, usize, u64);

const LOCAL: [Field; 11] = [
    ("signature", 0, 4, 0),
    ("version needed", 4, 2, u64::MAX),
    ("flags", 6, 2, 0),
    ("method", 8, 2, 0),
    ("time", 10, 2, u64::MAX),
    ("date", 12, 2, u64::MAX),
    ("crc", 14, 4, 0),
    ("compressed size", 18, 4, 0),
    ("size", 22, 4, 0),
    ("name length", 26, 2, 0),
    ("extra length", 28, 2, 0),
];

const CENTRAL: [Field; 17] = [
    ("signature", 0, 4, 0),
    ("made by", 4, 2, u64::MAX),
    ("version needed", 6, 2, u64::MAX),
    ("flags", 8, 2, 0),
    ("method", 10, 2, 0),
    ("time", 12, 2, u64::MAX),
    ("date", 14, 2, u64::MAX),
    ("crc", 16, 4, 0),
    ("compressed size", 20, 4, 0),
    ("size", 24, 4, 0),
    ("name length", 28, 2, 0),
    ("extra length", 30, 2, 0),
    ("comment length", 32, 2, 0),
    ("disk", 34, 2, 0),
    ("internal attributes", 36, 2, u64::MAX),
    // All but what kind of file it is, of which one change makes none, which is tolerated as well.
    ("external attributes", 38, 4, 0x8FFF_FFFF),
    ("local offset", 42, 4, 0),
];

const END: [Field; 8] = [
    ("signature", 0, 4, 0),
    ("disk", 4, 2, 0),
    ("central disk", 6, 2, 0),
    ("count here", 8, 2, 0),
    ("count", 10, 2, 0),
    ("central size", 12, 4, 0),
    ("central offset", 16, 4, 0),
    ("comment length", 20, 2, 0),
];

fn u16_at(bytes: &[u8], at: usize) -> usize {
    u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap()).into()
}

fn u32_at(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

/// A canonical archive taken to pieces: each member's local record with its body, and its central record.
#[derive(Clone)]
struct Pieces {
    members: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Pieces {
    fn of(bytes: &[u8]) -> Self {
        let end = bytes.len() - 22;
        let (mut at, count) = (u32_at(bytes, end + 16), u16_at(bytes, end + 10));
        let mut members = Vec::new();
        for _ in 0..count {
            let central = bytes[at..at + 46 + u16_at(bytes, at + 28)].to_vec();
            at += central.len();
            let local = u32_at(&central, 42);
            let length = 30 + u16_at(bytes, local + 26) + u32_at(&central, 20);
            members.push((bytes[local..local + length].to_vec(), central));
        }
        Self { members }
    }

    /// Lays the pieces out again, local records in the order `order`, central ones in their own.
    fn laid_out(&self, order: &[usize]) -> Vec<u8> {
        let (mut out, mut offsets) = (Vec::new(), vec![0; self.members.len()]);
        for index in order {
            offsets[*index] = out.len();
            out.extend_from_slice(&self.members[*index].0);
        }
        let central = out.len();
        for ((_, record), offset) in self.members.iter().zip(offsets) {
            let mut record = record.clone();
            record[42..46].copy_from_slice(&u32::try_from(offset).unwrap().to_le_bytes());
            out.extend_from_slice(&record);
        }
        finish(out, central, self.members.len())
    }

    fn join(&self) -> Vec<u8> {
        self.laid_out(&(0..self.members.len()).collect::<Vec<_>>())
    }
}

/// Ends an archive whose central directory starts at `central`.
fn finish(mut out: Vec<u8>, central: usize, count: usize) -> Vec<u8> {
    let size = u32::try_from(out.len() - central).unwrap();
    let (count, central) = (u16::try_from(count).unwrap(), u32::try_from(central).unwrap());
    out.extend_from_slice(b"PK\x05\x06\0\0\0\0");
    out.extend([count, count].iter().flat_map(|count| count.to_le_bytes()));
    out.extend(size.to_le_bytes());
    out.extend(central.to_le_bytes());
    out.extend([0, 0]);
    out
}

/// Flips each bit of a record's fields and holds those that must be noticed against the rest.
fn flip(judge: &mut Judge, good: &[u8], at: usize, fields: &[Field], record: &str) {
    for (name, offset, length, tolerated) in fields {
        for bit in 0..length * 8 {
            let mut bytes = good.to_vec();
            bytes[at + offset + bit / 8] ^= 1 << (bit % 8);
            let what = format!("bit {bit} of the {name} of {record}");
            match tolerated.checked_shr(u32::try_from(bit).unwrap()).unwrap_or_default() & 1 {
                0 => judge.must_refuse(&bytes, &what),
                _ => drop(judge.refuses(&bytes, &what)),
            }
        }
    }
}

#[test]
fn every_bit_of_every_header_and_of_every_name() {
    for compression in [Compression::Store, Compression::Text] {
        let good = signed(compression);
        let mut judge = Judge::of(&good);
        let end = good.len() - 22;
        flip(&mut judge, &good, end, &END, "the end record");
        let mut at = u32_at(&good, end + 16);
        for _ in 0..u16_at(&good, end + 10) {
            let (local, length) = (u32_at(&good, at + 42), u16_at(&good, at + 28));
            let name = String::from_utf8(good[at + 46..at + 46 + length].to_vec()).unwrap();
            flip(&mut judge, &good, at, &CENTRAL, &format!("the central record of {name}"));
            flip(&mut judge, &good, local, &LOCAL, &format!("the local record of {name}"));
            let whole = [("name", 0, length, 0)];
            flip(&mut judge, &good, at + 46, &whole, &format!("the central record of {name}"));
            flip(&mut judge, &good, local + 30, &whole, &format!("the local record of {name}"));
            at += 46 + length;
        }
        assert!(judge.refused > 4000 && judge.harmless > 500, "{} {}", judge.refused, judge.harmless);
    }
}

#[test]
fn every_bit_of_every_body() {
    for compression in [Compression::Store, Compression::Text] {
        let good = signed(compression);
        let mut judge = Judge::of(&good);
        for (local, central) in &Pieces::of(&good).members {
            let start = 30 + u16_at(local, 26);
            let at = u32_at(central, 42);
            for bit in start * 8..local.len() * 8 {
                let mut bytes = good.clone();
                bytes[at + bit / 8] ^= 1 << (bit % 8);
                let refused = judge.refuses(&bytes, &format!("bit {bit} of a body"));
                // A deflate stream ends within its last byte; what is left of that says nothing.
                let deflated = u16_at(local, 8) == 8;
                assert!(refused || deflated && bit / 8 == local.len() - 1, "bit {bit} of a body passes");
            }
        }
        assert!(judge.harmless <= 4 * 7, "{}", judge.harmless);
    }
}

/// A body that was changed together with its checksum and sizes in all records: only the signature sees it.
#[test]
fn bodies_with_right_checksums() {
    let good = signed(Compression::Store);
    let mut judge = Judge::of(&good);
    let pieces = Pieces::of(&good);
    for index in 0..pieces.members.len() {
        for change in [&(|body: &mut Vec<u8>| body[0] ^= 1) as &dyn Fn(&mut Vec<u8>), &|body| body.push(b' ')]
        {
            let mut changed = pieces.clone();
            let (local, central) = &mut changed.members[index];
            let mut body = local.split_off(30 + u16_at(local, 26));
            change(&mut body);
            let (crc, size) = (crc32fast::hash(&body), u32::try_from(body.len()).unwrap());
            for (record, at) in [(&mut *local, 14), (central, 16)] {
                let fields = [crc, size, size].map(u32::to_le_bytes);
                record[at..at + 12].copy_from_slice(fields.as_flattened());
            }
            local.extend_from_slice(&body);
            let bytes = changed.join();
            let name = String::from_utf8_lossy(&changed.members[index].1[46..]).into_owned();
            // White space behind the envelope's JSON is no part of what it says, and it states no digest of
            // itself: that alone passes.
            if name == signature::MEMBER && body.ends_with(b" ") {
                let report = judged(&bytes);
                assert_eq!((report.verdict(), report.signer), (Verdict::Pass, judge.good.signer));
            } else {
                judge.must_refuse(&bytes, &name);
            }
        }
    }
}

#[test]
fn every_cut_and_what_is_added_around() {
    let good = signed(Compression::Text);
    let mut judge = Judge::of(&good);
    for length in 0..good.len() {
        judge.must_refuse(&good[..length], &format!("the first {length} bytes"));
        judge.must_refuse(&good[good.len() - length..], &format!("the last {length} bytes"));
    }
    for more in [&b"\0"[..], b"PK\x05\x06", &[b' '; 70_000], &good] {
        judge.must_refuse(&[&good, more].concat(), "bytes behind");
        judge.must_refuse(&[more, &good].concat(), "bytes in front");
    }
    // Comments, with their lengths stated.
    let mut bytes = good.clone();
    let end = bytes.len() - 22;
    bytes[end + 20] = 5;
    bytes.extend_from_slice(b"hello");
    judge.must_refuse(&bytes, "a comment of the archive");
    for index in 0..Pieces::of(&good).members.len() {
        let mut pieces = Pieces::of(&good);
        let central = &mut pieces.members[index].1;
        central[32] = 5;
        central.extend_from_slice(b"hello");
        judge.must_refuse(&pieces.join(), "a comment of a member");
    }
    // Gaps in front of every record, with offsets that are right.
    let pieces = Pieces::of(&good);
    for index in 0..pieces.members.len() {
        let mut gaping = pieces.clone();
        gaping.members[index].0.push(0);
        judge.must_refuse(&gaping.join(), "a byte between members");
        let mut gaping = pieces.clone();
        gaping.members[index].1.push(0);
        judge.must_refuse(&gaping.join(), "a byte between central records");
    }
}

#[test]
fn members_added_removed_doubled_renamed() {
    let good = signed(Compression::Text);
    let mut judge = Judge::of(&good);
    let pieces = Pieces::of(&good);
    assert!(pieces.join() == good, "pieces lay out as they were");
    let other = Pieces::of(&{
        let members: [(&str, &[u8]); 2] = [("docs/new.md", b"new"), ("docs/b.png", b"new")];
        write(&members, Compression::Store, Cursor::new(Vec::new())).unwrap().into_inner()
    });
    for extra in &other.members {
        for at in 0..=pieces.members.len() {
            let mut more = pieces.clone();
            more.members.insert(at, extra.clone());
            judge.must_refuse(&more.join(), "a member more");
        }
    }
    for index in 0..pieces.members.len() {
        let mut fewer = pieces.clone();
        let one = fewer.members.remove(index);
        judge.must_refuse(&fewer.join(), "a member less");
        let mut twice = pieces.clone();
        twice.members.push(one.clone());
        judge.must_refuse(&twice.join(), "a member twice");
        // The second one has another body.
        let mut twin = other.members[1].clone();
        let name = &one.1[46..];
        for (record, at) in [(&mut twin.0, 26), (&mut twin.1, 28)] {
            let start = if at == 26 { 30 } else { 46 };
            let old = u16_at(record, at);
            record.splice(start..start + old, name.iter().copied());
            record[at] = u8::try_from(name.len()).unwrap();
        }
        let mut twins = pieces.clone();
        twins.members.push(twin.clone());
        judge.must_refuse(&twins.join(), "a name twice, the second another");
        twins.members.swap(index, pieces.members.len());
        judge.must_refuse(&twins.join(), "a name twice, the first another");
        // Two central records for one local one.
        let mut shared = pieces.clone();
        shared.members.push((Vec::new(), one.1.clone()));
        judge.must_refuse(&shared.join(), "a central record more");
        for length in 0..name.len() {
            let mut renamed = pieces.clone();
            let (local, central) = &mut renamed.members[index];
            for byte in [&mut local[30 + length], &mut central[46 + length]] {
                *byte = if byte.is_ascii_alphabetic() { *byte ^ 0x20 } else { b'x' };
            }
            judge.must_refuse(&renamed.join(), "a name in another case");
        }
        let mut moved = pieces.clone();
        let (local, central) = &mut moved.members[index];
        (local[30], central[46]) = (b'/', b'/');
        judge.must_refuse(&moved.join(), "a name that starts with a slash");
    }
}

#[test]
fn what_readers_tolerate_is_harmless() {
    let good = signed(Compression::Text);
    let mut judge = Judge::of(&good);
    let pieces = Pieces::of(&good);
    let count = pieces.members.len();
    // Any order: of local records alone, of both.
    for turn in 1..count {
        let order: Vec<usize> = (0..count).map(|index| (index + turn) % count).collect();
        judge.must_pass(&pieces.laid_out(&order), "local records in another order");
        let mut turned = pieces.clone();
        turned.members.rotate_left(turn);
        judge.must_pass(&turned.join(), "members in another order");
    }
    for index in 0..count {
        // Flags that say nothing of the bytes, in both records; in one alone they contradict each other.
        for (byte, bit) in [(0, 1 << 1), (0, 1 << 2), (1, 1 << 3)] {
            let mut flagged = pieces.clone();
            flagged.members[index].0[6 + byte] |= bit;
            judge.must_refuse(&flagged.join(), "a flag in the local record alone");
            flagged.members[index].1[8 + byte] |= bit;
            judge.must_pass(&flagged.join(), "a flag");
        }
        for (byte, bit) in (0..16).map(|bit| (bit / 8, 1u8 << (bit % 8))) {
            if matches!((byte, bit), (0, 2 | 4) | (1, 8)) {
                continue;
            }
            let mut flagged = pieces.clone();
            flagged.members[index].0[6 + byte] |= bit;
            flagged.members[index].1[8 + byte] |= bit;
            judge.must_refuse(&flagged.join(), "a flag that changes what a member is");
        }
        // Data descriptors, of all kinds that there are.
        let values = pieces.members[index].1[16..28].to_vec();
        for (sign, zeros) in [(&b"PK\x07\x08"[..], true), (b"PK\x07\x08", false), (b"", true), (b"", false)] {
            let mut described = pieces.clone();
            let (local, central) = &mut described.members[index];
            (local[6], central[8]) = (1 << 3, 1 << 3);
            if zeros {
                local[14..26].fill(0);
            }
            local.extend_from_slice(sign);
            local.extend_from_slice(&values);
            judge.must_pass(&described.join(), "a data descriptor");
            let (local, _) = &mut described.members[index];
            *local.last_mut().unwrap() ^= 1;
            judge.must_refuse(&described.join(), "a data descriptor that differs");
        }
        // Extra fields: those of times, users and anything unknown.
        for (id, harmless) in
            [(0x5455_u16, true), (0x7875, true), (0xFFFF, true), (0x0001, false), (0x9901, false)]
        {
            let extra = [&id.to_le_bytes()[..], &[5, 0, 1, 2, 3, 4, 5]].concat();
            for record in [0, 1] {
                let mut extended = pieces.clone();
                let (local, central) = &mut extended.members[index];
                if record == 0 {
                    let start = 30 + u16_at(local, 26);
                    local[28] = 9;
                    local.splice(start..start, extra.iter().copied());
                } else {
                    central[30] = 9;
                    central.extend_from_slice(&extra);
                }
                match harmless {
                    true => judge.must_pass(&extended.join(), "an extra field"),
                    false => judge.must_refuse(&extended.join(), "an extra field that changes the member"),
                }
            }
        }
    }
    // Empty directory entries, anywhere.
    let folder = Pieces::of(&folder(b"", 0o40_755));
    let (full, link) = (Pieces::of(&self::folder(b"x", 0o40_755)), Pieces::of(&self::folder(b"", 0o120_777)));
    for at in 0..=count {
        let mut more = pieces.clone();
        more.members.insert(at, folder.members[0].clone());
        judge.must_pass(&more.join(), "a directory entry");
        more.members[at] = full.members[0].clone();
        judge.must_refuse(&more.join(), "a directory entry with content");
        more.members[at] = link.members[0].clone();
        judge.must_refuse(&more.join(), "a directory entry that is a link");
    }
    assert!(judge.harmless > 100 && judge.refused > 100);
}

/// An archive of the one entry `docs/`.
fn folder(data: &[u8], mode: u32) -> Vec<u8> {
    let name = b"docs/";
    let mut out = b"PK\x03\x04\x0a\0\0\0\0\0\0\0\x21\0".to_vec();
    let size = u32::try_from(data.len()).unwrap();
    let sums = [crc32fast::hash(data), size, size].map(u32::to_le_bytes);
    out.extend_from_slice(sums.as_flattened());
    out.extend([5, 0, 0, 0]);
    out.extend_from_slice(name);
    out.extend_from_slice(data);
    let central = out.len();
    out.extend_from_slice(b"PK\x01\x02\x0a\x03\x0a\0\0\0\0\0\0\0\x21\0");
    out.extend_from_slice(sums.as_flattened());
    out.extend([5, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    out.extend((mode << 16).to_le_bytes());
    out.extend([0; 4]);
    out.extend_from_slice(name);
    finish(out, central, 1)
}
