//! The words that every part of Heaphound shares.
//!
//! An *object* has a *class* and *slots*; a slot that holds a reference gives
//! an *edge* (from, slot, to); a trace starts at *roots*. This crate names those
//! things ([`class`], [`root`], [`value`]), shows a stopped heap of any origin as a
//! [`view::HeapView`], writes it as [`text`], and shares the work of a
//! parallel trace among threads ([`pool`]).
//!
//! Nothing here knows how a heap stores its objects, and nothing here does I/O.
#![forbid(unsafe_code)]

pub mod class;
pub mod pool;
pub mod root;
#[doc(hidden)]
pub mod sync;
pub mod text;
pub mod value;
pub mod view;

pub use class::{ClassId, ClassInfo, FieldInfo, FieldKind};
pub use root::{Root, RootKind};
pub use value::{PlainKind, Value};
