//! What the documentation shows, works.

use std::fs;
use std::path::Path;

use crate::workspace::Workspace;

fn page(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// The blocks of a page that open with this line.
fn blocks(page: &str, opening: &str) -> Vec<String> {
    let opening = format!("```{opening}\n");
    let parts = page.split(&opening).skip(1);
    parts.map(|part| part.split("```").next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn whole_recipes_of_the_documentation_are_planned() {
    let recipes = blocks(&page("docs/recipes.md"), "toml recipe");
    assert_eq!(recipes.len(), 3);
    for recipe in recipes {
        let workspace = Workspace::empty();
        workspace.write("forge-packs/shown/recipe.toml", &recipe);
        workspace.write("forge-packs/shown/README.md", "Shown\n");
        workspace.write("forge-packs/shown/content/shown_P.utoc", "");
        workspace.write("forge-packs/shown/words/one.txt", "one\n");
        workspace.bake(&["graph", "forge-packs/shown"]).success();
    }
}

#[test]
fn the_readme_names_what_is_run() {
    let commands = blocks(&page("README.md"), "sh");
    assert_eq!(commands[0], "cargo run --release -- build forge-packs/foundry\ncargo test\n");
    assert!(page(".ci/run").contains("\ncargo test --locked\n"));
}

#[test]
fn links_between_pages_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pages = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "docs/codes/README.md",
        "docs/commands.md",
        "docs/fuzzing.md",
        "docs/machine-output.md",
        "docs/recipes.md",
        "docs/releases.md",
        "docs/store.md",
    ];
    for name in pages {
        for link in page(name).split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap_or_default();
            let folder = root.join(name).parent().unwrap().to_owned();
            assert!(link.contains("://") || folder.join(file).exists(), "{name} links to {link}");
        }
    }
}
