//! The package that a tag lies in (its wrapper): what it states, made anew or cloned from a shipped one.
//!
//! The tag's bytes are the bulk data beside the package, of which the wrapper knows the length alone.
//! Property slots are from the mappings of the game's build, never from here. The five generated groups
//! are to be cloned: one that is made anew is found, but its map does not start.

use std::collections::BTreeSet;

use iostore::hash_utf16_lower;
use unreal::package::{
    BulkEntry, BundleCommand, BundleEntry, Dependencies, Export, Fault, ImportedPackage, Name, NameError,
    NameRef, ObjectIndex, Package, split_number,
};
use unreal::property::{Block, Context, Object, Value};
use unreal::usmap::{Class, Mappings, NoSchema};
use unreal::{PackagePath, PathError};
use wire::ReadError;

use crate::groups::Group;
use crate::name::TagName;

const MODULE: &str = "/Script/BlamSynchronization";
const GENERATED_PACKAGE_FLAGS: u32 = 0x8800_2200;
const OBJECT_FLAGS: u32 = 0xb;
const GENERATED_OBJECT_FLAGS: u32 = 0x1;
const BULK_FLAGS: u32 = 0x0001_0501;
/// What the header had before the package was converted, without the lengths of its names.
const COOKED_HEADER_BYTES: usize = 617;
/// Zeros before the properties, and after them.
const FRAME: [u8; 4] = [0; 4];

pub(crate) const PRELOAD: &str = "CookedAssetsReferencedByTag";
const ACTOR: &str = "AssetReference";
const REGION_TABLE: &str = "ModelRegionStringTable";
const VARIANTS: &str = "RuntimeVariants";
const VARIANT: &str = "BlamVariant";
const VARIANT_NAME: &str = "VariantName";
const PERMUTATIONS: &str = "Permutations";

/// A public object of another package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageObject {
    /// The package.
    pub package: PackagePath,
    /// The hash of the object's name.
    pub hash: u64,
}

impl PackageObject {
    /// The object that is called as its package is.
    pub fn asset(package: &PackagePath) -> Self {
        Self { hash: hash_utf16_lower(package.leaf()), package: package.clone() }
    }

    /// The class that the Blueprint `package` defines.
    pub fn blueprint(package: &PackagePath) -> Self {
        Self { hash: hash_utf16_lower(&format!("{}_C", package.leaf())), package: package.clone() }
    }
}

/// A variant of a model: its name, and the permutation of each region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The name.
    pub name: String,
    /// Region and permutation.
    pub permutations: Vec<(String, String)>,
}

/// What the wrapper of a tag states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrapper {
    /// The package; it says the group.
    pub package: PackagePath,
    /// The length of the tag's file.
    pub tag_bytes: u64,
    /// The packages of the tags that are loaded with this one.
    pub preload: Vec<PackagePath>,
    /// What stands for the tag in the engine's world.
    pub actor: Option<PackageObject>,
    /// The names of a model's regions.
    pub region_table: Option<PackageObject>,
    /// The variants of a model.
    pub variants: Vec<Variant>,
}

/// Why a wrapper was not read, made or cloned.
#[derive(Debug, thiserror::Error)]
pub enum WrapperError {
    /// The package's name is not that of a tag.
    #[error("`{0}` is not the package of a tag; those lie below `/Game/Tags` and end in `-` and a group")]
    NotATag(String),
    /// The package is not built as wrappers are.
    #[error("`{package}` is not a tag's wrapper: {problem}")]
    Form {
        /// The package.
        package: String,
        /// What is wrong.
        problem: String,
    },
    /// The wrapper cannot state what it should.
    #[error("`{package}` cannot have `{property}`: the class `{class}` has no such property")]
    NoProperty {
        /// The package.
        package: String,
        /// The property.
        property: &'static str,
        /// The class.
        class: String,
    },
    /// A clone must be as long as what it is cloned from.
    #[error("`{old}` cannot become `{new}` in a clone: {problem}")]
    Clone {
        /// The name.
        old: String,
        /// The new name.
        new: String,
        /// What is wrong.
        problem: String,
    },
    /// The mappings do not know the class.
    #[error(transparent)]
    Schema(#[from] NoSchema),
    /// A name cannot be stored.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A package cannot be named.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The properties could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// What was made does not hold together.
    #[error(transparent)]
    Fault(#[from] Fault),
}

pub(crate) fn tag_of(package: &PackagePath) -> Result<TagName, WrapperError> {
    TagName::of_package(package).ok_or_else(|| WrapperError::NotATag(package.to_string()))
}

impl Wrapper {
    /// A wrapper for a tag of `tag_bytes` bytes that refers to nothing.
    pub fn new(package: PackagePath, tag_bytes: u64) -> Self {
        Self {
            package,
            tag_bytes,
            preload: Vec::new(),
            actor: None,
            region_table: None,
            variants: Vec::new(),
        }
    }

    /// What `package` states.
    pub fn read(package: &Package, mappings: &Mappings) -> Result<Self, WrapperError> {
        let path = package.path()?;
        let group = tag_of(&path)?.group();
        let wrong =
            |problem: &str| WrapperError::Form { package: path.to_string(), problem: problem.to_owned() };
        let object = object(package, mappings, group)?;
        let [bulk] = package.bulk.as_slice() else {
            return Err(wrong("it has not one bulk entry"));
        };
        let tag_bytes = u64::try_from(bulk.size).map_err(|_| wrong("its bulk entry has a negative size"))?;
        let target = |value: &Value| match value {
            Value::Object(index) => {
                imported(package, *index).ok_or_else(|| wrong("an object is not imported"))
            }
            _ => Err(wrong("a property is not an object")),
        };
        let find = |name: &str| object.block.find(mappings, name).filter(|value| **value != Value::Zero);
        let preload = match find(PRELOAD) {
            Some(Value::List(items)) => items
                .iter()
                .map(|item| target(item).map(|object| object.package))
                .collect::<Result<_, _>>()?,
            _ => Vec::new(),
        };
        let context = Context::of(package, mappings);
        let variants = match find(VARIANTS) {
            Some(Value::List(items)) => items
                .iter()
                .map(|item| variant(item, &context).ok_or_else(|| wrong("a variant is not one")))
                .collect::<Result<_, _>>()?,
            _ => Vec::new(),
        };
        Ok(Self {
            tag_bytes,
            preload,
            actor: find(ACTOR).map(target).transpose()?,
            region_table: find(REGION_TABLE).map(target).transpose()?,
            variants,
            package: path.clone(),
        })
    }

    /// Makes the package.
    pub fn build(&self, mappings: &Mappings) -> Result<Package, WrapperError> {
        let group = tag_of(&self.package)?.group();
        let class = mappings.class(&group.class())?;
        let mut package = Package::new(&self.package)?;
        self.add_names(&mut package)?;
        if group.is_generated() {
            package.flags = GENERATED_PACKAGE_FLAGS;
        }
        let script = |name: &str| ObjectIndex::script(&format!("{MODULE}.{name}"));
        let class_name = group.class();
        let default = script(&format!("Default__{class_name}"));
        package.imports = vec![default, script(&class_name), ObjectIndex::script(MODULE)];

        let actor: Vec<PackageObject> = self.actor.iter().cloned().collect();
        let table: Vec<PackageObject> = self.region_table.iter().cloned().collect();
        let preload: Vec<PackageObject> = self.preload.iter().map(PackageObject::asset).collect();
        let slots = import(&mut package, [&preload, &table, &actor].into_iter().flatten())?;
        let index = |object: &PackageObject| {
            let known = slots.iter().find(|(known, _)| known == object);
            Value::Object(known.map_or(0, |(_, index)| *index))
        };
        let mut block = Block::new(class);
        let mut put = |name: &'static str, value: Option<Value>| match (value, class.find(name)) {
            (None, _) => Ok(()),
            (Some(value), Some(slot)) => {
                block.put(slot, value);
                Ok(())
            }
            (Some(_), None) => Err(self.no_property(name, class)),
        };
        put(PRELOAD, (!preload.is_empty()).then(|| Value::List(preload.iter().map(index).collect())))?;
        put(ACTOR, actor.first().map(index))?;
        put(REGION_TABLE, table.first().map(index))?;
        let variants = self.variants.iter().map(|variant| variant_value(&package, mappings, variant));
        let variants = variants.collect::<Result<Vec<_>, _>>()?;
        put(VARIANTS, (!variants.is_empty()).then_some(Value::List(variants)))?;

        let name = package.names.len().saturating_sub(2) as u32;
        package.name.index = name + 1;
        let leaf = self.package.leaf();
        package.cooked_header_size =
            (COOKED_HEADER_BYTES + 2 * self.package.as_str().len() + leaf.len() + 2 * class_name.len())
                as u32;
        package.bulk = vec![BulkEntry {
            offset: 0,
            duplicate_offset: -1,
            // Below 4 GiB, as every tag is.
            size: self.tag_bytes as i64,
            flags: BULK_FLAGS,
            cooked_index: 0,
        }];
        package.exports = vec![Export {
            offset: 0,
            size: 0,
            name: NameRef { index: name, number: 0 },
            outer: ObjectIndex::Null,
            class: package.imports[1],
            super_object: ObjectIndex::Null,
            template: default,
            public_hash: hash_utf16_lower(leaf),
            flags: if group.is_generated() { GENERATED_OBJECT_FLAGS } else { OBJECT_FLAGS },
            filter: 0,
        }];
        package.bundle = [BundleCommand::Create, BundleCommand::Serialize]
            .map(|command| BundleEntry { export: 0, command })
            .to_vec();
        package.dependencies =
            vec![Dependencies { create_before_serialize: objects(&block), ..Dependencies::default() }];
        set_object(&mut package, FRAME.to_vec(), block, FRAME.to_vec());
        package.check()?;
        Ok(package)
    }

    fn no_property(&self, property: &'static str, class: Class<'_>) -> WrapperError {
        WrapperError::NoProperty {
            package: self.package.to_string(),
            property,
            class: class.name().to_owned(),
        }
    }

    /// The names: those of properties in order, without case, then the object's and the package's.
    fn add_names(&self, package: &mut Package) -> Result<(), NameError> {
        let used: BTreeSet<&str> = self
            .variants
            .iter()
            .flat_map(|variant| {
                let pairs = variant.permutations.iter().flat_map(|(region, name)| [region, name]);
                std::iter::once(&variant.name).chain(pairs)
            })
            .map(|text| split_number(text).0)
            .collect();
        let mut names: Vec<&str> = used.into_iter().collect();
        names.sort_by_key(|name| (*name != "None", name.to_ascii_lowercase(), *name));
        let own = std::mem::take(&mut package.names);
        package.names = names.into_iter().map(Name::new).collect::<Result<_, _>>()?;
        package.names.push(Name::new(self.package.leaf())?);
        package.names.extend(own);
        Ok(())
    }
}

/// The export's object, whose class must be that of the group.
pub(crate) fn object(package: &Package, mappings: &Mappings, group: Group) -> Result<Object, WrapperError> {
    let wrong = |problem: String| WrapperError::Form { package: package.name_text(package.name), problem };
    let class = mappings.class(&group.class())?;
    let [export] = package.exports.as_slice() else {
        return Err(wrong(format!("it has {} exports, not one", package.exports.len())));
    };
    if export.class != ObjectIndex::script(&format!("{MODULE}.{}", group.class())) {
        return Err(wrong(format!("its object is no `{}`", group.class())));
    }
    let bytes = package.export_data(0).unwrap_or_default();
    let object = Object::read(bytes, class, FRAME.len(), &Context::of(package, mappings))?;
    if object.lead != FRAME || object.tail != FRAME {
        return Err(wrong("its properties do not stand between four zeros each".to_owned()));
    }
    Ok(object)
}

/// What object `index` is, when it is imported from a package.
pub(crate) fn imported(package: &Package, index: i32) -> Option<PackageObject> {
    let slot = usize::try_from(-1 - i64::from(index)).ok()?;
    let ObjectIndex::Package { package: from, hash } = *package.imports.get(slot)? else {
        return None;
    };
    let from = package.imported.get(from as usize)?;
    let hash = *package.imported_hashes.get(hash as usize)?;
    Some(PackageObject { package: PackagePath::parse(&from.text()).ok()?, hash })
}

/// Imports `objects` into a package that imports from no package yet, and says which index each has.
fn import<'o>(
    package: &mut Package,
    objects: impl Iterator<Item = &'o PackageObject>,
) -> Result<Vec<(PackageObject, i32)>, WrapperError> {
    let mut by_package: Vec<(ImportedPackage, Vec<&PackageObject>)> = Vec::new();
    for object in objects {
        let from = ImportedPackage::new(&object.package)?;
        match by_package.iter_mut().find(|(known, _)| known.id() == from.id()) {
            Some((_, known)) if known.contains(&object) => {}
            Some((_, known)) => known.push(object),
            None => by_package.push((from, vec![object])),
        }
    }
    by_package.sort_by_key(|(from, _)| from.id());
    let mut slots = Vec::new();
    for (at, (from, objects)) in by_package.into_iter().enumerate() {
        package.imported.push(from);
        package.imports.push(ObjectIndex::Null);
        for object in objects {
            slots.push((object.clone(), -(package.imports.len() as i32) - 1));
            let hash = package.imported_hashes.len() as u32;
            package.imports.push(ObjectIndex::Package { package: at as u32, hash });
            package.imported_hashes.push(object.hash);
        }
    }
    Ok(slots)
}

/// The objects that a block names, the last slot first.
fn objects(block: &Block) -> Vec<i32> {
    let mut objects = Vec::new();
    for entry in block.entries.iter().rev() {
        match &entry.value {
            Value::Object(index) => objects.push(*index),
            Value::List(items) => objects.extend(items.iter().filter_map(|item| match item {
                Value::Object(index) => Some(*index),
                _ => None,
            })),
            _ => {}
        }
    }
    objects
}

pub(crate) fn set_object(package: &mut Package, lead: Vec<u8>, block: Block, tail: Vec<u8>) {
    let object = Object { lead, block, properties_end: 0, tail };
    package.set_export_data(0, &object.write()).expect("because a wrapper has one export");
}

fn variant(value: &Value, context: &Context<'_>) -> Option<Variant> {
    let Value::Block(block) = value else {
        return None;
    };
    let name = |value: &Value| match value {
        Value::Name(name) => Some(context.text(*name)),
        _ => None,
    };
    let permutations = match block.find(context.mappings, PERMUTATIONS) {
        Some(Value::Map(pairs)) => {
            pairs.iter().map(|(region, to)| Some((name(region)?, name(to)?))).collect::<Option<_>>()?
        }
        _ => Vec::new(),
    };
    Some(Variant { name: name(block.find(context.mappings, VARIANT_NAME)?)?, permutations })
}

fn variant_value(package: &Package, mappings: &Mappings, variant: &Variant) -> Result<Value, WrapperError> {
    let class = mappings.class(VARIANT)?;
    let name = |text: &str| {
        let (base, number) = split_number(text);
        let index = package.names.iter().position(|name| name.text() == base);
        Value::Name(NameRef { index: index.unwrap_or_default() as u32, number })
    };
    let slot = |property| {
        class.find(property).ok_or_else(|| WrapperError::NoProperty {
            package: package.name_text(package.name),
            property,
            class: class.name().to_owned(),
        })
    };
    let pairs = variant.permutations.iter().map(|(region, to)| (name(region), name(to))).collect();
    let mut block = Block::new(class);
    block.put(slot(VARIANT_NAME)?, name(&variant.name));
    block.put(slot(PERMUTATIONS)?, Value::Map(pairs));
    Ok(Value::Block(block))
}
