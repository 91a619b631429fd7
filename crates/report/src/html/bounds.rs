//! How much of each thing a page shows. A browser has to show all of it, and a person to read it.

/// Findings.
pub const FINDINGS: usize = 500;
/// Of these, those that are open from the beginning.
pub const OPEN_FINDINGS: usize = 3;
/// Objects that a finding names.
pub const OBJECTS: usize = 50;
/// Paths of a finding.
pub const PATHS: usize = 25;
/// Hops that are listed where a path repeats itself.
pub const HOPS: usize = 100;
/// Pieces of a path that is open from the beginning.
pub const OPEN_PIECES: usize = 8;
/// Rows of a table.
pub const ROWS: usize = 1_000;
/// Rows of a table from which on it can be searched.
pub const SEARCHED_ROWS: usize = 12;
/// Names in a list.
pub const NAMES: usize = 1_000;
/// Points of a line.
pub const POINTS: usize = 600;
/// Lines of a chart.
pub const LINES: usize = 6;
/// Nodes of a graph: more take long to lay out, and nobody can read them.
pub const NODES: usize = 40;
/// Edges of a graph.
pub const EDGES: usize = 80;
/// Graphs, charts and trees of a section.
pub const PICTURES: usize = 20;
/// Areas beside each other, of what a treemap shows below each.
pub const AREAS: usize = 40;
/// Levels of areas.
pub const LEVELS: usize = 3;
/// Lines of a tree that is opened level by level.
pub const BRANCHES: usize = 2_000;
/// Characters of a name.
pub const NAME: usize = 400;
/// Characters of a text whose lines are kept.
pub const CODE: usize = 200_000;
