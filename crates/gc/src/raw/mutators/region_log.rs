//! Regions of assertions: which objects a thread has allocated since.
//!
//! An allocation's fast path knows its class from a cache. While a region is open the cache is
//! kept empty, so that every allocation takes the slow path, which takes note; and while
//! none is, nothing is any different.

use crate::raw::memory::address::Raw;
use crate::raw::mutators::alloc::CLASS_CACHE;
use crate::raw::mutators::mutator::MutatorShared;
use crate::raw::objects::header::Word;

impl MutatorShared {
    pub(crate) fn open_region(&self) {
        self.regions.borrow_mut().push(Vec::new());
        self.forget_classes();
    }

    /// Lets the next allocation of each class take the slow path. Only the mutator itself, or
    /// while the world is stopped.
    pub(crate) fn forget_classes(&self) {
        for place in &self.class_cache {
            place.set((0, Word(0)));
        }
        self.sampler.forget_classes();
    }

    /// Ends the innermost region; what was allocated in it belongs to the next one too.
    pub(crate) fn close_region(&self) -> Option<Vec<Raw>> {
        let mut regions = self.regions.borrow_mut();
        let objects = regions.pop()?;
        if let Some(outer) = regions.last_mut() {
            outer.extend_from_slice(&objects);
        } else {
            self.noted_classes.borrow_mut().clear();
        }
        Some(objects)
    }

    /// Ends regions until no more than `open` are open.
    pub(crate) fn close_regions(&self, open: usize) {
        while self.regions() > open {
            self.close_region();
        }
    }

    #[inline]
    pub(in crate::raw) fn in_region(&self) -> bool {
        !self.regions.borrow().is_empty()
    }

    /// How many regions are open.
    pub(crate) fn regions(&self) -> usize {
        self.regions.borrow().len()
    }

    /// What was allocated in one of the open regions and not yet in one within it, as far as it
    /// is not known to be dead.
    pub(crate) fn region(&self, number: usize) -> Vec<Raw> {
        self.regions
            .borrow()
            .get(number)
            .cloned()
            .unwrap_or_default()
    }

    /// Takes note of an object that was just allocated.
    #[inline]
    pub(in crate::raw) fn note(&self, raw: Raw) {
        if let Some(region) = self.regions.borrow_mut().last_mut() {
            region.push(raw);
        }
    }

    /// Follows what was allocated to where it is now, and forgets the dead. Only while the
    /// world is stopped.
    pub(crate) fn follow_regions(&self, now: &mut dyn FnMut(Raw) -> Option<Raw>) {
        for region in self.regions.borrow_mut().iter_mut() {
            region.retain_mut(|raw| match now(*raw) {
                Some(to) => {
                    *raw = to;
                    true
                }
                None => false,
            });
        }
    }

    /// The class that was found for a descriptor before, while a region is open.
    pub(in crate::raw) fn noted_class(&self, key: usize) -> Option<u32> {
        self.noted_classes.borrow().get(&key).copied()
    }

    pub(in crate::raw) fn note_class(&self, key: usize, class: u32) {
        let mut noted = self.noted_classes.borrow_mut();
        if noted.len() > 4 * CLASS_CACHE {
            noted.clear();
        }
        noted.insert(key, class);
    }
}
