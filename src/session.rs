//! [`Session`]: the workspace that a command is about, its settings, and what this machine brings to it.
//!
//! Only `bake.toml` and `bake.local.toml` are read here; recipes are read where they are needed, so that
//! a build that finds nothing to do never looks at them.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use engine::{External, FolderExternal, Label};
use recipes::{Planned, Settings, Signing, Workspace};

use crate::Product;
use crate::bytes::hex;
use crate::cli::Cli;
use crate::fail::Fail;

/// A workspace and its machine.
pub(crate) struct Session<'a> {
    pub(crate) product: &'a Product,
    pub(crate) root: PathBuf,
    pub(crate) settings: Settings,
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) store_path: PathBuf,
}

impl<'a> Session<'a> {
    /// The workspace around the current folder, or around `-C DIR`.
    pub(crate) fn find(cli: &Cli, product: &'a Product) -> Result<Self, Fail> {
        let root = find_root(&start(cli)?)?;
        let environment = environment();
        let settings = Settings::read(&root, &environment)?;
        let store_path = store_path(cli, Some(&settings), &environment)?;
        Ok(Self { product, root, settings, environment, store_path })
    }

    /// Names this workspace in the store.
    pub(crate) fn id(&self) -> String {
        let path = self.root.as_os_str().as_encoded_bytes();
        let mut id = hex(blake3::hash(path).as_bytes());
        id.truncate(32);
        id
    }

    /// All recipes.
    pub(crate) fn workspace(&self) -> Result<Workspace, Fail> {
        Ok(Workspace::open(&self.root, &self.environment)?)
    }

    /// The plan of what `patterns` name.
    pub(crate) fn plan(
        &self,
        patterns: &[String],
        signing: Option<Signing>,
    ) -> Result<(Planned, Vec<Label>), Fail> {
        let workspace = self.workspace()?;
        let labels = workspace.resolve(patterns)?;
        let planned = workspace.plan(&labels, &self.product.catalogue, &recipes::Options { signing })?;
        Ok((planned, labels))
    }

    /// The plan of what these labels name, of all recipes when there are none.
    pub(crate) fn plan_or_all(&self, patterns: &[String]) -> Result<(Planned, Vec<Label>), Fail> {
        let all = ["...".to_owned()];
        self.plan(if patterns.is_empty() { &all } else { patterns }, None)
    }

    /// The externals that are set.
    pub(crate) fn externals(&self) -> BTreeMap<String, Arc<dyn External>> {
        let external = |(name, set): (&String, &recipes::ExternalPath)| {
            let external: Arc<dyn External> = Arc::new(FolderExternal::new(name.clone(), set.path.clone()));
            (name.clone(), external)
        };
        self.settings.externals.iter().map(external).collect()
    }

    /// The folder that outputs appear in.
    pub(crate) fn out(&self, asked: Option<&Path>) -> PathBuf {
        let path = asked.map_or_else(|| self.root.join("out"), Path::to_path_buf);
        std::path::absolute(&path).unwrap_or(path)
    }

    /// Finds the file of a tool: what the settings say, else the search path.
    pub(crate) fn find_tool(&self, name: &str) -> Result<PathBuf, String> {
        if let Some(path) = self.settings.tools.get(name) {
            let missing = || format!("tool `{name}` is set to `{}`, which is no file", path.display());
            return path.is_file().then(|| path.clone()).ok_or_else(missing);
        }
        let path = self.environment.get("PATH").map(String::as_str).unwrap_or_default();
        let names =
            if cfg!(windows) { vec![format!("{name}.exe"), name.to_owned()] } else { vec![name.to_owned()] };
        let places = std::env::split_paths(path)
            .flat_map(|folder| names.iter().map(move |name| folder.join(name)).collect::<Vec<_>>());
        let found = places.into_iter().find(|path| path.is_absolute() && path.is_file());
        found.ok_or_else(|| {
            format!("tool `{name}` was not found: name its file in bake.local.toml, [tools] {name} = \"…\"")
        })
    }
}

/// Writes the labels of a command as labels of the workspace: `.`, `./x`, `../x` and `:step` count from the
/// current folder, absolute paths lie in the workspace, all else is a label already.
pub(crate) fn settle_labels(cli: &mut Cli) -> Result<(), Fail> {
    let relative = |label: &str| label.starts_with(['.', ':']) && label != "...";
    let absolute = |label: &str| Path::new(label).is_absolute() && !label.starts_with("//");
    if !cli.command.labels_mut().iter().any(|label| relative(label) || absolute(label)) {
        return Ok(());
    }
    let start = start(cli)?;
    let root = find_root(&start)?;
    for label in cli.command.labels_mut() {
        if relative(label) || absolute(label) {
            *label = settled(label, &start, &root)?;
        }
    }
    Ok(())
}

fn settled(label: &str, start: &Path, root: &Path) -> Result<String, Fail> {
    // The colon of a drive is none of a label.
    let drive = label.starts_with(|first: char| first.is_ascii_alphabetic());
    let colon = label.match_indices(':').map(|(at, _)| at).find(|at| !(drive && *at == 1));
    let (path, step) = label.split_at(colon.unwrap_or(label.len()));
    let mut folder = start.to_path_buf();
    for part in Path::new(&path.replace('\\', std::path::MAIN_SEPARATOR_STR)).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(folder.pop()),
            other => folder.push(other),
        }
    }
    let inside = folder.strip_prefix(root).ok().and_then(Path::to_str);
    let inside = inside
        .ok_or_else(|| Fail::usage(format!("`{label}` lies outside the workspace `{}`", root.display())))?;
    if inside.is_empty() {
        return Err(Fail::usage(format!("`{label}` is the workspace itself, which is no recipe"))
            .help("`...` means all of its recipes"));
    }
    Ok(format!("{}{step}", inside.replace('\\', "/")))
}

/// The folder to start from.
pub(crate) fn start(cli: &Cli) -> Result<PathBuf, Fail> {
    let folder = cli.directory.clone().unwrap_or_else(|| PathBuf::from("."));
    std::fs::canonicalize(&folder)
        .map(plain)
        .map_err(|error| Fail::usage(format!("cannot start in `{}`: {error}", folder.display())))
}

/// Without the `\\?\` that Windows puts before a resolved path and that people do not write.
fn plain(path: PathBuf) -> PathBuf {
    let short = path.to_str().and_then(|text| text.strip_prefix(r"\\?\"));
    short.filter(|short| short.as_bytes().get(1) == Some(&b':')).map(PathBuf::from).unwrap_or(path)
}

/// The nearest folder from `start` upwards that has a bake.toml.
pub(crate) fn find_root(start: &Path) -> Result<PathBuf, Fail> {
    let found = start.ancestors().find(|folder| folder.join("bake.toml").is_file());
    found.map(Path::to_path_buf).ok_or_else(|| {
        Fail::usage(format!("`{}` is in no workspace: no bake.toml there or above", start.display()))
            .help("go to a workspace or name one with -C; an empty bake.toml makes a folder one")
    })
}

/// The environment, as far as it is text.
pub(crate) fn environment() -> BTreeMap<String, String> {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).collect()
}

/// Where the store lies: the command line and `BAKE_STORE`, the settings, the user's cache folder.
pub(crate) fn store_path(
    cli: &Cli,
    settings: Option<&Settings>,
    environment: &BTreeMap<String, String>,
) -> Result<PathBuf, Fail> {
    let set = cli.store.clone().filter(|path| !path.as_os_str().is_empty());
    let set = set.or_else(|| settings.and_then(|settings| settings.store_path.clone()));
    let path = set.or_else(|| user_folder(environment, "XDG_CACHE_HOME", ".cache")).ok_or_else(|| {
        Fail::machine("there is no place for the store: the user has no home folder")
            .help("name one with BAKE_STORE")
    })?;
    std::path::absolute(&path).map_err(|error| Fail::io("find", &path, &error))
}

/// The folder of `bake` among those of a kind that the user has.
pub(crate) fn user_folder(
    environment: &BTreeMap<String, String>,
    xdg: &str,
    hidden: &str,
) -> Option<PathBuf> {
    let get = |name: &str| environment.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = if cfg!(windows) {
        get("LOCALAPPDATA")
    } else {
        get(xdg).filter(|path| path.is_absolute()).or_else(|| get("HOME").map(|home| home.join(hidden)))
    };
    base.map(|base| base.join("bake"))
}
