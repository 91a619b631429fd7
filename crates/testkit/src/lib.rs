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
#![forbid(unsafe_code)]

pub mod access;
pub mod check;
pub mod classes;
pub mod load;
pub mod model;
pub mod program;
pub mod run;

pub use program::{Op, Program, programs};
pub use run::{Setting, run, run_attached};
