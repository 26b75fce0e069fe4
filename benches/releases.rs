//! Releases: verifying an archive beside hashing its bytes, unpacking beside the `zip` crate's, writing beside
//! that crate alone.

use std::fs::{self, File};
use std::io::{self, BufWriter, Cursor, Write};
use std::path::Path;

use mjolnir::signature::{Release, SeedKey, Sha256Digest, SignedAt};
use mjolnir::version::Version;
use mjolnir::zip::{Compression, write};
use sha2::{Digest, Sha256};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::measure::{Table, alternate, this, time};
use crate::{Outcome, bytes};

type Members = Vec<(String, Vec<u8>)>;

const MANIFEST: &[u8] =
    br#"{"schema_version":1,"name":"Bench","version":"1.0.0","type":"content","summary":"Bytes."}"#;

/// What a container takes for its tables and records, at most.
const TABLES: usize = 16 << 10;

/// Measures archives of nearly `size` bytes, or that unpack to as much.
pub(crate) fn measure(folder: &Path, size: usize, table: &mut Table) -> Outcome<()> {
    let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let name = |what: &str| format!("{what} {} MiB", size >> 20);

    let (stored, members) = (path("stored.mjolnir"), path("members"));
    let containers = containers(8, size / 8 - TABLES)?;
    place(&containers, Path::new(&members))?;
    fs::write(&stored, signed(containers)?)?;
    let verify = |file: &str| this(&["bake", "verify", "-q", file]);
    let pair = alternate(21, || time(&mut verify(&stored)?), || time(&mut this(&["digests", &stored])?))?;
    table.times(&name("verify, stored,"), pair, "BLAKE3+SHA-256", Some(1.5));

    let packed = path("packed.mjolnir");
    fs::write(&packed, signed(texts(size)?)?)?;
    let pair = alternate(5, || time(&mut verify(&packed)?), || time(&mut this(&["unzip", &packed])?))?;
    table.times(&name("verify, deflated from"), pair, "zip+SHA-256", None);

    let out = path("written");
    let halves = |how: &str| this(&[how, &members, &out]);
    let pair = alternate(11, || time(&mut halves("archive")?), || time(&mut halves("zip")?))?;
    table.times(&name("write, stored,"), pair, "zip", Some(1.2));
    Ok(())
}

/// `count` containers of `piece` bytes each, and a manifest.
fn containers(count: u64, piece: usize) -> Outcome<Members> {
    let mut members = vec![("mjolnir.json".to_owned(), MANIFEST.to_vec())];
    for number in 0..count {
        let mut data = vec![0; piece];
        bytes::fill(number + 1, &mut data);
        let (mut ucas, name) = (Vec::new(), format!("Bench{number}_P"));
        let chunk = iostore::ChunkId::new(number + 1, 0, iostore::ChunkType::BulkData);
        let utoc = iostore::Builder::new(&name).chunk(chunk, data.as_slice()).write(&mut ucas)?;
        members.push((format!("content/{name}.utoc"), utoc));
        members.push((format!("content/{name}.ucas"), ucas));
    }
    Ok(members)
}

/// The smallest containers, and `size` bytes of text.
fn texts(size: usize) -> Outcome<Members> {
    let mut members = containers(1, 1)?;
    for number in 0..4 {
        let mut noise = vec![0; size / 4 / 64];
        bytes::fill(number + 9, &mut noise);
        let lines = noise.iter().map(|byte| format!("{byte:3} {:58}\n", "a line that nearly says the same"));
        members.push((format!("docs/{number}.txt"), lines.collect::<String>().into_bytes()));
    }
    Ok(members)
}

fn signed(mut members: Members) -> Outcome<Vec<u8>> {
    let files = members.iter().map(|(name, data)| (name.clone(), Sha256Digest::of(data))).collect();
    let release = Release {
        slug: "bench".to_owned(),
        version: Version::parse("1.0.0")?,
        author: None,
        signed_at: SignedAt::from_unix(0).ok_or("the epoch has a date")?,
        files,
    };
    let envelope = release.sign(&SeedKey::from_seed(&[7; 32]))?;
    members.push(("signature.json".to_owned(), envelope.into_bytes()));
    Ok(write(&borrowed(&members), Compression::Text, Cursor::new(Vec::new()))?.into_inner())
}

fn borrowed(members: &Members) -> Vec<(&str, &[u8])> {
    members.iter().map(|(name, data)| (name.as_str(), data.as_slice())).collect()
}

fn place(members: &Members, folder: &Path) -> Outcome<()> {
    for (name, data) in members {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().ok_or("a file lies in a folder")?)?;
        fs::write(path, data)?;
    }
    Ok(())
}

/// What lies below `folder`, sorted.
fn members(folder: &Path) -> Outcome<Members> {
    let mut members = Vec::new();
    for name in ["mjolnir.json".to_owned()].into_iter().chain(
        fs::read_dir(folder.join("content"))?
            .map(|entry| entry.map(|entry| format!("content/{}", entry.file_name().to_string_lossy())))
            .collect::<io::Result<Vec<_>>>()?,
    ) {
        let data = fs::read(folder.join(&name))?;
        members.push((name, data));
    }
    members.sort();
    Ok(members)
}

/// Writes the canonical archive of a folder.
pub(crate) fn archive(folder: &Path, out: &Path) -> Outcome<()> {
    let members = members(folder)?;
    write(&borrowed(&members), Compression::Text, BufWriter::new(File::create(out)?))?.flush()?;
    Ok(())
}

/// Writes the same members with the `zip` crate alone.
pub(crate) fn zip(folder: &Path, out: &Path) -> Outcome<()> {
    let mut zip = ZipWriter::new(BufWriter::new(File::create(out)?));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, data) in members(folder)? {
        zip.start_file(name, options)?;
        zip.write_all(&data)?;
    }
    Ok(zip.finish()?.flush()?)
}

/// Both digests of a file.
pub(crate) fn digests(file: &Path) -> Outcome<()> {
    let bytes = fs::read(file)?;
    println!("{} {:x}", blake3::hash(&bytes), Sha256::digest(&bytes));
    Ok(())
}

/// Unpacks all members with the `zip` crate, checksums included, and hashes them.
pub(crate) fn unzip(file: &Path) -> Outcome<()> {
    let mut zip = ZipArchive::new(Cursor::new(fs::read(file)?))?;
    for index in 0..zip.len() {
        let mut hasher = Sha256::new();
        io::copy(&mut zip.by_index(index)?, &mut hasher)?;
        println!("{:x}", hasher.finalize());
    }
    Ok(())
}
