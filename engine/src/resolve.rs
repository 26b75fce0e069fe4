//! From a step whose dependencies are done to an action: inputs are resolved to digests, and the store is
//! asked whether it knows the result.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cache::{ActionDigest, ActionResult, Digest, Note, Output, Store, Tree, WorkspacePath};

use crate::action::{Action, Tool};
use crate::external::{External, TreeExternal};
use crate::history::History;
use crate::io::Input;
use crate::label::Label;
use crate::params::Params;
use crate::plan::Item;
use crate::rule::{Body, ExecSpec, Fetch, Kind, Rule};
use crate::sources::Sources;
use crate::template::{self, Lookup};
use crate::trees::Trees;
use crate::why::{RebuildReason, difference};
use crate::{Lost, RuleError};

/// Finds the file of a tool by its name; the error is a sentence.
pub type FindTool<'a> = dyn Fn(&str) -> Result<PathBuf, String> + Sync + 'a;

/// What resolving needs of a build, shared by all workers.
pub(crate) struct Context<'a> {
    pub(crate) store: &'a dyn Store,
    pub(crate) history: &'a dyn History,
    pub(crate) sources: Sources<'a>,
    pub(crate) trees: Trees<'a>,
    pub(crate) externals: &'a BTreeMap<String, Arc<dyn External>>,
    pub(crate) tools: &'a FindTool<'a>,
    pub(crate) environment: &'a BTreeMap<String, String>,
    pub(crate) salt: Option<[u8; 32]>,
}

/// A step, or an instance of one, with what its dependencies gave.
#[derive(Clone)]
pub(crate) struct Request<'a> {
    pub(crate) label: Label,
    pub(crate) rule: &'a dyn Rule,
    pub(crate) params: Arc<Params>,
    pub(crate) inputs: Vec<(String, Vec<Given>)>,
    pub(crate) item: Option<Arc<Item>>,
    pub(crate) private: bool,
    /// Run it even if its result is known.
    pub(crate) forced: bool,
    /// Its action and outputs after the last build; not asked for when the store lost some of them.
    pub(crate) previous: Option<(ActionDigest, Outputs)>,
}

pub(crate) type Outputs = Arc<BTreeMap<String, Output>>;

/// A source of an input, with what it gave.
#[derive(Clone)]
pub(crate) enum Given {
    File { path: WorkspacePath, name: WorkspacePath },
    Output { output: Output, name: String, select: Option<String>, from: Label },
    External(String),
    Item,
}

/// What is known of an action before it runs.
pub(crate) enum Resolved<'a> {
    /// Nothing changed since the last build.
    Unchanged { action: ActionDigest, outputs: Outputs },
    /// The store knows the result.
    Hit { action: ActionDigest, outputs: Outputs, notes: Vec<Note> },
    /// It must run.
    Miss(Box<Prepared<'a>>),
}

/// An action that is ready to run.
pub(crate) struct Prepared<'a> {
    pub(crate) request: Request<'a>,
    pub(crate) params: Params,
    pub(crate) action: Action,
    pub(crate) digest: ActionDigest,
    pub(crate) inputs: BTreeMap<String, Input>,
    pub(crate) import: Option<(Fetch, Given)>,
    pub(crate) exec: Option<(ExecSpec, PathBuf)>,
    pub(crate) memory: u64,
    pub(crate) why: Vec<RebuildReason>,
}

impl<'a> Context<'a> {
    /// Resolves a request.
    pub(crate) fn resolve(&self, request: Request<'a>) -> Result<Resolved<'a>, RuleError> {
        const TRIES: usize = 5;
        for _ in 0..TRIES {
            let (prepared, files) = self.prepare(&request)?;
            let action = prepared.digest;
            let previous = request.previous.as_ref();
            if let Some((last, outputs)) = previous.filter(|_| !request.forced)
                && *last == action
            {
                return Ok(Resolved::Unchanged { action, outputs: Arc::clone(outputs) });
            }
            if !request.forced
                && let Some(result) = self.known(&action)?
            {
                return Ok(Resolved::Hit { action, outputs: Arc::new(result.outputs), notes: result.notes });
            }
            if self.capture(&files)? {
                let why = self.why(&prepared)?;
                return Ok(Resolved::Miss(Box::new(Prepared { why, ..prepared })));
            }
        }
        Err(RuleError::new("its sources keep changing").hint("save them, then build again"))
    }

    /// The stored result of an action, if all its outputs are there.
    pub(crate) fn known(&self, action: &ActionDigest) -> Result<Option<ActionResult>, RuleError> {
        let Some(result) = self.store.result(action)? else { return Ok(None) };
        for output in result.outputs.values() {
            if self.trees.missing(output)?.is_some() {
                return Ok(None);
            }
        }
        Ok(Some(result))
    }

    fn prepare(
        &self,
        request: &Request<'a>,
    ) -> Result<(Prepared<'a>, Vec<(WorkspacePath, Digest)>), RuleError> {
        let rule = request.rule;
        let params = match &request.item {
            Some(item) => expand(&request.params, item)?,
            None => (*request.params).clone(),
        };
        if let Some(error) = request.item.as_ref().and_then(|_| rule.check(&params).into_iter().next()) {
            return Err(error.into());
        }
        let mut files = Vec::new();
        let mut inputs = BTreeMap::new();
        let mut external = None;
        for (name, given) in &request.inputs {
            match rule.interface().input_kind(name) {
                Some(Kind::External) => external = given.first().cloned(),
                Some(kind) => {
                    let input = self.input(kind, given, request.item.as_deref(), &mut files);
                    inputs.insert(name.clone(), input.map_err(|error| in_input(error, name))?);
                }
                None => {
                    return Err(RuleError::new(format!("rule `{}` has no input `{name}`", rule.id().name)));
                }
            }
        }
        let mut action = Action {
            rule: rule.id(),
            inputs: inputs.iter().map(|(name, input)| (name.clone(), input.identity())).collect(),
            params: params.clone(),
            facts: BTreeMap::new(),
            outputs: rule.interface().outputs.iter().map(|output| output.name.to_owned()).collect(),
            tool: None,
            salt: self.salt,
        };
        let (mut import, mut exec) = (None, None);
        match rule.body() {
            Body::Pure(_) => {}
            Body::Import(body) => {
                let given = external.ok_or_else(|| RuleError::new("an import was given no external"))?;
                let identified = self.with_external(&given, |external| body.identify(&params, external))?;
                action.facts = identified.facts;
                import = Some((identified.fetch, given));
            }
            Body::Exec(body) => {
                let spec = body.command(&params)?;
                let path = (self.tools)(&spec.tool).map_err(RuleError::new)?;
                action.tool = Some(self.tool(&spec, &path)?);
                exec = Some((spec, path));
            }
        }
        let digest = action.digest();
        let input_bytes = inputs.values().fold(0u64, |sum, input| sum.saturating_add(bytes(input)));
        let memory = rule.memory(&params, input_bytes);
        let request = request.clone();
        let prepared =
            Prepared { request, params, action, digest, inputs, import, exec, memory, why: Vec::new() };
        Ok((prepared, files))
    }

    fn tool(&self, spec: &ExecSpec, path: &Path) -> Result<Tool, RuleError> {
        let mut env = spec.env.clone();
        for name in &spec.inherit {
            // A variable that is not set differs from one that is empty, and neither enters as a value.
            if let Some(value) = self.environment.get(name) {
                env.insert(name.clone(), value.clone());
            }
        }
        Ok(Tool {
            name: spec.tool.clone(),
            digest: self.sources.tool(path, &spec.tool)?,
            env,
            platform: format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH),
        })
    }

    /// Calls `use_it` with the external that an input names.
    pub(crate) fn with_external<T>(
        &self,
        given: &Given,
        use_it: impl FnOnce(&dyn External) -> Result<T, RuleError>,
    ) -> Result<T, RuleError> {
        match given {
            Given::External(name) => match self.externals.get(name) {
                Some(external) => use_it(&**external),
                None => Err(RuleError::new(format!("@{name} is not set"))),
            },
            Given::Output { output: Output::Tree(listing), from, .. } => {
                let tree = self.trees.get(*listing)?;
                let name = from.step().unwrap_or_default();
                use_it(&TreeExternal::new(name, &tree, self.store))
            }
            _ => Err(RuleError::new("an import reads an external, nothing else")),
        }
    }

    fn input(
        &self,
        kind: Kind,
        given: &[Given],
        item: Option<&Item>,
        files: &mut Vec<(WorkspacePath, Digest)>,
    ) -> Result<Input, RuleError> {
        let mut tree = Tree::new();
        let mut file = None;
        for source in given {
            let (name, digest) = match source {
                Given::File { path, name } => {
                    let digest = self.sources.digest(path)?;
                    files.push((path.clone(), digest));
                    (name.clone(), digest)
                }
                Given::Output { output: Output::File(digest), name, .. } => {
                    (WorkspacePath::parse(name)?, *digest)
                }
                Given::Output { output: Output::Tree(listing), select, from, .. } => {
                    let listed = self.trees.get(*listing)?;
                    let Some(select) = select else {
                        tree.merge(&listed)?;
                        continue;
                    };
                    match selected(&listed, &expand_select(select, item)?, from)? {
                        Selected::File(name, digest) => (name, digest),
                        Selected::Folder(part) => {
                            tree.merge(&part)?;
                            continue;
                        }
                    }
                }
                Given::Item => {
                    let item =
                        item.ok_or_else(|| RuleError::new("`{item}` is known in a `for_each` step only"))?;
                    (WorkspacePath::parse("item.json")?, self.store.put(item.value.to_string().as_bytes())?)
                }
                Given::External(name) => {
                    return Err(RuleError::new(format!("only imports read externals such as @{name}")));
                }
            };
            file = Some(digest);
            tree.insert(name, digest)?;
        }
        match (kind, file) {
            (Kind::File, Some(digest)) if tree.len() == 1 => Ok(Input::File(digest)),
            (Kind::File, _) => Err(RuleError::new(format!("expected one file, found {}", tree.len()))),
            _ => Ok(Input::Tree(Arc::new(tree))),
        }
    }

    /// Brings all files into the store; `false` when one of them is not what it was.
    fn capture(&self, files: &[(WorkspacePath, Digest)]) -> Result<bool, RuleError> {
        for (path, digest) in files {
            if self.sources.ensure(path, *digest)?.is_err() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn why(&self, prepared: &Prepared<'a>) -> Result<Vec<RebuildReason>, RuleError> {
        let request = &prepared.request;
        if request.forced {
            return Ok(vec![RebuildReason::Forced]);
        }
        for input in prepared.inputs.values() {
            // Kept so that the next explanation can name the files that changed.
            if let Input::Tree(tree) = input {
                self.store.put(&tree.encode())?;
            }
        }
        let last = request.previous.as_ref().map(|(action, _)| *action);
        let last = last.or_else(|| self.history.last_action(&request.label.to_string()));
        let Some(last) = last else { return Ok(vec![RebuildReason::NeverBuilt]) };
        if last == prepared.digest {
            return Ok(vec![RebuildReason::OutputMissing]);
        }
        let manifest = self.store.result(&last)?.map(|result| Action::decode(&result.manifest));
        let Some(Ok(old)) = manifest else { return Ok(vec![RebuildReason::NeverBuilt]) };
        let mut reasons = difference(&old, &prepared.action);
        for reason in &mut reasons {
            if let RebuildReason::InputChanged { input, from } = reason {
                *from = self.origin(input, &old, prepared)?;
            }
        }
        Ok(reasons)
    }

    /// The files that a source gives to its input now.
    fn listing(&self, source: &Given, prepared: &Prepared<'a>) -> Option<Tree> {
        let item = prepared.request.item.as_deref();
        match self.input(Kind::Tree, std::slice::from_ref(source), item, &mut Vec::new()) {
            Ok(Input::Tree(tree)) => Some((*tree).clone()),
            _ => None,
        }
    }

    /// Which sources of an input changed, in words.
    fn origin(&self, name: &str, old: &Action, prepared: &Prepared<'a>) -> Result<Option<String>, RuleError> {
        let given = prepared.request.inputs.iter().find(|(input, _)| input == name);
        let given = given.map_or(&[][..], |(_, given)| given);
        let before = match old.inputs.get(name) {
            Some((Kind::Tree, listing)) => {
                self.store.read(listing)?.and_then(|bytes| Tree::decode(&bytes).ok())
            }
            _ => None,
        };
        let changed = match (before, prepared.inputs.get(name)) {
            (Some(before), Some(Input::Tree(now))) => Some(changed_paths(&before, now)),
            _ => None,
        };
        let mut texts: Vec<String> = Vec::new();
        let mut rest = changed.clone();
        for source in given {
            if let Given::File { path, name } = source {
                if changed.as_ref().is_none_or(|changed| changed.contains(name)) {
                    texts.push(path.to_string());
                }
                if let Some(rest) = &mut rest {
                    rest.remove(name);
                }
            }
        }
        let outputs: Vec<(&Label, &Given)> = given
            .iter()
            .filter_map(|source| match source {
                Given::Output { from, .. } => Some((from, source)),
                _ => None,
            })
            .collect();
        let gives = |source: &Given| match &rest {
            None => true,
            // What is gone now is nobody's any more: then only the sources as a whole can be named.
            Some(rest) => self
                .listing(source, prepared)
                .is_none_or(|now| rest.iter().any(|path| now.get(path.as_str()).is_some())),
        };
        let mut changed: Vec<&Label> =
            outputs.iter().filter(|(_, source)| gives(source)).map(|(from, _)| *from).collect();
        if changed.is_empty() && rest.is_none_or(|rest| !rest.is_empty()) {
            changed = outputs.into_iter().map(|(from, _)| from).collect();
        }
        texts.extend(changed.into_iter().map(|from| format!("from {}", from.short())));
        Ok((!texts.is_empty()).then(|| texts.join(", ")))
    }
}

fn changed_paths(before: &Tree, now: &Tree) -> BTreeSet<WorkspacePath> {
    let gone = before.iter().filter(|(path, _)| now.get(path.as_str()).is_none());
    let other = now.iter().filter(|(path, digest)| before.get(path.as_str()) != Some(**digest));
    gone.chain(other).map(|(path, _)| path.clone()).collect()
}

enum Selected {
    File(WorkspacePath, Digest),
    Folder(Tree),
}

fn selected(tree: &Tree, select: &str, from: &Label) -> Result<Selected, RuleError> {
    let select = select.trim_end_matches('/');
    if let Some(digest) = tree.get(select) {
        let name = select.rsplit_once('/').map_or(select, |(_, name)| name);
        return Ok(Selected::File(WorkspacePath::parse(name)?, digest));
    }
    let mut part = Tree::new();
    for (full, digest) in tree.iter() {
        if let Some(below) = full.below(select) {
            part.insert(WorkspacePath::parse(below)?, *digest)?;
        }
    }
    if part.is_empty() {
        let known: Vec<&str> = tree.iter().map(|(path, _)| path.as_str()).collect();
        let error = RuleError::new(format!("{from} has no file or folder `{select}`"));
        let hint = crate::schema::did_you_mean(select, known.iter().copied());
        return Err(match hint {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error,
        });
    }
    Ok(Selected::Folder(part))
}

fn lookup_item<'v>(item: &'v Item) -> impl Fn(&str) -> Lookup<'v> {
    move |name| {
        let value = match name.strip_prefix("item") {
            Some("") => Some(&item.value),
            Some(rest) => rest.strip_prefix('.').and_then(|path| template::member(&item.value, path)),
            None => None,
        };
        value.map_or_else(|| Lookup::Unknown(format!("the item is {}", item.value)), Lookup::Is)
    }
}

fn expand(params: &Params, item: &Item) -> Result<Params, RuleError> {
    let expanded = template::expand(&params.to_value(), false, &lookup_item(item));
    match expanded {
        Ok(serde_json::Value::Object(table)) => Ok(Params::new(table)),
        Ok(_) => Ok(Params::default()),
        Err(errors) => {
            let texts: Vec<String> = errors.into_iter().map(|error| error.message).collect();
            Err(RuleError::new(texts.join("; ")))
        }
    }
}

fn expand_select(select: &str, item: Option<&Item>) -> Result<String, RuleError> {
    match item {
        Some(item) => template::expand_text(select, false, &lookup_item(item)).map_err(RuleError::new),
        None => Ok(select.to_owned()),
    }
}

fn in_input(error: RuleError, name: &str) -> RuleError {
    match error {
        RuleError::Failed(mut failure) => {
            failure.message = format!("input `{name}`: {}", failure.message);
            RuleError::Failed(failure)
        }
        other => other,
    }
}

fn bytes(input: &Input) -> u64 {
    match input {
        Input::File(digest) => digest.len(),
        Input::Tree(tree) => tree.total_bytes(),
    }
}

impl From<std::io::Error> for RuleError {
    /// An error of an external; a lost blob of a stand-in stays what it is.
    fn from(error: std::io::Error) -> Self {
        let lost = error.get_ref().and_then(|inner| inner.downcast_ref::<crate::external::LostBlob>());
        match lost {
            Some(lost) => Self::Lost(Lost(lost.0)),
            None => Self::new(error.to_string()),
        }
    }
}
