//! What holds growth, as graphs: the way from a root to the class that grows, and the edges of its slice, along which
//! growth leads to it.

use heaphound_analysis::cork::{Candidate, Cause};
use heaphound_analysis::series::Series;
use heaphound_analysis::summary::Summary;
use heaphound_heap::ClassId;
use heaphound_report::document::{ClassGraph, Graph};
use heaphound_report::figures::{objects, size};

/// Returns a graph for each cause.
pub fn slices(
    causes: &[Cause],
    candidates: &[Candidate],
    summary: &Summary,
    series: &Series,
) -> Vec<Graph> {
    let classes = series.classes();
    let slots = series.slots();
    let name = |class: ClassId| &classes[class.0 as usize - 1].name;
    let detail = |class: &str| {
        let Some(class) = classes.iter().find(|it| it.name == class) else {
            return String::new();
        };
        let total = summary.class(class.id);
        format!("{}, {}", objects(total.objects), size(total.volume_bytes))
    };
    let slice = |cause: &Cause| {
        let (class, bytes) = cause.classes[0];
        let title = format!("{} has grown by {}", name(class), size(bytes));
        let mut graph = ClassGraph::new(title, &detail);
        graph.path(&cause.path);
        for edge in cause.edges(candidates, classes, &slots) {
            graph.edge(&edge.from, &edge.to, &edge.slots);
        }
        for (class, _) in &cause.classes {
            graph.stands_out(name(*class));
        }
        graph.finish()
    };
    causes.iter().map(slice).collect()
}
