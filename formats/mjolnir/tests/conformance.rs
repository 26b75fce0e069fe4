//! The conformance cases of the topic `release`, found by their type: verdicts, codes, reasons, pointers and
//! the vectors byte for byte.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Cursor;
use std::path::Path;

use mjolnir::companions::{doors_txt, paks_name};
use mjolnir::finding::Finding;
use mjolnir::manifest::{Block, Door, ForgePack, MapCode};
use mjolnir::scan::{Context, Report, Verdict, scan, scan_manifest, scan_sidecar, scan_update};
use mjolnir::signature::{Author, Release, SeedKey, Sha256Digest, SignedAt, Signer, message};
use mjolnir::version::{Range, Version};
use mjolnir::zip::{Compression, write};
use serde::Deserialize;
use serde_json::Value;
use test_support::{assert_bytes_eq, conformance};

#[derive(Deserialize)]
struct Case {
    id: String,
    r#type: String,
    file: String,
    sha256: String,
    #[serde(default)]
    context: Context,
    #[serde(default)]
    earlier: Vec<String>,
    canonical: Option<bool>,
    expect: Expect,
}

#[derive(Deserialize)]
struct Expect {
    verdict: String,
    errors: BTreeSet<String>,
    warnings: Option<BTreeSet<String>>,
    reason: Option<String>,
    at: Option<BTreeSet<String>>,
}

fn codes<'a>(findings: impl Iterator<Item = &'a Finding>) -> BTreeSet<String> {
    findings.map(|finding| finding.code.to_string()).collect()
}

fn read(root: &Path, file: &str) -> Vec<u8> {
    fs::read(root.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn run(root: &Path, case: &Case, bytes: &[u8]) -> Report {
    match case.r#type.as_str() {
        "archive" => scan(bytes, &case.context),
        "manifest" => scan_manifest(bytes, &case.context),
        "sidecar" => scan_sidecar(bytes),
        "update" => {
            let earlier: Vec<_> = case.earlier.iter().map(|file| read(root, file)).collect();
            let earlier: Vec<_> = earlier.iter().map(Vec::as_slice).collect();
            scan_update(bytes, &earlier, &case.context).unwrap()
        }
        other => panic!("{}: no case of type `{other}` is known", case.id),
    }
}

#[test]
fn every_case_has_the_expected_verdict() {
    let Some(root) = conformance("release") else {
        return;
    };
    let cases: Value = serde_json::from_slice(&read(&root, "cases.json")).unwrap();
    let cases: Vec<Case> = serde_json::from_value(cases["cases"].clone()).unwrap();
    assert!(!cases.is_empty());
    let mut wrong = Vec::new();
    for case in &cases {
        let bytes = read(&root, &case.file);
        assert_eq!(Sha256Digest::of(&bytes).to_string(), case.sha256, "{}", case.id);
        let report = run(&root, case, &bytes);
        let expect = &case.expect;
        let mut check = |what: &str, right: bool| {
            if !right {
                wrong.push(format!("{}: {what}: {:#?}", case.id, report.findings));
            }
        };
        let verdict = match report.verdict() {
            Verdict::Pass => "pass",
            Verdict::Fail => "fail",
        };
        check("verdict", verdict == expect.verdict);
        check("errors", codes(report.errors()) == expect.errors);
        if let Some(warnings) = &expect.warnings {
            check("warnings", codes(report.warnings()) == *warnings);
        }
        if let Some(reason) = &expect.reason {
            let found: Vec<_> = report.errors().map(|finding| finding.reason).collect();
            check("reason", found == [Some(reason.as_str())]);
        }
        if let Some(at) = &expect.at {
            let found: BTreeSet<_> =
                report.errors().map(|finding| finding.at.clone().unwrap_or_default()).collect();
            check("at", found == *at);
        }
        if case.canonical.is_some() {
            check("canonical", report.canonical == case.canonical);
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

/// Files that no case names would be cases that nobody runs.
#[test]
fn every_file_belongs_to_a_case() {
    let Some(root) = conformance("release") else {
        return;
    };
    let cases: Value = serde_json::from_slice(&read(&root, "cases.json")).unwrap();
    let cases: Vec<Case> = serde_json::from_value(cases["cases"].clone()).unwrap();
    let named: BTreeSet<_> =
        cases.into_iter().flat_map(|case| case.earlier.into_iter().chain([case.file])).collect();
    for folder in fs::read_dir(&root).unwrap().map(Result::unwrap) {
        if !folder.file_type().unwrap().is_dir() {
            continue;
        }
        for file in fs::read_dir(folder.path()).unwrap().map(Result::unwrap) {
            let name = format!("{}/{}", folder.file_name().display(), file.file_name().display());
            assert!(named.contains(&name), "`{name}` belongs to no case");
        }
    }
}

fn vectors() -> Option<Value> {
    let root = conformance("release")?;
    Some(serde_json::from_slice(&read(&root, "vectors.json")).unwrap())
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn members(value: &Value) -> BTreeMap<String, Vec<u8>> {
    let members = value.as_object().unwrap().iter();
    members.map(|(name, data)| (name.clone(), unhex(data.as_str().unwrap()))).collect()
}

#[test]
fn the_canonical_zip_byte_for_byte() {
    let Some(vectors) = vectors() else { return };
    let vector = &vectors["canonical_zip"];
    let members = members(&vector["members_hex"]);
    let members: Vec<_> = members.iter().map(|(name, data)| (name.as_str(), data.as_slice())).collect();
    let written = write(&members, Compression::Store, Cursor::new(Vec::new())).unwrap();
    let expected = unhex(vector["hex"].as_str().unwrap());
    assert_bytes_eq("canonical zip", &written.into_inner(), &expected);
}

#[test]
fn signatures_byte_for_byte() {
    let Some(vectors) = vectors() else { return };
    for vector in vectors["signatures"].as_array().unwrap() {
        let text = |name: &str| vector[name].as_str().unwrap();
        let key = SeedKey::from_seed_file(text("seed_hex").to_uppercase().as_bytes()).unwrap();
        let public = key.public_key();
        assert_eq!(hex(public.as_bytes()), text("public_key_hex"));
        assert_eq!(public.to_base64(), text("public_key_b64"));
        assert_eq!(public.fingerprint().to_string(), text("fingerprint"));
        let author = vector["author"].as_object().map(|author| Author {
            id: author["id"].as_str().unwrap().to_owned(),
            username: author["username"].as_str().unwrap().to_owned(),
        });
        let release = Release {
            slug: text("slug").to_owned(),
            version: Version::parse(text("version")).unwrap(),
            author,
            signed_at: SignedAt::parse(text("signed_at")).unwrap(),
            files: members(&vector["members_hex"])
                .into_iter()
                .map(|(name, data)| (name, Sha256Digest::of(&data)))
                .collect(),
        };
        let statement = release.statement(&public).unwrap();
        assert_bytes_eq("statement", &statement, text("statement_utf8").as_bytes());
        let message = message(&statement);
        assert_eq!(Sha256Digest::of(&message).to_string(), text("message_sha256"));
        assert_eq!(hex(&key.sign(&message).unwrap()), text("signature_hex"));
        let envelope = release.sign(&key).unwrap();
        assert_bytes_eq("envelope", envelope.as_bytes(), text("envelope_utf8").as_bytes());
    }
}

#[test]
fn ranges_orders_and_lines() {
    let Some(vectors) = vectors() else { return };
    let texts = |value: &Value| -> Vec<String> { serde_json::from_value(value.clone()).unwrap() };
    let version = |text: &str| Version::parse(text).unwrap();
    for vector in vectors["ranges"].as_array().unwrap() {
        let range = Range::parse(vector["range"].as_str().unwrap()).unwrap();
        for (list, accepted) in [("accepts", true), ("rejects", false)] {
            for text in texts(&vector[list]) {
                assert_eq!(range.accepts(&version(&text)), accepted, "{range} and {text}");
            }
        }
    }
    for text in texts(&vectors["invalid_ranges"]) {
        assert!(Range::parse(&text).is_err(), "`{text}` is no range");
    }
    let order: Vec<_> = texts(&vectors["version_order"]).iter().map(|text| version(text)).collect();
    assert!(order.is_sorted_by(|a, b| a < b));
    for (text, interval) in vectors["lines"].as_object().unwrap() {
        let (from, to) = interval
            .as_str()
            .and_then(|interval| interval.trim_matches(['[', ')']).split_once(", "))
            .unwrap();
        assert_eq!(version(from).line(), version(text).line(), "{text}");
        assert_ne!(version(to).line(), version(text).line(), "{text}");
    }
}

#[test]
fn chunk_numbers_of_maps() {
    let Some(vectors) = vectors() else { return };
    for (code, number) in vectors["map_chunk_numbers"].as_object().unwrap() {
        let number = u32::try_from(number.as_u64().unwrap()).unwrap();
        assert_eq!(MapCode::parse(code).unwrap().chunk_number(), number, "{code}");
    }
}

#[test]
fn names_of_installed_containers() {
    let Some(vectors) = vectors() else { return };
    for vector in vectors["installed_names"].as_array().unwrap() {
        let number = |name: &str| usize::try_from(vector[name].as_u64().unwrap()).unwrap();
        let text = |name: &str| vector[name].as_str().unwrap();
        let library = vector["shader_library"].as_bool().unwrap();
        let name = paks_name(text("slug"), number("position"), text("stem"), number("index"), library);
        assert_eq!(name, text("paks_base"));
    }
}

#[test]
fn the_list_of_doors() {
    let Some(vectors) = vectors() else { return };
    let expected = vectors["doors_txt"].as_str().unwrap();
    let mut packs: Vec<ForgePack> = Vec::new();
    for row in expected.lines().skip(1) {
        let fields: Vec<_> = row.split('\t').collect();
        let [_, _, _, pack, id] = *fields[0].split('\\').collect::<Vec<_>>() else {
            panic!("{row}: not the tag of a block");
        };
        let numbers: Vec<f64> = fields[1..].iter().map(|field| field.parse().unwrap()).collect();
        let [travel_m, speed_m_s, x, y, z, hold_open_s, width, depth, height] = *numbers else {
            panic!("{row}: not ten fields");
        };
        let door = Door { travel_m, speed_m_s, trigger_size_m: [x, y, z], hold_open_s };
        let block = Block {
            id: id.to_owned(),
            name: "Door".to_owned(),
            category: "doors".to_owned(),
            dimensions_m: [width, depth, height],
            snap_m: None,
            light: None,
            lift: None,
            door: Some(door),
            surfaces: Vec::new(),
        };
        packs.push(ForgePack { id: pack.to_owned(), blocks: vec![block] });
    }
    assert_eq!(doors_txt(&packs), expected);
}
