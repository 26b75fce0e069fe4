//! Wrappers made from shipped ones: cloned under another path of the same length, or with more to preload.
//! All that is not named stays byte for byte.

use iostore::hash_utf16_lower;
use unreal::PackagePath;
use unreal::package::{ImportedPackage, Name, ObjectIndex, Package};
use unreal::property::Value;
use unreal::usmap::Mappings;

use crate::package::{self, PackageObject, WrapperError};

/// `donor` under the path `new`, as long as its own, for a tag of `tag_bytes` bytes.
pub fn clone_wrapper(donor: &Package, new: &PackagePath, tag_bytes: u64) -> Result<Package, WrapperError> {
    let old = donor.path()?;
    package::tag_of(new)?;
    let mut clone = donor.clone();
    for (old, new) in [(old.as_str(), new.as_str()), (old.leaf(), new.leaf())] {
        let refused =
            |problem: String| WrapperError::Clone { old: old.to_owned(), new: new.to_owned(), problem };
        if old.len() != new.len() {
            return Err(refused(format!("they have {} and {} bytes", old.len(), new.len())));
        }
        let places: Vec<usize> =
            (0..donor.names.len()).filter(|index| donor.names[*index].text() == old).collect();
        let [place] = places.as_slice() else {
            return Err(refused(format!("it is found {} times among the names, not once", places.len())));
        };
        clone.names[*place] = Name::new(new)?;
    }
    let hash = hash_utf16_lower(old.leaf());
    for export in clone.exports.iter_mut().filter(|export| export.public_hash == hash) {
        export.public_hash = hash_utf16_lower(new.leaf());
    }
    set_tag_bytes(&mut clone, tag_bytes)?;
    clone.check()?;
    Ok(clone)
}

/// Lets a wrapper be that of a tag of `tag_bytes` bytes.
pub fn set_tag_bytes(wrapper: &mut Package, tag_bytes: u64) -> Result<(), WrapperError> {
    let n = wrapper.bulk.len();
    let name = wrapper.name_text(wrapper.name);
    let [bulk] = wrapper.bulk.as_mut_slice() else {
        let problem = format!("it has {n} bulk entries, not one");
        return Err(WrapperError::Form { package: name, problem });
    };
    bulk.size = i64::try_from(tag_bytes).unwrap_or(i64::MAX);
    Ok(())
}

/// Lets the tag load `packages` with it, in addition to those that it loads already.
pub fn append_preload(
    wrapper: &mut Package,
    packages: &[PackagePath],
    mappings: &Mappings,
) -> Result<(), WrapperError> {
    let group = package::tag_of(&wrapper.path()?)?.group();
    let mut object = package::object(wrapper, mappings, group)?;
    let slot =
        mappings.class(&group.class())?.find(package::PRELOAD).ok_or_else(|| WrapperError::NoProperty {
            package: wrapper.name_text(wrapper.name),
            property: package::PRELOAD,
            class: group.class(),
        })?;
    let mut preload = match object.block.get(slot) {
        Some(Value::List(items)) => items.clone(),
        _ => Vec::new(),
    };
    let last = preload.last().cloned();
    let known: Vec<PackageObject> = preload
        .iter()
        .filter_map(|item| match item {
            Value::Object(index) => package::imported(wrapper, *index),
            _ => None,
        })
        .collect();
    let mut added = Vec::new();
    for path in packages {
        let target = PackageObject::asset(path);
        if known.iter().any(|known| known.package.id() == path.id()) || added.contains(path) {
            continue;
        }
        added.push(path.clone());
        let from = import_package(wrapper, path)?;
        wrapper.imports.push(ObjectIndex::Null);
        let hash = wrapper.imported_hashes.len() as u32;
        preload.push(Value::Object(-(wrapper.imports.len() as i32) - 1));
        wrapper.imports.push(ObjectIndex::Package { package: from, hash });
        wrapper.imported_hashes.push(target.hash);
    }
    let new = preload.iter().rev().take(added.len()).rev().filter_map(|item| match item {
        Value::Object(index) => Some(*index),
        _ => None,
    });
    if let Some(dependencies) = wrapper.dependencies.first_mut() {
        let entries = &mut dependencies.create_before_serialize;
        let at = entries.iter().position(|entry| last == Some(Value::Object(*entry)));
        let at = at.map_or(0, |at| at + 1);
        entries.splice(at..at, new);
    }
    object.block.put(slot, Value::List(preload));
    package::set_object(wrapper, object.lead, object.block, object.tail);
    wrapper.check()?;
    Ok(())
}

/// The place of `path` among the imported packages, which stay in order of their ids.
fn import_package(wrapper: &mut Package, path: &PackagePath) -> Result<u32, WrapperError> {
    let new = ImportedPackage::new(path)?;
    let id = new.id();
    let known = wrapper.imported.iter().position(|package| package.id() == id);
    if let Some(known) = known {
        return Ok(known as u32);
    }
    let at = wrapper.imported.iter().take_while(|package| package.id() < id).count();
    wrapper.imported.insert(at, new);
    for import in &mut wrapper.imports {
        if let ObjectIndex::Package { package, .. } = import
            && *package as usize >= at
        {
            *package += 1;
        }
    }
    Ok(at as u32)
}
