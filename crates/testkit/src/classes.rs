//! The classes whose instances random programs make.
//!
//! Between them they take every path of the collector's tracing: no slots, slots in a
//! bitmap, slots too far behind for one, weak slots, owned memory, inheritance,
//! arrays, text, dynamic classes and weak maps.

use std::sync::{Arc, Mutex};

use heaphound::{
    DynClass, Header, Heap, Managed, Object, PlainKind, Ref, RefArray, Slot, Var, WeakMap, WeakSlot,
};

/// No slots.
#[derive(Managed)]
#[repr(C)]
pub struct Leaf {
    header: Header,
    /// A number that programs change.
    pub value: Var<u64>,
}

/// Two slots.
#[derive(Managed)]
#[repr(C)]
pub struct Pair {
    header: Header,
    /// A number that programs change.
    pub value: Var<u64>,
    /// A slot.
    pub left: Slot<Object>,
    /// Another.
    pub right: Slot<Object>,
}

/// Inherits two slots, adds one, and owns memory.
#[derive(Managed)]
#[repr(C)]
pub struct Special {
    /// The superclass.
    #[managed(superclass)]
    pub pair: Pair,
    /// Owned memory whose drop is noted.
    #[managed(owned)]
    pub tally: Tally,
    /// A slot.
    pub extra: Slot<Object>,
}

/// More slots than the collector's bitmap has room for.
#[derive(Managed)]
#[repr(C)]
pub struct Wide {
    header: Header,
    /// A number that programs change.
    pub value: Var<u64>,
    /// The slots.
    pub slots: [Slot<Object>; Wide::SLOTS],
}

impl Wide {
    /// How many slots it has.
    pub const SLOTS: usize = 60;
}

/// Owns memory beside a strong and a weak slot.
#[derive(Managed)]
#[repr(C)]
pub struct Owner {
    header: Header,
    /// A number that programs change.
    pub value: Var<u64>,
    /// Owned memory that is read back.
    pub name: String,
    /// Owned memory whose drop is noted.
    #[managed(owned)]
    pub tally: Tally,
    /// A slot.
    pub strong: Slot<Object>,
    /// A slot that does not retain.
    pub weak: WeakSlot<Object>,
}

/// A slot that is never null.
#[derive(Managed)]
#[repr(C)]
pub struct Anchor {
    header: Header,
    /// A number that programs change.
    pub value: Var<u64>,
    /// Never null.
    pub target: Ref<Object>,
    /// A slot.
    pub other: Slot<Object>,
}

/// The array class.
pub type Refs = RefArray<Object>;

/// The weak map class.
pub type Map = WeakMap<Object, Object>;

/// Two dynamic classes of one heap, the second extending the first.
#[derive(Clone)]
pub struct Dynamic {
    /// Slots `a`, `b`; plain `n`.
    pub base: DynClass,
    /// Adds slot `c` and plain `m`.
    pub sub: DynClass,
}

impl Dynamic {
    /// Defines them.
    pub fn define(heap: &Heap) -> Self {
        let base = heap
            .define_class("Base")
            .slot("a")
            .slot("b")
            .plain("n", PlainKind::U64)
            .define()
            .expect("a class like any other");
        let sub = heap
            .define_class("Sub")
            .extends(&base)
            .expect("of the same heap")
            .slot("c")
            .plain("m", PlainKind::I32)
            .define()
            .expect("a class like any other");
        Self { base, sub }
    }
}

/// Something that happened behind the program's back, in the collector's own time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The owned memory of that object was dropped.
    Dropped(usize),
    /// That finalizer was called.
    Finalized(usize),
}

/// Where drops and finalizers are noted, in the order in which they happen.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<Event>>>);

impl Log {
    /// Notes an event.
    pub fn note(&self, event: Event) {
        self.0.lock().expect("nobody panics here").push(event);
    }

    /// All that was noted since last asked.
    pub fn take(&self) -> Vec<Event> {
        std::mem::take(&mut self.0.lock().expect("nobody panics here"))
    }
}

/// Owned memory that notes its drop.
pub struct Tally {
    /// The model's number of the owner.
    pub object: usize,
    /// Where to note it.
    pub log: Log,
}

impl Drop for Tally {
    fn drop(&mut self) {
        self.log.note(Event::Dropped(self.object));
    }
}
