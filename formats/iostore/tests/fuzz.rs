//! The fuzz targets of containers, replayed without a fuzzer.

use std::fs;

#[path = "../../../fuzz/src/memory.rs"]
mod memory;
#[path = "../../../fuzz/src/target.rs"]
mod target;
#[path = "../../../fuzz/src/iostore.rs"]
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

/// Containers that were made to harm, within the same bounds. That they are refused is another test's affair.
#[test]
fn hostile_containers_stay_within_bounds() {
    for topic in ["ue55", "ue58"].into_iter().filter_map(test_support::conformance) {
        let Ok(entries) = fs::read_dir(topic.join("hostile")) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()) {
            if path.extension().is_some_and(|extension| extension == "utoc") {
                let (utoc, ucas) = (fs::read(&path).unwrap(), fs::read(path.with_extension("ucas")).unwrap());
                memory::within(&utoc, 16 << 20, 0, || targets::exercise(&utoc, &ucas));
            }
        }
    }
}

/// A count of anything at all asks for no memory before its items are there.
#[test]
fn counts_that_lie_cost_nothing() {
    let (_, good) = (targets::TARGETS[0].seeds)().remove(0);
    for at in (2 + 20..2 + 104).step_by(4) {
        for value in [u32::MAX, i32::MAX as u32, 1 << 24, 1 << 16, 0] {
            let mut bad = good.clone();
            bad[at..at + 4].copy_from_slice(&value.to_le_bytes());
            memory::within(&bad, 1 << 20, 64, || targets::container(&bad));
        }
    }
}
