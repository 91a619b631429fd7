//! Reading many objects of a snapshot at once gives what reading each of them gives.

use heaphound_heap::fields::{Batch, Column, Fields, Held, LANES, Numbers, SnapshotField};
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::view::HeapView;
use heaphound_heap::{ClassId, FieldKind, Value};
use heaphound_testkit::heaps::any::heaps;
use proptest::prelude::*;

/// The slow twin: what a heap says of each object by itself.
#[derive(Clone, Copy)]
struct Slowly<'h>(&'h Snapshot);

impl Fields for Slowly<'_> {
    type Object = ObjectId;
    type Reader = Vec<Option<SnapshotField>>;

    fn class_of(self, object: ObjectId) -> ClassId {
        Fields::class_of(self.0, object)
    }
    fn bytes_of(self, object: ObjectId) -> usize {
        Fields::bytes_of(self.0, object)
    }
    fn reader(self, places: &[Option<u32>]) -> Self::Reader {
        self.0.reader(places)
    }
    fn slot(self, reader: &Self::Reader, object: ObjectId) -> Held<ObjectId> {
        Fields::slot(self.0, reader, object)
    }
    fn bits(self, reader: &Self::Reader, object: ObjectId) -> Option<u64> {
        self.0.bits(reader, object)
    }
    fn element(self, object: ObjectId, index: usize) -> Held<ObjectId> {
        Fields::element(self.0, object, index)
    }
    fn plain_element(self, object: ObjectId, index: usize) -> Option<Value> {
        Fields::plain_element(self.0, object, index)
    }
    fn length_of(self, object: ObjectId) -> Option<usize> {
        Fields::length_of(self.0, object)
    }
    fn text_of(self, object: ObjectId) -> Option<String> {
        Fields::text_of(self.0, object)
    }
}

/// What a column says; what its empty lanes hold means nothing.
fn column(it: &Column<ObjectId>) -> (u64, u64, Vec<Option<ObjectId>>) {
    let object = |lane: usize| (it.there >> lane & 1 == 1).then(|| it.objects[lane]);
    (it.there, it.absent, (0..LANES).map(object).collect())
}

fn numbers(it: &Numbers) -> (u64, u64, Vec<Option<i64>>) {
    let value = |lane: usize| (it.known >> lane & 1 == 1).then(|| it.values[lane]);
    (it.known, it.absent, (0..LANES).map(value).collect())
}

proptest! {
    #![proptest_config(heaphound_testkit::cases::config(500))]

    #[test]
    fn many_objects_are_read_as_each_of_them(
        heap in heaps(),
        picks in prop::collection::vec(any::<u32>(), LANES),
        fields in prop::collection::vec(any::<u8>(), 3),
        there in prop_oneof![Just(!0u64), any::<u64>()],
    ) {
        if heap.is_empty() {
            return Ok(());
        }
        let heap = &heap;
        // In each class another field, or none.
        let place = |field: u8| heap.classes().iter().map(move |class| {
            let count = class.fields.len() as u32 + 1;
            Some(u32::from(field) % count).filter(|it| *it + 1 < count)
        });
        let any = |pick: &u32| ObjectId(pick % heap.len() as u32);
        let first = any(&picks[0]);
        let class = HeapView::class_of(heap, first);
        let same: Vec<ObjectId> = heap.objects().filter(|it| HeapView::class_of(heap, *it) == class).collect();
        let of_class = std::array::from_fn(|lane| same[picks[lane] as usize % same.len()]);
        let mixed = Column {
            objects: std::array::from_fn(|lane| any(&picks[lane])),
            there,
            absent: !there,
        };
        for &field in &fields {
            let places: Vec<Option<u32>> = place(field).collect();
            let reader = heap.reader(&places);
            let fast = heap.slots(&reader, &Batch::new(heap, &of_class).unwrap());
            let slow = Slowly(heap).slots(&reader, &Batch::new(Slowly(heap), &of_class).unwrap());
            prop_assert_eq!(column(&fast), column(&slow));
            let fast = heap.slots_behind(&reader, &mixed);
            let slow = Slowly(heap).slots_behind(&reader, &mixed);
            prop_assert_eq!(column(&fast), column(&slow));
            // Plain data of one name is of one kind wherever it is read.
            let kind_at = |place: &Option<u32>, class: usize| match heap.classes()[class].fields[(*place)? as usize].kind {
                FieldKind::Plain(kind) => Some(kind),
                _ => None,
            };
            let kinds = |(class, place): (usize, &Option<u32>)| kind_at(place, class);
            let Some(kind) = places.iter().enumerate().find_map(kinds) else {
                continue;
            };
            let of_kind = places.iter().enumerate().map(|(class, place)| {
                place.filter(|_| kind_at(place, class) == Some(kind))
            });
            let reader = heap.reader(&of_kind.collect::<Vec<_>>());
            let fast = Fields::numbers(heap, &reader, kind, &Batch::new(heap, &of_class).unwrap());
            let slow = Slowly(heap).numbers(&reader, kind, &Batch::new(Slowly(heap), &of_class).unwrap());
            prop_assert_eq!(numbers(&fast), numbers(&slow));
            let fast = heap.numbers_behind(&reader, kind, &mixed);
            let slow = Slowly(heap).numbers_behind(&reader, kind, &mixed);
            prop_assert_eq!(numbers(&fast), numbers(&slow));
        }
    }
}
