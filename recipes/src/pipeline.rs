//! Pipelines: the lists of steps that kinds of recipes go through. Embedded ones, and those of the
//! workspace's `pipelines/`, which win.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::{WorkspacePath, is_name};

use crate::diagnostic::Diagnostic;
use crate::document::Document;
use crate::folder::Folder;
use crate::form::{self, PipelineForm};

const EMBEDDED: &[(&str, &str)] = &[
    ("forge-pack", include_str!("../pipelines/forge-pack.toml")),
    ("prebuilt", include_str!("../pipelines/prebuilt.toml")),
];

/// A pipeline that was read.
#[derive(Debug)]
pub(crate) struct Pipeline {
    pub(crate) name: String,
    pub(crate) document: Arc<Document>,
    pub(crate) form: PipelineForm,
}

/// All pipelines, and what is wrong with them.
#[derive(Debug, Default)]
pub(crate) struct Pipelines {
    pub(crate) found: BTreeMap<String, Arc<Pipeline>>,
    pub(crate) diagnostics: BTreeMap<String, Vec<Diagnostic>>,
}

impl Pipelines {
    /// The embedded ones.
    pub(crate) fn embedded() -> Self {
        let mut pipelines = Self::default();
        for (name, text) in EMBEDDED {
            pipelines.add(name, format!("pipelines/{name}.toml (built in)"), text);
        }
        pipelines
    }

    /// The embedded ones and, over them, those of the workspace.
    pub(crate) fn load(folder: &Folder) -> Self {
        let mut pipelines = Self::embedded();
        let own = WorkspacePath::parse("pipelines").map_or_else(|_| Vec::new(), |own| folder.list(&own));
        for (path, _) in own {
            let Some(name) = path.name().strip_suffix(".toml").filter(|name| is_name(name)) else { continue };
            match folder.read(&path) {
                Ok(Some(text)) => pipelines.add(name, path.to_string(), &text),
                Ok(None) => {}
                Err(message) => {
                    pipelines.diagnostics.insert(name.to_owned(), vec![Diagnostic::error(message)]);
                }
            }
        }
        pipelines
    }

    fn add(&mut self, name: &str, path: String, text: &str) {
        let (document, mut diagnostics) = Document::parse(path, text);
        let form = form::read::<PipelineForm>(&document, &mut diagnostics).form;
        let pipeline = Pipeline { name: name.to_owned(), document: Arc::new(document), form };
        self.found.insert(name.to_owned(), Arc::new(pipeline));
        self.diagnostics.insert(name.to_owned(), diagnostics);
    }
}
