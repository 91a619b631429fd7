//! Profiles: what was learnt about all backbones, in a form that a person can review and edit.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

#[cfg(feature = "export")]
use serde::{Deserialize, Serialize};

use super::matching;
use super::offender::full_slot;
use super::relation::{ENOUGH_POINTS, Relations, number, point};
use super::{
    Broken, Count, Degree, Evidence, HashSum, Measure, Metric, Role, Shape, Side, Tally, Violation,
    shape_of,
};

/// What is true of the recursive data structures of a program, by the names of their
/// backbones.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "export", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "export", serde(deny_unknown_fields))]
pub struct Profile {
    /// The version of this form.
    pub schema_version: u32,
    /// By class.
    pub backbones: BTreeMap<String, Invariants>,
}

/// What is true of one backbone.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "export", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "export", serde(deny_unknown_fields))]
pub struct Invariants {
    /// The class between two objects of the backbone, if there is one.
    #[cfg_attr(
        feature = "export",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub through: Option<String>,
    /// What the largest looked like.
    pub looks_like: Shape,
    /// How many measures were learnt.
    pub measures: u64,
    /// The fewest and the most objects in any of those that are in `degrees`.
    pub instances: Option<(u64, u64)>,
    /// `in=0`, `in=1`, `in=2`, `in>2`, `out=0`, … A person may remove what is not to be tested.
    pub degrees: BTreeMap<Degree, Metric>,
    /// Exact relations.
    pub relations: Relations<Count>,
    /// What is true of each object, and of each pair: sums of hashes that add up to nothing.
    pub matches: Relations<HashSum>,
    /// What was seen of each fact.
    #[cfg_attr(
        feature = "export",
        serde(default, skip_serializing_if = "BTreeMap::is_empty")
    )]
    pub facts: BTreeMap<String, Evidence>,
    /// Facts of which everything was seen. There is nothing more to learn.
    #[cfg_attr(
        feature = "export",
        serde(default, skip_serializing_if = "BTreeSet::is_empty")
    )]
    refuted: BTreeSet<String>,
    /// How many objects there were, at different times, up to a limit.
    #[cfg_attr(
        feature = "export",
        serde(default, skip_serializing_if = "BTreeSet::is_empty")
    )]
    sizes: BTreeSet<u64>,
}

/// The version of the form.
const SCHEMA_VERSION: u32 = 3;

/// The percentages of smaller structures mean nothing, and any count of theirs is a quirk.
const LEAST_INSTANCES: u64 = 16;

/// So many sizes are told from each other.
const MOST_SIZES: usize = 64;

/// A slot that was never null in fewer objects may be null all the same.
const ENOUGH_INSTANCES: i64 = 550;

/// So many objects of a structure may have a degree that was never seen.
const MOST_BY_CHANCE: u64 = 2;

impl Default for Profile {
    fn default() -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            backbones: BTreeMap::new(),
        }
    }
}

impl Profile {
    /// Learns from the measures of a correct run.
    pub fn learn(&mut self, measures: &[Measure]) {
        for measure in measures {
            let known = self.backbones.entry(measure.class.clone());
            known.or_default().learn(measure);
        }
    }

    /// Learns what another has learnt.
    pub fn merge(&mut self, other: Self) {
        for (class, theirs) in other.backbones {
            self.backbones.entry(class).or_default().merge(theirs);
        }
    }

    /// Returns how measures differ from what was learnt. Backbones that are not in the
    /// profile are not tested.
    pub fn test(&self, measures: &[Measure]) -> Vec<Violation> {
        let known = measures.iter().filter_map(|measure| {
            let invariants = self.backbones.get(&measure.class)?;
            Some(invariants.test(measure))
        });
        known.flatten().collect()
    }

    /// Returns the profile as JSON with line breaks.
    #[cfg(feature = "export")]
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a profile has only plain data");
        text.push('\n');
        text
    }

    /// Reads a profile from JSON.
    ///
    /// # Errors
    /// If it is not a profile, or contains something that cannot have been learnt. The error
    /// says where and why.
    #[cfg(feature = "export")]
    pub fn from_json(text: &str) -> Result<Self, String> {
        /// Profiles of other versions may have other fields.
        #[derive(Deserialize)]
        struct Version {
            schema_version: u32,
        }
        let to_text = |error: serde_json::Error| error.to_string();
        let version: Version = serde_json::from_str(text).map_err(to_text)?;
        match version.schema_version {
            SCHEMA_VERSION => {}
            other => return Err(format!("profiles of version {other} are not known here")),
        }
        let profile: Self = serde_json::from_str(text).map_err(to_text)?;
        for (class, invariants) in &profile.backbones {
            if let Some(term) = invariants.unknown_term() {
                let quoted = format!("{term:?}:");
                let mut lines = text.lines().zip(1..);
                let line = lines
                    .find(|(line, _)| line.contains(&quoted))
                    .map_or(1, |it| it.1);
                return Err(format!(
                    "{class}: `{term}` was never counted at line {line}"
                ));
            }
            let checked = invariants.check();
            checked.map_err(|error| format!("{class}: {error}"))?;
        }
        Ok(profile)
    }
}

impl Invariants {
    /// Checks that it can have been learnt. The error says what cannot.
    #[cfg(feature = "export")]
    fn check(&self) -> Result<(), String> {
        for (degree, metric) in &self.degrees {
            if matches!(metric, Metric::Range(min, max) if min > max) {
                return Err(format!("{degree}: the range {metric} is empty"));
            }
        }
        if let Some((least, most)) = self.instances.filter(|it| it.0 > it.1) {
            return Err(format!("the range of {least} to {most} instances is empty"));
        }
        self.relations.check()?;
        self.matches.check()
    }

    /// Returns something that a relation is about, and that is in nothing that was learnt.
    #[cfg(feature = "export")]
    fn unknown_term(&self) -> Option<String> {
        self.relations
            .unknown_term()
            .or(self.matches.unknown_term())
    }

    fn learn(&mut self, measure: &Measure) {
        self.measures = self.measures.saturating_add(1);
        self.through.clone_from(&measure.through);
        let was_evident = self.is_evident();
        self.relations.learn(point(measure), true, false);
        let n = measure.instances;
        if self.instances.is_none_or(|(_, most)| n >= most) {
            self.looks_like = match measure.role {
                Role::Backbone => shape_of(measure),
                Role::Part | Role::Array => Shape::Other,
            };
        }
        if n >= LEAST_INSTANCES {
            self.learn_degrees(measure);
        }
        self.learn_facts(measure);
        if !measure.matches.is_empty() {
            let is_evident = self.is_evident();
            let point = matching::point(measure);
            self.matches
                .learn(point, is_evident, is_evident != was_evident);
        }
    }

    /// Returns whether structures of enough sizes were seen to believe that what is true of all
    /// objects of them is so for a reason. Addresses change while a program does nothing.
    fn is_evident(&self) -> bool {
        self.instances.is_some() && self.relations.points() >= ENOUGH_POINTS
    }

    fn learn_facts(&mut self, measure: &Measure) {
        if !measure.facts.is_empty() && self.sizes.len() < MOST_SIZES {
            self.sizes.insert(measure.instances);
        }
        for (fact, tally) in &measure.facts {
            if self.refuted.contains(fact) {
                continue;
            }
            let known = self.facts.entry(fact.clone());
            let known = known.or_insert_with(|| Evidence::new(tally.comparison));
            known.learn(fact, tally);
            if known.is_refuted() {
                self.facts.remove(fact);
                self.refuted.insert(fact.clone());
            }
        }
    }

    fn learn_degrees(&mut self, measure: &Measure) {
        let n = measure.instances;
        for degree in Degree::all() {
            let new = Metric::of(degree.count(&measure.degrees), n);
            match (self.instances, self.degrees.get_mut(&degree)) {
                (Some(sizes), Some(known)) => *known = known.with(sizes, new, (n, n)),
                // A person has removed it.
                (Some(_), None) => {}
                (None, _) => {
                    self.degrees.insert(degree, new);
                }
            }
        }
        self.instances = Some(match self.instances {
            Some((least, most)) => (least.min(n), most.max(n)),
            None => (n, n),
        });
    }

    fn merge(&mut self, other: Self) {
        if self.measures == 0 {
            *self = other;
            return;
        }
        self.measures = self.measures.saturating_add(other.measures);
        self.relations.merge(other.relations);
        self.relations.update(true);
        self.matches.merge(other.matches);
        self.merge_degrees(other.instances, other.degrees, other.looks_like);
        self.matches.update(self.is_evident());
        self.refuted.extend(other.refuted);
        self.sizes.extend(other.sizes);
        for (fact, theirs) in other.facts {
            match self.facts.entry(fact) {
                Entry::Occupied(mut ours) => {
                    let fact = ours.key().clone();
                    ours.get_mut().merge(&fact, theirs);
                }
                Entry::Vacant(entry) => {
                    entry.insert(theirs);
                }
            }
        }
        let refuted = self.facts.extract_if(.., |_, it| it.is_refuted());
        self.refuted.extend(refuted.map(|it| it.0));
        self.facts.retain(|fact, _| !self.refuted.contains(fact));
    }

    fn merge_degrees(
        &mut self,
        instances: Option<(u64, u64)>,
        degrees: BTreeMap<Degree, Metric>,
        looks_like: Shape,
    ) {
        let (Some(ours), Some(theirs)) = (self.instances, instances) else {
            if self.instances.is_none() {
                self.instances = instances;
                self.degrees = degrees;
                self.looks_like = looks_like;
            }
            return;
        };
        if theirs.1 > ours.1 {
            self.looks_like = looks_like;
        }
        self.degrees
            .retain(|degree, _| degrees.contains_key(degree));
        for (degree, known) in &mut self.degrees {
            *known = known.with(ours, degrees[degree], theirs);
        }
        self.instances = Some((ours.0.min(theirs.0), ours.1.max(theirs.1)));
    }

    fn test(&self, measure: &Measure) -> Vec<Violation> {
        let exact = self.broken_relations(measure);
        let exact = exact.chain(self.broken_matches(measure));
        let mut exact: Vec<Broken> = exact.chain(self.broken_facts(measure)).collect();
        // Nor is a rare null told alone.
        if exact.iter().all(|it| self.is_rare_null(it)) {
            exact.clear();
        }
        let degrees = self.broken_degrees(measure);
        // What a few objects have may be rare and right. It is told beside what cannot be.
        let degrees = degrees.filter(|it| !exact.is_empty() || !self.is_slight(it));
        let degrees: Vec<Broken> = degrees.collect();
        let broken = degrees.into_iter().chain(exact);
        let violation = |broken| Violation {
            class: measure.class.clone(),
            looked_like: self.looks_like,
            broken,
        };
        broken.map(violation).collect()
    }

    fn broken_degrees(&self, measure: &Measure) -> impl Iterator<Item = Broken> {
        let instances = measure.instances;
        // What was seen at one size alone says nothing about others.
        let is_seen = |(least, most): (u64, u64)| least < most || instances == most;
        let is_tested = instances >= LEAST_INSTANCES && self.instances.is_some_and(is_seen);
        let tested = Degree::all().filter(move |_| is_tested);
        // How long an array is, is plain data.
        let tested = tested.filter(|it| !measure.is_array || it.side == Side::In);
        tested.filter_map(move |degree| {
            let expected = *self.degrees.get(&degree)?;
            let count = degree.count(&measure.degrees);
            let fits = self.is_implied(degree)
                || self.is_below_hubs(degree)
                || expected.allows(count, instances);
            (!fits).then_some(Broken::Degree {
                degree,
                expected,
                count,
                instances,
            })
        })
    }

    /// Returns whether so few objects have a degree that nobody had that chance may have done it: that the
    /// last of a chain has nothing else to refer to. In a larger structure there may be more of them. That there
    /// has always been one is not by chance.
    fn is_slight(&self, broken: &Broken) -> bool {
        let most = self.instances.map_or(1, |it| it.1.max(1));
        match broken {
            &Broken::Degree {
                expected: Metric::Quirk(0),
                count,
                instances,
                ..
            } => count <= MOST_BY_CHANCE * instances.div_ceil(most),
            _ => false,
        }
    }

    /// Returns whether all that is wrong is that a slot of few objects is null that was never null in what was learnt,
    /// which was not much: a vertex without edges may be rare.
    fn is_rare_null(&self, broken: &Broken) -> bool {
        let learnt = self.relations.kept();
        let learnt: i64 = learnt.map(|point| number(point, &Count::Instances)).sum();
        let of_sizes: u64 = self.sizes.iter().sum();
        learnt.max(of_sizes as i64) < ENOUGH_INSTANCES
            && match broken {
                Broken::Relation {
                    relation, excess, ..
                } => {
                    let is_rare = (-(MOST_BY_CHANCE as i128)..0).contains(excess);
                    is_rare && full_slot(relation).is_some()
                }
                Broken::Match { relation, excess } => {
                    matching::is_of_nulls(relation, *excess, MOST_BY_CHANCE)
                }
                _ => false,
            }
    }

    fn broken_relations(&self, measure: &Measure) -> impl Iterator<Item = Broken> {
        let point = point(measure);
        let tested = self.relations.hold.iter().filter(|it| !it.ignored);
        tested.filter_map(move |relation| {
            let excess = relation.value(&point);
            let counts = relation.terms.keys();
            (excess != 0).then(|| Broken::Relation {
                relation: relation.clone(),
                counts: counts.map(|it| (it.clone(), number(&point, it))).collect(),
                excess,
            })
        })
    }

    fn broken_matches(&self, measure: &Measure) -> impl Iterator<Item = Broken> {
        let point = matching::point(measure);
        let tested = self.matches.hold.iter().filter(|it| !it.ignored);
        let tested =
            tested.filter(|it| !measure.matches.is_empty() && matching::is_measured(it, measure));
        tested.filter_map(move |relation| {
            let excess = relation.value(&point);
            (excess != 0).then(|| Broken::Match {
                relation: relation.clone(),
                excess,
            })
        })
    }

    fn broken_facts(&self, measure: &Measure) -> impl Iterator<Item = Broken> {
        let known = |(fact, tally): (&String, &Tally)| {
            let known = self.facts.get(fact)?;
            let never = known.never();
            if known.comparison != tally.comparison {
                return None;
            }
            let mut seen = tally.seen.iter().zip(never);
            seen.any(|(&seen, never)| never && seen > 0)
                .then(|| Broken::Fact {
                    fact: fact.clone(),
                    tally: tally.clone(),
                    never,
                })
        };
        measure.facts.iter().filter_map(known)
    }

    /// Returns whether nobody had a degree while a few objects had a higher one. How many references such a hub
    /// has depends on the size of the structure, and another may have any number: a sentinel of a
    /// small tree, for example.
    fn is_below_hubs(&self, degree: Degree) -> bool {
        let most = self.instances.map_or(0, |it| it.1);
        let above = Degree::of_side(degree.side).filter(|it| it.number > degree.number);
        let hubs = above.filter_map(|it| Some(self.degrees.get(&it)?.most(most)));
        let hubs: u64 = hubs.sum();
        self.degrees.get(&degree) == Some(&Metric::Quirk(0)) && (1..LEAST_INSTANCES).contains(&hubs)
    }

    /// Returns whether a range follows from quirks, because all other degrees of its side are
    /// quirks. Then a structure of another size may have another percentage and be correct:
    /// the inner nodes of a list, for example.
    fn is_implied(&self, degree: Degree) -> bool {
        Degree::of_side(degree.side).all(|other| {
            other == degree || matches!(self.degrees.get(&other), Some(Metric::Quirk(_)))
        })
    }
}
