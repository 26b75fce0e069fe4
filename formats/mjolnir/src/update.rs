//! What a release owes to the other releases of its line.
//!
//! It compares manifests; which ones were published is for the caller to know.

use crate::finding::{Code, Finding};
use crate::manifest::{ForgePack, Manifest, Payload};

/// Checks the Forge pack `new` against every published release of its line. Whoever builds on the older of
/// two releases finds in the newer one all that was there, in the same size and on the same grid; so a
/// release that is published below another is held to be kept by that one.
pub fn check(new: &Manifest, published: &[Manifest]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let Payload::ForgePack(pack) = &new.payload else {
        return findings;
    };
    for other in published {
        let same_line = other.version.line() == new.version.line();
        let Payload::ForgePack(other_pack) = &other.payload else {
            continue;
        };
        if !same_line || other_pack.id != pack.id {
            continue;
        }
        let (older, newer) = if other.version <= new.version {
            ((other, other_pack), (new, pack))
        } else {
            ((new, pack), (other, other_pack))
        };
        compare(older, newer, &mut findings);
    }
    findings
}

fn compare(
    (old, old_pack): (&Manifest, &ForgePack),
    (new, new_pack): (&Manifest, &ForgePack),
    findings: &mut Vec<Finding>,
) {
    for block in &old_pack.blocks {
        let id = &block.id;
        let kept = new_pack.blocks.iter().find(|other| other.id == *id);
        let (from, to) = (&old.version, &new.version);
        let message = match kept {
            None => format!("`{id}` of {from} is missing in {to}"),
            Some(kept) if kept.dimensions_m != block.dimensions_m => {
                format!("`{id}` is {:?} in {from} and {:?} in {to}", block.dimensions_m, kept.dimensions_m)
            }
            Some(kept) if kept.snap_m != block.snap_m => {
                format!("`{id}` snaps to {:?} in {from} and {:?} in {to}", block.snap_m, kept.snap_m)
            }
            Some(_) => continue,
        };
        let hint = format!("{message}; within the line {} all stays as it is", new.version.line());
        findings.push(Finding::error(Code::ForgeLineBreak, hint));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(version: &str, blocks: &[(&str, f64)]) -> Manifest {
        let blocks: Vec<String> = blocks
            .iter()
            .map(|(id, side)| {
                format!(
                    r#"{{"id":"{id}","name":"n","tag":"objects\\mjolnir\\forge\\aa\\{id}","category":"c",
                        "dimensions_m":[{side},1,1]}}"#
                )
            })
            .collect();
        let text = format!(
            r#"{{"schema_version":1,"name":"n","version":"{version}","type":"content",
                "forge_pack":{{"schema_version":1,"id":"aa","blocks":[{}]}}}}"#,
            blocks.join(",")
        );
        Manifest::read(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_line_keeps_what_it_gave_in_both_directions() {
        let (one, two) = ([("a", 1.0)], [("a", 1.0), ("b", 1.0)]);
        for (version, blocks, published, breaks) in [
            ("0.2.1", &two[..], ("0.2.0", &one[..]), 0),
            ("0.2.1", &one, ("0.2.0", &two), 1),
            ("0.2.1", &[("a", 2.0)], ("0.2.0", &one), 1),
            ("0.3.0", &one, ("0.2.0", &two), 0),
            ("0.2.0", &two, ("0.2.1", &one), 1),
            ("0.2.0", &one, ("0.2.1", &two), 0),
            ("0.2.0-rc.1", &two, ("0.2.0", &one), 1),
        ] {
            let found = check(&release(version, blocks), &[release(published.0, published.1)]);
            assert_eq!(found.len(), breaks, "{version} after {}: {found:?}", published.0);
        }
    }
}
