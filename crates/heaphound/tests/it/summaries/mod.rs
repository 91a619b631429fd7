//! Summaries of the live heap: what is counted, and who is told.

mod beside_other_work;
mod observers;
mod random;
