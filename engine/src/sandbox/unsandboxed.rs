//! Runs a tool as a plain child process, and ends what it leaves behind: its process group on Unix,
//! its job on Windows. Hides nothing of the machine from it but the environment.

use std::io::Read;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

#[cfg(unix)]
use self::unix::Group;
#[cfg(windows)]
use super::windows::Group;
use super::{Command, Ended, Finished, SandboxError, TICK, Tail, setup};

/// How long the tool's output is waited for once its processes are gone. Only one that escaped can
/// hold the pipes open any longer.
const GRACE: Duration = Duration::from_secs(1);

pub(super) fn run(command: &Command, cancelled: &dyn Fn() -> bool) -> Result<Finished, SandboxError> {
    let refused = |reason| SandboxError::Tool { tool: command.tool.clone(), reason };
    let tool = std::path::absolute(&command.tool).map_err(refused)?;
    let mut process = std::process::Command::new(tool);
    process
        .args(&command.args)
        .env_clear()
        .envs(&command.env)
        .current_dir(&command.folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let (true, Some(root)) = (cfg!(windows), std::env::var_os("SystemRoot")) {
        process.env("SystemRoot", root);
    }
    let begun = Instant::now();
    let (mut child, group) = Group::spawn(&mut process).map_err(refused)?;

    let (reading, read) = mpsc::channel();
    let stdout = listen(child.stdout.take(), command.output_limit, reading.clone());
    let stderr = listen(child.stderr.take(), command.output_limit, reading);

    let mut pause = Duration::from_micros(500);
    let killed = loop {
        match group.ended(&mut child) {
            Ok(false) => {}
            Ok(true) => break Ok(None),
            Err(error) => break Err(error),
        }
        match command.timeout {
            _ if cancelled() => break Ok(Some(Ended::Cancelled)),
            Some(limit) if begun.elapsed() >= limit => break Ok(Some(Ended::TimedOut(limit))),
            _ => thread::sleep(pause),
        }
        pause = (pause * 2).min(TICK);
    };
    group.kill();
    let waited = killed.and_then(|killed| Ok((killed, child.wait()?)));
    let (killed, status) = waited.map_err(setup("wait for the tool"))?;
    // Nothing is ever sent: the channel ends when both readers have.
    let _ = read.recv_timeout(GRACE);
    let words = |tail: Arc<Mutex<Tail>>| {
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *tail, Tail::new(0)).finish()
    };
    Ok(Finished {
        ended: killed.unwrap_or_else(|| ended(status)),
        stdout: words(stdout),
        stderr: words(stderr),
    })
}

/// Reads a pipe to its end on a thread of its own. `reading` is dropped then.
fn listen(
    pipe: Option<impl Read + Send + 'static>,
    limit: usize,
    reading: mpsc::Sender<()>,
) -> Arc<Mutex<Tail>> {
    let tail = Arc::new(Mutex::new(Tail::new(limit)));
    let shared = Arc::clone(&tail);
    thread::spawn(move || {
        let _reading = reading;
        let Some(mut pipe) = pipe else { return };
        let mut buffer = [0; 16 << 10];
        // An error ends the stream as its end does: the words are for people.
        while let Ok(count @ 1..) = pipe.read(&mut buffer) {
            let mut tail = shared.lock().unwrap_or_else(PoisonError::into_inner);
            tail.push(buffer.get(..count).unwrap_or_default());
        }
    });
    tail
}

fn ended(status: ExitStatus) -> Ended {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return Ended::Signal(signal);
    }
    Ended::Code(status.code().unwrap_or(-1))
}

#[cfg(unix)]
mod unix {
    use std::io;
    use std::os::unix::process::CommandExt;

    use std::process::Child;

    /// The process group that a child leads.
    pub(super) struct Group(libc::pid_t);

    impl Group {
        pub(super) fn spawn(process: &mut std::process::Command) -> io::Result<(Child, Group)> {
            let child = process.process_group(0).spawn()?;
            let group = Group(child.id() as libc::pid_t);
            Ok((child, group))
        }

        /// Leaves the child unburied, so that its number, the group's, is nobody else's yet when the
        /// group is killed.
        pub(super) fn ended(&self, _child: &mut Child) -> io::Result<bool> {
            let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
            // SAFETY: `info` is plain data, filled by the call.
            unsafe {
                let mut info: libc::siginfo_t = std::mem::zeroed();
                if libc::waitid(libc::P_PID, self.0 as libc::id_t, &raw mut info, flags) < 0 {
                    let error = io::Error::last_os_error();
                    let interrupted = error.kind() == io::ErrorKind::Interrupted;
                    return if interrupted { Ok(false) } else { Err(error) };
                }
                Ok(info.si_pid() != 0)
            }
        }

        pub(super) fn kill(&self) {
            // SAFETY: the group's leader is not yet waited for, so the number is still its own. It
            // may be empty, which does no harm.
            unsafe { libc::killpg(self.0, libc::SIGKILL) };
        }
    }
}
