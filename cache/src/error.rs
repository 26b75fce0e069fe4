//! What can go wrong with a store: the disk, or bytes that are not what they were.

use std::io;
use std::path::PathBuf;

/// An error of a store. Absence is no error: it is `Ok(None)`.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system refused something.
    #[error("cannot {what} `{}`", path.display())]
    Io {
        /// What was tried: `write`, `read`, `create` …
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// The system's own words.
        source: io::Error,
    },
    /// A store that this build of `bake` cannot use.
    #[error("the store at `{}` cannot be used: {reason}", path.display())]
    Unusable {
        /// Its folder.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

impl StoreError {
    /// Wraps an I/O error with what was tried and where.
    pub fn io(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { what, path, source }
    }
}
