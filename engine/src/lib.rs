//! The engine: a plan in, results out. It resolves inputs, names actions by digest, runs what the store
//! does not know, and says why.
//!
//! It knows no TOML, no concrete rule, no file format and no terminal. One thread owns the state of a
//! build; workers compute and send. Start with [`Plan`], [`Rule`] and [`Action`], then [`build`].

mod action;
mod build;
mod error;
mod event;
mod exec;
mod external;
mod history;
mod io;
mod label;
pub mod params;
mod place;
mod plan;
mod resolve;
mod rule;
mod run;
pub mod sandbox;
mod schedule;
pub mod schema;
mod snapshot;
mod sources;
mod staged;
mod state;
pub mod template;
#[doc(hidden)]
pub mod testing;
mod trees;
mod why;

pub use cache::{Blob, Digest, Note, Output, Severity, Tree, WorkspacePath};

pub use action::{Action, ManifestError, Tool};
pub use build::{Artifact, BuildError, Built, Failed, Options, Report, StepDone, build};
pub use error::{Failure, Lost, RuleError};
pub use event::{Event, Outcome, Sink};
pub use external::{External, FolderExternal, ReadAt, TreeExternal};
pub use history::{History, NoHistory};
pub use io::{Cx, Input, Inputs, OutputWriter, Outputs, Signer};
pub use label::{Label, LabelError, is_name};
pub use params::{ParamError, Params};
pub use place::PlacedFile;
pub use plan::{Cycle, ForEach, Item, Node, NodeId, Placed, Plan, Source, Target, fingerprint};
pub use resolve::FindTool;
pub use rule::{
    Body, Catalogue, Exec, ExecSpec, Facts, Fetch, Identified, Identify, Import, InputSpec, Interface, Kind,
    OutputSpec, Pure, Rule, RuleId, Run, import, pure,
};
pub use snapshot::{Checked, Last, Previous, Snapshot, Stats};
pub use sources::SourceRecord;
pub use staged::{Elsewhere, run_action};
pub use why::{RebuildReason, difference};
