//! The stopped heap as a view.

use std::cell::{OnceCell, RefCell};
use std::collections::HashSet;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use heaphound_heap::class::Elements;
use heaphound_heap::probe::ProbeError;
use heaphound_heap::root::RootSet;
use heaphound_heap::spelling::object_name;
use heaphound_heap::view::{HeapView, Place, Strength};
use heaphound_heap::{ClassId, ClassInfo, FieldKind, PlainKind, Value, root};

use crate::heap::HeapInner;
use crate::raw::marking::mark::Ground;
use crate::raw::marking::weak;
use crate::raw::memory::address::{Base, Raw};
use crate::raw::mutators::mutator::{Mutator, MutatorShared};
use crate::raw::objects::handle::{Root, RootCell, Weak};
use crate::raw::objects::layout::{
    ELEMENTS_OFFSET, Slots, Trace, array_len, for_each_slot, plain_array, slot_at,
};
use crate::raw::objects::object::Object;
use crate::raw::views::asked::{Ridden, Subject};
use crate::waits::{CalledOff, Loss};

/// An object of a stopped heap. Means nothing once the heap runs again, and
/// nobody can make one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ObjectId<'v>(pub(in crate::raw) Raw, pub(in crate::raw) Brand<'v>);

impl ObjectId<'_> {
    pub(crate) fn raw(self) -> Raw {
        self.0
    }
}

/// Ties ids to the one view that gave them.
pub(in crate::raw) type Brand<'v> = PhantomData<fn(&'v ()) -> &'v ()>;

/// A heap whose world is stopped, to look at.
///
/// It stays on its thread: there is one set of visited marks, in the objects' headers.
///
/// Between collections, and before a collection has marked, weak references and labels may lead to
/// objects that nothing else reaches, and that the next marking finds dead. A view of the
/// other type, [`MarkedHeap`], exists only after marking.
pub struct StoppedHeap<'v, S = Unmarked> {
    pub(in crate::raw) heap: &'v HeapInner,
    /// Made when somebody asks for them.
    classes: OnceCell<Arc<[ClassInfo]>>,
    pub(in crate::raw) traces: Vec<Trace>,
    mutators: Vec<Arc<MutatorShared>>,
    threads: Vec<String>,
    asker: Option<&'v MutatorShared>,
    /// Ephemerons whose keys are dead.
    pub(in crate::raw) lapsed: OnceCell<HashSet<Raw>>,
    /// The collection that this view is part of.
    pub(in crate::raw) collection: Option<&'v RefCell<dyn Ridden + 'v>>,
    /// Whether what waits for its finalizer is among the roots.
    shows_pending: bool,
    pub(in crate::raw) brand: Brand<'v>,
    state: PhantomData<S>,
}

/// The state of a view that may lead to what the next marking finds dead.
pub enum Unmarked {}

/// The state of a view that shows nothing but what lives.
pub enum Marked {}

/// A stopped heap in the middle of a full collection, when all that lives is marked, and weak
/// references and labels of what does not live are gone: nothing that the collection frees can be
/// reached through it. What waits for its finalizer is not shown: its weak references have not been
/// settled.
pub type MarkedHeap<'v> = StoppedHeap<'v, Marked>;

impl<'v> StoppedHeap<'v> {
    /// # Safety
    /// The world is stopped and stays so while the view exists.
    pub(crate) unsafe fn new(heap: &'v HeapInner, asker: Option<&'v MutatorShared>) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::with_state(heap, asker, None, true) }
    }

    /// A view that is part of a collection, which is about to mark.
    ///
    /// # Safety
    /// As [`Self::new`].
    pub(crate) unsafe fn riding(
        heap: &'v HeapInner,
        asker: Option<&'v MutatorShared>,
        collection: &'v RefCell<dyn Ridden + 'v>,
    ) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::with_state(heap, asker, Some(collection), true) }
    }
}

impl<'v> MarkedHeap<'v> {
    /// # Safety
    /// The world is stopped and stays so while the view exists. A full collection has marked all
    /// that lives, has cleared all weak references to the rest and forgotten its labels, and
    /// frees nothing meanwhile.
    pub(crate) unsafe fn marked(heap: &'v HeapInner) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::with_state(heap, None, None, false) }
    }
}

impl<'v, S> StoppedHeap<'v, S> {
    /// # Safety
    /// The world is stopped and stays so while the view exists; and what its state promises.
    unsafe fn with_state(
        heap: &'v HeapInner,
        asker: Option<&'v MutatorShared>,
        collection: Option<&'v RefCell<dyn Ridden + 'v>>,
        shows_pending: bool,
    ) -> Self {
        let traces = heap.classes.iter().map(|class| class.trace);
        let (mutators, threads) = heap.threads().into_iter().unzip();
        Self {
            heap,
            classes: OnceCell::new(),
            traces: std::iter::once(Trace::NOTHING).chain(traces).collect(),
            mutators,
            threads,
            asker,
            lapsed: OnceCell::new(),
            collection,
            shows_pending,
            brand: PhantomData,
            state: PhantomData,
        }
    }

    pub(in crate::raw) fn ground(&self) -> Ground<'_> {
        Ground {
            base: self.heap.base,
            reach: self.heap.reach,
            epoch: self.heap.space.epoch(),
            traces: &self.traces,
            classes: &self.heap.classes,
        }
    }

    /// Returns the same list as before while the classes are the same, which so can be found out at once.
    #[doc(hidden)]
    pub fn shared_classes(&self) -> Arc<[ClassInfo]> {
        self.heap.classes.infos()
    }

    pub(crate) fn heap(&self) -> &'v HeapInner {
        self.heap
    }

    /// The object that a handle refers to, whoever asks; none if it is null or of another heap.
    pub fn held(&self, handle: &Root<Object>) -> Option<ObjectId<'v>> {
        self.held_by(handle.cell())
    }

    /// The object that a weak handle refers to, whoever asks. Before a collection has marked it may
    /// turn out to be dead.
    pub fn held_weakly(&self, handle: &Weak<Object>) -> Option<ObjectId<'v>> {
        self.held_by(handle.cell())
    }

    fn held_by(&self, cell: &RootCell) -> Option<ObjectId<'v>> {
        let raw = cell.raw_of(self.heap)?;
        self.heap.refers(raw).then_some(ObjectId(raw, self.brand))
    }

    /// Returns the number of threads that collect.
    pub fn collector_threads(&self) -> usize {
        self.heap.config.collector_threads
    }

    /// The name of the thread that stopped the heap.
    pub fn asker(&self) -> Option<&str> {
        let asker = self.asker?;
        let mut mutators = self.mutators.iter();
        let place = mutators.position(|shared| std::ptr::eq(&**shared, asker))?;
        Some(&self.threads[place])
    }

    /// The object that a local or a handle refers to.
    ///
    /// # Errors
    /// If there is none, or it belongs to another heap or mutator.
    pub fn id(&self, subject: impl Subject) -> Result<ObjectId<'v>, ProbeError> {
        let asker = self.asker.ok_or(ProbeError::NobodyAsks)?;
        match subject.raw(self.heap, asker)? {
            Raw::NULL => Err(ProbeError::Null),
            raw if self.heap.refers(raw) => Ok(ObjectId(raw, self.brand)),
            _ => Err(ProbeError::Invalid),
        }
    }

    /// A handle that keeps an object when the heap runs again.
    #[track_caller]
    pub fn root(&self, object: ObjectId<'v>) -> Root<Object> {
        self.heap.add_root(object.0)
    }
}

/// Plain data at an offset of an object, zero-extended.
///
/// # Safety
/// An object is there that has plain data of that width at that offset, and the world is
/// stopped.
pub(in crate::raw) unsafe fn bits_at(base: Base, raw: Raw, offset: usize, width: usize) -> u64 {
    let mut bits = [0u8; 8];
    // SAFETY: the caller's promise.
    unsafe {
        base.object(raw)
            .add(offset)
            .copy_to_nonoverlapping(bits.as_mut_ptr(), width);
    }
    u64::from_le_bytes(bits)
}

/// The bytes of an array's plain elements or of a string.
///
/// # Safety
/// An object of that class is there, and the world is stopped.
pub(in crate::raw) unsafe fn elements_at(
    base: Base,
    raw: Raw,
    class: &ClassInfo,
) -> Option<Vec<u8>> {
    let (offset, width) = match class.elements? {
        Elements::Refs => return None,
        Elements::Text => (ELEMENTS_OFFSET, 1),
        Elements::Plain(kind) => (plain_array(kind).1, kind.bytes()),
    };
    let at = base.object(raw);
    // SAFETY: the caller's promise; an array has its length and that many elements.
    unsafe {
        let bytes = array_len(at) * width;
        let mut copy = vec![0u8; bytes];
        at.add(offset)
            .copy_to_nonoverlapping(copy.as_mut_ptr(), bytes);
        Some(copy)
    }
}

/// An element of an array of plain data, or a byte of a string.
///
/// # Safety
/// An object of that class is there, and the world is stopped.
pub(in crate::raw) unsafe fn value_at(
    base: Base,
    raw: Raw,
    class: &ClassInfo,
    index: usize,
) -> Option<Value> {
    let (kind, start) = match class.elements? {
        Elements::Refs => return None,
        Elements::Plain(kind) => (kind, plain_array(kind).1),
        Elements::Text => (PlainKind::U8, ELEMENTS_OFFSET),
    };
    let width = kind.bytes();
    // SAFETY: an array has as many elements of that width as its length says.
    unsafe {
        let inside = index < array_len(base.object(raw));
        inside.then(|| kind.decode(bits_at(base, raw, start + index * width, width)))
    }
}

/// The text of a string object.
///
/// # Safety
/// An object of that class is there, and the world is stopped.
pub(in crate::raw) unsafe fn text_at(base: Base, raw: Raw, class: &ClassInfo) -> Option<String> {
    if class.elements != Some(Elements::Text) {
        return None;
    }
    // SAFETY: the caller's promise.
    let bytes = unsafe { elements_at(base, raw, class) }?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

impl<'v, S> HeapView for StoppedHeap<'v, S> {
    type Object = ObjectId<'v>;

    fn classes(&self) -> &[ClassInfo] {
        self.classes.get_or_init(|| self.heap.classes.infos())
    }

    fn class(&self, id: ClassId) -> &ClassInfo {
        &self.heap.classes.get(id).info
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

    fn threads(&self) -> &[String] {
        &self.threads
    }

    fn for_each_root(&self, mut f: impl FnMut(&root::Root, ObjectId<'v>)) {
        let mut roots = Vec::new();
        let mut add = |root: &dyn Fn() -> root::Root, cell: &AtomicU32| {
            let raw = Raw(cell.load(Relaxed));
            if self.heap.refers(raw) {
                roots.push((root(), ObjectId(raw, self.brand)));
            }
        };
        self.heap.for_each_root(&mut add);
        if self.shows_pending {
            self.heap.for_each_pending(&mut add);
        }
        roots.sort_by(|(a, _), (b, _)| a.cmp(b));
        for (root, object) in &roots {
            f(root, *object);
        }
    }

    fn for_each_root_target(&self, roots: RootSet<'_>, f: impl FnMut(ObjectId<'v>)) {
        let mut targets = Vec::new();
        self.heap.for_each_root_cell(roots, |cell| {
            let raw = Raw(cell.load(Relaxed));
            if self.heap.refers(raw) {
                targets.push(ObjectId(raw, self.brand));
            }
        });
        // Called when nothing is locked any more.
        targets.into_iter().for_each(f);
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
                    element += 1;
                    let to = self.heap.reach.read(slot);
                    if !self.heap.refers(to) {
                        return;
                    }
                    let place = if is_array {
                        Place::Element(element - 1)
                    } else {
                        let mut fields = class.info.fields.iter();
                        let index = fields.position(|field| field.offset as usize == offset);
                        Place::Field(index.expect("every slot is a field") as u32)
                    };
                    f(place, Strength::of(kind), ObjectId(to, self.brand));
                },
            );
        }
    }

    fn for_each_strong_edge(&self, object: ObjectId<'v>, mut f: impl FnMut(Place, ObjectId<'v>)) {
        self.for_each_edge(object, |place, strength, to| {
            let holds = match strength {
                Strength::Strong => true,
                Strength::Weak => false,
                Strength::Dependent => self.holds_values(object.0),
            };
            if holds {
                f(place, to);
            }
        });
    }

    fn for_each_target(&self, object: ObjectId<'v>, mut f: impl FnMut(ObjectId<'v>)) {
        let id = self.class_of(object);
        let trace = self.traces[id.0 as usize];
        if trace.slots() == Slots::Listed {
            return self.for_each_strong_edge(object, |_, to| f(to));
        }
        let at = self.heap.base.object(object.0);
        // SAFETY: a live object of the stopped heap.
        unsafe {
            for_each_slot(&self.heap.classes, trace, id.0, at, |_, _, slot| {
                let to = self.heap.reach.read(slot);
                if self.heap.refers(to) {
                    f(ObjectId(to, self.brand));
                }
            });
        }
    }

    fn plain_value(&self, object: ObjectId<'v>, field: usize) -> Option<Value> {
        let field = self.class(self.class_of(object)).fields.get(field)?;
        let FieldKind::Plain(kind) = field.kind else {
            return None;
        };
        let offset = field.offset as usize;
        // SAFETY: the class says that plain data of that kind is there.
        let bits = unsafe { bits_at(self.heap.base, object.0, offset, kind.bytes()) };
        Some(kind.decode(bits))
    }

    fn slot(&self, object: ObjectId<'v>, field: usize) -> Option<ObjectId<'v>> {
        let field = self.class(self.class_of(object)).fields.get(field)?;
        match field.kind.is_slot() {
            // SAFETY: the class says that a slot is there.
            true => unsafe { self.target_at(object, field.offset as usize) },
            false => None,
        }
    }

    fn element(&self, object: ObjectId<'v>, index: usize) -> Option<ObjectId<'v>> {
        let class = self.class(self.class_of(object));
        if class.elements != Some(Elements::Refs) || index >= self.length_of(object)? {
            return None;
        }
        // SAFETY: an array of references has as many slots as its length says.
        unsafe { self.target_at(object, ELEMENTS_OFFSET + 4 * index) }
    }

    fn is_cut(&self, object: ObjectId<'v>, place: Place) -> bool {
        let class = self.class(self.class_of(object));
        let offset = match place {
            Place::Field(at) => {
                let field = class.fields.get(at as usize);
                let slot = field.filter(|field| field.kind.is_slot());
                slot.map(|field| field.offset as usize)
            }
            Place::Element(at) => {
                let is_one = class.elements == Some(Elements::Refs)
                    && self.length_of(object).is_some_and(|it| (at as usize) < it);
                is_one.then_some(ELEMENTS_OFFSET + 4 * at as usize)
            }
        };
        let at = self.heap.base.object(object.0);
        offset.is_some_and(|offset| {
            // SAFETY: the class says that a slot is there; the world is stopped.
            let raw = self.heap.reach.read(unsafe { slot_at(at, offset) });
            self.heap.reach.is_cut(raw)
        })
    }

    fn plain_element(&self, object: ObjectId<'v>, index: usize) -> Option<Value> {
        let class = self.class(self.class_of(object));
        // SAFETY: an object of that class in the stopped heap.
        unsafe { value_at(self.heap.base, object.0, class, index) }
    }

    fn length_of(&self, object: ObjectId<'v>) -> Option<usize> {
        self.class(self.class_of(object)).elements?;
        // SAFETY: an array of the stopped heap.
        Some(unsafe { array_len(self.heap.base.object(object.0)) })
    }

    fn text_of(&self, object: ObjectId<'v>) -> Option<String> {
        let class = self.class(self.class_of(object));
        // SAFETY: an object of that class in the stopped heap.
        unsafe { text_at(self.heap.base, object.0, class) }
    }

    fn name_of(&self, object: ObjectId<'v>) -> String {
        let class = &self.class(self.class_of(object)).name;
        object_name(class, self.heap.names.number(object.0))
    }
}

impl<'v, S> StoppedHeap<'v, S> {
    /// An object of the stopped heap.
    pub(crate) fn object(&self, raw: Raw) -> ObjectId<'v> {
        ObjectId(raw, self.brand)
    }

    /// What the slot at an offset refers to.
    ///
    /// # Safety
    /// The object has a slot there.
    unsafe fn target_at(&self, object: ObjectId<'v>, offset: usize) -> Option<ObjectId<'v>> {
        let at = self.heap.base.object(object.0);
        // SAFETY: the caller's promise; the world is stopped, so the object stays in place.
        let to = self.heap.reach.read(unsafe { slot_at(at, offset) });
        self.heap.refers(to).then_some(ObjectId(to, self.brand))
    }

    /// Whether an ephemeron holds its values: it has a key, which lives.
    pub(in crate::raw) fn holds_values(&self, ephemeron: Raw) -> bool {
        !weak::key(self.ground(), ephemeron).is_null() && !self.lapsed().contains(&ephemeron)
    }
}

impl Mutator<'_> {
    /// Stops the world and looks at the heap. Objects that died since the last
    /// collection are not shown, for nothing reaches them.
    ///
    /// # Panics
    /// If threads that use several heaps would wait for each other for ever; see [`Mutator::blocked`].
    pub fn inspect<R>(&mut self, f: impl for<'v> FnOnce(&StoppedHeap<'v>) -> R) -> R {
        self.try_inspect(Loss::Panic, f)
            .unwrap_or_else(|called_off| panic!("{called_off}"))
    }

    /// The same, unless threads would wait for each other for ever.
    pub(crate) fn try_inspect<R>(
        &mut self,
        loss: Loss,
        f: impl for<'v> FnOnce(&StoppedHeap<'v>) -> R,
    ) -> Result<R, CalledOff> {
        let heap = self.heap;
        heap.try_with_stopped_world(self.shared, loss, || {
            heap.prune_handles();
            // SAFETY: `try_with_stopped_world` keeps the world stopped meanwhile.
            f(&unsafe { StoppedHeap::new(heap, Some(self.shared)) })
        })
    }
}
