//! Writes a tag: the spans of its rope, one after the other. Sizes were set right by the edits.

use std::io;

use wire::ReadError;

use crate::check;
use crate::model::Tag;
use crate::read::Work;

impl Tag<'_> {
    /// The spans of the file, in order; together they are [`len`](Self::len) bytes.
    pub fn chunks(&self) -> impl Iterator<Item = &[u8]> {
        self.rope.pieces()
    }

    /// The bytes of the file. For a tag that was read and not edited they are those that were read.
    pub fn write(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(usize::try_from(self.len()).unwrap_or_default());
        self.chunks().for_each(|chunk| bytes.extend_from_slice(chunk));
        bytes
    }

    /// Writes the bytes of the file to `out`, a span at a time.
    pub fn write_to(&self, out: &mut impl io::Write) -> io::Result<()> {
        self.chunks().try_for_each(|chunk| out.write_all(chunk))
    }

    /// Walks all values anew, as reading does: what has been edited must pass before it is written.
    pub fn check(&self) -> Result<(), ReadError> {
        check::walk(self, &mut Work::default())
    }
}
