//! Slices: from a class that grows, along edges that grow, to what holds the growth.
//!
//! A slice is the set of all paths through the points-from graph that start at the class and
//! whose edges have a positive rank. It leads through containers whose own volume jitters
//! (`Object[]`), because an edge weighs as much as what it leads to.

use std::collections::{BTreeSet, VecDeque};

use heaphound_heap::ClassId;

use crate::slot::SlotIds;
use crate::summary::{PointsFrom, SlotEdge, Summary};

/// The growing edges that lead away from a class, against the direction of references.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Slice {
    /// In the order in which a search from the class meets them.
    pub edges: Vec<SliceEdge>,
    /// The one way along the strongest growing edges, and on through classes that have
    /// only one holder, which need not grow.
    pub chain: Vec<SliceEdge>,
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

/// The most edges that a slice lists. A report is to be read.
const MAX_EDGES: usize = 100;
/// How far to follow sole holders that do not grow.
const MAX_HOLDERS: usize = 4;

/// The slice from a class. `points_from` is ordered by class.
pub(super) fn slice(
    class: ClassId,
    points_from: &[PointsFrom],
    summary: &Summary,
    ids: &SlotIds,
    rank: impl Fn(ClassId, ClassId) -> f64,
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
        for edge in of(class) {
            let rank = rank(edge.class, edge.from);
            if rank <= 0.0 {
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
    let mut on_chain = BTreeSet::from([class]);
    let mut end = class;
    loop {
        let growing = slice.edges.iter();
        let growing = growing.filter(|it| it.class == end && !on_chain.contains(&it.from));
        // Of equally strong ones the first.
        let strongest = growing.reduce(|best, it| match it.rank > best.rank {
            true => it,
            false => best,
        });
        let Some(edge) = strongest else { break };
        end = edge.from;
        on_chain.insert(end);
        slice.chain.push(edge.clone());
    }
    for _ in 0..MAX_HOLDERS {
        let mut others = of(end).iter().filter(|edge| edge.from != end);
        let (Some(edge), None) = (others.next(), others.next()) else {
            break;
        };
        if !on_chain.insert(edge.from) {
            break;
        }
        end = edge.from;
        slice.chain.push(describe(edge, 0.0));
    }
    slice
}
