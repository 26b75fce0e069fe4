//! [`Settings`]: `bake.toml`, what `bake.local.toml` says over it, and the environment over both.
//!
//! The environment is handed in; nothing here reads it. Whether paths exist is asked when they are used.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use engine::WorkspacePath;

use crate::diagnostic::{Diagnostic, Place};
use crate::document::{Document, keys};
use crate::folder::Folder;
use crate::form::{self, SettingsForm};

/// The externals: name, variable that sets it, and what its stand-in is.
pub(crate) const EXTERNALS: [(&str, &str, &str); 4] = [
    ("game", "BAKE_GAME", "self-made donors, not playable"),
    ("mappings", "BAKE_MAPPINGS", "self-made mappings, not playable"),
    ("ce-maps", "BAKE_CE_MAPS", "a self-made map, not playable"),
    ("runtime", "BAKE_RUNTIME", "a self-made runtime pack, not playable"),
];

/// What a workspace and its machine are set to.
#[derive(Debug, Default)]
pub struct Settings {
    /// Externals that are set, by name.
    pub externals: BTreeMap<String, ExternalPath>,
    /// Files of tools, by name.
    pub tools: BTreeMap<String, PathBuf>,
    /// Where the store lies, where the settings say so.
    pub store_path: Option<PathBuf>,
    /// The store's size cap in bytes.
    pub store_size: Option<u64>,
    /// The key to sign with.
    pub signing_key: Option<SigningSet>,
}

/// A key to sign with, and where that was said.
#[derive(Clone, Debug)]
pub struct SigningSet {
    /// The key.
    pub key: SigningKey,
    /// The file of settings.
    pub file: String,
}

/// A key to sign with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SigningKey {
    /// The seed in this file.
    SeedFile(PathBuf),
    /// The device's, that of the game's tools.
    Device,
}

/// Where an external lies.
#[derive(Clone, Debug)]
pub struct ExternalPath {
    /// Its folder or file.
    pub path: PathBuf,
    /// Where that was said; the environment when absent.
    pub place: Option<Place>,
}

impl Settings {
    /// The settings of the workspace at `root` alone, without reading its recipes: what a build needs to
    /// find out that there is nothing to do.
    pub fn read(root: &Path, env: &BTreeMap<String, String>) -> Result<Self, Vec<Diagnostic>> {
        let mut diagnostics = Vec::new();
        let settings = Self::load(&Folder::new(root), env, &mut diagnostics);
        if diagnostics.is_empty() { Ok(settings) } else { Err(diagnostics) }
    }

    pub(crate) fn load(
        folder: &Folder,
        env: &BTreeMap<String, String>,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Self {
        let mut settings = Self::default();
        for name in ["bake.toml", "bake.local.toml"] {
            let Ok(path) = WorkspacePath::parse(name) else { continue };
            match folder.read(&path) {
                Ok(Some(text)) => settings.add(folder.root(), name, text, diagnostics),
                Ok(None) if name == "bake.toml" => {
                    let message =
                        format!("`{}` is no workspace: it has no bake.toml", folder.root().display());
                    diagnostics.push(Diagnostic::error(message));
                }
                Ok(None) => {}
                Err(message) => diagnostics.push(Diagnostic::error(message).of_machine()),
            }
        }
        for (name, variable, _) in EXTERNALS {
            // Set to nothing means unset: the stand-in, even where a file names a place.
            match env.get(variable).map(String::as_str) {
                None => {}
                Some("") => drop(settings.externals.remove(name)),
                Some(path) => {
                    let path = folder.root().join(path);
                    settings.externals.insert(name.to_owned(), ExternalPath { path, place: None });
                }
            }
        }
        settings
    }

    fn add(&mut self, root: &Path, file: &str, text: String, diagnostics: &mut Vec<Diagnostic>) {
        let (document, errors) = Document::parse(file, text);
        diagnostics.extend(errors);
        let form = form::read::<SettingsForm>(&document, diagnostics).form;
        let externals = [
            ("game", form.game),
            ("mappings", form.mappings),
            ("ce-maps", form.ce_maps),
            ("runtime", form.runtime),
        ];
        for (name, form) in externals {
            let Some(path) = form.path else { continue };
            let place = Some(document.value_place(&keys(&[name, "path"])));
            self.externals.insert(name.to_owned(), ExternalPath { path: root.join(path), place });
        }
        self.tools.extend(form.tools.into_iter().map(|(name, path)| (name, root.join(path))));
        self.store_path = form.store.path.map(|path| root.join(path)).or(self.store_path.take());
        let device = form.signing.device_key;
        let key = match (form.signing.seed_file, device) {
            (Some(_), Some(true)) => {
                let error = Diagnostic::error("two keys to sign with: one of them must go");
                let place = document.value_place(&keys(&["signing", "device_key"]));
                diagnostics.push(error.at(place).label("`seed_file` is another"));
                None
            }
            (Some(path), _) => Some(SigningKey::SeedFile(root.join(path))),
            (None, Some(true)) => Some(SigningKey::Device),
            (None, _) => None,
        };
        if let Some(key) = key {
            self.signing_key = Some(SigningSet { key, file: file.to_owned() });
        } else if device == Some(false) {
            self.signing_key.take_if(|set| set.key == SigningKey::Device);
        }
        if let Some(text) = form.store.size {
            self.store_size = parse_size(&text);
            if self.store_size.is_none() {
                let error = Diagnostic::error(format!("`{text}` is no size"));
                let place = document.value_place(&keys(&["store", "size"]));
                diagnostics.push(error.at(place).label("expected one such as 512M or 20G"));
            }
        }
    }
}

/// The variable of the environment that sets the external `name`.
pub fn external_variable(name: &str) -> Option<&'static str> {
    EXTERNALS.iter().find(|external| external.0 == name).map(|external| external.1)
}

/// A size in bytes: a whole number with `K`, `M`, `G` or `T` (powers of 1,024) or nothing behind it.
pub fn parse_size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(['K', 'M', 'G', 'T']);
    let shift = match text.strip_prefix(digits)? {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return None,
    };
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse_size("20G"), Some(20 << 30));
        assert_eq!(parse_size("7"), Some(7));
        for bad in ["", "G", "1.5G", "+1", "1KK", "99999999T", "1 G"] {
            assert_eq!(parse_size(bad), None, "{bad}");
        }
    }
}
