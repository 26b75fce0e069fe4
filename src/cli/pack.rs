//! What `bake pack` can be asked.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Sign;

#[derive(Subcommand)]
pub(crate) enum Pack {
    /// A map: its containers, its level file and its registration
    Map(PackMap),
    /// The runtime pack that maps share
    Runtime(PackRuntime),
    /// A Forge pack, as its manifest says
    Forge(PackForge),
}

#[derive(Args)]
pub(crate) struct PackMap {
    /// The folder with `<name>.level.json` and the containers `…-<CODE>_P`
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// The map's code: three of A-Z and 0-9
    #[arg(long)]
    pub(crate) code: String,
    /// The release's version
    #[arg(long = "version", value_name = "VERSION")]
    pub(crate) release_version: String,
    /// The hub's slug [default: `ce-` and the words of the title]
    #[arg(long)]
    pub(crate) slug: Option<String>,
    /// The name that people read [default: the title]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// What it is, in a sentence
    #[arg(long)]
    pub(crate) summary: Option<String>,
    /// The versions of the runtime pack that it needs
    #[arg(long, value_name = "RANGE", default_value = "^1.0.0")]
    pub(crate) runtime: String,
    #[command(flatten)]
    pub(crate) options: PackOptions,
}

#[derive(Args)]
pub(crate) struct PackRuntime {
    /// The folder with the containers
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// The release's version
    #[arg(long = "version", value_name = "VERSION")]
    pub(crate) release_version: String,
    /// The hub's slug [default: mjolnir-ce-runtime]
    #[arg(long)]
    pub(crate) slug: Option<String>,
    /// The name that people read [default: mjolnir-ce-runtime]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// What it is, in a sentence
    #[arg(long)]
    pub(crate) summary: Option<String>,
    #[command(flatten)]
    pub(crate) options: PackOptions,
}

#[derive(Args)]
pub(crate) struct PackForge {
    /// The pack's `mjolnir.json`, with its catalog
    pub(crate) manifest: PathBuf,
    /// The folder with the containers, and nothing else
    #[arg(long, value_name = "DIR")]
    pub(crate) content: PathBuf,
    /// A `changes.json` [default: one that adds the crates of the catalog]
    #[arg(long, value_name = "FILE")]
    pub(crate) changes: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) options: PackOptions,
}

/// What all kinds of packing have in common.
#[derive(Args)]
pub(crate) struct PackOptions {
    /// The page that the hub shows
    #[arg(long, value_name = "FILE")]
    pub(crate) readme: Option<PathBuf>,
    /// The archive [default: <slug>-<version>.mjolnir]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) sign: Sign,
}
