//! Rules that the command has with it: `--rules NAME` where no file has that name.
//!
//! They are files in `crates/cli/rules`. A new one needs a line here.

use std::path::Path;

use heaphound_heap::snapshot::Snapshot;
use heaphound_heap::view::HeapView;

/// Rules that are built in.
pub struct BuiltIn {
    name: &'static str,
    pub text: &'static str,
    /// The heaps that they are about.
    pub about: &'static str,
    /// A class that is above others in each of those, and in no other.
    class: &'static str,
}

const RULES: &[BuiltIn] = &[
    BuiltIn {
        name: "jdk",
        text: include_str!("../rules/jdk.deal"),
        about: "the heap of a JVM",
        class: "java.lang.Object",
    },
    BuiltIn {
        name: "node",
        text: include_str!("../rules/node.deal"),
        about: "the heap of V8",
        class: "(system)",
    },
];

/// Returns the names of all.
pub fn names() -> Vec<&'static str> {
    RULES.iter().map(|it| it.name).collect()
}

/// Returns the rules of that name, unless there is a file that has it.
pub fn rules(name: &Path) -> Option<&'static BuiltIn> {
    let found = RULES.iter().find(|it| Path::new(it.name) == name)?;
    (!name.exists()).then_some(found)
}

impl BuiltIn {
    /// Returns whether a heap is one that the rules are about. On another they would hold, for it has nothing of what
    /// they speak of.
    pub fn fit(&self, heap: &Snapshot) -> bool {
        let above = heap.classes().iter().flat_map(|it| it.supertypes());
        let mut above = above.map(|it| heap.class(it));
        above.any(|it| it.name == self.class)
    }
}
