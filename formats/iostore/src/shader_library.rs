//! Shader libraries: which shader maps of materials are made of which shaders, and in which chunks their code
//! lies; and the names under which the game looks for them.
//!
//! It knows no shader code. A library is passed on and never made here: the name of the format is copied from a
//! library that is there. Invariant: every range and every index leads to what is there.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use wire::{ReadError, Reader, Writer};

use crate::container_header::ShaderMapHash;
use crate::hash::hash_utf16_lower;
use crate::{ChunkId, ChunkType};

const VERSION: u32 = 1;

/// What a chunk of type 8 says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShaderLibrary {
    /// The shader maps, by which packages ask.
    pub maps: Vec<ShaderMapHash>,
    /// The shaders.
    pub shaders: Vec<[u8; 20]>,
    /// The chunks of type 9 that hold the code of a group of shaders each.
    pub groups: Vec<ChunkId>,
    /// For every shader map its first place in `indices` and how many it has there.
    pub map_entries: Vec<[u32; 2]>,
    /// For every shader where it lies.
    pub shader_entries: Vec<ShaderEntry>,
    /// For every group what it holds.
    pub group_entries: Vec<ShaderGroup>,
    /// Numbers of shaders, of which maps and groups have stretches.
    pub indices: Vec<u32>,
}

/// Where a shader lies, in 64 bits: 4 of its frequency, 30 of its group, 30 of its offset in the uncompressed
/// code of that group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShaderEntry(pub u64);

impl ShaderEntry {
    /// At which stage it runs.
    pub fn frequency(self) -> u8 {
        (self.0 & 0xf) as u8
    }

    /// The number of its group.
    pub fn group(self) -> u32 {
        ((self.0 >> 4) & 0x3fff_ffff) as u32
    }

    /// Where it begins in the uncompressed code of its group.
    pub fn offset(self) -> u32 {
        (self.0 >> 34) as u32
    }
}

/// A group of shaders, which are compressed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShaderGroup {
    /// Its first place in the indices.
    pub first: u32,
    /// How many shaders it has.
    pub count: u32,
    /// The bytes of its code.
    pub uncompressed_size: u32,
    /// Its bytes in its chunk; stored when there are as many.
    pub compressed_size: u32,
}

impl ShaderLibrary {
    /// Reads the bytes of a chunk of type 8.
    pub fn read(bytes: &[u8]) -> Result<Self, ReadError> {
        let mut r = Reader::new(bytes, "shader library");
        let version = r.u32("version")?;
        if version != VERSION {
            let message = format!("shader library version {version}, only {VERSION} is read");
            return Err(r.unsupported("version", message));
        }
        let this = Self {
            maps: list(&mut r, "shader maps", 20, |r, field| r.array(field))?,
            shaders: list(&mut r, "shaders", 20, |r, field| r.array(field))?,
            groups: list(&mut r, "groups", 12, |r, field| Ok(ChunkId::from_bytes(r.array(field)?)))?,
            map_entries: list(&mut r, "map entries", 8, |r, field| Ok([r.u32(field)?, r.u32(field)?]))?,
            shader_entries: list(&mut r, "shader entries", 8, |r, field| Ok(ShaderEntry(r.u64(field)?)))?,
            group_entries: list(&mut r, "group entries", 16, |r, field| {
                Ok(ShaderGroup {
                    first: r.u32(field)?,
                    count: r.u32(field)?,
                    uncompressed_size: r.u32(field)?,
                    compressed_size: r.u32(field)?,
                })
            })?,
            indices: list(&mut r, "indices", 4, |r, field| r.u32(field))?,
        };
        this.check().map_err(|(field, message)| r.malformed(field, message))?;
        r.finish()?;
        Ok(this)
    }

    /// The bytes of the chunk.
    pub fn write(&self) -> Vec<u8> {
        let mut w = Writer::new();
        w.u32(VERSION);
        put(&mut w, &self.maps, |w, hash| {
            w.bytes(hash);
        });
        put(&mut w, &self.shaders, |w, hash| {
            w.bytes(hash);
        });
        put(&mut w, &self.groups, |w, id| {
            w.bytes(id.as_bytes());
        });
        put(&mut w, &self.map_entries, |w, [first, count]| {
            w.u32(*first).u32(*count);
        });
        put(&mut w, &self.shader_entries, |w, entry| {
            w.u64(entry.0);
        });
        put(&mut w, &self.group_entries, |w, group| {
            w.u32(group.first).u32(group.count).u32(group.uncompressed_size).u32(group.compressed_size);
        });
        put(&mut w, &self.indices, |w, index| {
            w.u32(*index);
        });
        w.into_bytes()
    }

    fn check(&self) -> Result<(), (&'static str, String)> {
        for (field, entries, of) in [
            ("map entries", self.map_entries.len(), self.maps.len()),
            ("shader entries", self.shader_entries.len(), self.shaders.len()),
            ("group entries", self.group_entries.len(), self.groups.len()),
        ] {
            if entries != of {
                return Err((field, format!("{entries} for {of}")));
            }
        }
        if let Some(id) = self.groups.iter().find(|id| id.kind() != ChunkType::ShaderCode) {
            return Err(("groups", format!("chunk {id} is of another type")));
        }
        let maps = self.map_entries.iter().map(|[first, count]| ("map entries", *first, *count));
        let groups = self.group_entries.iter().map(|group| ("group entries", group.first, group.count));
        let range =
            |first: u32, count: u32| first.checked_add(count).and_then(|end| usize::try_from(end).ok());
        for (field, first, count) in maps.chain(groups) {
            if range(first, count).is_none_or(|end| end > self.indices.len()) {
                let message = format!("{count} indices from {first}, there are {}", self.indices.len());
                return Err((field, message));
            }
        }
        let place = |index: u32| usize::try_from(index).unwrap_or(usize::MAX);
        if let Some(index) = self.indices.iter().find(|index| place(**index) >= self.shaders.len()) {
            return Err(("indices", format!("shader {index} of {}", self.shaders.len())));
        }
        for entry in &self.shader_entries {
            let group = self.group_entries.get(place(entry.group()));
            if group.is_none_or(|group| entry.offset() >= group.uncompressed_size) {
                let message = format!("byte {} of group {} is not there", entry.offset(), entry.group());
                return Err(("shader entries", message));
            }
        }
        Ok(())
    }
}

fn list<T>(
    r: &mut Reader<'_>,
    field: &str,
    item_bytes: u64,
    item: impl Fn(&mut Reader<'_>, &str) -> Result<T, ReadError>,
) -> Result<Vec<T>, ReadError> {
    let count = u64::from(r.u32(field)?);
    let mut items = Vec::with_capacity(r.count(count, item_bytes, field)?);
    for _ in 0..count {
        items.push(item(r, field)?);
    }
    Ok(items)
}

fn put<T>(w: &mut Writer, items: &[T], item: impl Fn(&mut Writer, &T)) {
    // Lists come from a reader of such counts.
    w.u32(u32::try_from(items.len()).unwrap_or(u32::MAX));
    items.iter().for_each(|one| item(w, one));
}

/// The chunk of the shader library in the file `name`, which is called
/// `ShaderArchive-<library>-<format>-<platform>.ushaderbytecode`; `None` for other names.
pub fn shader_library_chunk(name: &str) -> Option<ChunkId> {
    let library = name.strip_prefix("ShaderArchive-")?.strip_suffix(".ushaderbytecode")?;
    Some(ChunkId::new(hash_utf16_lower(library), 0, ChunkType::ShaderCodeLibrary))
}

/// The number by which the game opens the shader library of a container, `<project>_Chunk<number>`: it follows
/// `pakchunk` in the base name, and something follows it. A container with a shader library keeps its number.
pub fn pak_chunk_number(stem: &str) -> Option<u32> {
    let rest = stem
        .get(8..)
        .filter(|_| stem.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("pakchunk")))?;
    let digits = rest.find(|c: char| !c.is_ascii_digit())?;
    rest.get(..digits)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library() -> ShaderLibrary {
        ShaderLibrary {
            maps: vec![[1; 20], [2; 20]],
            shaders: vec![[3; 20], [4; 20], [5; 20]],
            groups: vec![ChunkId::from_bytes([9; 12])],
            map_entries: vec![[0, 2], [2, 1]],
            shader_entries: [0, 10, 20].map(|offset| ShaderEntry((offset << 34) | 5)).into(),
            group_entries: vec![ShaderGroup {
                first: 0,
                count: 3,
                uncompressed_size: 30,
                compressed_size: 20,
            }],
            indices: vec![0, 1, 2],
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let bytes = library().write();
        assert_eq!(ShaderLibrary::read(&bytes), Ok(library()));
        let entry = library().shader_entries[2];
        assert_eq!((entry.frequency(), entry.group(), entry.offset()), (5, 0, 20));
        assert_eq!(ShaderLibrary::read(&ShaderLibrary::default().write()), Ok(ShaderLibrary::default()));
    }

    #[test]
    fn what_leads_nowhere_is_refused() {
        let refused = |change: fn(&mut ShaderLibrary), message: &str| {
            let mut library = library();
            change(&mut library);
            let error = ShaderLibrary::read(&library.write()).unwrap_err().to_string();
            assert!(error.contains(message), "{error}, expected: {message}");
        };
        refused(|library| library.maps.truncate(1), "2 for 1");
        refused(|library| library.groups[0] = ChunkId::from_bytes([8; 12]), "is of another type");
        refused(|library| library.map_entries[1] = [u32::MAX, 2], "indices from");
        refused(|library| library.group_entries[0].count = 4, "4 indices from 0, there are 3");
        refused(|library| library.indices[0] = 3, "shader 3 of 3");
        refused(|library| library.shader_entries[0].0 = 30 << 34, "byte 30 of group 0");
        refused(|library| library.shader_entries[0].0 = 1 << 4, "of group 1 is not there");
        let mut later = library().write();
        later[0] = 2;
        assert!(ShaderLibrary::read(&later).unwrap_err().to_string().contains("only 1 is read"));
    }

    #[test]
    fn no_prefix_and_no_changed_byte_panics() {
        let good = library().write();
        for end in 0..good.len() {
            assert!(ShaderLibrary::read(&good[..end]).is_err(), "prefix of {end}");
        }
        for at in 0..good.len() {
            let mut bytes = good.clone();
            bytes[at] ^= 0xff;
            if let Ok(library) = ShaderLibrary::read(&bytes) {
                assert_eq!(library.write(), bytes);
            }
        }
    }

    #[test]
    fn libraries_are_found_by_name() {
        for (library, id) in [
            ("Meteorite_Chunk988-PCD3D_SM6-PCD3D_SM6", "9ce9b89d58db5eb300000008"),
            ("Meteorite_Chunk24853-PCD3D_SM6-PCD3D_SM6", "7e0874f0b1a2f6fc00000008"),
        ] {
            let chunk = shader_library_chunk(&format!("ShaderArchive-{library}.ushaderbytecode")).unwrap();
            assert_eq!(chunk.to_string(), id);
        }
        assert_eq!(shader_library_chunk("ShaderArchive-a.uasset"), None);
    }

    #[test]
    fn containers_have_numbers() {
        for (stem, number) in [
            ("pakchunk988-MJOLNIRMAT-Windows", Some(988)),
            ("PakChunk0_P", Some(0)),
            ("pakchunk988", None),
            ("pakchunk", None),
            ("pakchunk-a", None),
            ("chunk1-a", None),
            ("ä", None),
        ] {
            assert_eq!(pak_chunk_number(stem), number, "{stem}");
        }
    }
}
