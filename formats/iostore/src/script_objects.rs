//! Script objects: the names behind the hashes by which packages import classes, from `global` alone.
//!
//! Nothing that is written needs them, since an index is the hash of a path; they let an index be shown as the
//! path that it stands for. Invariant: every name exists, and every index and outer is of an object.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use wire::{ReadError, Reader, Writer};

use crate::hash::hash_utf16_lower;
use crate::names::{MappedName, Names};

/// The kind of a name of the global table.
const GLOBAL: u32 = 2;
const ENTRY_SIZE: u64 = 32;
/// No object.
const NULL: u64 = u64::MAX;
/// How far objects may nest.
const MAX_DEPTH: usize = 64;

/// An object of the engine's or the game's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptObject {
    name: MappedName,
    /// Its index, by which packages import it.
    pub index: u64,
    /// The object that it is in.
    pub outer: Option<u64>,
    /// Its class, of class default objects and of what is in them.
    pub class: Option<u64>,
}

/// All script objects of a game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptObjects {
    names: Names,
    objects: Vec<ScriptObject>,
    /// Places in `objects` by index.
    by_index: Vec<(u64, usize)>,
}

impl ScriptObjects {
    /// Reads the bytes of a chunk of script objects.
    pub fn read(bytes: &[u8]) -> Result<Self, ReadError> {
        let mut r = Reader::new(bytes, "script objects");
        let names = Names::read(&mut r)?;
        let count = u64::from(r.u32("object count")?);
        let mut objects = Vec::with_capacity(r.count(count, ENTRY_SIZE, "objects")?);
        let object = |value| (value != NULL).then_some(value);
        for _ in 0..count {
            objects.push(ScriptObject {
                name: MappedName::read(&mut r, &names, GLOBAL, "object name")?,
                index: r.u64("object index")?,
                outer: object(r.u64("outer")?),
                class: object(r.u64("class")?),
            });
        }
        let mut by_index: Vec<_> =
            objects.iter().enumerate().map(|(place, object)| (object.index, place)).collect();
        by_index.sort_unstable();
        if let Some(((index, _), _)) = by_index.iter().zip(by_index.iter().skip(1)).find(|(a, b)| a.0 == b.0)
        {
            return Err(r.malformed("objects", format!("object {index:#018x} is there twice")));
        }
        let this = Self { names, objects, by_index };
        if let Some(outer) =
            this.objects.iter().find_map(|object| object.outer.filter(|of| this.find(*of).is_none()))
        {
            return Err(r.malformed("outer", format!("there is no object {outer:#018x}")));
        }
        r.finish()?;
        Ok(this)
    }

    /// The bytes of the chunk, as they were read.
    pub fn write(&self) -> Vec<u8> {
        let mut w = Writer::new();
        self.names.write(&mut w);
        // It was read as 32 bits.
        w.u32(u32::try_from(self.objects.len()).unwrap_or(u32::MAX));
        for object in &self.objects {
            object.name.write(&mut w, GLOBAL);
            w.u64(object.index).u64(object.outer.unwrap_or(NULL)).u64(object.class.unwrap_or(NULL));
        }
        w.into_bytes()
    }

    /// All objects, in the order of the chunk.
    pub fn objects(&self) -> &[ScriptObject] {
        &self.objects
    }

    /// How many names there are.
    pub fn name_count(&self) -> usize {
        self.names.len()
    }

    /// The object with this index.
    pub fn find(&self, index: u64) -> Option<&ScriptObject> {
        let at = self.by_index.binary_search_by_key(&index, |(index, _)| *index).ok()?;
        self.objects.get(self.by_index.get(at)?.1)
    }

    /// The path of the object with this index, joined by `/`, such as `/Script/Engine/StaticMesh`; `None` where
    /// there is no such object, or where outers do not end.
    pub fn path(&self, index: u64) -> Option<String> {
        let mut object = self.find(index)?;
        let mut parts = vec![object.name.text(&self.names)];
        while let Some(outer) = object.outer {
            if parts.len() >= MAX_DEPTH {
                return None;
            }
            object = self.find(outer)?;
            parts.push(object.name.text(&self.names));
        }
        parts.reverse();
        Some(parts.join("/"))
    }

    /// The first object whose index is not the hash of its path, by which packages would look for it.
    pub fn first_misplaced(&self) -> Option<&ScriptObject> {
        let own = |object: &&ScriptObject| self.path(object.index).map(|path| script_index(&path));
        self.objects.iter().find(|object| own(object) != Some(object.index))
    }
}

/// The index of the script object at `path`, whose parts may be joined by `/`, `.` or `:`.
pub fn script_index(path: &str) -> u64 {
    hash_utf16_lower(&path.replace(['.', ':'], "/")) & !(3 << 62) | (1 << 62)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::name_hash;

    /// Objects as name, outer and class by their places.
    fn chunk(names: &[&str], objects: &[(u32, &str, Option<&str>)]) -> Vec<u8> {
        let mut w = Writer::new();
        w.u32(names.len() as u32).u32(names.iter().map(|name| name.len() as u32).sum()).u64(0xC164_0000);
        for name in names {
            w.u64(name_hash(name));
        }
        for name in names {
            w.u16_be(name.len() as u16);
        }
        for name in names {
            w.bytes(name.as_bytes());
        }
        w.u32(objects.len() as u32);
        for (name, path, outer) in objects {
            w.u32(name | (2 << 30)).u32(0).u64(script_index(path));
            w.u64(outer.map_or(NULL, script_index)).u64(NULL);
        }
        w.into_bytes()
    }

    const NAMES: [&str; 2] = ["/Script/Engine", "StaticMesh"];

    fn good() -> Vec<u8> {
        let mesh = "/Script/Engine.StaticMesh";
        chunk(&NAMES, &[(0, "/Script/Engine", None), (1, mesh, Some("/Script/Engine"))])
    }

    #[test]
    fn objects_have_paths() {
        let objects = ScriptObjects::read(&good()).unwrap();
        assert_eq!(objects.path(0x407c_de1a_593e_47cf).as_deref(), Some("/Script/Engine/StaticMesh"));
        assert_eq!(objects.path(0x51ac_ced3_dc7c_0922).as_deref(), Some("/Script/Engine"));
        assert_eq!(objects.path(1), None);
        assert_eq!(objects.first_misplaced(), None);
        assert_eq!(objects.write(), good());
        let misnamed = chunk(&NAMES, &[(1, "/Script/Engine", None)]);
        assert!(ScriptObjects::read(&misnamed).unwrap().first_misplaced().is_some());
    }

    #[test]
    fn what_is_wrong_is_refused() {
        for (bytes, message) in [
            (chunk(&NAMES, &[(2, "a", None)]), "name 2 of 2"),
            (chunk(&NAMES, &[(0, "a", None), (1, "a", None)]), "is there twice"),
            (chunk(&NAMES, &[(0, "a", Some("b"))]), "there is no object"),
            ([good(), vec![0]].concat(), "follow the last field"),
        ] {
            let error = ScriptObjects::read(&bytes).unwrap_err().to_string();
            assert!(error.contains(message), "{error}, expected: {message}");
        }
        // An object in itself.
        let round = chunk(&NAMES, &[(0, "a", Some("a"))]);
        assert_eq!(ScriptObjects::read(&round).unwrap().path(script_index("a")), None);
    }

    #[test]
    fn no_prefix_and_no_changed_byte_panics() {
        let good = good();
        for end in 0..good.len() {
            assert!(ScriptObjects::read(&good[..end]).is_err(), "prefix of {end}");
        }
        for at in 0..good.len() {
            for flip in [1, 0x80, 0xff] {
                let mut bytes = good.clone();
                bytes[at] ^= flip;
                if let Ok(objects) = ScriptObjects::read(&bytes) {
                    assert_eq!(objects.write(), bytes);
                    objects.first_misplaced();
                }
            }
        }
    }
}
