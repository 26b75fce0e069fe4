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
        pub fn $name(&mut self, field: &str) -> Result<$type, ReadError> {
            Ok(<$type>::$from(self.array(field)?))
        }
    )*};
}

impl<'a> Reader<'a> {
    /// Reads `bytes` from the start; `section` leads the field path of every error.
    pub fn new(bytes: &'a [u8], section: &'static str) -> Self {
        Self {
            bytes,
            position: 0,
            base: 0,
            section,
        }
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
        /// 32 bits, signed, little-endian.
        i32: i32 = from_le_bytes;
        /// 64 bits, signed, little-endian.
        i64: i64 = from_le_bytes;
        /// IEEE 754 single precision, little-endian.
        f32: f32 = from_le_bytes;
    }

    /// 24 bits, little-endian.
    pub fn u24(&mut self, field: &str) -> Result<u32, ReadError> {
        let [a, b, c] = self.array(field)?;
        Ok(u32::from_le_bytes([a, b, c, 0]))
    }

    /// 40 bits, little-endian.
    pub fn u40(&mut self, field: &str) -> Result<u64, ReadError> {
        let [a, b, c, d, e] = self.array(field)?;
        Ok(u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]))
    }

    /// 40 bits, big-endian.
    pub fn u40_be(&mut self, field: &str) -> Result<u64, ReadError> {
        let [a, b, c, d, e] = self.array(field)?;
        Ok(u64::from_be_bytes([0, 0, 0, a, b, c, d, e]))
    }

    /// The next `N` bytes.
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
        Ok(Reader {
            bytes,
            position: 0,
            base,
            section,
        })
    }

    /// Checks that `n` items of at least `item_bytes` each (never 0) can still follow, and gives `n` as
    /// a length that is safe to allocate for.
    pub fn count(&self, n: u64, item_bytes: u64, field: &str) -> Result<usize, ReadError> {
        let need = n
            .checked_mul(item_bytes.max(1))
            .filter(|need| *need <= self.remaining());
        match (need, usize::try_from(n)) {
            (Some(_), Ok(n)) => Ok(n),
            _ => Err(self.error(
                ErrorKind::Truncated,
                field,
                format!(
                    "{n} items of {item_bytes} bytes do not fit in the {} bytes left",
                    self.remaining()
                ),
            )),
        }
    }

    /// What is left, without moving.
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

    fn truncated(&self, field: &str, need: u64) -> ReadError {
        let have = self.remaining();
        self.error(
            ErrorKind::Truncated,
            field,
            format!("needs {need} bytes, {have} left"),
        )
    }
}
