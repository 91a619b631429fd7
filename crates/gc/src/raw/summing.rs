//! Counting a summary of the heap while it is marked.
//!
//! Where an edge starts is known when its slot is read, and the class of its target when it
//! arrives. What travels in between is a *place*: a small number for a slot of a class, found from
//! the offset by one lookup and an addition. Most slots lead to objects of one class, and
//! most objects of a class have one size; so what is left to do on arrival is to compare the
//! class with the one that the place led to first, and to count. Volumes are multiplied out in
//! the end. Everything else takes the longer way: arrays, whose sizes differ, and slots that lead
//! now here, now there.
//!
//! Each worker counts for itself; sums do not depend on who counted.
//!
//! Elsewhere: what a summary is (`heaphound_analysis::summary`), when one is made and who is
//! told (`summaries.rs`).

use heaphound_analysis::slot::{SlotId, SlotIds};
use heaphound_analysis::summary::{Counters, Summary};
use heaphound_heap::ClassId;
use heaphound_heap::view::Place;

use super::check::Counted;
use super::header::Word;
use super::mark::{Ground, Visitor};
use super::region::Raw;
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
struct Row {
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

    /// The place of a slot.
    #[inline]
    fn at(&self, class: u32, offset: usize) -> u32 {
        let row = self.rows[class as usize];
        (offset as u32 / WORD).min(row.last).wrapping_add(row.shift)
    }
}

/// What one worker counts. `AGAIN` lists arrivals at objects that were asserted unshared.
pub(crate) struct Summing<'h, const AGAIN: bool> {
    ground: Ground<'h>,
    places: &'h Places,
    /// Objects and bytes of each class.
    classes: Vec<(usize, usize)>,
    /// By place.
    leads: Vec<Lead>,
    /// By place: the volume of what it leads to, where sizes differ.
    bytes: Vec<u64>,
    /// Where else slots led.
    rest: Counters,
    again: Vec<Raw>,
}

/// Where a place led first, and how often it has since.
#[derive(Clone, Copy, Default)]
struct Lead {
    /// A class, with [`VARIES`] if sizes differ; 0 if it has led nowhere.
    to: u32,
    references: u64,
}

/// Classes have twenty bits.
const VARIES: u32 = 1 << 31;

impl<'h, const AGAIN: bool> Summing<'h, AGAIN> {
    pub(crate) fn new(ground: Ground<'h>, places: &'h Places) -> Self {
        Self {
            ground,
            places,
            classes: vec![(0, 0); places.rows.len()],
            leads: vec![Lead::default(); places.slots.len()],
            bytes: vec![0; places.slots.len()],
            // Only what is left over comes here, and that is not known before.
            rest: Counters::new(&SlotIds::default()),
            again: Vec::new(),
        }
    }

    /// An edge that does not lead where its place led first, or to an object whose size must be
    /// looked up.
    #[inline(never)]
    fn elsewhere(&mut self, place: u32, to: Raw, class: u32) {
        let lead = &mut self.leads[place as usize];
        let known = self.places.sizes[class as usize];
        let (key, bytes) = match known {
            0 => {
                let trace = self.ground.traces[class as usize];
                let object = self.ground.base.object(to);
                // SAFETY: a live object of that class.
                (class | VARIES, unsafe { trace.bytes(object) })
            }
            bytes => (class, bytes as usize),
        };
        if lead.to == 0 {
            lead.to = key;
        }
        if lead.to == key {
            lead.references += 1;
            self.bytes[place as usize] += bytes as u64;
        } else {
            let slot = self.places.slots[place as usize];
            self.rest.edge(slot, ClassId(class), bytes);
        }
    }

    /// What all workers have counted together.
    pub(crate) fn merge(workers: Vec<Self>) -> (Counted, Summary) {
        let mut counted = Counted::default();
        let mut counters = Vec::new();
        for worker in workers {
            let Self { places, rest, .. } = worker;
            let mut sums = rest;
            for (place, lead) in worker.leads.iter().enumerate() {
                if lead.to == 0 {
                    continue;
                }
                let class = lead.to & !VARIES;
                let bytes = match places.sizes[class as usize] {
                    0 => worker.bytes[place],
                    size => lead.references * size as u64,
                };
                let slot = places.slots[place];
                sums.add_edges(slot, ClassId(class), lead.references, bytes);
            }
            for (class, &(objects, bytes)) in worker.classes.iter().enumerate() {
                if objects > 0 {
                    sums.add_objects(ClassId(class as u32), objects as u64, bytes as u64);
                }
            }
            counters.push(sums);
            counted.add_counts(worker.classes, worker.again);
        }
        (counted, Counters::merge(counters))
    }
}

impl<const AGAIN: bool> Visitor for Summing<'_, AGAIN> {
    /// A place; 0 comes from a root.
    type Tag = u32;
    const READS: bool = true;
    const ARRIVALS: bool = true;
    const AGAIN: bool = AGAIN;

    #[inline(always)]
    fn object(&mut self, _: Raw, word: Word, bytes: usize) {
        let count = &mut self.classes[word.class() as usize];
        count.0 += 1;
        count.1 += bytes;
    }

    #[inline(always)]
    fn edge_read(&mut self, _: Raw, word: Word, offset: usize, _: Raw) -> u32 {
        self.places.at(word.class(), offset)
    }

    #[inline(always)]
    fn edge_arrived(&mut self, place: u32, to: Raw, word: Word) {
        let class = word.class();
        let lead = &mut self.leads[place as usize];
        match lead.to == class {
            true => lead.references += 1,
            false => self.elsewhere(place, to, class),
        }
    }

    #[inline]
    fn unshared_again(&mut self, to: Raw) {
        self.again.push(to);
    }
}
