//! The fixed-point frame of a MOPP: 24 bits an axis, of which nodes compare the upper eight.

use glam::DVec3;

/// A shape's key and box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeyBox {
    /// What the MOPP names it by.
    pub key: u32,
    /// Low corner.
    pub low: DVec3,
    /// High corner.
    pub high: DVec3,
}

/// Where a MOPP lies: `fixed = (x - offset) * scale`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// The frame's origin.
    pub offset: [f32; 3],
    /// Units of 2^-24 of the frame in a world unit.
    pub scale: f32,
}

/// A box in fixed point; both ends belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryBox {
    /// Low corner.
    pub low: [i64; 3],
    /// High corner.
    pub high: [i64; 3],
}

impl QueryBox {
    /// The whole frame.
    pub const EVERYTHING: Self = Self { low: [0; 3], high: [0x00FF_FFFF; 3] };
}

impl Frame {
    /// The frame that the boxes fill, with a little room around them.
    pub fn fit(boxes: &[KeyBox]) -> Self {
        let low = boxes.iter().fold(DVec3::INFINITY, |low, b| low.min(b.low));
        let high = boxes.iter().fold(DVec3::NEG_INFINITY, |high, b| high.max(b.high));
        let (low, span) =
            if boxes.is_empty() { (DVec3::ZERO, 0.0) } else { (low, (high - low).max_element()) };
        let side = (1.01 * span).max(1e-4);
        let offset = (low - 0.005 * span).to_array().map(|c| c as f32);
        Self { offset, scale: (f64::from(1 << 24) / side) as f32 }
    }

    /// A place in fixed point.
    pub fn fixed(&self, point: DVec3) -> DVec3 {
        (point - DVec3::from(self.offset.map(f64::from))) * f64::from(self.scale)
    }

    /// What a query of a box compares.
    pub fn query(&self, low: DVec3, high: DVec3) -> QueryBox {
        let (low, high) = (self.fixed(low).floor(), self.fixed(high).floor());
        QueryBox {
            low: low.to_array().map(|c| (c as i64).saturating_sub(1)),
            high: high.to_array().map(|c| (c as i64).saturating_add(1)),
        }
    }

    /// The bytes that a box covers, with `slack` units to each side.
    pub(crate) fn bytes(&self, it: &KeyBox, slack: f64) -> ([i64; 3], [i64; 3]) {
        let byte = |c: f64| ((c / 65_536.0).floor() as i64).clamp(0, 255);
        let (low, high) = (self.fixed(it.low) - slack, self.fixed(it.high) + slack);
        (low.to_array().map(byte), high.to_array().map(byte))
    }
}
