//! The live heap and everything that is asked of it, in one binary.
//!
//! Tests run side by side in one process: none may count on being alone in it. Elsewhere: what
//! listens to the log (`../log.rs`), what must not compile (`crates/derive/tests`).

mod assertions;
mod captures;
mod casts;
mod checks;
mod checks_misuse;
mod classes;
mod collections;
mod collections_misuse;
mod examples;
mod from_safe_code;
mod growth;
mod heap;
mod heap_edges;
mod interfaces;
mod invalidation;
mod limits;
mod lru;
mod model;
mod names;
mod out_of_memory;
#[cfg(feature = "barrier")]
mod panic_hook;
mod panics;
mod pretenuring;
mod probes;
#[cfg(feature = "barrier")]
mod pruning;
mod random_programs;
mod references;
mod reports;
mod rules;
mod sampling;
mod sampling_edges;
mod several_heaps;
mod sites;
mod soak;
mod summaries;
mod threads;
#[cfg(feature = "barrier")]
mod together;
mod values;
mod writing;
