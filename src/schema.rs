//! `bake schema`: the JSON schemas that editors complete recipes with.

use serde_json::Value;

use crate::Product;
use crate::cli::{Schema, SchemaOf};
use crate::fail::Fail;
use crate::session::Session;
use crate::shell::Shell;

pub(crate) fn run<'a>(
    args: &Schema,
    product: &Product,
    session: impl FnOnce() -> Result<Session<'a>, Fail>,
    shell: &Shell,
) -> Result<(), Fail> {
    if args.write {
        let folder = session()?.root.join("docs/schema");
        std::fs::create_dir_all(&folder).map_err(|error| Fail::io("make", &folder, &error))?;
        for (name, schema) in files(product) {
            let path = folder.join(name);
            std::fs::write(&path, format!("{schema:#}\n"))
                .map_err(|error| Fail::io("write", &path, &error))?;
            shell.status("Wrote", &path.display().to_string());
        }
        return Ok(());
    }
    let schema = match args.what {
        SchemaOf::Recipe => recipes::recipe_schema(&product.catalogue),
        SchemaOf::Settings => recipes::settings_schema(),
        SchemaOf::Rule => {
            let name = args.name.as_deref().unwrap_or_default();
            crate::rules::find(product, name)?.schema().clone()
        }
    };
    shell.json(&schema);
    Ok(())
}

/// What `--write` writes.
fn files(product: &Product) -> [(&'static str, Value); 2] {
    [
        ("recipe.schema.json", recipes::recipe_schema(&product.catalogue)),
        ("bake.schema.json", recipes::settings_schema()),
    ]
}
