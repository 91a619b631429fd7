//! References held outside any scope: root handles, named statics, weak handles,
//! pins.
//!
//! Each is a cell that the heap's table and the handle share. The table forgets a
//! cell when it finds itself the only holder, so that dropping a handle is no more
//! than dropping an `Arc`, on any thread, whether or not the heap still exists.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::*};

use heaphound_heap::sync::Mutex;

use crate::error::Invalidated;
use crate::heap::HeapInner;
use crate::raw::memory::address::Raw;
use crate::raw::mutators::mutator::{Local, Mutator};
use crate::raw::objects::object::{Managed, Object};
use crate::raw::objects::reference::{Extends, OptionalReference, Reference};
use crate::raw::views::asked::Subject;

/// A root, as the heap and a handle share it.
pub(crate) struct RootCell {
    pub(crate) raw: AtomicU32,
    pub(crate) place: &'static Location<'static>,
    heap: u64,
}

/// All cells of a heap, by kind.
#[derive(Default)]
pub(crate) struct Handles {
    pub(crate) strong: Mutex<Cells>,
    pub(crate) weak: Mutex<Cells>,
    pub(crate) pinned: Mutex<Cells>,
    pub(crate) statics: Mutex<BTreeMap<String, (TypeId, Arc<RootCell>)>>,
}

/// Cells of one kind, the dropped ones among them removed now and then.
#[derive(Default)]
pub(crate) struct Cells {
    pub(crate) all: Vec<Arc<RootCell>>,
    /// That many at the front were there at the last collection. A cell is set once,
    /// so that only those behind can refer to young objects.
    settled: usize,
    prune_at: usize,
}

impl Cells {
    fn add(&mut self, cell: Arc<RootCell>) {
        if self.all.len() >= self.prune_at.max(1024) {
            self.prune();
        }
        self.all.push(cell);
    }

    /// Forgets the cells whose handles are gone.
    pub(crate) fn prune(&mut self) {
        let held = |cell: &Arc<RootCell>| Arc::strong_count(cell) > 1;
        let recent = self.all.split_off(self.settled);
        self.all.retain(held);
        self.settled = self.all.len();
        self.all.extend(recent.into_iter().filter(held));
        self.prune_at = self.all.len() * 2;
    }

    /// The cells made since the last collection.
    pub(crate) fn recent(&self) -> &[Arc<RootCell>] {
        &self.all[self.settled..]
    }

    /// A collection has taken place: nothing refers to young objects.
    pub(crate) fn settle(&mut self) {
        self.settled = self.all.len();
    }
}

impl RootCell {
    fn new(heap: &HeapInner, raw: Raw, place: &'static Location<'static>) -> Arc<Self> {
        Arc::new(Self {
            raw: AtomicU32::new(raw.0),
            place,
            heap: heap.id,
        })
    }

    /// What it refers to, if it is of that heap.
    pub(in crate::raw) fn raw_of(&self, heap: &HeapInner) -> Option<Raw> {
        (self.heap == heap.id).then(|| Raw(self.raw.load(Acquire)))
    }

    #[track_caller]
    fn raw_in(&self, heap: &HeapInner) -> Raw {
        assert!(
            self.heap == heap.id,
            "a handle of one heap was used with a mutator of another"
        );
        // Acquire: a static may have been set by another thread.
        Raw(self.raw.load(Acquire))
    }
}

/// A handle that keeps an object alive, outside any scope and on any thread, also
/// across an `.await`. `m[&root]` is the object.
pub struct Root<T: ?Sized> {
    cell: Arc<RootCell>,
    target: PhantomData<fn() -> *const T>,
}

impl<T: ?Sized> Root<T> {
    #[inline]
    #[track_caller]
    pub(crate) fn raw_in(&self, heap: &HeapInner) -> Raw {
        self.cell.raw_in(heap)
    }
}

impl<T: Managed + ?Sized> Root<T> {
    /// The object, unless the reference was invalidated.
    ///
    /// # Panics
    /// If the mutator belongs to another heap.
    #[track_caller]
    pub fn try_get<'m>(&self, mutator: &'m Mutator<'_>) -> Result<&'m T, Invalidated> {
        // SAFETY: the cell is of this heap and was made for a `T` (H3).
        let object = unsafe { mutator.try_at(self.raw_in(mutator.heap))? };
        Ok(object.expect("a root is never null"))
    }
}

impl<T: Managed + ?Sized> Root<T> {
    /// The same handle, the class of its object forgotten.
    pub fn upcast(self) -> Root<Object> {
        Root {
            cell: self.cell,
            target: PhantomData,
        }
    }

    /// The same handle, seen as one of a class that its own extends. Where it is used says which one.
    pub fn upcast_to<U: Managed + ?Sized, Up>(self) -> Root<U>
    where
        T: Extends<U, Up>,
    {
        Root {
            cell: self.cell,
            target: PhantomData,
        }
    }

    /// The same handle as one of a `U`, if the object's class is `U` or extends it.
    ///
    /// # Panics
    /// If the mutator belongs to another heap, or the reference was invalidated.
    #[track_caller]
    pub fn downcast<U: Managed + ?Sized>(self, m: &Mutator<'_>) -> Option<Root<U>> {
        m[&self].as_object().downcast::<U>()?;
        Some(Root {
            cell: self.cell,
            target: PhantomData,
        })
    }
}

impl<T: ?Sized> Clone for Root<T> {
    fn clone(&self) -> Self {
        Self {
            cell: self.cell.clone(),
            target: PhantomData,
        }
    }
}

/// A handle that does not keep its object alive.
pub struct Weak<T: ?Sized> {
    cell: Arc<RootCell>,
    target: PhantomData<fn() -> *const T>,
}

impl<T: ?Sized> Clone for Weak<T> {
    fn clone(&self) -> Self {
        Self {
            cell: self.cell.clone(),
            target: PhantomData,
        }
    }
}

impl<T: Managed + ?Sized> Weak<T> {
    /// The object, unless it has died.
    ///
    /// # Panics
    /// If the mutator belongs to another heap, or the reference was invalidated.
    #[track_caller]
    pub fn get<'m>(&self, mutator: &'m Mutator<'_>) -> Option<&'m T> {
        let raw = self.cell.raw_in(mutator.heap);
        mutator.heap.note_held(raw);
        // SAFETY: the cell is of this heap and was made for a `T`; the collector
        // clears it when the object dies (H3).
        unsafe { mutator.at(raw) }
    }

    /// As [`get`](Self::get), with an error if the reference was invalidated.
    ///
    /// # Panics
    /// If the mutator belongs to another heap.
    #[track_caller]
    pub fn try_get<'m>(&self, mutator: &'m Mutator<'_>) -> Result<Option<&'m T>, Invalidated> {
        let raw = self.cell.raw_in(mutator.heap);
        mutator.heap.note_held(raw);
        // SAFETY: as above.
        unsafe { mutator.try_at(raw) }
    }
}

/// A named global reference of a heap, null at first.
pub struct Static<T: ?Sized> {
    cell: Arc<RootCell>,
    /// Invariant: a static can be set.
    target: PhantomData<fn(*const T) -> *const T>,
}

impl<T: ?Sized> Clone for Static<T> {
    fn clone(&self) -> Self {
        Self {
            cell: self.cell.clone(),
            target: PhantomData,
        }
    }
}

impl<T: Managed + ?Sized> Static<T> {
    /// The object that the static refers to, if any.
    ///
    /// # Panics
    /// If the mutator belongs to another heap, or the reference was invalidated.
    #[track_caller]
    pub fn get<'m>(&self, mutator: &'m Mutator<'_>) -> Option<&'m T> {
        // SAFETY: the cell is of this heap and holds only null or a `T` (H3).
        unsafe { mutator.at(self.cell.raw_in(mutator.heap)) }
    }

    /// As [`get`](Self::get), with an error if the reference was invalidated.
    ///
    /// # Panics
    /// If the mutator belongs to another heap.
    #[track_caller]
    pub fn try_get<'m>(&self, mutator: &'m Mutator<'_>) -> Result<Option<&'m T>, Invalidated> {
        // SAFETY: as above.
        unsafe { mutator.try_at(self.cell.raw_in(mutator.heap)) }
    }

    /// Makes the static refer to an object, or to none.
    ///
    /// # Panics
    /// If the mutator or the object belongs to another heap.
    #[track_caller]
    pub fn set(&self, mutator: &Mutator<'_>, target: impl OptionalReference<T>) {
        self.cell.raw_in(mutator.heap);
        // SAFETY: the mutator is borrowed, and so at no safepoint meanwhile (H2).
        let raw = unsafe { target.raw_in(mutator.shared.base) };
        self.cell.raw.store(raw.0, Release);
    }

    /// Makes the static refer to no object.
    ///
    /// # Panics
    /// If the mutator belongs to another heap.
    #[track_caller]
    pub fn clear(&self, mutator: &Mutator<'_>) {
        self.cell.raw_in(mutator.heap);
        self.cell.raw.store(0, Release);
    }
}

/// A handle that keeps an object alive and in its place, unless it is invalidated.
pub struct Pinned<T: ?Sized> {
    root: Root<T>,
    address: usize,
}

impl<T: Managed> Pinned<T> {
    /// The object's address, which does not change while this handle exists and is
    /// not invalidated.
    pub fn as_ptr(&self) -> *const T {
        std::ptr::with_exposed_provenance(self.address)
    }
}

impl<T: Managed + ?Sized> Pinned<T> {
    /// The object's address as a number: of its header, whatever its class.
    pub fn address(&self) -> usize {
        self.address
    }

    /// The handle as a root that can be read through.
    pub fn root(&self) -> &Root<T> {
        &self.root
    }
}

impl<'a> Mutator<'a> {
    /// Keeps an object alive beyond this scope.
    ///
    /// # Panics
    /// If the object belongs to another heap.
    #[track_caller]
    pub fn root<T: Managed + ?Sized>(&self, object: impl Reference<T>) -> Root<T> {
        // SAFETY: this mutator is at no safepoint while it is borrowed (H2).
        let raw = unsafe { object.raw_in(self.shared.base) };
        let cell = RootCell::new(self.heap, raw, Location::caller());
        self.heap.handles.strong.lock().unwrap().add(cell.clone());
        Root {
            cell,
            target: PhantomData,
        }
    }

    /// A handle that does not keep the object alive.
    ///
    /// # Panics
    /// If the object belongs to another heap.
    #[track_caller]
    pub fn weak<T: Managed + ?Sized>(&self, object: impl Reference<T>) -> Weak<T> {
        // SAFETY: this mutator is at no safepoint while it is borrowed (H2).
        let raw = unsafe { object.raw_in(self.shared.base) };
        let cell = RootCell::new(self.heap, raw, Location::caller());
        self.heap.handles.weak.lock().unwrap().add(cell.clone());
        Weak {
            cell,
            target: PhantomData,
        }
    }

    /// A weak handle to an object that the heap itself keeps track of.
    #[track_caller]
    pub(crate) fn weak_to(&self, raw: Raw) -> Weak<Object> {
        let cell = RootCell::new(self.heap, raw, Location::caller());
        self.heap.handles.weak.lock().unwrap().add(cell.clone());
        Weak {
            cell,
            target: PhantomData,
        }
    }

    /// A handle to whatever a local or another handle refers to; none if that is null.
    ///
    /// # Panics
    /// If it belongs to another heap or mutator.
    #[track_caller]
    pub fn handle(&self, object: impl Subject) -> Option<Root<Object>> {
        let raw = self.subject_raw(&object)?;
        self.heap.note_held(raw);
        let cell = RootCell::new(self.heap, raw, Location::caller());
        self.heap.handles.strong.lock().unwrap().add(cell.clone());
        Some(Root {
            cell,
            target: PhantomData,
        })
    }

    /// A weak handle to whatever a local or a handle refers to; none if that is null.
    ///
    /// # Panics
    /// If it belongs to another heap or mutator.
    #[track_caller]
    pub fn weak_handle(&self, object: impl Subject) -> Option<Weak<Object>> {
        Some(self.weak_to(self.subject_raw(&object)?))
    }

    /// Keeps an object alive and in its place. A young object first moves to the
    /// mature space, by a nursery collection.
    #[track_caller]
    pub fn pin<T: Managed + ?Sized>(&mut self, local: Local<'_, T>) -> Pinned<T> {
        let place = Location::caller();
        while self.own(&self[local]).is_young() {
            self.collect_nursery();
        }
        let object = &self[local];
        object
            .as_object()
            .header()
            .update_flags(|word| word.with_pinned(true));
        let cell = RootCell::new(self.heap, self.own(object), place);
        // Not pruned here: the collection that does also unpins the object.
        self.heap
            .handles
            .pinned
            .lock()
            .unwrap()
            .all
            .push(cell.clone());
        Pinned {
            address: (&raw const *object).cast::<u8>().expose_provenance(),
            root: Root {
                cell,
                target: PhantomData,
            },
        }
    }

    /// The static of that name.
    ///
    /// # Panics
    /// If the name was used with another class before.
    #[track_caller]
    pub fn static_root<T: Managed + ?Sized>(&self, name: &str) -> Static<T> {
        let mut statics = self.heap.handles.statics.lock().unwrap();
        let (class, cell) = statics.entry(name.into()).or_insert_with(|| {
            let cell = RootCell::new(self.heap, Raw::NULL, Location::caller());
            (TypeId::of::<T>(), cell)
        });
        let same = *class == TypeId::of::<T>();
        let cell = cell.clone();
        drop(statics);
        assert!(same, "static `{name}` was first used with another class");
        Static {
            cell,
            target: PhantomData,
        }
    }
}

macro_rules! cells {
    ($($handle:ident),*) => {$(
        impl<T: ?Sized> $handle<T> {
            pub(in crate::raw) fn cell(&self) -> &RootCell {
                &self.cell
            }
        }
    )*};
}
cells!(Root, Static, Weak);

impl HeapInner {
    /// A handle for an object of this heap, whatever its class. Only while the world is
    /// stopped.
    #[track_caller]
    pub(in crate::raw) fn add_root(&self, raw: Raw) -> Root<Object> {
        self.note_held(raw);
        let cell = RootCell::new(self, raw, Location::caller());
        // Not pruned here: what was a root when the world stopped stays one.
        self.handles.strong.lock().unwrap().all.push(cell.clone());
        Root {
            cell,
            target: PhantomData,
        }
    }

    /// Forgets handles that are gone, and lets the objects move again whose last
    /// pin is.
    pub(crate) fn prune_handles(&self) {
        self.handles.strong.lock().unwrap().prune();
        self.handles.weak.lock().unwrap().prune();
        let mut pinned = self.handles.pinned.lock().unwrap();
        let (kept, gone): (Vec<_>, Vec<_>) = std::mem::take(&mut pinned.all)
            .into_iter()
            .partition(|cell| Arc::strong_count(cell) > 1);
        for (cells, on) in [(&gone, false), (&kept, true)] {
            for cell in cells {
                let raw = Raw(cell.raw.load(Relaxed));
                // Whoever invalidates a pin has seen to the object.
                if self.refers(raw) {
                    self.set_pinned(raw, on);
                }
            }
        }
        pinned.all = kept;
    }

    /// Lets an object move again if no pin refers to it.
    pub(in crate::raw) fn update_pin(&self, raw: Raw) {
        let pinned = self.handles.pinned.lock().unwrap();
        let mut targets = pinned.all.iter().map(|cell| cell.raw.load(Relaxed));
        self.set_pinned(raw, targets.any(|target| target == raw.0));
    }

    /// Lets an object move again, or not.
    fn set_pinned(&self, raw: Raw, on: bool) {
        // SAFETY: the object was or is a root, so that it has not been freed.
        let header = unsafe { self.base.header(raw) };
        header.update_flags(|word| word.with_pinned(on));
    }
}
