//! `bake verify` as others run it: every conformance case through the program itself, files that cannot be
//! read, sets of archives; and that its codes have their pages.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use mjolnir::finding::Code;
use mjolnir::zip::{Compression, Reason, write};
use serde_json::{Value, json};

use crate::workspace::{Ran, Workspace};

fn lines(ran: &Ran) -> Vec<Value> {
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn cases() -> Option<(PathBuf, Vec<Value>)> {
    let root = test_support::conformance("release")?;
    let text = fs::read_to_string(root.join("cases.json")).unwrap();
    let cases: Value = serde_json::from_str(&text).unwrap();
    Some((root, cases["cases"].as_array().unwrap().clone()))
}

/// All of one field of the findings, as a set.
fn set(findings: &Value, field: &str) -> BTreeSet<String> {
    let findings = findings.as_array().unwrap().iter();
    findings.map(|finding| finding[field].as_str().unwrap_or_default().to_owned()).collect()
}

fn texts(value: &Value) -> BTreeSet<String> {
    serde_json::from_value(value.clone()).unwrap()
}

#[test]
fn every_case_of_the_conformance_data_is_judged_as_expected() {
    let Some((root, cases)) = cases() else { return };
    let workspace = Workspace::empty();
    // Cases of one type, context and history go to one run.
    let mut runs: BTreeMap<(String, String, String), Vec<&Value>> = BTreeMap::new();
    for case in &cases {
        let text = |name: &str| case.get(name).map(Value::to_string).unwrap_or_default();
        let key = (case["type"].as_str().unwrap().to_owned(), text("context"), text("earlier"));
        runs.entry(key).or_default().push(case);
    }
    let path = |file: &Value| root.join(file.as_str().unwrap()).to_string_lossy().into_owned();
    let (mut judged, mut wrong) = (0, Vec::new());
    for ((kind, context, earlier), cases) in runs {
        let mut args = vec!["verify".to_owned(), "--json".to_owned(), "--as".to_owned(), kind.clone()];
        if !context.is_empty() {
            workspace.write("context.json", &context);
            args.extend(["--context".to_owned(), "context.json".to_owned()]);
        }
        let earlier: Vec<Value> = serde_json::from_str(&earlier).unwrap_or_default();
        args.extend(earlier.iter().flat_map(|file| ["--earlier".to_owned(), path(file)]));
        args.extend(cases.iter().map(|case| path(&case["file"])));
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let ran = workspace.bake(&args);
        let found = lines(&ran);
        assert_eq!(found.len(), cases.len(), "{}{}", ran.stdout, ran.stderr);
        let refused = cases.iter().any(|case| case["expect"]["verdict"] == "fail");
        assert_eq!(ran.code, Some(if refused { 5 } else { 0 }), "{}", ran.stderr);
        for (case, line) in cases.iter().zip(&found) {
            judged += 1;
            let expect = &case["expect"];
            let mut differs = |what: &str, same: bool| {
                if !same {
                    wrong.push(format!("{}: {what}: {line}", case["id"]));
                }
            };
            differs("file", line["file"] == path(&case["file"]).as_str() && line["type"] == kind.as_str());
            differs("verdict", line["verdict"] == expect["verdict"]);
            differs("errors", set(&line["errors"], "code") == texts(&expect["errors"]));
            if let Some(warnings) = expect.get("warnings") {
                differs("warnings", set(&line["warnings"], "code") == texts(warnings));
            }
            if let Some(reason) = expect.get("reason") {
                let only = line["errors"].as_array().is_some_and(|errors| errors.len() == 1);
                differs("reason", only && line["errors"][0]["reason"] == *reason);
            }
            if let Some(at) = expect.get("at") {
                differs("at", set(&line["errors"], "at") == texts(at));
            }
            if let Some(canonical) = case.get("canonical").or(expect.get("canonical")) {
                differs("canonical", line["canonical"] == *canonical);
            }
        }
    }
    assert_eq!(judged, cases.len());
    assert!(wrong.is_empty(), "{} of {judged}:\n{}", wrong.len(), wrong.join("\n"));
}

const MANIFEST: &str = r#"{"schema_version":1,"name":"x","version":"1.0.0","type":"content","summary":"s"}"#;

#[test]
fn what_cannot_be_read_stops_nothing_else() {
    let workspace = Workspace::empty();
    workspace.write("good.json", MANIFEST);
    workspace.write("bad.json", "{}");
    fs::create_dir(workspace.path("folder")).unwrap();
    let mut files: Vec<&str> = Vec::new();
    #[cfg(target_os = "linux")]
    {
        let pipe =
            std::ffi::CString::new(workspace.path("pipe").into_os_string().into_encoded_bytes()).unwrap();
        // SAFETY: the path is a text that ends in a zero and outlives the call.
        assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
        files.push("pipe");
    }
    files.extend(["missing", "folder", "bad.json", "good.json"]);
    let run = |more: &[&str]| {
        let args: Vec<&str> =
            ["verify", "--as", "manifest"].iter().chain(more).chain(&files).copied().collect();
        workspace.bake(&args).fails_with(3)
    };
    let found = lines(&run(&["--json"]));
    assert_eq!(found.len(), files.len());
    for (line, file) in found.iter().zip(&files) {
        assert_eq!((&line["file"], &line["schema"]), (&json!(file), &json!(1)));
        let expected = match *file {
            "good.json" => BTreeSet::new(),
            "bad.json" => ["bad_manifest".to_owned()].into(),
            _ => ["unreadable".to_owned()].into(),
        };
        assert_eq!(set(&line["errors"], "code"), expected, "{line}");
        assert_eq!(line["verdict"] == "pass", expected.is_empty(), "{line}");
    }
    let said = run(&[]).stdout;
    assert!(
        said.contains("missing: not read: ") && said.contains("folder: not read: it is a folder\n"),
        "{said}"
    );
    assert!(said.contains("good.json: accepted\n"), "{said}");
    assert!(said.contains("  help: `bake explain bad_manifest` says what that means"), "{said}");
}

#[test]
fn no_more_is_read_than_could_pass() {
    let workspace = Workspace::empty();
    let large = fs::File::create(workspace.path("large")).unwrap();
    large.set_len(1 << 40).unwrap();
    for (kind, code) in
        [("archive", "archive_too_large"), ("manifest", "bad_manifest"), ("sidecar", "bad_sidecar")]
    {
        let ran = workspace.bake(&["verify", "--json", "--as", kind, "large"]).fails_with(5);
        assert_eq!(set(&lines(&ran)[0]["errors"], "code"), [code.to_owned()].into());
    }
    let ran = workspace.bake(&["verify", "large"]).fails_with(5);
    assert!(ran.stdout.contains("1099511627776 bytes; an archive has at most 52428800"), "{}", ran.stdout);
}

#[test]
fn mistakes_of_the_command_are_said_precisely() {
    let workspace = Workspace::empty();
    workspace.write("m.json", MANIFEST);
    for (context, expected) in [
        ("{\"slug\": 1}", "invalid type: integer `1`, expected a string at line 1 column 10"),
        ("{\"slugs\": \"x\"}", "unknown field `slugs`, expected one of `slug`, `version`"),
        ("{\n  \"registry\": {\"f\": {}}}", "missing field `user` at line 2 column 22"),
        ("", "EOF while parsing a value at line 1 column 0"),
    ] {
        workspace.write("context.json", context);
        let ran = workspace
            .bake(&["verify", "--as", "manifest", "--context", "context.json", "m.json"])
            .fails_with(2);
        assert!(ran.stderr.contains("`context.json` is no context: "), "{}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    }
    let missing =
        workspace.bake(&["verify", "--as", "manifest", "--context", "none", "m.json"]).fails_with(3);
    assert!(missing.stderr.contains("cannot read `none`: "), "{}", missing.stderr);
    let earlier =
        workspace.bake(&["verify", "--as", "manifest", "--earlier", "m.json", "m.json"]).fails_with(2);
    assert!(earlier.stderr.contains("`--as update`"), "{}", earlier.stderr);
    let set = workspace.bake(&["verify", "--as", "manifest", "--set", "m.json"]).fails_with(2);
    assert!(set.stderr.contains("`--as archive`"), "{}", set.stderr);
    workspace.write("broken.json", "{}");
    let ran =
        workspace.bake(&["verify", "--as", "update", "--earlier", "broken.json", "m.json"]).fails_with(2);
    assert!(ran.stderr.contains("`broken.json`: published manifest 0 is not sound: "), "{}", ran.stderr);
}

fn archive(workspace: &Workspace, file: &str, manifest: &str) {
    let mut ucas = Vec::new();
    let chunk = iostore::ChunkId::new(1, 0, iostore::ChunkType::BulkData);
    let utoc = iostore::Builder::new("Test_P").chunk(chunk, b"a thing").write(&mut ucas).unwrap();
    let members: [(&str, &[u8]); 3] = [
        ("mjolnir.json", manifest.as_bytes()),
        ("content/Test_P.utoc", &utoc),
        ("content/Test_P.ucas", &ucas),
    ];
    let bytes = write(&members, Compression::Text, Cursor::new(Vec::new())).unwrap().into_inner();
    fs::write(workspace.path(file), bytes).unwrap();
}

fn pack(version: &str) -> String {
    json!({"schema_version": 1, "name": "Pack", "version": version, "type": "content", "summary": "s",
        "forge_pack": {"schema_version": 1, "id": "foundry", "blocks": [{"id": "a", "name": "A",
            "tag": "objects\\mjolnir\\forge\\foundry\\a", "category": "c", "dimensions_m": [1, 1, 1]}]}})
    .to_string()
}

#[test]
fn a_set_of_archives_is_judged_as_a_whole_as_well() {
    let workspace = Workspace::empty();
    archive(&workspace, "a.mjolnir", MANIFEST);
    archive(&workspace, "b.mjolnir", &pack("0.1.0"));
    archive(&workspace, "c.mjolnir", &pack("0.2.0"));
    let ran = workspace.bake(&["verify", "--json", "--set", "a.mjolnir", "b.mjolnir"]).success();
    let found = lines(&ran);
    assert_eq!(found.len(), 3);
    assert_eq!((&found[2]["type"], &found[2]["verdict"]), (&json!("set"), &json!("pass")));
    assert_eq!(found[2]["files"], json!(["a.mjolnir", "b.mjolnir"]));
    let ran = workspace.bake(&["verify", "--set", "a.mjolnir", "b.mjolnir", "c.mjolnir"]).fails_with(5);
    assert!(ran.stdout.contains("the set of 3 archives: refused, 1 error\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("[pack_twice]"), "{}", ran.stdout);
}

fn page(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/codes").join(name)).unwrap()
}

/// The headings below a page's title.
fn sections(name: &str) -> Vec<String> {
    page(name).lines().filter_map(|line| line.strip_prefix("## ").map(str::to_owned)).collect()
}

#[test]
fn every_code_has_its_page_and_every_page_its_code() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/codes");
    let pages: BTreeSet<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "README.md")
        .map(|name| name.strip_suffix(".md").unwrap().to_owned())
        .collect();
    let codes: BTreeSet<String> =
        Code::ALL.iter().map(|code| code.token().to_owned()).chain(["unreadable".to_owned()]).collect();
    assert_eq!(pages, codes);
    let workspace = Workspace::empty();
    for code in &codes {
        let shown = workspace.bake(&["explain", code]).success().stdout;
        assert_eq!(shown, page(&format!("{code}.md")).replace("\r\n", "\n"), "{code}");
        assert!(shown.starts_with(&format!("# {code}\n\n")) && shown.contains("**To mend it:** "), "{code}");
    }
    let unknown = workspace.bake(&["explain", "bad_zap"]).fails_with(2);
    assert!(unknown.stderr.contains("`bad_zap`") && unknown.stderr.contains("bad_zip"), "{}", unknown.stderr);
}

#[test]
fn every_reason_has_its_section() {
    let zip: Vec<&str> = Reason::ALL.iter().map(|reason| reason.token()).collect();
    assert_eq!(sections("bad_zip.md"), zip);
    let steps: Vec<&str> = mjolnir::signature::Step::ALL.iter().map(|step| step.token()).collect();
    assert_eq!(sections("bad_signature.md"), steps);
    assert_eq!(sections("profile_limit.md"), mjolnir::profile::REASONS);
}

/// The rows of the table: code and reason.
fn stricter() -> BTreeSet<(String, String)> {
    let rows = page("README.md");
    let cell = |cell: &str| cell.trim().trim_matches('`').to_owned();
    rows.lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.split('|').collect::<Vec<_>>())
        .map(|cells| (cell(cells[1]), cell(cells[2])))
        .collect()
}

#[test]
fn where_we_are_stricter_than_the_hub_is_written_down() {
    let rows = stricter();
    assert!(rows.len() > 20);
    for (code, reason) in &rows {
        assert!(Code::ALL.iter().any(|known| known.token() == code), "{code}");
        assert!(reason.is_empty() || Reason::ALL.iter().any(|known| known.token() == reason), "{reason}");
    }
    let Some((_, cases)) = cases() else { return };
    let mut stricter = 0;
    for case in &cases {
        let hub = case.get("hub").or(case["expect"].get("hub"));
        let accepted = hub.is_some_and(|hub| hub["verdict"] == "pass");
        if !accepted || case["expect"]["verdict"] == "pass" {
            continue;
        }
        stricter += 1;
        let reason = case["expect"]["reason"].as_str().unwrap_or_default().to_owned();
        for code in texts(&case["expect"]["errors"]) {
            assert!(rows.contains(&(code.clone(), reason.clone())), "{}: {code} {reason}", case["id"]);
        }
    }
    assert!(stricter > 0);
}
