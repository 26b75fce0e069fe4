//! The target `hulls` of `src/collision.rs`.
#![no_main]

#[global_allocator]
static COUNTING: fuzz::memory::Counting = fuzz::memory::Counting;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::collision::hulls(data));
