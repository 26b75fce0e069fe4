//! Type mappings, and the properties of packages that they name: those that `BAKE_MAPPINGS` leads to.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Map, Value, json};
use unreal::class_of;
use unreal::package::{ObjectIndex, Package};
use unreal::property::{Context, Object, view_object};
use unreal::usmap::{self, Class, Compression, Mappings, PropertyType};

use super::Shown;
use crate::count::{count, size};
use crate::fail::Fail;

/// Modules whose classes the game's packages use; others need the list of script objects.
const MODULES: [&str; 12] = [
    "Engine",
    "CoreUObject",
    "BlamSynchronization",
    "BlamEngine",
    "Meteorite",
    "NavigationSystem",
    "AudioMixer",
    "Landscape",
    "Niagara",
    "UMG",
    "PhysicsCore",
    "AIModule",
];

/// The mappings that are set, if any are.
pub(super) fn set() -> Result<Option<Mappings>, Fail> {
    let Some(path) = std::env::var_os("BAKE_MAPPINGS").filter(|path| !path.is_empty()).map(PathBuf::from)
    else {
        return Ok(None);
    };
    let bytes = std::fs::read(&path).map_err(|error| Fail::io("read", &path, &error))?;
    let file = usmap::File::read(&bytes, &usmap::Limits::default());
    let file = file.map_err(|error| {
        Fail::usage(format!("`{}`, which BAKE_MAPPINGS names, holds no mappings: {error}", path.display()))
    })?;
    Ok(Some(file.mappings))
}

/// A file of mappings, or the class of it that `path` names.
pub(super) fn file(name: &str, bytes: &[u8], path: &[&str]) -> Result<Shown, Fail> {
    let file = usmap::File::read(bytes, &usmap::Limits::default())
        .map_err(|error| Fail::usage(format!("`{name}` holds no mappings: {error}")))?;
    let mappings = &file.mappings;
    match path {
        [] => {}
        [class] => {
            let found = mappings.class(class).map_err(|error| Fail::usage(format!("`{name}`: {error}")))?;
            return Ok(one_class(found));
        }
        [_, more, ..] => {
            return Err(Fail::usage(format!("a class is a single thing: there is no `{more}` in it")));
        }
    }
    let mut types: BTreeMap<&str, u64> = BTreeMap::new();
    for property in mappings.structs().iter().flat_map(|item| &item.properties) {
        count_types(&property.kind, &mut types);
    }
    let mut text = format!(
        "{name}: mappings of version {}, {}, {}, {}\n",
        file.version,
        count(mappings.structs().len(), "struct"),
        count(mappings.enums().len(), "enum"),
        size(bytes.len() as u64),
    );
    for item in mappings.structs() {
        let parent = item.parent.as_ref().map(|parent| format!(" : {parent}")).unwrap_or_default();
        text += &format!("  {}{parent}  {}\n", item.name, count(item.properties.len(), "property"));
    }
    let compression = match file.compression {
        Compression::None => 0,
        Compression::Oodle => 1,
        Compression::Brotli => 2,
        Compression::Zstd => 3,
    };
    let json = json!({
        "schema": 1,
        "size": bytes.len(),
        "format_version": file.version,
        "has_versioning": file.has_versioning,
        "compression": compression,
        "compressed_size": file.compressed_bytes,
        "decompressed_size": file.bytes,
        "names": file.names,
        "enums": mappings.enums().len(),
        "structs": mappings.structs().len(),
        "duplicate_struct_names": mappings.duplicates().count(),
        "bytes_after_structs": file.extension_bytes,
        "property_types": types,
    });
    Ok(Shown { text, json })
}

fn count_types<'a>(kind: &'a PropertyType, types: &mut BTreeMap<&'a str, u64>) {
    *types.entry(kind.name()).or_default() += 1;
    kind.inner().for_each(|inner| count_types(inner, types));
}

fn one_class(class: Class<'_>) -> Shown {
    let parent = class.parent().map(Class::name);
    let mut text = format!("{}: {}", class.name(), count(class.slots() as usize, "slot"));
    text += &parent.map(|parent| format!(", from {parent}\n")).unwrap_or_else(|| "\n".to_owned());
    let mut slots = Vec::new();
    for (at, slot) in class.all() {
        text += &format!("  {at:>4}  {}  {}\n", slot.name(), slot.property.kind);
        slots.push(json!([at, slot.name(), slot.property.kind.to_string()]));
    }
    let json = json!({
        "schema": 1,
        "name": class.name(),
        "super": parent,
        "own_slots": class.own_slots(),
        "total_slots": class.slots(),
        "slots": slots,
    });
    Shown { text, json }
}

/// What the exports of `package` hold, in their order: nothing where the class is not known.
pub(super) fn objects(package: &Package, mappings: &Mappings) -> Vec<Map<String, Value>> {
    let context = Context::of(package, mappings);
    let mut classes: BTreeMap<ObjectIndex, Option<Class<'_>>> = BTreeMap::new();
    let mut object = |index: usize, class: ObjectIndex| {
        let class = *classes.entry(class).or_insert_with(|| class_of(class, &MODULES, mappings));
        let (Some(class), Some(bytes)) = (class, package.export_data(index)) else { return Map::new() };
        // The properties of tags have four zero bytes before them.
        let lead = if class.name().ends_with("TagDataAsset") { 4 } else { 0 };
        match Object::read(bytes, class, lead, &context) {
            Ok(object) => match serde_json::to_value(view_object(&object, &context)) {
                Ok(Value::Object(shown)) => shown,
                _ => Map::new(),
            },
            Err(error) => [("class", class.name().to_owned()), ("properties_refused", error.to_string())]
                .map(|(key, text)| (key.to_owned(), text.into()))
                .into_iter()
                .collect(),
        }
    };
    let exports = package.exports.iter().enumerate();
    exports.map(|(index, export)| object(index, export.class)).collect()
}

/// An object for people: a line a property.
pub(super) fn lines(object: &Map<String, Value>) -> String {
    let mut text = String::new();
    if let Some(Value::String(refused)) = object.get("properties_refused") {
        text += &format!("    properties are not known: {refused}\n");
    }
    for (name, value) in object.get("properties").and_then(Value::as_object).into_iter().flatten() {
        text += &format!("    {name} = {value}\n");
    }
    text
}

/// Adds to each export of a described package what it holds.
pub(super) fn extend(package: &mut Value, objects: Vec<Map<String, Value>>) {
    let exports = package.get_mut("export_map").and_then(Value::as_array_mut);
    for (export, object) in exports.into_iter().flatten().zip(objects) {
        if let Value::Object(export) = export {
            export.extend(object);
        }
    }
}
