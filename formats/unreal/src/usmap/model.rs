//! What mappings are once read, and the questions asked of them.
//!
//! Classes and structs are the same here, as in the files. Names are shared, not copied, so that a small file
//! cannot blow up.

use std::cmp::Ordering;
use std::sync::Arc;

use super::check::{self, MappingsError};

/// The properties of all classes and structs, and the entries of all enums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mappings {
    enums: Vec<Enum>,
    structs: Vec<Struct>,
    /// Indices of enums, by name without case; of two of one name the first alone.
    enums_by_name: Vec<u32>,
    /// The same of structs.
    structs_by_name: Vec<u32>,
    /// What is known of each struct's ancestors.
    ancestry: Vec<Ancestry>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ancestry {
    parent: Option<u32>,
    /// Of the struct and its ancestors; `None` when one of them is not in the mappings.
    slots: Option<u32>,
}

/// An enum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enum {
    /// Its name.
    pub name: Arc<str>,
    /// Its entries and their values.
    pub entries: Vec<(Arc<str>, i64)>,
}

/// A class or struct, without what it inherits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Struct {
    /// Its name, without a package.
    pub name: Arc<str>,
    /// The name of what it inherits from.
    pub parent: Option<Arc<str>>,
    /// How many slots its own properties take.
    pub slots: u16,
    /// Its own properties, ascending by slot.
    pub properties: Vec<Property>,
}

/// A property of a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// Its first slot, counted from the struct's own.
    pub slot: u16,
    /// How many slots it takes: more than one for a fixed array.
    pub dimension: u8,
    /// Its name.
    pub name: Arc<str>,
    /// Its type.
    pub kind: PropertyType,
}

/// The type of a property.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the engine's own, and say all that there is")]
pub enum PropertyType {
    Byte,
    Bool,
    Int,
    Float,
    Object,
    Name,
    Delegate,
    Double,
    Array(Box<PropertyType>),
    Struct(Arc<str>),
    Str,
    Text,
    Interface,
    MulticastDelegate,
    WeakObject,
    LazyObject,
    AssetObject,
    SoftObject,
    UInt64,
    UInt32,
    UInt16,
    Int64,
    Int16,
    Int8,
    Map(Box<PropertyType>, Box<PropertyType>),
    Set(Box<PropertyType>),
    /// An enum by name, stored as the inner type.
    Enum(Box<PropertyType>, Arc<str>),
    FieldPath,
    Optional(Box<PropertyType>),
    Utf8Str,
    AnsiStr,
}

impl PropertyType {
    /// The name of the type, without what it is made of.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Byte => "Byte",
            Self::Bool => "Bool",
            Self::Int => "Int",
            Self::Float => "Float",
            Self::Object => "Object",
            Self::Name => "Name",
            Self::Delegate => "Delegate",
            Self::Double => "Double",
            Self::Array(_) => "Array",
            Self::Struct(_) => "Struct",
            Self::Str => "Str",
            Self::Text => "Text",
            Self::Interface => "Interface",
            Self::MulticastDelegate => "MulticastDelegate",
            Self::WeakObject => "WeakObject",
            Self::LazyObject => "LazyObject",
            Self::AssetObject => "AssetObject",
            Self::SoftObject => "SoftObject",
            Self::UInt64 => "UInt64",
            Self::UInt32 => "UInt32",
            Self::UInt16 => "UInt16",
            Self::Int64 => "Int64",
            Self::Int16 => "Int16",
            Self::Int8 => "Int8",
            Self::Map(..) => "Map",
            Self::Set(_) => "Set",
            Self::Enum(..) => "Enum",
            Self::FieldPath => "FieldPath",
            Self::Optional(_) => "Optional",
            Self::Utf8Str => "Utf8Str",
            Self::AnsiStr => "AnsiStr",
        }
    }

    /// The types that this one is made of.
    pub fn inner(&self) -> impl Iterator<Item = &Self> {
        let (first, second) = match self {
            Self::Array(inner) | Self::Set(inner) | Self::Optional(inner) | Self::Enum(inner, _) => {
                (Some(inner), None)
            }
            Self::Map(key, value) => (Some(key), Some(value)),
            _ => (None, None),
        };
        first.into_iter().chain(second).map(AsRef::as_ref)
    }
}

impl std::fmt::Display for PropertyType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = self.name();
        match self {
            Self::Array(inner) | Self::Set(inner) | Self::Optional(inner) => write!(f, "{name}({inner})"),
            Self::Map(key, value) => write!(f, "{name}({key}, {value})"),
            Self::Enum(inner, of) => write!(f, "{name}({inner}, {of})"),
            Self::Struct(of) => write!(f, "{name}({of})"),
            _ => f.write_str(name),
        }
    }
}

/// Why there are no slots for a class.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSchema {
    /// It is not there.
    #[error("`{0}` is not in the mappings")]
    Unknown(String),
    /// One of its ancestors is not there.
    #[error("`{class}` inherits from `{parent}`, which is not in the mappings")]
    Orphan {
        /// The class that was asked for.
        class: String,
        /// The ancestor.
        parent: String,
    },
}

impl Mappings {
    /// Mappings of these enums and structs. Of two of one name, the first counts.
    pub fn new(enums: Vec<Enum>, structs: Vec<Struct>) -> Result<Self, MappingsError> {
        check::check(&enums, &structs)?;
        let enums_by_name = index(&enums);
        let structs_by_name = index(&structs);
        let parents: Vec<Option<Option<u32>>> = structs
            .iter()
            .map(|item| item.parent.as_ref().map(|name| find(&structs, &structs_by_name, name)))
            .collect();
        let ancestry = check::ancestry(&structs, &parents)?;
        let ancestry = parents
            .into_iter()
            .zip(ancestry)
            .map(|(parent, slots)| Ancestry { parent: parent.flatten(), slots })
            .collect();
        Ok(Self { enums, structs, enums_by_name, structs_by_name, ancestry })
    }

    /// All enums, in the order of the file.
    pub fn enums(&self) -> &[Enum] {
        &self.enums
    }

    /// All classes and structs, in the order of the file.
    pub fn structs(&self) -> &[Struct] {
        &self.structs
    }

    /// Structs whose name an earlier one has, and which are thus never found.
    pub fn duplicates(&self) -> impl Iterator<Item = &Struct> {
        let found = |item: &Struct| find(&self.structs, &self.structs_by_name, &item.name);
        self.structs
            .iter()
            .enumerate()
            .filter(move |(at, item)| found(item) != u32::try_from(*at).ok())
            .map(|(_, item)| item)
    }

    /// The enum called `name`, without case.
    pub fn enumeration(&self, name: &str) -> Option<&Enum> {
        let at = find(&self.enums, &self.enums_by_name, name)?;
        self.enums.get(at as usize)
    }

    /// The class or struct called `name`, without case, with all that it inherits.
    pub fn class(&self, name: &str) -> Result<Class<'_>, NoSchema> {
        let index = find(&self.structs, &self.structs_by_name, name)
            .ok_or_else(|| NoSchema::Unknown(name.to_owned()))?;
        let class = Class { mappings: self, index };
        if class.ancestry().and_then(|known| known.slots).is_some() {
            return Ok(class);
        }
        let oldest = class.line().last().and_then(|class| class.own()?.parent.as_deref());
        Err(NoSchema::Orphan { class: name.to_owned(), parent: oldest.unwrap_or_default().to_owned() })
    }
}

/// A class or struct with all that it inherits.
#[derive(Clone, Copy, Debug)]
pub struct Class<'a> {
    mappings: &'a Mappings,
    index: u32,
}

/// A slot of a class: one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot<'a> {
    /// The property that the slot belongs to.
    pub property: &'a Property,
    /// Which element of a fixed array; 0 for other properties.
    pub element: u8,
}

impl Slot<'_> {
    /// The name of the value: that of the property, and `[element]` in a fixed array.
    pub fn name(&self) -> String {
        let name = &self.property.name;
        if self.property.dimension > 1 { format!("{name}[{}]", self.element) } else { (**name).to_owned() }
    }
}

impl<'a> Class<'a> {
    fn own(&self) -> Option<&'a Struct> {
        self.mappings.structs.get(self.index as usize)
    }

    fn ancestry(&self) -> Option<Ancestry> {
        self.mappings.ancestry.get(self.index as usize).copied()
    }

    /// The class itself, then its ancestors, nearest first.
    pub fn line(self) -> impl Iterator<Item = Class<'a>> {
        // Lines were found to end when the mappings were made.
        std::iter::successors(Some(self), |class| {
            let index = class.ancestry()?.parent?;
            Some(Class { mappings: class.mappings, index })
        })
    }

    /// Its name.
    pub fn name(self) -> &'a str {
        self.own().map_or("", |own| &own.name)
    }

    /// What it inherits from.
    pub fn parent(self) -> Option<Class<'a>> {
        self.line().nth(1)
    }

    /// How many slots its own properties take.
    pub fn own_slots(self) -> u32 {
        self.own().map_or(0, |own| own.slots.into())
    }

    /// How many slots it has: its own, then those of its parent, and so on.
    pub fn slots(self) -> u32 {
        self.ancestry().and_then(|known| known.slots).unwrap_or(0)
    }

    /// Whether the class is `name`, without case, or inherits from it.
    pub fn is_a(self, name: &str) -> bool {
        self.line().any(|class| class.name().eq_ignore_ascii_case(name))
    }

    /// What stands in slot `slot`; `None` beyond the last, and where no property was listed.
    pub fn slot(self, slot: u32) -> Option<Slot<'a>> {
        let mut left = slot;
        for class in self.line() {
            let Some(below) = left.checked_sub(class.own_slots()) else {
                let properties = &class.own()?.properties;
                let after = properties.partition_point(|property| u32::from(property.slot) <= left);
                let property = properties.get(after.checked_sub(1)?)?;
                let element = u8::try_from(left.checked_sub(property.slot.into())?).ok()?;
                return (element < property.dimension).then_some(Slot { property, element });
            };
            left = below;
        }
        None
    }

    /// The slot of the property `name`, without case; `name` may end in `[element]`. The nearest counts where
    /// an ancestor has a property of the same name.
    pub fn find(self, name: &str) -> Option<u32> {
        let (name, element) = match name.strip_suffix(']').and_then(|text| text.rsplit_once('[')) {
            Some((name, element)) => (name, element.parse().ok()?),
            None => (name, 0),
        };
        let mut first = 0u32;
        for class in self.line() {
            let own = class.own()?;
            if let Some(property) = own.properties.iter().find(|item| item.name.eq_ignore_ascii_case(name)) {
                let slot = first.checked_add(property.slot.into())?.checked_add(u32::from(element))?;
                return (element < property.dimension).then_some(slot);
            }
            first = first.checked_add(class.own_slots())?;
        }
        None
    }

    /// All slots that hold a value, in order.
    pub fn all(self) -> impl Iterator<Item = (u32, Slot<'a>)> {
        (0..self.slots()).filter_map(move |at| Some((at, self.slot(at)?)))
    }
}

fn compare(a: &str, b: &str) -> Ordering {
    let folded = |byte: u8| byte.to_ascii_lowercase();
    a.bytes().map(folded).cmp(b.bytes().map(folded))
}

fn index<T: Named>(items: &[T]) -> Vec<u32> {
    let text = |at: &u32| items.get(*at as usize).map_or("", Named::name);
    let mut order: Vec<u32> = (0..items.len() as u32).collect();
    order.sort_by(|a, b| compare(text(a), text(b)));
    order.dedup_by(|later, first| text(later).eq_ignore_ascii_case(text(first)));
    order
}

trait Named {
    fn name(&self) -> &str;
}

impl Named for Enum {
    fn name(&self) -> &str {
        &self.name
    }
}

impl Named for Struct {
    fn name(&self) -> &str {
        &self.name
    }
}

fn find<T: Named>(items: &[T], order: &[u32], name: &str) -> Option<u32> {
    let text = |at: &u32| items.get(*at as usize).map_or("", Named::name);
    let at = order.binary_search_by(|at| compare(text(at), name)).ok()?;
    order.get(at).copied()
}
