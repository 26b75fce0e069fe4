//! [`Target`], and how targets are replayed without a fuzzer: over their committed inputs, and over every cut
//! and many changes of what they start from.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A property of all bytes.
pub struct Target {
    /// Its name: that of its shim, and of its folder of inputs.
    pub name: &'static str,
    /// Checks one input; panics when a property does not hold.
    pub run: fn(&[u8]),
    /// Inputs to start from, with their names.
    pub seeds: fn() -> Vec<(&'static str, Vec<u8>)>,
}

impl Target {
    /// Says which input it was, should one fail.
    pub fn replay(&self, name: &str, input: &[u8]) {
        let result = std::panic::catch_unwind(|| (self.run)(input));
        assert!(result.is_ok(), "target `{}`, input `{name}`: {}", self.name, input.escape_ascii());
    }
}

/// Replays what lies in `corpus`, and holds it to be what the targets start from now.
pub fn replay_committed(targets: &[Target], corpus: &str) {
    for target in targets {
        let folder = Path::new(corpus).join(target.name);
        let mut names = BTreeSet::new();
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            target.replay(&name, &fs::read(&path).unwrap());
            names.insert(name);
        }
        for (name, seed) in (target.seeds)() {
            let file = folder.join(format!("{name}.bin"));
            assert!(names.contains(name) && fs::read(&file).unwrap() == seed, "{} is stale", file.display());
        }
    }
}

/// Replays every `step`th cut of the seeds that have less than `longest` bytes, and three changes of as many bytes.
pub fn replay_damaged(targets: &[Target], longest: usize, step: usize) {
    for target in targets {
        for (name, seed) in (target.seeds)().into_iter().filter(|(_, seed)| seed.len() < longest) {
            for at in (0..seed.len()).step_by(step) {
                target.replay(name, &seed[..at]);
                let mut damaged = seed.clone();
                for byte in [0xFF, seed[at] ^ 1, seed[at] ^ 0x80] {
                    damaged[at] = byte;
                    target.replay(name, &damaged);
                }
            }
        }
    }
}

/// Writes the seeds into `corpus`.
pub fn write_corpus(targets: &[Target], corpus: &str) {
    for target in targets {
        let folder = Path::new(corpus).join(target.name);
        fs::create_dir_all(&folder).unwrap();
        for (name, seed) in (target.seeds)() {
            fs::write(folder.join(format!("{name}.bin")), seed).unwrap();
        }
    }
}
