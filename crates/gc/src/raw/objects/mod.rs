//! Objects as bytes: headers, layouts, slots, and the ready-made classes and handles.

pub(crate) mod array;
pub(crate) mod barrier;
#[doc(hidden)]
pub mod derived;
pub(crate) mod ephemeron;
pub(crate) mod handle;
pub(crate) mod header;
pub(crate) mod instance;
pub(crate) mod invalid;
pub(crate) mod layout;
pub(crate) mod object;
pub(crate) mod plain;
pub(crate) mod reference;
pub(crate) mod slot;
pub(crate) mod value;
