//! Suspects: what a person should look at first in a heap that is too large.
//!
//! From the virtual root down, the tree of dominators leads through objects that each retain much, to where
//! it breaks up: an object that retains much while each of those that it dominates retains little. There
//! something accumulates (`accumulation.rs`). What has no single dominator is found as a *group*: many
//! objects of one class that together retain much (`group.rs`). And what the stack of a thread alone keeps
//! is let go when its functions return, but until then it may be much (`stacks.rs`).
//!
//! A suspect is a finding ([`finding`]) with the path from a root, so that it is known again from
//! run to run. Whether it is a fault nobody can say from one heap: it is a note.

mod accumulation;
mod finding;
mod group;
mod stacks;

use std::collections::HashMap;

use heaphound_heap::ClassId;
use heaphound_heap::path::{Search, shortest_to_each};
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::trace::Traceable;
use heaphound_heap::view::HeapView;

use crate::dominator::{DominatorTree, Step};
use crate::holder::{Holder, holder_of};

pub use finding::finding;

/// Something that retains much.
#[derive(Clone, Debug)]
pub struct Suspect {
    /// What it is.
    pub what: What,
    /// The bytes that it retains.
    pub retained_bytes: u64,
    /// How many objects these are.
    pub objects: usize,
    /// The classes of what it holds directly, what retains most first. For a group, nothing.
    pub filled_by: Vec<Filling>,
    /// The classes of all that it retains, what takes most bytes first.
    pub below: Vec<Filling>,
    /// Through what the program holds it, as far as that is one place.
    pub holder: Option<Holder>,
    /// Ways to it, or to some of the group: how many objects are held like that, and one of them.
    pub ways: Vec<(usize, heaphound_heap::finding::Path)>,
}

/// What a suspect is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What {
    /// An object in which something accumulates.
    Accumulation(ObjectId),
    /// Objects of a class that no single object keeps alive.
    Group {
        /// Their class.
        class: ClassId,
        /// How many there are.
        count: usize,
    },
    /// The stack of a thread.
    Stack(String),
}

/// Objects of a class among others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Filling {
    /// The class.
    pub class: ClassId,
    /// How many.
    pub objects: usize,
    /// The bytes that they retain, or that they take where all of a subtree are counted.
    pub bytes: u64,
}

/// What is looked for.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The bytes from which on something is suspected.
    pub least_bytes: u64,
    /// The most suspects of each sort.
    pub most: usize,
    /// How many threads work.
    pub threads: usize,
}

/// How many classes are listed of what fills a suspect.
const MOST_CLASSES: usize = 6;

/// Returns all suspects of a heap, what retains most first.
pub fn suspects(heap: &Snapshot, tree: &DominatorTree<'_>, options: Options) -> Vec<Suspect> {
    let mut found = accumulation::find(heap, tree, options);
    found.extend(group::find(heap, tree, options));
    found.extend(stacks::find(heap, tree, options));
    found.sort_by_key(|it| std::cmp::Reverse(it.retained_bytes));
    add_ways(heap, &mut found);
    found
}

/// Finds the shortest path to each object that accumulates, by one search.
fn add_ways(heap: &Snapshot, found: &mut [Suspect]) {
    let target = |it: &Suspect| match it.what {
        What::Accumulation(object) => Some(object),
        _ => None,
    };
    let targets: Vec<ObjectId> = found.iter().filter_map(target).collect();
    let mut visits = heap.visits();
    let trails = shortest_to_each(heap, &mut visits, &Search::everywhere(), &targets);
    let mut trails = trails.into_iter();
    for suspect in found.iter_mut().filter(|it| target(it).is_some()) {
        let Some(trail) = trails.next().flatten() else {
            continue;
        };
        suspect.holder = holder_of(heap, &trail);
        suspect.ways = vec![(1, trail.describe(heap))];
    }
}

/// Counts objects by class.
#[derive(Default)]
struct ByClass(HashMap<ClassId, Filling>);

impl ByClass {
    fn add(&mut self, class: ClassId, bytes: u64) {
        let filling = self.0.entry(class).or_insert(Filling {
            class,
            objects: 0,
            bytes: 0,
        });
        filling.objects += 1;
        filling.bytes = filling.bytes.saturating_add(bytes);
    }

    /// Returns the first of them, what has most bytes first.
    fn most(self, count: usize) -> Vec<Filling> {
        let mut all: Vec<Filling> = self.0.into_values().collect();
        all.sort_by_key(|it| (std::cmp::Reverse(it.bytes), it.class));
        all.truncate(count);
        all
    }
}

/// Returns how many objects some others dominate, themselves included, and their classes.
fn below(
    heap: &Snapshot,
    tree: &DominatorTree<'_>,
    tops: impl Iterator<Item = ObjectId>,
) -> (usize, Vec<Filling>) {
    let mut objects = 0;
    let mut classes = ByClass::default();
    for top in tops {
        tree.walk(Some(top), |step| {
            if let Step::Enter(object) = step {
                objects += 1;
                classes.add(heap.class_of(object), heap.bytes_of(object) as u64);
            }
        });
    }
    (objects, classes.most(MOST_CLASSES))
}
