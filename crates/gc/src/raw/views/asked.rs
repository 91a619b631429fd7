//! Tracing the stopped heap to answer a question.
//!
//! The loop is the collector's ([`crate::raw::marking::mark`]); the mark is a byte of the header that
//! the collector does not use, with a new number for each trace. When the numbers have
//! run out, one trace over all that can ever be reached again gives every object the same
//! number, which stands for none; the next time it is another one, so that two serve for
//! ever.
//!
//! A view can be **part of a collection** ([`Ridden`]): then what a trace enters gets the
//! collector's mark too, so that the collection that follows need not go there again. That is sound
//! while no object with the collector's mark refers to one without that nobody will
//! start from. Three things guard it:
//! - a trace marks for the collection only if it starts from objects that are known to
//!   live, and does not end early;
//! - an edge to an object that it was told not to enter is set aside for the collection, which
//!   follows it later;
//! - so is one to an object that carries its mark already, but not the collector's: the mark was set
//!   by hand, or by a trace that did not mark for the collection.
//!
//! A trace with a visitor of its own marks for a collection only if that counts nothing. A
//! survey, which shows objects to an examiner, does so beside whatever is counted.

use std::cell::RefCell;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering::Relaxed;

use heaphound_heap::probe::ProbeError;
use heaphound_heap::root::RootSet;
use heaphound_heap::trace::{
    self, Examiner, Filter, MAX_MARKS, Phase, Traceable, Traced, Visit, Visits,
};
use heaphound_heap::view::HeapView;
use heaphound_heap::{ClassId, FieldKind};

use crate::check::{Check, RunningChecks};
use crate::collect::{Cause, Kind, Request};
use crate::heap::HeapInner;
use crate::raw::marking::mark::{Decision, Ground, Marked, Start, Visitor, mark};
use crate::raw::marking::marker::VisitMark;
use crate::raw::marking::weak::{self, Waiting};
use crate::raw::memory::address::Raw;
use crate::raw::mutators::mutator::{Local, Mutator, MutatorShared};
use crate::raw::objects::handle::{Root, Static, Weak};
use crate::raw::objects::header::{Epoch, Word};
use crate::raw::objects::layout::Trace;
use crate::raw::objects::object::Managed;
use crate::raw::views::stopped::{Brand, MarkedHeap, ObjectId, StoppedHeap, Unmarked};

/// The last of the numbers that traces use; the two behind it stand for "none".
const LAST: u8 = u8::MAX - 2;

#[allow(private_bounds)] // Sealed.
/// What an object can be named by in a question: a local, a handle, or a reference to one.
pub trait Subject: Refer {}

impl<S: Refer + ?Sized> Subject for S {}

/// What refers to an object of a heap. Nobody else can implement it.
pub(crate) trait Refer {
    fn raw(&self, heap: &HeapInner, asker: &MutatorShared) -> Result<Raw, ProbeError>;
}

impl<S: Refer + ?Sized> Refer for &S {
    fn raw(&self, heap: &HeapInner, asker: &MutatorShared) -> Result<Raw, ProbeError> {
        S::raw(self, heap, asker)
    }
}

impl<T: Managed + ?Sized> Refer for Local<'_, T> {
    fn raw(&self, _: &HeapInner, asker: &MutatorShared) -> Result<Raw, ProbeError> {
        match asker.owns(*self) {
            true => Ok(asker.local_raw(*self)),
            false => Err(ProbeError::Foreign),
        }
    }
}

macro_rules! handle_subjects {
    ($($handle:ident),*) => {$(
        impl<T: Managed + ?Sized> Refer for $handle<T> {
            fn raw(&self, heap: &HeapInner, _: &MutatorShared) -> Result<Raw, ProbeError> {
                self.cell().raw_of(heap).ok_or(ProbeError::Foreign)
            }
        }
    )*};
}
handle_subjects!(Root, Static, Weak);

/// None is null.
impl<S: Refer> Refer for Option<S> {
    fn raw(&self, heap: &HeapInner, asker: &MutatorShared) -> Result<Raw, ProbeError> {
        self.as_ref().ok_or(ProbeError::Null)?.raw(heap, asker)
    }
}

/// A collection that is about to mark, and that traces of a view can mark for.
pub(crate) trait Ridden {
    /// Runs a phase of a survey: what it enters is marked and counted for the collection, and shown.
    /// `None` if it cannot, because others have marked before or something may be dead.
    fn survey<'v>(
        &mut self,
        phase: &Phase<ObjectId<'v>>,
        holds_values: &dyn Fn(Raw) -> bool,
        examiners: &mut [&mut dyn Examiner<ObjectId<'v>>],
    ) -> Option<Traced>;

    /// What a trace with a visitor of its own can mark for. `None` if the collection counts.
    fn owed(&mut self) -> Option<&mut Owed>;

    /// Visited marks mean something else from now on.
    fn forget_marks(&mut self);
}

/// What has been marked for a collection before it marks itself, and what that leaves it to do.
pub(crate) struct Owed {
    /// What was marked, and the weak slots and ephemerons that were met.
    pub(crate) marked: Marked,
    /// Objects that must be started from.
    pub(crate) starts: Vec<Raw>,
    /// A trace was cut short by a panic.
    pub(crate) broken: bool,
    /// What the roots refer to, in order.
    known: Vec<Raw>,
    by: MarkedBy,
}

/// Who has marked objects for a collection so far.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MarkedBy {
    Nobody,
    /// The survey whose phases began with that mark.
    Survey(Visit),
    Several,
}

impl Owed {
    /// Nothing yet, given what the roots refer to.
    pub(crate) fn new(mut known: Vec<Raw>) -> Self {
        known.sort_unstable();
        Self {
            marked: Marked::default(),
            starts: Vec::new(),
            broken: false,
            known,
            by: MarkedBy::Nobody,
        }
    }

    /// Takes note that a trace of any kind marks.
    pub(crate) fn forget_marks(&mut self) {
        self.by = MarkedBy::Several;
    }

    /// Takes note that a phase of a survey marks. Returns whether nobody but this survey has.
    pub(crate) fn note_survey(&mut self, since: Visit) -> bool {
        match self.by {
            MarkedBy::Nobody => self.by = MarkedBy::Survey(since),
            MarkedBy::Survey(first) => return first == since,
            MarkedBy::Several => return false,
        }
        true
    }

    /// Whether a phase may mark for the collection: it starts from nothing that may be dead.
    pub(crate) fn admits(&self, ground: Ground<'_>, phase: &Phase<ObjectId<'_>>) -> bool {
        let lives = |object: &ObjectId<'_>| {
            self.known.binary_search(&object.0).is_ok() || weak::is_marked(ground, object.0)
        };
        !self.broken && phase.starts.iter().all(lives)
    }
}

impl<S> StoppedHeap<'_, S> {
    /// The ephemerons whose keys are dead, if there are any ephemerons at all: found by a
    /// trace from the roots, and one of the garbage that can still be got at.
    pub(in crate::raw) fn lapsed(&self) -> &HashSet<Raw> {
        self.lapsed.get_or_init(|| {
            let mut classes = self.heap.classes.iter();
            let dependent = |&(_, kind): &(u32, FieldKind)| kind == FieldKind::Dependent;
            if !classes.any(|class| class.slots.iter().any(dependent)) {
                return HashSet::new();
            }
            self.reserve(2);
            let marker = self.marker(self.fresh());
            let ground = self.ground();
            let mut waiting = Waiting::default();
            let mut starts: Vec<Start<()>> = Vec::new();
            let mut holders = Vec::new();
            self.for_each_root_target(RootSet::All, |object| starts.push(object.0.into()));
            while !starts.is_empty() {
                let mut marked = mark(ground, marker, &starts, vec![()]).marked;
                holders.append(&mut marked.weak);
                starts = waiting.advance(ground, marker, &mut marked, &mut ());
            }
            let mut lapsed: HashSet<Raw> = waiting.left().collect();
            waiting.finish(ground);
            let garbage = VisitMark::alone(self.fresh());
            let mut dead = vec![NotVisited(marker.visit)];
            self.heap.for_each_memory(|raw| starts.push(raw.into()));
            loop {
                for holder in holders.drain(..) {
                    self.weak_targets(holder, &mut starts);
                }
                if starts.is_empty() {
                    return lapsed;
                }
                let drained = mark(ground, garbage, &starts, dead);
                dead = drained.visitors;
                let marked = drained.marked;
                starts.clear();
                holders = marked.weak;
                for ephemeron in marked.ephemerons {
                    let key = weak::key(ground, ephemeron);
                    // SAFETY: a weak slot refers to an object that has not been freed.
                    let word = || unsafe { ground.base.header(key) }.load();
                    if key.is_null() || word().visit() != marker.visit.0 {
                        lapsed.insert(ephemeron);
                    }
                }
            }
        })
    }

    /// Lists what the slots of an object with weak slots refer to, as starts.
    fn weak_targets(&self, holder: Raw, starts: &mut Vec<Start<()>>) {
        let ground = self.ground();
        weak::for_each_slot(ground, holder, |_, slot, _| {
            let raw = ground.reach.read(slot);
            if ground.refers(raw) {
                starts.push(raw.into());
            }
        });
    }

    pub(in crate::raw) fn marker(&self, visit: Visit) -> VisitMark<false> {
        VisitMark::alone(visit)
    }

    pub(in crate::raw) fn reserve(&self, marks: usize) {
        assert!(marks <= MAX_MARKS, "{marks} marks at once are too many");
        if self.heap.last_visit.load(Relaxed) as usize + marks > LAST as usize {
            self.forget_marks();
        }
    }

    pub(in crate::raw) fn fresh(&self) -> Visit {
        let next = self.heap.last_visit.load(Relaxed) + 1;
        assert!(next <= LAST, "marks are reserved first");
        self.heap.last_visit.store(next, Relaxed);
        Visit(next)
    }

    /// Refuses a mark that was made by hand: objects that carried it before it is given out
    /// would be missed by whoever gets it.
    fn check_given(&self, mark: Visit) {
        let last = self.heap.last_visit.load(Relaxed);
        assert!(
            (1..=last).contains(&mark.0),
            "mark {} has not been given out, or has been forgotten since",
            mark.0
        );
    }

    /// Gives every object that can ever be reached again the same mark, and starts
    /// counting anew.
    fn forget_marks(&self) {
        let forgotten = match self.heap.forgotten.load(Relaxed) {
            u8::MAX => u8::MAX - 1,
            _ => u8::MAX,
        };
        if let Some(collection) = self.collection {
            collection.borrow_mut().forget_marks();
        }
        self.heap.forgotten.store(forgotten, Relaxed);
        self.heap.last_visit.store(0, Relaxed);
        let mut starts: Vec<Start<()>> = Vec::new();
        self.heap.for_each_memory(|raw| starts.push(raw.into()));
        let ground = self.ground();
        let marker = self.marker(Visit(forgotten));
        while !starts.is_empty() {
            let marked = mark(ground, marker, &starts, vec![()]).marked;
            starts.clear();
            for holder in marked.weak.into_iter().chain(marked.ephemerons) {
                self.weak_targets(holder, &mut starts);
            }
        }
    }
}

/// The visited marks of a stopped heap: they are in its objects.
pub struct StoppedVisits<'a, 'v, S = Unmarked> {
    view: &'a StoppedHeap<'v, S>,
}

impl<'v, S> Visits for StoppedVisits<'_, 'v, S> {
    type Object = ObjectId<'v>;

    fn reserve(&mut self, marks: usize) {
        self.view.reserve(marks);
    }

    fn fresh(&mut self) -> Visit {
        self.view.fresh()
    }

    fn set(&mut self, object: ObjectId<'v>, mark: Visit) -> bool {
        self.view.check_given(mark);
        // SAFETY: an object of the stopped heap, and nobody traces it meanwhile.
        let header = unsafe { self.view.heap.base.header(object.0) };
        let word = header.load();
        header.store(word.with_visit(mark.0));
        word.visit() != mark.0
    }

    fn get(&self, object: ObjectId<'v>) -> Visit {
        // SAFETY: an object of the stopped heap.
        Visit(
            unsafe { self.view.heap.base.header(object.0) }
                .load()
                .visit(),
        )
    }
}

impl<'v, S> Traceable for StoppedHeap<'v, S> {
    type Visits<'a>
        = StoppedVisits<'a, 'v, S>
    where
        Self: 'a;

    fn visits(&self) -> StoppedVisits<'_, 'v, S> {
        // Found before the first mark is given out, for finding them takes one.
        self.lapsed();
        StoppedVisits { view: self }
    }

    fn trace<V: trace::Visitor<ObjectId<'v>>>(
        &self,
        _: &mut StoppedVisits<'_, 'v, S>,
        phase: &Phase<ObjectId<'v>>,
        visitors: Vec<V>,
    ) -> (Traced, Vec<V>) {
        self.check_given(phase.mark);
        let mut collection = self.collection.map(|it| it.borrow_mut());
        let owed = collection.as_mut().and_then(|it| it.owed());
        match owed.filter(|it| it.admits(self.ground(), phase)) {
            Some(owed) => self.trace_for::<V, false, true>(phase, visitors, Some(owed)),
            None if V::STOPS => match phase.filter {
                Filter::Follow | Filter::Alone => {
                    self.trace_for::<V, true, false>(phase, visitors, None)
                }
                _ => self.trace_for::<V, true, true>(phase, visitors, None),
            },
            None => match phase.filter {
                Filter::Follow | Filter::Alone => {
                    self.trace_for::<V, false, false>(phase, visitors, None)
                }
                _ => self.trace_for::<V, false, true>(phase, visitors, None),
            },
        }
    }

    fn survey(
        &self,
        visits: &mut StoppedVisits<'_, 'v, S>,
        phase: &Phase<ObjectId<'v>>,
        mut examiners: Vec<&mut dyn Examiner<ObjectId<'v>>>,
    ) -> Traced {
        self.check_given(phase.mark);
        let collection = self.collection.map(|it| it.borrow_mut());
        if let Some(mut collection) = collection {
            let holds_values = |ephemeron| self.holds_values(ephemeron);
            let traced = collection.survey(phase, &holds_values, &mut examiners);
            if let Some(traced) = traced {
                return traced;
            }
        }
        trace::survey(self, visits, phase, examiners)
    }
}

impl<'v, S> StoppedHeap<'v, S> {
    /// Runs a phase, which marks for the collection if something is owed to one. Then it may not
    /// end early: `STOPS` says that it may. `FILTERS`: it marks for one, or has a filter.
    fn trace_for<V: trace::Visitor<ObjectId<'v>>, const STOPS: bool, const FILTERS: bool>(
        &self,
        phase: &Phase<ObjectId<'v>>,
        visitors: Vec<V>,
        mut owed: Option<&mut Owed>,
    ) -> (Traced, Vec<V>) {
        let epoch = owed.is_some().then(|| self.heap.space.epoch());
        let mut watches: Vec<Watch<'v, V, STOPS, FILTERS>> = visitors
            .into_iter()
            .map(|visitor| Watch {
                visitor,
                entered: 0,
                filter: phase.filter,
                mark: phase.mark,
                collection: epoch,
                brand: self.brand,
            })
            .collect();
        let mut starts: Vec<_> = phase.starts.iter().map(|object| object.0.into()).collect();
        let mut aside = Vec::new();
        let mut workers = watches.len();
        let mut ground = self.ground();
        let shown = V::FEW.then(|| {
            let wants = |class| watches.iter().any(|it| it.visitor.wants(class));
            shown_traces(&self.traces, wants)
        });
        if let Some(traces) = &shown {
            ground.traces = traces;
        }
        if let Some(owed) = &mut owed {
            // Until the trace has come to its end.
            owed.broken = true;
            owed.forget_marks();
        }
        while !starts.is_empty() {
            // The values of a few ephemerons are not worth waking anybody.
            let mut rest = watches.split_off(workers);
            let marker = VisitMark::<FILTERS> {
                visit: phase.mark,
                collection: epoch,
            };
            let drained = mark(ground, marker, &starts, watches);
            let marked = drained.marked;
            watches = drained.visitors;
            watches.append(&mut rest);
            aside.extend(drained.aside.into_iter().map(|it| it.to));
            starts.clear();
            for &ephemeron in &marked.ephemerons {
                if self.holds_values(ephemeron) {
                    weak::dependents(ground, ephemeron, &mut watches[0], &mut starts);
                }
            }
            if let Some(owed) = &mut owed {
                owed.marked = std::mem::take(&mut owed.marked).plus(marked);
            }
            workers = if starts.len() < 256 { 1 } else { watches.len() };
        }
        let objects = watches.iter().map(|watch| watch.entered).sum();
        if let Some(owed) = &mut owed {
            owed.broken = false;
            owed.starts.extend_from_slice(&aside);
        }
        let visitors = watches.into_iter().map(|watch| watch.visitor).collect();
        (Traced { objects }, visitors)
    }
}

/// The trace words of all classes, with those marked whose objects are to be shown.
pub(crate) fn shown_traces(traces: &[Trace], wants: impl Fn(ClassId) -> bool) -> Vec<Trace> {
    let all = traces.iter().zip(0..);
    all.map(|(&trace, class)| match class > 0 && wants(ClassId(class)) {
        true => trace.shown(),
        false => trace,
    })
    .collect()
}

/// The trace words of all classes, with those whose objects are to be shown marked in a way that costs others nothing.
pub(crate) fn watched_traces(traces: &[Trace], wants: impl Fn(ClassId) -> bool) -> Vec<Trace> {
    let all = traces.iter().zip(0..);
    all.map(|(&trace, class)| match class > 0 && wants(ClassId(class)) {
        true => trace.watched(),
        false => trace,
    })
    .collect()
}

/// Stops at edges to objects that carry a visited mark.
struct NotVisited(Visit);

impl Visitor for NotVisited {
    type Tag = ();
    type Edge = Start<()>;
    type Source = ();
    const ARRIVALS: bool = false;
    const READS: bool = false;
    const OBJECTS: bool = false;
    const DECIDES: bool = true;

    fn object(&mut self, _: Raw, _: Word, _: Trace, _: usize) {}

    #[inline]
    fn decide(&mut self, _: Start<()>, word: Word) -> Decision {
        match word.visit() == self.0.0 {
            true => Decision::Stop,
            false => Decision::Follow,
        }
    }
}

/// Lets a visitor of objects watch a trace of raw references. `FILTERS`: and decides about edges
/// as the phase's filter says.
struct Watch<'v, V, const STOPS: bool, const FILTERS: bool> {
    visitor: V,
    entered: usize,
    filter: Filter,
    mark: Visit,
    collection: Option<Epoch>,
    brand: Brand<'v>,
}

impl<V, const STOPS: bool, const FILTERS: bool> Watch<'_, V, STOPS, FILTERS> {
    /// What the filter says of edges to an object, and of one that is left out for good whether a
    /// collection owes it a visit.
    fn filtered(&self, word: Word) -> Decision {
        let visit = word.visit();
        let is_owed = match self.filter {
            Filter::Once { since, .. } if (since.0..self.mark.0).contains(&visit) => {
                self.collection.is_some_and(|epoch| !word.is_marked(epoch))
            }
            Filter::StopAt(label) | Filter::Once { avoid: label, .. } if visit == label.0 => {
                self.collection.is_some()
            }
            _ => return Decision::Follow,
        };
        match is_owed {
            true => Decision::SetAside,
            false => Decision::Stop,
        }
    }
}

impl<'v, V: trace::Visitor<ObjectId<'v>>, const STOPS: bool, const FILTERS: bool> Visitor
    for Watch<'v, V, STOPS, FILTERS>
{
    type Tag = V::Tag;
    type Edge = Start<V::Tag>;
    type Source = Raw;
    const READS: bool = V::READS;
    const ARRIVALS: bool = V::ARRIVALS;
    const STOPS: bool = STOPS;
    const MEETS: bool = V::MEETS;
    const FEW: bool = V::FEW;
    const DECIDES: bool = FILTERS;

    #[inline]
    fn decide(&mut self, edge: Start<V::Tag>, word: Word) -> Decision {
        // What carries the phase's own mark has been entered.
        if word.visit() == self.mark.0 {
            return Decision::Follow;
        }
        let decision = self.filtered(word);
        if decision != Decision::Follow {
            // It is looked at all the same.
            if V::ARRIVALS {
                let to = ObjectId(edge.to, self.brand);
                self.visitor.edge_arrived(edge.tag, to, Visit(word.visit()));
            }
            if V::MEETS {
                self.met(edge.to, word);
            }
        }
        decision
    }

    #[inline]
    fn object(&mut self, raw: Raw, word: Word, _: Trace, _: usize) {
        self.entered += 1;
        let object = ObjectId(raw, self.brand);
        self.visitor.enter(object, ClassId(word.class()));
    }

    #[inline]
    fn source(&self, from: Raw, _: Word) -> Raw {
        from
    }

    #[inline]
    fn edge_read(&mut self, from: Raw, _: u32, to: Raw) -> V::Tag {
        let [from, to] = [from, to].map(|raw| ObjectId(raw, self.brand));
        self.visitor.edge_read(from, to)
    }

    #[inline]
    fn edge_arrived(&mut self, edge: Start<V::Tag>, _: *const u8, word: Word) {
        let to = ObjectId(edge.to, self.brand);
        self.visitor.edge_arrived(edge.tag, to, Visit(word.visit()));
    }

    #[inline]
    fn met(&mut self, to: Raw, word: Word) {
        let to = ObjectId(to, self.brand);
        self.visitor.met(to, Visit(word.visit()));
    }

    #[inline]
    fn set_aside(&mut self, to: Raw, word: Word) {
        self.met(to, word);
    }

    #[inline]
    fn is_done(&self) -> bool {
        self.visitor.is_done()
    }
}

impl Mutator<'_> {
    /// What a subject of an assertion refers to.
    #[track_caller]
    pub(crate) fn subject_raw(&self, subject: &impl Subject) -> Option<Raw> {
        match subject.raw(self.heap, self.shared) {
            Ok(raw) => Some(raw).filter(|&raw| self.heap.refers(raw)),
            Err(ProbeError::Null) => None,
            Err(error) => panic!("{error}"),
        }
    }
}

impl HeapInner {
    /// Says in an object's header that something was asserted of it.
    pub(crate) fn flag(&self, raw: Raw, flag: fn(Word, bool) -> Word) {
        // SAFETY: an object that the caller holds.
        let header = unsafe { self.base.header(raw) };
        let word = header.flags();
        if flag(word, true) != word {
            header.update_flags(|word| flag(word, true));
        }
    }

    /// Whether an object was asserted unshared.
    pub(crate) fn is_unshared(&self, raw: Raw) -> bool {
        // SAFETY: an object that a root or a view refers to.
        unsafe { self.base.header(raw) }.flags().is_unshared()
    }

    /// Lets checks look at the heap before a collection marks: with views that are part of it.
    pub(crate) fn look_before(
        &self,
        collection: &RefCell<dyn Ridden + '_>,
        asker: Option<&MutatorShared>,
        checks: &mut RunningChecks<'_, '_>,
    ) {
        // SAFETY: called by the collection, with the world stopped; the views end here.
        let [request, others] =
            [asker, None].map(|asker| unsafe { StoppedHeap::riding(self, asker, collection) });
        checks.before(&request, &others);
    }

    /// Calls `f` with the heap in the middle of a collection, which has marked all that lives and
    /// settled what is weak.
    pub(crate) fn with_marked<R>(&self, f: impl for<'v> FnOnce(&MarkedHeap<'v>) -> R) -> R {
        // SAFETY: called by the collection, with the world stopped, as the name says.
        f(&unsafe { MarkedHeap::marked(self) })
    }

    /// Calls `f` with all that the program could reach when the collection began, which has marked and not yet cut
    /// what leak pruning wants to be cut.
    pub(crate) fn with_uncut<R>(&self, f: impl for<'v> FnOnce(&StoppedHeap<'v>) -> R) -> R {
        // SAFETY: called by the collection, with the world stopped; nothing is freed before the sweep.
        f(&unsafe { StoppedHeap::new(self, None) })
    }

    /// Calls `f` with everything that keeps an object in memory or may bring it back: roots,
    /// weak handles, finalizers. Only while the world is stopped.
    fn for_each_memory(&self, mut f: impl FnMut(Raw)) {
        let mut add = |raw: Raw| {
            if self.refers(raw) {
                f(raw);
            }
        };
        self.for_each_root_cell(RootSet::All, |cell| add(Raw(cell.load(Relaxed))));
        self.for_each_pending(|_, cell| add(Raw(cell.load(Relaxed))));
        for cell in &self.handles.weak.lock().unwrap().all {
            add(Raw(cell.raw.load(Relaxed)));
        }
        let watched = self.watched.lock().unwrap();
        for (raw, _) in watched
            .young
            .finalizers
            .iter()
            .chain(&watched.old.finalizers)
        {
            add(*raw);
        }
    }
}

/// Looks at the heap once, before a collection marks.
struct Look<F, R> {
    look: Option<F>,
    result: Option<std::thread::Result<R>>,
}

impl<R, F: for<'v> FnOnce(&StoppedHeap<'v>) -> R> Check for Look<F, R> {
    fn before(&mut self, heap: &StoppedHeap<'_>) {
        let look = self.look.take().expect("a collection looks once");
        self.result = Some(catch_unwind(AssertUnwindSafe(|| look(heap))));
    }
}

impl Mutator<'_> {
    /// Stops the world, lets `f` look at the heap, and collects it: what probes mark need
    /// not be marked again. Returns what `f` does; if it panics, the collection takes
    /// place all the same.
    pub fn inspect_and_collect<R>(&mut self, f: impl for<'v> FnOnce(&StoppedHeap<'v>) -> R) -> R {
        self.inspect_in(false, f)
    }

    /// As [`inspect_and_collect`](Self::inspect_and_collect), for a collection that takes the place of one that would come
    /// of itself before long: what it frees is swept as it is needed, and stays with the heap.
    pub fn inspect_when_due<R>(&mut self, f: impl for<'v> FnOnce(&StoppedHeap<'v>) -> R) -> R {
        self.inspect_in(true, f)
    }

    fn inspect_in<R>(
        &mut self,
        in_place: bool,
        f: impl for<'v> FnOnce(&StoppedHeap<'v>) -> R,
    ) -> R {
        let (heap, shared) = (self.heap, self.shared);
        let mut look = Look {
            look: Some(f),
            result: None,
        };
        heap.collect_or_panic(
            shared,
            Request {
                check: Some(&mut look),
                in_place,
                ..Request::new(Kind::Full, Cause::Request)
            },
        );
        heap.finish(self);
        match look.result.expect("a full collection looks") {
            Ok(result) => result,
            Err(panic) => resume_unwind(panic),
        }
    }
}
