//! What tests of several crates share: where the conformance data lies, hex dumps that compare.

use std::path::PathBuf;

/// The folder of the conformance topic `name`, or `None` (said on stderr) where there is none: a clone
/// elsewhere runs all the other tests.
pub fn conformance(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("BAKE_CONFORMANCE").map(PathBuf::from);
    let folder = root.map(|root| root.join(name)).filter(|folder| folder.is_dir());
    if folder.is_none() {
        eprintln!("skipped: no conformance topic `{name}` (BAKE_CONFORMANCE is not set or lacks it)");
    }
    folder
}

/// Panics with the first differing lines of two hex dumps when the bytes differ.
#[track_caller]
pub fn assert_bytes_eq(what: &str, found: &[u8], expected: &[u8]) {
    if found == expected {
        return;
    }
    let line = |bytes: &[u8], at: usize| -> String {
        let end = bytes.len().min(at + 16);
        bytes.get(at..end).unwrap_or_default().iter().map(|byte| format!("{byte:02x} ")).collect()
    };
    let first = found.iter().zip(expected).take_while(|(a, b)| a == b).count();
    let start = first / 16 * 16;
    let mut report = format!(
        "{what}: {} bytes found, {} expected, first difference at {first}\n",
        found.len(),
        expected.len()
    );
    for at in (start.saturating_sub(16)..start + 64).step_by(16) {
        report += &format!("{at:08x}  found    {}\n", line(found, at));
        report += &format!("          expected {}\n", line(expected, at));
    }
    panic!("{report}");
}
