//! [`Diagnostic`]: something to say about what people wrote, and the one renderer of it.
//!
//! It carries the text it points into, so that it can be shown when the file is long gone. It knows no
//! terminal: [`render`] gives a string.

use std::ops::Range;
use std::sync::Arc;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing is built.
    Error,
    /// It builds, and is probably not meant.
    Warning,
    /// Something to know.
    Note,
}

/// Who can mend it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// Who wrote the recipe, pipeline or command line.
    Recipe,
    /// Who set up this machine.
    Machine,
}

/// A text that was read, and where it was found.
#[derive(Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Its path as people know it: in the workspace with `/`, or with a remark for what is built in.
    pub path: String,
    /// What it held.
    pub text: String,
}

/// A place in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The text.
    pub file: Arc<SourceFile>,
    /// Bytes of it.
    pub span: Range<usize>,
}

impl Place {
    /// Line and column, from 1.
    pub fn line_and_column(&self) -> (usize, usize) {
        let before = self.file.text.get(..self.span.start).unwrap_or(&self.file.text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let column = before.get(line_start..).unwrap_or_default().chars().count();
        (before.matches('\n').count() + 1, column + 1)
    }
}

/// One thing to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Who can mend it.
    pub owner: Owner,
    /// The hub's or packer's code, where there is one.
    pub code: Option<String>,
    /// What was found, in one line without a final period.
    pub message: String,
    /// Where.
    pub place: Option<Place>,
    /// What is allowed there: the text at the caret.
    pub label: Option<String>,
    /// Other places that belong to it, each with the text at its caret.
    pub related: Vec<(Place, String)>,
    /// How to mend it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error of the recipe's author.
    pub fn error(message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            owner: Owner::Recipe,
            code: None,
            message: message.into(),
            place: None,
            label: None,
            related: Vec::new(),
            help: None,
        }
    }

    /// Something to know.
    pub fn note(message: impl Into<String>) -> Self {
        Self { severity: Severity::Note, ..Self::error(message) }
    }

    /// At a place.
    #[must_use]
    pub fn at(self, place: Place) -> Self {
        Self { place: Some(place), ..self }
    }

    /// With a text at the caret.
    #[must_use]
    pub fn label(self, label: impl Into<String>) -> Self {
        Self { label: Some(label.into()), ..self }
    }

    /// With the hub's or packer's code.
    #[must_use]
    pub fn code(self, code: impl Into<String>) -> Self {
        Self { code: Some(code.into()), ..self }
    }

    /// With another place.
    #[must_use]
    pub fn related(mut self, place: Place, label: impl Into<String>) -> Self {
        self.related.push((place, label.into()));
        self
    }

    /// With a way to mend it.
    #[must_use]
    pub fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// With the name that was probably meant.
    #[must_use]
    pub fn did_you_mean<'a>(self, found: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        match engine::schema::did_you_mean(found, known) {
            Some(name) => self.help(format!("did you mean `{name}`?")),
            None => self,
        }
    }

    /// Owned by who set up the machine.
    #[must_use]
    pub fn of_machine(self) -> Self {
        Self { owner: Owner::Machine, ..self }
    }

    /// In the order of files and lines; what has no place comes first.
    pub(crate) fn order(&self) -> Option<(String, usize)> {
        self.place.as_ref().map(|place| (place.file.path.clone(), place.span.start))
    }

    /// Whether it stops a build.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Diagnostics as people read them, each with a line break at its end.
pub fn render(diagnostics: &[Diagnostic], colour: bool) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.decor_style(DecorStyle::Ascii).term_width(WIDTH);
    let mut out = String::new();
    for diagnostic in diagnostics {
        let mut groups = vec![group(diagnostic)];
        if let Some(help) = &diagnostic.help {
            groups.push(Group::with_title(Level::HELP.primary_title(help.as_str())));
        }
        // One by one: together they would be drawn as one picture, with empty bars between.
        for group in groups {
            out += &renderer.render(&[group]);
            out.push('\n');
        }
    }
    out
}

/// Wide enough that no line of a recipe is cut: the same text on every terminal.
const WIDTH: usize = 400;

fn group(diagnostic: &Diagnostic) -> Group<'_> {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let mut title = level.primary_title(diagnostic.message.as_str());
    if let Some(code) = &diagnostic.code {
        title = title.id(code.as_str());
    }
    let mut main = Group::with_title(title);
    let mut primary = diagnostic.place.as_ref().map(|place| snippet(place, diagnostic.label.as_deref()));
    for (place, label) in &diagnostic.related {
        let same = diagnostic.place.as_ref().is_some_and(|main| main.file == place.file);
        if same {
            let annotation = AnnotationKind::Context.span(place.span.clone()).label(label.as_str());
            primary = primary.map(|snippet| snippet.annotation(annotation));
        }
    }
    let empty_file = diagnostic.place.as_ref().filter(|place| place.file.text.is_empty());
    match (empty_file, primary) {
        (Some(place), _) => main = main.element(Origin::path(place.file.path.as_str())),
        (None, Some(snippet)) => main = main.element(snippet),
        (None, None) => {}
    }
    for (place, label) in &diagnostic.related {
        if diagnostic.place.as_ref().is_none_or(|main| main.file != place.file) {
            main = main.element(snippet(place, Some(label.as_str())));
        }
    }
    main
}

fn snippet<'a>(place: &'a Place, label: Option<&'a str>) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
    let annotation = AnnotationKind::Primary.span(place.span.clone()).label(label);
    Snippet::source(place.file.text.as_str()).path(place.file.path.as_str()).annotation(annotation)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Arc<SourceFile> {
        let text = "[[step]]\nname = \"a\"\nformt = \"bc7\"\n".to_owned();
        Arc::new(SourceFile { path: "maps/bgl/recipe.toml".to_owned(), text })
    }

    #[test]
    fn a_mistake_is_shown_in_its_line() {
        let error = Diagnostic::error("unknown parameter `formt` of rule `cook-texture`")
            .at(Place { file: file(), span: 20..25 })
            .label("expected one of: format, srgb")
            .did_you_mean("formt", ["format", "srgb"]);
        insta::assert_snapshot!(render(&[error], false), @r#"
        error: unknown parameter `formt` of rule `cook-texture`
         --> maps/bgl/recipe.toml:3:1
          |
        3 | formt = "bc7"
          | ^^^^^ expected one of: format, srgb
        help: did you mean `format`?
        "#);
    }

    #[test]
    fn other_places_and_no_place_at_all() {
        let twice = Diagnostic::error("two steps are called `a`")
            .at(Place { file: file(), span: 16..19 })
            .related(Place { file: file(), span: 0..8 }, "the first one");
        let note = Diagnostic::note("@game is not set").help("set BAKE_GAME");
        insta::assert_snapshot!(render(&[twice, note], false), @r#"
        error: two steps are called `a`
         --> maps/bgl/recipe.toml:2:8
          |
        1 | [[step]]
          | -------- the first one
        2 | name = "a"
          |        ^^^
        note: @game is not set
        help: set BAKE_GAME
        "#);
        let coloured = render(&[Diagnostic::error("x")], true);
        assert!(coloured.contains('\u{1b}'), "{coloured:?}");
    }

    #[test]
    fn lines_and_columns_count_from_one() {
        assert_eq!(Place { file: file(), span: 20..25 }.line_and_column(), (3, 1));
        assert_eq!(Place { file: file(), span: 0..0 }.line_and_column(), (1, 1));
    }
}
