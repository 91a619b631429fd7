//! Reading many objects of a snapshot at once gives what reading each of them gives.

use heaphound_heap::class::Elements;
use heaphound_heap::fields::{Batch, Column, Fields, Held, LANES, Numbers, SnapshotField};
use heaphound_heap::snapshot::{ObjectId, Snapshot, SnapshotBuilder};
use heaphound_heap::trace::Traceable;
use heaphound_heap::view::HeapView;
use heaphound_heap::{ClassId, ClassInfo, FieldInfo, FieldKind, PlainKind, Value};
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

/// Whether nothing is missing, by asking each object: neither a value, nor an element, nor a length.
fn knows_all_slowly(heap: &Snapshot) -> bool {
    let knows = |object: ObjectId| {
        let class = heap.class(HeapView::class_of(heap, object));
        let mut fields = class.fields.iter().enumerate();
        let has_values = fields.all(|(place, field)| match field.kind {
            FieldKind::Plain(_) => heap.plain_value(object, place).is_some(),
            _ => true,
        });
        let length = HeapView::length_of(heap, object);
        let bytes = heap.element_bytes(object).map(|it| it.len());
        let has_elements = match class.elements {
            None => true,
            Some(Elements::Refs) => length.is_some(),
            Some(Elements::Text) => bytes.is_some() && bytes == length,
            Some(Elements::Plain(kind)) => {
                bytes.is_some() && bytes == length.map(|it| it * kind.bytes())
            }
        };
        has_values && has_elements
    };
    heap.has_values() && heap.objects().all(knows)
}

proptest! {
    #![proptest_config(heaphound_testkit::cases::config(500))]

    #[test]
    fn a_heap_knows_whether_it_has_all_values(heap in heaps()) {
        prop_assert_eq!(heap.knows_all_values(), knows_all_slowly(&heap));
    }

    #[test]
    fn targets_of_many_objects_are_those_of_each(heap in heaps(), picks in prop::collection::vec(any::<u32>(), 0..50)) {
        let pick = |it: &u32| (!heap.is_empty()).then(|| ObjectId(it % heap.len() as u32));
        let objects: Vec<ObjectId> = picks.iter().filter_map(pick).collect();
        let (mut together, mut each) = (Vec::new(), Vec::new());
        heap.for_each_target_of(&objects, |at, to| together.push((at, to)));
        for (at, &object) in objects.iter().enumerate() {
            heap.for_each_target(object, |to| each.push((at, to)));
        }
        prop_assert_eq!(together, each);
    }
}

#[test]
fn one_value_that_is_missing_is_noticed() {
    let class = |id, name: &str, fields: &[(&str, FieldKind)], elements| ClassInfo {
        id: ClassId(id),
        name: name.into(),
        superclass: None,
        interfaces: Vec::new(),
        is_interface: false,
        fields: (0..)
            .zip(fields)
            .map(|(at, &(name, kind))| FieldInfo {
                name: name.into(),
                offset: 8 * at,
                kind,
            })
            .collect(),
        elements,
        caption: None,
    };
    let number = FieldKind::Plain(PlainKind::I64);
    let fields = [("next", FieldKind::Opt), ("a", number), ("b", number)];
    let knows_all = |values: &[usize], has_length: bool| {
        let mut heap = SnapshotBuilder::new(vec![
            class(1, "Node", &fields, None),
            class(2, "Node[]", &[], Some(Elements::Refs)),
            class(3, "Empty", &[], None),
        ]);
        heap.add_object(ClassId(1), 32);
        for &field in values {
            heap.set_value(field, Value::Signed(7)).unwrap();
        }
        heap.add_object(ClassId(2), 16);
        if has_length {
            heap.set_length(0);
        }
        heap.add_object(ClassId(3), 8);
        heap.finish().unwrap().knows_all_values()
    };
    assert!(knows_all(&[1, 2], true));
    assert!(!knows_all(&[1], true));
    assert!(!knows_all(&[2], true));
    assert!(!knows_all(&[], true));
    assert!(!knows_all(&[1, 2], false));
}
