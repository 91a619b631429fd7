//! Weighing stale references while the heap is marked: the quick form of a [`Sieve`](super::sieve::Sieve).
//!
//! It serves where nothing else is counted, and nobody asks where the references are, but only how much hangs on
//! those of each type: leak pruning that selects, again and again. Then an edge need carry no more than the class
//! that it comes from, beside its target in one word; and whether it is stale matters only if its target
//! is not marked yet. Others add nothing to what hangs on a type.
//!
//! Most stale objects are not stale enough for their type, which was used as late before: a table of all types says so, in
//! place, and with no test before it, for which objects are stale cannot be predicted. What is set aside is sorted by type at
//! once, while the header of the target is in the cache; mostly it is of the last type again.
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
    limits: Limits,
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

/// From which staleness on references are looked for, by type: a mesh as a table. It may say less than the mesh does, not
/// more.
struct Limits {
    /// Of the types of each source, in the order of classes, as many as there are columns.
    from: Vec<u8>,
    columns: u32,
    /// The column of each class of targets. Those that the mesh knows of no type of share the first.
    column: Box<[u16; CLASSES]>,
}

/// More classes than that share columns. A power of two.
const CLASSES: usize = 1 << 12;
/// The most places of such a table: with more, every stale reference is looked for.
const MOST_PLACES: usize = 1 << 20;

impl Limits {
    /// The same for all types.
    fn all(least: u8, classes: usize) -> Self {
        Self {
            from: vec![least; classes + 1],
            columns: 1,
            column: vec![0; CLASSES].try_into().expect("so many"),
        }
    }

    fn new(mesh: &Mesh, classes: usize) -> Self {
        let mut limits = Self::all(mesh.least(), classes);
        let mut columns = 1;
        for &(_, target) in mesh.types.keys() {
            let column = &mut limits.column[target as usize % CLASSES];
            if *column == 0 {
                *column = columns;
                columns += 1;
            }
        }
        let rows = classes + 1;
        let width = columns as usize;
        if classes >= CLASSES || rows * width > MOST_PLACES {
            limits.column.fill(0);
            return limits;
        }
        limits.columns = columns as u32;
        limits.from = vec![mesh.others.unwrap_or(NEVER); rows * width];
        for (&(source, target), &least) in &mesh.types {
            let column = limits.column[target as usize] as usize;
            limits.from[source as usize * width + column] = least;
        }
        // The row of the roots.
        limits.from[..width].fill(NEVER);
        limits
    }

    /// From which staleness on an edge is looked for, given the row of its source.
    #[inline(always)]
    fn of(&self, row: u32, target: u32) -> u8 {
        let column = self.column[target as usize % CLASSES];
        self.from[row as usize + column as usize]
    }
}

impl<'h> StaleCounter<'h> {
    /// From now on stale references are set aside.
    pub(crate) fn begin(&mut self, mesh: &'h Mesh, classes: usize) {
        self.limits = Limits::new(mesh, classes);
        self.mesh = Some(mesh);
    }

    /// From now on all are followed. Returns what all workers have set aside, by type, in order.
    pub(crate) fn end(workers: &mut [Self]) -> Vec<StaleType> {
        let mut types: BTreeMap<EdgeType, StaleType> = BTreeMap::new();
        for worker in workers {
            let fresh = Self::new(worker.limits.from.len() / worker.limits.columns as usize - 1);
            let worker = std::mem::replace(worker, fresh);
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

    /// Whether an edge enters its target, as the mesh says; else it is set aside.
    #[cold]
    #[inline(never)]
    fn enters_stale(&mut self, edge: Numbered, staleness: u8, class: u32) -> bool {
        let edge_type = (edge.tag() / self.limits.columns, class);
        if edge_type.0 == ROOT {
            return true;
        }
        if self.rows[self.last].edge != edge_type {
            self.last = self.find(edge_type);
        }
        let row = &mut self.rows[self.last];
        let enters = staleness < row.from;
        if !enters {
            row.targets.push(edge.to());
        }
        enters
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

impl StaleCounter<'_> {
    /// A worker that sets nothing aside.
    fn new(classes: usize) -> Self {
        Self {
            limits: Limits::all(NEVER, classes),
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

    fn fresh(ground: Ground<'h>, _: &'h Setup) -> Self {
        Self::new(ground.classes.count())
    }

    fn merge(_: Vec<Self>) -> Counts<'h> {
        Counts::default()
    }
}

impl Visitor for StaleCounter<'_> {
    /// The row of the class that it comes from.
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
        word.class() * self.limits.columns
    }

    #[inline(always)]
    fn edge_read(&mut self, row: u32, _: u32, _: Raw) -> u32 {
        row
    }

    #[inline(always)]
    fn enters(&mut self, edge: Numbered, marked: Word) -> bool {
        let (staleness, class) = (marked.staleness(), marked.class());
        staleness < self.limits.of(edge.tag(), class) || self.enters_stale(edge, staleness, class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::objects::header::Epoch;

    fn mesh() -> Mesh {
        let from = |source: u32, target: u32| (2 + (source * 5 + target * 3) % 7) as u8;
        let types = (1..40).flat_map(|source| (1..40).map(move |target| (source, target)));
        Mesh::new(types.map(|it| (it, from(it.0, it.1))), Some(2))
    }

    #[test]
    fn limits_are_those_of_the_mesh_or_less() {
        let mesh = mesh();
        // For the last two there are too many classes.
        for (classes, is_exact) in [(50, true), (4_000, true), (5_000, false), (30_000, false)] {
            let limits = Limits::new(&mesh, classes);
            for source in 0..50 {
                for target in 1..50 {
                    let expected = match (source, is_exact) {
                        (_, false) => mesh.least(),
                        (ROOT, true) => NEVER,
                        _ => mesh.from((source, target)).unwrap(),
                    };
                    assert_eq!(limits.of(source * limits.columns, target), expected);
                }
            }
        }
    }

    /// As the mesh says, whatever was asked before.
    #[test]
    fn an_edge_is_set_aside_if_it_is_stale_enough_for_its_type() {
        for classes in [50, 30_000] {
            check(&mesh(), classes);
        }
    }

    fn check(mesh: &Mesh, classes: usize) {
        let mut counter = StaleCounter::new(classes);
        counter.begin(mesh, classes);
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
            let row = source * counter.limits.columns;
            let edge = Numbered::new(Raw(1 + random(20, 99)), row);
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
