//! `bake clean`: removes what builds placed under `out/`. The store stays: the next build puts it back.

use std::path::Path;

use crate::cli::Clean;
use crate::fail::Fail;
use crate::session::Session;
use crate::shell::Shell;

pub(crate) fn run(args: &Clean, session: &Session<'_>, shell: &Shell) -> Result<(), Fail> {
    let all = ["...".to_owned()];
    let patterns = if args.labels.is_empty() { &all[..] } else { &args.labels };
    let out = session.out(args.out.as_deref());
    for label in session.workspace()?.resolve(patterns)? {
        let folder = label.recipe_path().under(&out);
        match std::fs::remove_dir_all(&folder) {
            Ok(()) => shell.status("Removed", &folder.display().to_string()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(Fail::io("remove", &folder, &error)),
        }
        remove_empty(folder.parent(), &out);
    }
    Ok(())
}

/// Folders that are left empty go too, `out/` included.
fn remove_empty(mut folder: Option<&Path>, out: &Path) {
    while let Some(empty) = folder.filter(|folder| folder.starts_with(out)) {
        if std::fs::remove_dir(empty).is_err() {
            return;
        }
        folder = empty.parent();
    }
}
