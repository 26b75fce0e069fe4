//! Same inputs, same bytes: in any folder, at any thread count, under any time zone, mask and locale.

use std::collections::BTreeMap;
use std::fs;

use crate::workspace::{FOUNDRY, Workspace};

/// Action digests by label, and the archive.
fn identities(workspace: &Workspace, args: &[&str]) -> (BTreeMap<String, String>, Vec<u8>) {
    let events = workspace.path("events.jsonl");
    let text = events.to_string_lossy().into_owned();
    let all: Vec<&str> =
        ["build", FOUNDRY].into_iter().chain(args.iter().copied()).chain(["--events", &text]).collect();
    workspace.bake(&all).success();
    let finished = workspace.events(&events).into_iter().filter(|event| event["event"] == "action_finished");
    let actions = finished
        .filter_map(|event| Some((event["label"].as_str()?.to_owned(), event["action"].as_str()?.to_owned())))
        .collect();
    (actions, fs::read(workspace.archive()).unwrap())
}

#[test]
fn nothing_of_the_machine_reaches_an_identity_or_an_archive() {
    let plain = identities(&Workspace::foundry(), &["-j", "1"]);
    assert!(plain.0.len() > 12, "{:?}", plain.0);
    let elsewhere = Workspace::foundry()
        .with("TZ", "Pacific/Kiritimati")
        .with("LC_ALL", "tr_TR.UTF-8")
        .with("LANG", "tr_TR.UTF-8")
        .with("USER", "somebody")
        .with("RAYON_NUM_THREADS", "7");
    let other = identities(&elsewhere, &["-j", "2"]);
    assert_eq!(plain.0, other.0);
    assert!(plain.1 == other.1, "another archive");
}

/// BLAKE3 of the shipped pack's archive as it is built from the stand-in, on every system. It moves only
/// when the recipe or the version of a rule does.
const ARCHIVE: &str = "b7c1b229ff8335633b21fff667da7bf9f08cf519fab480ff341039c5eb9a6852";

#[test]
fn every_system_builds_the_same_archive() {
    let workspace = Workspace::foundry();
    workspace.build(&[FOUNDRY]);
    let found = blake3::hash(&fs::read(workspace.archive()).unwrap());
    assert_eq!(found.to_hex().as_str(), ARCHIVE);
}

#[cfg(unix)]
#[test]
fn the_file_mode_mask_does_not_matter() {
    use std::os::unix::process::CommandExt;
    let masked = Workspace::foundry();
    let mut command = masked.command(&["build", FOUNDRY]);
    // SAFETY: `umask` is async-signal-safe and touches nothing of ours.
    unsafe {
        command.pre_exec(|| {
            libc::umask(0o077);
            Ok(())
        });
    }
    assert!(command.status().unwrap().success());
    let plain = Workspace::foundry();
    plain.build(&[FOUNDRY]);
    assert!(fs::read(masked.archive()).unwrap() == fs::read(plain.archive()).unwrap());
}
