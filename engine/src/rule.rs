//! What a rule is to the engine: a name, a version, an interface, and a pure function.
//!
//! Authors implement [`Pure`] or [`Import`] with a typed parameter struct and hand [`pure`] or [`import`]
//! of it to the [`Catalogue`]; the engine sees only [`Rule`]. A rule receives declared inputs and
//! returns declared outputs, and can name nothing else.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::external::External;
use crate::io::{Cx, Inputs, Outputs};
use crate::params::{ParamError, Params};
use crate::schema;
use crate::{Lost, RuleError};

/// Name and version of a rule. A rule whose output changes for the same inputs must raise its version.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RuleId {
    /// `cook-texture`.
    pub name: Cow<'static, str>,
    /// Counted from 1.
    pub version: u32,
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.version)
    }
}

/// What an input or output holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// One file.
    File,
    /// A tree of files. Several sources are merged into one tree.
    Tree,
    /// An external; inputs of imports only.
    External,
}

/// A named input of a rule.
#[derive(Clone, Debug)]
pub struct InputSpec {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// Whether a step must give it.
    pub required: bool,
    /// One sentence for people.
    pub doc: &'static str,
}

/// A named output of a rule.
#[derive(Clone, Debug)]
pub struct OutputSpec {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// One sentence for people.
    pub doc: &'static str,
}

/// The inputs and outputs of a rule; nothing else is reachable.
#[derive(Clone, Debug, Default)]
pub struct Interface {
    /// Inputs.
    pub inputs: Vec<InputSpec>,
    /// Outputs.
    pub outputs: Vec<OutputSpec>,
    /// Whether a step may give further inputs under names of its own (`exec`).
    pub open_inputs: bool,
}

impl Interface {
    /// An interface without inputs and outputs, to be extended.
    pub fn new() -> Self {
        Self::default()
    }

    /// With a required input.
    #[must_use]
    pub fn input(mut self, name: &'static str, kind: Kind, doc: &'static str) -> Self {
        self.inputs.push(InputSpec { name, kind, required: true, doc });
        self
    }

    /// With an input that a step may leave out.
    #[must_use]
    pub fn optional(mut self, name: &'static str, kind: Kind, doc: &'static str) -> Self {
        self.inputs.push(InputSpec { name, kind, required: false, doc });
        self
    }

    /// With an output.
    #[must_use]
    pub fn output(mut self, name: &'static str, kind: Kind, doc: &'static str) -> Self {
        self.outputs.push(OutputSpec { name, kind, doc });
        self
    }

    /// The output called `name`.
    pub fn find_output(&self, name: &str) -> Option<&OutputSpec> {
        self.outputs.iter().find(|output| output.name == name)
    }

    /// The kind of the input called `name`, if a step may give it.
    pub fn input_kind(&self, name: &str) -> Option<Kind> {
        let declared = self.inputs.iter().find(|input| input.name == name).map(|input| input.kind);
        declared.or(self.open_inputs.then_some(Kind::Tree))
    }
}

/// All that the engine knows of a rule.
pub trait Rule: Send + Sync {
    /// Its identity.
    fn id(&self) -> RuleId;
    /// What it does, in a sentence or two.
    fn doc(&self) -> &'static str;
    /// Its inputs and outputs.
    fn interface(&self) -> &Interface;
    /// The JSON schema of its parameters.
    fn schema(&self) -> &Value;
    /// All mistakes in parameters, not the first. Places inside parameters that hold `{item…}` are
    /// checked when the item is known.
    fn check(&self, params: &Params) -> Vec<ParamError>;
    /// How much memory a run takes, in bytes, judged by the sum of its inputs' sizes.
    fn memory(&self, params: &Params, input_bytes: u64) -> u64;
    /// How it runs.
    fn body(&self) -> Body<'_>;
}

/// The three ways in which a rule can run.
pub enum Body<'a> {
    /// A pure function of its inputs.
    Pure(&'a dyn Run),
    /// It reads an external.
    Import(&'a dyn Identify),
    /// It runs a tool of the user's.
    Exec(&'a dyn Exec),
}

/// A pure rule, erased.
pub trait Run: Sync {
    /// Reads inputs, writes outputs.
    fn run(
        &self,
        params: &Params,
        inputs: &Inputs<'_>,
        outputs: &Outputs<'_>,
        cx: &Cx<'_>,
    ) -> Result<(), RuleError>;
    /// Whether it may ask for the signer. Such actions never leave the machine.
    fn signs(&self) -> bool;
}

/// Facts that identify what an import would fetch: what the action digest is made of.
pub type Facts = BTreeMap<String, String>;

/// What was identified, and how to fetch it.
pub struct Identified {
    /// The facts.
    pub facts: Facts,
    /// Reads, checks and stores what was identified.
    pub fetch: Fetch,
}

/// The second half of an import.
pub type Fetch = Box<dyn FnOnce(&dyn External, &Outputs<'_>, &Cx<'_>) -> Result<(), RuleError> + Send>;

/// An import, erased.
pub trait Identify: Sync {
    /// Identifies cheaply what [`Identified::fetch`] would read.
    fn identify(&self, params: &Params, external: &dyn External) -> Result<Identified, RuleError>;
}

/// The rule that runs a tool of the user's.
pub trait Exec: Sync {
    /// What to run.
    fn command(&self, params: &Params) -> Result<ExecSpec, RuleError>;
}

/// A tool to run. Inputs appear under `in/<input name>/`, outputs are taken from `out/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecSpec {
    /// The tool's name, which `bake.toml` or the search path turns into a file.
    pub tool: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// The environment, beside what the sandbox sets.
    pub env: BTreeMap<String, String>,
    /// Names of variables of the caller's environment to pass on; their values enter the identity.
    pub inherit: Vec<String>,
    /// Files below `out/` that must be there afterwards.
    pub expected: Vec<String>,
}

/// A pure rule as its author writes it. The value itself is stateless.
pub trait Pure: Send + Sync + 'static {
    /// Typed parameters; unknown ones are refused through `deny_unknown_fields`.
    type Params: DeserializeOwned + JsonSchema;
    /// The rule's name.
    const NAME: &'static str;
    /// The rule's version.
    const VERSION: u32;
    /// What it does, in a sentence or two.
    const DOC: &'static str;
    /// Whether it may ask for the signer.
    const SIGNS: bool = false;
    /// Inputs and outputs.
    fn interface() -> Interface;
    /// Mistakes that the schema cannot tell.
    fn check(_params: &Self::Params) -> Vec<ParamError> {
        Vec::new()
    }
    /// How much memory a run takes, in bytes.
    fn memory(_params: &Self::Params, input_bytes: u64) -> u64 {
        default_memory(input_bytes)
    }
    /// Reads inputs, writes outputs.
    fn run(
        params: Self::Params,
        inputs: &Inputs<'_>,
        outputs: &Outputs<'_>,
        cx: &Cx<'_>,
    ) -> Result<(), RuleError>;
}

/// An import as its author writes it. It has exactly one input of kind [`Kind::External`].
pub trait Import: Send + Sync + 'static {
    /// Typed parameters.
    type Params: DeserializeOwned + JsonSchema + Send + 'static;
    /// Where the identified things lie; kept between the halves.
    type Located: Send + 'static;
    /// The rule's name.
    const NAME: &'static str;
    /// The rule's version.
    const VERSION: u32;
    /// What it does, in a sentence or two.
    const DOC: &'static str;
    /// Inputs and outputs.
    fn interface() -> Interface;
    /// Mistakes that the schema cannot tell.
    fn check(_params: &Self::Params) -> Vec<ParamError> {
        Vec::new()
    }
    /// Says what a fetch would read, from tables of contents alone.
    fn identify(params: &Self::Params, external: &dyn External) -> Result<(Facts, Self::Located), RuleError>;
    /// Reads the blocks of what was identified, checks them, and stores them.
    fn fetch(
        params: Self::Params,
        located: Self::Located,
        external: &dyn External,
        outputs: &Outputs<'_>,
        cx: &Cx<'_>,
    ) -> Result<(), RuleError>;
}

const fn default_memory(input_bytes: u64) -> u64 {
    (32 << 20) + input_bytes.saturating_mul(2)
}

struct Erased<R> {
    interface: Interface,
    schema: Value,
    rule: PhantomData<fn() -> R>,
}

impl<R> Erased<R> {
    fn new<P: JsonSchema>(interface: Interface) -> Self {
        Self { interface, schema: schema::of::<P>(), rule: PhantomData }
    }

    fn check<P: DeserializeOwned>(
        &self,
        params: &Params,
        more: impl FnOnce(&P) -> Vec<ParamError>,
    ) -> Vec<ParamError> {
        let value = params.to_value();
        let mut errors = schema::check(&self.schema, &value);
        if schema::has_item(&value) {
            return errors;
        }
        // What is wrong is left out, so that it hides nothing else.
        match schema::without(value, &errors).read::<P>() {
            Ok(typed) => {
                let more = more(&typed).into_iter();
                let new: Vec<ParamError> = more.filter(|error| !schema::is_told(&errors, error)).collect();
                errors.extend(new);
            }
            Err(error) if errors.is_empty() => errors.push(error),
            Err(_) => {}
        }
        errors
    }
}

/// Wraps a pure rule for the catalogue.
pub fn pure<R: Pure>(_rule: R) -> Box<dyn Rule> {
    Box::new(PureRule(Erased::<R>::new::<R::Params>(R::interface())))
}

/// Wraps an import for the catalogue.
pub fn import<R: Import>(_rule: R) -> Box<dyn Rule> {
    Box::new(ImportRule(Erased::<R>::new::<R::Params>(R::interface())))
}

struct PureRule<R>(Erased<R>);

impl<R: Pure> Rule for PureRule<R> {
    fn id(&self) -> RuleId {
        RuleId { name: R::NAME.into(), version: R::VERSION }
    }
    fn doc(&self) -> &'static str {
        R::DOC
    }
    fn interface(&self) -> &Interface {
        &self.0.interface
    }
    fn schema(&self) -> &Value {
        &self.0.schema
    }
    fn check(&self, params: &Params) -> Vec<ParamError> {
        self.0.check(params, R::check)
    }
    fn memory(&self, params: &Params, input_bytes: u64) -> u64 {
        let typed = params.read::<R::Params>();
        typed.map_or(default_memory(input_bytes), |params| R::memory(&params, input_bytes))
    }
    fn body(&self) -> Body<'_> {
        Body::Pure(self)
    }
}

impl<R: Pure> Run for PureRule<R> {
    fn run(
        &self,
        params: &Params,
        inputs: &Inputs<'_>,
        outputs: &Outputs<'_>,
        cx: &Cx<'_>,
    ) -> Result<(), RuleError> {
        R::run(params.read()?, inputs, outputs, cx)
    }
    fn signs(&self) -> bool {
        R::SIGNS
    }
}

struct ImportRule<R>(Erased<R>);

impl<R: Import> Rule for ImportRule<R> {
    fn id(&self) -> RuleId {
        RuleId { name: R::NAME.into(), version: R::VERSION }
    }
    fn doc(&self) -> &'static str {
        R::DOC
    }
    fn interface(&self) -> &Interface {
        &self.0.interface
    }
    fn schema(&self) -> &Value {
        &self.0.schema
    }
    fn check(&self, params: &Params) -> Vec<ParamError> {
        self.0.check(params, R::check)
    }
    fn memory(&self, _params: &Params, input_bytes: u64) -> u64 {
        default_memory(input_bytes)
    }
    fn body(&self) -> Body<'_> {
        Body::Import(self)
    }
}

impl<R: Import> Identify for ImportRule<R> {
    fn identify(&self, params: &Params, external: &dyn External) -> Result<Identified, RuleError> {
        let params: R::Params = params.read()?;
        let (facts, located) = R::identify(&params, external)?;
        let fetch: Fetch =
            Box::new(move |external, outputs, cx| R::fetch(params, located, external, outputs, cx));
        Ok(Identified { facts, fetch })
    }
}

/// All rules, by name.
#[derive(Default)]
pub struct Catalogue {
    rules: BTreeMap<String, Box<dyn Rule>>,
}

impl Catalogue {
    /// The catalogue of `rules`. Two rules of one name are a mistake of ours.
    pub fn new(rules: impl IntoIterator<Item = Box<dyn Rule>>) -> Self {
        rules.into_iter().fold(Self::default(), Self::with)
    }

    /// This catalogue with one rule more.
    #[must_use]
    pub fn with(mut self, rule: Box<dyn Rule>) -> Self {
        let name = rule.id().name.into_owned();
        let earlier = self.rules.insert(name.clone(), rule);
        assert!(earlier.is_none(), "two rules are called `{name}`");
        self
    }

    /// The rule called `name`.
    pub fn get(&self, name: &str) -> Option<&dyn Rule> {
        self.rules.get(name).map(|rule| &**rule)
    }

    /// All rules, by name.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Rule> {
        self.rules.values().map(|rule| &**rule)
    }
}

impl From<ParamError> for RuleError {
    fn from(error: ParamError) -> Self {
        RuleError::new(format!("parameter {error}"))
    }
}

impl From<Lost> for RuleError {
    fn from(lost: Lost) -> Self {
        RuleError::Lost(lost)
    }
}
