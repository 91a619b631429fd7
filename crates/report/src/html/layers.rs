//! Places a graph in layers, from left to right (Sugiyama, Tagawa and Toda, 1981).
//!
//! 1. Edges that close a cycle are turned round, so that the rest leads from left to right.
//! 2. A node's layer is the longest path that leads to it. Between two layers of nodes lies one of labels.
//! 3. An edge that crosses a layer gets a *bend* there. Its label stands at its first bend.
//! 4. Some sweeps order each layer by the mean place of its neighbours, so that fewer edges cross.
//! 5. Each layer is a column; its items stand as near to their neighbours as the order allows.
//!
//! Every graph gets a place for each node and a route for each edge. Nothing is drawn here (`graph.rs`).

/// A width and a height.
pub type Size = (f64, f64);
/// A place: to the right, and down.
pub type Place = (f64, f64);

/// Room between the columns, and between the items of one.
const BETWEEN_COLUMNS: f64 = 22.0;
const BETWEEN_ITEMS: f64 = 14.0;
/// How often the layers are ordered and placed again, there and back. More gives no better pictures of graphs of
/// the size that is drawn.
const SWEEPS: usize = 6;

/// An edge to be placed: from which node to which, and the room of its label.
#[derive(Clone, Copy)]
pub struct Link {
    pub from: usize,
    pub to: usize,
    pub label: Size,
}

/// Where everything stands.
pub struct Layers {
    /// The middle of each node.
    pub nodes: Vec<Place>,
    /// The bends of each edge, from its source to its target. The label stands at `label_of` of them. An edge from a
    /// node to itself has none.
    pub routes: Vec<Route>,
}

/// The way of an edge.
#[derive(Default)]
pub struct Route {
    pub bends: Vec<Place>,
    /// The bend at which the label stands.
    pub label_at: usize,
    /// Whether the edge leads from right to left.
    pub leads_back: bool,
}

/// Something that stands in a layer: a node, or the bend of an edge.
struct Item {
    size: Size,
    /// Its neighbours in the layer before, and in the layer behind.
    before: Vec<usize>,
    behind: Vec<usize>,
    place: Place,
}

/// Places nodes of these sizes and the edges between them.
pub fn place(sizes: &[Size], links: &[Link]) -> Layers {
    let is_back = back_edges(sizes.len(), links);
    let depths = depths(sizes.len(), links, &is_back);
    let mut items: Vec<Item> = sizes.iter().map(|it| Item::new(*it)).collect();
    let deepest = depths.iter().max().map_or(0, |it| it + 1);
    let mut layers: Vec<Vec<usize>> = vec![Vec::new(); 2 * deepest];
    for (node, depth) in depths.iter().enumerate() {
        layers[2 * depth].push(node);
    }
    let bends: Vec<Vec<usize>> = links
        .iter()
        .zip(&is_back)
        .map(|(link, is_back)| bend(link, *is_back, &depths, &mut items, &mut layers))
        .collect();
    order(&items, &mut layers);
    place_columns(&mut items, &layers);
    place_rows(&mut items, &layers);
    let routes = bends.iter().zip(&is_back).map(|(bends, is_back)| {
        let mut bends: Vec<Place> = bends.iter().map(|it| items[*it].place).collect();
        let label_at = if *is_back {
            bends.reverse();
            bends.len().saturating_sub(1)
        } else {
            0
        };
        Route {
            bends,
            label_at,
            leads_back: *is_back,
        }
    });
    Layers {
        routes: routes.collect(),
        nodes: items[..sizes.len()].iter().map(|it| it.place).collect(),
    }
}

impl Item {
    fn new(size: Size) -> Item {
        Item {
            size,
            before: Vec::new(),
            behind: Vec::new(),
            place: (0.0, 0.0),
        }
    }
}

/// Returns for each edge whether it leads to a node from which the search by depth came.
fn back_edges(nodes: usize, links: &[Link]) -> Vec<bool> {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        Not,
        Open,
        Done,
    }
    let mut leaving: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    for (number, link) in links.iter().enumerate() {
        leaving[link.from].push(number);
    }
    let mut seen = vec![Seen::Not; nodes];
    let mut is_back = vec![false; links.len()];
    for start in 0..nodes {
        if seen[start] != Seen::Not {
            continue;
        }
        seen[start] = Seen::Open;
        // A node, and how many of its edges have been followed.
        let mut way = vec![(start, 0)];
        while let Some((node, followed)) = way.last_mut() {
            let Some(&number) = leaving[*node].get(*followed) else {
                seen[*node] = Seen::Done;
                way.pop();
                continue;
            };
            *followed += 1;
            let to = links[number].to;
            match seen[to] {
                Seen::Open => is_back[number] = true,
                Seen::Done => {}
                Seen::Not => {
                    seen[to] = Seen::Open;
                    way.push((to, 0));
                }
            }
        }
    }
    is_back
}

/// Returns the longest path to each node, with the edges that lead back turned round.
fn depths(nodes: usize, links: &[Link], is_back: &[bool]) -> Vec<usize> {
    let ends = |number: usize| left_to_right(&links[number], is_back[number]);
    let ahead: Vec<usize> = (0..links.len())
        .filter(|it| links[*it].from != links[*it].to)
        .collect();
    let mut waits_for = vec![0; nodes];
    let mut leaving: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    for &number in &ahead {
        let (left, right) = ends(number);
        waits_for[right] += 1;
        leaving[left].push(right);
    }
    let mut depths = vec![0; nodes];
    let mut ready: Vec<usize> = (0..nodes).filter(|it| waits_for[*it] == 0).collect();
    while let Some(node) = ready.pop() {
        for &right in &leaving[node] {
            depths[right] = depths[right].max(depths[node] + 1);
            waits_for[right] -= 1;
            if waits_for[right] == 0 {
                ready.push(right);
            }
        }
    }
    depths
}

fn left_to_right(link: &Link, is_back: bool) -> (usize, usize) {
    if is_back {
        (link.to, link.from)
    } else {
        (link.from, link.to)
    }
}

/// Puts a bend of this edge into each layer between its ends. Returns them from left to right.
fn bend(
    link: &Link,
    is_back: bool,
    depths: &[usize],
    items: &mut Vec<Item>,
    layers: &mut [Vec<usize>],
) -> Vec<usize> {
    if link.from == link.to {
        return Vec::new();
    }
    let (left, right) = left_to_right(link, is_back);
    let mut bends = Vec::new();
    let mut last = left;
    for layer in &mut layers[2 * depths[left] + 1..2 * depths[right]] {
        let size = if bends.is_empty() {
            link.label
        } else {
            (0.0, 4.0)
        };
        let item = items.len();
        items.push(Item::new(size));
        layer.push(item);
        bends.push(item);
        connect(items, last, item);
        last = item;
    }
    connect(items, last, right);
    bends
}

fn connect(items: &mut [Item], left: usize, right: usize) {
    items[left].behind.push(right);
    items[right].before.push(left);
}

/// Orders each layer by the mean place of its neighbours in the layer before, then behind, and so on.
fn order(items: &[Item], layers: &mut [Vec<usize>]) {
    let mut rank = vec![0.0; items.len()];
    let number = |layer: &[usize], rank: &mut [f64]| {
        for (place, item) in layer.iter().enumerate() {
            rank[*item] = place as f64;
        }
    };
    for layer in layers.iter() {
        number(layer, &mut rank);
    }
    for sweep in 0..SWEEPS {
        sweep_over(layers.len(), sweep, |layer| {
            let wish =
                |item: &usize| mean(neighbours(&items[*item], sweep), &rank).unwrap_or(rank[*item]);
            // The same order for the same graph: what is level keeps its order.
            layers[layer].sort_by(|one, other| wish(one).total_cmp(&wish(other)));
            number(&layers[layer], &mut rank);
        });
    }
}

fn place_columns(items: &mut [Item], layers: &[Vec<usize>]) {
    let mut left = 0.0;
    for layer in layers {
        let width = layer.iter().map(|it| items[*it].size.0).fold(0.0, f64::max);
        for item in layer {
            items[*item].place.0 = left + width / 2.0;
        }
        left += width + BETWEEN_COLUMNS;
    }
}

/// Stacks the items of each layer, then moves them towards their neighbours as far as the order allows.
fn place_rows(items: &mut [Item], layers: &[Vec<usize>]) {
    for layer in layers {
        let wishes = vec![0.0; layer.len()];
        stack(items, layer, &wishes);
    }
    for sweep in 0..SWEEPS {
        sweep_over(layers.len(), sweep, |layer| {
            let rows: Vec<f64> = items.iter().map(|it| it.place.1).collect();
            let wishes: Vec<f64> = layers[layer]
                .iter()
                .map(|it| mean(neighbours(&items[*it], sweep), &rows).unwrap_or(rows[*it]))
                .collect();
            stack(items, &layers[layer], &wishes);
        });
    }
}

/// Places the items of a layer below each other where they wish to stand, without overlaps. Where the room is too
/// small, all of the layer share the shift.
fn stack(items: &mut [Item], layer: &[usize], wishes: &[f64]) {
    let mut free_from = f64::NEG_INFINITY;
    let mut shifted = 0.0;
    for (item, wish) in layer.iter().zip(wishes) {
        let half = items[*item].size.1 / 2.0;
        let row = wish.max(free_from + half);
        shifted += row - wish;
        items[*item].place.1 = row;
        free_from = row + half + BETWEEN_ITEMS;
    }
    let shift = shifted / layer.len().max(1) as f64;
    for item in layer {
        items[*item].place.1 -= shift;
    }
}

/// Goes over the layers, forth in even sweeps and back in odd ones.
fn sweep_over(layers: usize, sweep: usize, mut visit: impl FnMut(usize)) {
    if sweep.is_multiple_of(2) {
        (0..layers).for_each(&mut visit);
    } else {
        (0..layers).rev().for_each(&mut visit);
    }
}

/// Returns the neighbours that this sweep has placed last.
fn neighbours(item: &Item, sweep: usize) -> &[usize] {
    if sweep.is_multiple_of(2) {
        &item.before
    } else {
        &item.behind
    }
}

fn mean(items: &[usize], of: &[f64]) -> Option<f64> {
    let sum: f64 = items.iter().map(|it| of[*it]).sum();
    (!items.is_empty()).then(|| sum / items.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn link((from, to): (usize, usize)) -> Link {
        Link {
            from,
            to,
            label: (30.0, 16.0),
        }
    }

    #[test]
    fn a_chain_leads_from_left_to_right_in_one_row() {
        let layers = place(&[(50.0, 40.0); 3], &[(0, 1), (1, 2)].map(link));
        let [a, b, c] = layers.nodes[..] else {
            panic!("three nodes")
        };
        assert!(a.0 < b.0 && b.0 < c.0);
        assert_eq!((a.1, b.1), (b.1, c.1));
    }

    proptest! {
        #[test]
        fn whatever_is_placed_does_not_overlap(
            edges in proptest::collection::vec((0usize..30, 0usize..30), 0..80),
        ) {
            let sizes: Vec<Size> = (0..30).map(|it| (40.0 + f64::from(it), 44.0)).collect();
            let links: Vec<Link> = edges.into_iter().map(link).collect();
            let layers = place(&sizes, &links);
            for (a, at) in layers.nodes.iter().enumerate() {
                prop_assert!(at.0.is_finite() && at.1.is_finite());
                for (b, other) in layers.nodes.iter().enumerate().skip(a + 1) {
                    let aside = (at.0 - other.0).abs() >= (sizes[a].0 + sizes[b].0) / 2.0 - 1e-6;
                    let below = (at.1 - other.1).abs() >= (sizes[a].1 + sizes[b].1) / 2.0 - 1e-6;
                    prop_assert!(aside || below, "{} and {} overlap", a, b);
                }
            }
            for (link, route) in links.iter().zip(&layers.routes) {
                let (from, to) = (layers.nodes[link.from], layers.nodes[link.to]);
                prop_assert_eq!(route.bends.is_empty(), link.from == link.to);
                if link.from != link.to {
                    prop_assert_eq!(route.leads_back, from.0 > to.0);
                }
            }
        }
    }
}
