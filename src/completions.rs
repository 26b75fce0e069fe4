//! What helps in a shell: completions, labels included, and the man page.

use clap::CommandFactory;

use crate::cli::{Cli, Completions};
use crate::fail::Fail;
use crate::session::Session;
use crate::shell::Shell;

pub(crate) fn run(args: &Completions, shell: &Shell) -> Result<(), Fail> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "bake", &mut script);
    let mut text = String::from_utf8_lossy(&script).into_owned();
    text += match args.shell {
        clap_complete::Shell::Bash => BASH,
        clap_complete::Shell::Zsh => ZSH,
        clap_complete::Shell::Fish => FISH,
        _ => "",
    };
    shell.data(&text);
    Ok(())
}

/// `bake labels`, which takes no lock and opens no store, completes words that are no options.
const BASH: &str = r#"
_bake_with_labels() {
    _bake "$@"
    case "${COMP_WORDS[1]}" in
        build|why|graph|query|lock|reproduce|clean)
            if [[ "$2" != -* ]]; then
                COMPREPLY+=($(compgen -W "$(bake labels 2>/dev/null)" -- "$2"))
            fi ;;
    esac
}
# Labels hold `:`, at which bash parts words.
COMP_WORDBREAKS=${COMP_WORDBREAKS//:}
complete -F _bake_with_labels -o nosort -o bashdefault -o default bake
"#;

const ZSH: &str = r#"
_bake_labels() {
    case "${words[2]}" in
        build|why|graph|query|lock|reproduce|clean)
            [[ "$PREFIX" != -* ]] && compadd -- ${(f)"$(bake labels 2>/dev/null)"} ;;
    esac
}
_bake_with_labels() { _bake "$@"; _bake_labels }
compdef _bake_with_labels bake
"#;

const FISH: &str = r#"
complete -c bake -n "__fish_seen_subcommand_from build why graph query lock reproduce clean" -f -a "(bake labels 2>/dev/null)"
"#;

pub(crate) fn man(shell: &Shell) -> Result<(), Fail> {
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(Cli::command()).render(&mut page);
    rendered.map_err(|error| Fail::machine(format!("cannot make the man page: {error}")))?;
    shell.data(&String::from_utf8_lossy(&page));
    Ok(())
}

/// All labels of recipes and steps, one a line.
pub(crate) fn labels(session: &Session<'_>, shell: &Shell) -> Result<(), Fail> {
    let workspace = session.workspace()?;
    let mut lines = Vec::new();
    for recipe in workspace.recipes() {
        let steps = workspace.steps(&recipe);
        lines.push(recipe.to_string());
        lines.extend(steps.iter().map(ToString::to_string));
    }
    shell.data(&lines.join("\n"));
    Ok(())
}
