//! Zeal's verification: the heap against its invariants and its slow twin.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use heaphound_heap::view::{HeapView, live_objects};

use crate::heap::HeapInner;
use crate::raw::memory::address::{
    CARD, CARDS_START, GRANULE, MARKED_PAGES_START, MATURE_START, NURSERY_START, PAGE, Raw,
};
use crate::raw::memory::pages::{Pages, Use};
use crate::raw::memory::sizes::SizeClass;
use crate::raw::views::stopped::StoppedHeap;

impl HeapInner {
    /// Before a nursery collection: every old object that refers to a young one is
    /// remembered (H5).
    pub(crate) fn verify_cards(&self) {
        // SAFETY: called by the collector, with the world stopped.
        let view = unsafe { StoppedHeap::new(self, None) };
        for object in live_objects(&view) {
            self.verify_object(object.0);
            if object.0.is_young() {
                continue;
            }
            let id = view.class_of(object);
            let class = self.classes.get(id);
            let at = self.base.object(object.0);
            // SAFETY: a live object of the stopped heap.
            unsafe {
                crate::raw::objects::layout::for_each_slot(
                    &self.classes,
                    class.trace,
                    id.0,
                    at,
                    |offset, _, slot| {
                        let to = Raw(slot.load(Relaxed));
                        if to.is_null() || !to.is_young() {
                            return;
                        }
                        let at = object.0.offset() + offset;
                        let marks = [CARDS_START + at / CARD, MARKED_PAGES_START + at / PAGE];
                        assert!(
                            marks.into_iter().all(|mark| {
                                AtomicU8::from_ptr(self.base.at(mark)).load(Relaxed) != 0
                            }),
                            "zeal: {} refers to a young object, but its card is not marked",
                            class.info.name
                        );
                    },
                );
            }
        }
    }

    /// After a collection: what the slow twin reaches is what was marked, and
    /// nothing else is. `marked` is the collector's count, after a full one.
    pub(crate) fn verify(&self, marked: Option<usize>) {
        // SAFETY: called by the collector, with the world stopped.
        let view = unsafe { StoppedHeap::new(self, None) };
        let live = live_objects(&view);
        let epoch = self.space.epoch();
        for &object in &live {
            self.verify_object(object.0);
            assert!(
                !object.0.is_young(),
                "zeal: a young object after a collection"
            );
            // SAFETY: an object, as just verified.
            let word = unsafe { self.base.header(object.0) }.load();
            assert!(
                word.is_marked(epoch),
                "zeal: a live {} is not marked",
                view.class(view.class_of(object)).name
            );
            view.for_each_edge(object, |_, _, to| self.verify_object(to.0));
        }
        if let Some(marked) = marked {
            assert_eq!(
                live.len(),
                marked,
                "zeal: the twin reaches as many objects as were marked"
            );
        }
    }

    /// An object starts there: at a cell or extent, with a class that exists.
    fn verify_object(&self, raw: Raw) {
        if raw.is_young() {
            let end = NURSERY_START + self.generations.young_bytes();
            assert!(
                (NURSERY_START..end).contains(&raw.offset()),
                "zeal: a reference outside the nursery's used part"
            );
        } else {
            let offset = raw.offset();
            assert!(
                offset >= MATURE_START && offset < Pages::offset(self.space.pages.frontier()),
                "zeal: a reference outside the heap: {:x}",
                raw.0
            );
            let page = ((offset - MATURE_START) / PAGE) as u32;
            let head = self.space.pages.head(page);
            let record = self.space.pages.record(head);
            let within = offset - Pages::offset(head);
            match record.usage() {
                Use::Block => {
                    let cell = SizeClass(record.size_class.load(Relaxed)).cell_bytes();
                    assert!(within.is_multiple_of(cell), "zeal: a reference into a cell");
                }
                Use::Large => assert!(within < GRANULE, "zeal: a reference into a large object"),
                other => panic!("zeal: a reference into a page that is {other:?}"),
            }
        }
        // SAFETY: the start of a cell, a large object or nursery memory.
        let word = unsafe { self.base.header(raw) }.load();
        assert!(
            word.class() != 0 && word.class() as usize <= self.classes.count(),
            "zeal: a reference to something that is no object: {:x}",
            word.0
        );
        assert!(
            word.forwarded_to().is_none(),
            "zeal: a reference to what has moved"
        );
    }
}
