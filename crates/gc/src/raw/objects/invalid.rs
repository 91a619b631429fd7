//! Invalidated references: to read one is an error that names who invalidated it.
//!
//! In a heap built for it the top bit of a stored reference says that it is invalid, and
//! the lower bits number a record of the heap's table: by what, where in the program,
//! and the class of the object. Such a reference leads to no object and retains none.
//! The collector takes it for null and leaves it as it is; a program may overwrite it.
//!
//! A heap that was not built for it reaches further, so that the same bits may be part
//! of an honest address. Accessors test for them inline and ask the heap only then.

use std::panic::Location;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use heaphound_heap::sync::Mutex;
use heaphound_heap::{ClassId, FieldKind};

use crate::classes::Class;
use crate::error::{Invalidated, Why};
use crate::heap::HeapInner;
use crate::pruning::Pruned;
use crate::raw::marking::mark::Ground;
use crate::raw::memory::address::{Base, Raw};
use crate::raw::objects::layout::for_each_slot;
use crate::raw::objects::object::Managed;

/// Why references were invalidated; records are only ever added.
#[derive(Default)]
pub(crate) struct Invalidations(Mutex<Vec<Invalidated>>);

impl HeapInner {
    /// The number of a record, for [`invalidate`](Self::invalidate). What was said
    /// before is not said twice, so that the table grows with the program's text only.
    pub(crate) fn add_invalidation(
        &self,
        by: &'static str,
        place: &'static Location<'static>,
        class: &str,
    ) -> u32 {
        let new = Invalidated {
            class: class.into(),
            reason: Why::Program { by, place },
        };
        let mut records = self.invalidations.0.lock().unwrap();
        let known = records.iter().position(|record| *record == new);
        let index = known.unwrap_or_else(|| {
            records.push(new);
            records.len() - 1
        });
        assert!(index < 1 << 30, "2^30 reasons to invalidate references");
        index as u32
    }

    /// As [`add_invalidation`](Self::add_invalidation), for references that are pruned.
    pub(crate) fn add_pruning(&self, pruned: Pruned) -> u32 {
        let mut records = self.invalidations.0.lock().unwrap();
        records.push(pruned.into());
        assert!(
            records.len() <= 1 << 30,
            "2^30 reasons to invalidate references"
        );
        (records.len() - 1) as u32
    }

    /// More was pruned for the same reason.
    pub(crate) fn update_pruning(&self, record: u32, pruned: Pruned) {
        self.invalidations.0.lock().unwrap()[record as usize] = pruned.into();
    }

    /// Invalidates one reference. Only while the world is stopped, in a heap built for
    /// it, and not for the key of an ephemeron, whose entry is to be cleared.
    pub(crate) fn invalidate(&self, cell: &AtomicU32, record: u32) {
        assert!(self.config.invalidation);
        cell.store(Raw::invalid(record).0, Relaxed);
    }

    /// Invalidates all references to an object, except one. Returns how many. Only while
    /// the world is stopped, the nursery empty and everything swept.
    pub(crate) fn invalidate_all(&self, target: Raw, keep: &AtomicU32, record: u32) -> usize {
        let mut count = 0;
        let mut is_alias = |cell: &AtomicU32| {
            let alias = self.reach.read(cell) == target && !ptr::eq(cell, keep);
            count += alias as usize;
            alias
        };
        let mut visit = |cell: &AtomicU32| {
            if is_alias(cell) {
                self.invalidate(cell, record);
            }
        };
        self.for_each_root(|_, cell| visit(cell));
        for cell in &self.handles.weak.lock().unwrap().all {
            visit(&cell.raw);
        }
        self.update_pin(target);
        self.space.for_each_object(|holder| {
            let mut forgets = false;
            self.for_each_slot_of(holder, |class, kind, slot| {
                if is_alias(slot) {
                    self.invalidate(slot, record);
                    forgets |= kind == FieldKind::Weak && class.is_ephemeron();
                }
            });
            if forgets {
                // As if the key had died: the map would not know what to do with it.
                self.for_each_slot_of(holder, |_, kind, slot| {
                    if matches!(kind, FieldKind::Weak | FieldKind::Dependent) {
                        slot.store(0, Relaxed);
                    }
                });
            }
        });
        count + self.take_back_finalizers(target)
    }

    /// An object that waits for its finalizers is alive again: they wait for its next death, that
    /// none of them is called with another reference to it. Returns how many there are.
    fn take_back_finalizers(&self, target: Raw) -> usize {
        let mut watched = self.watched.lock().unwrap();
        let waiting = &mut self.pending.lock().unwrap().finalizers;
        let back = waiting.extract_if(.., |(cell, _)| Raw(cell.load(Relaxed)) == target);
        let before = watched.old.finalizers.len();
        let back = back.map(|(_, finalizer)| (target, finalizer));
        watched.old.finalizers.extend(back);
        watched.old.finalizers.len() - before
    }

    /// Why a reference is invalid, if it is.
    pub(crate) fn invalidated(&self, raw: Raw) -> Option<Invalidated> {
        if !self.reach.tags() {
            return None;
        }
        // Most are merely untouched, and need no record.
        let record = raw.record()?;
        let records = self.invalidations.0.lock().unwrap();
        Some(records[record as usize].clone())
    }

    /// Refuses a reference that looks invalid, if it is.
    #[cold]
    #[inline(never)]
    pub(crate) fn check(&self, raw: Raw) -> Result<(), Invalidated> {
        self.invalidated(raw).map_or(Ok(()), Err)
    }

    /// As [`check`](Self::check), for readers that do not expect it.
    #[track_caller]
    fn insist(&self, raw: Raw) {
        if let Some(invalidated) = self.invalidated(raw) {
            panic!("{invalidated}");
        }
    }

    /// Whether a reference leads to an object.
    #[inline]
    pub(crate) fn refers(&self, raw: Raw) -> bool {
        self.reach.covers(raw)
    }

    fn for_each_slot_of(&self, object: Raw, mut f: impl FnMut(&Class, FieldKind, &AtomicU32)) {
        // SAFETY: callers pass objects of this heap.
        let id = unsafe { self.base.header(object) }.load().class();
        let class = self.classes.get(ClassId(id));
        let at = self.base.object(object);
        // SAFETY: as above, and the world is stopped.
        unsafe {
            for_each_slot(&self.classes, class.trace, id, at, |_, kind, slot| {
                f(class, kind, slot);
            });
        }
    }
}

impl Ground<'_> {
    /// Whether a reference leads to an object: it is neither null nor invalid.
    #[inline]
    pub(crate) fn refers(self, raw: Raw) -> bool {
        self.reach.covers(raw)
    }
}

/// The object at the address that follows from a reference that looks invalid; panics if
/// it is. The accessors' slow path: the address tells the heap and the reference, and
/// what is answered is the object, so that they need to keep nothing meanwhile.
///
/// # Safety
/// The reference was read in a slot, local or root for `T` of a heap that exists, and
/// nothing moves or frees its target during `'m`.
#[cold]
#[inline(never)]
#[track_caller]
pub(in crate::raw) unsafe fn target<'m, T: Managed + ?Sized>(object: *const u8) -> &'m T {
    // SAFETY: the caller's promise; any reference leads into its own heap's region.
    unsafe { HeapInner::of(Base::of(object)) }.insist(Raw::of(object));
    // SAFETY: the caller's promise, and the reference is valid (H3).
    unsafe { T::from_object(object) }
}

#[cfg(test)]
mod tests {
    use crate::config::Collector;
    use crate::heap::Heap;
    use crate::raw::memory::address::{MATURE_START, PAGE, TAGGED_REGION};
    use crate::raw::memory::pages::Use;
    use crate::raw::objects::array::RefArray;
    use crate::raw::objects::object::{Managed, Object};

    #[test]
    fn high_addresses_are_honest_in_a_heap_without_tags() {
        for collector in [Collector::MarkSweep, Collector::Generational] {
            // Half the region is more than 30 bits of granules, and more than 31.
            for skipped in [TAGGED_REGION, 2 * TAGGED_REGION] {
                let options = Heap::builder().max_bytes(20 << 30).collector(collector);
                let heap = options.zeal(2).build().unwrap();
                // Nobody touches these pages, so that they take no memory.
                let pages = (skipped - MATURE_START) / PAGE;
                let pages = heap
                    .inner()
                    .space
                    .pages
                    .take(pages as u32, Use::Large, true);
                pages.expect("address space for twice the limit");
                let mut m = heap.attach("main").unwrap();
                let array = m.alloc_refs::<Object>(10_000).unwrap();
                let map = m.alloc_weak_map::<Object, Object>().unwrap();
                for i in 0..100 {
                    let mut m = m.scope();
                    let text = m.alloc_str(&i.to_string()).unwrap();
                    m[array][i].set(Some(m[text].as_object()));
                    let key = text.upcast(&m);
                    m.weak_map_insert(map, key, key).unwrap();
                }
                let global = m.static_root::<RefArray<Object>>("global");
                global.set(&m, Some(&m[array]));
                let (root, weak) = (m.root(&m[array]), m.weak(&m[array]));
                let pinned = m.pin(array);
                for i in (0..100).filter(|i| i % 3 != 0) {
                    m[array][i].clear();
                }
                m.collect();
                assert!(m[array].as_object().raw().offset() >= skipped);
                assert_eq!(m[map].len(), 34);
                for i in (0..100).step_by(3) {
                    let text = m[array][i].try_get().unwrap().unwrap();
                    assert_eq!(text.raw().is_tagged(), cfg!(feature = "barrier"));
                    let text = text.downcast::<crate::raw::objects::array::Str>().unwrap();
                    assert_eq!(**text, *i.to_string());
                }
                let all = [
                    &m[&root],
                    &m[pinned.root()],
                    weak.get(&m).unwrap(),
                    global.get(&m).unwrap(),
                    m.try_get(array).unwrap(),
                ];
                assert!(all.into_iter().all(|it| std::ptr::eq(it, &m[array])));
            }
        }
    }
}
