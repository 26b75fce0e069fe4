//! Which releases go together.

use std::collections::{BTreeMap, BTreeSet};

use mjolnir::manifest::Dep;
use mjolnir::version::{Range, Version};
use release::Universe;
use release::resolve::{Asked, Channel, DEPTH, Problem, Release};

fn version(text: &str) -> Version {
    Version::parse(text).unwrap()
}

fn dep((slug, range): &(&str, &str)) -> Dep {
    Dep { slug: (*slug).to_owned(), range: Range::parse(range).unwrap() }
}

fn add(universe: &mut Universe, slug: &str, text: &str, deps: &[(&str, &str)]) {
    let release = Release {
        version: version(text),
        deps: deps.iter().map(dep).collect(),
        channel: Channel::Stable,
        yanked: false,
        source: format!("{slug}-{text}"),
    };
    universe.insert(slug, release).unwrap();
}

fn asked(wants: &[(&str, &str)]) -> Vec<Asked> {
    let asked = |(slug, range): &(&str, &str)| Asked {
        slug: (*slug).to_owned(),
        range: Range::parse(range).unwrap(),
    };
    wants.iter().map(asked).collect()
}

fn installed(versions: &[(&str, &str)]) -> BTreeMap<String, Version> {
    versions.iter().map(|(slug, text)| ((*slug).to_owned(), version(text))).collect()
}

/// `slug version` of all that was chosen, `!` before what is kept.
fn chosen(universe: &Universe, wants: &[(&str, &str)], have: &[(&str, &str)]) -> Vec<String> {
    let chosen = universe.resolve(&asked(wants), &installed(have)).unwrap();
    chosen
        .iter()
        .map(|(slug, chosen)| format!("{}{slug} {}", if chosen.kept { "!" } else { "" }, chosen.version))
        .collect()
}

fn problems(universe: &Universe, wants: &[(&str, &str)]) -> Vec<Problem> {
    universe.resolve(&asked(wants), &BTreeMap::new()).unwrap_err()
}

fn packs() -> Universe {
    let mut universe = Universe::default();
    for text in ["0.2.0", "0.2.1", "0.3.0", "0.3.1-rc.1"] {
        add(&mut universe, "foundry", text, &[]);
    }
    add(&mut universe, "map-a", "1.0.0", &[("foundry", "^0.2.0")]);
    add(&mut universe, "map-b", "1.0.0", &[("foundry", "^0.3.0"), ("runtime", "^1.0.0")]);
    add(&mut universe, "runtime", "1.0.0", &[]);
    add(&mut universe, "runtime", "1.4.0", &[]);
    add(&mut universe, "runtime", "2.0.0", &[]);
    universe
}

#[test]
fn the_newest_of_the_line_is_taken_never_the_newest_of_all() {
    assert_eq!(chosen(&packs(), &[("map-a", "*")], &[]), ["foundry 0.2.1", "map-a 1.0.0"]);
    assert_eq!(
        chosen(&packs(), &[("map-b", "1.0.0")], &[]),
        ["foundry 0.3.0", "map-b 1.0.0", "runtime 1.4.0"]
    );
}

#[test]
fn what_is_installed_is_kept_where_it_will_do() {
    assert_eq!(
        chosen(&packs(), &[("map-a", "*")], &[("foundry", "0.2.0")]),
        ["!foundry 0.2.0", "map-a 1.0.0"]
    );
    assert_eq!(
        chosen(&packs(), &[("map-a", "*")], &[("foundry", "0.3.0")]),
        ["foundry 0.2.1", "map-a 1.0.0"]
    );
    // One that is not among the releases at hand is kept as well.
    assert_eq!(
        chosen(&packs(), &[("map-a", "*")], &[("foundry", "0.2.7")]),
        ["!foundry 0.2.7", "map-a 1.0.0"]
    );
}

#[test]
fn withdrawn_releases_are_not_taken_and_beta_only_where_nothing_else_is() {
    let mut universe = packs();
    universe.get_mut("foundry", &version("0.2.1")).unwrap().yanked = true;
    assert_eq!(chosen(&universe, &[("map-a", "*")], &[])[0], "foundry 0.2.0");
    assert_eq!(chosen(&universe, &[("map-a", "*")], &[("foundry", "0.2.1")])[0], "!foundry 0.2.1");
    let mut universe = packs();
    universe.get_mut("foundry", &version("0.2.1")).unwrap().channel = Channel::Beta;
    assert_eq!(chosen(&universe, &[("map-a", "*")], &[])[0], "foundry 0.2.0");
    universe.get_mut("foundry", &version("0.2.0")).unwrap().yanked = true;
    assert_eq!(chosen(&universe, &[("map-a", "*")], &[])[0], "foundry 0.2.1");
}

#[test]
fn conflicts_name_both_dependents_and_what_there_is() {
    let found = problems(&packs(), &[("map-a", "*"), ("map-b", "*"), ("foundry", "*")]);
    let [Problem::Conflict { slug, wanted, lines }] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(slug, "foundry");
    let wanted: Vec<String> = wanted.iter().map(|want| format!("{} wants {}", want.by, want.range)).collect();
    assert_eq!(wanted, ["`map-a` 1.0.0 wants ^0.2.0", "`map-b` 1.0.0 wants ^0.3.0"]);
    let lines: Vec<String> = lines.iter().map(|(line, versions)| format!("{line}: {versions:?}")).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!(problems(&packs(), &[("map-a", "^2")])[0].to_string(), "no release of `map-a` is in ^2");
    assert!(
        matches!(&problems(&packs(), &[("nothing", "*")])[0], Problem::Missing { slug, .. } if slug == "nothing")
    );
}

#[test]
fn rings_and_long_rows_are_refused() {
    let mut universe = Universe::default();
    add(&mut universe, "aa", "1.0.0", &[("bb", "*")]);
    add(&mut universe, "bb", "1.0.0", &[("cc", "*")]);
    add(&mut universe, "cc", "1.0.0", &[("aa", "*")]);
    let ring = ["aa", "bb", "cc", "aa"].map(str::to_owned).to_vec();
    assert_eq!(problems(&universe, &[("aa", "*")]), [Problem::Cycle(ring)]);
    // No choice settles: with bb the old aa is wanted, which does not want bb.
    let mut universe = Universe::default();
    add(&mut universe, "aa", "1.0.0", &[]);
    add(&mut universe, "aa", "2.0.0", &[("bb", "*")]);
    add(&mut universe, "bb", "1.0.0", &[("aa", "^1")]);
    let ring = ["aa", "bb", "aa"].map(str::to_owned).to_vec();
    assert_eq!(problems(&universe, &[("aa", "*")]), [Problem::Cycle(ring)]);

    let row = |length: usize| {
        let mut universe = Universe::default();
        for at in 0..length {
            let next = format!("r{:02}", at + 1);
            let deps = if at + 1 < length { vec![(next.as_str(), "*")] } else { Vec::new() };
            add(&mut universe, &format!("r{at:02}"), "1.0.0", &deps);
        }
        universe
    };
    assert_eq!(chosen(&row(DEPTH + 1), &[("r00", "*")], &[]).len(), DEPTH + 1);
    assert!(
        matches!(&problems(&row(DEPTH + 2), &[("r00", "*")])[0], Problem::Depth(row) if row.len() == DEPTH + 2)
    );
    assert!(
        matches!(&problems(&row(400), &[("r00", "*")])[0], Problem::Depth(row) if row.len() == DEPTH + 2)
    );
}

/// A generator of numbers that is the same everywhere.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((mixed ^ (mixed >> 31)) % most as u64).unwrap()
    }

    fn of<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        let at = self.below(items.len());
        &items[at]
    }
}

const SLUGS: [&str; 4] = ["aa", "bb", "cc", "dd"];
const VERSIONS: [&str; 4] = ["0.1.0", "1.0.0", "1.1.0", "2.0.0-rc.1"];
const RANGES: [&str; 6] = ["*", "^1", "^0.1", "1.0.0", ">=1.1.0", "^2.0.0-rc.1"];

/// A release that a test made up: slug and range of its deps, by number.
#[derive(Debug)]
struct Made {
    deps: Vec<(usize, usize)>,
    beta: bool,
    yanked: bool,
}

/// What a test made up, in plain tables.
#[derive(Debug)]
struct World {
    releases: BTreeMap<(usize, usize), Made>,
    asked: Vec<(usize, usize)>,
    installed: BTreeMap<usize, usize>,
}

impl World {
    fn new(numbers: &mut Numbers, rings: bool) -> Self {
        let mut releases = BTreeMap::new();
        for slug in 0..SLUGS.len() {
            for version in 0..VERSIONS.len() {
                if numbers.below(4) == 0 {
                    continue;
                }
                let mut deps = BTreeMap::new();
                for _ in 0..numbers.below(3) {
                    let first = if rings { 0 } else { slug + 1 };
                    if first < SLUGS.len() {
                        let other = first + numbers.below(SLUGS.len() - first);
                        deps.insert(other, numbers.below(RANGES.len()));
                    }
                }
                let (beta, yanked) = (numbers.below(5) == 0, numbers.below(6) == 0);
                let deps = deps.into_iter().collect();
                releases.insert((slug, version), Made { deps, beta, yanked });
            }
        }
        let pick = |numbers: &mut Numbers| (numbers.below(SLUGS.len()), numbers.below(RANGES.len()));
        let asked = (0..=numbers.below(2)).map(|_| pick(numbers)).collect();
        let mut installed = BTreeMap::new();
        for slug in 0..SLUGS.len() {
            if numbers.below(3) == 0 {
                installed.insert(slug, *numbers.of(&[0, 1, 2, 3]));
            }
        }
        Self { releases, asked, installed }
    }

    fn universe(&self) -> Universe {
        let mut universe = Universe::default();
        for ((slug, at), made) in &self.releases {
            let release = Release {
                version: version(VERSIONS[*at]),
                deps: made.deps.iter().map(|(slug, range)| dep(&(SLUGS[*slug], RANGES[*range]))).collect(),
                channel: if made.beta { Channel::Beta } else { Channel::Stable },
                yanked: made.yanked,
                source: String::new(),
            };
            universe.insert(SLUGS[*slug], release).unwrap();
        }
        universe
    }

    fn accepts(range: usize, at: usize) -> bool {
        Range::parse(RANGES[range]).unwrap().accepts(&version(VERSIONS[at]))
    }

    /// Whether a table of versions by slug is an answer: checked from the words of the rule, by hand.
    fn is_answer(&self, table: &[Option<usize>]) -> bool {
        let mut wants: Vec<(usize, usize)> = self.asked.clone();
        for (slug, at) in table.iter().enumerate().filter_map(|(slug, at)| Some((slug, (*at)?))) {
            wants.extend(self.releases.get(&(slug, at)).into_iter().flat_map(|made| made.deps.clone()));
        }
        let mut reached: BTreeSet<usize> = self.asked.iter().map(|(slug, _)| *slug).collect();
        for _ in SLUGS {
            for slug in reached.clone() {
                let release = table[slug].and_then(|at| self.releases.get(&(slug, at)));
                reached.extend(release.into_iter().flat_map(|made| made.deps.iter().map(|(slug, _)| *slug)));
            }
        }
        let ranks = |slug: usize| {
            let fits =
                move |at: &usize| wants.iter().all(|(of, range)| *of != slug || Self::accepts(*range, *at));
            let kept = self.installed.get(&slug).copied().filter(|at| fits(at));
            let newest = (0..VERSIONS.len()).filter(|at| fits(at)).filter_map(|at| {
                let made = self.releases.get(&(slug, at))?;
                (!made.yanked).then_some((!made.beta, at))
            });
            kept.or(newest.max().map(|(_, at)| at))
        };
        (0..SLUGS.len()).all(|slug| match (reached.contains(&slug), table[slug]) {
            (false, None) => true,
            (true, Some(at)) => ranks.clone()(slug) == Some(at),
            _ => false,
        }) && !self.has_ring(table)
    }

    fn has_ring(&self, table: &[Option<usize>]) -> bool {
        let mut rest: BTreeSet<usize> = (0..SLUGS.len()).filter(|slug| table[*slug].is_some()).collect();
        loop {
            let free = rest.iter().copied().find(|slug| {
                let release = table[*slug].and_then(|at| self.releases.get(&(*slug, at)));
                release.is_none_or(|made| made.deps.iter().all(|(other, _)| !rest.contains(other)))
            });
            match free {
                Some(slug) => rest.remove(&slug),
                None => return !rest.is_empty(),
            };
        }
    }

    /// All answers.
    fn answers(&self) -> Vec<Vec<Option<usize>>> {
        let options = VERSIONS.len() + 1;
        let tables = (0..options.pow(u32::try_from(SLUGS.len()).unwrap())).map(|mut number| {
            let mut table = Vec::new();
            for _ in SLUGS {
                table.push((number % options).checked_sub(1));
                number /= options;
            }
            table
        });
        tables.filter(|table| self.is_answer(table)).collect()
    }

    fn resolve(&self) -> Result<Vec<Option<usize>>, Vec<Problem>> {
        let asked: Vec<(&str, &str)> =
            self.asked.iter().map(|(slug, range)| (SLUGS[*slug], RANGES[*range])).collect();
        let have: Vec<(&str, &str)> =
            self.installed.iter().map(|(slug, at)| (SLUGS[*slug], VERSIONS[*at])).collect();
        let found = self.universe().resolve(&self::asked(&asked), &installed(&have))?;
        let at = |slug: &&str| {
            let chosen = found.get(*slug)?;
            VERSIONS.iter().position(|text| version(text) == chosen.version)
        };
        Ok(SLUGS.iter().map(at).collect())
    }
}

#[test]
fn without_rings_the_answer_is_the_only_one_or_there_is_none() {
    let mut numbers = Numbers(1);
    let (mut answered, mut refused) = (0, 0);
    for round in 0..300 {
        let world = World::new(&mut numbers, false);
        let answers = world.answers();
        match world.resolve() {
            Ok(found) => {
                assert_eq!(answers, [found], "round {round}: {world:?}");
                answered += 1;
            }
            Err(problems) => {
                assert_eq!(answers, [[]; 0], "round {round}: {problems:?} {world:?}");
                assert!(!problems.iter().any(|problem| matches!(problem, Problem::Cycle(_))), "{problems:?}");
                refused += 1;
            }
        }
    }
    assert!(answered > 50 && refused > 50, "{answered} answered, {refused} refused");
}

#[test]
fn with_rings_an_answer_is_one_of_all_answers() {
    let mut numbers = Numbers(2);
    let (mut answered, mut rings) = (0, 0);
    for round in 0..300 {
        let world = World::new(&mut numbers, true);
        match world.resolve() {
            Ok(found) => {
                assert!(world.answers().contains(&found), "round {round}: {found:?} {world:?}");
                answered += 1;
            }
            Err(problems) => {
                for problem in problems {
                    if let Problem::Cycle(ring) = problem {
                        assert!(ring.len() > 1 && ring.first() == ring.last(), "round {round}: {ring:?}");
                        rings += 1;
                    }
                }
            }
        }
    }
    assert!(answered > 50 && rings > 25, "{answered} answered, {rings} rings");
}
