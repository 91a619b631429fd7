//! In what form a command prints: `--format`.

use clap::ValueEnum;

/// How a report is printed. Which of these a command has, the table of commands tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Form {
    /// For people, on a terminal.
    Text,
    /// One JSON document (docs/findings.schema.json).
    Json,
    /// A page to look at, in one file that needs nothing else.
    Html,
    /// SARIF 2.1.0, for code scanning: check, grow, shapes, suspects.
    Sarif,
    /// JUnit's XML, a test for each rule: check, grow, shapes, suspects.
    Junit,
    /// Graphviz's language: summary.
    Dot,
    /// An XML of graphs: summary.
    #[value(name = "graphml")]
    GraphMl,
}

impl Form {
    /// What most commands have.
    pub const ANSWER: &[Self] = &[Self::Text, Self::Json, Self::Html];
    /// What commands have whose findings other tools collect.
    pub const FINDINGS: &[Self] = &[Self::Text, Self::Json, Self::Html, Self::Sarif, Self::Junit];
    /// What a command has that draws a graph.
    pub const GRAPH: &[Self] = &[Self::Dot, Self::GraphMl, Self::Json, Self::Html];
    /// What a command has that does something, and has nothing to show.
    pub const DEED: &[Self] = &[Self::Text, Self::Json];
    /// What a command has whose output another program wants as it is.
    pub const FILE: &[Self] = &[Self::Text];

    /// As the command line spells it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Html => "html",
            Self::Sarif => "sarif",
            Self::Junit => "junit",
            Self::Dot => "dot",
            Self::GraphMl => "graphml",
        }
    }
}
