//! Profiles: what was learnt of all backbones, in a form that a person can review and edit.

use std::collections::BTreeMap;

#[cfg(feature = "export")]
use serde::{Deserialize, Serialize};

use super::matching;
use super::relation::{Relation, Relations, point};
use super::{Broken, Distribution, Measure, Metric, Shape, Violation, shape_of};

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
    /// `in=0`, `in=1`, `in=2`, `in>2`, `out=0`, … A person may take out what is not to be tested.
    pub degrees: BTreeMap<String, Metric>,
    /// Exact relations.
    pub relations: Relations,
    /// References that match: `to` a slot's targets, `by` it from source to target, `back by`
    /// it from target to source. None if nothing was learnt about it.
    #[cfg_attr(
        feature = "export",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub matches: Option<Vec<Relation>>,
}

/// The version of the form.
const SCHEMA_VERSION: u32 = 1;

/// Structures with fewer objects say nothing about percentages, and all is a quirk in them.
const LEAST_INSTANCES: u64 = 16;

const DEGREES: [&str; 4] = ["=0", "=1", "=2", ">2"];

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

    /// How measures differ from what was learnt. Backbones that are not in the profile are
    /// not tested.
    pub fn test(&self, measures: &[Measure]) -> Vec<Violation> {
        let known = measures.iter().filter_map(|measure| {
            let invariants = self.backbones.get(&measure.class)?;
            Some(invariants.test(measure))
        });
        known.flatten().collect()
    }

    /// The profile as JSON for people.
    #[cfg(feature = "export")]
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a profile has only plain data");
        text.push('\n');
        text
    }

    /// A profile from JSON.
    ///
    /// # Errors
    /// If it is not one, or somebody has written into it what cannot be meant; the error says
    /// where and why.
    #[cfg(feature = "export")]
    pub fn from_json(text: &str) -> Result<Self, String> {
        /// Others may have other fields.
        #[derive(Deserialize)]
        struct Version {
            schema_version: u32,
        }
        let tell = |error: serde_json::Error| error.to_string();
        let version: Version = serde_json::from_str(text).map_err(tell)?;
        match version.schema_version {
            SCHEMA_VERSION => {}
            other => return Err(format!("profiles of version {other} are not known here")),
        }
        let profile: Self = serde_json::from_str(text).map_err(tell)?;
        for (class, invariants) in &profile.backbones {
            let checked = invariants.check();
            checked.map_err(|error| format!("{class}: {error}"))?;
        }
        Ok(profile)
    }
}

/// The eight metrics of a measure, by name.
fn metrics(measure: &Measure) -> impl Iterator<Item = (String, u64)> {
    let all = |side: &'static str, counts: Distribution| {
        let named = DEGREES.iter().zip(counts);
        named.map(move |(degree, count)| (format!("{side}{degree}"), count))
    };
    let degrees = measure.degrees;
    all("in", degrees.incoming).chain(all("out", degrees.outgoing))
}

impl Invariants {
    /// Whether it can have been learnt. The error says what cannot.
    #[cfg(feature = "export")]
    fn check(&self) -> Result<(), String> {
        for (name, metric) in &self.degrees {
            let sides = ["in", "out"].iter();
            let degree = sides.filter_map(|side| name.strip_prefix(side)).next();
            if !degree.is_some_and(|it| DEGREES.contains(&it)) {
                return Err(format!("{name} is no degree"));
            }
            match metric {
                Metric::Range(min, max) if min > max => {
                    return Err(format!("{name}: nothing lies in {metric}"));
                }
                _ => {}
            }
        }
        if let Some((least, most)) = self.instances.filter(|it| it.0 > it.1) {
            return Err(format!("from {least} to {most} instances there are none"));
        }
        self.relations.check()?;
        let mut matches = self.matches.iter().flatten();
        matches.try_for_each(Relation::check)
    }

    fn learn(&mut self, measure: &Measure) {
        self.measures = self.measures.saturating_add(1);
        self.through.clone_from(&measure.through);
        self.relations.learn(measure);
        let n = measure.instances;
        if self.instances.is_none_or(|(_, most)| n >= most) {
            self.looks_like = shape_of(measure);
        }
        if n < LEAST_INSTANCES {
            return;
        }
        for (name, count) in metrics(measure) {
            let new = Metric::of(count, n);
            match (self.instances, self.degrees.get_mut(&name)) {
                (Some(sizes), Some(known)) => *known = known.with(sizes, new, (n, n)),
                // What is not there any more was taken out by a person.
                (Some(_), None) => {}
                (None, _) => {
                    self.degrees.insert(name, new);
                }
            }
        }
        if !measure.matches.is_empty() {
            match &mut self.matches {
                Some(known) => known.retain(|it| matching::holds(it, measure)),
                None => self.matches = Some(matching::find(measure)),
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
        match (&mut self.matches, other.matches) {
            (Some(ours), Some(theirs)) => ours.retain_mut(|it| {
                let same = theirs.iter().find(|their| their.terms == it.terms);
                it.ignored |= same.is_some_and(|same| same.ignored);
                same.is_some()
            }),
            (None, theirs) => self.matches = theirs,
            (Some(_), None) => {}
        }
        let (Some(ours), Some(theirs)) = (self.instances, other.instances) else {
            if self.instances.is_none() {
                self.instances = other.instances;
                self.degrees = other.degrees;
                self.looks_like = other.looks_like;
            }
            return;
        };
        if theirs.1 > ours.1 {
            self.looks_like = other.looks_like;
        }
        self.degrees
            .retain(|name, _| other.degrees.contains_key(name));
        for (name, known) in &mut self.degrees {
            *known = known.with(ours, other.degrees[name], theirs);
        }
        self.instances = Some((ours.0.min(theirs.0), ours.1.max(theirs.1)));
    }

    fn test(&self, measure: &Measure) -> Vec<Violation> {
        let mut found = Vec::new();
        let mut tell = |broken, expected: String, (count, fewer): (u64, bool), found_text| {
            found.push(Violation {
                class: measure.class.clone(),
                looked_like: self.looks_like,
                broken,
                expected,
                count,
                fewer,
                found: found_text,
            });
        };
        let n = measure.instances;
        for (name, count) in metrics(measure) {
            let Some(&metric) = self.degrees.get(&name) else {
                continue;
            };
            if n < LEAST_INSTANCES || self.is_implied(&name) || metric.allows(count, n) {
                continue;
            }
            let share = 100.0 * count as f64 / n as f64;
            let text = match metric {
                Metric::Quirk(_) => format!("{count}"),
                Metric::Range(..) => format!("{share:.2} %"),
            };
            let count = (count, metric.exceeds(count, n));
            tell(Broken::Degree(name), metric.to_string(), count, text);
        }
        let point = point(measure);
        for relation in self.relations.hold.iter().filter(|it| !it.ignored) {
            let off = relation.value(&point);
            if off != 0 {
                let counts = relation.terms.keys();
                let counts = counts.map(|name| {
                    let count = point.get(name).copied().unwrap_or(0);
                    format!("{name} = {count}")
                });
                let counts: Vec<String> = counts.collect();
                let off_by = off.unsigned_abs() as u64;
                let too = match off > 0 {
                    true => "more",
                    false => "fewer",
                };
                let text = format!("{}: {off_by} {too}", counts.join(", "));
                tell(
                    Broken::Relation(relation.clone()),
                    relation.to_string(),
                    (off_by, off < 0),
                    text,
                );
            }
        }
        let matches = self.matches.iter().flatten().filter(|it| !it.ignored);
        for relation in matches.filter(|_| n > 0 && !measure.matches.is_empty()) {
            if !matching::holds(relation, measure) {
                let broken = Broken::Match(relation.clone());
                tell(broken, relation.to_string(), (0, false), "others".into());
            }
        }
        found
    }

    /// Whether a range is what quirks leave over: at a size that was never seen, a list
    /// may have another percentage of inner nodes and be as correct.
    fn is_implied(&self, name: &str) -> bool {
        let side = name.trim_end_matches(|c: char| !c.is_alphabetic());
        DEGREES.iter().all(|degree| {
            let other = format!("{side}{degree}");
            other == name || matches!(self.degrees.get(&other), Some(Metric::Quirk(_)))
        })
    }
}
