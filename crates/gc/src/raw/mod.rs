//! Everything that touches managed memory.
//!
//! `unsafe` lives here and nowhere else in the crate. The notes in the code refer to
//! these invariants:
//!
//! - **H1** Every reference stored in a slot, local or root of a heap is null or the
//!   number of a granule in the heap's own committed memory where an object starts; or,
//!   in a heap built to tag references, whose granule numbers are below 2³⁰, a
//!   number from 2³¹ on that names a record of [`objects::invalid`]. In slots of such a heap 2³⁰ may be
//!   added to the number of a granule: see [`objects::barrier`].
//! - **H2** A `&T` to a managed object is borrowed from a shared borrow of a mutator
//!   of its heap. Objects move and die only while the world is stopped, and the world
//!   stops only when every mutator is in a method that borrows it mutably.
//!   Therefore nothing that is borrowed moves or dies.
//! - **H3** A slot, local or root of type `T` holds null (where its type allows it), an
//!   invalidated reference, which is never followed, or a live object whose class is
//!   `T` or extends it. Only [`objects::object::Filler`], the typed setters, [`objects::barrier`], the
//!   collector and, while the world is stopped, [`objects::invalid`] write them.
//! - **H4** Page records are committed for the whole mature space, zero at first, and
//!   made of atomics.
//! - **H5** In a heap with a nursery, cards are committed for the whole mature
//!   space, and a mark for each of its pages. After a collection no object outside the nursery refers into it; between
//!   collections, each slot that does lies on a marked card of a marked page.
//! - **H6** Every cell of a block starts with a header: an object's, a free
//!   run's (class 0), a zero, or inside a free run the header of an object that
//!   died, whose memory is unchanged and holds no young references. A fresh block is
//!   zero but for its first word.
//! - **H7** An object whose header says that its identity hash is stored has it in the
//!   granule behind its last byte.
//! - **H8** What is not atomic in a mutator's shared part is touched by its own thread
//!   while it runs and by the collector while the world is stopped.
//! - **H9** A value of a managed type exists only in a heap: its header and its slots
//!   can be made by nobody but the allocator.
//! - **H10** A thread that waits in one heap still runs in its other ones, for it may hold references
//!   into them (H2). So nobody waits for a thread that, over any number of heaps and threads, waits for
//!   him: such a wait is called off before it begins (`waits.rs`).
//! - **H11** Code of the program (conversions, comparisons, iterators, drops, log subscribers) runs before a
//!   state is looked at or after it has been changed, never between: it may attach, allocate, collect
//!   and panic. A thread has at most one running mutator of a heap.

pub(crate) mod marking;
pub(crate) mod memory;
pub(crate) mod mutators;
pub(crate) mod objects;
pub(crate) mod views;

pub use mutators::kept::{Keep, Keepable, Kept, One, keep};
pub use mutators::mutator::{Local, Mutator};
pub use objects::array::{ArrayName, Bytes, Own, PlainArray, RefArray, Str};
#[doc(hidden)]
pub use objects::derived;
pub use objects::ephemeron::WeakMap;
pub use objects::handle::{Pinned, Root, Static, Weak};
pub use objects::header::Header;
pub use objects::instance::{ClassBuilder, ClassError, DynClass, Instance};
pub use objects::object::{
    Create, Descriptor, Field, FieldDescriptor, Filler, ForEach, Init, Managed, Object, Owned,
    Part, Shape,
};
pub use objects::plain::{Plain, PlainCell, PlainPart, Var, WholeCell};
pub use objects::reference::{Above, Extends, Itself, OptionalReference, Reference};
pub use objects::slot::{Ref, Slot, WeakSlot};
pub use objects::value::{LocalValue, Value, ValueSlot};
pub use views::asked::{StoppedVisits, Subject};
pub use views::capture::PlainData;
pub use views::stopped::{Marked, MarkedHeap, ObjectId, StoppedHeap, Unmarked};

pub(crate) use marking::sieve::{EdgeType, Mesh, NEVER};
pub(crate) use memory::address::{
    Base, CARD, CARDS_START, MARKED_PAGES_START, MATURE_START, NURSERY_END, NURSERY_START, PAGE,
    REGION, Raw, Reach, TABLES_END, TAGGED_REGION,
};
pub(crate) use memory::os::Reservation;
pub(crate) use memory::pages::Pages;
pub(crate) use memory::sizes::SizeClass;
pub(crate) use mutators::mutator::zeroed_rows;
pub(crate) use objects::header::MAX_CLASSES;
pub(crate) use objects::layout::Trace;
