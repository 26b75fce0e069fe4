//! Builds of small plans with rules made for testing: what runs, what does not, and why.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use cache::{ActionDigest, Blobs, Digest, FileStat, MemoryStore, Output, Results, Tree, WorkspacePath};
use engine::{
    Body, Built, Catalogue, Cx, Event, Exec, ExecSpec, External, Facts, FolderExternal, ForEach, History,
    Import, Inputs, Interface, Item, Kind, Label, Last, NoHistory, Node, NodeId, Options, Outcome, Outputs,
    ParamError, Params, Placed, Plan, Pure, RebuildReason, Rule, RuleError, RuleId, Snapshot, Source, Stats,
    Target, build, import, pure,
};
use serde_json::{Value, json};

/// Joins the files of `parts`, upper-cased on demand.
struct Concat;

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct ConcatParams {
    #[serde(default)]
    upper: bool,
    #[serde(default)]
    suffix: String,
}

impl Pure for Concat {
    type Params = ConcatParams;
    const NAME: &'static str = "concat";
    const VERSION: u32 = 1;
    const DOC: &'static str = "Joins files.";
    fn interface() -> Interface {
        Interface::new().input("parts", Kind::Tree, "What to join.").output(
            "text",
            Kind::File,
            "The joined text.",
        )
    }
    fn run(
        params: ConcatParams,
        inputs: &Inputs<'_>,
        outputs: &Outputs<'_>,
        cx: &Cx<'_>,
    ) -> Result<(), RuleError> {
        let tree = inputs.tree("parts")?;
        let files: Vec<Digest> = tree.iter().map(|(_, digest)| *digest).collect();
        let parts = cx.par_map(&files, |digest| Ok(inputs.read(*digest)?.to_vec()))?;
        let mut text = String::from_utf8_lossy(&parts.concat()).into_owned() + &params.suffix;
        if params.upper {
            text = text.to_uppercase();
        }
        outputs.put("text", text.as_bytes())
    }
}

/// Makes a descriptor and a file of every line.
struct Split;

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoParams {}

impl Pure for Split {
    type Params = NoParams;
    const NAME: &'static str = "split";
    const VERSION: u32 = 1;
    const DOC: &'static str = "A file a line.";
    fn interface() -> Interface {
        Interface::new()
            .input("text", Kind::File, "Lines `name text`.")
            .output("descriptors", Kind::Tree, "One a line.")
            .output("lines", Kind::Tree, "One a line.")
    }
    fn run(_: NoParams, inputs: &Inputs<'_>, outputs: &Outputs<'_>, _: &Cx<'_>) -> Result<(), RuleError> {
        let text = inputs.file("text")?;
        for line in std::str::from_utf8(&text).unwrap().lines() {
            let (name, text) = line.split_once(' ').unwrap();
            outputs.put_in("lines", name, text.as_bytes())?;
            let descriptor = json!({"name": name, "length": text.len()});
            outputs.put_in("descriptors", &format!("{name}.json"), descriptor.to_string().as_bytes())?;
        }
        Ok(())
    }
}

/// Fails, panics, or waits until it is told to stop.
struct Trouble;

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct TroubleParams {
    kind: String,
}

impl Pure for Trouble {
    type Params = TroubleParams;
    const NAME: &'static str = "trouble";
    const VERSION: u32 = 1;
    const DOC: &'static str = "Fails.";
    fn interface() -> Interface {
        Interface::new().optional("after", Kind::Tree, "Ignored.").output(
            "text",
            Kind::File,
            "Never written.",
        )
    }
    fn run(params: TroubleParams, _: &Inputs<'_>, _: &Outputs<'_>, cx: &Cx<'_>) -> Result<(), RuleError> {
        match params.kind.as_str() {
            "panic" => panic!("out of luck"),
            "wait" => loop {
                cx.check_cancelled()?;
                std::thread::sleep(std::time::Duration::from_millis(1));
            },
            kind => Err(RuleError::new(format!("trouble of kind {kind}")).hint("stay away")),
        }
    }
}

/// Says how many of its kind ran at once, by the memory that they declare.
struct Large;

static LARGE_NOW: AtomicU64 = AtomicU64::new(0);
static LARGE_MOST: AtomicU64 = AtomicU64::new(0);
static LARGE_RUNS: AtomicUsize = AtomicUsize::new(0);

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct LargeParams {
    number: u32,
}

impl Pure for Large {
    type Params = LargeParams;
    const NAME: &'static str = "large";
    const VERSION: u32 = 1;
    const DOC: &'static str = "Declares 200 MiB.";
    fn interface() -> Interface {
        Interface::new().output("text", Kind::File, "A number.")
    }
    fn memory(_: &LargeParams, _: u64) -> u64 {
        200 << 20
    }
    fn run(params: LargeParams, _: &Inputs<'_>, outputs: &Outputs<'_>, _: &Cx<'_>) -> Result<(), RuleError> {
        let now = LARGE_NOW.fetch_add(200 << 20, Ordering::SeqCst) + (200 << 20);
        LARGE_MOST.fetch_max(now, Ordering::SeqCst);
        LARGE_RUNS.fetch_add(1, Ordering::SeqCst);
        std::thread::sleep(std::time::Duration::from_millis(5));
        LARGE_NOW.fetch_sub(200 << 20, Ordering::SeqCst);
        outputs.put("text", params.number.to_string().as_bytes())
    }
}

/// Takes one file out of an external.
struct Take;

impl Import for Take {
    type Params = TroubleParams;
    type Located = String;
    const NAME: &'static str = "take";
    const VERSION: u32 = 1;
    const DOC: &'static str = "Takes the file `kind`.";
    fn interface() -> Interface {
        Interface::new().input("from", Kind::External, "Where from.").output("text", Kind::File, "Its bytes.")
    }
    fn identify(params: &TroubleParams, external: &dyn External) -> Result<(Facts, String), RuleError> {
        let bytes = read_all(external, &params.kind)?;
        let fact = Digest::of(&bytes).to_string();
        Ok(([(format!("@{} {}", external.name(), params.kind), fact)].into(), params.kind.clone()))
    }
    fn fetch(
        _: TroubleParams,
        file: String,
        external: &dyn External,
        outputs: &Outputs<'_>,
        _: &Cx<'_>,
    ) -> Result<(), RuleError> {
        outputs.put("text", &read_all(external, &file)?)
    }
}

fn read_all(external: &dyn External, file: &str) -> Result<Vec<u8>, RuleError> {
    let file = external.open(file)?;
    let mut bytes = vec![0; file.len() as usize];
    file.read_at(0, &mut bytes)?;
    Ok(bytes)
}

/// A `concat` of another version.
struct Versioned(Box<dyn Rule>, u32);

impl Rule for Versioned {
    fn id(&self) -> RuleId {
        RuleId { version: self.1, ..self.0.id() }
    }
    fn doc(&self) -> &'static str {
        self.0.doc()
    }
    fn interface(&self) -> &Interface {
        self.0.interface()
    }
    fn schema(&self) -> &Value {
        self.0.schema()
    }
    fn check(&self, params: &Params) -> Vec<ParamError> {
        self.0.check(params)
    }
    fn memory(&self, params: &Params, input_bytes: u64) -> u64 {
        self.0.memory(params, input_bytes)
    }
    fn body(&self) -> Body<'_> {
        self.0.body()
    }
}

/// Runs `sh -c`.
struct Shell(Interface, Value);

impl Rule for Shell {
    fn id(&self) -> RuleId {
        RuleId { name: "shell".into(), version: 1 }
    }
    fn doc(&self) -> &'static str {
        "Runs a script."
    }
    fn interface(&self) -> &Interface {
        &self.0
    }
    fn schema(&self) -> &Value {
        &self.1
    }
    fn check(&self, _: &Params) -> Vec<ParamError> {
        Vec::new()
    }
    fn memory(&self, _: &Params, _: u64) -> u64 {
        0
    }
    fn body(&self) -> Body<'_> {
        Body::Exec(self)
    }
}

impl Exec for Shell {
    fn command(&self, params: &Params) -> Result<ExecSpec, RuleError> {
        let script = params.get("script").and_then(Value::as_str).unwrap_or_default();
        Ok(ExecSpec {
            tool: "sh".to_owned(),
            args: vec!["-c".to_owned(), script.to_owned()],
            env: BTreeMap::new(),
            inherit: vec!["FLAVOUR".to_owned()],
            expected: Vec::new(),
        })
    }
}

fn catalogue(concat_version: u32) -> Catalogue {
    let shell =
        Interface::new().optional("parts", Kind::Tree, "Inputs.").output("out", Kind::Tree, "All of out/.");
    Catalogue::new([
        Box::new(Versioned(pure(Concat), concat_version)) as Box<dyn Rule>,
        pure(Split),
        pure(Trouble),
        pure(Large),
        import(Take),
        Box::new(Shell(shell, json!({}))),
    ])
}

/// Remembers in memory.
#[derive(Default)]
struct Remembered(Mutex<BTreeMap<String, ActionDigest>>);

impl History for Remembered {
    fn file(&self, _: &Path, _: &FileStat) -> Option<Digest> {
        None
    }
    fn remember_file(&self, _: &Path, _: &FileStat, _: &Digest) {}
    fn last_action(&self, label: &str) -> Option<ActionDigest> {
        self.0.lock().unwrap().get(label).copied()
    }
    fn duration_ms(&self, _: &str) -> Option<u64> {
        None
    }
    fn remember_action(&self, label: &str, action: &ActionDigest, _: Option<u64>) {
        self.0.lock().unwrap().insert(label.to_owned(), *action);
    }
}

/// A workspace in a temporary folder, with a store in memory.
struct Bench {
    folder: tempfile::TempDir,
    store: MemoryStore,
    history: Remembered,
    catalogue: Catalogue,
    environment: BTreeMap<String, String>,
    externals: BTreeMap<String, Arc<dyn External>>,
    forced: Vec<Label>,
    tool: &'static str,
    jobs: usize,
    memory: u64,
    keep_going: bool,
    cancelled: AtomicBool,
    salt: Option<[u8; 32]>,
    /// The snapshot of the last build.
    snapshot: Option<(Vec<u8>, Vec<u8>)>,
}

struct Done {
    built: Built,
    ran: Vec<(String, String)>,
    lost: usize,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let game = folder.path().join("game");
        std::fs::create_dir(&game).unwrap();
        std::fs::write(game.join("donor"), "donor").unwrap();
        let external: Arc<dyn External> = Arc::new(FolderExternal::new("game", game));
        Self {
            folder,
            store: MemoryStore::new(),
            history: Remembered::default(),
            catalogue: catalogue(1),
            environment: BTreeMap::new(),
            externals: [("game".to_owned(), external)].into(),
            forced: Vec::new(),
            tool: "/bin/sh",
            jobs: 2,
            memory: 1 << 30,
            keep_going: false,
            cancelled: AtomicBool::new(false),
            salt: None,
            snapshot: None,
        }
    }

    fn write(&self, path: &str, text: &str) {
        let full = self.folder.path().join(path);
        std::fs::create_dir_all(full.parent().unwrap()).unwrap();
        std::fs::write(full, text).unwrap();
    }

    fn out(&self, path: &str) -> String {
        std::fs::read_to_string(self.folder.path().join("out").join(path)).unwrap()
    }

    fn with_options<T>(&self, use_them: impl FnOnce(&Options<'_>) -> T) -> T {
        let tool = self.tool;
        let tools = move |_: &str| Ok(Path::new(tool).to_owned());
        let out = self.folder.path().join("out");
        let scratch = self.folder.path().join("scratch");
        use_them(&Options {
            workspace: self.folder.path(),
            out: &out,
            scratch: &scratch,
            catalogue: &self.catalogue,
            store: &self.store,
            history: &self.history,
            externals: &self.externals,
            tools: &tools,
            environment: &self.environment,
            salt: self.salt,
            jobs: NonZeroUsize::new(self.jobs).unwrap(),
            memory: self.memory,
            keep_going: self.keep_going,
            max_failures: None,
            sandbox: engine::sandbox::available().is_ok(),
            signer: None,
            cancelled: &self.cancelled,
            forced: &self.forced,
            elsewhere: None,
        })
    }

    /// Builds from scratch, as if no snapshot were there.
    fn build(&self, plan: &Plan) -> Done {
        self.with_options(|options| run(plan, options, &Last::default()))
    }

    /// Builds as the command does: looks at the snapshot first, keeps one afterwards. `None` when nothing
    /// was to be done.
    fn build_again(&mut self, plan: &Plan) -> Option<Done> {
        let (done, snapshot) = self.with_options(|options| {
            let mut last = Last::default();
            let mut plan_now = plan.clone();
            if let Some((stats, steps)) = &self.snapshot {
                let checked = Stats::decode(stats).unwrap().check(options);
                let (fresh, replan) = (checked.fresh, checked.replan);
                let (old, found) = checked.last(steps, true).unwrap();
                // The command knows a changed plan by the recipe's fingerprint.
                let replan = replan || old != *plan;
                if fresh && !replan {
                    return (None, None);
                }
                if !replan {
                    let (part, of_part) = checked.last(steps, false).unwrap();
                    let done = run(&part, options, &of_part);
                    if !done.built.report.incomplete {
                        let snapshot = Snapshot::take("key", &part, options, &done.built, &of_part).unwrap();
                        return (
                            Some(done),
                            snapshot.map(|snapshot| (snapshot.stats.encode(), snapshot.steps)),
                        );
                    }
                }
                last = if replan { found.replanned() } else { found };
                plan_now = if replan { plan_now } else { old };
            }
            let done = run(&plan_now, options, &last);
            let snapshot = Snapshot::take("key", &plan_now, options, &done.built, &last).unwrap();
            (Some(done), snapshot.map(|snapshot| (snapshot.stats.encode(), snapshot.steps)))
        });
        if snapshot.is_some() {
            self.snapshot = snapshot;
        }
        done
    }
}

fn run(plan: &Plan, options: &Options<'_>, last: &Last) -> Done {
    let mut ran = Vec::new();
    let mut lost = 0;
    let mut sink = |event: &Event| match event {
        Event::ActionFinished { label, outcome: Outcome::Ran, why, .. } => {
            let why: Vec<String> = why.iter().map(RebuildReason::to_string).collect();
            ran.push((label.short(), why.join("; ")));
        }
        Event::Lost { .. } => lost += 1,
        _ => {}
    };
    let built = build(plan, options, last, &mut sink).unwrap();
    ran.sort();
    Done { built, ran, lost }
}

/// A plan of `a:<step>`s, whose last step is placed.
#[derive(Default)]
struct Steps(Vec<Node>);

impl Steps {
    fn step(mut self, name: &str, rule: &str, params: Value, inputs: &[(&str, Vec<Source>)]) -> Self {
        let Value::Object(params) = params else { panic!("a table") };
        self.0.push(Node {
            label: format!("a:{name}").parse().unwrap(),
            rule: rule.to_owned(),
            params: Params::new(params),
            inputs: inputs.iter().map(|(name, sources)| ((*name).to_owned(), sources.clone())).collect(),
            for_each: None,
            private: false,
        });
        self
    }

    fn for_each(mut self, for_each: ForEach) -> Self {
        self.0.last_mut().unwrap().for_each = Some(for_each);
        self
    }

    fn plan(self) -> Plan {
        let mut plan = Plan::new();
        let ids: Vec<NodeId> = self.0.into_iter().map(|node| plan.add(node)).collect();
        let last = *ids.last().unwrap();
        let label = plan.node(last).label.clone();
        let interface = catalogue(1);
        let output = interface.get(&plan.node(last).rule).unwrap().interface().outputs[0].name.to_owned();
        let folder = WorkspacePath::parse("a").unwrap();
        plan.add_target(Target {
            label,
            nodes: vec![last],
            placed: vec![Placed { node: last, output, folder }],
        });
        plan
    }
}

fn file(path: &str) -> Source {
    let path = WorkspacePath::parse(path).unwrap();
    let name = WorkspacePath::parse(path.name()).unwrap();
    Source::File { path, name }
}

fn output(node: usize, output: &str, select: Option<&str>) -> Source {
    let node = Plan::new().reserve(node);
    Source::Output { node, output: output.to_owned(), select: select.map(str::to_owned) }
}

/// lines.txt > split > one upper-cased `word` a line > joined with end.txt.
fn fan_out() -> Plan {
    let tree = ForEach::Tree { node: Plan::new().reserve(0), output: "descriptors".to_owned() };
    Steps::default()
        .step("split", "split", json!({}), &[("text", vec![file("lines.txt")])])
        .step(
            "word",
            "concat",
            json!({"upper": true, "suffix": "/{item.length} "}),
            &[("parts", vec![output(0, "lines", Some("{item.name}"))])],
        )
        .for_each(tree)
        .step("all", "concat", json!({}), &[("parts", vec![output(1, "text", None), file("z-end.txt")])])
        .plan()
}

fn fan_out_bench() -> Bench {
    let bench = Bench::new();
    bench.write("lines.txt", "b bee\na ay\nc see\n");
    bench.write("z-end.txt", "end");
    bench
}

fn names(ran: &[(String, String)]) -> Vec<&str> {
    ran.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn instances_see_their_item_and_join_in_order() {
    let bench = fan_out_bench();
    let done = bench.build(&fan_out());
    assert!(done.built.report.is_success());
    assert_eq!(names(&done.ran), ["all", "split", "word:a", "word:b", "word:c"]);
    assert_eq!(bench.out("a/text"), "AY/2 BEE/3 SEE/3 end");
}

#[test]
fn a_second_build_runs_nothing_and_an_edit_only_what_it_reaches() {
    let mut bench = fan_out_bench();
    let plan = fan_out();
    assert_eq!(bench.build_again(&plan).unwrap().ran.len(), 5);
    assert!(bench.build_again(&plan).is_none(), "nothing to do");

    bench.write("lines.txt", "b bee\na ay\nc see\n");
    assert!(bench.build_again(&plan).is_none(), "the same bytes again");

    bench.write("lines.txt", "b bee\na eh\nc see\n");
    let done = bench.build_again(&plan).unwrap();
    assert_eq!(names(&done.ran), ["all", "split", "word:a"]);
    assert_eq!(bench.out("a/text"), "EH/2 BEE/3 SEE/3 end");

    bench.write("lines.txt", "b bee\na ay\nc see\n");
    let done = bench.build_again(&plan).unwrap();
    assert_eq!(names(&done.ran), Vec::<&str>::new(), "changed back");
    assert_eq!(bench.out("a/text"), "AY/2 BEE/3 SEE/3 end");
    assert!(bench.build_again(&plan).is_none());
}

#[test]
fn equal_output_stops_the_wave() {
    let mut bench = fan_out_bench();
    let plan = fan_out();
    bench.build_again(&plan).unwrap();
    bench.write("lines.txt", "a ay\nb bee\nc see\n");
    let done = bench.build_again(&plan).unwrap();
    assert_eq!(names(&done.ran), ["split"], "the order of the lines does not reach the words");
}

#[test]
fn what_is_placed_is_put_back() {
    let mut bench = fan_out_bench();
    let plan = fan_out();
    bench.build_again(&plan).unwrap();
    let placed = bench.folder.path().join("out/a/text");
    for damage in ["edit", "delete"] {
        match damage {
            "edit" => std::fs::write(&placed, "something else here!").unwrap(),
            _ => std::fs::remove_file(&placed).unwrap(),
        }
        let done = bench.build_again(&plan).unwrap();
        assert_eq!(done.ran.len(), 0);
        assert_eq!(bench.out("a/text"), "AY/2 BEE/3 SEE/3 end");
    }
    assert!(bench.build_again(&plan).is_none());
}

#[test]
fn any_blob_may_go_at_any_depth() {
    let mut bench = fan_out_bench();
    let plan = fan_out();
    bench.build_again(&plan).unwrap();
    let digests = bench.store.digests();
    assert!(digests.len() > 8);
    for lost in &digests {
        for edit in ["ay", "eh"] {
            bench.write("lines.txt", &format!("b bee\na {edit}\nc see\n"));
            std::fs::remove_file(bench.folder.path().join("out/a/text")).unwrap();
            bench.store.remove(lost);
            let done = bench.build_again(&plan).unwrap();
            assert!(done.built.report.is_success(), "{lost}: {:?}", done.built.report.failed);
            assert_eq!(bench.out("a/text"), format!("{}/2 BEE/3 SEE/3 end", edit.to_uppercase()));
        }
    }
    // All at once: everything is made again, though the last build says that nothing changed.
    std::fs::remove_file(bench.folder.path().join("out/a/text")).unwrap();
    for lost in bench.store.digests() {
        bench.store.remove(&lost);
    }
    let done = bench.build_again(&plan).unwrap();
    assert!(done.lost > 0);
    assert_eq!(bench.out("a/text"), "EH/2 BEE/3 SEE/3 end");
}

#[test]
fn a_failure_skips_what_waits_for_it_and_keep_going_builds_the_rest() {
    for (keep_going, ran) in [(false, 0), (true, 1)] {
        let mut bench = Bench::new();
        (bench.keep_going, bench.jobs) = (keep_going, 1);
        bench.write("x", "x");
        let plan = Steps::default()
            .step("bad", "trouble", json!({"kind": "none"}), &[])
            .step("after", "concat", json!({}), &[("parts", vec![output(0, "text", None)])])
            .step("free", "concat", json!({}), &[("parts", vec![file("x")])])
            .step(
                "all",
                "concat",
                json!({}),
                &[("parts", vec![output(1, "text", None), output(2, "text", None)])],
            )
            .plan();
        let done = bench.build(&plan);
        let report = &done.built.report;
        assert_eq!(report.failed.len(), 1);
        assert_eq!(report.failed[0].failure.message, "trouble of kind none");
        assert_eq!(report.failed[0].failure.hint.as_deref(), Some("stay away"));
        assert_eq!(report.skipped, 2);
        assert_eq!(done.ran.len(), ran, "keep going: {keep_going}");
        assert!(!bench.folder.path().join("out").exists(), "a failed build places nothing");
    }
}

#[test]
fn a_panic_in_a_rule_is_a_failed_step() {
    let bench = Bench::new();
    let done = bench.build(&Steps::default().step("bad", "trouble", json!({"kind": "panic"}), &[]).plan());
    assert_eq!(done.built.report.failed[0].failure.message, "bake has a bug: out of luck");
}

#[test]
fn cancelling_stops_what_runs() {
    let bench = Bench::new();
    let plan = Steps::default().step("slow", "trouble", json!({"kind": "wait"}), &[]).plan();
    let done = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            bench.cancelled.store(true, Ordering::Relaxed);
        });
        bench.build(&plan)
    });
    assert!(done.built.report.cancelled);
    assert!(done.built.report.failed.is_empty());
}

#[test]
fn memory_is_kept_to_and_equal_actions_run_once() {
    let mut bench = Bench::new();
    (bench.jobs, bench.memory) = (4, 512 << 20);
    let mut steps = Steps::default();
    for number in 0..12 {
        steps = steps.step(&format!("large-{number}"), "large", json!({"number": number / 2}), &[]);
    }
    let parts = (0..12).map(|node| output(node, "text", Some("x"))).map(|source| match source {
        Source::Output { node, output, .. } => Source::Output { node, output, select: None },
        other => other,
    });
    // Only equal files may share a name in the tree.
    let plan = steps.step("all", "trouble", json!({"kind": "none"}), &[("after", parts.take(2).collect())]);
    let mut plan = plan.plan();
    let all: Vec<NodeId> = (0..12).map(|node| plan.reserve(node)).collect();
    plan.add_target(Target { label: "a".parse().unwrap(), nodes: all, placed: Vec::new() });
    bench.keep_going = true;
    let done = bench.build(&plan);
    assert_eq!(LARGE_RUNS.load(Ordering::SeqCst), 6, "twelve steps, six different actions");
    assert_eq!(done.ran.len(), 6);
    assert_eq!(LARGE_MOST.load(Ordering::SeqCst), 400 << 20);
}

// A tool that is only stood upon has no inputs in a part of a plan: running it there would fail.
#[cfg(unix)]
#[test]
fn a_tool_that_no_changed_source_reaches_is_left_alone() {
    let script = |text: &str| json!({"script": text});
    let plan = Steps::default()
        .step("still", "shell", script("cp in/parts/a.txt out/x"), &[("parts", vec![file("a.txt")])])
        .step(
            "last",
            "shell",
            script("cp in/parts/b.txt out/y"),
            &[("parts", vec![file("b.txt"), output(0, "out", None)])],
        )
        .plan();
    let mut bench = Bench::new();
    bench.write("a.txt", "one");
    bench.write("b.txt", "two");
    assert_eq!(bench.build_again(&plan).unwrap().ran.len(), 2);
    bench.write("b.txt", "three");
    let done = bench.build_again(&plan).unwrap();
    assert!(done.built.report.is_success(), "{:?}", done.built.report.failed);
    let ran: Vec<&str> = done.ran.iter().map(|(label, _)| label.as_str()).collect();
    assert_eq!(ran, ["last"]);
}

// Its `exec` step runs `sh`.
#[cfg(unix)]
#[test]
fn every_cause_is_told_and_no_other() {
    let plan_with = |params: Value| {
        Steps::default()
            .step(
                "take",
                "take",
                json!({"kind": "donor"}),
                &[("from", vec![Source::External("game".into())])],
            )
            .step("one", "concat", params, &[("parts", vec![file("one.txt"), output(0, "text", None)])])
            .step(
                "shell",
                "shell",
                json!({"script": "cat in/parts/* > out/x; echo $FLAVOUR >> out/x"}),
                &[("parts", vec![output(1, "text", None)])],
            )
            .plan()
    };
    let mut bench = Bench::new();
    bench.write("one.txt", "one");
    let mut plan = plan_with(json!({}));
    let says = |bench: &mut Bench, plan: &Plan, expected: &[(&str, &str)]| {
        let ran = bench.build_again(plan).map(|done| {
            assert!(done.built.report.is_success(), "{:?}", done.built.report.failed);
            done.ran
        });
        let ran = ran.unwrap_or_default();
        let ran: Vec<(&str, &str)> = ran.iter().map(|(label, why)| (label.as_str(), why.as_str())).collect();
        assert_eq!(ran, expected);
    };
    let never = "it was never built here";
    says(&mut bench, &plan, &[("one", never), ("shell", never), ("take", never)]);
    // A tool is run from where it lies: its digest is known, its bytes are not kept.
    assert!(!bench.store.has(&Digest::of(&std::fs::read(bench.tool).unwrap())).unwrap());
    says(&mut bench, &plan, &[]);
    // A source, and what comes of it upstream.
    bench.write("one.txt", "uno");
    says(
        &mut bench,
        &plan,
        &[("one", "input `parts` changed (one.txt)"), ("shell", "input `parts` changed (from one)")],
    );
    // A parameter.
    plan = plan_with(json!({"suffix": "!"}));
    says(
        &mut bench,
        &plan,
        &[("one", "parameter `suffix` is new: \"!\""), ("shell", "input `parts` changed (from one)")],
    );
    // The rule's version; its output is the same, so the wave stops.
    bench.catalogue = catalogue(2);
    bench.snapshot = None;
    says(&mut bench, &plan, &[("one", "rule changed: concat 1 -> concat 2")]);
    // The environment.
    bench.environment.insert("FLAVOUR".into(), "sweet".into());
    says(&mut bench, &plan, &[("shell", "environment variable `FLAVOUR` changed")]);
    // The tool.
    bench.tool = "/bin/bash";
    says(&mut bench, &plan, &[("shell", "tool `sh` changed")]);
    // What an import reads.
    bench.write("game/donor", "other");
    says(
        &mut bench,
        &plan,
        &[
            ("one", "input `parts` changed (from take)"),
            ("shell", "input `parts` changed (from one)"),
            ("take", "@game donor changed"),
        ],
    );
    // Forced.
    bench.forced = vec!["a:one".parse().unwrap()];
    says(&mut bench, &plan, &[("one", "it was asked for")]);
    bench.forced.clear();
    // A lost output that something needs.
    let one = bench.history.last_action("a:one").unwrap();
    let outputs = bench.store.result(&one).unwrap().unwrap().outputs;
    let Output::File(lost) = outputs["text"] else { panic!("a file") };
    bench.store.remove(&lost);
    bench.environment.insert("FLAVOUR".into(), "sour".into());
    says(
        &mut bench,
        &plan,
        &[
            ("one", "its output was missing from the store"),
            ("shell", "environment variable `FLAVOUR` changed"),
        ],
    );
    // Another development build of bake.
    bench.salt = Some([1; 32]);
    bench.snapshot = None;
    let salted = "bake itself changed (a development build)";
    says(&mut bench, &plan, &[("one", salted), ("shell", salted), ("take", salted)]);
}

#[test]
fn digests_do_not_depend_on_threads_or_folder() {
    let results: Vec<BTreeMap<String, Option<ActionDigest>>> = [1, 2, 7]
        .into_iter()
        .map(|jobs| {
            let mut bench = fan_out_bench();
            bench.jobs = jobs;
            let done = bench.build(&fan_out());
            done.built.report.done.iter().map(|(label, done)| (label.to_string(), done.action)).collect()
        })
        .collect();
    assert_eq!(results[0].len(), 6);
    assert_eq!(results[0], results[1]);
    assert_eq!(results[0], results[2]);
}

#[test]
fn wrong_instances_and_descriptors_are_named() {
    let bench = fan_out_bench();
    let mut plan = fan_out();
    let word = plan.reserve(1);
    let mut only = Plan::new();
    for (_, node) in plan.nodes() {
        only.add(node.clone());
    }
    only.add_target(Target { label: "a:word:aa".parse().unwrap(), nodes: vec![word], placed: Vec::new() });
    let done = bench.build(&only);
    let failure = &done.built.report.failed[0].failure;
    assert_eq!(failure.message, "there is no instance `aa`");
    assert_eq!(failure.hint.as_deref(), Some("did you mean `a`?"));

    let items =
        vec![Item { name: "x".into(), value: json!({}) }, Item { name: "X".into(), value: json!({}) }];
    plan = Steps::default()
        .step("twice", "large", json!({"number": 1}), &[])
        .for_each(ForEach::List(items))
        .plan();
    let done = bench.build(&plan);
    assert_eq!(done.built.report.failed[0].failure.message, "two instances of a:twice are called `X`");
}

#[test]
fn a_source_that_changes_while_its_step_runs_never_poisons_a_result() {
    let mut bench = Bench::new();
    bench.write("x", "before");
    let plan = Steps::default().step("copy", "concat", json!({}), &[("parts", vec![file("x")])]).plan();
    let path = bench.folder.path().join("x");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = 0;
            while !stop.load(Ordering::Relaxed) {
                number += 1;
                std::fs::write(&path, format!("text {}", number % 3)).unwrap();
            }
        });
        for _ in 0..200 {
            // It may say that the file keeps changing; it may not be wrong.
            drop(bench.build_again(&plan));
        }
        stop.store(true, Ordering::Relaxed);
    });
    bench.write("x", "after");
    drop(bench.build_again(&plan));
    assert_eq!(bench.out("a/text"), "after");
    for text in ["text 0", "text 1", "text 2"] {
        bench.write("x", text);
        drop(bench.build_again(&plan));
        assert_eq!(bench.out("a/text"), text);
    }
}

#[test]
fn a_tree_and_its_files_are_all_that_a_result_names() {
    let bench = fan_out_bench();
    let done = bench.build(&fan_out());
    let split = &done.built.report.done[&"a:split".parse::<Label>().unwrap()];
    let Output::Tree(listing) = split.outputs["lines"] else { panic!("a tree") };
    let tree = Tree::decode(&bench.store.read(&listing).unwrap().unwrap()).unwrap();
    let paths: Vec<&str> = tree.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["a", "b", "c"]);
    assert!(NoHistory.last_action("a:split").is_none());
}
