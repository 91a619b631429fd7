//! Suspects and merged paths of heaps that were made up, against what they must be by definition.

use std::collections::BTreeSet;

use heaphound_analysis::dominator::{DominatorTree, Dominators};
use heaphound_analysis::merged::merged;
use heaphound_analysis::suspect::{Options, What, suspects};
use heaphound_heap::path::Search;
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::view::HeapView;
use heaphound_testkit::cases::check;
use heaphound_testkit::heaps::graphs;
use proptest::prelude::*;

/// What lives if some roots are not there.
fn live_without(
    heap: &Snapshot,
    left_out: impl Fn(&heaphound_heap::Root) -> bool,
) -> BTreeSet<ObjectId> {
    let mut live = BTreeSet::new();
    let mut left = Vec::new();
    heap.for_each_root(|root, object| {
        if root.kind != heaphound_heap::RootKind::Finalizer && !left_out(root) {
            left.push(object);
        }
    });
    while let Some(object) = left.pop() {
        if live.insert(object) {
            heap.for_each_strong_edge(object, |_, to| left.push(to));
        }
    }
    live
}

#[test]
fn suspects_retain_what_they_say() {
    check(300, &graphs::heaps(80), |plan| {
        let heap = plan.build();
        let found = Dominators::of(&heap, 1).unwrap();
        let tree = DominatorTree::of(&found);
        let live = live_without(&heap, |_| false);
        for share in [3, 10] {
            let options = Options {
                least_bytes: (found.reached_bytes() / share).max(1),
                most: usize::MAX,
                threads: 2,
            };
            let mut objects = BTreeSet::new();
            for suspect in suspects(&heap, &tree, options) {
                prop_assert!(suspect.retained_bytes >= options.least_bytes);
                match &suspect.what {
                    What::Accumulation(object) => {
                        prop_assert!(objects.insert(*object), "{object:?} is told twice");
                        prop_assert_eq!(suspect.retained_bytes, found.retained_bytes(*object));
                        prop_assert_eq!(suspect.ways.len(), 1);
                    }
                    What::Group { class, count } => {
                        prop_assert!(*count > 1);
                        let mine = tree.below(None).filter(|it| heap.class_of(*it) == *class);
                        let small =
                            mine.filter(|it| found.retained_bytes(*it) < options.least_bytes);
                        let small: Vec<ObjectId> = small.collect();
                        prop_assert_eq!(small.len(), *count);
                        let bytes: u64 = small.iter().map(|it| found.retained_bytes(*it)).sum();
                        prop_assert_eq!(bytes, suspect.retained_bytes);
                    }
                    What::Stack(thread) => {
                        let others = live_without(&heap, |root| {
                            root.kind == heaphound_heap::RootKind::ThreadStack
                                && root.name == *thread
                        });
                        let only = live.difference(&others);
                        let bytes: u64 = only.map(|it| heap.bytes_of(*it) as u64).sum();
                        prop_assert_eq!(bytes, suspect.retained_bytes);
                    }
                }
            }
            // Where the chain of large dominators ends, something must be suspected: the object, or something
            // above it of the same class.
            for object in live.iter().copied() {
                let is_large = |it: ObjectId| found.retained_bytes(it) >= options.least_bytes;
                if is_large(object) && !tree.below(Some(object)).any(is_large) {
                    let mut above = std::iter::once(object).chain(found.dominators(object));
                    let class = heap.class_of(object);
                    prop_assert!(
                        above.any(|it| objects.contains(&it) && heap.class_of(it) == class)
                    );
                }
            }
        }
        Ok(())
    });
}

#[test]
fn every_instance_is_on_one_merged_path() {
    check(200, &graphs::heaps(60), |plan| {
        let heap = plan.build();
        let live = live_without(&heap, |_| false);
        for class in heap.classes() {
            let of_class = |it: &ObjectId| heap.class_of(*it) == class.id;
            let targets: Vec<ObjectId> = heap.objects().filter(of_class).collect();
            let found = merged(&heap, &Search::everywhere(), &targets, usize::MAX);
            let reached = targets.iter().filter(|it| live.contains(it)).count();
            prop_assert_eq!(found.unreached, targets.len() - reached);
            let sum: usize = found.ways.iter().map(|it| it.0).sum();
            prop_assert_eq!(sum, reached);
            prop_assert!(found.ways.is_sorted_by(|a, b| a.0 >= b.0));
            let few = merged(&heap, &Search::everywhere(), &targets, 1);
            prop_assert_eq!(few.ways.len() + few.left_out, found.ways.len());
            for (_, path) in &found.ways {
                prop_assert_eq!(&path.last().class, &class.name);
            }
        }
        Ok(())
    });
}
