//! `cook-tags`: new tags from donors, by edits that the recipe holds as data.
//!
//! It knows neither a group nor a field: what a piece or a spawn point is, is the recipe's to say. A new tag
//! never takes the place of a shipped one, and holds no string id that the game might not know, unless the
//! recipe says so: the game refuses tags with texts that it has never seen.

use std::collections::{BTreeMap, BTreeSet};

use blam::{Edit, EditError, Tag, TagName, Wrapper, WrapperError, clone_wrapper};
use engine::params::Segment;
use engine::{Blob, Cx, Inputs, Interface, Kind, Outputs, ParamError, Pure, RuleError};
use iostore::{ChunkType, PackageId};
use schemars::JsonSchema;
use serde::Deserialize;
use unreal::PackagePath;
use unreal::package::Package;
use unreal::usmap::{self, Mappings};

use crate::parts;

/// Parameters of `cook-tags`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The new tags.
    tags: Vec<New>,
    /// Tags that other steps make and these may refer to: `group:path`.
    #[serde(default)]
    beside: Vec<String>,
}

/// A new tag.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct New {
    /// The tag that it begins as: `crate:objects\props\x\x`. The group may be given by its code.
    donor: String,
    /// Its own path, such as `objects\mjolnir\forge\demo\floor`.
    path: String,
    /// What is different. `replace` takes from donors, by `group:path`.
    #[serde(default)]
    edits: Vec<Edit>,
    /// String ids that the donor has not and that the game is known to know.
    #[serde(default)]
    new_string_ids: BTreeSet<String>,
    /// The Blueprint whose class stands for the tag in the world; the donor's when it is left out.
    actor: Option<String>,
}

/// What a new tag is made from and becomes.
struct Names {
    donor: TagName,
    new: TagName,
    package: PackagePath,
    actor: Option<PackagePath>,
}

fn tag_name(text: &str) -> Result<TagName, String> {
    let (group, path) = text.split_once(':').ok_or_else(|| {
        format!("`{text}` names no tag: a group and a path do, as in `crate:objects\\props\\x\\x`")
    })?;
    TagName::new(group, path).map_err(|error| error.to_string())
}

impl New {
    fn names(&self, index: usize) -> Result<Names, ParamError> {
        let at = |key: &str, error: String| {
            let path = [Segment::Key("tags".into()), Segment::Index(index), Segment::Key(key.into())];
            ParamError::new(path.to_vec(), error)
        };
        let donor = tag_name(&self.donor).map_err(|error| at("donor", error))?;
        let new =
            TagName::new(donor.group().name, &self.path).map_err(|error| at("path", error.to_string()))?;
        let package = new.package().map_err(|error| at("path", error.to_string()))?;
        let actor = self.actor.as_deref().map(PackagePath::parse).transpose();
        let actor = actor.map_err(|error| at("actor", error.to_string()))?;
        Ok(Names { donor, new, package, actor })
    }
}

impl Params {
    fn names(&self) -> Result<Vec<Names>, Vec<ParamError>> {
        let mut errors = Vec::new();
        let mut names: Vec<Names> = Vec::new();
        for (index, new) in self.tags.iter().enumerate() {
            match new.names(index) {
                Ok(found) if names.iter().any(|other| other.package.id() == found.package.id()) => {
                    let path = [Segment::Key("tags".into()), Segment::Index(index)];
                    errors.push(ParamError::new(path.to_vec(), format!("`{}` is made twice", found.new)));
                }
                Ok(found) => names.push(found),
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() { Ok(names) } else { Err(errors) }
    }

    /// The packages of tags that other steps make.
    fn beside(&self) -> Result<Vec<PackagePath>, ParamError> {
        let package = |(index, text): (usize, &String)| {
            let path = || vec![Segment::Key("beside".into()), Segment::Index(index)];
            let tag = tag_name(text).map_err(|error| ParamError::new(path(), error))?;
            tag.package().map_err(|error| ParamError::new(path(), error.to_string()))
        };
        self.beside.iter().enumerate().map(package).collect()
    }
}

/// The rule.
pub(crate) struct CookTags;

impl Pure for CookTags {
    type Params = Params;
    const NAME: &'static str = "cook-tags";
    const VERSION: u32 = 1;
    const DOC: &'static str = "Makes new tags from shipped ones: each begins as its donor, is edited as the recipe \
        says, and lies under its own path, in a package that loads what it refers to.";

    fn interface() -> Interface {
        Interface::new()
            .input("donors", Kind::Tree, "The packages of the donors with their bulk data, at any path.")
            .input("mappings", Kind::File, "The type mappings of the game's build (`.usmap`).")
            .output("packages", Kind::Tree, "The packages of the new tags, under their place in a container.")
    }

    fn check(params: &Params) -> Vec<ParamError> {
        let mut errors = params.names().err().unwrap_or_default();
        errors.extend(params.beside().err());
        errors
    }

    fn run(params: Params, inputs: &Inputs<'_>, outputs: &Outputs<'_>, cx: &Cx<'_>) -> Result<(), RuleError> {
        let names = params.names().map_err(|mut errors| RuleError::from(errors.remove(0)))?;
        let donors = Donors::read(inputs)?;
        let mappings = usmap::File::read(&inputs.file("mappings")?, &usmap::Limits::default())
            .map_err(|error| RuleError::new(format!("the mappings cannot be read: {error}")))?
            .mappings;
        let built = names.iter().map(|names| &names.package).cloned().chain(params.beside()?);
        let built: BTreeSet<PackageId> = built.map(|package| package.id()).collect();
        let pairs: Vec<(&New, &Names)> = params.tags.iter().zip(&names).collect();
        cx.par_map(&pairs, |(new, names)| {
            make(new, names, &donors, &mappings, &built, outputs)
                .map_err(|message| RuleError::new(format!("`{}`: {message}", names.new)))?
        })?;
        Ok(())
    }
}

/// A donor: its wrapper, and the tag's file.
struct Donor {
    wrapper: Package,
    file: Blob,
}

struct Donors(BTreeMap<PackageId, Donor>);

impl Donors {
    fn read(inputs: &Inputs<'_>) -> Result<Self, RuleError> {
        let files = inputs.tree("donors")?;
        let mut wrappers = BTreeMap::new();
        let mut bulk = BTreeMap::new();
        for (path, digest) in files.iter() {
            match parts::split(path.as_str()) {
                Some((stem, ChunkType::ExportBundleData)) => {
                    wrappers.insert(stem, parts::read(inputs, path.as_str(), *digest)?);
                }
                Some((stem, ChunkType::BulkData)) => {
                    bulk.insert(stem, *digest);
                }
                _ => return Err(parts::no_part(path.as_str())),
            }
        }
        let mut donors = BTreeMap::new();
        for (stem, wrapper) in wrappers {
            let digest = bulk.get(stem).ok_or_else(|| {
                RuleError::new(format!("`{stem}` has no `.ubulk` beside it, as the package of a tag has"))
            })?;
            donors.insert(wrapper.id(), Donor { wrapper, file: inputs.read(*digest)? });
        }
        Ok(Self(donors))
    }

    fn find(&self, tag: &TagName) -> Result<&Donor, String> {
        let id = tag.package().map_err(|error| error.to_string())?.id();
        self.0.get(&id).ok_or_else(|| {
            let known: Vec<String> = self
                .0
                .values()
                .map(|donor| format!("`{}`", donor.wrapper.name_text(donor.wrapper.name)))
                .collect();
            format!("the donor `{tag}` is not among the packages: {}", known.join(", "))
        })
    }
}

/// Makes one tag; the outer error is ours to explain, the inner one the store's.
fn make<'d>(
    new: &New,
    names: &Names,
    donors: &'d Donors,
    mappings: &Mappings,
    built: &BTreeSet<PackageId>,
    outputs: &Outputs<'_>,
) -> Result<Result<(), RuleError>, String> {
    let donor = donors.find(&names.donor)?;
    let open = |name: &TagName, donor: &'d Donor| {
        let tag = Tag::read(&donor.file).map_err(|error| format!("the donor `{name}`: {error}"))?;
        match tag.header().group {
            group if group == name.group().code => Ok(tag),
            group => Err(format!("the donor `{name}` is a tag of the group `{group}`")),
        }
    };
    let mut tag = open(&names.donor, donor)?;
    let mut takes: BTreeMap<String, Tag<'_>> = BTreeMap::new();
    for edit in &new.edits {
        if let Edit::Replace { from, .. } = edit {
            let from_tag = tag_name(from)?;
            let donor = donors.find(&from_tag)?;
            takes.insert(from.clone(), open(&from_tag, donor)?);
        }
    }
    let known: BTreeSet<String> = std::iter::once(&tag)
        .chain(takes.values())
        .map(Tag::string_ids)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| error.to_string())?
        .into_iter()
        .flatten()
        .collect();
    tag.edit(&new.edits, &takes).map_err(|error: EditError| error.to_string())?;
    let unknown: Vec<String> = tag
        .string_ids()
        .map_err(|error| error.to_string())?
        .into_iter()
        .filter(|text| !known.contains(text) && !new.new_string_ids.contains(text))
        .map(|text| format!("`{text}`"))
        .collect();
    if !unknown.is_empty() {
        return Err(format!(
            "the game refuses string ids that it does not know, and the donor has none of {}; list those that it \
             does know as `new_string_ids`",
            unknown.join(", ")
        ));
    }
    let wrapper = wrap(&tag, names, donor, mappings, built)?;
    Ok(write(&tag, &wrapper, &names.package, outputs))
}

/// The package of the new tag: cloned where the group must be, else made from what the donor's states. Of
/// the tags that it refers to it loads those that are there: what the donor loads, and what is made beside it.
fn wrap(
    tag: &Tag<'_>,
    names: &Names,
    donor: &Donor,
    mappings: &Mappings,
    built: &BTreeSet<PackageId>,
) -> Result<Package, String> {
    let said = |error: WrapperError| error.to_string();
    if names.new.group().is_generated() {
        return clone_wrapper(&donor.wrapper, &names.package, tag.len()).map_err(said);
    }
    let mut wrapper = Wrapper::read(&donor.wrapper, mappings).map_err(said)?;
    let there: BTreeSet<PackageId> =
        wrapper.preload.iter().map(PackagePath::id).chain(built.iter().copied()).collect();
    let references = tag.references().map_err(|error| error.to_string())?;
    let mut preload: Vec<PackagePath> = Vec::new();
    for reference in references {
        let Ok(target) = TagName::of_reference(&reference) else { continue };
        let Ok(package) = target.package() else { continue };
        let is_loaded = there.contains(&package.id()) && package.id() != names.package.id();
        if is_loaded
            && !target.group().is_generated()
            && preload.iter().all(|known| known.id() != package.id())
        {
            // The donor's spelling, where it has one.
            let known = wrapper.preload.iter().find(|known| known.id() == package.id());
            preload.push(known.cloned().unwrap_or(package));
        }
    }
    wrapper.preload = preload;
    wrapper.package = names.package.clone();
    wrapper.tag_bytes = tag.len();
    if let Some(actor) = &names.actor {
        wrapper.actor = Some(blam::PackageObject::blueprint(actor));
    }
    wrapper.build(mappings).map_err(said)
}

fn write(
    tag: &Tag<'_>,
    wrapper: &Package,
    package: &PackagePath,
    outputs: &Outputs<'_>,
) -> Result<(), RuleError> {
    let place = |extension: &str| {
        package.file_path_as(extension).ok_or_else(|| RuleError::new(format!("`{package}` has no place")))
    };
    outputs.put_in("packages", &place("uasset")?, &wrapper.write())?;
    let mut writer = outputs.writer()?;
    tag.chunks().try_for_each(|chunk| writer.append(chunk))?;
    outputs.link_in("packages", &place("ubulk")?, writer.finish()?)
}
