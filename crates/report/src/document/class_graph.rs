//! Graphs of classes, put together edge by edge.

use std::collections::HashMap;

use heaphound_heap::finding::Path;

use super::{Edge, Graph, Node};

/// Slots that are named beside an edge.
const MOST_SLOTS: usize = 2;

/// A graph whose nodes are classes and roots, each once.
pub struct ClassGraph<'a> {
    graph: Graph,
    numbers: HashMap<String, usize>,
    detail: &'a dyn Fn(&str) -> String,
}

impl<'a> ClassGraph<'a> {
    /// A graph without nodes. `detail` returns what is said below the name of a class.
    pub fn new(title: impl Into<String>, detail: &'a dyn Fn(&str) -> String) -> Self {
        Self {
            graph: Graph {
                title: title.into(),
                ..Graph::default()
            },
            numbers: HashMap::new(),
            detail,
        }
    }

    /// Adds a path by its classes and slots. Its edges stand out.
    pub fn path(&mut self, path: &Path) {
        let mut from = path.root.as_ref().map(|root| {
            let name = root.to_string();
            self.node(&name, "a root".into())
        });
        let mut label = String::new();
        let objects = std::iter::once(&path.first).chain(path.hops.iter().map(|it| &it.to));
        let slots = path.hops.iter().map(|it| it.to_string());
        for (object, slot) in objects.zip(slots.chain([String::new()])) {
            let to = self.class(&object.class);
            if let Some(from) = from {
                self.put(from, to, label, true);
            }
            (from, label) = (Some(to), slot);
        }
    }

    /// Adds an edge through some slots, unless these classes have one: a path has named its slot.
    pub fn edge(&mut self, from: &str, to: &str, slots: &[String]) {
        let (from, to) = (self.class(from), self.class(to));
        let mut names = slots.to_vec();
        let left = names.len().saturating_sub(MOST_SLOTS);
        names.truncate(MOST_SLOTS);
        if left > 0 {
            names.push(format!("{left} more"));
        }
        self.put(from, to, names.join(", "), false);
    }

    /// Says that the graph is about a class.
    pub fn stands_out(&mut self, class: &str) {
        let number = self.class(class);
        self.graph.nodes[number].stands_out = true;
    }

    /// Returns the graph.
    pub fn finish(self) -> Graph {
        self.graph
    }

    fn class(&mut self, name: &str) -> usize {
        let detail = (self.detail)(name);
        self.node(name, detail)
    }

    fn node(&mut self, name: &str, detail: String) -> usize {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.graph.nodes.len();
        self.graph.nodes.push(Node {
            name: name.into(),
            detail,
            stands_out: false,
        });
        self.numbers.insert(name.into(), number);
        number
    }

    fn put(&mut self, from: usize, to: usize, label: String, stands_out: bool) {
        let known = |it: &Edge| it.from == from && it.to == to;
        if !self.graph.edges.iter().any(known) {
            self.graph.edges.push(Edge {
                from,
                to,
                label,
                stands_out,
            });
        }
    }
}
