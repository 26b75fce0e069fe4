//! The key that archives are signed with: found, made, shown. The seed is read here, reaches the signing
//! rule behind [`engine::Signer`], and is never printed, stored or hashed.

use std::io::Write;
use std::path::{Path, PathBuf};

use mjolnir::signature::{PublicKey, SeedKey, SignedAt, Signer};
use recipes::Signing;
use zeroize::Zeroizing;

use crate::Product;
use crate::cli::{Cli, SigningKeys};
use crate::fail::Fail;
use crate::session::{Session, environment, user_folder};
use crate::shell::Shell;

/// A key, and the time that its signatures state.
pub(crate) struct Key {
    key: SeedKey,
    signed_at: Option<String>,
}

impl Key {
    /// The key that the command line or the settings name.
    pub(crate) fn find(
        session: &Session<'_>,
        seed: Option<&Path>,
        at: Option<&str>,
    ) -> Result<Option<Self>, Fail> {
        let Some(file) = seed.or(session.settings.seed_file.as_deref()) else { return Ok(None) };
        let key = read(file)?;
        let from_environment = || session.environment.get("SOURCE_DATE_EPOCH");
        let signed_at = match (at, from_environment()) {
            (Some(text), _) => Some(SignedAt::parse(text).map(|_| text.to_owned()).ok_or_else(|| {
                Fail::usage(format!(
                    "--signed-at `{text}` is no time, expected one such as 2026-10-10T00:00:00Z"
                ))
            })?),
            (None, Some(seconds)) => {
                let time = seconds.parse().ok().and_then(SignedAt::from_unix);
                Some(time.map(|time| time.to_string()).ok_or_else(|| {
                    Fail::usage(format!("SOURCE_DATE_EPOCH is `{seconds}`, expected seconds since 1970"))
                })?)
            }
            (None, None) => None,
        };
        Ok(Some(Self { key, signed_at }))
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

fn read(file: &Path) -> Result<SeedKey, Fail> {
    let contents = std::fs::read(file).map(Zeroizing::new).map_err(|error| {
        Fail::io("read the signing seed", file, &error).help("make one with `bake signing-keys new`")
    })?;
    SeedKey::from_seed_file(&contents).map_err(|error| Fail::usage(format!("`{}`: {error}", file.display())))
}

pub(crate) fn run(command: &SigningKeys, cli: &Cli, product: &Product, shell: &Shell) -> Result<(), Fail> {
    match command {
        SigningKeys::New { file } => {
            let file = match file {
                Some(file) => file.clone(),
                None => default_file()?,
            };
            let file = std::path::absolute(&file).map_err(|error| Fail::io("find", &file, &error))?;
            make(&file)?;
            shell.status("Made", &format!("{}: keep it secret, and keep a copy", file.display()));
            shell.more("to sign with it, in bake.local.toml:");
            shell.more("[signing]");
            shell.more(&format!("seed_file = {:?}", file.display().to_string()));
            show(read(&file)?.public_key(), shell);
        }
        SigningKeys::Show { file } => {
            let configured =
                || Session::find(cli, product).ok().and_then(|session| session.settings.seed_file);
            let file = match file.clone().or_else(configured) {
                Some(file) => file,
                None => default_file()?,
            };
            show(read(&file)?.public_key(), shell);
        }
    }
    Ok(())
}

fn show(key: PublicKey, shell: &Shell) {
    shell.data(&format!("public key   {}\nfingerprint  {}", key.to_base64(), key.fingerprint()));
}

fn default_file() -> Result<PathBuf, Fail> {
    let folder = user_folder(&environment(), "XDG_CONFIG_HOME", ".config");
    folder
        .map(|folder| folder.join("signing-seed"))
        .ok_or_else(|| Fail::usage("the user has no home folder to keep a key in").help("name a file"))
}

fn make(file: &Path) -> Result<(), Fail> {
    let mut seed = Zeroizing::new([0; 32]);
    getrandom::fill(&mut *seed)
        .map_err(|error| Fail::machine(format!("the system gives no random bytes: {error}")))?;
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).map_err(|error| Fail::io("make", folder, &error))?;
    }
    let mut options = std::fs::File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut open = options.open(file).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Fail::usage(format!("`{}` is there already, and a key is never overwritten", file.display()))
                .help("show it with `bake signing-keys show`, or name another file")
        }
        _ => Fail::io("write", file, &error),
    })?;
    let written = open.write_all(&*seed).and_then(|()| open.sync_all());
    written.map_err(|error| Fail::io("write", file, &error))
}
