//! The microbenchmarks of tables 6.1 to 6.3, and the errors of table 6.6.
#![allow(dead_code)]

use heaphound_analysis::shape::{Profile, measure_view};
use heaphound_heap::snapshot::{ObjectId, Snapshot, SnapshotBuilder};
use heaphound_heap::view::Place;
use heaphound_heap::{Root, RootKind};
pub use heaphound_testkit::dice::Dice;

/// A structure: nodes with slots, and a holder that refers to some of them.
#[derive(Clone, Debug)]
pub struct Structure {
    slots: &'static [&'static str],
    /// What each slot of each node refers to.
    pub nodes: Vec<Vec<Option<usize>>>,
    holder: &'static [&'static str],
    held: Vec<usize>,
}

pub const NEXT: usize = 0;
pub const PREV: usize = 1;
pub const LEFT: usize = 0;
pub const RIGHT: usize = 1;
pub const PARENT: usize = 2;

impl Structure {
    pub fn singly_linked(n: usize) -> Self {
        Self {
            slots: &["next"],
            nodes: (0..n).map(|i| vec![(i + 1 < n).then_some(i + 1)]).collect(),
            holder: &["head"],
            held: vec![0],
        }
    }

    pub fn doubly_linked(n: usize) -> Self {
        let node = |i: usize| vec![(i + 1 < n).then_some(i + 1), i.checked_sub(1)];
        Self {
            slots: &["next", "prev"],
            nodes: (0..n).map(node).collect(),
            holder: &["head", "tail"],
            held: vec![0, n - 1],
        }
    }

    fn tree(n: usize, parents: bool, mut place: impl FnMut(usize) -> (usize, usize)) -> Self {
        let slots: &[&str] = match parents {
            true => &["left", "right", "parent"],
            false => &["left", "right"],
        };
        let mut nodes = vec![vec![None; slots.len()]; n];
        for child in 1..n {
            let (parent, side) = place(child);
            nodes[parent][side] = Some(child);
            if parents {
                nodes[child][PARENT] = Some(parent);
            }
        }
        Self {
            slots,
            nodes,
            holder: &["root"],
            held: vec![0],
        }
    }

    pub fn complete_tree(n: usize, parents: bool) -> Self {
        Self::tree(n, parents, |child| ((child - 1) / 2, (child - 1) % 2))
    }

    /// Each node has two children or none; which ones have is random.
    pub fn full_tree(n: usize, parents: bool, dice: &mut Dice) -> Self {
        let n = n | 1;
        let mut leaves = vec![0];
        let mut splits = Vec::new();
        let mut next = 1;
        while next < n {
            let at = dice.below(leaves.len());
            let parent = leaves.swap_remove(at);
            splits.push(parent);
            leaves.extend([next, next + 1]);
            next += 2;
        }
        Self::tree(n, parents, |child| {
            (splits[(child - 1) / 2], (child - 1) % 2)
        })
    }

    /// A search tree of random keys.
    pub fn random_tree(n: usize, parents: bool, dice: &mut Dice) -> Self {
        let keys: Vec<usize> = (0..n).map(|_| dice.below(usize::MAX)).collect();
        let mut children = vec![[None::<usize>; 2]; n];
        Self::tree(n, parents, |child| {
            let mut at = 0;
            loop {
                let side = (keys[child] > keys[at]) as usize;
                match children[at][side] {
                    Some(next) => at = next,
                    None => {
                        children[at][side] = Some(child);
                        return (at, side);
                    }
                }
            }
        })
    }

    /// The heap. All nodes are held in an array too, of another class, so that errors lose
    /// none of them: with `anchored`.
    pub fn build(&self, anchored: bool) -> Snapshot {
        let n = self.nodes.len();
        let mut builder = SnapshotBuilder::default();
        let list = builder.add_class("Structure", None, self.holder);
        let mut slots: Vec<&str> = self.slots.to_vec();
        slots.push("data");
        let node = builder.add_class("Structure$Node", None, &slots);
        let data = builder.add_class("Data", None, &[]);
        let anchor = builder.add_array_class("Object[]");
        for slots in &self.nodes {
            builder.add_object(node, 32);
            for (slot, to) in slots.iter().enumerate() {
                if let Some(to) = to {
                    builder.add_edge(Place::Field(slot as u32), ObjectId(*to as u32));
                }
            }
            builder.add_edge(Place::Field(slots.len() as u32), ObjectId(n as u32));
        }
        builder.add_object(data, 16);
        let holder = builder.add_object(list, 32);
        for (slot, to) in self.held.iter().enumerate() {
            builder.add_edge(Place::Field(slot as u32), ObjectId(*to as u32));
        }
        builder.add_root(Root::new(RootKind::Static, "structure"), holder);
        if anchored {
            let array = builder.add_object(anchor, 16 + 4 * n);
            for i in 0..n as u32 {
                builder.add_edge(Place::Element(i), ObjectId(i));
            }
            builder.add_root(Root::new(RootKind::Static, "all"), array);
        }
        builder.finish().unwrap()
    }
}

/// A map of chains in an array, n entries in about as many buckets.
pub fn hash_map(n: usize, dice: &mut Dice, links: usize) -> Snapshot {
    let buckets = n.next_power_of_two();
    let mut heads: Vec<Option<usize>> = vec![None; buckets];
    let mut next: Vec<Option<usize>> = Vec::new();
    for entry in 0..n {
        let bucket = dice.below(buckets);
        next.push(heads[bucket].replace(entry));
    }
    for _ in 0..links {
        // The end of one chain goes on in another.
        let ends: Vec<usize> = (0..n).filter(|&it| next[it].is_none()).collect();
        let end = ends[dice.below(ends.len())];
        next[end] = Some(
            heads
                .iter()
                .flatten()
                .copied()
                .find(|&it| it != end)
                .unwrap(),
        );
    }
    let mut builder = SnapshotBuilder::default();
    let map = builder.add_class("HashMap", None, &["entries"]);
    let array = builder.add_array_class("HashEntry[]");
    let entry = builder.add_class("HashEntry", None, &["next"]);
    for next in next {
        builder.add_object(entry, 24);
        if let Some(next) = next {
            builder.add_edge(Place::Field(0), ObjectId(next as u32));
        }
    }
    builder.add_object(array, 16 + 4 * buckets);
    for (bucket, head) in heads.iter().enumerate() {
        if let Some(head) = head {
            builder.add_edge(Place::Element(bucket as u32), ObjectId(*head as u32));
        }
    }
    let root = builder.add_object(map, 16);
    builder.add_edge(Place::Field(0), ObjectId(n as u32));
    builder.add_root(Root::new(RootKind::Static, "map"), root);
    builder.finish().unwrap()
}

/// A tree whose nodes have their children in arrays.
pub fn array_tree(n: usize, width: usize) -> Snapshot {
    let mut builder = SnapshotBuilder::default();
    let node = builder.add_class("BNode", None, &["children"]);
    let array = builder.add_array_class("BNode[]");
    // Node i is object 2i, its array 2i + 1.
    for i in 0..n {
        let children: Vec<usize> = (i * width + 1..=i * width + width)
            .take_while(|&c| c < n)
            .collect();
        builder.add_object(node, 24);
        if !children.is_empty() {
            builder.add_edge(Place::Field(0), ObjectId(2 * i as u32 + 1));
        }
        builder.add_object(array, 16 + 4 * width);
        for (place, child) in children.iter().enumerate() {
            builder.add_edge(Place::Element(place as u32), ObjectId(2 * *child as u32));
        }
    }
    builder.add_root(Root::new(RootKind::Static, "tree"), ObjectId(0));
    builder.finish().unwrap()
}

/// The class of nodes.
pub const NODE: &str = "Structure$Node";

/// A size as in the paper's trials, smaller.
pub fn size(dice: &mut Dice) -> usize {
    100 + dice.below(1_900)
}

pub fn learn(trials: u64, make: impl Fn(&mut Dice) -> Snapshot) -> Profile {
    let mut profile = Profile::default();
    for trial in 0..trials {
        profile.learn(&measure_view(&make(&mut Dice(trial))));
    }
    profile
}

pub fn learn_structure(make: fn(usize, &mut Dice) -> Structure, anchored: bool) -> Profile {
    learn(40, |dice| make(size(dice), dice).build(anchored))
}
