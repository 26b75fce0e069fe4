//! `extract-donors`: takes packages out of the game's containers.
//!
//! Identified from tables of contents alone; only the blocks of what is taken are read, and every chunk is
//! held against its recorded hash before anything uses it. It does not rename: descriptors say which of the
//! donors refer to each other, so that later steps can let references follow.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::{Cx, External, Facts, Import, Interface, Kind, Outputs, ParamError, RuleError};
use iostore::PackageId;
use serde::Serialize;
use unreal::package::Package;

use crate::donors::{Asked, Donors, Wanted};
use crate::game::Part;
use crate::parts;
use crate::stream::Stream;

/// What later steps fan out over.
#[derive(Serialize)]
struct Descriptor<'a> {
    name: &'a str,
    package: &'a str,
    /// Of a tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<&'a str>,
    /// The other donors that it refers to, by path, and what they are called.
    references: BTreeMap<&'a str, &'a str>,
}

/// The rule.
pub(crate) struct ExtractDonors;

impl Import for ExtractDonors {
    type Params = Asked;
    type Located = Donors;
    const NAME: &'static str = "extract-donors";
    const VERSION: u32 = 2;
    const DOC: &'static str = "Takes packages out of the game's own containers, with their bulk data: by path, as \
        tags, or all that are called or grouped alike. Mods installed beside the game are not looked at.";

    fn interface() -> Interface {
        Interface::new()
            .input("game", Kind::External, "The game's Paks folder.")
            .output("packages", Kind::Tree, "`<name>/<name>.uasset` (`.umap` for a world) and its bulk data.")
            .output(
                "descriptors",
                Kind::Tree,
                "`<name>.json`: name, package, group of a tag, and which of the others it refers to.",
            )
    }

    fn check(params: &Asked) -> Vec<ParamError> {
        params.wanted().err().unwrap_or_default()
    }

    fn identify(params: &Asked, external: &dyn External) -> Result<(Facts, Donors), RuleError> {
        let donors = Donors::find(params, external)?;
        Ok((donors.facts(external.name()), donors))
    }

    fn fetch(
        _: Asked,
        donors: Donors,
        external: &dyn External,
        outputs: &Outputs<'_>,
        cx: &Cx<'_>,
    ) -> Result<(), RuleError> {
        let taker = Taker { donors: &donors, by_id: donors.by_id(), external, outputs };
        let pairs: Vec<(&Wanted, &[Part])> = donors.iter().collect();
        let (done, total) = (AtomicU64::new(0), pairs.len() as u64);
        cx.par_map(&pairs, |(donor, parts)| {
            taker.take(donor, parts)?;
            cx.progress(done.fetch_add(1, Ordering::Relaxed) + 1, total);
            Ok(())
        })?;
        Ok(())
    }
}

/// Takes donors, from any thread.
struct Taker<'a> {
    donors: &'a Donors,
    by_id: BTreeMap<PackageId, &'a Wanted>,
    external: &'a dyn External,
    outputs: &'a Outputs<'a>,
}

impl Taker<'_> {
    fn take(&self, donor: &Wanted, chunks: &[Part]) -> Result<(), RuleError> {
        let name = &donor.name;
        for part in chunks {
            let fault = |fault| self.donors.explain(donor, part, self.external, fault);
            if let Some(extension) = parts::bulk_extension(part.kind) {
                let mut stream = Stream::new(self.outputs)?;
                let copied = self.donors.copy(part, self.external, &mut stream);
                let ((), digest) = stream.finish(copied, fault)?;
                self.outputs.link_in("packages", &format!("{name}/{name}.{extension}"), digest)?;
            } else {
                let bytes = self.donors.read(part, self.external).map_err(fault)?;
                let package = parts::parse(&bytes, donor.package.as_str())?;
                let extension = parts::extension(&package);
                self.outputs.put_in("packages", &format!("{name}/{name}.{extension}"), &bytes)?;
                self.describe(donor, &package)?;
            }
        }
        Ok(())
    }

    fn describe(&self, donor: &Wanted, package: &Package) -> Result<(), RuleError> {
        donor.must_be(package)?;
        // Export data refers to packages by names of the batch, as soft references do.
        let imported = package.imported.iter().map(|import| import.id());
        let named = package.names.iter().map(|name| {
            let text = name.text();
            PackageId::of_name(text.split_once('.').map_or(text, |(path, _)| path))
        });
        let others = imported.chain(named).filter(|id| *id != donor.package.id());
        let references = others.filter_map(|id| self.by_id.get(&id));
        let descriptor = Descriptor {
            name: &donor.name,
            package: donor.package.as_str(),
            group: donor.group(),
            references: references.map(|other| (other.package.as_str(), other.name.as_str())).collect(),
        };
        let text = serde_json::to_vec(&descriptor).map_err(|error| RuleError::new(error.to_string()))?;
        self.outputs.put_in("descriptors", &format!("{}.json", donor.name), &text)
    }
}
