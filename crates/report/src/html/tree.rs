//! Trees whose nodes have sizes: as areas (Bruls, Huizing and van Wijk, *Squarified Treemaps*, 2000), and to be opened level by
//! level.

use super::bounds;
use super::writer::Html;
use crate::document::{Branch, Tree};
use crate::figures::{count, percent, size};

/// Puts a tree as areas. Places are in percent, so that the areas follow the width of the page.
pub fn put_areas(html: &mut Html, tree: &Tree) {
    html.raw("<figure class=\"picture\">");
    if !tree.title.is_empty() {
        html.raw("<figcaption>")
            .text(&tree.title)
            .raw("</figcaption>");
    }
    html.raw("<div class=\"areas\">");
    put_level(html, tree, &tree.nodes, tree.left_out, tree.bytes, SHAPE, 0);
    html.raw("</div></figure>\n");
}

/// How much wider than high the whole is. A phone shows it higher than that; areas are then less square.
const SHAPE: f64 = 2.2;

/// Areas that take less than this share of the whole are left out, with those that follow.
const LEAST: f64 = 0.0005;

fn put_level(
    html: &mut Html,
    tree: &Tree,
    nodes: &[Branch],
    left_out: Option<(u64, u64)>,
    bytes: u64,
    shape: f64,
    level: usize,
) {
    let least = (tree.bytes as f64 * LEAST) as u64;
    let is_seen = |it: &&Branch| it.bytes > 0 && it.bytes >= least;
    let mut seen: Vec<&Branch> = nodes.iter().filter(is_seen).collect();
    seen.sort_by_key(|it| std::cmp::Reverse(it.bytes));
    seen.truncate(bounds::AREAS);
    let shown = seen
        .iter()
        .fold(0u64, |sum, it| sum.saturating_add(it.bytes));
    // What is not shown is an area, too: that of the node itself, and of nodes that are small or not listed.
    let whole = bytes.max(shown);
    let rest = whole - shown;
    let mut sizes: Vec<f64> = seen.iter().map(|it| it.bytes as f64).collect();
    if rest > 0 {
        sizes.push(rest as f64);
    }
    let places = squarified(&sizes, shape);
    for (node, place) in seen.iter().zip(&places) {
        put_area(html, tree, node, *place, shape, level);
    }
    let hidden = (nodes.len() - seen.len()) as u64 + left_out.map_or(0, |it| it.0);
    if let (true, Some(place)) = (rest > 0, places.last()) {
        html.raw("<div class=\"area rest\"");
        put_place(html, *place);
        html.raw(" title=\"");
        match (level, hidden) {
            (0, 0) => html.text("the rest"),
            (_, 0) => html.text("itself, and what is not listed"),
            (_, many) => html.text(&format!("{} more", count(many))),
        };
        html.text(&format!(": {}, {}", size(rest), percent(rest, tree.bytes)));
        html.raw("\"></div>");
    }
}

fn put_area(html: &mut Html, tree: &Tree, node: &Branch, place: Place, shape: f64, level: usize) {
    let bytes = format!("{}, {}", size(node.bytes), percent(node.bytes, tree.bytes));
    html.raw("<div class=\"area l").number(level).raw("\"");
    put_place(html, place);
    html.raw(" title=\"")
        .text(&named(node))
        .text(": ")
        .text(&bytes);
    if !node.detail.is_empty() {
        html.text(", ").text(&node.detail);
    }
    html.raw("\"><span class=\"name\">")
        .text(&node.name)
        .raw("</span>");
    let is_parent = !node.below.is_empty() && level + 1 < bounds::LEVELS;
    html.raw(if is_parent {
        " <span class=\"bytes inline\">"
    } else {
        "<span class=\"bytes\">"
    });
    html.text(&size(node.bytes)).raw("</span>");
    if is_parent {
        html.raw("<div class=\"inside\">");
        let shape = shape * place.width / place.height.max(1e-9);
        let shape = shape.clamp(0.05, 20.0);
        put_level(
            html,
            tree,
            &node.below,
            node.left_out,
            node.bytes,
            shape,
            level + 1,
        );
        html.raw("</div>");
    }
    html.raw("</div>");
}

fn put_place(html: &mut Html, place: Place) {
    html.raw(" style=\"left:").rounded(place.left * 100.0);
    html.raw("%;top:").rounded(place.top * 100.0);
    html.raw("%;width:").rounded(place.width * 100.0);
    html.raw("%;height:").rounded(place.height * 100.0);
    html.raw("%\"");
}

fn named(node: &Branch) -> String {
    match node.before.as_str() {
        "" => node.name.clone(),
        before => format!("{before} → {}", node.name),
    }
}

/// Where an area is, in parts of what it is in.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Place {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

/// Returns places for areas of these sizes, about as wide as high, in a rectangle that is `shape` times as wide as high. Sizes
/// are in descending order but for the last.
fn squarified(sizes: &[f64], shape: f64) -> Vec<Place> {
    let sum: f64 = sizes.iter().sum();
    if sum <= 0.0 {
        return Vec::new();
    }
    // What is free: its corner, width and height, with an area of `shape`.
    let (mut left, mut top, mut width, mut height) = (0.0, 0.0, shape, 1.0);
    let areas: Vec<f64> = sizes.iter().map(|it| it / sum * shape).collect();
    let mut places = Vec::with_capacity(sizes.len());
    let mut rest = &areas[..];
    while !rest.is_empty() {
        let side = f64::min(width, height);
        let mut row = 1;
        while row < rest.len() && worst(&rest[..row + 1], side) <= worst(&rest[..row], side) {
            row += 1;
        }
        let thickness = rest[..row].iter().sum::<f64>() / side.max(1e-12);
        let mut along = 0.0;
        for area in &rest[..row] {
            let length = area / thickness.max(1e-12);
            let place = match width >= height {
                true => (left, top + along, thickness, length),
                false => (left + along, top, length, thickness),
            };
            places.push(Place {
                left: place.0 / shape,
                top: place.1,
                width: place.2 / shape,
                height: place.3,
            });
            along += length;
        }
        match width >= height {
            true => (left, width) = (left + thickness, (width - thickness).max(0.0)),
            false => (top, height) = (top + thickness, (height - thickness).max(0.0)),
        }
        rest = &rest[row..];
    }
    places
}

/// Returns how far from a square the worst area of a row is.
fn worst(row: &[f64], side: f64) -> f64 {
    let sum: f64 = row.iter().sum();
    let square = side * side;
    let ratio = |area: &f64| {
        let area = area.max(1e-12);
        f64::max(square * area / (sum * sum), sum * sum / (square * area))
    };
    row.iter().map(ratio).fold(0.0, f64::max)
}

/// Puts a tree that is opened level by level.
pub fn put_outline(html: &mut Html, tree: &Tree) {
    html.raw("<div class=\"outline\">");
    let mut left = bounds::BRANCHES;
    put_branches(html, &tree.nodes, tree.left_out, tree.bytes, 0, &mut left);
    if tree.nodes.is_empty() {
        html.raw("<p class=\"s\">none</p>");
    }
    html.raw("</div>\n");
}

fn put_branches(
    html: &mut Html,
    nodes: &[Branch],
    left_out: Option<(u64, u64)>,
    all: u64,
    level: usize,
    left: &mut usize,
) {
    html.raw("<ul>");
    for (number, node) in nodes.iter().enumerate() {
        if *left == 0 {
            let hidden = nodes.len() - number;
            html.raw("<li class=\"more\">… and ")
                .number(hidden)
                .raw(" more</li>");
            break;
        }
        *left -= 1;
        html.raw("<li>");
        // A browser has its limits with what is inside of what.
        let is_parent = !node.below.is_empty() && level < 100;
        if is_parent {
            html.raw(if level == 0 {
                "<details open><summary>"
            } else {
                "<details><summary>"
            });
        } else {
            html.raw("<div class=\"leaf\">");
        }
        html.raw("<span class=\"line\"><span class=\"n\">")
            .text(&size(node.bytes));
        html.raw("</span><span class=\"n share\">")
            .text(&percent(node.bytes, all));
        html.raw("</span><span class=\"what\">");
        if !node.before.is_empty() {
            html.raw("<span class=\"f\">").text(&node.before);
            html.raw("</span> <span class=\"s\">→</span> ");
        }
        html.raw("<span class=\"o\">")
            .text(&node.name)
            .raw("</span>");
        html.raw(" <span class=\"s\">")
            .text(&node.detail)
            .raw("</span></span></span>");
        match is_parent {
            true => {
                html.raw("</summary>");
                put_branches(html, &node.below, node.left_out, all, level + 1, left);
                html.raw("</details>");
            }
            false => {
                html.raw("</div>");
            }
        }
        html.raw("</li>");
    }
    if let Some((nodes, bytes)) = left_out {
        html.raw("<li class=\"more\">… and ").text(&count(nodes));
        html.raw(" more, ").text(&size(bytes)).raw("</li>");
    }
    html.raw("</ul>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn areas_have_their_sizes_and_do_not_overlap(
            mut sizes in proptest::collection::vec(1u32..1_000_000, 1..40),
            shape in 0.1f64..8.0,
        ) {
            sizes.sort_by_key(|it| std::cmp::Reverse(*it));
            let sizes: Vec<f64> = sizes.iter().map(|it| f64::from(*it)).collect();
            let sum: f64 = sizes.iter().sum();
            let places = squarified(&sizes, shape);
            prop_assert_eq!(places.len(), sizes.len());
            for (place, size) in places.iter().zip(&sizes) {
                prop_assert!((place.width * place.height - size / sum).abs() < 1e-6);
                prop_assert!(place.left > -1e-9 && place.left + place.width < 1.0 + 1e-6);
                prop_assert!(place.top > -1e-9 && place.top + place.height < 1.0 + 1e-6);
            }
            for (number, a) in places.iter().enumerate() {
                for b in &places[number + 1..] {
                    let across = f64::min(a.left + a.width, b.left + b.width) - f64::max(a.left, b.left);
                    let down = f64::min(a.top + a.height, b.top + b.height) - f64::max(a.top, b.top);
                    prop_assert!(across < 1e-6 || down < 1e-6, "{a:?} {b:?}");
                }
            }
        }
    }
}
