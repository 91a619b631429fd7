//! A mutator thread: allocation, write barrier, roots, safepoints.
//!
//! The fast paths are those that MMTk recommends to a virtual machine: its
//! thread-local bump pointer is read and advanced here, and the log bit of the
//! object-remembering barrier is tested here; MMTk is called only when the
//! buffer is used up or an old object is written to for the first time. For a
//! free-list space, MMTk's own allocator is called directly, without its
//! dispatch on the kind of allocator.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU8, Ordering};

use mmtk::util::alloc::{
    Allocator, AllocatorSelector, BumpAllocator, BumpPointer, FreeListAllocator, ImmixAllocator,
};
use mmtk::util::{OpaquePointer, VMMutatorThread, VMThread};
use mmtk::vm::ObjectModel;
use mmtk::vm::slot::SimpleSlot;
use mmtk::{AllocationSemantics, Mutator, memory_manager};

use super::Plan;
use super::binding::{Objects, PeerVm, World, mmtk};
use super::object::{self, ClassId, Object};

/// A thread that allocates. It unregisters itself when dropped.
pub struct Thread<P: Plan> {
    /// In a box: MMTk and the fast paths hold pointers into it.
    shared: Box<Shared>,
    fast: FastPath,
    /// Where the log bits begin.
    log_bits: usize,
    /// Larger objects go to the large object space.
    largest_small_bytes: usize,
    plan: PhantomData<P>,
}

/// The part of a thread that collector threads see while it is stopped.
pub struct Shared {
    pub mutator: Box<Mutator<PeerVm>>,
    /// The root stack; entries from `top` on are unused.
    roots: Box<[Object]>,
    top: usize,
}

/// Pointers into the mutator, of which a plan uses one.
#[derive(Clone, Copy)]
union FastPath {
    bump: *mut BumpPointer,
    free_list: *mut FreeListAllocator<PeerVm>,
}

const ALIGN: usize = 8;
const MAX_ROOTS: usize = 4096;

impl<P: Plan> Thread<P> {
    pub fn attach() -> Self {
        let mut shared = World::register(Shared::new);
        let selector = memory_manager::get_allocator_mapping(mmtk(), AllocationSemantics::Default);
        let offset = Mutator::<PeerVm>::get_allocator_base_offset(selector);
        // SAFETY: MMTk documents that the allocator lies at this offset; the
        // mutator is boxed and outlives the pointer.
        let allocator = unsafe { (&raw mut *shared.mutator).byte_add(offset) };
        // SAFETY: the selector says which type the allocator has.
        let fast = unsafe {
            match selector {
                AllocatorSelector::BumpPointer(_) => FastPath {
                    bump: &raw mut (*allocator.cast::<BumpAllocator<PeerVm>>()).bump_pointer,
                },
                AllocatorSelector::Immix(_) => FastPath {
                    bump: &raw mut (*allocator.cast::<ImmixAllocator<PeerVm>>()).bump_pointer,
                },
                AllocatorSelector::FreeList(_) => FastPath {
                    free_list: allocator.cast(),
                },
                other => panic!("no fast path for {other:?}"),
            }
        };
        assert_eq!(
            P::BUMPS,
            !matches!(selector, AllocatorSelector::FreeList(_))
        );
        Thread {
            shared,
            fast,
            log_bits: Objects::GLOBAL_LOG_BIT_SPEC
                .as_spec()
                .extract_side_spec()
                .get_starting_address()
                .as_usize(),
            largest_small_bytes: mmtk()
                .get_plan()
                .constraints()
                .max_non_los_default_alloc_bytes,
            plan: PhantomData,
        }
    }

    /// Allocates an object of a class with fixed size, all slots null.
    #[inline(always)]
    pub fn new_object(&mut self, class: ClassId, bytes: usize) -> Object {
        debug_assert_eq!(bytes, class.bytes());
        self.allocate(object::header(class, 0), bytes)
    }

    /// Allocates an array, all elements null or zero.
    #[inline]
    pub fn new_array(&mut self, class: ClassId, length: usize) -> Object {
        let bytes = object::array_bytes(length);
        let header = object::header(class, length);
        if bytes > self.largest_small_bytes {
            return self.allocate_large(header, bytes);
        }
        self.allocate(header, bytes)
    }

    #[inline(always)]
    fn allocate(&mut self, header: u64, bytes: usize) -> Object {
        if World::wants_stop() {
            self.stop();
        }
        let address = if P::BUMPS {
            // SAFETY: `attach` chose this field for this plan, and the mutator
            // that it points into is alive and used by this thread only.
            let bump = unsafe { &mut *self.fast.bump };
            let start = bump.cursor;
            let end = start + bytes;
            if end <= bump.limit {
                bump.cursor = end;
                start
            } else {
                self.allocate_slowly(bytes)
            }
        } else {
            // SAFETY: as above.
            let free_list = unsafe { &mut *self.fast.free_list };
            free_list.alloc(bytes, ALIGN, 0)
        };
        // SAFETY: MMTk gave us this memory for an object, or ended the process.
        let object = unsafe { Object::from_address(address) };
        object.set_header(header);
        object
    }

    /// Not `alloc_slow`, which would take a clean block although Immix may have
    /// free lines to reuse.
    #[cold]
    #[inline(never)]
    fn allocate_slowly(&mut self, bytes: usize) -> mmtk::util::Address {
        let semantics = AllocationSemantics::Default;
        memory_manager::alloc(&mut self.shared.mutator, bytes, ALIGN, 0, semantics)
    }

    #[cold]
    #[inline(never)]
    fn allocate_large(&mut self, header: u64, bytes: usize) -> Object {
        let semantics = AllocationSemantics::Los;
        let mutator = &mut self.shared.mutator;
        let address = memory_manager::alloc(mutator, bytes, ALIGN, 0, semantics);
        // SAFETY: MMTk gave us this memory for an object, or ended the process.
        let object = unsafe { Object::from_address(address) };
        object.set_header(header);
        memory_manager::post_alloc(mutator, object.reference(), bytes, semantics);
        object
    }

    /// Writes a slot of an object that may be old.
    #[inline(always)]
    pub fn write_slot(&mut self, object: Object, slot: usize, value: Object) {
        object.initialize_slot(slot, value);
        if P::REMEMBERS && self.is_unlogged(object) {
            self.remember(object, slot, value);
        }
    }

    /// Whether the object is old and not yet remembered: one bit for each word
    /// of the heap.
    #[inline(always)]
    fn is_unlogged(&self, object: Object) -> bool {
        let word = object.address() >> 3;
        let byte = (self.log_bits + (word >> 3)) as *const AtomicU8;
        // SAFETY: MMTk maps the log bits of every address it allocates.
        let bits = unsafe { &*byte }.load(Ordering::Relaxed);
        bits & (1 << (word & 7)) != 0
    }

    #[cold]
    #[inline(never)]
    fn remember(&mut self, object: Object, slot: usize, value: Object) {
        self.shared.mutator.barrier.object_reference_write_slow(
            object.reference(),
            SimpleSlot::from_address(object.slot_address(slot)),
            value.non_null().map(Object::reference),
        );
    }

    #[inline(always)]
    pub fn push_root(&mut self, object: Object) {
        let shared = &mut *self.shared;
        shared.roots[shared.top] = object;
        shared.top += 1;
    }

    #[inline(always)]
    pub fn pop_root(&mut self) -> Object {
        let shared = &mut *self.shared;
        shared.top -= 1;
        shared.roots[shared.top]
    }

    /// A root by its place on the stack.
    #[inline(always)]
    pub fn root(&self, place: usize) -> Object {
        self.shared.roots[place]
    }

    #[inline(always)]
    pub fn set_root(&mut self, place: usize, object: Object) {
        self.shared.roots[place] = object;
    }

    /// A full collection, sweeping included.
    pub fn collect_fully(&mut self) {
        mmtk().handle_user_collection_request(self.tls(), true, true);
        if P::SWEEPS_LAZILY {
            self.complete_sweep();
        }
    }

    /// Sweeps what the last collection left to allocation.
    ///
    /// MMTk has no call for this. Its allocator sweeps a block of the wanted
    /// size when it has none with a free cell; so allocate one cell of each
    /// size, put the block that it came from aside, and repeat until MMTk takes
    /// a fresh block, which means that nothing is left to sweep. Blocks put
    /// aside are considered again in the next collection.
    fn complete_sweep(&mut self) {
        // One size for each of the allocator's bins: eight steps of a word, then
        // four to each power of two.
        let small = (1..=8).map(|words| words * 8);
        let large = (6..16).flat_map(|log| (5..=8).map(move |quarters| quarters << (log - 2)));
        let largest = self.largest_small_bytes;
        for bytes in small.chain(large).take_while(|bytes| *bytes <= largest) {
            loop {
                let used = memory_manager::used_bytes(mmtk());
                let object = self.new_array(ClassId::WORDS, bytes / 8 - 1);
                debug_assert!(!object.is_null());
                if memory_manager::used_bytes(mmtk()) > used {
                    break;
                }
                // SAFETY: only this plan sweeps lazily, and it uses free lists.
                let free_list = unsafe { &mut *self.fast.free_list };
                for (available, consumed) in free_list
                    .available_blocks
                    .iter_mut()
                    .zip(free_list.consumed_blocks.iter_mut())
                {
                    while let Some(block) = available.pop() {
                        consumed.push(block);
                    }
                }
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn stop(&mut self) {
        World::stop_here();
    }

    fn tls(&self) -> VMMutatorThread {
        self.shared.mutator.mutator_tls
    }
}

impl<P: Plan> Drop for Thread<P> {
    fn drop(&mut self) {
        World::unregister(&raw mut *self.shared);
    }
}

impl Shared {
    /// MMTk wants the thread's identity when it makes the mutator, and the
    /// identity is the address of what will hold the mutator.
    fn new() -> Box<Self> {
        let mut shared = Box::<Shared>::new_uninit();
        let address = mmtk::util::Address::from_mut_ptr(shared.as_mut_ptr());
        let tls = VMMutatorThread(VMThread(OpaquePointer::from_address(address)));
        shared.write(Shared {
            mutator: memory_manager::bind_mutator(mmtk(), tls),
            roots: vec![Object::NULL; MAX_ROOTS].into_boxed_slice(),
            top: 0,
        });
        // SAFETY: just written.
        unsafe { shared.assume_init() }
    }

    /// Slots of the root stack that are not null.
    pub fn root_slots(&mut self) -> Vec<SimpleSlot> {
        self.roots[..self.top]
            .iter_mut()
            .filter(|root| !root.is_null())
            .map(|root| SimpleSlot::from_address(mmtk::util::Address::from_mut_ptr(root)))
            .collect()
    }
}
