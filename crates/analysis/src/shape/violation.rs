//! Violations: how a structure differs from what was learnt of it, and as a finding.

use heaphound_heap::finding::{Finding, Named, Severity};

use super::{Relation, Shape};

/// An invariant that does not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The backbone's class.
    pub class: String,
    /// What the structure looked like when it was learnt.
    pub looked_like: Shape,
    /// What does not hold.
    pub broken: Broken,
    /// What it should be.
    pub expected: String,
    /// How many objects have that degree, or how many references a relation is off by; 0 if
    /// that is not known.
    pub count: u64,
    /// Whether there are fewer than there should be; then no object that has the degree offends.
    pub fewer: bool,
    /// What it is.
    pub found: String,
}

/// What does not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Broken {
    /// A degree metric: `in=2`.
    Degree(String),
    /// An exact relation.
    Relation(Relation),
    /// References that matched each other, as in a tree whose nodes know their parents.
    Match(Relation),
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Degree(name) => f.write_str(name),
            Self::Relation(relation) | Self::Match(relation) => write!(f, "{relation}"),
        }
    }
}

/// Violations as findings, one for each class. It is known by the class and the slots whose
/// relations are broken.
pub fn findings(violations: &[Violation], collection: Option<u64>) -> Vec<Finding> {
    let classes = violations.chunk_by(|a, b| a.class == b.class);
    classes.map(|it| finding(it, collection)).collect()
}

/// The violations of one class, at least one, as a finding.
fn finding(violations: &[Violation], collection: Option<u64>) -> Finding {
    let first = &violations[0];
    let named = |name: String| Named {
        class: name.clone(),
        name,
    };
    let mut slots: Vec<String> = Vec::new();
    let mut notes = Vec::new();
    for violation in violations {
        match &violation.broken {
            Broken::Degree(name) => notes.push(format!(
                "{name}: expected {}, found {}",
                violation.expected, violation.found
            )),
            Broken::Match(relation) => notes.push(format!("not the same objects: {relation}")),
            Broken::Relation(relation) => {
                notes.push(format!(
                    "expected {}, found {}",
                    violation.expected, violation.found
                ));
                let own = relation.terms.keys().filter(|name| name.starts_with('.'));
                slots.extend(own.map(|slot| format!("{}{slot}", violation.class)));
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
