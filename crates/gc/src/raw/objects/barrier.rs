//! The read barrier: what becomes of a reference that an accessor finds tagged.
//!
//! An accessor tests the word that it has loaded; one comparison serves for all tags, and all else is
//! here, out of line. In a heap that prunes leaks, every other full collection tags each reference that it finds in
//! a slot as *untouched* (why every other is enough: [`tags_matter`](crate::raw::marking::marker::tags_matter)). Whoever
//! reads it first takes the tag away and sets the staleness of the target back to nothing; so that the test fails until
//! the next such collection. An invalid reference is an error (`invalid.rs`). In a heap without tags the bits may be
//! part of an honest address.
//!
//! Several threads may read the slot at once, and others may write to it. The tag is taken away only
//! if the slot still holds the word that was read: what another thread has written meanwhile stays.
//! Whoever read the old word may use its target all the same, as if it had read a moment earlier: nothing is
//! freed before the next safepoint.

use std::sync::atomic::{AtomicU32, Ordering::*};

use crate::error::Invalidated;
use crate::heap::HeapInner;
use crate::raw::marking::mark::prefetch_line;
use crate::raw::memory::address::{Base, NURSERY_END, Raw};
use crate::raw::objects::object::Managed;

/// The object that a tagged reference leads to; panics if it is invalid.
///
/// # Safety
/// The reference was read in the slot, which is one for `T`, since the last safepoint.
#[cold]
#[inline(never)]
#[track_caller]
pub(in crate::raw) unsafe fn target<T: Managed + ?Sized>(slot: &AtomicU32, raw: Raw) -> &T {
    match settle(slot, raw) {
        // SAFETY: the caller's promise, and the reference is valid (H3).
        Ok(raw) => unsafe { T::from_object(Base::of(slot).object(raw)) },
        Err(invalidated) => panic!("{invalidated}"),
    }
}

/// What a tagged reference that was read in a slot refers to.
#[cold]
#[inline(never)]
pub(in crate::raw) fn resolve(slot: &AtomicU32, raw: Raw) -> Result<Raw, Invalidated> {
    settle(slot, raw)
}

#[inline(always)]
fn settle(slot: &AtomicU32, raw: Raw) -> Result<Raw, Invalidated> {
    let heap = heap_of(slot);
    if raw.record().is_none() && heap.reach.tags() {
        heap.touch(slot, raw);
        return Ok(raw.touched());
    }
    heap.check(raw)?;
    Ok(raw)
}

/// Whether a slot that was found to hold a tagged reference may yet hold that one: then it is worth
/// another try.
///
/// # Panics
/// If the reference was pruned.
#[cold]
#[inline(never)]
#[track_caller]
pub(in crate::raw) fn may_be(slot: &AtomicU32, found: Raw, wanted: Raw) -> bool {
    let heap = heap_of(slot);
    if let Some(invalidated) = heap.invalidated(found) {
        assert!(invalidated.pruned().is_none(), "{invalidated}");
        return false;
    }
    let is_it = heap.reach.tags() && found.touched() == wanted;
    if is_it {
        heap.touch(slot, found);
    }
    is_it
}

fn heap_of(slot: &AtomicU32) -> &HeapInner {
    // SAFETY: a slot exists only in a heap (H9), which whoever reads it borrows (H2).
    unsafe { HeapInner::of(Base::of(slot)) }
}

impl HeapInner {
    /// An untouched reference is used.
    #[inline]
    fn touch(&self, slot: &AtomicU32, raw: Raw) {
        let target = raw.touched();
        // It is on its way while the slot is locked; whoever reads the reference needs it next in any case.
        prefetch_line(self.base.object(target));
        // The word is part of the release sequence of whoever wrote the reference, and goes on being so.
        let _ = slot.compare_exchange(raw.0, target.0, Relaxed, Relaxed);
        // SAFETY: a valid reference that was read since the last safepoint.
        let header = unsafe { self.base.header(target) };
        let staleness = header.staleness();
        if staleness > 0 {
            header.refresh();
        }
        // One more than the collection just past is no news.
        if staleness > 1 {
            self.note_use(slot, header.low().class(), staleness);
        }
    }

    /// A reference was used whose target, of that class, was so stale.
    #[inline(never)]
    fn note_use(&self, slot: &AtomicU32, target: u32, staleness: u8) {
        if let Some(source) = self.holder_of(slot) {
            // SAFETY: an object of this heap.
            let source = unsafe { self.base.header(source) }.low().class();
            self.pruning.note_use((source, target), staleness);
        }
    }

    /// An object is used that was found by other means than a slot: a weak handle, or a question about the heap.
    pub(crate) fn note_held(&self, raw: Raw) {
        if self.config.pruning.is_some() && self.refers(raw) {
            // SAFETY: the collector clears weak handles when their objects die (H3), and what is asked for lives.
            let header = unsafe { self.base.header(raw) };
            if header.staleness() > 0 {
                header.refresh();
            }
        }
    }

    /// An object is in use. Only while the world is stopped.
    pub(crate) fn refresh(&self, target: Raw) {
        // SAFETY: callers pass objects of this heap.
        let header = unsafe { self.base.header(target) };
        header.store(header.load().with_staleness(0));
    }

    /// The object that has a slot, unless it is young: then nobody knows where it starts.
    fn holder_of(&self, slot: &AtomicU32) -> Option<Raw> {
        let offset = (&raw const *slot).addr() - self.base.at(0).addr();
        (offset >= NURSERY_END).then(|| self.space.object_around(offset))
    }
}

#[cfg(test)]
impl HeapInner {
    /// How stale an object is.
    pub(crate) fn staleness_for_test(&self, object: Raw) -> u8 {
        // SAFETY: tests pass objects of this heap.
        unsafe { self.base.header(object) }.load().staleness()
    }

    /// The class of an object.
    pub(crate) fn class_of_for_test(&self, object: Raw) -> u32 {
        // SAFETY: tests pass objects of this heap.
        unsafe { self.base.header(object) }.load().class()
    }

    /// What the n-th slot of an object refers to. No use of it.
    pub(crate) fn word_for_test(&self, object: Raw, slot: usize) -> Raw {
        use crate::raw::objects::layout::{ELEMENTS_OFFSET, slot_at};
        let at = self.base.object(object);
        // SAFETY: tests pass instances of this heap with that many slots.
        self.reach
            .read(unsafe { slot_at(at, ELEMENTS_OFFSET + 4 * slot) })
    }
}
