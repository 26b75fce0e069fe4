//! The parent's side of the Linux sandbox: prepares what the child will do, clones it into new user,
//! mount, process, network, message and name namespaces, gathers its words and waits for its end.
//! Does not know what a tool is for. Invariant: the child is always waited for, and its end is the
//! end of every process in its namespace.
//!
//! The kernel must be 5.12 or later (`mount_setattr`) and let its users make namespaces.

use std::ffi::{CString, OsStr, c_int, c_void};
use std::fs::{self, File};
use std::io::{self, PipeReader, Read};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::time::Instant;

use super::jail::{self, ENDED, Jail, Op, REPORT_LENGTH};
use super::{Command, Ended, FOLDER, Finished, SandboxError, TICK, Tail, setup};

/// Where the machine keeps programs and what they load. Absent ones are left out.
const SYSTEM: [&str; 6] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64"];
/// What of `/etc` they need: the linker's cache, and what links in `/usr/bin` lead through.
const SYSTEM_ETC: [&str; 2] = ["/etc/ld.so.cache", "/etc/alternatives"];
const DEVICES: [&str; 4] = ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"];

/// The user inside; outside it is whoever runs this.
const USER: u32 = 1000;

const STACK: usize = 64 << 10;

const NAMESPACES: c_int = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS;

const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
const WRITABLE: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
const DEVICE: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NOEXEC;

pub(super) fn run(command: &Command, cancelled: &dyn Fn() -> bool) -> Result<Finished, SandboxError> {
    let folder = fs::canonicalize(&command.folder)
        .map_err(setup(format!("find the folder `{}`", command.folder.display())))?;
    let refused = |reason| SandboxError::Tool { tool: command.tool.clone(), reason };
    let tool = locate(&command.tool, &folder).map_err(refused)?;
    let inside = c_string("the tool's name", tool.inside.as_os_str())?;

    let mut args = vec![inside.clone()];
    for arg in &command.args {
        args.push(c_string("an argument", arg)?);
    }
    let mut env = Vec::new();
    for (name, value) in &command.env {
        let what = format!("the environment's `{name}`");
        env.push(c_string(&what, OsStr::new(&format!("{name}={value}")))?);
    }

    let mut ops = Ops::new(&folder)?;
    ops.folder(FOLDER)?;
    for (name, attributes) in [("in", READ_ONLY), ("out", WRITABLE), ("tmp", WRITABLE)] {
        let inside = format!("{FOLDER}/{name}");
        ops.folder(&inside)?;
        ops.bind(&folder.join(name), Path::new(&inside), attributes)?;
    }
    if let Some(outside) = &tool.outside {
        ops.folder("/tool")?;
        ops.file(&tool.inside, b"")?;
        ops.bind(outside, &tool.inside, READ_ONLY)?;
    }
    ops.0.extend([Op::Seal, Op::Enter, Op::GiveUp, Op::Start { tool: inside }]);
    let ops = ops.0;

    execute(ops, &args, &env, command, cancelled).map_err(|error| match error {
        Failure::Op(Op::Start { .. }, source) => refused(source),
        Failure::Op(op, source) => SandboxError::Setup { what: op.to_string(), reason: source },
        Failure::Other(error) => error,
    })
}

/// Sets up all that does not depend on a command, and leaves.
pub(super) fn probe() -> Result<(), String> {
    let command = Command {
        tool: PathBuf::new(),
        args: Vec::new(),
        env: Default::default(),
        folder: std::env::temp_dir(),
        timeout: None,
        output_limit: 0,
    };
    let probed = Ops::new(&command.folder).map_err(Failure::Other).and_then(|mut ops| {
        ops.0.push(Op::Seal);
        execute(ops.0, &[], &[], &command, &|| false)
    });
    let (what, source) = match probed {
        Ok(_) => return Ok(()),
        Err(Failure::Op(op, source)) => (op.to_string(), source),
        Err(Failure::Other(SandboxError::Setup { what, reason })) => (what, reason),
        Err(Failure::Other(error)) => return Err(error.to_string()),
    };
    let hint = SWITCHES
        .iter()
        .find(|(at, off)| fs::read_to_string(at).is_ok_and(|now| now.trim() == *off))
        .map(|(at, off)| format!(" (`{at}` is {off})"));
    Err(format!("cannot {what}: {source}{}", hint.unwrap_or_default()))
}

/// Where a machine forbids its users to make namespaces, and the value that does.
const SWITCHES: [(&str, &str); 3] = [
    ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"),
    ("/proc/sys/kernel/unprivileged_userns_clone", "0"),
    ("/proc/sys/user/max_user_namespaces", "0"),
];

/// Where a tool is inside, and what has to be shown there for it to be.
struct Tool {
    inside: PathBuf,
    outside: Option<PathBuf>,
}

/// A tool of the system, or one that lies in the folder, stays where it is. Its own name is kept where
/// it is a link, since some tools go by the name that they were called by.
fn locate(tool: &Path, folder: &Path) -> io::Result<Tool> {
    let path = std::path::absolute(tool)?;
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::IsADirectory.into());
    };
    let path = fs::canonicalize(parent)?.join(name);
    let real = fs::canonicalize(&path)?;
    if real.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if let (Ok(inside), true) = (path.strip_prefix(folder), real.starts_with(folder)) {
        return Ok(Tool { inside: Path::new(FOLDER).join(inside), outside: None });
    }
    let of_system = |path: &Path| SYSTEM.iter().any(|system| path.starts_with(system));
    if of_system(&path) && of_system(&real) {
        return Ok(Tool { inside: path, outside: None });
    }
    Ok(Tool { inside: Path::new("/tool").join(name), outside: Some(real) })
}

fn c_string(what: &str, value: &OsStr) -> Result<CString, SandboxError> {
    CString::new(value.as_bytes()).map_err(|_| SandboxError::ZeroByte { what: what.into() })
}

/// The list of what the child does, as it grows.
struct Ops(Vec<Op>);

impl Ops {
    /// The namespaces' own affairs and the part of the root that all commands share. The new root is
    /// first mounted over `folder`.
    fn new(folder: &Path) -> Result<Ops, SandboxError> {
        let mut ops = Ops(Vec::new());
        // SAFETY: these two calls always succeed.
        let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
        ops.file(Path::new("/proc/self/setgroups"), b"deny")?;
        ops.file(Path::new("/proc/self/uid_map"), format!("{USER} {user} 1").as_bytes())?;
        ops.file(Path::new("/proc/self/gid_map"), format!("{USER} {group} 1").as_bytes())?;
        ops.0.push(Op::Host);
        ops.0.push(Op::Root { at: c_string("the folder's name", folder.as_os_str())? });

        for at in SYSTEM {
            if let Ok(to) = fs::read_link(at) {
                ops.link(at, &to)?;
            } else if Path::new(at).is_dir() {
                ops.folder(at)?;
                ops.bind(Path::new(at), Path::new(at), READ_ONLY)?;
            }
        }
        ops.folder("/etc")?;
        for at in SYSTEM_ETC.map(Path::new) {
            if at.is_dir() {
                ops.0.push(Op::Folder { at: c_string("a name", at.as_os_str())? });
            } else if at.is_file() {
                ops.file(at, b"")?;
            } else {
                continue;
            }
            ops.bind(at, at, READ_ONLY)?;
        }
        let passwd = format!("bake:x:{USER}:{USER}::{FOLDER}/tmp:/bin/sh\n");
        ops.file(Path::new("/etc/passwd"), passwd.as_bytes())?;
        ops.file(Path::new("/etc/group"), format!("bake:x:{USER}:\n").as_bytes())?;
        ops.file(Path::new("/etc/hosts"), b"127.0.0.1 localhost\n")?;
        ops.folder("/dev")?;
        for at in DEVICES.map(Path::new) {
            ops.file(at, b"")?;
            ops.bind(at, at, DEVICE)?;
        }
        ops.link("/dev/fd", Path::new("/proc/self/fd"))?;
        ops.link("/dev/stdin", Path::new("/proc/self/fd/0"))?;
        ops.link("/dev/stdout", Path::new("/proc/self/fd/1"))?;
        ops.link("/dev/stderr", Path::new("/proc/self/fd/2"))?;
        let tmp = Path::new(FOLDER).join("tmp");
        ops.link("/dev/shm", &tmp)?;
        ops.link("/tmp", &tmp)?;
        ops.folder("/proc")?;
        ops.0.push(Op::Proc);
        Ok(ops)
    }

    fn folder(&mut self, at: &str) -> Result<(), SandboxError> {
        self.0.push(Op::Folder { at: c_string("a name", OsStr::new(at))? });
        Ok(())
    }

    fn file(&mut self, at: &Path, bytes: &[u8]) -> Result<(), SandboxError> {
        let at = c_string("a name", at.as_os_str())?;
        self.0.push(Op::Write { at, bytes: bytes.to_vec() });
        Ok(())
    }

    fn link(&mut self, at: &str, to: &Path) -> Result<(), SandboxError> {
        let at = c_string("a name", OsStr::new(at))?;
        self.0.push(Op::Link { at, to: c_string("a link", to.as_os_str())? });
        Ok(())
    }

    /// `from` as the machine has it, `to` as the tool sees it; both absolute.
    fn bind(&mut self, from: &Path, to: &Path, attributes: u64) -> Result<(), SandboxError> {
        let mut old = OsStr::new("/old").to_owned();
        old.push(from);
        let from = c_string("a name", &old)?;
        let to = c_string("a name", to.as_os_str())?;
        self.0.push(Op::Bind { from, to, attributes });
        Ok(())
    }
}

enum Failure {
    Op(Op, io::Error),
    Other(SandboxError),
}

/// Clones the child, gathers what it writes and waits until its namespace is empty.
fn execute(
    ops: Vec<Op>,
    args: &[CString],
    env: &[CString],
    command: &Command,
    cancelled: &dyn Fn() -> bool,
) -> Result<Finished, Failure> {
    let failed = |what: &'static str| {
        let failed = setup(what);
        move |source| Failure::Other(failed(source))
    };
    let (stdout, stdout_end) = io::pipe().map_err(failed("make a pipe"))?;
    let (stderr, stderr_end) = io::pipe().map_err(failed("make a pipe"))?;
    let (report, report_end) = io::pipe().map_err(failed("make a pipe"))?;
    let stdin = File::open("/dev/null").map_err(failed("open `/dev/null`"))?;
    let pointers = |strings: &[CString]| {
        strings.iter().map(|string| string.as_ptr()).chain([std::ptr::null()]).collect()
    };
    // Of 16-byte units, for the alignment that stacks want.
    let mut stacks = [vec![0u128; STACK / 16], vec![0u128; STACK / 16]];
    let [first, second] = stacks.each_mut().map(|stack| stack.as_mut_ptr_range().end);
    let mut jail = Jail {
        ops,
        fds: [stdin.as_raw_fd(), stdout_end.as_raw_fd(), stderr_end.as_raw_fd(), report_end.as_raw_fd()],
        argv: pointers(args),
        envp: pointers(env),
        tool_stack: second.cast(),
    };

    let child = clone(first.cast(), &mut jail).map_err(failed("make namespaces"))?;
    drop((stdin, stdout_end, stderr_end, report_end));
    let mut streams = Streams {
        pipes: [Some(stdout), Some(stderr), Some(report)],
        words: [command.output_limit, command.output_limit, 2 * REPORT_LENGTH].map(Tail::new),
    };
    let killed = streams.gather(child, command, cancelled);
    // SAFETY: `child` is this thread's own and not yet waited for. When it is gone, so is every
    // process of its namespace.
    unsafe {
        if killed.is_err() {
            libc::kill(child, libc::SIGKILL);
        }
        while libc::waitpid(child, null_mut(), 0) < 0
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
    }
    let killed = killed.map_err(failed("wait for the tool"))?;
    streams.drain().map_err(failed("read the tool's output"))?;

    let [stdout, stderr, report] = streams.words;
    let ended = match (parse(report.bytes()), killed) {
        (Some((ENDED, status)), _) if libc::WIFEXITED(status) => Ended::Code(libc::WEXITSTATUS(status)),
        (Some((ENDED, status)), _) => Ended::Signal(libc::WTERMSIG(status)),
        (Some((place, error)), _) => {
            let op = jail.ops.swap_remove(place as usize);
            return Err(Failure::Op(op, io::Error::from_raw_os_error(error)));
        }
        (None, Some(ended)) => ended,
        (None, None) => return Err(Failure::Other(SandboxError::Killed)),
    };
    Ok(Finished { ended, stdout: stdout.finish(), stderr: stderr.finish() })
}

fn parse(report: &[u8]) -> Option<(i32, i32)> {
    let (place, rest) = report.split_first_chunk()?;
    let (value, _) = rest.split_first_chunk()?;
    Some((i32::from_le_bytes(*place), i32::from_le_bytes(*value)))
}

/// Signals are blocked around the clone, so that no handler of this process runs in the child.
fn clone(stack: *mut c_void, jail: &mut Jail) -> io::Result<libc::pid_t> {
    // SAFETY: the child gets a copy of this memory, `jail` and its stack in it; the signal sets are
    // filled by the calls before they are read.
    unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let flags = NAMESPACES | libc::SIGCHLD;
        let argument = (&raw mut *jail).cast();
        let child = libc::clone(jail::first, stack, flags, argument, null_mut::<c_void>());
        let error = io::Error::last_os_error();
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, null_mut());
        if child < 0 { Err(error) } else { Ok(child) }
    }
}

/// What comes out of the child: output, error output, reports.
struct Streams {
    /// `None` once closed at the other end.
    pipes: [Option<PipeReader>; 3],
    words: [Tail; 3],
}

impl Streams {
    /// Reads until the child closes its report, which it does by ending; kills it when it should end
    /// before, and says why.
    fn gather(
        &mut self,
        child: libc::pid_t,
        command: &Command,
        cancelled: &dyn Fn() -> bool,
    ) -> io::Result<Option<Ended>> {
        let begun = Instant::now();
        let mut killed = None;
        while let [.., Some(_)] = self.pipes {
            if killed.is_none() {
                killed = match command.timeout {
                    _ if cancelled() => Some(Ended::Cancelled),
                    Some(limit) if begun.elapsed() >= limit => Some(Ended::TimedOut(limit)),
                    _ => None,
                };
                if killed.is_some() {
                    // SAFETY: `child` is this thread's own and not yet waited for.
                    unsafe { libc::kill(child, libc::SIGKILL) };
                }
            }
            self.read(TICK.as_millis() as c_int)?;
        }
        Ok(killed)
    }

    /// Reads what is still in the pipes when no writer is left. A write end that got out of the sandbox
    /// (through a socket in a shared folder) is not waited for.
    fn drain(&mut self) -> io::Result<()> {
        while self.read(0)? {}
        Ok(())
    }

    /// Waits for at most `patience` milliseconds, then reads once from each pipe that has something.
    fn read(&mut self, patience: c_int) -> io::Result<bool> {
        let mut polled = self.pipes.each_ref().map(|pipe| libc::pollfd {
            fd: pipe.as_ref().map_or(-1, |pipe| pipe.as_raw_fd()),
            events: libc::POLLIN,
            revents: 0,
        });
        // SAFETY: `polled` is live and that long.
        if unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as _, patience) } < 0 {
            let error = io::Error::last_os_error();
            let interrupted = error.kind() == io::ErrorKind::Interrupted;
            return if interrupted { Ok(true) } else { Err(error) };
        }
        let mut any = false;
        let mut buffer = [0; 16 << 10];
        for ((pipe, words), polled) in self.pipes.iter_mut().zip(&mut self.words).zip(&polled) {
            let Some(open) = pipe.as_mut().filter(|_| polled.revents != 0) else {
                continue;
            };
            any = true;
            match open.read(&mut buffer) {
                Ok(0) => *pipe = None,
                Ok(count) => words.push(buffer.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(any)
    }
}
