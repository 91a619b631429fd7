//! Summaries: a heap as its classes and the slots between them.
//!
//! The **class field-wise summary graph** says how many references of each slot lead to objects
//! of each class. The **class points-from graph** says the same without the slots: for a
//! reference from o to o′ there is an edge from the class of o′ to the class of o, which
//! weighs as much as o′. The first contains the second, so that a collector counts once: a
//! [`Summary`] is the field-wise graph, and [`Summary::points_from`] adds up its slots.
//!
//! Only edges that retain are counted; roots are counted apart.
//!
//! Elsewhere: counting (`count.rs`), counting in a view (`view.rs`), what has changed
//! (`difference.rs`), the degrees of objects in recursive structures ([`crate::shape`]).

mod count;
mod difference;
mod view;

use heaphound_heap::ClassId;

pub use count::Counters;
pub use difference::Difference;
pub(crate) use view::{live, on_threads};
pub use view::{summarize, summarize_on};

use crate::slot::{SlotId, SlotIds};

/// A heap, class by class and slot by slot.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// By class id; the first stands for no class.
    classes: Vec<ClassTotal>,
    /// Ordered by slot, then by target; each pair once.
    edges: Vec<SlotEdge>,
}

/// The totals of a class: a node of both graphs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClassTotal {
    /// Live objects.
    pub objects: u64,
    /// Their volume.
    pub volume_bytes: u64,
    /// References to them from roots.
    pub roots: u64,
}

/// An edge of the field-wise graph: what a slot of a class leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotEdge {
    /// The slot, and with it the class of the sources.
    pub slot: SlotId,
    /// The class of the targets.
    pub to: ClassId,
    /// How many references there are.
    pub references: u64,
    /// What they lead to, in bytes: an object counts once for each of them.
    pub volume_bytes: u64,
}

/// An edge of the points-from graph: objects of a class, and a class that refers to them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PointsFrom {
    /// The class of the targets, where the edge starts.
    pub class: ClassId,
    /// The class that points to them.
    pub from: ClassId,
    /// How many references there are.
    pub references: u64,
    /// What they lead to, in bytes: an object counts once for each of them.
    pub volume_bytes: u64,
}

impl Summary {
    /// Returns the summary of these counts. `classes` is by class id, from 0, which stands for
    /// no class. Edges with the same slot and target are added up.
    pub fn new(mut classes: Vec<ClassTotal>, mut edges: Vec<SlotEdge>) -> Self {
        edges.sort_unstable_by_key(|edge| (edge.slot, edge.to));
        edges.dedup_by(|again, kept| {
            let same = (again.slot, again.to) == (kept.slot, kept.to);
            if same {
                kept.references += again.references;
                kept.volume_bytes = kept.volume_bytes.saturating_add(again.volume_bytes);
            }
            same
        });
        // Edges from no slot are roots.
        let roots = edges.partition_point(|edge| edge.slot == SlotId::ROOT);
        for edge in edges.drain(..roots) {
            let at = edge.to.0 as usize;
            classes.resize(classes.len().max(at + 1), ClassTotal::default());
            classes[at].roots += edge.references;
        }
        let used = |total: &ClassTotal| *total != ClassTotal::default();
        // As many rows as there are classes in use, however many workers counted.
        classes.truncate(classes.iter().rposition(used).map_or(0, |last| last + 1));
        edges.shrink_to_fit();
        classes.shrink_to_fit();
        Self { classes, edges }
    }

    /// Returns the totals of a class.
    pub fn class(&self, class: ClassId) -> ClassTotal {
        let found = self.classes.get(class.0 as usize);
        found.copied().unwrap_or_default()
    }

    /// Returns the classes that have live objects, in the order of their ids.
    pub fn classes(&self) -> impl Iterator<Item = (ClassId, ClassTotal)> + '_ {
        let all = self.classes.iter().enumerate();
        let live = all.filter(|(_, total)| total.objects > 0);
        live.map(|(id, total)| (ClassId(id as u32), *total))
    }

    /// Returns the edges of the field-wise graph, by slot, then by target.
    pub fn edges(&self) -> &[SlotEdge] {
        &self.edges
    }

    /// Returns the edges that leave a slot, by target.
    pub fn edges_of(&self, slot: SlotId) -> &[SlotEdge] {
        let start = self.edges.partition_point(|edge| edge.slot < slot);
        let rest = &self.edges[start..];
        &rest[..rest.partition_point(|edge| edge.slot == slot)]
    }

    /// Returns the edges of the points-from graph, by class, then by the class that points to
    /// it.
    pub fn points_from(&self, ids: &SlotIds) -> Vec<PointsFrom> {
        let edge = |edge: &SlotEdge| {
            Some(PointsFrom {
                class: edge.to,
                from: ids.class_of(edge.slot)?,
                references: edge.references,
                volume_bytes: edge.volume_bytes,
            })
        };
        let mut edges: Vec<PointsFrom> = self.edges.iter().filter_map(edge).collect();
        edges.sort_by_key(|edge| (edge.class, edge.from));
        edges.dedup_by(|again, kept| {
            let same = (again.class, again.from) == (kept.class, kept.from);
            if same {
                kept.references += again.references;
                kept.volume_bytes = kept.volume_bytes.saturating_add(again.volume_bytes);
            }
            same
        });
        edges
    }

    /// Returns the number of live objects of all classes.
    pub fn objects(&self) -> u64 {
        self.classes.iter().map(|total| total.objects).sum()
    }

    /// Returns the volume of all classes.
    pub fn volume_bytes(&self) -> u64 {
        let volumes = self.classes.iter().map(|total| total.volume_bytes);
        volumes.fold(0, u64::saturating_add)
    }

    /// Returns the bytes of memory that the summary takes.
    pub fn memory_bytes(&self) -> usize {
        self.classes.capacity() * size_of::<ClassTotal>()
            + self.edges.capacity() * size_of::<SlotEdge>()
    }
}
