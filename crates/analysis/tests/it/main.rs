//! Summaries, growth and shapes of heaps that were made up.

mod cork;
mod export;
mod profile;
mod shape;
mod shape_alarms;
mod shape_relations;
mod structures;
mod summaries;
