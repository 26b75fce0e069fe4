//! The fuzz targets of tags, replayed without a fuzzer: over the committed inputs, and over every cut and
//! many changes of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

#[path = "../../../fuzz/src/memory.rs"]
mod memory;
#[path = "../../../fuzz/src/blam.rs"]
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
        // The long ones are damaged in `hostile.rs`.
        for (name, seed) in (target.seeds)().into_iter().filter(|(_, seed)| seed.len() < 1024) {
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
