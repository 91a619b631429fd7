//! Texts about heaps: random ones, examples, and what they mean by definition.

pub mod cases;
pub mod generate;
pub mod twin;
