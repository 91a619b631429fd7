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
//! four bytes, and nothing recurses. There are 24 bytes for each object and, while dominators are found, eight for
//! each edge that does not lead to a new one.
//!
//! Elsewhere: what a class retains (`retained.rs`); the slow twin removes one object after the other
//! (`tests/it/dominators.rs`).

mod search;
mod semi;
mod tree;

use std::fmt;

use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::view::HeapView;

pub use tree::{DominatorTree, Step};

use search::{Node, Search};

/// The dominators of all that the roots of a heap reach, and what each object retains.
#[derive(Debug)]
pub struct Dominators {
    /// The number of each object in the order of the search; [`UNREACHED`] if no root leads there.
    number_of: Vec<u32>,
    /// The objects in that order. The first place is the virtual root's, which is none.
    object_at: Vec<u32>,
    /// What is known of each number. The virtual root retains everything.
    places: Vec<Place>,
}

/// Where a number is in the tree.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// The number of its nearest dominator, which is smaller than its own; 0 is the virtual root.
    above: u32,
    /// The objects that it retains, itself included.
    objects: u32,
    /// The bytes that these take.
    retained: u64,
}

/// There are more edges than dominators can be found for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooManyEdges(pub usize);

impl fmt::Display for TooManyEdges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (edges, most) = (self.0, MOST_EDGES);
        write!(
            f,
            "the heap has {edges} edges, and dominators can be found for {most}"
        )
    }
}

impl std::error::Error for TooManyEdges {}

/// Edges and roots are numbered in four bytes.
const MOST_EDGES: usize = u32::MAX as usize - 1;

/// The number of an object that no root leads to.
const UNREACHED: u32 = u32::MAX;
/// The number of the virtual root.
const ROOT: u32 = 0;

impl Dominators {
    /// Finds the dominators of a heap, with the help of up to that number of threads.
    ///
    /// # Errors
    /// If the heap has more than four billion edges.
    pub fn of(heap: &Snapshot, threads: usize) -> Result<Self, TooManyEdges> {
        check_edges(heap.edges().saturating_add(heap.roots().len()))?;
        let Search {
            number_of,
            object_at,
            nodes,
            kept,
        } = Search::run(heap, threads);
        let nodes = semi::find_dominators(nodes, kept);
        // A place takes what its node took: memory that was never used before is what costs most here.
        let place = |node: Node| Place {
            above: node.parent,
            objects: 1,
            retained: 0,
        };
        let mut places: Vec<Place> = nodes.into_iter().map(place).collect();
        retain(heap, &object_at, &mut places, threads);
        Ok(Self {
            number_of,
            object_at,
            places,
        })
    }

    /// Returns how many objects the roots reach.
    pub fn reached(&self) -> usize {
        self.object_at.len() - 1
    }

    /// Returns the bytes of all objects that the roots reach.
    pub fn reached_bytes(&self) -> u64 {
        self.places[ROOT as usize].retained
    }

    /// Returns whether a root leads to an object.
    pub fn is_reached(&self, object: ObjectId) -> bool {
        self.number_of[object.0 as usize] != UNREACHED
    }

    /// Returns the nearest dominator of an object. There is none if no object alone keeps it alive, or
    /// nothing does.
    pub fn dominator(&self, object: ObjectId) -> Option<ObjectId> {
        let number = self.number(object)?;
        match self.places[number as usize].above {
            ROOT => None,
            above => Some(self.object(above)),
        }
    }

    /// Returns the bytes that would be freed if an object went, its own included; 0 if nothing keeps it.
    pub fn retained_bytes(&self, object: ObjectId) -> u64 {
        let number = self.number(object);
        number.map_or(0, |number| self.places[number as usize].retained)
    }

    /// Returns how many objects would be freed if an object went, itself included; 0 if nothing keeps it.
    pub fn retained_objects(&self, object: ObjectId) -> u32 {
        let number = self.number(object);
        number.map_or(0, |number| self.places[number as usize].objects)
    }

    /// Returns the dominators of an object, nearest first.
    pub fn dominators(&self, object: ObjectId) -> impl Iterator<Item = ObjectId> {
        std::iter::successors(self.dominator(object), |&it| self.dominator(it))
    }

    /// Returns the objects that the roots reach. A dominator comes before what it dominates.
    pub fn objects(&self) -> impl DoubleEndedIterator<Item = ObjectId> + ExactSizeIterator {
        self.object_at[1..].iter().map(|&object| ObjectId(object))
    }

    fn number(&self, object: ObjectId) -> Option<u32> {
        let number = self.number_of[object.0 as usize];
        (number != UNREACHED).then_some(number)
    }

    fn object(&self, number: u32) -> ObjectId {
        ObjectId(self.object_at[number as usize])
    }
}

fn check_edges(edges: usize) -> Result<(), TooManyEdges> {
    match edges <= MOST_EDGES {
        true => Ok(()),
        false => Err(TooManyEdges(edges)),
    }
}

/// Adds what each object retains to what its dominator does. Numbers of dominators are smaller, so
/// that what an object retains is known before it is added. Sums saturate, for a file may claim any size.
fn retain(heap: &Snapshot, object_at: &[u32], places: &mut [Place], threads: usize) {
    let share = object_at.len().div_ceil(threads.max(1)).max(1);
    std::thread::scope(|scope| {
        let parts = places.chunks_mut(share).zip(object_at.chunks(share));
        let mut parts = parts.map(|(places, objects)| {
            move || {
                for (place, &object) in places.iter_mut().zip(objects) {
                    if object != search::NO_OBJECT {
                        place.retained = heap.bytes_of(ObjectId(object)) as u64;
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
    for number in (1..places.len()).rev() {
        let Place {
            above,
            objects,
            retained,
        } = places[number];
        let above = &mut places[above as usize];
        above.objects += objects;
        above.retained = above.retained.saturating_add(retained);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_that_cannot_be_numbered_are_refused() {
        assert_eq!(check_edges(u32::MAX as usize - 1), Ok(()));
        let refused = check_edges(1 << 32).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the heap has 4294967296 edges, and dominators can be found for 4294967294"
        );
    }
}
