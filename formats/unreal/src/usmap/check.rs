//! Whether enums and structs make mappings: what the slots of the structs, and their ancestors, must be.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use super::layout::{MAX_ANCESTORS, MAX_TYPE_DEPTH};
use super::model::{Enum, Property, PropertyType, Struct};

/// Why enums and structs make no mappings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MappingsError {
    /// A struct is its own ancestor, or the line is too long.
    #[error("struct `{0}` has more than {MAX_ANCESTORS} ancestors, or is one of its own")]
    Ancestors(String),
    /// A property does not fit its struct.
    #[error("struct `{name}`: {problem}")]
    Struct {
        /// The struct.
        name: String,
        /// What is wrong.
        problem: String,
    },
    /// There is more of something than the format can count.
    #[error("{what}: {found}, allowed are {allowed}")]
    TooMany {
        /// Of what.
        what: String,
        /// How many there are.
        found: usize,
        /// How many there may be.
        allowed: usize,
    },
}

/// What is wrong with a property that follows one that ended before slot `free`, in a struct of `slots` slots.
pub(super) fn property_problem(property: &Property, free: u32, slots: u16) -> Option<String> {
    let (name, first, dimension) = (&property.name, property.slot, property.dimension);
    let end = u32::from(first).saturating_add(dimension.into());
    if dimension == 0 {
        Some(format!("property `{name}` takes no slot"))
    } else if u32::from(first) < free {
        Some(format!("property `{name}` begins at slot {first}, but those below {free} are taken"))
    } else if end > u32::from(slots) {
        Some(format!("property `{name}` ends at slot {end} of {slots}"))
    } else {
        None
    }
}

pub(super) fn check(enums: &[Enum], structs: &[Struct]) -> Result<(), MappingsError> {
    let most = usize::from(u16::MAX);
    let at_most = |found: usize, allowed: usize, what: &dyn Fn() -> String| {
        if found > allowed { Err(MappingsError::TooMany { what: what(), found, allowed }) } else { Ok(()) }
    };
    at_most(enums.len().max(structs.len()), u32::MAX as usize, &|| "enums or structs".to_owned())?;
    for item in enums {
        at_most(item.name.len(), most, &|| "bytes of the name of an enum".to_owned())?;
        at_most(item.entries.len(), most, &|| format!("entries of the enum `{}`", item.name))?;
        for (name, _) in &item.entries {
            at_most(name.len(), most, &|| format!("bytes of the name of an entry of `{}`", item.name))?;
        }
    }
    for item in structs {
        at_most(item.name.len(), most, &|| "bytes of the name of a struct".to_owned())?;
        let mut free = 0;
        for property in &item.properties {
            at_most(property.name.len(), most, &|| format!("bytes of a name in `{}`", item.name))?;
            let problem = property_problem(property, free, item.slots);
            let deep = || depth(&property.kind) > MAX_TYPE_DEPTH;
            let problem =
                problem.or_else(|| deep().then(|| format!("types of `{}` nest too deep", property.name)));
            if let Some(problem) = problem {
                return Err(MappingsError::Struct { name: (*item.name).to_owned(), problem });
            }
            free = u32::from(property.slot).saturating_add(property.dimension.into());
        }
    }
    Ok(())
}

fn depth(kind: &PropertyType) -> usize {
    kind.inner().map(depth).max().unwrap_or(0).saturating_add(1)
}

/// How many slots each struct has with its ancestors: `None` where one of them is not there. `parents` has
/// for each struct nothing, or what became of its parent.
pub(super) fn ancestry(
    structs: &[Struct],
    parents: &[Option<Option<u32>>],
) -> Result<Vec<Option<u32>>, MappingsError> {
    let mut all = Vec::with_capacity(structs.len());
    for item in structs {
        let mut slots: u32 = item.slots.into();
        let mut step = parents.get(all.len()).copied().flatten();
        let mut total = None;
        for ancestors in 0..=MAX_ANCESTORS {
            let Some(parent) = step else {
                total = Some(slots);
                break;
            };
            let Some(at) = parent.map(|at| at as usize) else { break };
            if ancestors == MAX_ANCESTORS {
                return Err(MappingsError::Ancestors((*item.name).to_owned()));
            }
            slots = slots.saturating_add(structs.get(at).map_or(0, |parent| parent.slots.into()));
            step = parents.get(at).copied().flatten();
        }
        all.push(total);
    }
    Ok(all)
}
