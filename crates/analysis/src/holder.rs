//! Through what a program holds an object: its own field, not that of a library's container.
//!
//! A path to what fills a cache ends in the nodes of a map. What a person has written, and can change, is
//! the field or static that refers to the map. It is the last step of the path that does not start in a
//! library or in an array.

use heaphound_heap::RootKind;
use heaphound_heap::class::short_name;
use heaphound_heap::path::Trail;
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::view::{HeapView, Place};

/// A slot of a class, or a root.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Holder(String);

impl std::fmt::Display for Holder {
    /// `static:Cache.entries`, `Registry.sessions`
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Names of classes that belong to a runtime's library begin with one of these.
const LIBRARIES: [&str; 9] = [
    "java.",
    "javax.",
    "jdk.",
    "sun.",
    "com.sun.",
    "kotlin.",
    "scala.collection.",
    "std::",
    "alloc::",
];

/// Names of classes that JavaScript's runtime has itself.
const BUILT_IN: [&str; 6] = ["Array", "Map", "Set", "WeakMap", "WeakSet", "Object"];

/// Returns whether a class belongs to a runtime's library, as far as its name tells.
pub fn is_library(class: &str) -> bool {
    let is_internal = class.starts_with('(') || class.starts_with("system / ");
    is_internal || BUILT_IN.contains(&class) || LIBRARIES.iter().any(|it| class.starts_with(it))
}

/// Returns through what the program holds the last object of a path.
pub fn holder_of(heap: &Snapshot, trail: &Trail<ObjectId>) -> Option<Holder> {
    let steps = trail.objects.iter().zip(&trail.places).rev();
    for (&from, &place) in steps {
        let class = heap.class(heap.class_of(from));
        if let Place::Field(_) = place
            && !is_library(&class.name)
        {
            let slot = heap.slot_name(from, place);
            return Some(Holder(format!("{}{slot}", short_name(&class.name))));
        }
    }
    let root = trail.root.as_ref()?;
    // A static is a field; what else a root is called does not help to find it.
    matches!(
        root.kind,
        RootKind::Static | RootKind::ThreadStack | RootKind::ThreadObject
    )
    .then(|| Holder(root.short()))
}
