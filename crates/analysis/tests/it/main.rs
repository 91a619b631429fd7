//! Summaries, growth and shapes of heaps that were made up.

mod cork;
mod dominators;
mod export;
mod profile;
mod shape;
mod shape_alarms;
mod shape_facts;
mod shape_relations;
mod shape_walks;
mod structures;
mod summaries;
mod suspects;
