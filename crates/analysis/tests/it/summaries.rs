//! Summaries of random heaps, against a slow twin written from the definitions.

use std::collections::BTreeMap;

use heaphound_analysis::slot::{SlotId, SlotIds};
use heaphound_analysis::summary::{ClassTotal, SlotEdge, Summary, summarize, summarize_on};
use heaphound_heap::snapshot::{ObjectId, Snapshot, SnapshotBuilder};
use heaphound_heap::view::{HeapView, Place, live_objects};
use heaphound_heap::{ClassId, Root, RootKind};
use heaphound_testkit::cases::check;
use heaphound_testkit::heaps::graphs::{heaps, live};
use proptest::prelude::*;

/// References and bytes, by the class of the targets and of the sources.
type PointsFrom = BTreeMap<(ClassId, ClassId), (u64, u64)>;

/// A node for each class that weighs what its live objects do; for each reference an edge
/// that weighs what its target does.
fn twin(heap: &Snapshot) -> (Summary, PointsFrom) {
    let ids = SlotIds::new(heap.classes());
    let mut classes = vec![ClassTotal::default(); heap.classes().len() + 1];
    let mut slots: BTreeMap<(SlotId, ClassId), (u64, u64)> = BTreeMap::new();
    let mut points_from = PointsFrom::new();
    let add = |sum: &mut (u64, u64), bytes: usize| {
        sum.0 += 1;
        sum.1 += bytes as u64;
    };
    for object in live(heap) {
        let class = heap.class_of(object);
        let total = &mut classes[class.0 as usize];
        total.objects += 1;
        total.volume_bytes += heap.bytes_of(object) as u64;
        heap.for_each_strong_edge(object, |place, to| {
            let bytes = heap.bytes_of(to);
            let to = heap.class_of(to);
            add(slots.entry((ids.at(class, place), to)).or_default(), bytes);
            add(points_from.entry((to, class)).or_default(), bytes);
        });
    }
    heap.for_each_root(|root, object| {
        if root.kind != heaphound_heap::RootKind::Finalizer {
            classes[heap.class_of(object).0 as usize].roots += 1;
        }
    });
    let edge =
        |(&(slot, to), &(references, volume_bytes)): (&(SlotId, ClassId), &(u64, u64))| SlotEdge {
            slot,
            to,
            references,
            volume_bytes,
        };
    let edges = slots.iter().map(edge).collect();
    (Summary::new(classes, edges), points_from)
}

#[test]
fn a_summary_is_what_its_definition_says_at_any_number_of_threads() {
    check(400, &heaps(200), |plan| {
        let heap = plan.build();
        let (expected, points_from) = twin(&heap);
        let one = summarize(&heap);
        prop_assert_eq!(&one, &expected);
        for threads in [1, 2, 4] {
            prop_assert_eq!(&summarize_on(&heap, threads), &expected);
        }
        let found = one.points_from(&SlotIds::new(heap.classes()));
        let found: Vec<_> = found
            .iter()
            .map(|it| ((it.class, it.from), (it.references, it.volume_bytes)))
            .collect();
        prop_assert_eq!(found, points_from.into_iter().collect::<Vec<_>>());
        Ok(())
    });
}

#[test]
fn sizes_that_no_heap_has_are_not_wrapped() {
    let mut builder = SnapshotBuilder::default();
    let node = builder.add_class("Node", None, &["next"]);
    for at in 0..5 {
        builder.add_object(node, usize::MAX / 3);
        builder.add_edge(Place::Field(0), ObjectId((at + 1) % 5));
    }
    builder.add_root(Root::new(RootKind::Static, "r"), ObjectId(0));
    let heap = builder.finish().unwrap();
    let summary = summarize(&heap);
    assert_eq!(summary.volume_bytes(), u64::MAX);
    assert_eq!(summary.edges()[0].volume_bytes, u64::MAX);
    assert_eq!(summary, summarize_on(&heap, 4));
    let differences = Summary::default().differences(&summary);
    assert_eq!(differences[0].volume_bytes(), i64::MAX);
}

#[test]
fn an_empty_heap_has_an_empty_summary() {
    let heap = heaphound_heap::snapshot::SnapshotBuilder::default()
        .finish()
        .unwrap();
    assert!(live_objects(&heap).is_empty());
    assert_eq!(summarize(&heap), Summary::default());
    assert_eq!(summarize_on(&heap, 4), Summary::default());
}
