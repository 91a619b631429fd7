//! Traces over a stopped heap: phases, their visited marks, and who watches.
//!
//! A **phase** drains from a start set, follows the edges that its filter lets pass, and leaves
//! a visited mark on each object that it enters. A **plan** is an ordered list of steps, each of
//! which is a phase, that together enter each object at most once. All ordering between
//! traces is in the plan, so that whoever runs it (a collector, or the trace of a snapshot) is
//! one drain loop.
//!
//! A **visitor** watches. Each thread has one of its own; they are merged in the end. It
//! cannot change what is marked, so that a wrong question gives a wrong answer and
//! nothing worse. What it sees depends on scheduling only in its order; so a trace
//! *nominates*, and what reports say is decided by [`crate::path`], canonically.
//!
//! Marks are one byte an object: the number of the last trace that entered it, or a label.
//! A new trace takes a new number, so that nothing has to be cleared in between; and an
//! object carries one of them at a time.

use std::ops::ControlFlow;

use crate::class::ClassId;
use crate::root::RootSet;
use crate::view::HeapView;

/// A visited mark, or a label: what an object carries. What an object carries that nobody
/// has entered in this series of traces is not said: the live heap keeps old marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct Visit(pub u8);

/// Which edges a phase follows, by what their targets carry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Filter {
    /// All.
    #[default]
    Follow,
    /// Objects that carry this are neither entered nor marked.
    StopAt(Visit),
    /// For a series of phases that enter each object once between them, though each has a mark
    /// of its own: objects that carry a mark given out from `since` up to the phase's are
    /// not entered again, and objects that carry `avoid` are neither entered nor marked.
    Once {
        /// The first mark of the series.
        since: Visit,
        /// A label, which was given out before.
        avoid: Visit,
    },
    /// All, as [`Filter::Follow`], for a phase that is a series by itself: nobody looks at its mark
    /// afterwards, so that whoever traces may leave another one, or none.
    Alone,
}

/// One trace: where it starts, what it follows, what it leaves.
#[derive(Clone, Debug)]
pub struct Phase<O> {
    /// Where it starts.
    pub starts: Vec<O>,
    /// What it follows.
    pub filter: Filter,
    /// What it leaves on the objects it enters; it does not enter those that carry
    /// it already.
    pub mark: Visit,
}

/// What a phase did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Traced {
    /// Objects entered; of the classes that the visitors want, if these are few, and of what is of interest to examiners, if they were
    /// asked first ([`Examiner::sift`]).
    pub objects: usize,
}

/// Watches a trace.
pub trait Visitor<O>: Send {
    /// What an edge carries from its source to its target.
    type Tag: Copy + Send + Default;
    /// Whether [`Visitor::edge_read`] is wanted.
    const READS: bool = false;
    /// Whether [`Visitor::edge_arrived`] is wanted.
    const ARRIVALS: bool = false;
    /// Whether [`Visitor::met`] is wanted.
    const MEETS: bool = false;
    /// Whether the trace may end early; see [`Visitor::is_done`].
    const STOPS: bool = false;
    /// Whether only objects of some classes are of interest; see [`Visitor::wants`].
    const FEW: bool = false;

    /// Whether objects of a class are to be told of when they are entered. Asked before the
    /// trace, if only [`Visitor::FEW`] are.
    fn wants(&self, class: ClassId) -> bool {
        let _ = class;
        true
    }

    /// An object is entered.
    #[inline]
    fn object(&mut self, object: O) {
        let _ = object;
    }

    /// An object of that class is entered. Whoever traces knows the class; most do not ask.
    #[inline]
    fn enter(&mut self, object: O, class: ClassId) {
        let _ = class;
        self.object(object);
    }

    /// A slot was read; its target has not been touched.
    #[inline]
    fn edge_read(&mut self, from: O, to: O) -> Self::Tag {
        let _ = (from, to);
        Self::Tag::default()
    }

    /// The target of an edge is looked at; it carries `visit`. The objects that a phase
    /// starts from arrive too, with the default tag.
    #[inline]
    fn edge_arrived(&mut self, tag: Self::Tag, to: O, visit: Visit) {
        let _ = (tag, to, visit);
    }

    /// The target of an edge, or of a start, carries `visit` and so is not entered.
    #[inline]
    fn met(&mut self, to: O, visit: Visit) {
        let _ = (to, visit);
    }

    /// Whether the answer is known, so that the trace may end here.
    #[inline]
    fn is_done(&self) -> bool {
        false
    }
}

/// Nobody watches.
impl<O> Visitor<O> for () {
    type Tag = ();
}

/// Looks at the objects that a trace enters, in batches. Each thread of a trace has one of its own.
///
/// A [`Visitor`] is compiled into the loop that traces; an examiner is called through a pointer,
/// once for [`BATCH`] objects. So one compiled loop serves all examiners, also inside a
/// collection that counts other things at the same time.
pub trait Examiner<O>: Send {
    /// Whether objects of a class are to be shown. Asked before the trace.
    fn wants(&self, class: ClassId) -> bool;

    /// Looks at objects that were entered: at most [`BATCH`], of the wanted classes, each once.
    fn examine(&mut self, objects: &[O]);

    /// Which of some objects are of interest if they are entered, a bit for each, in order: all, if nobody knows. Bits behind
    /// those mean nothing. The objects are as for
    /// [`Examiner::examine`], but for that they may be dead, and nothing is to be noted. Whoever traces may ask this of all objects
    /// that there are, and then trace only if one is of interest, and show only such ones.
    fn sift(&mut self, objects: &[O]) -> u64 {
        let _ = objects;
        !0
    }

    /// An edge, or a start, leads to an object that an earlier phase of the same series has
    /// entered ([`Filter::Once`]).
    fn overlap(&mut self, to: O) {
        let _ = to;
    }

    /// Whether [`Examiner::overlap`] is wanted.
    fn wants_overlaps(&self) -> bool {
        false
    }

    /// Whether the answer is known. The trace may then end early, or go on.
    fn is_done(&self) -> bool {
        false
    }
}

/// The most objects that an [`Examiner`] is shown at a time.
pub const BATCH: usize = 64;

/// Shows an examiner what a trace enters. `OVERLAPS`: also what an earlier phase has entered.
pub struct Showing<'e, O, const OVERLAPS: bool> {
    examiner: &'e mut dyn Examiner<O>,
    /// The mark of this phase, and the first of its series: those of earlier phases are between them.
    mark: u8,
    since: u8,
    /// Room for a batch, once there was an object.
    batch: Vec<O>,
    /// How many objects are in it.
    count: usize,
    /// How many were shown before.
    shown: usize,
}

impl<'e, O: Copy + Send, const OVERLAPS: bool> Showing<'e, O, OVERLAPS> {
    /// For one thread of a phase.
    pub fn new(examiner: &'e mut dyn Examiner<O>, phase: &Phase<O>) -> Self {
        let since = match phase.filter {
            Filter::Once { since, .. } => since.0,
            _ => phase.mark.0,
        };
        Self {
            examiner,
            mark: phase.mark.0,
            since,
            batch: Vec::new(),
            count: 0,
            shown: 0,
        }
    }

    /// Shows what is left, when the trace has ended. Returns how many objects were shown in all.
    pub fn finish(mut self) -> usize {
        self.show();
        self.shown
    }

    fn show(&mut self) {
        if self.count > 0 {
            self.examiner.examine(&self.batch[..self.count]);
        }
        self.shown += self.count;
        self.count = 0;
    }

    /// Shows what is there, and takes in another object.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, object: O) {
        self.show();
        self.batch.resize(BATCH, object);
        self.batch[0] = object;
        self.count = 1;
    }
}

impl<O: Copy + Send, const OVERLAPS: bool> Visitor<O> for Showing<'_, O, OVERLAPS> {
    type Tag = ();
    const MEETS: bool = OVERLAPS;
    const FEW: bool = true;
    const STOPS: bool = true;

    fn wants(&self, class: ClassId) -> bool {
        self.examiner.wants(class)
    }

    // The loop that marks needs its registers: as little is done here as can be.
    #[inline]
    fn object(&mut self, object: O) {
        match self.batch.get_mut(self.count) {
            Some(place) => {
                *place = object;
                self.count += 1;
            }
            None => self.make_room(object),
        }
    }

    #[inline]
    fn met(&mut self, to: O, visit: Visit) {
        // Most were entered by this phase.
        if visit.0 != self.mark && (self.since..self.mark).contains(&visit.0) {
            self.examiner.overlap(to);
        }
    }

    fn is_done(&self) -> bool {
        self.examiner.is_done()
    }
}

/// The most marks that can be in use at once.
pub const MAX_MARKS: usize = 250;

/// The visited marks of one view.
pub trait Visits {
    /// An object of the view.
    type Object;

    /// Makes sure that this many marks can be had without forgetting any: old ones are
    /// forgotten now, if need be. At most [`MAX_MARKS`].
    fn reserve(&mut self, marks: usize);

    /// A mark that no object carries.
    ///
    /// # Panics
    /// If it was not reserved.
    fn fresh(&mut self) -> Visit;

    /// Makes an object carry a mark. Returns whether it did not before.
    fn set(&mut self, object: Self::Object, mark: Visit) -> bool;

    /// What an object carries.
    fn get(&self, object: Self::Object) -> Visit;
}

/// A view that can be traced.
pub trait Traceable: HeapView {
    /// The visited marks of a series of traces.
    type Visits<'a>: Visits<Object = Self::Object>
    where
        Self: 'a;

    /// Marks for a series of traces.
    fn visits(&self) -> Self::Visits<'_>;

    /// Calls `f` with each target of the edges that retain, of some objects one after the other, and with the place of the object
    /// among them. Whoever knows several objects beforehand need not wait for memory at each.
    fn for_each_target_of(&self, objects: &[Self::Object], mut f: impl FnMut(usize, Self::Object)) {
        for (at, &object) in objects.iter().enumerate() {
            self.for_each_target(object, |to| f(at, to));
        }
    }

    /// Runs one phase, on as many threads as there are visitors, and returns them.
    fn trace<V: Visitor<Self::Object>>(
        &self,
        visits: &mut Self::Visits<'_>,
        phase: &Phase<Self::Object>,
        visitors: Vec<V>,
    ) -> (Traced, Vec<V>);

    /// Puts objects in order that are all that carry a mark, each given once.
    fn in_order(
        &self,
        visits: &Self::Visits<'_>,
        mark: Visit,
        mut objects: Vec<Self::Object>,
    ) -> Vec<Self::Object> {
        let _ = (visits, mark);
        objects.sort_unstable();
        objects
    }

    /// Runs one phase, on as many threads as there are examiners, and shows them what it enters.
    fn survey(
        &self,
        visits: &mut Self::Visits<'_>,
        phase: &Phase<Self::Object>,
        examiners: Vec<&mut dyn Examiner<Self::Object>>,
    ) -> Traced
    where
        Self: Sized,
    {
        survey(self, visits, phase, examiners)
    }
}

/// Runs one phase through [`Traceable::trace`], and shows examiners what it enters.
pub fn survey<T: Traceable>(
    view: &T,
    visits: &mut T::Visits<'_>,
    phase: &Phase<T::Object>,
    examiners: Vec<&mut dyn Examiner<T::Object>>,
) -> Traced {
    match examiners.iter().any(|it| it.wants_overlaps()) {
        true => survey_with::<T, true>(view, visits, phase, examiners),
        false => survey_with::<T, false>(view, visits, phase, examiners),
    }
}

fn survey_with<T: Traceable, const OVERLAPS: bool>(
    view: &T,
    visits: &mut T::Visits<'_>,
    phase: &Phase<T::Object>,
    examiners: Vec<&mut dyn Examiner<T::Object>>,
) -> Traced {
    let visitors = examiners.into_iter();
    let visitors = visitors.map(|it| Showing::<_, OVERLAPS>::new(it, phase));
    let (traced, visitors) = view.trace(visits, phase, visitors.collect());
    for showing in visitors {
        showing.finish();
    }
    traced
}

/// Steps that are traced one after the other and together enter each object at most once.
///
/// It can be run on any view. On a live heap that is collected, it does the marking of the
/// collection.
#[derive(Clone, Debug)]
pub struct Plan<'a, O> {
    /// What to trace, in this order. Their marks do not decrease.
    pub steps: Vec<Step<'a, O>>,
}

/// A step of a plan.
#[derive(Clone, Debug)]
pub struct Step<'a, O> {
    /// Which relation the objects that it enters belong to. Steps with the same number share a
    /// visited mark.
    pub mark: usize,
    /// Objects that this step, and the steps behind it with the same number, neither enter nor
    /// mark. One that an earlier step has entered stays what it is.
    pub exclude: Vec<O>,
    /// Where it starts.
    pub starts: Starts<'a, O>,
}

/// Where a step of a plan starts.
#[derive(Clone, Debug)]
pub enum Starts<'a, O> {
    /// At what these roots refer to.
    Roots(RootSet<'a>),
    /// At these objects.
    Objects(Vec<O>),
}

impl<O> Plan<'_, O> {
    /// How many visited marks it takes: each number of its steps takes one, and a label.
    fn marks(&self) -> usize {
        let numbers = self.steps.iter().map(|step| step.mark + 1);
        numbers.max().unwrap_or(0)
    }
}

/// The marks and labels of a plan that is being run.
pub struct Series {
    /// What the excluded objects of each number carry.
    labels: Vec<Visit>,
    /// What the entered objects of each number carry.
    marks: Vec<Visit>,
    /// Whether the plan is one step that excludes nothing.
    is_alone: bool,
}

impl Series {
    /// Takes the marks that a plan needs.
    ///
    /// # Panics
    /// If the plan needs more than [`MAX_MARKS`].
    pub fn new<V: Visits>(visits: &mut V, plan: &Plan<'_, V::Object>) -> Self {
        let count = plan.marks();
        visits.reserve(2 * count);
        // Labels first, so that the marks follow one another.
        let labels = (0..count).map(|_| visits.fresh()).collect();
        let marks = (0..count).map(|_| visits.fresh()).collect();
        let is_alone = matches!(&plan.steps[..], [step] if step.exclude.is_empty());
        Self {
            labels,
            marks,
            is_alone,
        }
    }

    /// Labels what a step excludes, and returns the phase that it is.
    pub fn phase<T: Traceable + ?Sized>(
        &self,
        view: &T,
        visits: &mut T::Visits<'_>,
        step: &Step<'_, T::Object>,
    ) -> Phase<T::Object> {
        let (since, mark) = (self.marks[0], self.marks[step.mark]);
        for &object in &step.exclude {
            if !(since.0..=mark.0).contains(&visits.get(object).0) {
                visits.set(object, self.labels[step.mark]);
            }
        }
        let starts = match &step.starts {
            Starts::Objects(objects) => objects.clone(),
            Starts::Roots(roots) => {
                let mut starts = Vec::new();
                view.for_each_root_target(*roots, |object| starts.push(object));
                starts
            }
        };
        let avoid = self.labels[step.mark];
        let filter = match self.is_alone {
            true => Filter::Alone,
            false => Filter::Once { since, avoid },
        };
        Phase {
            starts,
            filter,
            mark,
        }
    }
}

/// Runs a plan. `examiner` makes one examiner of a step, given the number of the step, for each
/// thread; `done` gets them back when the step has run, and says whether to go on. Returns what
/// each step did that was run.
///
/// # Panics
/// If the plan needs more than [`MAX_MARKS`] marks and labels.
pub fn run<T: Traceable, E: Examiner<T::Object>>(
    view: &T,
    visits: &mut T::Visits<'_>,
    plan: &Plan<'_, T::Object>,
    threads: usize,
    mut examiner: impl FnMut(usize) -> E,
    mut done: impl FnMut(usize, Vec<E>) -> ControlFlow<()>,
) -> Vec<Traced> {
    let series = Series::new(visits, plan);
    let mut results = Vec::new();
    for (number, step) in plan.steps.iter().enumerate() {
        let phase = series.phase(view, visits, step);
        let mut examiners: Vec<E> = (0..threads).map(|_| examiner(number)).collect();
        let shown = examiners.iter_mut();
        let shown = shown.map(|it| it as &mut dyn Examiner<T::Object>);
        results.push(view.survey(visits, &phase, shown.collect()));
        if done(number, examiners).is_break() {
            break;
        }
    }
    results
}
