//! The target `collision_tables` of `src/collision.rs`.
#![no_main]

#[global_allocator]
static COUNTING: fuzz::memory::Counting = fuzz::memory::Counting;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::collision::tables(data));
