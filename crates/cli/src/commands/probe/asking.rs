//! The heap that a question is put to, and wording that several answers share.

use heaphound_heap::finding::Evidence;
use heaphound_heap::path::{Search, Trail, named};
use heaphound_heap::probe::Probes;
use heaphound_heap::root::{Part, RootSet};
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::{Root, RootKind};

use crate::names::Names;

/// An answer shows at most this many paths.
pub const MOST_PATHS: usize = 5;

/// A heap, and who asks.
pub struct Asking<'h> {
    pub heap: &'h Snapshot,
    pub names: Names<'h>,
    pub probes: Probes<'h, Snapshot>,
    /// How many members of a set are listed.
    pub limit: usize,
}

impl Asking<'_> {
    /// Returns the thread that asks.
    pub fn asker(&self) -> Option<&str> {
        self.probes.asker()
    }

    pub fn name(&self, object: ObjectId) -> String {
        named(self.heap, object).to_string()
    }

    pub fn names_of(&self, objects: &[ObjectId]) -> String {
        let names: Vec<String> = objects.iter().map(|it| self.name(*it)).collect();
        names.join(", ")
    }

    /// Returns ` around A, B`, or nothing if there is nothing to avoid.
    pub fn around(&self, avoid: &[ObjectId]) -> String {
        match avoid {
            [] => String::new(),
            _ => format!(" around {}", self.names_of(avoid)),
        }
    }

    /// Says how many reachable objects refer to an object.
    pub fn referrers(&self, count: usize, object: ObjectId) -> String {
        let name = self.name(object);
        match count {
            0 => format!("no reachable object refers to {name}"),
            1 => format!("1 reachable object refers to {name}"),
            n => format!("{n} reachable objects refer to {name}"),
        }
    }

    /// Returns a path that says how an object is reached.
    pub fn way(&self, trail: &Trail<ObjectId>) -> Evidence {
        Evidence::way(trail.describe(self.heap))
    }

    /// Returns a path that shows what a text says.
    pub fn show(&self, label: impl Into<String>, trail: &Trail<ObjectId>) -> Evidence {
        Evidence::labelled(label, trail.describe(self.heap))
    }

    /// Returns the roots whose paths count: all but the stack of the asking thread.
    pub fn others(&self) -> RootSet<'_> {
        match self.asker() {
            Some(asker) => RootSet::AllBut(asker, Part::Stack),
            None => RootSet::All,
        }
    }

    /// Returns a note for each object that is garbage. Without it, an answer about garbage is
    /// easily misread.
    pub fn garbage_notes(&self, objects: &[ObjectId]) -> Vec<String> {
        let found = self.probes.paths_to_each(&Search::everywhere(), objects);
        let pairs = objects.iter().zip(found);
        let garbage = pairs.filter(|(_, trail)| trail.is_none());
        let waits = |(root, _): &(Root, ObjectId)| root.kind == RootKind::Finalizer;
        let aside = match self.heap.roots().iter().any(waits) {
            true => " (finalizers' do not count)",
            false => "",
        };
        let note = |object| {
            format!(
                "{} is garbage: no root reaches it{aside}",
                self.name(object)
            )
        };
        let mut notes: Vec<String> = garbage.map(|(object, _)| note(*object)).collect();
        notes.dedup();
        notes
    }
}
