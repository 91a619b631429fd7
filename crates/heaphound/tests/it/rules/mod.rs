//! Rules and expressions about the live heap.

mod expressions;
pub(crate) mod live;
mod misuse;
