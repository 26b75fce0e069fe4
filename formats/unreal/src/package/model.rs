//! What a package is once read: its tables with their fields, and questions about them.
//!
//! The tables can be edited freely; [`Package::check`] says whether they still make a package. Offsets,
//! counts and paddings of the file are not here: writing derives them.

use iostore::{PackageId, hash_utf16_lower, name_hash};

use super::layout::*;
use crate::{PackagePath, PathError};

/// A package (`FZenPackageHeader` and the export data).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// The form of the header.
    pub form: Form,
    /// The package's own name.
    pub name: NameRef,
    /// Package flags, 0x80002200 for ordinary cooked packages.
    pub flags: u32,
    /// Size of the header that the package had before it was converted; not known to be read by the game.
    pub cooked_header_size: u32,
    /// The names that [`NameRef`]s, here and in the export data, refer to by index. Never reorder them.
    pub names: Vec<Name>,
    /// Where bulk data lies; the export data refers to entries by index.
    pub bulk: Vec<BulkEntry>,
    /// Public export hashes of imported objects.
    pub imported_hashes: Vec<u64>,
    /// Imported objects; the export data refers to slot `i` as `-i - 1`, so slots are never dropped.
    pub imports: Vec<ObjectIndex>,
    /// The objects of this package.
    pub exports: Vec<Export>,
    /// The order in which exports are created and serialized.
    pub bundle: Vec<BundleEntry>,
    /// What each export waits for, one an export.
    pub dependencies: Vec<Dependencies>,
    /// The packages that imports come from, ascending by id where the engine wrote them.
    pub imported: Vec<ImportedPackage>,
    /// The bytes after the header: exports, and the closing tag.
    pub data: Vec<u8>,
}

/// The forms of a package's header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Of engines up to 5.5, the game's among them: a summary of 52 bytes.
    #[default]
    Ue55,
    /// Of engines from 5.6 on: a summary of 60 bytes, with two maps of cells, which are empty here.
    Ue56,
}

/// One name of a name batch, without the number that a [`NameRef`] may add.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    text: String,
    hash: u64,
}

/// Why a text cannot be a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` cannot be a name: names that are made are ASCII and at most 1023 characters long")]
pub struct NameError(String);

impl Name {
    /// A name for a batch.
    pub fn new(text: &str) -> Result<Self, NameError> {
        if text.is_ascii() && text.len() <= MAX_NAME_UNITS {
            Ok(Self { text: text.to_owned(), hash: name_hash(text) })
        } else {
            Err(NameError(text.to_owned()))
        }
    }

    /// A name as a batch holds it. The caller has checked the hash where its rule is known.
    pub(super) fn stored(text: String, hash: u64) -> Self {
        Self { text, hash }
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The hash that the batch states.
    pub fn hash(&self) -> u64 {
        self.hash
    }
}

/// A name and its number (`FMappedName`): number 0 adds nothing, number `k` adds `_<k-1>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NameRef {
    /// Index into the names.
    pub index: u32,
    /// 0, or one more than the number that follows the text.
    pub number: u32,
}

/// The text that `base` and `number` make.
pub(crate) fn join_number(base: &str, number: u32) -> String {
    match number.checked_sub(1) {
        None => base.to_owned(),
        Some(shown) => format!("{base}_{shown}"),
    }
}

/// The base text and number that the engine stores for `text`: a decimal number after the last `_` goes
/// into the number when nothing is lost, so neither with leading zeros nor beyond 31 bits.
pub fn split_number(text: &str) -> (&str, u32) {
    let split = text.rsplit_once('_').and_then(|(base, digits)| {
        let plain =
            digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
        let shown: i32 = digits.parse().ok().filter(|_| plain)?;
        Some((base, u32::try_from(shown).ok()?.checked_add(1)?))
    });
    split.filter(|(base, _)| !base.is_empty()).unwrap_or((text, 0))
}

/// A package that objects are imported from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedPackage {
    /// The path without its number.
    pub base: Name,
    /// As in [`NameRef`].
    pub number: u32,
}

impl ImportedPackage {
    /// The imported package called `path`.
    pub fn new(path: &PackagePath) -> Result<Self, NameError> {
        let (base, number) = split_number(path.as_str());
        Ok(Self { base: Name::new(base)?, number })
    }

    /// The full name.
    pub fn text(&self) -> String {
        join_number(self.base.text(), self.number)
    }

    /// The id.
    pub fn id(&self) -> PackageId {
        PackageId::of_name(&self.text())
    }
}

/// A reference to an object (`FPackageObjectIndex`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ObjectIndex {
    /// An export of this package, by index.
    Export(u64),
    /// An object of the engine's or the game's code, by the hash of its path.
    Script(u64),
    /// A public export of another package.
    Package {
        /// Index into the imported packages.
        package: u32,
        /// Index into the imported public export hashes.
        hash: u32,
    },
    /// Nothing; also what an import of a package itself becomes.
    Null,
}

impl ObjectIndex {
    /// The script object at `path`, such as `/Script/Engine.StaticMesh`.
    pub fn script(path: &str) -> Self {
        let path = path.replace(['.', ':'], "/");
        Self::Script(hash_utf16_lower(&path) & OBJECT_VALUE)
    }

    /// The index as it is stored.
    pub fn raw(self) -> u64 {
        match self {
            Self::Export(index) => index & OBJECT_VALUE,
            Self::Script(hash) => 1 << OBJECT_KIND_SHIFT | hash & OBJECT_VALUE,
            Self::Package { package, hash } => {
                let package = u64::from(package) << IMPORTED_PACKAGE_SHIFT;
                2 << OBJECT_KIND_SHIFT | package & OBJECT_VALUE | u64::from(hash)
            }
            Self::Null => NULL_OBJECT,
        }
    }

    /// The index that is stored as `raw`, if `raw` is one.
    pub fn from_raw(raw: u64) -> Option<Self> {
        let value = raw & OBJECT_VALUE;
        match raw >> OBJECT_KIND_SHIFT {
            0 => Some(Self::Export(value)),
            1 => Some(Self::Script(value)),
            2 => Some(Self::Package {
                package: u32::try_from(value >> IMPORTED_PACKAGE_SHIFT).ok()?,
                hash: u32::try_from(value & u64::from(u32::MAX)).ok()?,
            }),
            _ => (raw == NULL_OBJECT).then_some(Self::Null),
        }
    }
}

/// An entry of the bulk data map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BulkEntry {
    /// From the start of the bulk chunk, or of the owning export when the payload is inline.
    pub offset: i64,
    /// Of a second copy; -1 where there is none.
    pub duplicate_offset: i64,
    /// Of the payload, in bytes.
    pub size: i64,
    /// 0x00010501 for the separate chunk, 0x00000048 for inline payloads.
    pub flags: u32,
    /// Which of several cooked chunks.
    pub cooked_index: u8,
}

/// An entry of the export map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// Start in [`Package::data`].
    pub offset: u64,
    /// Length in bytes.
    pub size: u64,
    /// Name of the object.
    pub name: NameRef,
    /// The object that this one lives in; null when that is the package.
    pub outer: ObjectIndex,
    /// Its class.
    pub class: ObjectIndex,
    /// The parent of a class or struct, else null.
    pub super_object: ObjectIndex,
    /// What it takes its defaults from.
    pub template: ObjectIndex,
    /// The hash by which other packages import it; 0 when it is not public.
    pub public_hash: u64,
    /// Object flags; 1 is public.
    pub flags: u32,
    /// 0 for all, 1 not for clients, 2 not for servers.
    pub filter: u8,
}

/// What is done with an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BundleCommand {
    /// The object is made.
    Create,
    /// Its bytes are read.
    Serialize,
}

/// An entry of the export bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BundleEntry {
    /// Index of the export.
    pub export: u32,
    /// What is done with it.
    pub command: BundleCommand,
}

/// What must have happened before an export is created or serialized: lists of objects, `k` for
/// export `k - 1`, `-k` for import `k - 1`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dependencies {
    /// Created before this is created.
    pub create_before_create: Vec<i32>,
    /// Serialized before this is created.
    pub serialize_before_create: Vec<i32>,
    /// Created before this is serialized.
    pub create_before_serialize: Vec<i32>,
    /// Serialized before this is serialized.
    pub serialize_before_serialize: Vec<i32>,
    /// An export without dependencies may state -1 for its first entry instead of the running count.
    pub states_no_first: bool,
}

impl Dependencies {
    /// The four lists, in the order in which they are stored.
    pub fn lists(&self) -> [&Vec<i32>; 4] {
        [
            &self.create_before_create,
            &self.serialize_before_create,
            &self.create_before_serialize,
            &self.serialize_before_serialize,
        ]
    }
}

impl Package {
    /// A package called `path` that holds nothing yet, flagged as the game's cook does.
    pub fn new(path: &PackagePath) -> Result<Self, NameError> {
        let (base, number) = split_number(path.as_str());
        Ok(Self {
            form: Form::Ue55,
            name: NameRef { index: 0, number },
            flags: PACKAGE_COOKED_FLAGS,
            cooked_header_size: 0,
            names: vec![Name::new(base)?],
            bulk: Vec::new(),
            imported_hashes: Vec::new(),
            imports: Vec::new(),
            exports: Vec::new(),
            bundle: Vec::new(),
            dependencies: Vec::new(),
            imported: Vec::new(),
            data: CLOSING_TAG.to_vec(),
        })
    }

    /// The text of `name`; empty when it is out of range, which [`check`](Self::check) refuses.
    pub fn name_text(&self, name: NameRef) -> String {
        let base = self.names.get(name.index as usize).map_or("", Name::text);
        join_number(base, name.number)
    }

    /// The package's own full name as a path.
    pub fn path(&self) -> Result<PackagePath, PathError> {
        PackagePath::parse(&self.name_text(self.name))
    }

    /// The package's id.
    pub fn id(&self) -> PackageId {
        PackageId::of_name(&self.name_text(self.name))
    }

    /// The packages that this one imports from, in the order in which imports count them. A container
    /// header states the same list for the package.
    pub fn imported_packages(&self) -> Vec<PackageId> {
        self.imported.iter().map(ImportedPackage::id).collect()
    }

    /// Whether the package is a world, whose file is a `.umap`.
    pub fn is_world(&self) -> bool {
        let world = ObjectIndex::script("/Script/Engine.World");
        self.flags & PACKAGE_CONTAINS_MAP != 0 || self.exports.iter().any(|export| export.class == world)
    }

    /// The names of export `index` and of its outers within the package, outermost first, joined by `/`:
    /// what its public hash is taken of. `None` when there is no such export.
    pub fn export_path(&self, index: usize) -> Option<String> {
        let mut export = self.exports.get(index)?;
        let mut path = self.name_text(export.name);
        for _ in 0..MAX_OUTERS {
            let ObjectIndex::Export(outer) = export.outer else {
                break;
            };
            export = self.exports.get(usize::try_from(outer).ok()?)?;
            path = format!("{}/{path}", self.name_text(export.name));
        }
        Some(path)
    }

    /// The bytes of export `index`.
    pub fn export_data(&self, index: usize) -> Option<&[u8]> {
        let export = self.exports.get(index)?;
        let start = usize::try_from(export.offset).ok()?;
        let end = start.checked_add(usize::try_from(export.size).ok()?)?;
        self.data.get(start..end)
    }

    /// Replaces the bytes of export `index` and moves the exports behind it. Bulk entries stay as they
    /// are: those of the other exports are right, as inline offsets count from the start of their export.
    /// `None`, and nothing changed, when there is no such export.
    pub fn set_export_data(&mut self, index: usize, bytes: &[u8]) -> Option<()> {
        let old = self.export_data(index)?.len();
        let export = self.exports.get_mut(index)?;
        let start = usize::try_from(export.offset).ok()?;
        let end = export.offset.checked_add(export.size)?;
        export.size = bytes.len() as u64;
        self.data.splice(start..start.checked_add(old)?, bytes.iter().copied());
        for (i, other) in self.exports.iter_mut().enumerate() {
            if i != index && other.offset >= end {
                other.offset = other.offset - old as u64 + bytes.len() as u64;
            }
        }
        Some(())
    }
}
