//! The target `usmap` of `src/unreal.rs`.
#![no_main]

#[global_allocator]
static COUNTING: fuzz::memory::Counting = fuzz::memory::Counting;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::unreal::usmap(data));
