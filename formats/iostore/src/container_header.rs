//! The container header chunk: the packages that a container registers with the engine.
//!
//! An entry's imports are those of the package's own header, in the same order: the engine follows them
//! through this entry and not through the package. Versions 4 and 5 are read and 4 is written, always
//! at its exact length. Redirected and localized packages, of which the game has none, are kept as they are.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use std::collections::BTreeSet;

use wire::{ErrorKind, ReadError, Reader, Writer};

use crate::names::{MappedName, Names};
use crate::{ContainerId, PackageId};

const MAGIC: u32 = 0x496f_436e;
const ENTRY_SIZE: u64 = 16;
/// The kind of a name of the container's table.
const REDIRECT: u32 = 1;

/// The SHA-1 of a shader map.
pub type ShaderMapHash = [u8; 20];

/// What a container header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerHeader {
    /// The container, the same as in the table of contents.
    pub container: ContainerId,
    /// The packages, in the order of the file; ascending in what is written here.
    pub packages: Vec<PackageEntry>,
    /// Packages of an optional segment.
    pub optional_packages: Vec<PackageId>,
    /// Their store entries, as stored.
    pub optional_entries: Vec<u8>,
    /// Packages that stand in for others.
    pub redirects: Redirects,
    /// References that load nothing by themselves.
    pub soft_references: Option<SoftReferences>,
}

/// A package's entry in the package store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageEntry {
    /// The package.
    pub id: PackageId,
    /// What it imports.
    pub imports: Vec<PackageId>,
    /// The shader maps of its materials.
    pub shader_maps: Vec<ShaderMapHash>,
}

/// Packages that stand in for others, by language or always. The engine applies them; nothing here does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redirects {
    names: Names,
    localized: Vec<(PackageId, MappedName)>,
    redirected: Vec<(PackageId, PackageId, MappedName)>,
}

impl Redirects {
    /// Packages that have localized forms, with the names of those that are in the game's own language.
    pub fn localized(&self) -> impl ExactSizeIterator<Item = (PackageId, String)> {
        self.localized.iter().map(|(source, name)| (*source, name.text(&self.names)))
    }

    /// Packages instead of which others are loaded: source, target and the source's name.
    pub fn redirected(&self) -> impl ExactSizeIterator<Item = (PackageId, PackageId, String)> {
        self.redirected.iter().map(|(source, target, name)| (*source, *target, name.text(&self.names)))
    }

    /// How many names they have.
    pub fn name_count(&self) -> usize {
        self.names.len()
    }

    fn read(r: &mut Reader<'_>) -> Result<Self, ReadError> {
        let names = Names::read(r)?;
        let count = u64::from(r.u32("localized packages")?);
        let mut localized = Vec::with_capacity(r.count(count, 8 + 8, "localized packages")?);
        for _ in 0..count {
            let source = PackageId(r.u64("localized package")?);
            localized.push((source, MappedName::read(r, &names, REDIRECT, "localized package name")?));
        }
        let count = u64::from(r.u32("package redirects")?);
        let mut redirected = Vec::with_capacity(r.count(count, 8 + 8 + 8, "package redirects")?);
        for _ in 0..count {
            let (source, target) =
                (PackageId(r.u64("redirect source")?), PackageId(r.u64("redirect target")?));
            redirected.push((source, target, MappedName::read(r, &names, REDIRECT, "redirect name")?));
        }
        Ok(Self { names, localized, redirected })
    }

    fn write(&self, w: &mut Writer) {
        self.names.write(w);
        w.u32(length(self.localized.len()));
        for (source, name) in &self.localized {
            w.u64(source.0);
            name.write(w, REDIRECT);
        }
        w.u32(length(self.redirected.len()));
        for (source, target, name) in &self.redirected {
            w.u64(source.0).u64(target.0);
            name.write(w, REDIRECT);
        }
    }
}

/// Soft package references, of which the framing alone is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SoftReferences {
    /// The packages that are referred to.
    pub packages: Vec<PackageId>,
    /// Which package refers to which, as stored.
    pub entries: Vec<u8>,
}

impl ContainerHeader {
    /// Reads the bytes of a container header chunk.
    pub fn read(bytes: &[u8]) -> Result<Self, ReadError> {
        let mut r = Reader::new(bytes, "container header");
        let magic = r.u32("magic")?;
        if magic != MAGIC {
            return Err(r.malformed("magic", format!("{magic:#010x}, not a container header")));
        }
        let version = r.u32("version")?;
        if !matches!(version, 4 | 5) {
            let message = format!("container header version {version}, only 4 and 5 are read");
            return Err(r.unsupported("version", message));
        }
        let container = ContainerId(r.u64("container id")?);
        let ids = package_ids(&mut r, "package ids")?;
        let mut seen = BTreeSet::new();
        if let Some(id) = ids.iter().find(|id| !seen.insert(**id)) {
            return Err(r.malformed("package ids", format!("package {id} is there twice")));
        }
        let size = u64::from(r.u32("store entry size")?);
        let packages = store_entries(r.section(size, "store entries")?, ids)?;
        let optional_packages = package_ids(&mut r, "optional package ids")?;
        let size = u64::from(r.u32("optional entry size")?);
        let optional_entries = r.bytes(size, "optional entries")?.to_vec();
        let redirects = Redirects::read(&mut r)?;
        let soft_references = match version {
            4 => soft_references(&mut r)?,
            _ => placed_soft_references(&mut r)?,
        };
        // Some writers pad the chunk to a multiple of 16.
        let rest = r.rest();
        if rest.len() > 15 || rest.iter().any(|byte| *byte != 0) {
            let message = format!("{} bytes, at most 15 zeros are allowed", rest.len());
            return Err(r.malformed("end", message));
        }
        Ok(Self { container, packages, optional_packages, optional_entries, redirects, soft_references })
    }

    /// The bytes of the chunk, as version 4.
    pub fn write(&self) -> Vec<u8> {
        let mut w = Writer::new();
        w.u32(MAGIC).u32(4).u64(self.container.0);
        w.u32(length(self.packages.len()));
        for package in &self.packages {
            w.u64(package.id.0);
        }
        let entries = self.store_entries();
        w.u32(length(entries.len())).bytes(&entries);
        write_ids(&mut w, &self.optional_packages);
        w.u32(length(self.optional_entries.len())).bytes(&self.optional_entries);
        self.redirects.write(&mut w);
        w.u32(self.soft_references.is_some().into());
        if let Some(soft) = &self.soft_references {
            write_ids(&mut w, &soft.packages);
            w.u32(length(soft.entries.len())).bytes(&soft.entries);
        }
        w.into_bytes()
    }

    fn store_entries(&self) -> Vec<u8> {
        let mut entries = Writer::new();
        let mut heap = Writer::new();
        let heap_start = self.packages.len().saturating_mul(16);
        for package in &self.packages {
            let view = |entries: &mut Writer, heap: &mut Writer, count: usize, bytes: &[u8]| {
                // An offset counts from the view's own first byte.
                let target = heap_start.saturating_add(heap.len());
                let offset = match count {
                    0 => 0,
                    _ => length(target.saturating_sub(entries.len())),
                };
                entries.u32(length(count)).u32(offset);
                heap.bytes(bytes);
            };
            let imports: Vec<u8> = package.imports.iter().flat_map(|id| id.0.to_le_bytes()).collect();
            view(&mut entries, &mut heap, package.imports.len(), &imports);
            let shaders = package.shader_maps.as_flattened();
            view(&mut entries, &mut heap, package.shader_maps.len(), shaders);
        }
        entries.bytes(heap.as_bytes());
        entries.into_bytes()
    }
}

/// A 32-bit length: headers come from a reader of such lengths, or from the builder, which refuses a
/// header that is longer.
fn length(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

fn write_ids(w: &mut Writer, ids: &[PackageId]) {
    w.u32(length(ids.len()));
    for id in ids {
        w.u64(id.0);
    }
}

fn package_ids(r: &mut Reader<'_>, field: &str) -> Result<Vec<PackageId>, ReadError> {
    let count = u64::from(r.u32(field)?);
    let mut ids = Vec::with_capacity(r.count(count, 8, field)?);
    for _ in 0..count {
        ids.push(PackageId(r.u64(field)?));
    }
    Ok(ids)
}

/// Reads the entries of `ids`: a table of views, then the heap that they look at.
fn store_entries(mut r: Reader<'_>, ids: Vec<PackageId>) -> Result<Vec<PackageEntry>, ReadError> {
    let block = Block { bytes: r.rest(), start: r.offset() };
    r.count(ids.len() as u64, ENTRY_SIZE, "entries")?;
    // Nobody shares lists between entries, and a file that did could ask for any amount of memory.
    let mut budget = block.bytes.len();
    let mut packages = Vec::with_capacity(ids.len());
    for id in ids {
        let imports = block.view::<8>(&mut r, "imports", &mut budget)?;
        let shader_maps = block.view::<20>(&mut r, "shader map hashes", &mut budget)?;
        packages.push(PackageEntry {
            id,
            imports: imports.into_iter().map(|id| PackageId(u64::from_le_bytes(id))).collect(),
            shader_maps,
        });
    }
    Ok(packages)
}

/// The block that views count their offsets in.
struct Block<'a> {
    bytes: &'a [u8],
    start: u64,
}

impl Block<'_> {
    /// Reads a view at `r` and the items of `N` bytes that it looks at.
    fn view<const N: usize>(
        &self,
        r: &mut Reader<'_>,
        field: &str,
        budget: &mut usize,
    ) -> Result<Vec<[u8; N]>, ReadError> {
        let at = r.offset();
        let place = usize::try_from(r.position()).unwrap_or(usize::MAX);
        let (count, offset) = (r.u32(field)?, r.u32(field)?);
        let range = |value: u32| usize::try_from(value).unwrap_or(usize::MAX);
        let items = range(count)
            .checked_mul(N)
            .and_then(|size| {
                let start = place.checked_add(range(offset))?;
                self.bytes.get(start..start.checked_add(size)?)
            })
            .ok_or_else(|| {
                let message = format!(
                    "{count} items of {N} bytes at {offset}: array out of range of the {} bytes from {}",
                    self.bytes.len(),
                    self.start
                );
                ReadError::new(ErrorKind::Malformed, at, format!("store entries.{field}"), message)
            })?;
        *budget = budget.checked_sub(items.len()).ok_or_else(|| {
            let message = "the lists of all entries are longer than the block";
            ReadError::new(ErrorKind::Limit, at, format!("store entries.{field}"), message)
        })?;
        Ok(items.as_chunks::<N>().0.to_vec())
    }
}

fn soft_references(r: &mut Reader<'_>) -> Result<Option<SoftReferences>, ReadError> {
    match r.u32("soft references")? {
        0 => Ok(None),
        1 => {
            let packages = package_ids(r, "soft package ids")?;
            let size = u64::from(r.u32("soft entry size")?);
            let entries = r.bytes(size, "soft entries")?.to_vec();
            Ok(Some(SoftReferences { packages, entries }))
        }
        other => Err(r.malformed("soft references", format!("{other}, 0 or 1 is allowed"))),
    }
}

/// Version 5 says first where the block of soft references is.
fn placed_soft_references(r: &mut Reader<'_>) -> Result<Option<SoftReferences>, ReadError> {
    let (offset, size) = (r.i64("soft offset")?, r.i64("soft size")?);
    let start = r.offset();
    let soft = soft_references(r)?;
    let found = r.offset().saturating_sub(start);
    if u64::try_from(offset) != Ok(start) || u64::try_from(size) != Ok(found) {
        let message = format!("{size} bytes at {offset} are stated, {found} are at {start}");
        return Err(r.malformed("soft references", message));
    }
    Ok(soft)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ContainerId;

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<_> = text.chars().filter_map(|c| c.to_digit(16)).collect();
        digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
    }

    fn entry(name: &str, imports: &[&str]) -> PackageEntry {
        PackageEntry {
            id: PackageId::of_name(name),
            imports: imports.iter().map(|name| PackageId::of_name(name)).collect(),
            shader_maps: Vec::new(),
        }
    }

    fn two_packages() -> ContainerHeader {
        ContainerHeader {
            container: ContainerId::of_name("ue55-retoc"),
            packages: vec![
                entry("/Game/Textures/T_Test", &[]),
                entry("/Game/Meshes/SM_Cube", &["/Game/Meshes/M_Cube_2", "/Game/Meshes/M_Cube_1"]),
            ],
            optional_packages: Vec::new(),
            optional_entries: Vec::new(),
            redirects: Redirects::default(),
            soft_references: None,
        }
    }

    fn everything() -> ContainerHeader {
        let mut header = two_packages();
        header.packages[0].shader_maps = vec![[1; 20], [2; 20]];
        header.packages[1].shader_maps = vec![[3; 20]];
        header.optional_packages = vec![PackageId(9)];
        header.optional_entries = vec![0; 16];
        header.soft_references =
            Some(SoftReferences { packages: vec![PackageId(5), PackageId(6)], entries: vec![1, 2, 3] });
        header
    }

    #[test]
    fn the_bytes_are_the_known_ones() {
        let expected =
            hex("6e436f49 04000000 8ae241a5d8421cf0 02000000 03bba0837e2a4448 8981b842387b6e51 30000000
             00000000 00000000 00000000 00000000   02000000 10000000 00000000 00000000
             5caa0a22e13e4d11 30a5aeb7ffee185d   000000000000000000000000000000000000000000000000");
        assert_eq!(two_packages().write(), expected);
        assert_eq!(ContainerHeader::read(&expected), Ok(two_packages()));
    }

    #[test]
    fn what_is_written_is_read() {
        let bytes = everything().write();
        assert_eq!(ContainerHeader::read(&bytes), Ok(everything()));
        let padded = [bytes.as_slice(), &[0; 15]].concat();
        assert_eq!(ContainerHeader::read(&padded), Ok(everything()));
        assert!(ContainerHeader::read(&[bytes.as_slice(), &[0; 16]].concat()).is_err());
        assert!(ContainerHeader::read(&[bytes.as_slice(), &[1]].concat()).is_err());
    }

    /// Two names, one localized package, two redirects.
    #[test]
    fn redirects_are_kept() {
        let mut w = Writer::new();
        w.u32(2)
            .u32(5)
            .u64(0xC164_0000)
            .u64(11)
            .u64(12)
            .u16_be(1)
            .u16_be(0x8002)
            .bytes(b"a")
            .u16(0xe4)
            .u16(0xf6);
        w.u32(1).u64(7).u32(1 << 30).u32(0);
        w.u32(2).u64(8).u64(9).u32(1 | (1 << 30)).u32(3).u64(9).u64(8).u32(1 << 30).u32(1);
        let plain = two_packages().write();
        let (head, tail) = plain.split_at(plain.len() - 16);
        let bytes = [head, w.as_bytes(), &tail[12..]].concat();
        let header = ContainerHeader::read(&bytes).unwrap();
        assert_eq!(header.write(), bytes);
        let redirects = &header.redirects;
        assert_eq!(redirects.localized().collect::<Vec<_>>(), [(PackageId(7), "a".to_owned())]);
        assert_eq!(
            redirects.redirected().collect::<Vec<_>>(),
            [(PackageId(8), PackageId(9), "äö_2".to_owned()), (PackageId(9), PackageId(8), "a_0".to_owned())]
        );
        for at in head.len()..bytes.len() {
            for flip in [1, 0x80, 0xff] {
                let mut bytes = bytes.clone();
                bytes[at] ^= flip;
                if let Ok(header) = ContainerHeader::read(&bytes) {
                    assert_eq!(ContainerHeader::read(&header.write()), Ok(header));
                }
            }
        }
    }

    #[test]
    fn version_5_states_where_its_soft_references_are() {
        let mut bytes = two_packages().write();
        bytes[4] = 5;
        let flag = bytes.len() - 4;
        let placed = |offset: u64, size: u64| {
            let place = [offset.to_le_bytes(), size.to_le_bytes()].concat();
            [&bytes[..flag], &place, &bytes[flag..]].concat()
        };
        let offset = flag as u64 + 16;
        assert_eq!(ContainerHeader::read(&placed(offset, 4)), Ok(two_packages()));
        assert!(ContainerHeader::read(&placed(offset + 1, 4)).is_err());
        assert!(ContainerHeader::read(&placed(offset, u64::MAX)).is_err());
    }

    #[test]
    fn faults_are_told_apart() {
        let good = everything().write();
        let with = |at: usize, value: u32| {
            let mut bytes = good.clone();
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
            ContainerHeader::read(&bytes).unwrap_err()
        };
        assert_eq!(with(0, 0).kind, ErrorKind::Malformed);
        assert_eq!(with(4, 9).kind, ErrorKind::Unsupported);
        assert_eq!(with(16, u32::MAX).kind, ErrorKind::Truncated);
        // The count of the first entry's shader maps, and the offset of the second's imports.
        let first = 16 + 4 + 16 + 4;
        assert_eq!(with(first + 8, u32::MAX).kind, ErrorKind::Malformed);
        assert_eq!(with(first + 16 + 4, 0x7fff_ffff).kind, ErrorKind::Malformed);
        let mut twice = two_packages();
        twice.packages[1].id = twice.packages[0].id;
        assert_eq!(ContainerHeader::read(&twice.write()).unwrap_err().kind, ErrorKind::Malformed);
    }

    #[test]
    fn no_prefix_and_no_changed_byte_panics() {
        let good = everything().write();
        for end in 0..good.len() {
            assert!(ContainerHeader::read(&good[..end]).is_err(), "prefix of {end}");
        }
        for at in 0..good.len() {
            for flip in [1, 0x80, 0xff] {
                let mut bytes = good.clone();
                bytes[at] ^= flip;
                if let Ok(header) = ContainerHeader::read(&bytes) {
                    assert_eq!(ContainerHeader::read(&header.write()), Ok(header));
                }
            }
        }
    }
}
