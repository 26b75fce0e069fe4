//! `bake pack`: a folder of containers that were cooked elsewhere becomes a release, without a recipe.
//!
//! It decides nothing that a recipe would not: it writes the recipe that the command line means into a
//! temporary workspace and builds that, so that choice of files, checks, signing and cache are the same.
//! Invariant: what appears at `--out` has been read back from that folder and scanned.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use engine::Failure;
use mjolnir::finding::{Finding, Level};
use mjolnir::manifest::{Manifest, MapCode, Payload, is_slug};
use mjolnir::packing::{self, Kind, RUNTIME, Selection};
use mjolnir::scan::{Context, scan};
use mjolnir::version::Version;
use serde_json::{Map, Value, json};

use crate::Product;
use crate::cli::{Cli, How, Pack, PackForge, PackMap, PackOptions, PackRuntime};
use crate::count::size;
use crate::driver::{self, Driver, Ended, Request, placed};
use crate::fail::{Exit, Fail};
use crate::make::{Watchers, verdict};
use crate::session::{Session, environment, find_root, start, store_path};
use crate::shell::Shell;

pub(crate) fn run(command: &Pack, cli: &Cli, product: &Product, shell: &Shell) -> Result<(), Fail> {
    let (job, options) = match command {
        Pack::Map(args) => (map(args)?, &args.options),
        Pack::Runtime(args) => (runtime(args)?, &args.options),
        Pack::Forge(args) => (forge(args)?, &args.options),
    };
    job.check()?;
    let out = options.out.clone().unwrap_or_else(|| PathBuf::from(job.file_name()));
    check_place(&out)?;
    let archive = job.build(options, cli, product, shell)?;
    let signed = options.sign.device || options.sign.sign_seed.is_some();
    let context = Context {
        slug: Some(job.id.clone()),
        version: Some(job.version.clone()),
        require_signed: signed,
        ..Context::default()
    };
    let warnings = place(&archive, &out, &context)?;
    for finding in warnings.iter().filter(|finding| finding.code != mjolnir::finding::Code::Unsigned) {
        shell.warning(&line(finding));
    }
    let state = if signed { "verified, signed" } else { "verified, unsigned" };
    shell.status("Packed", &format!("{}   {}   {state}", out.display(), size(archive.len() as u64)));
    Ok(())
}

/// What is packed: the files of a folder, and the recipe that says what they are.
struct Job {
    kind: Kind,
    folder: PathBuf,
    selection: Selection,
    id: String,
    version: String,
    /// `[release]`.
    release: Map<String, Value>,
    /// `[values]`.
    values: Map<String, Value>,
    /// What else the step that writes the manifest is told.
    marks: Map<String, Value>,
    changes: Option<PathBuf>,
}

impl Job {
    /// The files of `folder` that this kind of release takes.
    fn new(kind: Kind, folder: &Path) -> Result<Self, Fail> {
        let files = list(folder)?;
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let selection = Selection::of(kind, &files)
            .map_err(|findings| refused(format!("`{}` cannot be packed", folder.display()), &findings))?;
        Ok(Self {
            kind,
            folder: folder.to_path_buf(),
            selection,
            id: String::new(),
            version: String::new(),
            release: Map::new(),
            values: Map::new(),
            marks: Map::new(),
            changes: None,
        })
    }

    fn say(&mut self, id: &str, name: &str, version: &str, summary: Option<&str>) {
        (self.id, self.version) = (id.to_owned(), version.to_owned());
        let said = [("id", Some(id)), ("name", Some(name)), ("version", Some(version)), ("summary", summary)];
        self.release.extend(said.into_iter().filter_map(|(key, text)| Some((key.to_owned(), json!(text?)))));
    }

    fn check(&self) -> Result<(), Fail> {
        if !is_slug(&self.id) {
            let message =
                format!("`{}` is no slug: 2 to 64 of `a-z`, `0-9`, `-`, not starting with `-`", self.id);
            return Err(Fail::usage(message).help("name one with --slug"));
        }
        Version::parse(&self.version)
            .map(drop)
            .map_err(|error| Fail::usage(format!("`{}` is no version: {error}", self.version)))
    }

    fn file_name(&self) -> String {
        let suffix = if self.marks.contains_key("stand_ins") { ".standin" } else { "" };
        format!("{}-{}{suffix}.mjolnir", self.id, self.version)
    }

    fn label(&self) -> String {
        let top = if matches!(self.kind, Kind::Map(_)) { "maps" } else { "forge-packs" };
        format!("{top}/{}", self.id)
    }

    fn recipe(&self) -> Result<String, Fail> {
        let kind = match self.kind {
            Kind::Map(_) => "map",
            Kind::Runtime => "runtime",
            Kind::ForgePack => "forge-pack",
            Kind::Content => "content",
        };
        let mut values = self.values.clone();
        values.insert("kind".to_owned(), json!(kind));
        let mut recipe =
            json!({"schema": 1, "pipeline": "prebuilt", "release": self.release, "values": values});
        if !self.marks.is_empty() {
            recipe["step"] = json!([{"name": "manifest", "params": self.marks}]);
        }
        toml::to_string(&recipe).map_err(|error| Fail::usage(format!("no recipe can say this: {error}")))
    }

    /// Builds in a workspace of its own and gives the archive.
    fn build(
        &self,
        options: &PackOptions,
        cli: &Cli,
        product: &Product,
        shell: &Shell,
    ) -> Result<Vec<u8>, Fail> {
        let workspace =
            tempfile::tempdir().map_err(|error| Fail::machine(format!("no temporary folder: {error}")))?;
        let (root, label) = (workspace.path(), self.label());
        let folder = root.join(&label);
        write(&root.join("bake.toml"), b"schema = 1\n")?;
        write(&folder.join("recipe.toml"), self.recipe()?.as_bytes())?;
        for (name, _) in self.selection.members() {
            copy(&self.folder.join(&name), &folder.join("content").join(&name))?;
        }
        let more = [(&options.readme, "README.md"), (&self.changes, "changes.json")];
        for (from, name) in more.into_iter().filter_map(|(from, name)| Some((from.as_ref()?, name))) {
            copy(from, &folder.join(name))?;
        }
        let session = session(root, options, cli, product)?;
        driver::watch_for_interrupts(shell);
        let driver = Driver::open(&session)?;
        let (labels, how) = ([label], How { sign: options.sign.clone(), ..How::default() });
        let out = root.join("out");
        let request = Request {
            labels: &labels,
            out: out.clone(),
            how: &how,
            remember: false,
            all: false,
            elsewhere: None,
        };
        let mut watchers = Watchers::new(&session, shell, None)?;
        let ended = driver.build(&request, &mut watchers);
        watchers.progress.finish();
        let Ended::Built(done) = ended? else {
            return Err(Fail::machine("a folder that was just made was built before"));
        };
        verdict(&done)?;
        let archive = done.artifacts.first().map(|artifact| placed(&out, &artifact.record.path));
        let archive = archive.ok_or_else(|| Fail::machine("the build placed no archive"))?;
        fs::read(&archive).map_err(|error| Fail::io("read", &archive, &error))
    }
}

/// The temporary workspace, with the store that builds from here use.
fn session<'a>(
    root: &Path,
    options: &PackOptions,
    cli: &Cli,
    product: &'a Product,
) -> Result<Session<'a>, Fail> {
    let environment = environment();
    let around = find_root(&start(cli)?).ok();
    let around = around.map(|root| recipes::Settings::read(&root, &environment)).transpose()?;
    let signs = options.sign.device || options.sign.sign_seed.is_some();
    if signs && options.sign.signed_at.is_none() && !environment.contains_key("SOURCE_DATE_EPOCH") {
        let fail = Fail::usage("a signature states its time, and none is given");
        return Err(fail.help("give --signed-at, such as 2026-10-10T00:00:00Z, or set SOURCE_DATE_EPOCH"));
    }
    Ok(Session {
        product,
        root: root.to_path_buf(),
        // Keys and externals of a workspace around are its recipes' affair.
        settings: recipes::Settings::default(),
        store_path: store_path(cli, around.as_ref(), &environment)?,
        environment,
    })
}

fn map(args: &PackMap) -> Result<Job, Fail> {
    let upper = args.code.to_ascii_uppercase();
    let code = MapCode::parse(&upper).ok_or_else(|| {
        Fail::usage(format!("`{}` cannot be the code of a map: expected three of A-Z and 0-9", args.code))
    })?;
    let mut job = Job::new(Kind::Map(code), &args.folder)?;
    let read = |name: &Option<String>| match name {
        Some(name) => read(&args.folder.join(name)),
        None => Ok(Vec::new()),
    };
    let level = packing::Level::read(&read(&job.selection.level)?).map_err(|faults| {
        let name = job.selection.level.clone().unwrap_or_default();
        faulty(format!("`{name}` is no level file of a map"), "bad_map_file", &faults)
    })?;
    let registration = match &job.selection.registration {
        Some(_) => read(&job.selection.registration)?,
        None => level.registration(code).unwrap_or_default().into_bytes(),
    };
    let title = level.title(&registration, code);
    let slug = args.slug.clone().unwrap_or_else(|| packing::map_slug(&title));
    let name = args.name.as_deref().unwrap_or(&title);
    job.say(&slug, name, &args.release_version, args.summary.as_deref());
    job.release.insert("code".to_owned(), json!(upper));
    job.values.insert("runtime".to_owned(), json!(args.runtime));
    Ok(job)
}

fn runtime(args: &PackRuntime) -> Result<Job, Fail> {
    let mut job = Job::new(Kind::Runtime, &args.folder)?;
    let or_default = |text: &Option<String>| text.clone().unwrap_or_else(|| RUNTIME.to_owned());
    let (slug, name) = (or_default(&args.slug), or_default(&args.name));
    job.say(&slug, &name, &args.release_version, args.summary.as_deref());
    Ok(job)
}

fn forge(args: &PackForge) -> Result<Job, Fail> {
    let shown = args.manifest.display();
    let told = |faults: Vec<_>| faulty(format!("`{shown}` is no manifest"), "bad_manifest", &faults);
    let manifest = Manifest::read(&read(&args.manifest)?).map_err(told)?;
    let Payload::ForgePack(pack) = &manifest.payload else {
        return Err(Fail::usage(format!("`{shown}` has no `forge_pack`: it is no manifest of a Forge pack")));
    };
    let mut job = Job::new(Kind::ForgePack, &args.content)?;
    job.say(&pack.id, &manifest.name, &manifest.version.to_string(), manifest.summary.as_deref());
    // In the form in which it is written: without what was left empty or is not known.
    let document: Value = serde_json::from_str(&manifest.write().map_err(told)?)
        .map_err(|error| Fail::usage(format!("`{shown}`: {error}")))?;
    for key in ["compat", "deps"] {
        job.release.extend(document.get(key).map(|value| (key.to_owned(), value.clone())));
    }
    job.values.insert("blocks".to_owned(), document["forge_pack"]["blocks"].clone());
    let marks = document.get("x_bake").and_then(Value::as_object).cloned();
    job.marks = marks.unwrap_or_default();
    job.changes.clone_from(&args.changes);
    Ok(job)
}

/// The folder that a file lies in.
fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether an archive can have this name, before there is work for nothing.
fn check_place(out: &Path) -> Result<(), Fail> {
    let (folder, help) = (folder_of(out), "`--out` names the archive: a file in a folder that is there");
    if out.is_dir() {
        return Err(Fail::usage(format!("`{}` is a folder", out.display())).help(help));
    }
    if !folder.is_dir() {
        return Err(Fail::usage(format!("there is no folder `{}`", folder.display())).help(help));
    }
    Ok(())
}

/// Writes the archive beside its place, reads it back, scans it, and only then gives it its name.
fn place(archive: &[u8], out: &Path, context: &Context) -> Result<Vec<Finding>, Fail> {
    let folder = folder_of(out);
    let trouble = |error: &std::io::Error| Fail::io("write", out, error);
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(|error| trouble(&error))?;
    file.write_all(archive).and_then(|()| file.as_file().sync_all()).map_err(|error| trouble(&error))?;
    let report = scan(&read(file.path())?, context);
    let errors: Vec<Finding> = report.errors().cloned().collect();
    if !errors.is_empty() {
        return Err(refused(format!("`{}` would be refused", out.display()), &errors));
    }
    // A temporary file is its owner's alone; an archive is for others, too.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::Permissions::from_mode(0o644);
        file.as_file().set_permissions(mode).map_err(|error| trouble(&error))?;
    }
    file.persist(out).map_err(|error| trouble(&error.error))?;
    Ok(report.findings.into_iter().filter(|finding| finding.level == Level::Warning).collect())
}

/// What lies in a folder; folders in it end in `/`.
fn list(folder: &Path) -> Result<Vec<String>, Fail> {
    let trouble = |error: std::io::Error| Fail::io("read", folder, &error);
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(trouble)? {
        let entry = entry.map_err(trouble)?;
        let name = entry.file_name().into_string().map_err(|name| {
            Fail::usage(format!("`{}` is no name that an archive can hold", name.to_string_lossy()))
        })?;
        names.push(if entry.path().is_dir() { format!("{name}/") } else { name });
    }
    names.sort();
    Ok(names)
}

fn read(path: &Path) -> Result<Vec<u8>, Fail> {
    fs::read(path).map_err(|error| Fail::io("read", path, &error))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Fail> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(|error| Fail::io("make", folder, &error))?;
    fs::write(path, bytes).map_err(|error| Fail::io("write", path, &error))
}

fn copy(from: &Path, to: &Path) -> Result<(), Fail> {
    let folder = to.parent().unwrap_or(to);
    fs::create_dir_all(folder).map_err(|error| Fail::io("make", folder, &error))?;
    fs::copy(from, to).map(drop).map_err(|error| Fail::io("copy", from, &error))
}

fn refused(message: String, findings: &[Finding]) -> Fail {
    let code = findings.first().map(|finding| finding.code.to_string());
    let details = findings.iter().map(line).collect();
    failed(Failure { message, details, hint: None, code })
}

fn faulty(message: String, code: &str, faults: &[mjolnir::manifest::Fault]) -> Fail {
    let unsupported = faults.iter().any(|fault| fault.unsupported);
    let code = if unsupported { "forge_unsupported" } else { code };
    let details = faults.iter().map(ToString::to_string).collect();
    failed(Failure { message, details, hint: None, code: Some(code.to_owned()) })
}

fn failed(failure: Failure) -> Fail {
    Fail::of(Exit::Refused, vec![failure])
}

fn line(finding: &Finding) -> String {
    let place = finding.member.as_deref().map(|member| format!("{member}: ")).unwrap_or_default();
    format!("{place}{}  [{}]", finding.message, finding.code)
}
