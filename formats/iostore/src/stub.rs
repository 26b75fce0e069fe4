//! The `.pak` stub: an empty archive of 339 bytes, without which the engine does not look for a container.
//!
//! The stub belongs to the name under which a container is installed, so archives carry none.

use sha1::{Digest, Sha1};
use wire::Writer;

/// The `.pak` that goes with the container of this base name.
pub fn pak_stub(base_name: &str) -> Vec<u8> {
    let sha1 = |bytes: &[u8]| -> [u8; 20] { Sha1::digest(bytes).into() };
    let [a, b, c, d, ..] = *blake3::hash(base_name.as_bytes()).as_bytes();
    let path_hash_seed = u32::from_le_bytes([a, b, c, d]);
    // Two indices without entries follow the main one.
    let (path_hashes, directories) = ([0; 8], [0; 4]);

    let mut w = Writer::with_capacity(339);
    w.u32(2).bytes(b"/\0").i32(0).u64(path_hash_seed.into());
    w.u32(1).i64(106).i64(8).bytes(&sha1(&path_hashes));
    w.u32(1).i64(114).i64(4).bytes(&sha1(&directories));
    w.u32(0).i32(0);
    let index = sha1(w.as_bytes());
    let index_size = w.len() as u64;
    w.bytes(&path_hashes).bytes(&directories);
    // The footer: no encryption key, magic, version, place and hash of the index, no methods.
    w.zeros(16).u8(0).u32(0x5a6f_12e1).u32(11);
    w.u64(0).u64(index_size).bytes(&index).zeros(160);
    w.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stubs_are_the_known_ones() {
        for (name, seed, sha256) in [
            (
                "pakchunk990-FOUNDRY_P",
                [0xe9, 0x40, 0xac, 0x76],
                "0a0377254223db8ce5a5b78b2086a9780e7635cc39681de2031c416c74da3374",
            ),
            (
                "pakchunk999-test_P",
                [0xb0, 0xd6, 0x96, 0x6e],
                "b2176cb7291975e67a88dc34ea000d5bba070a10c7c53f9e820d43a7a4d98d32",
            ),
        ] {
            let stub = pak_stub(name);
            assert_eq!((stub.len(), &stub[10..14]), (339, &seed[..]), "{name}");
            let digest: String =
                sha2::Sha256::digest(&stub).iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(digest, sha256, "{name}");
        }
    }
}
