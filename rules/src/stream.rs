//! [`Stream`]: an output that format crates write through `io::Write`, without losing whose fault an
//! error is.
//!
//! It knows no format. A full disk must reach the engine as an error of the store, which `io::Error`
//! cannot say.

use std::io;

use engine::{Digest, OutputWriter, Outputs, RuleError};

/// A blob that is being written.
pub(crate) struct Stream<'a> {
    writer: OutputWriter<'a>,
    failed: Option<RuleError>,
    written: u64,
}

impl<'a> Stream<'a> {
    /// Starts a blob.
    pub(crate) fn new(outputs: &'a Outputs<'_>) -> Result<Self, RuleError> {
        Ok(Self { writer: outputs.writer()?, failed: None, written: 0 })
    }

    /// How many bytes were written.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Ends the blob and names it. `result` is what the writing of it gave: an error of the store goes
    /// before what the format crate made of it.
    pub(crate) fn finish<T, E>(
        mut self,
        result: Result<T, E>,
        explain: impl FnOnce(E) -> RuleError,
    ) -> Result<(T, Digest), RuleError> {
        if let Some(failed) = self.failed.take() {
            return Err(failed);
        }
        let value = result.map_err(explain)?;
        Ok((value, self.writer.finish()?))
    }
}

impl io::Write for Stream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.writer.append(bytes) {
            Ok(()) => {
                self.written += bytes.len() as u64;
                Ok(bytes.len())
            }
            Err(error) => {
                self.failed = Some(error);
                Err(io::Error::other("the store did not take it"))
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
