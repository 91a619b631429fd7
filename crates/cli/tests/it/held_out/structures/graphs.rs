//! Graphs: adjacency lists, edges as objects, a sparse matrix, union-find.

use std::collections::HashSet;

use heaphound_testkit::dice::Dice;

use super::Structure;
use crate::held_out::sketch::{Id, NULL, Sketch};

pub const ALL: [Structure; 4] = [
    Structure {
        name: "adjacency lists with twins",
        links: &[
            ("Vertex[]", "[*]"),
            ("Vertex", "edges"),
            ("HalfEdge", "to"),
            ("HalfEdge", "twin"),
            ("HalfEdge", "next"),
        ],
        build: adjacency,
        valid: adjacency_is_valid,
    },
    Structure {
        name: "graph with edge objects",
        links: &[
            ("GraphNode[]", "[*]"),
            ("GraphNode", "outgoing"),
            ("GraphNode", "incoming"),
            ("Edge", "from"),
            ("Edge", "to"),
            ("Edge", "next_outgoing"),
            ("Edge", "next_incoming"),
        ],
        build: digraph,
        valid: digraph_is_valid,
    },
    Structure {
        name: "sparse matrix (crossed lists)",
        links: &[
            ("Matrix", "rows"),
            ("Matrix", "columns"),
            ("Cell[]", "[*]"),
            ("Cell", "right"),
            ("Cell", "down"),
        ],
        build: matrix,
        valid: matrix_is_valid,
    },
    Structure {
        name: "union-find",
        links: &[("SetNode[]", "[*]"), ("SetNode", "parent")],
        build: union_find,
        valid: union_find_is_valid,
    },
];

/// Takes an object out of a list that begins in a slot of `owner`.
fn take_out(h: &mut Sketch, owner: Id, first: &'static str, next: &'static str, it: Id) {
    let after = h.at(it, next);
    let mut at = h.at(owner, first);
    if at == it {
        h.set(owner, first, after);
        return;
    }
    while h.at(at, next) != it {
        at = h.at(at, next);
    }
    h.set(at, next, after);
}

// Adjacency lists of an undirected graph; the two halves of an edge know each other

fn adjacency(h: &mut Sketch, dice: &mut Dice, size: usize) -> Id {
    let count = 2 + size / 3;
    let vertices = h.array("Vertex[]", count);
    let graph = h.add("Graph", &[("vertices", vertices)], &[]);
    for index in 0..count {
        let vertex = h.add("Vertex", &[("edges", NULL)], &[("id", index as i64)]);
        h.set_element(vertices, index, vertex);
    }
    let mut edges: Vec<(Id, Id)> = Vec::new();
    while edges.len() < size {
        if dice.below(5) > 0 || edges.is_empty() {
            let a = h.element(vertices, dice.below(count));
            let b = h.element(vertices, dice.below(count));
            if a == b {
                continue;
            }
            let mut half = |from: Id, to: Id| {
                let first = h.at(from, "edges");
                let half = h.add(
                    "HalfEdge",
                    &[("to", to), ("twin", NULL), ("next", first)],
                    &[],
                );
                h.set(from, "edges", half);
                half
            };
            let (one, two) = (half(a, b), half(b, a));
            h.set(one, "twin", two);
            h.set(two, "twin", one);
            edges.push((one, two));
        } else {
            let (one, two) = edges.swap_remove(dice.below(edges.len()));
            let (a, b) = (h.at(two, "to"), h.at(one, "to"));
            take_out(h, a, "edges", "next", one);
            take_out(h, b, "edges", "next", two);
        }
    }
    graph
}

fn adjacency_is_valid(h: &Sketch, graph: Id) -> bool {
    let vertices = h.elements(h.at(graph, "vertices"));
    let known: HashSet<Id> = vertices.iter().copied().collect();
    if known.contains(&NULL) || known.len() < vertices.len() {
        return false;
    }
    let mut halves = HashSet::new();
    for &vertex in vertices {
        let mut half = h.at(vertex, "edges");
        while half != NULL {
            let (to, twin) = (h.at(half, "to"), h.at(half, "twin"));
            let fits = halves.insert(half)
                && known.contains(&to)
                && to != vertex
                && twin != NULL
                && h.at(twin, "twin") == half
                && h.at(twin, "to") == vertex;
            if !fits {
                return false;
            }
            half = h.at(half, "next");
        }
    }
    halves
        .iter()
        .all(|half| halves.contains(&h.at(*half, "twin")))
}

// A directed graph, where each edge is in the list of its source and in that of its target

fn digraph(h: &mut Sketch, dice: &mut Dice, size: usize) -> Id {
    let count = 2 + size / 4;
    let nodes = h.array("GraphNode[]", count);
    let graph = h.add("DirectedGraph", &[("nodes", nodes)], &[]);
    for index in 0..count {
        let slots = [("outgoing", NULL), ("incoming", NULL)];
        let node = h.add("GraphNode", &slots, &[("id", index as i64)]);
        h.set_element(nodes, index, node);
    }
    let mut edges = Vec::new();
    while edges.len() < size {
        if dice.below(5) > 0 || edges.is_empty() {
            let from = h.element(nodes, dice.below(count));
            let to = h.element(nodes, dice.below(count));
            let slots = [
                ("from", from),
                ("to", to),
                ("next_outgoing", h.at(from, "outgoing")),
                ("next_incoming", h.at(to, "incoming")),
            ];
            let edge = h.add("Edge", &slots, &[("weight", dice.below(100) as i64)]);
            h.set(from, "outgoing", edge);
            h.set(to, "incoming", edge);
            edges.push(edge);
        } else {
            let edge = edges.swap_remove(dice.below(edges.len()));
            let (from, to) = (h.at(edge, "from"), h.at(edge, "to"));
            take_out(h, from, "outgoing", "next_outgoing", edge);
            take_out(h, to, "incoming", "next_incoming", edge);
        }
    }
    graph
}

fn digraph_is_valid(h: &Sketch, graph: Id) -> bool {
    let nodes = h.elements(h.at(graph, "nodes"));
    let known: HashSet<Id> = nodes.iter().copied().collect();
    if known.contains(&NULL) || known.len() < nodes.len() {
        return false;
    }
    let collect = |first: &str, next: &str, end: &str| {
        let mut edges = HashSet::new();
        for &node in nodes {
            let mut edge = h.at(node, first);
            while edge != NULL {
                if !edges.insert(edge) || h.at(edge, end) != node {
                    return None;
                }
                edge = h.at(edge, next);
            }
        }
        Some(edges)
    };
    let outgoing = collect("outgoing", "next_outgoing", "from");
    outgoing.is_some() && outgoing == collect("incoming", "next_incoming", "to")
}

// A sparse matrix: each cell is in the list of its row and in that of its column

fn matrix(h: &mut Sketch, dice: &mut Dice, size: usize) -> Id {
    let side = 3 + size / 4;
    let (rows, columns) = (h.array("Cell[]", side), h.array("Cell[]", side));
    let matrix = h.add("Matrix", &[("rows", rows), ("columns", columns)], &[]);
    let mut cells: Vec<(usize, usize)> = Vec::new();
    while cells.len() < size {
        let chosen = dice.below(cells.len().max(1));
        if dice.below(4) > 0 || cells.is_empty() {
            let (row, column) = (dice.below(side), dice.below(side));
            if cells.contains(&(row, column)) {
                continue;
            }
            cells.push((row, column));
            let values = [("row", row as i64), ("column", column as i64)];
            let cell = h.add("Cell", &[("right", NULL), ("down", NULL)], &values);
            matrix_link(h, rows, row, cell, "right", "column");
            matrix_link(h, columns, column, cell, "down", "row");
        } else {
            let (row, column) = cells.swap_remove(chosen);
            matrix_unlink(h, rows, row, column as i64, "right", "column");
            matrix_unlink(h, columns, column, row as i64, "down", "row");
        }
    }
    matrix
}

fn matrix_link(h: &mut Sketch, heads: Id, index: usize, cell: Id, next: &str, field: &str) {
    let (mut before, mut at) = (NULL, h.element(heads, index));
    while at != NULL && h.value(at, field) < h.value(cell, field) {
        (before, at) = (at, h.at(at, next));
    }
    h.set(cell, next, at);
    match before {
        NULL => h.set_element(heads, index, cell),
        before => h.set(before, next, cell),
    }
}

fn matrix_unlink(h: &mut Sketch, heads: Id, index: usize, other: i64, next: &str, field: &str) {
    let (mut before, mut at) = (NULL, h.element(heads, index));
    while h.value(at, field) != other {
        (before, at) = (at, h.at(at, next));
    }
    let after = h.at(at, next);
    match before {
        NULL => h.set_element(heads, index, after),
        before => h.set(before, next, after),
    }
}

fn matrix_is_valid(h: &Sketch, matrix: Id) -> bool {
    let collect = |heads: &str, next: &str, own: &str, field: &str| {
        let heads = h.at(matrix, heads);
        let mut cells = HashSet::new();
        if heads == NULL {
            return None;
        }
        for (index, &first) in h.elements(heads).iter().enumerate() {
            let (mut last, mut at) = (-1, first);
            while at != NULL {
                let place = h.value(at, field);
                if h.value(at, own) != index as i64 || place <= last || !cells.insert(at) {
                    return None;
                }
                (last, at) = (place, h.at(at, next));
            }
        }
        Some(cells)
    };
    let rows = collect("rows", "right", "row", "column");
    rows.is_some() && rows == collect("columns", "down", "column", "row")
}

// Union-find, by rank, with halved paths

fn union_find(h: &mut Sketch, dice: &mut Dice, size: usize) -> Id {
    let nodes = h.array("SetNode[]", size);
    let sets = h.add("UnionFind", &[("nodes", nodes)], &[]);
    for index in 0..size {
        let node = h.add("SetNode", &[("parent", NULL)], &[("rank", 0)]);
        h.set(node, "parent", node);
        h.set_element(nodes, index, node);
    }
    for _ in 0..size / 2 + dice.below(size) {
        let a = find(h, h.element(nodes, dice.below(size)));
        let b = find(h, h.element(nodes, dice.below(size)));
        if a == b {
            continue;
        }
        let (low, high) = if h.value(a, "rank") < h.value(b, "rank") {
            (a, b)
        } else {
            (b, a)
        };
        h.set(low, "parent", high);
        let rank = h.value(high, "rank");
        if h.value(low, "rank") == rank {
            h.put(high, "rank", rank + 1);
        }
    }
    sets
}

fn find(h: &mut Sketch, mut node: Id) -> Id {
    while h.at(node, "parent") != node {
        let above = h.at(h.at(node, "parent"), "parent");
        h.set(node, "parent", above);
        node = above;
    }
    node
}

fn union_find_is_valid(h: &Sketch, sets: Id) -> bool {
    let nodes = h.elements(h.at(sets, "nodes"));
    let known: HashSet<Id> = nodes.iter().copied().collect();
    known.len() == nodes.len()
        && !known.contains(&NULL)
        && nodes.iter().all(|&node| {
            let parent = h.at(node, "parent");
            known.contains(&parent)
                && (parent == node || h.value(parent, "rank") > h.value(node, "rank"))
        })
}
