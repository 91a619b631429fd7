//! Random heaps, and random well-typed texts about them.
//!
//! All heaps have the same [`classes`], so that a text fits every heap: subclasses, interfaces, fields of one
//! name that are unlike in two classes, arrays of all sorts, weak and dependent slots. Values
//! come from small pools, that comparisons go either way. Some are not known.
//!
//! A text is made of a list of choices; where the list ends, the simplest is chosen. So both
//! shrink: to fewer objects, and to shorter texts.
//!
//! Elsewhere: what a text may say (`text.rs`, `paths.rs`).

mod paths;
mod text;

use std::collections::BTreeSet;

use heaphound_deal::check::Scope;
use heaphound_deal::resolved::HostSource;
use heaphound_heap::class::Elements;
use heaphound_heap::snapshot::{ObjectId, Snapshot, SnapshotBuilder};
use heaphound_heap::view::{HeapView, Place};
use heaphound_heap::{ClassId, ClassInfo, FieldInfo, FieldKind, PlainKind, Root, RootKind, Value};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

pub use text::{Kind, texts};

/// The host variables. The last is declared a `Node`.
pub const HOSTS: [&str; 4] = ["a", "b", "c", "n"];

/// The labels.
pub const LABELS: [&str; 2] = ["hot", "in flight"];

const COLORS: &[&str] = &["red", "green", "blue"];
const DOORS: &[&str] = &["open", "red", "shut"];

/// A heap as it was drawn.
#[derive(Clone, Debug)]
pub struct HeapPlan {
    /// Objects, by their places among them, modulo how many there are.
    objects: Vec<ObjectPlan>,
    threads: Vec<ThreadPlan>,
    others: Vec<(RootKind, usize)>,
    /// What each host variable is bound to.
    hosts: [Option<usize>; HOSTS.len()],
    labels: BTreeSet<(usize, usize)>,
    asker: Option<usize>,
    /// Whether some slots were cut that would be null.
    has_cuts: bool,
}

#[derive(Clone, Debug)]
struct ObjectPlan {
    class: usize,
    slots: Vec<Option<usize>>,
    /// Which of the pool's values each plain field holds; none if it is not known.
    values: Vec<Option<u8>>,
    /// How many elements there are, and whether that is known.
    length: (usize, bool),
}

#[derive(Clone, Debug)]
struct ThreadPlan {
    object: Option<usize>,
    stack: Vec<usize>,
}

/// Random heaps of up to twelve objects.
pub fn heaps() -> impl Strategy<Value = HeapPlan> {
    let value = prop_oneof![1 => Just(None), 25 => any::<u8>().prop_map(Some)];
    let object = (
        prop_oneof![6 => 1..3usize, 5 => 0..classes().len() - INTERFACES],
        vec(option::weighted(0.7, 0..1_000usize), 6),
        vec(value, 8),
        (0..5usize, prop::bool::weighted(0.9)),
    );
    let object = object.prop_map(|(class, slots, values, length)| ObjectPlan {
        class,
        slots,
        values,
        length,
    });
    let thread = (
        option::weighted(0.85, 0..1_000usize),
        vec(0..1_000usize, 0..=3),
    );
    let thread = thread.prop_map(|(object, stack)| ThreadPlan { object, stack });
    let kind = prop_oneof![
        4 => Just(RootKind::Static),
        1 => Just(RootKind::Handle),
        1 => Just(RootKind::Other),
        1 => Just(RootKind::Finalizer),
    ];
    let host = || option::weighted(0.95, 0..1_000usize);
    let label = (0..12usize, 0..LABELS.len());
    let all = (
        vec(object, 1..=12),
        prop_oneof![1 => vec(thread.clone(), 0..=0), 9 => vec(thread, 1..=3)],
        vec((kind, 0..1_000usize), 0..=5),
        [host(), host(), host(), host()],
        prop::collection::btree_set(label, 0..=6),
        option::weighted(0.85, 0..3usize),
    );
    (all, any::<bool>()).prop_map(
        |((objects, threads, others, hosts, labels, asker), has_cuts)| HeapPlan {
            objects,
            threads,
            others,
            hosts,
            labels,
            asker,
            has_cuts,
        },
    )
}

/// The classes of all heaps.
pub fn classes() -> Vec<ClassInfo> {
    use FieldKind::{Dependent, Opt, Owned, Plain, Weak};
    let colors = Plain(PlainKind::Enum { variants: COLORS });
    let doors = Plain(PlainKind::Enum { variants: DOORS });
    let mut classes: Vec<ClassInfo> = Vec::new();
    let mut add = |name: &str, above: Option<usize>, own: &[(&str, FieldKind)], elements| {
        let inherited = above.map(|above| classes[above].fields.clone());
        let mut fields = inherited.unwrap_or_default();
        for &(name, kind) in own {
            fields.push(FieldInfo {
                name: name.into(),
                offset: 8 + 8 * fields.len() as u32,
                kind,
            });
        }
        classes.push(ClassInfo {
            id: ClassId(classes.len() as u32 + 1),
            name: name.into(),
            superclass: above.map(|above| ClassId(above as u32 + 1)),
            interfaces: Vec::new(),
            is_interface: false,
            fields,
            elements,
            caption: None,
        });
        classes.len() - 1
    };
    let base = [("id", Plain(PlainKind::U64)), ("tag", colors)];
    let base = add("Base", None, &base, None);
    let node = [
        ("next", Opt),
        ("other", Opt),
        ("data", Plain(PlainKind::I32)),
        ("real", Plain(PlainKind::F64)),
        ("flag", Plain(PlainKind::Bool)),
    ];
    let node = add("Node", Some(base), &node, None);
    let sub = [("extra", Opt), ("small", Plain(PlainKind::I8))];
    let sub = add("SubNode", Some(node), &sub, None);
    // Fields that others have too, and that are something else there.
    let odd = [
        ("data", Opt),
        ("flag", Opt),
        ("other", Plain(PlainKind::U16)),
        ("tag", doors),
        ("next", Opt),
    ];
    add("Odd", None, &odd, None);
    let cell = [
        ("data", Plain(PlainKind::F32)),
        ("key", Plain(PlainKind::Char)),
        ("next", Weak),
        ("memory", Owned),
    ];
    add("pack.Cell", None, &cell, None);
    let entry = [("key", Weak), ("value", Dependent)];
    let entry = add("Entry", None, &entry, None);
    let thread = [("name", Opt), ("id", Plain(PlainKind::I64))];
    add("Thread", None, &thread, None);
    add("Node[]", None, &[], Some(Elements::Refs));
    let items = [("data", Plain(PlainKind::U8)), ("next", Opt)];
    let items = add("Items<Node>", None, &items, Some(Elements::Refs));
    let floats = Some(Elements::Plain(PlainKind::F32));
    add("Floats", None, &[], floats);
    add("Str", None, &[], Some(Elements::Text));
    // Interfaces come last: they have no instances.
    let stored = add("Stored", None, &[], None);
    let closing = add("pack.Closing", None, &[], None);
    for interface in [stored, closing] {
        classes[interface].is_interface = true;
    }
    // An interface above several classes, below another one, and twice above a class.
    let above = [
        (closing, stored),
        (sub, closing),
        (sub, stored),
        (entry, closing),
        (items, stored),
    ];
    for (class, interface) in above {
        let interface = ClassId(interface as u32 + 1);
        classes[class].interfaces.push(interface);
    }
    classes
}

/// How many of the classes are interfaces: the last ones.
pub const INTERFACES: usize = 2;

/// What a text can refer to.
pub fn scope(classes: &[ClassInfo]) -> Scope<'_> {
    let node = classes.iter().find(|it| it.name == "Node").map(|it| it.id);
    HOSTS.iter().fold(Scope::new(classes), |scope, &host| {
        scope.bind(host, node.filter(|_| host == "n"))
    })
}

impl HeapPlan {
    /// The heap.
    pub fn build(&self) -> Snapshot {
        let classes = classes();
        let mut builder = SnapshotBuilder::new(classes.clone());
        for plan in &self.objects {
            let class = &classes[plan.class];
            builder.add_object(class.id, 16 + 8 * plan.slots.iter().flatten().count());
            self.add_edges(plan, class, &mut builder);
            add_values(plan, class, &mut builder);
        }
        for (nth, thread) in self.threads.iter().enumerate() {
            let name = format!("t{nth}");
            builder.add_thread(&name);
            // No object is that of two threads.
            let before = self.threads[..nth].iter().filter_map(|it| it.object);
            let before: Vec<ObjectId> = before.map(|it| self.object(it)).collect();
            let is_free = |it: &usize| !before.contains(&self.object(*it));
            if let Some(object) = thread.object.filter(is_free) {
                let root = Root::new(RootKind::ThreadObject, &name);
                builder.add_root(root, self.object(object));
            }
            for (index, &object) in thread.stack.iter().enumerate() {
                let mut root = Root::new(RootKind::ThreadStack, &name);
                root.index = index as u32;
                builder.add_root(root, self.object(object));
            }
        }
        for (nth, &(kind, object)) in self.others.iter().enumerate() {
            let mut root = Root::new(kind, &format!("s{nth}"));
            if kind != RootKind::Static {
                root = Root::new(kind, "t0");
                root.index = nth as u32;
            }
            builder.add_root(root, self.object(object));
        }
        builder.finish().expect("the heap is well-formed")
    }

    fn object(&self, place: usize) -> ObjectId {
        ObjectId((place % self.objects.len()) as u32)
    }

    fn add_edges(&self, plan: &ObjectPlan, class: &ClassInfo, builder: &mut SnapshotBuilder) {
        let fields = class.fields.iter().enumerate();
        let fields = fields.filter(|(_, field)| field.kind.is_slot());
        let fields = fields.map(|(at, _)| Place::Field(at as u32));
        let elements = match class.elements {
            Some(Elements::Refs) => plan.length.0,
            _ => 0,
        };
        let places = fields.chain((0..elements as u32).map(Place::Element));
        for (place, &target) in places.zip(&plan.slots) {
            match target {
                Some(target) => builder.add_edge(place, self.object(target)),
                None if self.has_cuts && plan.values[0].is_some_and(|it| it % 3 == 0) => {
                    builder.add_cut(place);
                }
                None => {}
            }
        }
    }

    /// The same without references that were cut, for heaps that a program makes.
    pub fn whole(self) -> Self {
        Self {
            has_cuts: false,
            ..self
        }
    }

    /// What a host variable is bound to. The one that is declared a `Node` is one, or null.
    pub fn host(&self, name: &str) -> Option<ObjectId> {
        let at = HOSTS.iter().position(|it| *it == name)?;
        let object = self.object(self.hosts[at]?);
        let class = &classes()[self.objects[object.0 as usize].class];
        let is_node = matches!(&class.name[..], "Node" | "SubNode");
        (is_node || name != "n").then_some(object)
    }

    /// What gives an object from outside: `heap` is what was built.
    pub fn source(&self, heap: &Snapshot, source: &HostSource) -> Option<ObjectId> {
        use heaphound_deal::syntax::HostName;
        match source {
            HostSource::Variable(name) => self.host(name),
            HostSource::Named(HostName::Object { class, number }) => {
                let short = |object: &ObjectId| {
                    let name = &heap.class(heap.class_of(*object)).name;
                    name == class || name.rsplit('.').next() == Some(class)
                };
                let mut objects = heap.objects();
                objects.find(|it| heap.number_of(*it) == *number && short(it))
            }
            HostSource::Named(HostName::Root { kind, name, index }) => {
                let fits = |root: &Root| {
                    root.kind == *kind
                        && root.name == *name
                        && index.is_none_or(|index| root.index == index)
                };
                let root = heap.roots().iter().find(|(root, _)| fits(root));
                root.map(|&(_, object)| object)
            }
        }
    }

    /// Whether an object has a label.
    pub fn label(&self, object: ObjectId, label: &str) -> bool {
        let nth = LABELS.iter().position(|it| *it == label);
        nth.is_some_and(|nth| self.labels.contains(&(object.0 as usize, nth)))
    }

    /// The thread that asks, if any does.
    pub fn asker(&self) -> Option<String> {
        let threads = self.threads.len();
        let asker = self.asker.filter(|_| threads > 0);
        asker.map(|nth| format!("t{}", nth % threads))
    }
}

fn add_values(plan: &ObjectPlan, class: &ClassInfo, builder: &mut SnapshotBuilder) {
    let pick = |nth: usize| plan.values[nth % plan.values.len()];
    for (at, field) in class.fields.iter().enumerate() {
        if let (FieldKind::Plain(kind), Some(pick)) = (field.kind, pick(at)) {
            let value = value(kind, pick as usize);
            builder.set_value(at, value).expect("it fits");
        }
    }
    let (length, is_known) = plan.length;
    match class.elements {
        None => {}
        Some(Elements::Refs) if is_known => builder.set_length(length as u32),
        Some(Elements::Refs) => {}
        Some(Elements::Plain(kind)) => {
            let mut bytes = Vec::new();
            for nth in 0..length {
                let value = value(kind, pick(nth).unwrap_or(0) as usize);
                let bits = kind.encode(value).expect("it fits").to_le_bytes();
                bytes.extend_from_slice(&bits[..kind.bytes()]);
            }
            builder.set_elements(bytes);
        }
        Some(Elements::Text) => {
            if let Some(pick) = pick(0) {
                let text = TEXTS[pick as usize % TEXTS.len()];
                builder.set_elements(text.as_bytes().to_vec());
            }
        }
    }
}

/// The texts of strings.
pub const TEXTS: [&str; 5] = ["", "a", "ab", "Z", "é"];

fn value(kind: PlainKind, pick: usize) -> Value {
    const FLOATS: [f64; 10] = [
        0.0,
        1.0,
        -1.0,
        2.0,
        0.5,
        -0.0,
        f64::NAN,
        f64::INFINITY,
        9_007_199_254_740_992.0,
        -1e30,
    ];
    let signed = |least: i64, most: i64| {
        let pool = [0, 1, -1, 2, 3, least, most];
        Value::Signed(pool[pick % pool.len()])
    };
    let unsigned = |most: u64| {
        let pool = [0, 1, 2, 3, most, 9_007_199_254_740_993.min(most)];
        Value::Unsigned(pool[pick % pool.len()])
    };
    match kind {
        PlainKind::Bool => Value::Bool(pick % 2 == 1),
        PlainKind::Char => Value::Char(['a', 'b', '\u{e9}', '\'', '\n'][pick % 5]),
        PlainKind::U8 => unsigned(u8::MAX.into()),
        PlainKind::U16 => unsigned(u16::MAX.into()),
        PlainKind::U32 => unsigned(u32::MAX.into()),
        PlainKind::U64 => unsigned(u64::MAX),
        PlainKind::I8 => signed(i8::MIN.into(), i8::MAX.into()),
        PlainKind::I16 => signed(i16::MIN.into(), i16::MAX.into()),
        PlainKind::I32 => signed(i32::MIN.into(), i32::MAX.into()),
        PlainKind::I64 => signed(i64::MIN, i64::MAX),
        PlainKind::F32 => Value::Float((FLOATS[pick % FLOATS.len()] as f32).into()),
        PlainKind::F64 => Value::Float(FLOATS[pick % FLOATS.len()]),
        PlainKind::Enum { variants } => Value::Variant(variants[pick % variants.len()]),
    }
}
