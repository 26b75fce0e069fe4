//! The device's key: where the game's tools keep an author's seed, and how Windows opens and closes it.
//!
//! It knows bytes and a path, not what the seed is for. The form is the tools' own: 32 bytes under DPAPI for the
//! user, without entropy, and without Windows asking anyone. Elsewhere there is no such key.

use std::collections::BTreeMap;
use std::path::PathBuf;

use zeroize::Zeroizing;

use crate::fail::Fail;

/// The file that the key lies in, if this system has such a key.
pub(crate) fn file(environment: &BTreeMap<String, String>) -> Result<PathBuf, Fail> {
    if !cfg!(windows) {
        return Err(Fail::usage("only Windows keeps a key for the device")
            .help("use a file: `bake signing-keys new` makes one, `--sign-seed FILE` signs with it"));
    }
    // Windows keeps the names of variables in any case.
    let folder =
        environment.iter().find(|(name, value)| name.eq_ignore_ascii_case("APPDATA") && !value.is_empty());
    let (_, folder) =
        folder.ok_or_else(|| Fail::machine("APPDATA is not set, which says where the device's key lies"))?;
    Ok(PathBuf::from(folder).join("MJOLNIR").join("signing-key.dpapi"))
}

/// The secret of a closed blob.
pub(crate) fn open(blob: &[u8]) -> std::io::Result<Zeroizing<Vec<u8>>> {
    dpapi::open(blob)
}

/// The blob that closes a secret for this user of this device.
pub(crate) fn close(secret: &[u8]) -> std::io::Result<Vec<u8>> {
    dpapi::close(secret).map(|blob| blob.to_vec())
}

#[cfg(windows)]
mod dpapi {
    use std::io::{Error, Result};
    use std::ptr::{null, null_mut};

    use windows_sys::Win32::Foundation::LocalFree;
    use windows_sys::Win32::Security::Cryptography::{
        CRYPT_INTEGER_BLOB, CRYPTPROTECT_UI_FORBIDDEN, CryptProtectData, CryptUnprotectData,
    };
    use zeroize::{Zeroize, Zeroizing};

    pub(super) fn open(blob: &[u8]) -> Result<Zeroizing<Vec<u8>>> {
        // SAFETY: both structures live through the call; no description is asked for.
        call(blob, |input, output| unsafe {
            CryptUnprotectData(input, null_mut(), null(), null(), null(), CRYPTPROTECT_UI_FORBIDDEN, output)
        })
    }

    pub(super) fn close(secret: &[u8]) -> Result<Zeroizing<Vec<u8>>> {
        // SAFETY: both structures live through the call.
        call(secret, |input, output| unsafe {
            CryptProtectData(input, null(), null(), null(), null(), CRYPTPROTECT_UI_FORBIDDEN, output)
        })
    }

    /// Calls one of the two, copies what it gives, and wipes the original.
    fn call(
        input: &[u8],
        function: impl FnOnce(*const CRYPT_INTEGER_BLOB, *mut CRYPT_INTEGER_BLOB) -> i32,
    ) -> Result<Zeroizing<Vec<u8>>> {
        let length = u32::try_from(input.len()).map_err(|_| Error::from(std::io::ErrorKind::FileTooLarge))?;
        let given = CRYPT_INTEGER_BLOB { cbData: length, pbData: input.as_ptr().cast_mut() };
        let mut taken = CRYPT_INTEGER_BLOB { cbData: 0, pbData: null_mut() };
        if function(&raw const given, &raw mut taken) == 0 || taken.pbData.is_null() {
            return Err(Error::last_os_error());
        }
        // SAFETY: Windows has allocated so many bytes, which are ours until they are freed here.
        unsafe {
            let bytes = std::slice::from_raw_parts_mut(taken.pbData, taken.cbData as usize);
            let copy = Zeroizing::new(bytes.to_vec());
            bytes.zeroize();
            LocalFree(taken.pbData.cast());
            Ok(copy)
        }
    }
}

#[cfg(not(windows))]
mod dpapi {
    use std::io::{Error, ErrorKind, Result};

    use zeroize::Zeroizing;

    pub(super) fn open(_: &[u8]) -> Result<Zeroizing<Vec<u8>>> {
        Err(Error::from(ErrorKind::Unsupported))
    }

    pub(super) fn close(_: &[u8]) -> Result<Zeroizing<Vec<u8>>> {
        Err(Error::from(ErrorKind::Unsupported))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(windows)]
    #[test]
    fn what_is_closed_opens_again_and_nothing_else_does() {
        let secret: Vec<u8> = (0..32).collect();
        let blob = close(&secret).unwrap();
        assert!(!blob.windows(8).any(|window| secret.windows(8).any(|part| part == window)));
        assert_eq!(*open(&blob).unwrap(), secret);
        let mut damaged = blob.clone();
        *damaged.last_mut().unwrap() ^= 1;
        for wrong in [&b""[..], b"no blob", &secret, &blob[..blob.len() - 1], &damaged] {
            assert!(open(wrong).is_err(), "{} bytes", wrong.len());
        }
        let mut environment = BTreeMap::new();
        assert!(file(&environment).is_err());
        environment.insert("AppData".to_owned(), r"C:\x".to_owned());
        assert_eq!(file(&environment).unwrap(), PathBuf::from(r"C:\x\MJOLNIR\signing-key.dpapi"));
    }

    #[cfg(not(windows))]
    #[test]
    fn elsewhere_there_is_none() {
        let environment = [("APPDATA".to_owned(), "/x".to_owned())].into();
        let fail = file(&environment).unwrap_err();
        assert_eq!(fail.words(), "only Windows keeps a key for the device");
        assert!(open(b"x").is_err() && close(b"x").is_err());
    }
}
