//! How values lie in an export: the parts of structs that write themselves, and of texts.
//!
//! Structs are from measured packages and published descriptions; whatever is not listed is a block of its
//! own, by its schema.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

/// The bits of a header's fragment: slots that are skipped, a zero mask, the last one, values.
pub(super) const SKIP_MASK: u16 = 0x7f;
pub(super) const HAS_ZEROES: u16 = 0x80;
pub(super) const IS_LAST: u16 = 0x100;
pub(super) const VALUES_SHIFT: u32 = 9;
/// The most slots that a fragment skips, and the most values that it has.
pub(super) const FRAGMENT_MOST: u16 = 0x7f;
/// The most fragments of a header.
pub(super) const MAX_FRAGMENTS: usize = 1_024;
/// How far values may nest.
pub(super) const MAX_DEPTH: usize = 32;

/// A piece of a value of fixed form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    U8,
    I8,
    I32,
    I64,
    F32,
    F64,
    /// A bool of four bytes.
    Bool32,
    Guid,
    Name,
    Object,
    Str,
    Text,
    /// A value that a text formats: a type, then what it says.
    Argument,
    /// Four bytes of which only 0 is read: options of a number's format would follow.
    NoOptions,
    /// A bool of four bytes, and the part when it is true.
    Optional(&'static Part),
    /// A count, and so many groups of parts.
    List(&'static [Part]),
    /// A block by the struct's own schema.
    Block,
    /// A path to an object that may not be loaded.
    Soft,
    /// An object and the name of its function.
    Delegate,
    /// Names from the inside out, and the object that they begin at.
    FieldPath,
    /// A struct of a type that stands before it.
    Instanced,
}

use Part::*;

const VECTOR: &[Part] = &[F64; 3];
const VECTOR2: &[Part] = &[F64; 2];
const VECTOR4: &[Part] = &[F64; 4];
const FLOATS2: &[Part] = &[F32; 2];
const FLOATS3: &[Part] = &[F32; 3];
const FLOATS4: &[Part] = &[F32; 4];
const SAMPLER: &[Part] = &[List(&[F32]), List(&[I32]), F32];

/// Structs that write themselves, by name in lower case, sorted.
const NATIVE: &[(&str, &[Part])] = &[
    ("box", &[F64, F64, F64, F64, F64, F64, U8]),
    ("box3f", &[F32, F32, F32, F32, F32, F32, U8]),
    ("color", &[U8; 4]),
    ("datetime", &[I64]),
    ("fontcharacter", &[I32, I32, I32, I32, U8, I32]),
    ("framenumber", &[I32]),
    ("gameplaytagcontainer", &[List(&[Name])]),
    ("guid", &[Guid]),
    ("instancedstruct", &[Instanced]),
    ("intpoint", &[I32; 2]),
    ("intvector", &[I32; 3]),
    ("intvector4", &[I32; 4]),
    ("linearcolor", FLOATS4),
    ("materialoverridenanite", &[Bool32, Object, Block]),
    ("moviesceneframerange", &[U8, I32, U8, I32]),
    ("moviescenesequenceid", &[I32]),
    ("perplatformbool", &[Bool32, Bool32]),
    ("perplatformfloat", &[Bool32, F32]),
    ("perplatformint", &[Bool32, I32]),
    ("perqualitylevelfloat", &[Bool32, F32, List(&[I32, F32])]),
    ("perqualitylevelint", &[Bool32, I32, List(&[I32, I32])]),
    ("plane", VECTOR4),
    ("quat", VECTOR4),
    ("quat4f", FLOATS4),
    ("richcurvekey", &[U8, U8, U8, F32, F32, F32, F32, F32, F32]),
    ("rotator", VECTOR),
    ("skeletalmeshareaweightedtrianglesampler", SAMPLER),
    ("skeletalmeshsamplinglodbuiltdata", SAMPLER),
    ("softclasspath", &[Soft]),
    ("softobjectpath", &[Soft]),
    ("timespan", &[I64]),
    ("vector", VECTOR),
    ("vector2d", VECTOR2),
    ("vector2f", FLOATS2),
    ("vector3f", FLOATS3),
    ("vector4", VECTOR4),
    ("vector4f", FLOATS4),
    ("weightedrandomsampler", SAMPLER),
];

/// The parts of the struct `name`, if it writes itself.
pub(super) fn native(name: &str) -> Option<&'static [Part]> {
    let folded = || name.bytes().map(|byte| byte.to_ascii_lowercase());
    let at = NATIVE.binary_search_by(|(known, _)| known.bytes().cmp(folded())).ok()?;
    NATIVE.get(at).map(|(_, parts)| *parts)
}

/// The parts of a text after its flags and the number of its history.
pub(super) fn history(number: i8) -> Option<&'static [Part]> {
    Some(match number {
        // Never translated.
        -1 => &[Optional(&Str)],
        // Namespace, key, source.
        0 => &[Str, Str, Str],
        // Formats: named, ordered, of argument data.
        1 | 3 => &[Text, List(&[Str, Argument])],
        2 => &[Text, List(&[Argument])],
        // Number, percentage, currency.
        4 | 5 => &[Argument, NoOptions, Str],
        6 => &[Str, Argument, NoOptions, Str],
        // Date, time, both: ticks, styles, time zone, culture.
        7 | 8 => &[I64, I8, Str, Str],
        9 => &[I64, I8, I8, Str, Str],
        // Changed case.
        10 => &[Text, U8],
        // String table: its name, the key.
        11 => &[Name, Str],
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_found_without_case() {
        assert!(NATIVE.is_sorted_by(|a, b| a.0 < b.0));
        assert!(NATIVE.iter().all(|(name, _)| *name == name.to_ascii_lowercase()));
        assert_eq!(native("LinearColor"), Some(FLOATS4));
        assert_eq!(native("BoxSphereBounds"), None);
    }
}
