//! The order of verification: for each step, whatever can be wrong there, and nothing that is wrong later.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeMap;
use std::io::{Cursor, Write};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE};
use curve25519_dalek::constants::EIGHT_TORSION;
use curve25519_dalek::edwards::EdwardsPoint;
use curve25519_dalek::scalar::{Scalar, clamp_integer};
use ed25519_dalek::{Signature, Verifier, VerifyingKey};
use mjolnir::scan::{Context, scan};
use mjolnir::signature::{
    Author, Expected, PublicKey, Release, SeedKey, Sha256Digest, SignedAt, Signer, Verified, message, verify,
};
use mjolnir::version::Version;
use serde_json::{Value, json};
use sha2::{Digest, Sha512};

const SEED: [u8; 32] = [7; 32];

fn key() -> SeedKey {
    SeedKey::from_seed(&SEED)
}

/// An empty member is a member.
fn members() -> BTreeMap<String, Sha256Digest> {
    [("mjolnir.json", &b"{}"[..]), ("a.ucas", b"1"), ("docs/empty.md", b"")]
        .map(|(name, data)| (name.to_owned(), Sha256Digest::of(data)))
        .into()
}

fn statement() -> Value {
    let files = members().into_iter().map(|(name, digest)| (name, digest.to_string().into()));
    json!({"schema_version": 1, "slug": "foundry", "version": "0.2.0", "author": null,
        "key_fingerprint": key().public_key().fingerprint().to_string(),
        "signed_at": "no time", "files": Value::Object(files.collect())})
}

/// An envelope of these bytes, with the key's signature over them.
fn signed(payload: &[u8]) -> Value {
    let signature = key().sign(&message(payload)).unwrap();
    envelope(payload, key().public_key().as_bytes(), &signature)
}

fn envelope(payload: &[u8], key: &[u8], signature: &[u8]) -> Value {
    json!({"schema_version": 1, "payload_type": "mjolnir-mod-statement-v1", "payload": STANDARD.encode(payload),
        "public_key": STANDARD.encode(key), "signature": STANDARD.encode(signature)})
}

fn good() -> Value {
    signed(statement().to_string().as_bytes())
}

/// The token of the step that fails, `ok` for none.
fn outcome(envelope: &[u8]) -> &'static str {
    let expected = Expected { slug: Some("foundry"), version: Some("0.2.0") };
    match verify(envelope, expected, members) {
        Ok(_) => "ok",
        Err(error) => {
            assert!(!error.message.is_empty());
            error.step.token()
        }
    }
}

#[track_caller]
fn check(envelope: impl ToString, token: &str) {
    let envelope = envelope.to_string();
    assert_eq!(outcome(envelope.as_bytes()), token, "{envelope}");
}

/// The good envelope with one field replaced, or removed.
fn with(name: &str, value: Option<Value>) -> Value {
    changed(good(), name, value)
}

fn changed(mut object: Value, name: &str, value: Option<Value>) -> Value {
    let fields = object.as_object_mut().unwrap();
    match value {
        Some(value) => drop(fields.insert(name.to_owned(), value)),
        None => drop(fields.remove(name).expect("it was there")),
    }
    object
}

#[test]
fn what_is_passed_over() {
    check(good(), "ok");
    check(format!("\n\t{:#}\r\n ", good()), "ok");
    check(with("more", Some(json!({"any": [1.5, null]}))), "ok");
    check(signed(format!(" {:#}\n", changed(statement(), "more", Some(json!(true)))).as_bytes()), "ok");
    check(signed(changed(statement(), "signed_at", None).to_string().as_bytes()), "ok");
}

#[test]
fn envelopes() {
    let text = good().to_string();
    for wrong in [
        String::new(),
        "null".to_owned(),
        format!("[{text}]"),
        format!("\u{feff}{text}"),
        format!("{text} {text}"),
        text.replace("{\"", "{'"),
        // Repeated keys: at the top with the same value, in disguise, and inside what is passed over.
        text.replacen('{', "{\"schema_version\":1,", 1),
        text.replacen('{', "{\"payl\\u006fad\":\"\",", 1),
        text.replacen('{', "{\"more\":{\"a\":1,\"a\":1},", 1),
        text.replacen('{', "{\"more\":\"\\ud800\",", 1),
        text.replacen('{', "{\"more\":1e999,", 1),
    ] {
        check(wrong, "envelope");
    }
    for (name, values) in [
        ("schema_version", vec![json!(2), json!(0), json!(1.0), json!("1"), json!(true), Value::Null]),
        (
            "payload_type",
            vec![json!("mjolnir-mod-statement-v2"), json!("MJOLNIR-MOD-STATEMENT-V1"), Value::Null],
        ),
        ("payload", vec![json!(1), json!([]), Value::Null]),
        ("public_key", vec![json!(1), json!({}), Value::Null]),
        ("signature", vec![json!(false), Value::Null]),
    ] {
        check(with(name, None), "envelope");
        values.into_iter().for_each(|value| check(with(name, Some(value)), "envelope"));
    }
}

#[test]
fn base64_is_strict() {
    for name in ["payload", "public_key", "signature"] {
        let text = good()[name].as_str().unwrap().to_owned();
        let bytes = STANDARD.decode(&text).unwrap();
        let mut wrong = vec![
            format!(" {text}"),
            format!("{text}\n"),
            format!("{}\n{}", &text[..16], &text[16..]),
            format!("{text}="),
            format!("={text}"),
            format!("{text}A"),
            text.replacen(&text[4..5], "*", 1),
            text.replacen(&text[4..5], "é", 1),
        ];
        if STANDARD_NO_PAD.encode(&bytes) != text {
            wrong.push(STANDARD_NO_PAD.encode(&bytes));
            // The last letter before the padding has bits that stand for nothing.
            let at = text.trim_end_matches('=').len() - 1;
            let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
            let next = letters.find(&text[at..=at]).unwrap() + 1;
            wrong.push(format!("{}{}{}", &text[..at], &letters[next..=next], &text[at + 1..]));
        }
        if URL_SAFE.encode(&bytes) != text {
            wrong.push(URL_SAFE.encode(&bytes));
        }
        assert!(wrong.iter().all(|wrong| *wrong != text));
        wrong.into_iter().for_each(|wrong| check(with(name, Some(wrong.into())), "base64"));
    }
}

#[test]
fn lengths() {
    let encoded = |length| Some(Value::from(STANDARD.encode(vec![1; length])));
    for length in [0, 31, 33, 64] {
        check(with("public_key", encoded(length)), "length");
    }
    for length in [0, 63, 65, 32] {
        check(with("signature", encoded(length)), "length");
    }
    check(with("payload", encoded(0)), "crypto");
}

/// The scalar of the seed's key, and what the challenge is for a nonce and a key.
fn scalar() -> Scalar {
    let hash = Sha512::digest(SEED);
    Scalar::from_bytes_mod_order(clamp_integer(hash[..32].try_into().unwrap()))
}

fn challenge(nonce: &[u8; 32], key: &[u8; 32], payload: &[u8]) -> Scalar {
    let hash = Sha512::new().chain_update(nonce).chain_update(key).chain_update(message(payload));
    Scalar::from_bytes_mod_order_wide(&hash.finalize().into())
}

fn joined(nonce: &[u8; 32], scalar: &[u8; 32]) -> [u8; 64] {
    [*nonce, *scalar].concat().try_into().unwrap()
}

/// Both encodings of a point whose y is less than 19: the field's order may be added.
fn other_encoding(point: &[u8; 32]) -> Option<[u8; 32]> {
    let small = point[0] < 19 && point[1..31].iter().all(|byte| *byte == 0) && point[31] & 0x7F == 0;
    let mut other = [0xFF; 32];
    (other[0], other[31]) = (point[0].wrapping_add(0xED), point[31] | 0x7F);
    small.then_some(other)
}

#[test]
fn other_signatures() {
    let payload = statement().to_string();
    let payload = payload.as_bytes();
    let public = *key().public_key().as_bytes();
    let signature = key().sign(&message(payload)).unwrap();
    check(envelope(payload, &public, &signature), "ok");

    // Another text, another key, halves exchanged; the statement without its domain.
    check(envelope(&payload[1..], &public, &signature), "crypto");
    check(envelope(payload, SeedKey::from_seed(&[8; 32]).public_key().as_bytes(), &signature), "crypto");
    check(envelope(payload, &public, &[&signature[32..], &signature[..32]].concat()), "crypto");
    check(envelope(payload, &public, &key().sign(payload).unwrap()), "crypto");

    // The same S, one order of the group further.
    let mut further = signature;
    let mut carry = 1u16;
    let order_less_one = Scalar::ZERO - Scalar::ONE;
    for (byte, order) in further[32..].iter_mut().zip(order_less_one.as_bytes()) {
        let sum = u16::from(*byte) + u16::from(*order) + carry;
        (*byte, carry) = (sum as u8, sum >> 8);
    }
    assert_eq!(carry, 0);
    check(envelope(payload, &public, &further), "crypto");

    // A key and a nonce that are no points.
    let mut no_point = public;
    while VerifyingKey::from_bytes(&no_point).is_ok() {
        no_point[0] ^= 1;
        no_point[1] = no_point[1].wrapping_add(1);
    }
    check(envelope(payload, &no_point, &signature), "crypto");
    check(envelope(payload, &public, &joined(&no_point, signature[32..].try_into().unwrap())), "crypto");
}

/// Signatures that plain verification accepts: the strict kind must not.
#[test]
fn small_orders() {
    let payload = statement().to_string();
    let payload = payload.as_bytes();
    let public = *key().public_key().as_bytes();
    let plain = |key: &[u8; 32], signature: &[u8; 64]| {
        let key = VerifyingKey::from_bytes(key).unwrap();
        key.verify(&message(payload), &Signature::from_bytes(signature)).is_ok()
    };
    let points: Vec<[u8; 32]> = EIGHT_TORSION.iter().map(|point| point.compress().to_bytes()).collect();
    let points: Vec<[u8; 32]> =
        points.iter().copied().chain(points.iter().filter_map(other_encoding)).collect();
    assert!(points.len() > 8, "some have two encodings");

    // As the key, with any nonce and none: S = 0 is right whenever the challenge cancels the key.
    let mut accepted = 0;
    for point in &points {
        for nonce in &points {
            let signature = joined(nonce, &[0; 32]);
            accepted += usize::from(plain(point, &signature));
            check(envelope(payload, point, &signature), "crypto");
        }
    }
    assert!(accepted > 0, "none of these is a forgery");

    // As the nonce of a good key: S = k a. The identity is right in plain verification.
    for nonce in &points {
        let s = challenge(nonce, &public, payload) * scalar();
        let signature = joined(nonce, &s.to_bytes());
        let identity = nonce[0] == 1 && nonce[1..].iter().all(|byte| *byte == 0);
        assert!(!identity || plain(&public, &signature));
        check(envelope(payload, &public, &signature), "crypto");
    }
}

/// A key with a part of small order: right where the cofactor is multiplied in, wrong without.
#[test]
fn the_equation_is_the_one_without_cofactor() {
    let payload = statement().to_string();
    let payload = payload.as_bytes();
    let mixed = EdwardsPoint::mul_base(&scalar()) + EIGHT_TORSION[1];
    let public = mixed.compress().to_bytes();
    let mut seen = [false; 2];
    for r in 1..64_u64 {
        let r = Scalar::from(r);
        let nonce = EdwardsPoint::mul_base(&r).compress().to_bytes();
        let k = challenge(&nonce, &public, payload);
        let signature = joined(&nonce, &(r + k * scalar()).to_bytes());
        let cancels = k.to_bytes()[0].is_multiple_of(8);
        seen[usize::from(cancels)] = true;
        // What verifies goes on to be refused as a statement for another key.
        check(envelope(payload, &public, &signature), if cancels { "fingerprint" } else { "crypto" });
    }
    assert_eq!(seen, [true; 2]);
}

#[test]
fn statements() {
    let text = statement().to_string();
    for wrong in [
        String::new(),
        "null".to_owned(),
        format!("[{text}]"),
        format!("\u{feff}{text}"),
        format!("{text}{text}"),
        text.replacen('{', "{\"schema_version\":1,", 1),
        text.replacen('{', "{\"sl\\u0075g\":\"other\",", 1),
        text.replacen("\"files\":{", "\"files\":{\"a.ucas\":\"\",", 1),
        text.replacen("\"author\":null", "\"author\":{\"id\":\"a\",\"id\":\"a\"}", 1),
    ] {
        check(signed(wrong.as_bytes()), "statement");
    }
    check(signed(&[text.as_bytes(), b"\xff"].concat()), "statement");
    for (name, values) in [
        ("schema_version", vec![json!(2), json!(1.0), json!("1"), Value::Null]),
        ("files", vec![json!([]), json!("a"), Value::Null]),
    ] {
        for value in values.into_iter().map(Some).chain([None]) {
            check(signed(changed(statement(), name, value).to_string().as_bytes()), "statement");
        }
    }
}

#[test]
fn fingerprints_releases_and_members() {
    let of =
        |name: &str, value: Option<Value>| signed(changed(statement(), name, value).to_string().as_bytes());
    let fingerprint = key().public_key().fingerprint().to_string();
    let other = SeedKey::from_seed(&[8; 32]).public_key().fingerprint().to_string();
    for value in [json!(fingerprint.to_uppercase()), json!(other), json!(format!("{fingerprint} ")), json!(1)]
    {
        check(of("key_fingerprint", Some(value)), "fingerprint");
    }
    check(of("key_fingerprint", None), "fingerprint");
    for (name, values) in
        [("slug", ["foundry-wide", "Foundry", ""]), ("version", ["0.2.1", "0.2.0+build", "00.2.0"])]
    {
        values.into_iter().for_each(|value| check(of(name, Some(value.into())), "replay"));
        check(of(name, Some(json!(2))), "replay");
        check(of(name, Some(Value::Null)), "replay");
        check(of(name, None), "replay");
    }

    let files = |name: &str, value: Option<Value>| {
        of("files", Some(changed(statement()["files"].clone(), name, value)))
    };
    for name in members().keys() {
        let digest = members()[name].to_string();
        check(files(name, None), "members");
        for wrong in [
            json!(digest.to_uppercase()),
            json!(format!(" {digest}")),
            json!(&digest[..63]),
            json!(""),
            json!(Sha256Digest::of(b"other").to_string()),
            json!([digest]),
            Value::Null,
        ] {
            check(files(name, Some(wrong)), "members");
        }
    }
    // Signed and not there: also of the empty, of other case, of the signature itself.
    for name in ["b.ucas", "A.ucas", "docs/", "signature.json", ""] {
        check(files(name, Some(json!(Sha256Digest::of(b"").to_string()))), "members");
    }
    check(of("files", Some(json!({}))), "members");
}

/// All at once is wrong; the first is told, and when it is mended, the next.
#[test]
fn the_first_failure_wins() {
    let mut statement = json!({"schema_version": 2, "slug": "other", "key_fingerprint": "", "files": {}});
    let mut envelope = json!({"schema_version": 2, "payload_type": "mjolnir-mod-statement-v1",
        "payload": "?", "public_key": "AA==", "signature": "AA=="});
    check(&envelope, "envelope");
    envelope["schema_version"] = json!(1);
    check(&envelope, "base64");
    envelope["payload"] = json!(STANDARD.encode(statement.to_string()));
    check(&envelope, "length");
    envelope["public_key"] = json!(STANDARD.encode([0x55; 32]));
    envelope["signature"] = json!(STANDARD.encode([0x55; 64]));
    check(&envelope, "crypto");
    for (name, value, next) in [
        ("", Value::Null, "statement"),
        ("schema_version", json!(1), "fingerprint"),
        ("key_fingerprint", self::statement()["key_fingerprint"].clone(), "replay"),
        ("slug", json!("foundry"), "replay"),
        ("version", json!("0.2.0"), "members"),
        ("files", self::statement()["files"].clone(), "ok"),
    ] {
        statement[name] = value;
        check(signed(statement.to_string().as_bytes()), next);
    }
}

/// Members are looked at last: a release whose signature is wrong is not read for it.
#[test]
fn members_are_asked_only_when_all_else_holds() {
    let expected = Expected { slug: Some("other"), version: None };
    let error = verify(good().to_string().as_bytes(), expected, || panic!("they were asked")).unwrap_err();
    assert_eq!(error.message, "the statement is for slug `foundry`, the release's is `other`");
}

#[test]
fn no_single_bit_can_be_changed() {
    let release = Release {
        slug: "foundry".to_owned(),
        version: Version::parse("0.2.0").unwrap(),
        author: Some(Author { id: "1".to_owned(), username: "a \"name\"".to_owned() }),
        signed_at: SignedAt::from_unix(0).unwrap(),
        files: members(),
    };
    let envelope = release.sign(&key()).unwrap().into_bytes();
    let expected = Expected { slug: Some("foundry"), version: Some("0.2.0") };
    let verified = Verified { key: key().public_key(), author_id: Some("1".to_owned()) };
    assert_eq!(verify(&envelope, expected, members), Ok(verified));
    for bit in 0..envelope.len() * 8 {
        let mut damaged = envelope.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(verify(&damaged, expected, members).is_err(), "bit {bit}: {}", damaged.escape_ascii());
    }
    // Of the members: a bit of a digest that is compared, and a bit of a name.
    for name in members().keys() {
        for bit in 0..256 + name.len() * 8 {
            let mut damaged = members();
            let mut digest: Vec<u8> = (0..64)
                .step_by(2)
                .map(|at| u8::from_str_radix(&members()[name].to_string()[at..at + 2], 16).unwrap())
                .collect();
            let mut bytes = name.clone().into_bytes();
            damaged.remove(name);
            if bit < 256 {
                digest[bit / 8] ^= 1 << (bit % 8);
            } else {
                bytes[(bit - 256) / 8] ^= 1 << (bit % 8);
            }
            let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            let name = String::from_utf8_lossy(&bytes).into_owned();
            damaged.insert(name, Sha256Digest::parse(&digest).unwrap());
            let error = verify(&envelope, expected, || damaged).unwrap_err();
            assert_eq!(error.step.token(), "members", "bit {bit}");
        }
    }
}

/// An archive as other tools write it: a folder is no member, an empty file is one.
fn archive(members: &[(&str, &[u8])], envelope: &str) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    zip.add_directory("docs/", options).unwrap();
    for (name, data) in members.iter().copied().chain([("signature.json", envelope.as_bytes())]) {
        zip.start_file(name, options).unwrap();
        zip.write_all(data).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn folders_are_no_members_and_empty_files_are() {
    let data: [(&str, &[u8]); 3] = [("mjolnir.json", b"{}"), ("a.ucas", b"1"), ("docs/empty.md", b"")];
    let context =
        Context { slug: Some("foundry".to_owned()), version: Some("0.2.0".to_owned()), ..Context::default() };
    let signer = |members: &[(&str, &[u8])], envelope: &Value| -> Result<PublicKey, Option<String>> {
        let report = scan(&archive(members, &envelope.to_string()), &context);
        let bad = report.findings.iter().find(|finding| finding.code.token() == "bad_signature");
        report.signer.ok_or_else(|| bad.and_then(|bad| bad.reason).map(|reason| reason.to_string()))
    };
    assert_eq!(signer(&data, &good()), Ok(key().public_key()));
    assert_eq!(signer(&data[..2], &good()), Err(Some("members".to_owned())));
    let mut less = statement();
    less["files"].as_object_mut().unwrap().remove("docs/empty.md");
    assert_eq!(signer(&data, &signed(less.to_string().as_bytes())), Err(Some("members".to_owned())));
    assert_eq!(signer(&data[..2], &signed(less.to_string().as_bytes())), Ok(key().public_key()));
}

/// The last step is the hub's: whose key it is.
#[test]
fn foreign_signatures() {
    let data: [(&str, &[u8]); 3] = [("mjolnir.json", b"{}"), ("a.ucas", b"1"), ("docs/empty.md", b"")];
    let fingerprint = key().public_key().fingerprint().to_string();
    let other = SeedKey::from_seed(&[8; 32]).public_key().fingerprint().to_string();
    let registered = |fingerprint: &str, user: &str, revoked: bool| json!({fingerprint: {"user": user, "revoked": revoked}});
    let author = |id: Value| json!({"id": id, "username": "x"});
    for (registry, uploader, author, foreign) in [
        (registered(&fingerprint, "u1", false), json!("u1"), Value::Null, false),
        (registered(&fingerprint, "u1", false), json!("u1"), author(json!("u1")), false),
        (registered(&fingerprint, "u1", false), json!("u1"), author(Value::Null), false),
        (registered(&fingerprint, "u1", true), json!("u1"), Value::Null, true),
        (registered(&fingerprint, "u1", false), json!("u2"), Value::Null, true),
        (registered(&other, "u1", false), json!("u1"), Value::Null, true),
        (json!({}), json!("u1"), Value::Null, true),
        (registered(&fingerprint, "u1", false), json!("u1"), author(json!("u2")), true),
        (registered(&fingerprint, "u1", false), json!("u1"), author(json!("")), true),
        (registered(&fingerprint, "1", false), json!("1"), author(json!(1)), true),
        // Nothing is known of the world: nothing is held against it.
        (Value::Null, Value::Null, author(json!("u2")), false),
    ] {
        let statement = changed(statement(), "author", Some(author)).to_string();
        let bytes = archive(&data, &signed(statement.as_bytes()).to_string());
        let context: Context =
            serde_json::from_value(json!({"registry": registry, "uploader": uploader})).unwrap();
        let report = scan(&bytes, &context);
        assert!(report.signer.is_some(), "{:?}", report.findings);
        let found = report.errors().any(|finding| finding.code.token() == "foreign_signature");
        assert_eq!(found, foreign, "{context:?} {statement}");
    }
}
