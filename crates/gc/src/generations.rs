//! Generations: the nursery, where the collector has one.
//!
//! A mark-sweep heap has no nursery: each of its collections is full. A generational one copies the
//! survivors of the nursery out at each collection, and collects fully when its budget is used up.

use std::sync::atomic::Ordering::Relaxed;

use crate::collect::{Cause, CollectorState, Kind, Request};
use crate::heap::HeapInner;
use crate::raw::Raw;
use crate::raw::marking::finalize::Remains;
use crate::raw::memory::nursery::Evacuation;
use crate::stats::CollectionStats;

impl HeapInner {
    /// Bytes of objects in the nursery.
    pub(crate) fn young_bytes(&self) -> usize {
        self.nursery.as_ref().map_or(0, |nursery| nursery.used())
    }

    /// Has memory ready for the survivors of the next nursery collection.
    pub(crate) fn prepare_nursery(&self) {
        if let Some(nursery) = &self.nursery {
            self.space.pages.prepare(nursery.bytes());
        }
    }

    /// Remembers whether live objects leave no room for the nursery, and returns it.
    pub(crate) fn note_limit(&self) -> bool {
        let over_limit = self.nursery.is_some() && self.space.is_over_limit();
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
        if self.nursery.is_none() {
            return true;
        }
        let used = self.young_bytes();
        let full = request.kind == Kind::Full;
        // Whoever asks for a full collection wants memory back.
        let release = full && request.cause == Cause::Request;
        (stats.marked_objects, stats.marked_bytes) = self.evacuate_nursery(collector, release);
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
    fn evacuate_nursery(&self, collector: &mut CollectorState, release: bool) -> (usize, usize) {
        let nursery = self.nursery.as_ref().expect("called where there is one");
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
        let counts = (young.objects, young.bytes);
        young.finish(release);
        self.nursery_cycle.fetch_add(1, Relaxed);
        counts
    }
}
