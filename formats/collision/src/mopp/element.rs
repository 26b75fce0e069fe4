//! A MOPP as it lies in a tag: an element of 96 bytes, and the code.

use glam::DVec3;
use wire::{ReadError, Reader, Writer};

use crate::mopp::frame::Frame;
use crate::mopp::interpret::{MoppError, run};

/// Bytes of an element without its code.
const ELEMENT_SIZE: usize = 96;

/// A MOPP.
#[derive(Clone, Debug, PartialEq)]
pub struct Mopp {
    /// Where it lies.
    pub frame: Frame,
    /// What it does.
    pub code: Vec<u8>,
}

impl Mopp {
    /// The keys of shapes that a box in world units may touch.
    pub fn query(&self, low: DVec3, high: DVec3) -> Result<Vec<u32>, MoppError> {
        run(&self.code, Some(&self.frame.query(low, high)))
    }

    /// The element: that of a donor with our frame and length, or one of our own. The length stands there
    /// three times; a stale one would cut the tree short.
    pub fn element(&self, donor: Option<&[u8; ELEMENT_SIZE]>) -> [u8; ELEMENT_SIZE] {
        let length = self.code.len() as u32;
        let mut w = Writer::with_capacity(ELEMENT_SIZE);
        match donor {
            Some(donor) => w.bytes(donor),
            None => w.zeros(ELEMENT_SIZE).patch(10, &128_u16.to_le_bytes()),
        };
        for (at, value) in
            [32, 36, 40, 44].into_iter().zip(self.frame.offset.into_iter().chain([self.frame.scale]))
        {
            w.patch(at, &value.to_le_bytes());
        }
        w.patch(56, &length.to_le_bytes());
        w.patch(60, &(0x8000_0000 | length).to_le_bytes());
        w.patch(80, &length.to_le_bytes());
        let mut element = [0; ELEMENT_SIZE];
        element.copy_from_slice(w.as_bytes());
        element
    }
}

/// Reads an element and its code; its three lengths must agree with the code.
pub fn read_element(element: &[u8], code: &[u8]) -> Result<Mopp, ReadError> {
    let mut r = Reader::new(element, "mopp code");
    r.bytes(32, "header")?;
    let offset = [r.f32("offset")?, r.f32("offset")?, r.f32("offset")?];
    let scale = r.f32("scale")?;
    r.u64("pointer")?;
    for (field, flag) in [("code length", 0), ("code capacity", 0x8000_0000), ("code count", 0)] {
        if field == "code count" {
            r.bytes(16, "build type")?;
        }
        let at = r.clone();
        let found = r.u32(field)?;
        if u64::from(found & !flag) != code.len() as u64 || found & flag != flag {
            return Err(at.malformed(field, format!("{found:#x} for a code of {} bytes", code.len())));
        }
    }
    r.bytes(12, "block")?;
    r.finish()?;
    Ok(Mopp { frame: Frame { offset, scale }, code: code.to_vec() })
}
