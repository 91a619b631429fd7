//! Collections with nothing in them, and arrays behind them that are mostly null.
//!
//! Classes of the JDK's collections are known by name, with the slot behind which they have their elements; a subclass
//! is one, too. What a collection holds is counted by edges, so that no plain data is needed. Any other
//! array of references, as on our own heap, is looked at by itself.

use std::collections::{HashMap, HashSet};

use heaphound_heap::class::Elements;
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::view::HeapView;
use heaphound_heap::{ClassId, ClassInfo};

use super::{Draft, bytes_of};
use crate::dominator::Dominators;

/// A collection's class, and the slot behind which its elements are: an array, the first of linked nodes, or another
/// collection.
const COLLECTIONS: [(&str, &str); 21] = [
    ("java.util.ArrayList", "elementData"),
    ("java.util.Vector", "elementData"),
    ("java.util.HashMap", "table"),
    ("java.util.HashSet", "map"),
    ("java.util.Hashtable", "table"),
    // A hash table by name only: it has a map inside.
    ("java.util.Properties", "map"),
    ("java.util.IdentityHashMap", "table"),
    ("java.util.WeakHashMap", "table"),
    ("java.util.LinkedList", "first"),
    ("java.util.TreeMap", "root"),
    ("java.util.TreeSet", "m"),
    ("java.util.ArrayDeque", "elements"),
    ("java.util.PriorityQueue", "queue"),
    ("java.util.EnumMap", "vals"),
    ("java.util.Collections$SynchronizedMap", "m"),
    ("java.util.concurrent.ConcurrentHashMap", "table"),
    ("java.util.concurrent.CopyOnWriteArrayList", "array"),
    ("java.util.concurrent.CopyOnWriteArraySet", "al"),
    ("java.util.concurrent.ArrayBlockingQueue", "items"),
    ("java.util.concurrent.PriorityBlockingQueue", "queue"),
    ("java.lang.ThreadLocal$ThreadLocalMap", "table"),
];

/// Which classes are collections, and the slot of each.
struct Collections {
    slots: HashMap<ClassId, u32>,
}

impl Collections {
    fn of(heap: &Snapshot) -> Self {
        let classes = heap.classes();
        let slot = |class: &ClassInfo| {
            // The class itself or the nearest above that is known.
            let mut at = Some(class);
            let slot = std::iter::from_fn(|| {
                let class = at?;
                at = class.superclass.map(|it| &classes[it.0 as usize - 1]);
                Some(class)
            })
            .find_map(|it| COLLECTIONS.iter().find(|(name, _)| *name == it.name))?
            .1;
            let place = class.fields.iter().position(|it| it.name == slot)?;
            Some((class.id, place as u32))
        };
        Self {
            slots: classes.iter().filter_map(slot).collect(),
        }
    }

    /// What a collection has its elements behind, if it is one: none if it has nothing there.
    fn inside(&self, heap: &Snapshot, object: ObjectId) -> Option<Option<ObjectId>> {
        let slot = *self.slots.get(&heap.class_of(object))?;
        Some(heap.slot(object, slot as usize))
    }

    /// Whether a collection has no elements.
    fn is_empty(&self, heap: &Snapshot, object: ObjectId) -> Option<bool> {
        // A set is a map inside, and hardly more; no chain of them is as long as this.
        let mut at = object;
        for _ in 0..4 {
            let Some(inside) = self.inside(heap, at)? else {
                return Some(true);
            };
            if heap.class(heap.class_of(inside)).elements == Some(Elements::Refs) {
                return Some(holds(heap, inside) == 0);
            }
            if !self.slots.contains_key(&heap.class_of(inside)) {
                return Some(false);
            }
            at = inside;
        }
        Some(false)
    }
}

/// How many elements of an array of references are not null.
fn holds(heap: &Snapshot, array: ObjectId) -> usize {
    let mut count = 0;
    heap.for_each_edge(array, |_, _, _| count += 1);
    count + heap.cut_of(array).count()
}

/// Finds collections without elements, by class. What each retains is wasted: itself, and an array of nulls.
pub fn empty(heap: &Snapshot, dominators: &Dominators) -> Draft {
    let mut draft = Draft::new("empty-collections", "empty collections");
    let collections = Collections::of(heap);
    if collections.slots.is_empty() {
        return draft;
    }
    let mut by_class: HashMap<ClassId, Vec<ObjectId>> = HashMap::new();
    // The map inside an empty set is retained by the set, and counted there.
    let mut inner: HashSet<ObjectId> = HashSet::new();
    for object in dominators.objects() {
        if collections.is_empty(heap, object) == Some(true) {
            let inside = collections.inside(heap, object).flatten();
            inner.extend(inside.filter(|it| dominators.dominator(*it) == Some(object)));
            by_class
                .entry(heap.class_of(object))
                .or_default()
                .push(object);
        }
    }
    for objects in by_class.values_mut() {
        objects.retain(|it| !inner.contains(it));
    }
    by_class.retain(|_, objects| !objects.is_empty());
    for (class, objects) in by_class {
        let retained = objects.iter().map(|it| dominators.retained_bytes(*it));
        let bytes = retained.fold(0, u64::saturating_add);
        draft.add(
            heap.class(class).name.clone(),
            bytes,
            objects.len(),
            objects,
        );
    }
    draft
}

/// Arrays with fewer elements than one in this many are sparse.
const SPARSE: usize = 4;
/// Shorter arrays are what collections begin with.
const LEAST_LENGTH: usize = 16;

/// Finds arrays of references with few elements, by the class of the collection that has them, or their own. What
/// nulls take is wasted.
pub fn sparse(heap: &Snapshot, dominators: &Dominators) -> Draft {
    let mut draft = Draft::new(
        "sparse-collections",
        "arrays and collections that are mostly null",
    );
    let collections = Collections::of(heap);
    // Which collection has an array, where one has.
    let mut owner: HashMap<ObjectId, ClassId> = HashMap::new();
    for object in dominators.objects() {
        if let Some(Some(inside)) = collections.inside(heap, object) {
            owner.insert(inside, heap.class_of(object));
        }
    }
    let mut by_class: HashMap<(ClassId, bool), (u64, Vec<ObjectId>)> = HashMap::new();
    for object in dominators.objects() {
        let class = heap.class(heap.class_of(object));
        let Some(length) = heap.length_of(object).filter(|&it| it >= LEAST_LENGTH) else {
            continue;
        };
        if class.elements != Some(Elements::Refs) {
            continue;
        }
        let held = holds(heap, object);
        // One without any is empty, or an array of nulls.
        if held == 0 || held * SPARSE > length {
            continue;
        }
        // References take what is left without a header, which no array has more than 24 bytes of.
        let bytes = heap.bytes_of(object) as u64;
        let each = match bytes.saturating_sub(24) / length as u64 {
            0..8 => 4,
            _ => 8,
        };
        let wasted = (each * (length - held) as u64).min(bytes);
        let key = match owner.get(&object) {
            Some(&class) => (class, true),
            None => (class.id, false),
        };
        let (sum, objects) = by_class.entry(key).or_default();
        *sum = sum.saturating_add(wasted);
        objects.push(object);
    }
    for ((class, is_collection), (wasted, objects)) in by_class {
        let name = &heap.class(class).name;
        let what = match is_collection {
            true => format!("{name} (its array)"),
            false => name.clone(),
        };
        debug_assert!(wasted <= bytes_of(heap, &objects));
        draft.add(what, wasted, objects.len(), objects);
    }
    draft
}
