//! The heap: what it is made of, and who may touch what when.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use heaphound_heap::root::RootSet;
use heaphound_heap::sync::Mutex;
use heaphound_heap::{Root, RootKind};

use crate::assertions::Assertions;
use crate::check::Checks;
use crate::classes::Classes;
use crate::collect::CollectorState;
use crate::config::{Config, HeapBuilder};
use crate::error::{BuildError, OutOfMemory, Reason};
use crate::findings::Ledger;
use crate::generations::Generations;
use crate::labels::Labels;
use crate::names::Names;
use crate::pretenuring::Pretenurer;
use crate::pruning::PruningTable;
use crate::raw::marking::finalize::{Pending, Watched};
use crate::raw::memory::space::Space;
use crate::raw::mutators::mutator::MutatorShared;
use crate::raw::objects::handle::Handles;
use crate::raw::objects::invalid::Invalidations;
use crate::raw::{
    Base, CARD, CARDS_START, MARKED_PAGES_START, MATURE_START, NURSERY_START, PAGE, Pages, REGION,
    Raw, Reach, Reservation, TABLES_END,
};
use crate::safepoint::Safepoints;
use crate::sites::Sites;
use crate::stats::HeapStats;
use crate::summaries::Summaries;

/// A managed heap. Any number can exist at once; each is dropped whole.
///
/// Threads [attach](Heap::attach) to it to allocate and read. Dropping it frees all its
/// objects at once and drops the Rust memory that they own; finalizers are not
/// called then.
pub struct Heap {
    inner: Arc<HeapInner>,
}

/// The parts of a heap, at an address that does not change.
pub(crate) struct HeapInner {
    pub(crate) id: u64,
    pub(crate) base: Base,
    pub(crate) reach: Reach,
    pub(crate) config: Config,
    pub(crate) classes: Classes,
    pub(crate) space: Space,
    pub(crate) generations: Generations,
    pub(crate) handles: Handles,
    pub(crate) invalidations: Invalidations,
    pub(crate) watched: Mutex<Watched>,
    pub(crate) pending: Mutex<Pending>,
    pub(crate) safepoints: Safepoints,
    pub(crate) mutators: Mutex<Vec<Arc<MutatorShared>>>,
    pub(crate) collector: Mutex<CollectorState>,
    pub(crate) assertions: Mutex<Assertions>,
    pub(crate) checks: Arc<Mutex<Checks>>,
    pub(crate) ledger: Arc<Mutex<Ledger>>,
    pub(crate) summaries: Mutex<Summaries>,
    pub(crate) labels: Mutex<Labels>,
    pub(crate) names: Names,
    pub(crate) pruning: PruningTable,
    pub(crate) sites: Sites,
    pub(crate) pretenurer: Mutex<Pretenurer>,
    /// An assertion failed that is to halt the program: why.
    pub(crate) halted: OnceLock<String>,
    pub(crate) stats: Mutex<HeapStats>,
    pub(crate) collections: AtomicU64,
    pub(crate) full_collections: AtomicU64,
    /// Nursery collections so far; part of a young object's hash.
    pub(crate) nursery_cycle: AtomicU32,
    /// Even the last full collection left no room for the nursery.
    pub(crate) over_limit: AtomicBool,
    /// The last visited mark that was given out; see `raw/views/asked.rs`.
    pub(crate) last_visit: AtomicU8,
    /// Whether rules looked at many of the objects when they did last: what is the quicker way to show them.
    pub(crate) shows_many: AtomicBool,
    /// Which of two marks stands for "forgotten".
    pub(crate) forgotten: AtomicU8,
}

impl Heap {
    /// Options for a new heap.
    pub fn builder() -> HeapBuilder {
        HeapBuilder::new()
    }

    pub(crate) fn with(config: Config) -> Result<Self, BuildError> {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        // Address space is cheap: twice the limit, so that survivors and large
        // objects find a place even when what is free lies scattered.
        let most = config.reach() - MATURE_START;
        let generations = Generations::new(&config);
        let nursery_bytes = generations.nursery_bytes();
        let capacity = (config.max_bytes * 2 + (64 << 20) + 2 * nursery_bytes)
            .next_multiple_of(4 << 20)
            .min(most);
        let end = MATURE_START + capacity;
        let reserved = if generations.has_cards() {
            TABLES_END
        } else {
            end
        };
        let memory = Reservation::new(reserved, REGION).map_err(BuildError::System)?;
        let base = Base::expose(memory.start().as_ptr());
        let commit = |offset, bytes: usize| {
            memory
                .commit(offset, bytes.next_multiple_of(PAGE))
                .map_err(BuildError::System)
        };
        commit(0, PAGE)?;
        if generations.has_cards() {
            commit(NURSERY_START, nursery_bytes)?;
            commit(CARDS_START, end / CARD)?;
            commit(MARKED_PAGES_START, end / PAGE)?;
        }
        let pages = Pages::new(memory, base, capacity, config.max_bytes, nursery_bytes)
            .map_err(BuildError::System)?;
        if !pages.has_reserve() {
            let refused = std::io::ErrorKind::OutOfMemory;
            return Err(BuildError::System(refused.into()));
        }
        let limit = config.max_bytes - nursery_bytes;
        let budget = crate::policy::next_budget(&config, 0);
        let space = Space::new(pages, base, limit, budget);
        space.set_poison(config.zeal.is_some());
        let inner = Arc::new(HeapInner {
            id: NEXT_ID.fetch_add(1, Relaxed),
            base,
            reach: Reach::new(config.tags()),
            classes: Classes::new(),
            space,
            generations,
            handles: Handles::default(),
            invalidations: Invalidations::default(),
            watched: Mutex::default(),
            pending: Mutex::default(),
            safepoints: Safepoints::default(),
            mutators: Mutex::default(),
            collector: Mutex::default(),
            assertions: Mutex::default(),
            checks: Arc::default(),
            ledger: Arc::default(),
            summaries: Mutex::default(),
            labels: Mutex::default(),
            names: Names::default(),
            pruning: PruningTable::default(),
            sites: Sites::new(config.interval()),
            pretenurer: Mutex::default(),
            halted: OnceLock::new(),
            stats: Mutex::default(),
            collections: AtomicU64::new(0),
            full_collections: AtomicU64::new(0),
            nursery_cycle: AtomicU32::new(0),
            over_limit: AtomicBool::new(false),
            last_visit: AtomicU8::new(0),
            shows_many: AtomicBool::new(false),
            forgotten: AtomicU8::new(0),
            config,
        });
        HeapInner::publish(&inner);
        Ok(Self { inner })
    }

    pub(crate) fn inner(&self) -> &HeapInner {
        &self.inner
    }

    /// What the heap's collections did so far.
    pub fn stats(&self) -> HeapStats {
        self.inner.stats.lock().unwrap().clone()
    }

    /// For tests: from now on that many demands for memory are granted, and then none, until this is called
    /// again. Returns how many would still have been granted. `u64::MAX` is without end.
    #[doc(hidden)]
    pub fn grant_memory(&self, demands: u64) -> u64 {
        self.inner.space.pages.grant(demands)
    }

    /// Bytes of memory that objects take now, free space between them included.
    pub fn heap_bytes(&self) -> usize {
        self.inner.heap_bytes()
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        self.inner.announce_unchecked();
        // Nobody else has it: mutators borrow the heap.
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.drop_all();
        }
    }
}

impl HeapInner {
    /// Panics if an assertion has failed that is to halt the program.
    pub(crate) fn check_halted(&self) {
        if let Some(why) = self.halted.get()
            && !self.config.halt_with_errors
            && !std::thread::panicking()
        {
            panic!("{why}");
        }
    }

    /// The error that a halted program gets instead of memory.
    pub(crate) fn halting_error(&self, asked_bytes: usize) -> Result<(), OutOfMemory> {
        let Some(why) = self.halted.get().filter(|_| self.config.halt_with_errors) else {
            return Ok(());
        };
        let reason = Reason::Halted(why.clone());
        let max_bytes = self.config.max_bytes;
        Err(OutOfMemory::because(asked_bytes, max_bytes, reason))
    }

    /// Collections of both kinds so far.
    pub(crate) fn collections(&self) -> u64 {
        self.collections.load(Relaxed)
    }

    pub(crate) fn full_collections(&self) -> u64 {
        self.full_collections.load(Relaxed)
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.space.pages.used_bytes() + self.generations.nursery_bytes()
    }

    pub(crate) fn is_over_limit(&self) -> bool {
        self.over_limit.load(Relaxed)
    }

    /// The identity hash of an object that has not moved since it was first asked.
    /// Young objects come and go at the same addresses, so that the cycle counts too.
    pub(crate) fn address_hash(&self, raw: Raw) -> u32 {
        let cycle = if raw.is_young() {
            self.nursery_cycle.load(Relaxed).wrapping_add(1)
        } else {
            0
        };
        let mut hash = raw.0 ^ cycle.wrapping_mul(0x9e37_79b9);
        hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
        hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
        hash ^ hash >> 16
    }

    /// Calls `f` with every root that may refer to a young object. Only while the
    /// world is stopped.
    pub(crate) fn for_each_young_root(&self, mut f: impl FnMut(&AtomicU32)) {
        for (_, cell) in self.handles.statics.lock().unwrap().values() {
            f(&cell.raw);
        }
        for shared in self.mutators.lock().unwrap().iter() {
            f(&shared.thread_object);
            shared.for_each_local(|_, _, cell| f(cell));
        }
        for cell in self.handles.strong.lock().unwrap().recent() {
            f(&cell.raw);
        }
    }

    /// The mutators, each with a name that no other has: of those that share one, the
    /// later ones get a number.
    pub(crate) fn threads(&self) -> Vec<(Arc<MutatorShared>, String)> {
        let mut mutators: Vec<_> = self.mutators.lock().unwrap().clone();
        // Mostly there is one, and every collection asks.
        if let [only] = &mutators[..] {
            return vec![(only.clone(), only.name.clone())];
        }
        mutators.sort_by_key(|shared| shared.serial());
        let given: HashSet<String> = mutators.iter().map(|it| it.name.clone()).collect();
        let mut taken = HashSet::new();
        let unique = |shared: &MutatorShared| {
            let mut name = shared.name.clone();
            for number in 2.. {
                if taken.insert(name.clone()) {
                    break;
                }
                name = format!("{} ({number})", shared.name);
                if given.contains(&name) {
                    name = shared.name.clone();
                }
            }
            name
        };
        let names: Vec<String> = mutators.iter().map(|it| &**it).map(unique).collect();
        mutators.into_iter().zip(names).collect()
    }

    /// Calls `f` with the cells of some of the roots. Only while the world is stopped.
    pub(crate) fn for_each_root_cell(&self, roots: RootSet<'_>, mut f: impl FnMut(&AtomicU32)) {
        if roots.includes(RootKind::Static, "") {
            for (_, cell) in self.handles.statics.lock().unwrap().values() {
                f(&cell.raw);
            }
        }
        for (shared, name) in self.threads() {
            if roots.includes(RootKind::ThreadObject, &name) {
                f(&shared.thread_object);
            }
            if roots.includes(RootKind::ThreadStack, &name) {
                shared.for_each_local(|_, _, cell| f(cell));
            }
        }
        if roots.includes(RootKind::Handle, "") {
            for table in [&self.handles.strong, &self.handles.pinned] {
                for cell in &table.lock().unwrap().all {
                    f(&cell.raw);
                }
            }
        }
    }

    /// Calls `f` with every root: how to name it, and its cell. Only while the
    /// world is stopped.
    pub(crate) fn for_each_root(&self, mut f: impl FnMut(&dyn Fn() -> Root, &AtomicU32)) {
        let root = |kind, name: &str, scope, index: usize| Root {
            kind,
            name: name.into(),
            scope,
            index: index as u32,
        };
        for (name, (_, cell)) in self.handles.statics.lock().unwrap().iter() {
            f(&|| root(RootKind::Static, name, None, 0), &cell.raw);
        }
        for (shared, name) in self.threads() {
            let name = &name;
            f(
                &|| root(RootKind::ThreadObject, name, None, 0),
                &shared.thread_object,
            );
            shared.for_each_local(|index, place, cell| {
                let scope = || Some(place.to_string());
                f(&|| root(RootKind::ThreadStack, name, scope(), index), cell);
            });
        }
        for (table, lead) in [(&self.handles.strong, ""), (&self.handles.pinned, "pin ")] {
            for (index, cell) in table.lock().unwrap().all.iter().enumerate() {
                let name = || format!("{lead}{}", cell.place);
                f(&|| root(RootKind::Handle, &name(), None, index), &cell.raw);
            }
        }
    }

    /// Calls `f` with every object that waits for its finalizer: kept like a root, but
    /// not alive. Only while the world is stopped.
    pub(crate) fn for_each_pending(&self, mut f: impl FnMut(&dyn Fn() -> Root, &AtomicU32)) {
        for (index, (cell, _)) in self.pending.lock().unwrap().finalizers.iter().enumerate() {
            let root = || Root {
                kind: RootKind::Finalizer,
                name: "pending".into(),
                scope: None,
                index: index as u32,
            };
            f(&root, cell);
        }
    }
}

impl crate::raw::Mutator<'_> {
    /// Returns the number of threads that collect.
    pub fn collector_threads(&self) -> usize {
        self.heap.config.collector_threads
    }

    /// Returns the classes that the heap has by now: those of which something was allocated or said.
    pub fn classes(&self) -> Vec<heaphound_heap::ClassInfo> {
        self.shared_classes().to_vec()
    }

    /// Returns the same list as before while the classes are the same, which so can be found out at once.
    #[doc(hidden)]
    pub fn shared_classes(&self) -> std::sync::Arc<[heaphound_heap::ClassInfo]> {
        self.heap.classes.infos()
    }

    /// Makes a class known to the heap before anything of it is allocated, so that rules can
    /// speak of it.
    pub fn know_class<T: crate::raw::Managed + ?Sized>(&self) {
        self.known_class(T::DESCRIPTOR);
    }

    /// Whether this share of what may be allocated until the next full collection has been:
    /// 0 of it always has.
    pub fn is_collection_due(&self, share: f64) -> bool {
        self.heap.space.is_budget_used(share)
    }
}
