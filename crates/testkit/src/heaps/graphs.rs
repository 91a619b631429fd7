//! Random graphs: few classes, with cycles, sharing, self-edges, weak and dependent slots, and
//! threads with stacks.

use std::collections::BTreeSet;

use heaphound_heap::class::Elements;
use heaphound_heap::snapshot::{ObjectId, Snapshot, SnapshotBuilder};
use heaphound_heap::view::{HeapView, Place};
use heaphound_heap::{ClassId, ClassInfo, FieldInfo, FieldKind, PlainKind, Root, RootKind};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// How a heap is to be built; objects are numbers, taken modulo how many there are.
#[derive(Clone, Debug)]
pub struct HeapPlan {
    /// All of them.
    pub objects: Vec<ObjectPlan>,
    /// Those that run.
    pub threads: Vec<ThreadPlan>,
    /// Roots of other kinds.
    pub others: Vec<(RootKind, usize)>,
    /// For picks among many.
    pub seed: u64,
}

/// An object.
#[derive(Clone, Debug)]
pub struct ObjectPlan {
    /// Its place among the classes.
    pub class: u32,
    /// Its size.
    pub words: usize,
    /// Targets slot by slot, then element by element.
    pub slots: Vec<Option<usize>>,
}

/// A thread.
#[derive(Clone, Debug)]
pub struct ThreadPlan {
    /// Its thread object.
    pub object: Option<usize>,
    /// What its stack refers to.
    pub stack: Vec<usize>,
}

/// Classes of all sorts; not every field is a slot.
pub fn classes() -> Vec<ClassInfo> {
    use FieldKind::{Dependent, Opt, Plain, Ref, Weak};
    let number = Plain(PlainKind::I32);
    let refs = Some(Elements::Refs);
    let all: [(&str, &[FieldKind], Option<Elements>); 9] = [
        ("Node", &[Opt, Opt], None),
        ("Array", &[], refs),
        ("Wide", &[Ref, number, Opt, FieldKind::Owned, Opt], None),
        ("Entry", &[Weak, Dependent], None),
        ("Pair", &[Opt, Weak, Dependent, Weak, Dependent], None),
        ("Weakling", &[Weak, Opt], None),
        ("Keyless", &[Dependent, Opt], None),
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
            caption: None,
        }
    };
    all.iter().enumerate().map(class).collect()
}

/// Heaps of a dozen objects, and now and then of up to `most`.
pub fn heaps(most: usize) -> impl Strategy<Value = HeapPlan> {
    let object = (
        prop_oneof![3 => Just(0), 2 => Just(1), 5 => 2..9u32],
        2..9usize,
        vec(option::weighted(0.6, 0..1_000usize), 0..6),
    );
    let object = object.prop_map(|(class, words, slots)| ObjectPlan {
        class,
        words,
        slots,
    });
    let objects = prop_oneof![
        15 => vec(object.clone(), 0..=12),
        1 => vec(object, 0..=most),
    ];
    let thread = (option::of(0..1_000usize), vec(0..1_000usize, 0..=4));
    let thread = thread.prop_map(|(object, stack)| ThreadPlan { object, stack });
    let kind = prop_oneof![
        Just(RootKind::Static),
        Just(RootKind::Handle),
        Just(RootKind::Other),
        Just(RootKind::Finalizer),
    ];
    let others = vec((kind, 0..1_000usize), 0..=3);
    let all = (objects, vec(thread, 0..=4), others, any::<u64>());
    all.prop_map(|(objects, threads, others, seed)| HeapPlan {
        objects,
        threads,
        others,
        seed,
    })
}

impl HeapPlan {
    /// The heap.
    pub fn build(&self) -> Snapshot {
        let classes = classes();
        let mut builder = SnapshotBuilder::new(classes.clone());
        let count = self.objects.len();
        let at = |number: usize| ObjectId((number % count) as u32);
        for ObjectPlan {
            class,
            words,
            slots,
        } in &self.objects
        {
            let class = &classes[*class as usize];
            builder.add_object(class.id, 8 * words);
            let fields = class.fields.iter().enumerate();
            let fields = fields.filter(|(_, field)| field.kind.is_slot());
            let fields = fields.map(|(i, _)| Place::Field(i as u32));
            let elements = class.elements.map(|_| (0..6).map(Place::Element));
            let places = fields.chain(elements.into_iter().flatten());
            for (place, target) in places.zip(slots) {
                if let Some(target) = target {
                    builder.add_edge(place, at(*target));
                }
            }
        }
        for (i, thread) in self.threads.iter().enumerate() {
            let name = format!("t{i}");
            builder.add_thread(&name);
            if count == 0 {
                continue;
            }
            if let Some(object) = thread.object {
                builder.add_root(Root::new(RootKind::ThreadObject, &name), at(object));
            }
            for (index, &object) in thread.stack.iter().enumerate() {
                let mut root = Root::new(RootKind::ThreadStack, &name);
                root.index = index as u32;
                builder.add_root(root, at(object));
            }
        }
        for (index, &(kind, object)) in self.others.iter().enumerate() {
            if count > 0 {
                // By the name of a thread, to mislead.
                let mut root = Root::new(kind, "t0");
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
