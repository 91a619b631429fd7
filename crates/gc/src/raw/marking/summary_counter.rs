//! Counting a summary of the heap while it is marked.
//!
//! Where an edge starts is known when its slot is read, and the class of its target when it
//! arrives. What travels in between is a *place*: a small number for a slot of a class, which is the
//! slot's word and what the class adds to it. Most slots lead to objects of one class, and most
//! classes have objects of one size, so that most arrivals are a comparison with the class that the
//! place led to first, and a count. Others are set aside, and counted many at once, so that the
//! loop calls nobody: in a row of the place, or, if it leads to another class than the first, in a
//! table of rows, in which two kinds of edges may want the same one: what was there then goes to a
//! slower table.
//!
//! Each worker counts for itself; sums do not depend on who counted.
//!
//! Elsewhere: what a summary is (`heaphound_analysis::summary`), the degrees of recursive
//! data structures (`crate::raw::marking::shape_counter`), when a summary is made and who is told
//! (`summaries.rs`).

use heaphound_analysis::slot::{SlotId, SlotIds};
use heaphound_analysis::summary::Counters;
use heaphound_heap::ClassId;
use heaphound_heap::view::Place;

use crate::raw::marking::counters::Counts;
use crate::raw::marking::mark::{Edge, Ground, Numbered, Visitor, word_behind};
use crate::raw::marking::shape_counter::Shaping;
use crate::raw::memory::address::Raw;
use crate::raw::objects::header::Word;
use crate::raw::objects::layout::{ELEMENTS_OFFSET, Trace};

/// All slots of all classes, numbered for the mark loop.
#[derive(Default)]
pub(crate) struct Places {
    /// By class id.
    spans: Vec<Span>,
    /// By place.
    slots: Vec<SlotId>,
    /// By class id: the size of its objects, 0 if they differ.
    sizes: Vec<u32>,
}

/// Where the places of a class are.
#[derive(Clone, Copy, Default)]
pub(crate) struct Span {
    /// What makes the place of a slot out of its word; wraps.
    shift: u32,
    /// The last word that has a place of its own. The elements of an array share the first's.
    last: u32,
}

impl Places {
    /// The places of all classes that the ids know.
    pub(crate) fn new(ground: Ground<'_>, ids: &SlotIds) -> Self {
        let mut places = Self {
            spans: vec![Span::default()],
            // Roots come from no slot, and neither does what is no edge.
            slots: vec![SlotId::ROOT; 2],
            sizes: vec![0],
        };
        for id in (1..=ids.classes() as u32).map(ClassId) {
            let class = ground.classes.get(id);
            let start = places.slots.len() as u32;
            let word = |offset: u32| word_behind(offset as usize);
            let (mut first, mut last) = (0, 0);
            if class.info.elements.is_some() {
                first = word(ELEMENTS_OFFSET as u32);
                last = first;
                places.slots.push(ids.at(id, Place::Element(0)));
            } else {
                let all = class.info.fields.iter().zip(0..);
                let slots = || all.clone().filter(|(field, _)| field.kind.is_slot());
                let words = slots().map(|(field, _)| word(field.offset));
                if let (Some(least), Some(most)) = (words.clone().min(), words.max()) {
                    (first, last) = (least, most);
                    let count = (last - first + 1) as usize;
                    let end = places.slots.len() + count;
                    places.slots.resize(end, SlotId::ROOT);
                    for (field, index) in slots() {
                        let at = start + word(field.offset) - first;
                        places.slots[at as usize] = ids.at(id, Place::Field(index));
                    }
                }
            }
            places.spans.push(Span {
                shift: start.wrapping_sub(first),
                last,
            });
            let size = class.fixed_bytes().map_or(0, |bytes| bytes as u32);
            places.sizes.push(size);
        }
        places
    }
}

/// What one worker counts. `AGAIN` lists arrivals at objects that were asserted unshared;
/// `SHAPES` counts the degrees of recursive data structures, too.
pub(crate) struct Summing<'h, const AGAIN: bool, const SHAPES: bool> {
    ground: Ground<'h>,
    places: &'h Places,
    /// By class id.
    objects: Vec<usize>,
    /// By class id, only where objects may differ in size.
    bytes: Vec<usize>,
    /// By place: the class that it led to first, marked if its objects differ in size; 0 if it has led
    /// nowhere, or more is to be told of its edges than their number and volume.
    leads: Vec<u32>,
    /// By place: how often it has led there since.
    references: Vec<u64>,
    /// By place, and to how many bytes, if sizes differ.
    volumes: Vec<u64>,
    /// Edges that lead elsewhere, and how many there are.
    aside: [Numbered; ASIDE],
    set_aside: usize,
    /// By place, where it led first; behind those, where else places led, a power of two of them.
    rows: Vec<EdgeRow>,
    /// How far to shift a hash so that it is the number of one of the latter.
    shift: u32,
    /// Those that had to make room.
    rest: Counters,
    again: Vec<Raw>,
    shaping: Shaping<'h>,
}

/// An edge of the summary, as far as it has been counted here.
#[derive(Clone, Copy, Default)]
pub(in crate::raw) struct EdgeRow {
    /// Place and class; 0 if the row is free, for there is no class 0.
    key: u64,
    references: u64,
    bytes: u64,
    /// Of the class.
    trace: Trace,
    /// For shapes: over all targets.
    pub(in crate::raw) sum: u64,
    /// For shapes: what the edge does to its target.
    pub(in crate::raw) effect: crate::raw::marking::shape_counter::Effect,
}

/// Classes have twenty bits.
const CLASS_BITS: u32 = 20;
/// Marks a class whose objects differ in size.
const VARIES: u32 = 1 << 31;
/// The place of arrivals that are not counted.
const NO_EDGE: u32 = 1;

impl EdgeRow {
    fn place(&self) -> usize {
        (self.key >> CLASS_BITS) as usize
    }

    fn class(&self) -> u32 {
        self.key as u32 & ((1 << CLASS_BITS) - 1)
    }
}

/// So many edges are set aside before they are counted: few enough for their headers to be in the
/// cache still.
const ASIDE: usize = 256;

/// Rows of the quick table, as powers of two.
const LEAST_ROWS: u32 = 8;
const MOST_ROWS: u32 = 14;

impl<'h, const AGAIN: bool, const SHAPES: bool> Summing<'h, AGAIN, SHAPES> {
    pub(crate) fn new(ground: Ground<'h>, places: &'h Places, shaping: Shaping<'h>) -> Self {
        let wanted = (places.slots.len() * 2).next_power_of_two().ilog2();
        let bits = wanted.clamp(LEAST_ROWS, MOST_ROWS);
        Self {
            ground,
            places,
            objects: vec![0; places.spans.len()],
            bytes: vec![0; places.spans.len()],
            leads: vec![0; places.slots.len()],
            references: vec![0; places.slots.len()],
            volumes: vec![0; places.slots.len()],
            aside: [Numbered::new(Raw::NULL, 0); ASIDE],
            set_aside: 0,
            rows: vec![EdgeRow::default(); places.slots.len() + (1 << bits)],
            shift: u64::BITS - bits,
            rest: Counters::new(&SlotIds::default()),
            again: Vec::new(),
            shaping,
        }
    }

    /// Counts the edges that were set aside.
    #[cold]
    #[inline(never)]
    fn count_aside(&mut self) {
        for at in 0..std::mem::take(&mut self.set_aside) {
            let edge = self.aside[at];
            // SAFETY: a live object.
            let word = unsafe { self.ground.base.header(edge.to()) }.load();
            self.count_edge(edge.tag(), edge.to(), word.class());
        }
    }

    #[inline(always)]
    fn count_edge(&mut self, place: u32, to: Raw, class: u32) {
        let key = (place as u64) << CLASS_BITS | class as u64;
        let mut at = place as usize;
        if self.rows[at].key != key {
            if self.rows[at].key > 0 {
                // The golden ratio spreads numbers that are close to one another.
                let hash = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift;
                at = self.leads.len() + hash as usize;
            }
            if self.rows[at].key != key {
                self.replace(at, key);
            }
        }
        let row = &mut self.rows[at];
        row.references += 1;
        // SAFETY: a live object of that class.
        row.bytes += unsafe { row.trace.bytes(self.ground.base.object(to)) } as u64;
        if SHAPES {
            self.shaping.arrived(self.ground, row, to);
        }
    }

    /// Another kind of edge gets the row.
    #[cold]
    #[inline(never)]
    fn replace(&mut self, at: usize, key: u64) {
        self.put_by(self.rows[at]);
        let mut row = EdgeRow {
            key,
            ..EdgeRow::default()
        };
        row.trace = self.ground.classes.get(ClassId(row.class())).trace;
        if SHAPES {
            let slot = self.places.slots[row.place()];
            row.effect = self.shaping.effect(slot, ClassId(row.class()));
        }
        let lead = self.leads.get_mut(at);
        if let Some(lead) = lead.filter(|_| !row.effect.is_any()) {
            *lead = match self.places.sizes[row.class() as usize] {
                0 => row.class() | VARIES,
                _ => row.class(),
            };
        }
        self.rows[at] = row;
    }

    /// Adds a row to those that are complete.
    fn put_by(&mut self, row: EdgeRow) {
        if row.key == 0 || row.place() == NO_EDGE as usize {
            return;
        }
        let class = row.class();
        let bytes = match self.places.sizes[class as usize] {
            0 => row.bytes,
            size => row.references * size as u64,
        };
        let slot = self.places.slots[row.place()];
        self.rest
            .add_edges(slot, ClassId(class), row.references, bytes);
        if SHAPES {
            self.shaping.put_by(slot, &row);
        }
    }

    /// Objects and bytes of each class.
    fn classes(&self) -> impl Iterator<Item = (usize, usize)> {
        let counts = self.objects.iter().zip(&self.bytes);
        counts.enumerate().map(|(class, (&objects, &bytes))| {
            let size = self.places.sizes[class] as usize;
            // A class that was defined just now, by a thread that is not stopped, has no objects.
            match self.ground.traces.get(class) {
                Some(trace) if trace.varies() => (objects, bytes),
                _ => (objects, objects * size),
            }
        })
    }

    /// What all workers have counted together.
    pub(in crate::raw) fn merge(workers: Vec<Self>) -> Counts<'h> {
        let mut counts = Counts::default();
        let (mut counters, mut shapings) = (Vec::new(), Vec::new());
        for mut worker in workers {
            worker.count_aside();
            let led = worker.references.iter().zip(&worker.volumes);
            for (row, (references, volume)) in worker.rows.iter_mut().zip(led) {
                row.references += references;
                row.bytes += volume;
            }
            for row in std::mem::take(&mut worker.rows) {
                worker.put_by(row);
            }
            let classes: Vec<(usize, usize)> = worker.classes().collect();
            let mut sums = worker.rest;
            for (class, &(objects, bytes)) in classes.iter().enumerate() {
                if objects > 0 {
                    sums.add_objects(ClassId(class as u32), objects as u64, bytes as u64);
                }
            }
            counters.push(sums);
            shapings.push(worker.shaping);
            counts.add(classes, worker.again);
        }
        counts.summary = Some(Counters::merge(counters));
        counts.shapings = shapings;
        counts
    }
}

impl<const AGAIN: bool, const SHAPES: bool> Visitor for Summing<'_, AGAIN, SHAPES> {
    /// A place; 0 comes from a root.
    type Tag = u32;
    type Edge = Numbered;
    type Source = Span;
    const READS: bool = true;
    const READS_ALL: bool = true;
    const ARRIVALS: bool = true;
    const MEETS: bool = AGAIN;
    const DEGREES: bool = SHAPES;
    const COUNTS: bool = true;

    #[inline(always)]
    fn no_edge() -> u32 {
        NO_EDGE
    }

    #[inline(always)]
    fn object(&mut self, raw: Raw, word: Word, trace: Trace, bytes: usize) {
        let class = word.class() as usize;
        // SAFETY: there is a place for each class that objects have.
        unsafe {
            *self.objects.get_unchecked_mut(class) += 1;
            if trace.varies() {
                *self.bytes.get_unchecked_mut(class) += bytes;
            }
        }
        if SHAPES {
            self.shaping.object(self.ground, raw, ClassId(word.class()));
        }
    }

    #[inline(always)]
    fn source(&self, _: Raw, word: Word) -> Span {
        // SAFETY: as above.
        unsafe { *self.places.spans.get_unchecked(word.class() as usize) }
    }

    #[inline(always)]
    fn edge_read(&mut self, span: Span, word: u32, _: Raw) -> u32 {
        word.wrapping_add(span.shift)
    }

    #[inline(always)]
    fn element_read(&mut self, span: Span, word: u32, _: Raw) -> u32 {
        word.min(span.last).wrapping_add(span.shift)
    }

    #[inline(always)]
    fn edge_arrived(&mut self, edge: Numbered, object: *const u8, word: Word) {
        let (place, class) = (edge.tag() as usize, word.class());
        // SAFETY: what arrives was read from a slot, or is a root; both have places. The object lives,
        // is of that class, and an array if the class has objects of different sizes.
        unsafe {
            let lead = *self.leads.get_unchecked(place);
            if lead == class {
                *self.references.get_unchecked_mut(place) += 1;
                return;
            }
            if lead == class | VARIES {
                let trace = *self.ground.traces.get_unchecked(class as usize);
                let bytes = trace.array_bytes(object);
                *self.references.get_unchecked_mut(place) += 1;
                *self.volumes.get_unchecked_mut(place) += bytes as u64;
                return;
            }
        }
        if self.set_aside == ASIDE {
            self.count_aside();
        }
        self.aside[self.set_aside] = edge;
        self.set_aside += 1;
    }

    fn counted(&self) -> (usize, usize) {
        let add = |a: (usize, usize), b: (usize, usize)| (a.0 + b.0, a.1 + b.1);
        self.classes().fold((0, 0), add)
    }

    #[inline]
    fn met(&mut self, to: Raw, word: Word) {
        if word.is_unshared() {
            self.again.push(to);
        }
    }
}
