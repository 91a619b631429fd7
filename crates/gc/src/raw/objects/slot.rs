//! Slots: the fields of managed objects that hold references.
//!
//! A slot exists only inside an object in a heap; the address of the slot
//! therefore tells the heap. Reading loads four bytes and adds the region's
//! base; what looks like a tagged reference is left to [`crate::raw::objects::barrier`].
//! Writing checks that both ends lie in the same region and, where an old object
//! comes to point at a young one, marks the card of the slot for the next nursery
//! collection.

use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::*};

use heaphound_heap::FieldKind;

use crate::error::Invalidated;
use crate::raw::memory::address::{
    Base, CARD, CARDS_START, GRANULE, MARKED_PAGES_START, NURSERY_END, PAGE, REGION, Raw,
};
use crate::raw::mutators::mutator::Local;
use crate::raw::objects::barrier;
use crate::raw::objects::object::{Field, Filler, Managed, Object};
use crate::raw::objects::reference::{Itself, MayRefer, OptionalReference, Reference};

/// An optional reference in a managed object.
#[repr(transparent)]
pub struct Slot<T: ?Sized> {
    raw: AtomicU32,
    target: Invariant<T>,
}

/// A reference in a managed object that is never null.
#[repr(transparent)]
pub struct Ref<T: ?Sized> {
    raw: AtomicU32,
    target: Invariant<T>,
}

/// A reference in a managed object that does not keep its target alive. The
/// collection that finds the target dead sets it to null.
#[repr(transparent)]
pub struct WeakSlot<T: ?Sized> {
    raw: AtomicU32,
    target: Invariant<T>,
}

/// A reference that keeps its target alive only while the object's weak slot
/// still has its own.
#[repr(transparent)]
pub(crate) struct DependentSlot<T: ?Sized> {
    raw: AtomicU32,
    target: Invariant<T>,
}

/// What can be written must not be taken for a slot of another type, not even of one
/// that differs only in lifetimes.
type Invariant<T> = PhantomData<fn(*const T) -> *const T>;

/// Reads a slot that lies in a heap.
#[inline]
#[track_caller]
fn load<T: Managed + ?Sized>(slot: &AtomicU32) -> Option<&T> {
    // Acquire pairs with the release in `store`: whoever finds an object
    // through a slot sees the fields it was made with.
    // SAFETY: just read.
    unsafe { follow(slot, Raw(slot.load(Acquire))) }
}

/// What a slot refers to. Panics if the reference is invalid.
///
/// # Safety
/// `raw` was read from the slot, which is one for `T`, since the last safepoint.
#[inline]
#[track_caller]
unsafe fn follow<T: Managed + ?Sized>(slot: &AtomicU32, raw: Raw) -> Option<&T> {
    if raw.is_null() {
        return None;
    }
    // SAFETY: a slot of a live object that is neither null nor invalid holds a live
    // object of its type (H3). The slot is borrowed from a mutator that cannot pass a
    // safepoint meanwhile, so nothing moves or frees the target (H2).
    Some(unsafe {
        if raw.is_tagged() {
            barrier::target(slot, raw)
        } else {
            T::from_object(Base::of(slot).object(raw))
        }
    })
}

/// As [`load`], with an error if the reference is invalid.
#[inline]
fn try_load<T: Managed + ?Sized>(slot: &AtomicU32) -> Result<Option<&T>, Invalidated> {
    let mut raw = Raw(slot.load(Acquire));
    if raw.is_tagged() {
        raw = barrier::resolve(slot, raw)?;
    }
    let object = Base::of(slot).object(raw);
    // SAFETY: just read, and valid; else as in `follow`.
    Ok((!raw.is_null()).then(|| unsafe { T::from_object(object) }))
}

/// Writes a slot that lies in a heap.
#[inline]
#[track_caller]
fn store<T: ?Sized, Up>(slot: &AtomicU32, target: impl MayRefer<T, Up>) {
    // SAFETY: the slot is borrowed from a mutator of its heap, which is at no safepoint meanwhile (H2).
    let raw = unsafe { target.raw_in(Base::of(slot)) };
    slot.store(raw.0, Release);
    record(slot, raw);
}

/// The write barrier: remembers the card of an old slot that now refers to a young
/// object. In a heap without a nursery nothing is young and the test fails.
#[inline]
pub(crate) fn record(slot: &AtomicU32, raw: Raw) {
    let offset = (&raw const *slot).addr() & (REGION - 1);
    // One comparison serves for "not null" and "young".
    if raw.0.wrapping_sub(1) < (NURSERY_END / GRANULE) as u32 - 1 && offset >= NURSERY_END {
        mark_card(Base::of(slot), offset);
    }
}

/// Marks the card of an offset for the next nursery collection, and its page.
#[inline]
pub(crate) fn mark_card(base: Base, offset: usize) {
    for mark in [
        CARDS_START + offset / CARD,
        MARKED_PAGES_START + offset / PAGE,
    ] {
        // SAFETY: the cards and marks of all pages are committed in a heap with a
        // nursery (H5), and only such a heap has young objects; they are only
        // accessed as atomic bytes.
        unsafe { AtomicU8::from_ptr(base.at(mark)) }.store(1, Relaxed);
    }
}

#[cold]
#[track_caller]
pub(crate) fn foreign_reference() -> ! {
    panic!("a reference of one heap was given to another: objects cannot be shared between heaps")
}

impl<T: Managed + ?Sized> Slot<T> {
    /// The object that the slot refers to, if any.
    ///
    /// # Panics
    /// If the reference was invalidated.
    #[inline]
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        load(&self.raw)
    }

    /// As [`get`](Self::get), with an error if the reference was invalidated.
    #[inline]
    pub fn try_get(&self) -> Result<Option<&T>, Invalidated> {
        try_load(&self.raw)
    }

    /// Makes the slot refer to an object, of its class or of one that extends it: `slot.set(&m[node])`, or that of a
    /// local, `slot.set(node)`, which takes a little longer, or that of a root. An option may be none.
    ///
    /// # Panics
    /// If the object belongs to another heap than the slot.
    #[inline]
    #[track_caller]
    pub fn set<Up>(&self, target: impl OptionalReference<T, Up>) {
        store::<T, Up>(&self.raw, target);
    }

    /// Makes the slot refer to no object.
    #[inline]
    pub fn clear(&self) {
        self.raw.store(0, Release);
    }

    /// Whether the slot refers to no object. An invalidated one is not null.
    #[inline]
    pub fn is_null(&self) -> bool {
        self.raw.load(Relaxed) == 0
    }

    /// Makes the slot refer to `new` if it refers to `current`. Returns whether it did. An
    /// invalidated slot refers to nothing that could be `current`.
    ///
    /// # Panics
    /// If `new` belongs to another heap than the slot, or the reference was pruned: nobody can tell
    /// whether it was to `current`.
    #[track_caller]
    pub fn compare_and_set(&self, current: Option<&T>, new: Option<&T>) -> bool {
        let raw = |target: Option<&T>| {
            target.map_or(Raw::NULL, |target| {
                if Base::of(self) != Base::of(target.as_object()) {
                    foreign_reference();
                }
                target.as_object().raw()
            })
        };
        let (current, new) = (raw(current), raw(new));
        loop {
            let found = self.raw.compare_exchange(current.0, new.0, AcqRel, Relaxed);
            match found {
                Ok(_) => {
                    record(&self.raw, new);
                    return true;
                }
                Err(found) if Raw(found).is_tagged() => {
                    if !barrier::may_be(&self.raw, Raw(found), current) {
                        return false;
                    }
                }
                Err(_) => return false,
            }
        }
    }

    /// Copies a slot of the same heap, as bulk copies do; the caller records cards.
    #[inline]
    pub(crate) fn copy_unrecorded(&self, from: &Self) {
        self.raw.store(from.raw.load(Acquire), Release);
    }

    #[inline]
    pub(crate) fn raw_slot(&self) -> &AtomicU32 {
        &self.raw
    }
}

const NEVER_NULL: &str = "a `Ref` is never null (H3)";

impl<T: Managed + ?Sized> Ref<T> {
    /// The object that the slot refers to.
    ///
    /// # Panics
    /// If the reference was invalidated.
    #[inline]
    #[track_caller]
    pub fn get(&self) -> &T {
        load(&self.raw).expect(NEVER_NULL)
    }

    /// As [`get`](Self::get), with an error if the reference was invalidated.
    #[inline]
    pub fn try_get(&self) -> Result<&T, Invalidated> {
        try_load(&self.raw).map(|target| target.expect(NEVER_NULL))
    }

    /// Makes the slot refer to another object.
    ///
    /// # Panics
    /// If the object belongs to another heap than the slot.
    #[inline]
    #[track_caller]
    pub fn set<Up>(&self, target: impl Reference<T, Up>) {
        store::<T, Up>(&self.raw, Some(target));
    }
}

impl<T: Managed + ?Sized> WeakSlot<T> {
    /// The object that the slot refers to, unless it has died.
    ///
    /// # Panics
    /// If the reference was invalidated.
    #[inline]
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        load(&self.raw)
    }

    /// As [`get`](Self::get), with an error if the reference was invalidated.
    #[inline]
    pub fn try_get(&self) -> Result<Option<&T>, Invalidated> {
        try_load(&self.raw)
    }

    /// Makes the slot refer to an object, of its class or of one that extends it: `slot.set(&m[node])`, or that of a
    /// local, `slot.set(node)`, which takes a little longer, or that of a root. An option may be none.
    ///
    /// # Panics
    /// If the object belongs to another heap than the slot.
    #[inline]
    #[track_caller]
    pub fn set<Up>(&self, target: impl OptionalReference<T, Up>) {
        store::<T, Up>(&self.raw, target);
    }

    /// Makes the slot refer to no object.
    #[inline]
    pub fn clear(&self) {
        self.raw.store(0, Release);
    }
}

impl<T: Managed + ?Sized> WeakSlot<T> {
    /// Whether it refers to nothing, not even to what is invalid. No use of the object.
    pub(crate) fn is_null(&self) -> bool {
        self.raw.load(Relaxed) == 0
    }

    /// Copies a slot of the same heap, be it invalid.
    pub(crate) fn copy(&self, from: &Self) {
        copy(&self.raw, &from.raw);
    }
}

/// Copies a slot of the same heap as it is.
fn copy(to: &AtomicU32, from: &AtomicU32) {
    let raw = from.load(Acquire);
    to.store(raw, Release);
    record(to, Raw(raw));
}

impl<T: Managed + ?Sized> DependentSlot<T> {
    #[track_caller]
    pub(crate) fn get(&self) -> Option<&T> {
        load(&self.raw)
    }

    pub(crate) fn is_null(&self) -> bool {
        self.raw.load(Relaxed) == 0
    }

    /// Copies a slot of the same heap, be it invalid.
    pub(crate) fn copy(&self, from: &Self) {
        copy(&self.raw, &from.raw);
    }

    #[track_caller]
    pub(crate) fn set(&self, target: Option<&T>) {
        store::<T, Itself>(&self.raw, target);
    }
}

/// A slot is shown as the name of its object (`Node#3`) and no further, so that cycles end.
fn show(slot: &AtomicU32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match try_load::<Object>(slot) {
        Ok(Some(object)) => fmt::Debug::fmt(object, f),
        Ok(None) => f.write_str("null"),
        Err(_) => f.write_str("invalid"),
    }
}

impl<T: Managed + ?Sized> fmt::Debug for Slot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(&self.raw, f)
    }
}

impl<T: Managed + ?Sized> fmt::Debug for Ref<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(&self.raw, f)
    }
}

impl<T: Managed + ?Sized> fmt::Debug for WeakSlot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(&self.raw, f)
    }
}

// SAFETY: a transparent four-byte slot of that kind.
unsafe impl<T: Managed + ?Sized> Field for Slot<T> {
    const KIND: FieldKind = FieldKind::Opt;
    type Init<'s> = Option<Local<'s, T>>;

    #[inline]
    fn fill(init: Option<Local<'_, T>>, filler: &Filler<'_>) -> Self {
        Self {
            raw: AtomicU32::new(init.map_or(0, |local| filler.raw(local).0)),
            target: PhantomData,
        }
    }
}

// SAFETY: a transparent four-byte slot of that kind.
unsafe impl<T: Managed + ?Sized> Field for Ref<T> {
    const KIND: FieldKind = FieldKind::Ref;
    type Init<'s> = Local<'s, T>;

    #[inline]
    fn fill(init: Local<'_, T>, filler: &Filler<'_>) -> Self {
        Self {
            raw: AtomicU32::new(filler.raw(init).0),
            target: PhantomData,
        }
    }
}

// SAFETY: a transparent four-byte slot of that kind.
unsafe impl<T: Managed + ?Sized> Field for WeakSlot<T> {
    const KIND: FieldKind = FieldKind::Weak;
    type Init<'s> = Option<Local<'s, T>>;

    #[inline]
    fn fill(init: Option<Local<'_, T>>, filler: &Filler<'_>) -> Self {
        Self {
            raw: AtomicU32::new(init.map_or(0, |local| filler.raw(local).0)),
            target: PhantomData,
        }
    }
}

// SAFETY: a transparent four-byte slot of that kind.
unsafe impl<T: Managed + ?Sized> Field for DependentSlot<T> {
    const KIND: FieldKind = FieldKind::Dependent;
    type Init<'s> = Option<Local<'s, T>>;

    #[inline]
    fn fill(init: Option<Local<'_, T>>, filler: &Filler<'_>) -> Self {
        Self {
            raw: AtomicU32::new(init.map_or(0, |local| filler.raw(local).0)),
            target: PhantomData,
        }
    }
}
