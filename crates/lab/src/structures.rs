//! The microbenchmarks of ShapeUp's tables 6.1 to 6.3 as snapshots, and the errors of table 6.6.

use heaphound::root::RootKind;
use heaphound::snapshot::{ObjectId, Snapshot, SnapshotBuilder};
use heaphound::view::Place;

use crate::programs::Random;

/// A kind of structure, and the errors that table 6.6 inserts into it.
pub struct Kind {
    /// Its name in table 6.4.
    pub name: &'static str,
    /// Makes a correct one of about that many nodes.
    pub make: fn(usize, &mut Random) -> Structure,
    /// The errors.
    pub errors: &'static [Error],
}

/// An error, which can be inserted any number of times.
pub struct Error {
    /// Its name in table 6.6.
    pub name: &'static str,
    /// Whether it can be inserted only once.
    pub single: bool,
    /// Inserts it.
    pub insert: fn(&mut Structure, &mut Random),
}

/// All kinds, in the order of table 6.4.
pub const KINDS: &[Kind] = &[
    Kind {
        name: "singly linked list",
        make: |n, _| Structure::list(n, &["next"]),
        errors: &[single("cyclic", cyclic), single("random", to_random)],
    },
    Kind {
        name: "doubly linked list",
        make: |n, _| Structure::list(n, &["next", "prev"]),
        errors: &[
            single("cyclic", cyclic),
            multiple("cycle", cycle),
            multiple("disconnect", disconnect),
            multiple("skip", skip),
            multiple("error", |list, random| {
                [cycle, disconnect, skip][random.index(3)](list, random);
            }),
        ],
    },
    Kind {
        name: "complete binary tree",
        make: |n, _| complete(n, false),
        errors: LINK,
    },
    Kind {
        name: "full binary tree",
        make: |n, random| full(n, false, random),
        errors: LINK,
    },
    Kind {
        name: "random binary tree",
        make: |n, random| search(n, false, random),
        errors: LINK,
    },
    Kind {
        name: "complete binary tree with parent pointers",
        make: |n, _| complete(n, true),
        errors: LINK_OR_NOT,
    },
    Kind {
        name: "full binary tree with parent pointers",
        make: |n, random| full(n, true, random),
        errors: LINK_OR_NOT,
    },
    Kind {
        name: "random binary tree with parent pointers",
        make: |n, random| search(n, true, random),
        errors: LINK_OR_NOT,
    },
    Kind {
        name: "linked hash map",
        make: linked_map,
        errors: &[multiple("bucketlink", bucket_link)],
    },
];

const LINK: &[Error] = &[multiple("linkerror", link)];
const LINK_OR_NOT: &[Error] = &[
    multiple("disconnect", disconnect),
    multiple("linkerror", link),
    multiple("error", |tree, random| {
        [disconnect, link][random.index(2)](tree, random);
    }),
];

const fn single(name: &'static str, insert: fn(&mut Structure, &mut Random)) -> Error {
    Error {
        name,
        single: true,
        insert,
    }
}

const fn multiple(name: &'static str, insert: fn(&mut Structure, &mut Random)) -> Error {
    Error {
        name,
        single: false,
        insert,
    }
}

/// A structure: nodes whose slots refer to nodes, and what holds them.
#[derive(Clone, Debug)]
pub struct Structure {
    slots: &'static [&'static str],
    /// What the slots of each node refer to.
    nodes: Vec<[Option<u32>; 3]>,
    holder: &'static [&'static str],
    held: Vec<u32>,
    /// The chains of a hash map.
    chains: Vec<Option<u32>>,
}

const NEXT: usize = 0;
const PREV: usize = 1;
const PARENT: usize = 2;
const BEFORE: usize = 1;
const AFTER: usize = 2;

impl Structure {
    fn list(n: usize, slots: &'static [&'static str]) -> Self {
        let node = |i: usize| {
            let next = (i + 1 < n).then_some(i as u32 + 1);
            let prev = (i as u32).checked_sub(1).filter(|_| slots.len() > 1);
            [next, prev, None]
        };
        Self {
            slots,
            nodes: (0..n).map(node).collect(),
            holder: &["head"],
            held: vec![0],
            chains: Vec::new(),
        }
    }

    /// Returns a heap with it. All nodes are in an array of another class too, so that none is
    /// lost with its references: what errors make unreachable cannot be found.
    pub fn heap(&self) -> Snapshot {
        let n = self.nodes.len();
        let id = |at: usize| ObjectId(at as u32);
        let mut builder = SnapshotBuilder::default();
        let owner = builder.add_class("Structure", None, self.holder);
        let node = builder.add_class("Structure$Node", None, self.slots);
        let all = builder.add_array_class("Object[]");
        let buckets = builder.add_array_class("Structure$Node[]");
        for slots in &self.nodes {
            builder.add_object(node, 32);
            for (slot, to) in (0..).zip(slots) {
                if let Some(to) = to {
                    builder.add_edge(Place::Field(slot), ObjectId(*to));
                }
            }
        }
        let holder = builder.add_object(owner, 24);
        for (slot, to) in (0..).zip(&self.held) {
            builder.add_edge(Place::Field(slot), ObjectId(*to));
        }
        if !self.chains.is_empty() {
            builder.add_edge(Place::Field(self.held.len() as u32), id(n + 2));
        }
        builder.add_root(
            heaphound::root::Root::new(RootKind::Static, "structure"),
            holder,
        );
        let anchor = builder.add_object(all, 16 + 4 * n);
        for at in 0..n as u32 {
            builder.add_edge(Place::Element(at), ObjectId(at));
        }
        builder.add_root(heaphound::root::Root::new(RootKind::Static, "all"), anchor);
        if !self.chains.is_empty() {
            builder.add_object(buckets, 16 + 4 * self.chains.len());
            for (chain, head) in (0..).zip(&self.chains) {
                if let Some(head) = head {
                    builder.add_edge(Place::Element(chain), ObjectId(*head));
                }
            }
        }
        builder.finish().expect("all references are to nodes")
    }
}

/// Returns a tree, given the parent of each node but the first and which child of it that is.
fn tree(n: usize, parents: bool, mut place: impl FnMut(usize) -> (usize, usize)) -> Structure {
    let mut nodes = vec![[None; 3]; n];
    for child in 1..n {
        let (parent, side) = place(child);
        nodes[parent][side] = Some(child as u32);
        if parents {
            nodes[child][PARENT] = Some(parent as u32);
        }
    }
    Structure {
        slots: match parents {
            true => &["left", "right", "parent"],
            false => &["left", "right"],
        },
        nodes,
        holder: &["root"],
        held: vec![0],
        chains: Vec::new(),
    }
}

fn complete(n: usize, parents: bool) -> Structure {
    tree(n, parents, |child| ((child - 1) / 2, (child - 1) % 2))
}

/// Returns a tree in which each node has two children or none, at random.
fn full(n: usize, parents: bool, random: &mut Random) -> Structure {
    let n = n | 1;
    let mut leaves = vec![0];
    let mut splits = Vec::new();
    for first in (1..n).step_by(2) {
        let at = random.index(leaves.len());
        splits.push(leaves.swap_remove(at));
        leaves.extend([first, first + 1]);
    }
    tree(n, parents, |child| {
        (splits[(child - 1) / 2], (child - 1) % 2)
    })
}

/// Returns a search tree of random keys.
fn search(n: usize, parents: bool, random: &mut Random) -> Structure {
    let keys: Vec<u64> = (0..n).map(|_| random.below(1 << 47)).collect();
    let mut children = vec![[None::<usize>; 2]; n];
    tree(n, parents, |child| {
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

/// Java's linked hash map: entries in chains, and in a ring in the order in which they were
/// added, which begins at an entry that is in no chain.
fn linked_map(n: usize, random: &mut Random) -> Structure {
    let mut chains = vec![None; (n * 4 / 3).next_power_of_two()];
    let mut nodes = vec![[None; 3]; n];
    for (at, node) in nodes.iter_mut().enumerate() {
        let last = n as u32 - 1;
        let at = at as u32;
        node[BEFORE] = Some(at.checked_sub(1).unwrap_or(last));
        node[AFTER] = Some(if at == last { 0 } else { at + 1 });
        if at > 0 {
            let chain = random.index(chains.len());
            node[NEXT] = chains[chain].replace(at);
        }
    }
    Structure {
        slots: &["next", "before", "after"],
        nodes,
        holder: &["header", "table"],
        held: vec![0],
        chains,
    }
}

/// The tail refers to the head; in a list that goes both ways, the head to the tail too.
fn cyclic(list: &mut Structure, _: &mut Random) {
    let last = list.nodes.len() - 1;
    list.nodes[last][NEXT] = Some(0);
    if list.slots.len() > 1 {
        list.nodes[0][PREV] = Some(last as u32);
    }
}

/// The tail refers to some node inside.
fn to_random(list: &mut Structure, random: &mut Random) {
    let last = list.nodes.len() - 1;
    list.nodes[last][NEXT] = Some(1 + random.index(last - 1) as u32);
}

/// Two nodes become neighbours.
fn cycle(list: &mut Structure, random: &mut Random) {
    let n = list.nodes.len();
    let (a, b) = (random.index(n), random.index(n));
    // Those that are neighbours already would be no error.
    if list.nodes[a][NEXT] == Some(b as u32) {
        return cycle(list, random);
    }
    list.nodes[a][NEXT] = Some(b as u32);
    list.nodes[b][PREV] = Some(a as u32);
}

/// A reference is gone.
fn disconnect(structure: &mut Structure, random: &mut Random) {
    loop {
        let at = random.index(structure.nodes.len());
        let slot = random.index(structure.slots.len());
        if structure.nodes[at][slot].take().is_some() {
            return;
        }
    }
}

/// A reference leads to the node after the next.
fn skip(list: &mut Structure, random: &mut Random) {
    loop {
        let at = random.index(list.nodes.len());
        let slot = random.index(2);
        let next = list.nodes[at][slot];
        let further = next.and_then(|next| list.nodes[next as usize][slot]);
        if further.is_some() {
            list.nodes[at][slot] = further;
            return;
        }
    }
}

/// A reference that was null leads to some node.
fn link(tree: &mut Structure, random: &mut Random) {
    let n = tree.nodes.len();
    loop {
        let at = random.index(n);
        let slot = random.index(tree.slots.len());
        if tree.nodes[at][slot].is_none() {
            tree.nodes[at][slot] = Some(random.index(n) as u32);
            return;
        }
    }
}

/// The end of one chain goes on in another.
fn bucket_link(map: &mut Structure, random: &mut Random) {
    let heads: Vec<u32> = map.chains.iter().flatten().copied().collect();
    let mut end = heads[random.index(heads.len())];
    while let Some(next) = map.nodes[end as usize][NEXT] {
        // Chains that were linked to themselves before have no end.
        if random.below(1_000) == 0 {
            return bucket_link(map, random);
        }
        end = next;
    }
    let other = heads[random.index(heads.len())];
    map.nodes[end as usize][NEXT] = Some(other);
}

#[cfg(test)]
mod tests {
    use heaphound::analysis::shape::{measure_view, shape_of};

    use super::*;

    #[test]
    fn structures_look_like_what_they_are() {
        let looks = [
            "singly linked list",
            "doubly linked list",
            "binary tree",
            "binary tree",
            "binary tree",
            "binary tree with parent pointers",
            "binary tree with parent pointers",
            "binary tree with parent pointers",
        ];
        for (kind, look) in KINDS.iter().zip(looks) {
            let heap = (kind.make)(1_001, &mut Random::new(1)).heap();
            let measures = measure_view(&heap);
            assert_eq!(measures.len(), 1, "{}", kind.name);
            assert_eq!(measures[0].instances, 1_001);
            assert_eq!(shape_of(&measures[0]).to_string(), look, "{}", kind.name);
        }
    }

    #[test]
    fn every_error_changes_something() {
        for kind in KINDS {
            for error in kind.errors {
                for seed in 1..20 {
                    let mut random = Random::new(seed);
                    let right = (kind.make)(300, &mut random);
                    let mut wrong = right.clone();
                    (error.insert)(&mut wrong, &mut random);
                    assert_ne!(right.nodes, wrong.nodes, "{} {}", kind.name, error.name);
                }
            }
        }
    }
}
