//! `unique`: an object that is reached in one way only, from now on (PHALANX).

use std::panic::Location;
use std::sync::atomic::Ordering::Relaxed;

use crate::error::InvalidationOff;
use crate::raw::memory::address::Raw;
use crate::raw::mutators::mutator::{Local, Mutator};
use crate::raw::objects::object::Managed;

impl Mutator<'_> {
    /// Makes `keep` the only reference to its object: all others, in all threads, are
    /// invalidated, and to read one of them is an error that names this call. Answers
    /// how many there were. New references can be made afterwards, from `keep`.
    ///
    /// Others are slots of any kind, statics, root handles, pins, weak handles,
    /// thread objects and locals, also those of this thread (a copy of `keep` is the
    /// same local). A handle and its clones count as one. With a pin goes its promise: the
    /// object may move. A weak-keyed map forgets the object if it was a key. A finalizer that
    /// waits to be called with the object is a reference, too: it waits for the object's next death
    /// instead.
    ///
    /// Collects the whole heap first.
    ///
    /// # Errors
    /// If the heap was not built with
    /// [`invalidation`](crate::HeapBuilder::invalidation).
    ///
    /// # Panics
    /// If `keep` belongs to another mutator or is itself invalid.
    #[track_caller]
    pub fn unique<T: Managed + ?Sized>(
        &mut self,
        keep: Local<'_, T>,
    ) -> Result<usize, InvalidationOff> {
        let place = Location::caller();
        if !self.heap.config.invalidation {
            return Err(InvalidationOff);
        }
        let class = &self[keep].as_object().class().name;
        let record = self.heap.add_invalidation("unique", place, class);
        let cell = self.shared.local_cell(keep);
        let count = self.heap.with_collected_heap(self.shared, || {
            let target = Raw(cell.load(Relaxed));
            // Another thread may have been quicker.
            let refers = self.heap.refers(target);
            refers.then(|| self.heap.invalidate_all(target, cell, record))
        });
        self.heap.finish(self);
        match count {
            Some(count) => Ok(count),
            None => {
                let _ = &self[keep];
                unreachable!("the line above panics and says who was quicker")
            }
        }
    }
}
