//! Marking everything that lives, in the one form of the loop that serves all checks.
//!
//! A full collection's marking is a list of phases, each a start set for the same drain loop
//! (`raw/marking/mark.rs`): first those that checks run before the roots (surveys, probes that
//! ride along), then the roots with what those have set aside. Each is followed by the values of
//! ephemerons whose keys it has reached, until there are none.
//!
//! What all checks need is merged into one [`Needs`]; [`HeapInner::mark`] chooses the form of the loop
//! for it. With no needs that is the plain loop, which knows of no check.
//!
//! Elsewhere: what is counted (`raw/marking/counters.rs`), and why a collection would mark a second time
//! (`collect.rs`).

use std::cell::RefCell;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use heaphound_heap::root::RootSet;
use heaphound_heap::trace::{Examiner, Filter, Phase, Showing, Traced, Visit};

use crate::check::{Graph, Instances, Needs, RunningChecks};
use crate::heap::HeapInner;
use crate::raw::marking::counters::{Beside, ClassCounter, Counter, Counts, Setup};
use crate::raw::marking::mark::{Ground, Marked, Start, Visitor, mark};
use crate::raw::marking::marker::SeriesMark;
use crate::raw::marking::summary_counter::Summing;
use crate::raw::marking::weak::{self, Waiting};
use crate::raw::mutators::mutator::MutatorShared;
use crate::raw::views::asked::{Owed, Ridden, shown_traces};
use crate::raw::{ObjectId, Raw};

/// What lives, and what was counted of it.
pub(crate) struct Marking<'h> {
    pub(crate) marked: Marked,
    pub(crate) counts: Counts<'h>,
    /// Objects asserted unshared that were started from, as often as they were.
    pub(crate) started: Vec<Raw>,
    /// Whether a trace of a check that looked before was cut short, and marking began anew.
    pub(crate) begun_anew: bool,
    /// How many objects checks had marked before the roots were.
    pub(crate) marked_by_checks: usize,
    /// How long it took, without what checks did before.
    pub(crate) time: Duration,
}

/// Who looks before the roots are marked: the checks, and whoever asked for the collection.
pub(crate) type Before<'b, 'h, 'r> =
    Option<(&'b mut RunningChecks<'h, 'r>, Option<&'b MutatorShared>)>;

impl HeapInner {
    /// Marks everything that lives, in the form that serves what is needed. The trace words of the
    /// classes in [`Instances::Of`] say that they are watched.
    pub(crate) fn mark<'h>(
        &'h self,
        ground: Ground<'h>,
        setup: &'h Setup,
        needs: &Needs,
        before: Before<'_, '_, '_>,
    ) -> Marking<'h> {
        let shapes = needs.graph == Graph::Shapes && setup.assumed.is_some();
        // Where examiners look on, fewer forms are compiled: see `Counter::RIDDEN`.
        let sharing = needs.sharing || needs.survey;
        let run = match (needs.graph, &needs.instances, needs.sharing) {
            (Graph::Nothing, Instances::OfNone, false) => Self::mark_as::<()>,
            (Graph::Nothing, ..) if needs.survey => Self::mark_as::<ClassCounter<true, true>>,
            (Graph::Nothing, Instances::OfAll, true) => Self::mark_as::<ClassCounter<true, true>>,
            (Graph::Nothing, Instances::OfAll, false) => Self::mark_as::<ClassCounter<true, false>>,
            (Graph::Nothing, _, true) => Self::mark_as::<ClassCounter<false, true>>,
            (Graph::Nothing, _, false) => Self::mark_as::<ClassCounter<false, false>>,
            _ => match (sharing, shapes) {
                (true, true) => Self::mark_as::<Summing<'h, true, true>>,
                (true, false) => Self::mark_as::<Summing<'h, true, false>>,
                (false, true) => Self::mark_as::<Summing<'h, false, true>>,
                (false, false) => Self::mark_as::<Summing<'h, false, false>>,
            },
        };
        run(self, ground, setup, before)
    }

    fn mark_as<'h, C: Counter<'h>>(
        &'h self,
        ground: Ground<'h>,
        setup: &'h Setup,
        before: Before<'_, '_, '_>,
    ) -> Marking<'h> {
        let mut phases = Phases::<C>::new(self, ground, setup);
        let mut begun_anew = false;
        if let Some((checks, asker)) = before
            && checks.look_before()
        {
            phases.owed = Owed::new(phases.root_targets());
            let ridden = RefCell::new(phases);
            self.look_before(&ridden, asker, checks);
            phases = ridden.into_inner();
            if phases.owed.broken {
                // What was marked cannot be told from what was merely on the way.
                phases.waiting.finish(phases.ground);
                self.space.begin_epoch();
                let epoch = self.space.epoch();
                phases = Phases::new(self, Ground { epoch, ..ground }, setup);
                begun_anew = true;
            }
        }
        let marked_by_checks = phases.marked.objects + phases.owed.marked.objects;
        let begin = Instant::now();
        phases.mark_roots();
        phases.waiting.finish(phases.ground);
        Marking {
            marked_by_checks,
            time: begin.elapsed(),
            marked: phases.marked,
            counts: C::merge(phases.counters),
            started: phases.started,
            begun_anew,
        }
    }

    /// Marks what has another life until its finalizer has run. Nobody counts.
    pub(crate) fn mark_finalizable(&self, ground: Ground<'_>, objects: Vec<Raw>) -> Marked {
        let setup = Setup::default();
        let mut phases = Phases::<()>::new(self, ground, &setup);
        phases.drain(objects.into_iter().map(Start::from).collect());
        phases.waiting.finish(ground);
        phases.marked
    }
}

/// The phases of one marking, while they run.
struct Phases<'h, C: Visitor> {
    heap: &'h HeapInner,
    ground: Ground<'h>,
    /// One for each worker.
    counters: Vec<C>,
    marked: Marked,
    /// Ephemerons whose keys have not been reached.
    waiting: Waiting,
    /// What others have marked before the roots are.
    owed: Owed,
    /// Edges that surveys have set aside.
    aside: Vec<Start<C::Tag>>,
    started: Vec<Raw>,
}

impl<'h, C: Counter<'h>> Phases<'h, C> {
    fn new(heap: &'h HeapInner, ground: Ground<'h>, setup: &'h Setup) -> Self {
        let threads = heap.config.collector_threads;
        Self {
            heap,
            ground,
            counters: (0..threads).map(|_| C::fresh(ground, setup)).collect(),
            marked: Marked::default(),
            waiting: Waiting::default(),
            owed: Owed::new(Vec::new()),
            aside: Vec::new(),
            started: Vec::new(),
        }
    }

    /// The last phase: from the roots, and from what earlier ones have set aside.
    fn mark_roots(&mut self) {
        let mut starts = self.root_targets();
        self.note_starts(&starts);
        starts.append(&mut self.owed.starts);
        let mut starts: Vec<_> = starts.into_iter().map(Start::from).collect();
        starts.append(&mut self.aside);
        let owed = std::mem::take(&mut self.owed.marked);
        self.marked = std::mem::take(&mut self.marked).plus(owed);
        self.drain(starts);
    }

    fn root_targets(&self) -> Vec<Raw> {
        let mut targets = Vec::new();
        self.heap.for_each_root_cell(RootSet::All, |cell| {
            let raw = Raw(cell.load(Relaxed));
            if self.ground.refers(raw) {
                targets.push(raw);
            }
        });
        targets
    }

    /// Marks from starts, then from what ephemerons add, until nothing is added.
    fn drain(&mut self, mut starts: Vec<Start<C::Tag>>) {
        let ground = self.ground;
        let mut counters = std::mem::take(&mut self.counters);
        let mut rest = Vec::new();
        loop {
            let drained = mark(ground, ground.epoch, &starts, counters);
            counters = drained.visitors;
            counters.append(&mut rest);
            let mut marked = drained.marked;
            // Those that were met before the roots were marked wait, too.
            marked.ephemerons.append(&mut self.marked.ephemerons);
            marked.woken.append(&mut self.marked.woken);
            starts = self
                .waiting
                .advance(ground, ground.epoch, &mut marked, &mut counters[0]);
            self.marked = std::mem::take(&mut self.marked).plus(marked);
            if starts.is_empty() {
                break;
            }
            // A chain of ephemerons comes link by link: not worth waking anybody.
            if starts.len() < 256 {
                rest = counters.split_off(1);
            }
        }
        self.counters = counters;
    }

    /// Remembers which objects that were asserted unshared are arrived at from no slot.
    fn note_starts(&mut self, starts: &[Raw]) {
        if C::MEETS {
            let unshared = starts.iter().filter(|&&raw| self.heap.is_unshared(raw));
            self.started.extend(unshared);
        }
    }

    /// Runs a phase of a survey.
    fn show<'v, const OVERLAPS: bool>(
        &mut self,
        phase: &Phase<ObjectId<'v>>,
        avoid: Visit,
        holds_values: &dyn Fn(Raw) -> bool,
        examiners: &mut [&mut dyn Examiner<ObjectId<'v>>],
    ) -> Traced {
        let wants = |class| examiners.iter().any(|it| it.wants(class));
        let traces = shown_traces(self.ground.traces, wants);
        let ground = Ground {
            traces: &traces,
            ..self.ground
        };
        let marker = SeriesMark::new(phase.mark, avoid, ground.epoch);
        let starts: Vec<Raw> = phase.starts.iter().map(|it| it.raw()).collect();
        self.note_starts(&starts);
        let tag = C::no_edge();
        let mut starts: Vec<_> = starts.into_iter().map(|to| Start { to, tag }).collect();
        let counters = std::mem::take(&mut self.counters).into_iter();
        let visitors = counters.zip(examiners.iter_mut());
        let mut visitors: Vec<Beside<'_, 'v, C, OVERLAPS>> = visitors
            .map(|(counter, examiner)| Beside::new(counter, Showing::new(&mut **examiner, phase)))
            .collect();
        let before = self.marked.objects;
        while !starts.is_empty() {
            let drained = mark(ground, marker, &starts, visitors);
            visitors = drained.visitors;
            self.aside.extend(drained.aside);
            let mut marked = drained.marked;
            starts.clear();
            // Those whose keys are thought dead wait all the same: a check that looks later may keep
            // such a key.
            marked.ephemerons.retain(|&ephemeron| {
                let holds = holds_values(ephemeron);
                if holds {
                    weak::dependents(ground, ephemeron, &mut visitors[0], &mut starts);
                }
                !holds
            });
            self.marked = std::mem::take(&mut self.marked).plus(marked);
        }
        for Beside {
            counter, showing, ..
        } in visitors
        {
            showing.finish();
            self.counters.push(counter);
        }
        Traced {
            objects: self.marked.objects - before,
        }
    }
}

impl<'h, C: Counter<'h>> Ridden for Phases<'h, C> {
    fn survey<'v>(
        &mut self,
        phase: &Phase<ObjectId<'v>>,
        holds_values: &dyn Fn(Raw) -> bool,
        examiners: &mut [&mut dyn Examiner<ObjectId<'v>>],
    ) -> Option<Traced> {
        let Filter::Once { since, avoid } = phase.filter else {
            return None;
        };
        let fits = examiners.len() == self.counters.len();
        if !C::RIDDEN || !fits || !self.owed.admits(self.ground, phase) {
            // Nor may the phases behind it: they would not know what this one has entered.
            self.owed.forget_marks();
            return None;
        }
        if !self.owed.note_survey(since) {
            return None;
        }
        // Until the phase has come to its end.
        self.owed.broken = true;
        let overlaps = C::MEETS || examiners.iter().any(|it| it.wants_overlaps());
        let traced = match overlaps {
            true => self.show::<true>(phase, avoid, holds_values, examiners),
            false => self.show::<false>(phase, avoid, holds_values, examiners),
        };
        self.owed.broken = false;
        Some(traced)
    }

    fn owed(&mut self) -> Option<&mut Owed> {
        // What traces with visitors of their own mark is not counted.
        let counts = C::OBJECTS || C::WATCHES || C::MEETS;
        (!counts).then_some(&mut self.owed)
    }

    fn forget_marks(&mut self) {
        self.owed.forget_marks();
    }
}
