//! Random programs over a heap, and a model that says what must come of them.
//!
//! A [`Program`] is a list of [`Op`]s: allocate, link, root, let go, collect, and
//! all else that an embedding program can do. [`run`] carries it out on a real heap
//! and on a [`model::Model`], a plain Rust graph with the slowest and most obvious
//! reachability, and compares the two: every field of every live object through
//! the API, the live set through the stopped view, and when drops and finalizers
//! happened.
//!
//! The data flow: [`program`] (what to do, and how to shrink it) → [`run`] (doing it
//! twice) → [`check`] (comparing). [`classes`] are the managed classes that programs
//! use, [`access`] reads and writes their fields without knowing the class.
//!
//! Besides, what several crates' tests share: [`dice`], how many [`cases`] there are, random
//! [`heaps`], dumps of JVMs ([`hprof`]) and snapshots of V8 ([`v8`]) byte by byte, and the slow [`twins`] of probes; behind features what needs more than a heap in
//! memory: texts and their meaning (`deal`), the schema of findings (`schema`), and all that runs
//! on a live heap (`live`).
#![forbid(unsafe_code)]

pub mod cases;
pub mod dice;
pub mod heaps;
pub mod hprof;
pub mod twins;
pub mod v8;

#[allow(
    missing_docs,
    reason = "the nodes and cases of a table speak for themselves"
)]
#[cfg(feature = "deal")]
pub mod deal;
#[cfg(feature = "schema")]
pub mod schema;

#[cfg(feature = "live")]
pub mod access;
#[cfg(feature = "live")]
pub mod check;
#[cfg(feature = "live")]
pub mod classes;
#[cfg(feature = "live")]
pub mod load;
#[cfg(feature = "live")]
pub mod model;
#[cfg(feature = "live")]
pub mod program;
#[cfg(feature = "live")]
pub mod run;

#[cfg(feature = "live")]
pub use program::{Op, Program, programs};
#[cfg(feature = "live")]
pub use run::{Setting, run, run_attached};
