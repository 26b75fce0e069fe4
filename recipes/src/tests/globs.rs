//! Globs over folders that hold more than files with portable names.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::{try_plan, workspace};
use crate::Options;

const FOLDER: &str = "maps/one";

/// What is said of a step that takes `pattern`, in a folder that `change` changed.
fn said(pattern: &str, change: impl Fn(&Path)) -> Option<String> {
    let recipe =
        format!("schema = 1\n[[step]]\nname = \"all\"\nrule = \"gather\"\ninputs.files = [\"{pattern}\"]\n");
    let root = workspace(&[("maps/one/recipe.toml", &recipe), ("maps/one/src/a.txt", "a")]);
    change(&root.path().join(FOLDER));
    let planned = try_plan(root.path(), &["..."], &Options::default());
    planned.err().map(|diagnostics| diagnostics[0].message.clone())
}

/// A file with these bytes as its name.
fn file(name: &[u8]) -> impl Fn(&Path) {
    move |folder| std::fs::write(folder.join("src").join(OsStr::from_bytes(name)), "x").unwrap()
}

#[test]
fn files_that_match_and_cannot_be_named_are_mistakes() {
    for (name, reason) in [
        (&b"con.txt"[..], "a component is a device name on Windows"),
        (b"a?.txt", "it holds a control character or one of \\ : * ? \" < > |"),
        (b"a\xff.txt", "its name is not UTF-8"),
    ] {
        let said = said("src/*.txt", file(name)).unwrap();
        assert!(said.starts_with("`src/*.txt` finds `maps/one/src/"), "{said}");
        assert!(said.ends_with(reason), "{said}");
    }
    assert_eq!(said("src/*.txt", file(b"con.png")), None, "it does not match");
    assert_eq!(said("src/*.txt", file(b".con:.txt")), None, "it is hidden");
}

#[test]
fn what_matches_and_is_no_file_is_a_mistake() {
    let nowhere = |folder: &Path| symlink("nowhere", folder.join("src/b.txt")).unwrap();
    assert_eq!(said("src/*.txt", nowhere).unwrap(), "`src/*.txt` finds `maps/one/src/b.txt`: it is no file");
    let socket = |folder: &Path| {
        std::os::unix::net::UnixListener::bind(folder.join("src/s.txt")).unwrap();
    };
    assert!(said("src/*.txt", socket).unwrap().ends_with("it is no file"));
    let link = |folder: &Path| symlink("a.txt", folder.join("src/b.txt")).unwrap();
    assert_eq!(said("src/*.txt", link), None, "a link to a file is a file");
}

#[test]
fn folders_that_could_hold_more_are_not_left_out() {
    let linked = |folder: &Path| symlink("src", folder.join("more")).unwrap();
    assert!(said("**/*.txt", linked).unwrap().contains("a link to a folder"));
    assert_eq!(said("src/*.txt", linked), None, "it is not sought there");
    let device = |folder: &Path| std::fs::create_dir(folder.join("src/aux")).unwrap();
    assert!(said("src/**", device).unwrap().ends_with("a device name on Windows"));
    assert_eq!(said("src/*.txt", device), None);
    let deep =
        |folder: &Path| std::fs::create_dir_all(folder.join("src/".to_owned() + &"d/".repeat(40))).unwrap();
    assert!(said("src/**/*.txt", deep).unwrap().ends_with("too deep in each other"));
}
