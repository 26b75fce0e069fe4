//! What a sandboxed tool can and cannot do, tried by shell scripts that try it. The tests of the
//! namespaces say so and pass where the machine has none to give.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use engine::sandbox::{self, Command, Ended, Finished, Policy};

/// A prepared folder, and a workspace beside it that no step declares.
struct Step {
    root: tempfile::TempDir,
    command: Command,
}

impl Step {
    /// A step that runs a script under `bash`.
    fn script(script: &str) -> Step {
        let step = Step::tool(Path::new("/bin/bash"));
        Step { command: Command { args: vec!["-c".into(), script.into()], ..step.command }, ..step }
    }

    fn tool(tool: &Path) -> Step {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("step");
        for name in ["in", "out", "tmp"] {
            fs::create_dir_all(folder.join(name)).unwrap();
        }
        fs::write(folder.join("in/mesh"), "declared").unwrap();
        fs::write(root.path().join("source"), "undeclared").unwrap();
        let command = Command {
            tool: tool.into(),
            args: Vec::new(),
            env: BTreeMap::new(),
            folder,
            timeout: Some(Duration::from_secs(30)),
            output_limit: 4096,
        };
        Step { root, command }
    }

    fn run(&self) -> Finished {
        sandbox::run(&self.command, Policy::Sandboxed, &|| false).unwrap()
    }

    /// Runs it and gives what it wrote, once it has ended well.
    #[track_caller]
    fn succeeds(&self) -> String {
        let finished = self.run();
        assert_eq!(finished.ended, Ended::Code(0), "{}", finished.stderr);
        finished.stdout.to_string()
    }

    /// Runs it and holds its own words against `words`, once it has failed.
    #[track_caller]
    fn fails(&self, words: &str) {
        let finished = self.run();
        let said = finished.stderr.to_string();
        assert!(matches!(finished.ended, Ended::Code(1..)), "{:?}: {said}", finished.ended);
        assert!(said.contains(words), "expected `{words}` in: {said}");
    }
}

fn sandboxed() -> bool {
    let available = sandbox::available();
    if let Err(why) = &available {
        eprintln!("skipped: no sandbox here: {why}");
    }
    available.is_ok()
}

/// Whether any process of the machine has `marker` among its arguments.
fn runs(marker: &str) -> bool {
    fs::read_dir("/proc").unwrap().any(|entry| {
        fs::read(entry.unwrap().path().join("cmdline"))
            .is_ok_and(|line| line.split(|byte| *byte == 0).any(|arg| arg == marker.as_bytes()))
    })
}

#[test]
fn declared_inputs_are_read_and_outputs_written() {
    if !sandboxed() {
        return;
    }
    let step = Step::script("pwd; cat in/mesh > out/copy; echo scratch > /tmp/s; mv tmp/s out/s");
    assert_eq!(step.succeeds(), "/build\n");
    let out = step.command.folder.join("out");
    assert_eq!(fs::read_to_string(out.join("copy")).unwrap(), "declared");
    assert_eq!(fs::read_to_string(out.join("s")).unwrap(), "scratch\n");
    assert_eq!(fs::metadata(out.join("copy")).unwrap().permissions().mode() & 0o777, 0o644);
    assert!(fs::read_dir(step.command.folder.join("tmp")).unwrap().next().is_none());
}

#[test]
fn undeclared_files_are_not_there() {
    if !sandboxed() {
        return;
    }
    let step = Step::script("");
    let source = step.root.path().join("source");
    let home = std::env::var("HOME").unwrap_or("/root".into());
    for path in [source.as_path(), Path::new("../source"), Path::new(&home), Path::new("/old")] {
        Step::script(&format!("ls {}", path.display())).fails("No such file or directory");
    }
    assert_eq!(Step::script("ls /").succeeds(), system_listing());
}

/// The root as it should be: what the machine has of the system's folders, and our own.
fn system_listing() -> String {
    let mut names = vec!["build", "dev", "etc", "proc", "tmp"];
    names.extend(
        ["bin", "lib", "lib32", "lib64", "sbin", "usr"]
            .iter()
            .filter(|name| Path::new("/").join(name).exists()),
    );
    names.sort_unstable();
    names.iter().map(|name| format!("{name}\n")).collect()
}

#[test]
fn writing_elsewhere_fails() {
    if !sandboxed() {
        return;
    }
    let outside = ["in/new", "in/mesh", "/build/new", "/new", "/usr/new", "/etc/new", "/etc/passwd"];
    for path in outside {
        let step = Step::script(&format!("echo x > {path}"));
        let finished = step.run();
        let said = finished.stderr.to_string();
        assert_eq!(finished.ended, Ended::Code(1), "{path}: {said}");
        // The mounts say the one, landlock the other.
        let known = ["Read-only file system", "Permission denied"];
        assert!(known.iter().any(|words| said.contains(words)), "{path}: {said}");
        assert!(said.contains(path), "{path}: {said}");
        assert_eq!(fs::read_to_string(step.command.folder.join("in/mesh")).unwrap(), "declared");
    }
    Step::script("rm in/mesh").fails("cannot remove");
    Step::script("mount -o remount,rw,bind /build/in").fails("mount");
    Step::script("umount /build/in").fails("umount");
}

#[test]
fn no_network_not_even_loopback() {
    if !sandboxed() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port}");
    Step::script(&script).fails("/dev/tcp/127.0.0.1");
    let unsandboxed = sandbox::run(&Step::script(&script).command, Policy::Unsandboxed, &|| false);
    assert_eq!(unsandboxed.unwrap().ended, Ended::Code(0), "the listener is there outside");
}

#[test]
fn the_machine_does_not_show() {
    if !sandboxed() {
        return;
    }
    let mut step = Step::tool(Path::new("/usr/bin/env"));
    assert_eq!(step.succeeds(), "");
    step.command.env.insert("DECLARED".into(), "a b".into());
    assert_eq!(step.succeeds(), "DECLARED=a b\n");
    assert_eq!(Step::script("uname -n; id -un; id -u; date +%Z").succeeds(), "localhost\nbake\n1000\nUTC\n");
    assert_eq!(Step::script("cd /proc; echo [0-9]*").succeeds(), "2\n", "only itself");
    Step::script("cat /proc/1/environ").fails("No such file or directory");
    let status = Step::script("cat /proc/self/status").succeeds();
    let lines = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim();
    assert_eq!(lines("CapPrm:"), "0000000000000000");
    assert_eq!(lines("CapEff:"), "0000000000000000");
    assert_eq!(lines("NoNewPrivs:"), "1");
    assert_eq!(lines("SigBlk:"), "0000000000000000");
    assert_eq!(lines("SigIgn:"), "0000000000000000");
    assert_eq!(Step::script("cd /proc/self/fd; echo *").succeeds(), "0 1 2 3\n", "3 is the glob's");
    Step::script("echo words > /dev/stderr; exit 3").fails("words");
    assert_eq!(Step::script("cat /dev/stdin; cat <(echo piped); echo x > /dev/null").succeeds(), "piped\n");
}

#[test]
fn a_tool_of_ones_own_runs_without_its_neighbours() {
    if !sandboxed() {
        return;
    }
    let step = Step::tool(Path::new("/bin/false"));
    let tool = step.root.path().join("tool.sh");
    fs::write(&tool, "#!/bin/sh\necho $0; ls ${0%/*}; cat in/mesh\n").unwrap();
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    let of = |tool: PathBuf| Step {
        command: Command { tool, ..step.command.clone() },
        root: tempfile::tempdir().unwrap(),
    };
    assert_eq!(of(tool.clone()).succeeds(), "/tool/tool.sh\ntool.sh\ndeclared");
    let input = step.command.folder.join("in/tool.sh");
    fs::copy(&tool, &input).unwrap();
    assert_eq!(of(input).succeeds(), "/build/in/tool.sh\nmesh\ntool.sh\ndeclared");
}

#[test]
fn what_outlives_the_step_is_killed() {
    let policies = [Policy::Unsandboxed, Policy::Sandboxed];
    for policy in policies.into_iter().take(1 + usize::from(sandboxed())) {
        let marker = format!("1000.{}{}", std::process::id(), policy as u8);
        // Of its own session, and holding the pipes: all that a daemon does.
        let leave = if policy == Policy::Sandboxed { "setsid nohup" } else { "nohup" };
        let script = format!("{leave} sleep {marker} & echo begun");
        let begun = Instant::now();
        let finished = sandbox::run(&Step::script(&script).command, policy, &|| false).unwrap();
        assert_eq!((finished.ended, finished.stdout.to_string()), (Ended::Code(0), "begun\n".into()));
        assert!(begun.elapsed() < Duration::from_secs(5));
        assert!(!runs(&marker), "{policy:?}");
    }
}

#[test]
fn cancelling_kills_soon() {
    let policies = [Policy::Unsandboxed, Policy::Sandboxed];
    for policy in policies.into_iter().take(1 + usize::from(sandboxed())) {
        let marker = format!("2000.{}{}", std::process::id(), policy as u8);
        let step = Step::script(&format!("echo begun; sleep {marker} & sleep {marker}"));
        let cancelled = AtomicBool::new(false);
        let (finished, waited) = thread::scope(|scope| {
            let running =
                scope.spawn(|| sandbox::run(&step.command, policy, &|| cancelled.load(Ordering::Relaxed)));
            let patience = Instant::now();
            while !runs(&marker) {
                assert!(patience.elapsed() < Duration::from_secs(20), "the step never began");
                thread::sleep(Duration::from_millis(5));
            }
            let asked = Instant::now();
            cancelled.store(true, Ordering::Relaxed);
            (running.join().unwrap().unwrap(), asked.elapsed())
        });
        assert_eq!(finished.ended, Ended::Cancelled);
        assert_eq!(finished.stdout.to_string(), "begun\n");
        assert!(waited < Duration::from_millis(900), "{waited:?}");
        assert!(!runs(&marker), "{policy:?}");
    }
}

#[test]
fn a_timeout_kills() {
    let limit = Duration::from_millis(100);
    let mut step = Step::script("sleep 3000");
    step.command.timeout = Some(limit);
    if sandboxed() {
        assert_eq!(step.run().ended, Ended::TimedOut(limit));
    }
    let finished = sandbox::run(&step.command, Policy::Unsandboxed, &|| false).unwrap();
    assert_eq!(finished.ended, Ended::TimedOut(limit));
}

#[test]
fn how_it_ended_is_told() {
    let policies = [Policy::Unsandboxed, Policy::Sandboxed];
    for policy in policies.into_iter().take(1 + usize::from(sandboxed())) {
        let ended =
            |script: &str| sandbox::run(&Step::script(script).command, policy, &|| false).unwrap().ended;
        assert_eq!(ended("exit 0"), Ended::Code(0));
        assert_eq!(ended("exit 77"), Ended::Code(77));
        assert_eq!(ended("kill -TERM $$"), Ended::Signal(15));
        assert_eq!(ended("kill -ABRT $$"), Ended::Signal(6));
        assert_eq!(ended("kill -PIPE $$"), Ended::Signal(13), "not ignored");
    }
}

#[test]
fn much_output_is_bounded() {
    let policies = [Policy::Unsandboxed, Policy::Sandboxed];
    for policy in policies.into_iter().take(1 + usize::from(sandboxed())) {
        let script = "head -c 20000000 /dev/zero >&2; printf last >&2; exit 1";
        let finished = sandbox::run(&Step::script(script).command, policy, &|| false).unwrap();
        assert_eq!(finished.ended, Ended::Code(1));
        assert_eq!(finished.stderr.bytes().len(), 4096);
        assert!(finished.stderr.bytes().ends_with(b"\0last"));
        assert_eq!(finished.stderr.left_out(), 20_000_004 - 4096);
        assert!(finished.stderr.to_string().starts_with("[19995908 bytes left out]\n\0"));
    }
}

#[test]
fn a_tool_that_cannot_start_is_named() {
    let policies = [Policy::Unsandboxed, Policy::Sandboxed];
    for policy in policies.into_iter().take(1 + usize::from(sandboxed())) {
        let step = Step::tool(Path::new("/nowhere/blender"));
        let plain = step.root.path().join("source");
        for (tool, why) in [
            (Path::new("/nowhere/blender"), "No such file or directory (os error 2)"),
            (&plain, "Permission denied (os error 13)"),
        ] {
            let command = Command { tool: tool.into(), ..step.command.clone() };
            let error = sandbox::run(&command, policy, &|| false).unwrap_err();
            let expected = format!("cannot start the tool `{}`: {why}", tool.display());
            assert_eq!(error.to_string(), expected);
        }
    }
}

#[test]
fn a_folder_without_its_parts_is_told() {
    if !sandboxed() {
        return;
    }
    let step = Step::script("true");
    fs::remove_dir(step.command.folder.join("out")).unwrap();
    let error = sandbox::run(&step.command, Policy::Sandboxed, &|| false).unwrap_err();
    assert_eq!(error.to_string(), "cannot mount `/build/out`: No such file or directory (os error 2)");
}

#[test]
fn a_zero_byte_is_refused() {
    if !sandboxed() {
        return;
    }
    let mut step = Step::script("true");
    step.command.args.push("a\0b".into());
    let error = sandbox::run(&step.command, Policy::Sandboxed, &|| false).unwrap_err();
    assert_eq!(error.to_string(), "an argument holds a zero byte");
}

#[test]
fn many_at_once_keep_apart_and_leave_nothing() {
    if !sandboxed() {
        return;
    }
    let mounts = || fs::read_to_string("/proc/self/mountinfo").unwrap();
    let before = mounts();
    thread::scope(|scope| {
        for worker in 0..8 {
            scope.spawn(move || {
                for turn in 0..20 {
                    let step = Step::script(&format!("echo {worker}.{turn} | tee out/x"));
                    let expected = format!("{worker}.{turn}\n");
                    assert_eq!(step.succeeds(), expected);
                    let out = step.command.folder.join("out/x");
                    assert_eq!(fs::read_to_string(out).unwrap(), expected);
                }
            });
        }
    });
    assert_eq!(mounts(), before);
    // This process's children, zombies among them: none.
    let children = format!("/proc/self/task/{}/children", std::process::id());
    assert_eq!(fs::read_to_string(children).unwrap_or_default(), "");
}
