//! The tree of dominators.

use super::{Branch, Document, Part, Tree};
use crate::dominators::{Dominators, Node, Rest};
use crate::figures::{count, objects, size};

pub(super) fn put(document: &mut Document, tree: &Dominators) {
    document.fact("live", size(tree.heap_bytes));
    document.fact("live objects", count(tree.heap_objects));
    if let Some((object, above)) = tree.from.split_first() {
        document.fact("from", object);
        let above = match above {
            [] => "nothing".to_string(),
            above => above.join(", by "),
        };
        document.fact("dominated by", above);
    }
    let nodes: Vec<Branch> = tree.nodes.iter().map(branch).collect();
    // What hangs below an object is seen as a part of what it retains itself.
    let bytes = match tree.from.is_empty() {
        true => tree.heap_bytes,
        false => {
            let sum = nodes
                .iter()
                .fold(0u64, |sum, it| sum.saturating_add(it.bytes));
            sum.saturating_add(tree.left_out.map_or(0, |it| it.retained_bytes))
        }
    };
    let what = match tree.by {
        "class" => "classes",
        _ => "objects",
    };
    let mut shown = Tree {
        title: format!("Retained bytes by {what}: what is inside an area would go with it"),
        bytes,
        nodes,
        left_out: tree.left_out.map(rest),
    };
    let section = document.section("What keeps how much alive");
    section.push(Part::Treemap(shown.clone()));
    shown.title = String::new();
    shown.bytes = tree.heap_bytes;
    document
        .section("Tree of dominators")
        .push(Part::Outline(shown));
}

fn branch(node: &Node) -> Branch {
    let name = match node.count {
        0 | 1 => node.name.clone(),
        many => format!("{} {}", count(many), node.name),
    };
    let objects = objects(node.retained_objects);
    let detail = match &node.caption {
        Some(caption) => format!("{caption}, {objects}"),
        None => objects,
    };
    Branch {
        name,
        before: node.slot.clone().unwrap_or_default(),
        detail,
        bytes: node.retained_bytes,
        below: node.below.iter().map(branch).collect(),
        left_out: node.left_out.map(rest),
    }
}

fn rest(rest: Rest) -> (u64, u64) {
    (rest.nodes, rest.retained_bytes)
}
