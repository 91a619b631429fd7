//! Renders findings and answers.
//!
//! A [`Report`] is what a command produced. [`text`] renders it for a terminal and [`json`]
//! for a program; [`html`] makes a page of it, by way of a [`document`]. Text shortens long paths and says so; JSON has all hops that a path lists. [`sarif`] and
//! [`junit`] render its findings for those who collect the results of tools and of tests; [`baseline`] marks
//! those that are known.
//!
//! ```
//! use heaphound_heap::finding::{Finding, Severity};
//!
//! let finding = Finding::new("shared", Severity::Error, "Node#3 is shared");
//! let text = heaphound_report::text::finding(&finding, 80);
//! assert!(text.contains("Node#3 is shared"));
//! ```
//!
//! To add a kind of output: a variant of [`Report`], and one arm each in `text`, `json` and `document`.
//!
//! Elsewhere: what a finding is (`heaphound_heap::finding`), and whether the terminal shows
//! colours. The text contains them; the caller strips them where they are not wanted.
#![forbid(unsafe_code)]

mod about;
pub mod answer;
pub mod baseline;
pub mod diff;
pub mod document;
pub mod dominators;
pub mod figures;
pub mod growth;
pub mod html;
pub mod info;
pub mod json;
pub mod junit;
pub mod rules;
pub mod sarif;
pub mod shapes;
pub mod suspects;
pub mod text;
pub mod waste;

use heaphound_heap::finding::Finding;

pub use about::About;
pub use answer::{Answer, Members, Verdict};
pub use baseline::{Baseline, Compared};
pub use diff::Diff;
pub use dominators::Dominators;
pub use growth::Growth;
pub use info::Info;
pub use rules::Rules;
pub use shapes::Shapes;
pub use suspects::Suspects;
pub use waste::Waste;

/// What a command produced.
#[derive(Clone, PartialEq, Debug)]
pub enum Report {
    /// The answer to a question about a heap.
    Answer {
        /// The answer.
        answer: Answer,
        /// What is wrong, if the answer is not the expected one.
        finding: Option<Box<Finding>>,
    },
    /// What a heap consists of.
    Info(Info),
    /// A heap was written to a file.
    Written(Written),
    /// The results of checking rules.
    Rules(Rules),
    /// The growth between several snapshots.
    Growth {
        /// The snapshots.
        growth: Growth,
        /// The classes that grow.
        findings: Vec<Finding>,
    },
    /// The recursive data structures of a heap.
    Shapes {
        /// The structures.
        shapes: Shapes,
        /// How they differ from a profile.
        findings: Vec<Finding>,
    },
    /// The tree of dominators.
    Dominators(Dominators),
    /// What a person should look at first.
    Suspects {
        /// Each, with its numbers.
        suspects: Suspects,
        /// The same as findings, in the same order.
        findings: Vec<Finding>,
    },
    /// How two heaps differ.
    Diff(Diff),
    /// What a program could do without.
    Waste(Waste),
    /// How rules are evaluated.
    Explanation {
        /// The file or the text that is explained.
        subject: String,
        /// The explanation.
        text: String,
    },
    /// Rule files were formatted.
    Formatted {
        /// The formatted text of stdin, or the names of the files that are not formatted.
        text: String,
        /// The files that are not formatted.
        findings: Vec<Finding>,
    },
    /// The classes of a heap and the references between them, in forms for other tools.
    Summary {
        /// In Graphviz's language.
        dot: String,
        /// As GraphML.
        graphml: String,
        /// As JSON.
        json: String,
        /// As a picture.
        graph: Box<document::Graph>,
    },
    /// A file for stdout: a heap in one of its formats, a script. It has no form as JSON.
    Bytes(Vec<u8>),
    /// A report whose findings were compared with those that are known.
    Compared {
        /// The report. What is known in it is marked.
        report: Box<Report>,
        /// How it differs from what is known.
        baseline: Compared,
    },
}

impl Report {
    /// Returns all findings.
    pub fn findings(&self) -> Vec<&Finding> {
        match self {
            Self::Answer { finding, .. } => finding.iter().map(|it| &**it).collect(),
            Self::Rules(rules) => rules.findings().collect(),
            Self::Growth { findings, .. }
            | Self::Shapes { findings, .. }
            | Self::Suspects { findings, .. }
            | Self::Formatted { findings, .. } => findings.iter().collect(),
            Self::Compared { report, .. } => report.findings(),
            Self::Info(_)
            | Self::Written(_)
            | Self::Dominators(_)
            | Self::Diff(_)
            | Self::Waste(_)
            | Self::Explanation { .. }
            | Self::Summary { .. }
            | Self::Bytes(_) => Vec::new(),
        }
    }

    /// Returns all findings, to mark those that are known.
    pub fn findings_mut(&mut self) -> Vec<&mut Finding> {
        match self {
            Self::Answer { finding, .. } => finding.iter_mut().map(|it| &mut **it).collect(),
            Self::Rules(rules) => rules.findings_mut().collect(),
            Self::Growth { findings, .. }
            | Self::Shapes { findings, .. }
            | Self::Suspects { findings, .. }
            | Self::Formatted { findings, .. } => findings.iter_mut().collect(),
            Self::Compared { report, .. } => report.findings_mut(),
            Self::Info(_)
            | Self::Written(_)
            | Self::Dominators(_)
            | Self::Diff(_)
            | Self::Waste(_)
            | Self::Explanation { .. }
            | Self::Summary { .. }
            | Self::Bytes(_) => Vec::new(),
        }
    }

    /// Returns the results of rules, if the report has some.
    pub fn rules(&self) -> Option<&Rules> {
        match self {
            Self::Rules(rules) => Some(rules),
            Self::Compared { report, .. } => report.rules(),
            _ => None,
        }
    }

    /// Returns how the report differs from what is known, if it was compared.
    pub fn baseline(&self) -> Option<&Compared> {
        match self {
            Self::Compared { baseline, .. } => Some(baseline),
            _ => None,
        }
    }

    /// Returns the report as GraphML, if it is a graph.
    pub fn graphml(&self) -> Option<&str> {
        match self {
            Self::Summary { graphml, .. } => Some(graphml),
            _ => None,
        }
    }

    /// Returns the bytes of a report that must be printed as it is: it is no table of
    /// ours, and a program may read it.
    pub fn verbatim(&self) -> Option<&[u8]> {
        match self {
            Self::Explanation { text, .. }
            | Self::Formatted { text, .. }
            | Self::Summary { dot: text, .. } => Some(text.as_bytes()),
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }
}

/// A heap that was written to a file.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Written {
    /// The file.
    pub file: String,
    /// `text` or `binary`.
    pub format: String,
    /// Objects in it.
    pub objects: usize,
    /// Edges in it.
    pub edges: usize,
    /// Its size.
    pub file_bytes: u64,
    /// What is not in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}
