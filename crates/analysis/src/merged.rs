//! Paths to many objects, merged: how many of them are held through the same classes.
//!
//! Each object has one shortest path, and all come from one search. Two are merged if they lead through the
//! same classes in the same order; a class that repeats, as in a list or in a tree, counts once.

use std::cmp::Reverse;
use std::collections::HashMap;

use heaphound_heap::finding::Path;
use heaphound_heap::path::{Reached, Search};
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::trace::Traceable;
use heaphound_heap::view::HeapView;

/// Paths to many objects.
#[derive(Clone, Debug)]
pub struct Merged {
    /// How many objects are held through the same classes, and the path to the nearest of them; most first.
    pub ways: Vec<(usize, Path)>,
    /// How many ways there are beside these.
    pub left_out: usize,
    /// How many objects cannot be reached.
    pub unreached: usize,
}

/// The classes on a path: a hash of those that were met, and the last two, which do not count again.
#[derive(Clone, Copy)]
struct Classes {
    hash: u64,
    last: [u32; 2],
}

/// Merges the shortest paths to some objects, and describes the first `most` of them.
pub fn merged(
    heap: &Snapshot,
    search: &Search<'_, ObjectId>,
    targets: &[ObjectId],
    most: usize,
) -> Merged {
    let mut visits = heap.visits();
    let reached = Reached::new(heap, &mut visits, search, targets);
    let classes = reached.carried(|before: Option<(ObjectId, Classes)>, object| {
        let class = heap.class_of(object).0;
        let Classes { hash, last } = match before {
            Some((_, before)) => before,
            None => Classes {
                hash: 0,
                last: [0; 2],
            },
        };
        match last.contains(&class) {
            true => Classes { hash, last },
            false => Classes {
                hash: next(hash, class),
                last: [class, last[0]],
            },
        }
    });
    // The nearest comes first, whatever the order of the map is.
    let mut ways: HashMap<u64, (usize, u32, ObjectId)> = HashMap::new();
    for (&object, classes) in &classes {
        let Some(order) = reached.order(object) else {
            continue;
        };
        let way = ways.entry(classes.hash).or_insert((0, order, object));
        way.0 += 1;
        if order < way.1 {
            (way.1, way.2) = (order, object);
        }
    }
    let mut ways: Vec<(usize, u32, ObjectId)> = ways.into_values().collect();
    ways.sort_by_key(|&(count, order, _)| (Reverse(count), order));
    let left_out = ways.len().saturating_sub(most);
    ways.truncate(most);
    let described = ways.into_iter();
    let described = described.filter_map(|(count, _, it)| Some((count, reached.path(it)?)));
    Merged {
        ways: described.collect(),
        left_out,
        unreached: targets.len() - classes.len(),
    }
}

/// Adds a class to a hash.
fn next(hash: u64, class: u32) -> u64 {
    (hash ^ u64::from(class))
        .wrapping_add(1)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .rotate_left(29)
}
