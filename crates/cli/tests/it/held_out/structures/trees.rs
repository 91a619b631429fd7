//! Other trees: rope, trie, quadtree, elements of a document, pairing heap, leftist heap.

use std::collections::HashSet;

use heaphound_testkit::dice::Dice;

use super::{Structure, key};
use crate::held_out::sketch::{Id, NULL, Sketch};

pub const ALL: [Structure; 6] = [
    Structure {
        name: "rope",
        links: &[
            ("Rope", "root"),
            ("RopeNode", "left"),
            ("RopeNode", "right"),
            ("RopeNode", "text"),
        ],
        build: rope,
        valid: rope_is_valid,
    },
    Structure {
        name: "trie",
        links: &[
            ("Trie", "root"),
            ("TrieNode", "children"),
            ("TrieNode[]", "[*]"),
        ],
        build: trie,
        valid: trie_is_valid,
    },
    Structure {
        name: "quadtree with parents",
        links: &[
            ("QuadTree", "root"),
            ("Quad", "parent"),
            ("Quad", "children"),
            ("Quad", "points"),
            ("Quad[]", "[*]"),
            ("Point[]", "[*]"),
        ],
        build: quadtree,
        valid: quadtree_is_valid,
    },
    Structure {
        name: "DOM-like tree",
        links: &[
            ("Document", "root"),
            ("Element", "parent"),
            ("Element", "first"),
            ("Element", "next"),
        ],
        build: document,
        valid: document_is_valid,
    },
    Structure {
        name: "pairing heap",
        links: &[
            ("PairingHeap", "root"),
            ("HeapNode", "child"),
            ("HeapNode", "sibling"),
            ("HeapNode", "prev"),
        ],
        build: pairing_heap,
        valid: pairing_heap_is_valid,
    },
    Structure {
        name: "leftist heap",
        links: &[
            ("LeftistHeap", "root"),
            ("LeftistNode", "left"),
            ("LeftistNode", "right"),
        ],
        build: leftist_heap,
        valid: leftist_heap_is_valid,
    },
];

// Rope

fn rope_leaf(h: &mut Sketch, len: i64) -> Id {
    let text = h.add("Text", &[], &[("len", len)]);
    let slots = [("left", NULL), ("right", NULL), ("text", text)];
    h.add("RopeNode", &slots, &[("weight", len)])
}

fn rope_len(h: &Sketch, mut node: Id) -> i64 {
    let mut len = 0;
    while node != NULL {
        len += h.value(node, "weight");
        node = h.at(node, "right");
    }
    len
}

fn rope_join(h: &mut Sketch, left: Id, right: Id) -> Id {
    if left == NULL || right == NULL {
        return left.max(right);
    }
    let slots = [("left", left), ("right", right), ("text", NULL)];
    let weight = rope_len(h, left);
    h.add("RopeNode", &slots, &[("weight", weight)])
}

fn rope_split(h: &mut Sketch, node: Id, at: i64) -> (Id, Id) {
    if node == NULL || at <= 0 {
        return (NULL, node);
    }
    let weight = h.value(node, "weight");
    if h.at(node, "text") != NULL {
        if at >= weight {
            return (node, NULL);
        }
        return (rope_leaf(h, at), rope_leaf(h, weight - at));
    }
    let (left, right) = (h.at(node, "left"), h.at(node, "right"));
    if at < weight {
        let (a, b) = rope_split(h, left, at);
        (a, rope_join(h, b, right))
    } else {
        let (a, b) = rope_split(h, right, at - weight);
        (rope_join(h, left, a), b)
    }
}

fn rope_leaves(h: &Sketch, node: Id, leaves: &mut Vec<Id>) {
    if node != NULL && h.at(node, "text") != NULL {
        leaves.push(node);
    } else if node != NULL {
        rope_leaves(h, h.at(node, "left"), leaves);
        rope_leaves(h, h.at(node, "right"), leaves);
    }
}

fn rope_balanced(h: &mut Sketch, leaves: &[Id]) -> Id {
    match leaves {
        [] => NULL,
        [leaf] => *leaf,
        _ => {
            let (left, right) = leaves.split_at(leaves.len() / 2);
            let left = rope_balanced(h, left);
            let right = rope_balanced(h, right);
            rope_join(h, left, right)
        }
    }
}

fn rope(h: &mut Sketch, dice: &mut Dice, size: usize) -> Id {
    let mut root = rope_leaf(h, 10);
    for edit in 0..size {
        let at = dice.below(rope_len(h, root) as usize + 1) as i64;
        let (left, right) = rope_split(h, root, at);
        root = if dice.below(4) > 0 || right == NULL {
            let new = rope_leaf(h, 1 + dice.below(30) as i64);
            let left = rope_join(h, left, new);
            rope_join(h, left, right)
        } else {
            let (_, right) = rope_split(h, right, 1 + dice.below(20) as i64);
            rope_join(h, left, right)
        };
        if root == NULL {
            root = rope_leaf(h, 1);
        }
        // An editor balances the rope now and then.
        if edit % 32 == 31 {
            let mut leaves = Vec::new();
            rope_leaves(h, root, &mut leaves);
            root = rope_balanced(h, &leaves);
        }
    }
    h.add("Rope", &[("root", root)], &[])
}

fn rope_is_valid(h: &Sketch, rope: Id) -> bool {
    /// Returns the length of a text.
    fn check(h: &Sketch, node: Id, seen: &mut HashSet<Id>) -> Option<i64> {
        if node == NULL || !seen.insert(node) {
            return None;
        }
        let (left, right) = (h.at(node, "left"), h.at(node, "right"));
        let (text, weight) = (h.at(node, "text"), h.value(node, "weight"));
        if text != NULL {
            let leaf = left == NULL && right == NULL && h.value(text, "len") == weight;
            return leaf.then_some(weight);
        }
        let (a, b) = (check(h, left, seen)?, check(h, right, seen)?);
        (a == weight).then_some(a + b)
    }
    check(h, h.at(rope, "root"), &mut HashSet::new()).is_some()
}

// Trie over six letters

const LETTERS: usize = 6;

fn trie_node(h: &mut Sketch, letter: usize) -> Id {
    let slots = [("children", NULL), ("value", NULL)];
    h.add("TrieNode", &slots, &[("letter", letter as i64)])
}

fn trie(h: &mut Sketch, dice: &mut Dice, size: usize) -> Id {
    let root = trie_node(h, LETTERS);
    let trie = h.add("Trie", &[("root", root)], &[]);
    let mut words: Vec<Vec<usize>> = Vec::new();
    // There are some thousand words of up to five letters.
    while words.len() < size {
        if dice.below(4) > 0 || words.is_empty() {
            let len = 2 + dice.below(4);
            let word: Vec<usize> = (0..len).map(|_| dice.below(LETTERS)).collect();
            if words.contains(&word) {
                continue;
            }
            let mut at = root;
            for &letter in &word {
                if h.at(at, "children") == NULL {
                    let children = h.array("TrieNode[]", LETTERS);
                    h.set(at, "children", children);
                }
                let children = h.at(at, "children");
                if h.element(children, letter) == NULL {
                    let node = trie_node(h, letter);
                    h.set_element(children, letter, node);
                }
                at = h.element(children, letter);
            }
            let value = h.data("Item", 16);
            h.set(at, "value", value);
            words.push(word);
        } else {
            let word = words.swap_remove(dice.below(words.len()));
            trie_remove(h, root, &word);
        }
    }
    trie
}

/// Removes a word, and says whether the node is of no use any more.
fn trie_remove(h: &mut Sketch, node: Id, word: &[usize]) -> bool {
    match word {
        [] => h.set(node, "value", NULL),
        [letter, rest @ ..] => {
            let children = h.at(node, "children");
            if trie_remove(h, h.element(children, *letter), rest) {
                h.set_element(children, *letter, NULL);
                if h.elements(children).iter().all(|it| *it == NULL) {
                    h.set(node, "children", NULL);
                }
            }
        }
    }
    h.at(node, "value") == NULL && h.at(node, "children") == NULL
}

fn trie_is_valid(h: &Sketch, trie: Id) -> bool {
    fn check(h: &Sketch, node: Id, letter: usize, seen: &mut HashSet<Id>) -> bool {
        let children = h.at(node, "children");
        if !seen.insert(node) || h.value(node, "letter") != letter as i64 {
            return false;
        }
        if children == NULL {
            return h.at(node, "value") != NULL;
        }
        let below = h.elements(children);
        seen.insert(children)
            && below.iter().any(|it| *it != NULL)
            && below
                .iter()
                .enumerate()
                .all(|(letter, it)| *it == NULL || check(h, *it, letter, seen))
    }
    let root = h.at(trie, "root");
    root != NULL && check(h, root, LETTERS, &mut HashSet::new())
}

// Quadtree

const IN_A_QUAD: usize = 4;

fn quad(h: &mut Sketch, parent: Id, x: i64, y: i64, size: i64) -> Id {
    let points = h.array("Point[]", IN_A_QUAD);
    let slots = [("parent", parent), ("children", NULL), ("points", points)];
    h.add("Quad", &slots, &[("x", x), ("y", y), ("size", size)])
}

/// Returns in which of its quarters a point lies.
fn quarter(h: &Sketch, quad: Id, point: Id) -> usize {
    let half = h.value(quad, "size") / 2;
    let right = h.value(point, "x") >= h.value(quad, "x") + half;
    let below = h.value(point, "y") >= h.value(quad, "y") + half;
    usize::from(right) + 2 * usize::from(below)
}

fn quadtree(h: &mut Sketch, dice: &mut Dice, size: usize) -> Id {
    let root = quad(h, NULL, 0, 0, 1 << 20);
    let tree = h.add("QuadTree", &[("root", root)], &[]);
    let mut points = Vec::new();
    while points.len() < size {
        if dice.below(4) > 0 || points.is_empty() {
            let (x, y) = (dice.below(1 << 20) as i64, dice.below(1 << 20) as i64);
            let point = h.add("Point", &[], &[("x", x), ("y", y)]);
            quad_insert(h, root, point);
            points.push(point);
        } else {
            let point = points.swap_remove(dice.below(points.len()));
            let mut at = root;
            while h.at(at, "children") != NULL {
                at = h.element(h.at(at, "children"), quarter(h, at, point));
            }
            let array = h.at(at, "points");
            let index = h.elements(array).iter().position(|it| *it == point);
            h.set_element(array, index.expect("it is there"), NULL);
        }
    }
    tree
}

fn quad_insert(h: &mut Sketch, mut at: Id, point: Id) {
    loop {
        while h.at(at, "children") != NULL {
            at = h.element(h.at(at, "children"), quarter(h, at, point));
        }
        let array = h.at(at, "points");
        if let Some(free) = h.elements(array).iter().position(|it| *it == NULL) {
            h.set_element(array, free, point);
            return;
        }
        let old = h.elements(array).to_vec();
        let children = h.array("Quad[]", 4);
        let half = h.value(at, "size") / 2;
        for index in 0..4 {
            let x = h.value(at, "x") + half * (index as i64 % 2);
            let y = h.value(at, "y") + half * (index as i64 / 2);
            let child = quad(h, at, x, y, half);
            h.set_element(children, index, child);
        }
        h.set(at, "children", children);
        h.set(at, "points", NULL);
        for point in old {
            quad_insert(h, at, point);
        }
    }
}

fn quadtree_is_valid(h: &Sketch, tree: Id) -> bool {
    fn check(h: &Sketch, quad: Id, parent: Id, seen: &mut HashSet<Id>) -> bool {
        let (children, points) = (h.at(quad, "children"), h.at(quad, "points"));
        if !seen.insert(quad) || h.at(quad, "parent") != parent {
            return false;
        }
        if (children == NULL) == (points == NULL) {
            return false;
        }
        let (x, y, size) = (
            h.value(quad, "x"),
            h.value(quad, "y"),
            h.value(quad, "size"),
        );
        if points != NULL {
            return seen.insert(points)
                && h.elements(points)
                    .iter()
                    .filter(|it| **it != NULL)
                    .all(|it| {
                        seen.insert(*it)
                            && (x..x + size).contains(&h.value(*it, "x"))
                            && (y..y + size).contains(&h.value(*it, "y"))
                    });
        }
        let half = size / 2;
        seen.insert(children)
            && h.elements(children).iter().enumerate().all(|(index, it)| {
                *it != NULL
                    && h.value(*it, "x") == x + half * (index as i64 % 2)
                    && h.value(*it, "y") == y + half * (index as i64 / 2)
                    && h.value(*it, "size") == half
                    && check(h, *it, quad, seen)
            })
    }
    let root = h.at(tree, "root");
    root != NULL && h.value(root, "size") == 1 << 20 && check(h, root, NULL, &mut HashSet::new())
}

// Elements with first child, next sibling and parent

fn element(h: &mut Sketch, dice: &mut Dice) -> Id {
    let text = if dice.below(3) == 0 {
        h.data("Str", 40)
    } else {
        NULL
    };
    let slots = [
        ("parent", NULL),
        ("first", NULL),
        ("next", NULL),
        ("text", text),
    ];
    h.add("Element", &slots, &[("tag", dice.below(12) as i64)])
}

/// Inserts a child in front of another, or as the last.
fn element_insert(h: &mut Sketch, parent: Id, child: Id, before: Id) {
    h.set(child, "parent", parent);
    h.set(child, "next", before);
    let mut at = h.at(parent, "first");
    if at == before {
        h.set(parent, "first", child);
        return;
    }
    while h.at(at, "next") != before {
        at = h.at(at, "next");
    }
    h.set(at, "next", child);
}

fn element_remove(h: &mut Sketch, child: Id) {
    let (parent, next) = (h.at(child, "parent"), h.at(child, "next"));
    let mut at = h.at(parent, "first");
    if at == child {
        h.set(parent, "first", next);
    } else {
        while h.at(at, "next") != child {
            at = h.at(at, "next");
        }
        h.set(at, "next", next);
    }
    h.set(child, "parent", NULL);
    h.set(child, "next", NULL);
}

fn element_holds(h: &Sketch, above: Id, mut below: Id) -> bool {
    while below != NULL && below != above {
        below = h.at(below, "parent");
    }
    below == above
}

fn document(h: &mut Sketch, dice: &mut Dice, size: usize) -> Id {
    let root = element(h, dice);
    let document = h.add("Document", &[("root", root)], &[]);
    let mut live = vec![root];
    while live.len() < size {
        let parent = dice.pick(&live);
        let mut before = h.at(parent, "first");
        for _ in 0..dice.below(5) {
            before = if before == NULL {
                NULL
            } else {
                h.at(before, "next")
            };
        }
        let chosen = dice.pick(&live);
        match dice.below(10) {
            0..8 => {
                let child = element(h, dice);
                element_insert(h, parent, child, before);
                live.push(child);
            }
            8 if chosen != root && !element_holds(h, chosen, parent) => {
                // Moves it to the end of another's children.
                element_remove(h, chosen);
                element_insert(h, parent, chosen, NULL);
            }
            9 if chosen != root => {
                element_remove(h, chosen);
                live.retain(|it| element_holds(h, root, *it));
            }
            _ => {}
        }
    }
    document
}

fn document_is_valid(h: &Sketch, document: Id) -> bool {
    fn check(h: &Sketch, element: Id, parent: Id, seen: &mut HashSet<Id>) -> bool {
        if !seen.insert(element) || h.at(element, "parent") != parent {
            return false;
        }
        let mut child = h.at(element, "first");
        while child != NULL {
            if !check(h, child, element, seen) {
                return false;
            }
            child = h.at(child, "next");
        }
        true
    }
    let root = h.at(document, "root");
    root != NULL && h.at(root, "next") == NULL && check(h, root, NULL, &mut HashSet::new())
}

// Pairing heap: `prev` is the parent of a first child, the left sibling of others

fn pairing_meld(h: &mut Sketch, a: Id, b: Id) -> Id {
    if a == NULL || b == NULL {
        return a.max(b);
    }
    let (top, below) = if h.value(a, "key") <= h.value(b, "key") {
        (a, b)
    } else {
        (b, a)
    };
    let child = h.at(top, "child");
    h.set(below, "sibling", child);
    if child != NULL {
        h.set(child, "prev", below);
    }
    h.set(below, "prev", top);
    h.set(top, "child", below);
    top
}

fn pairing_heap(h: &mut Sketch, dice: &mut Dice, size: usize) -> Id {
    let heap = h.add("PairingHeap", &[("root", NULL)], &[]);
    let mut nodes: Vec<Id> = Vec::new();
    while nodes.len() < size {
        let root = h.at(heap, "root");
        let root = match dice.below(8) {
            0..5 => {
                let slots = [("child", NULL), ("sibling", NULL), ("prev", NULL)];
                let node = h.add("HeapNode", &slots, &[("key", key(dice, size))]);
                nodes.push(node);
                pairing_meld(h, root, node)
            }
            5 | 6 if root != NULL => {
                nodes.retain(|it| *it != root);
                pairing_pop(h, root)
            }
            _ if root != NULL => {
                let node = dice.pick(&nodes);
                let key = h.value(node, "key") - dice.below(size * 5) as i64;
                h.put(node, "key", key);
                if node == root {
                    continue;
                }
                let (prev, sibling) = (h.at(node, "prev"), h.at(node, "sibling"));
                let slot = if h.at(prev, "child") == node {
                    "child"
                } else {
                    "sibling"
                };
                h.set(prev, slot, sibling);
                if sibling != NULL {
                    h.set(sibling, "prev", prev);
                }
                h.set(node, "sibling", NULL);
                h.set(node, "prev", NULL);
                pairing_meld(h, root, node)
            }
            _ => NULL,
        };
        h.set(heap, "root", root);
    }
    heap
}

fn pairing_pop(h: &mut Sketch, root: Id) -> Id {
    let (mut children, mut at) = (Vec::new(), h.at(root, "child"));
    while at != NULL {
        let next = h.at(at, "sibling");
        h.set(at, "sibling", NULL);
        h.set(at, "prev", NULL);
        children.push(at);
        at = next;
    }
    let mut pairs = Vec::new();
    for pair in children.chunks(2) {
        let pair = pairing_meld(h, pair[0], pair.get(1).copied().unwrap_or(NULL));
        pairs.push(pair);
    }
    let mut top = NULL;
    for pair in pairs.into_iter().rev() {
        top = pairing_meld(h, top, pair);
    }
    top
}

fn pairing_heap_is_valid(h: &Sketch, heap: Id) -> bool {
    fn check(h: &Sketch, node: Id, seen: &mut HashSet<Id>) -> bool {
        if !seen.insert(node) {
            return false;
        }
        let (mut prev, mut child) = (node, h.at(node, "child"));
        while child != NULL {
            if h.at(child, "prev") != prev || h.value(child, "key") < h.value(node, "key") {
                return false;
            }
            if !check(h, child, seen) {
                return false;
            }
            (prev, child) = (child, h.at(child, "sibling"));
        }
        true
    }
    let root = h.at(heap, "root");
    root == NULL
        || h.at(root, "sibling") == NULL
            && h.at(root, "prev") == NULL
            && check(h, root, &mut HashSet::new())
}

// Leftist heap

fn leftist_rank(h: &Sketch, node: Id) -> i64 {
    if node == NULL {
        0
    } else {
        h.value(node, "rank")
    }
}

fn leftist_meld(h: &mut Sketch, a: Id, b: Id) -> Id {
    if a == NULL || b == NULL {
        return a.max(b);
    }
    let (top, below) = if h.value(a, "key") <= h.value(b, "key") {
        (a, b)
    } else {
        (b, a)
    };
    let right = leftist_meld(h, h.at(top, "right"), below);
    let left = h.at(top, "left");
    let swapped = leftist_rank(h, left) < leftist_rank(h, right);
    let (left, right) = if swapped {
        (right, left)
    } else {
        (left, right)
    };
    h.set(top, "left", left);
    h.set(top, "right", right);
    let rank = leftist_rank(h, right) + 1;
    h.put(top, "rank", rank);
    top
}

fn leftist_heap(h: &mut Sketch, dice: &mut Dice, size: usize) -> Id {
    let heap = h.add("LeftistHeap", &[("root", NULL)], &[]);
    let mut len = 0;
    while len < size {
        let root = h.at(heap, "root");
        let root = if dice.below(3) > 0 || len == 0 {
            len += 1;
            let values = [("key", key(dice, size)), ("rank", 1)];
            let node = h.add("LeftistNode", &[("left", NULL), ("right", NULL)], &values);
            leftist_meld(h, root, node)
        } else {
            len -= 1;
            leftist_meld(h, h.at(root, "left"), h.at(root, "right"))
        };
        h.set(heap, "root", root);
    }
    heap
}

fn leftist_heap_is_valid(h: &Sketch, heap: Id) -> bool {
    fn check(h: &Sketch, node: Id, least: i64, seen: &mut HashSet<Id>) -> bool {
        if node == NULL {
            return true;
        }
        let (left, right, own) = (
            h.at(node, "left"),
            h.at(node, "right"),
            h.value(node, "key"),
        );
        seen.insert(node)
            && own >= least
            && leftist_rank(h, left) >= leftist_rank(h, right)
            && h.value(node, "rank") == leftist_rank(h, right) + 1
            && check(h, left, own, seen)
            && check(h, right, own, seen)
    }
    check(h, h.at(heap, "root"), i64::MIN, &mut HashSet::new())
}
