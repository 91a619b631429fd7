//! Summary graphs for other tools: DOT, GraphML, JSON.
//!
//! ```
//! use heaphound_analysis::export::Picture;
//! use heaphound_analysis::slot::SlotIds;
//! use heaphound_analysis::summary::summarize;
//! use heaphound_heap::snapshot::SnapshotBuilder;
//! use heaphound_heap::view::HeapView;
//!
//! let heap = SnapshotBuilder::default().finish().unwrap();
//! let ids = SlotIds::new(heap.classes());
//! let picture = Picture::points_from(&summarize(&heap), heap.classes(), &ids);
//! assert!(picture.dot().starts_with("digraph"));
//! ```

use std::fmt::Write;

use heaphound_heap::{ClassId, ClassInfo};
use serde::Serialize;

use crate::shape::{Backbones, Degrees, Distribution, Role};
use crate::slot::SlotIds;
use crate::summary::Summary;

/// A graph of names and numbers, which can be written in several forms.
#[derive(Clone, Debug, Serialize)]
pub struct Picture<'a> {
    schema_version: u32,
    graph: &'static str,
    classes: Vec<Node<'a>>,
    edges: Vec<Edge<'a>>,
}

/// A class of a graph.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Node<'a> {
    /// What edges know it by.
    pub id: u32,
    /// Its name.
    pub class: &'a str,
    /// Live objects.
    pub objects: u64,
    /// Their bytes.
    pub volume_bytes: u64,
    /// References from roots.
    pub roots: u64,
    /// Of a backbone, how many objects have 0, 1, 2 and more references, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    incoming: Option<Distribution>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outgoing: Option<Distribution>,
}

/// An edge of a graph.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Edge<'a> {
    /// The node where it starts.
    pub source: u32,
    /// The node where it ends.
    pub target: u32,
    /// The slot that it stands for, if it stands for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<&'a str>,
    /// References that it stands for.
    pub references: u64,
    /// The bytes of what they lead to.
    pub volume_bytes: u64,
}

impl<'a> Picture<'a> {
    /// Returns the class points-from graph: from each class to those that point to it.
    pub fn points_from(summary: &Summary, classes: &'a [ClassInfo], ids: &SlotIds) -> Self {
        let edges = summary.points_from(ids).into_iter();
        let edges = edges.map(|edge| Edge {
            source: edge.class.0,
            target: edge.from.0,
            slot: None,
            references: edge.references,
            volume_bytes: edge.volume_bytes,
        });
        Self::new("points-from", summary, classes, edges.collect())
    }

    /// Returns the class field-wise summary graph: from each class, slot by slot, to those that it
    /// points to.
    pub fn field_wise(summary: &Summary, classes: &'a [ClassInfo], ids: &SlotIds) -> Self {
        let edges = summary.edges().iter().filter_map(|edge| {
            Some(Edge {
                source: ids.class_of(edge.slot)?.0,
                target: edge.to.0,
                slot: Some(ids.name(classes, edge.slot)),
                references: edge.references,
                volume_bytes: edge.volume_bytes,
            })
        });
        Self::new("field-wise", summary, classes, edges.collect())
    }

    /// Adds the degrees of backbones, which are given in their order.
    pub fn with_degrees(mut self, backbones: &Backbones, degrees: &[Degrees]) -> Self {
        for node in &mut self.classes {
            let is_backbone = |place: &usize| backbones.list()[*place].role == Role::Backbone;
            let place = backbones.place(ClassId(node.id)).filter(is_backbone);
            if let Some(degrees) = place.and_then(|place| degrees.get(place)) {
                node.incoming = Some(degrees.incoming);
                node.outgoing = Some(degrees.outgoing);
            }
        }
        self
    }

    fn new(
        graph: &'static str,
        summary: &Summary,
        classes: &'a [ClassInfo],
        edges: Vec<Edge<'a>>,
    ) -> Self {
        let nodes = summary.classes().map(|(id, total)| Node {
            id: id.0,
            class: &classes[id.0 as usize - 1].name,
            objects: total.objects,
            volume_bytes: total.volume_bytes,
            roots: total.roots,
            incoming: None,
            outgoing: None,
        });
        Self {
            schema_version: 1,
            graph,
            classes: nodes.collect(),
            edges,
        }
    }

    /// Returns the name of the graph: `points-from`, `field-wise`.
    pub fn title(&self) -> &'static str {
        self.graph
    }

    /// Returns the classes.
    pub fn classes(&self) -> &[Node<'a>] {
        &self.classes
    }

    /// Returns the edges.
    pub fn edges(&self) -> &[Edge<'a>] {
        &self.edges
    }

    /// Returns the graph as JSON.
    pub fn json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a graph has only plain data");
        text.push('\n');
        text
    }

    /// Returns the graph in Graphviz's language.
    pub fn dot(&self) -> String {
        let mut text = format!("digraph \"{}\" {{\n  node [shape=box];\n", self.graph);
        for node in &self.classes {
            let Node { id, class, .. } = node;
            let mut label = format!(
                "{class}\n{} objects, {} bytes",
                node.objects, node.volume_bytes
            );
            for (side, counts) in node.degrees() {
                let [none, one, two, more] = counts;
                label += &format!("\n{side} 0: {none}, 1: {one}, 2: {two}, more: {more}");
            }
            line(
                &mut text,
                format_args!("  n{id} [label={}];", quoted(&label)),
            );
        }
        for edge in &self.edges {
            let (source, target) = (edge.source, edge.target);
            let counts = format!(
                "{} references, {} bytes",
                edge.references, edge.volume_bytes
            );
            let label = match edge.slot {
                Some(slot) => quoted(&format!("{slot}\n{counts}")),
                None => quoted(&counts),
            };
            line(
                &mut text,
                format_args!("  n{source} -> n{target} [label={label}];"),
            );
        }
        text.push_str("}\n");
        text
    }

    /// Returns the graph as GraphML.
    pub fn graphml(&self) -> String {
        let mut text = String::from(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n",
        );
        for (key, of, kind) in KEYS {
            line(
                &mut text,
                format_args!(
                    "  <key id=\"{key}\" for=\"{of}\" attr.name=\"{key}\" attr.type=\"{kind}\"/>"
                ),
            );
        }
        let graph = self.graph;
        line(
            &mut text,
            format_args!("  <graph id=\"{graph}\" edgedefault=\"directed\">"),
        );
        let data = |key: &str, value: &dyn std::fmt::Display| {
            format!("<data key=\"{key}\">{value}</data>")
        };
        for node in &self.classes {
            let mut all = data("class", &escaped(node.class))
                + &data("objects", &node.objects)
                + &data("roots", &node.roots)
                + &data("volume_bytes", &node.volume_bytes);
            for (side, counts) in node.degrees() {
                for (degree, count) in DEGREES.iter().zip(counts) {
                    all += &data(&format!("{side}_{degree}"), &count);
                }
            }
            line(
                &mut text,
                format_args!("    <node id=\"n{}\">{all}</node>", node.id),
            );
        }
        for edge in &self.edges {
            let (source, target) = (edge.source, edge.target);
            let slot = edge.slot.map(|slot| data("slot", &escaped(slot)));
            let all = slot.unwrap_or_default()
                + &data("references", &edge.references)
                + &data("volume_bytes", &edge.volume_bytes);
            line(
                &mut text,
                format_args!("    <edge source=\"n{source}\" target=\"n{target}\">{all}</edge>"),
            );
        }
        text.push_str("  </graph>\n</graphml>\n");
        text
    }
}

const DEGREES: [&str; 4] = ["0", "1", "2", "more"];

/// What GraphML's nodes and edges carry.
const KEYS: [(&str, &str, &str); 14] = [
    ("class", "node", "string"),
    ("objects", "node", "long"),
    ("roots", "node", "long"),
    ("volume_bytes", "all", "long"),
    ("in_0", "node", "long"),
    ("in_1", "node", "long"),
    ("in_2", "node", "long"),
    ("in_more", "node", "long"),
    ("out_0", "node", "long"),
    ("out_1", "node", "long"),
    ("out_2", "node", "long"),
    ("out_more", "node", "long"),
    ("slot", "edge", "string"),
    ("references", "edge", "long"),
];

impl Node<'_> {
    fn degrees(&self) -> impl Iterator<Item = (&'static str, Distribution)> {
        let sides = [("in", self.incoming), ("out", self.outgoing)];
        sides
            .into_iter()
            .filter_map(|(side, counts)| Some((side, counts?)))
    }
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("a string can be written to");
}

/// Returns a string of DOT, whose lines end with `\n`. Graphviz replaces entities and rejects
/// control characters, which a terminal should not get either.
fn quoted(text: &str) -> String {
    let mut safe = String::from("\"");
    for c in text.chars() {
        match c {
            '\\' => safe.push_str("\\\\"),
            '"' => safe.push_str("\\\""),
            '&' => safe.push_str("&amp;"),
            '\n' => safe.push_str("\\n"),
            c if c.is_control() => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe.push('"');
    safe
}

/// Returns text of XML, which cannot contain most control characters.
fn escaped(text: &str) -> String {
    let mut safe = String::new();
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\t' | '\n' | '\r' => write!(safe, "&#{};", c as u32).expect("a string"),
            c if c < ' ' || matches!(c, '\u{fffe}' | '\u{ffff}') => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}
