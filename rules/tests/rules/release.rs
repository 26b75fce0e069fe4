//! `manifest`, `sign` and `archive-and-verify`: what is released, by whom, and what would be refused.

use std::collections::BTreeMap;

use cache::Blobs;
use engine::Input;
use serde_json::{Value, json};

use crate::harness::{Bench, Key, said};

fn release() -> Value {
    json!({"id": "foundry", "name": "Foundry", "version": "0.1.0", "summary": "Slabs."})
}

fn signing() -> Value {
    let (key, at) = (Key::new().base64(), "2026-08-02T00:00:00Z");
    json!({"public_key": key, "slug": "foundry", "version": "0.1.0", "signed_at": at})
}

fn archiving() -> Value {
    json!({"file": "foundry-0.1.0.mjolnir", "slug": "foundry", "version": "0.1.0"})
}

/// All unsigned members of a small release.
fn members(bench: &Bench, change: impl FnOnce(&mut BTreeMap<String, Vec<u8>>)) -> Input {
    let manifest = bench.run("manifest", json!({"release": release()}), &[]).unwrap();
    let made = rules::stand_in_game::packages();
    let material = made.iter().find(|made| made.path.ends_with("/M_Synth")).unwrap();
    let packages = bench.tree([("Meteorite/Content/Synth/M_Synth.uasset", material.zen.as_slice())]);
    let packed =
        bench.run("pack", json!({"name": "pakchunk990-foundry_P"}), &[("packages", packages)]).unwrap();
    let mut files = bench.files(&manifest, "members");
    files.extend(bench.files(&packed, "container"));
    files.insert("README.md".to_owned(), b"# Foundry\n".to_vec());
    change(&mut files);
    bench.tree(files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())))
}

#[test]
fn a_manifest_says_what_the_recipe_says() {
    let bench = Bench::new();
    let mut release = release();
    release["deps"] = json!([{"slug": "base", "range": "^1.2"}, {"slug": "other"}]);
    release["compat"] = json!({"min_build": "2026.06.26"});
    let given = json!({"release": release, "stand_ins": ["mappings", "game"]});
    let files = bench.files(&bench.run("manifest", given, &[]).unwrap(), "members");
    let text = String::from_utf8(files["mjolnir.json"].clone()).unwrap();
    assert_eq!(
        text,
        r#"{
  "schema_version": 1,
  "name": "Foundry",
  "version": "0.1.0",
  "type": "content",
  "summary": "Slabs.",
  "compat": {
    "min_build": "2026.06.26"
  },
  "deps": [
    {
      "slug": "base",
      "range": "^1.2"
    },
    {
      "slug": "other",
      "range": "*"
    }
  ],
  "x_bake": {
    "stand_ins": [
      "game",
      "mappings"
    ]
  }
}"#
    );
    assert_eq!(mjolnir::changes::check(&files["changes.json"]), []);
}

#[test]
fn mistakes_of_a_release_have_their_place() {
    let bench = Bench::new();
    let mistakes = |key: &str, value: Value| {
        let mut release = release();
        release[key] = value;
        bench.mistakes("manifest", json!({"release": release})).join("; ")
    };
    assert!(mistakes("name", json!("")).starts_with("`release.name`: "));
    assert!(mistakes("version", json!("1.0")).starts_with("`release.version`: "));
    assert!(mistakes("id", json!("Foundry")).starts_with("`release.id`: `Foundry` is no slug"));
    assert!(
        mistakes("deps", json!([{"slug": "ok"}, {"slug": "ok", "range": ">"}]))
            .starts_with("`release.deps[1].range`: ")
    );
    assert!(mistakes("summary", json!("x".repeat(301))).starts_with("`release.summary`: "));
}

#[test]
fn a_signed_archive_passes_its_own_scan() {
    let bench = Bench::new();
    let given = [("members", members(&bench, |_| ()))];
    let signed = bench.run("sign", signing(), &given).unwrap();
    let signature = Input::File(signed.outputs["signature"].digest());
    let with = [given[0].clone(), ("signature", signature)];
    let ran = bench.run("archive-and-verify", archiving(), &with).unwrap();
    let archive = &bench.files(&ran, "archive")["foundry-0.1.0.mjolnir"];
    let context = mjolnir::scan::Context {
        slug: Some("foundry".to_owned()),
        require_signed: true,
        ..Default::default()
    };
    let report = mjolnir::scan::scan(archive, &context);
    assert_eq!(report.errors().count(), 0);
    assert_eq!(report.signer.map(|key| *key.as_bytes()), Some(engine::Signer::public_key(&Key::new())));

    // The unsigned members are the same with and without a signature.
    let unsigned = bench.run("archive-and-verify", archiving(), &given).unwrap();
    assert_eq!(unsigned.outputs["members"], ran.outputs["members"]);
    assert_ne!(unsigned.outputs["archive"], ran.outputs["archive"]);
    let names: Vec<String> = bench.files(&ran, "members").into_keys().collect();
    assert_eq!(
        names,
        [
            "changes.json",
            "content/pakchunk990-foundry_P.ucas",
            "content/pakchunk990-foundry_P.utoc",
            "docs/README.md",
            "mjolnir.json",
        ]
    );
    let stored = bench.run(
        "archive-and-verify",
        json!({"store": true, "file": "a.mjolnir", "slug": "foundry", "version": "0.1.0"}),
        &given,
    );
    let stored = &bench.files(&stored.unwrap(), "archive")["a.mjolnir"];
    assert!(stored.windows(9).any(|bytes| bytes == b"# Foundry"));
}

#[test]
fn a_signature_is_of_the_key_that_the_step_names() {
    let bench = Bench::new();
    let mut given = signing();
    given["public_key"] = json!("AAAA");
    let text = said(bench.run("sign", given, &[("members", members(&bench, |_| ()))]));
    assert!(
        text.starts_with(&format!(
            "the step is to sign with key {}, the key given is {}",
            "AAAA",
            Key::new().base64()
        )),
        "{text}"
    );
    let twice = members(&bench, |files| drop(files.insert("signature.json".to_owned(), b"{}".to_vec())));
    assert_eq!(
        said(bench.run("sign", signing(), &[("members", twice)])),
        "`signature.json` is made by the step that signs, not given as a member"
    );
    let mut given = signing();
    given["signed_at"] = json!("yesterday");
    assert_eq!(
        bench.mistakes("sign", given),
        ["`signed_at`: `yesterday` is no time, expected `YYYY-MM-DDThh:mm:ssZ`"]
    );
}

#[test]
fn what_the_hub_would_refuse_fails_with_its_code() {
    let bench = Bench::new();
    let refused = |given: Value, change: fn(&mut BTreeMap<String, Vec<u8>>)| {
        said(bench.run("archive-and-verify", given, &[("members", members(&bench, change))]))
    };
    let mut other = archiving();
    other["version"] = json!("0.2.0");
    let text = refused(other, |_| ());
    assert!(text.contains(" [version_mismatch]\n  [version_mismatch] mjolnir.json: "), "{text}");
    let text = refused(archiving(), |files| drop(files.remove("content/pakchunk990-foundry_P.ucas")));
    assert!(text.contains("[orphan_utoc]"), "{text}");
    let text = refused(archiving(), |files| {
        let utoc = files.get_mut("content/pakchunk990-foundry_P.utoc").unwrap();
        utoc.pop();
    });
    assert!(text.contains("[bad_container] content/pakchunk990-foundry_P.utoc: "), "{text}");
    let text = refused(archiving(), |files| files.retain(|name, _| !name.starts_with("content/")));
    assert!(text.contains("[no_content]"), "{text}");
    let text = refused(archiving(), |files| drop(files.insert("x.lua".to_owned(), b"x".to_vec())));
    assert!(text.starts_with("`foundry-0.1.0.mjolnir` cannot be written: member `x.lua`: "), "{text}");
    assert_eq!(
        bench
            .mistakes("archive-and-verify", json!({"file": "a.zip", "slug": "aa", "version": "1.0.0"}))
            .len(),
        1
    );
}

/// The record of what the bench archives, changed.
fn published(bench: &Bench, change: impl FnOnce(&mut mjolnir::record::Record)) -> mjolnir::record::Record {
    let ran = bench.run("archive-and-verify", archiving(), &[("members", members(bench, |_| ()))]).unwrap();
    let bytes = bench.store.read(&ran.outputs["record"].digest()).unwrap().unwrap();
    let mut record = mjolnir::record::Record::read(&bytes).unwrap();
    change(&mut record);
    record
}

#[test]
fn a_release_is_recorded() {
    let bench = Bench::new();
    let record = published(&bench, |_| ());
    assert_eq!((record.slug.as_str(), record.manifest.version.to_string().as_str()), ("foundry", "0.1.0"));
    assert_eq!(record.contents.game, None);
    let names: Vec<&String> = record.contents.members.keys().collect();
    assert_eq!(
        names,
        [
            "changes.json",
            "content/pakchunk990-foundry_P.ucas",
            "content/pakchunk990-foundry_P.utoc",
            "docs/README.md",
            "mjolnir.json"
        ]
    );
}

#[test]
fn what_breaks_an_earlier_release_fails_with_a_way_out() {
    let bench = Bench::new();
    let with = |path: &str, change: fn(&mut mjolnir::record::Record)| {
        let text = published(&bench, change).write().unwrap();
        let earlier = bench.tree([(path, text.as_bytes())]);
        bench.run(
            "archive-and-verify",
            archiving(),
            &[("members", members(&bench, |_| ())), ("earlier", earlier)],
        )
    };
    fn catalog(record: &mut mjolnir::record::Record, version: &str) {
        let text = format!(
            r#"{{"schema_version":1,"name":"Foundry","version":"{version}","type":"content","forge_pack":{{
                "schema_version":1,"id":"foundry","blocks":[{{"id":"a","name":"A","category":"c",
                "tag":"objects\\mjolnir\\forge\\foundry\\a","dimensions_m":[1,1,1]}}]}}}}"#
        );
        record.manifest = mjolnir::manifest::Manifest::read(text.as_bytes()).unwrap();
    }
    with("releases/0.1.1.json", |record| catalog(record, "0.1.1")).unwrap();
    let text = said(with("releases/0.1.0-rc.1.json", |record| catalog(record, "0.1.0-rc.1")));
    assert_eq!(
        text,
        "release 0.1.0 of `foundry` has no catalog, 0.1.0-rc.1 has one [forge_line_break]\nhelp: within ^0.1.0 \
         every entry must stay (same id, kind, dimensions, snap): start 0.2.0, or bring it back"
    );
    // Its own version may have been built otherwise: that is said, and decided when it is recorded.
    let ran = with("releases/0.1.0.json", |record| {
        record.contents.members.retain(|name, _| name != "changes.json");
    });
    let notes: Vec<String> = ran.unwrap().notes.into_iter().map(|note| note.message).collect();
    assert_eq!(
        notes,
        [
            "release 0.1.0 of `foundry` was released with other members: `changes.json`; raise the version before it is \
          released"
        ]
    );
    let text = said(with("releases/0.1.0.json", |record| catalog(record, "0.1.1")));
    assert!(text.starts_with("`releases/0.1.0.json` is no record of `foundry`: it is of 0.1.1"), "{text}");
    let text = said(with("releases/0.1.0.json", |record| record.slug = "other".to_owned()));
    assert!(text.contains("it is of 0.1.0 of `other`"), "{text}");
}

#[test]
fn an_archive_that_is_too_large_says_by_what() {
    let bench = Bench::new();
    // Content that does not pack: the bytes of a counter's hash.
    let noise = |mebibytes: usize| {
        let blocks = (0..mebibytes << 15).flat_map(|n| *blake3::hash(&n.to_le_bytes()).as_bytes());
        blocks.collect::<Vec<u8>>()
    };
    let with = |mebibytes| {
        let given = members(&bench, |files| drop(files.insert("docs/big.png".to_owned(), noise(mebibytes))));
        bench.run("archive-and-verify", archiving(), &[("members", given)])
    };
    let ran = with(41).unwrap();
    let note = &ran.notes.iter().find(|note| note.message.contains("MiB")).unwrap().message;
    assert_eq!(note, "`foundry-0.1.0.mjolnir` has 41.0 MiB of at most 50.0 MiB: 41.0 MiB docs/big.png");
    assert_eq!(
        said(with(51)),
        "`foundry-0.1.0.mjolnir` has 51.0 MiB, at most 50.0 MiB are allowed [archive_too_large]\n  51.0 MiB docs/big.png"
    );
}

/// Stored archives are keyed by the rule's version, not by the encoder that made them.
#[test]
fn another_encoder_is_another_version_of_the_rule() {
    let bench = Bench::new();
    let version = bench.rule("archive-and-verify").id().version;
    // When the encoder moves: raise the version of the rule, then write down both.
    assert_eq!((version, mjolnir::zip::ENCODER), (2, "miniz_oxide 0.8.9, level 9"));
}
