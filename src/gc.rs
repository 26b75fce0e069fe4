//! `bake gc`: what the store holds, what keeps it, and what goes.

use cache::{DiskStore, Index, Keep, Keeper, Usage};
use serde_json::json;

use crate::Product;
use crate::cli::{Cli, Gc};
use crate::count::{count, size};
use crate::fail::{Exit, Fail};
use crate::session::{Session, environment, store_path};
use crate::shell::Shell;

pub(crate) fn run(args: &Gc, cli: &Cli, product: &Product, shell: &Shell) -> Result<(), Fail> {
    // The store is shared by all workspaces: it can be looked after from anywhere.
    let session = Session::find(cli, product).ok();
    let settings = session.as_ref().map(|session| &session.settings);
    let path = store_path(cli, settings, &environment())?;
    let store = DiskStore::open(&path)?;
    if let Some(label) = &args.pin {
        return pin(&store, session.as_ref(), label, shell);
    }
    if let Some(label) = &args.unpin {
        let session = session.ok_or_else(|| Fail::usage("a pin belongs to a workspace: run this in one"))?;
        let name = crate::driver::root_name(&session, label);
        if !store.release(Keep::Pin, &name)? {
            return Err(Fail::usage(format!("`{label}` is not pinned")));
        }
        shell.status("Unpinned", label);
        return Ok(());
    }
    if args.check {
        return check(&store, args.json, shell);
    }
    let cap = args.size.or_else(|| settings.and_then(|settings| settings.store_size));
    let index = Index::open(&store);
    let last_use = |action: &cache::ActionDigest| index.as_ref().and_then(|index| index.last_use(action));
    let options = cache::GcOptions { size: cap, dry_run: args.dry_run };
    let report = store.gc(options, &last_use)?;
    if args.json {
        let usage =
            |usage: &Usage| json!({"results": usage.results, "blobs": usage.blobs, "bytes": usage.bytes});
        let keepers = report.keepers.iter().map(
            |(keeper, name, kept)| json!({"keeper": keeper_name(*keeper), "name": name, "kept": usage(kept)}),
        );
        shell.json(&json!({
            "schema": 1,
            "dry_run": args.dry_run,
            "removed": usage(&report.removed),
            "kept": usage(&report.kept),
            "keepers": keepers.collect::<Vec<_>>(),
        }));
        return Ok(());
    }
    shell.status(if args.dry_run { "Would go" } else { "Removed" }, &said(&report.removed));
    shell.status("Kept", &said(&report.kept));
    for (keeper, name, kept) in &report.keepers {
        shell.more(&format!("{} {name}: {}", keeper_name(*keeper), said(kept)));
    }
    if let Some(cap) = cap.filter(|cap| report.kept.bytes > *cap) {
        let text =
            format!("what is kept is more than {}: the cap is not obeyed below what builds use", size(cap));
        shell.warning(&text);
    }
    Ok(())
}

fn pin(store: &DiskStore, session: Option<&Session<'_>>, label: &str, shell: &Shell) -> Result<(), Fail> {
    let session = session.ok_or_else(|| Fail::usage("a pin belongs to a workspace: run this in one"))?;
    let name = crate::driver::root_name(session, label);
    let since = format!("{name} since");
    let roots = store.kept(Keep::Root)?;
    let built = roots.into_iter().filter(|kept| kept.name == name || kept.name == since);
    let actions: Vec<_> = built.flat_map(|kept| kept.actions).collect();
    if actions.is_empty() {
        return Err(Fail::usage(format!("`{label}` was not built yet"))
            .help(format!("a pin keeps what was last built: `bake build {label}` first")));
    }
    store.keep(Keep::Pin, &name, &actions)?;
    shell.status("Pinned", &format!("{label}: {}", count(actions.len(), "result")));
    Ok(())
}

fn check(store: &DiskStore, json: bool, shell: &Shell) -> Result<(), Fail> {
    let report = store.check()?;
    if json {
        shell.json(&json!({
            "schema": 1,
            "checked": {
                "results": report.checked.results,
                "blobs": report.checked.blobs,
                "bytes": report.checked.bytes,
            },
            "damaged": report.damaged,
            "incomplete": report.incomplete,
        }));
    } else {
        shell.status("Checked", &said(&report.checked));
        if report.incomplete > 0 {
            let text = format!(
                "{} with an output that is gone: made again when needed",
                count(report.incomplete, "result")
            );
            shell.more(&text);
        }
    }
    if report.damaged.is_empty() {
        return Ok(());
    }
    let fail =
        Fail::new(Exit::Machine, format!("{} in the store", count(report.damaged.len(), "damaged file")));
    let fail = report.damaged.iter().fold(fail, |fail, path| fail.detail(path.display().to_string()));
    Err(fail.help("they were removed, and the next build makes them again; the disk may be failing"))
}

fn keeper_name(keeper: Keeper) -> &'static str {
    match keeper {
        Keeper::Pin => "pin",
        Keeper::Root => "last build of",
        Keeper::Lease => "running build",
    }
}

fn said(usage: &Usage) -> String {
    format!("{} in {} and {}", size(usage.bytes), count(usage.results, "result"), count(usage.blobs, "blob"))
}
