//! Containers, directory indices, container headers and shader libraries as fuzz targets.
//!
//! Each target comes with inputs to start from, made here, and holds its reader to 16 MiB and to so many reads.
//! Oodle is left out: its decoder panics on bad input, which is caught in builds and is what a fuzzer stops at.

use std::sync::atomic::{AtomicU64, Ordering};

use iostore::{
    Builder, ChunkId, ChunkType, ContainerHeader, Limits, Package, PackageId, ReadAt, ShaderEntry,
    ShaderGroup, ShaderLibrary, Toc, check, read_chunk,
};

use crate::memory::within;
use crate::target::Target;

/// All targets.
pub const TARGETS: [Target; 4] = [
    Target { name: "iostore_container", run: container, seeds: container_seeds },
    Target { name: "iostore_directory", run: directory, seeds: directory_seeds },
    Target { name: "iostore_header", run: header, seeds: header_seeds },
    Target { name: "shader_library", run: shader_library, seeds: shader_library_seeds },
];

const MIB: usize = 1 << 20;

/// What is done with any container, in 16 MiB whatever it states.
pub fn container(data: &[u8]) {
    // The lengths come first, as 16 bits of the `.utoc`.
    let Some((length, rest)) = data.split_first_chunk::<2>() else { return };
    let (utoc, ucas) = rest.split_at(rest.len().min(u16::from_le_bytes(*length).into()));
    within(data, 16 * MIB, 0, || exercise(utoc, ucas));
}

/// A `.ucas` that counts how often it is read, and how much.
struct Counted<'a> {
    bytes: &'a [u8],
    reads: AtomicU64,
    read: AtomicU64,
}

impl ReadAt for Counted<'_> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<()> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.read.fetch_add(buffer.len() as u64, Ordering::Relaxed);
        self.bytes.read_at(offset, buffer)
    }

    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }
}

/// Reads and checks a container. No more than once a block, and no byte twice.
pub fn exercise(utoc: &[u8], ucas: &[u8]) {
    let counted = Counted { bytes: ucas, reads: AtomicU64::new(0), read: AtomicU64::new(0) };
    let structure = check::toc_structure(utoc, ucas.len() as u64);
    let checked = check::container(utoc, &counted, None);
    let (reads, read) = (counted.reads.into_inner(), counted.read.into_inner());
    assert!(reads <= utoc.len() as u64 / 12 && read <= ucas.len() as u64, "{reads} reads of {read} bytes");
    if let Ok(toc) = checked {
        let ids: Vec<_> = toc.chunks().iter().map(|chunk| chunk.id).collect();
        assert_eq!(structure.map(|summary| summary.chunk_ids), Ok(ids));
    }
    let limits = Limits { chunk_bytes: MIB as u64, ..Limits::default() };
    let Ok(toc) = Toc::read(utoc, &limits) else { return };
    assert_eq!(toc.write(), utoc);
    for (index, chunk) in toc.chunks().iter().enumerate().take(64) {
        assert_eq!(toc.find(chunk.id), Some(index));
        assert!(toc.resolve(chunk.id).is_none_or(|found| found == index));
        assert!(toc.path(index).is_none_or(|path| !path.split('/').any(|part| part == "..")));
        if let Ok(bytes) = read_chunk(&toc, index, &[&ucas], &limits) {
            assert_eq!(bytes.len() as u64, chunk.length);
        }
    }
}

/// Any bytes as the directory index of three chunks.
pub fn directory(data: &[u8]) {
    let mut utoc = plain();
    let metas = utoc.len() - 3 * 24;
    let Ok(size) = u32::try_from(data.len()) else { return };
    utoc.splice(metas..metas, data.iter().copied());
    utoc[48..52].copy_from_slice(&size.to_le_bytes());
    let read = || Toc::read(&utoc, &Limits::default());
    let Ok(toc) = within(data, MIB, 64, read) else { return };
    assert_eq!(toc.write(), utoc);
    for index in 0..toc.chunks().len() {
        assert!(toc.path(index).is_none_or(|path| path.split('/').count() <= 64 + 1 + 512));
    }
}

/// A table of contents of three chunks, without its directory index.
fn plain() -> Vec<u8> {
    let id = |id| ChunkId::new(id, 0, ChunkType::BulkData);
    let builder = Builder::new("a_P").chunk(id(1), b"a").chunk(id(2), b"b").chunk(id(3), b"c");
    let mut utoc = builder.write(&mut Vec::new()).expect("because three chunks can be placed");
    let end = utoc.len() - 3 * 24;
    utoc.drain(end - 34..end);
    utoc[48] = 0;
    utoc
}

/// Any bytes as a container header: what is accepted is the same once written and read again.
pub fn header(data: &[u8]) {
    if let Ok(header) = within(data, MIB, 64, || ContainerHeader::read(data)) {
        assert_eq!(ContainerHeader::read(&header.write()), Ok(header));
    }
}

/// Any bytes as a shader library: what is accepted is written back.
pub fn shader_library(data: &[u8]) {
    if let Ok(library) = within(data, MIB, 64, || ShaderLibrary::read(data)) {
        assert_eq!(library.write(), data);
    }
}

/// Two packages with bulk data and an override.
fn pair() -> (Vec<u8>, Vec<u8>) {
    let mut ucas = Vec::new();
    let utoc = Builder::new("pakchunk900-Test_P")
        .chunk(ChunkId::new(99, 0, ChunkType::BulkData), b"override")
        .package(Package {
            bulk: Some(b"bulk".into()),
            imports: vec![PackageId(7)],
            shader_maps: vec![[5; 20]],
            ..Package::new("/Game/A/B", b"a package")
        })
        .package(Package::new("/Engine/A/B", b"a package"))
        .write(&mut ucas);
    (utoc.expect("because these can be written"), ucas)
}

fn container_seeds() -> Vec<(&'static str, Vec<u8>)> {
    let (utoc, ucas) = pair();
    let length = u16::try_from(utoc.len()).unwrap_or(u16::MAX);
    vec![("packages", [&length.to_le_bytes()[..], &utoc, &ucas].concat())]
}

fn directory_seeds() -> Vec<(&'static str, Vec<u8>)> {
    let id = |id| ChunkId::new(id, 0, ChunkType::BulkData);
    let builder = Builder::new("a_P");
    let builder = builder.named_chunk(id(1), "a/b/c.ubulk", b"a").named_chunk(id(2), "a/d.ubulk", b"b");
    let utoc = builder.chunk(id(3), b"c").write(&mut Vec::new()).expect("because three chunks can be placed");
    let size = utoc[48..52].first_chunk().map_or(0, |size| u32::from_le_bytes(*size)) as usize;
    let end = utoc.len() - 3 * 24;
    vec![("three_chunks", utoc[end - size..end].to_vec())]
}

fn header_seeds() -> Vec<(&'static str, Vec<u8>)> {
    let (utoc, ucas) = pair();
    let read = || -> Option<Vec<u8>> {
        let toc = Toc::read(&utoc, &Limits::default()).ok()?;
        let index = toc.find(toc.container().header_chunk())?;
        read_chunk(&toc, index, &[&ucas], &Limits::default()).ok()
    };
    vec![("two_packages", read().expect("because it was just written"))]
}

fn shader_library_seeds() -> Vec<(&'static str, Vec<u8>)> {
    let library = ShaderLibrary {
        maps: vec![[1; 20]],
        shaders: vec![[3; 20], [4; 20]],
        groups: vec![ChunkId::from_bytes([9; 12])],
        map_entries: vec![[0, 2]],
        shader_entries: vec![ShaderEntry(5), ShaderEntry((10 << 34) | 5)],
        group_entries: vec![ShaderGroup { first: 0, count: 2, uncompressed_size: 30, compressed_size: 20 }],
        indices: vec![0, 1],
    };
    vec![("one_group", library.write())]
}
