//! A stopped heap of any origin, read-only.

use std::collections::HashSet;
use std::hash::Hash;

use crate::class::{ClassId, ClassInfo};
use crate::root::Root;
use crate::value::Value;

/// Where in its object an edge starts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Place {
    /// A named slot: an index into the class's `fields`.
    Field(u32),
    /// An element of a reference array.
    Element(u32),
}

/// How strongly an edge holds its target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strength {
    /// The target lives while the source does.
    Strong,
    /// The target may die.
    Weak,
    /// The target lives while the source and the source's weak target do.
    Dependent,
}

/// A heap that stands still while it is looked at.
pub trait HeapView {
    /// An object's name within this view.
    type Object: Copy + Eq + Ord + Hash;

    /// All classes, in the order of their ids.
    fn classes(&self) -> &[ClassInfo];

    /// The class of an object.
    fn class_of(&self, object: Self::Object) -> ClassId;

    /// Bytes that the object itself takes, header included.
    fn bytes_of(&self, object: Self::Object) -> usize;

    /// All roots, ordered by kind, name and index.
    fn for_each_root(&self, f: impl FnMut(&Root, Self::Object));

    /// The edges that leave an object, in the order of its slots.
    fn for_each_edge(&self, object: Self::Object, f: impl FnMut(Place, Strength, Self::Object));

    /// The plain-data value at an index into the class's `fields`.
    fn plain_value(&self, object: Self::Object, field: usize) -> Option<Value>;

    /// What is known of a class.
    fn class(&self, id: ClassId) -> &ClassInfo {
        &self.classes()[id.0 as usize - 1]
    }
}

/// Every live object, in breadth-first order from the roots: the slow, obvious
/// twin of a collector's mark. A dependent edge counts once its object's weak
/// targets are known to live.
pub fn live_objects<V: HeapView>(view: &V) -> Vec<V::Object> {
    let mut seen = HashSet::new();
    let mut order = Vec::new();
    view.for_each_root(|_, object| {
        if seen.insert(object) {
            order.push(object);
        }
    });
    let mut next = 0;
    loop {
        while next < order.len() {
            view.for_each_edge(order[next], |_, strength, to| {
                if strength == Strength::Strong && seen.insert(to) {
                    order.push(to);
                }
            });
            next += 1;
        }
        let mut found = Vec::new();
        for &object in &order {
            let (mut keys, mut keys_live) = (0, true);
            view.for_each_edge(object, |_, strength, to| {
                if strength == Strength::Weak {
                    keys += 1;
                    keys_live &= seen.contains(&to);
                }
            });
            view.for_each_edge(object, |_, strength, to| {
                if strength == Strength::Dependent && keys > 0 && keys_live {
                    found.push(to);
                }
            });
        }
        for object in found {
            if seen.insert(object) {
                order.push(object);
            }
        }
        if next == order.len() {
            return order;
        }
    }
}
