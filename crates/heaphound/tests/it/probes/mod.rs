//! Probes of the live heap.

mod each;
mod misuse;
mod random;
mod while_collecting;
