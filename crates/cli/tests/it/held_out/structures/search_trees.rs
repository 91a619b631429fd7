//! Trees that keep keys in order: AVL, red-black, interval (a treap), B and B+.

use std::collections::HashSet;

use heaphound_testkit::dice::Dice;

use super::{Structure, key};
use crate::held_out::sketch::{Id, NULL, Sketch};

pub const ALL: [Structure; 5] = [
    Structure {
        name: "AVL tree with parents",
        links: &[
            ("AvlTree", "root"),
            ("AvlNode", "left"),
            ("AvlNode", "right"),
            ("AvlNode", "parent"),
        ],
        build: avl,
        valid: avl_is_valid,
    },
    Structure {
        name: "red-black tree with parents",
        links: &[
            ("RedBlackTree", "root"),
            ("RedBlackNode", "left"),
            ("RedBlackNode", "right"),
            ("RedBlackNode", "parent"),
        ],
        build: red_black,
        valid: red_black_is_valid,
    },
    Structure {
        name: "interval tree (treap)",
        links: &[
            ("IntervalTree", "root"),
            ("Interval", "left"),
            ("Interval", "right"),
        ],
        build: intervals,
        valid: intervals_are_valid,
    },
    Structure {
        name: "B-tree",
        links: &[
            ("BTree", "root"),
            ("BNode", "entries"),
            ("BNode", "children"),
            ("BNode[]", "[*]"),
            ("BEntry[]", "[*]"),
        ],
        build: b_tree,
        valid: b_tree_is_valid,
    },
    Structure {
        name: "B+ tree",
        links: &[
            ("BPlusTree", "root"),
            ("Page", "keys"),
            ("Page", "children"),
            ("Page", "next"),
            ("Page[]", "[*]"),
            ("Key[]", "[*]"),
        ],
        build: b_plus,
        valid: b_plus_is_valid,
    },
];

fn other(side: &'static str) -> &'static str {
    if side == "left" { "right" } else { "left" }
}

fn side_of(h: &Sketch, parent: Id, child: Id) -> &'static str {
    if h.at(parent, "left") == child {
        "left"
    } else {
        "right"
    }
}

fn leftmost(h: &Sketch, mut node: Id) -> Id {
    while h.at(node, "left") != NULL {
        node = h.at(node, "left");
    }
    node
}

// AVL

fn avl(h: &mut Sketch, dice: &mut Dice, size: usize) -> Id {
    let tree = h.add("AvlTree", &[("root", NULL)], &[]);
    let mut keys = Vec::new();
    while keys.len() < size {
        let root = h.at(tree, "root");
        let root = if dice.below(4) > 0 || keys.is_empty() {
            let key = key(dice, size);
            if !keys.contains(&key) {
                keys.push(key);
            }
            avl_insert(h, root, key)
        } else {
            let key = keys.swap_remove(dice.below(keys.len()));
            avl_remove(h, root, key)
        };
        h.set(tree, "root", root);
        if root != NULL {
            h.set(root, "parent", NULL);
        }
    }
    tree
}

fn avl_insert(h: &mut Sketch, node: Id, key: i64) -> Id {
    if node == NULL {
        let value = h.data("Item", 24);
        let slots = [
            ("left", NULL),
            ("right", NULL),
            ("parent", NULL),
            ("value", value),
        ];
        return h.add("AvlNode", &slots, &[("key", key), ("height", 1)]);
    }
    let side = match key.cmp(&h.value(node, "key")) {
        std::cmp::Ordering::Less => "left",
        std::cmp::Ordering::Greater => "right",
        std::cmp::Ordering::Equal => return node,
    };
    let child = avl_insert(h, h.at(node, side), key);
    avl_attach(h, node, side, child);
    avl_balance(h, node)
}

fn avl_remove(h: &mut Sketch, node: Id, key: i64) -> Id {
    let (left, right) = (h.at(node, "left"), h.at(node, "right"));
    match key.cmp(&h.value(node, "key")) {
        std::cmp::Ordering::Less => {
            let child = avl_remove(h, left, key);
            avl_attach(h, node, "left", child);
        }
        std::cmp::Ordering::Greater => {
            let child = avl_remove(h, right, key);
            avl_attach(h, node, "right", child);
        }
        std::cmp::Ordering::Equal if left == NULL => return right,
        std::cmp::Ordering::Equal if right == NULL => return left,
        std::cmp::Ordering::Equal => {
            let next = leftmost(h, right);
            let (key, value) = (h.value(next, "key"), h.at(next, "value"));
            h.put(node, "key", key);
            h.set(node, "value", value);
            let child = avl_remove(h, right, key);
            avl_attach(h, node, "right", child);
        }
    }
    avl_balance(h, node)
}

fn avl_attach(h: &mut Sketch, node: Id, side: &'static str, child: Id) {
    h.set(node, side, child);
    if child != NULL {
        h.set(child, "parent", node);
    }
}

fn avl_height(h: &Sketch, node: Id) -> i64 {
    if node == NULL {
        0
    } else {
        h.value(node, "height")
    }
}

fn avl_update(h: &mut Sketch, node: Id) {
    let (left, right) = (h.at(node, "left"), h.at(node, "right"));
    let height = 1 + avl_height(h, left).max(avl_height(h, right));
    h.put(node, "height", height);
}

/// Lets the child on that side rise above its parent.
fn avl_rotate(h: &mut Sketch, node: Id, side: &'static str) -> Id {
    let top = h.at(node, side);
    let middle = h.at(top, other(side));
    avl_attach(h, node, side, middle);
    avl_attach(h, top, other(side), node);
    avl_update(h, node);
    avl_update(h, top);
    top
}

fn avl_balance(h: &mut Sketch, node: Id) -> Id {
    avl_update(h, node);
    let lean = |h: &Sketch, n: Id| avl_height(h, h.at(n, "left")) - avl_height(h, h.at(n, "right"));
    let side = match lean(h, node) {
        2 => "left",
        -2 => "right",
        _ => return node,
    };
    let child = h.at(node, side);
    let inner = if side == "left" {
        lean(h, child) < 0
    } else {
        lean(h, child) > 0
    };
    if inner {
        let child = avl_rotate(h, child, other(side));
        avl_attach(h, node, side, child);
    }
    avl_rotate(h, node, side)
}

fn avl_is_valid(h: &Sketch, tree: Id) -> bool {
    let mut seen = HashSet::new();
    avl_check(h, h.at(tree, "root"), NULL, (i64::MIN, i64::MAX), &mut seen).is_some()
}

fn avl_check(
    h: &Sketch,
    node: Id,
    parent: Id,
    range: (i64, i64),
    seen: &mut HashSet<Id>,
) -> Option<i64> {
    if node == NULL {
        return Some(0);
    }
    let key = h.value(node, "key");
    if !seen.insert(node) || h.at(node, "parent") != parent || key <= range.0 || key >= range.1 {
        return None;
    }
    let left = avl_check(h, h.at(node, "left"), node, (range.0, key), seen)?;
    let right = avl_check(h, h.at(node, "right"), node, (key, range.1), seen)?;
    let height = 1 + left.max(right);
    ((left - right).abs() < 2 && h.value(node, "height") == height).then_some(height)
}

// Red-black

const RED: i64 = 1;
const BLACK: i64 = 0;

fn red_black(h: &mut Sketch, dice: &mut Dice, size: usize) -> Id {
    let tree = h.add("RedBlackTree", &[("root", NULL)], &[]);
    let mut keys = Vec::new();
    while keys.len() < size {
        if dice.below(4) > 0 || keys.is_empty() {
            let key = key(dice, size);
            if !keys.contains(&key) {
                keys.push(key);
                red_black_insert(h, tree, key);
            }
        } else {
            let key = keys.swap_remove(dice.below(keys.len()));
            red_black_remove(h, tree, key);
        }
    }
    tree
}

fn is_red(h: &Sketch, node: Id) -> bool {
    node != NULL && h.value(node, "color") == RED
}

/// Puts `new` where `old` hangs.
fn red_black_replace(h: &mut Sketch, tree: Id, old: Id, new: Id) {
    let parent = h.at(old, "parent");
    if parent == NULL {
        h.set(tree, "root", new);
    } else {
        let side = side_of(h, parent, old);
        h.set(parent, side, new);
    }
    if new != NULL {
        h.set(new, "parent", parent);
    }
}

/// Lets a node sink to that side.
fn red_black_rotate(h: &mut Sketch, tree: Id, node: Id, down: &'static str) {
    let top = h.at(node, other(down));
    let middle = h.at(top, down);
    h.set(node, other(down), middle);
    if middle != NULL {
        h.set(middle, "parent", node);
    }
    red_black_replace(h, tree, node, top);
    h.set(top, down, node);
    h.set(node, "parent", top);
}

fn red_black_insert(h: &mut Sketch, tree: Id, key: i64) {
    let (mut parent, mut at) = (NULL, h.at(tree, "root"));
    while at != NULL {
        parent = at;
        let side = if key < h.value(at, "key") {
            "left"
        } else {
            "right"
        };
        at = h.at(at, side);
    }
    let slots = [("left", NULL), ("right", NULL), ("parent", parent)];
    let mut node = h.add("RedBlackNode", &slots, &[("key", key), ("color", RED)]);
    if parent == NULL {
        h.set(tree, "root", node);
    } else {
        let side = if key < h.value(parent, "key") {
            "left"
        } else {
            "right"
        };
        h.set(parent, side, node);
    }
    while is_red(h, h.at(node, "parent")) {
        let mut parent = h.at(node, "parent");
        let above = h.at(parent, "parent");
        let side = side_of(h, above, parent);
        let uncle = h.at(above, other(side));
        if is_red(h, uncle) {
            h.put(parent, "color", BLACK);
            h.put(uncle, "color", BLACK);
            h.put(above, "color", RED);
            node = above;
        } else {
            if node == h.at(parent, other(side)) {
                node = parent;
                red_black_rotate(h, tree, node, side);
                parent = h.at(node, "parent");
            }
            h.put(parent, "color", BLACK);
            h.put(above, "color", RED);
            red_black_rotate(h, tree, above, other(side));
        }
    }
    let root = h.at(tree, "root");
    h.put(root, "color", BLACK);
}

fn red_black_remove(h: &mut Sketch, tree: Id, key: i64) {
    let mut node = h.at(tree, "root");
    while h.value(node, "key") != key {
        let side = if key < h.value(node, "key") {
            "left"
        } else {
            "right"
        };
        node = h.at(node, side);
    }
    if h.at(node, "left") != NULL && h.at(node, "right") != NULL {
        let next = leftmost(h, h.at(node, "right"));
        let key = h.value(next, "key");
        h.put(node, "key", key);
        node = next;
    }
    let child = h.at(node, "left").max(h.at(node, "right"));
    let black = !is_red(h, node);
    if child != NULL {
        red_black_replace(h, tree, node, child);
        if black {
            red_black_after_removal(h, tree, child);
        }
    } else {
        if black {
            red_black_after_removal(h, tree, node);
        }
        red_black_replace(h, tree, node, NULL);
    }
}

fn red_black_after_removal(h: &mut Sketch, tree: Id, mut node: Id) {
    while node != h.at(tree, "root") && !is_red(h, node) {
        let parent = h.at(node, "parent");
        let side = side_of(h, parent, node);
        let mut sibling = h.at(parent, other(side));
        if is_red(h, sibling) {
            h.put(sibling, "color", BLACK);
            h.put(parent, "color", RED);
            red_black_rotate(h, tree, parent, side);
            sibling = h.at(parent, other(side));
        }
        let (near, far) = (h.at(sibling, side), h.at(sibling, other(side)));
        if !is_red(h, near) && !is_red(h, far) {
            h.put(sibling, "color", RED);
            node = parent;
            continue;
        }
        if !is_red(h, far) {
            h.put(near, "color", BLACK);
            h.put(sibling, "color", RED);
            red_black_rotate(h, tree, sibling, other(side));
            sibling = h.at(parent, other(side));
        }
        let color = h.value(parent, "color");
        h.put(sibling, "color", color);
        h.put(parent, "color", BLACK);
        let far = h.at(sibling, other(side));
        h.put(far, "color", BLACK);
        red_black_rotate(h, tree, parent, side);
        node = h.at(tree, "root");
    }
    h.put(node, "color", BLACK);
}

fn red_black_is_valid(h: &Sketch, tree: Id) -> bool {
    let root = h.at(tree, "root");
    let mut seen = HashSet::new();
    !is_red(h, root) && red_black_check(h, root, NULL, (i64::MIN, i64::MAX), &mut seen).is_some()
}

fn red_black_check(
    h: &Sketch,
    node: Id,
    parent: Id,
    range: (i64, i64),
    seen: &mut HashSet<Id>,
) -> Option<i64> {
    if node == NULL {
        return Some(1);
    }
    let key = h.value(node, "key");
    let two_red = is_red(h, node) && is_red(h, parent);
    if two_red || !seen.insert(node) || h.at(node, "parent") != parent {
        return None;
    }
    if key <= range.0 || key >= range.1 {
        return None;
    }
    let left = red_black_check(h, h.at(node, "left"), node, (range.0, key), seen)?;
    let right = red_black_check(h, h.at(node, "right"), node, (key, range.1), seen)?;
    (left == right).then_some(left + i64::from(!is_red(h, node)))
}

// Interval tree

fn intervals(h: &mut Sketch, dice: &mut Dice, size: usize) -> Id {
    let tree = h.add("IntervalTree", &[("root", NULL)], &[]);
    let mut starts = Vec::new();
    while starts.len() < size {
        let root = h.at(tree, "root");
        let root = if dice.below(4) > 0 || starts.is_empty() {
            let start = key(dice, size);
            if starts.contains(&start) {
                continue;
            }
            starts.push(start);
            let end = start + 1 + dice.below(40) as i64;
            let chance = (dice.any() >> 20) as i64;
            let values = [
                ("start", start),
                ("end", end),
                ("max", end),
                ("chance", chance),
            ];
            let new = h.add("Interval", &[("left", NULL), ("right", NULL)], &values);
            let (less, more) = intervals_split(h, root, start);
            let less = intervals_merge(h, less, new);
            intervals_merge(h, less, more)
        } else {
            let start = starts.swap_remove(dice.below(starts.len()));
            let (less, rest) = intervals_split(h, root, start);
            let (_, more) = intervals_split(h, rest, start + 1);
            intervals_merge(h, less, more)
        };
        h.set(tree, "root", root);
    }
    tree
}

fn intervals_max(h: &Sketch, node: Id) -> i64 {
    if node == NULL {
        i64::MIN
    } else {
        h.value(node, "max")
    }
}

fn intervals_update(h: &mut Sketch, node: Id) {
    let below = intervals_max(h, h.at(node, "left")).max(intervals_max(h, h.at(node, "right")));
    let max = below.max(h.value(node, "end"));
    h.put(node, "max", max);
}

/// Splits into what starts before `start` and the rest.
fn intervals_split(h: &mut Sketch, node: Id, start: i64) -> (Id, Id) {
    if node == NULL {
        return (NULL, NULL);
    }
    if h.value(node, "start") < start {
        let (less, more) = intervals_split(h, h.at(node, "right"), start);
        h.set(node, "right", less);
        intervals_update(h, node);
        (node, more)
    } else {
        let (less, more) = intervals_split(h, h.at(node, "left"), start);
        h.set(node, "left", more);
        intervals_update(h, node);
        (less, node)
    }
}

fn intervals_merge(h: &mut Sketch, a: Id, b: Id) -> Id {
    if a == NULL || b == NULL {
        return a.max(b);
    }
    let top = if h.value(a, "chance") > h.value(b, "chance") {
        let right = intervals_merge(h, h.at(a, "right"), b);
        h.set(a, "right", right);
        a
    } else {
        let left = intervals_merge(h, a, h.at(b, "left"));
        h.set(b, "left", left);
        b
    };
    intervals_update(h, top);
    top
}

fn intervals_are_valid(h: &Sketch, tree: Id) -> bool {
    fn check(h: &Sketch, node: Id, range: (i64, i64), chance: i64, seen: &mut HashSet<Id>) -> bool {
        if node == NULL {
            return true;
        }
        let (start, own) = (h.value(node, "start"), h.value(node, "chance"));
        let (left, right) = (h.at(node, "left"), h.at(node, "right"));
        let max = intervals_max(h, left)
            .max(intervals_max(h, right))
            .max(h.value(node, "end"));
        seen.insert(node)
            && start >= range.0
            && start < range.1
            && own <= chance
            && h.value(node, "max") == max
            && check(h, left, (range.0, start), own, seen)
            && check(h, right, (start + 1, range.1), own, seen)
    }
    let mut seen = HashSet::new();
    let all = (i64::MIN, i64::MAX);
    check(h, h.at(tree, "root"), all, i64::MAX, &mut seen)
}

// B-tree of minimum degree 3

const DEGREE: usize = 3;
const FULL: usize = 2 * DEGREE - 1;

fn b_node(h: &mut Sketch, leaf: bool) -> Id {
    let entries = h.array("BEntry[]", FULL);
    let children = if leaf {
        NULL
    } else {
        h.array("BNode[]", FULL + 1)
    };
    let slots = [("entries", entries), ("children", children)];
    h.add("BNode", &slots, &[("count", 0)])
}

fn b_key(h: &Sketch, node: Id, index: usize) -> i64 {
    h.value(h.element(h.at(node, "entries"), index), "key")
}

fn b_tree(h: &mut Sketch, dice: &mut Dice, size: usize) -> Id {
    let root = b_node(h, true);
    let tree = h.add("BTree", &[("root", root)], &[]);
    let mut keys = HashSet::new();
    while keys.len() < size {
        let key = key(dice, size);
        if keys.insert(key) {
            let entry = h.add("BEntry", &[], &[("key", key)]);
            b_insert(h, tree, entry);
        } else if b_remove_from_leaf(h, tree, key) {
            keys.remove(&key);
        }
    }
    tree
}

/// Splits the full child at `index`; its middle entry rises.
fn b_split(h: &mut Sketch, parent: Id, index: usize) {
    let child = h.element(h.at(parent, "children"), index);
    let leaf = h.at(child, "children") == NULL;
    let right = b_node(h, leaf);
    for i in 0..DEGREE - 1 {
        let entry = h.element(h.at(child, "entries"), DEGREE + i);
        h.set_element(h.at(right, "entries"), i, entry);
        h.set_element(h.at(child, "entries"), DEGREE + i, NULL);
    }
    if !leaf {
        for i in 0..DEGREE {
            let below = h.element(h.at(child, "children"), DEGREE + i);
            h.set_element(h.at(right, "children"), i, below);
            h.set_element(h.at(child, "children"), DEGREE + i, NULL);
        }
    }
    let middle = h.element(h.at(child, "entries"), DEGREE - 1);
    h.set_element(h.at(child, "entries"), DEGREE - 1, NULL);
    h.put(child, "count", DEGREE as i64 - 1);
    h.put(right, "count", DEGREE as i64 - 1);
    let (entries, children) = (h.at(parent, "entries"), h.at(parent, "children"));
    h.elements_mut(entries).insert(index, middle);
    h.elements_mut(entries).pop();
    h.elements_mut(children).insert(index + 1, right);
    h.elements_mut(children).pop();
    let count = h.value(parent, "count");
    h.put(parent, "count", count + 1);
}

fn b_insert(h: &mut Sketch, tree: Id, entry: Id) {
    let key = h.value(entry, "key");
    let root = h.at(tree, "root");
    if h.value(root, "count") as usize == FULL {
        let new = b_node(h, false);
        h.set_element(h.at(new, "children"), 0, root);
        h.set(tree, "root", new);
        b_split(h, new, 0);
    }
    let mut node = h.at(tree, "root");
    loop {
        let count = h.value(node, "count") as usize;
        let mut index = (0..count).filter(|i| b_key(h, node, *i) < key).count();
        if h.at(node, "children") == NULL {
            let entries = h.at(node, "entries");
            h.elements_mut(entries).insert(index, entry);
            h.elements_mut(entries).pop();
            h.put(node, "count", count as i64 + 1);
            return;
        }
        let child = h.element(h.at(node, "children"), index);
        if h.value(child, "count") as usize == FULL {
            b_split(h, node, index);
            index += usize::from(b_key(h, node, index) < key);
        }
        node = h.element(h.at(node, "children"), index);
    }
}

/// Removes a key if it is in a leaf that can spare it, and says whether it did.
fn b_remove_from_leaf(h: &mut Sketch, tree: Id, key: i64) -> bool {
    let mut node = h.at(tree, "root");
    loop {
        let count = h.value(node, "count") as usize;
        let index = (0..count).filter(|i| b_key(h, node, *i) < key).count();
        if index < count && b_key(h, node, index) == key {
            if h.at(node, "children") != NULL || count < DEGREE {
                return false;
            }
            let entries = h.at(node, "entries");
            h.elements_mut(entries).remove(index);
            h.elements_mut(entries).push(NULL);
            h.put(node, "count", count as i64 - 1);
            return true;
        }
        node = h.element(h.at(node, "children"), index);
    }
}

fn b_tree_is_valid(h: &Sketch, tree: Id) -> bool {
    let mut seen = HashSet::new();
    let root = h.at(tree, "root");
    root != NULL && b_check(h, root, true, (i64::MIN, i64::MAX), &mut seen).is_some()
}

/// Returns how deep a subtree is.
fn b_check(
    h: &Sketch,
    node: Id,
    is_root: bool,
    range: (i64, i64),
    seen: &mut HashSet<Id>,
) -> Option<usize> {
    let (entries, children) = (h.at(node, "entries"), h.at(node, "children"));
    if entries == NULL || !seen.insert(node) || !seen.insert(entries) {
        return None;
    }
    let count = h.value(node, "count") as usize;
    if !is_root && count < DEGREE - 1 {
        return None;
    }
    let mut bounds = vec![range.0];
    for (i, &entry) in h.elements(entries).iter().enumerate() {
        if (entry != NULL) != (i < count) || entry != NULL && !seen.insert(entry) {
            return None;
        }
        if entry != NULL {
            bounds.push(h.value(entry, "key"));
        }
    }
    bounds.push(range.1);
    if !bounds.windows(2).all(|pair| pair[0] < pair[1]) {
        return None;
    }
    if children == NULL {
        return Some(1);
    }
    if !seen.insert(children) {
        return None;
    }
    let mut depth = None;
    for (i, &child) in h.elements(children).iter().enumerate() {
        if (child != NULL) != (i <= count) {
            return None;
        }
        if child != NULL {
            let below = b_check(h, child, false, (bounds[i], bounds[i + 1]), seen)?;
            if *depth.get_or_insert(below) != below {
                return None;
            }
        }
    }
    Some(depth? + 1)
}

// B+ tree with four keys a page

const KEYS: usize = 4;

fn page(h: &mut Sketch, leaf: bool) -> Id {
    let keys = h.array("Key[]", KEYS);
    let children = if leaf {
        NULL
    } else {
        h.array("Page[]", KEYS + 1)
    };
    let slots = [("keys", keys), ("children", children), ("next", NULL)];
    h.add("Page", &slots, &[("count", 0)])
}

fn b_plus(h: &mut Sketch, dice: &mut Dice, size: usize) -> Id {
    let root = page(h, true);
    let tree = h.add("BPlusTree", &[("root", root)], &[]);
    let mut keys = HashSet::new();
    while keys.len() < size {
        let key = key(dice, size);
        if !keys.insert(key) {
            continue;
        }
        let key = h.add("Key", &[], &[("key", key)]);
        if let Some((middle, right)) = b_plus_insert(h, h.at(tree, "root"), key) {
            let top = page(h, false);
            let root = h.at(tree, "root");
            h.set_element(h.at(top, "keys"), 0, middle);
            h.set_element(h.at(top, "children"), 0, root);
            h.set_element(h.at(top, "children"), 1, right);
            h.put(top, "count", 1);
            h.set(tree, "root", top);
        }
    }
    tree
}

/// Inserts a key; returns the key and the page that the page above has to take in, if it was split.
fn b_plus_insert(h: &mut Sketch, node: Id, key: Id) -> Option<(Id, Id)> {
    let count = h.value(node, "count") as usize;
    let number = h.value(key, "key");
    let (keys, children) = (h.at(node, "keys"), h.at(node, "children"));
    let index = (0..count)
        .filter(|i| h.value(h.element(keys, *i), "key") <= number)
        .count();
    let (new_key, new_child) = if children == NULL {
        (key, NULL)
    } else {
        b_plus_insert(h, h.element(children, index), key)?
    };
    let mut all_keys = h.elements(keys)[..count].to_vec();
    all_keys.insert(index, new_key);
    let mut all_children = Vec::new();
    if children != NULL {
        all_children = h.elements(children)[..=count].to_vec();
        all_children.insert(index + 1, new_child);
    }
    if all_keys.len() <= KEYS {
        b_plus_fill(h, node, &all_keys, &all_children);
        return None;
    }
    let half = all_keys.len() / 2;
    let middle = all_keys[half];
    let right = page(h, children == NULL);
    if children == NULL {
        // The key that rises stays in the leaf, too.
        b_plus_fill(h, right, &all_keys[half..], &[]);
        b_plus_fill(h, node, &all_keys[..half], &[]);
        let next = h.at(node, "next");
        h.set(right, "next", next);
        h.set(node, "next", right);
    } else {
        b_plus_fill(h, right, &all_keys[half + 1..], &all_children[half + 1..]);
        b_plus_fill(h, node, &all_keys[..half], &all_children[..=half]);
    }
    Some((middle, right))
}

fn b_plus_fill(h: &mut Sketch, node: Id, keys: &[Id], children: &[Id]) {
    h.put(node, "count", keys.len() as i64);
    let array = h.at(node, "keys");
    for i in 0..KEYS {
        h.set_element(array, i, keys.get(i).copied().unwrap_or(NULL));
    }
    let array = h.at(node, "children");
    if array != NULL {
        for i in 0..=KEYS {
            h.set_element(array, i, children.get(i).copied().unwrap_or(NULL));
        }
    }
}

fn b_plus_is_valid(h: &Sketch, tree: Id) -> bool {
    let root = h.at(tree, "root");
    let (mut seen, mut leaves) = (HashSet::new(), Vec::new());
    if root == NULL {
        return false;
    }
    if b_plus_check(h, root, true, (i64::MIN, i64::MAX), &mut seen, &mut leaves).is_none() {
        return false;
    }
    let next = leaves.iter().skip(1).copied().chain([NULL]);
    leaves
        .iter()
        .zip(next)
        .all(|(leaf, next)| h.at(*leaf, "next") == next)
}

fn b_plus_check(
    h: &Sketch,
    node: Id,
    is_root: bool,
    range: (i64, i64),
    seen: &mut HashSet<Id>,
    leaves: &mut Vec<Id>,
) -> Option<usize> {
    let (keys, children) = (h.at(node, "keys"), h.at(node, "children"));
    if keys == NULL || !seen.insert(node) || !seen.insert(keys) {
        return None;
    }
    let count = h.value(node, "count") as usize;
    if !is_root && count < KEYS / 2 {
        return None;
    }
    let mut numbers = Vec::new();
    for (i, &key) in h.elements(keys).iter().enumerate() {
        if (key != NULL) != (i < count) {
            return None;
        }
        if key != NULL {
            numbers.push(h.value(key, "key"));
        }
    }
    let sorted = numbers.windows(2).all(|pair| pair[0] < pair[1]);
    let inside = numbers.iter().all(|it| (range.0..range.1).contains(it));
    if !sorted || !inside {
        return None;
    }
    if children == NULL {
        leaves.push(node);
        return Some(1);
    }
    if h.at(node, "next") != NULL || !seen.insert(children) {
        return None;
    }
    let mut bounds = numbers;
    bounds.insert(0, range.0);
    bounds.push(range.1);
    let mut depth = None;
    for (i, &child) in h.elements(children).iter().enumerate() {
        if (child != NULL) != (i <= count) {
            return None;
        }
        if child != NULL {
            let range = (bounds[i], bounds[i + 1]);
            let below = b_plus_check(h, child, false, range, seen, leaves)?;
            if *depth.get_or_insert(below) != below {
                return None;
            }
        }
    }
    Some(depth? + 1)
}
