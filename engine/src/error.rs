//! Why an action did not give a result. Errors have an owner: the recipe, the machine, or our bug.

use cache::{Digest, PathError, StoreError, TreeError};

/// A blob that an action needs is not in the store any more. The engine makes it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("blob {} is not in the store", .0.short())]
pub struct Lost(pub Digest);

/// What people read when a step fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What happened, to what, in one line without a final period.
    pub message: String,
    /// Further lines: places, what was found and what was expected, a tool's own words.
    pub details: Vec<String>,
    /// How to mend it.
    pub hint: Option<String>,
    /// The hub's or packer's code, where there is one.
    pub code: Option<String>,
}

impl Failure {
    /// A failure of which only the message is known.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), details: Vec::new(), hint: None, code: None }
    }

    /// Trouble with the store, with the system's own words.
    pub(crate) fn of_store(error: &StoreError) -> Self {
        let mut failure = Self::new(error.to_string());
        let mut source = std::error::Error::source(error);
        while let Some(cause) = source {
            failure.details.push(cause.to_string());
            source = cause.source();
        }
        failure
    }
}

impl From<TreeError> for RuleError {
    fn from(error: TreeError) -> Self {
        Self::new(error.to_string())
    }
}

impl From<PathError> for RuleError {
    fn from(error: PathError) -> Self {
        Self::new(error.to_string())
    }
}

/// Why a rule gave up.
#[derive(Debug, thiserror::Error)]
pub enum RuleError {
    /// The inputs are at fault.
    #[error("{}", .0.message)]
    Failed(Box<Failure>),
    /// An input is not in the store any more.
    #[error(transparent)]
    Lost(Lost),
    /// The store or the disk is at fault.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The build was cancelled.
    #[error("cancelled")]
    Cancelled,
}

impl RuleError {
    /// A failure with a message.
    pub fn new(message: impl Into<String>) -> Self {
        Self::Failed(Box::new(Failure::new(message)))
    }

    /// With a further line.
    #[must_use]
    pub fn detail(self, line: impl Into<String>) -> Self {
        self.amend(|failure| failure.details.push(line.into()))
    }

    /// With a way to mend it.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        self.amend(|failure| failure.hint = Some(hint.into()))
    }

    /// With the hub's or packer's code.
    #[must_use]
    pub fn code(self, code: impl Into<String>) -> Self {
        self.amend(|failure| failure.code = Some(code.into()))
    }

    fn amend(mut self, change: impl FnOnce(&mut Failure)) -> Self {
        if let Self::Failed(failure) = &mut self {
            change(failure);
        }
        self
    }
}
