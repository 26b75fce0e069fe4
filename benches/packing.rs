//! The step `pack` on many bytes, beside copying and hashing the same bytes with the same syncs.

use std::fs;
use std::path::Path;
use std::time::Duration;

use unreal::PackagePath;
use unreal::package::{Limits, Package, Renames, rename};

use crate::measure::{Table, alternate, peak_memory, this, time};
use crate::{Outcome, bytes};

const RECIPE: &str = r#"schema = 1
[[step]]
name = "pack"
rule = "pack"
inputs.packages = "Meteorite/**"
params.name = "pakchunk990-bench_P"
"#;

/// Measures `total` bytes in packages with bulk data of `piece` bytes each.
pub(crate) fn measure(folder: &Path, total: u64, piece: usize, table: &mut Table) -> Outcome<()> {
    let workspace = folder.join("workspace");
    let recipe = workspace.join("forge-packs/bench");
    write(&recipe, total, piece)?;
    fs::write(workspace.join("bake.toml"), "schema = 1\n")?;

    let (store, files, copy) = (folder.join("store"), recipe.join("Meteorite"), folder.join("copy"));
    let (store, files, copy) = (store.to_string_lossy(), files.to_string_lossy(), copy.to_string_lossy());
    let bake = |more: &[&str]| -> Outcome<_> {
        let mut command = this(&["bake", "build", "forge-packs/bench", "--store", &store])?;
        command.current_dir(&workspace).args(more);
        Ok(command)
    };
    // Takes the sources into the store; what is measured afterwards is the step alone.
    time(&mut bake(&[])?)?;
    std::thread::sleep(Duration::from_millis(2_100));
    time(&mut bake(&[])?)?;
    let again = || bake(&["--rerun", "forge-packs/bench:pack"]);

    let size = if piece >= 1 << 20 { format!("{} MiB", piece >> 20) } else { format!("{} KiB", piece >> 10) };
    let name = |what: &str| format!("{what} {} MiB in pieces of {size}", total >> 20);
    let pair = alternate(5, || time(&mut again()?), || time(&mut this(&["copy", &files, &copy])?))?;
    table.times(&name("pack"), pair, "copy+hash+sync", Some(1.5));
    match peak_memory(&mut again()?)? {
        Some(peak) => table.sizes("  its memory beside what it maps", peak, 256 << 20, "limit"),
        None => table.skipped("  its memory", "this system does not say"),
    }
    Ok(())
}

fn write(folder: &Path, total: u64, piece: usize) -> Outcome<()> {
    let donor = rules::stand_in_game::packages().into_iter().find(|package| package.bulk.is_empty());
    let donor = Package::read(&donor.ok_or("the stand-in has no plain package")?.zen, &Limits::default())?;
    let old = donor.path()?;
    let mut bulk = vec![0; piece];
    for number in 0..total / piece as u64 {
        let path = PackagePath::parse(&format!("/Game/Bench/{}/T_{number}_X", number / 1_000))?;
        let package = rename(&donor, &Renames::new([(old.clone(), path.clone())])?)?;
        let place = |extension| path.file_path_as(extension).ok_or("a package below /Game has a place");
        let file = folder.join(place("uasset")?);
        fs::create_dir_all(file.parent().ok_or("a file lies in a folder")?)?;
        fs::write(file, package.write())?;
        bytes::fill(number + 1, &mut bulk);
        fs::write(folder.join(place("ubulk")?), &bulk)?;
    }
    Ok(fs::write(folder.join("recipe.toml"), RECIPE)?)
}
