//! Random heaps: few classes, with cycles, sharing, self-edges, weak and dependent slots.
#![allow(dead_code)]

use std::collections::BTreeSet;

use heaphound_heap::class::Elements;
use heaphound_heap::snapshot::{ObjectId, Snapshot, SnapshotBuilder};
use heaphound_heap::view::{HeapView, Place};
use heaphound_heap::{ClassId, ClassInfo, FieldInfo, FieldKind, PlainKind, Root, RootKind};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::{TestCaseResult, TestRunner};

#[derive(Clone, Debug)]
pub struct HeapPlan {
    /// Class, size, and what its slots refer to.
    objects: Vec<(u32, usize, Vec<Option<usize>>)>,
    roots: Vec<(RootKind, usize)>,
}

fn classes() -> Vec<ClassInfo> {
    use FieldKind::{Dependent, Opt, Plain, Ref, Weak};
    let number = Plain(PlainKind::I32);
    let refs = Some(Elements::Refs);
    let all: [(&str, &[FieldKind], Option<Elements>); 7] = [
        ("Node", &[Opt, Opt], None),
        ("Node[]", &[], refs),
        ("Wide", &[Ref, number, Opt, FieldKind::Owned, Opt], None),
        ("Entry", &[Weak, Dependent], None),
        ("Weakling", &[Weak, Opt], None),
        ("Headed", &[Opt, Weak], refs),
        ("Leaf", &[], None),
    ];
    let class = |(place, &(name, kinds, elements)): (usize, &(&str, &[FieldKind], _))| {
        let fields = kinds.iter().enumerate().map(|(i, &kind)| FieldInfo {
            name: format!("f{i}"),
            offset: 8 + 4 * i as u32,
            kind,
        });
        ClassInfo {
            id: ClassId(place as u32 + 1),
            name: name.into(),
            superclass: None,
            interfaces: Vec::new(),
            is_interface: false,
            fields: fields.collect(),
            elements,
        }
    };
    all.iter().enumerate().map(class).collect()
}

pub fn heaps() -> impl Strategy<Value = HeapPlan> {
    let target = option::weighted(0.8, 0..1_000usize);
    let object = (0..7u32, 2..9usize, vec(target, 0..6));
    let objects = prop_oneof![
        9 => vec(object.clone(), 0..=14),
        1 => vec(object, 0..=200),
    ];
    let kind = prop_oneof![
        4 => Just(RootKind::Static),
        1 => Just(RootKind::Handle),
        1 => Just(RootKind::Finalizer),
    ];
    let all = (objects, vec((kind, 0..1_000usize), 0..=4));
    all.prop_map(|(objects, roots)| HeapPlan { objects, roots })
}

impl HeapPlan {
    pub fn build(&self) -> Snapshot {
        let classes = classes();
        let mut builder = SnapshotBuilder::new(classes.clone());
        let count = self.objects.len();
        let at = |number: usize| ObjectId((number % count) as u32);
        for (class, words, slots) in &self.objects {
            let class = &classes[*class as usize];
            builder.add_object(class.id, 8 * words);
            let fields = class.fields.iter().enumerate();
            let fields = fields.filter(|(_, field)| field.kind.is_slot());
            let fields = fields.map(|(i, _)| Place::Field(i as u32));
            let elements = class.elements.map(|_| (0..6).map(Place::Element));
            for (place, target) in fields.chain(elements.into_iter().flatten()).zip(slots) {
                if let Some(target) = target {
                    builder.add_edge(place, at(*target));
                }
            }
        }
        for (index, &(kind, object)) in self.roots.iter().enumerate() {
            if count > 0 {
                let mut root = Root::new(kind, "r");
                root.index = index as u32;
                builder.add_root(root, at(object));
            }
        }
        builder.finish().expect("the heap is well-formed")
    }
}

/// What lives: the least set with the roots that edges do not leave.
pub fn live(heap: &Snapshot) -> BTreeSet<ObjectId> {
    let mut live = BTreeSet::new();
    heap.for_each_root(|root, object| {
        if root.kind != RootKind::Finalizer {
            live.insert(object);
        }
    });
    loop {
        let mut more = live.clone();
        for &object in &live {
            heap.for_each_strong_edge(object, |_, to| {
                more.insert(to);
            });
        }
        if more.len() == live.len() {
            return live;
        }
        live = more;
    }
}

/// Checks many random things.
pub fn check<S: Strategy>(usual: u32, strategy: &S, f: impl Fn(&S::Value) -> TestCaseResult) {
    let factor = std::env::var("HEAPHOUND_CASES").map_or(1, |text| {
        text.parse().expect("HEAPHOUND_CASES is a whole number")
    });
    let config = ProptestConfig {
        cases: usual * factor,
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..ProptestConfig::default()
    };
    let result = TestRunner::new(config).run(strategy, |value| f(&value));
    if let Err(error) = result {
        panic!("{error}");
    }
}
