//! The fuzz targets of releases, replayed without a fuzzer.

#[path = "../../../fuzz/src/memory.rs"]
mod memory;
#[path = "../../../fuzz/src/target.rs"]
mod target;
#[path = "../../../fuzz/src/release.rs"]
mod targets;

use targets::TARGETS;

#[global_allocator]
static COUNTING: memory::Counting = memory::Counting;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus");

#[test]
fn the_committed_inputs_hold() {
    target::replay_committed(&TARGETS, CORPUS);
}

#[test]
fn damaged_inputs_hold() {
    target::replay_damaged(&TARGETS, usize::MAX, 1);
}

#[test]
#[ignore = "writes the inputs that the targets start from: after a change of theirs"]
fn write_the_corpus() {
    target::write_corpus(&TARGETS, CORPUS);
}
