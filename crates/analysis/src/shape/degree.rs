//! Degrees: how many references each object of a backbone has and gets.
//!
//! What is kept is how many objects have 0, 1, 2 or more. A collector counts an object's
//! incoming references in two bits of the object, and calls the counters each time they rise:
//! an object starts at 0 and moves from box to box. As in a summary, sums do not depend on
//! which worker counted what.

use heaphound_heap::trace::Traceable;

use super::{Backbones, Role};
use crate::slot::SlotIds;
use crate::summary::{live, on_threads};

/// How many objects have a degree of 0, of 1, of 2, and of more.
pub type Distribution = [u64; 4];

/// The degrees of the objects of one backbone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Degrees {
    /// By references from inside the structure.
    pub incoming: Distribution,
    /// By references to inside the structure.
    pub outgoing: Distribution,
}

/// The counts of one worker, by backbone.
#[derive(Clone, Debug)]
pub struct DegreeCounters {
    rows: Vec<Row>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Row {
    /// Signed, because one worker may see an object leave a box that another saw it enter.
    incoming: [i64; 4],
    outgoing: [u64; 4],
}

impl DegreeCounters {
    /// Returns counters for that many backbones.
    pub fn new(backbones: usize) -> Self {
        Self {
            rows: vec![Row::default(); backbones],
        }
    }

    /// Counts an object of a backbone, the first time it is seen, with its number of references
    /// to inside its structure.
    #[inline]
    pub fn object(&mut self, backbone: usize, outgoing: usize) {
        let row = &mut self.rows[backbone];
        row.incoming[0] += 1;
        row.outgoing[outgoing.min(3)] += 1;
    }

    /// Counts another reference to an object, which had `before` of them. Three and more are
    /// the same.
    #[inline]
    pub fn raised(&mut self, backbone: usize, before: usize) {
        if before < 3 {
            let row = &mut self.rows[backbone];
            row.incoming[before] -= 1;
            row.incoming[before + 1] += 1;
        }
    }

    /// Returns the counts of all workers together, by backbone.
    pub fn merge(workers: impl IntoIterator<Item = Self>) -> Vec<Degrees> {
        let mut sums: Vec<Row> = Vec::new();
        for worker in workers {
            sums.resize(sums.len().max(worker.rows.len()), Row::default());
            for (sum, row) in sums.iter_mut().zip(&worker.rows) {
                for degree in 0..4 {
                    sum.incoming[degree] += row.incoming[degree];
                    sum.outgoing[degree] += row.outgoing[degree];
                }
            }
        }
        let degrees = |row: Row| Degrees {
            incoming: row.incoming.map(|count| count.max(0) as u64),
            outgoing: row.outgoing,
        };
        sums.into_iter().map(degrees).collect()
    }
}

/// Returns the degrees of the backbones of a view, counted on this thread.
pub fn degrees<T: Traceable>(view: &T, backbones: &Backbones) -> Vec<Degrees> {
    let ids = SlotIds::new(view.classes());
    let found = look(view, &ids, backbones, &live(view, 1));
    finish(backbones, vec![found])
}

/// Returns the degrees of the backbones of a view that can be shared, counted on several
/// threads.
pub fn degrees_on<T: Traceable + Sync>(
    view: &T,
    backbones: &Backbones,
    threads: usize,
) -> Vec<Degrees> {
    let ids = SlotIds::new(view.classes());
    let objects = live(view, threads);
    let look = |objects: &[T::Object]| look(view, &ids, backbones, objects);
    finish(backbones, on_threads(&objects, threads, look))
}

/// Counts what leaves each object, and lists what arrives, by backbone.
fn look<T: Traceable>(
    view: &T,
    ids: &SlotIds,
    backbones: &Backbones,
    objects: &[T::Object],
) -> (DegreeCounters, Vec<(usize, T::Object)>) {
    let mut counters = DegreeCounters::new(backbones.list().len());
    let mut arrived = Vec::new();
    for &object in objects {
        let class = view.class_of(object);
        let place = backbones.place(class);
        let own = place.map(|place| &backbones.list()[place]);
        let own = own.filter(|own| own.role != Role::Array);
        let mut outgoing = 0;
        view.for_each_strong_edge(object, |slot, to| {
            let to_class = view.class_of(to);
            if let Some(place) = backbones.raises(ids.at(class, slot), to_class) {
                arrived.push((place, to));
            }
            outgoing += own.is_some_and(|own| backbones.is_outgoing(own, to_class)) as usize;
        });
        if let Some(place) = place {
            counters.object(place, outgoing);
        }
    }
    (counters, arrived)
}

fn finish<O: Ord>(
    backbones: &Backbones,
    workers: Vec<(DegreeCounters, Vec<(usize, O)>)>,
) -> Vec<Degrees> {
    let mut counters = DegreeCounters::new(backbones.list().len());
    let mut arrived = Vec::new();
    let mut all = Vec::new();
    for (worker, mut list) in workers {
        all.push(worker);
        arrived.append(&mut list);
    }
    arrived.sort_unstable();
    for same in arrived.chunk_by(|a, b| a == b) {
        for before in 0..same.len().min(3) {
            counters.raised(same[0].0, before);
        }
    }
    all.push(counters);
    DegreeCounters::merge(all)
}
