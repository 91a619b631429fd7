//! Violations: how a structure differs from its profile, and as a finding.

use heaphound_heap::finding::{Finding, Named, Severity};

use super::tally::{OUTCOMES, in_words};
use super::{Count, Degree, HashSum, Metric, Referrer, Relation, Shape, Tally};

/// An invariant that does not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The backbone's class.
    pub class: String,
    /// What the structure looked like when it was learnt.
    pub looked_like: Shape,
    /// What does not hold.
    pub broken: Broken,
}

/// What does not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Broken {
    /// Too many or too few objects have a degree.
    Degree {
        /// `in=2`
        degree: Degree,
        /// How many have it in correct structures.
        expected: Metric,
        /// How many have it here.
        count: u64,
        /// All objects of the structure.
        instances: u64,
    },
    /// An exact relation does not hold.
    Relation {
        /// The relation.
        relation: Relation<Count>,
        /// The counts that it is about.
        counts: Vec<(Count, i64)>,
        /// Their sum, which should be 0.
        excess: i128,
    },
    /// What was true of each object, or of each pair, is not.
    Match {
        /// The relation.
        relation: Relation<HashSum>,
        /// The sum, which should be 0. It stays the same while the same objects differ and do not
        /// move.
        excess: i128,
    },
    /// What was never so of an object and of what it refers to is.
    Fact {
        /// What is compared.
        fact: String,
        /// How often each outcome is.
        tally: Tally,
        /// Which must not be.
        never: [bool; OUTCOMES],
    },
}

impl Broken {
    /// Returns how often a fact is not so, and how often it was looked at.
    fn times(tally: &Tally, never: &[bool; OUTCOMES]) -> (u64, u64) {
        let broken = tally.seen.iter().zip(never).filter(|it| *it.1);
        (broken.map(|it| it.0).sum(), tally.seen.iter().sum())
    }

    /// Returns by how much it is broken: a number that stays the same while the same objects differ and do not move.
    pub fn extent(&self) -> i128 {
        match self {
            Self::Degree { count, .. } => (*count).into(),
            Self::Relation { excess, .. } | Self::Match { excess, .. } => *excess,
            Self::Fact { tally, never, .. } => Self::times(tally, never).0.into(),
        }
    }

    /// Returns whether there are fewer objects or references than there should be.
    pub fn is_too_few(&self) -> bool {
        match self {
            Self::Degree {
                expected,
                count,
                instances,
                ..
            } => expected.exceeds(*count, *instances),
            Self::Relation { excess, .. } => *excess < 0,
            Self::Match { .. } | Self::Fact { .. } => false,
        }
    }

    /// Returns whether a chain does not end.
    pub(super) fn is_ring(&self) -> bool {
        let is_ring = |it: &HashSum| matches!(it, HashSum::Rings(_));
        matches!(self, Self::Match { relation, .. } if relation.terms.keys().any(is_ring))
    }

    /// Returns what should be.
    pub fn expected(&self) -> String {
        match self {
            Self::Degree { expected, .. } => expected.to_string(),
            Self::Relation { relation, .. } => relation.to_string(),
            Self::Match { relation, .. } => relation.to_string(),
            Self::Fact { fact, tally, never } => in_words(fact, tally.comparison, never),
        }
    }

    /// Returns what is.
    pub fn found(&self) -> String {
        match self {
            Self::Degree {
                expected,
                count,
                instances,
                ..
            } => match expected {
                Metric::Quirk(_) => count.to_string(),
                Metric::Range(..) => {
                    format!("{:.2} %", 100.0 * *count as f64 / *instances as f64)
                }
            },
            Self::Relation { counts, excess, .. } => {
                let counts = counts.iter().map(|(count, it)| format!("{count} = {it}"));
                let counts: Vec<String> = counts.collect();
                let too = match *excess > 0 {
                    true => "more",
                    false => "fewer",
                };
                format!("{}: {} {too}", counts.join(", "), excess.unsigned_abs())
            }
            Self::Match { .. } => "others".into(),
            Self::Fact { tally, never, .. } => {
                let (broken, of) = Self::times(tally, never);
                format!("{broken} of {of} otherwise")
            }
        }
    }
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Degree { degree, .. } => write!(f, "{degree}"),
            Self::Relation { relation, .. } => write!(f, "{relation}"),
            Self::Match { relation, .. } => write!(f, "{relation}"),
            Self::Fact { fact, .. } => write!(f, "{fact}"),
        }
    }
}

/// Returns violations as findings, one for each class. A finding is identified by the class
/// and the slots whose relations are broken.
pub fn findings(violations: &[Violation], collection: Option<u64>) -> Vec<Finding> {
    let classes = violations.chunk_by(|a, b| a.class == b.class);
    classes.map(|it| finding(it, collection)).collect()
}

/// Returns the violations of one class, at least one, as a finding.
fn finding(violations: &[Violation], collection: Option<u64>) -> Finding {
    let first = &violations[0];
    let named = |name: String| Named::new(name.clone(), name);
    let mut slots: Vec<String> = Vec::new();
    let mut notes = Vec::new();
    for violation in violations {
        let broken = &violation.broken;
        let difference = format!("expected {}, found {}", broken.expected(), broken.found());
        match broken {
            Broken::Degree { degree, .. } => notes.push(format!("{degree}: {difference}")),
            Broken::Match { relation, .. } => {
                notes.push(format!("not true of each: {relation}"));
                slots.extend(relation.terms.keys().filter_map(|sum| match sum {
                    HashSum::Rings(slot) | HashSum::Strays(slot) => {
                        Some(format!("{}.{slot}", violation.class))
                    }
                    _ => None,
                }));
            }
            Broken::Fact { fact, .. } => {
                notes.push(difference);
                slots.push(format!("{}: {fact}", violation.class));
            }
            Broken::Relation { relation, .. } => {
                notes.push(difference);
                slots.extend(relation.terms.keys().filter_map(|count| match count {
                    Count::References(own @ Referrer::Own(_)) => {
                        Some(format!("{}{own}", violation.class))
                    }
                    _ => None,
                }));
            }
        }
    }
    slots.sort_unstable();
    slots.dedup();
    let shape = match first.looked_like {
        Shape::Other => "what was learnt".to_string(),
        shape => format!("a {shape}, as it did"),
    };
    let message = format!("{} no longer looks like {shape}", first.class);
    let class = first.class.clone();
    Finding {
        objects: std::iter::once(class).chain(slots).map(named).collect(),
        collection,
        notes,
        ..Finding::new("shape", Severity::Warning, message)
    }
}
