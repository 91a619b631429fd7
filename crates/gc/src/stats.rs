//! What each collection did.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

pub use crate::collect::{Cause, Kind, Remark};
use crate::pretenuring::PretenuringStats;

/// One collection, as it was measured.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CollectionStats {
    /// Counts from 1, over both kinds.
    pub number: u64,
    /// What was collected.
    pub kind: Kind,
    /// Why.
    pub cause: Cause,
    /// How long the world stood still, the wait for mutators included.
    pub pause: Duration,
    /// How long it took until all mutators had stopped.
    pub time_to_safepoint: Duration,
    /// How long marking took, of a full collection, without what checks did before it.
    pub mark_time: Duration,
    /// Live objects that were marked (full) or copied out (nursery).
    pub marked_objects: usize,
    /// Their bytes.
    pub marked_bytes: usize,
    /// Bytes handed out before that are not live any more; cells count whole.
    pub freed_bytes: usize,
    /// Bytes of objects in use after it.
    pub used_bytes: usize,
    /// Bytes of memory in use after it, free space between objects included.
    pub heap_bytes: usize,
    /// External memory accounted to live objects.
    pub external_bytes: usize,
    /// The part of the memory that may be used, from 0 to 1, that is in use after a full collection, by the
    /// measure by which allocations are refused: with free space between objects, if all was swept, and
    /// external memory.
    pub fullness: f64,
    /// Bytes allocated since the heap was built.
    pub allocated_bytes: u64,
    /// Bytes of blocks that were emptied by moving their objects.
    pub compacted_bytes: usize,
    /// Live objects that checks had marked, by surveys and probes, before the roots were marked.
    pub marked_by_checks: usize,
    /// Why the heap was marked again, each time that it was.
    pub remarks: Vec<Remark>,
}

impl CollectionStats {
    /// A collection that has done nothing yet.
    pub(crate) fn new(number: u64, cause: Cause, allocated_bytes: u64) -> Self {
        Self {
            number,
            kind: Kind::Nursery,
            cause,
            pause: Duration::ZERO,
            time_to_safepoint: Duration::ZERO,
            mark_time: Duration::ZERO,
            marked_objects: 0,
            marked_bytes: 0,
            freed_bytes: 0,
            used_bytes: 0,
            heap_bytes: 0,
            external_bytes: 0,
            fullness: 0.0,
            allocated_bytes,
            compacted_bytes: 0,
            marked_by_checks: 0,
            remarks: Vec::new(),
        }
    }
}

impl fmt::Display for CollectionStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |bytes: usize| bytes as f64 / (1 << 20) as f64;
        write!(
            f,
            "{} {} ({}): pause {:.2} ms (safepoint {:.2}), {} objects, {:.1} MiB {}, {:.1} MiB freed, \
             {:.1} MiB used of {:.1} after {:.1} MiB allocated",
            self.kind,
            self.number,
            self.cause,
            self.pause.as_secs_f64() * 1e3,
            self.time_to_safepoint.as_secs_f64() * 1e3,
            self.marked_objects,
            mib(self.marked_bytes),
            match self.kind {
                Kind::Full => "live",
                Kind::Nursery => "survived",
            },
            mib(self.freed_bytes),
            mib(self.used_bytes),
            mib(self.heap_bytes),
            self.allocated_bytes as f64 / (1 << 20) as f64,
        )
    }
}

/// What a heap has done so far.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct HeapStats {
    /// Full collections.
    pub full_collections: u64,
    /// Nursery collections.
    pub nursery_collections: u64,
    /// The time that the world stood still, all in all.
    pub total_pause: Duration,
    /// The longest pause.
    pub longest_pause: Duration,
    /// The longest wait for mutators to stop.
    pub longest_time_to_safepoint: Duration,
    /// Collections and stops that were left out because threads that use several heaps would have waited for
    /// each other for ever; see [`Mutator::blocked`](crate::Mutator::blocked).
    pub put_off_collections: u64,
    /// Finalizers and drops that panicked; each was logged.
    pub panicked_finalizers: u64,
    /// Findings that were announced, each as often as it was.
    pub announced_findings: u64,
    /// Bytes of text that they took.
    pub announced_bytes: u64,
    /// What pretenuring has done.
    pub pretenuring: PretenuringStats,
    /// The last 4,096 collections, oldest first.
    pub history: VecDeque<CollectionStats>,
}

impl HeapStats {
    const HISTORY: usize = 4096;

    pub(crate) fn record(&mut self, stats: CollectionStats) {
        match stats.kind {
            Kind::Full => self.full_collections += 1,
            Kind::Nursery => self.nursery_collections += 1,
        }
        self.total_pause += stats.pause;
        self.longest_pause = self.longest_pause.max(stats.pause);
        self.longest_time_to_safepoint =
            self.longest_time_to_safepoint.max(stats.time_to_safepoint);
        if self.history.len() == Self::HISTORY {
            self.history.pop_front();
        }
        self.history.push_back(stats);
    }
}
