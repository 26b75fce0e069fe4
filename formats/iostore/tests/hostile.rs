//! Containers built here, then damaged: nothing panics, everything is refused for the right reason.
#![allow(clippy::unwrap_used)]

use std::io;

use iostore::{
    Builder, ChunkError, ChunkHash, ChunkId, ChunkReader, ChunkType, ContainerId, DecompressError,
    Decompressor, Limits, Package, PackageId, Payload, ReadAt, Source, Toc, WriteError, check, read_chunk,
};
use wire::ErrorKind;

const LONG: usize = 150_000;

fn long_bytes() -> Vec<u8> {
    (0..LONG).map(|i| ((i * i) >> 7) as u8).collect()
}

fn bulk_id(id: u64) -> ChunkId {
    ChunkId::new(id, 0, ChunkType::BulkData)
}

/// Two packages, one of them a world with all kinds of bulk data, a library and an override.
fn write(ucas: &mut Vec<u8>) -> Vec<u8> {
    let long = long_bytes();
    let library = ChunkId::new(7, 0, ChunkType::ShaderCodeLibrary);
    Builder::new("pakchunk900-Test_P")
        .named_chunk(library, "Meteorite/Content/ShaderArchive-a.ushaderbytecode", b"library")
        .chunk(bulk_id(99), b"override")
        .package(Package {
            bulk: Some((&long).into()),
            optional_bulk: Some(b"optional".into()),
            mapped_bulk: Some(b"mapped".into()),
            is_world: true,
            imports: vec![PackageId::of_name("/Game/A/B")],
            shader_maps: vec![[5; 20]],
            ..Package::new("/Game/MJOLNIR/Maps/BGL/BGL", b"a world")
        })
        .package(Package::new("/Engine/A/B", b"a package"))
        .write(ucas)
        .unwrap()
}

fn pair() -> (Vec<u8>, Vec<u8>) {
    let mut ucas = Vec::new();
    let utoc = write(&mut ucas);
    (utoc, ucas)
}

fn read(utoc: &[u8]) -> Result<Toc, wire::ReadError> {
    Toc::read(utoc, &Limits::default())
}

#[test]
fn what_is_written_is_read() {
    let (utoc, ucas) = pair();
    let toc = check::container(&utoc, &ucas, None).unwrap();
    assert_eq!(toc.container(), ContainerId::of_name("pakchunk900-Test_P"));
    let world = PackageId::of_name("/Game/MJOLNIR/Maps/BGL/BGL");
    let mut listing: Vec<_> = (0..toc.chunks().len())
        .map(|index| (toc.chunks()[index].id.kind(), toc.path(index).unwrap_or_default()))
        .collect();
    listing.sort();
    let world_path = |extension: &str| format!("Meteorite/Content/MJOLNIR/Maps/BGL/BGL.{extension}");
    assert_eq!(
        listing,
        [
            (ChunkType::ExportBundleData, "Engine/Content/A/B.uasset".to_owned()),
            (ChunkType::ExportBundleData, world_path("umap")),
            (ChunkType::BulkData, String::new()),
            (ChunkType::BulkData, world_path("ubulk")),
            (ChunkType::OptionalBulkData, world_path("uptnl")),
            (ChunkType::MemoryMappedBulkData, world_path("m.ubulk")),
            (ChunkType::ContainerHeader, String::new()),
            (ChunkType::ShaderCodeLibrary, "Meteorite/Content/ShaderArchive-a.ushaderbytecode".to_owned()),
        ]
    );
    let bulk = toc.find(world.chunk(ChunkType::BulkData)).unwrap();
    assert_eq!(read_chunk(&toc, bulk, &[&ucas], &Limits::default()).unwrap(), long_bytes());
    assert_eq!(toc.chunks()[bulk].hash, ChunkHash::of(&long_bytes()));
    assert_eq!(toc.find(bulk_id(1)), None);
    assert_eq!(toc.resolve(bulk_id(1)), None);
}

/// Chunks in any number come back through the hash, whatever order they are given in.
#[test]
fn order_of_inputs_does_not_matter() {
    for count in [1, 2, 3, 4, 8, 16, 63, 256] {
        let contents: Vec<_> = (0..count).map(|i| vec![i as u8; 1 + i * 7 % 40]).collect();
        let names: Vec<_> = (0..count).map(|i| format!("/Game/P{}/X{i}", i % 5)).collect();
        let build = |order: &mut dyn Iterator<Item = usize>| {
            let builder = order.fold(Builder::new("n_P"), |builder, i| match i % 3 {
                0 => builder.chunk(bulk_id(i as u64 * 77), &contents[i]),
                _ => builder.package(Package::new(&names[i], &contents[i])),
            });
            let mut ucas = Vec::new();
            (builder.write(&mut ucas).unwrap(), ucas)
        };
        let forward = build(&mut (0..count));
        assert_eq!(forward, build(&mut (0..count).rev()));
        assert_eq!(forward, build(&mut (0..count).map(|i| (i + count / 2) % count)));
        check::container(&forward.0, &forward.1, None).unwrap();
    }
}

#[test]
fn what_must_not_be_written_is_refused() {
    fn refusal(builder: Builder<'_>) -> String {
        let mut ucas = Vec::new();
        let error = builder.write(&mut ucas).unwrap_err();
        assert!(ucas.is_empty(), "{error}");
        error.to_string()
    }
    let new = || Builder::new("a_P");
    let package = |name| new().package(Package::new(name, b"x"));
    let id = bulk_id(1);
    let odd = ChunkId::parse("010000000000000000000102").unwrap();
    let header = ContainerId::of_name("a_P").header_chunk();
    let twice = PackageId::of_name("/Game/A").chunk(ChunkType::ExportBundleData);
    let name = |name: &str, fault: &str| format!("the name `{name}` cannot be used: {fault}");
    for (builder, message) in [
        (new(), "a container without chunks".to_owned()),
        (Builder::new("ä_P").chunk(id, b"x"), name("ä_P", "it has letters that are not ASCII")),
        (Builder::new("a/b").chunk(id, b"x"), name("a/b", "it has too many components")),
        (Builder::new("").chunk(id, b"x"), name("", "it is empty")),
        (new().chunk(id, b"x").chunk(id, b"y"), format!("chunk {id} is there twice")),
        (package("/Game/A").package(Package::new("/Game/a", b"y")), format!("chunk {twice} is there twice")),
        (new().chunk(id, b""), format!("chunk {id} is empty; leave it out")),
        (new().chunk(odd, b"x"), format!("the id {odd} cannot be used: byte 10 is not 0")),
        (
            new().chunk(header, b"x"),
            format!("the id {header} cannot be used: the container header is made here"),
        ),
        (package("/Script/A"), name("/Script/A", "it is neither below `/Game/` nor below `/Engine/`")),
        (package("/Game/../A"), name("Meteorite/Content/../A.uasset", "it leads elsewhere")),
        (package("/Game/é"), name("Meteorite/Content/é.uasset", "it has letters that are not ASCII")),
        (
            package("/Game/A/b").named_chunk(id, "meteorite/Content/a/B.uasset", b"x"),
            name("meteorite/Content/a/B.uasset", "another file has it, if only in other letters"),
        ),
        (
            new().package(Package { id: PackageId(1), ..Package::new("/Game/A", b"x") }),
            "package `/Game/A` has the id 0x45536791432bd5d0, and is to be written as 0x0000000000000001"
                .to_owned(),
        ),
    ] {
        assert_eq!(refusal(builder), message);
    }
}

#[test]
fn a_full_disk_is_an_error() {
    struct Full;
    impl io::Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let error = Builder::new("a_P").chunk(bulk_id(1), b"x").write(&mut Full).unwrap_err();
    assert!(matches!(error, WriteError::Io(source) if source.kind() == io::ErrorKind::StorageFull));
}

/// Everything that is done with a foreign container. Must return, whatever it is given.
fn exercise(utoc: &[u8], ucas: &[u8]) {
    let _ = check::toc_structure(utoc, ucas.len() as u64);
    let _ = check::container(utoc, &ucas, None);
    let Ok(toc) = read(utoc) else { return };
    assert_eq!(toc.write(), utoc, "what is read is written as it was");
    for (index, chunk) in toc.chunks().iter().enumerate() {
        assert_eq!(toc.find(chunk.id), Some(index));
        toc.resolve(chunk.id);
        toc.path(index);
        let _ = read_chunk(&toc, index, &[&ucas], &Limits { chunk_bytes: 1 << 20, ..Limits::default() });
    }
}

#[test]
fn no_prefix_is_read() {
    let (utoc, ucas) = pair();
    for end in 0..utoc.len() {
        assert!(read(&utoc[..end]).is_err(), "prefix of {end}");
        assert!(check::toc_structure(&utoc[..end], ucas.len() as u64).is_err(), "prefix of {end}");
    }
    let longer = [utoc.as_slice(), &[0]].concat();
    assert_eq!(read(&longer).unwrap_err().kind, ErrorKind::Malformed);
}

#[test]
fn no_changed_byte_panics() {
    let (utoc, ucas) = pair();
    for at in 0..utoc.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff, utoc[at] ^ 1, utoc[at].wrapping_add(1)] {
            let mut bytes = utoc.clone();
            bytes[at] = value;
            exercise(&bytes, &ucas);
        }
    }
}

/// Fields of the header of a one-chunk container and what is said when they are wrong.
#[test]
fn wrong_headers_are_told_apart() {
    let mut ucas = Vec::new();
    let good = Builder::new("a_P").chunk(bulk_id(1), b"bytes").write(&mut ucas).unwrap();
    use ErrorKind::{Limit, Malformed, Truncated, Unsupported};
    for (at, bytes, kind, field) in [
        (0, &b"="[..], Malformed, "magic"),
        (16, &[7], Unsupported, "version"),
        (17, &[1], Unsupported, "reserved"),
        (20, &[143], Unsupported, "header size"),
        (24, &[0], Malformed, "chunk count"),
        (24, &[0xff; 4], Truncated, "chunks"),
        (28, &[0xff; 4], Truncated, "blocks"),
        (32, &[8], Unsupported, "block entry size"),
        (36, &[9], Limit, "method count"),
        (40, &[0xff; 4], Unsupported, "method name length"),
        (44, &[1], Malformed, "block size"),
        (44, &[0, 0, 0, 1], Limit, "block size"),
        (48, &[0xff; 4], Truncated, "directory index"),
        (52, &[0], Limit, "partition count"),
        (52, &[65], Limit, "partition count"),
        (79, &[1], Unsupported, "flags"),
        (80, &[2], Unsupported, "flags"),
        (80, &[4], Unsupported, "flags"),
        (80, &[0x20], Unsupported, "flags"),
        (84, &[0xff; 4], Truncated, "seeds"),
        (88, &[0; 8], Malformed, "partition size"),
        (96, &[0xff; 4], Truncated, "overflow"),
        (143, &[1], Unsupported, "reserved"),
    ] {
        let mut bad = good.clone();
        bad[at..at + bytes.len()].copy_from_slice(bytes);
        let error = read(&bad).unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.field.contains(field), "{error}");
        // Counts are judged where their items should be, a key with the flags, reserved bytes as one.
        if kind != Truncated && !matches!(at, 79 | 143) {
            assert_eq!(error.offset, at as u64, "{error}");
        }
    }
    let tight = Limits { toc_bytes: good.len() as u64 - 1, ..Limits::default() };
    assert_eq!(Toc::read(&good, &tight).unwrap_err().kind, Limit);
}

/// The places of a one-chunk container's sections: ids, places, seeds, blocks.
const ID: usize = 144;
const PLACE: usize = ID + 12;
const SEED: usize = PLACE + 10;
const BLOCK: usize = SEED + 4;

fn one_chunk(method: u8, stored: &[u8], length: u8) -> (Vec<u8>, Vec<u8>) {
    let mut ucas = Vec::new();
    let utoc = Builder::new("a_P").chunk(bulk_id(1), stored).write(&mut ucas).unwrap();
    let mut bytes = utoc[..BLOCK + 12].to_vec();
    bytes[80] |= 1;
    bytes[36] = 1;
    bytes[PLACE + 9] = length;
    bytes[BLOCK + 8] = length;
    bytes[BLOCK + 11] = method;
    bytes.extend_from_slice(b"zLIB");
    bytes.extend_from_slice(&[0; 28]);
    bytes.extend_from_slice(&utoc[BLOCK + 12..]);
    (bytes, ucas)
}

fn set_hash(utoc: &mut [u8], bytes: &[u8]) {
    let at = utoc.len() - 24;
    utoc[at..at + 20].copy_from_slice(ChunkHash::of(bytes).as_bytes());
}

/// `text` as a zlib stream of one stored block.
fn zlib(text: &[u8]) -> Vec<u8> {
    miniz_oxide::deflate::compress_to_vec_zlib(text, 6)
}

#[test]
fn zlib_blocks_give_exactly_what_they_state() {
    let text = b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    let stream = zlib(text);
    let result = |length: usize, stream: &[u8]| {
        let (mut utoc, ucas) = one_chunk(1, stream, length as u8);
        set_hash(&mut utoc, &text[..length.min(text.len())]);
        let toc = read(&utoc).unwrap();
        read_chunk(&toc, 0, &[&ucas], &Limits::default())
    };
    assert_eq!(result(text.len(), &stream).unwrap(), text);
    for (length, stream) in [
        (text.len() - 1, &stream[..]),
        (text.len() + 1, &stream),
        (text.len(), &stream[..stream.len() - 5]),
        (text.len(), b"no zlib stream"),
    ] {
        assert!(matches!(result(length, stream), Err(ChunkError::Corrupt { block: 0, .. })));
    }
    let mut sum = stream.clone();
    *sum.last_mut().unwrap() ^= 1;
    assert!(matches!(result(text.len(), &sum), Err(ChunkError::Corrupt { .. })), "the checksum counts");
}

#[test]
fn other_methods_are_asked_of_the_caller() {
    struct Upper;
    impl Decompressor for Upper {
        fn decompress(&self, method: &str, input: &[u8], output: &mut [u8]) -> Result<(), DecompressError> {
            assert_eq!(method, "Upper");
            output.copy_from_slice(&input.to_ascii_uppercase());
            Ok(())
        }
    }
    let (mut utoc, ucas) = one_chunk(1, b"bytes", 5);
    let name = BLOCK + 12;
    utoc[name..name + 5].copy_from_slice(b"Upper");
    set_hash(&mut utoc, b"BYTES");
    let toc = read(&utoc).unwrap();
    let partitions: [&dyn ReadAt; 1] = [&ucas];
    let reader = ChunkReader::new(&toc, &partitions);
    let error = reader.read(0, 5).unwrap_err();
    assert_eq!(error.to_string(), "unsupported compression `Upper` of block 0");
    assert_eq!(reader.with_decompressor(&Upper).read(0, 5).unwrap(), b"BYTES");
    assert!(matches!(reader.read(0, 4), Err(ChunkError::Limit { length: 5, limit: 4, .. })));
    assert!(matches!(reader.read(1, 5), Err(ChunkError::NotFound { index: 1, count: 1 })));
}

#[test]
fn wrong_places_and_bytes_are_refused() {
    let mut ucas = Vec::new();
    let good = Builder::new("a_P").chunk(bulk_id(1), b"bytes").write(&mut ucas).unwrap();
    let with = |at: usize, bytes: &[u8]| {
        let mut bad = good.clone();
        bad[at..at + bytes.len()].copy_from_slice(bytes);
        bad
    };
    for (what, bad) in [
        ("an offset inside a block", with(PLACE + 4, &[1])),
        ("an offset past all blocks", with(PLACE, &[0xff, 0xff, 0xff, 0, 0])),
        ("a length that is not its blocks'", with(PLACE + 9, &[6])),
        ("a length of more blocks", with(PLACE + 5, &[0xff; 5])),
        ("a stored block of two sizes", with(BLOCK + 5, &[4])),
        ("a block without bytes", with(BLOCK + 5, &[0, 0, 0, 0, 0, 0])),
        ("a block longer than a block", with(BLOCK + 5, &[1, 0, 1, 1, 0, 1])),
        ("a method that is not there", with(BLOCK + 11, &[1])),
    ] {
        let error = read(&bad).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Malformed, "{what}: {error}");
    }
    let result = |utoc: &[u8], ucas: &Vec<u8>| {
        read_chunk(&read(utoc).unwrap(), 0, &[ucas], &Limits::default()).unwrap_err()
    };
    assert!(matches!(result(&good, &b"byte".to_vec()), ChunkError::Truncated { end: 5, length: 4, .. }));
    assert!(matches!(result(&good, &b"bytez".to_vec()), ChunkError::Hash { .. }));
    let two_partitions = with(52, &[2]);
    assert!(matches!(result(&two_partitions, &ucas), ChunkError::MissingPartition { present: 1, .. }));
}

#[test]
fn of_blocks_read_at_once_the_one_that_is_not_there_is_named() {
    let (utoc, mut ucas) = pair();
    let toc = read(&utoc).unwrap();
    let world = PackageId::of_name("/Game/MJOLNIR/Maps/BGL/BGL");
    let bulk = toc.find(world.chunk(ChunkType::BulkData)).unwrap();
    let (first, blocks) = toc.blocks_of(bulk).unwrap();
    assert!(blocks.len() == 3 && blocks[2].offset == blocks[0].offset + 2 * 65_536, "{blocks:?}");
    ucas.truncate(blocks[1].offset as usize + 10);
    let error = read_chunk(&toc, bulk, &[&ucas], &Limits::default()).unwrap_err();
    assert!(matches!(error, ChunkError::Truncated { block, .. } if block == first + 1), "{error}");
}

#[test]
fn blocks_are_found_in_their_partitions() {
    let mut ucas = Vec::new();
    let long = long_bytes();
    let mut utoc = Builder::new("a_P").chunk(bulk_id(1), &long).write(&mut ucas).unwrap();
    utoc[52] = 3;
    utoc[88..96].copy_from_slice(&65_536_u64.to_le_bytes());
    let toc = read(&utoc).unwrap();
    let parts: Vec<&[u8]> = ucas.chunks(65_536).collect();
    assert_eq!(read_chunk(&toc, 0, &[&parts[0], &parts[1], &parts[2]], &Limits::default()).unwrap(), long);
    assert!(read_chunk(&toc, 0, &[&parts[0], &parts[1]], &Limits::default()).is_err());
    utoc[88..96].copy_from_slice(&65_537_u64.to_le_bytes());
    assert!(read(&utoc).unwrap_err().message.contains("across the end of a partition"));
}

#[test]
fn a_check_asks_what_the_game_asks() {
    let mut ucas = Vec::new();
    let good = Builder::new("a_P").chunk(bulk_id(1), b"bytes").write(&mut ucas).unwrap();
    let length = ucas.len() as u64;
    let with = |at: usize, bytes: &[u8]| {
        let mut bad = good.clone();
        bad[at..at + bytes.len()].copy_from_slice(bytes);
        bad
    };
    assert_eq!(check::toc_structure(&good, length).unwrap().chunk_ids, [bulk_id(1)]);
    assert!(check::toc_structure(&good, length - 1).is_err(), "the padding belongs to the block");
    for (what, bad) in [
        ("a seed of 0", with(SEED, &[0; 4])),
        ("a seed of another slot", with(SEED, &[0xfe])),
        ("two partitions", with(52, &[2])),
        ("fetched on demand", with(80, &[16])),
    ] {
        assert!(check::toc_structure(&bad, length).is_err(), "{what}");
    }
    for encrypted in [with(80, &[2]), with(64, &[1])] {
        let summary = check::toc_structure(&encrypted, length).unwrap();
        assert!(summary.encrypted && summary.chunk_ids == [bulk_id(1)]);
        assert!(check::container(&encrypted, &ucas, None).is_err());
    }
    // Without chunks: only a header and an index.
    let mut empty = good[..144].to_vec();
    empty[24] = 0;
    empty[28] = 0;
    empty[84] = 0;
    empty.extend_from_slice(&good[BLOCK + 12..good.len() - 24]);
    assert_eq!(check::toc_structure(&empty, 0).unwrap().chunk_ids, []);
    assert!(check::container(&empty, &ucas, None).is_err());
    // Any other id is not at the slot that the seed leads to, or changes nothing.
    let other = with(ID, &[2]);
    assert_eq!(check::toc_structure(&other, length).unwrap().chunk_ids, [bulk_id(2)]);
}

/// A source that says how long it is, and gives what it has in so many pieces.
struct Late(u64, &'static [&'static [u8]]);

impl Source for Late {
    fn len(&self) -> u64 {
        self.0
    }

    fn read(&self, sink: &mut dyn FnMut(&[u8]) -> std::io::Result<()>) -> std::io::Result<()> {
        self.1.iter().try_for_each(|piece| sink(piece))
    }
}

#[test]
fn a_source_gives_the_bytes_that_it_announced() {
    let write = |bulk: Payload<'_>| {
        let mut ucas = Vec::new();
        let package = Package { bulk: Some(bulk), ..Package::new("/Game/A", b"a package") };
        let utoc = Builder::new("pakchunk900-Test_P").package(package).write(&mut ucas);
        utoc.map(|utoc| (utoc, ucas)).map_err(|error| error.to_string())
    };
    assert_eq!(write(Payload::Source(&Late(4, &[b"bulk"]))), write(b"bulk".into()));
    for wrong in [Late(5, &[b"bulk"]), Late(3, &[b"bulk"]), Late(4, &[b"bulk", b"bulk"]), Late(4, &[])] {
        assert!(write(Payload::Source(&wrong)).is_err(), "{} of {:?}", wrong.0, wrong.1);
    }
}
