//! A tiny heap, made by hand: what lives in it.

use heaphound_heap::class::Elements;
use heaphound_heap::snapshot::{ObjectId, SnapshotBuilder};
use heaphound_heap::view::{HeapView, Place, Strength, live_objects};
use heaphound_heap::{ClassId, ClassInfo, FieldInfo, FieldKind, PlainKind, Root, RootKind, Value};

/// Objects are their places in the list.
#[derive(Default)]
struct Tiny {
    classes: Vec<ClassInfo>,
    objects: Vec<TinyObject>,
    roots: Vec<(Root, usize)>,
}

struct TinyObject {
    class: ClassId,
    edges: Vec<(Place, Strength, usize)>,
}

const LIST: ClassId = ClassId(1);
const NODE: ClassId = ClassId(2);
const ENTRY: ClassId = ClassId(3);
const ARRAY: ClassId = ClassId(4);

impl Tiny {
    fn new() -> Self {
        let class = |id, name: &str, superclass, fields: &[(&str, FieldKind)], elements| {
            let fields = fields.iter().map(|&(name, kind)| FieldInfo {
                name: name.into(),
                offset: 8,
                kind,
            });
            ClassInfo {
                id,
                name: name.into(),
                superclass,
                interfaces: Vec::new(),
                is_interface: false,
                fields: fields.collect(),
                elements,
                caption: None,
            }
        };
        let node = [
            ("next", FieldKind::Opt),
            ("value", FieldKind::Plain(PlainKind::I32)),
        ];
        let list = [
            ("head", FieldKind::Ref),
            ("cache", FieldKind::Weak),
            ("name", FieldKind::Owned),
        ];
        let entry = [("key", FieldKind::Weak), ("value", FieldKind::Dependent)];
        Self {
            classes: vec![
                class(LIST, "List", None, &list, None),
                class(NODE, "Node", Some(LIST), &node, None),
                class(ENTRY, "Entry", None, &entry, None),
                class(ARRAY, "Node[]", None, &[], Some(Elements::Refs)),
            ],
            ..Self::default()
        }
    }

    fn object(&mut self, class: ClassId) -> usize {
        self.objects.push(TinyObject {
            class,
            edges: Vec::new(),
        });
        self.objects.len() - 1
    }

    fn edge(&mut self, from: usize, place: Place, strength: Strength, to: usize) {
        self.objects[from].edges.push((place, strength, to));
    }

    fn root(&mut self, kind: RootKind, name: &str, object: usize) {
        let root = Root {
            kind,
            name: name.into(),
            scope: None,
            index: 0,
        };
        self.roots.push((root, object));
        self.roots.sort();
    }

    /// An entry that maps a key to a value.
    fn entry(&mut self, key: usize, value: usize) -> usize {
        let entry = self.object(ENTRY);
        self.edge(entry, Place::Field(0), Strength::Weak, key);
        self.edge(entry, Place::Field(1), Strength::Dependent, value);
        entry
    }
}

impl HeapView for Tiny {
    type Object = usize;

    fn classes(&self) -> &[ClassInfo] {
        &self.classes
    }

    fn class_of(&self, object: usize) -> ClassId {
        self.objects[object].class
    }

    fn bytes_of(&self, _: usize) -> usize {
        24
    }

    fn for_each_root(&self, mut f: impl FnMut(&Root, usize)) {
        self.roots
            .iter()
            .for_each(|(root, object)| f(root, *object));
    }

    fn for_each_edge(&self, object: usize, mut f: impl FnMut(Place, Strength, usize)) {
        for &(place, strength, to) in &self.objects[object].edges {
            f(place, strength, to);
        }
    }

    fn threads(&self) -> &[String] {
        &[]
    }

    fn is_cut(&self, _: usize, _: Place) -> bool {
        false
    }

    fn for_each_strong_edge(&self, object: usize, mut f: impl FnMut(Place, usize)) {
        self.for_each_edge(object, |place, strength, to| {
            if strength == Strength::Strong {
                f(place, to);
            }
        });
    }

    fn plain_value(&self, _: usize, _: usize) -> Option<Value> {
        None
    }

    fn length_of(&self, _: usize) -> Option<usize> {
        None
    }

    fn text_of(&self, _: usize) -> Option<String> {
        None
    }

    fn name_of(&self, object: usize) -> String {
        format!("{}#{object}", self.class(self.class_of(object)).name)
    }
}

#[test]
fn a_weak_edge_does_not_retain() {
    let mut heap = Tiny::new();
    let (list, node) = (heap.object(LIST), heap.object(NODE));
    heap.edge(list, Place::Field(1), Strength::Weak, node);
    heap.root(RootKind::Static, "list", list);
    assert_eq!(live_objects(&heap), [list]);
}

#[test]
fn a_dependent_edge_retains_while_the_key_lives() {
    let mut heap = Tiny::new();
    let (key, value) = (heap.object(NODE), heap.object(NODE));
    let entry = heap.entry(key, value);
    heap.root(RootKind::Static, "entry", entry);
    assert_eq!(live_objects(&heap), [entry]);
    heap.root(RootKind::Static, "key", key);
    assert_eq!(live_objects(&heap), [entry, key, value]);
}

#[test]
fn a_value_that_refers_to_its_own_key_does_not_keep_it() {
    let mut heap = Tiny::new();
    let (key, value) = (heap.object(NODE), heap.object(NODE));
    heap.edge(value, Place::Field(0), Strength::Strong, key);
    let entry = heap.entry(key, value);
    heap.root(RootKind::Static, "entry", entry);
    assert_eq!(live_objects(&heap), [entry]);
}

#[test]
fn a_chain_of_entries_lives_by_its_first_key_in_any_order() {
    let mut heap = Tiny::new();
    let keys: Vec<_> = (0..5).map(|_| heap.object(NODE)).collect();
    let mut all = keys.clone();
    for i in (0..4).rev() {
        let entry = heap.entry(keys[i], keys[i + 1]);
        heap.root(RootKind::Static, &format!("entry {i}"), entry);
        all.push(entry);
    }
    assert_eq!(live_objects(&heap).len(), 4);
    heap.root(RootKind::Static, "first", keys[0]);
    let mut live = live_objects(&heap);
    live.sort();
    assert_eq!(live, all);
}

#[test]
fn a_slot_is_read_by_its_place_whatever_its_strength() {
    let mut heap = Tiny::new();
    let (list, node, array) = (heap.object(LIST), heap.object(NODE), heap.object(ARRAY));
    heap.edge(list, Place::Field(1), Strength::Weak, node);
    heap.edge(array, Place::Element(1), Strength::Strong, list);
    assert_eq!(
        [0, 1, 2, 9].map(|i| heap.slot(list, i)),
        [None, Some(node), None, None]
    );
    assert_eq!(
        [0, 1, 2].map(|i| heap.element(array, i)),
        [None, Some(list), None]
    );
    assert_eq!(heap.element(list, 1), None);
    assert_eq!(heap.slot(array, 1), None);
}

#[test]
fn a_snapshot_reads_slots_and_elements_as_its_edges_say() {
    let mut classes = Tiny::new().classes;
    classes[1].superclass = None;
    let id = ClassId(classes.len() as u32 + 1);
    let array = |n: u32, elements| ClassInfo {
        id: ClassId(id.0 + n),
        name: format!("array {n}"),
        superclass: None,
        interfaces: Vec::new(),
        is_interface: false,
        fields: Vec::new(),
        elements: Some(elements),
        caption: None,
    };
    let shorts = array(0, Elements::Plain(PlainKind::I16));
    let text = array(1, Elements::Text);
    let mut builder = SnapshotBuilder::new([classes, vec![shorts, text]].concat());
    let list = builder.add_object(LIST, 32);
    builder.add_edge(Place::Field(1), ObjectId(1));
    let sparse = builder.add_object(ARRAY, 32);
    builder.set_length(70_002);
    builder.add_edge(Place::Element(1), list);
    builder.add_edge(Place::Element(70_000), sparse);
    let dense = builder.add_object(ARRAY, 32);
    builder.set_length(2);
    builder.add_edge(Place::Element(0), list);
    builder.add_edge(Place::Element(1), sparse);
    let shorts = builder.add_object(id, 32);
    builder.set_elements(vec![1, 0, 0xff, 0xff]);
    let text = builder.add_object(ClassId(id.0 + 1), 32);
    builder.set_elements(b"hi".to_vec());
    let heap = builder.finish().unwrap();
    for object in heap.objects() {
        for i in (0..5).chain([70_000, 70_001]) {
            let place = i as u32;
            assert_eq!(
                heap.slot(object, i),
                heap.edge_at(object, Place::Field(place))
            );
            assert_eq!(
                heap.element(object, i),
                heap.edge_at(object, Place::Element(place))
            );
        }
    }
    assert_eq!(heap.element(sparse, 70_000), Some(sparse));
    assert_eq!(heap.element(dense, 1), Some(sparse));
    let element = |object, i| heap.plain_element(object, i);
    assert_eq!(element(shorts, 1), Some(Value::Signed(-1)));
    assert_eq!(element(text, 1), Some(Value::Unsigned('i' as u64)));
    assert_eq!(
        [element(shorts, 2), element(text, 2), element(dense, 0)],
        [None; 3]
    );
    assert_eq!(element(shorts, usize::MAX), None);
}
