//! [`Label`]: the name of a recipe, of one of its steps, or of one instance of a step.

use std::fmt;
use std::str::FromStr;

use cache::WorkspacePath;

/// `maps/bgl`, `maps/bgl:texture` or `maps/bgl:texture:ground`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label {
    recipe: WorkspacePath,
    step: Option<String>,
    instance: Option<String>,
}

/// A text that is no label.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is no label: {reason}")]
pub struct LabelError {
    found: String,
    reason: String,
}

/// Whether `name` can name a step or an instance: ASCII letters, digits, `_`, `-`, `.`, at most 128.
pub fn is_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    !name.is_empty() && name.len() <= 128 && name.bytes().all(allowed)
}

impl Label {
    /// The label of a recipe.
    pub fn recipe(recipe: WorkspacePath) -> Self {
        Self { recipe, step: None, instance: None }
    }

    /// The label of a step of this recipe. The name is one that [`is_name`] accepts.
    #[must_use]
    pub fn with_step(&self, step: &str) -> Self {
        Self { recipe: self.recipe.clone(), step: Some(step.to_owned()), instance: None }
    }

    /// The label of an instance of this step.
    #[must_use]
    pub fn with_instance(&self, instance: &str) -> Self {
        Self { instance: Some(instance.to_owned()), ..self.clone() }
    }

    /// The recipe's folder.
    pub fn recipe_path(&self) -> &WorkspacePath {
        &self.recipe
    }

    /// The step, if the label names one.
    pub fn step(&self) -> Option<&str> {
        self.step.as_deref()
    }

    /// The instance, if the label names one.
    pub fn instance(&self) -> Option<&str> {
        self.instance.as_deref()
    }

    /// The label without its recipe: `texture:ground`. Empty for a recipe.
    pub fn short(&self) -> String {
        let parts = [self.step.as_deref(), self.instance.as_deref()];
        parts.into_iter().flatten().collect::<Vec<_>>().join(":")
    }

    /// Whether `other` is this label or lies within it.
    pub fn contains(&self, other: &Label) -> bool {
        self.recipe == other.recipe
            && (self.step.is_none() || self.step == other.step)
            && (self.instance.is_none() || self.instance == other.instance)
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = self.short();
        write!(f, "{}{}{short}", self.recipe, if short.is_empty() { "" } else { ":" })
    }
}

impl FromStr for Label {
    type Err = LabelError;

    fn from_str(text: &str) -> Result<Self, LabelError> {
        let error = |reason: String| LabelError { found: text.to_owned(), reason };
        let mut parts = text.split(':');
        let recipe = parts.next().unwrap_or_default().trim_end_matches('/');
        let recipe = WorkspacePath::parse(recipe).map_err(|bad| error(bad.reason.to_owned()))?;
        let (step, instance) = (parts.next(), parts.next());
        if parts.next().is_some() {
            return Err(error("at most recipe, step and instance, with `:` between".to_owned()));
        }
        if let Some(bad) = [step, instance].into_iter().flatten().find(|name| !is_name(name)) {
            return Err(error(format!("`{bad}` is no name: letters, digits, `_`, `-`, `.`")));
        }
        Ok(Self { recipe, step: step.map(str::to_owned), instance: instance.map(str::to_owned) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_go_there_and_back() {
        for text in ["maps/bgl", "maps/bgl:texture", "maps/bgl:texture:ground"] {
            assert_eq!(text.parse::<Label>().unwrap().to_string(), text);
        }
        assert_eq!("maps/bgl/".parse::<Label>().unwrap().to_string(), "maps/bgl");
        for bad in ["", ":x", "a:", "a::b", "a:b:c:d", "../a", "a:b c"] {
            assert!(bad.parse::<Label>().is_err(), "{bad}");
        }
        let step: Label = "a:b".parse().unwrap();
        assert!(step.contains(&step.with_instance("c")));
        assert!(!step.contains(&"a:bc".parse().unwrap()));
    }
}
