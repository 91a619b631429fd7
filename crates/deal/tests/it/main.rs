//! DeAL and PHALANX: texts, what is said of them, and what they mean on heaps.

#[allow(dead_code)]
mod cases;
mod comparisons;
mod diagnostics;
mod evaluation;
mod expressions;
#[allow(dead_code)]
mod generate;
mod generated;
mod page;
mod parsing;
mod properties;
mod resolving;
mod traversal;
#[allow(dead_code)]
mod twin;
mod twin_cases;
