//! Traces over a stopped heap: phases, their visited marks, and who watches.
//!
//! A **plan** is an ordered list of **phases**. Each phase drains from a start set, follows
//! the edges that its filter lets pass, and leaves a visited mark on each object that
//! it enters. All ordering between traces is in the plan, so that whoever runs it (a
//! collector, or the trace of a snapshot) is one drain loop.
//!
//! A **visitor** watches. Each thread has one of its own; they are merged in the end. It
//! cannot change what is marked, so that a wrong question gives a wrong answer and
//! nothing worse. What it sees depends on scheduling only in its order; so a trace
//! *nominates*, and what reports say is decided by [`crate::path`], canonically.
//!
//! Marks are one byte an object: the number of the last trace that entered it, or a label.
//! A new trace takes a new number, so that nothing has to be cleared in between; and an
//! object carries one of them at a time.

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
    /// Objects that carry this are left for a later phase.
    SetAside(Visit),
    /// For a series of phases that enter each object once between them, though each has a mark
    /// of its own: objects that carry a mark given out from `since` up to the phase's are
    /// not entered again, and objects that carry `avoid` are neither entered nor marked.
    Once {
        /// The first mark of the series.
        since: Visit,
        /// A label, which was given out before.
        avoid: Visit,
    },
}

/// One step of a plan.
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
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Traced<O> {
    /// Objects entered; of those that the visitors want to be told of, if these are few.
    pub objects: usize,
    /// Objects set aside, in order and each once.
    pub aside: Vec<O>,
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
    /// The marks of earlier phases of the series: from the first up to that of this phase.
    earlier: std::ops::Range<u8>,
    batch: Vec<O>,
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
            earlier: since..phase.mark.0,
            batch: Vec::with_capacity(BATCH),
        }
    }

    /// Shows what is left, when the trace has ended.
    pub fn finish(mut self) {
        self.show();
    }

    #[cold]
    #[inline(never)]
    fn show(&mut self) {
        if !self.batch.is_empty() {
            self.examiner.examine(&self.batch);
            self.batch.clear();
        }
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
        self.batch.push(object);
        if self.batch.len() == BATCH {
            self.show();
        }
    }

    #[inline]
    fn met(&mut self, to: O, visit: Visit) {
        if self.earlier.contains(&visit.0) {
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

    /// Makes an object carry a mark; tells whether it did not before.
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

    /// Runs one phase, on as many threads as there are visitors, and answers them.
    fn trace<V: Visitor<Self::Object>>(
        &self,
        visits: &mut Self::Visits<'_>,
        phase: &Phase<Self::Object>,
        visitors: Vec<V>,
    ) -> (Traced<Self::Object>, Vec<V>);

    /// Runs one phase, on as many threads as there are examiners, and shows them what it enters.
    fn survey(
        &self,
        visits: &mut Self::Visits<'_>,
        phase: &Phase<Self::Object>,
        examiners: Vec<&mut dyn Examiner<Self::Object>>,
    ) -> Traced<Self::Object> {
        match examiners.iter().any(|it| it.wants_overlaps()) {
            true => survey_with::<Self, true>(self, visits, phase, examiners),
            false => survey_with::<Self, false>(self, visits, phase, examiners),
        }
    }
}

fn survey_with<T: Traceable + ?Sized, const OVERLAPS: bool>(
    view: &T,
    visits: &mut T::Visits<'_>,
    phase: &Phase<T::Object>,
    examiners: Vec<&mut dyn Examiner<T::Object>>,
) -> Traced<T::Object> {
    let visitors = examiners.into_iter();
    let visitors = visitors.map(|it| Showing::<_, OVERLAPS>::new(it, phase));
    let (traced, visitors) = view.trace(visits, phase, visitors.collect());
    visitors.into_iter().for_each(Showing::finish);
    traced
}

/// A series of phases, all ordering included, that can be run on any view and inside a
/// collection.
#[derive(Clone, Debug)]
pub struct Plan<'a, O> {
    /// Objects that carry a label, label by label, until a step enters them.
    pub labels: Vec<Vec<O>>,
    /// What to do, in this order.
    pub steps: Vec<Step<'a, O>>,
}

/// A phase of a plan, which speaks of labels and marks by their number.
#[derive(Clone, Debug)]
pub struct Step<'a, O> {
    /// Where it starts.
    pub starts: Starts<'a, O>,
    /// What it follows.
    pub filter: StepFilter,
    /// Steps with the same number share a visited mark: a later one does not enter what
    /// an earlier one has, unless a step with another number has entered it since.
    pub mark: usize,
}

/// Where a step of a plan starts.
#[derive(Clone, Debug)]
pub enum Starts<'a, O> {
    /// Roots.
    Roots(RootSet<'a>),
    /// These objects.
    Objects(Vec<O>),
    /// What has been set aside since the last step that started here.
    Aside,
}

/// Which edges a step of a plan follows, by the labels of their targets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum StepFilter {
    /// All.
    #[default]
    Follow,
    /// Objects with that label are neither entered nor marked.
    StopAt(usize),
    /// Objects with that label are left for a later step.
    SetAside(usize),
}

/// Runs a plan; answers what each step did. `visitor` makes those of a step, given its
/// number; `done` gets them back when it has run.
///
/// # Panics
/// If the plan has more than [`MAX_MARKS`] labels and marks, or speaks of a label that it
/// does not have.
pub fn run<T: Traceable, V: Visitor<T::Object>>(
    view: &T,
    visits: &mut T::Visits<'_>,
    plan: &Plan<'_, T::Object>,
    threads: usize,
    mut visitor: impl FnMut(usize) -> V,
    mut done: impl FnMut(usize, Vec<V>),
) -> Vec<Traced<T::Object>> {
    let marks = plan
        .steps
        .iter()
        .map(|step| step.mark + 1)
        .max()
        .unwrap_or(0);
    visits.reserve(plan.labels.len() + marks);
    let labels: Vec<Visit> = plan.labels.iter().map(|_| visits.fresh()).collect();
    for (objects, &label) in plan.labels.iter().zip(&labels) {
        for &object in objects {
            visits.set(object, label);
        }
    }
    let marks: Vec<Visit> = (0..marks).map(|_| visits.fresh()).collect();
    let mut aside = Vec::new();
    let mut results = Vec::new();
    for (number, step) in plan.steps.iter().enumerate() {
        let starts = match &step.starts {
            Starts::Roots(roots) => {
                let mut starts = Vec::new();
                view.for_each_root_target(*roots, |object| starts.push(object));
                starts
            }
            Starts::Objects(objects) => objects.clone(),
            Starts::Aside => {
                aside.sort_unstable();
                aside.dedup();
                std::mem::take(&mut aside)
            }
        };
        let phase = Phase {
            starts,
            filter: match step.filter {
                StepFilter::Follow => Filter::Follow,
                StepFilter::StopAt(label) => Filter::StopAt(labels[label]),
                StepFilter::SetAside(label) => Filter::SetAside(labels[label]),
            },
            mark: marks[step.mark],
        };
        let visitors: Vec<V> = (0..threads).map(|_| visitor(number)).collect();
        let (traced, visitors) = view.trace(visits, &phase, visitors);
        aside.extend_from_slice(&traced.aside);
        results.push(traced);
        done(number, visitors);
    }
    results
}
