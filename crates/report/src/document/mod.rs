//! A document: what a report, a run of a program or an experiment shows, in sections, before anybody decides how it looks.
//!
//! Commands make [`Report`](crate::Report)s, and [`of_report`] turns one into a document. A program that embeds a heap and the lab fill
//! documents themselves.
//!
//! ```
//! use heaphound_report::document::{Cell, Document, Part, Table};
//!
//! let mut document = Document::new("shop", "a run of the shop");
//! let mut table = Table::new(["class", "bytes"]);
//! table.row([Cell::name("Order"), Cell::Count(4096)]);
//! document.section("Classes").push(Part::Table(table));
//! let page = heaphound_report::html::document(&document);
//! assert!(page.starts_with("<!doctype html>"));
//! ```
//!
//! Elsewhere: how it looks (`html`).

mod answer;
mod class_graph;
mod diff;
mod dominators;
mod growth;
mod info;
mod report;
mod rules;
mod shapes;
mod suspects;
mod waste;

use heaphound_heap::finding::{Evidence, Finding, Path};

pub use class_graph::ClassGraph;
pub use report::of_report;

/// A document.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Document {
    /// What it is about: the name of a file, of a program.
    pub title: String,
    /// What made it: `heaphound check`.
    pub made_by: String,
    /// The answer in a sentence, if there is one.
    pub headline: Option<Headline>,
    /// A few figures that are read first.
    pub facts: Vec<Fact>,
    /// The rest.
    pub sections: Vec<Section>,
}

impl Document {
    /// A document without contents.
    pub fn new(title: impl Into<String>, made_by: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            made_by: made_by.into(),
            ..Self::default()
        }
    }

    /// Says what the answer is.
    pub fn headline(&mut self, tone: Tone, text: impl Into<String>) {
        let text = text.into();
        self.headline = Some(Headline { tone, text });
    }

    /// Adds a figure that is read first.
    pub fn fact(&mut self, name: &str, value: impl Into<String>) {
        self.facts.push(Fact {
            name: name.into(),
            value: value.into(),
        });
    }

    /// Adds a section and returns it.
    pub fn section(&mut self, title: impl Into<String>) -> &mut Section {
        self.sections.push(Section {
            title: title.into(),
            parts: Vec::new(),
        });
        self.sections.last_mut().expect("it was just added")
    }
}

/// An answer in a sentence.
#[derive(Clone, PartialEq, Debug)]
pub struct Headline {
    /// Whether it is good.
    pub tone: Tone,
    /// The sentence.
    pub text: String,
}

/// Whether something is good.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tone {
    /// Neither good nor bad.
    Plain,
    /// As it should be.
    Good,
    /// Perhaps not as it should be.
    Warning,
    /// Not as it should be.
    Bad,
}

/// A figure that is read first.
#[derive(Clone, PartialEq, Debug)]
pub struct Fact {
    /// `live objects`
    pub name: String,
    /// `1,234`
    pub value: String,
}

/// A part of a document with a title of its own.
#[derive(Clone, PartialEq, Debug)]
pub struct Section {
    /// Its title.
    pub title: String,
    /// What it consists of, in order.
    pub parts: Vec<Part>,
}

impl Section {
    /// Adds a part.
    pub fn push(&mut self, part: Part) {
        self.parts.push(part);
    }

    /// Adds remarks.
    pub fn notes(&mut self, notes: &[String]) {
        self.parts.extend(notes.iter().cloned().map(Part::Note));
    }
}

/// What sections consist of.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Part {
    /// A paragraph.
    Text(String),
    /// A remark.
    Note(String),
    /// Text whose lines are kept.
    Code(String),
    /// Findings.
    Findings(Vec<Finding>),
    /// Paths that prove something.
    Evidence(Vec<Evidence>),
    /// A list of names.
    Names(Names),
    /// A table.
    Table(Table),
    /// Lines over an axis.
    Chart(Chart),
    /// Nodes and edges.
    Graph(Graph),
    /// A tree whose nodes have sizes, as areas.
    Treemap(Tree),
    /// The same, to be opened level by level.
    Outline(Tree),
}

/// A list of names, perhaps in part.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Names {
    /// Those that are listed.
    pub listed: Vec<String>,
    /// How many are not.
    pub left_out: u64,
}

/// A table. Readers may sort it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Table {
    /// What it shows, if the section has more than this table.
    pub caption: String,
    /// The titles of its columns.
    pub columns: Vec<String>,
    /// Its rows, with a cell for each column.
    pub rows: Vec<Vec<Cell>>,
    /// Rows that are not listed.
    pub left_out: u64,
}

impl Table {
    /// A table without rows.
    pub fn new<'a>(columns: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            columns: columns.into_iter().map(String::from).collect(),
            ..Self::default()
        }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }
}

/// A cell of a table.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Cell {
    /// Nothing is known.
    Empty,
    /// Words.
    Text(String),
    /// The name of a class, an object, a slot.
    Name(String),
    /// A number of things or of bytes.
    Count(u64),
    /// How much more there is than before.
    Change(u64, u64),
    /// A share, from 0 to 1.
    Share(f64),
    /// A figure as it is to be read, and by what it is sorted.
    Figure(String, f64),
    /// A path, to be opened.
    Path(Box<Path>),
    /// Numbers that are compared with each other.
    Bars(Vec<u64>),
}

impl Cell {
    /// A cell with a name.
    pub fn name(name: impl Into<String>) -> Self {
        Self::Name(name.into())
    }

    /// A cell with the share that a part has of a whole.
    pub fn share(part: u64, whole: u64) -> Self {
        Self::Share(part as f64 / whole.max(1) as f64)
    }
}

/// Lines over an axis.
#[derive(Clone, PartialEq, Debug)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// The axis below.
    pub x: Axis,
    /// The axis at the left. It starts at 0.
    pub y: Axis,
    /// The lines.
    pub lines: Vec<Line>,
    /// A limit that the lines should not cross, with its name.
    pub limit: Option<(String, f64)>,
}

/// An axis of a chart.
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    /// What it measures.
    pub title: String,
    /// In what.
    pub unit: Unit,
}

impl Axis {
    /// An axis of bytes.
    pub fn bytes(title: &str) -> Self {
        let title = title.into();
        let unit = Unit::Bytes;
        Self { title, unit }
    }

    /// An axis of numbers.
    pub fn count(title: &str) -> Self {
        let title = title.into();
        let unit = Unit::Count;
        Self { title, unit }
    }
}

/// What the numbers of an axis are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Bytes, which are shown as KiB, MiB or GiB.
    Bytes,
    /// Whatever is counted.
    Count,
}

/// A line of a chart.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// Its name.
    pub name: String,
    /// Its points, from left to right.
    pub points: Vec<(f64, f64)>,
    /// Whether it ends because something broke: its end is marked.
    pub breaks_off: bool,
}

/// Nodes and edges.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Graph {
    /// What it shows.
    pub title: String,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The edges. Those of nodes that there are not do not count.
    pub edges: Vec<Edge>,
}

/// A node of a graph.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// What is said below it.
    pub detail: String,
    /// Whether the graph is about it.
    pub stands_out: bool,
}

/// An edge of a graph.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Edge {
    /// The number of the node where it starts, from 0.
    pub from: usize,
    /// The number of the node where it ends.
    pub to: usize,
    /// What is said beside it.
    pub label: String,
    /// Whether the graph is about it.
    pub stands_out: bool,
}

/// A tree whose nodes have sizes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Tree {
    /// What it shows.
    pub title: String,
    /// The bytes of all, by which shares are told.
    pub bytes: u64,
    /// The nodes at the top.
    pub nodes: Vec<Branch>,
    /// What is not listed beside them: how many nodes, and their bytes.
    pub left_out: Option<(u64, u64)>,
}

/// A node of a tree.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Branch {
    /// Its name.
    pub name: String,
    /// What stands before the name: a slot.
    pub before: String,
    /// What else is known of it.
    pub detail: String,
    /// Its bytes, with those below.
    pub bytes: u64,
    /// What is below it.
    pub below: Vec<Branch>,
    /// What is not listed of that: how many nodes, and their bytes.
    pub left_out: Option<(u64, u64)>,
}
