//! A collection, from stopping the world to letting it run again.
//!
//! 1. The mutator that wants it stops the world (or finds that another one just
//!    did, and goes on).
//! 2. Where there is a nursery, its survivors are copied out and it is empty.
//! 3. If a full collection is due:
//!    a. blocks that the last one left unswept are swept, and with every object
//!    now carrying the current epoch a new one begins; if somebody wants to ask the heap
//!    and then collect it, this is when: what the probes mark is marked;
//!    b. mark from the roots, in parallel; ephemerons until nothing changes;
//!    c. weak references to the unmarked are cleared;
//!    d. objects with finalizers that died are marked after all, and queued;
//!    e. dead objects that own Rust memory are moved out, to be dropped later;
//!    f. blocks are listed, to be swept when their cells are needed; if they have
//!    too many holes, objects move together.
//! 4. The world runs. The mutator that stopped it runs drops and finalizers.
//!
//! The phases of 3 are [`Phase`]s of one plan: each is a start set handed to the same
//! drain loop ([`crate::raw::mark`]).

use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use heaphound_heap::ClassId;
use heaphound_heap::root::RootSet;

use crate::assertions::Verdict;
use crate::error::{ClassShare, OutOfMemory, Shortage};
use crate::heap::HeapInner;
use crate::policy;
use crate::raw::marking::check::Counted;
use crate::raw::marking::finalize::Remains;
use crate::raw::marking::mark::{Census, Ground, Marked, Start, Visitor, mark};
use crate::raw::marking::weak::{Waiting, clear_dead, is_marked};
use crate::raw::memory::compact;
use crate::raw::memory::nursery::Evacuation;
use crate::raw::memory::space::Cursor;
use crate::raw::mutators::mutator::MutatorShared;
use crate::raw::views::asked::Owed;
use crate::raw::{Mutator, PlainData, Raw, SizeClass, StoppedHeap, Trace};
use crate::stats::CollectionStats;

/// What a collection collects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The whole heap.
    Full,
    /// The nursery.
    Nursery,
}

/// Why a collection happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// Allocation used up its budget or the nursery.
    Allocation,
    /// The program asked for it.
    Request,
    /// Zeal mode.
    Zeal,
    /// Memory has run out, and the error is to say what holds it.
    OutOfMemory,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "full",
            Self::Nursery => "nursery",
        })
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allocation => "allocation",
            Self::Request => "request",
            Self::Zeal => "zeal",
            Self::OutOfMemory => "out of memory",
        })
    }
}

/// What the mutator that wanted a collection must know of it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Outcome {
    /// Even so, live objects leave no room for the nursery.
    pub(crate) over_limit: bool,
}

/// What the collector keeps from one collection to the next.
pub(crate) struct CollectorState {
    /// The trace words of all classes, by id.
    traces: Vec<Trace>,
    /// Where survivors of the nursery go.
    promotion: [Cursor; SizeClass::COUNT],
    /// Live bytes after the last full collection.
    live_bytes: usize,
    /// Bytes allocated up to the last collection.
    allocated_bytes: u64,
    /// What had been handed out at the last collection, since the last full one.
    handed_out: usize,
    /// What assertions have found, to be reported.
    verdict: Verdict,
}

impl Default for CollectorState {
    fn default() -> Self {
        Self {
            traces: vec![Trace::NOTHING],
            promotion: std::array::from_fn(|_| Cursor::default()),
            live_bytes: 0,
            allocated_bytes: 0,
            handed_out: 0,
            verdict: Verdict::default(),
        }
    }
}

/// A step of a full collection's plan: what the drain loop starts from. Each is
/// followed by the values of ephemerons whose keys it reached, until there are none.
pub(crate) enum Phase {
    /// All roots, and what a probe left for the collection to do. Visitors watch this one.
    Roots(Owed),
    /// Dead objects that have another life until their finalizers have run.
    /// Nobody watches.
    Finalizable(Vec<Raw>),
}

/// What is wanted of a collection.
pub(crate) struct Request<'r> {
    pub(crate) kind: Kind,
    pub(crate) cause: Cause,
    /// Bytes of the allocation that it is to make room for.
    pub(crate) bytes: usize,
    /// Where to count the live objects of each class.
    pub(crate) census: Option<&'r mut Census>,
    /// Asks the heap before it is marked; answers what is left to mark.
    pub(crate) ask: Option<&'r mut dyn FnMut() -> Owed>,
}

impl HeapInner {
    /// Collects on behalf of a running mutator. When it returns, a collection has
    /// taken place, but not always this one, nor of this kind, unless it was
    /// requested.
    pub(crate) fn collect(
        &self,
        shared: &MutatorShared,
        kind: Kind,
        cause: Cause,
        bytes: usize,
    ) -> Outcome {
        let request = Request {
            kind,
            cause,
            bytes,
            census: None,
            ask: None,
        };
        self.collect_with(shared, request)
    }

    pub(crate) fn collect_with(&self, shared: &MutatorShared, request: Request<'_>) -> Outcome {
        let cause = request.cause;
        let time_to_safepoint = loop {
            let stalled = |waited| self.report_stall(waited);
            let patience = self.config.stall_warning;
            match self.safepoints.stop(&shared.runs, patience, stalled) {
                Some(time) => break time,
                None if cause == Cause::Allocation => return Outcome::default(),
                None => {}
            }
        };
        let begin = Instant::now();
        let abort = AbortOnUnwind;
        let (mut stats, outcome, verdict) = {
            let mut collector = self.collector.lock().unwrap();
            let (stats, outcome) = self.perform(&mut collector, request);
            (stats, outcome, std::mem::take(&mut collector.verdict))
        };
        stats.time_to_safepoint = time_to_safepoint;
        stats.pause = time_to_safepoint + begin.elapsed();
        std::mem::forget(abort);
        self.safepoints.resume(&shared.runs);
        if cause == Cause::Allocation
            && let Some(nursery) = &self.nursery
        {
            self.space.pages.prepare(nursery.bytes());
        }
        self.report(stats);
        self.announce(verdict);
        outcome
    }

    /// Runs `f` while the world is stopped.
    pub(crate) fn with_stopped_world<R>(&self, shared: &MutatorShared, f: impl FnOnce() -> R) -> R {
        struct Resume<'h>(&'h HeapInner, &'h MutatorShared);
        impl Drop for Resume<'_> {
            fn drop(&mut self) {
                self.0.safepoints.resume(&self.1.runs);
            }
        }
        let patience = self.config.stall_warning;
        while self
            .safepoints
            .stop(&shared.runs, patience, |waited| self.report_stall(waited))
            .is_none()
        {}
        let _resume = Resume(self, shared);
        f()
    }

    /// Collects the whole heap and runs `f` before the world runs again: then what is
    /// in the heap is alive or waits for its finalizer, and nothing is young.
    pub(crate) fn with_collected_heap<R>(
        &self,
        shared: &MutatorShared,
        f: impl FnOnce() -> R,
    ) -> R {
        let begin = Instant::now();
        let (stats, verdict, result) = self.with_stopped_world(shared, || {
            let time_to_safepoint = begin.elapsed();
            let abort = AbortOnUnwind;
            let (mut stats, verdict) = {
                let mut collector = self.collector.lock().unwrap();
                let request = Request {
                    kind: Kind::Full,
                    cause: Cause::Request,
                    bytes: 0,
                    census: None,
                    ask: None,
                };
                let (stats, _) = self.perform(&mut collector, request);
                (stats, std::mem::take(&mut collector.verdict))
            };
            let result = f();
            std::mem::forget(abort);
            stats.time_to_safepoint = time_to_safepoint;
            stats.pause = begin.elapsed();
            (stats, verdict, result)
        });
        self.report(stats);
        self.announce(verdict);
        result
    }

    fn perform(
        &self,
        collector: &mut CollectorState,
        request: Request<'_>,
    ) -> (CollectionStats, Outcome) {
        let Request {
            kind,
            cause,
            bytes,
            census,
            ask,
        } = request;
        self.gather(collector);
        let allocated = self.account(collector);
        let number = self.collections.fetch_add(1, Relaxed) + 1;
        let mut stats = CollectionStats {
            number,
            kind: Kind::Nursery,
            cause,
            pause: Default::default(),
            time_to_safepoint: Default::default(),
            mark_time: Default::default(),
            marked_objects: 0,
            marked_bytes: 0,
            freed_bytes: 0,
            used_bytes: 0,
            heap_bytes: 0,
            external_bytes: 0,
            allocated_bytes: allocated,
            compacted_bytes: 0,
        };
        let mut full = kind == Kind::Full;
        match &self.nursery {
            Some(nursery) => {
                let used = nursery.used();
                // Whoever asks for a full collection wants memory back.
                let release = kind == Kind::Full && cause == Cause::Request;
                (stats.marked_objects, stats.marked_bytes) =
                    self.evacuate_nursery(collector, release);
                stats.freed_bytes = used.saturating_sub(stats.marked_bytes);
                full |= self.space.is_over_budget(bytes);
                if cfg!(feature = "assertions") {
                    let waited = self.assertions.lock().unwrap().waited();
                    let patience = self.config.assertion_patience;
                    full |= patience.is_some_and(|most| waited >= most.get());
                }
            }
            None => full = true,
        }
        if full {
            self.full_collections.fetch_add(1, Relaxed);
            stats.kind = Kind::Full;
            let before =
                collector.live_bytes + self.space.handed_out.load(Relaxed) + stats.freed_bytes;
            let marked = self.mark_all(collector, census, ask, &mut stats.mark_time);
            stats.marked_objects = marked.objects;
            stats.marked_bytes = marked.bytes;
            stats.freed_bytes = before.saturating_sub(marked.bytes);
            collector.live_bytes = marked.bytes;
            self.sweep(collector, cause, &mut stats);
            self.space.set_budget(policy::next_budget(
                &self.config,
                marked.bytes + self.space.external(),
            ));
        }
        collector.handed_out = self.space.handed_out.load(Relaxed);
        for shared in self.mutators.lock().unwrap().iter() {
            shared.epoch.set(self.space.epoch());
        }
        if self.config.zeal.is_some() {
            self.verify((stats.kind == Kind::Full).then_some(stats.marked_objects));
        }
        stats.used_bytes = collector.live_bytes + collector.handed_out;
        stats.heap_bytes = self.heap_bytes();
        stats.external_bytes = self.space.external();
        let over_limit = self.nursery.is_some() && self.space.is_over_limit();
        self.over_limit.store(over_limit, Relaxed);
        (stats, Outcome { over_limit })
    }

    /// Takes back from the mutators what only they knew.
    fn gather(&self, collector: &mut CollectorState) {
        for shared in self.mutators.lock().unwrap().iter() {
            for size_class in SizeClass::all() {
                let cursor = &shared.cursors[size_class.0 as usize + 1];
                self.space.retire(cursor, size_class);
            }
            shared.cursors[0].clear();
            self.take_droppables(shared);
        }
        let known = collector.traces.len();
        for id in known..=self.classes.count() {
            collector
                .traces
                .push(self.classes.get(ClassId(id as u32)).trace);
        }
        self.prune_handles();
    }

    /// Bytes allocated since the heap was built.
    fn account(&self, collector: &mut CollectorState) -> u64 {
        let handed_out = self.space.handed_out.load(Relaxed);
        let young = self.nursery.as_ref().map_or(0, |nursery| nursery.used());
        collector.allocated_bytes +=
            (handed_out.saturating_sub(collector.handed_out) + young) as u64;
        collector.allocated_bytes
    }

    fn ground<'h>(&'h self, traces: &'h [Trace]) -> Ground<'h> {
        Ground {
            base: self.base,
            reach: self.reach,
            epoch: self.space.epoch(),
            traces,
            classes: &self.classes,
        }
    }

    /// Copies the nursery's survivors out; answers how many and how much.
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

    /// Marks everything that lives and settles what is weak, finalizable or owned.
    fn mark_all(
        &self,
        collector: &mut CollectorState,
        census: Option<&mut Census>,
        ask: Option<&mut dyn FnMut() -> Owed>,
        time: &mut Duration,
    ) -> Marked {
        for size_class in SizeClass::all() {
            let cursor = &collector.promotion[size_class.0 as usize];
            self.space.retire(cursor, size_class);
        }
        self.finish_sweep();
        // What the last collection freed and nobody has needed since.
        self.space.pages.trim(self.space.budget());
        self.space.begin_epoch();
        let mut told = Vec::new();
        let mut plan = self.prepare_summary(self.ground(&collector.traces), &mut told);
        let mut summed = None;
        // One view can be part of a collection. Whoever asks now has it; else those who always ask.
        let mut owed = Owed::default();
        match ask {
            Some(ask) => {
                owed = ask();
                self.inspect_marked(|view| self.ask_inquiries(view, &mut told));
            }
            None if self.has_inquiries() => {
                let asked = |view: &StoppedHeap<'_>| self.ask_inquiries(view, &mut told);
                ((), owed) = self.ask_while_collecting(None, asked);
            }
            None => {}
        }
        if owed.broken {
            // What was marked cannot be told from what was merely on the way: begin anew.
            self.space.begin_epoch();
            owed = Owed::default();
        }
        let begin = Instant::now();
        let mut total = Marked::default();
        let mut waiting = Waiting::default();
        let mut assertions = self.assertions.lock().unwrap();
        let phase = Phase::Roots(owed);
        let checks = cfg!(feature = "assertions");
        let wanted = match checks {
            true => self.counted_classes(&assertions, collector.traces.len()),
            false => Vec::new(),
        };
        // Where many objects are to be counted, it is quicker to count all.
        let all = census.is_some() || plan.is_some() || assertions.counts_many();
        if !all {
            for class in &wanted {
                let trace = &mut collector.traces[class.0 as usize];
                *trace = trace.watched();
            }
        }
        let job = (self.ground(&collector.traces), phase);
        let (found, waits) = (&mut total, &mut waiting);
        let watches = checks && assertions.watches();
        let counted = match (all, watches) {
            _ if let Some(plan) = &plan => {
                let mut sum = self.sum(job, plan, watches, found, waits);
                let counted = std::mem::take(&mut sum.counted);
                summed = Some(sum);
                counted
            }
            (true, true) => self.count::<true, true>(job, found, waits),
            (true, false) => self.count::<true, false>(job, found, waits),
            (false, true) => self.count::<false, true>(job, found, waits),
            (false, false) if !wanted.is_empty() => self.count::<false, false>(job, found, waits),
            (false, false) => {
                self.close(job.0, job.1, found, waits, || ());
                Counted::default()
            }
        };
        let mut asked = 0;
        for &class in &wanted {
            collector.traces[class.0 as usize] = self.classes.get(class).trace;
            asked += counted.classes[class.0 as usize].0;
        }
        assertions.note_counted(asked, total.objects);
        let ground = self.ground(&collector.traces);
        if let Some(census) = census {
            census.add(&Census::of(&counted.classes));
        }
        if checks && !assertions.is_idle() {
            collector.verdict =
                self.check_assertions(&mut assertions, ground, &counted, total.objects);
        }
        let mut ground = ground;
        let forced = std::mem::take(&mut collector.verdict.forced);
        let mut left = Vec::new();
        if !forced.is_empty() {
            left = self.force_dead(ground, &forced);
            // What hung on them is dead now, too: mark again, without questions.
            (ground, total, waiting) = self.begin_anew(&collector.traces, ground, waiting);
            let job = (ground, Phase::Roots(Owed::default()));
            let (found, waits) = (&mut total, &mut waiting);
            match &plan {
                Some(plan) => summed = Some(self.sum(job, plan, false, found, waits)),
                None => drop(self.close(job.0, job.1, found, waits, || ())),
            }
        }
        if let (Some(tried), Some(counted)) = (&plan, &summed)
            && let Some(corrected) = self.correct_summary(ground, tried, &counted.summary)
        {
            // Mark again, knowing better; that is quicker than to look at all that is marked.
            drop(summed);
            plan = Some(corrected);
            (ground, total, waiting) = self.begin_anew(&collector.traces, ground, waiting);
            let job = (ground, Phase::Roots(Owed::default()));
            let (found, waits) = (&mut total, &mut waiting);
            let plan = plan.as_ref();
            summed = plan.map(|plan| self.sum(job, plan, false, found, waits));
        }
        if let (Some(plan), Some(summed)) = (&plan, summed) {
            // Observers may ask for what has been found so far.
            drop(assertions);
            self.observe_summary(plan, summed, collector.allocated_bytes, &mut told);
            assertions = self.assertions.lock().unwrap();
        }
        let number = self.collections();
        assertions.note(number, told, &mut collector.verdict);
        let mut now = |raw| Some(raw).filter(|&raw| is_marked(ground, raw));
        self.labels.lock().unwrap().follow(&mut now);
        if checks {
            assertions.forget_dead(&mut now, !forced.is_empty());
            collector.verdict.gone = assertions.checked();
            for shared in self.mutators.lock().unwrap().iter() {
                shared.follow_regions(&mut now);
            }
        }
        drop(assertions);
        *time = begin.elapsed();
        self.settle_weak(ground, &mut total);
        let watched = &mut self.watched.lock().unwrap().old;
        let mut pending = self.pending.lock().unwrap();
        for (raw, finalizer) in std::mem::take(&mut watched.finalizers) {
            if is_marked(ground, raw) {
                watched.finalizers.push((raw, finalizer));
            } else {
                pending.finalizers.push((raw.0.into(), finalizer));
            }
        }
        if !pending.finalizers.is_empty() {
            // Those that died earlier and still wait are no more alive than these.
            let waiting_too = pending.finalizers.iter();
            let objects = waiting_too.map(|(cell, _)| Raw(cell.load(Relaxed)));
            let phase = Phase::Finalizable(objects.collect());
            self.close(ground, phase, &mut total, &mut waiting, || ());
            self.settle_weak(ground, &mut total);
        }
        // References from what has died do not matter.
        left.retain(|&(from, _)| from.is_null() || is_marked(ground, from));
        let kept = left.into_iter().map(|(_, to)| to).collect();
        collector.verdict.note_forced(&forced, &kept);
        waiting.finish(ground);
        watched.droppables.retain(|&raw| {
            let live = is_marked(ground, raw);
            if !live {
                pending.remains.extend(Remains::take(ground, raw));
            }
            live
        });
        let mut gone = 0;
        watched.externals.retain(|&raw, bytes| {
            let live = is_marked(ground, raw);
            if !live {
                gone += *bytes;
            }
            live
        });
        self.space.adjust_external(gone, 0);
        total
    }

    /// Forgets what this collection has marked.
    fn begin_anew<'h>(
        &'h self,
        traces: &'h [Trace],
        ground: Ground<'_>,
        waiting: Waiting,
    ) -> (Ground<'h>, Marked, Waiting) {
        waiting.finish(ground);
        self.space.begin_epoch();
        (self.ground(traces), Marked::default(), Waiting::default())
    }

    /// Runs one phase: drains from its start set, then from what ephemerons add,
    /// until nothing is added. Answers the visitors that watched.
    pub(crate) fn close<V: Visitor>(
        &self,
        ground: Ground<'_>,
        phase: Phase,
        total: &mut Marked,
        waiting: &mut Waiting,
        visitor: impl Fn() -> V,
    ) -> Vec<V> {
        let (starts, mut done) = match phase {
            Phase::Roots(Owed { marked, starts, .. }) => {
                let mut all = self.root_targets();
                all.extend(starts);
                (all, marked)
            }
            Phase::Finalizable(objects) => (objects, Marked::default()),
        };
        let mut starts: Vec<_> = starts.into_iter().map(Start::from).collect();
        let mut visitors: Vec<V> = (0..self.config.collector_threads)
            .map(|_| visitor())
            .collect();
        let mut rest = Vec::new();
        while !starts.is_empty() {
            let (marked, back) = mark(ground, ground.epoch, &starts, visitors);
            visitors = back;
            visitors.append(&mut rest);
            let mut marked = std::mem::take(&mut done).plus(marked);
            starts = waiting.advance(ground, ground.epoch, &mut marked, &mut visitors[0]);
            total.objects += marked.objects;
            total.bytes += marked.bytes;
            total.weak.append(&mut marked.weak);
            // A chain of ephemerons comes link by link: not worth waking anybody.
            if starts.len() < 256 {
                rest = visitors.split_off(1);
            }
        }
        visitors.append(&mut rest);
        visitors
    }

    fn root_targets(&self) -> Vec<Raw> {
        let mut targets = Vec::new();
        self.for_each_root_cell(RootSet::All, |cell| {
            let raw = Raw(cell.load(Relaxed));
            if self.refers(raw) {
                targets.push(raw);
            }
        });
        targets
    }

    /// Clears the weak references met so far whose targets were not marked.
    fn settle_weak(&self, ground: Ground<'_>, total: &mut Marked) {
        for holder in total.weak.drain(..) {
            clear_dead(ground, holder);
        }
        for cell in &self.handles.weak.lock().unwrap().all {
            let raw = Raw(cell.raw.load(Relaxed));
            if self.refers(raw) && !is_marked(ground, raw) {
                cell.raw.store(0, Relaxed);
            }
        }
    }

    fn finish_sweep(&self) {
        self.space.finish_sweep(self.config.collector_threads);
    }

    /// Frees what was not marked: bit by bit, as cells are needed, after an automatic
    /// collection; at once and completely, moving objects together where there are
    /// too many holes, if the program asked for it or memory is short.
    fn sweep(&self, collector: &CollectorState, cause: Cause, stats: &mut CollectionStats) {
        self.space.begin_sweep();
        // Zeal does it now this way, now that.
        let lazy = match cause {
            Cause::Allocation => !self.space.is_nearly_full(),
            Cause::Zeal => self.full_collections() % 3 == 1,
            Cause::Request | Cause::OutOfMemory => false,
        };
        if lazy {
            return;
        }
        self.finish_sweep();
        // Blocks without any live object are gone now; what is left is holes.
        let (blocks, large) = self.space.extent_bytes();
        let small = stats.marked_bytes.saturating_sub(large);
        let zeal = cause == Cause::Zeal && self.full_collections().is_multiple_of(2);
        if zeal || policy::should_compact(blocks, small) {
            stats.compacted_bytes = self.compact(collector);
        }
        if cause != Cause::Allocation {
            self.space.pages.trim(0);
        }
    }

    /// Moves objects together; answers the bytes of blocks that were emptied.
    fn compact(&self, collector: &CollectorState) -> usize {
        let ground = self.ground(&collector.traces);
        let emptied = compact::evacuate(ground, &self.space);
        if emptied == 0 {
            return 0;
        }
        let moved = |raw: &mut Raw| *raw = compact::moved(ground, &self.space, *raw);
        let update = |cell: &AtomicU32| compact::update(ground, &self.space, cell);
        self.for_each_root_cell(RootSet::All, update);
        self.for_each_pending(|_, cell| update(cell));
        for cell in &self.handles.weak.lock().unwrap().all {
            update(&cell.raw);
        }
        let watched = &mut self.watched.lock().unwrap().old;
        watched.droppables.iter_mut().for_each(moved);
        watched
            .finalizers
            .iter_mut()
            .for_each(|(raw, _)| moved(raw));
        let externals = std::mem::take(&mut watched.externals);
        watched.externals = externals
            .into_iter()
            .map(|(raw, bytes)| (compact::moved(ground, &self.space, raw), bytes))
            .collect();
        let mut now = |raw| Some(compact::moved(ground, &self.space, raw));
        self.labels.lock().unwrap().follow(&mut now);
        if cfg!(feature = "assertions") {
            self.assertions.lock().unwrap().follow(&mut now);
            for shared in self.mutators.lock().unwrap().iter() {
                shared.follow_regions(&mut now);
            }
        }
        compact::update_objects(ground, &self.space);
        compact::finish(&self.space);
        self.space.handed_out.store(0, Relaxed);
        emptied
    }

    /// The error that says what memory was asked for and what holds it.
    pub(crate) fn out_of_memory(
        &self,
        mutator: &mut Mutator<'_>,
        asked_bytes: usize,
    ) -> OutOfMemory {
        let mut census = Census::new(0);
        let request = Request {
            kind: Kind::Full,
            cause: Cause::OutOfMemory,
            bytes: 0,
            census: Some(&mut census),
            ask: None,
        };
        self.collect_with(mutator.shared, request);
        let mut classes: Vec<_> = (1..census.objects.len())
            .filter(|&id| census.objects[id] > 0)
            .map(|id| ClassShare {
                class: self.classes.get(ClassId(id as u32)).info.name.clone(),
                objects: census.objects[id],
                bytes: census.bytes[id],
            })
            .collect();
        classes.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.class.cmp(&b.class)));
        classes.truncate(5);
        let error = OutOfMemory(Box::new(Shortage {
            asked_bytes,
            live_bytes: census.bytes.iter().sum(),
            external_bytes: self.space.external(),
            max_bytes: self.config.max_bytes,
            classes,
            snapshot: self.write_snapshot(mutator),
            halted: None,
        }));
        tracing::error!(heap = self.id, "{error}");
        error
    }

    fn write_snapshot(
        &self,
        mutator: &mut Mutator<'_>,
    ) -> Option<Result<std::path::PathBuf, String>> {
        let path = self.config.snapshot_on_oom.clone()?;
        let written = mutator.write_heap(&path, PlainData::All);
        Some(written.map(|()| path).map_err(|error| error.to_string()))
    }

    /// Records a collection and tells whoever listens, with the world running and
    /// nothing locked: a listener may do as it likes.
    fn report(&self, stats: CollectionStats) {
        self.stats.lock().unwrap().record(stats.clone());
        tracing::info!(
            heap = self.id,
            number = stats.number,
            kind = %stats.kind,
            cause = %stats.cause,
            pause_us = stats.pause.as_micros() as u64,
            time_to_safepoint_us = stats.time_to_safepoint.as_micros() as u64,
            marked_objects = stats.marked_objects,
            marked_bytes = stats.marked_bytes,
            freed_bytes = stats.freed_bytes,
            used_bytes = stats.used_bytes,
            heap_bytes = stats.heap_bytes,
            allocated_bytes = stats.allocated_bytes,
            "collection"
        );
        if self.config.log {
            log_line(format_args!("{stats}"));
        }
    }

    /// Names the mutators that a collection has been waiting for.
    fn report_stall(&self, waited: std::time::Duration) {
        let mutators = self.mutators.lock().unwrap();
        let names: Vec<_> = mutators
            .iter()
            .filter(|shared| shared.runs.load(Relaxed))
            .map(|shared| shared.name.as_str())
            .collect();
        let names = names.join(", ");
        drop(mutators);
        let waited_ms = waited.as_millis() as u64;
        tracing::warn!(heap = self.id, waited_ms, mutators = %names, "mutators stall a collection");
        if self.config.log {
            log_line(format_args!(
                "a collection has waited {waited_ms} ms for: {names}"
            ));
        }
    }
}

/// Writes to standard error, and does not mind if nobody listens.
pub(crate) fn log_line(line: fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "heaphound: {line}");
}

/// A panic in the middle of a collection leaves a heap that nobody may touch, and
/// mutators that wait for ever.
struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        log_line(format_args!(
            "a collection failed; the heap cannot be used any more"
        ));
        std::process::abort();
    }
}
