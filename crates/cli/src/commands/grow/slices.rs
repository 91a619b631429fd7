//! What holds growth, as graphs: the way from a root to the class that grows, and the edges of its slice, along which
//! growth leads to it.

use std::collections::HashMap;

use heaphound_analysis::cork::{Candidate, Cause};
use heaphound_analysis::series::Series;
use heaphound_analysis::summary::Summary;
use heaphound_heap::ClassId;
use heaphound_heap::finding::Path;
use heaphound_report::document::{Edge, Graph, Node};
use heaphound_report::figures::{count, size};

/// Returns a graph for each cause.
pub fn slices(
    causes: &[Cause],
    candidates: &[Candidate],
    summary: &Summary,
    series: &Series,
) -> Vec<Graph> {
    let slice = |cause: &Cause| Slice::of(cause, candidates, summary, series);
    causes.iter().map(slice).collect()
}

struct Slice<'a> {
    summary: &'a Summary,
    series: &'a Series,
    graph: Graph,
    numbers: HashMap<String, usize>,
}

impl<'a> Slice<'a> {
    fn of(
        cause: &Cause,
        candidates: &[Candidate],
        summary: &'a Summary,
        series: &'a Series,
    ) -> Graph {
        let mut slice = Self {
            summary,
            series,
            graph: Graph::default(),
            numbers: HashMap::new(),
        };
        slice.put_way(&cause.path);
        let growing = cause.classes.iter().map(|it| it.0);
        let is_growing = |it: &&Candidate| growing.clone().any(|class| class == it.class);
        for candidate in candidates.iter().filter(is_growing) {
            slice.put_edges(candidate);
        }
        for (class, _) in &cause.classes {
            let number = slice.class(*class);
            slice.graph.nodes[number].stands_out = true;
        }
        if let Some((class, bytes)) = cause.classes.first() {
            let name = &series.classes()[class.0 as usize - 1].name;
            slice.graph.title = format!("{name} has grown by {}", size(*bytes));
        }
        slice.graph
    }

    /// Puts the way to what grows.
    fn put_way(&mut self, path: &Path) {
        let mut from = path.root.as_ref().map(|root| {
            let name = root.to_string();
            self.node(&name, "a root")
        });
        let mut label = String::new();
        let objects = std::iter::once(&path.first).chain(path.hops.iter().map(|it| &it.to));
        let slots = path.hops.iter().map(|it| it.to_string());
        for (object, slot) in objects.zip(slots.chain([String::new()])) {
            let to = match self
                .series
                .classes()
                .iter()
                .find(|it| it.name == object.class)
            {
                Some(class) => self.class(class.id),
                None => self.node(&object.class, ""),
            };
            if let Some(from) = from {
                self.edge(from, to, label, true);
            }
            (from, label) = (Some(to), slot);
        }
    }

    /// Puts the edges along which growth leads to a class.
    fn put_edges(&mut self, candidate: &Candidate) {
        let ids = self.series.slots();
        for edge in &candidate.slice.edges {
            let (from, to) = (self.class(edge.from), self.class(edge.class));
            let slots = edge.slots.iter().map(|it| it.slot);
            let mut names: Vec<String> = slots
                .map(|it| format!(".{}", ids.name(self.series.classes(), it)))
                .collect();
            let left = names.len().saturating_sub(MOST_SLOTS);
            names.truncate(MOST_SLOTS);
            if left > 0 {
                names.push(format!("{left} more"));
            }
            self.edge(from, to, names.join(", "), false);
        }
    }

    fn class(&mut self, class: ClassId) -> usize {
        let total = self.summary.class(class);
        let detail = format!(
            "{} objects, {}",
            count(total.objects),
            size(total.volume_bytes)
        );
        let name = self.series.classes()[class.0 as usize - 1].name.clone();
        self.node(&name, &detail)
    }

    fn node(&mut self, name: &str, detail: &str) -> usize {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.graph.nodes.len();
        self.graph.nodes.push(Node {
            name: name.into(),
            detail: detail.into(),
            stands_out: false,
        });
        self.numbers.insert(name.into(), number);
        number
    }

    /// Puts an edge, unless there is one between these already: the way has named its slot.
    fn edge(&mut self, from: usize, to: usize, label: String, stands_out: bool) {
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

/// Slots that are named beside an edge.
const MOST_SLOTS: usize = 2;
