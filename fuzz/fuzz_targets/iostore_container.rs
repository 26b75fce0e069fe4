//! A `.utoc` and a `.ucas` of any bytes: their lengths come first, as 16 bits of the `.utoc`.
#![no_main]

use iostore::{Limits, Toc, check, read_chunk};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((length, rest)) = data.split_first_chunk::<2>() else { return };
    let (utoc, ucas) = rest.split_at(rest.len().min(u16::from_le_bytes(*length).into()));
    let structure = check::toc_structure(utoc, ucas.len() as u64);
    if let Ok(toc) = check::container(utoc, &ucas, None) {
        let ids: Vec<_> = toc.chunks().iter().map(|chunk| chunk.id).collect();
        assert_eq!(structure.map(|summary| summary.chunk_ids), Ok(ids));
    }
    let limits = Limits { chunk_bytes: 1 << 20, ..Limits::default() };
    let Ok(toc) = Toc::read(utoc, &limits) else { return };
    assert_eq!(toc.write(), utoc);
    for (index, chunk) in toc.chunks().iter().enumerate().take(64) {
        assert_eq!(toc.find(chunk.id), Some(index));
        assert!(toc.resolve(chunk.id).is_none_or(|found| found == index));
        assert!(toc.path(index).is_none_or(|path| !path.split('/').any(|part| part == "..")));
        if let Ok(bytes) = read_chunk(&toc, index, &[&ucas], &limits) {
            assert_eq!(bytes.len() as u64, chunk.length);
        }
    }
});
