//! Dominators: which single object, if any, keeps another one alive; and how many bytes each keeps.
//!
//! An object *dominates* another if every path from a root to the other passes it. Above all roots
//! there is one more, the *virtual root*, which dominates everything. The nearest dominator of each object
//! makes a tree, and the bytes of all objects below an object are what would be freed if it
//! went: its *retained* bytes.
//!
//! Edges are those that retain, as everywhere else: a weak reference is none, and a dependent one (the
//! value of an ephemeron) is one while the key of this heap lives. An ephemeron therefore
//! retains its value, and the key does not: if the key went, so would the value, and nobody counts that.
//! What waits for a finalizer is not alive, and has no dominator.
//!
//! The algorithm is semi-NCA (L. Georgiadis, *Linear-Time Algorithms for Dominators and Related
//! Problems*, 2005). `search.rs` numbers objects in the order of a depth-first search, `semi.rs` finds
//! dominators by these numbers, `tree.rs` leads from a dominator down. Everything is in arrays of numbers of
//! four bytes, and nothing recurses. While dominators are found there are 24 bytes for each object
//! and eight for each edge that does not lead to a new one; afterwards 20 for each object.
//!
//! Elsewhere: what a class retains (`retained.rs`); the slow twin removes one object after the other
//! (`tests/it/dominators.rs`).

mod search;
mod semi;
mod tree;

use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::view::HeapView;

pub use tree::{DominatorTree, RetainedObjects, Step};

use search::Search;

/// The dominators of all that the roots of a heap reach, and what each object retains.
#[derive(Debug)]
pub struct Dominators {
    /// The number of each object in the order of the search; [`UNREACHED`] if no root leads there.
    number_of: Vec<u32>,
    /// The objects in that order. The first place is the virtual root's, which is none.
    object_at: Vec<u32>,
    /// The number of the nearest dominator of each, which is smaller than its own; 0 is the virtual root.
    above: Vec<u32>,
    /// The bytes that each retains, itself included. The first place has the sum.
    retained: Vec<u64>,
}

/// The number of an object that no root leads to.
const UNREACHED: u32 = u32::MAX;
/// The number of the virtual root.
const ROOT: u32 = 0;

impl Dominators {
    /// Finds the dominators of a heap, with the help of up to that number of threads.
    pub fn of(heap: &Snapshot, threads: usize) -> Self {
        let Search {
            number_of,
            object_at,
            nodes,
            kept,
        } = Search::run(heap, threads);
        let above = semi::dominators(nodes, kept);
        let retained = retained(heap, &object_at, &above, threads);
        Self {
            number_of,
            object_at,
            above,
            retained,
        }
    }

    /// Returns how many objects the roots reach.
    pub fn reached(&self) -> usize {
        self.object_at.len() - 1
    }

    /// Returns the bytes of all objects that the roots reach.
    pub fn reached_bytes(&self) -> u64 {
        self.retained[ROOT as usize]
    }

    /// Returns whether a root leads to an object.
    pub fn is_reached(&self, object: ObjectId) -> bool {
        self.number_of[object.0 as usize] != UNREACHED
    }

    /// Returns the nearest dominator of an object. There is none if no object alone keeps it alive, or
    /// nothing does.
    pub fn dominator(&self, object: ObjectId) -> Option<ObjectId> {
        let number = self.number(object)?;
        match self.above[number as usize] {
            ROOT => None,
            above => Some(self.object(above)),
        }
    }

    /// Returns the bytes that would be freed if an object went, its own included; 0 if nothing keeps it.
    pub fn retained_bytes(&self, object: ObjectId) -> u64 {
        let number = self.number(object);
        number.map_or(0, |number| self.retained[number as usize])
    }

    /// Returns the dominators of an object, nearest first.
    pub fn dominators(&self, object: ObjectId) -> impl Iterator<Item = ObjectId> {
        std::iter::successors(self.dominator(object), |&it| self.dominator(it))
    }

    /// Returns the objects that the roots reach. A dominator comes before what it dominates.
    pub fn objects(&self) -> impl DoubleEndedIterator<Item = ObjectId> + ExactSizeIterator {
        self.object_at[1..].iter().map(|&object| ObjectId(object))
    }

    /// Returns how many objects each retains, itself included, by number.
    fn subtrees(&self) -> Vec<u32> {
        let mut objects = vec![1; self.above.len()];
        for number in (1..self.above.len()).rev() {
            objects[self.above[number] as usize] += objects[number];
        }
        objects
    }

    fn number(&self, object: ObjectId) -> Option<u32> {
        let number = self.number_of[object.0 as usize];
        (number != UNREACHED).then_some(number)
    }

    fn object(&self, number: u32) -> ObjectId {
        ObjectId(self.object_at[number as usize])
    }
}

/// Adds what each object retains to what its dominator does. Numbers of dominators are smaller, so
/// that what an object retains is known before it is added. Sums saturate, for a file may claim any size.
fn retained(heap: &Snapshot, object_at: &[u32], above: &[u32], threads: usize) -> Vec<u64> {
    let mut retained = vec![0; object_at.len()];
    let share = object_at.len().div_ceil(threads.max(1)).max(1);
    std::thread::scope(|scope| {
        let parts = retained.chunks_mut(share).zip(object_at.chunks(share));
        let mut parts = parts.map(|(retained, objects)| {
            move || {
                for (retained, &object) in retained.iter_mut().zip(objects) {
                    if object != search::NO_OBJECT {
                        *retained = heap.bytes_of(ObjectId(object)) as u64;
                    }
                }
            }
        });
        let first = parts.next();
        for part in parts {
            scope.spawn(part);
        }
        if let Some(mut first) = first {
            first();
        }
    });
    for number in (1..above.len()).rev() {
        let bytes = retained[number];
        let sum = &mut retained[above[number] as usize];
        *sum = sum.saturating_add(bytes);
    }
    retained
}
