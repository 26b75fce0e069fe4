//! Proofs of properties that need no data.
