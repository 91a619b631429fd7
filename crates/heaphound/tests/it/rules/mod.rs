//! Rules and expressions about the live heap.

mod expressions;
mod live;
mod misuse;
