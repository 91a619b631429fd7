//! Counting a summary of the heap while it is marked.
//!
//! Where an edge starts is known when its slot is read, and the class of its target when it
//! arrives. What travels in between is a *place*: a small number for a slot of a class, found from
//! the offset by one lookup and an addition. Most slots lead to objects of one class, so that most
//! arrivals are a comparison with the class that the place led to first, and a count. Others,
//! and arrays, whose sizes differ, are counted in a row of a table that place and class together
//! give. Two kinds of edges may want the same row; the one that was there then goes to a
//! slower table. Most objects of a class have one size, so that volumes are multiplied out in
//! the end.
//!
//! Each worker counts for itself; sums do not depend on who counted.
//!
//! Elsewhere: what a summary is (`heaphound_analysis::summary`), the degrees of recursive
//! data structures (`super::shaping`), when a summary is made and who is told
//! (`summaries.rs`).

use heaphound_analysis::slot::{SlotId, SlotIds};
use heaphound_analysis::summary::{Counters, Summary};
use heaphound_heap::ClassId;
use heaphound_heap::view::Place;

use super::check::Counted;
use super::header::Word;
use super::mark::{Ground, Visitor};
use super::region::Raw;
use super::shaping::Shaping;
use super::trace::ELEMENTS_OFFSET;

/// Bytes of a slot.
const WORD: u32 = 4;

/// All slots of all classes, numbered for the mark loop.
pub(crate) struct Places {
    /// By class id.
    rows: Vec<Row>,
    /// By place.
    slots: Vec<SlotId>,
    /// By class id: the size of its objects, 0 if they differ.
    sizes: Vec<u32>,
}

/// Where the places of a class are.
#[derive(Clone, Copy, Default)]
pub(crate) struct Row {
    /// What makes the place of a word out of its number; wraps.
    shift: u32,
    /// The last word that has a place of its own. The elements of an array share the first's.
    last: u32,
}

impl Places {
    /// The places of all classes that the ids know.
    pub(crate) fn new(ground: Ground<'_>, ids: &SlotIds) -> Self {
        let mut places = Self {
            rows: vec![Row::default()],
            // Roots come from no slot.
            slots: vec![SlotId::ROOT],
            sizes: vec![0],
        };
        for id in (1..=ids.classes() as u32).map(ClassId) {
            let class = ground.classes.get(id);
            let start = places.slots.len() as u32;
            let word = |offset: u32| offset / WORD;
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
            places.rows.push(Row {
                shift: start.wrapping_sub(first),
                last,
            });
            let size = class.fixed_bytes().map_or(0, |bytes| bytes as u32);
            places.sizes.push(size);
        }
        places
    }
}

impl Row {
    /// The place of a slot.
    #[inline(always)]
    fn place(self, offset: usize) -> u32 {
        let word = (offset as u32 / WORD).min(self.last);
        word.wrapping_add(self.shift)
    }
}

/// What one worker counts. `AGAIN` lists arrivals at objects that were asserted unshared;
/// `SHAPES` counts the degrees of recursive data structures, too.
pub(crate) struct Summing<'h, 's, const AGAIN: bool, const SHAPES: bool> {
    ground: Ground<'h>,
    places: &'h Places,
    /// Objects and bytes of each class.
    classes: Vec<(usize, usize)>,
    /// By place. Not for shapes, which want to know more of each edge.
    leads: Vec<Lead>,
    /// Where else places led. A power of two of them.
    rows: Vec<EdgeRow>,
    /// How far to shift a hash so that it is the place of a row.
    shift: u32,
    /// Those that had to make room.
    rest: Counters,
    again: Vec<Raw>,
    shaping: Shaping<'s>,
}

/// Where a place led first, to objects of one size, and how often it has since.
#[derive(Clone, Copy, Default)]
struct Lead {
    /// 0 if it has led nowhere.
    class: u32,
    references: u64,
}

/// What all workers have counted together.
pub(crate) struct Summed<'s> {
    pub(crate) counted: Counted,
    pub(crate) summary: Summary,
    pub(crate) shapings: Vec<Shaping<'s>>,
}

/// An edge of the summary, as far as it has been counted here.
#[derive(Clone, Copy, Default)]
pub(super) struct EdgeRow {
    /// Place and class; 0 if the row is free, for there is no class 0.
    key: u64,
    references: u64,
    /// Only where sizes differ.
    bytes: u64,
    /// For shapes: over all targets.
    pub(super) sum: u64,
    /// For shapes: what the edge does to its target.
    pub(super) effect: super::shaping::Effect,
}

/// Classes have twenty bits.
const CLASS_BITS: u32 = 20;

impl EdgeRow {
    fn place(&self) -> usize {
        (self.key >> CLASS_BITS) as usize
    }

    fn class(&self) -> u32 {
        self.key as u32 & ((1 << CLASS_BITS) - 1)
    }
}

/// Rows of the quick table, as powers of two.
const LEAST_ROWS: u32 = 8;
const MOST_ROWS: u32 = 14;

impl<'h, 's, const AGAIN: bool, const SHAPES: bool> Summing<'h, 's, AGAIN, SHAPES> {
    pub(crate) fn new(ground: Ground<'h>, places: &'h Places, shaping: Shaping<'s>) -> Self {
        let wanted = (places.slots.len() * 2).next_power_of_two().ilog2();
        let bits = wanted.clamp(LEAST_ROWS, MOST_ROWS);
        Self {
            ground,
            places,
            classes: vec![(0, 0); places.rows.len()],
            leads: vec![Lead::default(); places.slots.len()],
            rows: vec![EdgeRow::default(); 1 << bits],
            shift: u64::BITS - bits,
            rest: Counters::new(&SlotIds::default()),
            again: Vec::new(),
            shaping,
        }
    }

    /// Counts an edge that does not lead where its place led first.
    #[inline(never)]
    fn elsewhere(&mut self, place: u32, to: Raw, class: u32) {
        let size = self.places.sizes[class as usize];
        let lead = &mut self.leads[place as usize];
        if !SHAPES && lead.class == 0 && size > 0 {
            *lead = Lead {
                class,
                references: 1,
            };
            return;
        }
        let key = (place as u64) << CLASS_BITS | class as u64;
        // The golden ratio spreads numbers that are close to one another.
        let at = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize;
        if self.rows[at].key != key {
            self.replace(at, key);
        }
        let row = &mut self.rows[at];
        row.references += 1;
        if size == 0 {
            let trace = self.ground.traces[class as usize];
            // SAFETY: a live object of that class.
            row.bytes += unsafe { trace.bytes(self.ground.base.object(to)) } as u64;
        }
        if SHAPES {
            self.shaping.arrived(self.ground, row, to);
        }
    }

    /// Another kind of edge gets the row.
    #[cold]
    #[inline(never)]
    fn replace(&mut self, at: usize, key: u64) {
        self.put_by(self.rows[at]);
        let row = EdgeRow {
            key,
            ..EdgeRow::default()
        };
        self.rows[at] = row;
        if SHAPES {
            let slot = self.places.slots[row.place()];
            self.rows[at].effect = self.shaping.effect(slot, ClassId(row.class()));
        }
    }

    /// Adds a row to those that are complete.
    fn put_by(&mut self, row: EdgeRow) {
        if row.key == 0 {
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

    /// What all workers have counted together.
    pub(crate) fn merge(workers: Vec<Self>) -> Summed<'s> {
        let mut counted = Counted::default();
        let (mut counters, mut shapings) = (Vec::new(), Vec::new());
        for mut worker in workers {
            let leads = std::mem::take(&mut worker.leads);
            for (lead, place) in leads.into_iter().zip(0u64..) {
                if lead.class > 0 {
                    worker.put_by(EdgeRow {
                        key: place << CLASS_BITS | lead.class as u64,
                        references: lead.references,
                        ..EdgeRow::default()
                    });
                }
            }
            for row in std::mem::take(&mut worker.rows) {
                worker.put_by(row);
            }
            let mut sums = worker.rest;
            for (class, &(objects, bytes)) in worker.classes.iter().enumerate() {
                if objects > 0 {
                    sums.add_objects(ClassId(class as u32), objects as u64, bytes as u64);
                }
            }
            counters.push(sums);
            shapings.push(worker.shaping);
            counted.add_counts(worker.classes, worker.again);
        }
        Summed {
            counted,
            summary: Counters::merge(counters),
            shapings,
        }
    }
}

impl<const AGAIN: bool, const SHAPES: bool> Visitor for Summing<'_, '_, AGAIN, SHAPES> {
    /// A place; 0 comes from a root.
    type Tag = u32;
    type Source = Row;
    const READS: bool = true;
    const READS_ALL: bool = true;
    const ARRIVALS: bool = true;
    const MEETS: bool = AGAIN;
    const DEGREES: bool = SHAPES;

    #[inline(always)]
    fn object(&mut self, raw: Raw, word: Word, bytes: usize) {
        let count = &mut self.classes[word.class() as usize];
        count.0 += 1;
        count.1 += bytes;
        if SHAPES {
            self.shaping.object(self.ground, raw, ClassId(word.class()));
        }
    }

    #[inline(always)]
    fn source(&self, _: Raw, word: Word) -> Row {
        self.places.rows[word.class() as usize]
    }

    #[inline(always)]
    fn edge_read(&mut self, row: Row, offset: usize, _: Raw) -> u32 {
        row.place(offset)
    }

    #[inline(always)]
    fn as_number(place: u32) -> Option<u32> {
        Some(place)
    }

    #[inline(always)]
    fn edge_arrived(&mut self, place: u32, to: Raw, word: Word) {
        let class = word.class();
        let lead = &mut self.leads[place as usize];
        match lead.class == class {
            true => lead.references += 1,
            false => self.elsewhere(place, to, class),
        }
    }

    #[inline]
    fn met(&mut self, to: Raw, word: Word) {
        if word.is_unshared() {
            self.again.push(to);
        }
    }
}
