//! Whole workspaces in temporary folders: what plans hold, and what is said of wrong recipes.

mod editor;
#[cfg(unix)]
mod globs;
mod mistakes;
mod plans;

use std::collections::BTreeMap;
use std::path::Path;

use engine::{
    Catalogue, Cx, External, Facts, Import, Inputs, Interface, Kind, Outputs, Pure, RuleError, import, pure,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{Diagnostic, Options, Planned, Workspace, render};

macro_rules! pure_rule {
    ($rule:ident, $name:literal, $params:ty, $interface:expr) => {
        struct $rule;
        impl Pure for $rule {
            type Params = $params;
            const NAME: &'static str = $name;
            const VERSION: u32 = 1;
            const DOC: &'static str = "A rule of the tests.";
            fn interface() -> Interface {
                $interface
            }
            fn run(_: $params, _: &Inputs<'_>, _: &Outputs<'_>, _: &Cx<'_>) -> Result<(), RuleError> {
                Ok(())
            }
        }
    };
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "only the schema is used")]
struct Cook {
    /// Block format.
    format: Format,
    srgb: Option<bool>,
    mips: Option<Mips>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Format {
    Bc1,
    Bc7,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "only the schema is used")]
struct Mips {
    filter: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "only the schema is used")]
struct Pack {
    #[schemars(extend("x-claim" = "container name"))]
    name: String,
    namespace: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "only the schema is used")]
struct Take {
    donors: Vec<Donor>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "only the schema is used")]
struct Donor {
    name: String,
    package: String,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only the schema is used")]
struct Anything {
    #[serde(flatten)]
    all: BTreeMap<String, serde_json::Value>,
}

pure_rule!(CookTexture, "cook-texture", Cook, {
    Interface::new().input("image", Kind::File, "The image.").output("package", Kind::Tree, "The package.")
});
pure_rule!(Gather, "gather", Nothing, {
    let interface = Interface::new().input("files", Kind::Tree, "Any files.");
    let interface = interface.optional("more", Kind::Tree, "More files.");
    interface.output("all", Kind::Tree, "All of them.").output("list", Kind::File, "Their names.")
});
pure_rule!(PackRule, "pack", Pack, {
    Interface::new().input("packages", Kind::Tree, "Packages.").output(
        "container",
        Kind::Tree,
        "The container.",
    )
});
pure_rule!(Rename, "rename-package", Anything, {
    Interface::new().input("package", Kind::Tree, "It.").output("package", Kind::Tree, "It, renamed.")
});
pure_rule!(Manifest, "manifest", Anything, {
    let interface = Interface::new().optional("content", Kind::Tree, "Other members.");
    interface.output("members", Kind::Tree, "Members.")
});
pure_rule!(Sign, "sign", Anything, {
    Interface::new().input("members", Kind::Tree, "Members.").output(
        "signature",
        Kind::File,
        "The signature.",
    )
});
pure_rule!(Archive, "archive-and-verify", Anything, {
    let interface = Interface::new().input("members", Kind::Tree, "Members.");
    let interface = interface.optional("signature", Kind::File, "The signature.");
    let interface = interface.optional("earlier", Kind::Tree, "Records.");
    interface.output("archive", Kind::Tree, "The archive.").output("members", Kind::Tree, "Its members.")
});
pure_rule!(StandIn, "stand-in-game", Nothing, Interface::new().output("root", Kind::Tree, "The folder."));

struct Extract;

impl Import for Extract {
    type Params = Take;
    type Located = ();
    const NAME: &'static str = "extract-donors";
    const VERSION: u32 = 1;
    const DOC: &'static str = "An import of the tests.";
    fn interface() -> Interface {
        let interface = Interface::new().input("game", Kind::External, "The game.");
        interface.output("packages", Kind::Tree, "Packages.").output(
            "descriptors",
            Kind::Tree,
            "What they are.",
        )
    }
    fn identify(_: &Take, _: &dyn External) -> Result<(Facts, ()), RuleError> {
        Ok((Facts::new(), ()))
    }
    fn fetch(_: Take, (): (), _: &dyn External, _: &Outputs<'_>, _: &Cx<'_>) -> Result<(), RuleError> {
        Ok(())
    }
}

/// Small rules with the names and interfaces that the shipped pipelines use.
fn catalogue() -> Catalogue {
    Catalogue::new([
        pure(CookTexture),
        pure(Gather),
        pure(PackRule),
        pure(Rename),
        pure(Manifest),
        pure(Sign),
        pure(Archive),
        pure(StandIn),
        import(Extract),
    ])
}

/// A workspace with these files.
fn workspace(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("bake.toml", "schema = 1\n");
    for (path, text) in files {
        write(path, text);
    }
    root
}

fn try_plan(root: &Path, patterns: &[&str], options: &Options) -> Result<Planned, Vec<Diagnostic>> {
    let workspace = Workspace::open(root, &BTreeMap::new())?;
    let labels = workspace.resolve(patterns)?;
    workspace.plan(&labels, &catalogue(), options)
}

/// What is said of a workspace in which something is wrong, without the place of the folder.
fn mistakes(files: &[(&str, &str)]) -> String {
    mistakes_of(files, &["..."])
}

fn mistakes_of(files: &[(&str, &str)], patterns: &[&str]) -> String {
    let root = workspace(files);
    let diagnostics = try_plan(root.path(), patterns, &Options::default()).unwrap_err();
    render(&diagnostics, false).replace(root.path().to_str().unwrap(), "<root>").replace('\\', "/")
}
