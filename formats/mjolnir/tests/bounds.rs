//! Every bound of manifests, changes, levels and sidecars: what lies just within is accepted, what lies just
//! outside is refused at its own place.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeSet;
use std::io::Cursor;

use mjolnir::scan::{Context, Report, scan, scan_manifest, scan_sidecar};
use mjolnir::zip::{Compression, write};
use serde_json::{Value, json};

fn content() -> Value {
    json!({"schema_version": 1, "name": "x", "version": "1.0.0", "type": "content", "summary": "s"})
}

fn map() -> Value {
    json!({"schema_version": 1, "name": "x", "version": "1.0.0", "type": "map", "summary": "s",
        "map": {"code": "BGL", "title": "t", "modes": ["slayer"], "players": {"min": 2, "max": 8}}})
}

fn block(id: &str) -> Value {
    json!({"id": id, "name": "Block", "tag": format!("objects\\mjolnir\\forge\\aa\\{id}"), "category": "c",
        "dimensions_m": [1, 1, 1],
        "light": {"offset_m": [0, 0, 0], "color_rgb": [1, 1, 1], "intensity_cd": 1, "radius_m": 1},
        "lift": {"offset_m": [0, 0, 0], "size_m": [1, 1, 1], "direction": [0, 0, 1],
            "acceleration_m_s2": 1, "max_speed_m_s": 1, "negates_gravity": true},
        "door": {"travel_m": 1, "speed_m_s": 1, "trigger_size_m": [1, 1, 1], "hold_open_s": 1},
        "surfaces": [{"slot": 0, "profile": "glass_cyan"}]})
}

fn forge() -> Value {
    let mut manifest = content();
    manifest["forge_pack"] = json!({"schema_version": 1, "id": "aa", "blocks": [block("a"), block("b")]});
    manifest
}

/// A value that stands in the text as these letters, not as serde would write it.
fn raw(token: &str) -> Value {
    json!(format!("@{token}@"))
}

fn text(value: &Value) -> String {
    let text = value.to_string();
    let mut parts = text.split('@');
    let mut out = parts.next().unwrap().to_owned();
    while let (Some(token), Some(rest)) = (parts.next(), parts.next()) {
        out.pop();
        out += token;
        out += &rest[1..];
    }
    out
}

/// `base` with `value` at `pointer`, whose last part may be missing there; null with `gone` takes it out.
fn with(base: &Value, pointer: &str, value: &Value) -> Value {
    let mut changed = base.clone();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    match changed.pointer_mut(parent).unwrap() {
        Value::Array(items) => items[name.parse::<usize>().unwrap()] = value.clone(),
        Value::Object(object) if *value == gone() => drop(object.remove(name)),
        Value::Object(object) => drop(object.insert(name.to_owned(), value.clone())),
        other => panic!("{pointer}: {other} has no fields"),
    }
    changed
}

fn gone() -> Value {
    json!("@gone@")
}

fn judged(manifest: &str) -> Report {
    scan_manifest(manifest.as_bytes(), &Context::default())
}

/// Code and place of every error.
fn errors(report: &Report) -> BTreeSet<(String, String)> {
    report.errors().map(|found| (found.code.to_string(), found.at.clone().unwrap_or_default())).collect()
}

#[track_caller]
fn accepts(base: &Value, pointer: &str, values: &[Value]) {
    for value in values {
        let manifest = text(&with(base, pointer, value));
        assert_eq!(errors(&judged(&manifest)), BTreeSet::new(), "{pointer}: {value}");
    }
}

#[track_caller]
fn refuses_at(base: &Value, pointer: &str, values: &[Value], code: &str, at: &str) {
    for value in values {
        let manifest = text(&with(base, pointer, value));
        let expected = [(code.to_owned(), at.to_owned())].into();
        assert_eq!(errors(&judged(&manifest)), expected, "{pointer}: {value}");
    }
}

#[track_caller]
fn refuses(base: &Value, pointer: &str, values: &[Value]) {
    refuses_at(base, pointer, values, "bad_manifest", pointer);
}

/// What no field takes that is a text, a number, a list or an object, as the case may be.
fn not_a_text() -> [Value; 6] {
    [json!(null), json!(1), json!(true), json!([]), json!({}), raw("1.5")]
}

fn not_a_number() -> [Value; 6] {
    [json!(null), json!("1"), json!(true), json!([1]), json!({}), json!("")]
}

fn letters(count: usize) -> Value {
    json!("a".repeat(count))
}

#[test]
fn the_document() {
    let schema = "/schema_version";
    accepts(&content(), schema, &[raw("1")]);
    for base in [content(), map(), forge()] {
        let mut wrong = not_a_number().to_vec();
        wrong.extend(["0", "2", "-1", "1.0", "1e0", "10e-1", "18446744073709551617"].map(raw));
        wrong.push(gone());
        refuses(&base, schema, &wrong);
    }
    accepts(
        &content(),
        "/name",
        &[letters(1), letters(120), json!("é".repeat(120)), json!("\u{1f600}".repeat(60))],
    );
    refuses(&content(), "/name", &[letters(0), letters(121), json!("\u{1f600}".repeat(61)), gone()]);
    refuses(&content(), "/name", &not_a_text());
    accepts(&content(), "/summary", &[letters(0), letters(300), json!("\u{1f600}".repeat(150)), gone()]);
    refuses(&content(), "/summary", &[letters(301), json!(format!("{}a", "\u{1f600}".repeat(150)))]);
    refuses(&content(), "/summary", &not_a_text());
    refuses(&content(), "/type", &["script", "native", "Content", "maps", ""].map(|word| json!(word)));
    refuses(&content(), "/type", &not_a_text());
    refuses(&content(), "/type", &[gone()]);
    // Unknown fields are nobody's affair, whatever they hold.
    accepts(&content(), "/x_future", &[json!(null), json!([{}]), raw("1e308"), raw("-0"), json!({"a": {}})]);
    accepts(&content(), "/x_bake", &[json!(null), json!({"stand_ins": 1, "reduced": 1}), json!([])]);
}

#[test]
fn versions() {
    let long = |count: usize| json!(format!("1.0.0-{}", "a".repeat(count)));
    let good = ["0.0.0", "1.0.0-0", "1.0.0--", "1.0.0-a.b.c", "1.0.0-01a", "18446744073709551615.0.0"];
    accepts(&content(), "/version", &good.map(|text| json!(text)));
    accepts(&content(), "/version", &[long(90)]);
    let bad = [
        "",
        "1",
        "1.0",
        "1.0.0.0",
        "01.0.0",
        "1.00.0",
        "1.0.00",
        "v1.0.0",
        "=1.0.0",
        "1.0.0-",
        "1.0.0-a..b",
        "1.0.0-01",
        "1.0.0-00",
        "1.0.0+b",
        "1.0.0-a+b",
        " 1.0.0",
        "1.0.0 ",
        "1.0.0\n",
        "1.0.x",
        "-1.0.0",
        "1.0.0-ä",
        "18446744073709551616.0.0",
        "0.18446744073709551616.0",
        "1.0.0-a_b",
        "1,0,0",
        "１.0.0",
    ];
    refuses(&content(), "/version", &bad.map(|text| json!(text)));
    refuses(&content(), "/version", &[long(91), gone()]);
    refuses(&content(), "/version", &not_a_text());
    let context = |version: &str| Context { version: Some(version.to_owned()), ..Context::default() };
    let other = scan_manifest(content().to_string().as_bytes(), &context("1.0.1"));
    assert_eq!(errors(&other), [("version_mismatch".to_owned(), "/version".to_owned())].into());
}

#[test]
fn builds_and_deps() {
    for field in ["/compat/min_build", "/compat/max_build"] {
        let base = with(&content(), "/compat", &json!({}));
        accepts(&base, field, &[gone(), letters(1), letters(80)]);
        refuses(&base, field, &[letters(0), letters(81)]);
        refuses(&base, field, &not_a_text());
    }
    accepts(&content(), "/compat", &[gone(), json!({}), json!({"verified_builds": null})]);
    refuses(&content(), "/compat", &[json!(null), json!([]), json!("2026")]);

    let slugs =
        |count: usize| -> Value { (0..count).map(|index| json!({"slug": format!("s{index}")})).collect() };
    accepts(&content(), "/deps", &[gone(), slugs(0), slugs(64)]);
    refuses(&content(), "/deps", &[slugs(65), json!(null), json!({}), json!("aa")]);
    let base = with(&content(), "/deps", &json!([{"slug": "aa", "range": "*", "note": null}]));
    accepts(&base, "/deps/0/slug", &[letters(2), letters(64), json!("0-"), json!("a--b")]);
    let bad = ["", "a", "-a", "A0", "a_b", "a.b", "ä0", "a b", "aa\n"].map(|text| json!(text));
    refuses(&base, "/deps/0/slug", &bad);
    refuses(&base, "/deps/0/slug", &[letters(65), gone()]);
    refuses(&base, "/deps/0/slug", &not_a_text());
    refuses(&base, "/deps/0", &[json!("aa"), json!(null), json!(["aa"])]);
    let list = |count: usize| json!(vec![">=1.0.0"; count].join(", "));
    accepts(
        &base,
        "/deps/0/range",
        &[gone(), list(1), list(32), json!("1.2"), json!("1.2.3-rc.1"), json!("~1")],
    );
    refuses(&base, "/deps/0/range", &[list(33), json!(""), json!("latest"), json!("1.2.3.4"), json!("^")]);
    refuses(&base, "/deps/0/range", &not_a_text());
    let twice = json!([{"slug": "aa"}, {"slug": "bb"}, {"slug": "aa", "range": "^1.0.0"}]);
    refuses_at(&content(), "/deps", &[twice], "bad_manifest", "/deps/2/slug");
}

#[test]
fn maps() {
    refuses_at(&map(), "/map", &[gone(), json!(null), json!([]), json!("BGL")], "bad_manifest", "/map");
    refuses(&content(), "/map", &[json!(null), map()["map"].clone()]);
    refuses(&map(), "/forge_pack", &[json!(null), json!({}), forge()["forge_pack"].clone()]);
    accepts(&map(), "/map/code", &["000", "ZZZ", "A1Z"].map(|code| json!(code)));
    let bad = ["", "BG", "BGLX", "bgl", "B-L", "B L", "ÄÖ", "ＢＧＬ", "B40", "A15", "E30"];
    refuses(&map(), "/map/code", &bad.map(|code| json!(code)));
    refuses(&map(), "/map/code", &not_a_text());
    accepts(&map(), "/map/title", &[letters(1), letters(80), json!("\u{1f600}".repeat(40))]);
    refuses(&map(), "/map/title", &[letters(0), letters(81), json!("\u{1f600}".repeat(41)), gone()]);
    let modes = |count: usize| -> Value { (0..count).map(|index| json!("a".repeat(index + 1))).collect() };
    accepts(&map(), "/map/modes", &[modes(1), modes(8)]);
    refuses(&map(), "/map/modes", &[modes(0), modes(9), gone(), json!(null), json!("slayer"), json!({})]);
    accepts(&map(), "/map/modes/0", &[letters(24), json!("_"), json!("a_b")]);
    refuses(
        &map(),
        "/map/modes/0",
        &[letters(0), letters(25), json!("Slayer"), json!("a1"), json!("a b"), json!("a-b")],
    );
    refuses(&map(), "/map/modes/0", &not_a_text());
    let twice = json!(["ctf", "slayer", "ctf"]);
    refuses_at(&map(), "/map/modes", &[twice], "bad_manifest", "/map/modes/2");
    accepts(&map(), "/map/size", &["small", "medium", "large"].map(|word| json!(word)));
    refuses(&map(), "/map/size", &[json!(""), json!("Small"), json!("huge"), json!(null), json!(1)]);
    accepts(&map(), "/map/origin", &["custom_edition", "original"].map(|word| json!(word)));
    refuses(&map(), "/map/origin", &[json!("classic"), json!(""), json!(null), json!(true)]);
    accepts(&map(), "/map/vehicles", &[json!(true), json!(false), gone()]);
    refuses(&map(), "/map/vehicles", &[json!(null), json!(0), json!("true"), json!([])]);
    accepts(
        &map(),
        "/map/players",
        &[gone(), json!({"min": 1, "max": 16, "best": null}), json!({"min": 5, "max": 5})],
    );
    refuses(&map(), "/map/players", &[json!(null), json!([2, 8]), json!({"min": 9, "max": 8}), json!(8)]);
    for (field, good) in [("min", "1"), ("max", "16")] {
        let pointer = format!("/map/players/{field}");
        accepts(&map(), &pointer, &[raw(good)]);
        let bad = ["0", "-0", "17", "-1", "2.0", "2e0", "340282366920938463463374607431768211457"];
        refuses(&map(), &pointer, &bad.map(raw));
        refuses(&map(), &pointer, &not_a_number());
        refuses(&map(), &pointer, &[gone()]);
    }
    let report = judged(&with(&map(), "/map/modes", &json!(["slayer", "slayr"])).to_string());
    let warned: Vec<_> = report.warnings().map(|found| (found.code.token(), found.at.as_deref())).collect();
    assert_eq!(warned, [("unknown_mode", Some("/map/modes/1"))]);
}

const PACK: &str = "/forge_pack";
const BLOCK: &str = "/forge_pack/blocks/0";

#[test]
fn catalogs() {
    let at = |field: &str| format!("{PACK}/{field}");
    refuses(&content(), PACK, &[json!(null), json!([]), json!("aa")]);
    let newer = ["2", "10", "18446744073709551617", "1000000000000000000000000000000000000000000"].map(raw);
    refuses_at(&forge(), &at("schema_version"), &newer, "forge_unsupported", &at("schema_version"));
    refuses(&forge(), &at("schema_version"), &["0", "-0", "-2", "2.0", "2e0", "1.0"].map(raw));
    refuses(&forge(), &at("schema_version"), &not_a_number());
    refuses(&forge(), &at("schema_version"), &[gone()]);
    refuses(&forge(), &at("id"), &[letters(1), letters(65), json!("a_b"), json!("-a"), json!("Aa"), gone()]);
    let words = |count: usize, length: usize| json!(vec!["a".repeat(length); count]);
    accepts(&forge(), &at("requires"), &[gone(), json!([])]);
    refuses_at(
        &forge(),
        &at("requires"),
        &[words(1, 64), words(16, 1), json!(["0_-"])],
        "forge_unsupported",
        &at("requires"),
    );
    let bad =
        [words(1, 65), words(1, 0), words(17, 1), json!(["-a"]), json!(["A"]), json!([1]), json!([null])];
    refuses(&forge(), &at("requires"), &bad);
    refuses(&forge(), &at("requires"), &[json!(null), json!("a"), json!({})]);
    let blocks = |count: usize| -> Value { (0..count).map(|index| block(&format!("b{index}"))).collect() };
    accepts(&forge(), &at("blocks"), &[blocks(1), blocks(256)]);
    refuses(&forge(), &at("blocks"), &[blocks(0), blocks(257), gone(), json!(null), json!({})]);
    refuses(&forge(), BLOCK, &[json!(null), json!([]), json!("a")]);
    let twice = json!([block("a"), block("b"), block("a")]);
    refuses_at(&forge(), &at("blocks"), &[twice], "bad_manifest", &at("blocks/2/id"));
    accepts(&forge(), &at("preview_hint"), &[json!(null), json!([])]);
    accepts(&forge(), &format!("{BLOCK}/credit"), &[json!(null), json!({})]);
}

#[test]
fn blocks() {
    let at = |field: &str| format!("{BLOCK}/{field}");
    for id in ["0", "a_-", &"a".repeat(64)] {
        accepts(&forge(), BLOCK, &[block(id)]);
    }
    for id in ["", "_a", "-a", "A", "a b", "a.b", "ä", &"a".repeat(65)] {
        refuses_at(&forge(), BLOCK, &[block(id)], "bad_manifest", &at("id"));
    }
    refuses(&forge(), &at("id"), &not_a_text());
    accepts(&forge(), &at("kind"), &[gone(), json!("block")]);
    let newer = ["weapon", "Block", "block ", "", "blocks"].map(|kind| json!(kind));
    refuses_at(&forge(), &at("kind"), &newer, "forge_unsupported", &at("kind"));
    refuses(&forge(), &at("kind"), &not_a_text());
    // A kind that is no text is a fault like any other and hides none.
    let both = with(&with(&forge(), &at("kind"), &json!(1)), &at("name"), &json!(""));
    let places: BTreeSet<String> = errors(&judged(&text(&both))).into_iter().map(|(_, at)| at).collect();
    assert_eq!(places, BTreeSet::from([at("kind"), at("name")]));
    accepts(&forge(), &at("name"), &[letters(1), letters(80), json!("\u{1f600}".repeat(40)), json!(" a ")]);
    let bad = ["", " ", "\u{3000}", "a\nb", "a\u{0}", "a\u{7f}", "a\u{85}b"].map(|name| json!(name));
    refuses(&forge(), &at("name"), &bad);
    refuses(&forge(), &at("name"), &[letters(81), json!("\u{1f600}".repeat(41)), gone()]);
    let bad = [
        "objects/mjolnir/forge/aa/a",
        "objects\\mjolnir\\forge\\aa\\b",
        "objects\\mjolnir\\forge\\bb\\a",
        "Objects\\mjolnir\\forge\\aa\\a",
        "objects\\\\mjolnir\\\\forge\\\\aa\\\\a",
        "",
    ];
    refuses(&forge(), &at("tag"), &bad.map(|tag| json!(tag)));
    refuses(&forge(), &at("tag"), &[gone(), json!(null)]);
    accepts(&forge(), &at("category"), &[letters(1), letters(64), json!("0_-")]);
    refuses(
        &forge(),
        &at("category"),
        &[letters(0), letters(65), json!("_a"), json!("A"), json!("a b"), gone()],
    );
    let light = ["light", "lift", "door", "surfaces"];
    for field in light {
        accepts(&forge(), &at(field), &[gone(), json!(null)]);
        refuses(&forge(), &at(field), &[json!(true), json!(1), json!("x")]);
    }
    for field in &light[..3] {
        refuses(&forge(), &at(field), &[json!([])]);
        for strange in ["x", "a~b/c", ""] {
            let inner = format!("{}/{}", at(field), strange.replace('~', "~0").replace('/', "~1"));
            let mut base = forge();
            base.pointer_mut(&at(field)).unwrap()[strange] = json!(1);
            refuses_at(&base, "/summary", &[json!("s")], "bad_manifest", &inner);
        }
    }
    let plain = with(&with(&forge(), &at("door"), &gone()), "/summary", &json!("s"));
    vector(&plain, &at("dimensions_m"), &["5e-324", "1e-9", "1e308"], &["0", "-0", "0.0", "-1", "1e-999"]);
    vector(&forge(), &at("dimensions_m"), &["1e-9", "64", "64.0"], &["0", "64.00000000000001", "65"]);
    number(&forge(), &at("snap_m"), &["5e-324", "0.5", "1e308"], &["0", "-0.0", "-1"]);
    accepts(&forge(), &at("snap_m"), &[gone()]);
}

/// Each of three numbers within and beyond its bounds; a fault is the whole array's.
#[track_caller]
fn vector(base: &Value, pointer: &str, good: &[&str], bad: &[&str]) {
    let full = |token: &str, at: usize| {
        let mut items = vec![json!(1); 3];
        items[at] = raw(token);
        json!(items)
    };
    for at in 0..3 {
        good.iter().for_each(|token| accepts(base, pointer, &[full(token, at)]));
        bad.iter().for_each(|token| refuses(base, pointer, &[full(token, at)]));
        for wrong in not_a_number() {
            let mut items = vec![json!(1); 3];
            items[at] = wrong;
            refuses(base, pointer, &[json!(items)]);
        }
    }
    refuses(
        base,
        pointer,
        &[json!([]), json!([1, 1]), json!([1, 1, 1, 1]), json!(null), json!(1), json!({}), gone()],
    );
    refuses_at(base, pointer, &[full("1e999", 0), full("-1e400", 2)], "bad_manifest", "");
}

#[track_caller]
fn number(base: &Value, pointer: &str, good: &[&str], bad: &[&str]) {
    good.iter().for_each(|token| accepts(base, pointer, &[raw(token)]));
    bad.iter().for_each(|token| refuses(base, pointer, &[raw(token)]));
    refuses(base, pointer, &not_a_number());
    refuses_at(base, pointer, &[raw("1e999")], "bad_manifest", "");
}

#[test]
fn lights_lifts_doors_surfaces() {
    let at = |field: &str| format!("{BLOCK}/{field}");
    let base = forge();
    for offset in ["light/offset_m", "lift/offset_m"] {
        vector(&base, &at(offset), &["-100", "100", "-0", "1e2"], &["-100.001", "100.001", "1e300"]);
    }
    vector(&base, &at("light/color_rgb"), &["0", "-0.0", "1", "0.5"], &["-0.01", "1.01"]);
    number(&base, &at("light/intensity_cd"), &["5e-324", "10000"], &["0", "-1", "10000.001"]);
    number(&base, &at("light/radius_m"), &["5e-324", "100"], &["0", "-1", "100.001"]);
    vector(&base, &at("lift/size_m"), &["0.1", "100"], &["0.09", "0", "-1", "100.001"]);
    let good =
        ["[0,0,1]", "[-1,0,0]", "[0.6,0,0.8]", "[0,0,1.0004]", "[0,0,0.9996]", "[5e-324,0,1]"].map(raw);
    accepts(&base, &at("lift/direction"), &good);
    let bad =
        ["[0,0,0]", "[0,0,1.001]", "[0,0,0.999]", "[1,1,1]", "[1e200,0,0]", "[0,1]", "[0,0,1,0]"].map(raw);
    refuses(&base, &at("lift/direction"), &bad);
    refuses(&base, &at("lift/direction"), &[json!([0, 0, "1"]), json!(null), gone()]);
    number(&base, &at("lift/acceleration_m_s2"), &["0.1", "100"], &["0.0999", "0", "100.001"]);
    number(&base, &at("lift/max_speed_m_s"), &["0.1", "30"], &["0.0999", "-1", "30.001"]);
    accepts(&base, &at("lift/negates_gravity"), &[json!(true), json!(false)]);
    refuses(&base, &at("lift/negates_gravity"), &[json!(1), json!(0), json!("true"), json!(null), gone()]);
    number(&base, &at("door/travel_m"), &["5e-324", "16"], &["0", "-1", "16.001"]);
    number(&base, &at("door/speed_m_s"), &["5e-324", "8"], &["0", "-1", "8.001"]);
    vector(&base, &at("door/trigger_size_m"), &["5e-324", "32"], &["0", "-1", "32.001"]);
    number(&base, &at("door/hold_open_s"), &["0", "-0", "10"], &["-0.001", "10.001"]);
    for field in
        ["light/radius_m", "light/intensity_cd", "lift/max_speed_m_s", "door/travel_m", "door/hold_open_s"]
    {
        refuses(&base, &at(field), &[gone()]);
    }
    let surfaces = |slots: &[&str]| -> Value {
        slots.iter().map(|slot| json!({"slot": raw(slot), "profile": "teleporter_green"})).collect()
    };
    let all: Vec<String> = (0..17).map(|slot| (slot % 16).to_string()).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    accepts(&base, &at("surfaces"), &[surfaces(&[]), surfaces(&all[..16]), surfaces(&["-0"])]);
    refuses(&base, &at("surfaces"), &[surfaces(&all), json!({})]);
    for slot in ["16", "-1", "1.0", "0e0", "18446744073709551616"] {
        refuses_at(&base, &at("surfaces"), &[surfaces(&["5", slot])], "bad_manifest", &at("surfaces/1/slot"));
    }
    refuses_at(
        &base,
        &at("surfaces"),
        &[surfaces(&["0", "5", "-0"])],
        "bad_manifest",
        &at("surfaces/2/slot"),
    );
    let first = at("surfaces/0");
    refuses(&base, &first, &[json!(null), json!([]), json!(0)]);
    refuses(&base, &format!("{first}/slot"), &[gone(), json!(null), json!("0"), json!(true)]);
    refuses(
        &base,
        &format!("{first}/profile"),
        &[gone(), json!(null), json!("glass"), json!("Glass_cyan"), json!(0)],
    );
    refuses(&base, &format!("{first}/tint"), &[json!(1), json!(null)]);
}

#[test]
fn documents_that_are_no_json_object_of_one_reading() {
    let good = content().to_string();
    for wrong in ["", "[]", "null", "1", "\"x\"", "{", "{}{}"] {
        let report = judged(wrong);
        assert!(report.errors().all(|found| found.at.as_deref() == Some("")), "{wrong}");
        assert!(report.errors().count() > 0, "{wrong}");
    }
    let deep =
        |depth: usize| good.replacen('{', &format!("{{\"x\":{}{},", "[".repeat(depth), "]".repeat(depth)), 1);
    assert_eq!(errors(&judged(&deep(126))), BTreeSet::new());
    for wrong in [
        deep(127),
        format!("\u{feff}{good}"),
        good.replacen("\"x\"", "\"\\ud800\"", 1),
        good.replacen("\"x\"", "\"\\udc00\\ud800\"", 1),
        good.replacen("\"x\"", "\"a\nb\"", 1),
        good.replacen('{', "{\"name\":\"y\",", 1),
        good.replacen('{', "{\"n\\u0061me\":\"y\",", 1),
        good.replacen('{', "{\"x\":{\"a\":1,\"a\":1},", 1),
        good.replacen('{', "{\"x\":1e999,", 1),
        good.replacen('{', &format!("{{\"x\":{},", "9".repeat(400)), 1),
        good.replacen('{', "{\"x\":01,", 1),
        good.replacen('{', "{\"x\":NaN,", 1),
        good.replacen('}', ",}", 1),
        format!("{good}\u{0}"),
    ] {
        assert_eq!(errors(&judged(&wrong)), [("bad_manifest".to_owned(), String::new())].into(), "{wrong}");
    }
    for right in [
        good.replacen("\"x\"", "\"\\ud83d\\ude00\"", 1),
        good.replacen("\"x\"", "\"\\u0000\"", 1),
        format!(" \t\r\n{good}\n"),
        good.replacen('{', &format!("{{\"x\":{},", "9".repeat(300)), 1),
    ] {
        assert_eq!(errors(&judged(&right)), BTreeSet::new(), "{right}");
    }
}

/// An archive of the manifest `base` with these members more, and the codes and places of its errors.
fn scanned(base: &Value, more: &[(&str, String)]) -> BTreeSet<(String, String)> {
    let (mut ucas, manifest) = (Vec::new(), base.to_string());
    let chunk = iostore::ChunkId::new(1, 0, iostore::ChunkType::BulkData);
    let utoc = iostore::Builder::new("x-BGL_P").chunk(chunk, b"a thing").write(&mut ucas).unwrap();
    let mut members: Vec<(&str, &[u8])> = vec![
        ("mjolnir.json", manifest.as_bytes()),
        ("content/x-BGL_P.utoc", &utoc),
        ("content/x-BGL_P.ucas", &ucas),
    ];
    members.extend(more.iter().map(|(name, text)| (*name, text.as_bytes())));
    let bytes = write(&members, Compression::Text, Cursor::new(Vec::new())).unwrap().into_inner();
    errors(&scan(&bytes, &Context::default()))
}

#[test]
fn changes() {
    let base = json!({"schema_version": 1,
        "tags": [{"group": "g", "tag": "t", "fields": [{"field": "f", "before": "b", "value": "v"}]}],
        "textures": [{"path": "p", "bytes": 1}], "scripts": [{"group": "g", "tag": "t"}], "new_tags": 7});
    let check = |pointer: &str, value: Value, at: Option<&str>| {
        let changes = text(&with(&base, pointer, &value));
        let expected = at.map(|at| ("bad_changes".to_owned(), at.to_owned())).into_iter().collect();
        assert_eq!(scanned(&content(), &[("changes.json", changes)]), expected, "{pointer}: {value}");
    };
    let bad = |pointer: &str, value: Value| check(pointer, value, Some(pointer));
    for (pointer, min, max) in [
        ("/tags/0/group", 1, 64),
        ("/tags/0/tag", 1, 512),
        ("/tags/0/fields/0/field", 1, 512),
        ("/tags/0/fields/0/before", 0, 4096),
        ("/tags/0/fields/0/value", 0, 4096),
        ("/textures/0/path", 1, 512),
        ("/scripts/0/group", 1, 64),
        ("/scripts/0/tag", 1, 512),
    ] {
        check(pointer, letters(min), None);
        check(pointer, letters(max), None);
        bad(pointer, letters(max + 1));
        bad(pointer, json!(1));
        if min > 0 {
            bad(pointer, letters(min - 1));
            bad(pointer, json!(null));
        }
    }
    check("/tags/0/fields/0/before", json!(null), None);
    check("/tags/0/fields/0/before", gone(), None);
    for (pointer, item, most) in [
        ("/tags", json!({"group": "g", "tag": "t", "fields": []}), 1000),
        ("/tags/0/fields", json!({"field": "f", "value": "v"}), 500),
        ("/textures", json!({"path": "p"}), 500),
        ("/scripts", json!({"group": "g", "tag": "t"}), 500),
    ] {
        check(pointer, json!(vec![item.clone(); most]), None);
        bad(pointer, json!(vec![item; most + 1]));
        bad(pointer, json!(null));
    }
    for gone_from in ["/schema_version", "/tags", "/tags/0/group", "/tags/0/fields", "/textures/0/path"] {
        bad(gone_from, gone());
    }
    for good in ["0", "-0", "18446744073709551616"] {
        check("/textures/0/bytes", raw(good), None);
    }
    for wrong in ["-1", "1.0", "1e3", "null"] {
        bad("/textures/0/bytes", raw(wrong));
    }
    let padded = |length: usize| {
        let text = base.to_string();
        format!("{text}{}", " ".repeat(length - text.len()))
    };
    assert_eq!(scanned(&content(), &[("changes.json", padded(512 << 10))]), BTreeSet::new());
    assert_eq!(scanned(&content(), &[("changes.json", padded((512 << 10) + 1))]).len(), 1);
}

#[test]
fn levels() {
    let dep = |index: usize| json!({"slug": format!("p{index}"), "range": "^0.2.0"});
    let manifest = with(&map(), "/deps", &(0..64).map(dep).collect());
    let entry = |pack: usize, id: usize| json!({"id": format!("b{id}"), "tag": format!("objects\\mjolnir\\forge\\p{pack}\\b{id}")});
    let pack = |index: usize, blocks: usize| {
        let blocks: Vec<Value> = (0..blocks).map(|id| entry(index, id)).collect();
        json!({"slug": format!("p{index}"), "version": "0.2.0", "blocks": blocks})
    };
    let registration = json!({"code": "BGL", "from": "B40"}).to_string();
    let check = |packs: &Value, expected: &[(&str, &str)]| {
        let level = json!({"blam": {"forge_packs": packs}, "anything": null}).to_string();
        let members = [("map/level.json", level), ("map/registration.json", registration.clone())];
        let expected = expected
            .iter()
            .map(|(code, at)| ((*code).to_owned(), format!("/blam/forge_packs{at}")))
            .collect();
        assert_eq!(scanned(&manifest, &members), expected, "{packs}");
    };
    let code = "map_forge_packs";
    check(&json!([]), &[]);
    check(&(0..63).map(|index| pack(index, 1)).collect(), &[]);
    check(&(0..64).map(|index| pack(index, 1)).collect(), &[(code, "")]);
    check(&json!([pack(0, 200)]), &[]);
    check(&json!([pack(0, 201)]), &[(code, "/0/blocks")]);
    check(&json!([pack(0, 100), pack(1, 101)]), &[(code, "")]);
    // A pack of which nothing is used breaks no rule.
    check(&json!([pack(0, 0)]), &[]);
    check(&json!([pack(0, 1), pack(0, 1)]), &[(code, "/1/slug")]);
    let base = json!([pack(0, 2)]);
    check(&with(&base, "/0/blocks/1", &entry(0, 0)), &[(code, "/0/blocks/1/id")]);
    check(
        &with(&base, "/0/blocks/1/tag", &json!("objects\\mjolnir\\forge\\p1\\b1")),
        &[(code, "/0/blocks/1/tag")],
    );
    for version in ["^0.2.0", "0.2", "0.2.0+1", ""] {
        check(&with(&base, "/0/version", &json!(version)), &[(code, "/0/version")]);
    }
    for version in ["0.3.0", "0.1.9", "0.2.0-rc.1"] {
        check(&with(&base, "/0/version", &json!(version)), &[(code, "/0")]);
    }
    for wrong in [json!(null), json!({}), json!("p0")] {
        check(&wrong, &[(code, "")]);
    }
}

#[test]
fn sidecars() {
    let row = |index: &str, tag: &str, slug: &str, version: &str, sha: &str| {
        format!("{index}\t{tag}\t{slug}\t{version}\t{sha}\n")
    };
    let (tag, sha) = ("objects\\mjolnir\\forge\\aa\\b", "0123456789abcdef".repeat(4));
    let good = row("7", tag, "aa", "0.2.0", &sha);
    let check = |text: &str, passes: bool| {
        let codes: Vec<_> =
            scan_sidecar(text.as_bytes()).findings.iter().map(|found| found.code.token()).collect();
        let expected: &[&str] = if passes { &[] } else { &["bad_sidecar"] };
        assert_eq!(codes, expected, "{text:?}");
    };
    let head = "forge-packs 1\n";
    for index in ["0", "254"] {
        check(&format!("{head}{}", row(index, tag, "aa", "0.2.0-rc.1", &sha)), true);
    }
    let rows = |count: usize| -> String {
        (0..count).map(|index| row(&index.to_string(), tag, "aa", "1.0.0", &sha)).collect()
    };
    check(&format!("{head}{}", rows(200)), true);
    check(&format!("{head}{}", rows(201)), false);
    for index in ["255", "256", "00", "01", "-0", "+1", "", " 1", "1 ", "0x1", "１", "99999999999999999999"]
    {
        check(&format!("{head}{}", row(index, tag, "aa", "0.2.0", &sha)), false);
    }
    for (tag, slug, version, sha) in [
        (tag, "bb", "0.2.0", sha.as_str()),
        ("objects/mjolnir/forge/aa/b", "aa", "0.2.0", &sha),
        ("objects\\mjolnir\\forge\\aa\\", "aa", "0.2.0", &sha),
        ("objects\\mjolnir\\forge\\aa\\b\\c", "aa", "0.2.0", &sha),
        ("objects\\mjolnir\\forge\\a\\b", "a", "0.2.0", &sha),
        (tag, "aa", "0.2", &sha),
        (tag, "aa", "^0.2.0", &sha),
        (tag, "aa", "0.2.0+1", &sha),
        (tag, "aa", "", &sha),
        (tag, "aa", "0.2.0", &sha[1..]),
        (tag, "aa", "0.2.0", &sha.to_uppercase()),
        (tag, "aa", "0.2.0", &format!("{sha}0")),
        (tag, "aa", "0.2.0", &sha.replace('0', "g")),
    ] {
        check(&format!("{head}{}", row("1", tag, slug, version, sha)), false);
    }
    for text in [
        String::new(),
        "forge-packs 1".to_owned(),
        "forge-packs 2\n".to_owned(),
        "Forge-packs 1\n".to_owned(),
        "forge-packs  1\n".to_owned(),
        "forge-packs 1\r\n".to_owned(),
        format!("\u{feff}{head}"),
        format!("\n{head}"),
        format!("{head}\n"),
        format!("{head}{good}\n"),
        format!("{head}{}", good.trim_end()),
        format!("{head}{}", good.replace('\n', "\r\n")),
        format!("{head}{}", good.replace('\n', "\t\n")),
        format!("{head}{}", good.replacen('\t', " ", 1)),
        format!("{head}{}", good.replacen('\t', "\t\t", 1)),
        format!("{head}{good}{good}"),
        format!("{head}{}", good.replace("0.2.0", "0.2.é")),
        format!("{head}\u{0}"),
    ] {
        check(&text, false);
    }
    check(head, true);
}
