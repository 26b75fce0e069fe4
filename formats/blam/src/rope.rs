//! [`Rope`]: the bytes of a tag as spans of what was read and of what edits put in between.
//!
//! It knows no format. A replaced range costs what is put in, never what stays, however large the tag;
//! nothing is copied until the whole is written. Reads that leave the bytes give `None`.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Pieces of this length or less grow together with their neighbours of the same kind.
const SMALL: usize = 4096;

/// Some bytes that do not change.
#[derive(Clone, Debug)]
pub(crate) enum Piece<'a> {
    /// Of the bytes that were read.
    Read(&'a [u8]),
    /// Of what an edit put in.
    Put(Arc<[u8]>, Range<usize>),
}

impl<'a> Piece<'a> {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Read(bytes) => bytes,
            Self::Put(bytes, range) => bytes.get(range.clone()).unwrap_or_default(),
        }
    }

    fn len(&self) -> u64 {
        self.bytes().len() as u64
    }

    /// The part from `from` to `to`.
    fn part(&self, from: u64, to: u64) -> Self {
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        let to = usize::try_from(to).unwrap_or(usize::MAX);
        match self {
            Self::Read(bytes) => Self::Read(bytes.get(from..to).unwrap_or_default()),
            Self::Put(bytes, range) => {
                let start = range.start.saturating_add(from);
                Self::Put(bytes.clone(), start..range.start.saturating_add(to))
            }
        }
    }

    fn is_small(&self) -> bool {
        matches!(self, Self::Put(..)) && self.bytes().len() <= SMALL
    }
}

impl From<Vec<u8>> for Piece<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        let range = 0..bytes.len();
        Self::Put(bytes.into(), range)
    }
}

/// Bytes in pieces.
#[derive(Debug)]
pub(crate) struct Rope<'a> {
    pieces: Vec<Piece<'a>>,
    /// Where each piece begins, and where the last ends.
    starts: Vec<u64>,
    /// The piece that was read last: most reads go on where the one before ended. Only a hint.
    last: AtomicUsize,
}

impl Clone for Rope<'_> {
    fn clone(&self) -> Self {
        Self { pieces: self.pieces.clone(), starts: self.starts.clone(), last: AtomicUsize::new(0) }
    }
}

impl<'a> Rope<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let starts = vec![0, bytes.len() as u64];
        Self { pieces: vec![Piece::Read(bytes)], starts, last: AtomicUsize::new(0) }
    }

    pub(crate) fn len(&self) -> u64 {
        self.starts.last().copied().unwrap_or_default()
    }

    pub(crate) fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        self.pieces.iter().map(Piece::bytes)
    }

    /// The piece that `at` lies in, and where it begins. The end lies in no piece.
    fn find(&self, at: u64) -> Option<(usize, u64)> {
        let hint = self.last.load(Ordering::Relaxed);
        if let (Some(start), Some(end)) = (self.starts.get(hint), self.starts.get(hint.saturating_add(1)))
            && *start <= at
            && at < *end
        {
            return Some((hint, *start));
        }
        let index = self.starts.partition_point(|start| *start <= at).checked_sub(1)?;
        self.pieces.get(index)?;
        self.last.store(index, Ordering::Relaxed);
        Some((index, *self.starts.get(index)?))
    }

    /// The `length` bytes at `at`: copied only when they are not in one piece.
    pub(crate) fn bytes(&self, at: u64, length: u64) -> Option<Cow<'_, [u8]>> {
        let end = at.checked_add(length).filter(|end| *end <= self.len())?;
        if length == 0 {
            return Some(Cow::Borrowed(&[]));
        }
        let (mut index, start) = self.find(at)?;
        let within = usize::try_from(at.checked_sub(start)?).ok()?;
        let length = usize::try_from(length).ok()?;
        let rest = self.pieces.get(index)?.bytes().get(within..)?;
        if let Some(bytes) = rest.get(..length) {
            return Some(Cow::Borrowed(bytes));
        }
        let mut copy = Vec::with_capacity(length);
        copy.extend_from_slice(rest);
        while (at.saturating_add(copy.len() as u64)) < end {
            index = index.saturating_add(1);
            let bytes = self.pieces.get(index)?.bytes();
            let missing = length.saturating_sub(copy.len()).min(bytes.len());
            copy.extend_from_slice(bytes.get(..missing)?);
        }
        Some(Cow::Owned(copy))
    }

    /// The `N` bytes at `at`.
    pub(crate) fn array<const N: usize>(&self, at: u64) -> Option<[u8; N]> {
        self.bytes(at, N as u64)?.as_ref().try_into().ok()
    }

    pub(crate) fn u32(&self, at: u64) -> Option<u32> {
        self.array(at).map(u32::from_le_bytes)
    }

    /// The bytes from `from` to `to` as pieces that share what is there.
    pub(crate) fn slice(&self, from: u64, to: u64) -> Vec<Piece<'a>> {
        let mut slice = Vec::new();
        let mut at = from;
        while at < to {
            let Some((index, start)) = self.find(at) else { break };
            let Some(piece) = self.pieces.get(index) else { break };
            let end = start.saturating_add(piece.len()).min(to);
            slice.push(piece.part(at.saturating_sub(start), end.saturating_sub(start)));
            at = end;
        }
        slice
    }

    /// Puts `pieces` in the place of the `length` bytes at `at`, which must be there.
    pub(crate) fn splice(&mut self, at: u64, length: u64, pieces: Vec<Piece<'a>>) {
        debug_assert!(at.saturating_add(length) <= self.len(), "a range outside the bytes");
        let end = at.saturating_add(length).min(self.len());
        let first = self.find(at).map_or(self.pieces.len(), |(index, _)| index);
        let last = if length == 0 { self.find(end) } else { self.find(end.saturating_sub(1)) };
        let last = last.map_or(self.pieces.len(), |(index, _)| index.saturating_add(1));
        let (from, to) = (first, last.max(first).min(self.pieces.len()));
        let start = self.starts.get(from).copied().unwrap_or(at);
        let stop = self.starts.get(to).copied().unwrap_or(end);
        let mut middle = self.slice(start, at);
        middle.extend(pieces);
        middle.extend(self.slice(end, stop));
        // Small neighbours that were put in earlier join in, so that many edits leave few pieces.
        let before = from.checked_sub(1).filter(|index| self.pieces.get(*index).is_some_and(Piece::is_small));
        let after = Some(to).filter(|index| self.pieces.get(*index).is_some_and(Piece::is_small));
        let from = before.unwrap_or(from);
        let to = after.map_or(to, |index| index.saturating_add(1));
        let mut run =
            self.pieces.get(from..from.saturating_add(before.iter().count())).unwrap_or_default().to_vec();
        run.extend(middle);
        run.extend(after.and_then(|index| self.pieces.get(index)).cloned());
        self.pieces.splice(from..to, join(run));

        let mut at = self.starts.get(from).copied().unwrap_or_default();
        self.starts.truncate(from);
        for piece in self.pieces.get(from..).unwrap_or_default() {
            self.starts.push(at);
            at = at.saturating_add(piece.len());
        }
        self.starts.push(at);
    }
}

/// Joins small pieces that were put in, and drops empty ones.
fn join(pieces: Vec<Piece<'_>>) -> Vec<Piece<'_>> {
    let mut joined: Vec<Piece<'_>> = Vec::with_capacity(pieces.len());
    let mut small: Vec<u8> = Vec::new();
    for piece in pieces.into_iter().filter(|piece| piece.len() > 0) {
        if piece.is_small() {
            small.extend_from_slice(piece.bytes());
            continue;
        }
        if !small.is_empty() {
            joined.push(std::mem::take(&mut small).into());
        }
        joined.push(piece);
    }
    if !small.is_empty() {
        joined.push(small.into());
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(rope: &Rope<'_>) -> Vec<u8> {
        rope.pieces().flatten().copied().collect()
    }

    /// Any sequence of splices gives what a vector gives, and so does every read in between.
    #[test]
    fn splices_are_those_of_a_vector() {
        let base: Vec<u8> = (0..=255).collect();
        let mut rope = Rope::new(&base);
        let mut model = base.clone();
        let mut seed = 12_345_u32;
        let mut next = |below: usize| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) as usize % below.max(1)
        };
        for round in 0..2_000 {
            let at = next(model.len() + 1);
            let length = next((model.len() - at + 1).min(9));
            let mut put: Vec<Piece<'_>> = vec![vec![round as u8; next(7)].into()];
            let mut bytes: Vec<u8> = put[0].bytes().to_vec();
            if round % 5 == 0 {
                let from = next(model.len() + 1);
                let to = from + next((model.len() - from + 1).min(40));
                put.extend(rope.slice(from as u64, to as u64));
                bytes.extend_from_slice(&model[from..to]);
            }
            rope.splice(at as u64, length as u64, put);
            model.splice(at..at + length, bytes);
            if model.len() > 2_000 {
                rope.splice(500, 1_000, Vec::new());
                model.drain(500..1_500);
            }
            assert_eq!(rope.len(), model.len() as u64);
            let from = next(model.len());
            let length = next(model.len() - from);
            assert_eq!(rope.bytes(from as u64, length as u64).unwrap(), &model[from..from + length]);
        }
        assert_eq!(text(&rope), model);
        assert!(rope.pieces.iter().all(|piece| piece.len() > 0));
        assert_eq!(rope.bytes(rope.len(), 1), None);
        assert_eq!(rope.bytes(u64::MAX, 2), None);
    }

    #[test]
    fn small_pieces_grow_together() {
        let base = [0; 1_000];
        let mut rope = Rope::new(&base);
        for at in 0..500 {
            rope.splice(at, 1, vec![vec![1].into()]);
        }
        assert_eq!(rope.pieces.len(), 2);
        assert_eq!(text(&rope)[499..501], [1, 0]);
    }
}
