//! Objects in which something accumulates: where the chain of large dominators breaks up.
//!
//! An object is *large* if it retains enough to be suspected. It *accumulates* if so much is left of what it
//! retains without the large objects that it dominates directly. A list whose nodes hold each other is
//! large down to a node near its end, and breaks up there; so from where it breaks up, the
//! way leads back up to where the recursive structure begins.

use std::collections::BTreeSet;

use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::view::HeapView;

use super::{ByClass, Options, Suspect, What, below};
use crate::dominator::DominatorTree;

/// How many dominators lie at most between two objects of one class, for both to be of one recursive
/// structure.
const LONGEST_PERIOD: usize = 8;
/// How many objects of one class, each within reach of the next, make a recursive structure, if they
/// do not hold each other directly: a map in a map is none.
const LEAST_RUN: usize = 3;

pub fn find(heap: &Snapshot, tree: &DominatorTree<'_>, options: Options) -> Vec<Suspect> {
    let tops = tops(heap, tree, options.least_bytes);
    let mut tops: Vec<(u64, ObjectId)> = tops
        .into_iter()
        .map(|top| (tree.dominators().retained_bytes(top), top))
        .collect();
    tops.sort_by_key(|&(bytes, top)| (std::cmp::Reverse(bytes), top));
    let listed = tops.into_iter().take(options.most);
    let suspect = |(retained_bytes, top)| {
        let mut direct = ByClass::default();
        for object in tree.below(Some(top)) {
            let bytes = tree.dominators().retained_bytes(object);
            direct.add(heap.class_of(object), bytes);
        }
        let (objects, below) = below(heap, tree, [top].into_iter());
        Suspect {
            what: What::Accumulation(top),
            retained_bytes,
            objects,
            filled_by: direct.most(super::MOST_CLASSES),
            below,
            holder: None,
            ways: Vec::new(),
        }
    };
    listed.map(suspect).collect()
}

/// Returns where structures begin in which something accumulates.
fn tops(heap: &Snapshot, tree: &DominatorTree<'_>, least_bytes: u64) -> BTreeSet<ObjectId> {
    let mut tops = BTreeSet::new();
    // Large objects that are still to be looked at. There are as many at one depth as fit the heap.
    let mut open: Vec<Option<ObjectId>> = vec![None];
    while let Some(object) = open.pop() {
        let retained = |it: ObjectId| tree.dominators().retained_bytes(it);
        let mut rest = match object {
            Some(object) => retained(object),
            None => 0,
        };
        for below in tree.below(object) {
            let bytes = retained(below);
            if bytes >= least_bytes {
                rest = rest.saturating_sub(bytes);
                open.push(Some(below));
            }
        }
        if let Some(object) = object.filter(|_| rest >= least_bytes) {
            tops.insert(top_of_structure(heap, tree, object));
        }
    }
    tops
}

/// Returns the first object of the recursive structure that an object is of; the object itself, if
/// there is none.
fn top_of_structure(heap: &Snapshot, tree: &DominatorTree<'_>, object: ObjectId) -> ObjectId {
    let class = heap.class_of(object);
    let (mut top, mut run, mut is_direct) = (object, 1, false);
    loop {
        let mut above = tree
            .dominators()
            .dominators(top)
            .take(LONGEST_PERIOD)
            .enumerate();
        let Some((distance, next)) = above.find(|(_, it)| heap.class_of(*it) == class) else {
            break;
        };
        is_direct |= distance == 0;
        run += 1;
        top = next;
    }
    match run >= LEAST_RUN || is_direct {
        true => top,
        false => object,
    }
}
