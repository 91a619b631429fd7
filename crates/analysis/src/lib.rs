//! Finds problems without assertions: structures that grow, and shapes that break.
//!
//! A [`summary`] reduces a heap to its classes and the slots between them, small enough to
//! be kept from collection to collection. [`cork`] compares the summaries of successive full
//! collections and finds what grows without end; [`shape`] finds the recursive data
//! structures, learns what is always true of them, and reports when it is not. [`series`] makes
//! snapshots of one program comparable, whose classes have different numbers in each.
//! [`dominator`] tells what keeps each object of a snapshot alive, and how many bytes it
//! keeps; [`retained`] the same of a class.
//! `export`, behind the feature of that name, writes graphs for other tools.
//!
//! ```
//! use heaphound_analysis::dominator::Dominators;
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
//! let dominators = Dominators::of(&heap, 1)?;
//! assert_eq!(dominators.dominator(last), Some(first));
//! assert_eq!(dominators.retained_bytes(first), 32);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! After M. E. Jump, *Discovering Heap Anomalies in the Wild* (2009), chapters 3.3, 5 and 6.
//!
//! Nothing here knows where a heap came from, and nothing does I/O: a collector fills
//! [`summary::Counters`] as it marks, and [`summary::summarize`] does the same for a view.
#![forbid(unsafe_code)]

pub mod cork;
pub mod diff;
pub mod dominator;
#[cfg(feature = "export")]
pub mod export;
pub mod holder;
pub mod merged;
pub mod retained;
pub mod series;
pub mod shape;
pub mod slot;
pub mod summary;
pub mod suspect;
pub mod waste;
