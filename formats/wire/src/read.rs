//! [`Reader`]: a cursor over bytes in which nothing can panic.

use crate::{ErrorKind, ReadError};

/// A cursor over a slice. Fields are named as they are read, so that every error says which field it
/// was; offsets in errors count from the start of the outermost reader. Little-endian unless the
/// method says otherwise. After an error the position is unchanged.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
    base: u64,
    section: &'static str,
}

macro_rules! number {
    ($(#[$doc:meta] $name:ident: $type:ty = $from:ident;)*) => {$(
        #[$doc]
        #[inline]
        pub fn $name(&mut self, field: &str) -> Result<$type, ReadError> {
            Ok(<$type>::$from(self.array(field)?))
        }
    )*};
}

impl<'a> Reader<'a> {
    /// Reads `bytes` from the start; `section` leads the field path of every error.
    pub fn new(bytes: &'a [u8], section: &'static str) -> Self {
        Self { bytes, position: 0, base: 0, section }
    }

    number! {
        /// One byte.
        u8: u8 = from_le_bytes;
        /// 16 bits, little-endian.
        u16: u16 = from_le_bytes;
        /// 16 bits, big-endian.
        u16_be: u16 = from_be_bytes;
        /// 32 bits, little-endian.
        u32: u32 = from_le_bytes;
        /// 32 bits, big-endian.
        u32_be: u32 = from_be_bytes;
        /// 64 bits, little-endian.
        u64: u64 = from_le_bytes;
        /// 8 bits, signed.
        i8: i8 = from_le_bytes;
        /// 16 bits, signed, little-endian.
        i16: i16 = from_le_bytes;
        /// 32 bits, signed, little-endian.
        i32: i32 = from_le_bytes;
        /// 64 bits, signed, little-endian.
        i64: i64 = from_le_bytes;
        /// IEEE 754 single precision, little-endian.
        f32: f32 = from_le_bytes;
        /// IEEE 754 double precision, little-endian.
        f64: f64 = from_le_bytes;
    }

    /// 24 bits, little-endian.
    #[inline]
    pub fn u24(&mut self, field: &str) -> Result<u32, ReadError> {
        let [a, b, c] = self.array(field)?;
        Ok(u32::from_le_bytes([a, b, c, 0]))
    }

    /// 40 bits, little-endian.
    #[inline]
    pub fn u40(&mut self, field: &str) -> Result<u64, ReadError> {
        let [a, b, c, d, e] = self.array(field)?;
        Ok(u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]))
    }

    /// 40 bits, big-endian.
    #[inline]
    pub fn u40_be(&mut self, field: &str) -> Result<u64, ReadError> {
        let [a, b, c, d, e] = self.array(field)?;
        Ok(u64::from_be_bytes([0, 0, 0, a, b, c, d, e]))
    }

    /// The next `N` bytes.
    #[inline]
    pub fn array<const N: usize>(&mut self, field: &str) -> Result<[u8; N], ReadError> {
        let rest = self.rest();
        match rest.first_chunk::<N>() {
            Some(chunk) => {
                self.position = self.position.saturating_add(N);
                Ok(*chunk)
            }
            None => Err(self.truncated(field, N as u64)),
        }
    }

    /// The next `n` bytes.
    #[inline]
    pub fn bytes(&mut self, n: u64, field: &str) -> Result<&'a [u8], ReadError> {
        let taken = usize::try_from(n)
            .ok()
            .and_then(|n| self.rest().get(..n))
            .ok_or_else(|| self.truncated(field, n))?;
        self.position = self.position.saturating_add(taken.len());
        Ok(taken)
    }

    /// The next `n` bytes as a reader of their own, with offsets that go on counting.
    pub fn section(&mut self, n: u64, section: &'static str) -> Result<Reader<'a>, ReadError> {
        let base = self.offset();
        let bytes = self.bytes(n, section)?;
        Ok(Reader { bytes, position: 0, base, section })
    }

    /// Checks that `n` items of at least `item_bytes` each (never 0) can still follow, and gives `n` as
    /// a length that is safe to allocate for.
    pub fn count(&self, n: u64, item_bytes: u64, field: &str) -> Result<usize, ReadError> {
        let need = n.checked_mul(item_bytes.max(1)).filter(|need| *need <= self.remaining());
        match (need, usize::try_from(n)) {
            (Some(_), Ok(n)) => Ok(n),
            _ => Err(self.error(
                ErrorKind::Truncated,
                field,
                format!("{n} items of {item_bytes} bytes do not fit in the {} bytes left", self.remaining()),
            )),
        }
    }

    /// What is left, without moving.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.position..).unwrap_or_default()
    }

    /// How many bytes are left.
    pub fn remaining(&self) -> u64 {
        self.rest().len() as u64
    }

    /// The position from the start of this reader, in bytes.
    pub fn position(&self) -> u64 {
        self.position as u64
    }

    /// The position from the start of the outermost reader, in bytes: what errors state.
    #[inline]
    pub fn offset(&self) -> u64 {
        self.base.saturating_add(self.position as u64)
    }

    /// Ends the section: bytes that are left over are an error.
    pub fn finish(self) -> Result<(), ReadError> {
        match self.remaining() {
            0 => Ok(()),
            n => Err(self.malformed("end", format!("{n} bytes follow the last field"))),
        }
    }

    /// An error of `kind` about `field` at the current position.
    pub fn error(&self, kind: ErrorKind, field: &str, message: impl Into<String>) -> ReadError {
        let section = self.section;
        ReadError::new(kind, self.offset(), format!("{section}.{field}"), message)
    }

    /// `field` contradicts the format.
    pub fn malformed(&self, field: &str, message: impl Into<String>) -> ReadError {
        self.error(ErrorKind::Malformed, field, message)
    }

    /// `field` is of a form that is not read here.
    pub fn unsupported(&self, field: &str, message: impl Into<String>) -> ReadError {
        self.error(ErrorKind::Unsupported, field, message)
    }

    /// `field` asks for more than is allowed.
    pub fn limit(&self, field: &str, message: impl Into<String>) -> ReadError {
        self.error(ErrorKind::Limit, field, message)
    }

    #[cold]
    fn truncated(&self, field: &str, need: u64) -> ReadError {
        let have = self.remaining();
        self.error(ErrorKind::Truncated, field, format!("needs {need} bytes, {have} left"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Writer;

    #[test]
    fn what_is_written_is_read() {
        let mut w = Writer::new();
        w.u8(1).u16(0x0203).u16_be(0x0203).u24(0x0004_0506).u32(0x0708_090a).u32_be(0x0708_090a);
        w.u40(0x0b_0c0d_0e0f).u40_be(0x0b_0c0d_0e0f).u64(u64::MAX - 1).i32(-2).i64(i64::MIN);
        w.f32(-0.5).bytes(b"end");
        let mut r = Reader::new(w.as_bytes(), "test");
        assert_eq!(r.u8("a"), Ok(1));
        assert_eq!(r.u16("a"), Ok(0x0203));
        assert_eq!(r.u16_be("a"), Ok(0x0203));
        assert_eq!(r.u24("a"), Ok(0x0004_0506));
        assert_eq!(r.u32("a"), Ok(0x0708_090a));
        assert_eq!(r.u32_be("a"), Ok(0x0708_090a));
        assert_eq!(r.u40("a"), Ok(0x0b_0c0d_0e0f));
        assert_eq!(r.u40_be("a"), Ok(0x0b_0c0d_0e0f));
        assert_eq!(r.u64("a"), Ok(u64::MAX - 1));
        assert_eq!(r.i32("a"), Ok(-2));
        assert_eq!(r.i64("a"), Ok(i64::MIN));
        assert_eq!(r.f32("a"), Ok(-0.5));
        assert_eq!(r.bytes(3, "a"), Ok(&b"end"[..]));
        assert_eq!(r.finish(), Ok(()));
    }

    #[test]
    fn byte_order_is_as_named() {
        let bytes = [1, 2, 3, 4, 5];
        let r = || Reader::new(&bytes, "test");
        assert_eq!(r().u16("a"), Ok(0x0201));
        assert_eq!(r().u16_be("a"), Ok(0x0102));
        assert_eq!(r().u24("a"), Ok(0x0003_0201));
        assert_eq!(r().u32("a"), Ok(0x0403_0201));
        assert_eq!(r().u32_be("a"), Ok(0x0102_0304));
        assert_eq!(r().u40("a"), Ok(0x05_0403_0201));
        assert_eq!(r().u40_be("a"), Ok(0x01_0203_0405));
    }

    #[test]
    fn an_error_says_where_and_leaves_the_position() {
        let mut r = Reader::new(&[0; 7], "header");
        r.u32("magic").unwrap();
        let error = r.u64("size").unwrap_err();
        assert_eq!(error.to_string(), "truncated: header.size at offset 4: needs 8 bytes, 3 left");
        assert_eq!((error.kind, r.position(), r.remaining()), (ErrorKind::Truncated, 4, 3));
        assert_eq!(r.bytes(u64::MAX, "rest").unwrap_err().kind, ErrorKind::Truncated);
        assert_eq!(r.position(), 4);
        assert_eq!(r.u24("rest"), Ok(0));
        assert_eq!(
            r.malformed("end", "x").within("file").to_string(),
            "malformed: file.header.end at offset 7: x"
        );
    }

    #[test]
    fn every_field_fails_on_every_prefix() {
        type Field = fn(&mut Reader<'_>) -> Result<u64, ReadError>;
        let fields: [Field; 9] = [
            |r| r.u8("a").map(u64::from),
            |r| r.u16("a").map(u64::from),
            |r| r.u16_be("a").map(u64::from),
            |r| r.u24("a").map(u64::from),
            |r| r.u32("a").map(u64::from),
            |r| r.u32_be("a").map(u64::from),
            |r| r.u40("a"),
            |r| r.u40_be("a"),
            |r| r.u64("a"),
        ];
        for (field, size) in fields.iter().zip([1, 2, 2, 3, 4, 4, 5, 5, 8]) {
            for length in 0..10 {
                let bytes = [0xff; 10];
                let mut r = Reader::new(&bytes[..length], "test");
                assert_eq!(field(&mut r).is_ok(), length >= size, "{size} bytes of {length}");
                assert_eq!(r.position(), if length >= size { size as u64 } else { 0 });
            }
        }
    }

    #[test]
    fn a_section_ends_and_goes_on_counting() {
        let bytes = [1, 2, 3, 4, 5, 6];
        let mut r = Reader::new(&bytes, "file");
        r.u8("first").unwrap();
        let mut inner = r.section(3, "inner").unwrap();
        assert_eq!((inner.position(), inner.offset(), inner.remaining()), (0, 1, 3));
        assert_eq!((r.position(), r.rest()), (4, &[5, 6][..]));
        assert_eq!(inner.u16("pair"), Ok(0x0302));
        let error = inner.u16("pair").unwrap_err();
        assert_eq!(error.to_string(), "truncated: inner.pair at offset 3: needs 2 bytes, 1 left");
        let error = inner.finish().unwrap_err();
        assert_eq!(error.to_string(), "malformed: inner.end at offset 3: 1 bytes follow the last field");
        assert!(r.section(3, "inner").is_err());
    }

    #[test]
    fn a_count_is_good_only_where_its_items_can_be() {
        let mut r = Reader::new(&[0; 12], "test");
        r.u32("count").unwrap();
        assert_eq!(r.count(2, 4, "items"), Ok(2));
        assert_eq!(r.count(8, 0, "items"), Ok(8));
        assert_eq!(r.count(0, u64::MAX, "items"), Ok(0));
        for (n, size) in [(3, 4), (9, 0), (u64::MAX, 1), (u64::MAX, u64::MAX), (1 << 63, 2)] {
            let error = r.count(n, size, "items").unwrap_err();
            assert_eq!((error.kind, error.offset), (ErrorKind::Truncated, 4), "{n} of {size}");
        }
    }
}
