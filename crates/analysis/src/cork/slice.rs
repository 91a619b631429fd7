//! Slices: from a class that grows, along edges that grow, to what holds the growth.
//!
//! A slice is the set of all paths through the points-from graph that start at the class and
//! whose edges have a positive rank. It leads through containers whose own volume jitters
//! (`Object[]`), because an edge weighs as much as what it leads to.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use heaphound_heap::ClassId;

use crate::slot::SlotIds;
use crate::summary::{PointsFrom, SlotEdge, Summary};

/// The growing edges that lead away from a class, against the direction of references.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Slice {
    /// In the order in which a search from the class meets them.
    pub edges: Vec<SliceEdge>,
    /// The one way along the strongest growing edges, and on through classes that have
    /// only one holder, which need not grow. A recursive structure is gone through once.
    pub chain: Vec<SliceEdge>,
    /// Where the way ends: the classes that hold its last one, if there are several. They do
    /// not grow, and only objects show which of them is the cause ([`sample`](super::sample)).
    pub holders: Vec<SliceEdge>,
    /// Whether `edges` are all.
    pub complete: bool,
}

/// An edge of a slice.
#[derive(Clone, PartialEq, Debug)]
pub struct SliceEdge {
    /// The class of the targets.
    pub class: ClassId,
    /// The class that points to them.
    pub from: ClassId,
    /// The slots through which it does, largest volume first.
    pub slots: Vec<SlotEdge>,
    /// How many references there are.
    pub references: u64,
    /// What they lead to, in bytes.
    pub volume_bytes: u64,
    /// How likely it grows without end; 0 for a holder that does not grow.
    pub rank: f64,
}

/// An edge of a slice by names, for a picture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedEdge {
    /// The class that points.
    pub from: String,
    /// The class of the targets.
    pub to: String,
    /// The slots, largest volume first, as `.next`.
    pub slots: Vec<String>,
}

/// The most edges that a slice lists. A report is to be read.
const MAX_EDGES: usize = 100;
/// How far to follow sole holders that do not grow.
const MAX_HOLDERS: usize = 4;

/// A volume that goes up and down has a positive rank half of the time. An edge is noise if it has
/// grown by less than this part of what the class's strongest has,
const NOISE: f64 = 0.1;
/// and, beside its own volume, by less than this part of what the strongest has. What leads into
/// a recursive structure from outside is little, but it grows as the structure does.
const STAGNANT: f64 = 0.5;

/// Returns the slice from a class. `points_from` is ordered by class; `growth` gives the rank
/// of an edge and what it has grown by.
pub(super) fn slice(
    class: ClassId,
    points_from: &[PointsFrom],
    summary: &Summary,
    ids: &SlotIds,
    growth: impl Fn(ClassId, ClassId) -> (f64, u64),
) -> Slice {
    let of = |class: ClassId| {
        let start = points_from.partition_point(|edge| edge.class < class);
        let rest = &points_from[start..];
        &rest[..rest.partition_point(|edge| edge.class == class)]
    };
    let describe = |edge: &PointsFrom, rank: f64| {
        let slots = ids.of(edge.from);
        let slots = slots.flat_map(|slot| summary.edges_of(slot));
        let mut slots: Vec<SlotEdge> = slots.filter(|it| it.to == edge.class).copied().collect();
        slots.sort_by_key(|slot| (std::cmp::Reverse(slot.volume_bytes), slot.slot));
        SliceEdge {
            class: edge.class,
            from: edge.from,
            slots,
            references: edge.references,
            volume_bytes: edge.volume_bytes,
            rank,
        }
    };
    let mut slice = Slice {
        complete: true,
        ..Slice::default()
    };
    let mut seen = BTreeSet::from([class]);
    let mut queue = VecDeque::from([class]);
    while let Some(class) = queue.pop_front() {
        let growing = of(class).iter().filter_map(|edge| {
            let (rank, grown) = growth(edge.class, edge.from);
            (rank > 0.0).then_some((edge, rank, grown))
        });
        let growing: Vec<(&PointsFrom, f64, u64)> = growing.collect();
        let share = |edge: &PointsFrom, grown: u64| grown as f64 / edge.volume_bytes.max(1) as f64;
        let strongest = growing.iter().max_by_key(|it| it.2);
        let (most, most_share) = strongest.map_or((0, 0.0), |it| (it.2, share(it.0, it.2)));
        for (edge, rank, grown) in growing {
            let little = (grown as f64) < NOISE * most as f64;
            if little && share(edge, grown) < STAGNANT * most_share {
                continue;
            }
            if slice.edges.len() == MAX_EDGES {
                slice.complete = false;
                break;
            }
            slice.edges.push(describe(edge, rank));
            if seen.insert(edge.from) {
                queue.push_back(edge.from);
            }
        }
    }
    let mut way = Way {
        end: class,
        passed: BTreeSet::new(),
        chain: Vec::new(),
    };
    loop {
        let part = cycle(&slice.edges, way.end);
        let growing = slice.edges.iter().filter(|it| way.leaves(&part, it));
        // Of equally strong ones the first.
        let strongest = growing.reduce(|best, it| match it.rank > best.rank {
            true => it,
            false => best,
        });
        let Some(edge) = strongest.cloned() else {
            break;
        };
        way.follow(&slice.edges, part, edge);
    }
    for _ in 0..MAX_HOLDERS {
        let part = cycle(&slice.edges, way.end);
        let others = part.iter().flat_map(|&class| of(class));
        let others = others.map(|edge| describe(edge, 0.0));
        let mut others: Vec<SliceEdge> = others.filter(|it| way.leaves(&part, it)).collect();
        match (others.pop(), others.is_empty()) {
            (None, _) => break,
            (Some(edge), true) => way.follow(&slice.edges, part, edge),
            (Some(edge), false) => {
                others.push(edge);
                slice.holders = others;
                break;
            }
        }
    }
    slice.chain = way.chain;
    slice
}

/// A way through the points-from graph, from what grows to what holds it. The classes of a
/// recursive structure are one place on it, which it may leave from any of them.
struct Way {
    end: ClassId,
    passed: BTreeSet<ClassId>,
    chain: Vec<SliceEdge>,
}

impl Way {
    /// Returns whether an edge leads on from a place to where it has not been.
    fn leaves(&self, part: &BTreeSet<ClassId>, edge: &SliceEdge) -> bool {
        part.contains(&edge.class)
            && !part.contains(&edge.from)
            && !self.passed.contains(&edge.from)
    }

    /// Goes along an edge, and first to where in the place it begins.
    fn follow(&mut self, edges: &[SliceEdge], part: BTreeSet<ClassId>, edge: SliceEdge) {
        let inside = edges
            .iter()
            .filter(|it| part.contains(&it.class) && part.contains(&it.from));
        let inside: Vec<&SliceEdge> = inside.collect();
        let mut came: BTreeMap<ClassId, &SliceEdge> = BTreeMap::new();
        let mut queue = VecDeque::from([self.end]);
        while let Some(class) = queue.pop_front() {
            for edge in inside.iter().filter(|it| it.class == class) {
                if edge.from != self.end && !came.contains_key(&edge.from) {
                    came.insert(edge.from, edge);
                    queue.push_back(edge.from);
                }
            }
        }
        let mut back = Vec::new();
        let mut at = edge.class;
        while at != self.end {
            let step = came[&at];
            back.push(step.clone());
            at = step.class;
        }
        self.chain.extend(back.into_iter().rev());
        self.end = edge.from;
        self.chain.push(edge);
        self.passed.extend(part);
    }
}

/// Returns the classes that growing edges lead to from a class and back, itself included.
fn cycle(edges: &[SliceEdge], class: ClassId) -> BTreeSet<ClassId> {
    let reach = |forth: bool| {
        let mut seen = BTreeSet::from([class]);
        let mut queue = vec![class];
        while let Some(class) = queue.pop() {
            for edge in edges {
                let (from, to) = match forth {
                    true => (edge.class, edge.from),
                    false => (edge.from, edge.class),
                };
                if from == class && seen.insert(to) {
                    queue.push(to);
                }
            }
        }
        seen
    };
    reach(true).intersection(&reach(false)).copied().collect()
}

#[cfg(test)]
mod tests {
    use heaphound_heap::snapshot::SnapshotBuilder;
    use heaphound_heap::view::{HeapView, Place};

    use super::*;

    #[test]
    fn a_slice_leaves_a_recursive_structure_where_it_grows_and_not_where_it_jitters() {
        let mut builder = SnapshotBuilder::default();
        let node = builder.add_class("Node", None, &["next"]);
        let tree = builder.add_class("Tree", None, &["root"]);
        let recent = builder.add_class("Recent", None, &["node"]);
        let heap = builder.finish().expect("only classes");
        let ids = SlotIds::new(heap.classes());
        let edge = |class, references| SlotEdge {
            slot: ids.at(class, Place::Field(0)),
            to: node,
            references,
            volume_bytes: references * 24,
        };
        let edges = vec![edge(node, 10_000), edge(tree, 500), edge(recent, 900)];
        let summary = Summary::new(Vec::new(), edges);
        // Twenty nodes a tree, and some nodes that were looked at lately.
        let growth = |_, from| match from {
            _ if from == node => (9e3, 9_900 * 24),
            _ if from == tree => (9e3, 495 * 24),
            _ => (9e5, 90 * 24),
        };
        let points_from = summary.points_from(&ids);
        let slice = slice(node, &points_from, &summary, &ids, growth);
        let froms: Vec<ClassId> = slice.edges.iter().map(|edge| edge.from).collect();
        assert_eq!(froms, [node, tree]);
        assert_eq!(slice.chain.len(), 1);
        assert_eq!(slice.chain[0].from, tree);
    }
}
