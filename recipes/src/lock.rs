//! [`Lock`]: `bake.lock`, which says what came from externals and what was made of it. Pure text; who fills
//! it and where it lies is not known here.
//!
//! ```text
//! bake lock 1
//!
//! [stand-in game 1]
//! forge-packs/foundry:archive.members 91c2…
//! forge-packs/foundry:extract.packages a03f…
//! ```
//!
//! One form only: sections and lines sorted, so that what changes is what a diff shows.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

const HEADER: &str = "bake lock 1";

/// Entries of one section: what it is, and its digest.
pub type Entries = BTreeMap<String, String>;

/// What `bake.lock` holds: sections, such as one a build of the game and one a version of a stand-in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lock {
    sections: BTreeMap<String, Entries>,
}

/// A text that is no lock.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of bake.lock: {reason}")]
pub struct LockError {
    /// Counted from 1.
    pub line: usize,
    /// What was found and what is allowed.
    pub reason: String,
}

/// A way in which what was built is not what is locked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// It is not locked.
    Added {
        /// The section.
        section: String,
        /// What it is.
        key: String,
        /// Its digest.
        found: String,
    },
    /// It is locked, and was not found.
    Gone {
        /// The section.
        section: String,
        /// What it is.
        key: String,
        /// The locked digest.
        locked: String,
    },
    /// It is not as locked.
    Changed {
        /// The section.
        section: String,
        /// What it is.
        key: String,
        /// The locked digest.
        locked: String,
        /// Its digest.
        found: String,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added { section, key, found } => {
                write!(f, "[{section}] `{key}` is not locked, found {found}")
            }
            Self::Gone { section, key, locked } => {
                write!(f, "[{section}] `{key}` is gone, locked is {locked}")
            }
            Self::Changed { section, key, locked, found } => {
                write!(f, "[{section}] `{key}`: locked is {locked}, found {found}")
            }
        }
    }
}

impl Lock {
    /// Reads a lock. Only what [`Lock::format`] writes is accepted, save that line ends may be of Windows.
    pub fn parse(text: &str) -> Result<Self, LockError> {
        let error = |line: usize, reason: &str| LockError { line: line + 1, reason: reason.to_owned() };
        let mut lines = text.lines().enumerate();
        match lines.next() {
            Some((_, HEADER)) => {}
            Some((line, other)) if other.starts_with("bake lock ") => {
                return Err(error(line, &format!("found `{other}`, this bake reads `{HEADER}`")));
            }
            _ => return Err(error(0, &format!("expected `{HEADER}`"))),
        }
        let mut lock = Self::default();
        let mut current: Option<(String, Entries)> = None;
        for (at, line) in lines {
            if line.is_empty() {
                continue;
            }
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                let last = current.replace((name.to_owned(), Entries::new()));
                lock.sections.extend(last);
                if lock.sections.last_key_value().is_some_and(|(last, _)| last.as_str() >= name) {
                    return Err(error(at, "sections are sorted, each once"));
                }
                continue;
            }
            let Some((_, entries)) = &mut current else {
                return Err(error(at, "expected a section such as `[stand-in game 1]`"));
            };
            let Some((key, digest)) =
                line.rsplit_once(' ').filter(|(key, digest)| !key.is_empty() && !digest.is_empty())
            else {
                return Err(error(at, "expected a name, a space and a digest"));
            };
            if entries.last_key_value().is_some_and(|(last, _)| last.as_str() >= key) {
                return Err(error(at, "entries are sorted, each once"));
            }
            if !digest.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)) {
                return Err(error(at, &format!("`{digest}` is no digest: lower-case hexadecimal digits")));
            }
            entries.insert(key.to_owned(), digest.to_owned());
        }
        lock.sections.extend(current);
        Ok(lock)
    }

    /// The one text of it.
    pub fn format(&self) -> String {
        let mut out = format!("{HEADER}\n");
        for (section, entries) in &self.sections {
            out += &format!("\n[{section}]\n");
            for (key, digest) in entries {
                out += &format!("{key} {digest}\n");
            }
        }
        out
    }

    /// The entries of a section, if it has any.
    pub fn section(&self, name: &str) -> Option<&Entries> {
        self.sections.get(name)
    }

    /// How what was built differs from what is locked, in order. Only sections of `found` are in force: what
    /// another build of the game gave is not looked at. Of those, only keys that `concerns` accepts are
    /// missed: a build of one recipe does not make the others' entries.
    pub fn compare(
        &self,
        found: &BTreeMap<String, Entries>,
        concerns: impl Fn(&str) -> bool,
    ) -> Vec<Difference> {
        let mut differences = Vec::new();
        let none = Entries::new();
        for (section, found) in found {
            let locked = self.section(section).unwrap_or(&none);
            let keys: BTreeSet<&String> = locked.keys().chain(found.keys()).collect();
            for key in keys {
                let (section, key) = (section.clone(), key.clone());
                match (locked.get(&key).cloned(), found.get(&key).cloned()) {
                    (Some(locked), Some(found)) if locked != found => {
                        differences.push(Difference::Changed { section, key, locked, found });
                    }
                    (None, Some(found)) => differences.push(Difference::Added { section, key, found }),
                    (Some(locked), None) if concerns(&key) => {
                        differences.push(Difference::Gone { section, key, locked });
                    }
                    _ => {}
                }
            }
        }
        differences
    }

    /// Takes over what was built: entries of its sections are set, and those that `concerns` accepts and
    /// that are not there any more are removed. All else stays.
    pub fn update(&mut self, found: &BTreeMap<String, Entries>, concerns: impl Fn(&str) -> bool) {
        for (section, found) in found {
            let entries = self.sections.entry(section.clone()).or_default();
            entries.retain(|key, _| found.contains_key(key) || !concerns(key));
            entries.extend(found.clone());
        }
        self.sections.retain(|_, entries| !entries.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "bake lock 1\n\n[game 7]\na:x.out 11\n\n[stand-in game 1]\na:x.out 22\nb:y.out 33\n";

    fn found(section: &str, entries: &[(&str, &str)]) -> BTreeMap<String, Entries> {
        let entries = entries.iter().map(|(key, digest)| ((*key).to_owned(), (*digest).to_owned()));
        [(section.to_owned(), entries.collect())].into()
    }

    #[test]
    fn a_lock_has_one_text() {
        assert_eq!(Lock::parse(TEXT).unwrap().format(), TEXT);
        assert_eq!(Lock::parse(&TEXT.replace('\n', "\r\n")).unwrap().format(), TEXT);
        assert_eq!(Lock::parse(&Lock::default().format()), Ok(Lock::default()));
        let spaced = Lock::parse("bake lock 1\n\n[x]\na b c 1\n").unwrap();
        assert_eq!(spaced.section("x").unwrap().get("a b c").unwrap(), "1");
    }

    #[test]
    fn what_is_no_lock_is_refused_with_its_line() {
        for (text, line) in [
            ("", 1),
            ("bake lock 2\n", 1),
            ("bake lock 1\na 1\n", 2),
            ("bake lock 1\n[x]\na\n", 3),
            ("bake lock 1\n[x]\na 1g\n", 3),
            ("bake lock 1\n[x]\nb 1\na 1\n", 4),
            ("bake lock 1\n[x]\na 1\na 1\n", 4),
            ("bake lock 1\n[x]\n[x]\n", 3),
            ("bake lock 1\n[y]\n[x]\n", 3),
            ("bake lock 1\n<<<<<<< ours\n", 2),
        ] {
            assert_eq!(Lock::parse(text).unwrap_err().line, line, "{text:?}");
        }
    }

    #[test]
    fn only_sections_in_force_and_what_was_built_count() {
        let lock = Lock::parse(TEXT).unwrap();
        let built = found("stand-in game 1", &[("a:x.out", "99"), ("a:z.out", "44")]);
        let texts = |differences: Vec<Difference>| {
            differences.iter().map(Difference::to_string).collect::<Vec<_>>().join("\n")
        };
        insta::assert_snapshot!(texts(lock.compare(&built, |key| key.starts_with("a:"))), @r#"
        [stand-in game 1] `a:x.out`: locked is 22, found 99
        [stand-in game 1] `a:z.out` is not locked, found 44
        "#);
        insta::assert_snapshot!(texts(lock.compare(&found("stand-in game 1", &[("a:x.out", "22")]), |_| true)), @r#"[stand-in game 1] `b:y.out` is gone, locked is 33"#);
        assert_eq!(lock.compare(&found("game 7", &[("a:x.out", "11")]), |_| true), []);
    }

    #[test]
    fn an_update_leaves_nothing_to_say_and_all_else_alone() {
        let mut lock = Lock::parse(TEXT).unwrap();
        let built = found("stand-in game 1", &[("a:z.out", "44")]);
        lock.update(&built, |key| key.starts_with("a:"));
        assert_eq!(lock.compare(&built, |key| key.starts_with("a:")), []);
        assert_eq!(
            lock.format(),
            TEXT.replace("22\nb:y.out 33", "33").replace("a:x.out 33", "a:z.out 44\nb:y.out 33")
        );
        lock.update(&found("game 7", &[]), |_| true);
        assert!(!lock.format().contains("[game 7]"));
    }
}
