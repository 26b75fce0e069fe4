//! Which releases go together: for each slug one that is in all ranges in which it is wanted.
//!
//! An installed release is kept if it is in them, else the newest is taken; what was taken wants others in
//! turn. There is no search: that an older release of a dependent would get on with the others is for people
//! to decide, and the launcher would not do it either. Invariant: an answer is a fixed point. Each slug in it
//! is wanted by what was asked for or by another release in it, and every range in which it is wanted has it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use mjolnir::manifest::Dep;
use mjolnir::version::{Line, Range, Version};

/// How many releases may want each other in a row.
pub const DEPTH: usize = 16;

/// Where a release was published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Channel {
    /// For those who ask for it.
    Beta,
    /// For all; taken before beta.
    #[default]
    Stable,
}

/// A release that can be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// Its version.
    pub version: Version,
    /// What it needs.
    pub deps: Vec<Dep>,
    /// Where it was published.
    pub channel: Channel,
    /// Whether it was withdrawn: such a release is never taken, and kept where it is installed.
    pub yanked: bool,
    /// Where it was found, for people.
    pub source: String,
}

/// All releases that there are, by slug and version.
#[derive(Clone, Debug, Default)]
pub struct Universe {
    releases: BTreeMap<String, BTreeMap<Version, Release>>,
}

/// Who wants a release.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dependent {
    /// The caller.
    Caller,
    /// Another release.
    Release(String, Version),
}

impl fmt::Display for Dependent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Caller => f.write_str("you"),
            Self::Release(slug, version) => write!(f, "`{slug}` {version}"),
        }
    }
}

/// A range in which a release is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Want {
    /// Who wants it.
    pub by: Dependent,
    /// In which versions.
    pub range: Range,
}

/// What was asked for: a slug, in a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The slug.
    pub slug: String,
    /// The versions that will do.
    pub range: Range,
}

/// A release of the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The version.
    pub version: Version,
    /// Whether it was installed already.
    pub kept: bool,
    /// All who want it.
    pub wanted: Vec<Want>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// Nothing of that slug is there.
    Missing {
        /// The slug.
        slug: String,
        /// All who want it.
        wanted: Vec<Want>,
    },
    /// No release is in all ranges.
    Conflict {
        /// The slug.
        slug: String,
        /// Two who cannot both be served, one whom nothing serves, or all where only all of them clash.
        wanted: Vec<Want>,
        /// What there is, withdrawn releases left out.
        lines: BTreeMap<Line, Vec<Version>>,
    },
    /// Releases that want each other in a ring; the first is named again at the end.
    Cycle(Vec<String>),
    /// More than [`DEPTH`] releases want each other in a row.
    Depth(Vec<String>),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { slug, .. } => write!(f, "there is no release of `{slug}`"),
            Self::Conflict { slug, wanted, .. } => match wanted.as_slice() {
                [one] => write!(f, "no release of `{slug}` is in {}", one.range),
                _ => write!(f, "no release of `{slug}` is in all ranges in which it is wanted"),
            },
            Self::Cycle(slugs) => write!(f, "releases need each other in a ring: {}", ring(slugs)),
            Self::Depth(slugs) => {
                write!(f, "more than {DEPTH} releases need each other in a row: {}", ring(slugs))
            }
        }
    }
}

fn ring(slugs: &[String]) -> String {
    slugs.iter().map(|slug| format!("`{slug}`")).collect::<Vec<_>>().join(" > ")
}

type Wants = BTreeMap<String, Vec<Want>>;
type Choice = BTreeMap<String, Version>;

impl Universe {
    /// Adds a release; gives it back where there is one of that slug and version already.
    pub fn insert(&mut self, slug: &str, release: Release) -> Result<(), Release> {
        let versions = self.releases.entry(slug.to_owned()).or_default();
        if versions.contains_key(&release.version) {
            return Err(release);
        }
        versions.insert(release.version.clone(), release);
        Ok(())
    }

    /// The release of that slug and version.
    pub fn get(&self, slug: &str, version: &Version) -> Option<&Release> {
        self.releases.get(slug)?.get(version)
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, slug: &str, version: &Version) -> Option<&mut Release> {
        self.releases.get_mut(slug)?.get_mut(version)
    }

    /// What can be taken of a slug, by its lines, oldest first.
    pub fn lines(&self, slug: &str) -> BTreeMap<Line, Vec<Version>> {
        let mut lines: BTreeMap<Line, Vec<Version>> = BTreeMap::new();
        for release in self.releases.get(slug).into_iter().flat_map(BTreeMap::values) {
            if !release.yanked {
                lines.entry(release.version.line()).or_default().push(release.version.clone());
            }
        }
        lines
    }

    /// Resolves what was asked for. All problems are given.
    pub fn resolve(
        &self,
        asked: &[Asked],
        installed: &BTreeMap<String, Version>,
    ) -> Result<BTreeMap<String, Chosen>, Vec<Problem>> {
        let pick = |wants: &Wants| -> Choice {
            let pick = |(slug, wants): (&String, &Vec<Want>)| {
                Some((slug.clone(), self.pick(slug, wants, installed.get(slug))?))
            };
            wants.iter().filter_map(pick).collect()
        };
        // What is decided in a round is final a round later, unless releases go round in a ring.
        let mut choice = Choice::new();
        let mut settled = None;
        for _ in 0..self.releases.len() + asked.len() + 3 {
            let wants = self.wants(asked, &choice);
            let next = pick(&wants);
            if next == choice {
                settled = Some(wants);
                break;
            }
            choice = next;
        }
        let Some(wants) = settled else {
            return Err(vec![Problem::Cycle(self.ring(asked))]);
        };
        if let Some(problem) = self.shape(asked, &choice) {
            return Err(vec![problem]);
        }
        let problems: Vec<Problem> = wants
            .iter()
            .filter(|(slug, _)| !choice.contains_key(*slug))
            .map(|(slug, wants)| self.problem(slug, wants))
            .collect();
        if !problems.is_empty() {
            return Err(problems);
        }
        let chosen = |(slug, wanted): (String, Vec<Want>)| {
            let version = choice.get(&slug)?.clone();
            let kept = installed.get(&slug) == Some(&version);
            Some((slug, Chosen { version, kept, wanted }))
        };
        Ok(wants.into_iter().filter_map(chosen).collect())
    }

    /// Who wants what, as far as `choice` leads from what was asked for.
    fn wants(&self, asked: &[Asked], choice: &Choice) -> Wants {
        let mut wants = Wants::new();
        let mut open: Vec<String> = Vec::new();
        let mut add = |slug: &str, want: Want, open: &mut Vec<String>| {
            let known = wants.entry(slug.to_owned()).or_default();
            if known.is_empty() {
                open.push(slug.to_owned());
            }
            if !known.contains(&want) {
                known.push(want);
            }
        };
        for asked in asked {
            add(&asked.slug, Want { by: Dependent::Caller, range: asked.range.clone() }, &mut open);
        }
        while let Some(slug) = open.pop() {
            let Some(version) = choice.get(&slug) else { continue };
            for dep in self.deps(&slug, version) {
                let by = Dependent::Release(slug.clone(), version.clone());
                add(&dep.slug, Want { by, range: dep.range.clone() }, &mut open);
            }
        }
        for wants in wants.values_mut() {
            wants.sort_by_cached_key(|want| (want.by.clone(), want.range.to_string()));
        }
        wants
    }

    /// An installed release that is not among those that are known needs nothing that is known.
    fn deps(&self, slug: &str, version: &Version) -> &[Dep] {
        self.get(slug, version).map(|release| release.deps.as_slice()).unwrap_or_default()
    }

    fn pick(&self, slug: &str, wants: &[Want], installed: Option<&Version>) -> Option<Version> {
        let accepted = |version: &Version| wants.iter().all(|want| want.range.accepts(version));
        if let Some(installed) = installed.filter(|installed| accepted(installed)) {
            return Some(installed.clone());
        }
        let releases = self.releases.get(slug)?.values();
        let good = releases.filter(|release| !release.yanked && accepted(&release.version));
        good.max_by_key(|release| (release.channel, &release.version)).map(|release| release.version.clone())
    }

    fn problem(&self, slug: &str, wants: &[Want]) -> Problem {
        let slug = slug.to_owned();
        if !self.releases.contains_key(&slug) {
            return Problem::Missing { slug, wanted: wants.to_vec() };
        }
        let served = |wants: &[Want]| self.pick(&slug, wants, None).is_some();
        let singles = wants.iter().map(|want| vec![want.clone()]);
        let pairs = wants.iter().enumerate().flat_map(|(index, first)| {
            wants.iter().skip(index + 1).map(move |second| vec![first.clone(), second.clone()])
        });
        let wanted = singles.chain(pairs).find(|few| !served(few)).unwrap_or_else(|| wants.to_vec());
        let lines = self.lines(&slug);
        Problem::Conflict { slug, wanted, lines }
    }

    /// A ring or a row that is too long, along what was chosen.
    fn shape(&self, asked: &[Asked], choice: &Choice) -> Option<Problem> {
        let edges = |slug: &str| -> Vec<&str> {
            let deps = choice.get(slug).map(|version| self.deps(slug, version)).unwrap_or_default();
            deps.iter().map(|dep| dep.slug.as_str()).collect()
        };
        Walk::new(&edges).run(asked)
    }

    /// A ring among all releases that could be meant: where choices do not settle there is one.
    fn ring(&self, asked: &[Asked]) -> Vec<String> {
        let edges = |slug: &str| -> Vec<&str> {
            let releases = self.releases.get(slug).into_iter().flat_map(BTreeMap::values);
            let slugs: BTreeSet<&str> =
                releases.flat_map(|release| &release.deps).map(|dep| dep.slug.as_str()).collect();
            slugs.into_iter().collect()
        };
        match Walk::new(&edges).run(asked) {
            Some(Problem::Cycle(ring) | Problem::Depth(ring)) => ring,
            _ => Vec::new(),
        }
    }
}

/// Goes along all edges, each slug once, and looks for a ring, then for a row that is too long.
struct Walk<'e, 's> {
    edges: &'e dyn Fn(&str) -> Vec<&'s str>,
    /// The longest row from a slug on, itself included, once it is known.
    rows: BTreeMap<String, Vec<String>>,
}

impl<'e, 's> Walk<'e, 's> {
    fn new(edges: &'e dyn Fn(&str) -> Vec<&'s str>) -> Self {
        Self { edges, rows: BTreeMap::new() }
    }

    fn run(mut self, asked: &[Asked]) -> Option<Problem> {
        for asked in asked {
            if let Some(ring) = self.visit(&asked.slug) {
                return Some(Problem::Cycle(ring));
            }
        }
        let rows = asked.iter().filter_map(|asked| self.rows.get(&asked.slug));
        let row = rows.max_by_key(|row| row.len()).filter(|row| row.len() > DEPTH + 1)?;
        Some(Problem::Depth(row.iter().rev().cloned().collect()))
    }

    /// Depth first, with a stack of its own: rows of foreign archives may be long. Gives a ring.
    fn visit(&mut self, start: &str) -> Option<Vec<String>> {
        let mut stack: Vec<(String, Vec<&'s str>)> = vec![(start.to_owned(), (self.edges)(start))];
        while let Some((slug, open)) = stack.last_mut() {
            let Some(next) = open.pop() else {
                let slug = slug.clone();
                stack.pop();
                let edges = (self.edges)(&slug);
                let rows = edges.iter().filter_map(|next| self.rows.get(*next));
                // A row is kept from its end on, and no further than it takes to be too long.
                let mut row = rows.max_by_key(|row| row.len()).cloned().unwrap_or_default();
                if row.len() <= DEPTH + 1 {
                    row.push(slug.clone());
                }
                self.rows.insert(slug, row);
                continue;
            };
            if let Some(at) = stack.iter().position(|(slug, _)| slug == next) {
                let ring = stack.iter().skip(at).map(|(slug, _)| slug.clone());
                return Some(ring.chain([next.to_owned()]).collect());
            }
            if !self.rows.contains_key(next) {
                stack.push((next.to_owned(), (self.edges)(next)));
            }
        }
        None
    }
}
