//! The results of checking rules on a heap.

use heaphound_heap::finding::{Finding, Fingerprint};

/// The results of checking rules.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rules {
    /// Each rule and each question, in the order of the files.
    pub list: Vec<Rule>,
    /// Remarks about all of them.
    pub notes: Vec<String>,
    /// Whether text also lists the rules that hold.
    pub verbose: bool,
    /// Whether rules that could not be checked are no reason to fail.
    pub allows_unchecked: bool,
}

impl Rules {
    /// Whether the job could not be done, because a rule could not be checked.
    pub fn is_undecided(&self) -> bool {
        self.not_checked() > 0 && !self.allows_unchecked
    }

    /// Returns the number of rules. Questions are not counted.
    pub fn count(&self) -> usize {
        self.count_where(|verdict| !matches!(verdict, Verdict::Told))
    }

    /// Returns how many rules do not hold.
    pub fn failed(&self) -> usize {
        self.count_where(|verdict| matches!(verdict, Verdict::Fails(_)))
    }

    /// Returns how many rules could not be checked, and questions not answered.
    pub fn not_checked(&self) -> usize {
        self.count_where(|verdict| matches!(verdict, Verdict::NotChecked))
    }

    /// Returns the findings of the rules that do not hold.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.list.iter().filter_map(|rule| match &rule.verdict {
            Verdict::Fails(finding) => Some(&**finding),
            _ => None,
        })
    }

    /// Returns the same, to mark those that are known.
    pub fn findings_mut(&mut self) -> impl Iterator<Item = &mut Finding> {
        self.list
            .iter_mut()
            .filter_map(|rule| match &mut rule.verdict {
                Verdict::Fails(finding) => Some(&mut **finding),
                _ => None,
            })
    }

    /// Returns how many there are and how many do not hold: `12 rules, 2 failed`
    pub fn summary(&self) -> String {
        let (count, failed, not_checked) = (self.count(), self.failed(), self.not_checked());
        let s = if count == 1 { "" } else { "s" };
        let mut summary = format!("{count} rule{s}");
        match (failed, not_checked, count) {
            (0, 0, 0) => {}
            (0, 0, 1) => summary.push_str(", which holds"),
            (0, 0, _) => summary.push_str(", all hold"),
            (failed, _, _) => summary.push_str(&format!(", {failed} failed")),
        }
        if not_checked > 0 {
            summary.push_str(&format!(", {not_checked} not checked"));
        }
        summary
    }

    fn count_where(&self, is_counted: impl Fn(&Verdict) -> bool) -> usize {
        let verdicts = self.list.iter().map(|rule| &rule.verdict);
        verdicts.filter(|verdict| is_counted(verdict)).count()
    }
}

/// The result of checking a rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    /// Its name, or its text if it has none.
    pub name: String,
    /// Its place in its file: `heap.deal:5:1`.
    pub place: String,
    /// What is known if it does not hold.
    pub fingerprint: Fingerprint,
    /// Whether it holds.
    pub verdict: Verdict,
    /// Why it was not checked; what a question found, in short.
    pub message: String,
    /// What a question found.
    pub listed: Vec<String>,
    /// How many more it found.
    pub left_out: usize,
    /// Remarks about this rule.
    pub notes: Vec<String>,
}

/// Whether a rule holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It does.
    Holds,
    /// It does not. The finding says why.
    Fails(Box<Finding>),
    /// It could not be checked.
    NotChecked,
    /// It is a question, and was answered.
    Told,
}

impl Verdict {
    /// Returns the verdict as JSON spells it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails(_) => "fails",
            Self::NotChecked => "not-checked",
            Self::Told => "told",
        }
    }
}
