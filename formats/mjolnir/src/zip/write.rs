//! The canonical writer: one archive for one set of members, on every system and at any time.
//!
//! The `zip` crate lays the records out; what it would take from the system (made-by, today's date) is
//! fixed here. Deflated bytes come from one pinned encoder, named by [`ENCODER`]. Containers and pictures
//! are stored: the blocks of the ones and the data of the others are packed already.

use std::io::{self, Cursor, Seek, Write};

use miniz_oxide::deflate::compress_to_vec;
use wire::Writer;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, System, ZipArchive, ZipWriter};

use super::{
    CENTRAL, CENTRAL_SIZE, DEFLATED, END, FIRST_DAY, LOCAL, LOCAL_SIZE, MEMBERS, REGULAR_FILE, UNIX,
    UNPACKED, VERSION_DEFLATED, canonical_rank,
};
use crate::path::{self, PathFault};

/// What shapes the bytes of deflated members: part of the version of every rule that writes archives.
pub const ENCODER: &str = "miniz_oxide 0.8.9, level 9";
const LEVEL: u8 = 9;
/// Text beyond this is stored: it is no text that a person wrote.
const LONGEST_TEXT: usize = 16 << 20;

/// Whether members are packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// All members are stored: bytes that depend on no encoder.
    Store,
    /// JSON and text are deflated where that is smaller; the rest is stored.
    #[default]
    Text,
}

/// Why an archive was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// A member's name breaks a rule.
    #[error("member `{name}`: {message}")]
    Name {
        /// The name.
        name: String,
        /// The rule.
        message: &'static str,
    },
    /// The members are too many or too large.
    #[error("{found} {what}; at most {most} are allowed")]
    Limit {
        /// What is counted.
        what: &'static str,
        /// How many there are.
        found: u64,
        /// How many may be.
        most: u64,
    },
    /// The output could not be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<zip::result::ZipError> for WriteError {
    fn from(error: zip::result::ZipError) -> Self {
        Self::Io(error.into())
    }
}

/// Writes the canonical archive of `members`, names and bytes in any order, and gives `out` back. The
/// names, the number and the sizes are checked before the first byte is written.
pub fn write<W: Write + Seek>(
    members: &[(&str, &[u8])],
    compression: Compression,
    out: W,
) -> Result<W, WriteError> {
    let mut members = members.to_vec();
    members.sort_by(|(a, _), (b, _)| canonical_rank(a.as_bytes()).cmp(&canonical_rank(b.as_bytes())));
    check(&members)?;
    let mut zip = ZipWriter::new(out);
    let options =
        SimpleFileOptions::default().system(System::Unix).compression_method(CompressionMethod::Stored);
    for (name, data) in members {
        let packed = match compression {
            Compression::Text => deflate_if_smaller(name.as_bytes(), data),
            Compression::Store => None,
        };
        match packed {
            // The crate packs with encoders of its own or takes over members of another archive; so the
            // member comes from an archive of one.
            Some(body) => {
                let mut one = ZipArchive::new(Cursor::new(archive_of_one(name, data, &body)))?;
                zip.raw_copy_file(one.by_index_raw(0)?)?;
            }
            None => {
                zip.start_file(name, options)?;
                zip.write_all(data)?;
            }
        }
    }
    Ok(zip.finish()?)
}

fn check(members: &[(&str, &[u8])]) -> Result<(), WriteError> {
    let limit = |what, found, most| WriteError::Limit { what, found, most };
    if members.len() > MEMBERS {
        return Err(limit("members", members.len() as u64, MEMBERS as u64));
    }
    let unpacked = members.iter().fold(0u64, |sum, (_, data)| sum.saturating_add(data.len() as u64));
    if unpacked > UNPACKED {
        return Err(limit("bytes in all members", unpacked, UNPACKED));
    }
    let mut folded: Vec<String> = Vec::with_capacity(members.len());
    for (name, data) in members {
        let refuse = |message| WriteError::Name { name: (*name).to_owned(), message };
        path::check(name.as_bytes())
            .map_err(|(PathFault::Traversal(message) | PathFault::Bad(message))| refuse(message))?;
        if !path::is_allowed_kind(name.as_bytes()) {
            return Err(refuse("only `.utoc .ucas .json .md .txt .png .jpg .jpeg .webp` are allowed"));
        }
        if data.is_empty() {
            return Err(refuse("it is empty; every member must have content"));
        }
        folded.push(name.to_ascii_lowercase());
    }
    folded.sort();
    match folded.array_windows().find(|[a, b]| a == b) {
        Some([name, _]) => Err(WriteError::Name {
            name: name.clone(),
            message: "another member has the same name but for case",
        }),
        None => Ok(()),
    }
}

/// What a member is deflated to, if it is text and becomes smaller by it.
pub(super) fn deflate_if_smaller(name: &[u8], data: &[u8]) -> Option<Vec<u8>> {
    if !may_be_deflated(name, data.len() as u64) {
        return None;
    }
    Some(compress_to_vec(data, LEVEL)).filter(|body| body.len() < data.len())
}

/// Whether deflating is tried at all.
pub(super) fn may_be_deflated(name: &[u8], length: u64) -> bool {
    matches!(path::extension(name), Some(b"json" | b"md" | b"txt")) && length <= LONGEST_TEXT as u64
}

/// An archive with one deflated member, for `zip` to copy from.
fn archive_of_one(name: &str, data: &[u8], body: &[u8]) -> Vec<u8> {
    let mut w = Writer::with_capacity(body.len() + 2 * name.len() + 128);
    let (name_length, central_at) = (name.len() as u16, LOCAL_SIZE as usize + name.len() + body.len());
    let common = |w: &mut Writer| {
        w.u16(VERSION_DEFLATED).u16(0).u16(DEFLATED).u16(0).u16(FIRST_DAY);
        w.u32(crc32fast::hash(data)).u32(body.len() as u32).u32(data.len() as u32);
        w.u16(name_length).u16(0);
    };
    w.u32(LOCAL);
    common(&mut w);
    w.bytes(name.as_bytes()).bytes(body);
    w.u32(CENTRAL).u16(UNIX << 8 | VERSION_DEFLATED);
    common(&mut w);
    // Comment, disk, internal attributes; external attributes; local offset.
    w.zeros(6).u32(REGULAR_FILE).u32(0).bytes(name.as_bytes());
    w.u32(END).zeros(4).u16(1).u16(1);
    w.u32(CENTRAL_SIZE as u32 + u32::from(name_length));
    w.u32(central_at as u32).u16(0);
    w.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::super::{Archive, Reason};
    use super::*;

    fn written(members: &[(&str, &[u8])], compression: Compression) -> Vec<u8> {
        write(members, compression, Cursor::new(Vec::new())).unwrap().into_inner()
    }

    #[test]
    fn what_is_written_reads_back_as_canonical() {
        let text = "a line that says the same again\n".repeat(40);
        let pattern: Vec<u8> = (0..70_000u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
        let members: [(&str, &[u8]); 5] = [
            ("docs/README.md", text.as_bytes()),
            ("content/x_P.utoc", &pattern),
            ("signature.json", b"{}"),
            ("LICENSE.txt", text.as_bytes()),
            ("mjolnir.json", text.as_bytes()),
        ];
        for compression in [Compression::Store, Compression::Text] {
            let bytes = written(&members, compression);
            let mut reversed = members;
            reversed.reverse();
            assert_eq!(bytes, written(&reversed, compression));
            let archive = Archive::read(&bytes).unwrap();
            assert!(archive.canonical());
            let names: Vec<_> = archive.members().map(|member| member.name()).collect();
            assert_eq!(
                names,
                ["mjolnir.json", "signature.json", "LICENSE.txt", "content/x_P.utoc", "docs/README.md"]
            );
            for (name, data) in members {
                let member = archive.member(name).unwrap();
                assert_eq!(&*member.read(), data, "{name}");
                let packed = compression == Compression::Text && data == text.as_bytes();
                assert_eq!(member.packed_size() < member.size(), packed, "{name}");
            }
        }
    }

    #[test]
    fn deflated_bytes_are_frozen() {
        let text = "a line that says the same again\n".repeat(40);
        let bytes = written(&[("x.md", text.as_bytes())], Compression::Text);
        // A change here is a change of the version of every rule that writes archives.
        assert_eq!((bytes.len(), crc32fast::hash(&bytes)), (153, 1_275_563_732));
    }

    #[test]
    fn other_encoders_are_read_but_not_canonical() {
        let text = [b'a'; 4000];
        let ours = written(&[("x.md", &text)], Compression::Text);
        assert!(Archive::read(&ours).unwrap().canonical());
        let faster = archive_of_one("x.md", &text, &compress_to_vec(&text, 1));
        assert!(!Archive::read(&faster).unwrap().canonical());
        let container = archive_of_one("x.utoc", &text, &compress_to_vec(&text, LEVEL));
        assert!(!Archive::read(&container).unwrap().canonical());
    }

    #[test]
    fn what_could_not_be_read_back_is_not_written() {
        for (name, data) in [("a.md", b"".as_slice()), ("../a.md", b"x"), ("a.exe", b"x"), ("A.md", b"x")] {
            let members: [(&str, &[u8]); 2] = [("a.md", b"x"), (name, data)];
            let result = write(&members, Compression::Store, Cursor::new(Vec::new()));
            assert!(matches!(result, Err(WriteError::Name { .. })), "{name}");
        }
    }

    /// Every prefix and every flipped bit is refused, or is in a field that readers pass over.
    #[test]
    fn damage_is_refused_or_harmless() {
        let text = [b'a'; 300];
        let members: [(&str, &[u8]); 3] =
            [("mjolnir.json", &text), ("content/x_P.utoc", b"123"), ("content/x_P.ucas", b"4")];
        let bytes = written(&members, Compression::Text);
        for end in 0..bytes.len() {
            assert!(Archive::read(&bytes[..end]).is_err(), "cut at {end}");
        }
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let Ok(archive) = Archive::read(&damaged) else {
                continue;
            };
            assert!(!archive.canonical(), "bit {bit}");
            for (name, data) in members {
                let same = archive.member(name).is_some_and(|member| *member.read() == *data);
                assert!(same, "bit {bit} changed `{name}`");
            }
        }
        let mut trailing = bytes.clone();
        trailing.push(0);
        assert_eq!(Archive::read(&trailing).unwrap_err().reason, Reason::Trailing);
    }
}
