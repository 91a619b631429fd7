//! The words that every part of Heaphound shares.
//!
//! An *object* has a *class* and *slots*; a slot that holds a reference gives
//! an *edge* (from, slot, to); a trace starts at *roots*. This crate names those
//! things ([`class`], [`root`], [`value`]), shows a stopped heap of any origin as a
//! [`view::HeapView`], keeps one in memory ([`snapshot`]), traces it on several threads
//! ([`mod@trace`], [`pool`]), and answers: [`probe`]s, [`path`]s, [`set`]s of objects, all told as
//! [`finding`]s; what GC [`assertion`]s mean; how much of it a program can afford is [`overhead`]'s business.
//!
//! Nothing here knows how a live heap stores its objects, and nothing here does I/O.
#![forbid(unsafe_code)]

pub mod assertion;
pub mod class;
#[doc(hidden)]
pub mod crew;
pub mod fields;
pub mod finding;
pub mod nearest;
pub mod overhead;
pub mod path;
pub mod pool;
pub mod probe;
pub mod quotes;
pub mod root;
pub mod set;
pub mod shorten;
pub mod snapshot;
pub mod spelling;
#[doc(hidden)]
pub mod sync;
pub mod trace;
pub mod value;
pub mod view;

pub use class::{ClassId, ClassInfo, FieldInfo, FieldKind};
pub use root::{Root, RootKind};
pub use value::{PlainKind, Value};
