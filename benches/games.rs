//! Donors of a game of 200,000 chunks, made here: planning beside reading the same tables of contents, and
//! extraction beside reading and hashing the same bytes.
//!
//! The tables are written field by field and not by our writer, with some ten blocks a chunk as the game has.
//! Every `.ucas` is a sparse file in which only the donors have bytes.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use iostore::{ChunkHash, ChunkReader, ChunkType, Limits, ReadAt, Toc};
use unreal::PackagePath;
use unreal::package::{Package, Renames, rename};

use crate::measure::{Table, alternate, peak_memory, this, time};
use crate::{Outcome, bytes};

const CONTAINERS: usize = 40;
const PACKAGES: usize = 2_500;
const BLOCK: usize = 65_536;
/// The bulk data of a package, in blocks, of donors and of all others.
const DONOR_BLOCKS: usize = 64;
const OTHER_BLOCKS: usize = 17;
const DONORS: usize = 50;
const NONE: u32 = u32::MAX;

/// Measures planning and extraction.
pub(crate) fn measure(folder: &Path, table: &mut Table) -> Outcome<()> {
    let game = folder.join("game");
    fs::create_dir(&game)?;
    let donors = make(&game)?;
    let (game, out) = (game.to_string_lossy(), folder.join("out"));
    let extract = |more: &[&str]| -> Outcome<_> {
        let mut command = this(&["bake", "extract", "--game", &game])?;
        command.args(&donors).args(more);
        Ok(command)
    };
    let plan = || extract(&["--dry-run", "--json"]);
    let tables = alternate(5, || time(&mut plan()?), || time(&mut this(&["tables", &game])?))?;
    table.times("plan 50 of 100,000 packages", tables, "parsing tables", Some(3.0));
    let bytes = alternate(5, || time(&mut plan()?), || time(&mut this(&["table-bytes", &game])?))?;
    table.times("plan 50 of 100,000 packages", bytes, "their bytes", None);
    match peak_memory(&mut plan()?)? {
        Some(peak) => table.sizes("  its memory", peak, 512 << 20, "limit"),
        None => table.skipped("  its memory", "this system does not say"),
    }
    let read = alternate(
        5,
        || time(this(&["donors", &game])?.args(&donors)),
        || time(this(&["ranges", &game])?.args(&donors)),
    )?;
    table.times("extract 200 MiB, discarded", read, "read+hash", Some(1.25));
    let out_text = out.to_string_lossy().into_owned();
    let written = alternate(
        3,
        || {
            let _ = fs::remove_dir_all(&out);
            time(&mut extract(&["--out", &out_text])?)
        },
        || {
            let _ = fs::remove_file(folder.join("copy"));
            time(this(&["ranges", &game])?.args(&donors).env("BENCH_COPY", folder.join("copy")))
        },
    )?;
    table.times("extract 200 MiB into files", written, "read+hash+write", None);
    Ok(())
}

/// Reads and checks all tables of contents, one after the other, and does nothing with them.
pub(crate) fn tables(game: &Path) -> Outcome<()> {
    each_table(game, |bytes| Ok(Toc::read(bytes, &Limits::default())?.chunks().len()))
}

/// Reads the bytes of all tables of contents, one after the other, and does not look at them.
pub(crate) fn table_bytes(game: &Path) -> Outcome<()> {
    each_table(game, |bytes| Ok(bytes.len()))
}

fn each_table(game: &Path, size: impl Fn(&[u8]) -> Outcome<usize>) -> Outcome<()> {
    let mut total = 0;
    for entry in fs::read_dir(game)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "utoc") {
            total += size(&fs::read(path)?)?;
        }
    }
    println!("{total}");
    Ok(())
}

/// Extracts donors as a build does, to nowhere.
pub(crate) fn donors(game: &Path, packages: &[&str]) -> Outcome<()> {
    with_chunks(game, packages, &mut |toc, index, file, _| {
        let files: [&dyn ReadAt; 1] = [&AtFile(file, file.metadata()?.len())];
        ChunkReader::new(toc, &files).copy(index, &mut io::sink())?;
        Ok(())
    })
}

/// Reads the bytes of donors where they lie, a mebibyte at a time, and hashes them; with `BENCH_COPY` it writes
/// them into that file as well.
pub(crate) fn ranges(game: &Path, packages: &[&str]) -> Outcome<()> {
    let mut copy = std::env::var_os("BENCH_COPY").map(File::create).transpose()?;
    let mut buffer = vec![0; 1 << 20];
    with_chunks(game, packages, &mut |_, _, mut file, (start, length)| {
        file.seek(SeekFrom::Start(start))?;
        let (mut rest, mut hasher) = (file.take(length), blake3::Hasher::new());
        loop {
            let read = rest.read(&mut buffer)?;
            let Some(bytes) = buffer.get(..read).filter(|bytes| !bytes.is_empty()) else { break };
            match read < 128 << 10 {
                true => hasher.update(bytes),
                false => hasher.update_rayon(bytes),
            };
            copy.as_mut().map_or(Ok(()), |copy| copy.write_all(bytes))?;
        }
        println!("{}", hasher.finalize());
        Ok(())
    })
}

/// What is done with a chunk: its container, its index there, the `.ucas`, and where in it the chunk lies.
type Each<'e> = dyn FnMut(&Toc, usize, &File, (u64, u64)) -> Outcome<()> + 'e;

/// Both sides find donors in the same way, which is not what is compared.
fn with_chunks(game: &Path, packages: &[&str], each: &mut Each<'_>) -> Outcome<()> {
    let mut wanted = Vec::new();
    for package in packages {
        let id = PackagePath::parse(package)?.id();
        wanted.extend([ChunkType::ExportBundleData, ChunkType::BulkData].map(|kind| id.chunk(kind)));
    }
    for entry in fs::read_dir(game)? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "utoc") {
            continue;
        }
        let toc = Toc::read(&fs::read(&path)?, &Limits::default())?;
        let file = File::open(path.with_extension("ucas"))?;
        for index in wanted.iter().filter_map(|id| toc.find(*id)) {
            let (_, blocks) = toc.blocks_of(index).ok_or("a chunk has blocks")?;
            let start = blocks.first().ok_or("a chunk has blocks")?.offset;
            let length = blocks.iter().map(|block| u64::from(block.compressed_size)).sum();
            each(&toc, index, &file, (start, length))?;
        }
    }
    Ok(())
}

/// A file and its length, as the engine hands it to an import.
struct AtFile<'f>(&'f File, u64);

impl ReadAt for AtFile<'_> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let mut file = self.0;
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(buffer)
    }

    fn len(&self) -> u64 {
        self.1
    }
}

/// Makes the game, and gives the paths of its donors.
fn make(game: &Path) -> Outcome<Vec<String>> {
    let plain = rules::stand_in_game::packages().into_iter().find(|package| package.bulk.is_empty());
    let plain = plain.ok_or("the stand-in has no plain package")?;
    let donor = Package::read(&plain.zen, &unreal::package::Limits::default())?;
    let mut donors = Vec::new();
    for container in 0..CONTAINERS {
        let stem = format!("pakchunk{container}-Windows");
        let mut ucas = File::create(game.join(format!("{stem}.ucas")))?;
        let mut made = Made::default();
        for package in 0..PACKAGES {
            let number = container * PACKAGES + package;
            let path = format!("/Game/Bench/D{}/T_{number}_X", number % 997);
            let id = PackagePath::parse(&path)?.id();
            let taken = number % (CONTAINERS * PACKAGES / DONORS) == 1;
            let (zen, blocks) = match taken {
                true => {
                    let to = [(donor.path()?, PackagePath::parse(&path)?)];
                    (rename(&donor, &Renames::new(to)?)?.write(), DONOR_BLOCKS)
                }
                false => (vec![0; 1_000 + number % 3_000], OTHER_BLOCKS),
            };
            let mut bulk = vec![0; blocks * BLOCK - number % 5_000];
            if taken {
                bytes::fill(number as u64, &mut bulk);
                donors.push(path);
            }
            for (kind, extension, content) in
                [(ChunkType::ExportBundleData, "uasset", &zen), (ChunkType::BulkData, "ubulk", &bulk)]
            {
                // Nobody asks for the others.
                let hash = if taken { *ChunkHash::of(content).as_bytes() } else { [1; 20] };
                let name = format!("T_{number}_X.{extension}");
                let at = made.add(id.chunk(kind).as_bytes(), content.len(), hash, (number % 997, name));
                if taken {
                    ucas.seek(SeekFrom::Start(at))?;
                    ucas.write_all(content)?;
                }
            }
        }
        ucas.set_len(made.end)?;
        fs::write(game.join(format!("{stem}.utoc")), made.table(container as u64))?;
    }
    Ok(donors)
}

/// The sections of a table of contents.
#[derive(Default)]
struct Made {
    ids: Vec<u8>,
    places: Vec<u8>,
    blocks: Vec<u8>,
    metas: Vec<u8>,
    names: Vec<(usize, String)>,
    block_count: usize,
    end: u64,
}

impl Made {
    /// Adds a chunk and gives its place in the `.ucas`.
    fn add(&mut self, id: &[u8; 12], length: usize, hash: [u8; 20], name: (usize, String)) -> u64 {
        let start = self.end;
        self.ids.extend(id);
        self.places.extend(&((self.block_count * BLOCK) as u64).to_be_bytes()[3..]);
        self.places.extend(&(length as u64).to_be_bytes()[3..]);
        for at in (0..length).step_by(BLOCK) {
            let size = (length - at).min(BLOCK) as u32;
            self.blocks.extend(&self.end.to_le_bytes()[..5]);
            self.blocks.extend([&size.to_le_bytes()[..3], &size.to_le_bytes()[..3], &[0]].concat());
            self.end = (self.end + u64::from(size)).next_multiple_of(16);
            self.block_count += 1;
        }
        self.metas.extend(hash);
        self.metas.extend([0; 4]);
        self.names.push(name);
        start
    }

    fn table(&self, container: u64) -> Vec<u8> {
        let (chunks, index) = (self.names.len(), self.index());
        let number = |value: usize| (value as u32).to_le_bytes();
        let mut out = b"-==--==--==--==-\x08\0\0\0".to_vec();
        let fields = [144, chunks, self.block_count, 12, 0, 32, BLOCK, index.len(), 1];
        out.extend(fields.into_iter().flat_map(number));
        out.extend(container.to_le_bytes());
        out.extend([0; 16]);
        out.extend([8, 0, 0, 0]);
        // The seeds of half as many buckets: no reader of ours looks at them.
        out.extend(number(chunks / 2));
        out.extend([0xff; 8]);
        out.extend([0; 48]);
        out.extend([&self.ids[..], &self.places].concat());
        out.extend((0..chunks / 2).flat_map(|_| (-1_i32).to_le_bytes()));
        out.extend([&self.blocks[..], &index, &self.metas].concat());
        out
    }

    /// `Meteorite/Content/Bench/D<n>/<file>`.
    fn index(&self) -> Vec<u8> {
        let mut names = vec!["Meteorite".to_owned(), "Content".to_owned(), "Bench".to_owned()];
        let mut directories =
            vec![[NONE, 1, NONE, NONE], [0, 2, NONE, NONE], [1, 3, NONE, NONE], [2, NONE, NONE, NONE]];
        let (mut files, mut folders) = (Vec::new(), std::collections::BTreeMap::new());
        for (chunk, (folder, name)) in self.names.iter().enumerate() {
            let directory = *folders.entry(folder).or_insert_with(|| {
                names.push(format!("D{folder}"));
                directories.push([names.len() as u32 - 1, NONE, directories[3][1], NONE]);
                directories[3][1] = directories.len() as u32 - 1;
                directories.len() - 1
            });
            names.push(name.clone());
            files.push([names.len() as u32 - 1, directories[directory][3], chunk as u32]);
            directories[directory][3] = files.len() as u32 - 1;
        }
        let mut out = b"\x0a\0\0\0../../../\0".to_vec();
        let mut numbers = |of: &[u32], count: usize| {
            out.extend((count as u32).to_le_bytes());
            out.extend(of.iter().flat_map(|value| value.to_le_bytes()));
        };
        numbers(directories.as_flattened(), directories.len());
        numbers(files.as_flattened(), files.len());
        numbers(&[], names.len());
        for name in names {
            out.extend((name.len() as u32 + 1).to_le_bytes());
            out.extend(name.as_bytes());
            out.push(0);
        }
        out
    }
}
