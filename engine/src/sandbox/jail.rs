//! The child's side of the Linux sandbox: what happens between `clone` and the tool's `exec`.
//!
//! Invariant: nothing here allocates, locks or panics, because the child is one thread cloned out of
//! many, and another may have held the allocator's lock. All is prepared before, as a list of
//! [`Op`]s; a failure goes to the parent as the place in that list and the error number, and the
//! parent finds the words.

use std::ffi::{CStr, CString, c_char, c_int, c_long, c_void};
use std::fmt;
use std::mem::size_of;
use std::os::fd::RawFd;
use std::ptr::{null, null_mut};

use super::FOLDER;

/// The host's name inside.
const HOST: &CStr = c"localhost";
/// What the kernel calls a domain that nobody set.
const DOMAIN: &CStr = c"(none)";

/// The report descriptor, once the child has put its descriptors in order.
const REPORT: RawFd = 3;
/// How long a report is: the place of the [`Op`] that failed, or [`ENDED`], and the error number or
/// the tool's wait status, both little-endian. The first report counts.
pub(super) const REPORT_LENGTH: usize = 8;
/// The place in a report that tells how the tool ended (0 where there was none to start).
pub(super) const ENDED: i32 = -1;

/// One step of setting the sandbox up.
pub(super) enum Op {
    /// Writes a small file; also how an empty mount point comes to be.
    Write { at: CString, bytes: Vec<u8> },
    /// Sets the host's and the domain's name.
    Host,
    /// Makes a new, empty root of a tmpfs; the old one lies at `/old`. Mounted over `at`, which is as
    /// good as any folder: seen from the new root, it is itself again.
    Root { at: CString },
    /// Makes a folder.
    Folder { at: CString },
    /// Makes a symbolic link.
    Link { at: CString, to: CString },
    /// Shows a file or a folder at another place, with mount attributes added.
    Bind { from: CString, to: CString, attributes: u64 },
    /// Mounts a `/proc` that shows the tool's own processes.
    Proc,
    /// Lets go of the old root, and makes the new one read-only.
    Seal,
    /// Enters [`FOLDER`].
    Enter,
    /// Gives up every right, for good.
    GiveUp,
    /// Starts the tool. The last.
    Start { tool: CString },
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Op::Write { at, .. } => write!(f, "write `{}`", at.to_string_lossy()),
            Op::Host => write!(f, "set the host name"),
            Op::Root { .. } => write!(f, "make a new root"),
            Op::Folder { at } => write!(f, "make the folder `{}`", at.to_string_lossy()),
            Op::Link { at, .. } => write!(f, "make the link `{}`", at.to_string_lossy()),
            Op::Bind { to, .. } => write!(f, "mount `{}`", to.to_string_lossy()),
            Op::Proc => write!(f, "mount `/proc`"),
            Op::Seal => write!(f, "unmount the old root"),
            Op::Enter => write!(f, "enter `{FOLDER}`"),
            Op::GiveUp => write!(f, "give up privileges"),
            Op::Start { tool } => write!(f, "start `{}`", tool.to_string_lossy()),
        }
    }
}

/// All that the child needs, laid out before it exists.
pub(super) struct Jail {
    pub ops: Vec<Op>,
    /// Standard input, output and error, and where reports go.
    pub fds: [RawFd; 4],
    /// For `execve`: pointers into strings that outlive the child's start, closed by a null.
    pub argv: Vec<*const c_char>,
    pub envp: Vec<*const c_char>,
    /// The top of a stack for the tool until its `exec`.
    pub tool_stack: *mut c_void,
}

type Outcome = Result<(), c_int>;

fn errno() -> c_int {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

fn check(result: c_int) -> Result<c_int, c_int> {
    if result < 0 { Err(errno()) } else { Ok(result) }
}

fn check_long(result: c_long) -> Result<c_long, c_int> {
    if result < 0 { Err(errno()) } else { Ok(result) }
}

fn report(place: i32, value: i32) {
    let [a, b, c, d] = place.to_le_bytes();
    let [e, f, g, h] = value.to_le_bytes();
    let report: [u8; REPORT_LENGTH] = [a, b, c, d, e, f, g, h];
    // SAFETY: `report` is live and that long.
    unsafe { libc::write(REPORT, report.as_ptr().cast(), report.len()) };
}

/// The first process of the new namespaces: sets them up, starts the tool, buries orphans until the
/// tool ends, and takes everything with it by leaving.
///
/// It stays a process of its own, since the kernel shields a namespace's first process from signals:
/// a tool in its place would not die of its own `abort`.
pub(super) extern "C" fn first(jail: *mut c_void) -> c_int {
    // SAFETY: the parent passes a `Jail`, which is in this process's copy of its memory.
    let jail = unsafe { &*jail.cast::<Jail>() };
    // A report cannot be sent before its descriptor is in place; the parent then sees none.
    if descriptors(&jail.fds).is_err() {
        return 1;
    }
    signals();
    let mut status = 0;
    for (place, op) in jail.ops.iter().enumerate() {
        let done = match op {
            Op::Start { .. } => start(jail).and_then(wait).map(|ended| status = ended),
            op => apply(op),
        };
        if let Err(error) = done {
            report(place as i32, error);
            return 1;
        }
    }
    report(ENDED, status);
    0
}

/// Puts the descriptors at 0 to 3 and closes all others, which belong to other work of the parent:
/// a pipe's write end kept open here would keep another step's reader waiting.
fn descriptors(fds: &[RawFd; 4]) -> Outcome {
    let mut moved = [0; 4];
    for (from, to) in fds.iter().zip(&mut moved) {
        // SAFETY: plain calls on descriptors; the first moves each out of the way of the second.
        *to = check(unsafe { libc::fcntl(*from, libc::F_DUPFD, 4) })?;
    }
    for (to, from) in moved.iter().enumerate() {
        // SAFETY: as above.
        check(unsafe { libc::dup2(*from, to as c_int) })?;
    }
    // SAFETY: as above.
    unsafe {
        check(libc::fcntl(REPORT, libc::F_SETFD, libc::FD_CLOEXEC))?;
        check_long(libc::syscall(libc::SYS_close_range, REPORT + 1, c_int::MAX, 0))?;
    }
    Ok(())
}

/// Leaves with the parent, and forgets its handlers and what it ignores. The parent blocked every
/// signal before the clone, so no handler has run here.
fn signals() {
    // All zero is the default action. Asked of the kernel, since libc hides the signals that it uses
    // itself, though a parent may have left them ignored. What cannot be changed is refused.
    let default = [0u64; 4];
    // SAFETY: `default` is as long as any machine's structure; the set in it is 8 bytes long.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        for signal in 1..=64 {
            let set = 8usize;
            libc::syscall(libc::SYS_rt_sigaction, signal, default.as_ptr(), null::<c_void>(), set);
        }
        // Ctrl-C at the terminal is the parent's to hear.
        libc::setsid();
        libc::umask(0o022);
    }
}

fn apply(op: &Op) -> Outcome {
    // SAFETY: each call is given strings that end in a zero byte and live in `op`, or null where the
    // call takes it.
    unsafe {
        match op {
            Op::Write { at, bytes } => {
                let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_CLOEXEC;
                let file = check(libc::open(at.as_ptr(), flags, 0o644 as c_int))?;
                let written = if bytes.is_empty() {
                    0
                } else {
                    check_long(libc::write(file, bytes.as_ptr().cast(), bytes.len()) as c_long)?
                };
                libc::close(file);
                if written as usize == bytes.len() { Ok(()) } else { Err(libc::EIO) }
            }
            Op::Host => {
                check(libc::sethostname(HOST.as_ptr(), HOST.count_bytes()))?;
                check(libc::setdomainname(DOMAIN.as_ptr(), DOMAIN.count_bytes())).map(drop)
            }
            Op::Root { at } => {
                let private = libc::MS_REC | libc::MS_PRIVATE;
                check(libc::mount(null(), c"/".as_ptr(), null(), private, null()))?;
                let tmpfs = c"tmpfs".as_ptr();
                let options = c"mode=755,size=1m".as_ptr().cast();
                let flags = libc::MS_NOSUID | libc::MS_NODEV;
                check(libc::mount(tmpfs, at.as_ptr(), tmpfs, flags, options))?;
                check(libc::chdir(at.as_ptr()))?;
                check(libc::mkdir(c"old".as_ptr(), 0o755))?;
                let (new, old) = (c".".as_ptr(), c"old".as_ptr());
                check_long(libc::syscall(libc::SYS_pivot_root, new, old))?;
                check(libc::chdir(c"/".as_ptr())).map(drop)
            }
            Op::Folder { at } => check(libc::mkdir(at.as_ptr(), 0o755)).map(drop),
            Op::Link { at, to } => check(libc::symlink(to.as_ptr(), at.as_ptr())).map(drop),
            Op::Bind { from, to, attributes } => {
                let flags = libc::MS_BIND | libc::MS_REC;
                check(libc::mount(from.as_ptr(), to.as_ptr(), null(), flags, null()))?;
                set_attributes(to, *attributes, libc::AT_RECURSIVE)
            }
            Op::Proc => {
                let proc = c"proc".as_ptr();
                let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
                // 4, "ptraceable": not even the first process, which holds a copy of the parent's
                // command line and environment, is to be seen.
                let options = c"hidepid=4".as_ptr().cast();
                check(libc::mount(proc, c"/proc".as_ptr(), proc, flags, options)).map(drop)
            }
            Op::Seal => {
                check(libc::umount2(c"/old".as_ptr(), libc::MNT_DETACH))?;
                check(libc::rmdir(c"/old".as_ptr()))?;
                set_attributes(c"/", libc::MOUNT_ATTR_RDONLY, 0)
            }
            Op::Enter => {
                check(libc::chdir(c"build".as_ptr()))?;
                Ok(())
            }
            Op::GiveUp => give_up(),
            Op::Start { .. } => Ok(()),
        }
    }
}

/// `mount_setattr` only adds, so that attributes locked by an outer namespace are no obstacle.
fn set_attributes(at: &CStr, attributes: u64, flags: c_int) -> Outcome {
    let attr = libc::mount_attr { attr_set: attributes, attr_clr: 0, propagation: 0, userns_fd: 0 };
    // SAFETY: `attr` is the structure that this call takes, with its size.
    check_long(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            at.as_ptr(),
            flags,
            &raw const attr,
            size_of::<libc::mount_attr>(),
        )
    })
    .map(drop)
}

/// No new privileges, landlock, no capabilities, no core files; and no look into this process, whose
/// memory is a copy of the parent's.
fn give_up() -> Outcome {
    // SAFETY: plain calls, with structures of the kernel's layout.
    unsafe {
        check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
        landlock()?;
        let header: [u32; 2] = [0x2008_0522, 0]; // version 3, this process
        let none = [0u32; 6];
        check_long(libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()))?;
        let no_core = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        check(libc::setrlimit(libc::RLIMIT_CORE, &no_core))?;
        check(libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0)).map(drop)
    }
}

/// What landlock governs, as the kernel lays it out.
#[repr(C)]
struct Ruleset {
    files: u64,
    network: u64,
    scope: u64,
}

/// What is allowed below a folder, as the kernel lays it out.
#[repr(C, packed)]
struct Beneath {
    allowed: u64,
    folder: i32,
}

const EXECUTE: u64 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_FOLDER: u64 = 1 << 3;
/// All rights on files that version 2 knows: up to moving between folders.
const ALL: u64 = (1 << 14) - 1;
const TRUNCATE: u64 = 1 << 14;
const DEVICE_CONTROL: u64 = 1 << 15;
const TCP: u64 = 0b11;
/// Abstract sockets and signals stay within the sandbox.
const SCOPE: u64 = 0b11;

/// A second wall behind the mounts: writing in `out/` and `tmp/` alone. Absent, or too old to allow
/// a file to move between folders (version 1), it is left out: the mounts say the same.
fn landlock() -> Outcome {
    let create = libc::SYS_landlock_create_ruleset;
    // SAFETY: with no structure and flag 1 the call tells its version.
    let version = unsafe { libc::syscall(create, null::<c_void>(), 0usize, 1) };
    if version < 2 {
        return Ok(());
    }
    let mut all = ALL;
    if version >= 3 {
        all |= TRUNCATE;
    }
    if version >= 5 {
        all |= DEVICE_CONTROL;
    }
    let ruleset = Ruleset {
        files: all,
        network: if version >= 4 { TCP } else { 0 },
        scope: if version >= 6 { SCOPE } else { 0 },
    };
    let read = EXECUTE | READ_FILE | READ_FOLDER;
    let rules = [
        (c"/", read),
        (c"/build/out", all),
        (c"/build/tmp", all),
        (c"/dev", (READ_FILE | WRITE_FILE | TRUNCATE | DEVICE_CONTROL) & all),
        (c"/proc", (READ_FILE | WRITE_FILE | TRUNCATE) & all),
    ];
    // SAFETY: structures of the kernel's layout with their sizes; older kernels take a longer one
    // whose rest is zero.
    unsafe {
        let set = check_long(libc::syscall(create, &raw const ruleset, size_of::<Ruleset>(), 0))? as c_int;
        for (at, allowed) in rules {
            let folder = check(libc::open(at.as_ptr(), libc::O_PATH | libc::O_CLOEXEC))?;
            let beneath = Beneath { allowed, folder };
            let add = libc::SYS_landlock_add_rule;
            check_long(libc::syscall(add, set, 1, &raw const beneath, 0))?;
            libc::close(folder);
        }
        check_long(libc::syscall(libc::SYS_landlock_restrict_self, set, 0))?;
        libc::close(set);
    }
    Ok(())
}

/// Starts the tool. It borrows this process's memory until its `exec`, which spares a copy; this
/// process stands still until then.
fn start(jail: &Jail) -> Result<libc::pid_t, c_int> {
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    let argument = (&raw const *jail).cast_mut().cast::<c_void>();
    // SAFETY: `tool_stack` is the top of a stack that nobody else uses.
    check(unsafe { libc::clone(tool, jail.tool_stack, flags, argument, null_mut::<c_void>()) })
}

extern "C" fn tool(jail: *mut c_void) -> c_int {
    // SAFETY: `start` passes its `Jail`; the vectors end in nulls and their strings are alive.
    unsafe {
        let jail = &*jail.cast::<Jail>();
        if let Some(Op::Start { tool }) = jail.ops.last() {
            let mut none = std::mem::zeroed();
            libc::sigemptyset(&raw mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const none, null_mut());
            libc::execve(tool.as_ptr(), jail.argv.as_ptr(), jail.envp.as_ptr());
            report(jail.ops.len() as i32 - 1, errno());
        }
        libc::_exit(127)
    }
}

/// Buries what dies until it is the tool, and says how that ended.
fn wait(tool: libc::pid_t) -> Result<c_int, c_int> {
    let mut status = 0;
    // SAFETY: `status` is a live integer.
    while check(unsafe { libc::waitpid(-1, &raw mut status, 0) })? != tool {}
    Ok(status)
}
