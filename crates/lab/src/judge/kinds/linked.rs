//! Lists.

use super::super::model::{Class, Model, Slots};
use super::{Kind, Verdict};

const HOLDER: usize = 0;
const NODE: usize = 1;
const ARRAY: usize = 2;

pub(super) const DOUBLY: Kind = Kind {
    name: "doubly linked list",
    visible_pct: 90.0,
    classes: &[
        Class {
            name: "List",
            slots: Slots::Fields(&[("head", &[NODE]), ("tail", &[NODE])]),
        },
        Class {
            name: "ListNode",
            slots: Slots::Fields(&[("next", &[NODE]), ("prev", &[NODE])]),
        },
    ],
    make: |model, size, random| {
        let list = model.add(HOLDER);
        let mut nodes: Vec<u32> = Vec::new();
        for _ in 0..size + size / 3 {
            let at = random.index(nodes.len() + 1);
            let (before, after) = (
                at.checked_sub(1).map(|at| nodes[at]),
                nodes.get(at).copied(),
            );
            let node = model.add(NODE);
            join(model, list, before, Some(node));
            join(model, list, Some(node), after);
            nodes.insert(at, node);
        }
        while nodes.len() > size {
            let at = random.index(nodes.len());
            let node = nodes.remove(at);
            let (after, before) = (model.get(node, 0), model.get(node, 1));
            join(model, list, before, after);
        }
        list
    },
    judge: |model, list, verdict| {
        let mut before = None;
        let mut at = model.get(list, 0);
        while let Some(node) = at {
            verdict.check(node, model.get(node, 1) == before);
            if !verdict.meet(node) {
                return;
            }
            verdict.content.push(node);
            before = at;
            at = model.get(node, 0);
        }
        verdict.check(list, model.get(list, 1) == before);
    },
};

/// Makes two nodes neighbours, or one an end.
fn join(model: &mut Model, list: u32, a: Option<u32>, b: Option<u32>) {
    match a {
        Some(a) => model.set(a, 0, b),
        None => model.set(list, 0, b),
    }
    match b {
        Some(b) => model.set(b, 1, a),
        None => model.set(list, 1, a),
    }
}

pub(super) const CIRCULAR: Kind = Kind {
    name: "circular list",
    visible_pct: 85.0,
    classes: &[
        Class {
            name: "Ring",
            slots: Slots::Fields(&[("last", &[NODE])]),
        },
        Class {
            name: "RingNode",
            slots: Slots::Fields(&[("next", &[NODE])]),
        },
    ],
    make: |model, size, random| {
        let ring = model.add(HOLDER);
        for _ in 0..size {
            let node = model.add(NODE);
            match model.get(ring, 0) {
                None => model.set(node, 0, Some(node)),
                Some(last) => {
                    let first = model.get(last, 0);
                    model.set(node, 0, first);
                    model.set(last, 0, Some(node));
                }
            }
            if random.index(2) == 0 || model.get(ring, 0).is_none() {
                model.set(ring, 0, Some(node));
            }
        }
        ring
    },
    judge: |model, ring, verdict| {
        let Some(last) = model.get(ring, 0) else {
            return;
        };
        let mut at = last;
        while verdict.meet(at) {
            verdict.content.push(at);
            match model.get(at, 0) {
                Some(next) if next == last => return,
                Some(next) => at = next,
                None => {
                    verdict.check(at, false);
                    break;
                }
            }
        }
        // Nobody leads back to it.
        verdict.check(last, false);
    },
};

const LEVELS: usize = 10;

pub(super) const SKIP: Kind = Kind {
    name: "skip list",
    visible_pct: 90.0,
    classes: &[
        Class {
            name: "SkipList",
            slots: Slots::Fields(&[("head", &[NODE])]),
        },
        Class {
            name: "SkipNode",
            slots: Slots::Fields(&[("next", &[ARRAY])]),
        },
        Class {
            name: "SkipNode[]",
            slots: Slots::Elements(&[NODE]),
        },
    ],
    make: |model, size, random| {
        let list = model.add(HOLDER);
        let tower = |model: &mut Model, height: usize| {
            let node = model.add(NODE);
            let next = model.add_array(ARRAY, height);
            model.set(node, 0, Some(next));
            node
        };
        let head = tower(model, LEVELS);
        model.set(list, 0, Some(head));
        let next = |model: &Model, node: u32, level: usize| {
            model.get(model.get(node, 0).expect("a tower"), level)
        };
        let before = |model: &Model, key: u64| {
            let mut found = [head; LEVELS];
            let mut at = head;
            for level in (0..LEVELS).rev() {
                while let Some(to) = next(model, at, level).filter(|&it| model.key(it) < key) {
                    at = to;
                }
                found[level] = at;
            }
            found
        };
        let mut keys = Vec::new();
        for _ in 0..size + size / 3 {
            let key = 1 + random.below(1 << 40);
            let places = before(model, key);
            let height = 1 + (0..LEVELS - 1).take_while(|_| random.index(2) == 0).count();
            let node = tower(model, height);
            model.set_key(node, key);
            for (level, &place) in places.iter().enumerate().take(height) {
                let (array, to) = (
                    model.get(place, 0).expect("a tower"),
                    next(model, place, level),
                );
                let own = model.get(node, 0).expect("a tower");
                model.set(own, level, to);
                model.set(array, level, Some(node));
            }
            keys.push(key);
        }
        while keys.len() > size {
            let key = keys.swap_remove(random.index(keys.len()));
            let places = before(model, key);
            let node = next(model, places[0], 0).expect("it was inserted");
            for (level, &place) in places.iter().enumerate() {
                if next(model, place, level) == Some(node) {
                    let after = next(model, node, level);
                    let array = model.get(place, 0).expect("a tower");
                    model.set(array, level, after);
                }
            }
        }
        list
    },
    judge: |model, list, verdict| {
        let Some(head) = model.get(list, 0) else {
            return verdict.check(list, false);
        };
        let tower = |verdict: &mut Verdict, node: u32| match model.get(node, 0) {
            Some(array) if verdict.meet(array) => model.slots(array).to_vec(),
            _ => {
                verdict.check(node, false);
                Vec::new()
            }
        };
        verdict.meet(head);
        // The next of each level, as the nodes behind will show.
        let mut open = tower(verdict, head);
        verdict.check(head, open.len() == LEVELS);
        let mut sources = [head; LEVELS];
        while let Some(node) = open.first().copied().flatten() {
            if !verdict.meet(node) {
                return;
            }
            verdict.content.push(node);
            let own = tower(verdict, node);
            for level in 0..open.len() {
                let is_here = open[level] == Some(node);
                if level < own.len() {
                    verdict.check(sources[level], is_here);
                    verdict.check(node, is_here);
                    open[level] = own[level];
                    sources[level] = node;
                } else {
                    verdict.check(sources[level], !is_here);
                }
            }
            verdict.check(node, (1..=LEVELS).contains(&own.len()));
        }
        for (level, to) in open.iter().enumerate() {
            verdict.check(sources[level], to.is_none());
        }
    },
};

const CHUNK: usize = 8;
const ITEM: usize = 3;

pub(super) const CHUNKS: Kind = Kind {
    name: "deque of chunks",
    visible_pct: 85.0,
    classes: &[
        Class {
            name: "Deque",
            slots: Slots::Fields(&[("front", &[NODE]), ("back", &[NODE])]),
        },
        Class {
            name: "Chunk",
            slots: Slots::Fields(&[("next", &[NODE]), ("prev", &[NODE]), ("items", &[ARRAY])]),
        },
        Class {
            name: "Item[]",
            slots: Slots::Elements(&[ITEM]),
        },
        Class {
            name: "Item",
            slots: Slots::Fields(&[]),
        },
    ],
    make: |model, size, random| {
        let deque = model.add(HOLDER);
        let mut count = 0;
        for _ in 0..size + size / 4 {
            let array = |model: &Model, chunk: u32| model.get(chunk, 2).expect("a chunk");
            let full = |model: &Model, chunk: u32| {
                model.slots(array(model, chunk)).iter().all(Option::is_some)
            };
            let back = model.get(deque, 1);
            let chunk = match back.filter(|&chunk| !full(model, chunk)) {
                Some(chunk) => chunk,
                None => {
                    let chunk = model.add(NODE);
                    let items = model.add_array(ARRAY, CHUNK);
                    model.set(chunk, 2, Some(items));
                    join(model, deque, back, Some(chunk));
                    join(model, deque, Some(chunk), None);
                    chunk
                }
            };
            let item = model.add(ITEM);
            let items = array(model, chunk);
            let free = model.slots(items).iter().position(Option::is_none);
            model.set(items, free.expect("it is not full"), Some(item));
            count += 1;
            // Taken from the front, whole chunks at a time in the end.
            if count > 3 && random.index(5) == 0 {
                let front = model.get(deque, 0).expect("there are items");
                let items = array(model, front);
                let first = model.slots(items).iter().position(Option::is_some);
                model.set(items, first.expect("no chunk is empty"), None);
                count -= 1;
                let empty = model.slots(items).iter().all(Option::is_none);
                if empty && model.get(front, 0).is_some() {
                    let after = model.get(front, 0);
                    join(model, deque, None, after);
                } else if empty {
                    join(model, deque, None, None);
                }
            }
        }
        deque
    },
    judge: |model, deque, verdict| {
        let mut before = None;
        let mut at = model.get(deque, 0);
        while let Some(chunk) = at {
            verdict.check(chunk, model.get(chunk, 1) == before);
            if !verdict.meet(chunk) {
                return;
            }
            match model.get(chunk, 2) {
                Some(items) if verdict.meet(items) => {
                    let items: Vec<u32> = model.slots(items).iter().flatten().copied().collect();
                    verdict.check(chunk, !items.is_empty());
                    for item in items {
                        verdict.meet(item);
                        verdict.content.push(item);
                    }
                }
                _ => verdict.check(chunk, false),
            }
            before = at;
            at = model.get(chunk, 0);
        }
        verdict.check(deque, model.get(deque, 1) == before);
    },
};
