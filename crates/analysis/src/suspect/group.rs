//! Groups: objects of one class that no single object keeps alive, and that together retain much.

use std::collections::HashMap;

use heaphound_heap::ClassId;
use heaphound_heap::finding::group;
use heaphound_heap::path::{Search, shortest_to_each};
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::trace::Traceable;
use heaphound_heap::view::HeapView;

use super::{Options, Suspect, What, below};
use crate::dominator::DominatorTree;

/// How many objects of a group are looked at for how they are held.
const MOST_PATHS: usize = 200;
/// How many ways to them are listed.
const MOST_WAYS: usize = 3;

pub fn find(heap: &Snapshot, tree: &DominatorTree<'_>, options: Options) -> Vec<Suspect> {
    let retained = |it: ObjectId| tree.dominators().retained_bytes(it);
    let mut groups: HashMap<ClassId, Vec<ObjectId>> = HashMap::new();
    for object in tree.below(None) {
        // A large one is a suspect of its own.
        if retained(object) < options.least_bytes {
            groups
                .entry(heap.class_of(object))
                .or_default()
                .push(object);
        }
    }
    let sum = |objects: &[ObjectId]| {
        objects
            .iter()
            .fold(0, |sum: u64, it| sum.saturating_add(retained(*it)))
    };
    let groups = groups
        .into_iter()
        .map(|(class, objects)| (sum(&objects), class, objects));
    let mut groups: Vec<(u64, ClassId, Vec<ObjectId>)> = groups
        .filter(|(bytes, _, objects)| *bytes >= options.least_bytes && objects.len() > 1)
        .collect();
    groups.sort_by_key(|(bytes, class, _)| (std::cmp::Reverse(*bytes), *class));
    let listed = groups.into_iter().take(options.most);
    let suspect = |(retained_bytes, class, objects): (u64, ClassId, Vec<ObjectId>)| {
        let (count, below) = below(heap, tree, objects.iter().copied());
        Suspect {
            what: What::Group {
                class,
                count: objects.len(),
            },
            retained_bytes,
            objects: count,
            filled_by: Vec::new(),
            below,
            holder: None,
            ways: ways(heap, &objects),
        }
    };
    listed.map(suspect).collect()
}

/// Returns how some objects of a group are held, evenly chosen. The numbers are of all, as far as these tell.
fn ways(heap: &Snapshot, objects: &[ObjectId]) -> Vec<(usize, heaphound_heap::finding::Path)> {
    let step = objects.len().div_ceil(MOST_PATHS).max(1);
    let some: Vec<ObjectId> = objects.iter().copied().step_by(step).collect();
    let mut visits = heap.visits();
    let trails = shortest_to_each(heap, &mut visits, &Search::everywhere(), &some);
    let paths = trails.into_iter().flatten().map(|it| it.describe(heap));
    let mut ways = group(paths.collect());
    ways.truncate(MOST_WAYS);
    let scaled = |count: usize| (count * objects.len()).div_ceil(some.len().max(1));
    let ways = ways.into_iter().map(|(count, path)| (scaled(count), path));
    ways.collect()
}
