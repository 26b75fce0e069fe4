//! What can be wrong with bytes: four kinds, always with the place and the field.

use std::fmt;

/// Why bytes were not accepted. Callers tell the kinds apart; people read the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The bytes end before the field does.
    Truncated,
    /// The bytes contradict the format.
    Malformed,
    /// The bytes are of a form that exists but is not read here (a version, a flag, a method).
    Unsupported,
    /// The bytes ask for more than the caller allows.
    Limit,
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Truncated => "truncated",
            Self::Malformed => "malformed",
            Self::Unsupported => "unsupported",
            Self::Limit => "limit exceeded",
        })
    }
}

/// An error of a reader: kind, byte offset from the start of the file or chunk, field path, message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {field} at offset {offset}: {message}")]
pub struct ReadError {
    /// Which of the four kinds it is.
    pub kind: ErrorKind,
    /// Where, in bytes from the start of what is being read.
    pub offset: u64,
    /// What, from the outside in, such as `export map[3].outer`.
    pub field: String,
    /// What was found and what is allowed.
    pub message: String,
}

impl ReadError {
    /// An error of `kind` in `field` at `offset`.
    pub fn new(kind: ErrorKind, offset: u64, field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind, offset, field: field.into(), message: message.into() }
    }

    /// The same error, one level further out: its field becomes `outer.field`.
    #[must_use]
    pub fn within(mut self, outer: impl fmt::Display) -> Self {
        self.field = format!("{outer}.{}", self.field);
        self
    }
}
