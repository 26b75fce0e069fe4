//! [`Workspace`]: a copy of the shipped recipes in a temporary folder, with a store of its own, and `bake` to
//! run in it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub const FOUNDRY: &str = "forge-packs/foundry";

pub struct Workspace {
    folder: tempfile::TempDir,
    env: BTreeMap<String, OsString>,
}

/// What a run of `bake` gave.
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    pub fn new(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    #[track_caller]
    pub fn success(self) -> Self {
        assert_eq!(self.code, Some(0), "{}{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub fn fails_with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}{}", self.stdout, self.stderr);
        self
    }
}

impl Workspace {
    /// A workspace with the shipped Forge pack.
    pub fn foundry() -> Self {
        let this = Self::empty();
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        copy_folder(&root.join(FOUNDRY), &this.path(FOUNDRY));
        fs::copy(root.join("bake.lock"), this.path("bake.lock")).unwrap();
        this
    }

    /// A workspace without recipes.
    pub fn empty() -> Self {
        let this = Self { folder: tempfile::tempdir().unwrap(), env: BTreeMap::new() };
        this.write("bake.toml", "schema = 1\n");
        let store = this.path("store");
        this.with("BAKE_STORE", store)
    }

    /// Sets an environment variable for all runs.
    pub fn with(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.env.insert(name.to_owned(), value.into());
        self
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub fn write(&self, path: &str, text: &str) {
        let full = self.path(path);
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(full, text).unwrap();
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// Replaces text in a file; it must be there.
    pub fn edit(&self, path: &str, old: &str, new: &str) {
        let text = self.read(path);
        assert!(text.contains(old), "`{old}` is not in {path}");
        self.write(path, &text.replace(old, new));
    }

    /// A command that runs `bake` here, with nothing of the caller's settings.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bake"));
        command.args(args).current_dir(self.folder.path());
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("BAKE_") || text == "SOURCE_DATE_EPOCH" || text == "NO_COLOR" {
                command.env_remove(&name);
            }
        }
        command.envs(&self.env);
        command
    }

    /// Runs `bake` to its end.
    pub fn bake(&self, args: &[&str]) -> Ran {
        Ran::new(self.command(args).output().unwrap())
    }

    /// Builds, and gives what ran: `label` of every action with the result `ran`.
    pub fn build(&self, args: &[&str]) -> Vec<String> {
        let events = self.path("events.jsonl");
        let events_text = events.to_string_lossy().into_owned();
        let all: Vec<&str> =
            ["build"].into_iter().chain(args.iter().copied()).chain(["--events", &events_text]).collect();
        self.bake(&all).success();
        let mut ran: Vec<String> = self
            .events(&events)
            .into_iter()
            .filter(|event| event["event"] == "action_finished" && event["result"] == "ran")
            .map(|event| event["label"].as_str().unwrap().to_owned())
            .collect();
        ran.sort();
        ran
    }

    pub fn events(&self, path: &Path) -> Vec<serde_json::Value> {
        let text = fs::read_to_string(path).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The one archive that the build of the pack placed.
    pub fn archive(&self) -> PathBuf {
        let folder = self.path("out").join(FOUNDRY);
        let mut found: Vec<PathBuf> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        found.retain(|path| path.extension().is_some_and(|extension| extension == "mjolnir"));
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }

    /// Every file of the store that holds a blob or a result.
    pub fn stored(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for folder in ["blobs", "results"] {
            walk(&self.path("store/v1").join(folder), &mut files);
        }
        files.sort();
        files
    }
}

pub fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() { walk(&path, files) } else { files.push(path) }
    }
}

pub fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::write(target, fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}
