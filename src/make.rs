//! `bake build`: builds, shows how it goes, and says what was done.

use std::path::Path;
use std::time::Instant;

use engine::{Event, Plan, Sink};
use recipes::Diagnostic;

use crate::cli::Build;
use crate::driver::{self, Done, Driver, Ended, Request, Watch};
use crate::dump;
use crate::events::EventLog;
use crate::fail::{Exit, Fail};
use crate::lock;
use crate::progress::{self, Progress};
use crate::record;
use crate::report::{self, Account};
use crate::run_action::Half;
use crate::session::Session;
use crate::shell::Shell;
use crate::signing;
use crate::trace::Trace;
use crate::why::BuildLog;

/// All who are told what happens, in one.
pub(crate) struct Watchers<'w> {
    pub(crate) shell: &'w Shell,
    pub(crate) progress: Box<dyn Progress + 'w>,
    pub(crate) events: Option<EventLog>,
    pub(crate) trace: Trace,
    pub(crate) account: Account,
    pub(crate) log: BuildLog,
}

impl<'w> Watchers<'w> {
    pub(crate) fn new(session: &Session<'_>, shell: &'w Shell, events: Option<&Path>) -> Result<Self, Fail> {
        Ok(Self {
            shell,
            progress: progress::new(shell),
            events: events.map(EventLog::create).transpose()?,
            trace: Trace::default(),
            account: Account::default(),
            log: BuildLog::of(session),
        })
    }
}

impl Sink for Watchers<'_> {
    fn event(&mut self, event: &Event) {
        self.progress.event(event);
        self.trace.event(event);
        self.account.event(event);
        self.log.event(event);
        if let Some(events) = &mut self.events {
            events.event(event);
        }
    }
}

impl Watch for Watchers<'_> {
    fn planned(&mut self, plan: &Plan, notes: &[Diagnostic]) {
        self.shell.diagnostics(notes);
        self.progress.planned(plan);
    }
}

pub(crate) fn run(args: &Build, session: &Session<'_>, shell: &Shell) -> Result<(), Fail> {
    if args.remote.is_some() {
        return Err(Fail::usage("`--remote` is reserved: remote caches come with a later version")
            .help("leave it out: the store of this machine is shared by all its workspaces"));
    }
    let started = Instant::now();
    driver::watch_for_interrupts(shell);
    signing::warn(session, &args.how.sign, shell);
    let driver = Driver::open(session)?;
    let out = session.out(args.out.as_deref());
    let half = Half;
    let request = Request {
        labels: &args.labels,
        out: out.clone(),
        how: &args.how,
        remember: true,
        all: args.locked || args.record_release || args.dump.is_some(),
        elsewhere: args.half_elsewhere.then_some(&half as &dyn engine::Elsewhere),
    };
    let mut watchers = Watchers::new(session, shell, args.events.as_deref())?;
    let ended = driver.build(&request, &mut watchers);
    watchers.progress.finish();
    watchers.log.write(shell);
    let done = match ended? {
        Ended::Fresh(stats) => {
            let text = format!(
                "{}, nothing to do ({})",
                args.labels.join(" "),
                crate::count::duration(started.elapsed())
            );
            shell.status("Fresh", &text);
            if let Some(events) = watchers.events.take() {
                events.fresh(&args.labels, &stats, &out)?;
            }
            if let Some(path) = &args.trace {
                watchers.trace.write(path)?;
            }
            if args.json {
                shell.json(&report::fresh_json(&stats, &out));
            }
            return Ok(());
        }
        Ended::Built(done) => done,
    };
    if let Some(events) = watchers.events.take() {
        events.finish(&done, &out)?;
    }
    if let Some(path) = &args.trace {
        watchers.trace.write(path)?;
    }
    if let Some(path) = &args.dump {
        dump::write(path, &done)?;
    }
    let archives = report::archives(&done, &driver.store, &out);
    report::say(&done, &watchers, &archives, &out, started.elapsed());
    if args.json {
        shell.json(&report::json(&done, &archives, &out));
    }
    verdict(&done)?;
    if args.record_release {
        record::write(session, &driver, &done, shell)?;
    }
    if args.locked { lock::hold(session, &driver, &done) } else { Ok(()) }
}

/// How a command ends that built something; what failed was said when it did.
pub(crate) fn verdict(done: &Done) -> Result<(), Fail> {
    let report = &done.report;
    if report.cancelled {
        return Err(Fail::new(Exit::Interrupted, "interrupted; what was finished is kept"));
    }
    if report.store_error.is_some() {
        return Err(Fail::said(Exit::Machine));
    }
    if report.is_success() { Ok(()) } else { Err(Fail::said(Exit::StepFailed)) }
}
