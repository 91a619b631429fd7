//! Numbers in boxes: an object each, where a plain field or array would do.

use std::collections::HashSet;

use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::view::HeapView;

use super::{Draft, bytes_of};
use crate::dominator::Dominators;

/// The classes of boxes, of the JVM and of V8.
const BOXES: [&str; 9] = [
    "java.lang.Boolean",
    "java.lang.Byte",
    "java.lang.Character",
    "java.lang.Double",
    "java.lang.Float",
    "java.lang.Integer",
    "java.lang.Long",
    "java.lang.Short",
    "(heap number)",
];

/// Finds boxes by class.
pub fn find(heap: &Snapshot, dominators: &Dominators) -> Draft {
    let mut draft = Draft::new("boxed-numbers", "boxed numbers");
    let mut members: Vec<Vec<ObjectId>> = vec![Vec::new(); heap.classes().len()];
    let is_box: Vec<bool> = heap
        .classes()
        .iter()
        .map(|class| BOXES.contains(&class.name.as_str()))
        .collect();
    if !is_box.contains(&true) {
        return draft;
    }
    for object in dominators.objects() {
        let class = heap.class_of(object).0 as usize - 1;
        if is_box[class] {
            members[class].push(object);
        }
    }
    for (class, objects) in heap.classes().iter().zip(members) {
        if objects.is_empty() {
            continue;
        }
        let value = class.fields.iter().position(|it| it.name == "value");
        let bits = |it: &ObjectId| heap.plain_bits(*it, value?);
        let values: Option<HashSet<u64>> = objects.iter().map(bits).collect();
        let what = match values {
            Some(values) => format!("{} ({} values)", class.name, values.len()),
            None => class.name.clone(),
        };
        let bytes = bytes_of(heap, &objects);
        draft.add(what, bytes, objects.len(), objects);
    }
    draft
}
