//! Runs the tool of one `exec` step in a folder of its own, cut off from the rest of the machine
//! where the platform can (Linux), and waits for it. Knows nothing of actions, stores or labels: it
//! is handed a tool, its arguments and a folder, and gives back how the tool ended and its words.
//! Invariant: when [`run`] returns, nothing that the tool started runs any more, and no mount is
//! left. (Unsandboxed on Unix there is one way out: a child that makes a session of its own.)
//!
//! The caller prepares the folder: `in/` with the declared inputs as files (links out of the folder
//! lead nowhere), and `out/` and `tmp/`, both empty. It is the tool's working directory, so that
//! arguments read `in/mesh.glb` and `out/mesh.uasset` everywhere.
//!
//! [`Policy::Sandboxed`] shows the tool this and nothing else:
//!
//! - [`FOLDER`], whatever the folder's name is outside; `in/` read-only, `out/` and `tmp/` writable;
//!   `/tmp` and `/dev/shm` lead to `tmp/`;
//! - the system's programs and libraries (`/usr`, `/bin`, `/lib` and their like, the linker's cache
//!   and `/etc/alternatives`), read-only; the tool itself, where it lies elsewhere, as `/tool/<name>`
//!   without its neighbours (a tool that needs those declares its folder as an input);
//! - `/dev/null`, `zero`, `random`, `urandom`; a `/proc` of its own processes; an `/etc` that names
//!   the user `bake` (1000) and the host `localhost`;
//! - no network (the loopback device is down), no other process, no capability, no way to gain one;
//! - an environment of the declared names alone: not even `HOME`, `PATH` or `TZ`;
//! - an empty standard input, the file mode mask 022, no core files.
//!
//! Not hidden: the kernel's version, the processors, the clock.
//!
//! [`Policy::Unsandboxed`] keeps the folder, the environment and the end of all processes. On Windows
//! the environment also holds `SystemRoot`, without which hardly a program starts there.

#[cfg(target_os = "linux")]
mod jail;
#[cfg(target_os = "linux")]
mod linux;
mod unsandboxed;
#[cfg(windows)]
mod windows;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Where a sandboxed tool finds its folder, on every machine: names that it writes into its outputs
/// do not depend on the machine.
pub const FOLDER: &str = "/build";

/// How often a running tool is held against its cancellation and its timeout.
const TICK: Duration = Duration::from_millis(20);

/// One tool to run.
#[derive(Debug, Clone)]
pub struct Command {
    /// The program: a path, never looked up in `PATH`.
    pub tool: PathBuf,
    /// Its arguments, after its name.
    pub args: Vec<OsString>,
    /// The whole of its environment.
    pub env: BTreeMap<String, String>,
    /// The folder made for it, which holds `in/`, `out/` and `tmp/`.
    pub folder: PathBuf,
    /// How long it may run.
    pub timeout: Option<Duration>,
    /// How many of the last bytes of each of its two output streams are kept.
    pub output_limit: usize,
}

/// How much of the machine a tool may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Its declared inputs and the system's programs. Linux only; see [`available`].
    Sandboxed,
    /// All that the user may see.
    Unsandboxed,
}

/// What became of a tool that was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// How it ended.
    pub ended: Ended,
    /// The end of what it wrote to standard output.
    pub stdout: Tail,
    /// The end of what it wrote to standard error.
    pub stderr: Tail,
}

/// How a tool ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this exit code; 0 is success.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// Killed, because the caller no longer wants it.
    Cancelled,
    /// Killed, because it ran longer than this.
    TimedOut(Duration),
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::Code(code) => write!(f, "exit code {code}"),
            Ended::Signal(signal) => write!(f, "killed by signal {signal}"),
            Ended::Cancelled => write!(f, "cancelled"),
            Ended::TimedOut(limit) => write!(f, "killed after {} s", limit.as_secs_f64()),
        }
    }
}

/// The last bytes of an output stream; earlier ones are counted, not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tail {
    bytes: Vec<u8>,
    limit: usize,
    left_out: u64,
}

impl Tail {
    fn new(limit: usize) -> Tail {
        Tail { bytes: Vec::new(), limit, left_out: 0 }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        // Moved down only when twice as long, so that each byte is moved once.
        if self.bytes.len() > self.limit.saturating_mul(2) {
            self.trim();
        }
    }

    fn trim(&mut self) {
        let excess = self.bytes.len().saturating_sub(self.limit);
        self.bytes.drain(..excess);
        self.left_out += excess as u64;
    }

    fn finish(mut self) -> Tail {
        self.trim();
        self
    }

    /// The bytes that were kept.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many bytes came before them.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }
}

impl fmt::Display for Tail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.left_out > 0 {
            writeln!(f, "[{} bytes left out]", self.left_out)?;
        }
        f.write_str(&String::from_utf8_lossy(&self.bytes))
    }
}

/// Why a tool was not run, or why nothing is known of how it ended.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// This platform has no sandbox.
    #[error("no sandbox on this platform; it takes Linux")]
    Unsupported,
    /// The tool is missing or cannot be started.
    #[error("cannot start the tool `{}`: {reason}", tool.display())]
    Tool {
        /// As it was given.
        tool: PathBuf,
        /// Why not.
        reason: io::Error,
    },
    /// The machine refused a step of setting up or of waiting.
    #[error("cannot {what}: {reason}")]
    Setup {
        /// What was tried.
        what: String,
        /// The refusal.
        reason: io::Error,
    },
    /// A name that no system call can carry.
    #[error("{what} holds a zero byte")]
    ZeroByte {
        /// Which name.
        what: String,
    },
    /// Somebody else killed the process that watches over the tool.
    #[error("the sandbox was killed from outside, perhaps for want of memory")]
    Killed,
}

fn setup(what: impl Into<String>) -> impl FnOnce(io::Error) -> SandboxError {
    let what = what.into();
    move |reason| SandboxError::Setup { what, reason }
}

/// Runs a tool to its end and kills all that outlives it. `cancelled` is asked every few
/// milliseconds on the calling thread, which blocks; once it says yes, the tool is killed.
///
/// A tool that fails is not an error: [`Finished`] says how it ended.
pub fn run(
    command: &Command,
    policy: Policy,
    cancelled: &dyn Fn() -> bool,
) -> Result<Finished, SandboxError> {
    match policy {
        #[cfg(target_os = "linux")]
        Policy::Sandboxed => linux::run(command, cancelled),
        #[cfg(not(target_os = "linux"))]
        Policy::Sandboxed => Err(SandboxError::Unsupported),
        Policy::Unsandboxed => unsandboxed::run(command, cancelled),
    }
}

/// Whether [`Policy::Sandboxed`] works here, or the words that say why not. Tried out once a process,
/// by setting a sandbox up.
pub fn available() -> Result<(), String> {
    #[cfg(target_os = "linux")]
    {
        static PROBED: std::sync::OnceLock<Result<(), String>> = std::sync::OnceLock::new();
        PROBED.get_or_init(linux::probe).clone()
    }
    #[cfg(not(target_os = "linux"))]
    Err(SandboxError::Unsupported.to_string())
}
