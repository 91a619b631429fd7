//! Mutators: threads that use a heap, their scopes and locals.
//!
//! A [`Mutator`] is borrowed to read (`&m`) and borrowed mutably to do anything
//! after which objects may have moved or died: allocate, collect, pass a
//! safepoint, block. So the borrow checker rules out a reference that is held too
//! long. What must survive is a [`Local`], a cell on the mutator's own stack that the
//! collector knows and keeps up to date; `m[local]` is the object.
//!
//! Elsewhere: allocation (`alloc.rs`), attaching and detaching (`attach.rs`).

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::num::NonZeroU64;
use std::ops::Index;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::thread::ThreadId;

use crate::casts::Row;
use crate::collect::{Cause, Kind, Request};
use crate::error::Invalidated;
use crate::heap::HeapInner;
use crate::raw::memory::address::{Base, Raw};
use crate::raw::memory::sizes::SizeClass;
use crate::raw::memory::space::Cursor;
use crate::raw::mutators::alloc::CLASS_CACHE;
use crate::raw::mutators::sampler::Sampler;
use crate::raw::objects::handle::Root;
use crate::raw::objects::header::{Epoch, Word};
use crate::raw::objects::invalid;
use crate::raw::objects::object::{Managed, Object};
use crate::raw::objects::reference::{self, Extends, Reference};
use crate::raw::objects::slot::foreign_reference;
use crate::sites::ProgramSite;

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
    /// Its serial number, shifted to where locals have it.
    serial: u64,
    pub(in crate::raw) base: Base,
    stack: Box<[AtomicU32]>,
    height: Cell<Height>,
    /// The open scopes, outermost first.
    frames: Box<[Cell<Frame>; MAX_SCOPES]>,
    pub(crate) thread_object: AtomicU32,
    /// Place 0 is the nursery's; the others are the size classes'.
    pub(crate) cursors: [Cursor; SizeClass::COUNT + 1],
    /// 0 where all small objects go to the nursery, else all ones.
    pub(in crate::raw) cursor_mask: usize,
    /// The epoch bits of a new object's header.
    pub(in crate::raw) epoch: Cell<Epoch>,
    /// By the address of a descriptor: the header of a new object.
    pub(in crate::raw) class_cache: [Cell<(usize, Word)>; CLASS_CACHE],
    /// Objects allocated since the last collection whose class has owned fields.
    pub(crate) droppables: RefCell<Vec<Raw>>,
    /// What was allocated in each open region, innermost last; see `regions.rs`.
    pub(in crate::raw) regions: RefCell<Vec<Vec<Raw>>>,
    pub(in crate::raw) noted_classes: RefCell<HashMap<usize, u32>>,
    /// Allocations until zeal collects.
    pub(in crate::raw) zeal_countdown: Cell<u32>,
    pub(crate) runs_finalizers: Cell<bool>,
    /// How many collections had cut something for leak pruning when this mutator last tried again because of one.
    pub(crate) seen_cuts: Cell<u64>,
    pub(crate) sampler: Sampler,
    /// The mutator of another heap that was attached on this thread before and still is; see `reference.rs`.
    pub(in crate::raw) attached_before: Cell<*const MutatorShared>,
}

// SAFETY: H8.
unsafe impl Sync for MutatorShared {}
// SAFETY: H8.
unsafe impl Send for MutatorShared {}

/// How many locals a mutator has, in the lower half, and how many scopes: one word, for
/// a scope saves and restores both.
#[derive(Clone, Copy)]
pub(in crate::raw) struct Height(u64);

impl Height {
    #[inline]
    fn locals(self) -> usize {
        self.0 as u32 as usize
    }

    #[inline]
    fn scopes(self) -> usize {
        (self.0 >> 32) as usize
    }

    #[inline]
    fn plus_local(self) -> Self {
        Self(self.0 + 1)
    }

    #[inline]
    fn plus_scope(self) -> Self {
        Self(self.0 + (1 << 32))
    }
}

/// A scope: where in the program it was opened and where on the stack it begins.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    start: usize,
    place: Option<&'static Location<'static>>,
}

/// Scopes that can be open in one another.
const MAX_SCOPES: usize = 1 << 16;

impl MutatorShared {
    pub(crate) fn new(heap: &HeapInner, name: String, locals: usize) -> Self {
        let serial = next_serial();
        let sampler = Sampler::new(heap.config.how_sampled(), (serial >> PLACE_BITS) as u32);
        Self {
            name,
            thread: std::thread::current().id(),
            runs: AtomicBool::new(false),
            serial,
            base: heap.base,
            stack: zeroed_cells(locals),
            height: Cell::new(Height(0)),
            frames: zeroed_frames(),
            thread_object: AtomicU32::new(0),
            cursors: std::array::from_fn(|_| Cursor::sampling(sampler.first())),
            cursor_mask: heap.generations.cursor_mask(),
            epoch: Cell::new(heap.space.epoch()),
            class_cache: std::array::from_fn(|_| Cell::new((0, Word(0)))),
            droppables: RefCell::default(),
            regions: RefCell::default(),
            noted_classes: RefCell::default(),
            zeal_countdown: Cell::new(0),
            runs_finalizers: Cell::new(false),
            seen_cuts: Cell::new(0),
            sampler,
            attached_before: Cell::new(std::ptr::null()),
        }
    }

    /// A number that later mutators have larger.
    pub(crate) fn serial(&self) -> u64 {
        self.serial
    }

    /// Whether a local is this mutator's.
    #[inline]
    pub(crate) fn owns<T: ?Sized>(&self, local: Local<'_, T>) -> bool {
        local.bits.get() ^ self.serial <= MAX_LOCALS as u64
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
    pub(in crate::raw) fn local_cell<T: ?Sized>(&self, local: Local<'_, T>) -> &AtomicU32 {
        // What is left if the serial numbers agree is the place.
        let place = local.bits.get() ^ self.serial;
        if place > MAX_LOCALS as u64 {
            foreign_local();
        }
        // SAFETY: this mutator made the local, with a place on its stack, whose
        // length never changes.
        unsafe { self.stack.get_unchecked(place as usize) }
    }

    /// Whether there is room for that many more locals.
    #[inline]
    pub(in crate::raw) fn has_room_for(&self, locals: usize) -> bool {
        self.height.get().locals() + locals <= self.stack.len()
    }

    /// A new local of the innermost scope.
    #[inline]
    pub(in crate::raw) fn push<'a, T: ?Sized>(&self, raw: Raw) -> Local<'a, T> {
        let height = self.height.get();
        if !self.holds_one_more(height) {
            stack_overflow(self.stack.len());
        }
        // SAFETY: there is room.
        unsafe { self.push_at(height, raw) }
    }

    /// How many locals and scopes there are.
    #[inline(always)]
    pub(in crate::raw) fn height(&self) -> Height {
        self.height.get()
    }

    /// Whether there is room for one more local than that.
    #[inline(always)]
    pub(in crate::raw) fn holds_one_more(&self, height: Height) -> bool {
        height.locals() < self.stack.len()
    }

    /// A new local of the innermost scope.
    ///
    /// # Safety
    /// `height` is what [`height`](Self::height) returns, and there is [room](Self::holds_one_more).
    #[inline(always)]
    pub(in crate::raw) unsafe fn push_at<'a, T: ?Sized>(
        &self,
        height: Height,
        raw: Raw,
    ) -> Local<'a, T> {
        let top = height.locals();
        // SAFETY: the caller's promise.
        unsafe { self.stack.get_unchecked(top) }.store(raw.0, Relaxed);
        self.height.set(height.plus_local());
        Local {
            // SAFETY: serial numbers are not 0, and a place takes lower bits.
            bits: unsafe { NonZeroU64::new_unchecked(self.serial | top as u64) },
            scope: PhantomData,
            target: PhantomData,
        }
    }

    /// Opens a scope. Returns the height below it.
    #[inline]
    fn open_scope(&self, place: &'static Location<'static>) -> Height {
        let height = self.height.get();
        let Some(frame) = self.frames.get(height.scopes()) else {
            scope_overflow();
        };
        frame.set(Frame {
            start: height.locals(),
            place: Some(place),
        });
        self.height.set(height.plus_scope());
        height
    }

    /// Calls `f` with each local: its place, where its scope was opened, its cell.
    pub(crate) fn for_each_local(
        &self,
        mut f: impl FnMut(usize, &'static Location<'static>, &AtomicU32),
    ) {
        let height = self.height.get();
        let frames = &self.frames[..height.scopes()];
        let mut frame = 0;
        for (place, cell) in self.stack[..height.locals()].iter().enumerate() {
            while frames
                .get(frame + 1)
                .is_some_and(|next| next.get().start <= place)
            {
                frame += 1;
            }
            let scope = frames[frame].get().place;
            f(place, scope.expect("an open scope has a place"), cell);
        }
    }
}

/// Bits of a local that tell its place.
const PLACE_BITS: u32 = 24;

/// The most locals that a mutator can have.
pub(crate) const MAX_LOCALS: usize = (1 << PLACE_BITS) - 1;

fn next_serial() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let serial = NEXT.fetch_add(1, Relaxed);
    // Ten thousand a second for three years.
    assert!(
        serial < 1 << (64 - PLACE_BITS),
        "threads have attached 2^40 times"
    );
    serial << PLACE_BITS
}

/// Cells that take no memory before they are used.
fn zeroed_cells(count: usize) -> Box<[AtomicU32]> {
    // SAFETY: zero is a valid atomic.
    unsafe { Box::new_zeroed_slice(count).assume_init() }
}

/// Rows of the table of casts that take no memory before they are used.
pub(crate) fn zeroed_rows<const N: usize>() -> Box<[Row; N]> {
    // SAFETY: zero is a valid atomic.
    unsafe { Box::new_zeroed().assume_init() }
}

/// Frames that take no memory before they are used.
fn zeroed_frames() -> Box<[Cell<Frame>; MAX_SCOPES]> {
    // SAFETY: zero is a valid frame: at the bottom of the stack, without a place.
    unsafe { Box::new_zeroed().assume_init() }
}

#[cold]
#[track_caller]
fn scope_overflow() -> ! {
    panic!("more than {MAX_SCOPES} scopes are open in one another")
}

#[cold]
#[track_caller]
pub(in crate::raw) fn foreign_local() -> ! {
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
    /// The serial number of the mutator in the upper 40 bits, the cell's place on the
    /// stack in the others. A serial number is never used again: a thread that
    /// detaches and attaches anew is another mutator.
    bits: NonZeroU64,
    scope: PhantomData<&'s ()>,
    /// Invariant: a local can be assigned.
    target: PhantomData<fn(*const T) -> *const T>,
}

impl<T: ?Sized> Clone for Local<'_, T> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for Local<'_, T> {}

impl<'s, T: Managed + ?Sized> Local<'s, T> {
    /// This very local, its class forgotten. Nobody may set it through the result, which would take any object.
    #[inline]
    pub(in crate::raw) fn seen_as_object(self) -> Local<'s, Object> {
        Local {
            bits: self.bits,
            scope: PhantomData,
            target: PhantomData,
        }
    }
}

impl<T: Managed + ?Sized> Local<'_, T> {
    /// Another local for the same object, its class forgotten: `m.alloc(init)?.upcast(&m)`.
    ///
    /// # Panics
    /// If the local belongs to another mutator.
    #[inline]
    #[track_caller]
    pub fn upcast<'a>(self, m: &Mutator<'a>) -> Local<'a, Object> {
        m.shared.push(m.shared.local_raw(self))
    }

    /// Another local for the same object, seen as one of a class that its own extends. Where it is used says which one:
    /// `m.alloc(CircleInit { … })?.upcast_to(&m)` where a `Local<Shape>` is wanted.
    ///
    /// # Panics
    /// If the local belongs to another mutator.
    #[inline]
    #[track_caller]
    pub fn upcast_to<'a, U: Managed + ?Sized, Up>(self, m: &Mutator<'a>) -> Local<'a, U>
    where
        T: Extends<U, Up>,
    {
        m.shared.push(m.shared.local_raw(self))
    }

    /// Another local for the same object as a `U`, if its class is `U` or extends it.
    ///
    /// # Panics
    /// If the local belongs to another mutator, or the reference was invalidated.
    #[inline]
    #[track_caller]
    pub fn downcast<'a, U: Managed + ?Sized>(self, m: &Mutator<'a>) -> Option<Local<'a, U>> {
        m[self].as_object().downcast().map(|it: &U| m.local(it))
    }
}

/// A thread's access to a heap, and a scope of its locals.
///
/// It stays on its thread. While it exists and is not [blocked](Mutator::blocked),
/// collections wait for it, so a thread that computes for long without
/// allocating calls [`Mutator::safepoint`] now and then.
///
/// ```compile_fail,E0277
/// let heap = heaphound_gc::Heap::builder().build().unwrap();
/// let mut m = heap.attach("main").unwrap();
/// std::thread::scope(|scope| {
///     scope.spawn(move || m.collect());
/// });
/// ```
pub struct Mutator<'a> {
    pub(crate) shared: &'a MutatorShared,
    pub(crate) heap: &'a HeapInner,
    /// What was there before this scope.
    below: Height,
    /// The shared part, in the mutator that attached.
    attached: Option<Arc<MutatorShared>>,
    not_send: PhantomData<*mut ()>,
}

impl<'a> Mutator<'a> {
    /// Says where in the program that a language runtime runs this mutator allocates from now on; `None`, as in the
    /// beginning: where the runtime itself does. It costs a store.
    ///
    /// # Panics
    /// If the site is another heap's.
    #[inline]
    #[track_caller]
    pub fn set_site(&mut self, site: Option<ProgramSite>) {
        let number = site.map_or(0, |it| it.number_in(self.heap));
        self.shared.sampler.program.set(number);
    }

    /// # Safety
    /// `shared` is registered with `heap` and running, belongs to this thread and
    /// stays registered until the new value is dropped.
    pub(crate) unsafe fn new(
        heap: &'a HeapInner,
        shared: Arc<MutatorShared>,
        place: &'static Location<'static>,
    ) -> Self {
        let below = shared.open_scope(place);
        // SAFETY: on this thread, whose `drop` forgets it; if that is never called, neither is the shared part freed.
        unsafe { reference::remember(&shared) };
        Self {
            // SAFETY: `attached` keeps it alive as long as this value, and no scope of
            // this value outlives it.
            shared: unsafe { &*Arc::as_ptr(&shared) },
            heap,
            below,
            attached: Some(shared),
            not_send: PhantomData,
        }
    }

    /// The mutator of a scope that is open, once more. It ends nothing.
    ///
    /// # Safety
    /// `shared` is registered with `heap` and running, and belongs to this thread; its innermost scope stays open
    /// during `'a`, and its own mutator is not used while the new value is.
    pub(in crate::raw) unsafe fn in_same_scope(
        heap: &'a HeapInner,
        shared: &'a MutatorShared,
    ) -> ManuallyDrop<Self> {
        ManuallyDrop::new(Self {
            shared,
            heap,
            below: shared.height.get(),
            attached: None,
            not_send: PhantomData,
        })
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
        Mutator {
            shared: self.shared,
            heap: self.heap,
            below: self.shared.open_scope(Location::caller()),
            attached: None,
            not_send: PhantomData,
        }
    }

    /// Runs `f` in a scope of its own and keeps the object that it returns, as a
    /// local of this scope. For several objects, or none, see [`scoped_with`](Self::scoped_with).
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
    pub fn local<T: Managed + ?Sized>(&self, object: impl Reference<T>) -> Local<'a, T> {
        // SAFETY: this mutator is at no safepoint while it is borrowed (H2).
        self.shared.push(unsafe { object.raw_in(self.shared.base) })
    }

    /// Makes a local refer to another object, of its class or of one that extends it: `m.set_local(last, &m[node])`, or
    /// `m.set_local(last, node)`.
    ///
    /// # Panics
    /// If the object belongs to another heap, or a local to another mutator.
    #[inline]
    #[track_caller]
    pub fn set_local<T: Managed + ?Sized, Up>(
        &self,
        local: Local<'_, T>,
        object: impl Reference<T, Up>,
    ) {
        // SAFETY: this mutator is at no safepoint while it is borrowed (H2).
        let raw = unsafe { object.raw_in(self.shared.base) };
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

    /// The object that a reference of this heap refers to. Panics if it is invalid.
    ///
    /// # Safety
    /// `raw` is null, invalid or refers to a live `T` of this heap.
    #[inline]
    #[track_caller]
    pub(crate) unsafe fn at<T: Managed + ?Sized>(&self, raw: Raw) -> Option<&T> {
        if raw.is_null() {
            return None;
        }
        // SAFETY: the caller's promise.
        Some(unsafe { self.target(raw) })
    }

    /// The object of a reference that is not null. Panics if it is invalid.
    ///
    /// # Safety
    /// `raw` is invalid or refers to a live `T` of this heap.
    #[inline]
    #[track_caller]
    pub(in crate::raw) unsafe fn target<T: Managed + ?Sized>(&self, raw: Raw) -> &T {
        let object = self.shared.base.object(raw);
        // SAFETY: the caller's promise, and `&self` keeps this mutator from the next
        // safepoint (H2).
        unsafe {
            if raw.is_tagged() {
                invalid::target(object)
            } else {
                T::from_object(object)
            }
        }
    }

    /// As [`at`](Self::at), with an error if the reference is invalid.
    ///
    /// # Safety
    /// As for [`at`](Self::at).
    pub(crate) unsafe fn try_at<T: Managed + ?Sized>(
        &self,
        raw: Raw,
    ) -> Result<Option<&T>, Invalidated> {
        if raw.is_tagged() {
            self.heap.check(raw)?;
        }
        // SAFETY: the caller's promise.
        Ok(unsafe { self.at(raw) })
    }

    /// The object of a local, unless the reference was invalidated.
    ///
    /// # Panics
    /// If the local belongs to another mutator.
    #[track_caller]
    pub fn try_get<T: Managed + ?Sized>(&self, local: Local<'_, T>) -> Result<&T, Invalidated> {
        // SAFETY: a local refers to a live object of its type or is invalid (H3).
        let object = unsafe { self.try_at(self.shared.local_raw(local))? };
        Ok(object.expect("a local is never null"))
    }

    /// A local that refers to a `T` known to be one.
    ///
    /// # Safety
    /// `raw` is invalid or refers to a live `T` of this heap.
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
    ///
    /// # Panics
    /// If an assertion has failed that is to halt the program.
    #[inline]
    pub fn safepoint(&mut self) {
        if self.heap.safepoints.stop_requested() {
            self.heap.safepoints.park(&self.shared.runs);
            self.heap.check_halted();
        }
    }

    /// Runs `f`, which may wait for locks or I/O, without delaying collections.
    ///
    /// A thread that uses several heaps does the same in those that it does not use for a while. It runs
    /// in all of them, may hold references into all of them, and so no collection of one can begin before it has
    /// come to a safepoint there. Two threads, each of which wants to collect one heap while it runs in the other's,
    /// would wait for each other for ever. That is noticed: where an allocation wants a collection the heap
    /// grows instead, up to its limit; what the program asks for, such as [`Mutator::collect`], panics if nothing
    /// else gives way. Inside `blocked` it cannot happen:
    ///
    /// ```
    /// # let heaps = [(); 2].map(|()| heaphound_gc::Heap::builder().build().unwrap());
    /// # let [mut orders, mut cache] = heaps.each_ref().map(|it| it.attach("main").unwrap());
    /// orders.blocked(|| cache.collect());
    /// ```
    ///
    /// # Panics
    /// If `f` attaches this thread to the heap and does not detach it. If it panics before it does, the next
    /// collection that this thread wants says so.
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
        if let Some(rival) = self.heap.rival_of(self.shared) {
            panic!("`{rival}` was attached while this mutator was blocked and is not detached yet");
        }
        drop(unblock);
        result
    }

    /// Collects the whole heap now, sweeps it completely, and runs the finalizers and
    /// drops of what has died.
    ///
    /// # Panics
    /// If threads that use several heaps would wait for each other for ever; see [`Mutator::blocked`].
    pub fn collect(&mut self) {
        self.heap
            .collect_or_panic(self.shared, Request::new(Kind::Full, Cause::Request));
        self.heap.finish(self);
    }

    /// Collects the nursery now; the whole heap where there is no nursery.
    ///
    /// # Panics
    /// As for [`Mutator::collect`].
    pub fn collect_nursery(&mut self) {
        self.heap
            .collect_or_panic(self.shared, Request::new(Kind::Nursery, Cause::Request));
        self.heap.finish(self);
    }
}

impl Drop for Mutator<'_> {
    #[inline]
    fn drop(&mut self) {
        self.shared.height.set(self.below);
        if let Some(shared) = self.attached.take() {
            reference::forget(&shared);
            self.heap.detach(&shared);
        }
    }
}

impl<T: Managed + ?Sized> Index<Local<'_, T>> for Mutator<'_> {
    type Output = T;

    #[inline]
    #[track_caller]
    fn index(&self, local: Local<'_, T>) -> &T {
        let raw = self.shared.local_raw(local);
        // SAFETY: a local that is not invalid refers to a live object of its type (H3).
        unsafe { self.target(raw) }
    }
}

impl<T: Managed + ?Sized> Index<&Root<T>> for Mutator<'_> {
    type Output = T;

    #[inline]
    #[track_caller]
    fn index(&self, root: &Root<T>) -> &T {
        let raw = root.raw_in(self.heap);
        // SAFETY: as for a local; the root is of this heap, as `raw_in` checked.
        unsafe { self.target(raw) }
    }
}
