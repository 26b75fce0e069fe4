//! Garbage collection, and the check of a whole store.
//!
//! Kept is what pins, roots and leases reach (results, their outputs, and what trees list), and all that
//! was written since the oldest running build began, or since the collection did. The rest goes: what
//! was used longest ago first, and only until the store is as small as asked. Builds need not wait: the
//! worst that a collection can do to one that starts beside it is an ordinary miss.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::disk::{files, open, read};
use crate::keep::{self, Keep, Kept};
use crate::locked::Locked;
use crate::sealed::unseal;
use crate::{ActionDigest, Blobs, Digest, DiskStore, FileStat, Output, Results, StoreError, Tree, hash_file};

/// What to collect.
#[derive(Clone, Copy, Debug, Default)]
pub struct GcOptions {
    /// Removes only until the store holds at most so many bytes; without it, all that nothing keeps.
    pub size: Option<u64>,
    /// Removes nothing (save for what is damaged), only says what would go.
    pub dry_run: bool,
}

/// A number of results and blobs, and the bytes of both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Result files.
    pub results: u64,
    /// Blobs.
    pub blobs: u64,
    /// Bytes of the files.
    pub bytes: u64,
}

/// Who keeps something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Keeper {
    /// A pin.
    Pin,
    /// The last builds of a target.
    Root,
    /// A running build.
    Lease,
}

/// What a collection did, or would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GcReport {
    /// What went.
    pub removed: Usage,
    /// What is left.
    pub kept: Usage,
    /// Who keeps how much: what two of them share is counted for both.
    pub keepers: Vec<(Keeper, String, Usage)>,
    /// Folders of dead processes, removed from `tmp/`.
    pub stale: u64,
}

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// What was looked at.
    pub checked: Usage,
    /// Damaged files, relative to the store. They are removed, so that the next build makes them again.
    pub damaged: Vec<PathBuf>,
    /// Results with an output that is not there: an ordinary miss of the next build.
    pub incomplete: u64,
}

/// File systems stamp with a clock of their own that lags by a tick.
const TICK_NS: i64 = 20_000_000;

struct Entry {
    path: PathBuf,
    stat: FileStat,
    /// The blobs that a result reaches; none for a blob.
    reach: Vec<Digest>,
}

impl DiskStore {
    /// Collects garbage. `last_use` gives the time of a result's last use (nanoseconds since 1970),
    /// where it is known; otherwise the time of its file stands in.
    pub fn gc(
        &self,
        options: GcOptions,
        last_use: &dyn Fn(&ActionDigest) -> Option<i64>,
    ) -> Result<GcReport, StoreError> {
        let began = FileStat::now();
        let (leases, oldest) = self.leases()?;
        let horizon = oldest.map_or(began, |oldest| oldest.min(began)) - TICK_NS;
        let mut report = GcReport { stale: self.sweep_tmp(options.dry_run)?, ..GcReport::default() };
        let mut blobs = self.stored_blobs()?;
        let mut results = self.stored_results()?;
        for entry in blobs.values() {
            report.kept.blobs += 1;
            report.kept.bytes += entry.stat.len;
        }
        for entry in results.values() {
            report.kept.results += 1;
            report.kept.bytes += entry.stat.len;
        }

        let mut marked: BTreeSet<ActionDigest> = BTreeSet::new();
        for (keeper, all) in [
            (Keeper::Pin, self.kept(Keep::Pin)?),
            (Keeper::Root, self.kept(Keep::Root)?),
            (Keeper::Lease, leases),
        ] {
            for kept in all {
                let usage = usage(&kept, &results, &blobs);
                report.keepers.push((keeper, kept.name, usage));
                marked.extend(kept.actions);
            }
        }

        // How many results hold each blob; those that nothing holds are the first to go.
        let mut holders: HashMap<Digest, u64> = HashMap::new();
        for digest in results.values().flat_map(|entry| &entry.reach) {
            *holders.entry(*digest).or_default() += 1;
        }
        let old = |stat: &FileStat| stat.modified < horizon;
        let mut orphans: Vec<(i64, Digest)> = blobs
            .iter()
            .filter(|(digest, entry)| !holders.contains_key(digest) && old(&entry.stat))
            .map(|(digest, entry)| (entry.stat.modified, *digest))
            .collect();
        orphans.sort();
        let mut unused: Vec<(i64, ActionDigest)> = results
            .iter()
            .filter(|(action, entry)| !marked.contains(action) && old(&entry.stat))
            .map(|(action, entry)| {
                let used = last_use(action).unwrap_or(i64::MIN);
                (used.max(entry.stat.modified), *action)
            })
            .collect();
        unused.sort();

        let full = |report: &GcReport| options.size.is_none_or(|size| report.kept.bytes > size);
        let remove = |entry: Entry, report: &mut GcReport, results: u64| {
            let goes = old(&entry.stat) && (options.dry_run || remove_old(&entry.path, horizon)?);
            if goes {
                report.removed.results += results;
                report.kept.results -= results;
                report.removed.blobs += 1 - results;
                report.kept.blobs -= 1 - results;
                report.removed.bytes += entry.stat.len;
                report.kept.bytes -= entry.stat.len;
            }
            Ok::<bool, StoreError>(goes)
        };
        for (_, digest) in orphans {
            if !full(&report) {
                break;
            }
            if let Some(entry) = blobs.remove(&digest) {
                remove(entry, &mut report, 0)?;
            }
        }
        for (_, action) in unused {
            if !full(&report) {
                break;
            }
            let Some(mut entry) = results.remove(&action) else {
                continue;
            };
            let reach = std::mem::take(&mut entry.reach);
            // The result before its outputs: a kill in between leaves no result without them.
            if !remove(entry, &mut report, 1)? {
                continue;
            }
            for digest in reach {
                let left = holders.entry(digest).or_default();
                *left = left.saturating_sub(1);
                if *left == 0
                    && let Some(entry) = blobs.remove(&digest)
                {
                    remove(entry, &mut report, 0)?;
                }
            }
        }
        Ok(report)
    }

    /// Hashes every blob, closes every result, snapshot, pin and root, and removes what is damaged.
    pub fn check(&self) -> Result<CheckReport, StoreError> {
        let mut report = CheckReport::default();
        let mut damaged = |path: &Path, stat: &FileStat| {
            let name = path.strip_prefix(self.root()).unwrap_or(path);
            report.damaged.push(name.to_path_buf());
            self.discard(path, stat)
        };
        for path in self.sharded_files("blobs")? {
            let Some((_, stat)) = open(&path)? else {
                continue;
            };
            let (digest, _) = match hash_file(&path) {
                Ok(found) => found,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(StoreError::io("read", path)(error)),
            };
            report.checked.blobs += 1;
            report.checked.bytes += stat.len;
            if path != self.blob_path(&digest) {
                damaged(&path, &stat)?;
            }
        }
        for path in self.sharded_files("results")? {
            let Some((file, stat)) = open(&path)? else {
                continue;
            };
            report.checked.results += 1;
            report.checked.bytes += stat.len;
            let result = crate::ActionResult::decode(&read(file, &stat, &path)?);
            if result.is_none_or(|result| path != self.result_path(&result.action())) {
                damaged(&path, &stat)?;
            }
        }
        let mut sealed = files(&self.root().join(Keep::Pin.folder()))?;
        sealed.extend(files(&self.root().join(Keep::Root.folder()))?);
        for workspace in files(&self.root().join("workspaces"))? {
            sealed.extend(files(&workspace)?);
        }
        for path in sealed {
            let Some((file, stat)) = open(&path)? else {
                continue;
            };
            let bytes = read(file, &stat, &path)?;
            let keeps = !path.starts_with(self.root().join("workspaces"));
            if unseal(&bytes).is_none() || (keeps && keep::decode(&bytes).is_none()) {
                damaged(&path, &stat)?;
            }
        }
        for entry in self.stored_results()?.into_values() {
            let mut missing = false;
            for digest in &entry.reach {
                missing = missing || !self.has(digest)?;
            }
            report.incomplete += u64::from(missing);
        }
        Ok(report)
    }

    fn stored_blobs(&self) -> Result<BTreeMap<Digest, Entry>, StoreError> {
        let mut all = BTreeMap::new();
        for path in self.sharded_files("blobs")? {
            let digest = file_name(&path).parse();
            let (Ok(digest), Some(stat)) = (digest, stat(&path)) else {
                continue;
            };
            let reach = Vec::new();
            all.insert(digest, Entry { path, stat, reach });
        }
        Ok(all)
    }

    fn stored_results(&self) -> Result<BTreeMap<ActionDigest, Entry>, StoreError> {
        let mut all = BTreeMap::new();
        for path in self.sharded_files("results")? {
            let action = file_name(&path).parse();
            let (Ok(action), Some(stat)) = (action, stat(&path)) else {
                continue;
            };
            let Some(result) = self.result(&action)? else {
                continue;
            };
            let mut reach = BTreeSet::new();
            for output in result.outputs.values() {
                reach.insert(output.digest());
                if let Output::Tree(listing) = output
                    && let Some(bytes) = self.read(listing)?
                    && let Ok(tree) = Tree::decode(&bytes)
                {
                    reach.extend(tree.iter().map(|(_, digest)| *digest));
                }
            }
            let reach = reach.into_iter().collect();
            all.insert(action, Entry { path, stat, reach });
        }
        Ok(all)
    }

    fn sharded_files(&self, kind: &str) -> Result<Vec<PathBuf>, StoreError> {
        let mut all = Vec::new();
        for shard in files(&self.root().join(kind))? {
            all.extend(files(&shard)?);
        }
        Ok(all)
    }

    /// Removes what dead processes left in `tmp/`, and says how many left something.
    fn sweep_tmp(&self, dry_run: bool) -> Result<u64, StoreError> {
        let mut stale = 0;
        for path in files(&self.root().join("tmp"))? {
            let lock = path.with_extension("lock");
            // A folder and its lock are one.
            let done = lock == path && path.with_extension("").exists() || !path.exists();
            if done || !Locked::is_abandoned(&lock) {
                continue;
            }
            stale += 1;
            if !dry_run {
                // What is held open is removed by a later collection.
                let _ = fs::remove_dir_all(path.with_extension(""));
                let _ = fs::remove_file(&lock);
            }
        }
        Ok(stale)
    }
}

fn usage(kept: &Kept, results: &BTreeMap<ActionDigest, Entry>, blobs: &BTreeMap<Digest, Entry>) -> Usage {
    let mut usage = Usage::default();
    let mut reached = BTreeSet::new();
    for entry in kept.actions.iter().filter_map(|action| results.get(action)) {
        usage.results += 1;
        usage.bytes += entry.stat.len;
        reached.extend(&entry.reach);
    }
    for entry in reached.iter().filter_map(|digest| blobs.get(digest)) {
        usage.blobs += 1;
        usage.bytes += entry.stat.len;
    }
    usage
}

/// Removes `path` unless it was written since `horizon`; `false` if it stays.
fn remove_old(path: &Path, horizon: i64) -> Result<bool, StoreError> {
    if stat(path).is_none_or(|stat| stat.modified >= horizon) {
        return Ok(false);
    }
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        // Windows keeps what is mapped: somebody is using it.
        Err(_) if cfg!(windows) => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(StoreError::io("remove", path)(error)),
    }
}

fn stat(path: &Path) -> Option<FileStat> {
    fs::metadata(path).ok().map(|found| FileStat::of(&found))
}

fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}
