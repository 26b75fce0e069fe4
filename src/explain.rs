//! `bake explain`: the page of a code that `bake verify` and builds report. The pages are those of docs/codes/.

use crate::cli::Explain;
use crate::fail::Fail;
use crate::shell::Shell;

macro_rules! pages {
    ($($code:literal)*) => {
        /// The pages, by their codes.
        pub(crate) const PAGES: &[(&str, &str)] =
            &[$(($code, include_str!(concat!("../docs/codes/", $code, ".md")))),*];
    };
}

pages! {
    "archive_too_large"
    "bad_changes"
    "bad_container"
    "bad_manifest"
    "bad_map_file"
    "bad_path"
    "bad_sidecar"
    "bad_signature"
    "bad_zip"
    "duplicate_chunk"
    "empty_container"
    "encrypted_container"
    "forbidden_file"
    "foreign_container"
    "foreign_signature"
    "forge_line_break"
    "forge_slug_mismatch"
    "forge_surface_missing"
    "forge_unsupported"
    "map_code_taken"
    "map_file_missing"
    "map_forge_packs"
    "map_mismatch"
    "map_palette_break"
    "no_changes"
    "no_content"
    "no_manifest"
    "no_summary"
    "orphan_ucas"
    "orphan_utoc"
    "pack_not_here"
    "pack_twice"
    "path_traversal"
    "profile_limit"
    "reduced_build"
    "release_changed"
    "runtime_line_break"
    "shader_library_clash"
    "stand_in_build"
    "stray_container"
    "surface_packages_unknown"
    "unknown_mode"
    "unreadable"
    "unsigned"
    "version_mismatch"
}

pub(crate) fn run(args: &Explain, shell: &Shell) -> Result<(), Fail> {
    let pages = args.codes.iter().map(|code| page(code)).collect::<Result<Vec<_>, _>>()?;
    shell.data(&pages.join("\n"));
    Ok(())
}

fn page(code: &str) -> Result<&'static str, Fail> {
    let found = PAGES.iter().find(|(known, _)| *known == code);
    found.map(|(_, page)| *page).ok_or_else(|| {
        let codes: Vec<&str> = PAGES.iter().map(|(code, _)| *code).collect();
        Fail::usage(format!("there is no code `{code}`")).help(format!("the codes are {}", codes.join(", ")))
    })
}
