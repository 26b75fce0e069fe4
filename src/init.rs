//! `bake init`: a recipe to start from, that builds as it is.

use crate::cli::Init;
use crate::fail::Fail;
use crate::session::Session;
use crate::shell::Shell;

pub(crate) fn run<'a>(
    command: &Init,
    session: impl FnOnce() -> Result<Session<'a>, Fail>,
    shell: &Shell,
) -> Result<(), Fail> {
    let Init::ForgePack { id } = command;
    if !mjolnir::manifest::is_slug(id) {
        let form = "lower-case letters, digits and single `-` between them";
        return Err(Fail::usage(format!("`{id}` is no id of a pack: expected {form}")));
    }
    let root = session()?.root;
    let folder = root.join("forge-packs").join(id);
    let path = folder.join("recipe.toml");
    if path.exists() {
        return Err(Fail::usage(format!("`forge-packs/{id}` has a recipe already")).help("choose another id"));
    }
    std::fs::create_dir_all(&folder).map_err(|error| Fail::io("make", &folder, &error))?;
    std::fs::write(&path, forge_pack(id)).map_err(|error| Fail::io("write", &path, &error))?;
    let readme = folder.join("README.md");
    if !readme.exists() {
        let text = format!("# {}\n\nWhat it is, and what it is for.\n", name(id));
        std::fs::write(&readme, text).map_err(|error| Fail::io("write", &readme, &error))?;
    }
    shell.status("Made", &format!("forge-packs/{id}/recipe.toml and README.md"));
    shell.more(&format!("next: bake build forge-packs/{id}"));
    Ok(())
}

/// The id as people would write it.
fn name(id: &str) -> String {
    let mut name = id.replace('-', " ");
    if let Some(first) = name.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    name
}

fn forge_pack(id: &str) -> String {
    let name = name(id);
    format!(
        r#"#:schema ../../docs/schema/recipe.schema.json
schema = 1
pipeline = "forge-pack"

[release]
name = "{name}"
version = "0.1.0"
summary = "What it is, in a sentence."

# Packages of the game that the pack is made from, each under a new name in the pack's own folder. These
# two are in the stand-in as well, so that the pack builds without the game.

[[values.donors]]
name = "SM_Slab"
package = "/Game/Synth/SM_Slab"

[[values.donors]]
name = "M_Panels"
package = "/Game/Synth/M_Panels"
"#
    )
}
