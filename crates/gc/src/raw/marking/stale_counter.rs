//! Weighing stale references while the heap is marked: the quick form of a [`Sieve`](super::sieve::Sieve).
//!
//! It serves where nothing else is counted, and nobody asks where the references are, but only how much hangs on
//! those of each type: leak pruning that selects, again and again. Then an edge need carry no more than the class
//! that it comes from, beside its target in one word; and whether it is stale matters only if its target
//! is not marked yet. Others add nothing to what hangs on a type.
//!
//! What is set aside is sorted by type at once, while the header of the target is in the cache. A worker finds the type
//! in a table of its own; mostly it is the last one again.
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
    /// The type of the last edge that was looked at. It is out of its row.
    last: StaleType,
    /// Its row.
    row: usize,
    mesh: Option<&'h Mesh>,
    /// One for each type that was met. The first belongs to no type.
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
            let rows = worker.rows.into_iter().chain([worker.last]);
            for mut row in rows.filter(|it| !it.targets.is_empty()) {
                match types.get_mut(&row.edge) {
                    Some(all) => all.targets.append(&mut row.targets),
                    None => drop(types.insert(row.edge, row)),
                }
            }
        }
        types.into_values().collect()
    }

    /// Whether an edge to a stale object enters it; else it is set aside. What is rare is left to others, at the very
    /// end, so that nothing need be saved for them.
    #[inline(never)]
    fn enters_stale(&mut self, edge: Numbered, staleness: u8, class: u32) -> bool {
        let last = &mut self.last;
        if last.edge != (edge.tag(), class) || last.targets.len() == last.targets.capacity() {
            return self.enters_another(edge, staleness, class);
        }
        if staleness < last.from {
            return true;
        }
        last.targets.push(edge.to());
        false
    }

    /// The same, of an edge of another type than the last one, or if there is no room left.
    #[inline(never)]
    fn enters_another(&mut self, edge: Numbered, staleness: u8, class: u32) -> bool {
        let source = edge.tag();
        if source == ROOT {
            return true;
        }
        if self.last.edge != (source, class) {
            std::mem::swap(&mut self.rows[self.row], &mut self.last);
            self.row = self.find((source, class));
            std::mem::swap(&mut self.rows[self.row], &mut self.last);
        }
        let is_stale = staleness >= self.last.from;
        if is_stale {
            self.last.targets.push(edge.to());
        }
        !is_stale
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
            last: StaleType::default(),
            row: 0,
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
        staleness < self.least || self.enters_stale(edge, staleness, marked.class())
    }
}
