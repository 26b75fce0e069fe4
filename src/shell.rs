//! [`Shell`]: the one place that prints. stdout is data, stderr is talk.
//!
//! A reader that went away (`bake graph … | head`) is no error. Colour is for terminals only.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this is where printing is allowed")]

use std::borrow::Cow;
use std::cell::RefCell;
use std::io::{ErrorKind, IsTerminal, Write};

use engine::Failure;
use recipes::Diagnostic;

use crate::cli::{Cli, Color};
use crate::fail::Fail;

/// Prints.
pub(crate) struct Shell {
    colour: bool,
    quiet: bool,
    terminal: bool,
    /// Why data could not be written.
    lost: RefCell<Option<String>>,
}

const BOLD: &str = "\x1b[1m";
const GREEN: &str = "\x1b[1;32m";
const YELLOW: &str = "\x1b[1;33m";
const RED: &str = "\x1b[1;31m";
const CYAN: &str = "\x1b[1;36m";
const PLAIN: &str = "\x1b[0m";

impl Shell {
    pub(crate) fn new(cli: &Cli) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let colour = match cli.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => terminal && !set("NO_COLOR"),
        };
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self { colour, quiet: cli.quiet, terminal: terminal && !dumb, lost: RefCell::default() }
    }

    /// Whether a bar can be drawn.
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal && !self.quiet
    }

    /// Data: to stdout, with a line break.
    pub(crate) fn data(&self, text: &str) {
        let mut out = std::io::stdout().lock();
        let text = shown(text);
        let written = writeln!(out, "{}", text.trim_end_matches('\n')).and_then(|()| out.flush());
        if let Err(error) = written
            && error.kind() != ErrorKind::BrokenPipe
        {
            self.lost.borrow_mut().get_or_insert(error.to_string());
        }
    }

    /// Whether all data that was shown has arrived.
    pub(crate) fn arrived(&self) -> Result<(), Fail> {
        match self.lost.take() {
            None => Ok(()),
            Some(error) => Err(Fail::machine(format!("cannot write to stdout: {error}"))),
        }
    }

    /// JSON, as data.
    pub(crate) fn json(&self, value: &serde_json::Value) {
        self.data(&plain_json(&format!("{value:#}")));
    }

    /// JSON in one line, as data.
    pub(crate) fn json_line(&self, value: &serde_json::Value) {
        self.data(&plain_json(&value.to_string()));
    }

    /// Something that was done: ` Finished  3 actions`.
    pub(crate) fn status(&self, verb: &str, text: &str) {
        if !self.quiet {
            self.talk(&format!(" {}{}", self.paint(GREEN, &format!("{verb:<10}")), shown(text)));
        }
    }

    /// A further line of what was done.
    pub(crate) fn more(&self, text: &str) {
        if !self.quiet {
            self.talk(&format!("           {}", shown(text)));
        }
    }

    /// Something to know.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            self.talk(&format!("{}: {}", self.paint(CYAN, "note"), shown(text)));
        }
    }

    /// Something to look at.
    pub(crate) fn warning(&self, text: &str) {
        self.talk(&format!("{}: {}", self.paint(YELLOW, "warning"), shown(text)));
    }

    /// What people read when something failed.
    pub(crate) fn failure(&self, failure: &Failure) {
        let code = failure.code.as_ref().map(|code| format!("  [{code}]")).unwrap_or_default();
        let message = shown(&failure.message);
        self.talk(&format!("{}: {}{code}", self.paint(RED, "error"), self.paint(BOLD, &message)));
        for line in failure.details.iter().flat_map(|detail| detail.lines()) {
            self.talk(&format!("  {}", shown(line)));
        }
        if let Some(hint) = &failure.hint {
            self.help(hint);
        }
    }

    fn help(&self, text: &str) {
        self.talk(&format!("{}: {}", self.paint(CYAN, "help"), shown(text)));
    }

    /// What is wrong with recipes.
    pub(crate) fn diagnostics(&self, diagnostics: &[Diagnostic]) {
        let noise = |diagnostic: &&Diagnostic| !self.quiet || diagnostic.is_error();
        for diagnostic in diagnostics.iter().filter(noise) {
            self.talk(&recipes::render(std::slice::from_ref(diagnostic), self.colour));
        }
    }

    /// Why a command ended.
    pub(crate) fn fail(&self, fail: &Fail) {
        self.diagnostics(&fail.diagnostics);
        let errors = fail.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count();
        if errors > 1 {
            self.talk(&format!("{errors} errors, nothing was done"));
        }
        fail.failures.iter().for_each(|failure| self.failure(failure));
    }

    fn talk(&self, text: &str) {
        let _ = writeln!(std::io::stderr().lock(), "{}", text.trim_end_matches('\n'));
    }

    fn paint(&self, style: &str, text: &str) -> String {
        if self.colour { format!("{style}{text}{PLAIN}") } else { text.to_owned() }
    }
}

/// JSON without letters that would steer the terminal: they are escaped as JSON escapes them.
fn plain_json(text: &str) -> String {
    let escaped = |letter: char| match letter.is_control() && letter != '\n' {
        true => format!("\\u{:04x}", u32::from(letter)),
        false => letter.to_string(),
    };
    text.chars().map(escaped).collect()
}

/// A text as it may be shown: what tools say and what files are called could else steer the terminal.
fn shown(text: &str) -> Cow<'_, str> {
    let steers = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\t');
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let escaped = |letter: char| match steers(letter) {
        true => letter.escape_default().to_string(),
        false => letter.to_string(),
    };
    Cow::Owned(text.chars().map(escaped).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_stays_json_when_it_is_shown() {
        let value = serde_json::json!({"name": "\u{7f}\u{9b}\u{1b}\n\u{e9}"});
        for text in [plain_json(&value.to_string()), plain_json(&format!("{value:#}"))] {
            assert_eq!(shown(&text), text);
            assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        }
    }

    #[test]
    fn nothing_that_is_shown_steers_the_terminal() {
        assert_eq!(shown("a\tb\nc é"), "a\tb\nc é");
        assert_eq!(shown("\u{1b}[2Jgone\r\u{9b}1m"), "\\u{1b}[2Jgone\\r\\u{9b}1m");
    }
}
