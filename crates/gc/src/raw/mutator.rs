//! Mutators: threads that use a heap, their scopes and locals, and allocation.
//!
//! A [`Mutator`] is borrowed to read (`&m`) and borrowed mutably to do anything
//! after which objects may have moved or died: allocate, collect, pass a
//! safepoint, block. So the borrow checker rules out a reference that is held too
//! long. What must survive is a [`Local`], a cell on the mutator's own stack that the
//! collector knows and keeps up to date; `m[local]` is the object.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::num::NonZeroU64;
use std::ops::Index;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::thread::ThreadId;

use super::handle::Root;
use super::header::{Header, Word};
use super::object::{Descriptor, Filler, Init, Managed, Object};
use super::region::{Base, REGION, Raw};
use super::sizes::{MAX_SMALL, SizeClass};
use super::slot::{foreign_reference, mark_card};
use super::space::{Cursor, Demand, Refusal};
use super::trace::MAX_FIXED_BYTES;
use crate::collect::{Cause, Kind};
use crate::error::OutOfMemory;
use crate::heap::HeapInner;

/// What a heap knows of one of its mutators.
///
/// Heap invariant H8: everything here that is not an atomic is touched by the
/// mutator's own thread while it runs, and by the collector while the world is
/// stopped; the safepoint protocol orders the two.
pub(crate) struct MutatorShared {
    pub(crate) name: String,
    pub(crate) thread: ThreadId,
    /// Whether it runs, as opposed to waiting at a safepoint or being blocked.
    pub(crate) runs: AtomicBool,
    serial: NonZeroU64,
    base: Base,
    stack: Box<[AtomicU32]>,
    top: Cell<usize>,
    frames: RefCell<Vec<Frame>>,
    pub(crate) thread_object: AtomicU32,
    /// Place 0 is the nursery's; the others are the size classes'.
    pub(crate) cursors: [Cursor; SizeClass::COUNT + 1],
    /// 0 where all small objects go to the nursery, else all ones.
    cursor_mask: usize,
    /// The epoch bits of a new object's header.
    pub(crate) epoch: Cell<super::header::Epoch>,
    class_cache: [Cell<(usize, u32)>; 64],
    /// Objects allocated since the last collection whose class has owned fields.
    pub(crate) droppables: RefCell<Vec<Raw>>,
    /// Allocations until zeal collects.
    zeal_countdown: Cell<u32>,
    pub(crate) runs_finalizers: Cell<bool>,
}

// SAFETY: H8.
unsafe impl Sync for MutatorShared {}
// SAFETY: H8.
unsafe impl Send for MutatorShared {}

/// A scope: where in the program it was opened and where on the stack it begins.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    pub(crate) start: usize,
    pub(crate) place: &'static Location<'static>,
}

impl MutatorShared {
    pub(crate) fn new(heap: &HeapInner, name: String, locals: usize) -> Self {
        Self {
            name,
            thread: std::thread::current().id(),
            runs: AtomicBool::new(false),
            serial: next_serial(),
            base: heap.base,
            stack: zeroed_cells(locals),
            top: Cell::new(0),
            frames: RefCell::default(),
            thread_object: AtomicU32::new(0),
            cursors: std::array::from_fn(|_| Cursor::default()),
            cursor_mask: if heap.nursery.is_some() { 0 } else { !0 },
            epoch: Cell::new(heap.space.epoch()),
            class_cache: std::array::from_fn(|_| Cell::new((0, 0))),
            droppables: RefCell::default(),
            zeal_countdown: Cell::new(0),
            runs_finalizers: Cell::new(false),
        }
    }

    /// The object that a local refers to.
    ///
    /// # Panics
    /// If the local is not this mutator's.
    #[inline]
    #[track_caller]
    pub(crate) fn local_raw<T: ?Sized>(&self, local: Local<'_, T>) -> Raw {
        Raw(self.local_cell(local).load(Relaxed))
    }

    /// The cell of a local. That its scope is still open follows from lifetimes; that
    /// it is a scope of this mutator does not, and is checked.
    #[inline]
    #[track_caller]
    fn local_cell<T: ?Sized>(&self, local: Local<'_, T>) -> &AtomicU32 {
        if local.mutator != self.serial {
            foreign_local();
        }
        &self.stack[local.place as usize]
    }

    #[inline]
    fn push<'a, T: ?Sized>(&self, raw: Raw) -> Local<'a, T> {
        let top = self.top.get();
        let Some(cell) = self.stack.get(top) else {
            stack_overflow(self.stack.len());
        };
        cell.store(raw.0, Relaxed);
        self.top.set(top + 1);
        Local {
            mutator: self.serial,
            place: top as u32,
            scope: PhantomData,
            target: PhantomData,
        }
    }

    /// Calls `f` with each local: its place, its scope, its cell.
    pub(crate) fn for_each_local(&self, mut f: impl FnMut(usize, &Frame, &AtomicU32)) {
        let frames = self.frames.borrow();
        let mut frame = 0;
        for (place, cell) in self.stack[..self.top.get()].iter().enumerate() {
            while frames
                .get(frame + 1)
                .is_some_and(|next| next.start <= place)
            {
                frame += 1;
            }
            f(place, &frames[frame], cell);
        }
    }
}

fn next_serial() -> NonZeroU64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NonZeroU64::new(NEXT.fetch_add(1, Relaxed)).expect("2^64 mutators take longer than that")
}

/// Cells that take no memory before they are used.
fn zeroed_cells(count: usize) -> Box<[AtomicU32]> {
    // SAFETY: zero is a valid atomic.
    unsafe { Box::new_zeroed_slice(count).assume_init() }
}

#[cold]
#[track_caller]
fn foreign_local() -> ! {
    panic!("a local was used with another mutator than the one that made it")
}

#[cold]
#[track_caller]
fn stack_overflow(locals: usize) -> ! {
    panic!(
        "more than {locals} locals at once: open a scope around the loop or the call that makes them (see `HeapBuilder::max_locals`)"
    )
}

/// A reference that a scope of a mutator keeps alive: a cell on the mutator's
/// stack, which the collector updates when the object moves. `m[local]` is the object.
pub struct Local<'s, T: ?Sized> {
    /// The serial number of the mutator, which is never used again: a thread that
    /// detaches and attaches anew is another mutator.
    mutator: NonZeroU64,
    place: u32,
    scope: PhantomData<&'s ()>,
    target: PhantomData<fn() -> *const T>,
}

impl<T: ?Sized> Clone for Local<'_, T> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for Local<'_, T> {}

impl<'s, T: Managed + ?Sized> Local<'s, T> {
    /// The same local, the object's class forgotten.
    pub fn upcast(self) -> Local<'s, Object> {
        Local {
            mutator: self.mutator,
            place: self.place,
            scope: PhantomData,
            target: PhantomData,
        }
    }
}

/// A thread's access to a heap, and a scope of its locals.
///
/// It stays on its thread. While it exists and is not [blocked](Mutator::blocked),
/// collections wait for it, so a thread that computes for long without
/// allocating calls [`Mutator::safepoint`] now and then.
pub struct Mutator<'a> {
    pub(crate) shared: &'a MutatorShared,
    pub(crate) heap: &'a HeapInner,
    /// Stack height and number of frames below this scope.
    below: (usize, usize),
    attached: bool,
    not_send: PhantomData<*mut ()>,
}

impl<'a> Mutator<'a> {
    /// # Safety
    /// `shared` is registered with `heap` and running, belongs to this thread and
    /// stays registered until the new value is dropped.
    pub(crate) unsafe fn new(
        heap: &'a HeapInner,
        shared: &'a MutatorShared,
        place: &'static Location<'static>,
    ) -> Self {
        shared.frames.borrow_mut().push(Frame { start: 0, place });
        Self {
            shared,
            heap,
            below: (0, 0),
            attached: true,
            not_send: PhantomData,
        }
    }

    /// The name given when the thread attached.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Opens a scope: locals made in it are let go when it ends. Reports name a
    /// scope by the line that opened it.
    #[track_caller]
    #[inline]
    pub fn scope(&mut self) -> Mutator<'_> {
        let start = self.shared.top.get();
        let mut frames = self.shared.frames.borrow_mut();
        let below = (start, frames.len());
        frames.push(Frame {
            start,
            place: Location::caller(),
        });
        drop(frames);
        Mutator {
            shared: self.shared,
            heap: self.heap,
            below,
            attached: false,
            not_send: PhantomData,
        }
    }

    /// Runs `f` in a scope of its own and keeps the object that it answers, as a
    /// local of this scope.
    #[track_caller]
    #[inline]
    pub fn scoped<T, E>(
        &mut self,
        f: impl for<'b> FnOnce(&mut Mutator<'b>) -> Result<Local<'b, T>, E>,
    ) -> Result<Local<'a, T>, E>
    where
        T: Managed + ?Sized,
    {
        // Asked of this mutator and not of `scope`, in whose place the closure may
        // have put another one.
        let shared = self.shared;
        let raw = {
            let mut scope = self.scope();
            let local = f(&mut scope)?;
            shared.local_raw(local)
        };
        Ok(shared.push(raw))
    }

    /// Keeps an object alive in this scope.
    ///
    /// # Panics
    /// If the object belongs to another heap.
    #[inline]
    #[track_caller]
    pub fn local<T: Managed + ?Sized>(&self, object: &T) -> Local<'a, T> {
        self.shared.push(self.own(object))
    }

    /// Makes a local refer to another object.
    ///
    /// # Panics
    /// If the object belongs to another heap, or the local to another mutator.
    #[inline]
    #[track_caller]
    pub fn assign<T: Managed + ?Sized>(&self, local: Local<'_, T>, object: &T) {
        let raw = self.own(object);
        self.shared.local_cell(local).store(raw.0, Relaxed);
    }

    /// The reference to an object of this very heap.
    #[inline]
    #[track_caller]
    pub(crate) fn own<T: Managed + ?Sized>(&self, object: &T) -> Raw {
        let object = object.as_object();
        if Base::of(object) != self.shared.base {
            foreign_reference();
        }
        object.raw()
    }

    /// The object that a reference of this heap refers to.
    ///
    /// # Safety
    /// `raw` is null or refers to a live `T` of this heap.
    #[inline]
    pub(crate) unsafe fn at<T: Managed + ?Sized>(&self, raw: Raw) -> Option<&T> {
        if raw.is_null() {
            return None;
        }
        // SAFETY: the caller's promise, and `&self` keeps this mutator from the next
        // safepoint (H2).
        Some(unsafe { T::from_object(self.shared.base.object(raw)) })
    }

    /// A local that refers to a `T` known to be one.
    ///
    /// # Safety
    /// `raw` refers to a live `T` of this heap.
    pub(crate) unsafe fn local_at<T: Managed + ?Sized>(&self, raw: Raw) -> Local<'a, T> {
        self.shared.push(raw)
    }

    /// Names the object that stands for this thread, or none.
    #[track_caller]
    pub fn set_thread_object<T: Managed + ?Sized>(&self, object: Option<&T>) {
        let raw = object.map_or(Raw::NULL, |object| self.own(object));
        self.shared.thread_object.store(raw.0, Relaxed);
    }

    /// Lets a collection happen if one is waiting.
    #[inline]
    pub fn safepoint(&mut self) {
        if self.heap.safepoints.stop_requested() {
            self.heap.safepoints.park(&self.shared.runs);
        }
    }

    /// Runs `f`, which may wait for locks or I/O, without delaying collections.
    ///
    /// # Panics
    /// If `f` attaches this thread to the heap and does not detach it.
    pub fn blocked<R>(&mut self, f: impl FnOnce() -> R) -> R {
        struct Unblock<'m>(&'m HeapInner, &'m MutatorShared);
        impl Drop for Unblock<'_> {
            fn drop(&mut self) {
                self.0.safepoints.enter(&self.1.runs);
            }
        }
        self.heap.safepoints.leave(&self.shared.runs);
        let unblock = Unblock(self.heap, self.shared);
        let result = f();
        // Two that run on one thread would wait for each other.
        if let Some(rival) = self.heap.mutator_of(self.shared.thread) {
            panic!("`{rival}` was attached while this mutator was blocked and is not detached yet");
        }
        drop(unblock);
        result
    }

    /// Collects the whole heap now, sweeps it completely, and runs the finalizers and
    /// drops of what has died.
    pub fn collect(&mut self) {
        self.heap
            .collect(self.shared, Kind::Full, Cause::Request, 0);
        self.heap.finish(self);
    }

    /// Collects the nursery now; the whole heap where there is no nursery.
    pub fn collect_nursery(&mut self) {
        self.heap
            .collect(self.shared, Kind::Nursery, Cause::Request, 0);
        self.heap.finish(self);
    }

    /// The number of `T`'s class, from a small cache.
    #[inline]
    pub(crate) fn class_of(&self, descriptor: &'static Descriptor) -> u32 {
        let key = (&raw const *descriptor).addr();
        let entry = &self.shared.class_cache[(key >> 4) % 64];
        let (cached, class) = entry.get();
        if cached == key {
            return class;
        }
        self.class_of_slow(descriptor, key)
    }

    #[cold]
    fn class_of_slow(&self, descriptor: &'static Descriptor, key: usize) -> u32 {
        let class = self
            .heap
            .classes
            .of(descriptor)
            .unwrap_or_else(|error| panic!("{error}"))
            .0;
        self.shared.class_cache[(key >> 4) % 64].set((key, class));
        class
    }

    /// Allocates an instance of a class.
    ///
    /// # Panics
    /// If a local in `init` belongs to another mutator.
    #[inline]
    pub fn alloc<I: Init>(&mut self, init: I) -> Result<Local<'a, I::Class>, OutOfMemory> {
        const {
            assert!(
                align_of::<I::Class>() <= 8,
                "a managed struct's alignment is at most 8"
            );
            assert!(
                size_of::<I::Class>() <= MAX_FIXED_BYTES,
                "a managed struct has at most 131,064 bytes"
            )
        };
        let descriptor = I::Class::DESCRIPTOR;
        let class = self.class_of(descriptor);
        let bytes = size_of::<I::Class>();
        let place = self.reserve(bytes)?;
        let header = Header::new(Word::object(class, self.shared.epoch.get()));
        let filler = Filler {
            mutator: self.shared,
        };
        // Still unclaimed here: if `build` panics, nothing has happened.
        let object = init.build(header, &filler);
        // SAFETY: `place` is free memory for this many bytes, and the claim below
        // makes it an object before anybody looks.
        unsafe { place.at.cast::<I::Class>().write(object) };
        let raw = self.claim(place);
        if const { I::Class::DESCRIPTOR.drop.is_some() } {
            self.shared.droppables.borrow_mut().push(raw);
        }
        Ok(self.shared.push(raw))
    }

    /// Allocates an object that `write` then completes. `write` must initialise
    /// all of it but the header.
    #[inline]
    pub(crate) fn alloc_with<T: ?Sized>(
        &mut self,
        class: u32,
        bytes: usize,
        write: impl FnOnce(*mut u8, &MutatorShared),
    ) -> Result<Local<'a, T>, OutOfMemory> {
        let place = self.reserve(bytes)?;
        write(place.at, self.shared);
        let header = Header::new(Word::object(class, self.shared.epoch.get()));
        // SAFETY: `place` is free memory, as in `alloc`.
        unsafe { place.at.cast::<Header>().write(header) };
        let raw = self.claim(place);
        Ok(self.shared.push(raw))
    }

    /// Finds room for an object; may collect. The room is not taken until `claim`.
    #[inline]
    fn reserve(&mut self, bytes: usize) -> Result<Place, OutOfMemory> {
        if bytes > MAX_SMALL {
            return self.reserve_large(bytes);
        }
        let size_class = SizeClass::of(bytes);
        let cell = size_class.cell_bytes();
        let index = (size_class.0 as usize + 1) & self.shared.cursor_mask;
        let cursor = &self.shared.cursors[index];
        if cursor.next.get() + cell > cursor.limit.get() {
            self.refill(size_class)?;
        }
        Ok(Place {
            at: self.shared.base.at(cursor.next.get() & (REGION - 1)),
            cell,
            index,
        })
    }

    #[inline]
    fn claim(&mut self, place: Place) -> Raw {
        let raw = Raw::of(place.at);
        if place.cell == 0 {
            self.claim_large(raw);
        } else {
            let cursor = &self.shared.cursors[place.index];
            cursor.next.set(cursor.next.get() + place.cell);
        }
        raw
    }

    /// A new large object is old at once: all its cards are marked, for what it was
    /// filled with may be young.
    #[cold]
    fn claim_large(&self, raw: Raw) {
        if self.heap.nursery.is_some() {
            let end = raw.offset() + self.heap.space.footprint(raw);
            for offset in (raw.offset()..end).step_by(super::region::CARD) {
                mark_card(self.shared.base, offset);
            }
        }
    }

    #[cold]
    fn reserve_large(&mut self, bytes: usize) -> Result<Place, OutOfMemory> {
        self.before_refill();
        let (mut tried, mut demand) = (None, Demand::Usual);
        loop {
            match self.heap.space.take_large(bytes, demand) {
                Ok(raw) => {
                    return Ok(Place {
                        at: self.shared.base.object(raw),
                        cell: 0,
                        index: 0,
                    });
                }
                Err(refusal) => self.collect_for(bytes, refusal, &mut tried)?,
            }
            demand = Demand::Collected;
        }
    }

    /// Gets fresh room for the size class, collecting if need be.
    #[cold]
    fn refill(&mut self, size_class: SizeClass) -> Result<(), OutOfMemory> {
        self.before_refill();
        let cell = size_class.cell_bytes();
        let (mut tried, mut demand) = (None, Demand::Usual);
        loop {
            let refusal = match &self.heap.nursery {
                Some(nursery) => {
                    let chunk = if self.heap.config.zeal.is_some() {
                        cell
                    } else {
                        nursery.chunk_bytes()
                    };
                    if let Some((start, end)) = nursery.take(chunk, cell) {
                        let cursor = &self.shared.cursors[0];
                        cursor.next.set(self.shared.base.at(start).addr());
                        cursor.limit.set(self.shared.base.at(end).addr());
                        return Ok(());
                    }
                    Refusal::CollectionDue
                }
                None => {
                    let cursor = &self.shared.cursors[size_class.0 as usize + 1];
                    match self.heap.space.refill(cursor, size_class, demand) {
                        Ok(()) => {
                            if self.heap.config.zeal.is_some() {
                                self.heap.space.leave_one_cell(cursor, size_class);
                            }
                            return Ok(());
                        }
                        Err(refusal) => refusal,
                    }
                }
            };
            self.collect_for(cell, refusal, &mut tried)?;
            demand = Demand::Collected;
        }
    }

    fn before_refill(&mut self) {
        self.safepoint();
        if let Some(every) = self.heap.config.zeal {
            let left = self.shared.zeal_countdown.get();
            if left == 0 {
                self.shared.zeal_countdown.set(every.get() - 1);
                // Alternate, so that both kinds of collection are tried.
                let kind = match self.heap.collections().is_multiple_of(4) {
                    true => Kind::Full,
                    false => Kind::Nursery,
                };
                self.heap.collect(self.shared, kind, Cause::Zeal, 0);
                self.heap.finish(self);
            } else {
                self.shared.zeal_countdown.set(left - 1);
            }
        }
    }

    /// Collects because `bytes` were refused; an error once that has not helped.
    fn collect_for(
        &mut self,
        bytes: usize,
        refusal: Refusal,
        tried: &mut Option<u64>,
    ) -> Result<(), OutOfMemory> {
        let kind = match (refusal, &self.heap.nursery) {
            (Refusal::CollectionDue, Some(_)) if bytes <= MAX_SMALL => Kind::Nursery,
            _ => Kind::Full,
        };
        if refusal == Refusal::Full {
            // Only a full collection that began after the first refusal counts.
            let before = tried.get_or_insert(self.heap.full_collections());
            if self.heap.full_collections() > *before + 1 {
                return Err(self.heap.out_of_memory(self, bytes));
            }
        }
        let outcome = self
            .heap
            .collect(self.shared, kind, Cause::Allocation, bytes);
        self.heap.finish(self);
        if outcome.over_limit {
            return Err(self.heap.out_of_memory(self, bytes));
        }
        Ok(())
    }
}

/// Room for an object, found but not yet taken.
struct Place {
    at: *mut u8,
    /// Bytes of the cell; 0 for a large object.
    cell: usize,
    index: usize,
}

impl Drop for Mutator<'_> {
    fn drop(&mut self) {
        let (top, frames) = self.below;
        self.shared.top.set(top);
        self.shared.frames.borrow_mut().truncate(frames);
        if self.attached {
            self.heap.detach(self.shared);
        }
    }
}

impl<T: Managed + ?Sized> Index<Local<'_, T>> for Mutator<'_> {
    type Output = T;

    #[inline]
    #[track_caller]
    fn index(&self, local: Local<'_, T>) -> &T {
        let raw = self.shared.local_raw(local);
        // SAFETY: a local refers to a live object of its type (H3), and `&self`
        // keeps this mutator from the next safepoint (H2).
        unsafe { T::from_object(self.shared.base.object(raw)) }
    }
}

impl<T: Managed + ?Sized> Index<&Root<T>> for Mutator<'_> {
    type Output = T;

    #[inline]
    #[track_caller]
    fn index(&self, root: &Root<T>) -> &T {
        let raw = root.raw_in(self.heap);
        // SAFETY: as for a local; the root is of this heap, as `raw_in` checked.
        unsafe { T::from_object(self.shared.base.object(raw)) }
    }
}
