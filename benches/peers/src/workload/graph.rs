//! The object graph of `mark`.
//!
//! The graph is made of *units*, each a small program's worth of data: a
//! binary tree, a linked list and a hash table with chains, whose objects point
//! at records and leaves. Every tree node owns one record; records carry the
//! cross edges, half of them inside the unit and half to a random other unit.
//!
//! A program that builds such data has several structures under way at once, so
//! objects of one structure do not lie side by side: sixteen units are open at a
//! time, and the next object goes to a random one of them.
//!
//! Units belong to four *parts*. Edges of the first three parts stay among
//! them, so dropping the directory of the fourth makes exactly its objects
//! garbage: a quarter of the heap, evenly spread between live objects.
//!
//! Nothing of this is stored. Births and edges are computed when asked for, so
//! the description takes no memory while resident memory is measured.

use super::{Prng, Scale, below, mix};

/// The whole graph.
#[derive(Clone, Copy, Debug)]
pub struct Graph {
    units: u32,
}

/// An object of the graph: its kind and its index among those of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Birth {
    Unit(u32),
    Table(u32),
    Tree(u32),
    List(u32),
    Entry(u32),
    Record(u32),
    Leaf(u32),
}

/// The kinds with classes of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Tree,
    List,
    Entry,
    Record,
    Leaf,
}

/// The roots: one directory of units for each part.
pub const PARTS: u32 = 4;
/// The part whose loss is a quarter of the heap.
pub const LOST_PART: u32 = 3;

pub const TREES: u32 = 280;
pub const LISTS: u32 = 180;
pub const ENTRIES: u32 = 180;
pub const RECORDS: u32 = 280;
pub const LEAVES: u32 = 80;
/// Slots of a hash table; a few stay empty.
pub const BUCKETS: u32 = 64;
const BUCKETS_USED: u32 = 60;

/// Payload words by kind.
pub const RECORD_WORDS: usize = 2;
pub const LEAF_WORDS: usize = 3;

pub const CLASSES_PER_KIND: u32 = 40;
/// Classes of the five kinds together; units and reference arrays come on top.
pub const CLASSES: u32 = 5 * CLASSES_PER_KIND;

/// Units under construction at the same time.
const OPEN_UNITS: u32 = 16;

pub struct TreeEdges {
    pub left: Option<u32>,
    pub right: Option<u32>,
    pub record: u32,
}

pub struct ListEdges {
    pub next: Option<u32>,
    pub record: u32,
}

pub struct EntryEdges {
    pub next: Option<u32>,
    pub leaf: u32,
    pub record: u32,
}

pub struct RecordEdges {
    pub record: Option<u32>,
    pub list: Option<u32>,
    pub tree: Option<u32>,
    pub entry: Option<u32>,
    pub leaf: Option<u32>,
}

impl Graph {
    pub fn new(scale: Scale) -> Self {
        Graph {
            units: match scale {
                Scale::Full => 5_008,
                Scale::Quick => 512,
            },
        }
    }

    pub fn units(&self) -> u32 {
        self.units
    }

    /// Units in one part.
    pub fn units_per_part(&self) -> u32 {
        self.units / PARTS
    }

    /// The `index`th unit of a part.
    pub fn unit_of_part(&self, part: u32, index: u32) -> u32 {
        index * PARTS + part
    }

    /// Calls `f` for each object in the order in which they are allocated,
    /// directories aside.
    pub fn for_each_birth(&self, mut f: impl FnMut(Birth)) {
        // Fourteen trees, nine lists, nine entries, fourteen records and four
        // leaves out of fifty.
        const PATTERN: &[u8; 50] = b"TRLETRTREFLTRTERLTRTELRTFLRETRTLRTERTFLTERLTRELRFE";
        const { assert!(PATTERN.len() as u32 * 20 == TREES + LISTS + ENTRIES + RECORDS + LEAVES) };
        let unit_objects = PATTERN.len() * 20;
        let mut prng = Prng::new(0x6d61_726b);
        let mut turns = Vec::with_capacity(OPEN_UNITS as usize * unit_objects);
        for group in (0..self.units).step_by(OPEN_UNITS as usize) {
            turns.clear();
            for unit in group..(group + OPEN_UNITS).min(self.units) {
                f(Birth::Unit(unit));
                f(Birth::Table(unit));
                turns.extend(std::iter::repeat_n(unit, unit_objects));
            }
            for last in (1..turns.len()).rev() {
                turns.swap(last, prng.below(last as u32 + 1) as usize);
            }
            // How far each open unit is: all objects, then by kind.
            let mut done = [[0u32; 6]; OPEN_UNITS as usize];
            for &unit in &turns {
                let done = &mut done[(unit - group) as usize];
                let letter = PATTERN[done[5] as usize % PATTERN.len()];
                done[5] += 1;
                let mut next = |kind: usize, per_unit: u32| {
                    done[kind] += 1;
                    unit * per_unit + done[kind] - 1
                };
                f(match letter {
                    b'T' => Birth::Tree(next(0, TREES)),
                    b'L' => Birth::List(next(1, LISTS)),
                    b'E' => Birth::Entry(next(2, ENTRIES)),
                    b'R' => Birth::Record(next(3, RECORDS)),
                    _ => Birth::Leaf(next(4, LEAVES)),
                });
            }
        }
    }

    /// The root of a unit's tree.
    pub fn unit_tree(&self, unit: u32) -> u32 {
        unit * TREES
    }

    /// The head of a unit's list: the node that was put in front last.
    pub fn unit_list(&self, unit: u32) -> u32 {
        unit * LISTS + LISTS - 1
    }

    /// The first entry of a bucket of a unit's table.
    pub fn bucket(&self, unit: u32, bucket: u32) -> Option<u32> {
        (bucket < BUCKETS_USED).then(|| unit * ENTRIES + (ENTRIES - BUCKETS_USED) + bucket)
    }

    pub fn tree(&self, tree: u32) -> TreeEdges {
        let (unit, node) = (tree / TREES, tree % TREES);
        let child = |node: u32| (node < TREES).then_some(unit * TREES + node);
        TreeEdges {
            left: child(2 * node + 1),
            right: child(2 * node + 2),
            record: unit * RECORDS + node,
        }
    }

    pub fn list(&self, list: u32) -> ListEdges {
        let unit = list / LISTS;
        ListEdges {
            next: (list % LISTS)
                .checked_sub(1)
                .map(|node| unit * LISTS + node),
            record: self.target(unit, bits(Kind::List, list, 0), RECORDS),
        }
    }

    pub fn entry(&self, entry: u32) -> EntryEdges {
        let (unit, node) = (entry / ENTRIES, entry % ENTRIES);
        EntryEdges {
            next: node
                .checked_sub(BUCKETS_USED)
                .map(|node| unit * ENTRIES + node),
            // Every leaf of the unit is some entry's key.
            leaf: unit * LEAVES + node % LEAVES,
            record: self.target(unit, bits(Kind::Entry, entry, 0), RECORDS),
        }
    }

    pub fn record(&self, record: u32) -> RecordEdges {
        let unit = record / RECORDS;
        let edge = |slot: u32, per_unit: u32| {
            let bits = bits(Kind::Record, record, slot);
            // Eight in nine cross edges exist.
            (!bits.is_multiple_of(9)).then(|| self.target(unit, bits, per_unit))
        };
        RecordEdges {
            record: edge(0, RECORDS),
            list: edge(1, LISTS),
            tree: edge(2, TREES),
            entry: edge(3, ENTRIES),
            leaf: edge(4, LEAVES),
        }
    }

    /// A class id below [`CLASSES`].
    pub fn class(&self, kind: Kind, index: u32) -> u32 {
        kind as u32 * CLASSES_PER_KIND + below(bits(kind, index, 7), CLASSES_PER_KIND)
    }

    /// The first payload word. It carries the class for peers that have no
    /// classes of their own; further words repeat it.
    pub fn payload(&self, kind: Kind, index: u32) -> u64 {
        (bits(kind, index, 8) << 8) | u64::from(self.class(kind, index))
    }

    pub fn objects(&self) -> u64 {
        u64::from(self.units) * u64::from(TREES + LISTS + ENTRIES + RECORDS + LEAVES + 2)
            + u64::from(PARTS)
    }

    /// Non-null edges.
    pub fn edges(&self) -> u64 {
        let mut edges = 0;
        for record in 0..self.units * RECORDS {
            let e = self.record(record);
            let slots = [e.record, e.list, e.tree, e.entry, e.leaf];
            edges += slots.iter().flatten().count() as u64;
        }
        // A directory slot, three slots of the unit; a child edge for each tree
        // node but the root, and its record; likewise for lists; a chain or
        // bucket edge, key and value for each entry.
        let unit = 4 + (TREES - 1) + TREES + (LISTS - 1) + LISTS + 3 * ENTRIES;
        edges + u64::from(self.units) * u64::from(unit)
    }

    pub fn nominal_bytes(&self) -> u64 {
        let words = TREES * 5
            + LISTS * 4
            + ENTRIES * 5
            + RECORDS * (6 + RECORD_WORDS as u32)
            + LEAVES * (1 + LEAF_WORDS as u32)
            + (1 + 1 + BUCKETS)
            + 4;
        // One directory slot for each unit.
        u64::from(self.units) * u64::from(words + 1) * 8
    }

    /// A random object with `per_unit` of its kind in each unit: in the same
    /// unit, or in any that this one may point to.
    fn target(&self, unit: u32, bits: u64, per_unit: u32) -> u32 {
        let node = below(bits, per_unit);
        let bits = mix(bits);
        if bits & 1 == 0 {
            return unit * per_unit + node;
        }
        let unit = if unit % PARTS == LOST_PART {
            below(bits, self.units)
        } else {
            let kept = below(bits, self.units_per_part() * (PARTS - 1));
            kept / (PARTS - 1) * PARTS + kept % (PARTS - 1)
        };
        unit * per_unit + node
    }
}

/// Random bits for one slot of one object.
fn bits(kind: Kind, index: u32, slot: u32) -> u64 {
    mix((u64::from(index) << 8) | ((kind as u64) << 4) | u64::from(slot))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const GRAPH: Graph = Graph { units: 64 };

    #[test]
    fn every_object_is_born_once() {
        let mut born = HashSet::new();
        GRAPH.for_each_birth(|birth| {
            assert!(born.insert(birth), "{birth:?} is born twice");
        });
        assert_eq!(born.len() as u64, GRAPH.objects() - u64::from(PARTS));
    }

    #[test]
    fn everything_can_be_reached_and_the_lost_part_only_through_its_directory() {
        let all = reached(0..PARTS);
        assert_eq!(all.len() as u64, GRAPH.objects() - u64::from(PARTS));
        let kept = reached(0..LOST_PART);
        assert_eq!(kept.len() * 4, all.len() * 3);
    }

    #[test]
    fn edges_are_counted_as_they_are_walked() {
        // The directories have one for each unit.
        let mut edges = u64::from(GRAPH.units());
        for object in reached(0..PARTS) {
            for_each_edge(object, |_| edges += 1);
        }
        assert_eq!(edges, GRAPH.edges());
    }

    /// A recursive trace, written the slow way.
    fn reached(parts: std::ops::Range<u32>) -> HashSet<Birth> {
        let mut reached = HashSet::new();
        let mut stack: Vec<Birth> = parts
            .flat_map(|part| {
                (0..GRAPH.units_per_part()).map(move |i| Birth::Unit(GRAPH.unit_of_part(part, i)))
            })
            .collect();
        while let Some(object) = stack.pop() {
            if reached.insert(object) {
                for_each_edge(object, |to| stack.push(to));
            }
        }
        reached
    }

    fn for_each_edge(object: Birth, mut f: impl FnMut(Birth)) {
        match object {
            Birth::Unit(i) => {
                f(Birth::Tree(GRAPH.unit_tree(i)));
                f(Birth::List(GRAPH.unit_list(i)));
                f(Birth::Table(i));
            }
            Birth::Table(i) => {
                (0..BUCKETS)
                    .filter_map(|bucket| GRAPH.bucket(i, bucket))
                    .for_each(|entry| f(Birth::Entry(entry)));
            }
            Birth::Tree(i) => {
                let edges = GRAPH.tree(i);
                edges
                    .left
                    .into_iter()
                    .chain(edges.right)
                    .for_each(|i| f(Birth::Tree(i)));
                f(Birth::Record(edges.record));
            }
            Birth::List(i) => {
                let edges = GRAPH.list(i);
                edges.next.into_iter().for_each(|i| f(Birth::List(i)));
                f(Birth::Record(edges.record));
            }
            Birth::Entry(i) => {
                let edges = GRAPH.entry(i);
                edges.next.into_iter().for_each(|i| f(Birth::Entry(i)));
                f(Birth::Leaf(edges.leaf));
                f(Birth::Record(edges.record));
            }
            Birth::Record(i) => {
                let edges = GRAPH.record(i);
                edges.record.into_iter().for_each(|i| f(Birth::Record(i)));
                edges.list.into_iter().for_each(|i| f(Birth::List(i)));
                edges.tree.into_iter().for_each(|i| f(Birth::Tree(i)));
                edges.entry.into_iter().for_each(|i| f(Birth::Entry(i)));
                edges.leaf.into_iter().for_each(|i| f(Birth::Leaf(i)));
            }
            Birth::Leaf(_) => {}
        }
    }
}
