//! Structures around arrays: tables, sets and graphs.

use std::collections::BTreeSet;

use super::super::model::{Class, Model, Slots};
use super::{Kind, Verdict};
use crate::programs::Random;

const HOLDER: usize = 0;
const NODE: usize = 1;
const ARRAY: usize = 2;

/// Returns a larger copy of an array.
fn grown(model: &mut Model, array: u32, length: usize) -> u32 {
    let more = model.add_array(ARRAY, length);
    for at in 0..model.slots(array).len().min(length) {
        let to = model.get(array, at);
        model.set(more, at, to);
    }
    more
}

pub(super) const UNION_FIND: Kind = Kind {
    name: "union-find",
    visible_pct: 90.0,
    classes: &[
        Class {
            name: "UnionFind",
            slots: Slots::Fields(&[("nodes", &[ARRAY])]),
        },
        Class {
            name: "UNode",
            slots: Slots::Fields(&[("parent", &[NODE])]),
        },
        Class {
            name: "UNode[]",
            slots: Slots::Elements(&[NODE]),
        },
    ],
    make: |model, size, random| {
        let sets = model.add(HOLDER);
        let nodes = model.add_array(ARRAY, size);
        model.set(sets, 0, Some(nodes));
        for at in 0..size {
            let node = model.add(NODE);
            model.set(node, 0, Some(node));
            model.set(nodes, at, Some(node));
        }
        let find = |model: &mut Model, node: u32| {
            let mut root = node;
            while model.get(root, 0) != Some(root) {
                root = model.get(root, 0).expect("each has a parent");
            }
            let mut at = node;
            while at != root {
                let up = model.get(at, 0).expect("each has a parent");
                model.set(at, 0, Some(root));
                at = up;
            }
            root
        };
        let unions = match size {
            0 => 0,
            _ => random.index(size + 1),
        };
        for _ in 0..unions {
            let [a, b] = [(); 2].map(|_| model.get(nodes, random.index(size)).expect("a node"));
            let (a, b) = (find(model, a), find(model, b));
            model.set(a, 0, Some(b));
        }
        sets
    },
    judge: |model, sets, verdict| {
        let Some(array) = model.get(sets, 0).filter(|&it| verdict.meet(it)) else {
            return verdict.check(sets, false);
        };
        for &slot in model.slots(array) {
            match slot {
                Some(node) => drop(verdict.meet(node)),
                None => verdict.check(array, false),
            }
        }
        let own: BTreeSet<u32> = model.slots(array).iter().flatten().copied().collect();
        for &node in &own {
            let mut at = node;
            let mut met = BTreeSet::from([node]);
            loop {
                match model.get(at, 0).filter(|it| own.contains(it)) {
                    Some(up) if up == at => break,
                    Some(up) if met.insert(up) => at = up,
                    // A ring, or a way out.
                    _ => break verdict.check(at, false),
                }
            }
            // Which set it is in.
            verdict.content.extend([node, at]);
        }
    },
};

pub(super) const HASH_MAP: Kind = Kind {
    name: "hash map",
    visible_pct: 90.0,
    classes: &[
        Class {
            name: "HashMap",
            slots: Slots::Fields(&[("table", &[ARRAY])]),
        },
        Class {
            name: "Entry",
            slots: Slots::Fields(&[("next", &[NODE])]),
        },
        Class {
            name: "Entry[]",
            slots: Slots::Elements(&[NODE]),
        },
    ],
    make: |model, size, random| {
        let map = model.add(HOLDER);
        let table = model.add_array(ARRAY, 4);
        model.set(map, 0, Some(table));
        fill(model, map, size, random, |_, _| {}, |_, _| {});
        map
    },
    judge: |model, map, verdict| {
        let chains = judge_chains(model, map, verdict);
        verdict.content.extend(chains);
    },
};

/// Inserts into a hash map, which grows, and deletes.
fn fill(
    model: &mut Model,
    map: u32,
    size: usize,
    random: &mut Random,
    mut inserted: impl FnMut(&mut Model, u32),
    mut deleted: impl FnMut(&mut Model, u32),
) {
    let mut entries = Vec::new();
    let put = |model: &mut Model, table: u32, entry: u32| {
        let bucket = model.key(entry) as usize % model.slots(table).len();
        let head = model.get(table, bucket);
        model.set(entry, 0, head);
        model.set(table, bucket, Some(entry));
    };
    for _ in 0..size + size / 3 {
        let mut table = model.get(map, 0).expect("it has one");
        if entries.len() >= model.slots(table).len() * 3 / 4 {
            table = model.add_array(ARRAY, 2 * model.slots(table).len());
            for &entry in &entries {
                put(model, table, entry);
            }
            model.set(map, 0, Some(table));
        }
        let entry = model.add(NODE);
        model.set_key(entry, random.below(1 << 40));
        put(model, table, entry);
        inserted(model, entry);
        entries.push(entry);
    }
    while entries.len() > size {
        let entry = entries.swap_remove(random.index(entries.len()));
        let table = model.get(map, 0).expect("it has one");
        let (mut at, mut slot) = (table, model.key(entry) as usize % model.slots(table).len());
        while model.get(at, slot) != Some(entry) {
            at = model.get(at, slot).expect("it was inserted");
            slot = 0;
        }
        let after = model.get(entry, 0);
        model.set(at, slot, after);
        deleted(model, entry);
    }
}

/// Returns the entries of a hash map, chain after chain.
fn judge_chains(model: &Model, map: u32, verdict: &mut Verdict) -> Vec<u32> {
    let mut found = Vec::new();
    let Some(table) = model.get(map, 0).filter(|&it| verdict.meet(it)) else {
        verdict.check(map, false);
        return found;
    };
    for &head in model.slots(table) {
        let mut at = head;
        while let Some(entry) = at {
            if !verdict.meet(entry) {
                break;
            }
            found.push(entry);
            at = model.get(entry, 0);
        }
    }
    found
}

pub(super) const LRU: Kind = Kind {
    name: "LRU cache",
    visible_pct: 90.0,
    classes: &[
        Class {
            name: "LruCache",
            slots: Slots::Fields(&[
                ("table", &[ARRAY]),
                ("newest", &[NODE]),
                ("oldest", &[NODE]),
            ]),
        },
        Class {
            name: "LruEntry",
            slots: Slots::Fields(&[("chain", &[NODE]), ("older", &[NODE]), ("newer", &[NODE])]),
        },
        Class {
            name: "LruEntry[]",
            slots: Slots::Elements(&[NODE]),
        },
    ],
    make: |model, size, random| {
        let map = model.add(HOLDER);
        let table = model.add_array(ARRAY, 4);
        model.set(map, 0, Some(table));
        let join = |model: &mut Model, newer: Option<u32>, older: Option<u32>| {
            match newer {
                Some(newer) => model.set(newer, 1, older),
                None => model.set(map, 1, older),
            }
            match older {
                Some(older) => model.set(older, 2, newer),
                None => model.set(map, 2, newer),
            }
        };
        let inserted = |model: &mut Model, entry: u32| {
            let before = model.get(map, 1);
            join(model, Some(entry), before);
            join(model, None, Some(entry));
        };
        let deleted = |model: &mut Model, entry: u32| {
            let (older, newer) = (model.get(entry, 1), model.get(entry, 2));
            join(model, newer, older);
        };
        fill(model, map, size, random, inserted, deleted);
        map
    },
    judge: |model, map, verdict| {
        let entries: BTreeSet<u32> = judge_chains(model, map, verdict).into_iter().collect();
        let mut listed = BTreeSet::new();
        let mut before = None;
        let mut at = model.get(map, 1);
        while let Some(entry) = at {
            verdict.check(
                entry,
                model.get(entry, 2) == before && entries.contains(&entry),
            );
            if !listed.insert(entry) {
                break;
            }
            verdict.content.push(entry);
            before = at;
            at = model.get(entry, 1);
        }
        verdict.check(map, model.get(map, 2) == before);
        for &lost in entries.difference(&listed) {
            verdict.check(lost, false);
        }
    },
};

pub(super) const ADJACENT: Kind = Kind {
    name: "graph of neighbours",
    visible_pct: 90.0,
    classes: &[
        Class {
            name: "Graph",
            slots: Slots::Fields(&[("nodes", &[ARRAY])]),
        },
        Class {
            name: "GNode",
            slots: Slots::Fields(&[("neighbours", &[ARRAY])]),
        },
        Class {
            name: "GNode[]",
            slots: Slots::Elements(&[NODE]),
        },
    ],
    make: |model, size, random| {
        let graph = model.add(HOLDER);
        let nodes = model.add_array(ARRAY, size);
        model.set(graph, 0, Some(nodes));
        for at in 0..size {
            let node = model.add(NODE);
            let none = model.add_array(ARRAY, 0);
            model.set(node, 0, Some(none));
            model.set(nodes, at, Some(node));
        }
        for (a, b) in edges(size, random) {
            let [a, b] = [a, b].map(|it| model.get(nodes, it).expect("a node"));
            for (from, to) in [(a, b), (b, a)] {
                let array = model.get(from, 0).expect("it has one");
                let length = model.slots(array).len();
                let more = grown(model, array, length + 1);
                model.set(more, length, Some(to));
                model.set(from, 0, Some(more));
            }
        }
        graph
    },
    judge: |model, graph, verdict| {
        let Some(nodes) = model.get(graph, 0).filter(|&it| verdict.meet(it)) else {
            return verdict.check(graph, false);
        };
        let mut own = Vec::new();
        for &slot in model.slots(nodes) {
            match slot {
                Some(node) => {
                    verdict.meet(node);
                    own.push((node, model.get(node, 0)));
                }
                None => verdict.check(nodes, false),
            }
        }
        judge_neighbours(model, &own, verdict);
    },
};

pub(super) const ADJACENCY: Kind = Kind {
    name: "adjacency arrays",
    visible_pct: 10.0,
    classes: &[
        Class {
            name: "Adjacency",
            slots: Slots::Fields(&[("nodes", &[ARRAY]), ("rows", &[ROWS])]),
        },
        Class {
            name: "Vertex",
            slots: Slots::Fields(&[]),
        },
        Class {
            name: "Vertex[]",
            slots: Slots::Elements(&[NODE]),
        },
        Class {
            name: "Vertex[][]",
            slots: Slots::Elements(&[ARRAY]),
        },
    ],
    make: |model, size, random| {
        let graph = model.add(HOLDER);
        let nodes = model.add_array(ARRAY, size);
        let rows = model.add_array(ROWS, size);
        model.set(graph, 0, Some(nodes));
        model.set(graph, 1, Some(rows));
        for at in 0..size {
            let node = model.add(NODE);
            let none = model.add_array(ARRAY, 0);
            model.set(rows, at, Some(none));
            model.set(nodes, at, Some(node));
        }
        for (a, b) in edges(size, random) {
            for (from, to) in [(a, b), (b, a)] {
                let array = model.get(rows, from).expect("it has one");
                let length = model.slots(array).len();
                let more = grown(model, array, length + 1);
                let to = model.get(nodes, to);
                model.set(more, length, to);
                model.set(rows, from, Some(more));
            }
        }
        graph
    },
    judge: |model, graph, verdict| {
        let arrays = [0, 1].map(|slot| model.get(graph, slot));
        let [Some(nodes), Some(rows)] = arrays else {
            return verdict.check(graph, false);
        };
        verdict.meet(nodes);
        verdict.meet(rows);
        let mut own = Vec::new();
        for (&node, &row) in model.slots(nodes).iter().zip(model.slots(rows)) {
            match node {
                Some(node) => {
                    verdict.meet(node);
                    own.push((node, row));
                }
                None => verdict.check(nodes, false),
            }
            verdict.check(rows, row.is_some());
        }
        judge_neighbours(model, &own, verdict);
    },
};
const ROWS: usize = 3;

/// Looks at who is whose neighbour, given each node with its array of neighbours.
fn judge_neighbours(model: &Model, own: &[(u32, Option<u32>)], verdict: &mut Verdict) {
    let mut pairs = BTreeSet::new();
    let nodes: BTreeSet<u32> = own.iter().map(|it| it.0).collect();
    for &(node, array) in own {
        let Some(array) = array.filter(|&it| verdict.meet(it)) else {
            verdict.check(node, false);
            continue;
        };
        for slot in model.slots(array) {
            let is_right = slot.is_some_and(|to| to != node && nodes.contains(&to));
            let is_new = slot.is_some_and(|to| pairs.insert((node, to)));
            verdict.check(node, is_right && is_new);
            verdict.check(array, is_right && is_new);
        }
    }
    for &(a, b) in &pairs {
        verdict.check(a, pairs.contains(&(b, a)));
        verdict.check(b, pairs.contains(&(b, a)));
    }
    verdict
        .content
        .extend(pairs.into_iter().flat_map(|(a, b)| [a, b]));
}

/// Returns random edges of a graph, each once.
fn edges(size: usize, random: &mut Random) -> BTreeSet<(usize, usize)> {
    let mut edges = BTreeSet::new();
    if size > 1 {
        for _ in 0..size * 3 / 2 {
            let (a, b) = (random.index(size), random.index(size));
            if a != b {
                edges.insert((a.min(b), a.max(b)));
            }
        }
    }
    edges
}

const EDGE: usize = 3;

pub(super) const EDGES: Kind = Kind {
    name: "graph of edge objects",
    visible_pct: 90.0,
    classes: &[
        Class {
            name: "EGraph",
            slots: Slots::Fields(&[("nodes", &[ARRAY])]),
        },
        Class {
            name: "ENode",
            slots: Slots::Fields(&[("out", &[EDGE])]),
        },
        Class {
            name: "ENode[]",
            slots: Slots::Elements(&[NODE]),
        },
        Class {
            name: "Edge",
            slots: Slots::Fields(&[("from", &[NODE]), ("to", &[NODE]), ("next", &[EDGE])]),
        },
    ],
    make: |model, size, random| {
        let graph = model.add(HOLDER);
        let nodes = model.add_array(ARRAY, size);
        model.set(graph, 0, Some(nodes));
        for at in 0..size {
            let node = model.add(NODE);
            model.set(nodes, at, Some(node));
        }
        for (a, b) in edges(size, random) {
            let [a, b] = [a, b].map(|it| model.get(nodes, it));
            let edge = model.add(EDGE);
            let from = a.expect("a node");
            let first = model.get(from, 0);
            model.set(edge, 0, a);
            model.set(edge, 1, b);
            model.set(edge, 2, first);
            model.set(from, 0, Some(edge));
        }
        graph
    },
    judge: |model, graph, verdict| {
        let Some(nodes) = model.get(graph, 0).filter(|&it| verdict.meet(it)) else {
            return verdict.check(graph, false);
        };
        let own: BTreeSet<u32> = model.slots(nodes).iter().flatten().copied().collect();
        for &slot in model.slots(nodes) {
            let Some(node) = slot else {
                verdict.check(nodes, false);
                continue;
            };
            if !verdict.meet(node) {
                continue;
            }
            let mut at = model.get(node, 0);
            while let Some(edge) = at {
                verdict.check(edge, model.get(edge, 0) == Some(node));
                let to = model.get(edge, 1);
                verdict.check(edge, to.is_some_and(|to| own.contains(&to)));
                if !verdict.meet(edge) {
                    break;
                }
                verdict.content.extend([edge, to.unwrap_or(0)]);
                at = model.get(edge, 2);
            }
        }
    },
};
