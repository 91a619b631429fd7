//! Everything that touches managed memory.
//!
//! `unsafe` lives here and nowhere else in the crate. The notes in the code refer to
//! these invariants:
//!
//! - **H1** Every reference stored in a slot, local or root of a heap is null or the
//!   number of a granule in the heap's own committed memory where an object starts; or,
//!   in a heap built to invalidate references, whose granule numbers are below 2³⁰, a
//!   number from 2³¹ on that names a record of [`invalid`].
//! - **H2** A `&T` to a managed object is borrowed from a shared borrow of a mutator
//!   of its heap. Objects move and die only while the world is stopped, and the world
//!   stops only when every mutator is in a method that borrows it mutably.
//!   Therefore nothing that is borrowed moves or dies.
//! - **H3** A slot, local or root of type `T` holds null (where its type allows it), an
//!   invalidated reference, which is never followed, or a live object whose class is
//!   `T` or extends it. Only [`object::Filler`], the typed setters, the collector and,
//!   while the world is stopped, [`invalid`] write them.
//! - **H4** Page records are committed for the whole mature space, zero at first, and
//!   made of atomics.
//! - **H5** In a heap with a nursery, cards are committed for the whole mature
//!   space. After a collection no object outside the nursery refers into it; between
//!   collections, one that does lies on a marked card.
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

mod alloc;
mod array;
pub(crate) mod ask;
mod attach;
mod capture;
pub(crate) mod check;
pub(crate) mod compact;
mod ephemeron;
mod fields;
pub(crate) mod finalize;
pub(crate) mod handle;
pub(crate) mod header;
mod instance;
pub(crate) mod invalid;
pub(crate) mod mark;
pub(crate) mod marker;
pub(crate) mod mutator;
pub(crate) mod nursery;
pub(crate) mod object;
mod os;
mod pages;
mod plain;
mod region;
mod regions;
pub(crate) mod shaping;
mod sizes;
mod slot;
pub(crate) mod space;
pub(crate) mod summing;
mod trace;
mod unique;
pub(crate) mod verify;
mod view;
pub(crate) mod weak;

pub use array::{Bytes, PlainArray, RefArray, Str};
pub use ask::{StoppedVisits, Subject};
pub use capture::PlainData;
pub use ephemeron::WeakMap;
pub use handle::{Pinned, Root, Static, Weak};
pub use header::Header;
pub use instance::{ClassBuilder, ClassError, DynClass, Instance};
pub use mutator::{Local, Mutator};
pub use object::{
    Create, Descriptor, Field, FieldDescriptor, Filler, Init, Managed, Object, Owned, Shape,
};
pub use plain::{Plain, PlainCell, Var};
pub use slot::{Ref, Slot, WeakSlot};
pub use view::{ObjectId, StoppedHeap};

pub(crate) use header::MAX_CLASSES;
pub(crate) use os::Reservation;
pub(crate) use pages::Pages;
pub(crate) use region::{
    Base, CARD, CARDS_START, MATURE_START, NURSERY_END, NURSERY_START, PAGE, REGION, Raw, Reach,
    TAGGED_REGION,
};
pub(crate) use sizes::SizeClass;
pub(crate) use trace::Trace;
