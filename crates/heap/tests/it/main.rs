//! Everything that `heaphound-heap` promises, in one binary.
//!
//! Elsewhere: the pool under loom (`../pool_loom.rs`).
#![cfg(not(loom))]

mod bulk;
mod pool;
mod probes;
mod supertypes;
mod survey;
mod view;
