//! Versions of releases, ranges of them, and lines within which a release keeps what earlier ones gave.
//!
//! It knows numbers alone, not which releases there are. A [`Version`] never has a build part, so equal
//! precedence is equality.

use std::fmt;

use semver::VersionReq;

/// The longest text of a version, in bytes.
const LONGEST: usize = 96;

/// A strict semantic version 2.0.0 without a build part; ordered by precedence.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(semver::Version);

/// Why a text is no version or no range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    /// The text is too long.
    #[error("{0} bytes; a version has at most {LONGEST}")]
    Length(usize),
    /// There is a build part.
    #[error("`+{0}` found; a release's version has no build part")]
    Build(String),
    /// The text is no semantic version.
    #[error("{0}; it must be a semantic version such as `1.2.3` or `1.2.3-rc.1`")]
    Version(String),
    /// The text is no range.
    #[error("{0}; it must be a range such as `^1.2.0`, `>=1.2.3, <2.0.0`, `*`, or a version to pin")]
    Range(String),
}

impl Version {
    /// Reads the one textual form.
    pub fn parse(text: &str) -> Result<Self, VersionError> {
        if text.len() > LONGEST {
            return Err(VersionError::Length(text.len()));
        }
        let version = semver::Version::parse(text).map_err(|e| VersionError::Version(e.to_string()))?;
        if version.build.is_empty() {
            Ok(Self(version))
        } else {
            Err(VersionError::Build(version.build.to_string()))
        }
    }

    /// The line that the version belongs to.
    pub fn line(&self) -> Line {
        match (self.0.major, self.0.minor, self.0.patch) {
            (0, 0, patch) => Line::Patch(patch),
            (0, minor, _) => Line::Minor(minor),
            (major, _, _) => Line::Major(major),
        }
    }

    /// Whether it comes before its core version.
    pub fn is_prerelease(&self) -> bool {
        !self.0.pre.is_empty()
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Versions that stand in for each other: all of one major number, in 0.y of one minor number, and each
/// 0.0.z alone. A pre-release belongs to its core's line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Line {
    /// 0.0.z.
    Patch(u64),
    /// 0.y.
    Minor(u64),
    /// x, from 1 on.
    Major(u64),
}

impl Line {
    /// The range of exactly its versions, pre-releases aside: `^0.2.0`.
    pub fn range(self) -> Range {
        Range::from_on(&self.first())
    }

    /// The line's first version.
    pub fn first(self) -> Version {
        let (major, minor, patch) = match self {
            Self::Patch(patch) => (0, 0, patch),
            Self::Minor(minor) => (0, minor, 0),
            Self::Major(major) => (major, 0, 0),
        };
        Version(semver::Version::new(major, minor, patch))
    }

    /// The line after it.
    pub fn next(self) -> Self {
        match self {
            Self::Patch(patch) => Self::Patch(patch.saturating_add(1)),
            Self::Minor(minor) => Self::Minor(minor.saturating_add(1)),
            Self::Major(major) => Self::Major(major.saturating_add(1)),
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Patch(patch) => write!(f, "0.0.{patch}"),
            Self::Minor(minor) => write!(f, "0.{minor}"),
            Self::Major(major) => major.fmt(f),
        }
    }
}

/// Which versions of another release are wanted. Unlike in Cargo, a complete bare version is a pin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    text: String,
    kind: RangeKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum RangeKind {
    Pin(semver::Version),
    Requirement(VersionReq),
}

impl Range {
    /// Reads a range and keeps its text as it is.
    pub fn parse(text: &str) -> Result<Self, VersionError> {
        let kind = match semver::Version::parse(text) {
            Ok(version) => RangeKind::Pin(version),
            Err(_) => RangeKind::Requirement(
                VersionReq::parse(text).map_err(|e| VersionError::Range(e.to_string()))?,
            ),
        };
        Ok(Self { text: text.to_owned(), kind })
    }

    /// `*`: every version but pre-releases.
    pub fn any() -> Self {
        Self { text: "*".to_owned(), kind: RangeKind::Requirement(VersionReq::STAR) }
    }

    /// `^version`: from this version on, within its line.
    pub fn from_on(version: &Version) -> Self {
        let op = semver::Op::Caret;
        let semver::Version { major, minor, patch, pre, .. } = version.0.clone();
        let comparator = semver::Comparator { op, major, minor: Some(minor), patch: Some(patch), pre };
        Self {
            text: format!("^{version}"),
            kind: RangeKind::Requirement(VersionReq { comparators: vec![comparator] }),
        }
    }

    /// Whether `version` is wanted. A pre-release is so only where the range names one of the same core.
    pub fn accepts(&self, version: &Version) -> bool {
        match &self.kind {
            RangeKind::Pin(pin) => pin.cmp_precedence(&version.0).is_eq(),
            RangeKind::Requirement(requirement) => requirement.matches(&version.0),
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        Version::parse(text).unwrap()
    }

    #[test]
    fn versions_are_strict() {
        for wrong in ["1.0", "1.02.0", "1.0.0-a..b", "v1.0.0", "1.0.0+1", " 1.0.0", "1.0.0-01"] {
            assert!(Version::parse(wrong).is_err(), "{wrong}");
        }
        assert!(Version::parse(&format!("1.0.0-{}", "a".repeat(90))).is_ok());
        assert!(Version::parse(&format!("1.0.0-{}", "a".repeat(91))).is_err());
        assert!(Version::parse("18446744073709551615.0.0").is_ok());
        assert!(Version::parse("18446744073709551616.0.0").is_err());
    }

    #[test]
    fn a_complete_bare_version_is_a_pin() {
        let pin = Range::parse("1.2.3").unwrap();
        assert!(pin.accepts(&version("1.2.3")) && !pin.accepts(&version("1.2.4")));
        let caret = Range::parse("1.2").unwrap();
        assert!(caret.accepts(&version("1.9.0")));
    }

    #[test]
    fn from_on_is_the_written_caret() {
        for text in ["1.2.3", "0.2.0-beta.1", "0.0.3"] {
            let range = Range::from_on(&version(text));
            assert_eq!(range, Range::parse(&range.to_string()).unwrap());
        }
    }

    #[test]
    fn lines() {
        assert_eq!(version("0.2.7").line(), version("0.2.0-beta.1").line());
        assert_ne!(version("0.2.7").line(), version("0.3.0").line());
        assert_ne!(version("0.0.3").line(), version("0.0.4").line());
        assert_eq!(version("1.4.2").line(), Line::Major(1));
        assert_ne!(version("0.1.0").line(), version("0.0.1").line());
        for (text, range, next) in
            [("1.4.2", "^1.0.0", "2.0.0"), ("0.2.7", "^0.2.0", "0.3.0"), ("0.0.3", "^0.0.3", "0.0.4")]
        {
            let line = version(text).line();
            assert_eq!((line.range().to_string(), line.next().first()), (range.to_owned(), version(next)));
            assert!(line.range().accepts(&version(text)) && !line.range().accepts(&version(next)));
        }
    }
}
