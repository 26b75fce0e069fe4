//! Script objects: the names of the engine's and the game's own classes, which packages refer to by hash.
//!
//! One chunk of the container `global` lists them all. Writing needs it not, as a reference is the hash of a
//! path; showing does.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use std::collections::BTreeMap;

use wire::{ReadError, Reader};

use crate::package::{Name, ObjectIndex, join_number, name_batch};
use crate::usmap::{Class, Mappings};

/// An entry: name, own index, outer, class.
const ENTRY_BYTES: u64 = 32;
/// Says that a name is one of this chunk's: the kind in the top bits.
const NAME_KIND: u32 = 2;
const NAME_KIND_SHIFT: u32 = 30;
/// How deep objects lie in each other.
const MAX_OUTERS: usize = 64;

/// The script objects of a game.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScriptObjects {
    names: Vec<Name>,
    objects: BTreeMap<ObjectIndex, Object>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Object {
    name: u32,
    number: u32,
    outer: ObjectIndex,
}

impl ScriptObjects {
    /// Reads the content of the chunk of type 5.
    pub fn read(bytes: &[u8]) -> Result<Self, ReadError> {
        let mut r = Reader::new(bytes, "script objects");
        let names = name_batch(&mut r, "names")?;
        let n = r.u32("objects")?;
        let n = r.count(n.into(), ENTRY_BYTES, "objects")?;
        let mut objects = BTreeMap::new();
        for i in 0..n {
            let at = r.clone();
            let name = r.u32("name")?;
            let number = r.u32("number")?;
            let index = name & (u32::MAX >> (u32::BITS - NAME_KIND_SHIFT));
            if name.wrapping_shr(NAME_KIND_SHIFT) != NAME_KIND || index as usize >= names.len() {
                let message = format!("{name:#010x} is none of the {} names of this chunk", names.len());
                return Err(at.malformed(&format!("[{i}].name"), message));
            }
            let own = object(&mut r, "own index")?;
            let outer = object(&mut r, "outer")?;
            object(&mut r, "class")?;
            objects.insert(own, Object { name: index, number, outer });
        }
        r.finish()?;
        Ok(Self { names, objects })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = ObjectIndex> {
        self.objects.keys().copied()
    }

    /// The path of `object`, such as `/Script/Engine.StaticMesh`.
    pub fn path(&self, object: ObjectIndex) -> Option<String> {
        let mut parts = Vec::new();
        let mut at = object;
        while at != ObjectIndex::Null && parts.len() < MAX_OUTERS {
            let object = self.objects.get(&at)?;
            parts.push(join_number(
                self.names.get(object.name as usize).map_or("", Name::text),
                object.number,
            ));
            at = object.outer;
        }
        let mut path = parts.pop()?;
        for (depth, part) in parts.iter().rev().enumerate() {
            path.push(if depth == 0 { '.' } else { ':' });
            path.push_str(part);
        }
        Some(path)
    }

    /// The name of the class `object`, without its module.
    pub fn name(&self, object: ObjectIndex) -> Option<String> {
        let object = self.objects.get(&object)?;
        Some(join_number(self.names.get(object.name as usize)?.text(), object.number))
    }
}

/// The class that `object` is, of those that the `mappings` have and that lie in one of the `modules`: for
/// when no script objects are at hand. It hashes each of them once for each module.
pub fn class_of<'a>(object: ObjectIndex, modules: &[&str], mappings: &'a Mappings) -> Option<Class<'a>> {
    modules.iter().find_map(|module| {
        let is = |name: &str| ObjectIndex::script(&format!("/Script/{module}/{name}")) == object;
        let found = mappings.structs().iter().find(|item| is(&item.name))?;
        mappings.class(&found.name).ok()
    })
}

fn object(r: &mut Reader<'_>, field: &str) -> Result<ObjectIndex, ReadError> {
    let at = r.clone();
    let raw = r.u64(field)?;
    match ObjectIndex::from_raw(raw) {
        Some(object @ (ObjectIndex::Script(_) | ObjectIndex::Null)) => Ok(object),
        _ => Err(at.malformed(field, format!("{raw:#018x} is no script object"))),
    }
}
