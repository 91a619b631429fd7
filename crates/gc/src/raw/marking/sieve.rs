//! Looking for stale references while the heap is marked: leak pruning's edge decisions.
//!
//! A [`Sieve`] is a counter that also decides each edge by the class that it comes from, the class that it
//! leads to and how stale its target is. Those that are stale enough are set aside, with the place of
//! their slots: to be counted by what hangs on them alone, or to be cut.
//!
//! Where they need only be counted, there is a quicker form (`stale_counter.rs`), of which this is the obvious twin.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering::Relaxed;

use foldhash::fast::FixedState;

use crate::raw::marking::counters::{Counter, Counts, Setup};
use crate::raw::marking::mark::{Decision, Edge, Ground, Start, Visitor};
use crate::raw::marking::marker::Marker;
use crate::raw::memory::address::{GRANULE, Raw};
use crate::raw::objects::header::{Epoch, Word};
use crate::raw::objects::layout::{Trace, slot_at};

/// Watches what is doomed being traced, and lists what lives and is met on the way: were nothing pruned, it
/// could be reached from there as well.
pub(crate) struct Frontier {
    pub(crate) epoch: Epoch,
    /// Each once, but for what several workers meet at once.
    pub(crate) tainted: Vec<Raw>,
}

impl Visitor for Frontier {
    type Tag = ();
    type Edge = Start<()>;
    type Source = ();
    const READS: bool = false;
    const ARRIVALS: bool = false;
    const OBJECTS: bool = false;
    const MEETS: bool = true;

    fn object(&mut self, _: Raw, _: Word, _: Trace, _: usize) {}

    #[inline]
    fn met(&mut self, to: Raw, word: Word) {
        if word.is_marked(self.epoch) && !word.is_tainted() {
            self.tainted.push(to);
        }
    }
}

/// Watches what has another life until a finalizer has run, and lists what of it was doomed.
#[derive(Default)]
pub(crate) struct Revived {
    pub(crate) pruned: Vec<Raw>,
}

impl Visitor for Revived {
    type Tag = ();
    type Edge = Start<()>;
    type Source = ();
    const READS: bool = false;
    const ARRIVALS: bool = false;

    #[inline]
    fn object(&mut self, raw: Raw, word: Word, _: Trace, _: usize) {
        if word.is_doomed() {
            self.pruned.push(raw);
        }
    }
}

impl<'h> Counter<'h> for Revived {
    const RIDDEN: bool = false;

    fn fresh(_: Ground<'h>, _: &'h Setup) -> Self {
        Self::default()
    }

    fn merge(_: Vec<Self>) -> Counts<'h> {
        Counts::default()
    }
}

/// Marks objects as tainted. Returns those that were not, each once.
pub(crate) fn taint(ground: Ground<'_>, objects: impl IntoIterator<Item = Raw>) -> Vec<Raw> {
    let fresh = objects.into_iter().filter(|&raw| {
        // SAFETY: an object of the stopped heap.
        let header = unsafe { ground.base.header(raw) };
        let word = header.load();
        header.store(word.tainted());
        !word.is_tainted()
    });
    fresh.collect()
}

/// The classes of both ends of an edge.
pub(crate) type EdgeType = (u32, u32);

/// From which staleness of their targets on edges are set aside.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Mesh {
    /// By edge type.
    pub(crate) types: HashMap<EdgeType, u8, FixedState>,
    /// Of all others; `None` lets them pass.
    pub(crate) others: Option<u8>,
    least: u8,
}

/// Staler than any object.
pub(crate) const NEVER: u8 = 8;

impl Mesh {
    pub(crate) fn new(types: impl IntoIterator<Item = (EdgeType, u8)>, others: Option<u8>) -> Self {
        let types: HashMap<_, _, _> = types.into_iter().collect();
        let least = types.values().copied().chain(others).min();
        Self {
            types,
            others,
            least: least.unwrap_or(NEVER),
        }
    }

    /// From which staleness on edges of a type are set aside.
    pub(crate) fn from(&self, edge: EdgeType) -> Option<u8> {
        self.types.get(&edge).copied().or(self.others)
    }

    /// The least of all of them: what is less stale passes without a look.
    pub(crate) fn least(&self) -> u8 {
        self.least
    }

    #[inline]
    fn holds(&self, edge: EdgeType, staleness: u8) -> bool {
        staleness >= self.least && self.from(edge).is_some_and(|from| staleness >= from)
    }
}

/// A slot and the class of the object that has it. The default is no slot, but a root.
#[derive(Clone, Copy, Default)]
pub(crate) struct Origin {
    /// The place of the slot in the region, in words of four bytes.
    slot: u32,
    pub(crate) class: u32,
}

impl Origin {
    /// Where the slot is in the region.
    pub(crate) fn offset(self) -> usize {
        self.slot as usize * 4
    }
}

/// What a sieve has set aside, of one type.
pub(crate) struct Aside<T> {
    pub(crate) edge: EdgeType,
    pub(crate) edges: Vec<Start<(T, Origin)>>,
}

/// Sorts what was set aside in this marking by type, and the edges of each by their slots: in the same order,
/// whoever found them.
pub(crate) fn sort<T: Copy>(ground: Ground<'_>, edges: Vec<Start<(T, Origin)>>) -> Vec<Aside<T>> {
    let mut types: BTreeMap<EdgeType, Vec<_>> = BTreeMap::new();
    for edge in edges {
        // SAFETY: an object of the stopped heap.
        let target = unsafe { ground.base.header(edge.to) }.load().class();
        let origin = edge.tag.1;
        types.entry((origin.class, target)).or_default().push(edge);
    }
    let sorted = types.into_iter().map(|(edge, mut edges)| {
        edges.sort_unstable_by_key(|it| it.tag.1.slot);
        Aside { edge, edges }
    });
    sorted.collect()
}

impl<T: Copy> Aside<T> {
    /// Bytes of the objects that the edges lead to and that nothing has marked yet.
    pub(crate) fn own_bytes(&self, ground: Ground<'_>) -> usize {
        let mut targets: Vec<Raw> = self.edges.iter().map(|it| it.to).collect();
        targets.sort_unstable();
        targets.dedup();
        let bytes = targets.into_iter().map(|raw| {
            // SAFETY: an object of the stopped heap.
            let word = unsafe { ground.base.header(raw) }.load();
            let trace = ground.traces[word.class() as usize];
            match word.is_marked(ground.epoch) {
                true => 0,
                // SAFETY: as above.
                false => unsafe { trace.bytes(ground.base.object(raw)) },
            }
        });
        bytes.sum()
    }

    /// How stale the stalest target is.
    pub(crate) fn stalest(&self, ground: Ground<'_>, marker: impl Marker) -> u8 {
        let staleness = |edge: &Start<(T, Origin)>| {
            // SAFETY: an object of the stopped heap.
            marker.staleness(unsafe { ground.base.header(edge.to) }.load())
        };
        self.edges.iter().map(staleness).max().unwrap_or(0)
    }

    /// Writes something else into the slots: no object, but an invalid reference.
    pub(crate) fn cut(&self, ground: Ground<'_>, with: Raw) {
        debug_assert!(!ground.refers(with) && !with.is_null());
        for edge in &self.edges {
            let slot = edge.tag.1.offset();
            // SAFETY: the slot of an object that was read in this collection, in which nothing
            // moves before the sweep.
            unsafe { slot_at(ground.base.at(0), slot) }.store(with.0, Relaxed);
        }
    }
}

/// What a sieve needs to know: what to look for, and how objects age meanwhile.
#[derive(Clone, Copy)]
pub(crate) struct Sifting<'h, M> {
    pub(crate) mesh: &'h Mesh,
    pub(crate) marker: M,
}

/// A counter that sets stale edges aside.
pub(crate) struct Sieve<'h, C, M> {
    pub(crate) counter: C,
    /// While there is none, all edges are followed.
    pub(crate) sifting: Option<Sifting<'h, M>>,
    /// The greatest staleness that was met.
    pub(crate) stalest: u8,
}

impl<'h, C: Counter<'h>, M: Marker + Send> Counter<'h> for Sieve<'h, C, M> {
    // Whoever marks before the roots would decide for them.
    const RIDDEN: bool = false;

    fn fresh(ground: Ground<'h>, setup: &'h Setup) -> Self {
        Self {
            counter: C::fresh(ground, setup),
            sifting: None,
            stalest: 0,
        }
    }

    fn merge(workers: Vec<Self>) -> Counts<'h> {
        C::merge(workers.into_iter().map(|it| it.counter).collect())
    }
}

impl<C: Visitor, M: Marker + Send> Visitor for Sieve<'_, C, M> {
    type Tag = (C::Tag, Origin);
    type Edge = Start<(C::Tag, Origin)>;
    type Source = (C::Source, u32, u32);
    const READS: bool = true;
    const READS_ALL: bool = C::READS_ALL;
    const ARRIVALS: bool = C::ARRIVALS;
    const MEETS: bool = C::MEETS;
    const OBJECTS: bool = C::OBJECTS;
    const FEW: bool = C::FEW;
    const WATCHES: bool = C::WATCHES;
    const DEGREES: bool = C::DEGREES;
    const COUNTS: bool = C::COUNTS;
    const DECIDES: bool = true;

    fn no_edge() -> Self::Tag {
        (C::no_edge(), Origin::default())
    }

    #[inline(always)]
    fn object(&mut self, raw: Raw, word: Word, trace: Trace, bytes: usize) {
        self.counter.object(raw, word, trace, bytes);
    }

    #[inline(always)]
    fn source(&self, from: Raw, word: Word) -> Self::Source {
        let first_slot = (from.offset() + size_of::<Word>()) / 4;
        (
            self.counter.source(from, word),
            first_slot as u32,
            word.class(),
        )
    }

    #[inline(always)]
    fn edge_read(&mut self, from: Self::Source, word: u32, to: Raw) -> Self::Tag {
        const { assert!(GRANULE << 30 <= 4 << 32, "a place fits into 32 bits") };
        let (source, first, class) = from;
        let tag = match C::READS {
            true => self.counter.edge_read(source, word, to),
            false => C::Tag::default(),
        };
        let slot = first + word;
        (tag, Origin { slot, class })
    }

    #[inline(always)]
    fn element_read(&mut self, from: Self::Source, word: u32, to: Raw) -> Self::Tag {
        let (source, first, class) = from;
        let tag = match C::READS {
            true => self.counter.element_read(source, word, to),
            false => C::Tag::default(),
        };
        let slot = first + word;
        (tag, Origin { slot, class })
    }

    #[inline(always)]
    fn edge_arrived(&mut self, edge: Self::Edge, object: *const u8, word: Word) {
        let edge = C::Edge::new(edge.to, edge.tag.0);
        self.counter.edge_arrived(edge, object, word);
    }

    #[inline(always)]
    fn watched(&mut self, raw: Raw, class: heaphound_heap::ClassId, bytes: usize) {
        self.counter.watched(raw, class, bytes);
    }

    #[inline(always)]
    fn met(&mut self, to: Raw, word: Word) {
        self.counter.met(to, word);
    }

    #[inline]
    fn decide(&mut self, edge: Self::Edge, word: Word) -> Decision {
        let origin = edge.tag.1;
        let Some(Sifting { mesh, marker }) = self.sifting else {
            return Decision::Follow;
        };
        if origin.slot == 0 {
            return Decision::Follow;
        }
        // The same whether or not others have been here: one thread and many decide alike.
        let staleness = marker.staleness(word);
        self.stalest = self.stalest.max(staleness);
        match mesh.holds((origin.class, word.class()), staleness) {
            true => Decision::SetAside,
            false => Decision::Follow,
        }
    }

    fn counted(&self) -> (usize, usize) {
        self.counter.counted()
    }
}
