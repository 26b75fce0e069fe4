//! `rename-package`: the same package under another path, with references to others that were renamed.

use std::collections::BTreeMap;

use engine::params::Segment;
use engine::{Cx, Inputs, Interface, Kind, Outputs, ParamError, Pure, RuleError};
use schemars::JsonSchema;
use serde::Deserialize;
use unreal::PackagePath;
use unreal::package::{Renames, rename};

use crate::parts;

/// Parameters of `rename-package`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The package's path, such as `/Game/Props/SM_Crate`.
    from: String,
    /// Its new path.
    to: String,
    /// Packages that it imports and that are renamed as well: old path to new name, beside the new path.
    #[serde(default)]
    references: BTreeMap<String, String>,
}

impl Params {
    fn pairs(&self) -> Result<Vec<(PackagePath, PackagePath)>, ParamError> {
        let parse = |key: &str, text: &str| {
            PackagePath::parse(text).map_err(|error| ParamError::at(key, error.to_string()))
        };
        let folder = self.to.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut pairs = vec![(parse("from", &self.from)?, parse("to", &self.to)?)];
        for (old, name) in &self.references {
            let place = || vec![Segment::Key("references".into()), Segment::Key(old.clone())];
            let parse = |text: &str| {
                PackagePath::parse(text).map_err(|error| ParamError::new(place(), error.to_string()))
            };
            pairs.push((parse(old)?, parse(&format!("{folder}/{name}"))?));
        }
        // A package may import itself by name; one rename is enough.
        pairs.dedup();
        Ok(pairs)
    }
}

/// The rule.
pub(crate) struct RenamePackage;

impl Pure for RenamePackage {
    type Params = Params;
    const NAME: &'static str = "rename-package";
    const VERSION: u32 = 1;
    const DOC: &'static str = "Gives a package another path. Its objects' names and hashes follow, and so do its \
        references to packages that are renamed beside it.";

    fn interface() -> Interface {
        Interface::new().input("package", Kind::Tree, "The package's file and its bulk data.").output(
            "package",
            Kind::Tree,
            "The same files under their new place in a container.",
        )
    }

    fn check(params: &Params) -> Vec<ParamError> {
        params.pairs().err().into_iter().collect()
    }

    fn run(params: Params, inputs: &Inputs<'_>, outputs: &Outputs<'_>, _: &Cx<'_>) -> Result<(), RuleError> {
        let pairs = params.pairs()?;
        let (from, to) = pairs[0].clone();
        let renames = Renames::new(pairs).map_err(|error| RuleError::new(error.to_string()))?;
        let mut packages = 0;
        for (path, digest) in inputs.tree("package")?.iter() {
            let (_, kind) = parts::split(path.as_str()).ok_or_else(|| parts::no_part(path.as_str()))?;
            let place = |extension: &str| {
                to.file_path_as(extension).ok_or_else(|| {
                    RuleError::new(format!("`{to}` is neither below `/Game` nor below `/Engine`"))
                })
            };
            if let Some(extension) = parts::bulk_extension(kind) {
                outputs.link_in("package", &place(extension)?, *digest)?;
                continue;
            }
            packages += 1;
            let package = parts::read(inputs, path.as_str(), *digest)?;
            let found = package.path().map_err(|error| RuleError::new(format!("`{path}`: {error}")))?;
            if found.id() != from.id() {
                return Err(RuleError::new(format!("`{path}` holds `{found}`, expected `{from}`")));
            }
            let renamed = rename(&package, &renames)
                .map_err(|error| RuleError::new(format!("`{from}` cannot become `{to}`: {error}")))?;
            outputs.put_in("package", &place(parts::extension(&renamed))?, &renamed.write())?;
        }
        match packages {
            1 => Ok(()),
            n => Err(RuleError::new(format!("{n} packages were given, expected one: `{from}`"))),
        }
    }
}
