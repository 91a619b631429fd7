//! What the stacks of threads alone keep alive.
//!
//! What a stack retains is known exactly by a trace that starts at all other roots. Only threads are traced
//! for whose locals promise enough by what each of them retains.

use std::collections::HashMap;

use heaphound_heap::RootKind;
use heaphound_heap::finding::Path;
use heaphound_heap::path::Trail;
use heaphound_heap::root::{Part, RootSet};
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::trace::{Filter, Phase, Traceable, Visits};
use heaphound_heap::view::HeapView;

use super::{ByClass, MOST_CLASSES, Options, Suspect, What};
use crate::dominator::DominatorTree;

pub fn find(heap: &Snapshot, tree: &DominatorTree<'_>, options: Options) -> Vec<Suspect> {
    let mut stacks: HashMap<&str, Vec<ObjectId>> = HashMap::new();
    for (root, object) in heap.roots() {
        if root.kind == RootKind::ThreadStack {
            stacks.entry(&root.name).or_default().push(*object);
        }
    }
    // What several locals keep together may be more than the sum of what each does; where the sum is
    // next to nothing, so will the whole be.
    let promise = |objects: &[ObjectId]| {
        let retained = objects
            .iter()
            .map(|it| tree.dominators().retained_bytes(*it));
        retained.fold(0, u64::saturating_add)
    };
    let threads = stacks
        .iter()
        .map(|(thread, objects)| (promise(objects), *thread));
    let mut threads: Vec<(u64, &str)> = threads
        .filter(|(bytes, _)| *bytes >= options.least_bytes / 2)
        .collect();
    threads.sort_unstable_by_key(|&(bytes, thread)| (std::cmp::Reverse(bytes), thread));
    threads.truncate(MOST_TRACES);
    let threads = threads.into_iter().map(|(_, thread)| thread);
    let suspects = threads.filter_map(|it| stack(heap, tree, it, options));
    let mut suspects: Vec<Suspect> = suspects.collect();
    suspects.sort_by_key(|it| std::cmp::Reverse(it.retained_bytes));
    suspects.truncate(options.most);
    suspects
}

/// The most threads that are traced for.
const MOST_TRACES: usize = 16;

/// Returns what the stack of a thread retains, if that is enough to be suspected.
fn stack(
    heap: &Snapshot,
    tree: &DominatorTree<'_>,
    thread: &str,
    options: Options,
) -> Option<Suspect> {
    let mut visits = heap.visits();
    visits.reserve(1);
    let mark = visits.fresh();
    let mut starts = Vec::new();
    heap.for_each_root_target(RootSet::AllBut(thread, Part::Stack), |it| starts.push(it));
    let phase = Phase {
        starts,
        filter: Filter::Follow,
        mark,
    };
    heap.trace(&mut visits, &phase, vec![(); options.threads.max(1)]);
    let (mut objects, mut retained_bytes) = (0, 0_u64);
    let mut below = ByClass::default();
    for object in tree.dominators().objects() {
        if visits.get(object) != mark {
            let bytes = heap.bytes_of(object) as u64;
            objects += 1;
            retained_bytes = retained_bytes.saturating_add(bytes);
            below.add(heap.class_of(object), bytes);
        }
    }
    if retained_bytes < options.least_bytes {
        return None;
    }
    // The locals that retain most themselves, each once.
    let locals = heap.roots().iter();
    let locals =
        locals.filter(|(root, _)| root.kind == RootKind::ThreadStack && root.name == thread);
    let locals = locals.filter(|(_, object)| visits.get(*object) != mark);
    let mut locals: Vec<_> = locals.collect();
    locals.sort_by_key(|(_, object)| std::cmp::Reverse(tree.dominators().retained_bytes(*object)));
    let mut direct = ByClass::default();
    let mut met = std::collections::HashSet::new();
    locals.retain(|(_, object)| met.insert(*object));
    for (_, object) in &locals {
        direct.add(
            heap.class_of(*object),
            tree.dominators().retained_bytes(*object),
        );
    }
    let way = |(root, object): &(heaphound_heap::Root, ObjectId)| -> (usize, Path) {
        let trail = Trail {
            root: Some(root.clone()),
            objects: vec![*object],
            places: Vec::new(),
        };
        (1, trail.describe(heap))
    };
    Some(Suspect {
        what: What::Stack(thread.into()),
        retained_bytes,
        objects,
        filled_by: direct.most(MOST_CLASSES),
        below: below.most(MOST_CLASSES),
        holder: None,
        ways: locals.into_iter().take(1).map(way).collect(),
    })
}
