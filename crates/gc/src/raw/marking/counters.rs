//! What is counted while a full collection marks: one visitor for each form of the loop.
//!
//! | form | counts | used when |
//! |---|---|---|
//! | `()` | nothing | nobody asks: the plain loop |
//! | [`ClassCounter`] | objects and bytes of some classes, or of all; arrivals at unshared objects | GC assertions, out-of-memory reports |
//! | [`Summing`](super::summary_counter::Summing) | all classes and the edges between them; degrees | summaries, growth, shapes |
//!
//! Each can have an examiner [`Beside`] it, which is shown the objects of some classes: rules. If nothing is
//! counted, the examiner takes its place ([`Shown`]). Which form serves what all checks need is decided in one place (`marking.rs`).

use std::marker::PhantomData;

use heaphound_heap::ClassId;
use heaphound_heap::trace::{self, Showing, Visit};

use crate::raw::marking::mark::{Ground, Start, Visitor};
use crate::raw::marking::shape_counter::{Assumed, Shaping};
use crate::raw::marking::summary_counter::{Places, Summing};
use crate::raw::memory::address::Raw;
use crate::raw::objects::header::Word;
use crate::raw::objects::layout::Trace;
use crate::raw::views::stopped::{Brand, ObjectId};

/// A visitor that counts for the checks of a full collection. Each worker has one.
pub(crate) trait Counter<'h>: Visitor + Sized {
    /// Whether examiners can be beside it. Fewer forms are compiled for that: the others do with
    /// one that counts more.
    const RIDDEN: bool;
    /// Whether it counts nothing at all. Then an examiner is not beside it but instead of it: [`Shown`].
    const NOTHING: bool = false;

    /// One for a worker that has counted nothing yet.
    fn fresh(ground: Ground<'h>, setup: &'h Setup) -> Self;

    /// What all workers have counted together.
    fn merge(workers: Vec<Self>) -> Counts<'h>;
}

/// What counters need to know before they begin.
#[derive(Default)]
pub(crate) struct Setup {
    /// How many classes there are.
    pub(crate) classes: usize,
    /// For summaries: all slots of all classes.
    pub(crate) places: Places,
    /// For shapes, if they can be counted while the heap is marked.
    pub(crate) assumed: Option<Assumed>,
}

/// What marking has counted, all workers together. What nobody asked for is empty.
#[derive(Default)]
pub(crate) struct Counts<'h> {
    /// Objects and bytes of each class that was counted.
    pub(crate) classes: Vec<(usize, usize)>,
    /// Objects asserted unshared, as often as they were met again.
    pub(crate) again: Vec<Raw>,
    pub(crate) summary: Option<heaphound_analysis::summary::Summary>,
    pub(crate) shapings: Vec<Shaping<'h>>,
}

impl Counts<'_> {
    /// Adds what a worker has counted of each class, and listed.
    pub(crate) fn add(&mut self, classes: Vec<(usize, usize)>, again: Vec<Raw>) {
        if self.classes.len() < classes.len() {
            self.classes.resize(classes.len(), (0, 0));
        }
        for (all, count) in self.classes.iter_mut().zip(classes) {
            all.0 += count.0;
            all.1 += count.1;
        }
        self.again.extend(again);
    }
}

impl<'h> Counter<'h> for () {
    const RIDDEN: bool = true;
    const NOTHING: bool = true;

    fn fresh(_: Ground<'h>, _: &'h Setup) -> Self {}

    fn merge(_: Vec<Self>) -> Counts<'h> {
        Counts::default()
    }
}

/// Counts instances. `ALL`: of all classes, else of those whose trace word says so. `AGAIN`: lists
/// arrivals at objects that were asserted unshared.
pub(crate) struct ClassCounter<const ALL: bool, const AGAIN: bool> {
    /// Objects and bytes of each class.
    classes: Vec<(usize, usize)>,
    /// Objects asserted unshared, as often as they were met again.
    again: Vec<Raw>,
}

impl<const ALL: bool, const AGAIN: bool> ClassCounter<ALL, AGAIN> {
    #[cold]
    #[inline(never)]
    fn met_unshared(&mut self, to: Raw) {
        self.again.push(to);
    }
}

impl<'h, const ALL: bool, const AGAIN: bool> Counter<'h> for ClassCounter<ALL, AGAIN> {
    const RIDDEN: bool = ALL && AGAIN;

    fn fresh(_: Ground<'h>, setup: &'h Setup) -> Self {
        Self {
            classes: vec![(0, 0); setup.classes + 1],
            again: Vec::new(),
        }
    }

    fn merge(workers: Vec<Self>) -> Counts<'h> {
        let mut counts = Counts::default();
        for one in workers {
            counts.add(one.classes, one.again);
        }
        counts
    }
}

impl<const ALL: bool, const AGAIN: bool> Visitor for ClassCounter<ALL, AGAIN> {
    type Tag = ();
    type Edge = Start<()>;
    type Source = ();
    const READS: bool = false;
    const ARRIVALS: bool = false;
    const OBJECTS: bool = ALL;
    const WATCHES: bool = !ALL;
    const MEETS: bool = AGAIN;

    #[inline]
    fn object(&mut self, raw: Raw, word: Word, _: Trace, bytes: usize) {
        self.watched(raw, ClassId(word.class()), bytes);
    }

    #[inline]
    fn watched(&mut self, _: Raw, class: ClassId, bytes: usize) {
        let count = &mut self.classes[class.0 as usize];
        count.0 += 1;
        count.1 += bytes;
    }

    #[inline]
    fn met(&mut self, to: Raw, word: Word) {
        if word.is_unshared() {
            self.met_unshared(to);
        }
    }
}

impl<'h, const AGAIN: bool, const SHAPES: bool> Counter<'h> for Summing<'h, AGAIN, SHAPES> {
    const RIDDEN: bool = AGAIN;

    fn fresh(ground: Ground<'h>, setup: &'h Setup) -> Self {
        Self::new(ground, &setup.places, Shaping::new(setup.assumed.as_ref()))
    }

    fn merge(workers: Vec<Self>) -> Counts<'h> {
        Self::merge(workers)
    }
}

/// A counter with an examiner beside it.
pub(crate) struct Beside<'e, 'v, C, const OVERLAPS: bool> {
    pub(crate) counter: C,
    pub(crate) showing: Showing<'e, ObjectId<'v>, OVERLAPS>,
    brand: Brand<'v>,
}

impl<'e, 'v, C, const OVERLAPS: bool> Beside<'e, 'v, C, OVERLAPS> {
    pub(crate) fn new(counter: C, showing: Showing<'e, ObjectId<'v>, OVERLAPS>) -> Self {
        Self {
            counter,
            showing,
            brand: PhantomData,
        }
    }
}

impl<'v, C: Visitor, const OVERLAPS: bool> Visitor for Beside<'_, 'v, C, OVERLAPS> {
    type Tag = C::Tag;
    type Edge = C::Edge;
    type Source = C::Source;
    const READS: bool = C::READS;
    const READS_ALL: bool = C::READS_ALL;
    const ARRIVALS: bool = C::ARRIVALS;
    const MEETS: bool = C::MEETS || OVERLAPS;
    const FEW: bool = !C::OBJECTS;
    const DEGREES: bool = C::DEGREES;
    const COUNTS: bool = C::COUNTS;

    #[inline(always)]
    fn no_edge() -> C::Tag {
        C::no_edge()
    }

    #[inline(always)]
    fn object(&mut self, raw: Raw, word: Word, trace: Trace, bytes: usize) {
        if C::OBJECTS {
            self.counter.object(raw, word, trace, bytes);
        }
        if !C::OBJECTS || trace.is_watched() {
            trace::Visitor::object(&mut self.showing, ObjectId(raw, self.brand));
        }
    }

    #[inline(always)]
    fn source(&self, from: Raw, word: Word) -> C::Source {
        self.counter.source(from, word)
    }

    #[inline(always)]
    fn edge_read(&mut self, from: C::Source, word: u32, to: Raw) -> C::Tag {
        self.counter.edge_read(from, word, to)
    }

    #[inline(always)]
    fn element_read(&mut self, from: C::Source, word: u32, to: Raw) -> C::Tag {
        self.counter.element_read(from, word, to)
    }

    #[inline(always)]
    fn edge_arrived(&mut self, edge: C::Edge, object: *const u8, word: Word) {
        self.counter.edge_arrived(edge, object, word);
    }

    #[inline(always)]
    fn met(&mut self, to: Raw, word: Word) {
        if C::MEETS {
            self.counter.met(to, word);
        }
        if OVERLAPS {
            let to = ObjectId(to, self.brand);
            trace::Visitor::met(&mut self.showing, to, Visit(word.visit()));
        }
    }

    fn counted(&self) -> (usize, usize) {
        self.counter.counted()
    }
}

/// An examiner where nothing is counted. `FEW`: of the objects that are marked, few are of classes that it wants. The
/// trace words of these send the loop another way then ([`Trace::watched`]), and all others pay nothing; else they say
/// so to a test of each object ([`Trace::shown`]).
pub(crate) struct Shown<'e, 'v, const FEW: bool, const OVERLAPS: bool> {
    pub(crate) showing: Showing<'e, ObjectId<'v>, OVERLAPS>,
    brand: Brand<'v>,
}

impl<'e, 'v, const FEW: bool, const OVERLAPS: bool> Shown<'e, 'v, FEW, OVERLAPS> {
    pub(crate) fn new(showing: Showing<'e, ObjectId<'v>, OVERLAPS>) -> Self {
        Self {
            showing,
            brand: PhantomData,
        }
    }

    #[inline(always)]
    fn show(&mut self, raw: Raw) {
        trace::Visitor::object(&mut self.showing, ObjectId(raw, self.brand));
    }
}

impl<const FEW: bool, const OVERLAPS: bool> Visitor for Shown<'_, '_, FEW, OVERLAPS> {
    type Tag = ();
    type Edge = Start<()>;
    type Source = ();
    const READS: bool = false;
    const ARRIVALS: bool = false;
    const OBJECTS: bool = !FEW;
    const FEW: bool = true;
    const WATCHES: bool = FEW;
    const MEETS: bool = OVERLAPS;
    const FOLLOWS: bool = !FEW;

    #[inline(always)]
    fn object(&mut self, raw: Raw, _: Word, _: Trace, _: usize) {
        self.show(raw);
    }

    #[inline(always)]
    fn watched(&mut self, raw: Raw, _: ClassId, _: usize) {
        self.show(raw);
    }

    #[inline(always)]
    fn met(&mut self, to: Raw, word: Word) {
        let to = ObjectId(to, self.brand);
        trace::Visitor::met(&mut self.showing, to, Visit(word.visit()));
    }
}
