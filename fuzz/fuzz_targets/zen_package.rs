//! The target `zen_package` of `src/unreal.rs`.
#![no_main]

#[global_allocator]
static COUNTING: fuzz::memory::Counting = fuzz::memory::Counting;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::unreal::zen_package(data));
