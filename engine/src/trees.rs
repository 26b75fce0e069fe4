//! Listings of trees, each read from the store once a build.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use cache::{Digest, Output, Store, Tree};

use crate::{Lost, RuleError};

/// Trees by the digest of their listing.
pub(crate) struct Trees<'a> {
    store: &'a dyn Store,
    known: Mutex<HashMap<Digest, Arc<Tree>>>,
}

impl<'a> Trees<'a> {
    pub(crate) fn new(store: &'a dyn Store) -> Self {
        Self { store, known: Mutex::default() }
    }

    /// The tree whose listing has this digest.
    pub(crate) fn get(&self, listing: Digest) -> Result<Arc<Tree>, RuleError> {
        if let Some(tree) = self.lock().get(&listing) {
            return Ok(Arc::clone(tree));
        }
        let bytes = self.store.read(&listing)?.ok_or(Lost(listing))?;
        let tree = Tree::decode(&bytes).map_err(|error| {
            RuleError::new(format!("the store holds a listing {} that is none: {error}", listing.short()))
        })?;
        let tree = Arc::new(tree);
        self.lock().insert(listing, Arc::clone(&tree));
        Ok(tree)
    }

    /// Stores a listing and remembers it.
    pub(crate) fn put(&self, tree: Tree) -> Result<Digest, RuleError> {
        let listing = self.store.put(&tree.encode())?;
        self.lock().insert(listing, Arc::new(tree));
        Ok(listing)
    }

    /// The first blob of an output that the store lacks.
    pub(crate) fn missing(&self, output: &Output) -> Result<Option<Digest>, RuleError> {
        let listing = match output {
            Output::File(digest) => return Ok((!self.store.has(digest)?).then_some(*digest)),
            Output::Tree(listing) => *listing,
        };
        // A listing that this build remembers may have gone from the store meanwhile.
        if !self.store.has(&listing)? {
            return Ok(Some(listing));
        }
        let tree = match self.get(listing) {
            Ok(tree) => tree,
            Err(RuleError::Lost(Lost(digest))) => return Ok(Some(digest)),
            Err(error) => return Err(error),
        };
        for (_, digest) in tree.iter() {
            if !self.store.has(digest)? {
                return Ok(Some(*digest));
            }
        }
        Ok(None)
    }

    /// Whether `digest` is the output, its listing, or a file in it.
    pub(crate) fn holds(&self, output: &Output, digest: Digest) -> bool {
        output.digest() == digest
            || matches!(output, Output::Tree(listing)
                if self.get(*listing).is_ok_and(|tree| tree.iter().any(|(_, file)| *file == digest)))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Digest, Arc<Tree>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
