//! `prebuilt`: containers that were cooked elsewhere, taken as members of a release.
//!
//! It knows which files of a folder belong to which kind of release, and looks at tables of contents alone.
//! What it takes, it takes unchanged: another tool's containers are not ours to rewrite.

use engine::{Cx, Digest, Inputs, Interface, Kind, Outputs, ParamError, Pure, RuleError, Severity};
use iostore::{ChunkType, Limits, Toc};
use mjolnir::finding::{Code, Finding};
use mjolnir::manifest::MapCode;
use mjolnir::map_files::REGISTRATION;
use mjolnir::packing::{self, Level, RUNTIME_CONTAINERS, Selection};
use schemars::JsonSchema;
use serde::Deserialize;
use unreal::PackagePath;

use crate::release::{ReleaseKind, bad_level, findings, listed};

/// Parameters of `prebuilt`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// What the recipe says of the release.
    release: Release,
    /// What is released.
    kind: ReleaseKind,
    /// The folder of the files, whose name they lose.
    folder: String,
}

/// What matters here of what the recipe says of the release; the rest is the manifest's.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
struct Release {
    /// Its id.
    id: String,
    /// The code of a map.
    code: Option<String>,
}

/// The rule.
pub(crate) struct Prebuilt;

impl Pure for Prebuilt {
    type Params = Params;
    const NAME: &'static str = "prebuilt";
    const VERSION: u32 = 1;
    const DOC: &'static str = "Takes containers that were cooked elsewhere as members of a release: those of a map \
        with its level file and registration, of the runtime pack, of a Forge pack, or of any content.";

    fn interface() -> Interface {
        Interface::new().input("files", Kind::Tree, "All files of the folder.").output(
            "members",
            Kind::Tree,
            "Containers below `content/`; of a map also `map/level.json` and `map/registration.json`.",
        )
    }

    fn check(params: &Params) -> Vec<ParamError> {
        let fault = engine::WorkspacePath::parse(params.folder.as_str()).err();
        fault.map(|fault| ParamError::at("folder", fault.to_string())).into_iter().collect()
    }

    /// Tables of contents are read, containers are handed on.
    fn memory(_: &Params, input_bytes: u64) -> u64 {
        (32 << 20) + input_bytes / 16
    }

    fn run(params: Params, inputs: &Inputs<'_>, outputs: &Outputs<'_>, cx: &Cx<'_>) -> Result<(), RuleError> {
        let files = inputs.tree("files")?;
        let files: Vec<(&str, Digest)> =
            files.iter().filter_map(|(path, digest)| Some((path.below(&params.folder)?, *digest))).collect();
        let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
        let kind = params.packing()?;
        let selection = Selection::of(kind, &names)
            .map_err(|found| findings(&format!("`{}` cannot be released", params.folder), &found))?;
        let digest = |name: &str| {
            let found = files.iter().find(|(known, _)| *known == name);
            found.map(|(_, digest)| *digest).ok_or_else(|| RuleError::new(format!("there is no `{name}`")))
        };
        let mut found = Vec::new();
        let mut names = Vec::new();
        for stem in &selection.containers {
            let utoc = inputs.read(digest(&format!("{stem}.utoc"))?)?;
            let ucas = digest(&format!("{stem}.ucas"))?;
            found.extend(
                container_fault(&utoc, ucas.len()).map(|fault| fault.in_member(format!("{stem}.utoc"))),
            );
            names.extend(packages(&utoc));
        }
        if !found.is_empty() {
            return Err(findings("a container would not work in the game", &found));
        }
        names.sort();
        params.check_namespace(&names, cx)?;
        if params.kind == ReleaseKind::Runtime {
            let missing = RUNTIME_CONTAINERS.iter().copied();
            let missing: Vec<&str> =
                missing.filter(|known| !selection.containers.iter().any(|stem| stem == known)).collect();
            if !missing.is_empty() {
                cx.note(Severity::Warning, format!("the runtime pack lacks {}", listed(&missing)));
            }
        }
        for (name, member) in selection.members() {
            outputs.link_in("members", &member, digest(&name)?)?;
        }
        let (packing::Kind::Map(code), Some(level)) = (kind, &selection.level) else { return Ok(()) };
        let level_faults = |faults: Vec<_>| bad_level(level, &faults);
        let read = Level::read(&inputs.read(digest(level)?)?).map_err(level_faults)?;
        if selection.registration.is_none() {
            let text = read.registration(code).ok_or_else(|| {
                let message =
                    format!("`{level}` has no `canvas.scenario`: nothing says what the map is built on");
                RuleError::new(message)
                    .code("bad_map_file")
                    .hint(format!("name the mission there, or put `{code}.registration.json` beside it"))
            })?;
            outputs.put_in("members", REGISTRATION, text.as_bytes())?;
        }
        Ok(())
    }
}

impl Params {
    fn packing(&self) -> Result<packing::Kind, RuleError> {
        Ok(match self.kind {
            ReleaseKind::Content => packing::Kind::Content,
            ReleaseKind::Runtime => packing::Kind::Runtime,
            ReleaseKind::ForgePack => packing::Kind::ForgePack,
            ReleaseKind::Map => {
                let code = self.release.code.as_deref().unwrap_or_default();
                let code = MapCode::parse(code);
                packing::Kind::Map(code.ok_or_else(|| {
                    RuleError::new("a map needs a `code` of three of A-Z and 0-9 in `[release]`")
                        .code("bad_manifest")
                })?)
            }
        })
    }

    /// A map and a pack have folders of their own. What lies in the game's folders may replace what the game
    /// has; what lies in another mod's is a mistake.
    fn check_namespace(&self, names: &[String], cx: &Cx<'_>) -> Result<(), RuleError> {
        const MODS: [&str; 2] = ["/Game/MJOLNIR", "/Game/Tags/objects/mjolnir/forge"];
        let id = &self.release.id;
        let own = match (self.kind, &self.release.code) {
            (ReleaseKind::Map, Some(code)) => vec![format!("/Game/MJOLNIR/Maps/{code}")],
            (ReleaseKind::ForgePack, _) => {
                vec![format!("/Game/MJOLNIR/Forge/{id}"), format!("/Game/Tags/objects/mjolnir/forge/{id}")]
            }
            _ => return Ok(()),
        };
        let below = |name: &str, folder: &str| {
            let (start, rest) = name.split_at_checked(folder.len()).unwrap_or_default();
            start.eq_ignore_ascii_case(folder) && rest.starts_with('/')
        };
        let outside = names.iter().map(String::as_str).filter(|name| !own.iter().any(|own| below(name, own)));
        let (foreign, shipped): (Vec<&str>, Vec<&str>) =
            outside.partition(|name| MODS.iter().any(|folder| below(name, folder)));
        if !foreign.is_empty() {
            let error = RuleError::new(format!("packages lie in another mod's folder: {}", listed(&foreign)));
            return Err(error.hint(format!("its own are below `{}`", own.join("` and `"))));
        }
        if self.kind == ReleaseKind::ForgePack && !shipped.is_empty() {
            let message = format!("packages lie outside the pack's own folders: {}", listed(&shipped));
            cx.note(Severity::Warning, message);
        }
        Ok(())
    }
}

/// What is wrong with a container, as far as its table of contents tells.
fn container_fault(utoc: &[u8], ucas: u64) -> Option<Finding> {
    match iostore::check::toc_structure(utoc, ucas) {
        Ok(summary) if summary.encrypted => {
            Some(Finding::error(Code::EncryptedContainer, "the container is encrypted"))
        }
        Ok(_) => None,
        Err(error) => Some(Finding::error(Code::BadContainer, error.to_string())),
    }
}

/// The packages of a container, as far as they have names.
fn packages(utoc: &[u8]) -> Vec<String> {
    let Ok(toc) = Toc::read(utoc, &Limits::default()) else { return Vec::new() };
    let chunks = toc.chunks().iter().enumerate();
    let named = chunks.filter(|(_, chunk)| chunk.id.kind() == ChunkType::ExportBundleData);
    named.filter_map(|(index, _)| Some(PackagePath::of_file(&toc.path(index)?)?.to_string())).collect()
}
