//! Signing: which key, what is wrong with a key, and that a secret reaches nothing but the signature.

use std::fs;
use std::path::Path;

use mjolnir::signature::{PublicKey, SeedKey, Signer};
use sha2::Digest;

use crate::workspace::{FOUNDRY, Ran, Workspace, walk};

/// A seed in which no part looks like another.
fn seed() -> [u8; 32] {
    std::array::from_fn(|at| (at as u8).wrapping_mul(37).wrapping_add(11))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// All forms in which the seed, or what it alone gives, could be somewhere: halves, so that a part is found, too.
fn secrets() -> Vec<(String, Vec<u8>)> {
    let seed = seed();
    let expanded: [u8; 64] = sha2::Sha512::digest(seed).into();
    let mut scalar: [u8; 32] = expanded[..32].try_into().unwrap();
    scalar[0] &= 0xF8;
    scalar[31] = scalar[31] & 0x7F | 0x40;
    let values: [(&str, [u8; 32]); 6] = [
        ("the seed", seed),
        ("the seed's BLAKE3", *blake3::hash(&seed).as_bytes()),
        ("the seed's SHA-256", sha2::Sha256::digest(seed).into()),
        ("the expanded key", expanded[..32].try_into().unwrap()),
        ("the nonces' key", expanded[32..].try_into().unwrap()),
        ("the scalar", scalar),
    ];
    let mut secrets = Vec::new();
    for (what, value) in values {
        // The form of keys is the form of any 32 bytes. Its last letters depend on what follows.
        let base64 = PublicKey::from_bytes(value).to_base64();
        let forms = [
            ("raw", value.to_vec()),
            ("hexadecimal", hex(&value).into_bytes()),
            ("upper-case hexadecimal", hex(&value).to_uppercase().into_bytes()),
            ("base64", base64.as_bytes()[..40].to_vec()),
            ("URL base64", base64[..40].replace('+', "-").replace('/', "_").into_bytes()),
            ("Debug", format!("{value:?}").replace(['[', ']'], "").into_bytes()),
        ];
        for (form, bytes) in forms {
            let (front, back) = bytes.split_at(bytes.len() / 2);
            secrets.push((format!("{what}, {form}, front"), front.to_vec()));
            secrets.push((format!("{what}, {form}, back"), back.to_vec()));
        }
    }
    secrets
}

fn found(bytes: &[u8]) -> Vec<String> {
    let holds = |secret: &[u8]| bytes.windows(secret.len()).any(|window| window == secret);
    secrets().into_iter().filter(|(_, secret)| holds(secret)).map(|(what, _)| what).collect()
}

#[track_caller]
fn assert_silent(what: &str, ran: &Ran) {
    for text in [&ran.stdout, &ran.stderr] {
        assert_eq!(found(text.as_bytes()), [""; 0], "{what} says it: {text}");
    }
}

/// A file as a key must lie: only its owner can read it.
fn write(workspace: &Workspace, file: &str, contents: &[u8]) {
    let path = workspace.path(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, contents).unwrap();
    #[cfg(unix)]
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
}

const TIME: [&str; 2] = ["--signed-at", "2026-10-10T00:00:00Z"];

#[test]
fn a_secret_reaches_nothing_but_the_signature() {
    let workspace = Workspace::foundry().with("RUST_BACKTRACE", "full");
    let seed = seed();
    let digits = hex(&seed);
    // Seeds, right and wrong: every other file must be silent.
    let files: [(&str, Vec<u8>); 6] = [
        ("keys/raw", seed.to_vec()),
        ("keys/hex", format!("\n {}\r\n", digits.to_uppercase()).into_bytes()),
        ("keys/long", [&seed[..], b"\n"].concat()),
        ("keys/short", seed[1..].to_vec()),
        ("keys/digits", digits.replace('0', "x").into_bytes()),
        ("keys/spaced", digits.replace('0', " ").into_bytes()),
    ];
    for (file, contents) in &files {
        write(&workspace, file, contents);
    }
    // The search finds what is there.
    assert_eq!(found(&seed).len(), 2);
    assert!(found(format!("{:?} {digits} {}", seed, digits.to_uppercase()).as_bytes()).len() >= 6);

    let logs = ["--events", "events.jsonl", "--trace", "trace.json", "--dump", "dump.json", "--json"];
    let mut said = Vec::new();
    let mut run = |args: &[&[&str]], code: i32| {
        let args = args.concat();
        let ran = workspace.bake(&args).fails_with(code);
        assert_silent(&args.join(" "), &ran);
        said.push(ran.stderr);
    };
    let build = ["build", FOUNDRY];
    run(&[&build, &["--sign-seed", "keys/raw"], &TIME, &logs], 0);
    let archive = workspace.archive().to_string_lossy().into_owned();
    let first = fs::read(&archive).unwrap();
    run(&[&build, &["--sign-seed", "keys/raw"], &TIME], 0);
    run(&[&build, &["--sign-seed", "keys/hex"], &TIME, &["--rerun", "forge-packs/foundry:sign"]], 0);
    run(&[&["verify", &archive]], 0);
    run(&[&["inspect", &archive, "signature.json"]], 0);
    run(&[&["why", "forge-packs/foundry:archive"]], 0);
    run(&[&["signing-keys", "show", "keys/hex"]], 0);
    // Every way to fail with a key in hand, or nearly so.
    for wrong in ["keys/long", "keys/short", "keys/digits", "keys/spaced", "keys", "keys/none"] {
        run(&[&build, &["--sign-seed", wrong], &TIME, &logs], 2);
        run(&[&["signing-keys", "show", wrong]], 2);
    }
    run(&[&build, &["--sign-seed", "keys/raw", "--signed-at", "2026-13-45T00:00:00Z"]], 2);
    run(&[&["signing-keys", "new", "keys/raw"]], 2);
    workspace.write("bake.local.toml", "schema = 1\n[signing]\nseed_file = \"keys/raw\"\n");
    run(&[&build, &TIME, &["--events", "events-settings.jsonl"]], 0);
    assert!(fs::read(&archive).unwrap() == first, "the same key and time give the same archive");
    run(&[&["signing-keys", "show"]], 0);
    workspace.bake(&["doctor", "--json"]);
    workspace.edit(&format!("{FOUNDRY}/recipe.toml"), "\"/Game/Synth/SM_Slab\"", "\"/Game/Synth/SM_None\"");
    run(&[&build, &TIME, &["--keep-going", "--events", "events-failed.jsonl"]], 1);
    assert!(said.iter().any(|text| text.contains("33 bytes; a seed is exactly 32 bytes")), "{said:?}");

    let mut all = Vec::new();
    walk(&workspace.path(""), &mut all);
    let secret = |file: &Path| file.parent().is_some_and(|folder| folder.ends_with("keys"));
    let mut searched = 0;
    for file in all.iter().filter(|file| !secret(file)) {
        assert_eq!(found(&fs::read(file).unwrap()), [""; 0], "in {}", file.display());
        assert_eq!(found(file.to_string_lossy().as_bytes()), [""; 0], "a name");
        searched += 1;
    }
    assert!(searched > 100, "{searched} files: store, outputs, logs");
}

#[test]
fn what_is_wrong_with_a_key_is_told() {
    let workspace = Workspace::foundry();
    fs::create_dir_all(workspace.path("folder")).unwrap();
    for (file, contents) in [("short", vec![1; 31]), ("odd", b"ag".repeat(32)), ("large", vec![b'a'; 70_000])]
    {
        write(&workspace, file, &contents);
    }
    let form = "a seed is exactly 32 bytes, or 64 hexadecimal digits with nothing but white space around";
    let make = "help: make one with `bake signing-keys new`\n";
    for (file, expected) in [
        ("short", format!("error: `short`: 31 bytes; {form}\n{make}")),
        ("odd", format!("error: `odd`: 64 characters that are not all hexadecimal digits; {form}\n{make}")),
        ("large", format!("error: `large`: more than 65536 bytes; {form}\n")),
        ("folder", "error: `folder` is a folder, not a seed file\n".to_owned()),
        ("none", format!("error: there is no seed file `none`\n{make}")),
    ] {
        let args = [&["build", FOUNDRY, "--sign-seed", file], &TIME[..]].concat();
        assert_eq!(workspace.bake(&args).fails_with(2).stderr, expected);
        assert_eq!(workspace.bake(&["signing-keys", "show", file]).fails_with(2).stderr, expected);
    }
    assert!(!workspace.path("out").exists());
    let both = workspace.bake(&["build", FOUNDRY, "--sign", "--sign-seed", "short"]).fails_with(2);
    assert!(both.stderr.contains("'--sign' cannot be used with '--sign-seed <FILE>'"), "{}", both.stderr);
    workspace.write("bake.local.toml", "schema = 1\n[signing]\nseed_file = \"short\"\ndevice_key = true\n");
    let both = workspace.bake(&["build", FOUNDRY]).fails_with(2);
    assert!(both.stderr.contains("two keys to sign with: one of them must go"), "{}", both.stderr);
    assert!(both.stderr.contains("bake.local.toml:4:"), "{}", both.stderr);
}

#[test]
fn times_are_of_the_calendar() {
    let workspace = Workspace::foundry();
    write(&workspace, "seed", &seed());
    let sign = ["build", FOUNDRY, "--sign-seed", "seed"];
    let wrong = workspace.bake(&[&sign[..], &["--signed-at", "2026-13-45T00:00:00Z"]].concat()).fails_with(2);
    let expected =
        "error: --signed-at `2026-13-45T00:00:00Z` is no time, expected one such as 2026-10-10T00:00:00Z\n";
    assert_eq!(wrong.stderr, expected);
    let mut workspace = workspace;
    for seconds in ["253402300800", "-1", "+1", " 1", "1.5", "today", "99999999999999999999"] {
        workspace = workspace.with("SOURCE_DATE_EPOCH", seconds);
        let wrong = workspace.bake(&sign).fails_with(2);
        let expected = format!(
            "error: SOURCE_DATE_EPOCH is `{seconds}`, expected whole seconds since 1970, at most 253402300799\n"
        );
        assert_eq!(wrong.stderr, expected);
    }
    let stated = |workspace: &Workspace| {
        let archive = workspace.archive().to_string_lossy().into_owned();
        workspace.bake(&["inspect", &archive, "signature.json"]).success().stdout
    };
    let workspace = workspace.with("SOURCE_DATE_EPOCH", "253402300799");
    workspace.bake(&sign).success();
    let latest = stated(&workspace);
    // What is said on the command line is not held against what is not used.
    let workspace = workspace.with("SOURCE_DATE_EPOCH", "today");
    workspace.bake(&[&sign[..], &["--signed-at", "9999-12-31T23:59:59Z"]].concat()).success();
    assert_eq!(stated(&workspace), latest);
    workspace.bake(&[&sign[..], &TIME].concat()).success();
    assert!(stated(&workspace) != latest);
}

fn shown(key: &SeedKey) -> String {
    let key = key.public_key();
    format!("public key   {}\nfingerprint  {}\n", key.to_base64(), key.fingerprint())
}

#[test]
fn keys_are_made_once_and_shown_with_their_place() {
    let workspace = Workspace::empty();
    let file = workspace.path("new/key");
    let path = file.to_string_lossy().into_owned();
    let made = workspace.bake(&["signing-keys", "new", "new/key"]).success();
    let contents = fs::read(&file).unwrap();
    assert_eq!(contents.len(), 32);
    assert_eq!(made.stdout, shown(&SeedKey::from_seed_file(&contents).unwrap()));
    let again = workspace.bake(&["signing-keys", "new", "new/key"]).fails_with(2);
    assert!(again.stderr.contains("is there already, and a key is never overwritten"), "{}", again.stderr);
    assert_eq!(fs::read(&file).unwrap(), contents);

    let show = |args: &[&str]| workspace.bake(&[&["signing-keys", "show"], args].concat());
    let of = |place: &str, from: &str| format!("key          {place}\nnamed by     {from}\n{}", made.stdout);
    assert_eq!(show(&["new/key"]).success().stdout, of("new/key", "the command line"));
    workspace.write("bake.local.toml", &format!("schema = 1\n[signing]\nseed_file = {path:?}\n"));
    assert_eq!(show(&[]).success().stdout, of(&path, "[signing] of bake.local.toml"));
    // The machine's settings take the place of the workspace's, whichever kind of key it is.
    workspace.write("bake.toml", "schema = 1\n[signing]\ndevice_key = true\n");
    assert_eq!(show(&[]).success().stdout, of(&path, "[signing] of bake.local.toml"));
}

#[cfg(unix)]
#[test]
fn seeds_that_others_can_read_are_warned_of() {
    use std::os::unix::fs::PermissionsExt;
    let workspace = Workspace::foundry();
    workspace.bake(&["signing-keys", "new", "seed"]).success();
    let mode = |mode: u32| {
        fs::set_permissions(workspace.path("seed"), fs::Permissions::from_mode(mode)).unwrap();
    };
    let build = [&["build", FOUNDRY, "--sign-seed", "seed"], &TIME[..]].concat();
    assert_eq!(fs::metadata(workspace.path("seed")).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!workspace.bake(&build).success().stderr.contains("warning"));
    mode(0o644);
    let warning = "warning: others can reach the seed in `seed`: its mode is 644 (chmod 600 'seed')\n";
    assert!(workspace.bake(&build).success().stderr.contains(warning));
    assert_eq!(workspace.bake(&["signing-keys", "show", "seed"]).success().stderr, warning);
}

#[cfg(not(windows))]
#[test]
fn elsewhere_than_on_windows_a_file_is_advised() {
    let workspace = Workspace::foundry();
    let advice = "error: only Windows keeps a key for the device\n\
                  help: use a file: `bake signing-keys new` makes one, `--sign-seed FILE` signs with it\n";
    for args in [
        &["build", FOUNDRY, "--sign"][..],
        &["signing-keys", "show", "--device"],
        &["signing-keys", "new", "--device"],
    ] {
        assert_eq!(workspace.bake(args).fails_with(2).stderr, advice, "{args:?}");
    }
    workspace.write("bake.local.toml", "schema = 1\n[signing]\ndevice_key = true\n");
    assert_eq!(workspace.bake(&["build", FOUNDRY]).fails_with(2).stderr, advice);
}

#[cfg(windows)]
#[test]
fn the_device_has_one_key_for_all_tools() {
    let workspace = Workspace::foundry();
    let data = workspace.path("AppData");
    let workspace = workspace.with("APPDATA", data.as_os_str());
    let file = data.join("MJOLNIR").join("signing-key.dpapi");
    let none = workspace.bake(&["build", FOUNDRY, "--sign"]).fails_with(2);
    assert!(none.stderr.contains("there is no key of this device"), "{}", none.stderr);
    let made = workspace.bake(&["signing-keys", "new", "--device"]).success().stdout;
    let blob = fs::read(&file).unwrap();
    assert!(blob.len() > 64, "{} bytes", blob.len());
    let again = workspace.bake(&["signing-keys", "new", "--device"]).fails_with(2);
    assert!(again.stderr.contains("never overwritten"), "{}", again.stderr);
    assert_eq!(fs::read(&file).unwrap(), blob);
    let shown = workspace.bake(&["signing-keys", "show", "--device"]).success().stdout;
    let place = format!("key          {}\nnamed by     the command line\n", file.display());
    assert_eq!(shown, place + &made);

    workspace.bake(&[&["build", FOUNDRY, "--sign"], &TIME[..]].concat()).success();
    let signed = fs::read(workspace.archive()).unwrap();
    workspace.bake(&["verify", &workspace.archive().to_string_lossy()]).success();
    workspace.write("bake.local.toml", "schema = 1\n[signing]\ndevice_key = true\n");
    fs::remove_dir_all(workspace.path("out")).unwrap();
    workspace.bake(&[&["build", FOUNDRY], &TIME[..]].concat()).success();
    assert!(fs::read(workspace.archive()).unwrap() == signed);

    fs::write(&file, &blob[..blob.len() / 2]).unwrap();
    let damaged = workspace.bake(&["build", FOUNDRY, "--sign"]).fails_with(3);
    assert!(damaged.stderr.contains("Windows does not open"), "{}", damaged.stderr);
}
