//! Counts while a collector marks.
//!
//! Each worker has its own counters. It counts an object when it is first seen, because its
//! class and size are known then. It counts an edge when it arrives: the class and the size of
//! the target are in the cache then, and the slot is carried along as a tag. Sums do not depend
//! on which worker counted what, so the summary is the same at any number of threads.
//!
//! A file may claim sizes that no heap has, so volumes saturate.
//!
//! Memory depends on the number of classes and kinds of edges, not on the size of the heap.

use heaphound_heap::ClassId;

use super::{ClassTotal, SlotEdge, Summary};
use crate::slot::{SlotId, SlotIds};

/// The counts of one worker.
#[derive(Clone, Debug)]
pub struct Counters {
    /// By class id.
    classes: Vec<ClassTotal>,
    /// By slot: where it led first, and how often it has since. Most slots lead to objects
    /// of one class.
    first: Vec<Lead>,
    /// Where else slots led.
    edges: EdgeTable,
}

/// Where a slot leads.
#[derive(Clone, Copy, Debug, Default)]
struct Lead {
    /// 0 if it has led nowhere.
    to: u32,
    references: u64,
    volume_bytes: u64,
}

impl Counters {
    /// Returns counters for these slots and their classes. More may be added.
    pub fn new(ids: &SlotIds) -> Self {
        Self {
            classes: vec![ClassTotal::default(); ids.classes() + 1],
            first: vec![Lead::default(); ids.end() as usize],
            edges: EdgeTable::new(),
        }
    }

    /// Counts an object, the first time it is seen.
    #[inline]
    pub fn object(&mut self, class: ClassId, bytes: usize) {
        if class.0 as usize >= self.classes.len() {
            self.grow(class);
        }
        let total = &mut self.classes[class.0 as usize];
        total.objects += 1;
        total.volume_bytes = total.volume_bytes.saturating_add(bytes as u64);
    }

    /// Counts an edge from a slot to an object of that class and size. The slot is
    /// [`SlotId::ROOT`] for an edge from a root.
    #[inline]
    pub fn edge(&mut self, slot: SlotId, to: ClassId, bytes: usize) {
        match self.first.get_mut(slot.0 as usize) {
            Some(lead) if lead.to == to.0 => {
                lead.references += 1;
                lead.volume_bytes = lead.volume_bytes.saturating_add(bytes as u64);
            }
            _ => self.elsewhere(slot, to, bytes as u64),
        }
    }

    /// Counts an edge to another class than the slot's first.
    #[inline(never)]
    fn elsewhere(&mut self, slot: SlotId, to: ClassId, bytes: u64) {
        match self.first.get_mut(slot.0 as usize) {
            Some(lead) if lead.to == 0 => {
                *lead = Lead {
                    to: to.0,
                    references: 1,
                    volume_bytes: bytes,
                }
            }
            _ => self.edges.add(slot, to, bytes),
        }
    }

    /// Counts several objects at once, as calls of [`Counters::object`] do.
    pub fn add_objects(&mut self, class: ClassId, objects: u64, volume_bytes: u64) {
        if class.0 as usize >= self.classes.len() {
            self.grow(class);
        }
        let total = &mut self.classes[class.0 as usize];
        total.objects += objects;
        total.volume_bytes = total.volume_bytes.saturating_add(volume_bytes);
    }

    /// Counts several edges at once, as calls of [`Counters::edge`] do.
    pub fn add_edges(&mut self, slot: SlotId, to: ClassId, references: u64, volume_bytes: u64) {
        let row = self.edges.row((slot.0 as u64) << 32 | to.0 as u64);
        row.references += references;
        row.volume_bytes = row.volume_bytes.saturating_add(volume_bytes);
    }

    #[cold]
    fn grow(&mut self, class: ClassId) {
        self.classes
            .resize(class.0 as usize + 1, ClassTotal::default());
    }

    /// Returns the counts of all workers together.
    pub fn merge(workers: impl IntoIterator<Item = Self>) -> Summary {
        let mut classes: Vec<ClassTotal> = Vec::new();
        let mut edges = Vec::new();
        for worker in workers {
            let count = classes.len().max(worker.classes.len());
            classes.resize(count, ClassTotal::default());
            for (sum, total) in classes.iter_mut().zip(&worker.classes) {
                sum.objects += total.objects;
                sum.volume_bytes = sum.volume_bytes.saturating_add(total.volume_bytes);
                sum.roots += total.roots;
            }
            let first = worker.first.iter().zip(0..);
            let first = first.filter(|(lead, _)| lead.to != 0);
            edges.extend(first.map(|(lead, slot)| SlotEdge {
                slot: SlotId(slot),
                to: ClassId(lead.to),
                references: lead.references,
                volume_bytes: lead.volume_bytes,
            }));
            edges.extend(worker.edges.rows.iter().filter_map(Row::edge));
        }
        Summary::new(classes, edges)
    }

    /// Bytes of memory that the counters take.
    pub fn memory_bytes(&self) -> usize {
        self.classes.capacity() * size_of::<ClassTotal>()
            + self.first.capacity() * size_of::<Lead>()
            + self.edges.rows.capacity() * size_of::<Row>()
    }
}

/// Counts by slot and target: open addressing, with a row next to the one before. A heap
/// has few kinds of edges, and most edges are of fewer still, so that the rows in use stay
/// in the cache.
#[derive(Clone, Debug)]
struct EdgeTable {
    /// A power of two of them, at least one free.
    rows: Vec<Row>,
    used: usize,
    /// How far to shift a hash so that it is the place of a row.
    shift: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Row {
    /// Slot and class; 0 if the row is free, for there is no class 0.
    key: u64,
    references: u64,
    volume_bytes: u64,
}

impl Row {
    fn edge(&self) -> Option<SlotEdge> {
        (self.key != 0).then_some(SlotEdge {
            slot: SlotId((self.key >> 32) as u32),
            to: ClassId(self.key as u32),
            references: self.references,
            volume_bytes: self.volume_bytes,
        })
    }
}

/// Rows to begin with, as a power of two.
const FIRST_BITS: u32 = 6;

impl EdgeTable {
    fn new() -> Self {
        Self::with_bits(FIRST_BITS)
    }

    fn with_bits(bits: u32) -> Self {
        Self {
            rows: vec![Row::default(); 1 << bits],
            used: 0,
            shift: u64::BITS - bits,
        }
    }

    #[inline]
    fn add(&mut self, slot: SlotId, to: ClassId, bytes: u64) {
        let key = (slot.0 as u64) << 32 | to.0 as u64;
        let row = self.row(key);
        row.references += 1;
        row.volume_bytes = row.volume_bytes.saturating_add(bytes);
    }

    /// Returns the row of a key, which it gets if it has none.
    #[inline]
    fn row(&mut self, key: u64) -> &mut Row {
        let at = self.find(key);
        match self.rows[at].key == key {
            true => &mut self.rows[at],
            false => self.insert(key, at),
        }
    }

    /// Returns where a key is, or the free row where it belongs.
    #[inline]
    fn find(&self, key: u64) -> usize {
        let mask = self.rows.len() - 1;
        // The golden ratio spreads numbers that are close to one another.
        let mut at = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize & mask;
        while self.rows[at].key != key && self.rows[at].key != 0 {
            at = (at + 1) & mask;
        }
        at
    }

    #[cold]
    #[inline(never)]
    fn insert(&mut self, key: u64, mut at: usize) -> &mut Row {
        self.used += 1;
        if self.used * 4 > self.rows.len() * 3 {
            let mut wider = Self::with_bits(u64::BITS - self.shift + 1);
            for row in self.rows.iter().filter(|row| row.key != 0) {
                let at = wider.find(row.key);
                wider.rows[at] = *row;
            }
            wider.used = self.used;
            *self = wider;
            at = self.find(key);
        }
        self.rows[at].key = key;
        &mut self.rows[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_thousand_classes_take_little_memory() {
        // No slot is known at the beginning.
        let mut counters = Counters::new(&SlotIds::default());
        for class in 1..=10_000 {
            counters.object(ClassId(class), 24);
            for other in 0..4 {
                let to = ClassId((class * 7 + other * 2_311) % 10_000 + 1);
                counters.edge(SlotId(class * 5 + other), to, 24);
            }
        }
        assert!(counters.memory_bytes() < 2 << 20);
        let summary = Counters::merge([counters]);
        assert_eq!(summary.edges().len(), 40_000);
        assert_eq!(summary.objects(), 10_000);
        assert!(summary.edges().iter().all(|edge| edge.references == 1));
    }

    #[test]
    fn workers_add_up_to_the_same_bytes() {
        let count = |workers: usize| {
            // Some slots are known, some are not.
            let mut counters = Counters::new(&SlotIds::default());
            counters.first.resize(5, Lead::default());
            let mut all = vec![counters; workers];
            for i in 0..1_000u32 {
                let worker = &mut all[i as usize * 7 % workers];
                worker.object(ClassId(i % 5 + 1), i as usize);
                worker.edge(SlotId(i % 11), ClassId(i % 3 + 1), i as usize);
            }
            Counters::merge(all)
        };
        let one = count(1);
        assert_eq!(one, count(4));
        assert_eq!(one, count(7));
        let roots: u64 = one.classes().map(|(_, total)| total.roots).sum();
        assert_eq!(roots, 91);
    }
}
