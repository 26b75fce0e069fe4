//! Counted strings (`FString`) as containers hold them, and which of them may become part of a path.
//!
//! A [`Text`] keeps how it was stored, so that reading and writing give the same bytes. It knows no
//! directories; [`crate::component_fault`] is the one place that judges names.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use std::borrow::Cow;

use wire::{ErrorKind, ReadError, Reader, Writer};

/// The longest string that is read, in units.
const MAX_UNITS: u32 = 1024;

/// A string and the form in which it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) value: String,
    form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// No units at all, not even a terminator.
    Absent,
    Bytes,
    Utf16,
}

impl Text {
    /// `value`, which is ASCII, as it is written here.
    pub(crate) fn ascii(value: &str) -> Self {
        Self { value: value.to_owned(), form: if value.is_empty() { Form::Absent } else { Form::Bytes } }
    }

    pub(crate) fn read(r: &mut Reader<'_>, field: &str) -> Result<Self, ReadError> {
        let (value, form) = decode(r, field)?;
        Ok(Self { value: value.into_owned(), form })
    }

    pub(crate) fn write(&self, w: &mut Writer) {
        encode(w, &self.value, self.form);
    }
}

fn decode<'a>(r: &mut Reader<'a>, field: &str) -> Result<(Cow<'a, str>, Form), ReadError> {
    let at = r.offset();
    let wrong = |kind, message: String| Err(ReadError::new(kind, at, field, message));
    let length = r.i32(field)?;
    let units = length.unsigned_abs();
    if length == i32::MIN {
        return wrong(ErrorKind::Malformed, format!("string length {length}"));
    }
    if units > MAX_UNITS {
        return wrong(
            ErrorKind::Limit,
            format!("a string of {units} units, at most {MAX_UNITS} are allowed"),
        );
    }
    let (decoded, form) = if length == 0 {
        return Ok((Cow::Borrowed(""), Form::Absent));
    } else if length > 0 {
        let bytes = r.bytes(u64::from(units), field)?;
        (std::str::from_utf8(bytes).ok().map(Cow::Borrowed), Form::Bytes)
    } else {
        let bytes = r.bytes(u64::from(units).saturating_mul(2), field)?;
        let (pairs, _) = bytes.as_chunks::<2>();
        let units: Vec<u16> = pairs.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
        (String::from_utf16(&units).ok().map(Cow::Owned), Form::Utf16)
    };
    let value = match decoded {
        Some(Cow::Borrowed(text)) => text.strip_suffix('\0').map(Cow::Borrowed),
        Some(Cow::Owned(mut text)) => (text.pop() == Some('\0')).then_some(Cow::Owned(text)),
        None => return wrong(ErrorKind::Malformed, "not valid text".to_owned()),
    };
    match value {
        Some(value) => Ok((value, form)),
        None => wrong(ErrorKind::Malformed, "the string has no terminator".to_owned()),
    }
}

fn encode(w: &mut Writer, value: &str, form: Form) {
    // What is read has at most 1,024 units and what is built is shorter still.
    let length = |units: usize| i32::try_from(units).unwrap_or(i32::MAX);
    match form {
        Form::Absent => {
            w.i32(0);
        }
        Form::Bytes => {
            w.i32(length(value.len().saturating_add(1)));
            w.bytes(value.as_bytes()).u8(0);
        }
        Form::Utf16 => {
            let units: Vec<u16> = value.encode_utf16().chain([0]).collect();
            w.i32(length(units.len()).wrapping_neg());
            for unit in units {
                w.u16(unit);
            }
        }
    }
}

/// Many strings in one piece of memory: tables of contents of the game name a hundred thousand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Texts {
    all: String,
    /// Where each ends in `all`, and how it is stored.
    ends: Vec<(usize, Form)>,
}

impl Texts {
    /// No strings, and room for `count` of them.
    pub(crate) fn with_capacity(count: usize) -> Self {
        Self { all: String::new(), ends: Vec::with_capacity(count) }
    }

    /// Reads one more and gives it.
    pub(crate) fn read(&mut self, r: &mut Reader<'_>, field: &str) -> Result<&str, ReadError> {
        let (value, form) = decode(r, field)?;
        let start = self.all.len();
        self.push(&value, form);
        Ok(self.all.get(start..).unwrap_or_default())
    }

    /// Reads one of so many units and without a terminator.
    pub(crate) fn read_bare(
        &mut self,
        r: &mut Reader<'_>,
        field: &str,
        units: u64,
        wide: bool,
    ) -> Result<(), ReadError> {
        let start = r.clone();
        let wrong = || start.malformed(field, "not valid text");
        if wide {
            let (pairs, _) = r.bytes(units.saturating_mul(2), field)?.as_chunks::<2>();
            let units: Vec<u16> = pairs.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
            self.push(&String::from_utf16(&units).map_err(|_| wrong())?, Form::Utf16);
        } else {
            let text = std::str::from_utf8(r.bytes(units, field)?).ok().filter(|text| text.is_ascii());
            self.push(text.ok_or_else(wrong)?, Form::Bytes);
        }
        Ok(())
    }

    /// Writes what was read so: lengths in units, those of UTF-16 with `wide`, and the bytes.
    pub(crate) fn write_bare(&self, lengths: &mut Writer, bytes: &mut Writer, wide: u16) {
        let length = |units: usize| u16::try_from(units).unwrap_or(u16::MAX);
        let mut start = 0;
        for (end, form) in &self.ends {
            let text = self.all.get(start..*end).unwrap_or_default();
            start = *end;
            if *form == Form::Utf16 {
                let units: Vec<u16> = text.encode_utf16().collect();
                lengths.u16_be(length(units.len()) | wide);
                for unit in units {
                    bytes.u16(unit);
                }
            } else {
                lengths.u16_be(length(text.len()));
                bytes.bytes(text.as_bytes());
            }
        }
    }

    /// Adds `value`, which is ASCII and not empty, as it is written here.
    pub(crate) fn add(&mut self, value: &str) {
        self.push(value, Form::Bytes);
    }

    fn push(&mut self, value: &str, form: Form) {
        self.all.push_str(value);
        self.ends.push((self.all.len(), form));
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn get(&self, index: u32) -> Option<&str> {
        let index = usize::try_from(index).ok()?;
        let (end, _) = *self.ends.get(index)?;
        let start = match index.checked_sub(1) {
            Some(before) => self.ends.get(before)?.0,
            None => 0,
        };
        self.all.get(start..end)
    }

    pub(crate) fn write(&self, w: &mut Writer) {
        let mut start = 0;
        for (end, form) in &self.ends {
            encode(w, self.all.get(start..*end).unwrap_or_default(), *form);
            start = *end;
        }
    }
}

/// Why `component` must not be a part of a path on any system, or `None` when it may.
pub fn component_fault(component: &str) -> Option<&'static str> {
    if is_plain(component.as_bytes()) {
        return None;
    }
    let stem = component.split('.').next().unwrap_or_default().trim_end();
    if component.is_empty() {
        Some("it is empty")
    } else if component == "." || component == ".." {
        Some("it leads elsewhere")
    } else if component.contains(['/', '\\', ':']) {
        Some("it contains a separator")
    } else if component.contains(char::is_control) {
        Some("it contains a control character")
    } else if component.ends_with(['.', ' ']) {
        Some("it ends in a dot or a space")
    } else if is_device(stem) {
        Some("it is the name of a Windows device")
    } else {
        None
    }
}

/// Whether a component is one of the many that need no closer look: letters, digits and `_`, with dots
/// inside, and too long before the first of them for the name of a device.
fn is_plain(component: &[u8]) -> bool {
    const LONGEST_DEVICE: usize = "CONOUT$".len();
    let word = |byte: &u8| byte.is_ascii_alphanumeric() | (*byte == b'_');
    let (Some((stem, rest)), Some(last)) =
        (component.split_at_checked(LONGEST_DEVICE.saturating_add(1)), component.last())
    else {
        return false;
    };
    // Without a branch for each byte: a game has a hundred thousand names.
    stem.iter().fold(true, |good, byte| good & word(byte))
        & rest.iter().fold(true, |good, byte| good & (word(byte) | (*byte == b'.')))
        & (*last != b'.')
}

fn is_device(stem: &str) -> bool {
    let upper = stem.to_ascii_uppercase();
    let numbered = ["COM", "LPT"].iter().find_map(|device| upper.strip_prefix(device));
    match numbered.map(|number| number.chars().collect::<Vec<_>>()) {
        // Windows takes the three superscript digits for digits.
        Some(number) => matches!(number.as_slice(), ['0'..='9' | '¹' | '²' | '³']),
        None => matches!(upper.as_str(), "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(bytes: &[u8]) -> Result<String, ErrorKind> {
        let mut r = Reader::new(bytes, "text");
        let text = Text::read(&mut r, "name").map_err(|error| error.kind)?;
        r.finish().unwrap();
        let mut w = Writer::new();
        text.write(&mut w);
        assert_eq!(w.as_bytes(), bytes);
        Ok(text.value)
    }

    #[test]
    fn strings_come_back_in_their_form() {
        assert_eq!(round_trip(b"\0\0\0\0"), Ok(String::new()));
        assert_eq!(round_trip(b"\x01\0\0\0\0"), Ok(String::new()));
        assert_eq!(round_trip(b"\x02\0\0\0/\0"), Ok("/".to_owned()));
        assert_eq!(round_trip(b"\xfe\xff\xff\xff/\0\0\0"), Ok("/".to_owned()));
        assert_eq!(round_trip(b"\x03\0\0\0\xc3\xa4\0"), Ok("ä".to_owned()));
        assert_eq!(round_trip(b"\xfd\xff\xff\xff\x3c\xd8\x00\xdf\0\0"), Ok("🌀".to_owned()));
    }

    #[test]
    fn broken_strings_are_refused() {
        for (bytes, kind) in [
            (&b"\0\0\0\x80"[..], ErrorKind::Malformed),
            (b"\x01\0\0\0a", ErrorKind::Malformed),
            (b"\x02\0\0\0\xff\0", ErrorKind::Malformed),
            (b"\xfe\xff\xff\xff\x00\xd8\0\0", ErrorKind::Malformed),
            (b"\xff\xff\xff\xff/\0", ErrorKind::Malformed),
            (b"\x01\x04\0\0", ErrorKind::Limit),
            (b"\x03\0\0\0a\0", ErrorKind::Truncated),
            (b"\x01\0\0", ErrorKind::Truncated),
        ] {
            assert_eq!(round_trip(bytes), Err(kind), "{bytes:?}");
        }
    }

    #[test]
    fn components_that_no_path_may_have() {
        for good in [
            "a",
            "T_Test.uasset",
            "T_Test_12.uasset",
            ".hidden",
            "a..b",
            "CONSOLE",
            "COM10",
            "LPT",
            "ä",
            "a b",
        ] {
            assert_eq!(component_fault(good), None, "{good}");
        }
        for bad in [
            "",
            ".",
            "..",
            "a/b",
            "a\\b",
            "C:",
            "a\0b",
            "a\u{7f}",
            "a\n",
            "a.",
            "a ",
            "NUL",
            "nul.txt",
            "Con",
            "com1",
            "LPT9.a.b",
            "COM¹",
            "aux .x",
            "CONOUT$",
            "CONOUT$.abcdefgh",
            "T_Test_12.",
            "T_Test_12\0",
            "T_Test_12:",
            "T_Test_12.a/b",
        ] {
            assert!(component_fault(bad).is_some(), "{bad:?}");
        }
    }
}
