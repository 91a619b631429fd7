//! The words that every part of Heaphound shares.
//!
//! An *object* has a *class* and *slots*; a slot that holds a reference gives
//! an *edge* (from, slot, to); a trace starts at *roots*. This crate names those
//! things ([`class`], [`root`], [`value`]), shows a stopped heap of any origin as a
//! [`view::HeapView`], keeps one in memory ([`snapshot`]), traces it on several threads
//! ([`mod@trace`], [`pool`]), and answers: [`probe`]s, [`path`]s, [`set`]s of objects, all told as
//! [`finding`]s; what GC [`assertion`]s mean; how much of it a program can afford is [`overhead`]'s business.
//!
//! ```
//! use heaphound_heap::path::Search;
//! use heaphound_heap::probe::Probes;
//! use heaphound_heap::snapshot::SnapshotBuilder;
//! use heaphound_heap::view::Place;
//! use heaphound_heap::{Root, RootKind};
//!
//! let mut builder = SnapshotBuilder::default();
//! let node = builder.add_class("Node", None, &["next"]);
//! let last = builder.add_object(node, 16);
//! let first = builder.add_object(node, 16);
//! builder.add_edge(Place::Field(0), last);
//! builder.add_root(Root::new(RootKind::Static, "list"), first);
//! let heap = builder.finish()?;
//!
//! let probes = Probes::of(&heap);
//! assert!(!probes.is_shared(last));
//! let path = probes.path(&Search::everywhere(), last).expect("it is reachable");
//! assert_eq!(path.describe(&heap).to_string(), "static:list → Node#2 .next → Node#1");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
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
