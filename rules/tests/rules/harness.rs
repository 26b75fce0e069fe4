//! What the tests share: a store, a game in memory that writes down what is read, whole messages.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use cache::{Blobs, MemoryStore, Output, Tree, WorkspacePath};
use engine::testing::{Ran, run_rule};
use engine::{Body, Catalogue, External, Facts, Input, Params, ReadAt, Rule, RuleError, Signer};
use mjolnir::signature::{SeedKey, Signer as _};
use serde_json::Value;

/// A place to run rules in.
pub struct Bench {
    pub store: MemoryStore,
    catalogue: Catalogue,
}

impl Bench {
    pub fn new() -> Self {
        Self { store: MemoryStore::new(), catalogue: rules::catalogue() }
    }

    pub fn rule(&self, name: &str) -> &dyn Rule {
        self.catalogue.get(name).unwrap()
    }

    pub fn rules(&self) -> impl Iterator<Item = &dyn Rule> {
        self.catalogue.iter()
    }

    /// Runs a rule that reads no external.
    pub fn run(&self, rule: &str, given: Value, inputs: &[(&str, Input)]) -> Result<Ran, RuleError> {
        let inputs = inputs.iter().map(|(name, input)| ((*name).to_owned(), input.clone())).collect();
        run_rule(self.rule(rule), &params(given), &inputs, None, Some(&Key::new()), &self.store)
    }

    pub fn import(&self, rule: &str, given: Value, game: &Game) -> Result<Ran, RuleError> {
        run_rule(self.rule(rule), &params(given), &BTreeMap::new(), Some(game), None, &self.store)
    }

    /// The first half of an import alone.
    pub fn identify(&self, rule: &str, given: Value, game: &Game) -> Result<Facts, RuleError> {
        let Body::Import(import) = self.rule(rule).body() else { panic!("{rule} is no import") };
        Ok(import.identify(&params(given), game)?.facts)
    }

    /// All mistakes in parameters.
    pub fn mistakes(&self, rule: &str, given: Value) -> Vec<String> {
        self.rule(rule).check(&params(given)).iter().map(ToString::to_string).collect()
    }

    pub fn tree<'a>(&self, files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Input {
        let mut tree = Tree::new();
        for (path, bytes) in files {
            tree.insert(WorkspacePath::parse(path).unwrap(), self.store.put(bytes).unwrap()).unwrap();
        }
        Input::Tree(Arc::new(tree))
    }

    /// The listing of an output.
    pub fn listing(&self, ran: &Ran, output: &str) -> Tree {
        let Output::Tree(listing) = ran.outputs[output] else { panic!("{output} is a file") };
        Tree::decode(&self.store.read(&listing).unwrap().unwrap()).unwrap()
    }

    /// The files of an output.
    pub fn files(&self, ran: &Ran, output: &str) -> BTreeMap<String, Vec<u8>> {
        let read = |digest| self.store.read(digest).unwrap().unwrap().to_vec();
        self.listing(ran, output).iter().map(|(path, digest)| (path.to_string(), read(digest))).collect()
    }
}

pub fn params(value: Value) -> Params {
    let Value::Object(table) = value else { panic!("a table") };
    Params::new(table)
}

/// All that a person would read of an error.
pub fn said(result: Result<impl Sized, RuleError>) -> String {
    match result.map(|_| ()).unwrap_err() {
        RuleError::Failed(failure) => {
            let code = failure.code.map(|code| format!(" [{code}]")).unwrap_or_default();
            let details = failure.details.iter().map(|line| format!("\n  {line}"));
            let hint = failure.hint.map(|hint| format!("\nhelp: {hint}")).unwrap_or_default();
            format!("{}{code}{}{hint}", failure.message, details.collect::<String>())
        }
        other => panic!("{other}"),
    }
}

/// A key that everybody knows.
pub struct Key(SeedKey);

impl Key {
    pub fn new() -> Self {
        Self(SeedKey::from_seed(&[7; 32]))
    }

    pub fn base64(&self) -> String {
        self.0.public_key().to_base64()
    }
}

impl Signer for Key {
    fn public_key(&self) -> [u8; 32] {
        *self.0.public_key().as_bytes()
    }

    fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).unwrap()
    }
}

/// What was read: file, offset, length.
pub type Reads = Vec<(String, u64, u64)>;

/// `@game` in memory.
#[derive(Clone, Default)]
pub struct Game {
    pub files: BTreeMap<String, Vec<u8>>,
    reads: Arc<Mutex<Reads>>,
}

impl Game {
    pub fn of(files: BTreeMap<String, Vec<u8>>) -> Self {
        Self { files, ..Self::default() }
    }

    pub fn stand_in() -> Self {
        Self::of(rules::stand_in_game::generate().unwrap().into_iter().collect())
    }

    /// The files of a folder of this machine.
    pub fn folder(folder: &Path) -> Self {
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let files = files.filter(|path| path.is_file());
        let read = |path: std::path::PathBuf| {
            (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(path).unwrap())
        };
        Self::of(files.map(read).collect())
    }

    pub fn without(&self, extension: &str) -> Self {
        let mut files = self.files.clone();
        files.retain(|name, _| !name.ends_with(extension));
        Self::of(files)
    }

    /// What was read since the last time.
    pub fn take_reads(&self) -> Reads {
        std::mem::take(&mut self.reads.lock().unwrap())
    }
}

impl External for Game {
    fn name(&self) -> &str {
        "game"
    }

    fn files(&self) -> io::Result<Vec<(String, u64)>> {
        Ok(self.files.iter().map(|(name, bytes)| (name.clone(), bytes.len() as u64)).collect())
    }

    fn open(&self, file: &str) -> io::Result<Box<dyn ReadAt>> {
        let bytes = self.files.get(file).ok_or(io::ErrorKind::NotFound)?.clone();
        Ok(Box::new(OpenFile { name: file.to_owned(), bytes, reads: Arc::clone(&self.reads) }))
    }

    fn stamp(&self) -> io::Result<[u8; 32]> {
        Ok([0; 32])
    }

    fn describe(&self, file: &str) -> String {
        format!("Paks/{file}")
    }
}

struct OpenFile {
    name: String,
    bytes: Vec<u8>,
    reads: Arc<Mutex<Reads>>,
}

impl ReadAt for OpenFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.reads.lock().unwrap().push((self.name.clone(), offset, buffer.len() as u64));
        let start = offset as usize;
        let range = self.bytes.get(start..start + buffer.len());
        buffer.copy_from_slice(range.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }
}
