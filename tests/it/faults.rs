//! What may go wrong with the machine: kills, lost and damaged files, full and read-only disks, two builds at
//! once. The next build must give the right bytes.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::workspace::{FOUNDRY, Workspace};

/// The archive of a clean build, and how long that took.
fn clean() -> (Vec<u8>, Duration) {
    let workspace = Workspace::foundry();
    let start = Instant::now();
    assert!(!workspace.build(&[FOUNDRY]).is_empty());
    (fs::read(workspace.archive()).unwrap(), start.elapsed())
}

fn assert_rebuilds(workspace: &Workspace, expected: &[u8], what: &str) {
    workspace.build(&[FOUNDRY]);
    assert!(fs::read(workspace.archive()).unwrap() == expected, "another archive after {what}");
    workspace.bake(&["gc", "--check"]).success();
}

/// Kills `count` builds at moments spread over a build's time, each on the store that the last one left.
fn kill_builds(count: u32) {
    let (expected, time) = clean();
    let workspace = Workspace::foundry();
    // A fixed generator: the moments differ from run to run of the machine anyway.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for round in 0..count {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        if round % 4 == 0 {
            // From nothing again, so that every phase of a build is hit.
            let _ = fs::remove_dir_all(workspace.path("store"));
        }
        let _ = fs::remove_dir_all(workspace.path("out"));
        let mut child = workspace.command(&["build", FOUNDRY]).output_to_nowhere().spawn().unwrap();
        std::thread::sleep(time.mul_f64((state >> 40) as f64 / f64::from(1 << 24)));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_rebuilds(&workspace, &expected, &format!("kill {round}"));
    }
}

trait Quiet {
    fn output_to_nowhere(&mut self) -> &mut Self;
}

impl Quiet for std::process::Command {
    fn output_to_nowhere(&mut self) -> &mut Self {
        self.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null())
    }
}

#[test]
fn a_killed_build_leaves_a_store_that_the_next_one_uses() {
    kill_builds(12);
}

#[test]
#[ignore = "minutes: named in CONTRIBUTING.md"]
fn kill_two_hundred_builds() {
    kill_builds(200);
}

#[test]
fn any_stored_file_may_go() {
    let (expected, _) = clean();
    let workspace = Workspace::foundry();
    workspace.build(&[FOUNDRY]);
    for file in workspace.stored() {
        // Only a build that must place its output again finds out.
        let _ = fs::remove_dir_all(workspace.path("out"));
        remove(&file);
        assert_rebuilds(&workspace, &expected, &format!("the loss of {}", file.display()));
    }
    for folder in ["index", "workspaces", "results", "blobs"] {
        let _ = fs::remove_dir_all(workspace.path("out"));
        let _ = fs::remove_dir_all(workspace.path("store/v1").join(folder));
        assert_rebuilds(&workspace, &expected, &format!("the loss of {folder}/"));
    }
}

#[test]
fn one_flipped_bit_in_any_stored_file_is_noticed_and_heals() {
    let (expected, _) = clean();
    let workspace = Workspace::foundry();
    workspace.build(&[FOUNDRY]);
    for (round, file) in workspace.stored().into_iter().enumerate() {
        flip(&file, round);
        let check = workspace.bake(&["gc", "--check"]).fails_with(3);
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let said = format!("{}{}", check.stdout, check.stderr);
        assert!(said.contains(&name[..12]), "{name} is not named:\n{said}");
        let _ = fs::remove_dir_all(workspace.path("out"));
        assert_rebuilds(&workspace, &expected, &format!("a flipped bit in {}", file.display()));

        // Without the check, whoever reads it next notices. Without snapshots and index, everything is read.
        flip(&file, round);
        for folder in ["out", "store/v1/workspaces", "store/v1/index"] {
            let _ = fs::remove_dir_all(workspace.path(folder));
        }
        workspace.build(&[FOUNDRY]);
        assert!(fs::read(workspace.archive()).unwrap() == expected, "{} reached the output", file.display());
        workspace.bake(&["gc", "--check"]);
    }
}

#[test]
fn two_cold_builds_share_a_store() {
    let (expected, _) = clean();
    let one = Workspace::foundry();
    let two = Workspace::foundry().with("BAKE_STORE", one.path("store"));
    let mut children: Vec<_> = [&one, &two]
        .map(|workspace| workspace.command(&["build", FOUNDRY]).output_to_nowhere().spawn().unwrap())
        .into();
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    for workspace in [&one, &two] {
        assert!(fs::read(workspace.archive()).unwrap() == expected);
    }
    one.bake(&["gc", "--check"]).success();
}

#[test]
fn a_missing_store_folder_is_made() {
    let workspace = Workspace::foundry();
    let deep = workspace.path("not/there/yet");
    let workspace = workspace.with("BAKE_STORE", &deep);
    workspace.build(&[FOUNDRY]);
    assert!(deep.join("v1").is_dir());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_that_loses_nothing() {
    let workspace = Workspace::foundry();
    let Some(disk) = Mounted::tmpfs(&workspace.path("small"), "size=192k") else { return };
    let small = workspace.path("small/store");
    let workspace = workspace.with("BAKE_STORE", &small);
    let ran = workspace.bake(&["build", FOUNDRY]).fails_with(3);
    assert!(ran.stderr.contains("No space left on device"), "{}", ran.stderr);
    assert!(ran.stderr.contains("store"), "the file is named: {}", ran.stderr);
    assert!(!workspace.path("out").join(FOUNDRY).exists(), "nothing is placed");
    workspace.bake(&["gc", "--check"]).success();
    disk.remount("size=256m");
    let (expected, _) = clean();
    assert_rebuilds(&workspace, &expected, "a full disk");
}

#[cfg(target_os = "linux")]
#[test]
fn a_read_only_store_is_one_clear_error() {
    let workspace = Workspace::foundry();
    let Some(disk) = Mounted::tmpfs(&workspace.path("store"), "size=256m") else { return };
    workspace.build(&[FOUNDRY]);
    disk.remount("ro");
    fs::write(workspace.path(FOUNDRY).join("README.md"), "another readme\n").unwrap();
    let ran = workspace.bake(&["build", FOUNDRY]).fails_with(3);
    assert_eq!(ran.stderr.lines().filter(|line| line.starts_with("error")).count(), 1, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("Read-only file system") || ran.stderr.contains("read-only"),
        "{}",
        ran.stderr
    );
}

/// A file system that is gone with this value. Needs root; without it the test says so and passes.
#[cfg(target_os = "linux")]
struct Mounted(std::path::PathBuf);

#[cfg(target_os = "linux")]
impl Mounted {
    fn tmpfs(at: &Path, options: &str) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "tmpfs"])
            .arg(at)
            .status();
        if mounted.is_ok_and(|status| status.success()) {
            return Some(Self(at.to_owned()));
        }
        eprintln!("skipped: a file system cannot be mounted here (needs root)");
        None
    }

    fn remount(&self, options: &str) {
        let options = format!("remount,{options}");
        let status = std::process::Command::new("mount").args(["-o", &options]).arg(&self.0).status();
        assert!(status.unwrap().success());
    }
}

#[cfg(target_os = "linux")]
impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn remove(file: &Path) {
    make_writable(file);
    fs::remove_file(file).unwrap();
}

fn flip(file: &Path, round: usize) {
    make_writable(file);
    let Ok(mut bytes) = fs::read(file) else { return };
    let at = (round * 7919) % bytes.len().max(1);
    match bytes.get_mut(at) {
        Some(byte) => *byte ^= 1 << (round % 8),
        // An empty blob has no bit to flip: it gets a byte instead.
        None => bytes.push(0),
    }
    fs::write(file, bytes).unwrap();
}

fn make_writable(file: &Path) {
    let Ok(metadata) = fs::metadata(file) else { return };
    let mut permissions = metadata.permissions();
    #[allow(clippy::permissions_set_readonly_false, reason = "a file of a test")]
    permissions.set_readonly(false);
    let _ = fs::set_permissions(file, permissions);
}
