//! Random heaps in memory.
//!
//! Elsewhere: heaps that texts are about (`crate::deal::generate`), live ones that programs
//! build (`crate::run`).

pub mod any;
pub mod graphs;
