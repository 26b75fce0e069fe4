//! The fuzz targets of collision, replayed without a fuzzer: over their committed inputs, every cut and many
//! changes of them, and bytes of no meaning.
#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used, reason = "a test may stop")]

#[path = "../../../fuzz/src/target.rs"]
mod target;
#[path = "../../../fuzz/src/collision.rs"]
mod targets;

use collision::Numbers;
use targets::TARGETS;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus");

#[test]
fn the_committed_inputs_hold() {
    target::replay_committed(&TARGETS, CORPUS);
}

#[test]
fn damaged_inputs_hold() {
    // Building takes its time; the readers do not.
    let (builders, readers): (Vec<_>, Vec<_>) =
        TARGETS.into_iter().partition(|target| target.name == "hulls");
    target::replay_damaged(&readers, usize::MAX, 1);
    target::replay_damaged(&builders, usize::MAX, 7);
}

#[test]
#[ignore = "writes the inputs that the targets start from: after a change of theirs"]
fn write_the_corpus() {
    target::write_corpus(&TARGETS, CORPUS);
}

#[test]
fn bytes_of_no_meaning_hold() {
    let mut numbers = Numbers::new(2);
    for target in TARGETS {
        for _ in 0..if target.name == "hulls" { 200 } else { 5000 } {
            let bytes: Vec<u8> = (0..numbers.below(200)).map(|_| numbers.bits() as u8).collect();
            target.replay("noise", &bytes);
        }
    }
}
