//! The fuzz targets of containers, replayed without a fuzzer: over the committed inputs, and over every cut and
//! many changes of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

#[path = "../../../fuzz/src/memory.rs"]
mod memory;
#[path = "../../../fuzz/src/iostore.rs"]
mod targets;

#[global_allocator]
static COUNTING: memory::Counting = memory::Counting;

fn corpus(target: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus").join(target)
}

/// Says which input it was, should one fail.
fn run(target: &targets::Target, name: &str, input: &[u8]) {
    let result = std::panic::catch_unwind(|| (target.run)(input));
    assert!(result.is_ok(), "target `{}`, input `{name}`: {}", target.name, input.escape_ascii());
}

#[test]
fn the_committed_inputs_hold() {
    for target in targets::TARGETS {
        let mut names = BTreeSet::new();
        for entry in fs::read_dir(corpus(target.name)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            run(&target, &name, &fs::read(&path).unwrap());
            names.insert(name);
        }
        for (name, seed) in (target.seeds)() {
            let file = corpus(target.name).join(format!("{name}.bin"));
            assert!(names.contains(name) && fs::read(&file).unwrap() == seed, "{} is stale", file.display());
        }
    }
}

#[test]
fn damaged_inputs_hold() {
    for target in targets::TARGETS {
        for (name, seed) in (target.seeds)() {
            for end in 0..seed.len() {
                run(&target, name, &seed[..end]);
            }
            for at in 0..seed.len() {
                let mut damaged = seed.clone();
                for byte in [0xFF, seed[at] ^ 1, seed[at] ^ 0x80] {
                    damaged[at] = byte;
                    run(&target, name, &damaged);
                }
            }
        }
    }
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

#[test]
#[ignore = "writes the inputs that the targets start from: after a change of theirs"]
fn write_the_corpus() {
    for target in targets::TARGETS {
        fs::create_dir_all(corpus(target.name)).unwrap();
        for (name, seed) in (target.seeds)() {
            fs::write(corpus(target.name).join(format!("{name}.bin")), seed).unwrap();
        }
    }
}
