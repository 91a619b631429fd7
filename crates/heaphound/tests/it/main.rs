//! The live heap and everything that is asked of it, in one binary.
//!
//! Tests run side by side in one process: none may count on being alone in it. Elsewhere: what
//! listens to the log (`../log.rs`), what must not compile (`crates/derive/tests`).

mod assertions;
mod captures;
mod checks;
mod checks_misuse;
mod classes;
mod examples;
mod growth;
mod heap;
mod heap_edges;
mod interfaces;
mod invalidation;
mod model;
#[cfg(feature = "invalidation")]
mod panic_hook;
mod panics;
mod probes;
mod random_programs;
mod reports;
mod rules;
mod sites;
mod soak;
mod summaries;
mod threads;
