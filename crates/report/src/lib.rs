//! Findings and answers, on paper.
//!
//! A [`Report`] is all that one run of a command says. It becomes [`text`] for a terminal
//! or [`json`] for a program. Text shortens long paths and says so; JSON has all of them.
//!
//! ```
//! use heaphound_heap::finding::{Finding, Severity};
//!
//! let finding = Finding::new("shared", Severity::Error, "Node#3 is shared");
//! let text = heaphound_report::text::finding(&finding, 80);
//! assert!(text.contains("Node#3 is shared"));
//! ```
//!
//! Elsewhere: what a finding is (`heaphound_heap::finding`), and whether a terminal wants
//! colour: the text has it, and whoever prints may strip it.
#![forbid(unsafe_code)]

pub mod answer;
pub mod growth;
pub mod info;
pub mod json;
pub mod rules;
pub mod shapes;
mod shorten;
pub mod text;

use heaphound_heap::finding::Finding;

pub use answer::{Answer, Members, Verdict};
pub use growth::Growth;
pub use info::Info;
pub use rules::Rules;
pub use shapes::Shapes;

/// All that one run of a command says.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Report {
    /// The command: `probe`.
    pub command: String,
    /// The heap that it was about, by its file.
    pub heap: String,
    /// What the heap answered, if it was asked.
    pub answer: Option<Answer>,
    /// What the heap consists of, if that was asked.
    pub info: Option<Info>,
    /// What was written, if anything was.
    pub written: Option<Written>,
    /// What came of rules, if there were any.
    pub rules: Option<Rules>,
    /// What became of the heap, if there were several snapshots of it.
    pub growth: Option<Growth>,
    /// Its recursive data structures, if they were asked for.
    pub shapes: Option<Shapes>,
    /// What is notable.
    pub findings: Vec<Finding>,
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
}
