//! Materials of the stand-in: packages that meshes can import, and that import textures.
//!
//! What a cooked material holds is not described anywhere that we know; the export is an object without
//! properties, and the textures are what it waits for.

use iostore::hash_utf16_lower;
use wire::Writer;

use super::StandInPackage;
use super::package::{Draft, NOTHING, Object, by_id, engine, imported};

/// A material that waits for `textures`.
pub(super) fn material(leaf: &str, textures: &[&str]) -> StandInPackage {
    let path = super::path(leaf);
    let packages = by_id(textures.iter().map(|leaf| super::path(leaf)).collect());
    let mut imports = vec![engine("Material"), engine(""), engine("Default__Material")];
    let first = imports.len();
    imports.extend((0..packages.len() as u64).map(|i| imported(i, i)));
    let mut bytes = Writer::new();
    // A single fragment that skips all, and no GUID.
    bytes.bytes(&[0x7f, 0x01]).u32(0);
    let hash = |path: &String| hash_utf16_lower(path.rsplit('/').next().unwrap_or(path));
    let draft = Draft {
        names: [leaf, &path].map(str::to_owned).to_vec(),
        bulk: Vec::new(),
        imported_hashes: packages.iter().map(hash).collect(),
        objects: vec![Object {
            name: 0,
            number: 0,
            outer: NOTHING,
            class: engine("Material"),
            template: engine("Default__Material"),
            public_hash: hash_utf16_lower(leaf),
            flags: 0xb,
            bytes: bytes.into_bytes(),
            create_before_create: Vec::new(),
            create_before_serialize: (first..imports.len()).map(|i| -(i as i32) - 1).collect(),
        }],
        imports,
        order: vec![0],
        imported: packages,
    };
    StandInPackage::new(path, &draft, Vec::new())
}
