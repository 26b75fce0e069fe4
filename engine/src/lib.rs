//! The engine: a plan in, results out. It resolves inputs, names actions by digest, runs what the store
//! does not know, and says why.
//!
//! It knows no TOML, no concrete rule, no file format and no terminal. One thread owns the state of a
//! build; workers compute and send. Start with [`Plan`], [`Rule`] and [`Action`], then `schedule`.

mod action;
mod error;
mod event;
mod external;
mod io;
mod label;
pub mod params;
mod plan;
mod rule;
pub mod schema;
pub mod template;
mod why;

pub use cache::WorkspacePath;

pub use action::{Action, ManifestError, Tool};
pub use error::{Failure, Lost, RuleError};
pub use event::{Event, Outcome, Sink};
pub use external::{External, FolderExternal, ReadAt, TreeExternal};
pub use io::{Cx, Input, Inputs, OutputWriter, Outputs, Signer};
pub use label::{Label, LabelError, is_name};
pub use params::{ParamError, Params};
pub use plan::{Cycle, ForEach, Item, Node, NodeId, Placed, Plan, Source, Target, fingerprint};
pub use rule::{
    Body, Catalogue, Exec, ExecSpec, Facts, Fetch, Identified, Identify, Import, InputSpec, Interface, Kind,
    OutputSpec, Pure, Rule, RuleId, Run, import, pure,
};
pub use why::{RebuildReason, difference};
