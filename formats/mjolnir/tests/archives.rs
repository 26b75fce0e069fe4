//! Archives around their limits, and with containers that are damaged in one place each.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeSet;
use std::io::{Cursor, Write};

use iostore::{Builder, ChunkId, ChunkType};
use mjolnir::scan::{Context, scan};
use mjolnir::zip::{Archive, Compression, MEMBERS, Reason, UNPACKED, write};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

const MANIFEST: &str = r#"{"schema_version":1,"name":"x","version":"1.0.0","type":"content","summary":"s"}"#;
const CHANGES: &str = r#"{"schema_version":1,"tags":[]}"#;

/// A container of two chunks, the first of two blocks.
fn container() -> (Vec<u8>, Vec<u8>) {
    let (long, mut ucas) = (vec![7; 100_000], Vec::new());
    let builder = Builder::new("Test_P")
        .chunk(ChunkId::new(1, 0, ChunkType::BulkData), long.as_slice())
        .chunk(ChunkId::new(2, 0, ChunkType::BulkData), b"short".as_slice());
    let utoc = builder.write(&mut ucas).unwrap();
    (utoc, ucas)
}

fn codes(members: &[(&str, &[u8])]) -> BTreeSet<&'static str> {
    let own: [(&str, &[u8]); 2] =
        [("mjolnir.json", MANIFEST.as_bytes()), ("changes.json", CHANGES.as_bytes())];
    let members: Vec<_> = own.iter().chain(members).copied().collect();
    let bytes = write(&members, Compression::Store, Cursor::new(Vec::new())).unwrap().into_inner();
    scan(&bytes, &Context::default()).errors().map(|found| found.code.token()).collect()
}

#[test]
fn containers_that_the_game_would_not_find_its_chunks_in() {
    let (utoc, ucas) = container();
    let number = |at: usize| u32::from_le_bytes(utoc[at..at + 4].try_into().unwrap()) as usize;
    let (chunks, blocks, seeds) = (number(24), number(28), number(84));
    assert!(chunks >= 2 && blocks >= 3 && seeds >= 1);
    let places = 144 + 12 * chunks;
    let seed_at = places + 10 * chunks;
    let block_at = seed_at + 4 * seeds;
    let check = |what: &str, expected: Option<&str>, change: &dyn Fn(&mut Vec<u8>, &mut Vec<u8>)| {
        let (mut utoc, mut ucas) = (utoc.clone(), ucas.clone());
        change(&mut utoc, &mut ucas);
        let found = codes(&[("content/Test_P.utoc", &utoc), ("content/Test_P.ucas", &ucas)]);
        assert_eq!(found, expected.into_iter().collect(), "{what}");
    };
    check("nothing", None, &|_, _| {});
    let bad =
        |what: &str, change: &dyn Fn(&mut Vec<u8>, &mut Vec<u8>)| check(what, Some("bad_container"), change);
    for (what, at, values) in [
        ("magic", 0, &[0x2E][..]),
        ("version", 16, &[0, 7, 9]),
        ("header size", 20, &[143, 145, 0]),
        ("chunk count", 24, &[1, 3, 0xFF]),
        ("block count", 28, &[0, 2, 4, 0xFF]),
        ("block entry size", 32, &[0, 11, 13]),
        ("method count", 36, &[1, 9]),
        ("method name length", 40, &[31, 33]),
        ("directory size", 48, &[0, 1, 0xFF]),
        ("partition count", 52, &[0, 2]),
        ("flags", 80, &[0x04, 0x10, 0x20, 0x40, 0x80]),
        ("seed count", 84, &[0, 0xFF]),
        ("overflow count", 96, &[1, 2]),
        ("an id", 144, &[0xFF]),
        ("a repeated id", 144, &[utoc[156]]),
        ("a place's offset", places + 4, &[1]),
        ("a place's length", places + 5, &[1]),
        ("a block's offset", block_at + 4, &[1]),
        ("a block's size", block_at + 5, &[utoc[block_at + 5].wrapping_add(1)]),
        ("a block's unpacked size", block_at + 8, &[utoc[block_at + 8].wrapping_add(1)]),
        ("a block's method", block_at + 11, &[1, 2]),
    ] {
        for value in values {
            if utoc[at] != *value {
                bad(&format!("{what} {value}"), &|utoc, _| utoc[at] = *value);
            }
        }
    }
    for byte in 0..seeds * 4 {
        // Another seed leads to another place or, by chance, to the same; never to nothing unnoticed.
        let mut changed = utoc.clone();
        changed[seed_at + byte] ^= 0x55;
        let found = codes(&[("content/Test_P.utoc", &changed), ("content/Test_P.ucas", &ucas)]);
        assert!(found.is_empty() || found == ["bad_container"].into(), "{found:?}");
    }
    bad("a byte behind", &|utoc, _| utoc.push(0));
    bad("a byte less", &|utoc, _| utoc.truncate(utoc.len() - 1));
    bad("no header", &|utoc, _| utoc.truncate(143));
    bad("no ids", &|utoc, _| utoc.truncate(144));
    bad("a short `.ucas`", &|_, ucas| ucas.truncate(ucas.len() - 1));
    check("a flag without methods", None, &|utoc, _| utoc[80] |= 1);
    for at in 64..80 {
        check("a key", Some("encrypted_container"), &|utoc, _| utoc[at] = 1);
    }
    check("encrypted", Some("encrypted_container"), &|utoc, _| utoc[80] |= 2);
    bad("encrypted, of another version", &|utoc, _| (utoc[80], utoc[16]) = (2, 7));
    bad("encrypted, without its ids", &|utoc, _| {
        utoc[80] |= 2;
        utoc.truncate(150);
    });
    // Cut anywhere, the table of contents is no other one.
    for length in (1..utoc.len()).step_by(7) {
        bad("cut", &|utoc, _| utoc.truncate(length));
    }
}

#[test]
fn pairs_folders_and_doubles() {
    let (utoc, ucas) = container();
    let (utoc, ucas) = (utoc.as_slice(), ucas.as_slice());
    for (members, expected) in [
        (vec![("content/a.utoc", utoc)], vec!["bad_container", "orphan_utoc"]),
        (vec![("content/a.ucas", ucas)], vec!["orphan_ucas"]),
        (
            vec![("content/a.utoc", utoc), ("content/b.ucas", ucas)],
            vec!["bad_container", "orphan_ucas", "orphan_utoc"],
        ),
        (vec![("content/a.b.utoc", utoc), ("content/a.b.ucas", ucas)], vec![]),
        (vec![("a.utoc", utoc), ("a.ucas", ucas)], vec!["no_content"]),
        (vec![("Content/a.utoc", utoc), ("Content/a.ucas", ucas)], vec!["no_content"]),
        (vec![("docs/a.md", b"x".as_slice())], vec!["no_content"]),
        (
            vec![
                ("content/a.utoc", utoc),
                ("content/a.ucas", ucas),
                ("content/b.utoc", utoc),
                ("content/b.ucas", ucas),
            ],
            vec!["duplicate_chunk"],
        ),
        (
            vec![("content/a.utoc", utoc), ("content/a.ucas", ucas), ("x/a.utoc", utoc), ("x/a.ucas", ucas)],
            vec![],
        ),
    ] {
        let names: Vec<_> = members.iter().map(|(name, _)| *name).collect();
        assert_eq!(codes(&members), expected.into_iter().collect(), "{names:?}");
    }
}

/// An archive by a writer that keeps to none of our limits.
fn zipped(members: impl Iterator<Item = (String, u64)>) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    let piece = vec![0; 1 << 20];
    for (name, length) in members {
        zip.start_file(name, options).unwrap();
        let (whole, rest) = (length >> 20, usize::try_from(length & 0xF_FFFF).unwrap());
        (0..whole).for_each(|_| zip.write_all(&piece).unwrap());
        zip.write_all(&piece[..rest]).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn as_many_members_as_are_allowed() {
    let many = |count: usize| zipped((0..count).map(|index| (format!("{index}.md"), 1)));
    assert_eq!(Archive::read(&many(MEMBERS)).unwrap().members().count(), MEMBERS);
    assert_eq!(Archive::read(&many(MEMBERS + 1)).unwrap_err().reason, Reason::MemberCount);
}

/// One more is refused before anything is unpacked, which the reader's own tests hold.
#[test]
fn as_many_bytes_as_are_allowed() {
    let bytes = zipped([("a.md".to_owned(), UNPACKED - 5), ("b.md".to_owned(), 5)].into_iter());
    assert_eq!(Archive::read(&bytes).unwrap().members().map(|member| member.size()).sum::<u64>(), UNPACKED);
}
