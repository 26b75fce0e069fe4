//! [`Reference`]: what the text of an input or output names. Pure text; nothing is looked up here.

use engine::{WorkspacePath, is_name};

/// What a text names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reference {
    /// Files of the workspace: a path or a glob.
    Files { pattern: String, from_root: bool, optional: bool },
    /// An output of a step, of this recipe or of another one.
    Step(StepReference),
    /// An external.
    External(String),
    /// The descriptor of the instance.
    Item,
}

/// An output of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StepReference {
    pub(crate) recipe: Option<WorkspacePath>,
    pub(crate) step: String,
    pub(crate) output: Option<String>,
    pub(crate) select: Option<String>,
    pub(crate) optional: bool,
}

impl Reference {
    /// Reads a text. The error says what is wrong with it and what is allowed.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text == "{item}" {
            return Ok(Self::Item);
        }
        let (body, optional) = match text.strip_suffix('?') {
            Some(body) => (body, true),
            None => (text, false),
        };
        if let Some(name) = text.strip_prefix('@') {
            return match is_name(name) {
                true => Ok(Self::External(name.to_owned())),
                false => Err(format!("`{text}` names no external, expected one such as `@game`")),
            };
        }
        if let Some((recipe, step)) = body.split_once(':') {
            return StepReference::parse(recipe, step, optional).map(Self::Step);
        }
        if body.contains("{item") {
            return Err(
                "`{item…}` can choose from what a step made (`:step.output/{item.name}`), not a file \
                        of the workspace"
                    .to_owned(),
            );
        }
        let (pattern, from_root) = match body.strip_prefix("//") {
            Some(pattern) => (pattern, true),
            None => (body, false),
        };
        if pattern.is_empty() || pattern.starts_with('/') || pattern.split('/').any(|part| part == "..") {
            let allowed = "expected a path below the recipe's folder, or `//` and a path in the workspace";
            return Err(format!("`{text}` leads out of the workspace, {allowed}"));
        }
        Ok(Self::Files { pattern: pattern.to_owned(), from_root, optional })
    }
}

impl StepReference {
    fn parse(recipe: &str, rest: &str, optional: bool) -> Result<Self, String> {
        let recipe = match recipe.trim_start_matches("//") {
            "" => None,
            path => Some(WorkspacePath::parse(path).map_err(|error| error.to_string())?),
        };
        let (name, select) = match rest.split_once('/') {
            Some((name, select)) => (name, Some(select.to_owned())),
            None => (rest, None),
        };
        let (step, output) = match name.split_once('.') {
            Some((step, output)) => (step, Some(output.to_owned())),
            None => (name, None),
        };
        let names_fit = is_name(step) && output.as_deref().is_none_or(is_name);
        if !names_fit || select.as_deref() == Some("") {
            return Err(format!(
                "`:{rest}` names no output, expected `:step`, `:step.output` or `:step.output/path`"
            ));
        }
        Ok(Self { recipe, step: step.to_owned(), output, select, optional })
    }
}

/// Whether a text of a file input is a glob rather than a path.
pub(crate) fn is_glob(pattern: &str) -> bool {
    pattern.contains(['*', '[', '{', '?'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_are_read() {
        let step =
            |recipe: Option<&str>, step: &str, output: Option<&str>, select: Option<&str>, optional| {
                Ok(Reference::Step(StepReference {
                    recipe: recipe.map(|path| WorkspacePath::parse(path).unwrap()),
                    step: step.to_owned(),
                    output: output.map(str::to_owned),
                    select: select.map(str::to_owned),
                    optional,
                }))
            };
        assert_eq!(Reference::parse(":rename"), step(None, "rename", None, None, false));
        assert_eq!(Reference::parse(":sign?"), step(None, "sign", None, None, true));
        assert_eq!(
            Reference::parse("forge-packs/a:b.c/d/{item.name}"),
            step(Some("forge-packs/a"), "b", Some("c"), Some("d/{item.name}"), false)
        );
        assert_eq!(Reference::parse("@ce-maps"), Ok(Reference::External("ce-maps".to_owned())));
        assert_eq!(Reference::parse("{item}"), Ok(Reference::Item));
        let files = |pattern: &str, from_root, optional| {
            Ok(Reference::Files { pattern: pattern.to_owned(), from_root, optional })
        };
        assert_eq!(Reference::parse("docs/**/*.png?"), files("docs/**/*.png", false, true));
        assert_eq!(Reference::parse("//LICENSE"), files("LICENSE", true, false));
    }

    #[test]
    fn what_leads_out_or_names_nothing_is_refused() {
        for bad in ["../x", "/etc", "", "//", "a/../b", ":", ":a b", ":a/", "..:a", "@", "x/{item.name}"] {
            assert!(Reference::parse(bad).is_err(), "{bad}");
        }
    }
}
