//! Marking, what is counted while marking, and what becomes of weak references and of the dead.

pub(crate) mod counters;
pub(crate) mod finalize;
pub(crate) mod force;
pub(crate) mod mark;
pub(crate) mod marker;
pub(crate) mod ownership;
pub(crate) mod shape_counter;
pub(crate) mod sieve;
pub(crate) mod stale_counter;
pub(crate) mod summary_counter;
pub(crate) mod weak;
