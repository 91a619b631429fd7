//! Weighing stale references while the heap is marked: the quick form of a [`Sieve`](super::sieve::Sieve).
//!
//! It serves where nothing else is counted, and nobody asks where the references are, but only how much hangs on
//! those of each type: leak pruning that selects, again and again. Then an edge need carry no more than the class
//! that it comes from, beside its target in one word; and whether it is stale matters only if its target
//! is not marked yet. Others add nothing to what hangs on a type.
//!
//! What is set aside is sorted by type at once, while the header of the target is in the cache. Most stale objects are
//! not stale enough for their type, which was used as late before: a small table says so, in place. Others
//! are looked for in a table of the worker's own; mostly they are of the last type again.
//!
//! In which order edges arrive, and so which of them are set aside, depends on scheduling; what hangs on all of a type
//! does not.

use std::collections::BTreeMap;

use crate::raw::marking::counters::{Counter, Counts, Setup};
use crate::raw::marking::mark::{Edge, Ground, Numbered, Visitor};
use crate::raw::marking::sieve::{EdgeType, Mesh, NEVER};
use crate::raw::memory::address::Raw;
use crate::raw::objects::header::Word;
use crate::raw::objects::layout::Trace;

/// What one worker sets aside.
pub(crate) struct StaleCounter<'h> {
    /// What is less stale passes without a look.
    least: u8,
    /// Types of references that have passed lately, each at its place, by [`pass`]: mostly an edge finds its own.
    passes: [u64; PASSES],
    /// The row of the last edge that had to be looked for.
    last: usize,
    mesh: Option<&'h Mesh>,
    /// One for each type that was looked for. The first belongs to no type.
    rows: Vec<StaleType>,
    /// Where the row of a type is, by a hash of it; a power of two. 0 is free.
    table: Vec<u32>,
}

/// The stale references of one type that lead to objects which nobody had marked.
#[derive(Default)]
pub(crate) struct StaleType {
    pub(crate) edge: EdgeType,
    /// From which staleness on they are set aside.
    pub(crate) from: u8,
    /// An object is there as often as a reference led to it.
    pub(crate) targets: Vec<Raw>,
}

/// Places in the table of a worker that has met nothing.
const LEAST_PLACES: usize = 64;
/// Types of references that are kept at hand.
const PASSES: usize = 128;

/// An edge type and a staleness in one word, so that one subtraction compares both: two of the same type differ by less
/// than 16, and all others by at least 16 - 8.
#[inline(always)]
fn pass((source, target): EdgeType, staleness: u8) -> u64 {
    const { assert!(NEVER <= 8) };
    (source as u64) << 24 | (target as u64) << 4 | staleness as u64
}

/// The place of a type among those at hand. Classes are numbered from 1 on, and so spread well.
#[inline(always)]
fn place_at_hand((source, target): EdgeType) -> usize {
    source.wrapping_mul(49).wrapping_add(target) as usize % PASSES
}

impl<'h> StaleCounter<'h> {
    /// From now on stale references are set aside.
    pub(crate) fn begin(&mut self, mesh: &'h Mesh) {
        self.least = mesh.least();
        self.mesh = Some(mesh);
    }

    /// From now on all are followed. Returns what all workers have set aside, by type, in order.
    pub(crate) fn end(workers: &mut [Self]) -> Vec<StaleType> {
        let mut types: BTreeMap<EdgeType, StaleType> = BTreeMap::new();
        for worker in workers {
            let worker = std::mem::take(worker);
            let rows = worker.rows.into_iter();
            for mut row in rows.filter(|it| !it.targets.is_empty()) {
                match types.get_mut(&row.edge) {
                    Some(all) => all.targets.append(&mut row.targets),
                    None => drop(types.insert(row.edge, row)),
                }
            }
        }
        types.into_values().collect()
    }

    /// Whether an edge to a stale object enters it; else it is set aside.
    #[inline(never)]
    fn enters_stale(&mut self, edge: Numbered, staleness: u8, class: u32) -> bool {
        let edge_type = (edge.tag(), class);
        let mut from = NEVER;
        if edge_type.0 != ROOT {
            if self.rows[self.last].edge != edge_type {
                self.last = self.find(edge_type);
            }
            let row = &mut self.rows[self.last];
            if staleness >= row.from {
                row.targets.push(edge.to());
                return false;
            }
            from = row.from;
        }
        self.passes[place_at_hand(edge_type)] = pass(edge_type, from);
        true
    }

    /// The row of a type.
    fn find(&mut self, edge: EdgeType) -> usize {
        let mut at = self.place(edge);
        loop {
            match self.table[at] as usize {
                0 => break,
                row if self.rows[row].edge == edge => return row,
                _ => at = (at + 1) & (self.table.len() - 1),
            }
        }
        let row = self.rows.len();
        self.table[at] = row as u32;
        self.rows.push(StaleType {
            edge,
            from: self.mesh.and_then(|it| it.from(edge)).unwrap_or(NEVER),
            targets: Vec::new(),
        });
        if self.rows.len() * 2 > self.table.len() {
            self.spread();
        }
        row
    }

    /// Makes the table larger.
    #[cold]
    fn spread(&mut self) {
        self.table = vec![0; self.table.len() * 2];
        for row in 1..self.rows.len() {
            let mut at = self.place(self.rows[row].edge);
            while self.table[at] != 0 {
                at = (at + 1) & (self.table.len() - 1);
            }
            self.table[at] = row as u32;
        }
    }

    /// Where a type belongs in the table.
    fn place(&self, edge: EdgeType) -> usize {
        let key = (edge.0 as u64) << 32 | edge.1 as u64;
        // The golden ratio spreads numbers that are close to one another.
        let hash = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> (u64::BITS - self.table.len().ilog2())) as usize
    }
}

/// A worker that sets nothing aside.
impl Default for StaleCounter<'_> {
    fn default() -> Self {
        Self {
            least: NEVER,
            passes: [0; PASSES],
            last: 0,
            mesh: None,
            rows: vec![StaleType::default()],
            table: vec![0; LEAST_PLACES],
        }
    }
}

/// No class: what comes from a root, or from no slot at all.
const ROOT: u32 = 0;

impl<'h> Counter<'h> for StaleCounter<'h> {
    // Whoever marks before the roots would decide for them.
    const RIDDEN: bool = false;

    fn fresh(_: Ground<'h>, _: &'h Setup) -> Self {
        Self::default()
    }

    fn merge(_: Vec<Self>) -> Counts<'h> {
        Counts::default()
    }
}

impl Visitor for StaleCounter<'_> {
    /// The class that it comes from.
    type Tag = u32;
    type Edge = Numbered;
    type Source = u32;
    const READS: bool = true;
    const READS_ALL: bool = true;
    const ARRIVALS: bool = false;
    const OBJECTS: bool = false;
    const SIFTS: bool = true;

    fn object(&mut self, _: Raw, _: Word, _: Trace, _: usize) {}

    #[inline(always)]
    fn source(&self, _: Raw, word: Word) -> u32 {
        word.class()
    }

    #[inline(always)]
    fn edge_read(&mut self, class: u32, _: u32, _: Raw) -> u32 {
        class
    }

    #[inline(always)]
    fn enters(&mut self, edge: Numbered, marked: Word) -> bool {
        let staleness = marked.staleness();
        if staleness < self.least {
            return true;
        }
        let edge_type = (edge.tag(), marked.class());
        let known = self.passes[place_at_hand(edge_type)];
        // By how much the edge is less stale than those of its type that are set aside, if its type is there.
        let by = known.wrapping_sub(pass(edge_type, staleness));
        by.wrapping_sub(1) < NEVER as u64 || self.enters_stale(edge, staleness, marked.class())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::objects::header::Epoch;

    /// As the mesh says, whatever was asked before, and whoever shares a place with whom.
    #[test]
    fn an_edge_is_set_aside_if_it_is_stale_enough_for_its_type() {
        let from = |source: u32, target: u32| (2 + (source * 5 + target * 3) % 7) as u8;
        let types = (1..40).flat_map(|source| (1..40).map(move |target| (source, target)));
        let mesh = Mesh::new(types.map(|it| (it, from(it.0, it.1))), Some(2));
        let mut counter = StaleCounter::default();
        counter.begin(&mesh);
        let (mut state, mut aside) = (1u64, 0);
        for _ in 0..200_000 {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            let random = |shift: u32, below: u64| ((state >> shift) % below) as u32;
            // Some come from roots, and some are of no type that the mesh knows.
            let (source, target) = (random(33, 45), 1 + random(40, 45));
            let staleness = random(50, 8) as u8;
            let word = Word::object(target, Epoch::FIRST).with_staleness(staleness);
            let edge = Numbered::new(Raw(1 + random(20, 99)), source);
            let known = mesh.from((source, target)).unwrap();
            let enters = source == ROOT || staleness < known;
            assert_eq!(
                counter.enters(edge, word),
                enters,
                "{source} {target} {staleness}"
            );
            aside += !enters as usize;
        }
        let all = StaleCounter::end(std::slice::from_mut(&mut counter));
        assert_eq!(all.iter().map(|it| it.targets.len()).sum::<usize>(), aside);
        assert!(all.is_sorted_by_key(|it| it.edge));
    }
}
