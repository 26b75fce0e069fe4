//! Values from text, as recipes write them: what a field of a type takes, and the bytes in place that it
//! becomes. What does not fit is refused, never cut off.

use crate::layout::*;
use crate::model::*;
use crate::value::Reference;

/// A reference from text: `coll:path\to\tag`, or `none`.
pub(crate) fn reference(text: &str) -> Result<Option<Reference>, String> {
    if text == "none" {
        return Ok(None);
    }
    let (group, path) = text
        .split_once(':')
        .ok_or("a reference is a group and a path, as in `coll:path\\to\\tag`, or `none`")?;
    let group = FourCc::parse(group).map_err(|error| error.to_string())?;
    if path.is_empty() || path.bytes().any(|byte| byte < b' ') {
        return Err("a path has at least one character, and none that cannot be printed".to_owned());
    }
    Ok(Some(Reference { group, path: path.to_owned() }))
}

/// The text of a string id, which may stand in quotes.
pub(crate) fn string_id(text: &str) -> Result<&str, String> {
    let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    if inner.contains('\0') { Err("a string id has no NUL".to_owned()) } else { Ok(inner) }
}

/// The bytes in place that `text` makes of a field that is `current` now; for text they may be fewer.
pub(crate) fn in_place(
    layout: &Layout<'_>,
    field: &FieldDef<'_>,
    text: &str,
    current: &[u8],
) -> Result<Vec<u8>, String> {
    let trimmed = text.trim();
    match field.kind {
        Kind::Signed(n) => whole(trimmed, n, true),
        Kind::Unsigned(n) => whole(trimmed, n, false),
        Kind::BlockIndex(n) | Kind::CustomBlockIndex(n) => match trimmed {
            "none" => Ok(vec![0xff; n.into()]),
            index => whole(index.strip_prefix('#').unwrap_or(index), n, true),
        },
        Kind::Enum(n) => choose(layout, field, trimmed, n),
        Kind::Flags(n) => flags(layout, field, trimmed, n),
        Kind::BlockFlags => match trimmed.strip_prefix("0x") {
            Some(digits) => hex(digits, 4),
            None => whole(trimmed, 4, false),
        },
        Kind::Real => Ok(real(trimmed)?.to_vec()),
        Kind::Reals(n) => {
            Ok(list(trimmed, n)?.into_iter().map(real).collect::<Result<Vec<_>, _>>()?.concat())
        }
        Kind::Shorts(n) => {
            let numbers = list(trimmed, n)?.into_iter().map(|part| whole(part, 2, true));
            Ok(numbers.collect::<Result<Vec<_>, _>>()?.concat())
        }
        Kind::Rgb | Kind::Argb => color(trimmed, current),
        Kind::Tag if trimmed == "none" => Ok(NO_GROUP.to_le_bytes().to_vec()),
        Kind::Tag => match FourCc::parse(trimmed) {
            Ok(group) => Ok(group.0.to_le_bytes().to_vec()),
            Err(error) => Err(format!("{error}, or `none`")),
        },
        Kind::Text if text.contains('\0') => Err("a text has no NUL".to_owned()),
        Kind::Text if text.len() >= current.len() => {
            Err(format!("{} bytes long, at most {} fit", text.len(), current.len().saturating_sub(1)))
        }
        Kind::Text => Ok([text.as_bytes(), &[0]].concat()),
        Kind::Data => Err("data is set from bytes, not from text".to_owned()),
        _ => Err(format!("a field of type `{}` has no value of its own", field.type_name)),
    }
}

/// A whole number of `bytes` bytes.
fn whole(text: &str, bytes: u8, is_signed: bool) -> Result<Vec<u8>, String> {
    let bits = u32::from(bytes) * 8;
    let (low, high) = match is_signed {
        true => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
        false => (0, (1_i128 << bits) - 1),
    };
    match text.parse::<i128>() {
        Ok(value) if (low..=high).contains(&value) => Ok(value.to_le_bytes()[..bytes.into()].to_vec()),
        _ => Err(format!("a whole number from {low} to {high} is allowed")),
    }
}

fn hex(digits: &str, bytes: u8) -> Result<Vec<u8>, String> {
    let is_hex = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let value =
        u64::from_str_radix(digits, 16).ok().filter(|value| is_hex && *value >> (u32::from(bytes) * 8) == 0);
    let value = value.ok_or_else(|| format!("hexadecimal digits of at most {bytes} bytes are allowed"))?;
    Ok(value.to_le_bytes()[..bytes.into()].to_vec())
}

fn real(text: &str) -> Result<[u8; 4], String> {
    let is_decimal = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    match text.parse::<f32>() {
        Ok(value) if value.is_finite() && is_decimal => Ok(value.to_le_bytes()),
        _ => Err(format!("`{text}` is not a number that single precision can hold")),
    }
}

/// The parts of `(a, b, c)` or `a b c`, which must be `n`.
fn list(text: &str, n: u8) -> Result<Vec<&str>, String> {
    let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or(text);
    let parts: Vec<&str> = match inner.contains(',') {
        true => inner.split(',').map(str::trim).collect(),
        false => inner.split_whitespace().collect(),
    };
    if parts.len() == usize::from(n) {
        Ok(parts)
    } else {
        Err(format!("{n} numbers are wanted, as in `(1, 2)`; there are {}", parts.len()))
    }
}

/// The place of an option, by its name.
fn option(layout: &Layout<'_>, field: &FieldDef<'_>, name: &str) -> Option<usize> {
    layout.options(field.aux).position(|option| !option.is_empty() && option.eq_ignore_ascii_case(name))
}

fn allowed(layout: &Layout<'_>, field: &FieldDef<'_>) -> String {
    let names: Vec<String> =
        layout.options(field.aux).filter(|name| !name.is_empty()).map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

fn choose(layout: &Layout<'_>, field: &FieldDef<'_>, text: &str, bytes: u8) -> Result<Vec<u8>, String> {
    let name = option(layout, field, text).map(|index| index.to_string());
    whole(name.as_deref().unwrap_or(text), bytes, false)
        .map_err(|_| format!("allowed are {}, or a number", allowed(layout, field)))
}

fn flags(layout: &Layout<'_>, field: &FieldDef<'_>, text: &str, bytes: u8) -> Result<Vec<u8>, String> {
    if let Some(digits) = text.strip_prefix("0x") {
        return hex(digits, bytes);
    }
    if text == "none" {
        return Ok(vec![0; bytes.into()]);
    }
    let bits = usize::from(bytes) * 8;
    let mut value = 0_u64;
    for name in text.split('|').map(str::trim) {
        let bit = option(layout, field, name).or_else(|| name.strip_prefix("bit ")?.parse().ok());
        match bit.filter(|bit| *bit < bits) {
            Some(bit) => value |= 1 << bit,
            None => {
                let names = allowed(layout, field);
                return Err(format!(
                    "`{name}` is no flag; allowed are {names}, joined by `|`, `none` or `0x…`"
                ));
            }
        }
    }
    Ok(value.to_le_bytes()[..bytes.into()].to_vec())
}

/// `#rrggbb`, which leaves alpha as it is, or `#aarrggbb`.
fn color(text: &str, current: &[u8]) -> Result<Vec<u8>, String> {
    let wrong = || "a colour is `#rrggbb` or `#aarrggbb`".to_owned();
    let digits = text.strip_prefix('#').ok_or_else(wrong)?;
    let mut bytes = hex(digits, 4).map_err(|_| wrong())?;
    match digits.len() {
        8 => {}
        6 => bytes[3] = current.get(3).copied().unwrap_or_default(),
        _ => return Err(wrong()),
    }
    Ok(bytes)
}
