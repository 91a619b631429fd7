//! Trees.

use super::super::model::{Class, Model, Slots};
use super::{Kind, Verdict};
use crate::programs::Random;

const HOLDER: usize = 0;
const NODE: usize = 1;
const ARRAY: usize = 2;

const LEFT: usize = 0;
const RIGHT: usize = 1;
const PARENT: usize = 2;

pub(super) const AVL: Kind = Kind {
    name: "AVL tree with parents",
    visible_pct: 90.0,
    classes: &[
        Class {
            name: "Avl",
            slots: Slots::Fields(&[("root", &[NODE])]),
        },
        Class {
            name: "AvlNode",
            slots: Slots::Fields(&[("left", &[NODE]), ("right", &[NODE]), ("parent", &[NODE])]),
        },
    ],
    make: |model, size, random| {
        let tree = model.add(HOLDER);
        let mut keys = Vec::new();
        for _ in 0..size + size / 3 {
            let key = random.below(1 << 40);
            avl_insert(model, tree, key);
            keys.push(key);
        }
        while keys.len() > size {
            let key = keys.swap_remove(random.index(keys.len()));
            avl_delete(model, tree, key);
        }
        tree
    },
    judge: |model, tree, verdict| {
        let mut open: Vec<(u32, Option<u32>)> = model
            .get(tree, 0)
            .map(|it| (it, None))
            .into_iter()
            .collect();
        while let Some((node, parent)) = open.pop() {
            verdict.check(node, model.get(node, PARENT) == parent);
            if verdict.meet(node) {
                verdict.content.push(node);
                let children = [model.get(node, RIGHT), model.get(node, LEFT)];
                open.extend(children.into_iter().flatten().map(|it| (it, Some(node))));
            }
        }
    },
};

/// Puts a node where another was below a parent, or at the root.
fn put(model: &mut Model, tree: u32, parent: Option<u32>, old: u32, new: Option<u32>) {
    match parent {
        None => model.set(tree, 0, new),
        Some(parent) => {
            let side = (model.get(parent, RIGHT) == Some(old)) as usize;
            model.set(parent, side, new);
        }
    }
    if let Some(new) = new {
        model.set(new, PARENT, parent);
    }
}

fn height(model: &Model, node: Option<u32>) -> u64 {
    node.map_or(0, |node| model.key(node) >> 48)
}

/// Keys have 48 bits; the height is above them.
fn set_height(model: &mut Model, node: u32) {
    let [left, right] = [LEFT, RIGHT].map(|side| height(model, model.get(node, side)));
    let key = model.key(node) & ((1 << 48) - 1);
    model.set_key(node, key | (1 + left.max(right)) << 48);
}

fn rotate(model: &mut Model, tree: u32, top: u32, side: usize) -> u32 {
    let up = model.get(top, 1 - side).expect("it is higher");
    let middle = model.get(up, side);
    let parent = model.get(top, PARENT);
    put(model, tree, parent, top, Some(up));
    model.set(top, 1 - side, middle);
    if let Some(middle) = middle {
        model.set(middle, PARENT, Some(top));
    }
    model.set(up, side, Some(top));
    model.set(top, PARENT, Some(up));
    set_height(model, top);
    set_height(model, up);
    up
}

fn rebalance(model: &mut Model, tree: u32, mut at: Option<u32>) {
    while let Some(node) = at {
        set_height(model, node);
        let high = |model: &Model, node: u32, side| height(model, model.get(node, side));
        let mut top = node;
        for side in [LEFT, RIGHT] {
            if high(model, node, 1 - side) > high(model, node, side) + 1 {
                let child = model.get(node, 1 - side).expect("it is higher");
                if high(model, child, side) > high(model, child, 1 - side) {
                    rotate(model, tree, child, 1 - side);
                }
                top = rotate(model, tree, node, side);
                break;
            }
        }
        at = model.get(top, PARENT);
    }
}

fn avl_insert(model: &mut Model, tree: u32, key: u64) {
    let node = model.add(NODE);
    model.set_key(node, key | 1 << 48);
    let Some(mut at) = model.get(tree, 0) else {
        return model.set(tree, 0, Some(node));
    };
    loop {
        let side = (key > model.key(at) & ((1 << 48) - 1)) as usize;
        match model.get(at, side) {
            Some(next) => at = next,
            None => {
                model.set(at, side, Some(node));
                model.set(node, PARENT, Some(at));
                return rebalance(model, tree, Some(at));
            }
        }
    }
}

fn avl_delete(model: &mut Model, tree: u32, key: u64) {
    let own = |model: &Model, node: u32| model.key(node) & ((1 << 48) - 1);
    let mut at = model.get(tree, 0).expect("it was inserted");
    while own(model, at) != key {
        let side = (key > own(model, at)) as usize;
        at = model.get(at, side).expect("it was inserted");
    }
    if let (Some(_), Some(mut next)) = (model.get(at, LEFT), model.get(at, RIGHT)) {
        while let Some(left) = model.get(next, LEFT) {
            next = left;
        }
        let key = own(model, next) | model.key(at) >> 48 << 48;
        model.set_key(at, key);
        at = next;
    }
    let child = model.get(at, LEFT).or(model.get(at, RIGHT));
    let parent = model.get(at, PARENT);
    put(model, tree, parent, at, child);
    rebalance(model, tree, parent);
}

/// Looks at a tree without parents, given how to find children.
fn judge_tree(
    model: &Model,
    root: Option<u32>,
    verdict: &mut Verdict,
    mut children: impl FnMut(&mut Verdict, u32) -> Vec<u32>,
) {
    let mut open: Vec<u32> = root.into_iter().collect();
    while let Some(node) = open.pop() {
        debug_assert!((node as usize) < model.cells.len());
        if verdict.meet(node) {
            verdict.content.push(node);
            let mut children = children(verdict, node);
            children.reverse();
            open.append(&mut children);
        }
    }
}

pub(super) const TREAP: Kind = Kind {
    name: "treap",
    visible_pct: 90.0,
    classes: &[
        Class {
            name: "Treap",
            slots: Slots::Fields(&[("root", &[NODE])]),
        },
        Class {
            name: "TreapNode",
            slots: Slots::Fields(&[("left", &[NODE]), ("right", &[NODE])]),
        },
    ],
    make: |model, size, random| {
        fn merge(model: &mut Model, a: Option<u32>, b: Option<u32>) -> Option<u32> {
            let (Some(x), Some(y)) = (a, b) else {
                return a.or(b);
            };
            // The priority is the lower half of the key.
            let priority = |model: &Model, it: u32| model.key(it) & 0xffff_ffff;
            if priority(model, x) > priority(model, y) {
                let right = model.get(x, RIGHT);
                let right = merge(model, right, b);
                model.set(x, RIGHT, right);
                a
            } else {
                let left = model.get(y, LEFT);
                let left = merge(model, a, left);
                model.set(y, LEFT, left);
                b
            }
        }
        fn split(model: &mut Model, at: Option<u32>, key: u64) -> (Option<u32>, Option<u32>) {
            let Some(node) = at else {
                return (None, None);
            };
            if model.key(node) >> 32 < key {
                let right = model.get(node, RIGHT);
                let (a, b) = split(model, right, key);
                model.set(node, RIGHT, a);
                (at, b)
            } else {
                let left = model.get(node, LEFT);
                let (a, b) = split(model, left, key);
                model.set(node, LEFT, b);
                (a, at)
            }
        }
        let tree = model.add(HOLDER);
        for _ in 0..size {
            let key = random.below(1 << 30);
            let root = model.get(tree, 0);
            let (a, b) = split(model, root, key);
            let node = model.add(NODE);
            model.set_key(node, key << 32 | random.below(1 << 32));
            let a = merge(model, a, Some(node));
            let root = merge(model, a, b);
            model.set(tree, 0, root);
        }
        // A range is cut out.
        let root = model.get(tree, 0);
        let (a, b) = split(model, root, 1 << 29);
        let (_, b) = split(model, b, (1 << 29) + (1 << 25));
        let root = merge(model, a, b);
        model.set(tree, 0, root);
        tree
    },
    judge: |model, tree, verdict| {
        judge_tree(model, model.get(tree, 0), verdict, |_, node| {
            model.slots(node).iter().flatten().copied().collect()
        });
    },
};

pub(super) const ROPE: Kind = Kind {
    name: "rope",
    visible_pct: 90.0,
    classes: &[
        Class {
            name: "Rope",
            slots: Slots::Fields(&[("root", &[NODE, ARRAY])]),
        },
        Class {
            name: "RopeConcat",
            slots: Slots::Fields(&[("left", &[NODE, ARRAY]), ("right", &[NODE, ARRAY])]),
        },
        Class {
            name: "RopeLeaf",
            slots: Slots::Fields(&[]),
        },
    ],
    make: |model, size, random| {
        const LEAF: usize = ARRAY;
        let rope = model.add(HOLDER);
        // The leaves, with the slots that refer to them.
        let mut leaves: Vec<u32> = Vec::new();
        let find = |model: &Model, leaf: u32| {
            let all = 0..model.cells.len() as u32;
            let mut slots = all.flat_map(|it| [(it, LEFT), (it, RIGHT)]);
            slots.find(|&(it, side)| model.slots(it).get(side) == Some(&Some(leaf)))
        };
        for _ in 0..size {
            let leaf = model.add(LEAF);
            if leaves.is_empty() {
                model.set(rope, 0, Some(leaf));
            } else if random.index(3) == 0 {
                let concat = model.add(NODE);
                let root = model.get(rope, 0);
                let side = random.index(2);
                model.set(concat, side, root);
                model.set(concat, 1 - side, Some(leaf));
                model.set(rope, 0, Some(concat));
            } else {
                let other = leaves[random.index(leaves.len())];
                let (holder, slot) = find(model, other).expect("it is held");
                let concat = model.add(NODE);
                model.set(concat, LEFT, Some(other));
                model.set(concat, RIGHT, Some(leaf));
                model.set(holder, slot, Some(concat));
            }
            leaves.push(leaf);
        }
        for _ in 0..size / 4 {
            let leaf = leaves.swap_remove(random.index(leaves.len()));
            let (concat, side) = find(model, leaf).expect("it is held");
            if concat == rope {
                model.set(rope, 0, None);
            } else {
                let sibling = model.get(concat, 1 - side);
                let (holder, slot) = find(model, concat).expect("it is held");
                model.set(holder, slot, sibling);
                model.set(concat, LEFT, None);
                model.set(concat, RIGHT, None);
            }
        }
        rope
    },
    judge: |model, rope, verdict| {
        judge_tree(model, model.get(rope, 0), verdict, |verdict, node| {
            let slots = model.slots(node);
            verdict.check(node, slots.iter().all(Option::is_some));
            slots.iter().flatten().copied().collect()
        });
    },
};

pub(super) const PAIRING: Kind = Kind {
    name: "pairing heap",
    visible_pct: 90.0,
    classes: &[
        Class {
            name: "PairingHeap",
            slots: Slots::Fields(&[("root", &[NODE])]),
        },
        Class {
            name: "HeapNode",
            slots: Slots::Fields(&[("child", &[NODE]), ("sibling", &[NODE])]),
        },
    ],
    make: |model, size, random| {
        const CHILD: usize = 0;
        const SIBLING: usize = 1;
        fn meld(model: &mut Model, a: Option<u32>, b: Option<u32>) -> Option<u32> {
            let (Some(x), Some(y)) = (a, b) else {
                return a.or(b);
            };
            let (top, below) = match model.key(x) < model.key(y) {
                true => (x, y),
                false => (y, x),
            };
            let first = model.get(top, CHILD);
            model.set(below, SIBLING, first);
            model.set(top, CHILD, Some(below));
            Some(top)
        }
        let heap = model.add(HOLDER);
        for at in 0..size + size / 3 {
            let node = model.add(NODE);
            model.set_key(node, random.below(1 << 40));
            let root = model.get(heap, 0);
            let root = meld(model, root, Some(node));
            model.set(heap, 0, root);
            if at % 4 == 3 {
                // The least is taken out: children are melded in pairs, the pairs from the right.
                let root = root.expect("there are nodes");
                let mut pairs = Vec::new();
                let mut next = model.get(root, CHILD);
                while let Some(a) = next {
                    let b = model.get(a, SIBLING);
                    next = b.and_then(|b| model.get(b, SIBLING));
                    model.set(a, SIBLING, None);
                    if let Some(b) = b {
                        model.set(b, SIBLING, None);
                    }
                    pairs.push(meld(model, Some(a), b));
                }
                let all = pairs
                    .into_iter()
                    .rev()
                    .fold(None, |all, pair| meld(model, all, pair));
                model.set(heap, 0, all);
            }
        }
        heap
    },
    judge: |model, heap, verdict| {
        let root = model.get(heap, 0);
        if let Some(root) = root {
            verdict.check(root, model.get(root, 1).is_none());
        }
        judge_tree(model, root, verdict, |_, node| {
            model.slots(node).iter().flatten().copied().collect()
        });
    },
};

pub(super) const QUAD: Kind = Kind {
    name: "quadtree",
    visible_pct: 90.0,
    classes: &[
        Class {
            name: "QuadTree",
            slots: Slots::Fields(&[("root", &[NODE])]),
        },
        Class {
            name: "Quad",
            slots: Slots::Fields(&[
                ("nw", &[NODE]),
                ("ne", &[NODE]),
                ("sw", &[NODE]),
                ("se", &[NODE]),
            ]),
        },
    ],
    make: |model, size, random| {
        let tree = model.add(HOLDER);
        let root = model.add(NODE);
        model.set(tree, 0, Some(root));
        for _ in 0..size / 4 {
            // A point is inserted: a leaf on its way is split into four.
            let mut at = root;
            while let Some(next) = model.get(at, random.index(4)) {
                at = next;
            }
            if model.get(at, 0).is_none() {
                for side in 0..4 {
                    let quarter = model.add(NODE);
                    model.set(at, side, Some(quarter));
                }
            }
        }
        tree
    },
    judge: |model, tree, verdict| {
        verdict.check(tree, model.get(tree, 0).is_some());
        judge_tree(model, model.get(tree, 0), verdict, |verdict, node| {
            let children: Vec<u32> = model.slots(node).iter().flatten().copied().collect();
            verdict.check(node, [0, 4].contains(&children.len()));
            children
        });
    },
};

const LETTERS: usize = 8;

pub(super) const TRIE: Kind = Kind {
    name: "trie",
    visible_pct: 90.0,
    classes: &[
        Class {
            name: "Trie",
            slots: Slots::Fields(&[("root", &[NODE])]),
        },
        Class {
            name: "TrieNode",
            slots: Slots::Fields(&[("children", &[ARRAY])]),
        },
        Class {
            name: "TrieNode[]",
            slots: Slots::Elements(&[NODE]),
        },
    ],
    make: |model, size, random| {
        let trie = model.add(HOLDER);
        let add = |model: &mut Model| {
            let node = model.add(NODE);
            let children = model.add_array(ARRAY, LETTERS);
            model.set(node, 0, Some(children));
            node
        };
        let root = add(model);
        model.set(trie, 0, Some(root));
        for _ in 0..size / 2 {
            let mut at = root;
            for _ in 0..1 + random.index(5) {
                let letter = random.skewed(LETTERS as u64) as usize;
                let children = model.get(at, 0).expect("each node has them");
                at = match model.get(children, letter) {
                    Some(child) => child,
                    None => {
                        let child = add(model);
                        model.set(children, letter, Some(child));
                        child
                    }
                };
            }
        }
        // Words are deleted: leaves go.
        for _ in 0..size / 8 {
            let mut at = model.get(root, 0).expect("each node has them");
            loop {
                let children: Vec<usize> = (0..LETTERS)
                    .filter(|&it| model.get(at, it).is_some())
                    .collect();
                if children.is_empty() {
                    break;
                }
                let letter = children[random.index(children.len())];
                let child = model.get(at, letter).expect("it has one");
                let below = model.get(child, 0).expect("each node has them");
                if model.slots(below).iter().all(Option::is_none) {
                    model.set(at, letter, None);
                    break;
                }
                at = below;
            }
        }
        trie
    },
    judge: |model, trie, verdict| {
        verdict.check(trie, model.get(trie, 0).is_some());
        judge_tree(
            model,
            model.get(trie, 0),
            verdict,
            |verdict, node| match model.get(node, 0) {
                Some(children) if verdict.meet(children) => {
                    model.slots(children).iter().flatten().copied().collect()
                }
                _ => {
                    verdict.check(node, false);
                    Vec::new()
                }
            },
        );
    },
};

/// The most children of a node.
const WIDTH: usize = 6;
const FIRST: usize = 1;
const NEXT: usize = 1;

pub(super) const BTREE: Kind = Kind {
    name: "B-tree",
    visible_pct: 90.0,
    classes: &[
        Class {
            name: "BTree",
            slots: Slots::Fields(&[("root", &[NODE])]),
        },
        Class {
            name: "BNode",
            slots: Slots::Fields(&[("children", &[ARRAY])]),
        },
        Class {
            name: "BNode[]",
            slots: Slots::Elements(&[NODE]),
        },
    ],
    make: |model, size, random| grow(model, size, random, false),
    judge: |model, tree, verdict| judge_btree(model, tree, verdict, false),
};

pub(super) const BPLUS: Kind = Kind {
    name: "B+ tree",
    visible_pct: 90.0,
    classes: &[
        Class {
            name: "BPlusTree",
            slots: Slots::Fields(&[("root", &[NODE]), ("first", &[NODE])]),
        },
        Class {
            name: "BPlusNode",
            slots: Slots::Fields(&[("children", &[ARRAY]), ("next", &[NODE])]),
        },
        Class {
            name: "BPlusNode[]",
            slots: Slots::Elements(&[NODE]),
        },
    ],
    make: |model, size, random| grow(model, size, random, true),
    judge: |model, tree, verdict| judge_btree(model, tree, verdict, true),
};

/// Inserts into a B-tree; the number of a leaf's keys is its own key.
fn grow(model: &mut Model, size: usize, random: &mut Random, plus: bool) -> u32 {
    let tree = model.add(HOLDER);
    let root = model.add(NODE);
    model.set(tree, 0, Some(root));
    if plus {
        model.set(tree, FIRST, Some(root));
    }
    for _ in 0..size * 3 {
        // The way down to a random leaf.
        let mut way = vec![model.get(tree, 0).expect("it has a root")];
        while let Some(children) = model.get(way[way.len() - 1], 0) {
            let count = model.slots(children).iter().flatten().count();
            let child = model.get(children, random.index(count));
            way.push(child.expect("they are on the left"));
        }
        let leaf = way.pop().expect("the root at least");
        let keys = model.key(leaf) + 1;
        if keys <= WIDTH as u64 {
            model.set_key(leaf, keys);
            continue;
        }
        model.set_key(leaf, keys / 2);
        let right = model.add(NODE);
        model.set_key(right, keys - keys / 2);
        if plus {
            let after = model.get(leaf, NEXT);
            model.set(right, NEXT, after);
            model.set(leaf, NEXT, Some(right));
        }
        let (mut left, mut right) = (leaf, right);
        loop {
            let Some(parent) = way.pop() else {
                let root = model.add(NODE);
                let children = model.add_array(ARRAY, WIDTH);
                model.set(children, 0, Some(left));
                model.set(children, 1, Some(right));
                model.set(root, 0, Some(children));
                model.set(tree, 0, Some(root));
                break;
            };
            let array = model.get(parent, 0).expect("it has children");
            let mut children: Vec<u32> = model.slots(array).iter().flatten().copied().collect();
            let at = children
                .iter()
                .position(|&it| it == left)
                .expect("it is a child");
            children.insert(at + 1, right);
            let fill = |model: &mut Model, array: u32, children: &[u32]| {
                for at in 0..WIDTH {
                    model.set(array, at, children.get(at).copied());
                }
            };
            if children.len() <= WIDTH {
                fill(model, array, &children);
                break;
            }
            let (less, more) = children.split_at(children.len() / 2);
            fill(model, array, less);
            let sibling = model.add(NODE);
            let theirs = model.add_array(ARRAY, WIDTH);
            fill(model, theirs, more);
            model.set(sibling, 0, Some(theirs));
            (left, right) = (parent, sibling);
        }
    }
    tree
}

fn judge_btree(model: &Model, tree: u32, verdict: &mut Verdict, plus: bool) {
    verdict.check(tree, model.get(tree, 0).is_some());
    let mut leaves = Vec::new();
    judge_tree(
        model,
        model.get(tree, 0),
        verdict,
        |verdict, node| match model.get(node, 0) {
            None => {
                leaves.push(node);
                Vec::new()
            }
            Some(array) => {
                verdict.meet(array);
                let slots = model.slots(array);
                let children: Vec<u32> = slots.iter().flatten().copied().collect();
                // On the left, without a gap.
                let no_gap = slots[..children.len()].iter().all(Option::is_some);
                verdict.check(node, no_gap && !children.is_empty());
                verdict.check(array, no_gap && !children.is_empty());
                verdict.check(node, !plus || model.get(node, NEXT).is_none());
                children
            }
        },
    );
    if plus {
        verdict.check(tree, model.get(tree, FIRST) == leaves.first().copied());
        for (at, &leaf) in leaves.iter().enumerate() {
            verdict.check(leaf, model.get(leaf, NEXT) == leaves.get(at + 1).copied());
        }
    }
}
