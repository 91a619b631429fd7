//! Marking, what is counted while marking, and what becomes of weak references and of the dead.

pub(crate) mod check;
pub(crate) mod finalize;
pub(crate) mod mark;
pub(crate) mod marker;
pub(crate) mod shape_counter;
pub(crate) mod summary_counter;
pub(crate) mod weak;
