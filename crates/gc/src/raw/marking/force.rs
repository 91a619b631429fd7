//! Making a lifetime assertion true: every reference to the object is cleared where it is optional and
//! invalidated where it is not.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use heaphound_heap::root::RootSet;
use heaphound_heap::{ClassId, FieldKind};

use crate::assertions::Forced;
use crate::heap::HeapInner;
use crate::raw::marking::mark::Ground;
use crate::raw::memory::address::Raw;
use crate::raw::objects::layout::for_each_slot;

impl HeapInner {
    /// Clears or invalidates all references to some objects. Returns those that had to be left
    /// as they are, because they are not optional and the heap cannot invalidate: from which
    /// object, or null for a root, to which. Only in the middle of a collection.
    pub(crate) fn force_dead(&self, ground: Ground<'_>, objects: &[Forced]) -> Vec<(Raw, Raw)> {
        let dead: HashMap<Raw, _> = objects.iter().map(|it| (it.raw, it.place)).collect();
        let record = |raw: Raw| {
            // SAFETY: an object of the stopped heap.
            let class = unsafe { ground.base.header(raw) }.load().class();
            let name = &self.classes.get(ClassId(class)).info.name;
            self.add_invalidation("a failed assertion", dead[&raw], name)
        };
        let mut left = Vec::new();
        let mut void = |from: Raw, cell: &AtomicU32| {
            let raw = self.reach.read(cell);
            if !dead.contains_key(&raw) {
                return;
            }
            match self.config.invalidation {
                true => self.invalidate(cell, record(raw)),
                false => left.push((from, raw)),
            }
        };
        let clear = |cell: &AtomicU32| {
            if dead.contains_key(&self.reach.read(cell)) {
                cell.store(0, Relaxed);
            }
        };
        for (_, cell) in self.handles.statics.lock().unwrap().values() {
            clear(&cell.raw);
        }
        for shared in self.mutators.lock().unwrap().iter() {
            clear(&shared.thread_object);
        }
        self.for_each_root_cell(RootSet::All, |cell| void(Raw::NULL, cell));
        // In the dead, too: finalizers may bring them back.
        self.space.for_each_object(|raw| {
            // SAFETY: an object of the stopped heap.
            let word = unsafe { ground.base.header(raw) }.load();
            let class = self.classes.get(ClassId(word.class()));
            let object = ground.base.object(raw);
            // SAFETY: as above.
            unsafe {
                for_each_slot(
                    &self.classes,
                    class.trace,
                    word.class(),
                    object,
                    |offset, _, slot| {
                        let mut slots = class.slots.iter();
                        let kind = slots.find(|(at, _)| *at as usize == offset);
                        match kind {
                            Some((_, FieldKind::Ref)) => void(raw, slot),
                            _ => clear(slot),
                        }
                    },
                );
            }
        });
        left
    }
}
