//! What only a heap whose objects are marked can be asked.

use heaphound_heap::ClassId;
use heaphound_heap::view::HeapView;

use crate::raw::memory::address::Raw;
use crate::raw::views::stopped::{MarkedHeap, ObjectId};

impl<'v> MarkedHeap<'v> {
    /// Whether an object lives. It need not be known to.
    pub(crate) fn lives(&self, raw: Raw) -> bool {
        // SAFETY: callers pass references that were live at the last collection, and nothing is
        // freed before the sweep.
        let word = unsafe { self.heap.base.header(raw) }.load();
        word.is_marked(self.heap.space.epoch())
    }

    /// Calls `f` with each live object, in any order.
    pub(crate) fn for_each_live(&self, mut f: impl FnMut(ObjectId<'v>)) {
        let epoch = self.heap.space.epoch();
        self.heap.space.for_each_object(|raw| {
            // SAFETY: an object of the stopped heap.
            let word = unsafe { self.heap.base.header(raw) }.load();
            if word.is_marked(epoch) {
                f(self.object(raw));
            }
        });
    }

    /// The live instances of a class, or of its subclasses too, up to `limit`, in the order of
    /// addresses.
    pub(crate) fn instances(
        &self,
        is_one: &dyn Fn(ClassId) -> bool,
        limit: usize,
    ) -> Vec<ObjectId<'v>> {
        let mut found = Vec::new();
        if limit == 0 {
            return found;
        }
        self.for_each_live(|object| {
            if found.len() < limit && is_one(self.class_of(object)) {
                found.push(object);
            }
        });
        found.sort_unstable();
        found
    }
}
