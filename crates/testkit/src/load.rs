//! A snapshot made live: objects of dynamic classes with the same names, fields and edges.
//!
//! What a live heap cannot be made to have differs: all slots are strong; plain values that are not
//! known are zero; classes with elements exist by name, but their objects are arrays of objects,
//! arrays of floats, or strings; fields that own memory are missing. Stacks and thread
//! objects of all threads are the loading thread's, and what only a finalizer keeps is dead.

use std::collections::HashMap;

use heaphound::root::RootKind;
use heaphound::snapshot::{ObjectId, Snapshot};
use heaphound::view::{HeapView, Place};
use heaphound::{
    ClassId, DynClass, DynInterface, FieldKind, Heap, Instance, Managed, Mutator, Object,
    PlainKind, RefArray, Root, Weak, view::Value,
};
use heaphound_heap::class::Elements;

/// A snapshot that was made live.
pub struct Loaded {
    /// By the objects of the snapshot.
    pub objects: Vec<Weak<Object>>,
    /// What keeps those alive that the snapshot's roots do, but for statics and stacks.
    pub kept: Vec<Root<Object>>,
}

impl Loaded {
    /// The live object.
    pub fn object(&self, object: ObjectId) -> &Weak<Object> {
        &self.objects[object.0 as usize]
    }
}

/// Stores a variant of an enum in a plain field: its index, the variants, and which.
pub type SetVariant = fn(&Instance, usize, &[&str], &str);

/// Makes a snapshot live. Locals that stand for stacks are in the mutator's scope.
///
/// # Panics
/// If there is no memory.
pub fn load(
    heap: &Heap,
    m: &mut Mutator<'_>,
    snapshot: &Snapshot,
    set_variant: SetVariant,
) -> Loaded {
    let classes = define(heap, snapshot);
    let handles: Vec<Root<Object>> = {
        let mut m = m.scope();
        let objects = snapshot.objects();
        objects
            .map(|object| allocate(&mut m, &classes, snapshot, object, set_variant))
            .collect()
    };
    for object in snapshot.objects() {
        snapshot.for_each_edge(object, |place, _, to| {
            link(
                m,
                snapshot,
                object,
                place,
                &handles[object.0 as usize],
                &handles[to.0 as usize],
            );
        });
    }
    let mut kept = Vec::new();
    for (root, object) in snapshot.roots() {
        let object = &handles[object.0 as usize];
        match root.kind {
            RootKind::Finalizer => {}
            RootKind::ThreadStack => drop(m.local(&m[object])),
            RootKind::Static => m.static_root(&root.name).set(m, Some(&m[object])),
            _ => kept.push(object.clone()),
        }
    }
    let objects = handles.iter().map(|it| m.weak(&m[it])).collect();
    Loaded { objects, kept }
}

fn define(heap: &Heap, snapshot: &Snapshot) -> HashMap<ClassId, DynClass> {
    let mut classes: HashMap<ClassId, DynClass> = HashMap::new();
    let mut interfaces: HashMap<ClassId, DynInterface> = HashMap::new();
    for class in snapshot.classes().iter().filter(|it| it.is_interface) {
        define_interface(heap, snapshot, class.id, &mut interfaces);
    }
    for class in snapshot.classes().iter().filter(|it| !it.is_interface) {
        // The heap's own.
        if class.name == "Str" {
            continue;
        }
        let mut builder = heap.define_class(&class.name);
        let mut inherited = 0;
        if let Some(above) = class.superclass {
            inherited = snapshot.class(above).fields.len();
            builder = builder
                .extends(&classes[&above])
                .expect("it is of this heap");
        }
        for interface in &class.interfaces {
            let implemented = builder.implements(&interfaces[interface]);
            builder = implemented.expect("it is of this heap");
        }
        for field in &class.fields[inherited..] {
            builder = match field.kind {
                FieldKind::Plain(kind) => builder.plain(&field.name, kind),
                FieldKind::Owned => builder,
                _ => builder.slot(&field.name),
            };
        }
        classes.insert(class.id, builder.define().expect("it was defined so"));
    }
    classes
}

/// Defines an interface, after those that it extends.
fn define_interface(
    heap: &Heap,
    snapshot: &Snapshot,
    id: ClassId,
    interfaces: &mut HashMap<ClassId, DynInterface>,
) {
    if interfaces.contains_key(&id) {
        return;
    }
    let class = snapshot.class(id);
    let mut builder = heap.define_interface(&class.name);
    for &above in &class.interfaces {
        define_interface(heap, snapshot, above, interfaces);
        let extended = builder.extends(&interfaces[&above]);
        builder = extended.expect("it is of this heap");
    }
    interfaces.insert(id, builder.define().expect("it was defined so"));
}

fn allocate(
    m: &mut Mutator<'_>,
    classes: &HashMap<ClassId, DynClass>,
    snapshot: &Snapshot,
    object: ObjectId,
    set_variant: SetVariant,
) -> Root<Object> {
    const ROOM: &str = "there is memory";
    let class = snapshot.class(snapshot.class_of(object));
    let length = snapshot.length_of(object).unwrap_or(0);
    if let Some(text) = snapshot.text_of(object) {
        let text = m.alloc_str(&text).expect(ROOM);
        return m.root(m[text].as_object());
    }
    if class.name == "Str" {
        let text = m.alloc_str("").expect(ROOM);
        return m.root(m[text].as_object());
    }
    match class.elements {
        Some(Elements::Refs) => {
            let mut elements = length;
            snapshot.for_each_edge(object, |place, _, _| {
                if let Place::Element(at) = place {
                    elements = elements.max(at as usize + 1);
                }
            });
            let array = m.alloc_refs::<Object>(elements).expect(ROOM);
            return m.root(m[array].as_object());
        }
        Some(_) => {
            let array = m.alloc_plain::<f32>(length, 0.0).expect(ROOM);
            for at in 0..length {
                if let Some(Value::Float(value)) = snapshot.plain_element(object, at) {
                    m[array][at].set(value as f32);
                }
            }
            return m.root(m[array].as_object());
        }
        None => {}
    }
    let class_here = &classes[&class.id];
    let instance = m.alloc_instance(class_here).expect(ROOM);
    let it = &m[instance];
    for (at, field) in class.fields.iter().enumerate() {
        let FieldKind::Plain(kind) = field.kind else {
            continue;
        };
        let Some(value) = snapshot.plain_value(object, at) else {
            continue;
        };
        let index = class_here.plain(&field.name).expect("it was defined so");
        match (kind, value) {
            (PlainKind::Enum { variants }, Value::Variant(variant)) => {
                set_variant(it, index, variants, variant);
            }
            (PlainKind::Bool, Value::Bool(value)) => it.set_plain(index, value),
            (PlainKind::Char, Value::Char(value)) => it.set_plain(index, value),
            (PlainKind::F32, Value::Float(value)) => it.set_plain(index, value as f32),
            (PlainKind::F64, Value::Float(value)) => it.set_plain(index, value),
            (PlainKind::U8, Value::Unsigned(value)) => it.set_plain(index, value as u8),
            (PlainKind::U16, Value::Unsigned(value)) => it.set_plain(index, value as u16),
            (PlainKind::U32, Value::Unsigned(value)) => it.set_plain(index, value as u32),
            (PlainKind::U64, Value::Unsigned(value)) => it.set_plain(index, value),
            (PlainKind::I8, Value::Signed(value)) => it.set_plain(index, value as i8),
            (PlainKind::I16, Value::Signed(value)) => it.set_plain(index, value as i16),
            (PlainKind::I32, Value::Signed(value)) => it.set_plain(index, value as i32),
            (PlainKind::I64, Value::Signed(value)) => it.set_plain(index, value),
            (kind, value) => panic!("a {kind:?} is {value}"),
        }
    }
    m.root(it.as_object())
}

fn link(
    m: &Mutator<'_>,
    snapshot: &Snapshot,
    from: ObjectId,
    place: Place,
    here: &Root<Object>,
    to: &Root<Object>,
) {
    let (here, to) = (&m[here], &m[to]);
    match place {
        Place::Element(at) => {
            // A class with fields and elements has only elements here.
            if let Some(array) = here.downcast::<RefArray<Object>>() {
                array[at as usize].set(Some(to));
            }
        }
        Place::Field(at) => {
            let name = &snapshot.class(snapshot.class_of(from)).fields[at as usize].name;
            if let Some(instance) = here.downcast::<Instance>() {
                let slot = here.class().slots().position(|slot| slot.name == *name);
                instance[slot.expect("it was defined so")].set(Some(to));
            }
        }
    }
}
