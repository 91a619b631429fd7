//! The traits by which MMTk asks about objects, roots and threads.
//!
//! Stopping the world: a thread that triggers a collection, or that finds
//! [`World::wants_stop`] when it allocates, waits in [`World::stop_here`]. The
//! collector begins when all registered threads wait there, and ends by
//! starting a new epoch, which lets them go. A thread cannot register or
//! unregister while a collection is wanted or under way.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use mmtk::util::copy::{CopySemantics, GCWorkerCopyContext};
use mmtk::util::options::{GCTriggerSelector, PlanSelector};
use mmtk::util::{
    Address, ObjectReference, OpaquePointer, VMMutatorThread, VMThread, VMWorkerThread,
};
use mmtk::vm::slot::{SimpleSlot, UnimplementedMemorySlice};
use mmtk::vm::{
    ActivePlan, Collection, GCThreadContext, ObjectModel, ReferenceGlue, RootsWorkFactory,
    Scanning, SlotVisitor, VMBinding, VMGlobalLogBitSpec, VMLocalForwardingBitsSpec,
    VMLocalForwardingPointerSpec, VMLocalLOSMarkNurserySpec, VMLocalMarkBitSpec,
};
use mmtk::{MMTK, MMTKBuilder, Mutator, memory_manager};

use super::object::Object;
use super::thread::Shared;
use crate::pages::Pages;
use crate::workload::Job;

static MMTK_INSTANCE: OnceLock<Box<MMTK<PeerVm>>> = OnceLock::new();

/// The one heap of this process.
pub fn mmtk() -> &'static MMTK<PeerVm> {
    MMTK_INSTANCE.get().expect("the heap is created first")
}

pub fn create_heap(plan: PlanSelector, job: &Job) {
    let mut builder = MMTKBuilder::new();
    let options = &mut builder.options;
    let heap_size = GCTriggerSelector::FixedHeapSize(job.heap_bytes());
    assert!(options.plan.set(plan));
    assert!(options.threads.set(job.collector_threads));
    assert!(options.gc_trigger.set(heap_size));
    if job.pages == Pages::Huge {
        assert!(options.transparent_hugepages.set(true));
    }
    // Neither finalizers nor weak references are used.
    assert!(options.no_finalizer.set(true));
    assert!(options.no_reference_types.set(true));
    let created = MMTK_INSTANCE
        .set(memory_manager::mmtk_init(&builder))
        .is_ok();
    assert!(created, "MMTk allows one heap for each process");
    memory_manager::initialize_collection(mmtk(), VMThread::UNINITIALIZED);
}

#[derive(Default)]
pub struct PeerVm;

impl VMBinding for PeerVm {
    type VMObjectModel = Objects;
    type VMScanning = Roots;
    type VMCollection = World;
    type VMActivePlan = Threads;
    type VMReferenceGlue = NoWeakReferences;
    type VMSlot = SimpleSlot;
    type VMMemorySlice = UnimplementedMemorySlice;

    // One alignment and no offsets let MMTk use its fastest sweep.
    const MIN_ALIGNMENT: usize = 8;
    const MAX_ALIGNMENT: usize = 8;
    const USE_ALLOCATION_OFFSET: bool = false;
    const ALIGNMENT_VALUE: u8 = 0;
}

pub struct Objects;

impl ObjectModel<PeerVm> for Objects {
    const GLOBAL_LOG_BIT_SPEC: VMGlobalLogBitSpec = VMGlobalLogBitSpec::side_first();
    const LOCAL_FORWARDING_POINTER_SPEC: VMLocalForwardingPointerSpec =
        VMLocalForwardingPointerSpec::in_header(0);
    const LOCAL_FORWARDING_BITS_SPEC: VMLocalForwardingBitsSpec =
        VMLocalForwardingBitsSpec::in_header(0);
    const LOCAL_MARK_BIT_SPEC: VMLocalMarkBitSpec = VMLocalMarkBitSpec::side_first();
    const LOCAL_LOS_MARK_NURSERY_SPEC: VMLocalLOSMarkNurserySpec =
        VMLocalLOSMarkNurserySpec::side_after(Self::LOCAL_MARK_BIT_SPEC.as_spec());

    const UNIFIED_OBJECT_REFERENCE_ADDRESS: bool = true;
    const OBJECT_REF_OFFSET_LOWER_BOUND: isize = 0;

    #[inline]
    fn copy(
        from: ObjectReference,
        semantics: CopySemantics,
        context: &mut GCWorkerCopyContext<PeerVm>,
    ) -> ObjectReference {
        let bytes = Self::get_current_size(from);
        let to = context.alloc_copy(from, bytes, 8, 0, semantics);
        // SAFETY: MMTk gave us `bytes` bytes at `to`, away from the original,
        // which has that size.
        let copy = unsafe {
            std::ptr::copy_nonoverlapping::<u8>(
                from.to_raw_address().to_ptr(),
                to.to_mut_ptr(),
                bytes,
            );
            Object::from_address(to)
        };
        copy.clear_forwarding();
        context.post_copy(copy.reference(), bytes, semantics);
        copy.reference()
    }

    fn copy_to(_: ObjectReference, _: ObjectReference, _: Address) -> Address {
        unreachable!("only compacting plans copy this way")
    }

    fn get_reference_when_copied_to(_: ObjectReference, _: Address) -> ObjectReference {
        unreachable!("only compacting plans copy this way")
    }

    #[inline]
    fn get_current_size(object: ObjectReference) -> usize {
        Object::from_reference(object).bytes()
    }

    #[inline]
    fn get_size_when_copied(object: ObjectReference) -> usize {
        Self::get_current_size(object)
    }

    #[inline]
    fn get_align_when_copied(_: ObjectReference) -> usize {
        8
    }

    #[inline]
    fn get_align_offset_when_copied(_: ObjectReference) -> usize {
        0
    }

    fn get_type_descriptor(_: ObjectReference) -> &'static [i8] {
        unreachable!("MMTk does not ask for it")
    }

    #[inline]
    fn ref_to_object_start(object: ObjectReference) -> Address {
        object.to_raw_address()
    }

    #[inline]
    fn ref_to_header(object: ObjectReference) -> Address {
        object.to_raw_address()
    }

    fn dump_object(object: ObjectReference) {
        eprintln!(
            "{object:?}, header {:x}",
            Object::from_reference(object).header()
        );
    }
}

pub struct Roots;

impl Scanning<PeerVm> for Roots {
    #[inline]
    fn scan_object<SV: SlotVisitor<SimpleSlot>>(
        _: VMWorkerThread,
        object: ObjectReference,
        visitor: &mut SV,
    ) {
        Object::from_reference(object).for_each_slot(|slot| visitor.visit_slot(slot));
    }

    fn scan_roots_in_mutator_thread(
        _: VMWorkerThread,
        mutator: &'static mut Mutator<PeerVm>,
        mut factory: impl RootsWorkFactory<SimpleSlot>,
    ) {
        let shared = shared_of(mutator.mutator_tls);
        // SAFETY: the thread is stopped, and MMTk scans each thread once.
        factory.create_process_roots_work(unsafe { &mut *shared }.root_slots());
    }

    fn scan_vm_specific_roots(_: VMWorkerThread, _: impl RootsWorkFactory<SimpleSlot>) {}

    fn notify_initial_thread_scan_complete(_: bool, _: VMWorkerThread) {}

    fn supports_return_barrier() -> bool {
        false
    }

    fn prepare_for_roots_re_scanning() {}
}

/// The threads and the state of stopping them.
pub struct World {
    threads: Vec<RegisteredThread>,
    waiting: usize,
    /// Counts collections.
    epoch: u64,
    stopped_at: Option<Instant>,
    longest_pause: Duration,
}

struct RegisteredThread(*mut Shared);

// SAFETY: the pointer is dereferenced only while its thread waits for the end
// of a collection.
unsafe impl Send for RegisteredThread {}

static WORLD: Mutex<World> = Mutex::new(World {
    threads: Vec::new(),
    waiting: 0,
    epoch: 0,
    stopped_at: None,
    longest_pause: Duration::ZERO,
});
/// Signalled when a thread waits, and when a collection ended.
static CHANGED: Condvar = Condvar::new();
static WANTS_STOP: AtomicBool = AtomicBool::new(false);

impl World {
    fn lock() -> MutexGuard<'static, World> {
        WORLD.lock().expect("no panic is caught")
    }

    /// Whether threads should call [`World::stop_here`].
    #[inline(always)]
    pub fn wants_stop() -> bool {
        WANTS_STOP.load(Ordering::Relaxed)
    }

    /// Waits until the collection that is wanted or under way has ended.
    pub fn stop_here() {
        let mut world = Self::lock();
        // The flag may have been read just before a collection ended.
        if WANTS_STOP.load(Ordering::Relaxed) {
            world = Self::wait_for_collection(world);
        }
        drop(world);
    }

    fn wait_for_collection(mut world: MutexGuard<'static, World>) -> MutexGuard<'static, World> {
        let epoch = world.epoch;
        world.waiting += 1;
        CHANGED.notify_all();
        while world.epoch == epoch {
            world = CHANGED.wait(world).expect("no panic is caught");
        }
        world
    }

    /// Makes and registers a thread while no collection is under way.
    pub fn register(make: impl FnOnce() -> Box<Shared>) -> Box<Shared> {
        let mut world = Self::lock_between_collections();
        let mut thread = make();
        world.threads.push(RegisteredThread(&raw mut *thread));
        thread
    }

    pub fn unregister(thread: *mut Shared) {
        // A registered thread has to keep stopping until it is gone.
        loop {
            Self::stop_here();
            let mut world = Self::lock();
            if WANTS_STOP.load(Ordering::Relaxed) {
                continue;
            }
            world.threads.retain(|other| other.0 != thread);
            // SAFETY: the thread calls this itself and is no longer visible to
            // the collector.
            memory_manager::destroy_mutator(unsafe { &mut (*thread).mutator });
            return;
        }
    }

    fn lock_between_collections() -> MutexGuard<'static, World> {
        let mut world = Self::lock();
        while WANTS_STOP.load(Ordering::Relaxed) {
            world = CHANGED.wait(world).expect("no panic is caught");
        }
        world
    }

    /// The longest time between the wish to stop and the end of a collection.
    pub fn longest_pause() -> Duration {
        Self::lock().longest_pause
    }
}

impl Collection<PeerVm> for World {
    fn stop_all_mutators<F>(_: VMWorkerThread, mut visitor: F)
    where
        F: FnMut(&'static mut Mutator<PeerVm>),
    {
        let mut world = Self::lock();
        world.stopped_at = Some(Instant::now());
        WANTS_STOP.store(true, Ordering::Relaxed);
        while world.waiting < world.threads.len() {
            world = CHANGED.wait(world).expect("no panic is caught");
        }
        for thread in &world.threads {
            // SAFETY: the thread waits until the collection ends, and until
            // then only MMTk uses its mutator.
            visitor(unsafe { &mut (*thread.0).mutator });
        }
    }

    fn resume_mutators(_: VMWorkerThread) {
        let mut world = Self::lock();
        if let Some(start) = world.stopped_at.take() {
            world.longest_pause = world.longest_pause.max(start.elapsed());
        }
        world.waiting = 0;
        world.epoch += 1;
        WANTS_STOP.store(false, Ordering::Relaxed);
        CHANGED.notify_all();
    }

    fn block_for_gc(_: VMMutatorThread) {
        drop(Self::wait_for_collection(Self::lock()));
    }

    fn spawn_gc_thread(_: VMThread, context: GCThreadContext<PeerVm>) {
        let GCThreadContext::Worker(worker) = context;
        std::thread::spawn(move || worker.run(VMWorkerThread(VMThread(worker_tls())), mmtk()));
    }
}

/// Collector threads need no state of ours. An odd address tells them from
/// mutator threads.
fn worker_tls() -> OpaquePointer {
    // SAFETY: never dereferenced.
    OpaquePointer::from_address(unsafe { Address::from_usize(1) })
}

fn shared_of(tls: VMMutatorThread) -> *mut Shared {
    tls.0.0.to_address().to_mut_ptr()
}

pub struct Threads;

impl ActivePlan<PeerVm> for Threads {
    fn is_mutator(tls: VMThread) -> bool {
        tls.0.to_address().is_aligned_to(8) && !tls.0.is_null()
    }

    fn mutator(tls: VMMutatorThread) -> &'static mut Mutator<PeerVm> {
        // SAFETY: a mutator thread's identity is the address of its shared part;
        // MMTk asks for it on that thread, or while it is stopped.
        unsafe { &mut (*shared_of(tls)).mutator }
    }

    fn mutators<'a>() -> Box<dyn Iterator<Item = &'a mut Mutator<PeerVm>> + 'a> {
        let threads: Vec<*mut Shared> = World::lock().threads.iter().map(|t| t.0).collect();
        // SAFETY: MMTk asks while all threads are stopped.
        Box::new(
            threads
                .into_iter()
                .map(|thread| unsafe { &mut *(*thread).mutator }),
        )
    }

    fn number_of_mutators() -> usize {
        World::lock().threads.len()
    }
}

pub struct NoWeakReferences;

impl ReferenceGlue<PeerVm> for NoWeakReferences {
    type FinalizableType = ObjectReference;

    fn clear_referent(_: ObjectReference) {
        unreachable!("there are no weak references")
    }

    fn get_referent(_: ObjectReference) -> Option<ObjectReference> {
        unreachable!("there are no weak references")
    }

    fn set_referent(_: ObjectReference, _: ObjectReference) {
        unreachable!("there are no weak references")
    }

    fn enqueue_references(_: &[ObjectReference], _: VMWorkerThread) {
        unreachable!("there are no weak references")
    }
}
