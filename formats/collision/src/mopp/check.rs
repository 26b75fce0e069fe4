//! The proof of a compiled tree: every key once, and no way to a key that turns away a box which touches it.
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;

use crate::mopp::element::Mopp;
use crate::mopp::frame::KeyBox;
use crate::mopp::interpret::{MoppError, run, walk};

/// How a tree fails its boxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MoppFault {
    /// The code cannot be run.
    #[error(transparent)]
    Code(#[from] MoppError),
    /// A key of the boxes is not found exactly once.
    #[error("key {0:#x} is found {1} times, once is needed")]
    Count(u32, u32),
    /// A key that no box has.
    #[error("key {0:#x} is found, and there is no such box")]
    Stranger(u32),
    /// A box that touches a shape would be turned away.
    #[error("key {0:#x} is not found by boxes that touch it")]
    Missed(u32),
}

impl Mopp {
    /// Checks the tree against the boxes that it stands for.
    pub fn check(&self, boxes: &[KeyBox]) -> Result<(), MoppFault> {
        let known: BTreeMap<u32, &KeyBox> = boxes.iter().map(|it| (it.key, it)).collect();
        let mut counts: BTreeMap<u32, u32> = known.keys().map(|key| (*key, 0)).collect();
        let mut fault: Option<MoppFault> = None;
        walk(&self.code, None, &mut |key, way| {
            let (Some(count), Some(it)) = (counts.get_mut(&key), known.get(&key)) else {
                fault.get_or_insert(MoppFault::Stranger(key));
                return;
            };
            *count += 1;
            let (low, high) = self.frame.bytes(it, 1.0);
            // Any box that touches this one begins at or before its end, and ends after its beginning.
            let open = high.iter().zip(way.below).all(|(high, below)| *high < below)
                && low.iter().zip(way.above).all(|(low, above)| *low >= above);
            if way.exact && !open {
                fault.get_or_insert(MoppFault::Missed(key));
            }
        })?;
        if let Some(fault) = fault {
            return Err(fault);
        }
        if let Some((key, count)) = counts.into_iter().find(|(_, count)| *count != 1) {
            return Err(MoppFault::Count(key, count));
        }
        for it in boxes {
            let query = self.frame.query(it.low, it.high);
            if !run(&self.code, Some(&query))?.contains(&it.key) {
                return Err(MoppFault::Missed(it.key));
            }
        }
        Ok(())
    }
}
