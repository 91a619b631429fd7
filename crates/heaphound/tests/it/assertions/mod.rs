//! GC assertions.
#![cfg(feature = "assertions")]

mod cases;
mod kinds;
mod misuse;
mod random;
