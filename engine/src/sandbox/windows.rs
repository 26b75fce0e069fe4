//! A Windows job object around a child process: what the child starts belongs to the job, and what
//! belongs to the job ends with it. Knows nothing of the tool. Invariant: the child runs not one
//! instruction before it is in the job.

use std::io;
use std::mem::size_of;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::os::windows::process::CommandExt;
use std::process::{Child, Command};
use std::ptr::null;

use windows_sys::Win32::Foundation::INVALID_HANDLE_VALUE;
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, TH32CS_SNAPTHREAD, THREADENTRY32, Thread32First, Thread32Next,
};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectExtendedLimitInformation, SetInformationJobObject,
    TerminateJobObject,
};
use windows_sys::Win32::System::Threading::{
    CREATE_NO_WINDOW, CREATE_SUSPENDED, OpenThread, ResumeThread, THREAD_SUSPEND_RESUME,
};

/// The job that a child and its children run in.
pub(super) struct Group(OwnedHandle);

impl Group {
    pub(super) fn spawn(process: &mut Command) -> io::Result<(Child, Group)> {
        let job = new_job()?;
        let mut child = process.creation_flags(CREATE_SUSPENDED | CREATE_NO_WINDOW).spawn()?;
        // SAFETY: both handles are open.
        let assigned = unsafe { check(AssignProcessToJobObject(job.as_raw_handle(), child.as_raw_handle())) };
        if let Err(error) = assigned.and_then(|()| resume(child.id())) {
            child.kill()?;
            child.wait()?;
            return Err(error);
        }
        Ok((child, Group(job)))
    }

    pub(super) fn ended(&self, child: &mut Child) -> io::Result<bool> {
        Ok(child.try_wait()?.is_some())
    }

    pub(super) fn kill(&self) {
        // SAFETY: the handle is open. A refusal is mended by closing it.
        unsafe { TerminateJobObject(self.0.as_raw_handle(), 1) };
    }
}

fn check(result: i32) -> io::Result<()> {
    if result == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// A job that ends, with all in it, when its last handle closes: also when this process dies.
fn new_job() -> io::Result<OwnedHandle> {
    // SAFETY: null asks for a job without a name that only this process can reach; the structure is
    // the one that goes with its class, with its size.
    unsafe {
        let job = CreateJobObjectW(null(), null());
        if job.is_null() {
            return Err(io::Error::last_os_error());
        }
        let job = OwnedHandle::from_raw_handle(job);
        let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
        check(SetInformationJobObject(
            job.as_raw_handle(),
            JobObjectExtendedLimitInformation,
            (&raw const limits).cast(),
            size_of::<JOBOBJECT_EXTENDED_LIMIT_INFORMATION>() as u32,
        ))?;
        Ok(job)
    }
}

/// Lets a suspended process go. The standard library keeps its thread's handle to itself, so the
/// thread is looked up; a process that never ran has one.
fn resume(process: u32) -> io::Result<()> {
    // SAFETY: `entry` carries its size, as the calls want it, and handles are checked before use.
    unsafe {
        let snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0);
        if snapshot == INVALID_HANDLE_VALUE {
            return Err(io::Error::last_os_error());
        }
        let snapshot = OwnedHandle::from_raw_handle(snapshot);
        let mut entry = THREADENTRY32::default();
        entry.dwSize = size_of::<THREADENTRY32>() as u32;
        check(Thread32First(snapshot.as_raw_handle(), &raw mut entry))?;
        while entry.th32OwnerProcessID != process {
            check(Thread32Next(snapshot.as_raw_handle(), &raw mut entry))?;
        }
        let thread = OpenThread(THREAD_SUSPEND_RESUME, 0, entry.th32ThreadID);
        if thread.is_null() {
            return Err(io::Error::last_os_error());
        }
        let thread = OwnedHandle::from_raw_handle(thread);
        if ResumeThread(thread.as_raw_handle()) == u32::MAX {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }
}
