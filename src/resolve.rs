//! `bake resolve`: which releases of a folder go together with what is asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use engine::Failure;
use mjolnir::manifest::is_slug;
use mjolnir::version::{Line, Range, Version};
use release::Universe;
use release::resolve::{Asked, Channel, Chosen, Problem, Release, Want};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::archives::{self, INDEX};
use crate::cli::Resolve;
use crate::fail::{Exit, Fail};
use crate::shell::Shell;
use crate::verify::given;

/// What the hub tells of releases beside the archives.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Index {
    schema: u32,
    releases: Vec<Told>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Told {
    slug: String,
    version: String,
    #[serde(default)]
    channel: Stage,
    #[serde(default)]
    yanked: bool,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Stage {
    #[default]
    Stable,
    Beta,
}

const LONGEST_INDEX: u64 = 16 << 20;

pub(crate) fn run(args: &Resolve, shell: &Shell) -> Result<(), Fail> {
    let mut universe = Universe::default();
    for folder in &args.releases {
        for path in archives::in_folder(folder)? {
            add(&mut universe, &path)?;
        }
    }
    for folder in &args.releases {
        mark(&mut universe, &folder.join(INDEX))?;
    }
    let asked = args.wanted.iter().map(|text| ask(&mut universe, text)).collect::<Result<Vec<_>, _>>()?;
    let installed =
        args.installed.iter().map(|text| pinned(text)).collect::<Result<BTreeMap<String, Version>, _>>()?;
    let resolved = universe.resolve(&asked, &installed);
    if args.json {
        let empty = BTreeMap::new();
        let (chosen, problems) = match &resolved {
            Ok(chosen) => (chosen, &[][..]),
            Err(problems) => (&empty, problems.as_slice()),
        };
        let chosen = chosen.iter().map(|(slug, chosen)| chosen_json(&universe, slug, chosen));
        shell.json(&json!({
            "schema": 1,
            "resolved": chosen.collect::<Vec<_>>(),
            "problems": problems.iter().map(problem_json).collect::<Vec<_>>(),
        }));
        return resolved.map(|_| ()).map_err(|_| Fail::said(Exit::Refused));
    }
    match resolved {
        Ok(chosen) => {
            shell.data(&table(&universe, &chosen));
            Ok(())
        }
        Err(problems) => Err(Fail::of(Exit::Refused, problems.iter().map(failure).collect())),
    }
}

/// Adds the release that a file is of, and says which it is.
fn add(universe: &mut Universe, path: &Path) -> Result<(String, Version), Fail> {
    let found = archives::read(path, None, false)?;
    let Some(slug) = found.known().slug().map(str::to_owned) else {
        let message = format!("`{}` does not tell its slug", path.display());
        return Err(Fail::usage(message).help("call it `<slug>-<version>.mjolnir`"));
    };
    let version = found.manifest.version.clone();
    let release = Release {
        version: version.clone(),
        deps: found.manifest.deps.clone(),
        channel: Channel::default(),
        yanked: false,
        source: path.to_string_lossy().into_owned(),
    };
    if let Err(twice) = universe.insert(&slug, release)
        && let Some(known) = universe.get_mut(&slug, &version)
    {
        if known.deps != twice.deps {
            let message = format!(
                "`{}` and `{}` are both {version} of `{slug}` and need other releases",
                known.source, twice.source
            );
            return Err(Fail::usage(message).help("a released version never changes: keep the published one"));
        }
        // An archive can be installed, its record cannot.
        if twice.source.ends_with(".mjolnir") {
            known.source = twice.source;
        }
    }
    Ok((slug, version))
}

/// Applies what an index tells, where there is one.
fn mark(universe: &mut Universe, path: &Path) -> Result<(), Fail> {
    if !path.exists() {
        return Ok(());
    }
    let wrong = |message: String| Fail::usage(format!("`{}`: {message}", path.display()));
    let index: Index = serde_json::from_slice(&given(path, LONGEST_INDEX)?)
        .map_err(|error| wrong(format!("it is no index: {error}")))?;
    if index.schema != 1 {
        return Err(wrong(format!("schema {} found, only 1 is known", index.schema)));
    }
    let mut seen = BTreeSet::new();
    for told in index.releases {
        let (slug, version) = (&told.slug, &told.version);
        if !seen.insert((slug.clone(), version.clone())) {
            return Err(wrong(format!("{version} of `{slug}` is listed twice")));
        }
        let version =
            Version::parse(version).map_err(|error| wrong(format!("`{version}` of `{slug}`: {error}")))?;
        if let Some(release) = universe.get_mut(&told.slug, &version) {
            release.yanked = told.yanked;
            release.channel = match told.channel {
                Stage::Stable => Channel::Stable,
                Stage::Beta => Channel::Beta,
            };
        }
    }
    Ok(())
}

/// What a text asks for: the release of a file, or a slug with or without a range.
fn ask(universe: &mut Universe, text: &str) -> Result<Asked, Fail> {
    let path = Path::new(text);
    let named = path.extension().is_some_and(|extension| extension == "mjolnir" || extension == "json");
    if path.is_file() || named {
        let (slug, version) = add(universe, path)?;
        let range = Range::parse(&version.to_string()).map_err(|error| Fail::usage(error.to_string()))?;
        return Ok(Asked { slug, range });
    }
    let (slug, range) = text.split_once('@').unwrap_or((text, "*"));
    check_slug(slug, text)?;
    let range = Range::parse(range).map_err(|error| Fail::usage(format!("`{text}`: {error}")))?;
    Ok(Asked { slug: slug.to_owned(), range })
}

/// `foundry@0.2.0`.
fn pinned(text: &str) -> Result<(String, Version), Fail> {
    let Some((slug, version)) = text.split_once('@') else {
        return Err(Fail::usage(format!("`{text}` names no version: expected `<slug>@<version>`")));
    };
    check_slug(slug, text)?;
    let version = Version::parse(version).map_err(|error| Fail::usage(format!("`{text}`: {error}")))?;
    Ok((slug.to_owned(), version))
}

fn check_slug(slug: &str, text: &str) -> Result<(), Fail> {
    match is_slug(slug) {
        true => Ok(()),
        false => Err(Fail::usage(format!(
            "`{text}` is neither a file nor a slug: expected an archive, a record, or `<slug>@<range>`"
        ))),
    }
}

fn table(universe: &Universe, chosen: &BTreeMap<String, Chosen>) -> String {
    let width = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or_default();
    let slugs = width(&mut chosen.keys().map(String::len));
    let versions = width(&mut chosen.values().map(|chosen| chosen.version.to_string().len()));
    let mut text = String::new();
    for (slug, chosen) in chosen {
        let source = universe.get(slug, &chosen.version).map(|release| release.source.as_str());
        let from = match (chosen.kept, source) {
            (true, _) => "installed, kept",
            (false, source) => source.unwrap_or_default(),
        };
        let wanted: Vec<String> =
            chosen.wanted.iter().map(|want| format!("{} by {}", want.range, want.by)).collect();
        let version = chosen.version.to_string();
        text += &format!("{slug:slugs$}  {version:versions$}  {from}  (wanted: {})\n", wanted.join(", "));
    }
    text
}

/// What people read of a problem.
fn failure(problem: &Problem) -> Failure {
    let wants = |wanted: &[Want]| -> Vec<String> {
        wanted.iter().map(|want| format!("{} is wanted by {}", want.range, want.by)).collect()
    };
    let (details, hint) = match problem {
        Problem::Missing { wanted, .. } => (wants(wanted), "add it to the folder of releases".to_owned()),
        Problem::Conflict { wanted, lines, .. } => {
            let line = |(line, versions): (&Line, &Vec<Version>)| {
                let versions: Vec<String> = versions.iter().map(ToString::to_string).collect();
                format!("{} (line {line})", versions.join(", "))
            };
            let there: Vec<String> = lines.iter().map(line).collect();
            let there = if there.is_empty() { "none that can be taken".to_owned() } else { there.join("; ") };
            let hint = match wanted.len() {
                1 => format!("there are {there}"),
                _ => format!("there are {there}: update the dependent of the older line, or leave one out"),
            };
            (wants(wanted), hint)
        }
        Problem::Cycle(_) => (Vec::new(), "one of them must do without the next".to_owned()),
        Problem::Depth(_) => (Vec::new(), "let them need directly what they use".to_owned()),
    };
    Failure { message: problem.to_string(), details, hint: Some(hint), code: None }
}

fn wants_json(wanted: &[Want]) -> Vec<Value> {
    use release::resolve::Dependent;
    let want = |want: &Want| {
        let (slug, version) = match &want.by {
            Dependent::Caller => (None, None),
            Dependent::Release(slug, version) => (Some(slug), Some(version.to_string())),
        };
        json!({"slug": slug, "version": version, "range": want.range.to_string()})
    };
    wanted.iter().map(want).collect()
}

fn chosen_json(universe: &Universe, slug: &str, chosen: &Chosen) -> Value {
    json!({
        "slug": slug,
        "version": chosen.version.to_string(),
        "kept": chosen.kept,
        "file": universe.get(slug, &chosen.version).map(|release| &release.source),
        "wanted_by": wants_json(&chosen.wanted),
    })
}

fn problem_json(problem: &Problem) -> Value {
    let message = problem.to_string();
    match problem {
        Problem::Missing { slug, wanted } => {
            json!({"kind": "missing", "message": message, "slug": slug, "wanted_by": wants_json(wanted)})
        }
        Problem::Conflict { slug, wanted, lines } => {
            let available: Vec<String> = lines.values().flatten().map(ToString::to_string).collect();
            json!({
                "kind": "conflict",
                "message": message,
                "slug": slug,
                "wanted_by": wants_json(wanted),
                "available": available,
            })
        }
        Problem::Cycle(slugs) => json!({"kind": "cycle", "message": message, "slugs": slugs}),
        Problem::Depth(slugs) => json!({"kind": "depth", "message": message, "slugs": slugs}),
    }
}
