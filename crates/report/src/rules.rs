//! Rules: what came of each rule of some files on a heap.

use serde::Serialize;

/// What came of rules.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Rules {
    /// How many rules there are; queries and other questions are none.
    pub count: usize,
    /// How many do not hold.
    pub failed: usize,
    /// How many rules could not be checked, and questions not answered.
    pub not_checked: usize,
    /// Each, in the order of the files.
    pub list: Vec<Rule>,
    /// What else one should know of all of them.
    pub notes: Vec<String>,
    /// Whether text tells of those that hold.
    #[serde(skip)]
    pub verbose: bool,
    /// Whether rules that could not be checked are no reason to fail.
    #[serde(skip)]
    pub allows_unchecked: bool,
}

impl Rules {
    /// Whether the job could not be done, for a rule could not be checked.
    pub fn is_undecided(&self) -> bool {
        self.not_checked > 0 && !self.allows_unchecked
    }
}

/// What came of a rule.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Rule {
    /// Its name, or its text if it has none.
    pub name: String,
    /// Its place in its file: `heap.deal:5:1`.
    pub place: String,
    /// Whether it holds.
    pub verdict: Verdict,
    /// Why it was not checked; what a question found, in short.
    pub message: String,
    /// What a question found.
    pub listed: Vec<String>,
    /// How many more it found.
    pub left_out: usize,
    /// What else one should know.
    pub notes: Vec<String>,
}

/// Whether a rule holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It does.
    Holds,
    /// It does not; the next of the report's findings says why.
    Fails,
    /// It could not be checked.
    NotChecked,
    /// It is a question, and was answered.
    Told,
}
