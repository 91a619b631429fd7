//! Guesses from counts which kind of structure it is: a list, a tree, a DAG.
//!
//! Counts do not prove a shape. One node in a hundred may be an exception.

use std::fmt;

#[cfg(feature = "export")]
use serde::{Deserialize, Serialize};

use super::{Measure, matching};

/// What a recursive data structure looks like.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "export", derive(Serialize, Deserialize))]
pub enum Shape {
    /// Each refers to the next.
    #[cfg_attr(feature = "export", serde(rename = "singly linked list"))]
    SinglyLinkedList,
    /// Each refers to the next, the last to the first.
    #[cfg_attr(feature = "export", serde(rename = "circular list"))]
    CircularList,
    /// Each refers to the next and to the one before.
    #[cfg_attr(feature = "export", serde(rename = "doubly linked list"))]
    DoublyLinkedList,
    /// Lists whose heads are elements of an array.
    #[cfg_attr(feature = "export", serde(rename = "hash chain"))]
    HashChain,
    /// Each has up to two children.
    #[cfg_attr(feature = "export", serde(rename = "binary tree"))]
    BinaryTree,
    /// A binary tree whose nodes know their parents.
    #[cfg_attr(feature = "export", serde(rename = "binary tree with parent pointers"))]
    BinaryTreeWithParents,
    /// Each has any number of children.
    #[cfg_attr(feature = "export", serde(rename = "tree"))]
    Tree,
    /// A tree whose nodes know their parents.
    #[cfg_attr(feature = "export", serde(rename = "tree with parent pointers"))]
    TreeWithParents,
    /// Each refers to its parent only.
    #[cfg_attr(feature = "export", serde(rename = "tree of parent pointers"))]
    ParentTree,
    /// Some have no referrers, some refer to nothing, and some are shared.
    #[cfg_attr(feature = "export", serde(rename = "DAG"))]
    Dag,
    /// None of these.
    #[default]
    #[cfg_attr(feature = "export", serde(rename = "other"))]
    Other,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SinglyLinkedList => "singly linked list",
            Self::CircularList => "circular list",
            Self::DoublyLinkedList => "doubly linked list",
            Self::HashChain => "hash chain",
            Self::BinaryTree => "binary tree",
            Self::BinaryTreeWithParents => "binary tree with parent pointers",
            Self::Tree => "tree",
            Self::TreeWithParents => "tree with parent pointers",
            Self::ParentTree => "tree of parent pointers",
            Self::Dag => "DAG",
            Self::Other => "other",
        })
    }
}

/// Returns what a structure looks like.
pub fn shape_of(measure: &Measure) -> Shape {
    let all = measure.instances;
    let few = |count: u64| count <= all / 100;
    let [in_0, in_1, in_2, in_more] = measure.degrees.incoming;
    let [out_0, out_1, out_2, out_more] = measure.degrees.outgoing;
    let unshared = few(in_2 + in_more);
    let dag = match in_0 > 0 && out_0 > 0 {
        true => Shape::Dag,
        false => Shape::Other,
    };
    if measure.through.is_some() {
        return match unshared {
            true => Shape::Tree,
            false if matching::leads_back(measure) => Shape::TreeWithParents,
            false => dag,
        };
    }
    let counts: Vec<u64> = measure.recursive.values().copied().collect();
    let edges: u64 = counts.iter().sum();
    // Slots that few objects use are not part of the shape, unless all slots are like that.
    let used: Vec<u64> = counts.iter().copied().filter(|&it| !few(it)).collect();
    let in_arrays = measure.holders.iter();
    let in_arrays = in_arrays.filter(|(holder, _)| holder.is_elements());
    let in_arrays: u64 = in_arrays.map(|(_, &count)| count).sum();
    let elements = measure.recursive.keys().any(|slot| slot.is_elements());
    match (used.len().max(1), elements) {
        // Arrays hold the first of each chain, and not the others. One list may be held by
        // anything.
        (1, false)
            if unshared
                && in_0 > 1
                && in_arrays > 1
                && in_arrays.abs_diff(in_0) <= few_of(in_0) =>
        {
            Shape::HashChain
        }
        (1, false) if unshared && in_0 == 0 && out_0 == 0 => Shape::CircularList,
        (1, false) if unshared => Shape::SinglyLinkedList,
        (1, false) if out_0 > 0 && few(out_2 + out_more) => Shape::ParentTree,
        // One slot is the inverse of the others, however short the lists are.
        (2, false) if matching::leads_back(measure) => Shape::DoublyLinkedList,
        (3, false) if matching::leads_back(measure) => Shape::BinaryTreeWithParents,
        // In a list most nodes have two references and get two.
        (2, false)
            if few(in_more + out_more)
                && in_2 > in_1
                && out_2 > out_1
                && used[0].abs_diff(used[1]) <= few_of(all) =>
        {
            Shape::DoublyLinkedList
        }
        (2, false) if unshared => Shape::BinaryTree,
        (_, _) if unshared => Shape::Tree,
        // One reference down to each node but the roots, and one up from each.
        (slots, false) if slots >= 3 && has_parents(&used, edges, all) => match slots {
            3 => Shape::BinaryTreeWithParents,
            _ => Shape::TreeWithParents,
        },
        _ => dag,
    }
}

/// Returns how many of that many may be exceptions.
fn few_of(count: u64) -> u64 {
    count / 100 + 2.min(count)
}

/// Returns whether one slot holds as many references as the others together, about one for
/// each object.
fn has_parents(used: &[u64], edges: u64, all: u64) -> bool {
    let near = |count: u64, expected: u64| count.abs_diff(expected) <= few_of(expected) + all / 20;
    used.iter().any(|&up| near(up, all) && near(edges - up, up))
}
