//! The stopped heap, as others see it: reading it, tracing it, copying it, verifying it.

pub(crate) mod asked;
pub(crate) mod capture;
pub(crate) mod fields;
pub(crate) mod marked;
pub(crate) mod stopped;
pub(crate) mod unique;
pub(crate) mod verify;
