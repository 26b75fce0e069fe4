//! The target `iostore_header` of `src/iostore.rs`.
#![no_main]

#[global_allocator]
static COUNTING: fuzz::memory::Counting = fuzz::memory::Counting;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::iostore::header(data));
