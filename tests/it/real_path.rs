//! The main job on real input: packages out of a container that another tool wrote, into a pack of ours.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use iostore::{ChunkReader, ChunkType, Limits, Toc};
use unreal::PackagePath;
use unreal::package::{Package, Renames, rename};

use crate::workspace::Workspace;

const PACK: &str = "forge-packs/real";

/// A container and its bytes.
struct Container {
    toc: Toc,
    ucas: Vec<u8>,
}

impl Container {
    fn new(utoc: &[u8], ucas: Vec<u8>) -> Self {
        Self { toc: Toc::read(utoc, &Limits::default()).unwrap(), ucas }
    }

    /// Chunks by type and path, container headers aside.
    fn chunks(&self) -> BTreeMap<String, Vec<u8>> {
        let partitions: [&dyn iostore::ReadAt; 1] = [&self.ucas];
        let reader = ChunkReader::new(&self.toc, &partitions);
        let named = self
            .toc
            .chunks()
            .iter()
            .enumerate()
            .filter_map(|(index, _)| Some((index, self.toc.path(index)?)));
        named.map(|(index, path)| (path, reader.read(index, 1 << 30).unwrap())).collect()
    }

    fn packages(&self) -> Vec<PackagePath> {
        let chunks = self.toc.chunks().iter().enumerate();
        let packages = chunks.filter(|(_, chunk)| chunk.id.kind() == ChunkType::ExportBundleData);
        packages.filter_map(|(index, _)| PackagePath::of_file(&self.toc.path(index)?)).collect()
    }
}

/// The shipped-form containers of the conformance data.
fn shipped(folder: &Path) -> Vec<(PathBuf, Container)> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "utoc"));
    files.retain(|path| iostore::is_shipped_container(&path.file_stem().unwrap().to_string_lossy()));
    files.sort();
    let read = |path: PathBuf| {
        let container =
            Container::new(&fs::read(&path).unwrap(), fs::read(path.with_extension("ucas")).unwrap());
        (path, container)
    };
    files.into_iter().map(read).collect()
}

#[test]
fn donors_of_a_real_container_become_a_verified_pack() {
    let Some(folder) = test_support::conformance("ue55") else { return };
    let containers = shipped(&folder);
    assert!(!containers.is_empty());
    for (path, donors) in containers {
        let workspace = Workspace::empty().with("BAKE_GAME", &folder);
        let packages = donors.packages();
        assert!(packages.len() >= 2, "{}", path.display());
        let mut recipe =
            "schema = 1\npipeline = \"forge-pack\"\n[release]\nname = \"Real\"\nversion = \"1.0.0\"\n\
                          summary = \"Packages of a real container\"\n[values]\ndocs = []\n"
                .to_owned();
        for package in &packages {
            recipe += &format!("[[values.donors]]\nname = \"{}\"\npackage = \"{package}\"\n", package.leaf());
        }
        workspace.write(&format!("{PACK}/recipe.toml"), &recipe);
        workspace.bake(&["build", PACK]).success();
        workspace.bake(&["verify", "out/forge-packs/real/real-1.0.0.mjolnir"]).success();

        let archive = fs::read(workspace.path("out/forge-packs/real/real-1.0.0.mjolnir")).unwrap();
        let archive = mjolnir::zip::Archive::read(&archive).unwrap();
        let member = |extension: &str| {
            let members: Vec<_> =
                archive.members().filter(|member| member.name().ends_with(extension)).collect();
            assert_eq!(members.len(), 1, "{extension}");
            members[0].read().into_owned()
        };
        let built = Container::new(&member(".utoc"), member(".ucas"));
        iostore::check::container(&member(".utoc"), &built.ucas, None).unwrap();

        let new_path = |old: &PackagePath| {
            PackagePath::parse(&format!("/Game/MJOLNIR/Forge/real/{}", old.leaf())).unwrap()
        };
        let back = Renames::new(packages.iter().map(|old| (new_path(old), old.clone()))).unwrap();
        let (before, after) = (donors.chunks(), built.chunks());
        assert_eq!(before.len(), after.len());
        for old in &packages {
            for (file, bytes) in before.iter().filter(|(file, _)| file.starts_with(&stem(old))) {
                let extension = file.strip_prefix(&stem(old)).unwrap();
                let now = &after[&format!("{}{extension}", stem(&new_path(old)))];
                if [".uasset", ".umap"].contains(&extension) {
                    let package = Package::read(now, &unreal::package::Limits::default()).unwrap();
                    assert_eq!(package.path().unwrap(), new_path(old));
                    let original = rename(&package, &back).unwrap().write();
                    test_support::assert_bytes_eq(file, &original, bytes);
                } else {
                    test_support::assert_bytes_eq(file, now, bytes);
                }
            }
        }
    }
}

/// The file of a package without its extension.
fn stem(package: &PackagePath) -> String {
    package.file_path_as("").unwrap().trim_end_matches('.').to_owned()
}
