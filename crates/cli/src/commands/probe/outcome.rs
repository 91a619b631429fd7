//! What a question found: yes or no, or a set, with the reasons.

use std::collections::HashSet;

use heaphound_heap::finding::Evidence;
use heaphound_heap::snapshot::ObjectId;
use heaphound_report::Members;

pub enum Outcome {
    Truth(Truth),
    Set(Set),
}

/// Yes or no, and why.
pub struct Truth {
    /// What is true if the answer is yes: `shared`.
    pub kind: &'static str,
    pub yes: bool,
    pub why: Why,
}

/// A set, and why.
pub struct Set {
    pub members: Members,
    pub why: Why,
}

/// The reasons for an answer.
pub struct Why {
    pub message: String,
    /// The objects that the answer is about, each once.
    pub objects: Vec<ObjectId>,
    pub evidence: Vec<Evidence>,
    pub notes: Vec<String>,
}

impl Why {
    pub fn new(message: String, objects: &[ObjectId]) -> Self {
        let mut seen = HashSet::new();
        let each_once = objects.iter().filter(|object| seen.insert(**object));
        Self {
            message,
            objects: each_once.copied().collect(),
            evidence: Vec::new(),
            notes: Vec::new(),
        }
    }
}
