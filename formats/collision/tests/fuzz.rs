//! The fuzz targets of collision, replayed without a fuzzer: over their own inputs, every cut and many
//! changes of them.
#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used, reason = "a test may stop")]

#[path = "../../../fuzz/src/collision.rs"]
mod targets;

use collision::Numbers;

/// Says which input it was, should one fail.
fn run(target: &targets::Target, name: &str, input: &[u8]) {
    let result = std::panic::catch_unwind(|| (target.run)(input));
    assert!(result.is_ok(), "target `{}`, input `{name}`: {}", target.name, input.escape_ascii());
}

#[test]
fn seeds_and_damaged_seeds_hold() {
    let mut numbers = Numbers::new(1);
    for target in targets::TARGETS {
        for (name, seed) in (target.seeds)() {
            run(&target, name, &seed);
            // Building takes its time; the readers do not.
            let (step, changes) = if target.name == "hulls" { (7, 100) } else { (1, 3000) };
            for end in (0..seed.len()).step_by(step) {
                run(&target, name, &seed[..end]);
            }
            for _ in 0..changes {
                let mut damaged = seed.clone();
                for _ in 0..=numbers.below(3) {
                    let at = numbers.below(seed.len() as u64) as usize;
                    damaged[at] = match numbers.below(3) {
                        0 => damaged[at] ^ (1 << numbers.below(8)),
                        1 => 0xFF,
                        _ => numbers.bits() as u8,
                    };
                }
                run(&target, name, &damaged);
            }
        }
    }
}

#[test]
fn bytes_of_no_meaning_hold() {
    let mut numbers = Numbers::new(2);
    for target in targets::TARGETS {
        for _ in 0..if target.name == "hulls" { 200 } else { 5000 } {
            let bytes: Vec<u8> = (0..numbers.below(200)).map(|_| numbers.bits() as u8).collect();
            run(&target, "noise", &bytes);
        }
    }
}
