//! A garbage-collected heap to embed, built so that questions can ride on its
//! marking pass.
//!
//! - [`Heap`]: build one, attach threads, read statistics.
//! - [`Mutator`]: a thread's access: allocate, read, root.
//! - [`Managed`], [`Slot`], [`Ref`], [`Var`]: what objects are made of.
//! - [`RefArray`], [`PlainArray`], [`Str`], [`WeakMap`], [`Instance`]: ready-made classes.
//!
//! ```
//! use heaphound_gc::{Heap, Str};
//!
//! let heap = Heap::builder().max_bytes(1 << 20).build()?;
//! let mut m = heap.attach("main")?;
//! let names = m.alloc_refs::<Str>(2)?;
//! let name = m.alloc_str("Heaphound")?;
//! m[names][0].set(name);
//! m.collect();
//! let first: &str = m[names][0].get().unwrap();
//! assert_eq!(first, "Heaphound");
//! assert_eq!(heap.stats().full_collections, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Programs use the crate `heaphound`, which has the macros for classes of their own.
//!
//! How it works: `collect.rs` is the order of events, `raw/` is everything that
//! touches managed memory, with its invariants.
#![deny(unsafe_code)]

mod assertions;
mod casts;
mod check;
mod classes;
mod collect;
mod config;
mod error;
mod expect;
mod findings;
mod generations;
mod heap;
mod interface;
mod labels;
mod log;
mod marking;
mod names;
mod out_of_memory;
mod panics;
mod policy;
mod pretenuring;
mod probes;
mod pruning;
#[allow(unsafe_code)]
mod raw;
mod safepoint;
mod sampling;
mod sites;
mod stats;
mod summaries;
mod waits;

pub use assertions::AssertionKind;
#[doc(hidden)]
pub use casts::TypeNumber;
pub use check::{Check, Counted, Every, Needs, Registration};
pub use classes::{TooManyClasses, class_name, class_path, type_name};
pub use config::{Collector, Finalization, HeapBuilder};
pub use error::{AttachError, BuildError, ClassShare, Invalidated, InvalidationOff, OutOfMemory};
pub use expect::{Expect, Region};
pub use findings::{Found, Known, Listener, Reaction};
pub use heap::Heap;
pub use interface::{ClassHandle, DynInterface, Interface, InterfaceBuilder, InterfaceDescriptor};
pub use pretenuring::{BackSampling, Pretenuring, PretenuringStats};
pub use probes::Asking;
pub use pruning::{PruneWhen, Pruned, Pruning, PruningPolicy, PruningState};
#[doc(hidden)]
pub use raw::derived;
pub use raw::{
    Above, ArrayName, Bytes, ClassBuilder, ClassError, Create, Descriptor, DynClass, Extends,
    Field, FieldDescriptor, Filler, ForEach, Header, Init, Instance, Itself, Keep, Keepable, Kept,
    Local, LocalValue, Managed, Marked, MarkedHeap, Mutator, Object, ObjectId, One,
    OptionalReference, Own, Owned, Part, Pinned, Plain, PlainArray, PlainCell, PlainData,
    PlainPart, Ref, RefArray, Reference, Root, Shape, Slot, Static, StoppedHeap, StoppedVisits,
    Str, Subject, Unmarked, Value, ValueSlot, Var, Weak, WeakMap, WeakSlot, WholeCell, keep,
};
pub use sampling::Sampling;
pub use sites::{AllocationSite, ProgramSite, SitePhase};
pub use stats::{Cause, CollectionStats, HeapStats, Kind, Remark};
pub use summaries::{HeapSummary, Shapes};

pub use heaphound_heap as words;
