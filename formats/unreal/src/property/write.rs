//! Writes objects and blocks.

use wire::Writer;

use super::header::write_header;
use super::model::*;
use crate::package::NameRef;

impl Object {
    /// The bytes of the export.
    pub fn write(&self) -> Vec<u8> {
        let mut bytes = self.properties();
        bytes.extend_from_slice(&self.tail);
        bytes
    }

    /// The bytes of lead and properties.
    pub fn properties(&self) -> Vec<u8> {
        let mut w = Writer::new();
        w.bytes(&self.lead);
        self.block.write(&mut w);
        w.into_bytes()
    }
}

impl Block {
    /// The header alone.
    pub fn header(&self) -> Vec<u8> {
        let present: Vec<(u32, bool)> =
            self.entries.iter().map(|entry| (entry.slot, entry.value == Value::Zero)).collect();
        write_header(self.slots, &present)
    }

    /// Appends header and values.
    pub fn write(&self, w: &mut Writer) {
        w.bytes(&self.header());
        for entry in &self.entries {
            entry.value.write(w);
        }
    }
}

impl Value {
    /// Appends the value.
    pub fn write(&self, w: &mut Writer) {
        match self {
            Self::Zero => {}
            Self::Bool(value) => {
                w.u8((*value).into());
            }
            Self::Bool32(value) => {
                w.u32((*value).into());
            }
            Self::U8(value) => {
                w.u8(*value);
            }
            Self::I8(value) => {
                w.i8(*value);
            }
            Self::U16(value) => {
                w.u16(*value);
            }
            Self::I16(value) => {
                w.i16(*value);
            }
            Self::U32(value) => {
                w.u32(*value);
            }
            Self::I32(value) | Self::Object(value) => {
                w.i32(*value);
            }
            Self::U64(value) => {
                w.u64(*value);
            }
            Self::I64(value) => {
                w.i64(*value);
            }
            Self::F32(value) => {
                w.f32(*value);
            }
            Self::F64(value) => {
                w.f64(*value);
            }
            Self::Guid(value) => {
                w.bytes(value);
            }
            Self::Name(value) => name(w, *value),
            Self::Str(value) => string(w, value),
            Self::Bytes(value) => {
                w.u32(count(value.len())).bytes(value);
            }
            Self::Text(text) => {
                w.u32(text.flags).i8(text.history);
                all(w, &text.parts);
            }
            Self::Soft(path) => {
                name(w, path.0);
                name(w, path.1);
                string(w, &path.2);
            }
            Self::Optional(value) => {
                w.u32(value.is_some().into());
                all(w, value.as_deref());
            }
            Self::List(values) => {
                w.u32(count(values.len()));
                all(w, values);
            }
            Self::Set(values) => {
                w.u32(0).u32(count(values.len()));
                all(w, values);
            }
            Self::Map(pairs) => {
                w.u32(0).u32(count(pairs.len()));
                for (key, value) in pairs {
                    key.write(w);
                    value.write(w);
                }
            }
            Self::Group(values) => all(w, values),
            Self::Block(block) => block.write(w),
            Self::Instanced(kind, bytes) => {
                w.i32(*kind).u32(count(bytes.len())).bytes(bytes);
            }
        }
    }
}

fn all<'a>(w: &mut Writer, values: impl IntoIterator<Item = &'a Value>) {
    for value in values {
        value.write(w);
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).expect("because an export is far below 4 GiB")
}

fn name(w: &mut Writer, name: NameRef) {
    w.u32(name.index).u32(name.number);
}

fn string(w: &mut Writer, string: &Str) {
    let text = string.text();
    match string.form() {
        StrForm::Empty => {
            w.u32(0);
        }
        StrForm::Utf8 => {
            w.u32(count(text.len())).bytes(text.as_bytes());
        }
        StrForm::Narrow => {
            w.u32(count(text.len() + 1)).bytes(text.as_bytes()).u8(0);
        }
        StrForm::Wide => {
            let units: Vec<u16> = text.encode_utf16().chain([0]).collect();
            w.u32(count(units.len()).wrapping_neg());
            for unit in units {
                w.u16(unit);
            }
        }
    }
}
