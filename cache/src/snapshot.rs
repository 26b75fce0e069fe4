//! Snapshots: what a workspace wants to find again at its next build. Opaque here; one that is missing
//! or damaged only makes that build slower.

use std::io;
use std::path::PathBuf;

use crate::disk::{open, read};
use crate::sealed::{seal, unseal};
use crate::{DiskStore, StoreError, WorkspacePath};

impl DiskStore {
    /// The snapshot `name` of `workspace`; `None` when it is missing or damaged.
    pub fn snapshot(&self, workspace: &str, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.snapshot_path(workspace, name)?;
        let Some((file, stat)) = open(&path)? else {
            return Ok(None);
        };
        Ok(unseal(&read(file, &stat, &path)?).map(<[u8]>::to_vec))
    }

    /// Replaces the snapshot `name` of `workspace`, whole or not at all.
    pub fn put_snapshot(&self, workspace: &str, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let path = self.snapshot_path(workspace, name)?;
        self.write(&path, &seal(bytes.to_vec()), false)
    }

    fn snapshot_path(&self, workspace: &str, name: &str) -> Result<PathBuf, StoreError> {
        let mut path = self.root().join("workspaces");
        for component in [workspace, name] {
            path.push(component);
            if component.contains('/') || WorkspacePath::parse(component).is_err() {
                return Err(StoreError::io("name", path)(io::ErrorKind::InvalidFilename.into()));
            }
        }
        Ok(path)
    }
}
