//! Tracing the stopped heap to answer a question.
//!
//! The loop is the collector's ([`crate::raw::marking::mark`]); the mark is a byte of the header that
//! the collector does not use, with a new number for each trace. When the numbers have
//! run out, one trace over all that can ever be reached again gives every object the same
//! number, which stands for none; the next time it is another one, so that two serve for
//! ever.
//!
//! A view can be **part of a collection**: then what a trace enters gets the collector's
//! mark too, so that the collection that follows need not go there again. That is sound
//! while no object with the collector's mark refers to one without that nobody will
//! start from. Three things guard it:
//! - a trace works for the collection only if it starts from objects that are known to
//!   live, and does not end early;
//! - an object that it was told not to enter is owed to the collection, which starts from
//!   there;
//! - so is one that carries its mark already, but not the collector's: the mark was set by
//!   hand, or by a trace that did not work for the collection.

use std::cell::RefCell;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering::Relaxed;

use heaphound_heap::probe::ProbeError;
use heaphound_heap::root::RootSet;
use heaphound_heap::trace::{self, Filter, MAX_MARKS, Phase, Traceable, Traced, Visit, Visits};
use heaphound_heap::view::HeapView;
use heaphound_heap::{ClassId, FieldKind};

use crate::collect::{Cause, Kind, Request};
use crate::heap::HeapInner;
use crate::raw::marking::mark::{Marked, Start, Visitor, mark};
use crate::raw::marking::marker::{OnceMark, VisitMark};
use crate::raw::marking::weak::{self, Waiting};
use crate::raw::memory::address::Raw;
use crate::raw::mutators::mutator::{Local, Mutator, MutatorShared};
use crate::raw::objects::handle::{Root, Static, Weak};
use crate::raw::objects::header::{Epoch, Word};
use crate::raw::objects::layout::Trace;
use crate::raw::objects::object::Managed;
use crate::raw::views::stopped::{Brand, ObjectId, StoppedHeap};
use crate::summaries::Wants;

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

/// What the probes of a collection leave for it to do.
#[derive(Default)]
pub(crate) struct Owed {
    /// What they marked, and the weak slots and ephemerons that they met.
    pub(crate) marked: Marked,
    /// Objects that must be started from.
    pub(crate) starts: Vec<Raw>,
    /// A trace was cut short by a panic.
    pub(crate) broken: bool,
}

/// A collection that a view is part of.
pub(crate) struct Collecting {
    owed: Owed,
    /// What the roots refer to, in order.
    known: Vec<Raw>,
    by: MarkedBy,
}

/// Who has marked objects for a collection so far.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MarkedBy {
    Nobody,
    /// The series of phases that began with that mark.
    Series(Visit),
    Several,
}

impl StoppedHeap<'_> {
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
                let (mut marked, _) = mark(ground, marker, &starts, vec![()]);
                holders.append(&mut marked.weak);
                starts = waiting.advance(ground, marker, &mut marked, &mut ());
            }
            let mut lapsed: HashSet<Raw> = waiting.left().collect();
            waiting.finish(ground);
            let garbage = VisitMark::<true> {
                visit: self.fresh(),
                filter: Filter::StopAt(marker.visit),
                collection: None,
            };
            self.heap.for_each_memory(|raw| starts.push(raw.into()));
            loop {
                for holder in holders.drain(..) {
                    self.weak_targets(holder, &mut starts);
                }
                if starts.is_empty() {
                    return lapsed;
                }
                let (marked, _) = mark(ground, garbage, &starts, vec![()]);
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
            let raw = Raw(slot.load(Relaxed));
            if ground.refers(raw) {
                starts.push(raw.into());
            }
        });
    }

    pub(in crate::raw) fn marker(&self, visit: Visit) -> VisitMark<false> {
        VisitMark {
            visit,
            filter: Filter::Follow,
            collection: None,
        }
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
        if let Some(collecting) = &self.collecting {
            // Marks will mean something else.
            collecting.borrow_mut().by = MarkedBy::Several;
        }
        self.heap.forgotten.store(forgotten, Relaxed);
        self.heap.last_visit.store(0, Relaxed);
        let mut starts: Vec<Start<()>> = Vec::new();
        self.heap.for_each_memory(|raw| starts.push(raw.into()));
        let ground = self.ground();
        let marker = self.marker(Visit(forgotten));
        while !starts.is_empty() {
            let (marked, _) = mark(ground, marker, &starts, vec![()]);
            starts.clear();
            for holder in marked.weak.into_iter().chain(marked.ephemerons) {
                self.weak_targets(holder, &mut starts);
            }
        }
    }
}

/// The visited marks of a stopped heap: they are in its objects.
pub struct StoppedVisits<'a, 'v> {
    view: &'a StoppedHeap<'v>,
}

impl<'v> Visits for StoppedVisits<'_, 'v> {
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

impl<'v> Traceable for StoppedHeap<'v> {
    type Visits<'a>
        = StoppedVisits<'a, 'v>
    where
        Self: 'a;

    fn visits(&self) -> StoppedVisits<'_, 'v> {
        // Found before the first mark is given out, for finding them takes one.
        self.lapsed();
        StoppedVisits { view: self }
    }

    fn trace<V: trace::Visitor<ObjectId<'v>>>(
        &self,
        _: &mut StoppedVisits<'_, 'v>,
        phase: &Phase<ObjectId<'v>>,
        visitors: Vec<V>,
    ) -> (Traced, Vec<V>) {
        self.check_given(phase.mark);
        let collecting = self.collecting.as_ref();
        let mut collecting = collecting.map(|it| it.borrow_mut());
        match &mut collecting {
            Some(it) if it.admits(self, phase) => {
                self.trace_for::<V, false>(phase, visitors, Some(it))
            }
            _ if V::STOPS => self.trace_for::<V, true>(phase, visitors, None),
            _ => self.trace_for::<V, false>(phase, visitors, None),
        }
    }
}

impl<'v> StoppedHeap<'v> {
    /// Runs a phase that works for the collection, if there is one. Then it may not end early:
    /// `STOPS` says that it may.
    fn trace_for<V: trace::Visitor<ObjectId<'v>>, const STOPS: bool>(
        &self,
        phase: &Phase<ObjectId<'v>>,
        visitors: Vec<V>,
        mut collecting: Option<&mut Collecting>,
    ) -> (Traced, Vec<V>) {
        let collection = collecting.is_some().then(|| self.heap.space.epoch());
        let mut watches: Vec<Watch<'v, V, STOPS>> = visitors
            .into_iter()
            .map(|visitor| Watch {
                visitor,
                entered: 0,
                brand: self.brand,
            })
            .collect();
        let mut starts: Vec<_> = phase.starts.iter().map(|object| object.0.into()).collect();
        let mut aside = Vec::new();
        let mut workers = watches.len();
        let mut ground = self.ground();
        let told = V::FEW.then(|| self.told(&watches));
        if let Some(traces) = &told {
            ground.traces = traces;
        }
        let mut first = false;
        if let Some(collecting) = &mut collecting {
            // Until the trace has come to its end.
            collecting.owed.broken = true;
            first = collecting.note_series(phase.filter);
        }
        while !starts.is_empty() {
            // The values of a few ephemerons are not worth waking anybody.
            let mut rest = watches.split_off(workers);
            let (mut marked, back) = match (phase.filter, collection) {
                (Filter::Once { since, avoid }, Some(epoch)) if first => mark(
                    ground,
                    OnceMark::<true>::new(since, phase.mark, avoid, epoch),
                    &starts,
                    watches,
                ),
                (Filter::Once { since, avoid }, Some(epoch)) => mark(
                    ground,
                    OnceMark::<false>::new(since, phase.mark, avoid, epoch),
                    &starts,
                    watches,
                ),
                (Filter::Follow, None) => mark(
                    ground,
                    marker_of::<false>(phase, collection),
                    &starts,
                    watches,
                ),
                _ => mark(
                    ground,
                    marker_of::<true>(phase, collection),
                    &starts,
                    watches,
                ),
            };
            watches = back;
            watches.append(&mut rest);
            starts.clear();
            for &ephemeron in &marked.ephemerons {
                if self.holds_values(ephemeron) {
                    weak::dependents(ground, ephemeron, &mut watches[0], &mut starts);
                }
            }
            aside.append(&mut marked.aside);
            if let Some(collecting) = &mut collecting {
                let owed = &mut collecting.owed;
                owed.marked = std::mem::take(&mut owed.marked).plus(marked);
            }
            workers = if starts.len() < 256 { 1 } else { watches.len() };
        }
        let objects = watches.iter().map(|watch| watch.entered).sum();
        if let Some(collecting) = &mut collecting {
            collecting.owed.broken = false;
            collecting.owed.starts.extend_from_slice(&aside);
        }
        let visitors = watches.into_iter().map(|watch| watch.visitor).collect();
        (Traced { objects }, visitors)
    }

    /// The trace words of all classes, with those marked that a visitor wants to be told of.
    fn told<V: trace::Visitor<ObjectId<'v>>, const STOPS: bool>(
        &self,
        watches: &[Watch<'v, V, STOPS>],
    ) -> Vec<Trace> {
        let wants = |class: u32| watches.iter().any(|it| it.visitor.wants(ClassId(class)));
        let all = self.traces.iter().zip(0..);
        all.map(|(&trace, class)| match class > 0 && wants(class) {
            true => trace.told(),
            false => trace,
        })
        .collect()
    }
}

/// The mark of a phase.
fn marker_of<const FULL: bool>(
    phase: &Phase<ObjectId<'_>>,
    collection: Option<Epoch>,
) -> VisitMark<FULL> {
    VisitMark {
        visit: phase.mark,
        filter: phase.filter,
        collection,
    }
}

impl Collecting {
    fn new(view: &StoppedHeap<'_>) -> Self {
        let mut known = Vec::new();
        view.for_each_root_target(RootSet::All, |object| known.push(object.0));
        known.sort_unstable();
        Self {
            owed: Owed::default(),
            known,
            by: MarkedBy::Nobody,
        }
    }

    /// Takes note of who works for the collection now. Tells whether it is one series of phases
    /// that enter each object once, and nobody else has been.
    fn note_series(&mut self, filter: Filter) -> bool {
        let now = match (filter, self.by) {
            (Filter::Once { since, .. }, MarkedBy::Nobody) => MarkedBy::Series(since),
            (Filter::Once { since, .. }, by) if by == MarkedBy::Series(since) => by,
            _ => MarkedBy::Several,
        };
        self.by = now;
        now != MarkedBy::Several
    }

    /// Whether a phase may work for the collection.
    fn admits<'v>(&self, view: &StoppedHeap<'v>, phase: &Phase<ObjectId<'v>>) -> bool {
        let ground = view.ground();
        let lives = |object: &ObjectId<'_>| {
            self.known.binary_search(&object.0).is_ok() || weak::is_marked(ground, object.0)
        };
        !self.owed.broken && phase.starts.iter().all(lives)
    }
}

/// Lets a visitor of objects watch a trace of raw references.
struct Watch<'v, V, const STOPS: bool> {
    visitor: V,
    entered: usize,
    brand: Brand<'v>,
}

impl<'v, V: trace::Visitor<ObjectId<'v>>, const STOPS: bool> Visitor for Watch<'v, V, STOPS> {
    type Tag = V::Tag;
    type Edge = Start<V::Tag>;
    type Source = Raw;
    const READS: bool = V::READS;
    const ARRIVALS: bool = V::ARRIVALS;
    const STOPS: bool = STOPS;
    const MEETS: bool = V::MEETS;
    const FEW: bool = V::FEW;

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
        let word = header.load();
        if flag(word, true) != word {
            header.update(|word| flag(word, true));
        }
    }

    /// Lets `f` look at the heap as part of a collection, which is about to mark; answers what
    /// is left to mark.
    pub(crate) fn ask_while_collecting<R>(
        &self,
        asker: Option<&MutatorShared>,
        f: impl for<'v> FnOnce(&StoppedHeap<'v>) -> R,
    ) -> (R, Owed) {
        // SAFETY: called by the collection, with the world stopped.
        let mut view = unsafe { StoppedHeap::new(self, asker) };
        let assertions = self.assertions.lock().unwrap();
        // What probes mark, marking does not count.
        let counts = assertions.counts() || assertions.watches();
        drop(assertions);
        let counts = counts || self.summaries.lock().unwrap().due() != Wants::Nothing;
        if !counts {
            view.collecting = Some(RefCell::new(Collecting::new(&view)));
        }
        let result = f(&view);
        let collecting = view.collecting.take();
        (
            result,
            collecting.map_or_else(Owed::default, |it| it.into_inner().owed),
        )
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

impl Mutator<'_> {
    /// Stops the world, lets `f` look at the heap, and collects it: what probes mark need
    /// not be marked again. Answers what `f` does; if it panics, the collection takes
    /// place all the same.
    pub fn inspect_and_collect<R>(&mut self, f: impl for<'v> FnOnce(&StoppedHeap<'v>) -> R) -> R {
        let (heap, shared) = (self.heap, self.shared);
        let mut f = Some(f);
        let mut result = None;
        let mut ask = || {
            let f = f.take().expect("a collection asks once");
            let (answer, owed) = heap.ask_while_collecting(Some(shared), |view| {
                catch_unwind(AssertUnwindSafe(|| f(view)))
            });
            result = Some(answer);
            owed
        };
        let request = Request {
            kind: Kind::Full,
            cause: Cause::Request,
            bytes: 0,
            census: None,
            ask: Some(&mut ask),
        };
        heap.collect_with(shared, request);
        heap.finish(self);
        match result.expect("a full collection asks") {
            Ok(result) => result,
            Err(panic) => resume_unwind(panic),
        }
    }
}
