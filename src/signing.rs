//! The key that archives are signed with: found, made, shown. The seed is read here, reaches the signing
//! rule behind [`engine::Signer`], and is never printed, stored or hashed.

use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use mjolnir::signature::{PublicKey, SeedKey, SignError, SignedAt, Signer};
use recipes::{Signing, SigningKey};
use zeroize::Zeroizing;

use crate::Product;
use crate::cli::{Cli, Sign, SigningKeys};
use crate::device_key;
use crate::fail::Fail;
use crate::session::{Session, environment, find_root, start, user_folder};
use crate::shell::Shell;

/// More than any file with a key holds.
const LONGEST: u64 = 64 << 10;

/// Where a key lies.
pub(crate) enum Place {
    /// The seed in this file.
    Seed(PathBuf),
    /// The device's key.
    Device,
}

impl Place {
    pub(crate) fn of(set: &SigningKey) -> Self {
        match set {
            SigningKey::SeedFile(file) => Self::Seed(file.clone()),
            SigningKey::Device => Self::Device,
        }
    }

    /// What the command line says, else the settings.
    fn find(session: &Session<'_>, sign: &Sign) -> Option<Self> {
        match (&sign.sign_seed, sign.device) {
            (Some(file), _) => Some(Self::Seed(file.clone())),
            (None, true) => Some(Self::Device),
            (None, false) => session.settings.signing_key.as_ref().map(|set| Self::of(&set.key)),
        }
    }

    /// The key.
    pub(crate) fn open(&self) -> Result<SeedKey, Fail> {
        match self {
            Self::Seed(file) => {
                let help = "make one with `bake signing-keys new`";
                let contents = read(file, "seed file", help)?;
                SeedKey::from_seed_file(&contents).map_err(|error| wrong(file, &error).help(help))
            }
            Self::Device => {
                let file = device_key::file(&environment())?;
                let help = "make it with `bake signing-keys new --device`, or sign with `--sign-seed FILE`";
                let blob = read(&file, "key of this device", help)?;
                let seed = device_key::open(&blob).map_err(|error| {
                    Fail::machine(format!("Windows does not open `{}`: {error}", file.display()))
                        .help("it opens only for the user who made it, on the device where it was made")
                })?;
                let seed = <&[u8; 32]>::try_from(&seed[..]).map_err(|_| {
                    let error = SignError::Seed(format!("{} bytes under DPAPI", seed.len()));
                    wrong(&file, &error)
                })?;
                Ok(SeedKey::from_seed(seed))
            }
        }
    }

    /// What is to be said of a key that can be opened.
    pub(crate) fn warning(&self) -> Option<Warning> {
        #[cfg(unix)]
        if let Self::Seed(file) = self {
            use std::os::unix::fs::PermissionsExt;
            let found = std::fs::metadata(file).ok().filter(std::fs::Metadata::is_file)?;
            let mode = found.permissions().mode() & 0o777;
            if mode & 0o077 != 0 {
                let file = file.display();
                return Some(Warning {
                    message: format!("others can reach the seed in `{file}`: its mode is {mode:03o}"),
                    help: format!("chmod 600 '{file}'"),
                });
            }
        }
        None
    }
}

/// Where the key lies, for people.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seed(file) => write!(f, "{}", file.display()),
            Self::Device => match device_key::file(&environment()) {
                Ok(file) => write!(f, "{}", file.display()),
                Err(_) => f.write_str("the key of this device"),
            },
        }
    }
}

/// Something to mend.
pub(crate) struct Warning {
    pub(crate) message: String,
    pub(crate) help: String,
}

/// Warns of a key that builds here would sign with and that is not kept well.
pub(crate) fn warn(session: &Session<'_>, sign: &Sign, shell: &Shell) {
    if let Some(warning) = Place::find(session, sign).and_then(|place| place.warning()) {
        shell.warning(&format!("{} ({})", warning.message, warning.help));
    }
}

/// A key, and the time that its signatures state.
pub(crate) struct Key {
    key: SeedKey,
    signed_at: Option<String>,
}

impl Key {
    /// The key that the command line or the settings name.
    pub(crate) fn find(session: &Session<'_>, sign: &Sign) -> Result<Option<Self>, Fail> {
        let Some(place) = Place::find(session, sign) else { return Ok(None) };
        let epoch = session.environment.get("SOURCE_DATE_EPOCH").filter(|seconds| !seconds.is_empty());
        let signed_at = match (sign.signed_at.as_deref(), epoch) {
            (Some(text), _) => Some(SignedAt::parse(text).ok_or_else(|| {
                Fail::usage(format!(
                    "--signed-at `{text}` is no time, expected one such as 2026-10-10T00:00:00Z"
                ))
            })?),
            (None, Some(seconds)) => Some(from_epoch(seconds).ok_or_else(|| {
                Fail::usage(format!(
                    "SOURCE_DATE_EPOCH is `{seconds}`, expected whole seconds since 1970, at most 253402300799"
                ))
            })?),
            (None, None) => None,
        };
        Ok(Some(Self { key: place.open()?, signed_at: signed_at.map(|time| time.to_string()) }))
    }

    /// What a plan needs to know.
    pub(crate) fn signing(&self) -> Signing {
        let public_key = self.key.public_key().to_base64();
        Signing { public_key, signed_at: self.signed_at.clone() }
    }
}

impl engine::Signer for Key {
    fn public_key(&self) -> [u8; 32] {
        *self.key.public_key().as_bytes()
    }
    fn sign(&self, message: &[u8]) -> [u8; 64] {
        // A key in memory always signs; were it not to, the rule finds a signature that does not verify.
        self.key.sign(message).unwrap_or([0; 64])
    }
}

fn from_epoch(text: &str) -> Option<SignedAt> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten().and_then(SignedAt::from_unix)
}

/// The contents of a file with a key; `what` names it, `help` says what to do without one.
fn read(file: &Path, what: &str, help: &str) -> Result<Zeroizing<Vec<u8>>, Fail> {
    let shown = file.display();
    match std::fs::metadata(file) {
        Ok(found) if found.is_dir() => {
            return Err(Fail::usage(format!("`{shown}` is a folder, not a {what}")));
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(Fail::usage(format!("there is no {what} `{shown}`")).help(help));
        }
        _ => {}
    }
    // Room for all of it, so that growing leaves no copies behind.
    let mut contents = Zeroizing::new(Vec::with_capacity(LONGEST as usize + 1));
    File::open(file)
        .and_then(|open| open.take(LONGEST + 1).read_to_end(&mut contents))
        .map_err(|error| Fail::io(&format!("read the {what}"), file, &error))?;
    if contents.len() as u64 > LONGEST {
        return Err(wrong(file, &SignError::Seed(format!("more than {LONGEST} bytes"))));
    }
    Ok(contents)
}

fn wrong(file: &Path, error: &SignError) -> Fail {
    Fail::usage(format!("`{}`: {error}", file.display()))
}

pub(crate) fn run(command: &SigningKeys, cli: &Cli, product: &Product, shell: &Shell) -> Result<(), Fail> {
    match command {
        SigningKeys::New { file, device } => {
            let place = match (file, device) {
                (Some(file), _) => Place::Seed(absolute(file)?),
                (None, true) => Place::Device,
                (None, false) => Place::Seed(absolute(&default_file()?)?),
            };
            make(&place)?;
            let setting = match &place {
                Place::Seed(file) => format!("seed_file = {:?}", file.display().to_string()),
                Place::Device => "device_key = true".to_owned(),
            };
            shell.status("Made", &format!("{place}: keep it secret, and keep a copy"));
            shell.more("to sign with it, in bake.local.toml:");
            shell.more("schema = 1");
            shell.more("[signing]");
            shell.more(&setting);
            show(place.open()?.public_key(), shell);
        }
        SigningKeys::Show { file, device } => {
            let (place, from) = match (file, device) {
                (Some(file), _) => (Place::Seed(file.clone()), "the command line".to_owned()),
                (None, true) => (Place::Device, "the command line".to_owned()),
                (None, false) => configured(cli, product)?,
            };
            let key = place.open()?;
            if let Some(warning) = place.warning() {
                shell.warning(&format!("{} ({})", warning.message, warning.help));
            }
            shell.data(&format!("key          {place}\nnamed by     {from}"));
            show(key.public_key(), shell);
        }
    }
    Ok(())
}

/// The key of the settings, else the one that `new` makes when nothing is said.
fn configured(cli: &Cli, product: &Product) -> Result<(Place, String), Fail> {
    // Outside of a workspace there are no settings; those that are there must be right.
    let session = match start(cli).and_then(|start| find_root(&start)) {
        Ok(_) => Some(Session::find(cli, product)?),
        Err(_) => None,
    };
    if let Some(set) = session.and_then(|session| session.settings.signing_key) {
        return Ok((Place::of(&set.key), format!("[signing] of {}", set.file)));
    }
    let file = default_file()?;
    if !file.exists() {
        return Err(Fail::usage("no key is configured: archives are unsigned")
            .help("make one with `bake signing-keys new`, and name it in the settings"));
    }
    Ok((Place::Seed(file), "nothing: builds do not sign with it".to_owned()))
}

fn show(key: PublicKey, shell: &Shell) {
    shell.data(&format!("public key   {}\nfingerprint  {}", key.to_base64(), key.fingerprint()));
}

fn absolute(file: &Path) -> Result<PathBuf, Fail> {
    std::path::absolute(file).map_err(|error| Fail::io("find", file, &error))
}

fn default_file() -> Result<PathBuf, Fail> {
    let folder = user_folder(&environment(), "XDG_CONFIG_HOME", ".config");
    folder
        .map(|folder| folder.join("signing-seed"))
        .ok_or_else(|| Fail::usage("the user has no home folder to keep a key in").help("name a file"))
}

fn make(place: &Place) -> Result<(), Fail> {
    let file = match place {
        Place::Seed(file) => file.clone(),
        Place::Device => device_key::file(&environment())?,
    };
    let mut seed = Zeroizing::new([0; 32]);
    getrandom::fill(&mut *seed)
        .map_err(|error| Fail::machine(format!("the system gives no random bytes: {error}")))?;
    let contents = match place {
        Place::Seed(_) => Zeroizing::new(seed.to_vec()),
        Place::Device => {
            let blob = device_key::close(&*seed)
                .map_err(|error| Fail::machine(format!("Windows does not protect a key: {error}")))?;
            Zeroizing::new(blob)
        }
    };
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).map_err(|error| Fail::io("make", folder, &error))?;
    }
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut open = options.open(&file).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            Fail::usage(format!("`{}` is there already, and a key is never overwritten", file.display()))
                .help("show it with `bake signing-keys show`, or name another file")
        }
        _ => Fail::io("write", &file, &error),
    })?;
    open.write_all(&contents).and_then(|()| open.sync_all()).map_err(|error| {
        // A part of a key would stand in the way of the whole one.
        let _ = std::fs::remove_file(&file);
        Fail::io("write", &file, &error)
    })
}
