//! Bytes closed by their own BLAKE3: what every small file of the store is, so that a torn or edited
//! one is told from a whole one. It knows nothing of what the bytes mean.

const SEAL: usize = blake3::OUT_LEN;

/// `bytes`, closed.
pub(crate) fn seal(mut bytes: Vec<u8>) -> Vec<u8> {
    let seal = blake3::hash(&bytes);
    bytes.extend_from_slice(seal.as_bytes());
    bytes
}

/// What [`seal`] closed; `None` for anything else.
pub(crate) fn unseal(bytes: &[u8]) -> Option<&[u8]> {
    let (body, seal) = bytes.split_last_chunk::<SEAL>()?;
    (blake3::hash(body).as_bytes() == seal).then_some(body)
}
