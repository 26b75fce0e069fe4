//! [`Fail`]: why a command ends otherwise than well: what to say, and the exit code.

use std::process::ExitCode;

use cache::StoreError;
use engine::{BuildError, Failure, RuleError};
use recipes::Diagnostic;

/// Exit codes, documented in `docs/commands.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    StepFailed = 1,
    Usage = 2,
    Machine = 3,
    Differs = 4,
    Refused = 5,
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// Why a command ended, and what is still to be said about it.
#[derive(Debug)]
pub(crate) struct Fail {
    pub(crate) exit: Exit,
    pub(crate) failures: Vec<Failure>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl Fail {
    /// All was said already.
    pub(crate) fn said(exit: Exit) -> Self {
        Self { exit, failures: Vec::new(), diagnostics: Vec::new() }
    }

    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        let failure = Failure { message: message.into(), details: Vec::new(), hint: None, code: None };
        Self::of(exit, vec![failure])
    }

    pub(crate) fn of(exit: Exit, failures: Vec<Failure>) -> Self {
        Self { failures, ..Self::said(exit) }
    }

    /// The command line or a file that it names is wrong.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// The machine is in the way.
    pub(crate) fn machine(message: impl Into<String>) -> Self {
        Self::new(Exit::Machine, message)
    }

    pub(crate) fn io(what: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::machine(format!("cannot {what} `{}`: {error}", path.display()))
    }

    #[must_use]
    pub(crate) fn help(mut self, hint: impl Into<String>) -> Self {
        if let Some(failure) = self.failures.last_mut() {
            failure.hint = Some(hint.into());
        }
        self
    }

    /// What failed, in one line.
    pub(crate) fn words(&self) -> String {
        self.failures.iter().map(|failure| &failure.message[..]).collect::<Vec<_>>().join(", ")
    }

    /// With the code of what is wrong.
    #[must_use]
    pub(crate) fn code(mut self, code: &str) -> Self {
        if let Some(failure) = self.failures.last_mut() {
            failure.code = Some(code.to_owned());
        }
        self
    }

    #[must_use]
    pub(crate) fn detail(mut self, line: impl Into<String>) -> Self {
        if let Some(failure) = self.failures.last_mut() {
            failure.details.push(line.into());
        }
        self
    }
}

impl From<RuleError> for Fail {
    fn from(error: RuleError) -> Self {
        match error {
            RuleError::Failed(failure) => Self::of(Exit::StepFailed, vec![*failure]),
            RuleError::Store(error) => error.into(),
            other => Self::machine(other.to_string()),
        }
    }
}

impl From<StoreError> for Fail {
    fn from(error: StoreError) -> Self {
        let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
        Self::machine(format!("{error}{}", source.unwrap_or_default()))
    }
}

impl From<Vec<Diagnostic>> for Fail {
    fn from(diagnostics: Vec<Diagnostic>) -> Self {
        Self { diagnostics, ..Self::said(Exit::Usage) }
    }
}

impl From<BuildError> for Fail {
    fn from(error: BuildError) -> Self {
        Self::usage(error.to_string())
    }
}
