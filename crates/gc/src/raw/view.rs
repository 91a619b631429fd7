//! The stopped heap as a view.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use heaphound_heap::view::{HeapView, Place, Strength};
use heaphound_heap::{ClassId, ClassInfo, FieldKind, Root, Value};

use super::mutator::Mutator;
use super::region::Raw;
use super::trace::{Slots, for_each_slot};
use crate::heap::HeapInner;

/// An object of a stopped heap. Means nothing once the heap runs again, and
/// nobody can make one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ObjectId<'v>(pub(super) Raw, Brand<'v>);

/// Ties ids to the one view that gave them.
type Brand<'v> = PhantomData<fn(&'v ()) -> &'v ()>;

/// A heap whose world is stopped, to look at.
pub struct StoppedHeap<'v> {
    heap: &'v HeapInner,
    classes: Vec<ClassInfo>,
    brand: Brand<'v>,
}

impl<'v> StoppedHeap<'v> {
    /// # Safety
    /// The world is stopped and stays so while the view exists.
    pub(crate) unsafe fn new(heap: &'v HeapInner) -> Self {
        let classes = heap
            .classes
            .iter()
            .map(|class| class.info.clone())
            .collect();
        Self {
            heap,
            classes,
            brand: PhantomData,
        }
    }
}

impl<'v> HeapView for StoppedHeap<'v> {
    type Object = ObjectId<'v>;

    fn classes(&self) -> &[ClassInfo] {
        &self.classes
    }

    fn class_of(&self, object: ObjectId<'v>) -> ClassId {
        // SAFETY: an id is a live object of the stopped heap (H1).
        ClassId(unsafe { self.heap.base.header(object.0) }.load().class())
    }

    fn bytes_of(&self, object: ObjectId<'v>) -> usize {
        let trace = self.heap.classes.get(self.class_of(object)).trace;
        // SAFETY: as above.
        unsafe { trace.bytes(self.heap.base.object(object.0)) }
    }

    fn for_each_root(&self, mut f: impl FnMut(&Root, ObjectId<'v>)) {
        let mut roots = Vec::new();
        let mut add = |root: &dyn Fn() -> Root, cell: &AtomicU32| {
            let raw = Raw(cell.load(Relaxed));
            if self.heap.refers(raw) {
                roots.push((root(), ObjectId(raw, self.brand)));
            }
        };
        self.heap.for_each_root(&mut add);
        self.heap.for_each_pending(&mut add);
        // Two threads may have one name: then it is the order of attaching that counts.
        roots.sort_by(|(a, _), (b, _)| a.cmp(b));
        for (root, object) in &roots {
            f(root, *object);
        }
    }

    fn for_each_edge(
        &self,
        object: ObjectId<'v>,
        mut f: impl FnMut(Place, Strength, ObjectId<'v>),
    ) {
        let id = self.class_of(object);
        let class = self.heap.classes.get(id);
        let at = self.heap.base.object(object.0);
        let is_array = class.trace.slots() == Slots::Array && class.info.elements.is_some();
        let mut element = 0;
        // SAFETY: a live object of the stopped heap.
        unsafe {
            for_each_slot(
                &self.heap.classes,
                class.trace,
                id.0,
                at,
                |offset, kind, slot| {
                    let place = if is_array {
                        element += 1;
                        Place::Element(element - 1)
                    } else {
                        let mut fields = class.info.fields.iter();
                        let index = fields.position(|field| field.offset as usize == offset);
                        Place::Field(index.expect("every slot is a field") as u32)
                    };
                    let strength = match kind {
                        FieldKind::Weak => Strength::Weak,
                        FieldKind::Dependent => Strength::Dependent,
                        _ => Strength::Strong,
                    };
                    let to = Raw(slot.load(Relaxed));
                    if self.heap.refers(to) {
                        f(place, strength, ObjectId(to, self.brand));
                    }
                },
            );
        }
    }

    fn plain_value(&self, object: ObjectId<'v>, field: usize) -> Option<Value> {
        let class = self.heap.classes.get(self.class_of(object));
        let field = class.info.fields.get(field)?;
        let FieldKind::Plain(kind) = field.kind else {
            return None;
        };
        let mut bits = [0u8; 8];
        let at = self.heap.base.object(object.0);
        // SAFETY: the class says that plain data of that kind is there, and the
        // world, which could change it, is stopped.
        unsafe {
            at.add(field.offset as usize)
                .copy_to_nonoverlapping(bits.as_mut_ptr(), kind.bytes());
        }
        Some(kind.decode(u64::from_le_bytes(bits)))
    }
}

impl Mutator<'_> {
    /// Stops the world and looks at the heap. Objects that died since the last
    /// collection are not shown, for nothing reaches them.
    pub fn inspect<R>(&mut self, f: impl for<'v> FnOnce(&StoppedHeap<'v>) -> R) -> R {
        self.heap.with_stopped_world(self.shared, || {
            self.heap.prune_handles();
            // SAFETY: `with_stopped_world` keeps the world stopped meanwhile.
            f(&unsafe { StoppedHeap::new(self.heap) })
        })
    }
}
