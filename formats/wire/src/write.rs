//! [`Writer`]: appends fields to a buffer, little-endian unless the method says otherwise.

/// A growing buffer of fields.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
}

macro_rules! number {
    ($(#[$doc:meta] $name:ident: $type:ty = $to:ident;)*) => {$(
        #[$doc]
        pub fn $name(&mut self, value: $type) -> &mut Self {
            self.bytes(&value.$to())
        }
    )*};
}

impl Writer {
    /// An empty buffer.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty buffer with room for `bytes`.
    pub fn with_capacity(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes) }
    }

    number! {
        /// One byte.
        u8: u8 = to_le_bytes;
        /// 16 bits, little-endian.
        u16: u16 = to_le_bytes;
        /// 16 bits, big-endian.
        u16_be: u16 = to_be_bytes;
        /// 32 bits, little-endian.
        u32: u32 = to_le_bytes;
        /// 32 bits, big-endian.
        u32_be: u32 = to_be_bytes;
        /// 64 bits, little-endian.
        u64: u64 = to_le_bytes;
        /// 8 bits, signed.
        i8: i8 = to_le_bytes;
        /// 16 bits, signed, little-endian.
        i16: i16 = to_le_bytes;
        /// 32 bits, signed, little-endian.
        i32: i32 = to_le_bytes;
        /// 64 bits, signed, little-endian.
        i64: i64 = to_le_bytes;
        /// IEEE 754 single precision, little-endian.
        f32: f32 = to_le_bytes;
        /// IEEE 754 double precision, little-endian.
        f64: f64 = to_le_bytes;
    }

    /// The low 24 bits, little-endian.
    pub fn u24(&mut self, value: u32) -> &mut Self {
        let [a, b, c, _] = value.to_le_bytes();
        self.bytes(&[a, b, c])
    }

    /// The low 40 bits, little-endian.
    pub fn u40(&mut self, value: u64) -> &mut Self {
        let [a, b, c, d, e, ..] = value.to_le_bytes();
        self.bytes(&[a, b, c, d, e])
    }

    /// The low 40 bits, big-endian.
    pub fn u40_be(&mut self, value: u64) -> &mut Self {
        let [_, _, _, a, b, c, d, e] = value.to_be_bytes();
        self.bytes(&[a, b, c, d, e])
    }

    /// `bytes` as they are.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// `n` zero bytes.
    pub fn zeros(&mut self, n: usize) -> &mut Self {
        self.bytes.resize(self.bytes.len().saturating_add(n), 0);
        self
    }

    /// Zero bytes up to the next multiple of `alignment`.
    pub fn align(&mut self, alignment: usize) -> &mut Self {
        let length = self.bytes.len();
        match length.checked_next_multiple_of(alignment) {
            Some(end) => self.zeros(end.saturating_sub(length)),
            None => self,
        }
    }

    /// Overwrites the bytes at `at`, which must have been written before: a place outside is our own
    /// mistake, and a debug build says so.
    pub fn patch(&mut self, at: usize, bytes: &[u8]) -> &mut Self {
        let place = at.checked_add(bytes.len()).and_then(|end| self.bytes.get_mut(at..end));
        debug_assert!(place.is_some(), "patch outside what was written");
        if let Some(place) = place {
            place.copy_from_slice(bytes);
        }
        self
    }

    /// How many bytes were written.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// What was written.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What was written, as a vector.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_follow_each_other() {
        let mut w = Writer::with_capacity(8);
        assert!(w.is_empty());
        w.u8(1).u16(2).u16_be(2).u24(0xff00_0003).u40(u64::MAX << 40 | 4).zeros(2);
        assert_eq!(w.as_bytes(), [1, 2, 0, 0, 2, 3, 0, 0, 4, 0, 0, 0, 0, 0, 0]);
        assert_eq!(w.len(), 15);
        w.patch(1, &[9, 9]);
        assert_eq!(w.into_bytes()[..4], [1, 9, 9, 0]);
    }

    #[test]
    fn alignment_adds_what_is_missing() {
        let mut w = Writer::new();
        assert!(w.align(16).is_empty());
        for (add, length) in [(1, 16), (0, 16), (16, 32), (15, 48)] {
            assert_eq!(w.zeros(add).align(16).len(), length);
        }
    }
}
