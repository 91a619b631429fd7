//! Generations: what differs between the collectors, in one place.
//!
//! A mark-sweep heap has one generation: objects are allocated in free runs, and each collection is full.
//! A generational heap has a nursery before that, in which objects are allocated: its survivors are
//! copied out at each collection, and a full collection follows when its budget is used up.

use std::sync::atomic::Ordering::Relaxed;

use crate::collect::{Cause, CollectorState, Kind, Request};
use crate::config::{Collector, Config};
use crate::heap::HeapInner;
use crate::raw::marking::finalize::Remains;
use crate::raw::memory::nursery::{Evacuation, Nursery};
use crate::raw::memory::os::thread_time;
use crate::raw::memory::sizes::MAX_SMALL;
use crate::raw::memory::space::{Demand, Refusal};
use crate::raw::mutators::mutator::MutatorShared;
use crate::raw::{Raw, SizeClass};
use crate::stats::CollectionStats;

/// The generations of a heap, chosen when it is built.
pub(crate) enum Generations {
    /// Mark-sweep.
    One,
    /// A nursery before it.
    Two(Nursery),
}

impl Generations {
    /// Those that a heap is to have.
    pub(crate) fn new(config: &Config) -> Self {
        match config.collector {
            Collector::MarkSweep => Self::One,
            Collector::Generational => Self::Two(Nursery::new(config.nursery_bytes)),
        }
    }

    pub(crate) fn nursery(&self) -> Option<&Nursery> {
        match self {
            Self::One => None,
            Self::Two(nursery) => Some(nursery),
        }
    }

    /// Bytes of memory that the nursery takes.
    pub(crate) fn nursery_bytes(&self) -> usize {
        self.nursery().map_or(0, Nursery::bytes)
    }

    /// Bytes of objects in the nursery.
    pub(crate) fn young_bytes(&self) -> usize {
        self.nursery().map_or(0, Nursery::used)
    }

    /// Whether cards must be marked when an old object gets a reference.
    pub(crate) fn has_cards(&self) -> bool {
        matches!(self, Self::Two(_))
    }

    /// What makes the number of a mutator's cursor out of that of a size class: with a nursery, all
    /// sizes share the first.
    pub(crate) fn cursor_mask(&self) -> usize {
        match self {
            Self::One => !0,
            Self::Two(_) => 0,
        }
    }

    /// Which collection makes room for an allocation of that size that was refused.
    pub(crate) fn kind_for(&self, bytes: usize, refusal: Refusal) -> Kind {
        match (self, refusal) {
            (Self::Two(_), Refusal::CollectionDue) if bytes <= MAX_SMALL => Kind::Nursery,
            _ => Kind::Full,
        }
    }
}

impl HeapInner {
    /// Gives a mutator fresh room for objects of a size class.
    pub(crate) fn refill(
        &self,
        shared: &MutatorShared,
        size_class: SizeClass,
        demand: Demand,
    ) -> Result<(), Refusal> {
        let zeal = self.config.zeal.is_some();
        match &self.generations {
            Generations::One => {
                let cursor = &shared.cursors[size_class.0 as usize + 1];
                self.space.refill(cursor, size_class, demand)?;
                if zeal {
                    self.space.leave_one_cell(cursor, size_class);
                }
            }
            // What survived the last collections is too much already.
            Generations::Two(_) if self.is_over_limit() => return Err(Refusal::Full),
            Generations::Two(_) if self.space.pages.denies() => return Err(Refusal::Full),
            Generations::Two(nursery) => {
                let cell = size_class.cell_bytes();
                let chunk = match zeal {
                    true => cell,
                    false => nursery.chunk_bytes(),
                };
                let taken = nursery.take(chunk, cell).ok_or(Refusal::CollectionDue)?;
                let [start, end] = [taken.0, taken.1].map(|it| self.base.at(it).addr());
                shared.cursors[0].enter(start, end);
            }
        }
        Ok(())
    }

    /// Has memory ready for the survivors of the next nursery collection.
    pub(crate) fn prepare_nursery(&self) {
        if let Generations::Two(nursery) = &self.generations {
            self.space.pages.prepare(nursery.bytes());
        }
    }

    /// Remembers whether live objects leave no room for the nursery, and returns it.
    pub(crate) fn note_limit(&self) -> bool {
        let over_limit = self.generations.nursery().is_some() && self.space.is_over_limit();
        self.over_limit.store(over_limit, Relaxed);
        over_limit
    }

    /// Step 2 of a collection: empties the nursery. Returns whether a full collection is due.
    pub(crate) fn evacuate(
        &self,
        collector: &mut CollectorState,
        request: &Request<'_>,
        stats: &mut CollectionStats,
    ) -> bool {
        let Generations::Two(nursery) = &self.generations else {
            return true;
        };
        let used = nursery.used();
        let full = request.kind == Kind::Full;
        // Whoever asks for a full collection wants memory back.
        let release = full && request.cause == Cause::Request;
        let begin = thread_time();
        (stats.marked_objects, stats.marked_bytes) =
            self.evacuate_nursery(nursery, collector, release);
        let time = thread_time().saturating_sub(begin);
        self.choose_routes(stats.marked_bytes, time);
        stats.freed_bytes = used.saturating_sub(stats.marked_bytes);
        full || self.space.is_over_budget(request.bytes) || self.has_waited_long()
    }

    /// Whether assertions have waited for a full collection for as long as they may.
    fn has_waited_long(&self) -> bool {
        let patience = self.config.assertion_patience;
        cfg!(feature = "assertions")
            && patience.is_some_and(|most| self.assertions.lock().unwrap().waited() >= most.get())
    }

    /// Copies the nursery's survivors out; returns how many and how much.
    fn evacuate_nursery(
        &self,
        nursery: &Nursery,
        collector: &mut CollectorState,
        release: bool,
    ) -> (usize, usize) {
        if self.config.zeal.is_some() {
            self.verify_cards();
        }
        let ground = self.ground(&collector.traces);
        let hash = |raw| self.address_hash(raw);
        let mut young = Evacuation::new(ground, &self.space, nursery, &collector.promotion, &hash);
        self.for_each_young_root(|cell| young.strong(cell));
        young.read_cards();
        young.drain();
        young.settle_weak();
        for cell in self.handles.weak.lock().unwrap().recent() {
            let raw = Raw(cell.raw.load(Relaxed));
            if !raw.is_null() {
                let to = young.survivor(raw).unwrap_or(Raw::NULL);
                cell.raw.store(to.0, Relaxed);
            }
        }
        self.handles.strong.lock().unwrap().settle();
        self.handles.weak.lock().unwrap().settle();
        let watched = &mut *self.watched.lock().unwrap();
        let mut pending = self.pending.lock().unwrap();
        let mut dead = Vec::new();
        for (raw, finalizer) in watched.young.finalizers.drain(..) {
            match young.survivor(raw) {
                Some(to) => watched.old.finalizers.push((to, finalizer)),
                None => dead.push((raw, finalizer)),
            }
        }
        // Only now that all are known: one object may have several.
        for (raw, finalizer) in dead {
            let to = young.copy(raw);
            pending.finalizers.push((to.0.into(), finalizer));
        }
        young.drain();
        young.settle_weak();
        self.promote_samples(&young.samples);
        for raw in watched.young.droppables.drain(..) {
            match young.survivor(raw) {
                Some(to) => watched.old.droppables.push(to),
                None => pending.remains.extend(Remains::take(ground, raw)),
            }
        }
        let mut gone = 0;
        for (raw, bytes) in watched.young.externals.drain() {
            match young.survivor(raw) {
                Some(to) => {
                    watched.old.externals.insert(to, bytes);
                }
                None => gone += bytes,
            }
        }
        self.space.adjust_external(gone, 0);
        let mut now = |raw: Raw| match raw.is_young() {
            true => young.survivor(raw),
            false => Some(raw),
        };
        if cfg!(feature = "assertions") {
            self.assertions.lock().unwrap().settle(&mut now);
            for shared in self.mutators.lock().unwrap().iter() {
                shared.follow_regions(&mut now);
            }
        }
        self.labels.lock().unwrap().settle(&mut now);
        self.names.settle(&mut now);
        let counts = (young.objects, young.bytes);
        young.finish(release);
        self.nursery_cycle.fetch_add(1, Relaxed);
        counts
    }
}
