//! A collection, step by step.
//!
//! A mutator that needs memory, or whose program asks for it, stops the world. Then:
//!
//! 1. **Gather** from the mutators what only they know: cursors, new classes, objects with drops.
//! 2. **Evacuate** the nursery, if there is one (`generations.rs`). If that was enough, go to 12.
//! 3. **Finish the last sweep**, so that every object carries the current epoch, and begin a new one. An
//!    object is marked if it carries the current epoch: now nothing is.
//! 4. **Ask the checks** what they need to be counted (`check.rs`).
//! 5. **Mark** all that lives (`marking.rs`): first what checks trace themselves, then from the roots, in
//!    parallel, with ephemerons until nothing changes. The loop is compiled in several forms; the one
//!    runs that counts what is needed.
//! 6. **Count shapes again** if they are not what was assumed. They are counted while marking, on the
//!    assumption that recursive classes are those of the last collection; if others are found, all
//!    is marked a second time.
//! 7. **Settle what is weak**: references, labels and table entries of what was not marked go. From
//!    here on no live object reaches a dead one.
//! 8. **Conclude**: each check looks at what lives, and what it finds goes into the ledger
//!    (`findings.rs`). If an assertion is to be forced true, references are cleared, and steps
//!    5 to 7 are repeated, without what checks trace themselves, before the next check concludes.
//! 9. **Revive** dead objects with finalizers: they are marked after all, and queued.
//! 10. **Bury** dead objects that own Rust memory: they are moved out, to be dropped later.
//! 11. **Sweep**: after an automatic collection blocks are listed, to be swept when their cells are
//!     needed. If the program asked, or memory is short, all are swept now, and objects move together
//!     if there are too many holes.
//! 12. The world runs. Statistics are recorded and findings announced. Whoever called then runs drops and
//!     finalizers (`HeapInner::finish`).
//!
//! With the world stopped, checks are the only user code (steps 4, 5 and 8); their panics are caught, and
//! any other panic aborts the process. Statistics, announcements, drops and finalizers run in step 12.
//!
//! A full collection marks from scratch once. It does so again in three cases, which statistics tell
//! ([`Remark`]): a trace that a check ran in step 5 was cut short by a panic; step 6; step 8.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use heaphound_analysis::slot::SlotIds;
use heaphound_analysis::summary::Summary;
use heaphound_heap::ClassId;
use heaphound_heap::root::RootSet;

use crate::assertions::AssertionCheck;
use crate::check::{Check, Counted, Graph, Instances, Needs, RunningChecks};
use crate::findings::{Announcements, Listener, Reaction};
use crate::heap::HeapInner;
use crate::log::log_line;
use crate::marking::{Before, Marking, Sifted};
use crate::policy;
use crate::pruning::PruningCheck;
use crate::raw::marking::finalize::Remains;
use crate::raw::marking::mark::{Ground, Marked};
use crate::raw::marking::weak::{clear_dead, instead, is_marked};
use crate::raw::memory::compact;
use crate::raw::memory::os::thread_time;
use crate::raw::memory::sizes::BLOCK;
use crate::raw::memory::space::Cursor;
use crate::raw::mutators::mutator::MutatorShared;
use crate::raw::{Raw, SizeClass, Trace};
use crate::safepoint::Stop;
use crate::stats::CollectionStats;
use crate::summaries::{Measured, SummaryCheck};
use crate::waits::{CalledOff, Loss};

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
#[non_exhaustive]
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

/// Why a full collection marked again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Remark {
    /// A trace that a check ran before the heap was marked was cut short by a panic.
    TraceCutShort,
    /// Recursive data structures were not those that earlier collections had shown.
    OtherShapes,
    /// An assertion was forced true: what hung on the object is dead, too.
    Forced,
}

/// What the mutator that wanted a collection must know of it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Outcome {
    /// Even after the collection, live objects leave no room for the nursery.
    pub(crate) over_limit: bool,
}

/// What is wanted of a collection.
pub(crate) struct Request<'r> {
    pub(crate) kind: Kind,
    pub(crate) cause: Cause,
    /// Bytes of the allocation that it is to make room for.
    pub(crate) bytes: usize,
    /// Watches this one collection, if it is full.
    pub(crate) check: Option<&'r mut dyn Check>,
    /// What it costs to leave it out.
    pub(crate) loss: Loss,
    /// Whether it takes the place of one that would come of itself: what it frees is swept as it is needed.
    pub(crate) in_place: bool,
}

impl Request<'_> {
    pub(crate) fn new(kind: Kind, cause: Cause) -> Self {
        Self {
            kind,
            cause,
            bytes: 0,
            check: None,
            loss: match cause {
                Cause::Allocation | Cause::Zeal | Cause::OutOfMemory => Loss::Delay,
                Cause::Request => Loss::Panic,
            },
            in_place: false,
        }
    }
}

/// What the collector keeps from one collection to the next.
pub(crate) struct CollectorState {
    /// The trace words of all classes, by id.
    pub(crate) traces: Vec<Trace>,
    /// Where survivors of the nursery go.
    pub(crate) promotion: [Cursor; SizeClass::COUNT],
    /// Live bytes after the last full collection.
    live_bytes: usize,
    /// Bytes allocated up to the last collection.
    allocated_bytes: u64,
    /// What had been handed out at the last collection, since the last full one.
    handed_out: usize,
    trend: policy::Trend,
}

impl Default for CollectorState {
    fn default() -> Self {
        Self {
            traces: vec![Trace::NOTHING],
            promotion: std::array::from_fn(|_| Cursor::default()),
            live_bytes: 0,
            allocated_bytes: 0,
            handed_out: 0,
            trend: policy::Trend::default(),
        }
    }
}

/// What a collection leaves to be done when the world runs again.
struct Performed {
    stats: CollectionStats,
    outcome: Outcome,
    announcements: Announcements,
}

impl HeapInner {
    /// Collects on behalf of a running mutator. If another one collected while this one waited, that is
    /// enough for an allocation; all other causes go on until their own collection has taken place, unless it is
    /// called off.
    pub(crate) fn collect_with(
        &self,
        shared: &MutatorShared,
        request: Request<'_>,
    ) -> Result<Outcome, CalledOff> {
        let cause = request.cause;
        let Some(time_to_safepoint) =
            self.stop(shared, request.loss, cause == Cause::Allocation)?
        else {
            return Ok(Outcome::default());
        };
        let begin = Instant::now();
        let abort = AbortOnUnwind;
        let mut done = self.perform(shared, request);
        done.stats.time_to_safepoint = time_to_safepoint;
        done.stats.pause = time_to_safepoint + begin.elapsed();
        std::mem::forget(abort);
        self.safepoints.resume(&shared.runs);
        if cause == Cause::Allocation {
            self.prepare_nursery();
        }
        self.tell(done.stats, done.announcements);
        Ok(done.outcome)
    }

    /// Step 12: says what a collection has done and found, with the world running. What is found is announced
    /// even if whoever hears the statistics panics.
    fn tell(&self, stats: CollectionStats, announcements: Announcements) {
        let reported = catch_unwind(AssertUnwindSafe(|| self.report(stats)));
        self.announce(announcements);
        if let Err(panic) = reported {
            resume_unwind(panic);
        }
    }

    /// Stops the world and returns how long that took. `None` if another mutator has collected meanwhile, and
    /// that is enough.
    fn stop(
        &self,
        shared: &MutatorShared,
        loss: Loss,
        or_another: bool,
    ) -> Result<Option<Duration>, CalledOff> {
        let patience = self.config.stall_warning;
        let mut report = None;
        loop {
            let stalled = |waited| self.report_stall(waited, &mut report);
            match self.safepoints.stop(&shared.runs, loss, patience, stalled) {
                Stop::Stopped(time) => return Ok(Some(time)),
                Stop::ByAnother if or_another => return Ok(None),
                Stop::ByAnother => {}
                Stop::CalledOff => {
                    self.stats.lock().unwrap().put_off_collections += 1;
                    return Err(CalledOff);
                }
            }
        }
    }

    /// As [`collect_with`](Self::collect_with), for a program that asked for it.
    ///
    /// # Panics
    /// If the collection is called off.
    pub(crate) fn collect_or_panic(&self, shared: &MutatorShared, request: Request<'_>) {
        if self.collect_with(shared, request).is_err() {
            self.panic_called_off(shared);
        }
    }

    /// Collects the whole heap and runs `f` before the world runs again: then what is
    /// in the heap is alive or waits for its finalizer, and nothing is young.
    pub(crate) fn with_collected_heap<R>(
        &self,
        shared: &MutatorShared,
        f: impl FnOnce() -> R,
    ) -> R {
        let begin = Instant::now();
        let (done, result) = self.with_stopped_world(shared, || {
            let time_to_safepoint = begin.elapsed();
            let abort = AbortOnUnwind;
            let mut done = self.perform(shared, Request::new(Kind::Full, Cause::Request));
            let result = f();
            std::mem::forget(abort);
            done.stats.time_to_safepoint = time_to_safepoint;
            done.stats.pause = begin.elapsed();
            (done, result)
        });
        self.tell(done.stats, done.announcements);
        result
    }

    /// Runs `f` while the world is stopped.
    ///
    /// # Panics
    /// If that would mean to wait for ever.
    pub(crate) fn with_stopped_world<R>(&self, shared: &MutatorShared, f: impl FnOnce() -> R) -> R {
        self.try_with_stopped_world(shared, Loss::Panic, f)
            .unwrap_or_else(|CalledOff| self.panic_called_off(shared))
    }

    /// Says why the world cannot be stopped: another mutator of this thread stands in the way, or other
    /// threads do.
    #[cold]
    fn panic_called_off(&self, shared: &MutatorShared) -> ! {
        match self.rival_of(shared) {
            Some(rival) => panic!(
                "`{rival}` was attached while another mutator of this thread was blocked, and is not detached yet"
            ),
            None => panic!("{CalledOff}"),
        }
    }

    /// Runs `f` while the world is stopped, unless that would mean to wait for ever.
    pub(crate) fn try_with_stopped_world<R>(
        &self,
        shared: &MutatorShared,
        loss: Loss,
        f: impl FnOnce() -> R,
    ) -> Result<R, CalledOff> {
        struct Resume<'h>(&'h HeapInner, &'h MutatorShared);
        impl Drop for Resume<'_> {
            fn drop(&mut self) {
                self.0.safepoints.resume(&self.1.runs);
            }
        }
        self.stop(shared, loss, false)?;
        let _resume = Resume(self, shared);
        Ok(f())
    }

    /// Steps 1 to 11, with the world stopped.
    fn perform(&self, shared: &MutatorShared, request: Request<'_>) -> Performed {
        let collector = &mut *self.collector.lock().unwrap();
        self.gather(collector);
        let number = self.collections.fetch_add(1, Relaxed) + 1;
        let allocated_bytes = self.account(collector);
        let mut stats = CollectionStats::new(number, request.cause, allocated_bytes);
        let mut announcements = Announcements::default();
        let is_full = self.evacuate(collector, &request, &mut stats);
        if is_full {
            let before =
                collector.live_bytes + self.space.handed_out.load(Relaxed) + stats.freed_bytes;
            let handed_out = self.space.handed_out.load(Relaxed);
            let begin = thread_time();
            announcements = self.collect_fully(collector, shared, request, &mut stats);
            self.note_full(handed_out, thread_time().saturating_sub(begin));
            stats.freed_bytes = before.saturating_sub(stats.marked_bytes);
        }
        collector.handed_out = self.space.handed_out.load(Relaxed);
        for shared in self.mutators.lock().unwrap().iter() {
            shared.set_epoch(self.space.epoch());
        }
        if self.config.zeal.is_some() {
            self.verify((stats.kind == Kind::Full).then_some(stats.marked_objects));
        }
        stats.used_bytes = collector.live_bytes + collector.handed_out;
        stats.heap_bytes = self.heap_bytes();
        stats.external_bytes = self.space.external();
        Performed {
            stats,
            outcome: Outcome {
                over_limit: self.note_limit(),
            },
            announcements,
        }
    }

    /// Steps 3 to 11.
    fn collect_fully(
        &self,
        collector: &mut CollectorState,
        shared: &MutatorShared,
        request: Request<'_>,
        stats: &mut CollectionStats,
    ) -> Announcements {
        self.full_collections.fetch_add(1, Relaxed);
        stats.kind = Kind::Full;
        self.finish_last_sweep(collector);
        self.space.begin_epoch();
        let asker = request.check.is_some().then_some(shared);
        let mut checks =
            RunningChecks::take(self, self.own_checks(request.cause, stats), request.check);
        let needs = checks.needs();
        let live = self.find_live(collector, &needs, Some((&mut checks, asker)), stats);
        let (live, mut announcements) = self.conclude(collector, &needs, &mut checks, live, stats);
        checks.put_back();
        // Of what is reachable: before finalizers bring anything back.
        self.keep_summary(&live);
        let ground = self.ground(&collector.traces);
        let mut marked = live.marked;
        self.revive_finalizable(ground, &mut marked);
        announcements.note_forced(|raw| is_marked(ground, raw));
        self.bury_dead(ground);
        collector.live_bytes = marked.bytes;
        stats.marked_objects = marked.objects;
        stats.marked_bytes = marked.bytes;
        let sweeps_for = match request.in_place {
            true => Cause::Allocation,
            false => request.cause,
        };
        let is_swept = self.sweep(collector, sweeps_for, request.bytes, stats);
        stats.fullness = self.fullness(marked.bytes, is_swept);
        self.pruning.note_fullness(stats.fullness);
        let live_bytes = marked.bytes + self.space.external();
        let allocated_bytes = stats.allocated_bytes;
        let trend = &mut collector.trend;
        let grows = trend.grows(&self.config, allocated_bytes, live_bytes);
        let budget = match self.config.pruning.and_then(|it| it.observed_from()) {
            Some(share) => policy::observed_budget(&self.config, share, live_bytes, grows),
            None => policy::next_budget(&self.config, live_bytes),
        };
        self.space.set_budget(budget);
        announcements
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
            self.gather_samples(shared);
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
        let new = handed_out.saturating_sub(collector.handed_out) + self.generations.young_bytes();
        collector.allocated_bytes += new as u64;
        collector.allocated_bytes
    }

    pub(crate) fn ground<'h>(&'h self, traces: &'h [Trace]) -> Ground<'h> {
        Ground {
            base: self.base,
            reach: self.reach,
            epoch: self.space.epoch(),
            traces,
            classes: &self.classes,
        }
    }

    /// Step 3.
    fn finish_last_sweep(&self, collector: &CollectorState) {
        for size_class in SizeClass::all() {
            let cursor = &collector.promotion[size_class.0 as usize];
            self.space.retire(cursor, size_class);
        }
        self.space.finish_sweep(self.config.collector_threads);
        // What the last collection freed and nobody has needed since.
        self.space.pages.trim(self.space.budget());
    }

    /// The checks that every heap has.
    fn own_checks(
        &self,
        cause: Cause,
        stats: &CollectionStats,
    ) -> Vec<(Box<dyn Check + '_>, Listener)> {
        let mut checks = vec![
            (
                Box::new(AssertionCheck(self)) as Box<dyn Check>,
                Listener::assertions(Reaction::Log),
            ),
            (Box::new(SummaryCheck(self)), Listener::new(Reaction::Log)),
        ];
        if let Some(check) = PruningCheck::new(self, cause, stats.allocated_bytes) {
            checks.push((Box::new(check), self.pruning_listener()));
        }
        checks
    }

    /// Steps 5 to 7: everything that lives is marked, counted as needed, and what is weak is settled.
    fn find_live(
        &self,
        collector: &CollectorState,
        needs: &Needs,
        before: Before<'_, '_, '_>,
        stats: &mut CollectionStats,
    ) -> Live {
        let is_repeat = before.is_none();
        // Objects grow staler once in a collection, and what is stale is looked for once.
        let again = Needs {
            stale: None,
            ..needs.clone()
        };
        let needs = if is_repeat { &again } else { needs };
        let traces = watched_traces(&collector.traces, needs);
        let ground = self.ground(&traces);
        let setup = self.prepare_counting(ground, needs);
        let mut marking = self.mark(ground, &setup, needs, before);
        if marking.begun_anew {
            stats.remarks.push(Remark::TraceCutShort);
        }
        stats.mark_time += marking.time;
        stats.marked_by_checks += marking.marked_by_checks;
        let corrected;
        let mut recounted = false;
        let mut assumed = setup.assumed.as_ref();
        if let Some(setup) = self.correct_shapes(ground, assumed, &marking) {
            stats.remarks.push(Remark::OtherShapes);
            recounted = true;
            corrected = setup;
            assumed = corrected.assumed.as_ref();
            self.space.begin_epoch();
            let sifted = marking.sifted.take();
            marking = self.mark(self.ground(&traces), &corrected, &again, None);
            marking.sifted = sifted;
            stats.mark_time += marking.time;
        }
        let Marking {
            marked,
            counts,
            started,
            sifted,
            ..
        } = marking;
        let mut live = Live {
            allocated_bytes: collector.allocated_bytes,
            collection: stats.number,
            marked,
            classes: counts.classes,
            again: counts.again,
            started,
            sifted,
            ..Live::default()
        };
        self.settle_weak(self.ground(&traces), &mut live.marked);
        self.settle_tables(self.ground(&traces), is_repeat);
        if self.pruned_instead_of_dead().is_some() {
            self.withhold_finalizers(self.ground(&traces));
        }
        if let Some(summary) = counts.summary {
            live.slots = self.slot_ids();
            if needs.graph == Graph::Shapes {
                let counted = assumed.map(|assumed| (assumed, counts.shapings));
                let measured = self.measure_shapes(&summary, &live.slots, counted, recounted);
                live.shapes = Some(measured);
            }
            live.summary = Some(Arc::new(summary));
        }
        live
    }

    /// Step 8. Returns what lives in the end, and what is to be announced.
    fn conclude(
        &self,
        collector: &CollectorState,
        needs: &Needs,
        checks: &mut RunningChecks<'_, '_>,
        mut live: Live,
        stats: &mut CollectionStats,
    ) -> (Live, Announcements) {
        let mut announcements = Announcements::default();
        for number in 0..checks.len() {
            let mut found = self.with_marked(|heap| checks.conclude(number, heap, &live.counted()));
            let forced = std::mem::take(&mut found.forced);
            let mut ledger = self.ledger.lock().unwrap();
            ledger.note(stats.number, found, &mut announcements);
            drop(ledger);
            if !forced.is_empty() {
                let left = self.force_dead(self.ground(&collector.traces), &forced);
                announcements.add_forced(forced, left);
                stats.remarks.push(Remark::Forced);
                self.space.begin_epoch();
                let sifted = live.sifted.take();
                live = self.find_live(collector, needs, None, stats);
                live.sifted = sifted;
            }
        }
        (live, announcements)
    }

    /// Clears the weak references of objects that this marking has visited, and weak handles, whose
    /// targets were not marked; or makes them invalid, where the targets were pruned and are not to be
    /// taken for dead.
    fn settle_weak(&self, ground: Ground<'_>, marked: &mut Marked) {
        let pruned = self.pruned_instead_of_dead();
        for holder in marked.weak.drain(..) {
            clear_dead(ground, holder, pruned);
        }
        for cell in &self.handles.weak.lock().unwrap().all {
            let raw = Raw(cell.raw.load(Relaxed));
            if self.refers(raw) && !is_marked(ground, raw) {
                cell.raw.store(instead(ground, raw, pruned).0, Relaxed);
            }
        }
    }

    /// Forgets what was said of objects that are not marked: labels, assertions, regions. Ownership is
    /// left to the check, which looks at all pairs; in a repeat it has done so already.
    fn settle_tables(&self, ground: Ground<'_>, is_repeat: bool) {
        let mut now = |raw| Some(raw).filter(|&raw| is_marked(ground, raw));
        self.labels.lock().unwrap().follow(&mut now);
        self.settle_samples(ground, is_repeat);
        if cfg!(feature = "assertions") {
            self.assertions
                .lock()
                .unwrap()
                .forget_dead(&mut now, is_repeat);
            for shared in self.mutators.lock().unwrap().iter() {
                shared.follow_regions(&mut now);
            }
        }
    }

    /// Step 9.
    fn revive_finalizable(&self, ground: Ground<'_>, marked: &mut Marked) {
        let watched = &mut self.watched.lock().unwrap().old;
        let mut pending = self.pending.lock().unwrap();
        for (raw, finalizer) in std::mem::take(&mut watched.finalizers) {
            if is_marked(ground, raw) {
                watched.finalizers.push((raw, finalizer));
            } else {
                pending.finalizers.push((raw.0.into(), finalizer));
            }
        }
        if pending.finalizers.is_empty() {
            return;
        }
        // Those that died earlier and still wait are reached from the queue alone, too.
        let objects = pending.finalizers.iter();
        let objects = objects.map(|(cell, _)| Raw(cell.load(Relaxed))).collect();
        let mut revived = self.mark_finalizable(ground, objects);
        // What is revived holds weak references that step 7 has not seen.
        self.settle_weak(ground, &mut revived);
        marked.objects += revived.objects;
        marked.bytes += revived.bytes;
    }

    /// Step 10.
    fn bury_dead(&self, ground: Ground<'_>) {
        // Not before: what a finalizer brings back is called as before.
        let mut now = |raw| Some(raw).filter(|&raw| is_marked(ground, raw));
        self.names.follow(&mut now);
        self.bury_samples(ground);
        if self.pruned_instead_of_dead().is_some() {
            self.withhold_remains(ground);
        }
        let watched = &mut self.watched.lock().unwrap().old;
        let mut pending = self.pending.lock().unwrap();
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
    }

    /// Step 11. Frees what was not marked: bit by bit, as cells are needed, after an automatic
    /// collection; at once and completely, moving objects together where there are
    /// too many holes, if the program asked for it or memory is short.
    ///
    /// Returns whether all is swept.
    fn sweep(
        &self,
        collector: &CollectorState,
        cause: Cause,
        asked_bytes: usize,
        stats: &mut CollectionStats,
    ) -> bool {
        self.space.begin_sweep();
        let asked_bytes = asked_bytes.next_multiple_of(BLOCK);
        // Zeal does it now this way, now that.
        let lazy = match cause {
            Cause::Allocation => !self.space.is_nearly_full() && self.space.holds(asked_bytes),
            Cause::Zeal => self.full_collections() % 3 == 1,
            Cause::Request | Cause::OutOfMemory => false,
        };
        if lazy {
            return false;
        }
        self.space.finish_sweep(self.config.collector_threads);
        // Blocks without any live object are gone now; what is left is holes.
        let (blocks, large) = self.space.extent_bytes();
        let small = stats.marked_bytes.saturating_sub(large);
        let zeal = cause == Cause::Zeal && self.full_collections().is_multiple_of(2);
        let holds = self.space.holds(asked_bytes) && !self.space.is_over_limit();
        let is_full = self.generations.nursery().is_some() && !holds;
        if zeal || policy::should_compact(blocks, small, is_full) {
            stats.compacted_bytes = self.compact(collector, is_full || zeal);
        }
        if cause != Cause::Allocation {
            self.space.pages.trim(0);
        }
        true
    }

    /// Moves objects together. Returns the bytes of blocks that were emptied.
    fn compact(&self, collector: &CollectorState, is_full: bool) -> usize {
        let ground = self.ground(&collector.traces);
        let emptied = compact::evacuate(ground, &self.space, is_full);
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
        self.names.follow(&mut now);
        self.pruning.follow(&mut now);
        self.follow_samples(&mut now);
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
}

/// The trace words that marking gets to see: those of classes whose instances are counted say so,
/// unless all are counted anyway.
fn watched_traces(traces: &[Trace], needs: &Needs) -> Vec<Trace> {
    let mut traces = traces.to_vec();
    // A summary counts them all, and so does a loop in which a check surveys the heap, or looks for what is stale.
    let counts_all = needs.survey || needs.stale.is_some();
    if let (Instances::Of(classes), Graph::Nothing, false) =
        (&needs.instances, needs.graph, counts_all)
    {
        for class in classes {
            if let Some(trace) = traces.get_mut(class.0 as usize) {
                *trace = trace.watched();
            }
        }
    }
    traces
}

/// What lives, and what was counted of it.
#[derive(Default)]
pub(crate) struct Live {
    pub(crate) collection: u64,
    pub(crate) allocated_bytes: u64,
    marked: Marked,
    /// Objects and bytes, by class.
    classes: Vec<(usize, usize)>,
    /// Objects asserted unshared, as often as they were met again.
    again: Vec<Raw>,
    /// Those of them that marking started from.
    started: Vec<Raw>,
    sifted: Option<Sifted>,
    pub(crate) summary: Option<Arc<Summary>>,
    slots: SlotIds,
    shapes: Option<Measured>,
}

impl Live {
    fn counted(&self) -> Counted<'_> {
        Counted {
            collection: self.collection,
            allocated_bytes: self.allocated_bytes,
            objects: self.marked.objects,
            bytes: self.marked.bytes,
            summary: self.summary.as_deref(),
            slots: &self.slots,
            shapes: self.shapes.as_ref().map(Measured::shapes),
            classes: &self.classes,
            again: &self.again,
            started: &self.started,
            sifted: self.sifted.as_ref(),
        }
    }
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
