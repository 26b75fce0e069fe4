//! The stand-in for the game: a folder of containers in the game's formats with content of our own.
//!
//! It knows the formats from their descriptions only, so that readers which misread them do not get
//! what they expect; containers alone come from their canonical writer. Everything is computed from
//! the constants here: the same bytes on every machine. Start with [`generate`].

mod material;
mod mesh;
mod package;
#[cfg(test)]
mod tests;
mod texture;

use iostore::{Builder, ChunkId, ChunkType, Package, PackageId, WriteError, pak_stub};
use wire::Writer;

use package::{Draft, NOTHING, engine, name_batch};
use texture::Format;

/// The container that holds the packages, named as the game's first is.
const CONTAINER: &str = "pakchunk0-Windows";
/// The container of the script objects.
const GLOBAL: &str = "global";
/// The classes of the module `Engine` that the packages use.
const CLASSES: [&str; 4] = ["BodySetup", "Material", "StaticMesh", "Texture2D"];

/// A package of the stand-in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandInPackage {
    /// The full name, below `/Game/Synth`.
    pub path: String,
    /// The zen package.
    pub zen: Vec<u8>,
    /// The bulk chunk; there is none when it is empty.
    pub bulk: Vec<u8>,
    /// What it imports, ascending.
    pub imports: Vec<PackageId>,
}

impl StandInPackage {
    fn new(path: String, draft: &Draft, bulk: Vec<u8>) -> Self {
        Self {
            path,
            zen: draft.write(),
            bulk,
            imports: draft.imported.iter().map(|path| PackageId::of_name(path)).collect(),
        }
    }
}

/// The path of the package `leaf`.
fn path(leaf: &str) -> String {
    format!("/Game/Synth/{leaf}")
}

/// All packages of the stand-in. `T_Synth_*` and `SM_Synth` are the smallest of their kinds and are defined
/// byte for byte; the others are larger, and look like something.
pub fn packages() -> Vec<StandInPackage> {
    vec![
        texture::classic("T_Synth_RGBA", Format::Bgra8, 4, 4, texture::gradient),
        texture::classic("T_Synth_BC1", Format::Bc1, 256, 128, texture::counted),
        texture::virtual_texture("T_Synth_VT"),
        material::material("M_Synth", &[]),
        mesh::cuboid("SM_Synth", "M_Synth", [50.0; 3]),
        texture::classic("T_Checker", Format::Bgra8, 64, 64, texture::checker),
        texture::classic("T_Ramp", Format::Bgra8, 128, 128, texture::ramp),
        texture::classic("T_Panels", Format::Bc1, 512, 512, texture::panels),
        texture::classic("T_Stripes", Format::Bc1, 256, 32, texture::stripes),
        material::material("M_Panels", &["T_Panels"]),
        material::material("M_Marked", &["T_Checker", "T_Ramp", "T_Stripes"]),
        mesh::cuboid("SM_Slab", "M_Panels", [200.0, 200.0, 25.0]),
        mesh::cuboid("SM_Pillar", "M_Panels", [25.0, 25.0, 150.0]),
        mesh::cuboid("SM_Crate", "M_Marked", [60.0, 40.0, 40.0]),
        mesh::wedge("SM_Wedge", "M_Marked"),
    ]
}

/// The content of the chunk of script objects: the module, its classes and their default objects.
fn script_objects() -> Vec<u8> {
    let mut names = vec!["/Script/Engine".to_owned()];
    let mut rows = vec![(engine(""), NOTHING, NOTHING)];
    for class in CLASSES {
        let default = format!("Default__{class}");
        rows.push((engine(class), engine(""), NOTHING));
        rows.push((engine(&default), engine(""), engine(class)));
        names.push(class.to_owned());
        names.push(default);
    }
    let mut w = Writer::new();
    name_batch(&mut w, &names);
    w.u32(rows.len() as u32);
    for (i, (own, outer, class)) in rows.into_iter().enumerate() {
        // Kind 2: a name of the global table.
        w.u32(i as u32 | 2 << 30).u32(0).u64(own).u64(outer).u64(class);
    }
    w.into_bytes()
}

/// The files of the folder, by name: what a Paks folder of the game holds, in small.
pub fn generate() -> Result<Vec<(String, Vec<u8>)>, WriteError> {
    let packages = packages();
    let builder = packages.iter().fold(Builder::new(CONTAINER), |builder, made| {
        builder.package(Package {
            bulk: (!made.bulk.is_empty()).then(|| (&made.bulk).into()),
            imports: made.imports.clone(),
            ..Package::new(&made.path, &made.zen)
        })
    });
    let objects = script_objects();
    let id = ChunkId::new(0, 0, ChunkType::ScriptObjects);
    let global = Builder::new(GLOBAL).chunk(id, &objects);

    let mut files = Vec::new();
    for (stem, builder) in [(GLOBAL, global), (CONTAINER, builder)] {
        let mut ucas = Vec::new();
        let utoc = builder.write(&mut ucas)?;
        if stem != GLOBAL {
            files.push((format!("{stem}.pak"), pak_stub(stem)));
        }
        files.push((format!("{stem}.ucas"), ucas));
        files.push((format!("{stem}.utoc"), utoc));
    }
    Ok(files)
}
