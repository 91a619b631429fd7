//! DeAL and PHALANX: texts, what is said of them, and what they mean on heaps.

mod bounds;
mod comparisons;
mod diagnostics;
mod doubt;
mod evaluation;
mod expressions;
mod generated;
mod page;
mod papers;
mod parsing;
mod properties;
mod resolving;
mod traversal;
mod twin_cases;
