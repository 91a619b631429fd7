//! Trees whose nodes know who is above and beside them.

use super::super::model::{Class, Slots};
use super::Kind;

const HOLDER: usize = 0;
const NODE: usize = 1;

const PARENT: usize = 0;
const FIRST: usize = 1;
const LAST: usize = 2;
const AFTER: usize = 3;
const BEFORE: usize = 4;

/// Children are a doubly linked list, and each knows its parent.
pub(super) const DOCUMENT: Kind = Kind {
    name: "document",
    visible_pct: 90.0,
    classes: &[
        Class {
            name: "Document",
            slots: Slots::Fields(&[("root", &[NODE])]),
        },
        Class {
            name: "Element",
            slots: Slots::Fields(&[
                ("parent", &[NODE]),
                ("first", &[NODE]),
                ("last", &[NODE]),
                ("after", &[NODE]),
                ("before", &[NODE]),
            ]),
        },
    ],
    make: |model, size, random| {
        let document = model.add(HOLDER);
        let root = model.add(NODE);
        model.set(document, 0, Some(root));
        let mut all = vec![root];
        for _ in 0..size {
            let parent = all[random.index(all.len())];
            let node = model.add(NODE);
            all.push(node);
            model.set(node, PARENT, Some(parent));
            // At either end.
            let (end, start, ahead, behind) = match random.index(2) {
                0 => (LAST, FIRST, AFTER, BEFORE),
                _ => (FIRST, LAST, BEFORE, AFTER),
            };
            match model.get(parent, end) {
                Some(other) => {
                    model.set(other, ahead, Some(node));
                    model.set(node, behind, Some(other));
                }
                None => model.set(parent, start, Some(node)),
            }
            model.set(parent, end, Some(node));
        }
        document
    },
    judge: |model, document, verdict| {
        let Some(root) = model.get(document, 0) else {
            return verdict.check(document, false);
        };
        verdict.meet(root);
        for slot in [PARENT, AFTER, BEFORE] {
            verdict.check(root, model.get(root, slot).is_none());
        }
        let mut open = vec![root];
        while let Some(node) = open.pop() {
            verdict.content.push(node);
            let mut before = None;
            let mut at = model.get(node, FIRST);
            while let Some(child) = at {
                verdict.check(child, model.get(child, PARENT) == Some(node));
                verdict.check(child, model.get(child, BEFORE) == before);
                if !verdict.meet(child) {
                    break;
                }
                open.push(child);
                before = at;
                at = model.get(child, AFTER);
            }
            verdict.check(node, model.get(node, LAST) == before);
        }
    },
};

const ABOVE: usize = 2;
const NIL: usize = 1;

/// Nobody has a null: where nothing is, there is the tree's own sentinel.
pub(super) const SENTINEL: Kind = Kind {
    name: "tree with a sentinel",
    visible_pct: 45.0,
    classes: &[
        Class {
            name: "SearchTree",
            slots: Slots::Fields(&[("root", &[NODE]), ("nil", &[NODE])]),
        },
        Class {
            name: "SearchNode",
            slots: Slots::Fields(&[("left", &[NODE]), ("right", &[NODE]), ("parent", &[NODE])]),
        },
    ],
    make: |model, size, random| {
        let tree = model.add(HOLDER);
        let nil = model.add(NODE);
        for slot in [0, 1, ABOVE] {
            model.set(nil, slot, Some(nil));
        }
        model.set(tree, 0, Some(nil));
        model.set(tree, NIL, Some(nil));
        for _ in 0..size {
            let node = model.add(NODE);
            model.set(node, 0, Some(nil));
            model.set(node, 1, Some(nil));
            let (mut above, mut slot) = (nil, 0);
            let mut at = model.get(tree, 0);
            while let Some(it) = at.filter(|&it| it != nil) {
                (above, slot) = (it, random.index(2));
                at = model.get(it, slot);
            }
            model.set(node, ABOVE, Some(above));
            match above == nil {
                true => model.set(tree, 0, Some(node)),
                false => model.set(above, slot, Some(node)),
            }
        }
        tree
    },
    judge: |model, tree, verdict| {
        let Some(nil) = model.get(tree, NIL) else {
            return verdict.check(tree, false);
        };
        verdict.meet(nil);
        for &slot in model.slots(nil) {
            verdict.check(nil, slot == Some(nil));
        }
        let mut open = vec![(tree, 0, nil)];
        while let Some((from, slot, parent)) = open.pop() {
            let Some(node) = model.get(from, slot) else {
                verdict.check(from, false);
                continue;
            };
            if node != nil {
                verdict.check(node, model.get(node, ABOVE) == Some(parent));
                if verdict.meet(node) {
                    verdict.content.push(node);
                    open.extend([(node, 1, node), (node, 0, node)]);
                }
            }
        }
    },
};
