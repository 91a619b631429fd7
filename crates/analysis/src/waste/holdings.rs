//! What thread locals and class loaders of a JVM hold.

use std::collections::HashMap;

use heaphound_heap::class::with_subclasses;
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::view::HeapView;

use super::Draft;
use crate::dominator::Dominators;

/// Finds the values of thread locals, by class. What the entry of each retains is held.
pub fn thread_locals(heap: &Snapshot, dominators: &Dominators) -> Draft {
    let mut draft = Draft::new("thread-locals", "held by thread locals");
    let named = |class: &str| heap.classes().iter().find(|it| it.name == class);
    let Some(entry) = named("java.lang.ThreadLocal$ThreadLocalMap$Entry") else {
        return draft;
    };
    let place = |name: &str| entry.fields.iter().position(|it| it.name == name);
    let (Some(value), referent) = (place("value"), place("referent")) else {
        return draft;
    };
    let mut by_class: HashMap<String, (u64, Vec<ObjectId>)> = HashMap::new();
    for object in dominators.objects() {
        if heap.class_of(object) != entry.id {
            continue;
        }
        let Some(held) = heap.slot(object, value) else {
            continue;
        };
        let class = &heap.class(heap.class_of(held)).name;
        // The thread local itself is gone: nobody can ask for the value any more.
        let is_stale = referent.is_some_and(|it| heap.slot(object, it).is_none());
        let what = match is_stale {
            true => format!("{class} (its thread local is gone)"),
            false => class.clone(),
        };
        let (bytes, objects) = by_class.entry(what).or_default();
        *bytes = bytes.saturating_add(dominators.retained_bytes(object));
        objects.push(object);
    }
    for (what, (bytes, objects)) in by_class {
        draft.add(what, bytes, objects.len(), objects);
    }
    draft
}

/// Finds class loaders, by class, with what they retain. Statics are roots of their own, and do not count.
pub fn class_loaders(heap: &Snapshot, dominators: &Dominators) -> Draft {
    let mut draft = Draft::new("class-loaders", "held by class loaders");
    let loader = heap
        .classes()
        .iter()
        .find(|it| it.name == "java.lang.ClassLoader");
    let Some(loader) = loader else {
        return draft;
    };
    let mut is_loader = vec![false; heap.classes().len()];
    for class in with_subclasses(heap.classes(), &[loader.id]) {
        is_loader[class.0 as usize - 1] = true;
    }
    let mut by_class: HashMap<&str, (u64, Vec<ObjectId>)> = HashMap::new();
    for object in dominators.objects() {
        let class = heap.class_of(object);
        if is_loader[class.0 as usize - 1] {
            let (bytes, objects) = by_class.entry(&heap.class(class).name).or_default();
            *bytes = bytes.saturating_add(dominators.retained_bytes(object));
            objects.push(object);
        }
    }
    for (what, (bytes, objects)) in by_class {
        draft.add(what.into(), bytes, objects.len(), objects);
    }
    draft
}
