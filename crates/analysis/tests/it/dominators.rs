//! Dominators and retained sizes against their definitions: an object is dominated by another if it
//! cannot be reached without it.

use std::collections::BTreeSet;

use heaphound_analysis::dominator::{DominatorTree, Dominators, Step};
use heaphound_analysis::retained::{exactly, least_by_class};
use heaphound_heap::snapshot::{ObjectId, Snapshot, SnapshotBuilder};
use heaphound_heap::view::{HeapView, Place};
use heaphound_heap::{ClassId, Root, RootKind};
use heaphound_testkit::cases::check;
use heaphound_testkit::heaps::{any, graphs};
use proptest::prelude::*;

/// What the roots reach without entering some objects.
fn reached_without(heap: &Snapshot, without: &dyn Fn(ObjectId) -> bool) -> BTreeSet<ObjectId> {
    let mut reached = BTreeSet::new();
    let mut left = Vec::new();
    heap.for_each_root(|root, object| {
        if root.kind != RootKind::Finalizer {
            left.push(object);
        }
    });
    while let Some(object) = left.pop() {
        if !without(object) && reached.insert(object) {
            heap.for_each_strong_edge(object, |_, to| left.push(to));
        }
    }
    reached
}

fn bytes(heap: &Snapshot, objects: impl Iterator<Item = ObjectId>) -> u64 {
    objects.fold(0, |sum: u64, it| {
        sum.saturating_add(heap.bytes_of(it) as u64)
    })
}

/// Compares everything with what follows from the definition.
fn check_heap(heap: &Snapshot) -> Result<(), TestCaseError> {
    let live = reached_without(heap, &|_| false);
    // What each object dominates, itself included.
    let dominated = |object: ObjectId| -> BTreeSet<ObjectId> {
        let others = reached_without(heap, &|it| it == object);
        live.difference(&others).copied().collect()
    };
    let dominated: Vec<BTreeSet<ObjectId>> = heap.objects().map(dominated).collect();
    let of = |object: ObjectId| &dominated[object.0 as usize];
    for threads in [1, 3] {
        let found = Dominators::of(heap, threads).unwrap();
        prop_assert_eq!(found.reached(), live.len());
        prop_assert_eq!(found.reached_bytes(), bytes(heap, live.iter().copied()));
        for object in heap.objects() {
            prop_assert_eq!(found.is_reached(object), live.contains(&object));
            let retained = bytes(heap, of(object).iter().copied());
            prop_assert_eq!(found.retained_bytes(object), retained);
            let above = live.iter().copied();
            let above = above.filter(|it| *it != object && of(*it).contains(&object));
            let above: BTreeSet<ObjectId> = above.collect();
            let all: Vec<ObjectId> = found.dominators(object).collect();
            prop_assert_eq!(all.len(), above.len());
            prop_assert_eq!(all.iter().copied().collect::<BTreeSet<_>>(), above);
            // Each is dominated by the next.
            for pair in all.windows(2) {
                prop_assert!(of(pair[1]).contains(&pair[0]));
            }
        }
        check_tree(heap, &found, &dominated)?;
    }
    Ok(())
}

fn check_tree(
    heap: &Snapshot,
    found: &Dominators,
    dominated: &[BTreeSet<ObjectId>],
) -> Result<(), TestCaseError> {
    let tree = DominatorTree::of(found);
    for object in heap.objects() {
        for below in tree.below(Some(object)) {
            prop_assert_eq!(found.dominator(below), Some(object));
        }
        let (mut open, mut entered) = (Vec::new(), BTreeSet::new());
        tree.walk(Some(object), |step| match step {
            Step::Enter(it) => {
                open.push(it);
                assert!(entered.insert(it));
            }
            Step::Leave(it) => assert_eq!(open.pop(), Some(it)),
        });
        prop_assert!(open.is_empty());
        prop_assert_eq!(&entered, &dominated[object.0 as usize]);
    }
    for object in heap.objects() {
        prop_assert_eq!(
            found.retained_objects(object) as usize,
            dominated[object.0 as usize].len()
        );
    }
    let direct: usize = heap.objects().map(|it| tree.below(Some(it)).count()).sum();
    prop_assert_eq!(direct + tree.below(None).count(), found.reached());
    let least = least_by_class(heap, &tree, 1);
    for threads in 2..6 {
        prop_assert_eq!(&least_by_class(heap, &tree, threads), &least);
    }
    let live = reached_without(heap, &|_| false);
    for class in heap.classes() {
        let is_instance = |it: ObjectId| heap.class_of(it) == class.id;
        let others = reached_without(heap, &is_instance);
        let exact = bytes(heap, live.difference(&others).copied());
        for threads in [1, 2] {
            prop_assert_eq!(
                exactly(heap, class.id, found.reached_bytes(), threads),
                exact
            );
        }
        // What some instance alone keeps.
        let mut alone = BTreeSet::new();
        for object in live.iter().copied().filter(|it| is_instance(*it)) {
            alone.extend(dominated[object.0 as usize].iter().copied());
        }
        let alone = bytes(heap, alone.into_iter());
        let found = least[class.id.0 as usize - 1];
        prop_assert_eq!(found.retained_bytes, alone);
        let instances = live.iter().filter(|it| is_instance(**it));
        prop_assert_eq!(found.objects, instances.count());
        prop_assert!(alone <= exact);
    }
    Ok(())
}

#[test]
fn random_graphs_have_the_dominators_of_the_definition() {
    check(400, &graphs::heaps(60), |plan| check_heap(&plan.build()));
}

#[test]
fn heaps_of_all_sorts_have_the_dominators_of_the_definition() {
    check(150, &any::heaps(), check_heap);
}

/// Heaps of few classes with many edges: cycles, joins, and edges that go back.
#[test]
fn dense_graphs_have_the_dominators_of_the_definition() {
    let edges = prop::collection::vec((0..24_u32, 0..24_u32), 0..70);
    let roots = prop::collection::vec(0..24_u32, 1..3);
    check(600, &(edges, roots), |(edges, roots)| {
        check_heap(&graph(24, edges, roots))
    });
}

/// A heap of one class of arrays.
fn graph(objects: u32, edges: &[(u32, u32)], roots: &[u32]) -> Snapshot {
    let mut builder = SnapshotBuilder::default();
    let class = builder.add_array_class("Object[]");
    let other = builder.add_array_class("Other[]");
    for object in 0..objects {
        let class: ClassId = if object % 3 == 0 { other } else { class };
        builder.add_object(class, 8 + object as usize);
        let targets = edges.iter().filter(|it| it.0 == object);
        for (nth, &(_, to)) in targets.enumerate() {
            builder.add_edge(Place::Element(nth as u32), ObjectId(to));
        }
    }
    for (nth, &root) in roots.iter().enumerate() {
        let name = format!("r{nth}");
        builder.add_root(Root::new(RootKind::Static, &name), ObjectId(root));
    }
    builder.finish().unwrap()
}

#[test]
fn a_long_list_needs_no_stack_of_its_length() {
    let count = 400_000;
    let forth = (0..count - 1).map(|at| (at, at + 1));
    let mut builder = SnapshotBuilder::default();
    let node = builder.add_class("Node", None, &["next", "prev"]);
    for (at, next) in forth {
        builder.add_object(node, 16);
        builder.add_edge(Place::Field(0), ObjectId(next));
        if at > 0 {
            builder.add_edge(Place::Field(1), ObjectId(at - 1));
        }
    }
    builder.add_object(node, 16);
    builder.add_root(Root::new(RootKind::Static, "list"), ObjectId(0));
    let heap = builder.finish().unwrap();
    let found = Dominators::of(&heap, 2).unwrap();
    for at in [0, 1, count / 2, count - 1] {
        let left = (count - at) as u64;
        assert_eq!(found.retained_bytes(ObjectId(at)), 16 * left);
        assert_eq!(
            found.dominator(ObjectId(at)),
            at.checked_sub(1).map(ObjectId)
        );
    }
}

#[test]
fn a_heap_without_roots_has_no_dominators() {
    let found = Dominators::of(&graph(3, &[(0, 1), (1, 2)], &[]), 2).unwrap();
    assert_eq!((found.reached(), found.reached_bytes()), (0, 0));
    assert_eq!(found.retained_bytes(ObjectId(1)), 0);
    assert_eq!(found.dominator(ObjectId(1)), None);
    let tree = DominatorTree::of(&found);
    assert_eq!(tree.below(None).count(), 0);
}
