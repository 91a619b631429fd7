//! Comparing a heap with the model.
//!
//! Both are walked at once from their roots. The walk pairs each object with its
//! number; a pair that contradicts an earlier one is a failure, and so the two graphs
//! are the same up to names. A weak reference in doubt is settled by what is found.

use std::collections::{BTreeMap, HashMap};

use heaphound::view::{HeapView, Place, Strength, live_objects};
use heaphound::{FieldKind, Object, view::Value};

use crate::access;
use crate::model::{Id, Model, RootPlace};
use crate::program::New;

/// Objects and their numbers, each paired with one of the other.
struct Pairs<O> {
    by_id: HashMap<Id, O>,
    by_object: HashMap<O, Id>,
    /// Paired, fields not yet compared.
    open: Vec<Id>,
}

impl<O: Copy + Eq + std::hash::Hash + std::fmt::Debug> Pairs<O> {
    fn new() -> Self {
        Self {
            by_id: HashMap::new(),
            by_object: HashMap::new(),
            open: Vec::new(),
        }
    }

    /// Pairs them; the fields are to be compared if the object is reachable.
    fn pair(&mut self, id: Id, object: O, reachable: bool) {
        let before = self.by_id.insert(id, object);
        let other = self.by_object.insert(object, id);
        assert!(
            before.is_none_or(|it| it == object) && other.is_none_or(|it| it == id),
            "object {id} was seen as {before:?} and as {object:?}, which was seen as object {other:?}"
        );
        if before.is_none() && reachable {
            self.open.push(id);
        }
    }
}

/// An object's address, by which the API tells objects apart.
fn address(object: &Object) -> usize {
    (&raw const *object).addr()
}

/// Compares everything reachable through the API; settles doubts.
pub fn check_objects<'m>(
    model: &mut Model,
    root: impl Fn(RootPlace) -> &'m Object,
    weak_handle: impl Fn(usize) -> Option<&'m Object>,
) {
    let reach = model.reach();
    let mut pairs = Pairs::new();
    let mut objects: HashMap<Id, &'m Object> = HashMap::new();
    for (place, id) in model.roots().collect::<Vec<_>>() {
        let object = root(place);
        pairs.pair(id, address(object), true);
        objects.insert(id, object);
    }
    let mut maps = Vec::new();
    loop {
        while let Some(id) = pairs.open.pop() {
            let object = objects[&id];
            let expected = &mut model.objects[id];
            check_data(id, expected, object);
            if expected.new == New::Map {
                maps.push(id);
            }
            let slots = access::strong_slots(object);
            assert_eq!(slots.len(), expected.slots.len(), "slots of object {id}");
            for (i, (slot, target)) in slots.iter().zip(&expected.slots).enumerate() {
                match (slot.get(), target) {
                    (Some(object), &Some(target)) => {
                        pairs.pair(target, address(object), true);
                        objects.insert(target, object);
                    }
                    (None, None) => {}
                    (found, target) => {
                        panic!("slot {i} of object {id} is {found:?}, not object {target:?}")
                    }
                }
            }
        }
        for &id in &maps {
            check_entries(id, model, &mut objects, &mut pairs);
        }
        if pairs.open.is_empty() {
            break;
        }
    }
    for &id in &reach.order {
        let Some(object) = objects.get(&id) else {
            // Only a map entry whose removal is now certain led there.
            continue;
        };
        if let Some(slot) = access::weak_slot(object) {
            let edge = &mut model.objects[id].weak;
            settle(edge, slot.get(), &mut pairs, &|| {
                format!("weak slot of object {id}")
            });
        }
    }
    for i in 0..model.weak_handles.len() {
        let edge = &mut model.weak_handles[i];
        settle(edge, weak_handle(i), &mut pairs, &|| {
            format!("weak handle {i}")
        });
    }
    for &id in &maps {
        check_dead_entries(id, model, &objects);
    }
}

/// Settles a weak reference by what was found in its place.
fn settle(
    edge: &mut crate::model::WeakEdge,
    found: Option<&Object>,
    pairs: &mut Pairs<usize>,
    what: &dyn Fn() -> String,
) {
    match (found, edge.target) {
        (Some(object), Some(target)) => {
            pairs.pair(target, address(object), false);
            edge.doubt = false;
        }
        (None, Some(target)) => {
            assert!(edge.doubt, "{} has lost object {target}", what());
            *edge = Default::default();
        }
        (None, None) => {}
        (Some(object), None) => panic!("{} is {object:?}, not null", what()),
    }
}

/// The name that a class was defined with. Each thread defines classes of its own, and the names of
/// dynamic classes are told apart by numbers.
fn as_defined(name: &str) -> &str {
    name.split_once('~').map_or(name, |(name, _)| name)
}

/// Compares what an object holds beside references.
fn check_data(id: Id, expected: &crate::model::ModelObject, object: &Object) {
    let name = as_defined(&object.class().name);
    assert_eq!(name, expected.class(), "class of {id}");
    if let Some(value) = access::value(object) {
        assert_eq!(value, expected.value, "value of {id}");
    }
    assert_eq!(access::bytes(object), expected.bytes, "bytes of {id}");
    if let Some(hash) = expected.hash {
        assert_eq!(object.identity_hash(), hash, "identity hash of {id}");
    }
    assert!(!expected.dropped, "object {id} was dropped, but is alive");
}

/// Compares the entries whose keys have been met.
fn check_entries(
    id: Id,
    model: &mut Model,
    objects: &mut HashMap<Id, &Object>,
    pairs: &mut Pairs<usize>,
) {
    let map = access::map(objects[&id]).expect("the class was compared");
    model.objects[id].entries.retain_mut(|entry| {
        let Some(&key) = objects.get(&entry.key) else {
            return true;
        };
        match map.get(key) {
            Some(value) => {
                entry.doubt = false;
                pairs.pair(entry.value, address(value), true);
                objects.insert(entry.value, value);
                true
            }
            None => {
                let (key, doubt) = (entry.key, entry.doubt);
                assert!(doubt, "map {id} has lost the entry of {key}");
                false
            }
        }
    });
}

/// Counts the entries whose keys are unreachable and have not been removed yet.
fn check_dead_entries(id: Id, model: &Model, objects: &HashMap<Id, &Object>) {
    let map = access::map(objects[&id]).expect("the class was compared");
    let live: std::collections::HashSet<usize> = objects.values().map(|it| address(it)).collect();
    let (mut found, mut found_live) = (0, 0);
    map.for_each(|key, _| match live.contains(&address(key)) {
        true => found_live += 1,
        false => found += 1,
    });
    let entries = &model.objects[id].entries;
    let dead = entries.iter().filter(|it| !objects.contains_key(&it.key));
    assert_eq!(
        found_live,
        entries.len() - dead.clone().count(),
        "entries of map {id} with reachable keys"
    );
    let most = dead.clone().count();
    let least = dead.filter(|it| !it.doubt).count();
    assert!(
        (least..=most).contains(&found),
        "map {id} has {found} entries with unreachable keys, not {least} to {most}"
    );
}

/// Roots that belong to the program under test, among those of the heap.
pub struct Names<'n> {
    /// The mutator's name.
    pub thread: &'n str,
    /// The statics' names.
    pub statics: &'n [String],
    /// Whether the program has the heap for itself.
    pub alone: bool,
}

/// Compares everything reachable as the stopped view shows it. Call after
/// [`check_objects`], which leaves no doubts but those that other threads cause.
pub fn check_view<V>(model: &Model, view: &V, names: &Names<'_>)
where
    V: HeapView<Object: std::fmt::Debug>,
{
    let mut pairs = Pairs::new();
    for (id, object) in view_roots(model, view, names) {
        pairs.pair(id, object, true);
    }
    let mut maps = Vec::new();
    loop {
        while let Some(id) = pairs.open.pop() {
            let object = pairs.by_id[&id];
            check_plain_values(id, model, view, object);
            if model.objects[id].new == New::Map {
                maps.push(id);
            } else {
                check_edges(id, model, view, &mut pairs);
            }
        }
        for &id in &maps {
            let entries = view_entries(view, pairs.by_id[&id]);
            for entry in &model.objects[id].entries {
                if let Some(key) = pairs.by_id.get(&entry.key)
                    && let Some(&value) = entries.get(key)
                {
                    pairs.pair(entry.value, value, true);
                }
            }
        }
        if pairs.open.is_empty() {
            break;
        }
    }
    if names.alone {
        check_census(model, view);
    }
}

/// The roots of the model, paired with those of the view.
fn view_roots<V: HeapView>(model: &Model, view: &V, names: &Names<'_>) -> Vec<(Id, V::Object)> {
    let (mut statics, mut locals, mut thread) = (BTreeMap::new(), Vec::new(), None);
    let (mut handles, mut pins, mut others) = (Vec::new(), Vec::new(), 0);
    view.for_each_root(|root, object| {
        // The kinds are told apart by how roots are written.
        let text = root.to_string();
        if let Some(name) = text.strip_prefix("static:") {
            statics.insert(name.to_string(), object);
        } else if text.starts_with("thread-object:") {
            if root.name == names.thread {
                thread = Some(object);
            }
        } else if text.starts_with("thread:") {
            if root.name == names.thread {
                locals.push((root.index, object));
            }
        } else if text.starts_with("handle:") && root.name.starts_with("pin ") {
            pins.push((root.index, object));
        } else if text.starts_with("handle:") {
            handles.push((root.index, object));
        } else {
            others += 1;
        }
    });
    let mut paired = Vec::new();
    let mut list = |what: &str, ids: &[Id], mut objects: Vec<(u32, V::Object)>| {
        objects.sort();
        assert_eq!(ids.len(), objects.len(), "{what} of the view");
        let objects = objects.into_iter().map(|(_, object)| object);
        paired.extend(ids.iter().copied().zip(objects));
    };
    list("locals", &model.locals, locals);
    if names.alone {
        assert_eq!(others, 0, "nothing waits for a finalizer");
        list("handles", &model.handles, handles);
        list("pins", &model.pins, pins);
    }
    assert_eq!(thread.is_some(), model.thread_object.is_some());
    paired.extend(model.thread_object.zip(thread));
    for (name, id) in names.statics.iter().zip(&model.statics) {
        let object = statics.get(name).copied();
        assert_eq!(object.is_some(), id.is_some(), "static {name}");
        paired.extend(id.zip(object));
    }
    paired
}

/// Compares the slots of an object that is not a map.
fn check_edges<V: HeapView<Object: std::fmt::Debug>>(
    id: Id,
    model: &Model,
    view: &V,
    pairs: &mut Pairs<V::Object>,
) {
    let mut found = Vec::new();
    view.for_each_edge(pairs.by_id[&id], |place, strength, to| {
        found.push((place, strength, to));
    });
    assert!(
        found.is_sorted_by_key(|edge| edge.0),
        "edges in the order of slots"
    );
    let class = view.class(view.class_of(pairs.by_id[&id]));
    let slot_of = |place| match place {
        Place::Element(i) => i as usize,
        Place::Field(field) => {
            let before = &class.fields[..field as usize];
            before.iter().filter(|it| it.kind.is_slot()).count()
        }
    };
    check_reads(view, pairs.by_id[&id], &found);
    let expected = &model.objects[id];
    let mut strong = BTreeMap::new();
    let mut weak = None;
    for (place, strength, to) in found {
        match strength {
            Strength::Strong => assert!(strong.insert(slot_of(place), to).is_none()),
            Strength::Weak => weak = Some(to),
            Strength::Dependent => panic!("object {id} is no map"),
        }
    }
    for (i, target) in expected.slots.iter().enumerate() {
        match (strong.remove(&i), target) {
            (Some(object), &Some(target)) => pairs.pair(target, object, true),
            (None, None) => {}
            other => panic!("slot {i} of object {id} in the view: {other:?}"),
        }
    }
    assert!(strong.is_empty(), "object {id} has more slots in the view");
    match (weak, expected.weak.target) {
        (Some(object), Some(target)) => pairs.pair(target, object, model.reach().contains(target)),
        (None, None) => {}
        (None, Some(_)) if expected.weak.doubt => {}
        other => panic!("weak slot of object {id} in the view: {other:?}"),
    }
}

/// Reading one slot at a time finds what reading all edges finds.
fn check_reads<V: HeapView<Object: std::fmt::Debug>>(
    view: &V,
    object: V::Object,
    edges: &[(Place, Strength, V::Object)],
) {
    let at = |place| {
        let edge = edges.iter().find(|edge| edge.0 == place);
        edge.map(|edge| edge.2)
    };
    let fields = view.class(view.class_of(object)).fields.len();
    for i in 0..fields + 2 {
        assert_eq!(view.slot(object, i), at(Place::Field(i as u32)));
    }
    for i in 0..view.length_of(object).unwrap_or(0) + 2 {
        assert_eq!(view.element(object, i), at(Place::Element(i as u32)));
    }
}

/// Compares plain fields by name.
fn check_plain_values<V: HeapView>(id: Id, model: &Model, view: &V, object: V::Object) {
    let class = view.class(view.class_of(object));
    let expected = &model.objects[id];
    let name = as_defined(&class.name);
    assert_eq!(name, expected.class(), "class of {id} in the view");
    for (i, field) in class.fields.iter().enumerate() {
        let found = view.plain_value(object, i);
        assert_eq!(
            found.is_some(),
            matches!(field.kind, FieldKind::Plain(_)),
            "{} of {id}",
            field.name
        );
        match field.name.as_str() {
            "value" | "n" => assert_eq!(found, Some(Value::Unsigned(expected.value))),
            "m" => assert_eq!(found, Some(Value::Signed(-3))),
            _ => {}
        }
    }
}

/// The entries of a weak map, found by following the map's own objects.
fn view_entries<V: HeapView>(view: &V, map: V::Object) -> HashMap<V::Object, V::Object> {
    let edges = |object| {
        let mut all = Vec::new();
        view.for_each_edge(object, |_, strength, to| all.push((strength, to)));
        all
    };
    let mut entries = HashMap::new();
    let buckets = edges(map).into_iter().flat_map(|(_, array)| edges(array));
    let mut open: Vec<V::Object> = buckets.map(|(_, entry)| entry).collect();
    while let Some(entry) = open.pop() {
        let (mut key, mut value) = (None, None);
        for (strength, to) in edges(entry) {
            match strength {
                Strength::Weak => key = Some(to),
                Strength::Dependent => value = Some(to),
                Strength::Strong => open.push(to),
            }
        }
        entries.extend(key.zip(value));
    }
    entries
}

/// As many live objects of each class as there should be.
fn check_census<V: HeapView>(model: &Model, view: &V) {
    let mut expected: BTreeMap<&str, usize> = BTreeMap::new();
    for &id in &model.reach().order {
        *expected.entry(model.objects[id].class()).or_default() += 1;
    }
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    for object in live_objects(view) {
        let name = view.class(view.class_of(object)).name.as_str();
        // A map's own objects are its own affair.
        if !name.starts_with("WeakMapEntry<") {
            *found.entry(name).or_default() += 1;
        }
    }
    assert_eq!(found, expected, "live objects by class");
}
