//! `bake extract`: takes packages out of the game's own containers by hand, into a folder.
//!
//! What is taken is what the rule `extract-donors` would take, found and verified by the same code. It
//! overwrites nothing: a file that is there already must be the one that would be written.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::{External, FolderExternal, ReadAt};
use iostore::{ChunkHash, ChunkType};
use rayon::prelude::*;
use rules::donors::{Asked, Donor, Donors, Part, Selection, Wanted};
use serde_json::{Value, json};
use unreal::package::{Limits, Package};

use crate::cli::Extract;
use crate::count::{count, size};
use crate::fail::Fail;
use crate::session::Session;
use crate::shell::Shell;

pub(crate) fn run<'s>(
    args: &Extract,
    session: impl FnOnce() -> Result<Session<'s>, Fail>,
    shell: &Shell,
) -> Result<(), Fail> {
    let external = external(args, session, shell)?;
    let donors = Donors::find(&asked(args), &*external)?;
    let mut files = Vec::new();
    for (donor, parts) in donors.iter() {
        let world = is_world(&donors, donor, parts, &*external)?;
        let part = |part| Ok(TakenFile { donor, part, path: path(donor, part, world)? });
        files.extend(parts.iter().map(part).collect::<Result<Vec<_>, Fail>>()?);
    }
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from("."));
    if !args.dry_run {
        let missing = refuse_others(&donors, &files, &out)?;
        missing.par_iter().try_for_each(|file| write(&donors, file, &*external, &out))?;
        let (new, all) = (missing.len(), files.len());
        let there = if new < all { format!(", {} there already", all - new) } else { String::new() };
        let bytes = files.iter().map(|file| donors.chunk_of(file.part).length).sum();
        let what = count(donors.iter().len(), "package");
        shell.status("Extracted", &format!("{what}, {}, {}{there}", count(all, "file"), size(bytes)));
    }
    if args.json {
        shell.json(&listing(&donors, &files));
    } else {
        let line = |file: &TakenFile<'_>| {
            let chunk = donors.chunk_of(file.part);
            format!("{:>10}  {}  {}", size(chunk.length), donors.container_of(file.part), file.path)
        };
        shell.data(&files.iter().map(line).collect::<Vec<_>>().join("\n"));
    }
    Ok(())
}

/// A chunk on its way into a file.
struct TakenFile<'d> {
    donor: &'d Wanted,
    part: &'d Part,
    /// Below the folder that is written into: where the game has it.
    path: String,
}

fn asked(args: &Extract) -> Asked {
    let name = |package: &String| match package.starts_with('/') {
        true => Donor { package: Some(package.clone()), ..Donor::default() },
        false => Donor { tag: Some(package.clone()), ..Donor::default() },
    };
    // Files are named by whole paths, so that what later steps call donors is of no matter.
    let numbered = |(index, donor)| Donor { name: Some(format!("{index}")), ..donor };
    let select = Selection { filter: args.filter.clone(), group: args.group.clone() };
    Asked {
        donors: args.packages.iter().map(name).enumerate().map(numbered).collect(),
        select: if args.filter.is_some() || args.group.is_some() { vec![select] } else { Vec::new() },
    }
}

fn external<'s>(
    args: &Extract,
    session: impl FnOnce() -> Result<Session<'s>, Fail>,
    shell: &Shell,
) -> Result<Box<dyn External>, Fail> {
    if let Some(folder) = &args.game {
        return Ok(Box::new(FolderExternal::new("game", folder)));
    }
    let session = session()?;
    if let Some(set) = session.settings.externals.get("game") {
        return Ok(Box::new(FolderExternal::new("game", &set.path)));
    }
    shell.warning("@game is not set: these are self-made stand-ins and nothing of the game's");
    let files = rules::stand_in_game::generate();
    let files = files.map_err(|error| Fail::machine(format!("the stand-in cannot be made: {error}")))?;
    Ok(Box::new(StandIn(files.into_iter().map(|(name, bytes)| (name, Arc::new(bytes))).collect())))
}

/// Whether the package is a world: the name that its container gives it says so, and where it has none its bytes
/// do.
fn is_world(donors: &Donors, donor: &Wanted, parts: &[Part], external: &dyn External) -> Result<bool, Fail> {
    let own = parts.iter().find(|part| part.kind == ChunkType::ExportBundleData);
    let Some(own) = own else { return Ok(false) };
    if let Some(path) = donors.path_of(own) {
        return Ok(path.ends_with(".umap"));
    }
    let bytes = donors.read(own, external);
    let bytes = bytes.map_err(|fault| donors.explain(donor, own, external, fault))?;
    Ok(Package::read(&bytes, &Limits::default()).is_ok_and(|package| package.is_world()))
}

fn path(donor: &Wanted, part: &Part, world: bool) -> Result<String, Fail> {
    let extension = match part.kind {
        ChunkType::ExportBundleData if world => "umap",
        ChunkType::ExportBundleData => "uasset",
        ChunkType::BulkData => "ubulk",
        ChunkType::OptionalBulkData => "uptnl",
        _ => "m.ubulk",
    };
    let package = &donor.package;
    package.file_path_as(extension).ok_or_else(|| {
        Fail::usage(format!(
            "`{package}` has no place in the game's folders: only `/Game` and `/Engine` have"
        ))
    })
}

/// What is not there yet. Other files under these names are refused before anything is written.
fn refuse_others<'f, 'd>(
    donors: &Donors,
    files: &'f [TakenFile<'d>],
    out: &Path,
) -> Result<Vec<&'f TakenFile<'d>>, Fail> {
    let (mut missing, mut others) = (Vec::new(), Vec::new());
    for file in files {
        let at = out.join(&file.path);
        let chunk = donors.chunk_of(file.part);
        match fs::symlink_metadata(&at) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => missing.push(file),
            Err(error) => return Err(Fail::io("look at", &at, &error)),
            Ok(metadata) if metadata.is_file() && metadata.len() == chunk.length => {
                let bytes = fs::read(&at).map_err(|error| Fail::io("read", &at, &error))?;
                if ChunkHash::of(&bytes) != chunk.hash {
                    others.push(at);
                }
            }
            Ok(_) => others.push(at),
        }
    }
    if others.is_empty() {
        return Ok(missing);
    }
    let fail = Fail::usage(format!("{} would be overwritten by another", count(others.len(), "file")));
    let fail = others.iter().take(5).fold(fail, |fail, at| fail.detail(format!("`{}`", at.display())));
    Err(fail.help("name another folder with --out"))
}

/// Writes aside and puts in place what proved to be whole.
fn write(donors: &Donors, file: &TakenFile<'_>, external: &dyn External, out: &Path) -> Result<(), Fail> {
    let at = out.join(&file.path);
    let trouble = |error: io::Error| Fail::io("write", &at, &error);
    let folder = at.parent().unwrap_or(out);
    fs::create_dir_all(folder).map_err(trouble)?;
    let mut aside = tempfile::NamedTempFile::new_in(folder).map_err(trouble)?;
    let mut to = BufWriter::with_capacity(1 << 20, aside.as_file_mut());
    let copied = donors.copy(file.part, external, &mut to);
    copied.map_err(|fault| donors.explain(file.donor, file.part, external, fault))?;
    to.flush().map_err(trouble)?;
    drop(to);
    let kept: Result<File, _> = aside.persist_noclobber(&at);
    kept.map(drop).map_err(|error| trouble(error.error))
}

fn listing(donors: &Donors, files: &[TakenFile<'_>]) -> Value {
    let file = |file: &TakenFile<'_>| {
        let chunk = donors.chunk_of(file.part);
        json!({
            "package": file.donor.package.as_str(),
            "group": file.donor.group(),
            "path": file.path,
            "chunk_id": chunk.id.to_string(),
            "meta_hash": chunk.hash.to_string(),
            "length": chunk.length,
            "container": donors.container_of(file.part),
        })
    };
    json!({"schema": 1, "files": files.iter().map(file).collect::<Vec<_>>()})
}

/// The stand-in's files, in memory.
struct StandIn(BTreeMap<String, Arc<Vec<u8>>>);

impl External for StandIn {
    fn name(&self) -> &str {
        "game"
    }

    fn files(&self) -> io::Result<Vec<(String, u64)>> {
        Ok(self.0.iter().map(|(name, bytes)| (name.clone(), bytes.len() as u64)).collect())
    }

    fn open(&self, file: &str) -> io::Result<Box<dyn ReadAt>> {
        let bytes = self.0.get(file).ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(Bytes(Arc::clone(bytes))))
    }

    fn describe(&self, file: &str) -> String {
        format!("{file} of the stand-in @game")
    }

    fn stamp(&self) -> io::Result<[u8; 32]> {
        Ok([0; 32])
    }
}

struct Bytes(Arc<Vec<u8>>);

impl ReadAt for Bytes {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        iostore::ReadAt::read_at(&*self.0, offset, buffer)
    }

    fn len(&self) -> u64 {
        self.0.len() as u64
    }
}
