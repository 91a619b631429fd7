//! The tree of dominators, a node a line.

use super::page::{Page, columns};
use super::{BOLD, DIM, PLAIN};
use crate::dominators::{Dominators, Node, Rest};
use crate::figures::{count, percent};

/// Puts a tree.
pub fn put(page: &mut Page, heap: &str, tree: &Dominators) {
    let (objects, bytes) = (count(tree.heap_objects), count(tree.heap_bytes));
    page.put(BOLD, heap);
    page.put(PLAIN, &format!(": {objects} live objects, {bytes} bytes"));
    page.end();
    if let Some((object, above)) = tree.from.split_first() {
        let above = match above {
            [] => "nothing dominates it".to_string(),
            above => format!("dominated by {}", above.join(", by ")),
        };
        page.put(PLAIN, &format!("  from {object}, {above}"));
        page.end();
    }
    let mut lines = Vec::new();
    list(&tree.nodes, tree.left_out, tree.heap_bytes, 0, &mut lines);
    let titles = ["retained", "of all", "objects"].map(String::from);
    let width = |nth: usize| {
        let cells = lines.iter().map(|line: &Line| columns(&line.cells[nth]));
        cells.max().unwrap_or(0).max(columns(&titles[nth]))
    };
    let widths = [width(0), width(1), width(2)];
    let cells = |cells: &[String; 3]| {
        let padded = cells.iter().zip(widths).map(|(cell, width)| {
            let blanks = " ".repeat(width.saturating_sub(columns(cell)));
            format!("  {blanks}{cell}")
        });
        padded.collect::<String>()
    };
    let title = match tree.by {
        "class" => "class",
        _ => "object",
    };
    page.put(DIM, &format!("{}  {title}", cells(&titles)));
    page.end();
    for line in &lines {
        let style = if line.is_rest { DIM } else { PLAIN };
        let indent = "  ".repeat(line.depth);
        page.put(
            style,
            &format!("{}  {indent}{}", cells(&line.cells), line.text),
        );
        page.end();
    }
    if lines.is_empty() {
        page.put(PLAIN, "  none");
        page.end();
    }
}

struct Line {
    cells: [String; 3],
    depth: usize,
    text: String,
    is_rest: bool,
}

/// Lists nodes and what is below them. Trees are as deep as was asked for, so that this does not go deep.
fn list(nodes: &[Node], rest: Option<Rest>, all: u64, depth: usize, lines: &mut Vec<Line>) {
    for node in nodes {
        let mut text = match &node.slot {
            Some(slot) => format!("{slot} → {}", node.name),
            None => node.name.clone(),
        };
        if node.count > 1 {
            text = format!("{} {text}", count(node.count));
        }
        if let Some(caption) = &node.caption {
            text += &format!(" ({caption})");
        }
        lines.push(Line {
            cells: [
                count(node.retained_bytes),
                percent(node.retained_bytes, all),
                count(node.retained_objects),
            ],
            depth,
            text,
            is_rest: false,
        });
        list(&node.below, node.left_out, all, depth + 1, lines);
    }
    if let Some(rest) = rest {
        lines.push(Line {
            cells: [
                count(rest.retained_bytes),
                percent(rest.retained_bytes, all),
                String::new(),
            ],
            depth,
            text: format!("… and {} more", count(rest.nodes)),
            is_rest: true,
        });
    }
}
