//! What can be asked: the command line as types. Every text here is help; nothing here acts.

mod pack;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use pack::{Pack, PackForge, PackMap, PackOptions, PackRuntime};

/// A declarative, content-addressed build system for Halo: Campaign Evolved mod content.
#[derive(Parser)]
#[command(name = "bake", version, max_term_width = 100, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Run as if started in this folder
    #[arg(short = 'C', value_name = "DIR", global = true)]
    pub(crate) directory: Option<PathBuf>,
    /// When to colour what is said
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    pub(crate) color: Color,
    /// Say nothing but errors
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// The folder of the store [default: the user's cache folder]
    #[arg(
        long,
        value_name = "DIR",
        env = "BAKE_STORE",
        global = true,
        hide_env_values = true,
        // An empty text is as good as none, which the parser of paths refuses.
        value_parser = OsStringValueParser::new().map(PathBuf::from)
    )]
    pub(crate) store: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On terminals, unless NO_COLOR is set
    Auto,
    Always,
    Never,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Build recipes
    Build(Build),
    /// Check archives, manifests and sidecars against every rule of scanner, packer and launcher
    Verify(Verify),
    /// Say what a code of `verify` means and how to mend it
    Explain(Explain),
    /// Make a release of containers that were cooked elsewhere
    #[command(subcommand)]
    Pack(Pack),
    /// Say whether a release keeps what earlier ones gave
    CheckUpdate(CheckUpdate),
    /// Say what differs between two archives
    Diff(Diff),
    /// Say which releases of a folder go together
    Resolve(Resolve),
    /// Show what is in an archive, a container, a package or a result
    Inspect(Inspect),
    /// Take packages out of the game's own containers
    Extract(Extract),
    /// Say which recipes and steps an update of the game would touch
    Impact(Impact),
    /// Say why a step was run, and whether it would run now
    Why(Why),
    /// Print the graph of a build
    Graph(Graph),
    /// Ask what depends on what
    #[command(subcommand)]
    Query(Query),
    /// Write down in bake.lock what externals gave and what was made of it
    Lock(Lock),
    /// Build again elsewhere and name the first step that gives other bytes
    Reproduce(Reproduce),
    /// Remove from the store what nothing keeps
    Gc(Gc),
    /// Remove what was placed under out/
    Clean(Clean),
    /// Say what was found, what is missing, and how to mend it
    Doctor(Doctor),
    /// List all rules, or describe one
    Rules(Rules),
    /// Print the JSON schema of recipes, settings or a rule's parameters
    Schema(Schema),
    /// Make or show the key that archives are signed with
    #[command(subcommand)]
    SigningKeys(SigningKeys),
    /// Start a recipe
    #[command(subcommand)]
    Init(Init),
    /// Run one action that was staged in a folder
    RunAction(RunAction),
    /// Print a script that completes commands and labels in a shell
    Completions(Completions),
    /// Print the man page
    Man,
    /// Print all labels, one a line
    #[command(hide = true)]
    Labels,
}

impl Command {
    /// All labels of workspaces that were written.
    pub(crate) fn labels_mut(&mut self) -> Vec<&mut String> {
        fn with<'a>(labels: &'a mut [String], how: &'a mut How) -> Vec<&'a mut String> {
            labels.iter_mut().chain(&mut how.rerun).collect()
        }
        match self {
            Self::Build(args) => with(&mut args.labels, &mut args.how),
            Self::Lock(args) => with(&mut args.labels, &mut args.how),
            Self::Reproduce(args) => with(&mut args.labels, &mut args.how),
            Self::Why(args) => vec![&mut args.label],
            Self::Graph(args) => args.labels.iter_mut().collect(),
            Self::Query(Query::Deps(of) | Query::Rdeps(of)) => of.labels.iter_mut().collect(),
            Self::Query(Query::Somepath { from, to, .. }) => vec![from, to],
            Self::Gc(args) => args.pin.iter_mut().chain(&mut args.unpin).collect(),
            Self::Clean(args) => args.labels.iter_mut().collect(),
            Self::Impact(args) => args.labels.iter_mut().collect(),
            _ => Vec::new(),
        }
    }
}

#[derive(Args)]
pub(crate) struct Build {
    /// Labels, `...` for all, `forge-packs/...` for all below
    #[arg(required = true, value_name = "LABEL")]
    pub(crate) labels: Vec<String>,
    /// Where outputs appear [default: out]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) how: How,
    /// Fail where anything is not as bake.lock says
    #[arg(long)]
    pub(crate) locked: bool,
    /// Write releases/<version>.json beside the recipe of each archive: what later releases are held against
    #[arg(long)]
    pub(crate) record_release: bool,
    /// Write all that happens as JSON lines
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
    /// Write a trace for chrome://tracing or Perfetto, with the critical path as a row
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Print what was done as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Use a remote cache (reserved)
    #[arg(long, value_name = "URL")]
    pub(crate) remote: Option<String>,
    /// Use no remote cache (reserved)
    #[arg(long)]
    pub(crate) no_remote: bool,
    /// Write all actions and outputs as JSON, for `reproduce`
    #[arg(long, value_name = "FILE", hide = true)]
    pub(crate) dump: Option<PathBuf>,
    /// Run every other action in a process of its own
    #[arg(long, hide = true)]
    pub(crate) half_elsewhere: bool,
}

/// How to build, whatever it is for.
#[derive(Args, Clone, Default)]
pub(crate) struct How {
    /// How many actions run at once [default: one a processor]
    #[arg(short, long, value_name = "N", value_parser = jobs)]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// How much memory actions may take together, such as 512M [default: half of the machine's]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
    /// Go on with what does not depend on a failed step
    #[arg(short, long)]
    pub(crate) keep_going: bool,
    /// Stop after so many failed steps
    #[arg(long, value_name = "N", requires = "keep_going", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_failures: Option<u64>,
    /// Run tools of `exec` steps without a sandbox; their results are never shared
    #[arg(long)]
    pub(crate) no_sandbox: bool,
    /// Run these steps even if their results are known
    #[arg(long, value_name = "LABEL")]
    pub(crate) rerun: Vec<String>,
    #[command(flatten)]
    pub(crate) sign: Sign,
}

/// What archives are signed with.
#[derive(Args, Clone, Default)]
pub(crate) struct Sign {
    /// Sign with this device's key, that of the game's tools; Windows alone has one
    #[arg(long = "sign", conflicts_with = "sign_seed")]
    pub(crate) device: bool,
    /// Sign with the seed in this file
    #[arg(long, value_name = "FILE")]
    pub(crate) sign_seed: Option<PathBuf>,
    /// The time that signatures state, such as 2026-10-10T00:00:00Z
    #[arg(long, value_name = "TIME")]
    pub(crate) signed_at: Option<String>,
}

#[derive(Args)]
pub(crate) struct Verify {
    /// What to check
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// What is known of the release, as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) context: Option<PathBuf>,
    /// What the files are
    #[arg(long = "as", value_name = "TYPE", default_value = "archive")]
    pub(crate) kind: FileKind,
    /// An earlier manifest of the same pack, for `--as update`
    #[arg(long, value_name = "FILE")]
    pub(crate) earlier: Vec<PathBuf>,
    /// Refuse what must not be published
    #[arg(long)]
    pub(crate) publishable: bool,
    /// Check the limits over all files together as well, in the order in which they are enabled
    #[arg(long)]
    pub(crate) set: bool,
    /// One JSON object a line for each file
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FileKind {
    /// A `.mjolnir` archive
    Archive,
    /// A bare `mjolnir.json`
    Manifest,
    /// A bare `mjolnir.json` with those published before it
    Update,
    /// A layout's sidecar
    Sidecar,
}

impl FileKind {
    /// The word of the option and of machine output.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Archive => "archive",
            Self::Manifest => "manifest",
            Self::Update => "update",
            Self::Sidecar => "sidecar",
        }
    }
}

#[derive(Args)]
pub(crate) struct Explain {
    /// Codes, as `verify` reports them
    #[arg(required = true, value_name = "CODE")]
    pub(crate) codes: Vec<String>,
}

#[derive(Args)]
pub(crate) struct CheckUpdate {
    /// Earlier releases, then the new one: archives, records, manifests; folders of them before the last
    #[arg(required = true, num_args = 2.., value_names = ["OLD", "NEW"])]
    pub(crate) files: Vec<PathBuf>,
    /// What the releases are of, where no file tells
    #[arg(long, value_name = "SLUG")]
    pub(crate) slug: Option<String>,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Diff {
    /// An archive
    pub(crate) old: PathBuf,
    /// Another one
    pub(crate) new: PathBuf,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Resolve {
    /// Archives, records, or slugs with or without a range, such as foundry@^0.2.0
    #[arg(required = true, value_name = "WANTED")]
    pub(crate) wanted: Vec<String>,
    /// A folder of archives and records
    #[arg(long, value_name = "DIR", required = true)]
    pub(crate) releases: Vec<PathBuf>,
    /// What is installed already, and is kept where it will do
    #[arg(long, value_name = "SLUG@VERSION")]
    pub(crate) installed: Vec<String>,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Inspect {
    /// An archive, a `.utoc`, a package, a result of the store or a JSON report
    pub(crate) file: PathBuf,
    /// What inside it: a member, then a chunk's path or id
    pub(crate) path: Option<String>,
    /// All that is known, as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Extract {
    /// Packages such as /Game/Props/SM_Crate, or tags such as objects/a/b.collision_model
    #[arg(value_name = "PACKAGE", required_unless_present_any = ["filter", "group"])]
    pub(crate) packages: Vec<String>,
    /// All packages with this in their path, or that this glob matches whole
    #[arg(long, value_name = "FILTER")]
    pub(crate) filter: Option<String>,
    /// All tags of this group; with --filter those that both let pass
    #[arg(long, value_name = "GROUP")]
    pub(crate) group: Option<String>,
    /// The game's Paks folder [default: @game]
    #[arg(long, value_name = "DIR")]
    pub(crate) game: Option<PathBuf>,
    /// Where to put the files, in the game's folders [default: the current folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Only say what would be taken
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Impact {
    /// Labels [default: all]
    #[arg(value_name = "LABEL")]
    pub(crate) labels: Vec<String>,
    /// The new game's Paks folder; tables of contents are enough
    #[arg(long, value_name = "DIR")]
    pub(crate) game: PathBuf,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Why {
    /// A step or an instance
    pub(crate) label: String,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Graph {
    /// Labels [default: all]
    #[arg(value_name = "LABEL")]
    pub(crate) labels: Vec<String>,
    /// As what
    #[arg(long, default_value = "dot")]
    pub(crate) format: GraphFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormat {
    /// For Graphviz
    Dot,
    Json,
}

#[derive(Subcommand)]
pub(crate) enum Query {
    /// All that these wait for
    Deps(QueryOf),
    /// All that waits for these
    Rdeps(QueryOf),
    /// One way from a label to another that it waits for
    Somepath {
        /// What waits
        from: String,
        /// What is waited for
        to: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Args)]
pub(crate) struct QueryOf {
    /// Recipes or steps
    #[arg(required = true, value_name = "LABEL")]
    pub(crate) labels: Vec<String>,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Lock {
    /// Labels [default: all]
    #[arg(value_name = "LABEL")]
    pub(crate) labels: Vec<String>,
    /// Overwrite entries that differ
    #[arg(long)]
    pub(crate) update: bool,
    #[command(flatten)]
    pub(crate) how: How,
}

#[derive(Args)]
pub(crate) struct Reproduce {
    /// Labels
    #[arg(required = true, value_name = "LABEL")]
    pub(crate) labels: Vec<String>,
    #[command(flatten)]
    pub(crate) how: How,
}

#[derive(Args)]
pub(crate) struct Gc {
    /// Remove the least recently used until the store holds no more than this, such as 20G
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) size: Option<u64>,
    /// Only say what would go
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Hash every blob and close every result instead; damaged ones are removed, to be made again
    #[arg(long, conflicts_with_all = ["size", "dry_run", "pin", "unpin"])]
    pub(crate) check: bool,
    /// Keep what was last built of this label
    #[arg(long, value_name = "LABEL", conflicts_with = "unpin")]
    pub(crate) pin: Option<String>,
    /// Keep it no longer
    #[arg(long, value_name = "LABEL")]
    pub(crate) unpin: Option<String>,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Clean {
    /// Recipes [default: all]
    #[arg(value_name = "LABEL")]
    pub(crate) labels: Vec<String>,
    /// Where outputs appear [default: out]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct Doctor {
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Rules {
    /// Describe this one
    pub(crate) name: Option<String>,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Schema {
    /// `recipe`, `settings`, or `rule`
    #[arg(default_value = "recipe")]
    pub(crate) what: SchemaOf,
    /// The rule's name
    #[arg(required_if_eq("what", "rule"))]
    pub(crate) name: Option<String>,
    /// Write all schemas into docs/schema/ of the workspace instead
    #[arg(long)]
    pub(crate) write: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaOf {
    Recipe,
    Settings,
    Rule,
}

#[derive(Subcommand)]
pub(crate) enum SigningKeys {
    /// Make a key: a file with a secret seed that only you can read
    New {
        /// The file [default: bake/signing-seed in the user's configuration folder]
        file: Option<PathBuf>,
        /// Make this device's key instead, for the game's tools, too; Windows alone keeps one
        #[arg(long, conflicts_with = "file")]
        device: bool,
    },
    /// Show the key that builds sign with: where it lies, its public half, its fingerprint
    Show {
        /// The seed's file [default: what the settings name]
        file: Option<PathBuf>,
        /// This device's key
        #[arg(long, conflicts_with = "file")]
        device: bool,
    },
}

#[derive(Subcommand)]
pub(crate) enum Init {
    /// A Forge pack
    ForgePack {
        /// Its id: lower-case letters, digits and `-`
        id: String,
    },
}

#[derive(Args)]
pub(crate) struct RunAction {
    /// The folder: `action` and `inputs/`; `outputs/` and `notes.json` are written
    pub(crate) folder: PathBuf,
}

#[derive(Args)]
pub(crate) struct Completions {
    /// For which shell
    pub(crate) shell: clap_complete::Shell,
}

/// More threads than this make nothing faster, and a slip of the finger could ask for billions.
const MOST_JOBS: usize = 1024;

fn jobs(text: &str) -> Result<NonZeroUsize, String> {
    let jobs = text.parse().ok().filter(|jobs: &NonZeroUsize| jobs.get() <= MOST_JOBS);
    jobs.ok_or_else(|| format!("expected a number from 1 to {MOST_JOBS}"))
}

fn size(text: &str) -> Result<u64, String> {
    recipes::parse_size(text).ok_or_else(|| "expected a size such as 512M or 20G".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
