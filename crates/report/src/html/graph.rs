//! Graphs, placed by `layers.rs` and drawn here, so that the style of the page decides how they look.

use super::bounds;
use super::layers::{self, Link, Place, Route, Size};
use super::writer::{Html, cut, escaped};
use crate::document::{Edge, Graph, Node};

/// The width of a character of a name, and of what stands below or beside, as browsers set it at most.
const NAME_WIDTH: f64 = 7.9;
const SMALL_WIDTH: f64 = 6.8;
/// The height of a box, and of a label.
const BOX_HEIGHT: f64 = 44.0;
const LABEL_HEIGHT: f64 = 16.0;
/// How far above its line a label stands.
const ABOVE: f64 = 9.0;
/// A drawing that is too wide is made smaller, but not by more, or nobody could read it.
const SMALLEST: f64 = 0.7;
/// Room below a box for an edge that leads back to it.
const LOOP_HEIGHT: f64 = 34.0;
/// Room around the drawing.
const MARGIN: f64 = 6.0;
/// Characters of a name or a label.
const LONGEST: usize = 40;

/// Puts a graph.
pub fn put(html: &mut Html, graph: &Graph) {
    html.raw("<figure class=\"picture\">");
    if !graph.title.is_empty() {
        html.raw("<figcaption>")
            .text(&graph.title)
            .raw("</figcaption>");
    }
    let (nodes, edges) = bounded(graph);
    if nodes.is_empty() {
        html.raw("<p class=\"s\">There is nothing to draw.</p>");
    } else {
        html.raw("<div class=\"scroll graph\">");
        draw(html, graph, nodes, &edges);
        html.raw("</div>");
    }
    let left = (
        graph.nodes.len() - nodes.len(),
        graph.edges.len() - edges.len(),
    );
    if left.0 > 0 || left.1 > 0 {
        html.raw("<p class=\"more\">")
            .number(left.0)
            .raw(" nodes and ");
        html.number(left.1).raw(" edges more are not drawn</p>");
    }
    html.raw("</figure>\n");
}

/// Returns the nodes and edges that are drawn, the first of each. The edges speak of nodes by their number among
/// those that are drawn.
fn bounded(graph: &Graph) -> (&[Node], Vec<&Edge>) {
    let nodes = &graph.nodes[..graph.nodes.len().min(bounds::NODES)];
    let is_drawn = |it: &&Edge| it.from < nodes.len() && it.to < nodes.len();
    let edges = graph.edges.iter().filter(is_drawn).take(bounds::EDGES);
    (nodes, edges.collect())
}

fn draw(html: &mut Html, graph: &Graph, nodes: &[Node], edges: &[&Edge]) {
    let boxes: Vec<Size> = nodes.iter().map(box_of).collect();
    let loops = |node: usize| {
        let is_loop = |it: &&&Edge| it.from == node && it.to == node;
        edges.iter().filter(is_loop).count()
    };
    // A node stands in the middle of its room, so that what hangs below it is left free above it, too.
    let rooms: Vec<Size> = boxes
        .iter()
        .enumerate()
        .map(|(node, it)| (it.0, it.1 + 2.0 * LOOP_HEIGHT * loops(node) as f64))
        .collect();
    let links: Vec<Link> = edges
        .iter()
        .map(|it| Link {
            from: it.from,
            to: it.to,
            label: label_of(it),
        })
        .collect();
    let placed = layers::place(&rooms, &links);
    let mut canvas = Canvas::default();
    for ((node, size), at) in nodes.iter().zip(&boxes).zip(&placed.nodes) {
        canvas.put_node(node, *size, *at);
    }
    let mut loops_drawn = vec![0; nodes.len()];
    for (edge, route) in edges.iter().zip(&placed.routes) {
        let (from, to) = (edge.from, edge.to);
        if from == to {
            canvas.put_loop(edge, placed.nodes[from], loops_drawn[from]);
            loops_drawn[from] += 1;
        } else {
            let aside = if route.leads_back { -0.5 } else { 0.5 };
            let start = (
                placed.nodes[from].0 + aside * boxes[from].0,
                placed.nodes[from].1,
            );
            let end = (placed.nodes[to].0 - aside * boxes[to].0, placed.nodes[to].1);
            canvas.put_edge(edge, start, route, end);
        }
    }
    let (left, top) = (canvas.start.0 - MARGIN, canvas.start.1 - MARGIN);
    let (width, height) = (canvas.end.0 + MARGIN - left, canvas.end.1 + MARGIN - top);
    let label = escaped(&graph.title);
    html.drawn(&format!(
        "<svg role=\"img\" aria-label=\"{label}\" width=\"{width:.0}\" height=\"{height:.0}\" style=\"min-width:{:.0}px\" viewBox=\"{left:.0} {top:.0} {width:.0} {height:.0}\">",
        width * SMALLEST
    ));
    html.drawn(&canvas.arrows)
        .drawn(&canvas.shapes)
        .drawn(&canvas.words)
        .raw("</svg>");
}

fn box_of(node: &Node) -> Size {
    let name = cut(&node.name, LONGEST).chars().count() as f64 * NAME_WIDTH;
    let detail = cut(&node.detail, LONGEST).chars().count() as f64 * SMALL_WIDTH;
    (name.max(detail).max(40.0) + 24.0, BOX_HEIGHT)
}

fn label_of(edge: &Edge) -> Size {
    let letters = cut(&edge.label, LONGEST).chars().count() as f64;
    (letters * SMALL_WIDTH, LABEL_HEIGHT)
}

/// What is drawn: arrows lie below boxes, and words above both.
#[derive(Default)]
struct Canvas {
    arrows: String,
    shapes: String,
    words: String,
    /// From where to where the drawing goes.
    start: Place,
    end: Place,
}

impl Canvas {
    fn reach(&mut self, (x, y): Place) {
        self.start = (self.start.0.min(x), self.start.1.min(y));
        self.end = (self.end.0.max(x), self.end.1.max(y));
    }

    /// Takes room for something of this size around a place.
    fn reach_around(&mut self, (x, y): Place, (width, height): Size) {
        self.reach((x - width / 2.0, y - height / 2.0));
        self.reach((x + width / 2.0, y + height / 2.0));
    }

    fn put_node(&mut self, node: &Node, (width, height): Size, at: Place) {
        self.reach_around(at, (width, height));
        let class = if node.stands_out {
            " class=\"strong\""
        } else {
            ""
        };
        let title = escaped(&format!("{} {}", node.name, node.detail));
        self.shapes += &format!(
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"4\"{class}><title>{title}</title></rect>",
            at.0 - width / 2.0,
            at.1 - height / 2.0
        );
        let up = if node.detail.is_empty() { 4.0 } else { -3.0 };
        self.put_words(" class=\"name\"", &node.name, (at.0, at.1 + up));
        self.put_words("", &node.detail, (at.0, at.1 + 14.0));
    }

    fn put_words(&mut self, class: &str, words: &str, (x, y): Place) {
        let words = escaped(&cut(words, LONGEST));
        self.words += &format!("<text{class} x=\"{x:.1}\" y=\"{y:.1}\">{words}</text>");
    }

    /// Draws an edge past its bends.
    fn put_edge(&mut self, edge: &Edge, start: Place, route: &Route, end: Place) {
        let mut line = format!("M{:.1} {:.1}", start.0, start.1);
        let mut last = start;
        for &next in route.bends.iter().chain([&end]) {
            self.reach(next);
            // Level at both ends of each piece, so that the whole is smooth.
            let middle = f64::midpoint(last.0, next.0);
            line += &format!(
                "C{middle:.1} {:.1} {middle:.1} {:.1} {:.1} {:.1}",
                last.1, next.1, next.0, next.1
            );
            last = next;
        }
        self.put_line(edge, &line);
        let towards = if route.leads_back { -1.0 } else { 1.0 };
        self.put_head(edge, end, (towards, 0.0));
        if let Some(at) = route.bends.get(route.label_at) {
            self.put_label(edge, (at.0, at.1 - ABOVE));
        }
    }

    /// Draws an edge from a node to itself, as the given loop below it.
    fn put_loop(&mut self, edge: &Edge, at: Place, number: usize) {
        let bottom = at.1 + BOX_HEIGHT / 2.0;
        let depth = LOOP_HEIGHT * (number + 1) as f64;
        let (left, right) = (at.0 - 14.0, at.0 + 14.0);
        let line = format!(
            "M{left:.1} {bottom:.1}C{left:.1} {low:.1} {right:.1} {low:.1} {right:.1} {bottom:.1}",
            low = bottom + depth
        );
        self.put_line(edge, &line);
        self.put_head(edge, (right, bottom), (0.0, -1.0));
        // The curve goes three quarters of the way to what draws it.
        self.put_label(edge, (at.0, bottom + depth * 0.75 + 8.0));
    }

    fn put_line(&mut self, edge: &Edge, line: &str) {
        let class = class_of(edge);
        self.arrows += &format!("<path class=\"edge{class}\" d=\"{line}\"/>");
    }

    fn put_head(&mut self, edge: &Edge, tip: Place, (x, y): Place) {
        let point = |along: f64, aside: f64| {
            format!(
                "{:.1},{:.1}",
                tip.0 - x * along - y * aside,
                tip.1 - y * along + x * aside
            )
        };
        let (left, right) = (point(9.0, 4.0), point(9.0, -4.0));
        let class = class_of(edge);
        self.arrows += &format!(
            "<polygon class=\"head{class}\" points=\"{} {left} {right}\"/>",
            point(0.0, 0.0)
        );
    }

    fn put_label(&mut self, edge: &Edge, at: Place) {
        self.reach_around(at, label_of(edge));
        self.put_words(" class=\"label\"", &edge.label, (at.0, at.1 + 4.0));
    }
}

fn class_of(edge: &Edge) -> &'static str {
    if edge.stands_out { " strong" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn drawn(graph: &Graph) -> String {
        let mut html = Html::default();
        put(&mut html, graph);
        html.finish()
    }

    fn node(name: &str) -> Node {
        Node {
            name: name.into(),
            detail: "12 objects".into(),
            stands_out: false,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        /// With loops, cycles, parallel edges, edges of nodes that there are not.
        #[test]
        fn any_graph_is_drawn(
            nodes in 0usize..60,
            edges in proptest::collection::vec((0usize..62, 0usize..62, any::<bool>()), 0..120),
        ) {
            let graph = Graph {
                title: "a graph".into(),
                nodes: (0..nodes).map(|it| node(&format!("<C{it}>"))).collect(),
                edges: edges
                    .iter()
                    .map(|(from, to, label)| Edge {
                        from: *from,
                        to: *to,
                        label: if *label { ".slot".into() } else { "7".into() },
                        stands_out: *label,
                    })
                    .collect(),
            };
            let html = drawn(&graph);
            let page = roxmltree::Document::parse(&html).expect("well formed");
            let boxes = page.descendants().filter(|it| it.has_tag_name("rect"));
            prop_assert_eq!(boxes.count(), nodes.min(bounds::NODES));
        }
    }

    #[test]
    fn an_edge_that_leads_back_is_drawn_as_it_leads() {
        let mut graph = Graph {
            nodes: vec![node("A"), node("B")],
            ..Graph::default()
        };
        for (from, to) in [(0, 1), (1, 0), (1, 1)] {
            let label = format!("{from}→{to}");
            graph.edges.push(Edge {
                from,
                to,
                label,
                stands_out: false,
            });
        }
        let html = drawn(&graph);
        assert_eq!(html.matches("class=\"edge\"").count(), 3, "{html}");
        assert_eq!(html.matches("class=\"head\"").count(), 3, "{html}");
    }
}
